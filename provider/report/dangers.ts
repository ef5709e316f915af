import { digestOf } from "../basics/digest";
import { canonicalJson, omit, omitAbsent, pick, type JsonObject } from "../basics/json";
import { ADOPTED } from "../runtime/adopted";
import { hasUnknown } from "../runtime/engine-values";
import { IMPACT } from "../runtime/impact";
import { compareText } from "../basics/words";
import { showsWholeLocation } from "../logpush/destination-text";
import { PROVIDER_TYPES } from "../runtime/type-tokens";
import { argumentsOf, judgesOf, SHOWN } from "./effects";
import { joined, say, value } from "./phrase";
import { DANGERS, type Danger, type JudgedGate } from "./model";
import type { Plan, Sides, Step } from "./plan";
import { recordedImpact, recordedKnown } from "./impact";
import {
  placedAt,
  isDeleted,
  isReplaced,
  oncePerPlan,
  othersOf,
  PLACES,
  viewOf,
  type StepView,
} from "./sections/section";
import { wouldBlockIn } from "./sections/page-shield";
import { unseen } from "./judges/unseen";
import { asNumber, asObject, containsSecret, isHidden } from "./values";

/** Finds a plan's dangers, worst first. */
export function dangersOf(plan: Plan, steps: readonly Step[], gate: JudgedGate): readonly Danger[] {
  const found = steps.flatMap((step) => {
    const all = viewOf(step, plan);
    const judges = step.op === "same" ? [unseen] : judgesOf(step.kind);
    const judged = judges.flatMap((judge) => judge(all, gate));
    if (judged.length === 0) return [];
    const untold = changesArguments(step) ? untoldOf(all) : [];
    // The sentence shortens a long expression, but the digest must not.
    const compared = {
      compared: digestOf(
        step.kind === undefined
          ? [step.urn, step.old?.inputs ?? {}, step.new?.inputs ?? {}]
          : comparedBy(all),
      ),
    };
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
 * Collects the values that a danger depends on: all arguments, what the preview found, for a deletion what the last
 * update found, and what else the plan changes. They list at most 20 names, but have a digest of all of them. A plan
 * hides secret arguments, so their keyed digests stand for them.
 */
function comparedBy(all: StepView): unknown {
  const { step, old, new: next, impact } = all;
  const blocks = wouldBlockIn(impact.members);
  // What visitors and Cloudflare's new versions change from one run to the next is left out.
  const found = isDeleted(step)
    ? recordedImpact(step.kind, step.old)
    : omitAbsent({
        ...omit(impact.members, ["traffic", "versions"]),
        wouldBlock: blocks && pick({ ...blocks }, ["newly", "unreported"]),
      });
  const more = omitAbsent({
    adopted: asObject(next.inputs[ADOPTED])["changes"],
    previous: old.outputs["previous"],
    found: Object.keys(found).length === 0 ? undefined : found,
    knownBefore: secretsOf(old, step).length > 0 ? recordedKnown(old) : undefined,
    known: impact.known,
    unmanaged: impact.unmanaged ?? old.outputs["unmanaged"],
    lost: isDeleted(step) ? undefined : recordedImpact(step.kind, step.old)["keys"],
  });
  const lists = [isOpen(all) ? sourcesOf(all) : [], remainingOf(all)];
  return [
    shownOf(old, step),
    shownOf(next, step),
    ...(Object.keys(more).length === 0 ? [] : [more]),
    ...lists.filter((each) => each.length > 0),
  ];
}

/** Returns the arguments, and computed inputs that stand for what a plan hides or an argument means. */
const shownOf = ({ inputs }: Sides, { kind }: Step): JsonObject =>
  pick(inputs, [...argumentsOf(kind), ...Object.values(SHOWN), "destinationMoved", "allFields"]);

/** Returns what else the plan changes in the same place, because that may make up for a loss, or not. */
function remainingOf(all: StepView): readonly unknown[] {
  // What the plan hides may be the same place.
  const { inputs } = placedAt(all);
  const places = argumentsOf(all.step.kind).filter(
    (name) => PLACES.includes(name) && !isHidden(inputs[name]),
  );
  return othersOf(all, places)
    .filter((other) => changesArguments(other.step))
    .map((other) => changeOf(other))
    .sort(compareText);
}

/** Returns what a step gives its resource, as text. Each of many steps in one place is compared with all others. */
function changeOf({ step, new: next, impact: { members, known }, plan }: StepView): string {
  const text =
    changes(plan).get(step) ?? canonicalJson([shownOf(next, step), members["keys"] ?? known ?? ""]);
  changes(plan).set(step, text);
  return text;
}

const changes = oncePerPlan(() => new Map<Step, string>());

/**
 * Whether a value isn't known yet, or the engine or the preview couldn't check the resource, so that nobody found out what
 * the other values change. Accepting what may happen then accepts it for these values only.
 */
const isOpen = ({ step, impact: { unknown, skipped } }: StepView): boolean =>
  changesArguments(step) && (unknown === undefined || unknown.length + skipped.length > 0);

/**
 * Collects what the plan gives the resources that values come from, and the resources that theirs come from. A value that
 * isn't known yet, such as a transformer's ID, stands for all of that.
 */
function sourcesOf({ new: next, plan }: StepView): readonly unknown[] {
  const from = new Map<string, Step>();
  const follow = ({ sources }: Sides): void => {
    for (const urn of Object.values(sources).flat()) {
      const step = given(plan).get(urn);
      if (step?.new === undefined || from.has(urn) || !changesArguments(step)) continue;
      from.set(urn, step);
      follow(step.new);
    }
  };
  follow(next);
  return [...from.values()].map((step) => {
    const { new: side, impact } = viewOf(step, plan);
    // A plan hides code, but not its digest, which is a computed input.
    return [
      step.kind ?? step.type,
      step.name,
      omit(side.inputs, [IMPACT]),
      omitAbsent({ known: impact.known }),
    ];
  });
}

/** The first step that gives a resource its values, by URN. */
const given = oncePerPlan(
  ({ steps }) =>
    new Map(steps.flatMap((step) => (step.new === undefined ? [] : [[step.urn, step] as const])).reverse()),
);

/** Lists the arguments whose values the digest doesn't cover, and the plan doesn't show. */
function untoldOf(all: StepView): readonly string[] {
  const { step, new: next, impact } = all;
  const { unknown = [], known } = impact;
  if (!isOpen(all))
    return [
      ...(known === undefined ? secretsOf(next, step) : []),
      ...(hidesDestination(all) ? ["destinationConf"] : []),
    ];
  const isUntold = (name: string): boolean =>
    // A text or object that's partly unknown is unknown as a whole, also the parts that the program knows.
    hasUnknown(next.inputs[name]) ||
    (containsSecret(next.inputs[name]) && (known === undefined || unknown.includes(name)));
  // The plan has only the path of what couldn't be read.
  const isUnread = (name: string): boolean =>
    ["file", "directory"].includes(name) &&
    name in next.inputs &&
    asNumber(next.inputs["keys"]) === undefined;
  return argumentsOf(step.kind).filter((name) => isUntold(name) || isUnread(name));
}

/** Whether a job's destination changes, and neither the plan nor a digest keyed by the earlier one tells all of it. */
function hidesDestination(all: StepView): boolean {
  const { before, new: next } = all;
  const { destinationShown: shown, destinationMoved: moved } = next.inputs;
  const isShown = typeof shown !== "string" || showsWholeLocation(shown);
  if (before.inputs["destinationShown"] === shown) return moved === true || (isReplaced(all) && !isShown);
  return typeof moved !== "string" && !isShown;
}

/** Returns the arguments that the program made secret. */
function secretsOf({ secrets }: Sides, { kind }: Step): readonly string[] {
  return argumentsOf(kind).filter((name) => secrets.includes(name));
}

/** Whether the step gives the object new values. */
const changesArguments = (step: Step): boolean => step.op !== "same" && !isDeleted(step);
