import { buildReport } from "./build";
import { toMarkdown } from "./markdown";
import { REMOVAL_GATE, type Danger, type RemovalGate, type Report } from "./model";
import { readPlan } from "./plan";
import { toText } from "./text";

export { DANGERS, type Danger, type DangerKind } from "./model";
export { PlanError } from "./plan";

export const FORMATS = ["markdown", "text", "json"] as const;
export type Format = (typeof FORMATS)[number];

export interface WrittenReport {
  readonly text: string;
  readonly dangers: readonly Danger[];
  /** Whether the preview failed, so that the plan is not whole. */
  readonly failed: boolean;
}

const WRITERS: Readonly<Record<Format, (report: Report) => string>> = {
  markdown: toMarkdown,
  text: toText,
  json: (report) => `${JSON.stringify(report, undefined, 2)}\n`,
};

/**
 * Tells a plan for a reviewer.
 *
 * @param plan what `pulumi preview --json --show-sames` wrote.
 * @param gate when a KvEntries that deletes its own keys is a danger.
 * @throws PlanError where that is something else.
 */
export function report(plan: string, format: Format, gate: Partial<RemovalGate> = {}): WrittenReport {
  const built = buildReport(readPlan(plan), { ...REMOVAL_GATE, ...gate });
  return { text: WRITERS[format](built), dangers: built.dangers, failed: built.errors.length > 0 };
}
