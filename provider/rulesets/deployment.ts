import { z } from "zod";
import type { Context } from "../runtime/lifecycle";
import { isSameExpression } from "../rules-language/argument";
import { omitAbsent, isJsonObject, omit, type JsonObject } from "../basics/json";
import type { DeclaredOverrides, Exceptions, Position } from "./arguments";
import { findByRef } from "./entry-point";
import type { Exception, ExceptionOwner } from "./exceptions";
import { resolveRuleNames } from "./resolve-rules";
import { byRuleId, ruleIds, type RuleIds } from "./rule-names";
import { validate, withoutSecrets, type Finding } from "./validate";
import {
  findManagedRuleset,
  findRulesetIds,
  checkRulesetExists,
  UnknownRulesetError,
  type RulesetChoice,
} from "./managed";
import {
  compileOverrides,
  levelsOff,
  sameOverrides,
  scoreRuleOf,
  sharedTagsOf,
  type SharedTags,
} from "./overrides";
import {
  definitionOf,
  PHASES,
  readRule,
  toOverrides,
  unmanagedOf,
  type EntryPoint,
  type ManagedRuleset,
  type Overrides,
  type Phase,
  type ZoneRule,
} from "./wire";
import type { Adopt } from "../runtime/fields";
import { idsIn, namesIn, resolveSkip, type RulesetIds } from "./skip";
import { OTHER_SKIPS, otherSkipRules, SKIPS } from "./skip-rules";

/** A deployment in its three forms: as declared, as sent, and as recorded. */

export interface Declared extends DeclaredOverrides {
  /** The zone in which the rule is. If absent, it's in the account. */
  readonly zoneId?: string | undefined;
  readonly accountId: string;
  readonly phase?: Phase | undefined;
  readonly ruleset: RulesetChoice;
  readonly version?: string | undefined;
  readonly expression: string;
  readonly description?: string | undefined;
  readonly enabled: boolean;
  readonly matchedData?: { readonly publicKey: string } | undefined;
  readonly ref: string;
  readonly position?: Position | undefined;
  readonly exceptions?: Exceptions | undefined;
  readonly adopt?: Adopt | undefined;
  readonly onDestroy?: "restore" | "remove" | "keep" | undefined;
}

/** A declaration whose names have been replaced with IDs from the live ruleset. */
export interface Prepared {
  readonly managed: ManagedRuleset;
  readonly overrides: Overrides;
  readonly sharedTags: SharedTags;
  readonly exceptions: readonly Exception[];
  /** The IDs of the rulesets that the exceptions name. */
  readonly rulesetIds: RulesetIds;
  /** The IDs of the rules that the declaration refers to by name. */
  readonly ruleIds: RuleIds;
  /** Problems with rule names that can't be resolved. If there are any, nothing is written. */
  readonly unresolved: readonly Finding[];
}

/** @param recorded the rule IDs that earlier runs found by name. These names aren't looked up again. */
export async function prepare(ctx: Context, declared: Declared, recorded: RuleIds): Promise<Prepared> {
  const { accountId, ruleset, version, phase = PHASES[0], exceptions = [] } = declared;
  const managed = await findManagedRuleset(ctx, accountId, ruleset, version);
  if (!["", phase].includes(managed.phase))
    throw new UnknownRulesetError(
      "phase",
      `must be ${JSON.stringify(managed.phase)}, the phase of ${JSON.stringify(managed.name)}, not ${JSON.stringify(phase)}`,
    );
  const names = exceptions.flatMap(({ skip }, index) =>
    namesIn(skip).map((name) => [name, `exceptions[${index}].skip`] as const),
  );
  const rulesetIds = await findRulesetIds(ctx, accountId, new Map(names));
  const own = { own: managed.id, rulesets: rulesetIds };
  for (const [index, { skip }] of exceptions.entries())
    for (const id of idsIn(resolveSkip(skip, { ...own, rules: {} })))
      if (id !== managed.id) await checkRulesetExists(ctx, accountId, id, `exceptions[${index}].skip`);
  const where = { accountId, managed, rulesetIds };
  const { ruleIds, unresolved } = await resolveRuleNames(ctx, declared, where, recorded);
  const rules = byRuleId(declared.rules, ruleIds[managed.id]);
  return {
    managed,
    exceptions: exceptions.map((each) => ({
      ...each,
      skip: resolveSkip(each.skip, { ...own, rules: ruleIds }),
    })),
    rulesetIds,
    ruleIds,
    unresolved,
    overrides: compileOverrides({ ...declared, rules }, scoreRuleOf(managed)),
    sharedTags: sharedTagsOf(managed, tagsOf(declared)),
  };
}

