import { isSameExpression } from "../rules-language/argument";
import { scopeOf } from "../runtime/composite-id";
import type { Context } from "../runtime/lifecycle";
import { isJsonObject, omitAbsent, sameJson } from "../basics/json";
import type { Existing } from "./adoption";
import { compareEffects, type RunningRuleset } from "./compare-effects";
import { prepare, type Declared, type Prepared } from "./deployment";
import type { RuleInFront, RulesetImpact } from "./impact";
import { declaredDeployments } from "./duplicates";
import { isSameEntryPoint } from "./entry-point";
import { OVERRIDING } from "./effective";
import { isSameException, ownExceptions } from "./exceptions";
import { findManagedRuleset, UnknownRulesetError } from "./managed";
import { isSamePlace, missingAnchor, placementOf, positionOfNew, positionOnWrongSide } from "./position";
import type { RuleIds } from "./rule-names";
import { RESERVED_REF } from "./refs";
import { idsIn } from "./skip";
import { exceptionsIn, skippedBy, skipText } from "./skip-rules";
import { trafficOf } from "./traffic";
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
  /** That rule or, for an update, the resource's own one. */
  readonly own: ZoneRule | undefined;
}

type Compared = Pick<RulesetImpact, "compared" | "traffic" | "inFront" | "behind">;

/** Compares the declaration with the deployment in the zone, or a new one with the rules that it will follow. */
export async function compareLive(ctx: Context, compared: LiveComparison): Promise<Compared> {
  const { args, olds, own, existing, found, prepared } = compared;
  const now = await runningRuleset(ctx, compared);
  const course = courseOf(compared);
  const others = own === undefined ? (found?.rules ?? []) : course?.others.slice(course.after);
  const behind = others && rulesetsOf(others);
  if (now === undefined) return omitAbsent({ inFront: rulesInFront(ctx, compared), behind });
  const isOn = (own ?? olds)?.enabled === true;
  const applied = (ruleset: RunningRuleset, acts: boolean): RunningRuleset =>
    acts ? ruleset : { ...ruleset, overrides: { enabled: false, categories: [], rules: {} } };
  const { weaker, stronger, digest } = compareEffects(applied(now, isOn), applied(prepared, args.enabled));
  const isHidden = OVERRIDING.some((argument) => ctx.isSecret(argument));
  const shown = (lines: readonly string[]): readonly string[] =>
    isHidden && lines.length > 0 ? ["what secret arguments change"] : lines;
  return omitAbsent({
    compared: omitAbsent({
      weaker: shown(weaker),
      stronger: shown(stronger),
      digest,
      moved:
        movesNothing(compared) && existing === undefined
          ? []
          : course && effectsOfMove(ctx, compared, placeAgain(compared, course)),
    }),
    behind,
    // Events are read by zone.
    traffic:
      args.enabled && isOn && !isHidden && args.zoneId !== undefined
        ? await trafficOf(ctx, args.zoneId, { before: now, after: prepared, found })
        : undefined,
  });
}

async function runningRuleset(
  ctx: Context,
  { args, olds, recorded, own }: LiveComparison,
): Promise<RunningRuleset | undefined> {
  const read = async (): Promise<RunningRuleset | undefined> => {
    const known = olds !== undefined && isSameEntryPoint(olds, args) ? olds : undefined;
    if (own?.deploys === undefined) {
      const before = known && (await prepare(ctx, known, recorded));
      return before?.unresolved.length === 0 ? before : undefined;
    }
    const { rulesetId: id, version, overrides } = own.deploys;
    return { managed: await findManagedRuleset(ctx, args.accountId, { id }, version), overrides };
  };
  try {
    return await ctx.unlessForbidden(read);
  } catch (error) {
    // For example, Cloudflare may no longer have the version.
    if (error instanceof UnknownRulesetError) return undefined;
    throw error;
  }
}

/** Where a rule is among the zone's other rules. */
interface Course {
  readonly others: readonly ZoneRule[];
  /** How many of them run before the rule now. */
  readonly before: number;
  /** How many of them run before the rule after the update. */
  readonly after: number;
}

