import type { Cell as CsvCell } from "../terminal/csv";
import type { Deployment, FirewallEvents, NotReadable, Zone } from "./model";
import { deploymentsIn, exceptionCount, isWhole, mostBehind } from "./protection";
import { isReadable, textOf } from "./readable";

type Column = (zone: Zone) => CsvCell;

/** Returns a column for one part of a zone. If the part couldn't be read, the cell says so. */
function of<Part extends keyof Zone>(
  part: Part,
  text: (value: Exclude<Zone[Part], NotReadable>) => CsvCell,
): Column {
  return (zone) => textOf(zone[part], text);
}

const many = (texts: readonly string[]): string => (texts.length === 0 ? "none" : texts.join("; "));

/**
 * The columns of survey.csv, which has a row for each zone. If something couldn't be read, the cell says so instead of
 * being empty.
 */
const COLUMNS: Readonly<Record<string, Column>> = {
  zone_id: ({ id }) => id,
  zone: of("name", String),
  plan: of("plan", String),
  status: of("status", String),
  account_id: of("accountId", String),
  payment_pages: of("hasPaymentPages", (has) => (has ? "yes" : "no")),
  page_shield: of("pageShield", ({ enabled }) => (enabled ? "on" : "off")),
  policies_enforced: policies("enforced"),
  policies_logging: policies("logging"),
  policies_off: policies("off"),
  scripts: of("scripts", ({ seen }) => seen),
  scripts_malicious: of("scripts", ({ malicious }) => malicious),
  scripts_suspicious: of("scripts", ({ suspicious }) => suspicious),
  scripts_not_scored: of("scripts", ({ notScored }) => notScored),
  scripts_unapproved: of("scripts", ({ unapproved }) => unapproved ?? "no inventory"),
  managed_rulesets: of("deployments", rulesetNames),
  account_managed_rulesets: of("accountDeployments", rulesetNames),
  protected: of("protection", ({ requests, lacking }) =>
    [PROTECTED[requests], ...(lacking.length === 0 ? [] : [lacking.join("; ")])].join(": "),
  ),
  versions_behind: (zone) => textOf(deploymentsIn(zone), mostBehind),
  exceptions: (zone) => textOf(deploymentsIn(zone), exceptionCount),
  firewall_events_blocked: events(({ blocked }) => blocked),
  firewall_events_challenged: events(({ challenged }) => challenged),
  firewall_events_logged: events(({ logged }) => logged),
  firewall_events_top_rule: events(({ top }) => top?.ruleId ?? "none"),
  owasp: of("owasp", ({ state }) => state),
  owasp_paranoia_level: of("owasp", ({ paranoiaLevel }) => paranoiaLevel ?? "none"),
  owasp_score_threshold: of("owasp", ({ scoreThreshold }) => scoreThreshold ?? "none"),
  owasp_action: of("owasp", ({ action }) => action ?? "none"),
  migration_state: of("migration", ({ state }) => state),
  migration_readiness: of("migration", ({ readiness }) => readiness),
  migration_because: of("migration", ({ because }) => many(because)),
  jobs: of("jobs", (all) =>
    many(all.map(({ name, id, dataset, state }) => `${name === "" ? id : name} (${dataset}): ${state}`)),
  ),
  jobs_last_error: of("jobs", (all) =>
    many(
      all.flatMap(({ lastError, errorMessage }) =>
        lastError === undefined ? [] : [`${lastError} ${errorMessage ?? ""}`.trim()],
      ),
    ),
  ),
  unmanaged: ({ unmanaged }) => {
    if (unmanaged === undefined) return "no stack given";
    const count = unmanaged.objects.length;
    if (unmanaged.unread.length === 0) return count;
    return count === 0 ? "not known" : `at least ${count}`;
  },
  first_task: (zone) => zone.tasks[0]?.text ?? withoutTask(zone),
  first_task_rank: (zone) => zone.tasks[0]?.rank ?? withoutTask(zone),
};

function withoutTask(zone: Zone): string {
  return isWhole(zone) ? "none" : "not known";
}

function events(text: (value: FirewallEvents) => CsvCell): Column {
  return ({ firewallEvents }) =>
    firewallEvents === undefined ? "not asked" : textOf<FirewallEvents, CsvCell>(firewallEvents, text);
}

const PROTECTED = { all: "yes", some: "for some requests", none: "no" } as const;

const STATE_WORDS = { on: "", off: " (off)", perhaps: " (perhaps on)" } as const;

function rulesetNames(deployments: readonly Deployment[]): string {
  return many(
    deployments.map((each) => {
      const { effect, rulesetId } = each;
      const name = textOf(effect, (ruleset) => ruleset.name);
      const known = isReadable(effect) ? name : `${rulesetId} (${name})`;
      return `${known}${STATE_WORDS[each.state]}`;
    }),
  );
}

function policies(effect: string): Column {
  return of("policies", (all) => all.filter((each) => each.effect === effect).length);
}

export const COLUMN_NAMES: readonly string[] = Object.keys(COLUMNS);

export function rowOf(zone: Zone): CsvCell[] {
  return Object.values(COLUMNS).map((column) => column(zone));
}
