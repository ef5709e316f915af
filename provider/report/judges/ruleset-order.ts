import { rulesInFront, type RuleInFront } from "../../rulesets/impact";
import { position as positionShape, type Position } from "../../rulesets/arguments";
import { asObject, asText, cell, isHidden } from "../values";
import { say, words, type Phrase } from "../phrase";
import type { Plan, Step } from "../plan";
import {
  adoptedBy,
  heirOf,
  isDeleted,
  isPart,
  isReplaced,
  mayDeleteFirst,
  viewOf,
  type StepView,
} from "../sections/section";
import { nameOf, skipWords } from "../sections/managed-ruleset";
import { exceptionsOf, mayReach, skipsNoMoreRequests, type Exception } from "./ruleset-facts";
import { isUnchanged, type Change, type Side } from "./sides";

/**
 * The order of a zone's deployments after all steps of a plan. A preview compares each step with the zone as it is now,
 * so it can't see what two steps do together.
 */

/** A deployment that remains after the update. */
interface Deployment {
  readonly step: Step;
  readonly before: Side | undefined;
  readonly after: Side;
  readonly place: Place;
  /** Whether the preview compares the step with rules that stay where they are. */
  readonly isCompared: boolean;
  /** For a rule that the plan creates: the rules that are in front of it now. Undefined if the preview didn't look. */
  readonly inFront: readonly RuleInFront[] | undefined;
}

/**
 * Where the update puts a rule. `open` if that depends on the order of the steps, or the plan doesn't show it.
 */
type Place = "stays" | "open" | Position;

/** @param leaves returns what a destroy leaves behind. */
export function deploymentsAfter(plan: Plan, leaves: (old: Side) => Side | undefined): readonly Deployment[] {
  const all = plan.steps
    .filter((step) => step.kind === "ManagedRulesetOverride" && !isPart(step, plan))
    .map((step) => viewOf(step, plan));
  return all.flatMap((view): Deployment[] => {
    const { step, old, new: next } = view;
    const after = isDeleted(step) ? (old.retained ? old : leaves(old)) : next;
    if (after === undefined) return [];
    const isCompared = !isDeleted(step) && (!isAdded(view) || view.impact.members["compared"] !== undefined);
    const inFront = rulesInFront.safeParse(view.impact.members["inFront"]).data;
    return [{ step, before: step.old && old, after, place: placeOf(view, after, all), isCompared, inFront }];
  });
}

function placeOf(view: StepView, after: Side, all: readonly StepView[]): Place {
  const { step, old, new: next } = view;
  // An adopted rule may go back to where it was found.
  if (isDeleted(step)) return after === old || old.inputs["position"] === undefined ? "stays" : "open";
  const position = positionOf(next);
  const isSameAnchor = (): boolean => isRenamed(old.inputs["position"], next.inputs["position"], all);
  const isOpen = all.some(
    (other) =>
      other !== view &&
      isNamedIn(position, sidesOf(other)) &&
      (moves(other, all) || (changesRef(other) && !isSameAnchor())),
  );
  if (!moves(view, all)) return step.op === "update" && isOpen ? "open" : "stays";
  if (next.inputs["position"] === undefined) return "last";
  return position === undefined || isOpen ? "open" : position;
}

/** Whether the step adds a rule, may create it again or gives it another position. */
function moves(view: StepView, all: readonly StepView[]): boolean {
  const { step, old, new: next } = view;
  if (isDeleted(step) || step.op === "import") return false;
  const [was, is] = [old.inputs["position"], next.inputs["position"]];
  return (
    isAdded(view) ||
    mayDeleteFirst(view) ||
    (is !== undefined && !isUnchanged(was, is) && !isRenamed(was, is, all))
  );
}

const isAdded = (view: StepView): boolean =>
  (view.step.op === "create" || isReplaced(view)) && adoptedBy(view) === undefined;

/** Whether both positions name the same rule, whose ref this plan changes. The update then doesn't move the rule. */
function isRenamed(was: unknown, is: unknown, all: readonly StepView[]): boolean {
  const [side, from] = Object.entries(asObject(was))[0] ?? [];
  const to = asText(asObject(is)[side ?? ""]);
  const isTaken = all.some(({ new: next }) => next.inputs["ref"] === from);
  return (
    to !== undefined &&
    !isTaken &&
    all.some(
      ({ step, old, new: next, plan }) =>
        old.inputs["ref"] === from && (heirOf(step, plan)?.new ?? next).inputs["ref"] === to,
    )
  );
}

/** Whether the update gives the rule another ref, so that a position that names it may mean another rule. */
const changesRef = ({ step, old, new: next }: StepView): boolean =>
  step.op === "update" && !isUnchanged(old.inputs["ref"], next.inputs["ref"]);

const positionOf = ({ inputs: { position } }: Side): Position | undefined =>
  isHidden(position) ? undefined : positionShape.safeParse(position).data;

