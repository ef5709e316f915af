import { schemaUrl } from "../runtime/published";
import { buildReport } from "./build";
import { toMarkdown } from "./markdown";
import { mergeReports } from "./merge";
import { GATE, type Gate, type JudgedDanger, type RemovalGate, type Report } from "./model";
import { PlanError, readPlan } from "./plan";
import { toText } from "./text";

export { DANGERS, type DangerKind, type JudgedDanger } from "./model";
export { PlanError } from "./plan";

export const FORMATS = ["markdown", "text", "json"] as const;
export type Format = (typeof FORMATS)[number];

export interface WrittenReport {
  readonly text: string;
  readonly dangers: readonly JudgedDanger[];
  /** Represents all dangers. Undefined when there are none, or when the preview failed. */
  readonly digest: string | undefined;
  /** All digests that `--accept` takes: of the whole report, of each stack, of single dangers. */
  readonly digests: ReadonlySet<string>;
  /** Whether the preview failed, which leaves the plan incomplete. */
  readonly failed: boolean;
}

export type ReportOptions = Partial<RemovalGate & Omit<Gate, "removal">>;

const WRITERS: Readonly<Record<Format, (report: Report) => string>> = {
  markdown: toMarkdown,
  text: toText,
  json: (report) => `${JSON.stringify({ $schema: schemaUrl("report.v1"), ...report }, undefined, 2)}\n`,
};

/**
 * Writes the report on a plan.
 *
 * @param plan the output of `pulumi preview --json --show-sames`.
 * @param options sets when a KvEntries that deletes its own keys is a danger, which dangers stop a pipeline, and which
 * dangers were accepted.
 * @throws PlanError if `plan` is anything else.
 */
export function report(plan: string, format: Format, options: ReportOptions = {}): WrittenReport {
  return writeReport(buildReport(readPlan(plan), gateOf(options)), format, []);
}

/**
 * Writes one report on the plans of several stacks.
 *
 * @param plans each with a name for error messages.
 */
export function reportAll(
  plans: readonly { readonly name: string; readonly text: string }[],
  format: Format,
  options: ReportOptions = {},
): WrittenReport {
  const gate = gateOf(options);
  const reports = plans.map(({ name, text }) => {
    try {
      return buildReport(readPlan(text), gate, name);
    } catch (error) {
      throw error instanceof PlanError ? new PlanError(`${name}: ${error.message}`) : error;
    }
  });
  return writeReport(mergeReports(reports, gate), format, reports);
}

function gateOf({ failOn = GATE.failOn, accepted = GATE.accepted, ...removal }: ReportOptions): Gate {
  return { removal: { ...GATE.removal, ...removal }, failOn, accepted };
}

function writeReport(built: Report, format: Format, parts: readonly Report[]): WrittenReport {
  const { dangers, digest, errors } = built;
  const digests = [built, ...parts, ...dangers].flatMap((each) => each.digest ?? []);
  return {
    text: WRITERS[format](built),
    dangers,
    digest,
    digests: new Set(digests),
    failed: errors.length > 0,
  };
}