/**
 * Calls `prepare` before a write, and fails if the declaration has a problem.
 *
 * @throws Error with the first problem that the preview would have shown.
 */
export async function prepareForWrite(
  ctx: Context,
  declared: Declared,
  recorded: RuleIds,
): Promise<Prepared> {
  let problem;
  try {
    const prepared = await prepare(ctx, declared, recorded);
    [problem] = problemsIn(ctx, declared, prepared);
    if (problem === undefined) return prepared;
  } catch (error) {
    if (!(error instanceof UnknownRulesetError)) throw error;
    problem = error;
  }
  throw new Error(
    `Managed ruleset ${JSON.stringify(declared.ref)}: ${problem.property}: ${problem.reason}. Nothing was written.`,
  );
}

/** Returns what's wrong with a declaration, given its ruleset. Names that can't be resolved come first. */
export function problemsIn(
  ctx: Context,
  declared: Declared,
  { managed, ruleIds, unresolved }: Prepared,
): readonly Finding[] {
  return unresolved.length > 0
    ? unresolved
    : withoutSecrets(ctx, validate({ ...declared, ruleIds }, managed));
}

/** Returns the tags that a declaration overrides. Their order may matter. */
export function tagsOf({ categories = [], owasp }: DeclaredOverrides): string[] {
  return [...categories, ...(owasp === undefined ? [] : levelsOff(owasp))].map(({ tag }) => tag);
}

/** A rule as declared. */
export interface DesiredRule {
  readonly rulesetId: string;
  readonly version: string | undefined;
  readonly overrides: Overrides;
  readonly expression: string;
  readonly description: string | undefined;
  readonly enabled: boolean;
  readonly publicKey: string | undefined;
  readonly ref: string;
}

/** Returns the declared rule. A description and a key that aren't declared keep their current values. */
export function desiredRule(
  { expression, enabled, description, version, matchedData, ref }: Declared,
  { managed, overrides }: Prepared,
  held?: ZoneRule,
): DesiredRule {
  return {
    rulesetId: managed.id,
    version,
    overrides,
    expression,
    description: description ?? (held?.description === "" ? undefined : held?.description),
    enabled,
    publicKey: matchedData?.publicKey ?? held?.deploys?.publicKey,
    ref,
  };
}

/**
 * Returns the rule's full definition, because `PATCH` replaces all of it. Includes the existing rule's other fields.
 */
export function toRequest(wanted: DesiredRule, held?: ZoneRule): JsonObject {
  const { rulesetId, version, overrides, expression, enabled, publicKey, ref, description } = wanted;
  const definition = held?.deploys === undefined ? {} : definitionOf(held.raw);
  const parameters = isJsonObject(definition["action_parameters"]) ? definition["action_parameters"] : {};
  return {
    ...omit(definition, ["description"]),
    action: "execute",
    action_parameters: {
      ...omit(parameters, ["version", "overrides", "matched_data"]),
      id: rulesetId,
      ...omitAbsent({
        version,
        overrides: toOverrides(overrides),
        matched_data: publicKey === undefined ? undefined : { public_key: publicKey },
      }),
    },
    expression,
    enabled,
    ref,
    ...omitAbsent({ description }),
  };
}

/** Returns the names of the arguments in which a rule differs from the declaration. */
export function differences(rule: ZoneRule, wanted: DesiredRule, shared: SharedTags): string[] {
  const { deploys } = rule;
  const same = {
    ruleset: deploys?.rulesetId === wanted.rulesetId,
    version: sameVersion(deploys?.version, wanted.version),
    overrides: deploys !== undefined && sameOverrides(deploys.overrides, wanted.overrides, shared),
    expression: isSameExpression(rule.expression, wanted.expression),
    description: rule.description === (wanted.description ?? ""),
    enabled: rule.enabled === wanted.enabled,
    matchedData: deploys?.publicKey === wanted.publicKey,
    ref: rule.ref === wanted.ref,
  };
  return Object.entries(same).flatMap(([name, isSame]) => (isSame ? [] : [name]));
}

/** Whether two versions are the same. Undefined means the latest version. */
export function sameVersion(a: string | undefined, b: string | undefined): boolean {
  return (a ?? "latest") === (b ?? "latest");
}

/** Whether a deployment stays on a version when Cloudflare publishes another one. */
export function isPinned(version: string | undefined): boolean {
  return !sameVersion(version, "latest");
}

