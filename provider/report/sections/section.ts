import { ADOPTED } from "../../runtime/adopted";
import { canonicalJson, omitUndefined, isJsonObject, sameJson } from "../../runtime/values";
import type { Block } from "../model";
import { joined, say, value, words, type Phrase } from "../phrase";
import { IMPACT } from "../../runtime/impact";
import { impactOf, type Impact } from "../impact";
import type { Plan, Sides, Step } from "../plan";
import { asObject, differences, formatValue } from "../values";

/** Writes the section on one kind of resource. */
export interface SectionWriter {
  /** The line after the resource's name. */
  summary(step: StepView): Phrase;
  /** What changes, in the resource's own terms. */
  blocks(step: StepView): readonly Block[];
}

/** A step with the resource's inputs and outputs before and after. For a missing side, these are empty. */
export interface StepView {
  readonly step: Step;
  readonly old: Sides;
  readonly new: Sides;
  /** What to compare `new` with: `old` or, for a create, the adopted object. Empty for an import. */
  readonly before: Sides;
  /** What this plan's preview found out about the resource. */
  readonly impact: Impact;
  readonly plan: Plan;
}

export const NOTHING: Sides = {
  id: undefined,
  protect: false,
  retained: false,
  inputs: {},
  outputs: {},
  sources: {},
  isUnfinished: false,
};

export function viewOf(step: Step, plan: Plan): StepView {
  const { old = NOTHING, new: next = NOTHING } = step;
  return {
    step,
    old,
    new: next,
    before: isNew(step) ? (adoptedBy({ old, new: next }) ?? NOTHING) : old,
    impact: impactOf(step),
    plan,
  };
}

/** Returns the existing object that this step adopts, as far as the arguments show it. Undefined if it creates a new
 * one.
 */
export function adoptedBy({ old, new: { inputs } }: Pick<StepView, "old" | "new">): Sides | undefined {
  const adopted = inputs[ADOPTED];
  if (!isJsonObject(adopted) || sameJson(adopted, old.inputs[ADOPTED])) return undefined;
  const before: Record<string, unknown> = omitUndefined(inputs);
  for (const [name, change] of Object.entries(asObject(adopted["changes"])))
    before[name] = asObject(change)["before"];
  return { ...NOTHING, inputs: omitUndefined(before) };
}

/** Whether the step has no earlier object to compare with. */
export const hasNoBefore = ({ before }: StepView): boolean => before === NOTHING;

export const isNew = ({ op }: Step): boolean => op === "create" || op === "import";
export const isDeleted = ({ op }: Step): boolean => op === "delete" || op === "delete-replaced";
export const isReplaced = ({ op }: Step): boolean =>
  op === "replace" || op === "create-replacement" || op === "import-replacement";

/** Whether the old object is deleted or replaced, and not left in place. */
export const losesObject = ({ step, old }: StepView): boolean =>
  (isDeleted(step) || isReplaced(step)) && !old.retained;

/** Finds a new resource that declares the same object as this deleted one. It takes over the object, so nothing is
 * deleted or restored.
 */
export function successor({ step, old, plan }: StepView, same: readonly string[]): Sides | undefined {
  if (!isDeleted(step)) return undefined;
  const names = canonicalJson([step.kind, same]);
  const known = createdByKind(plan).get(names) ?? creationsBy(plan, step.kind, same);
  createdByKind(plan).set(names, known);
  return known.get(declaredAs(old, same));
}

/** Indexes the resources to create by kind and argument names, then by the values of these arguments. */
const createdByKind = oncePerPlan(() => new Map<string, ReadonlyMap<string, Sides>>());

function creationsBy(
  plan: Plan,
  kind: string | undefined,
  same: readonly string[],
): ReadonlyMap<string, Sides> {
  const found = new Map<string, Sides>();
  for (const step of plan.steps) {
    if (step.kind !== kind || step.op !== "create") continue;
    const side = step.new ?? NOTHING;
    const values = declaredAs(side, same);
    if (!found.has(values)) found.set(values, side);
  }
  return found;
}

const declaredAs = ({ inputs }: Sides, names: readonly string[]): string =>
  canonicalJson(names.map((name) => (inputs[name] === undefined ? [] : [inputs[name]])));

/** Caches a value that's computed once for the whole plan and read for each of its steps. */
export function oncePerPlan<T extends object>(make: (plan: Plan) => T): (plan: Plan) => T {
  const known = new WeakMap<Plan, T>();
  return (plan) => {
    const made = known.get(plan) ?? make(plan);
    known.set(plan, made);
    return made;
  };
}

