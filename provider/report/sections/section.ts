import { ADOPTED, adoptedId } from "../../runtime/adopted";
import { hasUnknown } from "../../runtime/engine-values";
import { canonicalJson, isJsonObject, omit, sameJson, type JsonObject } from "../../basics/json";
import type { Block } from "../model";
import { joined, name as nameOf, say, value, words, type Phrase } from "../phrase";
import { IMPACT } from "../../runtime/impact";
import { impactOf, lastOfId, type Impact } from "../impact";
import type { Operation, Plan, Sides, Step } from "../plan";
import { asObject, differences, formatValue, isHidden } from "../values";

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
  secrets: [],
  sources: {},
  isUnfinished: false,
};

export function viewOf(step: Step, plan: Plan): StepView {
  const { old: recorded = NOTHING, new: next = NOTHING } = step;
  const impact = impactOf(step);
  const old = { ...recorded, inputs: asBefore(recorded.inputs, impact.changes) };
  return {
    step,
    old: heirOf(step, plan) === undefined ? old : { ...old, retained: true },
    new: next,
    before: isNew(step) ? (adoptedBy({ old, new: next }) ?? NOTHING) : old,
    impact,
    plan,
  };
}

/** Returns the existing object that this step adopts, as far as the arguments show it. Undefined if it creates a new
 * one.
 */
export function adoptedBy({ old, new: { inputs } }: Pick<StepView, "old" | "new">): Sides | undefined {
  const adopted = inputs[ADOPTED];
  if (!isJsonObject(adopted) || sameJson(adopted, old.inputs[ADOPTED])) return undefined;
  return { ...NOTHING, inputs: asBefore(inputs, asObject(adopted["changes"])) };
}

/** Returns the inputs with what exists in the place of what differs. */
function asBefore(inputs: JsonObject, changes: JsonObject = {}): JsonObject {
  const before = Object.entries(changes).map(([name, change]) => [name, asObject(change)["before"]] as const);
  return omit({ ...inputs, ...Object.fromEntries(before) });
}

/** Finds the step that adopts this deleted or replaced resource's object, which the update then leaves in place. */
export function heirOf(step: Step, plan: Plan): Step | undefined {
  const { op, kind, old = NOTHING } = step;
  if (!isDeleted(step) && !REPLACEMENTS.includes(op)) return undefined;
  return adopting(plan).find(
    (each) =>
      each.kind === kind &&
      // A program that takes an interrupted replacement back adopts what was left behind under its own name.
      (each.urn !== step.urn || op === "delete") &&
      adoptedId(each.new?.inputs ?? {}) === lastOfId(old.id),
  );
}

const adopting = oncePerPlan(({ steps }) =>
  steps.filter(
    ({ op, old, new: next }) =>
      (op === "create" || REPLACEMENTS.includes(op)) &&
      next?.inputs[ADOPTED] !== undefined &&
      !sameJson(next.inputs[ADOPTED], old?.inputs[ADOPTED]),
  ),
);

/** Whether the step has no earlier object to compare with. */
export const hasNoBefore = ({ before }: Pick<StepView, "before">): boolean => before === NOTHING;

export const isNew = ({ op }: Step): boolean => op === "create" || op === "import";
export const isDeleted = ({ op }: Step): boolean => op === "delete" || op === "delete-replaced";

const REPLACEMENTS: readonly string[] = ["replace", "create-replacement", "import-replacement"];

/** Whether the step is a part of a replacement that the plan also has as a whole: `--show-replacement-steps` lists both. */
export const isPart = ({ op, urn }: Step, plan: Plan): boolean =>
  PARTS.includes(op) && operations(plan).get(urn)?.includes("replace") === true;

const PARTS: readonly Operation[] = ["create-replacement", "delete-replaced", "import-replacement"];

/** Whether the object is replaced, also if the plan shows only an update, because it doesn't know where to. */
export const isReplaced = (all: StepView): boolean => REPLACEMENTS.includes(all.step.op) || mayMove(all);

/** Lists the operations on the resource, in their order. */
const stepsOf = ({ step, plan }: StepView): readonly Operation[] => operations(plan).get(step.urn) ?? [];

const operations = oncePerPlan(({ steps }) => {
  const all = new Map<string, Operation[]>();
  for (const { urn, op } of steps) all.set(urn, [...(all.get(urn) ?? []), op]);
  return all;
});

