import { z } from "zod";
import { isWiderOrEqual } from "../rules-language/equivalence";
import { omitAbsent } from "../basics/json";
import { pluralize, truncate } from "../basics/words";
import { RESERVED_REF } from "./refs";
import { skippedRulesOf } from "./skip";
import { PHASES, type EntryPoint, type Skip, type ZoneRule } from "./wire";

/** Finds the skip rules in front of a deployment that apply to it. */

/** A skip rule that applies to a deployment. */
export interface ExplainedException {
  readonly ruleId: string;
  readonly ref: string;
  readonly description: string;
  readonly expression: string;
  /** `all` for the whole deployment, or the number of the deployment's rules that are skipped. */
  readonly skips: "all" | number;
  /** Present if the requests that match aren't logged. */
  readonly logging?: false;
}

/** The output that records the other skip rules. */
export const OTHER_SKIPS = "otherSkipRules";
const [str, skips] = [z.string(), z.literal("all").or(z.number())];
export const SKIPS = z.array(z.object({ ruleId: str, ref: str, description: str, expression: str, skips }));
type Skips = ExplainedException[];

/** Returns which of the rules in front of a deployment skip some of its ruleset. */
export function exceptionsIn(before: readonly ZoneRule[], rulesetId: string): Skips {
  return before.flatMap((rule) => {
    const skips = rule.enabled ? skippedBy(rule.skips, rulesetId) : undefined;
    if (skips === undefined) return [];
    const { id: ruleId, ref, description, expression, logging } = rule;
    return [{ ruleId, ref, description, expression, skips, ...omitAbsent({ logging }) }];
  });
}

/**
 * Returns the skip rules that apply to the deployment and that no program declares: not its exceptions, nor those of
 * another deployment, because the preview of that program says which rulesets they reach.
 *
 * @param adopted the IDs of the deployment's adopted exceptions.
 */
export function otherSkipRules({ rules }: EntryPoint, own: ZoneRule, adopted: readonly string[]): Skips {
  const before = rules.slice(0, rules.indexOf(own));
  const others = before.filter(({ id, ref }) => !RESERVED_REF.test(ref) && !adopted.includes(id));
  return exceptionsIn(others, own.deploys?.rulesetId ?? "");
}

/**
 * Returns which of the other skip rules an update records: those that were recorded, and those that it moves its rule
 * behind. Only a refresh accepts what someone else put in front, so that no update hides it.
 *
 * @param stood those that applied before the update.
 */
export function acceptedSkips(
  recorded: Skips | undefined,
  stood: Skips,
  now: Skips | undefined,
): Skips | undefined {
  if (recorded === undefined) return now;
  return now?.flatMap((each) => {
    const isSame = ({ ruleId }: ExplainedException): boolean => ruleId === each.ruleId;
    return recorded.find(isSame) ?? (stood.some(isSame) ? [] : [each]);
  });
}

/** Says what other skip rules have skipped since `before` was recorded. Says nothing if nothing was recorded. */
export function newlySkippedByOthers(before: unknown, now: unknown): string[] {
  const [recorded, found] = [before, now].map((each) => SKIPS.safeParse(each).data);
  if (recorded === undefined || found === undefined) return [];
  return found
    .filter((each) => !recorded.some((other) => other.ruleId === each.ruleId && coversSkip(other, each)))
    .map(
      (each) =>
        `someone else's ${skipText(each)}. Remove that rule in the dashboard or by the API, or accept it: a refresh records it`,
    );
}

/** Says what a skip rule skips. The program that declares an exception may have made its description secret. */
export function skipText({ ref, description, expression, skips }: ExplainedException): string {
  const name = RESERVED_REF.test(ref) ? ref : description || ref;
  const what = skips === "all" ? "the whole ruleset" : pluralize(skips, "rule");
  const requests = expression === "true" ? "all requests" : truncate(expression, 120);
  return `rule ${JSON.stringify(name)} skips ${what} for ${requests}`;
}

const coversSkip = (wider: ExplainedException, narrower: ExplainedException): boolean =>
  (wider.skips === "all" || (narrower.skips !== "all" && wider.skips >= narrower.skips)) &&
  isWiderOrEqual(wider.expression, narrower.expression);

/**
 * Returns how much of this ruleset a skip rule skips: `all`, or a number of rules. Undefined if it skips nothing of it.
 */
export function skippedBy(skips: Skip | undefined, rulesetId: string): "all" | number | undefined {
  if (skips === undefined) return undefined;
  if (skips === "all") return "all";
  if ("rulesets" in skips) return skips.rulesets.includes(rulesetId) ? "all" : undefined;
  if ("other" in skips) {
    const { ruleset, rulesets, phases } = skips.other;
    const has = (list: unknown, id: string): boolean => Array.isArray(list) && list.includes(id);
    if (ruleset === "current" || has(rulesets, rulesetId) || PHASES.some((phase) => has(phases, phase)))
      return "all";
  }
  return skippedRulesOf(skips, rulesetId)?.length;
}
