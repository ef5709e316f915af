import { IMPACT } from "../../runtime/impact";
import { newlySkippedByOthers, OTHER_SKIPS } from "../../rulesets/skip-rules";
import { UNMANAGED } from "../../runtime/unmanaged";
import { omit, ownMember, pick, sameJson } from "../../basics/json";
import { applying } from "../../basics/words";
import { argumentsOf, judgesOf, SHOWN } from "../effects";
import { driftedUnseen, impactOf } from "../impact";
import { REMOVAL_GATE } from "../model";
import { newlyBlocked } from "../judges/page-shield";
import { say, type Phrase } from "../phrase";
import type { Plan, Refreshed, Sides, Step } from "../plan";
import { pruned } from "../sections/kv";
import { viewOf, type StepView } from "../sections/section";
import { isHidden } from "../values";
import type { DriftedResource } from "./model";

/** Represents a manual change as a plan: its old side is the state, and its new side is what exists now. */

/** A resource of this package that was changed manually. */
export interface Drifted extends Refreshed {
  readonly kind: string;
  /** The arguments that differ. Empty if the object was deleted. */
  readonly names: readonly string[];
  /** Those of them that differ in a secret, which the plan doesn't show. */
  readonly hidden: readonly string[];
}

/** Returns what was changed manually. Undefined if nothing was. */
export function driftedOf(refreshed: Refreshed): Drifted | undefined {
  const { step, recorded, now } = refreshed;
  const { kind } = step;
  if (kind === undefined || (now !== undefined && recorded.isUnfinished)) return undefined;
  if (now === undefined) return { ...refreshed, kind, names: [], hidden: [] };
  const names = [
    ...propertiesOf(kind).filter((name) => !sameJson(valueOf(recorded, name), valueOf(now, name))),
    ...(skippedByOthers(refreshed).length === 0 ? [] : [OTHER_SKIPS]),
    ...(prunedIn(refreshed) === undefined ? [] : [PRUNES]),
  ];
  const hidden = hiddenChanges(refreshed).filter((name) => !names.includes(name));
  const isDrift = hidden.length > 0 || (names.length > 0 && !isArrived(now));
  return isDrift ? { ...refreshed, kind, names: [...names, ...hidden], hidden } : undefined;
}

/** The name of the property in which a refresh describes drift that no argument shows. */
export const DRIFT = "drift";
export const MIGRATION_STATE = "migrationState";
const DESTINATION = "destinationConf";

/** The name of what an unchanged `prune` deletes, because others wrote it. */
export const PRUNES = "prunes";

/** Says which keys that others wrote the update deletes. Undefined if there are none, or the program has changed `prune`. */
export function prunedIn({ next }: Refreshed): Phrase | undefined {
  if (next?.kind !== "KvEntries" || next.op !== "update" || next.new === undefined) return undefined;
  const isUnchanged = sameJson(next.old?.inputs["prune"], next.new.inputs["prune"]);
  return isUnchanged ? pruned({ impact: impactOf(next), new: next.new }) : undefined;
}

/** Says what other skip rules newly skip. */
export function skippedByOthers({ step, recorded, now }: Refreshed): readonly string[] {
  const [before, after] = [recorded, now].map((side) => side?.outputs[OTHER_SKIPS]);
  return isHidden(after) && driftedUnseen(step.kind, now).includes(OTHER_SKIPS)
    ? ["someone else's skip rules have changed; the plan hides which, and the refresh's warning names them"]
    : newlySkippedByOthers(before, after);
}

/** Returns the arguments of a class and the outputs that show drift. Other inputs and outputs are computed. */
function propertiesOf(kind: string): readonly string[] {
  return [...argumentsOf(kind), kind === "WafMigration" ? MIGRATION_STATE : DRIFT, UNMANAGED];
}

export function valueOf({ inputs, outputs }: Sides, name: string): unknown {
  if (name === MIGRATION_STATE || name === UNMANAGED) return outputs[name];
  return inputs[ownMember(SHOWN, name) ?? name] ?? inputs[name];
}

/** Whether the only difference is that a migration has reached the target that the program declares. */
const isArrived = ({ inputs, outputs }: Sides): boolean =>
  outputs[MIGRATION_STATE] !== undefined && inputs["target"] === outputs[MIGRATION_STATE];

