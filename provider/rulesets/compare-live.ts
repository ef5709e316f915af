import type { Context } from "../runtime/lifecycle";
import { unlessForbidden } from "../runtime/live";
import { omitAbsent, sameJson } from "../basics/json";
import type { Existing } from "./adoption";
import { compareEffects, type RunningRuleset } from "./compare-effects";
import { prepare, type Declared, type Prepared } from "./deployment";
import type { ComparedRules } from "./impact";
import { findByRef } from "./entry-point";
import { ownExceptions } from "./exceptions";
import { skippedBy } from "./explain";
import { findManagedRuleset, UnknownRulesetError } from "./managed";
import { isSamePlace, missingAnchor, placementOf } from "./position";
import type { RuleIds } from "./rule-names";
import type { EntryPoint, ZoneRule } from "./wire";

/** What a declaration changes in a zone, for the preview. */

export interface LiveComparison {
  readonly args: Declared;
  readonly prepared: Prepared;
  readonly found: EntryPoint | undefined;
  /** The recorded declaration. Undefined for a new resource, or if it can't be read. */
  readonly olds: Declared | undefined;
  /** The recorded rule IDs for the names in `olds`. */
  readonly recorded: RuleIds;
  /** The rule that a create adopts. */
  readonly existing: Existing | undefined;
}

/** Compares the declaration with the deployment in the zone. Undefined if there is none or it can't be read. */
export async function compareLive(
  ctx: Context,
  compared: LiveComparison,
): Promise<ComparedRules | undefined> {
  const { prepared } = compared;
  const now = await runningRuleset(ctx, compared);
  if (now === undefined) return undefined;
  return omitAbsent({ ...compareEffects(now, prepared), moved: effectsOfMove(ctx, compared) });
}

async function runningRuleset(
  ctx: Context,
  { args, olds, recorded, existing }: LiveComparison,
): Promise<RunningRuleset | undefined> {
  const read = async (): Promise<RunningRuleset | undefined> => {
    if (existing === undefined) {
      const before = olds?.zoneId === args.zoneId ? await prepare(ctx, olds, recorded) : undefined;
      return before?.unresolved.length === 0 ? before : undefined;
    }
    const { deploys } = existing.rule;
    if (deploys === undefined) return undefined;
    const { rulesetId: id, version, overrides } = deploys;
    return { managed: await findManagedRuleset(ctx, args.accountId, { id }, version), overrides };
  };
  try {
    return await unlessForbidden(ctx, read);
  } catch (error) {
    // For example, Cloudflare may no longer have the version.
    if (error instanceof UnknownRulesetError) return undefined;
    throw error;
  }
}

/**
 * Finds which skip rules will apply to the rule at its new position, and to which deployments the rule's own exceptions
 * will apply. Undefined if unknown.
 */
function effectsOfMove(
  ctx: Context,
  { args, prepared, found, olds, existing }: LiveComparison,
): readonly string[] | undefined {
  const { position, zoneId } = args;
  if (position === undefined || (existing === undefined && sameJson(position, olds?.position))) return [];
  const own = existing?.rule ?? findByRef(found, olds?.ref ?? args.ref);
  if (found === undefined || own === undefined || missingAnchor(position, found, zoneId) !== undefined)
    return undefined;
  if (isSamePlace(olds?.position, position, found, own)) return [];
  const front = ownExceptions(found, { ref: own.ref });
  const others = found.rules.filter((rule) => rule !== own && !front.includes(rule));
  const before = found.rules
    .slice(0, found.rules.indexOf(own))
    .filter((rule) => others.includes(rule)).length;
  const place = placementOf(position, found, zoneId);
  const after = place === undefined ? before : indexAmong(others, place, front, before);
  const { exceptions, managed } = prepared;
  const ruleLabel = ({ ref, description }: Pick<ZoneRule, "ref" | "description">): string =>
    JSON.stringify(description === "" || ctx.isSecret("description") ? ref : description);
  const skipRules = others.slice(before, after).flatMap((rule): string[] => {
    const skips = rule.enabled ? skippedBy(rule.skips, managed.id) : undefined;
    return skips === undefined
      ? []
      : [
          `skip rule ${ruleLabel(rule)}${ctx.isSecret("expression") ? "" : ` (${rule.expression})`} will apply to this rule`,
        ];
  });
  const reachedRules = others.slice(after, before).flatMap(({ enabled, deploys, ...rule }): string[] => {
    const reaches = exceptions.some(({ skip }) => skippedBy(skip, deploys?.rulesetId ?? "") !== undefined);
    return enabled && deploys !== undefined && reaches
      ? [`this rule's exceptions will also apply to ${ruleLabel(rule)}`]
      : [];
  });
  return [...skipRules, ...reachedRules];
}

/** Returns how many of the other rules will run before the rule. */
function indexAmong(
  others: readonly ZoneRule[],
  place: { readonly before: string } | { readonly after: string },
  front: readonly ZoneRule[],
  now: number,
): number {
  const id = "before" in place ? place.before : place.after;
  if (id === "") return "before" in place ? 0 : others.length;
  if (front.some((rule) => rule.id === id)) return now; // Next to its own exceptions, the rule doesn't move.
  const at = others.findIndex((rule) => rule.id === id);
  return "before" in place ? at : at + 1;
}