const sidesOf = ({ step }: StepView): readonly Side[] =>
  [step.old, step.new].filter((side) => side !== undefined);

/** Whether a position names the rule, or one of its exceptions. */
function isNamedIn(position: Position | undefined, sides: readonly Side[]): boolean {
  if (position === undefined || typeof position === "string") return false;
  const anchor = "before" in position ? position.before : position.after;
  return sides
    .flatMap(({ inputs, outputs }) => [inputs["ref"], outputs["ruleRef"], outputs["ruleId"]])
    .map(asText)
    .some((name) => name !== undefined && (name === anchor || anchor.startsWith(`${name}/exception/`)));
}

/** Finds the deployment that a change results in. */
export function deploymentOf(
  { after }: Change,
  step: Step,
  all: readonly Deployment[],
): Deployment | undefined {
  return all.find((each) => each.after === after) ?? all.find((each) => each.step === step);
}

/** Finds exceptions that may come before a deployment after the update, and may not have before. */
export function newlySkipped(own: Deployment, all: readonly Deployment[]): readonly Phrase[] {
  const { after, place } = own;
  if (place === "stays") return [];
  return all
    .filter((other) => other.step.urn !== own.step.urn && isInSameList(other.after, after))
    .filter((other) => !isAhead(own, other))
    .flatMap((other) => {
      const given = other.after.inputs["exceptions"];
      // The preview compared the rule with the exceptions that are there now, but not with those that the plan adds.
      const isSeen = own.isCompared && other.place === "stays";
      if (isSeen && other.step.op === "same") return [];
      if (isHidden(given))
        return [
          say`${nameOf(after)} may come after exceptions of ${nameOf(other.after)} that the plan doesn't show`,
        ];
      return exceptionsOf(other.after)
        .filter((one) => mayReach(one, other.after, after) && !wasSkipped(one, other, own))
        .filter((one) => !isSeen || !hadException(one, other))
        .map(
          (one) =>
            say`${nameOf(after)} may come after an exception of ${nameOf(other.after)}: ${cell(one["expression"], 300)} skips ${skipWords(one["skip"])}`,
        );
    });
}

/**
 * Finds skip rules that a new rule comes after, and the deleted one that it replaces didn't. Those of the plan's own
 * deployments are found by `newlySkipped`.
 */
export function skippedAnew(
  { inFront, after, step }: Deployment,
  replaced: Side,
  all: readonly Deployment[],
  gone: Step,
): readonly Phrase[] {
  if (inFront === undefined)
    return step === gone
      ? []
      : [say`${nameOf(after)} replaces a rule in another place, so exceptions may apply to more rules`];
  const at = inFront.findIndex(({ ruleId }) => ruleId === replaced.outputs["ruleId"]);
  const sides = all.map((each) => each.after);
  return (at === -1 ? [] : inFront.slice(at + 1)).flatMap(({ ref, skip }) =>
    skip === undefined || isNamedIn({ after: ref }, sides)
      ? []
      : [say`${nameOf(after)} replaces a rule in another place, so ${words(skip)}`],
  );
}

/** Whether two rules are, or may be, in the same entry point. */
const isInSameList = ({ inputs: one }: Side, { inputs: other }: Side): boolean =>
  ["zoneId", "phase", ...(one["zoneId"] === undefined ? ["accountId"] : [])].every(
    (name) => one[name] === other[name] || isHidden(one[name]) || isHidden(other[name]),
  );

/** Whether a rule certainly comes before another one after the update, in whatever order the steps run. */
function isAhead(own: Deployment, other: Deployment): boolean {
  const [one, two] = [own.place, other.place];
  if (one === "open" || two === "open") return false;
  if (one === "first") return two !== "first";
  if (typeof one === "object" && "after" in one && isNamedIn(one, [other.after])) return false;
  if (two === "last") return one !== "last";
  if (typeof one !== "object" || !("before" in one)) return false;
  if (two === "stays") return isNamedIn(one, [other.after]);
  return typeof two === "object" && "after" in two && two.after === one.before;
}

/** Whether the declared positions already put the deployment after an exception that skipped the same. */
function wasSkipped(exception: Exception, other: Deployment, own: Deployment): boolean {
  const { before: holder } = other;
  if (holder === undefined || own.before === undefined) return false;
  const [place, holderPlace] = [positionOf(own.before), positionOf(holder)];
  const isBehind =
    (typeof place === "object" && "after" in place && isNamedIn(place, [holder])) ||
    (typeof holderPlace === "object" && "before" in holderPlace && isNamedIn(holderPlace, [own.before]));
  return isBehind && hadException(exception, other);
}

/** Whether the holder already had an exception that skipped the same. */
const hadException = (exception: Exception, { before: holder, after }: Deployment): boolean =>
  holder !== undefined && skipsNoMoreRequests([exception, after], exceptionsOf(holder), holder);
