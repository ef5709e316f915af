import { canonicalJson, hasUnknown, isJsonObject, sameJson, type JsonObject } from "../../runtime/values";
import type { DangerKind, RemovalGate } from "../model";
import type { Phrase } from "../phrase";
import type { Plan, Step } from "../plan";
import { adoptedBy, isGone, isNew, isReplaced, oncePerPlan, told, type Told } from "../sections/section";
import { SECRET } from "../values";

/** How a change is judged: over two sides of one object, what acts now and what is to act. */

/** One side of an object: its arguments, and what is recorded of it. */
export interface Side {
  readonly inputs: JsonObject;
  readonly outputs: JsonObject;
}

export interface Change {
  /** Undefined before a create. */
  readonly before: Side | undefined;
  /** Undefined after a delete. */
  readonly after: Side | undefined;
  /** Whether what the preview has compared, and put among the inputs of `after`, was compared with `before`. */
  readonly wasCompared: boolean;
}

/** What protects or records less afterwards: for each loss one sentence with what, before → after. */
export type Comparison = (change: Change) => readonly Phrase[];

/** All that is dangerous in one step of a plan. */
export type Judge = (all: Told, gate: RemovalGate) => readonly (readonly [DangerKind, Phrase])[];

/** What becomes of an object of one kind. */
export interface Fate {
  /** Arguments that say whose object it is: where one differs, the old object goes and another one comes. */
  readonly scope: readonly string[];
  /** Whether there is only one object for these arguments. */
  readonly isSole: boolean;
  /** What a destroy leaves behind; undefined where the object is gone. */
  leaves(old: Side): Side | undefined;
  /** Whether another resource may make up for one that goes, where no comparison finds a loss between the two. */
  mayReplace(gone: Side, other: Told): boolean;
}

/** What a comparison finds in a plan as a whole, of a change in one of its steps. */
export type InPlan = (change: Change, all: Told) => readonly Phrase[];

/** Makes judges of comparisons: what one of them finds lost is protection. `comparisons` are all there are for the kind. */
export function judging(fate: Fate, comparisons: readonly Comparison[]): (lost: InPlan) => Judge {
  const known = new WeakMap<Step, readonly Change[]>();
  const changes = (all: Told): readonly Change[] => {
    const found = known.get(all.step) ?? changesOf(all, fate, comparisons);
    known.set(all.step, found);
    return found;
  };
  return (lost) => (all) =>
    changes(all).flatMap((change) => lost(change, all).map((sentence) => ["unprotect", sentence] as const));
}

/** The objects that a step touches. `comparisons` are all there are for the kind. */
export function changesOf(all: Told, fate: Fate, comparisons: readonly Comparison[]): readonly Change[] {
  const { step, old, new: next } = all;
  if (isNew(step)) {
    // What is declared anew by another name was judged where it goes.
    if (fate.isSole && others(all, fate, isGone).length > 0) return [];
    return [{ before: adoptedBy(all), after: next, wasCompared: true }];
  }
  const going = (): Change => ({
    before: old,
    after: afterwards(all, fate, comparisons),
    wasCompared: false,
  });
  if (isGone(step)) return [going()];
  const change: Change = { before: old, after: next, wasCompared: true };
  if (!isReplaced(step)) return [change];
  const isSame = fate.scope.every((name) => sameJson(old.inputs[name], next.inputs[name]));
  return isSame && !old.retained ? [change] : [going(), { ...change, before: adoptedBy(all) }];
}

/** What acts in place of an object that a step deletes. */
function afterwards(all: Told, fate: Fate, comparisons: readonly Comparison[]): Side | undefined {
  const { old } = all;
  if (old.retained) return old;
  const heirs = others(all, fate, (other) => other.new !== undefined && !isGone(other)).filter((other) =>
    fate.mayReplace(old, other),
  );
  const [first] = heirs;
  if (fate.isSole && first !== undefined) return first.new;
  const isLossless = ({ new: after }: Told): boolean =>
    comparisons.every((lost) => lost({ before: old, after, wasCompared: false }).length === 0);
  return heirs.find(isLossless)?.new ?? fate.leaves(old);
}

/** Other steps about objects of the same owner. */
function others(
  { step, old, new: next, plan }: Told,
  fate: Fate,
  wanted: (other: Step) => boolean,
): readonly Told[] {
  const owner = ownerOf(isGone(step) || isReplaced(step) ? old : next, fate);
  const known = byOwner(plan).get(step.kind) ?? indexOf(plan, step.kind, fate);
  byOwner(plan).set(step.kind, known);
  return (known.get(owner) ?? []).filter((other) => other.step !== step && wanted(other.step));
}

type ByOwner = ReadonlyMap<string, readonly Told[]>;

const byOwner = oncePerPlan(() => new Map<string | undefined, ByOwner>());

function indexOf(plan: Plan, kind: string | undefined, fate: Fate): ByOwner {
  const found = new Map<string, Told[]>();
  for (const step of plan.steps) {
    if (step.kind !== kind) continue;
    const all = told(step, plan);
    const owner = ownerOf(isGone(step) ? all.old : all.new, fate);
    const known = found.get(owner);
    if (known === undefined) found.set(owner, [all]);
    else known.push(all);
  }
  return found;
}

const ownerOf = ({ inputs }: Side, { scope }: Fate): string =>
  canonicalJson(scope.map((name) => inputs[name] ?? null));

/** Whether the plan shows that a value stays as it is: of a secret it doesn't. */
export const stays = (was: unknown, is: unknown): boolean => sameJson(was, is) && !isHidden(is);

/** Whether the value, or anything inside it, is a secret or not known before the update. */
export function isHidden(given: unknown): boolean {
  if (given === SECRET) return true;
  if (Array.isArray(given)) return given.some(isHidden);
  return isJsonObject(given) ? Object.values(given).some(isHidden) : hasUnknown(given);
}
