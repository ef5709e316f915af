import { digestOf } from "../runtime/digest";
import { ADOPTED } from "../runtime/adopted";
import { omitAbsent } from "../runtime/members";
import { pick } from "../runtime/values";
import { judgedArguments, judgesOf } from "./effects";
import { DANGERS, type Danger, type RemovalGate } from "./model";
import type { Plan, Step } from "./plan";
import { told, type Told } from "./sections/section";
import { bag, compare } from "./values";

/** What a reviewer must not miss, worst first. */
export function dangersOf(plan: Plan, steps: readonly Step[], gate: RemovalGate): readonly Danger[] {
  const found = steps.flatMap((step) => {
    const all = told(step, plan);
    const judged = judgesOf(step.kind).flatMap((judge) => judge(all, gate));
    return judged.map(([kind, sentence]): Danger => ({
      kind,
      type: step.kind ?? step.type,
      name: step.name,
      sentence,
      // A sentence shows the beginning of a long expression only.
      ...(kind === "unprotect" ? { compared: digestOf(comparedIn(all)) } : {}),
    }));
  });
  return found
    .map((danger) => ({ danger, order: DANGERS.indexOf(danger.kind), text: danger.sentence.toString() }))
    .sort(
      (a, b) =>
        a.order - b.order ||
        compare(a.danger.type, b.danger.type) ||
        compare(a.danger.name, b.danger.name) ||
        compare(a.text, b.text),
    )
    .map(({ danger }) => danger);
}

/** All that an unprotected side is judged by: what is declared, what is taken over, what comes back, and what the preview has compared. */
function comparedIn({ step, old, new: next }: Told): unknown {
  const names = judgedArguments(step.kind);
  const more = omitAbsent({
    adopted: bag(next.inputs[ADOPTED])["changes"],
    previous: old.outputs["previous"],
    compared: bag(next.inputs["expansion"])["compared"],
  });
  const sides = [old, next].map(({ inputs }) => pick(inputs, names));
  return Object.keys(more).length === 0 ? sides : [...sides, more];
}