/** Returns the names of arguments that changed, although the plan hides their values. */
function hiddenChanges({ now, step: { kind } }: Refreshed): readonly string[] {
  const isMoved = kind === "LogpushJob" && now?.outputs[DRIFT] !== undefined;
  const changed = driftedUnseen(kind, now).filter((name) => argumentsOf(kind).includes(name));
  return isMoved ? [...changed, DESTINATION] : changed;
}

/** Represents the manual changes as a plan, to reuse the code that finds dangers and writes sections. */
export class ByHand {
  readonly #given: Plan;
  readonly #plan: Plan;
  readonly #reversed: Plan;
  /** The steps that stand for a manual change and for undoing it, by the resource's URN. */
  readonly #steps: ReadonlyMap<string, readonly [done: Step, undone: Step | undefined]>;

  constructor(plan: Plan, refreshed: readonly Refreshed[]) {
    this.#given = plan;
    this.#steps = new Map(refreshed.map((each) => [each.step.urn, stepsOf(each)]));
    const all = [...this.#steps.values()];
    const alone = { ...plan, diagnostics: [], refreshed: undefined };
    this.#plan = { ...alone, steps: all.map(([done]) => done) };
    this.#reversed = { ...alone, steps: all.flatMap(([, undone]) => undone ?? []) };
  }

  /** Returns the manual change as a step of a plan, for the code that writes sections. */
  viewOf({ step: { urn } }: Refreshed): StepView | undefined {
    const [done] = this.#steps.get(urn) ?? [];
    return done && viewOf(done, this.#plan);
  }

  /** Returns the losses from the manual change (`lost`), and the losses from undoing it (`gained`). */
  effectsOf({ step, next, recorded }: Refreshed): Pick<DriftedResource, "lost" | "gained"> {
    const [done, undone] = this.#steps.get(step.urn) ?? [];
    const lost = lossesIn(done, this.#plan);
    const known = new Set(lost.map(wordsOf));
    // What can't be judged counts as a loss in both directions.
    const gained = lossesIn(undone, this.#reversed).filter((sentence) => !known.has(wordsOf(sentence)));
    const declaredAs = ({ inputs }: Sides): unknown => pick(inputs, argumentsOf(step.kind));
    const isSame = next?.new !== undefined && sameJson(declaredAs(recorded), declaredAs(next.new));
    // What a change of the program blocks isn't the price of undoing this one.
    const blocks = isSame ? newlyBlocked(viewOf(next, this.#given)) : undefined;
    return { lost, gained: [...gained, ...applying(blocks && say`it ${blocks}`)] };
  }
}

function stepsOf(refreshed: Refreshed): readonly [done: Step, undone: Step | undefined] {
  const { step, recorded, now } = refreshed;
  const changed = hiddenChanges(refreshed);
  // What the plan hides and the refresh found unchanged is as if it weren't there.
  const unchanged = argumentsOf(step.kind).filter(
    (name) =>
      isHidden(recorded.inputs[name]) &&
      sameJson(recorded.inputs[name], now?.inputs[name]) &&
      !changed.includes(name),
  );
  const withoutOldComparisons = (side: Sides): Sides => ({
    ...side,
    // An earlier preview's comparison is about another change.
    inputs: omit(side.inputs, ["logged", "destinationMoved", IMPACT, ...unchanged]),
  });
  const before = withoutOldComparisons(recorded);
  if (now === undefined)
    return [{ ...step, op: "delete", old: withoutRestore(before), new: undefined }, undefined];
  const after = withoutOldComparisons(now);
  const op = sameJson(before, after) ? "same" : "update";
  return [
    { ...step, op, old: before, new: after },
    { ...step, op, old: after, new: before },
  ];
}

/** Removes what a destroy would restore, because a manual deletion doesn't restore anything. */
function withoutRestore(side: Sides): Sides {
  const { inputs, outputs } = side;
  return {
    ...side,
    inputs: omit(inputs, ["onDestroy"]),
    outputs: omit(outputs, ["previous"]),
    retained: false,
  };
}

function lossesIn(step: Step | undefined, plan: Plan): readonly Phrase[] {
  if (step === undefined) return [];
  const view = viewOf(step, plan);
  return judgesOf(step.kind)
    .flatMap((judge) => judge(view, REMOVAL_GATE))
    .flatMap(([kind, sentence]) => (kind === "unprotect" ? [sentence] : []));
}

/** Returns the words of a sentence, sorted. */
const wordsOf = (sentence: Phrase): string => sentence.toString().split(" ").sort().join(" ");
