import { sameJson, type JsonObject } from "../../basics/json";
import type { DangerKind, JudgedGate } from "../model";
import type { Phrase } from "../phrase";
import type { Step } from "../plan";
import {
  adoptedBy,
  isDeleted,
  isNew,
  isReplaced,
  isSamePlace,
  othersOf,
  undoesChange,
  type StepView,
} from "../sections/section";
import { isHidden } from "../values";
import { adoptedId } from "../../runtime/adopted";
import { lastOfId } from "../impact";

/** An object's arguments and outputs, either before or after the update. */
export interface Side {
  readonly inputs: JsonObject;
  readonly outputs: JsonObject;
  /** Whether an interrupted update may have changed the object, too. */
  readonly isUnfinished?: boolean;
}

export interface Change {
  /** The object before the update. Undefined before a create. */
  readonly before: Side | undefined;
  /** The object after the update. Undefined after a delete. */
  readonly after: Side | undefined;
  /** What the preview found by comparing `after` with `before`. Empty if it didn't compare them. */
  readonly found: JsonObject;
}

/**
 * Finds ways in which the object protects or records less after the change. Returns one sentence for each, with the
 * values before and after.
 */
export type Comparison = (change: Change) => readonly Phrase[];

/** Finds the dangers in one step of a plan. */
export type Judge = (all: StepView, gate: JudgedGate) => readonly (readonly [DangerKind, Phrase])[];

/** Facts about one kind of object, such as Logpush jobs, for the functions that find dangers. */
export interface ObjectTraits {
  /**
   * Arguments that say what the object belongs to, such as `zoneId`. If one changes, the object is deleted and another
   * is created.
   */
  readonly scope: readonly string[];
  /** Whether there's exactly one such object for each value of the `scope` arguments. */
  readonly isSole: boolean;
  /** Returns what a destroy leaves behind. Undefined if it deletes the object. */
  leaves(old: Side): Side | undefined;
  /** Whether another resource can replace a deleted one, provided that no comparison finds a loss between the two. */
  mayReplace(gone: Side, other: StepView): boolean;
}

/** A comparison that also receives the step and its plan. */
export type PlanComparison = (change: Change, all: StepView) => readonly Phrase[];

/**
 * Makes a judge of each comparison, which reports each loss as an `unprotect` danger.
 *
 * @param comparisons every comparison defined for this kind of resource.
 * @param inPlan what to report instead, where that depends on the rest of the plan.
 */
export function judgesFor<Name extends string>(
  traits: ObjectTraits,
  comparisons: Readonly<Record<Name, Comparison>>,
  inPlan?: Readonly<Partial<Record<Name, PlanComparison>>>,
): Readonly<Record<Name, Judge>> {
  const known = new WeakMap<Step, readonly Change[]>();
  const changes = (all: StepView): readonly Change[] => {
    const found = known.get(all.step) ?? changesOf(all, traits, Object.values(comparisons));
    known.set(all.step, found);
    return found;
  };
  const judgeOf =
    (lost: PlanComparison): Judge =>
    (all) =>
      changes(all).flatMap((change) => lost(change, all).map((sentence) => ["unprotect", sentence] as const));
  return mapMembers(comparisons, (lost, name) => judgeOf(inPlan?.[name] ?? lost));
}

function mapMembers<Name extends string, From, To>(
  members: Readonly<Record<Name, From>>,
  make: (member: From, name: Name) => To,
): Readonly<Record<Name, To>> {
  const made: Partial<Record<Name, To>> = {};
  for (const name in members) made[name] = make(members[name], name);
  return made as Record<Name, To>; // Every name has been made.
}

/** Compares an object only if it acts both before and after the update. Otherwise, there's nothing to compare. */
export const whileActing =
  (acted: (before: Side) => boolean, acts: (after: Side) => boolean = acted) =>
  (lost: (before: Side, after: Side, change: Change) => readonly Phrase[]): Comparison =>
  (change) => {
    const { before, after } = change;
    const isActing = before !== undefined && after !== undefined && acted(before) && acts(after);
    return isActing ? lost(before, after, change) : [];
  };

/**
 * Returns the objects that a step changes, before and after. `comparisons` is every comparison defined for this kind of
 * resource.
 */
export function changesOf(
  all: StepView,
  traits: ObjectTraits,
  comparisons: readonly Comparison[],
): readonly Change[] {
  const { step, old, new: next } = all;
  if (isNew(step)) {
    // The delete of the old resource covers a rename.
    if (
      traits.isSole &&
      !undoesChange(step) &&
      othersOf(all, traits.scope).some(({ step: other, old }) => isDeleted(other) && !old.retained)
    )
      return [];
    return [{ before: adoptedBy(all), after: next, found: all.impact.members }];
  }
  const going = (): readonly Change[] => (old.retained ? [] : [changeByDelete(all, traits, comparisons)]);
  if (isDeleted(step)) return going();
  const change: Change = { before: old, after: next, found: all.impact.members };
  if (!isReplaced(all)) return [change];
  const adopting: Change = { ...change, before: adoptedBy(all) };
  if (!isSamePlace(old.inputs, next.inputs, traits.scope)) return [...going(), adopting];
  const adoptsOther = adopting.before !== undefined && adoptedId(next.inputs) !== lastOfId(old.id);
  return adoptsOther ? [change, adopting] : [change];
}

/** Compares an object that a step deletes with the one that replaces it, if any. */
function changeByDelete(all: StepView, traits: ObjectTraits, comparisons: readonly Comparison[]): Change {
  const { old } = all;
  const to = (after: Side | undefined, found = {}): Change => ({ before: old, after, found });
  // Without a refresh, an update repairs nothing that someone changed.
  const replacements = othersOf(all, traits.scope).filter(
    (other) =>
      other.step.new !== undefined &&
      !isDeleted(other.step) &&
      !undoesChange(other.step) &&
      traits.mayReplace(old, other),
  );
  const [first] = replacements;
  if (traits.isSole && first !== undefined) return to(first.new, first.impact.members);
  const isLossless = ({ new: after }: StepView): boolean =>
    comparisons.every((lost) => lost(to(after)).length === 0);
  return to(replacements.find(isLossless)?.new ?? traits.leaves(old));
}

/** Whether the plan shows that a value stays the same. A plan never shows that for a secret. */
export const isUnchanged = (was: unknown, is: unknown): boolean => sameJson(was, is) && !isHidden(is);