/** Whether the declaration leaves the rule where it is. */
const movesNothing = ({ args: { position }, olds, existing, found, own }: LiveComparison): boolean => {
  if (position === undefined) return true;
  if (existing !== undefined || !sameJson(position, olds?.position)) return false;
  // Someone moved the rule to the other side of the one that its position names: the update moves it back.
  return !found || !own || positionOnWrongSide(position, found, own) === undefined;
};

/** Finds the rule among the others. Undefined if the rule or its new place isn't known. */
function courseOf(compared: LiveComparison): Course | undefined {
  const { args, found, olds, own } = compared;
  const { position } = args;
  if (found === undefined || own === undefined) return undefined;
  const front = ownExceptions(found, { ref: own.ref });
  const others = found.rules.filter((rule) => rule !== own && !front.includes(rule));
  const before = found.rules
    .slice(0, found.rules.indexOf(own))
    .filter((rule) => others.includes(rule)).length;
  if (position === undefined || movesNothing(compared)) return { others, before, after: before };
  if (missingAnchor(position, found, scopeOf(args)) !== undefined) return undefined;
  const place = isSamePlace(olds?.position, position, found, own)
    ? undefined
    : placementOf(position, found, scopeOf(args));
  const after = place === undefined ? before : indexAmong(others, place, front, before);
  return { others, before, after };
}

/** Returns where a create puts the rule. Without a position, its own one goes where a new one does if that's deleted first. */
const placeAgain = (compared: LiveComparison, course: Course): Course =>
  movesNothing(compared) && ["own", "left"].includes(compared.existing?.from ?? "")
    ? {
        ...course,
        after:
          beforeNew(compared)?.filter((rule) => course.others.includes(rule)).length ?? course.others.length,
      }
    : course;

/** Lists the rulesets that enabled rules deploy. Undefined if there are too many. */
function rulesetsOf(rules: readonly ZoneRule[]): readonly string[] | undefined {
  const ids = rules.flatMap(({ enabled, deploys }) =>
    enabled && deploys !== undefined ? [deploys.rulesetId] : [],
  );
  return ids.length > MOST_BEHIND ? undefined : [...new Set(ids)];
}

const MOST_BEHIND = 20;

/**
 * Finds which skip rules will apply to the rule at its new position, and to which deployments the rule's own exceptions
 * will apply.
 */
function effectsOfMove(
  ctx: Context,
  { prepared }: LiveComparison,
  { others, before, after }: Course,
): readonly string[] {
  const { exceptions, managed } = prepared;
  const skipRules = others.slice(before, after).flatMap((rule) => appliedSkip(ctx, rule, managed.id) ?? []);
  const reachedRules = others.slice(after, before).flatMap(({ enabled, deploys, ...rule }): string[] => {
    const reaches = exceptions.some(({ skip }) => skippedBy(skip, deploys?.rulesetId ?? "") !== undefined);
    return enabled && deploys !== undefined && reaches
      ? [`this rule's exceptions will also apply to ${ruleLabel(ctx, rule)}`]
      : [];
  });
  return [...skipRules, ...reachedRules];
}

/** Says which skip rule will apply to a deployment of the ruleset. Undefined if the rule skips nothing of it. */
function appliedSkip(ctx: Context, rule: ZoneRule, rulesetId: string): string | undefined {
  if (!rule.enabled || skippedBy(rule.skips, rulesetId) === undefined) return undefined;
  const isHidden = ctx.isSecret("expression") || RESERVED_REF.test(rule.ref);
  const requests = isHidden ? "" : ` (${rule.expression})`;
  return `skip rule ${ruleLabel(ctx, rule)}${requests} will apply to this rule`;
}

/** Names a rule. The program that declares an exception may have made it secret. */
function ruleLabel(ctx: Context, { ref, description }: Pick<ZoneRule, "ref" | "description">): string {
  const isHidden = ctx.isSecret("description") || RESERVED_REF.test(ref);
  return JSON.stringify(description === "" || isHidden ? ref : description);
}

