/** Whether the full numbers run (`npm run test:long`); otherwise each test runs a part, and says which. */
export const LONG = process.env["EDGEGUARD_TEST_LONG"] === "1";

/** Tests of what other tests cover in part: only the long run plays them, and the normal run lists their title. */
export function describeLong(title: string, tests: () => void): void {
  if (LONG) describe(title, tests);
  else it.todo(`${title}: with EDGEGUARD_TEST_LONG=1 (npm run test:long)`);
}
