import { z } from "zod";
import { ApiError } from "../api/errors";
import { assess } from "./assessment";
import type { Finding } from "./findings";
import { observe, type Observation } from "./observation";
import { stateText } from "./state";
import { zoneId, type LiteralUnion } from "../runtime/fields";
import type { Host } from "../runtime/host";
import { lookup } from "../runtime/lookup";

/** Which zones can migrate to managed rulesets, for a person or a pull request. Reads only. */

export interface MigrationReadinessArgs {
  /** The zones, each 32 hexadecimal digits. */
  readonly zones: readonly string[];
}

/**
 * `ready`: nothing that was read stands in its way, all of which was read. `blocked`: something has to be done first.
 * `notCounted`: firewall rules, page rules or previous settings did not answer: check by hand. `underWay`: in a state that
 * is none of the documented ones, as while a switch is pending. `done`, `retired`, and `notRead`: the zone itself did not answer.
 */
export type Readiness = LiteralUnion<
  "ready" | "blocked" | "notCounted" | "underWay" | "done" | "retired" | "notRead"
>;

export interface ZoneReadiness {
  readonly zoneId: string;
  readonly readiness: Readiness;
  /** `start`, `validation`, `finished`, `retired`, else Cloudflare's own word. Absent where the zone was not read. */
  readonly migrationState?: string;
  /** What blocks it, what was not counted, or why it was not read. */
  readonly because: readonly string[];
  readonly findings: readonly Finding[];
}

/** The same report in three forms. */
export interface MigrationReadiness {
  readonly zones: readonly ZoneReadiness[];
  /** One line a zone, for a terminal. */
  readonly table: string;
  /** One line a zone, for a pull request. */
  readonly markdown: string;
  /** `zones` as JSON. */
  readonly json: string;
}

const report = lookup<MigrationReadinessArgs, MigrationReadiness>("migrationReadiness")(
  { zones: z.array(zoneId).min(1, "has to name at least one zone; it is empty") },
  async (host, { zones }) => {
    const read = await Promise.all([...new Set(zones)].map((zone) => readinessOf(host, zone)));
    return {
      zones: read,
      table: tableOf(read),
      markdown: markdownOf(read),
      json: JSON.stringify(read, null, 2),
    };
  },
);

/**
 * How far each zone is from managed rulesets: ready, blocked and by what, done, retired; about ten requests a zone, none of
 * which writes. Judged by phase two, in which every zone may migrate but those with URI-based
 * overrides; phase one's conditions (the previous rules off or Cloudflare's own only, no firewall or page rule that acts on
 * them) no longer hold. More than 200 firewall rules to migrate, or an expression over 4 KB, need Cloudflare's support.
 *
 * @throws LookupError when a zone is malformed or none is named; when credentials are missing. A zone that cannot be read
 * is a line of the report.
 */
export const migrationReadiness = report.plain;

/** `migrationReadiness` for arguments that are outputs. Unknown in a preview without credentials. */
export const migrationReadinessOutput = report.output;

/** A zone that does not answer is one line of the report, not its end. */
async function readinessOf(host: Host, zone: string): Promise<ZoneReadiness> {
  try {
    return judged(await observe(host.api, zone));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { zoneId: zone, readiness: "notRead", because: [host.redact(error.message)], findings: [] };
  }
}

function judged(observation: Observation): ZoneReadiness {
  const { zoneId, state } = observation;
  const { findings } = assess(observation, { target: "assessed" });
  const because = (weight: Finding["weight"]): string[] =>
    findings.filter((each) => each.weight === weight).map(({ text }) => text);
  const known = { zoneId, migrationState: stateText(state), findings };
  if (state.phase === "retired") return { ...known, readiness: "retired", because: [] };
  if (state.phase === "finished") return { ...known, readiness: "done", because: [] };
  const blocks = because("blocks");
  if (blocks.length > 0) return { ...known, readiness: "blocked", because: blocks };
  if (state.phase === "other")
    return { ...known, readiness: "underWay", because: [`the service says ${stateText(state)}`] };
  const notCounted = because("notCounted");
  if (notCounted.length > 0) return { ...known, readiness: "notCounted", because: notCounted };
  return { ...known, readiness: "ready", because: [] };
}

const WORDS: Readonly<Record<string, string>> = {
  notCounted: "not counted",
  underWay: "under way",
  notRead: "not read",
};

/** The cells of one line: zone, readiness, state, reasons. */
function cells({ zoneId: zone, readiness, migrationState = "", because }: ZoneReadiness): string[] {
  const [first = "", ...more] = because;
  const reason = more.length === 0 ? first : `${first} (and ${more.length} more)`;
  return [zone, WORDS[readiness] ?? readiness, migrationState, reason];
}

const HEAD = ["zone", "readiness", "state", "because"];

function tableOf(zones: readonly ZoneReadiness[]): string {
  const rows = [HEAD, ...zones.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function markdownOf(zones: readonly ZoneReadiness[]): string {
  const line = (row: readonly string[]): string => `| ${row.map(escaped).join(" | ")} |`;
  return [line(HEAD), line(HEAD.map(() => "---")), ...zones.map(cells).map(line)].join("\n");
}

/** Addresses of a URI-based override are somebody's text. */
function escaped(cell: string): string {
  return cell.replace(/[\\|*_`<>]/g, (character) => `\\${character}`).replace(/\s+/g, " ");
}
