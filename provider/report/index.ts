import { schemaUrl } from "../runtime/published";
import { buildReport } from "./build";
import { documentOf, type Document } from "./document";
import { buildDrift } from "./drift/build";
import { driftDocumentOf } from "./drift/document";
import { DRIFT_SCHEMA, type DriftReport } from "./drift/model";
import { readInventorySummary } from "./inventory";
import { toMarkdown } from "./markdown";
import { mergeDrift, mergeReports } from "./merge";
import { GATE, REPORT_SCHEMA, type Gate, type JudgedDanger, type RemovalGate, type Report } from "./model";
import { PlanError, readPlan } from "./plan";
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

export interface ReportOptions extends Partial<RemovalGate & Omit<Gate, "removal">> {
  /** The result of checking a script inventory, as JSON. */
  readonly inventory?: string | undefined;
}

/**
 * Writes the report on a plan.
 *
 * @param plan the output of `pulumi preview --json --show-sames`.
 * @param options sets when a KvEntries that deletes its own keys is a danger, which dangers stop a pipeline, and which
 * dangers were accepted.
 * @throws PlanError if `plan` is anything else.
 */
export function report(plan: string, format: Format, options: ReportOptions = {}): WrittenReport {
  return writeReport(buildReport(readPlan(plan), gateOf(options)), format, [], options);
}

/** Writes one report on the plans of several stacks. */
export function reportAll(
  plans: readonly NamedPlan[],
  format: Format,
  options: ReportOptions = {},
): WrittenReport {
  const gate = gateOf(options);
  const reports = plans.map((plan) => inPlan(plan, () => buildReport(readPlan(plan.text), gate, plan.name)));
  return writeReport(mergeReports(reports, gate), format, reports, options);
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
  const isOne = plans.length === 1;
  const reports = plans.map((plan) => {
    const build = (): DriftReport => buildDrift(readPlan(plan.text), isOne ? undefined : plan.name);
    return isOne ? build() : inPlan(plan, build);
  });
  const [only] = reports;
  const built = isOne && only !== undefined ? only : mergeDrift(reports);
  const text =
    format === "json" ? asJson(DRIFT_SCHEMA, built) : DOCUMENT_WRITERS[format](driftDocumentOf(built));
  return { text, drifted: built.drifted, failed: built.errors.length > 0 };
}

/** Runs `work`, and adds the plan's name to any error that it throws. */
function inPlan<T>({ name }: NamedPlan, build: () => T): T {
  try {
    return build();
  } catch (error) {
    throw error instanceof PlanError ? new PlanError(`${name}: ${error.message}`) : error;
  }
}

function gateOf({
  failOn = GATE.failOn,
  accepted = GATE.accepted,
  keys = GATE.removal.keys,
  share = GATE.removal.share,
}: ReportOptions): Gate {
  return { removal: { keys, share }, failOn, accepted };
}

function writeReport(
  plans: Report,
  format: Format,
  parts: readonly Report[],
  { inventory }: ReportOptions,
): WrittenReport {
  const built = inventory === undefined ? plans : { ...plans, inventory: readInventorySummary(inventory) };
  const { dangers, digest, errors } = built;
  const digests = [built, ...parts, ...dangers].flatMap((each) => each.digest ?? []);
  return {
    text: format === "json" ? asJson(REPORT_SCHEMA, built) : DOCUMENT_WRITERS[format](documentOf(built)),
    dangers,
    digest,
    digests: new Set(digests),
    failed: errors.length > 0,
  };
}

const DOCUMENT_WRITERS: Readonly<Record<Exclude<Format, "json">, (document: Document) => string>> = {
  markdown: toMarkdown,
  text: toText,
};

function asJson(schema: string, report: Report | DriftReport): string {
  return `${JSON.stringify({ $schema: schemaUrl(schema), ...report }, undefined, 2)}\n`;
}