/**
 * Whether the old object may be deleted before the new one is created, as with `deleteBeforeReplace`. A plan shows the
 * order only with `--show-replacement-steps`.
 */
export function mayDeleteFirst(all: StepView): boolean {
  const ops = stepsOf(all);
  const created = ops.indexOf("create-replacement");
  return (
    losesObject(all) && !isDeleted(all.step) && (created < 0 || ops.indexOf("delete-replaced") < created)
  );
}

/** Arguments that replace an object by another one. While one is unknown, a preview shows an update. */
export const PLACES = ["zoneId", "accountId", "namespaceId", "jurisdiction", "phase", "dataset", "kind"];

/** Returns the arguments because of which an update may turn out to be a replacement. */
export const unknownPlaces = ({ step, old, new: next }: StepView): readonly string[] =>
  step.kind === undefined || step.op !== "update"
    ? []
    : PLACES.filter((name) => hasUnknown(next.inputs[name]) && !hasUnknown(old.inputs[name]));

/** Whether an unknown place is another one, unless it comes from where it came from before and nothing there is new. */
function mayMove(all: StepView): boolean {
  return unknownPlaces(all).some((name) => {
    const sources = all.new.sources[name] ?? [];
    const isSame = sources.length > 0 && sameJson(sources, all.old.sources[name]);
    return !isSame || sources.some((urn) => newObjects(all.plan).has(urn));
  });
}

/** Other packages' outputs may change with an update: the ID stays, but then it would be known. */
const isOthersUpdate = ({ op, kind }: Step): boolean => op === "update" && kind === undefined;

/** Finds the resources with other IDs than before. Nothing is known about what a component contains. */
const newObjects = oncePerPlan(
  ({ steps }) =>
    new Set(
      steps
        .filter(
          (step) => !step.custom || isNew(step) || REPLACEMENTS.includes(step.op) || isOthersUpdate(step),
        )
        .map(({ urn }) => urn),
    ),
);

/** Whether the old object is deleted or replaced, and not left in place. */
export const losesObject = (all: StepView): boolean =>
  (isDeleted(all.step) || isReplaced(all)) && !all.old.retained;

/** Returns the side on which an object is in the place that it may lose. */
export const placedAt = (all: StepView): Sides =>
  isDeleted(all.step) || isReplaced(all) ? all.old : all.new;

/** Whether the plan shows that two objects are in the same place. An account doesn't matter beside a known zone. */
export function isSamePlace(one: JsonObject, other: JsonObject, names: readonly string[]): boolean {
  return names.every((name) => sameJson(one[name], other[name])) && !hidesPlace(other, names);
}

function hidesPlace(inputs: JsonObject, names: readonly string[]): boolean {
  const isInner = ["zoneId", "namespaceId"].some(
    (name) => inputs[name] !== undefined && !isHidden(inputs[name]),
  );
  return names.some((name) => isHidden(inputs[name]) && !(name === "accountId" && isInner));
}

/**
 * Finds the other steps on objects of the same class that have the same values of these arguments. None if the plan hides
 * one of them.
 */
export function othersOf(all: StepView, names: readonly string[]): readonly StepView[] {
  const { step, plan } = all;
  if (hidesPlace(placedAt(all).inputs, names)) return [];
  const key = canonicalJson([step.kind, names]);
  const index = indexesOf(plan).get(key) ?? indexOf(plan, step.kind, names);
  indexesOf(plan).set(key, index);
  const own = declaredAs(placedAt(all), names);
  return (index.get(own) ?? []).filter((other) => other.step !== step);
}

/** Finds a new resource that declares the same object as this deleted one. It takes over the object, so nothing is
 * deleted or restored.
 */
export function successor(all: StepView, names: readonly string[]): Sides | undefined {
  if (!isDeleted(all.step)) return undefined;
  return othersOf(all, names).find(({ step }) => step.op === "create")?.new;
}

type Index = ReadonlyMap<string, readonly StepView[]>;

const indexesOf = oncePerPlan(() => new Map<string, Index>());

/** Indexes the steps of a class by the values of these arguments. */
function indexOf(plan: Plan, kind: string | undefined, names: readonly string[]): Index {
  const found = new Map<string, StepView[]>();
  for (const step of plan.steps) {
    if (step.kind !== kind) continue;
    const all = viewOf(step, plan);
    const values = declaredAs(currentSides(all), names);
    found.set(values, [...(found.get(values) ?? []), all]);
  }
  return found;
}

