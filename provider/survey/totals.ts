import { RIGHTS } from "./cells";
import { add, COUNTS, managed } from "./counts";
import { CHARTS, SURVEY_VERSION, type Chart, type Head, type NotReadable, type Zone } from "./model";
import { isNotReadable, valueOf } from "./readable";
import { EqualTasks } from "./equal-tasks";
import { VERSION } from "../version";

/** The properties of a survey's head that aren't computed from its zones. */
export type HeadFacts = Pick<Head, "at" | "accounts" | "stacks" | "paymentPages">;

export const MOST_FIRST = 100;
const MOST_ZONES = 20;

/** Computes a survey's totals. */
export async function headOf(facts: HeadFacts, zones: AsyncIterable<Zone>): Promise<Head> {
  const charts = (Object.keys(CHARTS) as Chart[]) // They're named there.
    .filter((chart) => chart !== "managed" || facts.stacks.length > 0);
  const totals = new Map(
    charts.map((chart) => [chart, Object.fromEntries<number>(CHARTS[chart].map((bar) => [bar, 0]))]),
  );
  const missing = new MissingRights();
  for (const account of facts.accounts) {
    missing.note(
      "accounts",
      refused([account.rulesets, account.deployments, account.jobs, account.namespaces]),
    );
    add(
      totals.get("managed") ?? {},
      managed([...(valueOf(account.jobs) ?? []), ...(valueOf(account.namespaces) ?? [])]),
    );
  }
  const taskCounts: Head["taskCounts"] = {};
  const first = new EqualTasks(MOST_ZONES);
  let zoneCount = 0;
  for await (const zone of zones) {
    zoneCount += 1;
    for (const [chart, sum] of totals) add(sum, COUNTS[chart](zone));
    missing.note("zones", refusedParts(zone));
    for (const kind of new Set(zone.tasks.map((each) => each.kind)))
      taskCounts[kind] = (taskCounts[kind] ?? 0) + 1;
    first.add(zone, valueOf(zone.name) ?? zone.id);
  }
  return {
    version: SURVEY_VERSION,
    at: facts.at,
    tool: `pulumi-edgeguard ${VERSION}`,
    zoneCount,
    accounts: facts.accounts,
    missingRights: missing.list(),
    stacks: facts.stacks,
    paymentPages: facts.paymentPages,
    totals: Object.fromEntries(totals),
    first: first.list().slice(0, MOST_FIRST),
    taskCounts,
  };
}

/** The parts of a zone that need a permission of their own. */
const PARTS = [
  ...(["name", "plan", "pageShield", "policies", "scripts", "deployments"] as const),
  ...(["accountDeployments", "migration", "jobs", "firewallEvents"] as const),
];

/** Returns the parts of a zone that couldn't be read because of a missing permission. */
function refusedParts(zone: Zone): NotReadable[] {
  const effects = (valueOf(zone.deployments) ?? []).map(({ effect }) => effect);
  const more = valueOf(zone.migration)?.missingRight;
  return [
    ...refused([...PARTS.map((part) => zone[part]), ...effects]),
    ...(more === undefined ? [] : [{ notReadable: "right", what: more } as const]),
  ];
}

function refused(cells: readonly unknown[]): NotReadable[] {
  return cells.filter(isNotReadable).filter((each) => each.notReadable === "right");
}

class MissingRights {
  readonly #found = new Map<string, { zones: number; accounts: number }>();

  note(scope: "zones" | "accounts", cells: readonly NotReadable[]): void {
    for (const right of new Set(cells.map(({ what }) => what))) {
      const counts = this.#found.get(right) ?? { zones: 0, accounts: 0 };
      counts[scope] += 1;
      this.#found.set(right, counts);
    }
  }

  /** Returns the missing permissions, in the order of `RIGHTS`. */
  list(): Head["missingRights"] {
    return [...RIGHTS].flatMap(([right, where]) => {
      const counts = this.#found.get(right);
      return counts === undefined ? [] : [{ right, where, ...counts }];
    });
  }
}
