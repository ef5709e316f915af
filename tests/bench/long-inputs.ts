import { canonicalCsp, parseCsp } from "../../provider/page-shield/csp";
import { newlyAllowed } from "../../provider/page-shield/newly-allowed";
import { unlinked } from "../../provider/report/phrase";
import { isWiderOrEqual } from "../../provider/rules-language/equivalence";
import { nearest } from "../../provider/basics/nearest";
import { median, type Row } from "./table";

const MOST_SECONDS = 2;

/** Inputs that are longer than anyone writes, which a pull request from a stranger may contain. */
export async function longInputs(): Promise<Row[]> {
  const names = Array.from({ length: 300 }, (_, index) => `${"x".repeat(3_900)}${index}`);
  const hosts = (suffix: string): string =>
    `script-src ${Array.from({ length: 3_000 }, (_, index) => `cdn${index}.example.com/${suffix}`).join(" ")}`;
  const [before, after] = [parseCsp(hosts("a")), parseCsp(hosts("b"))];
  const pairs = Array.from(
    { length: 30 },
    (_, index) => `(http.host eq "${index}" or tcp.srcport eq ${index})`,
  );
  const undecided = pairs
    .map((_, index) => `(http.host eq "${index}" and tcp.srcport ne ${index + 1})`)
    .join(" or ");
  const work: Readonly<Record<string, () => unknown>> = {
    "200,000 dots in a report": () => unlinked(".".repeat(200_000)),
    "an unknown field of 4,000 characters": () => nearest("x".repeat(4_000), names),
    "a CSP directive of 200,000 characters": () => {
      try {
        return canonicalCsp(`${"script".repeat(33_333)} 'self'`);
      } catch (error) {
        return error;
      }
    },
    "3,000 sources compared with 3,000": () => newlyAllowed(before, after),
    "expressions of 30 comparisons": () =>
      isWiderOrEqual(pairs.join(" and "), `(${undecided}) and ${pairs.join(" and ")}`),
  };
  const rows: Row[] = [];
  for (const [what, run] of Object.entries(work)) {
    const ours = (await median(1, () => Promise.resolve(run()))) / 1000;
    rows.push({ what, ours, unit: "s", against: "the bound", theirs: MOST_SECONDS, atMost: 1 });
  }
  return rows;
}
