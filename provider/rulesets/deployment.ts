import { z } from "zod";
import type { Context } from "../runtime/lifecycle";
import { isSameExpression } from "../rules-language/argument";
import { omitAbsent } from "../runtime/members";
import { isJsonObject, omit, type JsonObject } from "../runtime/values";
import type { DeclaredOverrides, Exceptions, Position } from "./arguments";
import { byRef, otherManagedRules } from "./entry-point";
import type { Exception } from "./exceptions";
import { judge } from "./judge";
import {
  findManagedRuleset,
  findRulesetIds,
  findSkipped,
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
  toOverrides,
  type EntryPoint,
  type ManagedRuleset,
  type Overrides,
  type ZoneRule,
} from "./wire";
import type { Adopt } from "../runtime/fields";
import { idsIn, namesIn, resolveSkip, type RulesetIds } from "./skip";

/** One rule that executes a managed ruleset: what is declared, what that means on the wire, and what is recorded of it. */

/** Refs of rules that this package made. */
export const REF_PREFIX = "edgeguard/";

export interface Declared extends DeclaredOverrides {
  readonly zoneId: string;
  readonly accountId: string;
  readonly ruleset: RulesetChoice;
  readonly version?: string | undefined;
  readonly expression: string;
  readonly description?: string | undefined;
  readonly enabled: boolean;
  readonly ref: string;
  readonly position?: Position | undefined;
  readonly exceptions?: Exceptions | undefined;
  readonly adopt?: Adopt | undefined;
  readonly onDestroy?: "restore" | "remove" | "keep" | undefined;
}

/** A declaration held against the live ruleset. */
export interface Prepared {
  readonly managed: ManagedRuleset;
  readonly overrides: Overrides;
  readonly sharedTags: SharedTags;
  readonly exceptions: readonly Exception[];
  /** IDs of the rulesets that the exceptions give by name. */
  readonly rulesetIds: RulesetIds;
}

export async function prepare(ctx: Context, declared: Declared): Promise<Prepared> {
  const { accountId, ruleset, version, exceptions = [] } = declared;
  const managed = await findManagedRuleset(ctx, accountId, ruleset, version);
  const names = exceptions.flatMap(({ skip }, index) =>
    namesIn(skip).map((name) => [name, `exceptions[${index}].skip`] as const),
  );
  const rulesetIds = await findRulesetIds(ctx, accountId, new Map(names));
  const resolved = exceptions.map((each) => ({
    ...each,
    skip: resolveSkip(each.skip, managed.id, rulesetIds),
  }));
  for (const [index, { skip }] of resolved.entries())
    for (const id of idsIn(skip))
      if (id !== managed.id) await findSkipped(ctx, accountId, id, `exceptions[${index}].skip`);
  return {
    managed,
    exceptions: resolved,
    rulesetIds,
    overrides: compileOverrides(declared, scoreRuleOf(managed)),
    sharedTags: sharedTagsOf(managed, tagsOf(declared)),
  };
}

/**
 * The same before a write.
 *
 * @throws Error with the first sentence that the preview would have shown.
 */
export async function prepareStrictly(ctx: Context, declared: Declared): Promise<Prepared> {
  let problem;
  try {
    const prepared = await prepare(ctx, declared);
    [problem] = judge(declared, prepared.managed);
    if (problem === undefined) return prepared;
  } catch (error) {
    if (!(error instanceof UnknownRulesetError)) throw error;
    problem = error;
  }
  throw new Error(
    `Managed ruleset ${JSON.stringify(declared.ref)}: ${problem.property}: ${problem.reason}. Nothing was written.`,
  );
}

/** Tags whose order may matter. */
export function tagsOf({ categories = [], owasp }: DeclaredOverrides): string[] {
  return [...categories, ...(owasp === undefined ? [] : levelsOff(owasp))].map(({ tag }) => tag);
}

/** The rule as it is to be. */
export interface Wanted {
  readonly rulesetId: string;
  readonly version: string | undefined;
  readonly overrides: Overrides;
  readonly expression: string;
  readonly description: string | undefined;
  readonly enabled: boolean;
  readonly ref: string;
}

/** What is wanted of a rule that is taken over: members that are not declared stay as they are. */
export function wantedOf(
  { expression, enabled, description, version, ref }: Declared,
  { managed, overrides }: Prepared,
  held?: ZoneRule,
): Wanted {
  return {
    rulesetId: managed.id,
    version: version ?? held?.deploys?.version,
    overrides,
    expression,
    description: description ?? (held?.description === "" ? undefined : held?.description),
    enabled,
    ref,
  };
}

/**
 * The full definition, as a change replaces all of it: the members that Cloudflare documents, description and ref, and
 * what else the rule held.
 */
export function toRequest(wanted: Wanted, held?: ZoneRule): JsonObject {
  const { rulesetId, version, overrides, expression, enabled, ref, description } = wanted;
  const definition = held?.deploys === undefined ? {} : definitionOf(held.raw);
  const parameters = isJsonObject(definition["action_parameters"]) ? definition["action_parameters"] : {};
  return {
    ...omit(definition, ["description"]),
    action: "execute",
    action_parameters: {
      ...omit(parameters, ["version", "overrides"]),
      id: rulesetId,
      ...omitAbsent({ version, overrides: toOverrides(overrides) }),
    },
    expression,
    enabled,
    ref,
    ...omitAbsent({ description }),
  };
}

