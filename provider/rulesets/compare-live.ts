import type { Context } from "../runtime/lifecycle";
import { unlessForbidden } from "../runtime/live";
import { omitAbsent } from "../runtime/members";
import { sameJson } from "../runtime/values";
import type { Existing } from "./adoption";
import { compareEffects, type Running } from "./compare-effects";
import { prepare, type Declared, type Prepared } from "./deployment";
import type { ComparedRules } from "./effective";
import { byRef } from "./entry-point";
import { ownExceptions } from "./exceptions";
import { skippedBy } from "./explain";
import { findManagedRuleset, UnknownRulesetError } from "./managed";
import { missingAnchor, placementOf } from "./position";
import type { EntryPoint, ZoneRule } from "./wire";

/** What a declaration changes against what runs now, for a preview. */

export interface Compared {
  readonly args: Declared;
  readonly prepared: Prepared;
  readonly found: EntryPoint | undefined;
  /** What is recorded as declared; undefined of a new resource, and of what can't be read. */
  readonly olds: Declared | undefined;
  /** The rule that a create goes on from. */
  readonly existing: Existing | undefined;
}

/** Undefined where nothing runs now, or what runs can't be looked at. */
export async function compareLive(ctx: Context, compared: Compared): Promise<ComparedRules | undefined> {
  const { prepared } = compared;
  const now = await runningNow(ctx, compared);
  if (now === undefined) return undefined;
  return omitAbsent({ ...compareEffects(now, prepared), moved: movedPast(compared) });
}

async function runningNow(ctx: Context, { args, olds, existing }: Compared): Promise<Running | undefined> {
  const read = async (): Promise<Running | undefined> => {
    if (existing === undefined) return olds?.zoneId === args.zoneId ? await prepare(ctx, olds) : undefined;
    const { deploys } = existing.rule;
    if (deploys === undefined) return undefined;
    const { rulesetId: id, version, overrides } = deploys;
    return { managed: await findManagedRuleset(ctx, args.accountId, { id }, version), overrides };
  };
  try {
    return await unlessForbidden(ctx, read);
  } catch (error) {
    if (error instanceof UnknownRulesetError) return undefined; // A version, say, that Cloudflare no longer has.
    throw error;
  }
}

/** What skips the rule where it moves to, and what its own exceptions reach from there; undefined where that can't be told. */
function movedPast({ args, prepared, found, olds, existing }: Compared): readonly string[] | undefined {
  const { position, zoneId } = args;
  if (position === undefined || (existing === undefined && sameJson(position, olds?.position))) return [];
  const own = existing?.rule ?? byRef(found, olds?.ref ?? args.ref);
  if (found === undefined || own === undefined || missingAnchor(position, found, zoneId) !== undefined)
    return undefined;
  const front = ownExceptions(found, { ref: own.ref });
  const others = found.rules.filter((rule) => rule !== own && !front.includes(rule));
  const before = found.rules
    .slice(0, found.rules.indexOf(own))
    .filter((rule) => others.includes(rule)).length;
  const place = placementOf(position, found, zoneId);
  const after = place === undefined ? before : indexIn(others, place, front, before);
  const { exceptions, managed } = prepared;
  const skipping = others.slice(before, after).flatMap((rule): string[] => {
    const skips = rule.enabled ? skippedBy(rule.skips, managed.id) : undefined;
    return skips === undefined
      ? []
      : [`the skip rule ${named(rule)} takes requests from it (${rule.expression})`];
  });
  const passed = others.slice(after, before).flatMap(({ enabled, deploys, ...rule }): string[] => {
    const reaches = exceptions.some(({ skip }) => skippedBy(skip, deploys?.rulesetId ?? "") !== undefined);
    return enabled && deploys !== undefined && reaches ? [`its exceptions reach ${named(rule)}, too`] : [];
  });
  return [...skipping, ...passed];
}

/** How many of the others stand in front of the place. */
function indexIn(
  others: readonly ZoneRule[],
  place: { readonly before: string } | { readonly after: string },
  front: readonly ZoneRule[],
  now: number,
): number {
  const id = "before" in place ? place.before : place.after;
  if (id === "") return "before" in place ? 0 : others.length;
  if (front.some((rule) => rule.id === id)) return now; // Beside its own exceptions: it stays.
  const at = others.findIndex((rule) => rule.id === id);
  return "before" in place ? at : at + 1;
}

const named = ({ ref, description }: Pick<ZoneRule, "ref" | "description">): string =>
  JSON.stringify(description === "" ? ref : description);
