/** Whether tests run at full size (`npm run test:long`). Otherwise each test runs a part, and its title says which. */
export const LONG = process.env["EDGEGUARD_TEST_LONG"] === "1";

/** For tests of what other tests cover in part. Only the long run runs them; the normal run lists them as skipped. */
export function describeLong(title: string, tests: () => void): void {
  if (LONG) describe(title, tests);
  else it.todo(`${title}: with EDGEGUARD_TEST_LONG=1 (npm run test:long)`);
}