/** In what a rule differs from what is wanted, by the names of the arguments. */
export function differences(rule: ZoneRule, wanted: Wanted, shared: SharedTags): string[] {
  const { deploys } = rule;
  const same = {
    ruleset: deploys?.rulesetId === wanted.rulesetId,
    version: sameVersion(deploys?.version, wanted.version),
    overrides: deploys !== undefined && sameOverrides(deploys.overrides, wanted.overrides, shared),
    expression: isSameExpression(rule.expression, wanted.expression),
    description: rule.description === (wanted.description ?? ""),
    enabled: rule.enabled === wanted.enabled,
    ref: rule.ref === wanted.ref,
  };
  return Object.entries(same).flatMap(([name, isSame]) => (isSame ? [] : [name]));
}

/** Cloudflare fills in the latest version where none is named. */
export function sameVersion(a: string | undefined, b: string | undefined): boolean {
  return (a ?? "latest") === (b ?? "latest");
}

export function findOwn(
  found: EntryPoint | undefined,
  { ruleId, ruleRef }: { readonly ruleId: string; readonly ruleRef: string },
): ZoneRule | undefined {
  return found?.rules.find((rule) => rule.id === ruleId) ?? byRef(found, ruleRef);
}

const definition = z.record(z.string(), z.unknown());

const asItWas = z.object({
  rule: definition,
  next: z.string().exactOptional(),
  exceptions: z.array(z.object({ id: z.string(), rule: definition })).exactOptional(),
});

/**
 * A rule that was taken over, as it was found, which a destroy restores: `rule` in the API's own form, `next` the id of the rule behind it (absent
 * where it was the last), `exceptions` the skip rules in front of it that were taken over with it.
 */
export type Previous = z.infer<typeof asItWas>;

const sharedTags = z.array(z.tuple([z.string(), z.string()]));

export const computed = z.object({
  ruleId: z.string(),
  ruleRef: z.string(),
  entryPointId: z.string(),
  rulesetId: z.string(),
  rulesetVersion: z.string(),
  otherManagedRules: z.array(
    z.object({ ruleId: z.string(), rulesetId: z.string(), ref: z.string(), description: z.string() }),
  ),
  previous: asItWas.exactOptional(),
  /** What a comparison needs to know of the ruleset, so that it asks nothing: the preview of an unchanged stack is silent. */
  known: z.object({
    scoreRule: z.string().exactOptional(),
    sharedTags,
    /** IDs of the rulesets that the exceptions give by name. */
    rulesets: z.record(z.string(), z.string()).exactOptional(),
    /** The version as Cloudflare gave it back when the rule was last written. */
    version: z.string().exactOptional(),
  }),
});
export type Computed = z.infer<typeof computed>;

export type Recorded = Declared & Computed;

export function outputsOf(
  found: EntryPoint,
  rule: ZoneRule,
  { managed, sharedTags, rulesetIds }: Pick<Prepared, "managed" | "sharedTags" | "rulesetIds">,
): Computed {
  return {
    ruleId: rule.id,
    ruleRef: rule.ref,
    entryPointId: found.id,
    rulesetId: managed.id,
    rulesetVersion: managed.version,
    otherManagedRules: otherManagedRules(found, rule.id),
    known: omitAbsent({
      scoreRule: scoreRuleOf(managed),
      sharedTags: sharedTags.map(([one, other]): [string, string] => [one, other]),
      rulesets: Object.keys(rulesetIds).length === 0 ? undefined : { ...rulesetIds },
      version: rule.deploys?.version,
    }),
  };
}

/** Ids of the skip rules that were taken over as exceptions. */
export function exceptionIds({ previous }: Pick<Computed, "previous">): string[] {
  return (previous?.exceptions ?? []).map(({ id }) => id);
}

/** The declared version, unless somebody has pinned another one. What Cloudflare filled in is no difference. */
export function readVersion({ version, known }: Recorded, live: string | undefined): string | undefined {
  if (sameVersion(live, version ?? known.version) || sameVersion(live, known.version)) return version;
  return live ?? "latest";
}

/** Members that are declared no more go back to what they were when the rule was found, else to Cloudflare's default. */
export function undeclared(
  args: Declared,
  state: Recorded,
  rule: ZoneRule,
): Pick<Wanted, "version" | "description"> {
  const found = state.previous?.rule;
  const parameters = found?.["action_parameters"];
  const text = (value: unknown): string | undefined =>
    typeof value === "string" && value !== "" ? value : undefined;
  const version =
    state.version === undefined
      ? state.known.version
      : text(isJsonObject(parameters) ? parameters["version"] : "");
  const description = state.description === undefined ? text(rule.description) : text(found?.["description"]);
  return { version: args.version ?? version, description: args.description ?? description };
}
