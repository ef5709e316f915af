import { expansionIn } from "../../rulesets/effective";
import { recordedRuleIds } from "../../rulesets/resolve-rules";
import { resolveSkip, skip } from "../../rulesets/skip";
import { ID } from "../../runtime/fields";
import { declaredName } from "../sections/managed-ruleset";
import { asList, asObject, asText } from "../values";
import { selectsNoLess, selectsNothing } from "./requests";
import type { Side } from "./sides";

/** What a plan shows about a managed ruleset's deployment, and what its exceptions skip. */

/** Returns the ruleset's ID, as declared or as found by the preview. */
export function ownId({ inputs }: Side): string | undefined {
  return asText(asObject(inputs["ruleset"])["id"]) ?? expansionIn(inputs).ruleset?.id;
}

/** Whether the rule may be enabled, which includes a value that's unknown until the update. */
export const mayAct = ({ inputs }: Side): boolean => inputs["enabled"] !== false;

/** Whether the rule may run on any request. */
export const mayRun = (side: Side): boolean =>
  mayAct(side) && !selectsNothing(side.inputs["expression"]) && !isSkipped(side);

/**
 * Whether an exception of its own skips the rule for every request. An interrupted update may have left the rule
 * without its exceptions.
 */
function isSkipped(side: Side): boolean {
  const { expression = "true" } = side.inputs;
  return (
    side.isUnfinished !== true &&
    exceptionsOf(side).some(({ skip, ...one }) => {
      const reach = reachOf(skip, side);
      const isWhole = reach === "all" || reach?.get(ownId(side) ?? THIS) === "all";
      return isWhole && selectsNoLess(one["expression"], expression);
    })
  );
}

/** Lists the exceptions, except those that someone disabled in the dashboard. */
export const exceptionsOf = (side: Side | undefined): readonly Exception[] =>
  asList(side?.inputs["exceptions"])
    .map(asObject)
    .filter(({ enabled }) => enabled !== false);

export type Exception = Readonly<Record<string, unknown>>;

/** What an exception skips: everything, or all or some rules of certain rulesets. */
type Reach = "all" | ReadonlyMap<string, "all" | readonly unknown[]>;

/** Stands for the exception's own ruleset if its ID isn't known. */
const THIS = "this";

/** Returns what an exception skips. Undefined if the plan doesn't show it. */
function reachOf(given: unknown, side: Side): Reach | undefined {
  const declared = skip.safeParse(given);
  if (!declared.success) return undefined;
  const ids = asObject(asObject(side.outputs["known"])["rulesets"]);
  const rulesets = Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, String(id)]));
  const rules = recordedRuleIds(side.inputs);
  const resolved = resolveSkip(declared.data, { own: ownId(side) ?? THIS, rulesets, rules });
  if (resolved === "all" || "other" in resolved) return resolved === "all" ? "all" : undefined;
  if ("rulesets" in resolved) return new Map(resolved.rulesets.map((id) => [id, "all"]));
  return new Map(Object.entries(resolved.rules));
}

/** Whether an exception skips no more than others do together. */
export function skipsNoMoreRequests(
  [one, next]: readonly [Exception, Side],
  known: readonly Exception[],
  old: Side,
): boolean {
  // A plan shows the IDs of the rulesets that an exception names only as recorded by the last update.
  const named = { ...next, outputs: { ...old.outputs, ...next.outputs } };
  const reach = reachOf(one["skip"], named);
  const expressions = known
    .filter((each) => reachesNoMore(reach, reachOf(each["skip"], old)))
    .map(({ expression }) => expression);
  const together = expressions.map((each) => `(${String(each)})`).join(" or ");
  const wider = expressions.length > 1 ? [...expressions, together] : expressions;
  return wider.some((wide) => selectsNoLess(wide, one["expression"]));
}

function reachesNoMore(one: Reach | undefined, known: Reach | undefined): boolean {
  if (known === "all") return true;
  if (one === undefined || known === undefined || one === "all") return false;
  return [...one].every(([id, some]) => {
    const held = known.get(id);
    return (
      held === "all" || (held !== undefined && some !== "all" && some.every((rule) => held.includes(rule)))
    );
  });
}

/** Whether one deployment's exception may skip rules of another deployment that comes after it. */
export function mayReach(exception: Exception, holder: Side, other: Side): boolean {
  if (selectsNothing(exception["expression"])) return false;
  const reach = reachOf(exception["skip"], holder);
  if (reach === undefined || reach === "all") return true;
  const [id, name] = [ownId(other), declaredName(other)];
  return [...reach.keys()]
    .map((key) => (key === THIS ? declaredName(holder) : key))
    .some((key) => {
      if (key === undefined) return true;
      const known = ID.is(key) ? id : name;
      return known === undefined || known === key;
    });
}

/** Whether an exception may name another ruleset than its own deployment's. */
export function mayNameOthers({ skip: given }: Exception, holder: Side): boolean {
  const reach = reachOf(given, holder);
  const own: readonly unknown[] = [THIS, ownId(holder), declaredName(holder)];
  return reach !== "all" && (reach === undefined || [...reach.keys()].some((key) => !own.includes(key)));
}
