import { ADOPTED } from "../../runtime/adopted";
import { canonicalJson, omitUndefined, isJsonObject, sameJson } from "../../runtime/values";
import type { Block } from "../model";
import { joined, say, value, words, type Phrase } from "../phrase";
import type { Plan, Sides, Step } from "../plan";
import { bag, differences, shown } from "../values";

/** How one kind of resource is told. */
export interface Teller {
  /** Behind the resource's name. */
  summary(step: Told): Phrase;
  /** What changes, in the resource's own words. */
  blocks(step: Told): readonly Block[];
}

/** A step with both sides at hand; an absent side is empty. */
export interface Told {
  readonly step: Step;
  readonly old: Sides;
  readonly new: Sides;
  /** `old`, to compare with: of a create what it adopts, or nothing; nothing of an import. */
  readonly before: Sides;
  readonly plan: Plan;
}

const NOTHING: Sides = { id: undefined, protect: false, retained: false, inputs: {}, outputs: {} };

export function told(step: Step, plan: Plan): Told {
  const { old = NOTHING, new: next = NOTHING } = step;
  return {
    step,
    old,
    new: next,
    before: isNew(step) ? (adoptedBy({ old, new: next }) ?? NOTHING) : old,
    plan,
  };
}

/** The existing object that this step adopts, as far as the arguments say; undefined where it makes a new one. */
export function adoptedBy({ old, new: { inputs } }: Pick<Told, "old" | "new">): Sides | undefined {
  const adopted = inputs[ADOPTED];
  if (!isJsonObject(adopted) || sameJson(adopted, old.inputs[ADOPTED])) return undefined;
  const before: Record<string, unknown> = omitUndefined(inputs);
  for (const [name, change] of Object.entries(bag(adopted["changes"]))) before[name] = bag(change)["before"];
  return { ...NOTHING, inputs: omitUndefined(before) };
}

/** Whether there is nothing to compare with. */
export const isFresh = ({ before }: Told): boolean => before === NOTHING;

export const isNew = ({ op }: Step): boolean => op === "create" || op === "import";
export const isGone = ({ op }: Step): boolean => op === "delete" || op === "delete-replaced";
export const isReplaced = ({ op }: Step): boolean =>
  op === "replace" || op === "create-replacement" || op === "import-replacement";

/** Whether the object of before ceases to be what it was: it is deleted or replaced, and not left in place. */
export const leaves = ({ step, old }: Told): boolean => (isGone(step) || isReplaced(step)) && !old.retained;

/** Another resource of the plan that declares what this one gives up: it takes it over, and nothing is deleted or put back. */
export function successor({ step, old, plan }: Told, same: readonly string[]): Sides | undefined {
  if (!isGone(step)) return undefined;
  const names = canonicalJson([step.kind, same]);
  const known = created(plan).get(names) ?? creationsBy(plan, step.kind, same);
  created(plan).set(names, known);
  return known.get(declaredAs(old, same));
}

/** By kind and names of arguments: what is created, by the values of these. */
const created = oncePerPlan(() => new Map<string, ReadonlyMap<string, Sides>>());

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

/** Something that is found out about a plan as a whole, and asked for each of its steps. */
export function oncePerPlan<T extends object>(make: (plan: Plan) => T): (plan: Plan) => T {
  const known = new WeakMap<Plan, T>();
  return (plan) => {
    const made = known.get(plan) ?? make(plan);
    known.set(plan, made);
    return made;
  };
}

/** What is there afterwards; of something that goes, what was there. */
export const standing = ({ step, old, new: next }: Told): Sides => (isGone(step) ? old : next);

/** The arguments that differ, or all of a resource that is made; of one that goes there is nothing to compare. */
export function argumentTable(all: Told, leaveOut: readonly string[] = []): readonly Block[] {
  const { step, before, new: next } = all;
  if (isGone(step)) return [];
  const rows = differences(before.inputs, next.inputs, [ADOPTED, ...leaveOut]);
  return tableOf(
    all,
    "argument",
    rows.map(([name, was, is]) => [value(name), was, is]),
  );
}

/** Rows of name, before and after; of something new without the column of nothing. */
export function tableOf(
  all: Told,
  what: string,
  rows: readonly (readonly [Phrase, Phrase, Phrase])[],
): readonly Block[] {
  if (rows.length === 0) return [];
  return isFresh(all)
    ? [{ is: "table", head: [what, "value"], rows: rows.map(([name, , after]) => [name, after]) }]
    : [{ is: "table", head: [what, "before", "after"], rows }];
}

/** Lines that were there and are no longer, and lines that came. */
export function lineChanges(before: readonly string[], after: readonly string[]): readonly Block[] {
  const gone = without(before, after).map((line) => `- ${line}`);
  const come = without(after, before).map((line) => `+ ${line}`);
  const lines = [...gone, ...come];
  return lines.length === 0 ? [] : [{ is: "code", language: "diff", lines }];
}

/** Each line takes one like it away: a condition that stood twice and stands once is a difference. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

export const textBlock = (text: Phrase): Block => ({ is: "text", text });

/** What holds for every kind: what a refresh found, what the engine does besides. */
export function inGeneral(all: Told): readonly Block[] {
  const { step, old, new: next } = all;
  const { found, replaceReasons } = step;
  const blocks: Block[] = [];
  if (isReplaced(step) && replaceReasons.length > 0) {
    blocks.push(textBlock(say`Replaced because of ${joined(replaceReasons.map(value))}.`));
  }
  blocks.push(...adoption(all));
  if (found === "gone") blocks.push(textBlock(words("It was deleted outside of the program.")));
  else if (step.op !== "same") {
    const names = (found ?? []).filter((name) => !FOLLOWING.includes(name));
    if (names.length > 0)
      blocks.push(textBlock(say`Changed outside of the program: ${joined(names.map(value))}.`));
  }
  if (step.old !== undefined && step.new !== undefined && old.protect !== next.protect) {
    blocks.push(
      textBlock(
        words(
          next.protect ? "Protected against deletion from now on." : "No longer protected against deletion.",
        ),
      ),
    );
  }
  if ((isGone(step) || isReplaced(step)) && old.retained) {
    blocks.push(textBlock(words("What is there now is left in place (retainOnDelete).")));
  }
  return blocks;
}

/** Whose object it was, what becomes of it, and for a replacement, which is compared with the old object, what changes. */
function adoption(all: Told): readonly Block[] {
  const { step, new: next } = all;
  const existing = adoptedBy(all);
  if (existing === undefined) return [];
  const { object, onDestroy, changes } = bag(next.inputs[ADOPTED]);
  const does =
    changes === undefined
      ? say`Adopts the existing ${shown(object, 300)}, which matches the program.`
      : say`Takes over the existing ${shown(object, 300)} and changes it.`;
  const rows = differences(existing.inputs, next.inputs, [ADOPTED]);
  const table: readonly Block[] =
    isReplaced(step) && rows.length > 0
      ? [
          {
            is: "table",
            head: ["taken over", "before", "after"],
            rows: rows.map(([name, was, is]) => [value(name), was, is]),
          },
        ]
      : [];
  return [textBlock(does), textBlock(words(`Destroying the resource ${shown(onDestroy)}.`)), ...table];
}

/** Inputs that nobody has written: they follow from others, or are told apart. */
const FOLLOWING = [
  "drift",
  "digest",
  "filterDigest",
  "assessment",
  "assessmentDigest",
  "expansion",
  "wouldBlock",
  "destinationMoved",
  "found",
  ADOPTED,
];