/** Lists the deployments, and the skip rules that apply, in front of a new rule. Undefined if its place isn't known. */
function rulesInFront(ctx: Context, compared: LiveComparison): readonly RuleInFront[] | undefined {
  const { prepared, existing } = compared;
  return existing !== undefined
    ? undefined
    : beforeNew(compared)?.flatMap((rule): RuleInFront[] => {
        const skip = appliedSkip(ctx, rule, prepared.managed.id);
        const { id: ruleId, ref, deploys } = rule;
        const shown = ctx.isSecret("ref") || ctx.isSecret("position") ? "" : ref;
        return deploys === undefined && skip === undefined ? [] : [omitAbsent({ ruleId, ref: shown, skip })];
      });
}

/** Returns the rules that will run before a new rule. Undefined if its place isn't known. */
function beforeNew({ args, prepared, found }: LiveComparison): readonly ZoneRule[] | undefined {
  const position = positionOfNew(args, prepared, found);
  if (found === undefined || missingAnchor(position, found, scopeOf(args)) !== undefined) return undefined;
  const place = placementOf(position ?? "last", found, scopeOf(args)) ?? { after: "" };
  return found.rules.slice(0, indexAmong(found.rules, place, [], 0));
}

/**
 * Says what has no effect because of the rules' order: exceptions that name only rulesets that run before the rule, and a
 * new rule behind one that skips it for all requests. Of an adopted rule, it lists all that others skip of it.
 */
export function orderWarnings(ctx: Context, compared: LiveComparison): readonly string[] {
  const { args, prepared, found, own, existing } = compared;
  const course = courseOf(compared);
  const programs = [...declaredDeployments(ctx).values()].filter((each) => isSameEntryPoint(each, args));
  const before = own === undefined ? beforeNew(compared) : course?.others.slice(0, course.after);
  if (found === undefined || before === undefined) return [];
  const { id: ownId } = prepared.managed;
  const instead = (ref: string): string => `set position: { before: ${JSON.stringify(ref)} }`;
  const late = prepared.exceptions.flatMap((exception, index) =>
    idsIn(exception.skip).flatMap((id) => {
      const runs = found.rules.filter(
        (rule) => rule !== own && rule.enabled && rule.deploys?.rulesetId === id,
      );
      const [first] = runs;
      const has = (rule: ZoneRule): boolean =>
        found.rules
          .slice(0, found.rules.indexOf(rule))
          .some((each) => isSameException(each, exception) && !isRemoved(programs, each));
      return id === ownId || first === undefined || !runs.every((rule) => before.includes(rule) && !has(rule))
        ? []
        : [
            `exceptions[${index}] doesn't apply to rule ${ruleLabel(ctx, first)}, which runs before this one. Declare the exception there, or ${instead(first.ref)}`,
          ];
    }),
  );
  if (own !== undefined && existing === undefined) return late;
  const others = before.filter((rule) => existing === undefined || !RESERVED_REF.test(rule.ref));
  const skipping = exceptionsIn(others, ownId).filter(
    ({ expression, skips }) =>
      (existing !== undefined || (expression === "true" && skips === "all")) &&
      !programs.some(({ ref, exceptions = [] }) =>
        exceptions.some(
          ({ skip, ...each }) =>
            isSameExpression(each.expression, expression) &&
            (skips !== "all" || isWhole(skip, ref === args.ref)),
        ),
      ),
  );
  return [
    ...late,
    ...skipping.map(
      (each) => `${skipText(each)}. Unless that's intended, delete that rule, or ${instead(each.ref)}`,
    ),
  ];
}

/** Whether the program no longer declares an exception of one of its deployments. */
function isRemoved(programs: readonly Declared[], rule: ZoneRule): boolean {
  const holder = programs.find((each) => rule.ref.startsWith(`${each.ref}/exception/`));
  return holder !== undefined && !declaresExceptionFor(holder, rule);
}

const declaresExceptionFor = ({ exceptions = [] }: Declared, { expression }: ZoneRule): boolean =>
  exceptions.some((each) => isSameExpression(each.expression, expression));

/** Whether an exception may skip all of a ruleset: its own one, or another. */
const isWhole = (skip: unknown, isOwn: boolean): boolean =>
  skip === "all" || (skip === "this" && isOwn) || (isJsonObject(skip) && "rulesets" in skip);

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
