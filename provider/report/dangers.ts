import { digestOf } from "../runtime/digest";
import { pick } from "../runtime/values";
import { judgedArguments, judgesOf } from "./effects";
import { DANGERS, type Danger, type RemovalGate } from "./model";
import type { Plan, Step } from "./plan";
import { told, type Told } from "./sections/section";
import { compare } from "./values";

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

/** All that an unprotected side is judged by. */
function comparedIn({ step, old, new: next }: Told): unknown {
  const names = judgedArguments(step.kind);
  return [old, next].map(({ inputs }) => pick(inputs, names));
}
