import { buildReport } from "./build";
import { toMarkdown } from "./markdown";
import { GATE, type Gate, type Judged, type RemovalGate, type Report } from "./model";
import { readPlan } from "./plan";
import { toText } from "./text";

export { DANGERS, type DangerKind, type Judged } from "./model";
export { PlanError } from "./plan";

export const FORMATS = ["markdown", "text", "json"] as const;
export type Format = (typeof FORMATS)[number];

export interface WrittenReport {
  readonly text: string;
  readonly dangers: readonly Judged[];
  /** Stands for all the dangers of a whole plan. */
  readonly digest: string | undefined;
  /** Whether the preview failed, so that the plan is not whole. */
  readonly failed: boolean;
}

export type ReportOptions = Partial<RemovalGate & Omit<Gate, "removal">>;

const WRITERS: Readonly<Record<Format, (report: Report) => string>> = {
  markdown: toMarkdown,
  text: toText,
  json: (report) => `${JSON.stringify(report, undefined, 2)}\n`,
};

/**
 * Tells a plan for a reviewer.
 *
 * @param plan what `pulumi preview --json --show-sames` wrote.
 * @param options when a KvEntries that deletes its own keys is a danger; which dangers stop a pipeline, and which were accepted.
 * @throws PlanError where that is something else.
 */
export function report(plan: string, format: Format, options: ReportOptions = {}): WrittenReport {
  const { failOn = GATE.failOn, accepted = GATE.accepted, ...removal } = options;
  const built = buildReport(readPlan(plan), {
    removal: { ...GATE.removal, ...removal },
    failOn,
    accepted,
  });
  const { dangers, digest } = built;
  return { text: WRITERS[format](built), dangers, digest, failed: built.errors.length > 0 };
}
