import { digestOf } from "../basics/digest";
import { omit, omitAbsent, pick } from "../basics/json";
import { ADOPTED } from "../runtime/adopted";
import { compareText } from "../basics/words";
import { hasUnknown } from "../runtime/engine-values";
import { PROVIDER_TYPES } from "../runtime/type-tokens";
import { argumentsOf, judgedArguments, judgesOf } from "./effects";
import { joined, say, value } from "./phrase";
import { DANGERS, type Danger, type JudgedGate } from "./model";
import type { Plan, Sides, Step } from "./plan";
import { recordedImpact, recordedSecrets } from "./impact";
import { isDeleted, viewOf, type StepView } from "./sections/section";
import { asObject, containsSecret } from "./values";

/** Finds a plan's dangers, worst first. */
export function dangersOf(plan: Plan, steps: readonly Step[], gate: JudgedGate): readonly Danger[] {
  const found = steps.flatMap((step) => {
    const all = viewOf(step, plan);
    const judged = judgesOf(step.kind).flatMap((judge) => judge(all, gate));
    if (judged.length === 0) return [];
    const untold = changesArguments(step) ? untoldOf(all) : [];
    // The sentence shortens a long expression, but the digest must not.
    const compared = step.kind === undefined ? {} : { compared: digestOf(comparedBy(all)) };
    const any = say`; accepting this accepts any value of ${joined(untold.map(value))}`;
    return judged.map(([kind, sentence]): Danger => ({
      kind,
      type: step.kind ?? (PROVIDER_TYPES.includes(step.type) ? "Provider" : step.type),
      name: step.name,
      sentence: untold.length === 0 || kind === "traffic" ? sentence : say`${sentence}${any}`,
      ...compared,
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
function comparedBy(all: StepView): unknown {
  const { step, old, new: next, impact } = all;
  const names = isOpen(all) ? argumentsOf(step.kind) : judgedArguments(step.kind);
  const recorded = isDeleted(step) ? recordedImpact(step.kind, step.old) : impact.members;
  const found = omit(recorded, ["traffic"]); // Counts change from minute to minute.
  const more = omitAbsent({
    adopted: asObject(next.inputs[ADOPTED])["changes"],
    previous: old.outputs["previous"],
    found: Object.keys(found).length === 0 ? undefined : found,
    moved: next.inputs["destinationMoved"],
    secretsBefore: secretsOf(old, step).length === 0 ? undefined : recordedSecrets(old),
    secrets: secretsOf(next, step).length === 0 ? undefined : impact.secrets,
    known: impact.known,
  });
  const sides = [old, next].map(({ inputs }) => pick(inputs, names));
  return Object.keys(more).length === 0 ? sides : [...sides, more];
}

/**
 * Whether a value isn't known yet, so that the preview couldn't find out what the others change. Accepting what may
 * happen then accepts it for these values of the others only.
 */
const isOpen = ({ step, new: next }: StepView): boolean =>
  changesArguments(step) && hasUnknown(pick(next.inputs, argumentsOf(step.kind)));

/** Lists the secret arguments whose values the digest doesn't cover. */
function untoldOf(all: StepView): readonly string[] {
  const { step, new: next, impact } = all;
  if (isOpen(all) && impact.known === undefined)
    return argumentsOf(step.kind).filter((name) => containsSecret(next.inputs[name]));
  return impact.secrets === undefined ? secretsOf(next, step) : [];
}

/** Returns the arguments that the program made secret and that can be part of a danger. */
function secretsOf({ secrets }: Sides, { kind }: Step): readonly string[] {
  return judgedArguments(kind).filter((name) => secrets.includes(name));
}

/** Whether the step gives the object new values. */
const changesArguments = (step: Step): boolean => step.op !== "same" && !isDeleted(step);
