/** Whether tests run at full size (`npm run test:long`). Otherwise each test runs a part, and its title says which. */
export const LONG = process.env["EDGEGUARD_TEST_LONG"] === "1";

/** For tests of what other tests cover in part. Only the long run runs them; the normal run lists them as skipped. */
export function describeLong(title: string, tests: () => void): void {
  if (LONG) describe(title, tests);
  else it.todo(`${title}: with EDGEGUARD_TEST_LONG=1 (npm run test:long)`);
}

const LOCAL_TOKEN = { token: "local-token" };

/** The provider sends 1,200 requests in five minutes with one token, so each round of a long test has its own. */
export const ROUND_CREDENTIALS = [LOCAL_TOKEN, ...Array.from({ length: 200 }, (_, at) => tokenOf(at + 1))];

function tokenOf(round: number): { readonly token: string } {
  return { token: `round-${round}` };
}

/** The configuration of a round, counted from 1. */
export const ofRound = (round: number): { readonly "edgeguard:apiToken": string } => ({
  "edgeguard:apiToken": tokenOf(round).token,
});