export function findOwnRule(
  found: EntryPoint | undefined,
  { ruleId, ruleRef }: { readonly ruleId: string; readonly ruleRef: string },
): ZoneRule | undefined {
  return found?.rules.find((rule) => rule.id === ruleId) ?? findByRef(found, ruleRef);
}

const definition = z.record(z.string(), z.unknown());

/** An adopted rule as it was found, which a destroy restores. */
export interface PreviousRule {
  /** The rule as the API returned it. */
  readonly rule: Readonly<Record<string, unknown>>;
  /** The ID of the rule that followed the adopted rule. Absent if the adopted rule was the last. */
  readonly next?: string;
  /** The skip rules that were adopted as the rule's exceptions. */
  readonly exceptions?: readonly {
    /** The skip rule's ID. */
    readonly id: string;
    /** The rule as the API returned it. */
    readonly rule: Readonly<Record<string, unknown>>;
  }[];
}

const previousRule: z.ZodType<PreviousRule> = z.object({
  rule: definition,
  next: z.string().exactOptional(),
  exceptions: z.array(z.object({ id: z.string(), rule: definition })).exactOptional(),
});

const sharedTags = z.array(z.tuple([z.string(), z.string()]));

export const computed = z.object({
  ruleId: z.string(),
  ruleRef: z.string(),
  entryPointId: z.string(),
  rulesetId: z.string(),
  rulesetVersion: z.string(),
  [OTHER_SKIPS]: SKIPS.exactOptional(),
  previous: previousRule.exactOptional(),
  ruleIds: ruleIds.exactOptional(),
  /**
   * What a comparison needs to know about the ruleset. It's recorded so that previewing an unchanged stack sends no
   * requests.
   */
  known: z.object({
    scoreRule: z.string().exactOptional(),
    sharedTags,
    /** The IDs of the rulesets that the exceptions name. */
    rulesets: z.record(z.string(), z.string()).exactOptional(),
    /** The version that Cloudflare returned when the rule was last written. */
    version: z.string().exactOptional(),
  }),
});
export type Computed = z.infer<typeof computed>;

export type Recorded = Declared & Computed;

export function outputsOf(
  ctx: Pick<Context, "noteUnmanaged">,
  found: EntryPoint,
  rule: ZoneRule,
  declared: { readonly matchedData?: unknown },
  {
    managed,
    sharedTags,
    rulesetIds,
    ruleIds,
    adopted = [],
  }: Pick<Prepared, "managed" | "sharedTags" | "rulesetIds" | "ruleIds"> & Pick<ExceptionOwner, "adopted">,
): Computed {
  ctx.noteUnmanaged(unmanagedOf(rule, declared));
  return omitAbsent({
    ruleId: rule.id,
    ruleRef: rule.ref,
    entryPointId: found.id,
    rulesetId: managed.id,
    rulesetVersion: managed.version,
    otherSkipRules: otherSkipRules(found, rule, adopted),
    known: omitAbsent({
      scoreRule: scoreRuleOf(managed),
      sharedTags: sharedTags.map(([one, other]): [string, string] => [one, other]),
      rulesets: Object.keys(rulesetIds).length === 0 ? undefined : { ...rulesetIds },
      version: rule.deploys?.version,
    }),
    ruleIds: Object.keys(ruleIds).length === 0 ? undefined : ruleIds,
  });
}

/** Returns the IDs of the skip rules that were adopted as exceptions. */
export function exceptionIds({ previous }: Pick<Computed, "previous">): string[] {
  return (previous?.exceptions ?? []).map(({ id }) => id);
}

/**
 * Returns the version that a refresh reports: the declared one, unless someone pinned another one. A version that
 * Cloudflare filled in doesn't count as pinned.
 */
export function liveVersion({ version, known }: Recorded, live: string | undefined): string | undefined {
  if (sameVersion(live, version ?? known.version) || sameVersion(live, known.version)) return version;
  return live ?? "latest";
}

/**
 * Returns the values to write for arguments that were removed from the program: those of the adopted rule as it was
 * found, or Cloudflare's defaults.
 */
export function valuesOfRemoved(
  args: Declared,
  state: Recorded,
  rule: ZoneRule,
): Pick<DesiredRule, "version" | "description" | "publicKey"> {
  const before = readRule(state.previous?.rule);
  const description = state.description === undefined ? rule.description : before?.description;
  return {
    version: args.version ?? (state.version === undefined ? state.known.version : before?.deploys?.version),
    description: args.description ?? (description === "" ? undefined : description),
    publicKey:
      args.matchedData?.publicKey ?? (state.matchedData === undefined ? rule : before)?.deploys?.publicKey,
  };
}
