import { digestOf } from "../basics/digest";
import { omit, omitAbsent, pick } from "../basics/json";
import { ADOPTED } from "../runtime/adopted";
import { compareText } from "../basics/words";
import { judgedArguments, judgesOf } from "./effects";
import { joined, say, value } from "./phrase";
import { DANGERS, type Danger, type JudgedGate } from "./model";
import type { Plan, Sides, Step } from "./plan";
import { recordedImpact, recordedSecrets } from "./impact";
import { isDeleted, viewOf, type StepView } from "./sections/section";
import { asObject } from "./values";

/** Finds a plan's dangers, worst first. */
export function dangersOf(plan: Plan, steps: readonly Step[], gate: JudgedGate): readonly Danger[] {
  const found = steps.flatMap((step) => {
    const all = viewOf(step, plan);
    const judged = judgesOf(step.kind).flatMap((judge) => judge(all, gate));
    const untold = all.impact.secrets === undefined && changesArguments(step) ? secretsOf(all.new, step) : [];
    const any = say`; accepting this accepts any value of ${joined(untold.map(value))}`;
    return judged.map(([kind, sentence]): Danger => ({
      kind,
      type: step.kind ?? step.type,
      name: step.name,
      sentence: untold.length === 0 || kind === "traffic" ? sentence : say`${sentence}${any}`,
      // The sentence shortens a long expression, but the digest must not.
      ...(step.kind === undefined ? {} : { compared: digestOf(comparedBy(all)) }),
    }));
  });
  return found
    .map((danger) => ({ danger, order: DANGERS.indexOf(danger.kind), text: danger.sentence.toString() }))
    .sort(
      (a, b) =>
        a.order - b.order ||
        compareText(a.danger.type, b.danger.type) ||
        compareText(a.danger.name, b.danger.name) ||
        compareText(a.text, b.text),
    )
    .map(({ danger }) => danger);
}

/**
 * Collects the values that a danger depends on: arguments, adopted and restored values, what the preview found, and for
 * a deletion what the last update found. They list at most 20 names, but have a digest of all of them. A plan hides
 * secret arguments, so their keyed digests stand for them.
 */
function comparedBy({ step, old, new: next, impact }: StepView): unknown {
  const names = judgedArguments(step.kind);
  const recorded = isDeleted(step) ? recordedImpact(step.kind, step.old) : impact.members;
  const found = omit(recorded, ["traffic"]); // Counts change from minute to minute.
  const more = omitAbsent({
    adopted: asObject(next.inputs[ADOPTED])["changes"],
    previous: old.outputs["previous"],
    found: Object.keys(found).length === 0 ? undefined : found,
    moved: next.inputs["destinationMoved"],
    secretsBefore: secretsOf(old, step).length === 0 ? undefined : recordedSecrets(old),
    secrets: secretsOf(next, step).length === 0 ? undefined : impact.secrets,
  });
  const sides = [old, next].map(({ inputs }) => pick(inputs, names));
  return Object.keys(more).length === 0 ? sides : [...sides, more];
}

/** Returns the arguments that the program made secret and that can be part of a danger. */
function secretsOf({ secrets }: Sides, { kind }: Step): readonly string[] {
  return judgedArguments(kind).filter((name) => secrets.includes(name));
}

/** Whether the step gives the object new values. */
const changesArguments = (step: Step): boolean => step.op !== "same" && !isDeleted(step);