const declaredAs = ({ inputs }: Sides, names: readonly string[]): string =>
  canonicalJson(names.map((name) => inputs[name] ?? null));

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
  all: Pick<StepView, "before">,
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
  return codeBlock([...gone, ...come], "diff");
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

export const textBlock = (text: Phrase | string): Block => ({
  is: "text",
  text: typeof text === "string" ? words(text) : text,
});

/** Returns the blocks below a sentence. Neither, if there are no blocks. */
export const titled = (title: Phrase | string, blocks: readonly Block[]): readonly Block[] =>
  blocks.length === 0 ? [] : [textBlock(title), ...blocks];

export const listBlock = (items: readonly Phrase[]): readonly Block[] =>
  items.length === 0 ? [] : [{ is: "list", items }];

export const codeBlock = (lines: readonly string[], language: "diff" | "text" = "text"): readonly Block[] =>
  lines.length === 0 ? [] : [{ is: "code", language, lines }];

/** Lists the arguments that a refresh found changed. */
export const changedOutside = ({ found = [] }: Step): readonly string[] =>
  found === "gone" ? [] : found.filter((name) => !DERIVED.includes(name));

/** Whether the step only happens, or writes more, because a refresh came first. */
export const undoesChange = (step: Step): boolean =>
  step.found === "gone" || (step.op !== "same" && changedOutside(step).length > 0);

/**
 * Shows what every kind of resource has in common: why it's replaced, what it adopts, what a refresh found, and whether
 * it's protected.
 */
export function commonBlocks(all: StepView): readonly Block[] {
  const { step, old, new: next } = all;
  const { found, replaceReasons } = step;
  const names = changedOutside(step);
  const isProtectChanged = step.old !== undefined && step.new !== undefined && old.protect !== next.protect;
  const heir = heirOf(step, all.plan);
  const lines: readonly (Phrase | string | false)[] = [
    isReplaced(all) &&
      replaceReasons.length > 0 &&
      say`Replaced because of ${joined(replaceReasons.map(value))}.`,
    found === "gone" && "Deleted outside the program, so the update creates it again.",
    step.op !== "same" && names.length > 0 && say`Changed outside the program: ${joined(names.map(value))}.`,
    all.impact.changes !== undefined &&
      say`Changed outside the program, and compared with what exists: ${joined(Object.keys(all.impact.changes).map(value))}.`,
    isProtectChanged &&
      (next.protect ? "Protected from deletion from now on." : "No longer protected from deletion."),
    (isDeleted(step) || isReplaced(all)) &&
      old.retained &&
      (heir === undefined
        ? "The existing object is left in place (retainOnDelete)."
        : say`${nameOf(`${heir.kind} ${heir.name}`)} adopts the object, so the update doesn't delete it.`),
  ];
  const [replaced = [], ...others] = lines.map((line) => (line === false ? [] : [textBlock(line)]));
  return [...replaced, ...adoption(all), ...others.flat()];
}

/** Shows the adopted object and what a destroy does to it. For a replacement, also shows what changes on the adopted
 * object, because the other tables compare against the replaced one.
 */
function adoption(all: StepView): readonly Block[] {
  const { old, new: next } = all;
  const existing = adoptedBy(all);
  if (existing === undefined) return [];
  const { object, onDestroy, changes } = asObject(next.inputs[ADOPTED]);
  const isOwn = adoptedId(next.inputs) === lastOfId(old.id);
  const isOpen = isOwn && mayDeleteFirst(all);
  if (isOpen && stepsOf(all).includes("delete-replaced")) return [];
  const unless = isOpen ? ", unless deleteBeforeReplace deletes it first" : "";
  const does =
    changes === undefined
      ? say`Adopts the existing ${formatValue(object, 300)}, which matches the program${words(unless)}.`
      : say`Adopts the existing ${formatValue(object, 300)} and changes it${words(unless)}.`;
  const rows = isReplaced(all) ? differences(existing.inputs, next.inputs, [ADOPTED, IMPACT]) : [];
  return [
    textBlock(does),
    textBlock(`Destroying the resource ${formatValue(onDestroy)}.`),
    ...tableOf(
      { before: existing },
      "adopted",
      rows.map(([name, was, is]) => [value(name), was, is]),
    ),
  ];
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