/** Returns the resource after the update or, for a delete, before it. */
export const currentSides = ({ step, old, new: next }: StepView): Sides => (isDeleted(step) ? old : next);

/** Shows the arguments that differ. For a new resource, these are all arguments; for a deleted one, none. */
export function argumentTable(all: StepView, leaveOut: readonly string[] = []): readonly Block[] {
  const { step, before, new: next } = all;
  if (isDeleted(step)) return [];
  const rows = differences(before.inputs, next.inputs, [ADOPTED, IMPACT, ...leaveOut]);
  return tableOf(
    all,
    "argument",
    rows.map(([name, was, is]) => [value(name), was, is]),
  );
}

/** Builds a table with columns for name, before and after. For a new resource, there's no before column. */
export function tableOf(
  all: StepView,
  what: string,
  rows: readonly (readonly [Phrase, Phrase, Phrase])[],
): readonly Block[] {
  if (rows.length === 0) return [];
  return hasNoBefore(all)
    ? [{ is: "table", head: [what, "value"], rows: rows.map(([name, , after]) => [name, after]) }]
    : [{ is: "table", head: [what, "before", "after"], rows }];
}

/** Shows removed and added lines as a diff. */
export function lineChanges(before: readonly string[], after: readonly string[]): readonly Block[] {
  const gone = subtract(before, after).map((line) => `- ${line}`);
  const come = subtract(after, before).map((line) => `+ ${line}`);
  const lines = [...gone, ...come];
  return lines.length === 0 ? [] : [{ is: "code", language: "diff", lines }];
}

/** Returns the multiset difference: a line that occurred twice and now occurs once counts as removed. */
function subtract(lines: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

export const textBlock = (text: Phrase): Block => ({ is: "text", text });

/**
 * Shows what every kind of resource has in common: why it's replaced, what it adopts, what a refresh found, and whether
 * it's protected.
 */
export function commonBlocks(all: StepView): readonly Block[] {
  const { step, old, new: next } = all;
  const { found, replaceReasons } = step;
  const blocks: Block[] = [];
  if (isReplaced(step) && replaceReasons.length > 0) {
    blocks.push(textBlock(say`Replaced because of ${joined(replaceReasons.map(value))}.`));
  }
  blocks.push(...adoption(all));
  if (found === "gone")
    blocks.push(textBlock(words("Deleted outside the program, so the update creates it again.")));
  else if (step.op !== "same") {
    const names = (found ?? []).filter((name) => !DERIVED.includes(name));
    if (names.length > 0)
      blocks.push(textBlock(say`Changed outside the program: ${joined(names.map(value))}.`));
  }
  if (step.old !== undefined && step.new !== undefined && old.protect !== next.protect) {
    blocks.push(
      textBlock(
        words(next.protect ? "Protected from deletion from now on." : "No longer protected from deletion."),
      ),
    );
  }
  if ((isDeleted(step) || isReplaced(step)) && old.retained) {
    blocks.push(textBlock(words("The existing object is left in place (retainOnDelete).")));
  }
  return blocks;
}

/** Shows the adopted object and what a destroy does to it. For a replacement, also shows what changes on the adopted
 * object, because the other tables compare against the replaced one.
 */
function adoption(all: StepView): readonly Block[] {
  const { step, new: next } = all;
  const existing = adoptedBy(all);
  if (existing === undefined) return [];
  const { object, onDestroy, changes } = asObject(next.inputs[ADOPTED]);
  const does =
    changes === undefined
      ? say`Adopts the existing ${formatValue(object, 300)}, which matches the program.`
      : say`Adopts the existing ${formatValue(object, 300)} and changes it.`;
  const rows = differences(existing.inputs, next.inputs, [ADOPTED, IMPACT]);
  const table: readonly Block[] =
    isReplaced(step) && rows.length > 0
      ? [
          {
            is: "table",
            head: ["adopted", "before", "after"],
            rows: rows.map(([name, was, is]) => [value(name), was, is]),
          },
        ]
      : [];
  return [textBlock(does), textBlock(words(`Destroying the resource ${formatValue(onDestroy)}.`)), ...table];
}

/** Inputs to leave out of the table, because they're computed or shown in a separate block. */
const DERIVED = [
  "drift",
  "digest",
  "filterDigest",
  "assessment",
  "assessmentDigest",
  "expansion",
  "logged",
  "destinationMoved",
  "index",
  ADOPTED,
  IMPACT,
];
