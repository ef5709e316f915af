import { omitAbsent } from "../basics/json";
import { schemaUrl } from "../basics/published";
import { buildReport } from "./build";
import { documentOf, type Document } from "./document";
import { buildDrift } from "./drift/build";
import { driftDocumentOf } from "./drift/document";
import { DRIFT_SCHEMA, type DriftReport } from "./drift/model";
import { readInventorySummary } from "./inventory";
import { toMarkdown } from "./markdown";
import { mergeDrift, mergeReports } from "./merge";
import { GATE, REPORT_SCHEMA, type Gate, type JudgedDanger, type JudgedGate, type Report } from "./model";
import { PlanError, readPlan, type Plan } from "./plan";
import { toText } from "./text";

export { DANGERS, type DangerKind, type JudgedDanger } from "./model";
export { PlanError } from "./plan";

export const FORMATS = ["markdown", "text", "json"] as const;
export type Format = (typeof FORMATS)[number];

/** A plan, with a name for error messages. */
export interface NamedPlan {
  readonly name: string;
  readonly text: string;
}

export interface WrittenReport {
  readonly text: string;
  readonly dangers: readonly JudgedDanger[];
  /** The digest of all dangers. Undefined if there are none, or if the preview failed. */
  readonly digest: string | undefined;
  /** All digests that `--accept` takes: those of the whole report, of each stack and of single dangers. */
  readonly digests: ReadonlySet<string>;
  /** Whether the preview failed, which leaves the plan incomplete. */
  readonly failed: boolean;
}

export interface ReportOptions extends Partial<JudgedGate & Omit<Gate, "removal">> {
  /** The result of checking a script inventory, as JSON. */
  readonly inventory?: string | undefined;
}

/**
 * Writes the report on a plan.
 *
 * @param plan the output of `pulumi preview --json --show-sames`.
 * @throws PlanError if `plan` is anything else.
 */
export function report(plan: string, format: Format, options: ReportOptions = {}): WrittenReport {
  return reportAll([{ name: UNNAMED, text: plan }], format, options);
}

/**
 * Writes one report on the plans of several stacks.
 *
 * @param options sets when a KvEntries that deletes its own keys is a danger, which dangers stop a pipeline, and which
 * dangers were accepted.
 */
export function reportAll(
  plans: readonly NamedPlan[],
  format: Format,
  { inventory, failOn = GATE.failOn, accepted = GATE.accepted, ...removal }: ReportOptions = {},
): WrittenReport {
  const gate: Gate = { removal: { ...GATE.removal, ...omitAbsent({ ...removal }) }, failOn, accepted };
  const { built, parts } = buildFrom(
    plans,
    (plan, name) => buildReport(plan, gate, name),
    (reports) => mergeReports(reports, gate),
  );
  const whole = inventory === undefined ? built : { ...built, inventory: readInventorySummary(inventory) };
  const { dangers, digest, errors } = whole;
  return {
    text: format === "json" ? asJson(REPORT_SCHEMA, whole) : DOCUMENT_WRITERS[format](documentOf(whole)),
    dangers,
    digest,
    digests: new Set([whole, ...parts, ...dangers].flatMap((each) => each.digest ?? [])),
    failed: errors.length > 0,
  };
}

export interface WrittenDrift {
  readonly text: string;
  /** Whether anything was changed manually. */
  readonly drifted: boolean;
  /** Whether the preview failed, which leaves the plan incomplete. */
  readonly failed: boolean;
}

/**
 * Writes the report on manual changes.
 *
 * @param plans outputs of `pulumi preview --refresh --json --show-sames`, one per stack.
 * @throws PlanError if one of them is anything else.
 */
export function reportDrift(plans: readonly NamedPlan[], format: Format): WrittenDrift {
  const { built } = buildFrom(plans, buildDrift, mergeDrift);
  const text =
    format === "json" ? asJson(DRIFT_SCHEMA, built) : DOCUMENT_WRITERS[format](driftDocumentOf(built));
  return { text, drifted: built.drifted, failed: built.errors.length > 0 };
}

/** The name of standard input. */
const UNNAMED = "-";

/** Builds a report on one plan, or merges those on several. An error about a file names it. */
function buildFrom<R>(
  plans: readonly NamedPlan[],
  build: (plan: Plan, unnamed?: string) => R,
  merge: (reports: readonly R[]) => R,
): { readonly built: R; readonly parts: readonly R[] } {
  const isOnly = plans.length === 1;
  const parts = plans.map(({ name, text }) => {
    try {
      return build(readPlan(text), isOnly ? undefined : name);
    } catch (error) {
      if (!(error instanceof PlanError) || (isOnly && name === UNNAMED)) throw error;
      throw new PlanError(`${name}: ${error.message}`);
    }
  });
  const [only] = parts;
  return isOnly && only !== undefined ? { built: only, parts: [] } : { built: merge(parts), parts };
}

const DOCUMENT_WRITERS: Readonly<Record<Exclude<Format, "json">, (document: Document) => string>> = {
  markdown: toMarkdown,
  text: toText,
};

function asJson(schema: string, report: Report | DriftReport): string {
  return `${JSON.stringify({ $schema: schemaUrl(schema), ...report }, undefined, 2)}\n`;
}
