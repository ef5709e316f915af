import { z } from "zod";
import { record, unknownMembers } from "../basics/schemas";
import { omitAbsent, isJsonObject, omit, type JsonObject } from "../basics/json";
import { membersInside } from "../runtime/unmanaged";

/** Types for rules and rulesets, and converters to and from the API's format. */

/** The phases that managed rulesets are deployed in: for requests, which is the default, and for responses. */
export const PHASES = ["http_request_firewall_managed", "http_response_firewall_managed"] as const;
export type Phase = (typeof PHASES)[number];

interface Override {
  readonly enabled?: boolean;
  readonly action?: string;
}

/** An override of all rules with a tag. */
export interface CategoryOverride extends Override {
  readonly tag: string;
  /** API fields without a corresponding argument, as the API returned them. */
  readonly extra?: JsonObject;
}

export interface RuleOverride extends Override {
  readonly scoreThreshold?: number;
  /** API fields without a corresponding argument, as the API returned them. */
  readonly extra?: JsonObject;
}

/** What an execute rule overrides in the managed ruleset. */
export interface Overrides {
  /** The action of all rules. */
  readonly action?: string;
  /** Overrides by tag. Their order matters: the last one wins. */
  readonly categories: readonly CategoryOverride[];
  /** Overrides by rule ID. Their order doesn't matter. */
  readonly rules: Readonly<Record<string, RuleOverride>>;
  /** Turns all rules on or off. */
  readonly enabled?: boolean;
  /** API fields without a corresponding argument, as the API returned them. */
  readonly extra?: JsonObject;
}

/**
 * What a skip rule skips: `"all"` managed rules after it, whole rulesets by ID, or single rules by their ruleset's ID.
 * `other` is a skip that no argument can express, as the API returned it.
 */
export type Skip =
  | "all"
  | { readonly rulesets: readonly string[] }
  | { readonly rules: Readonly<Record<string, readonly string[]>> }
  | { readonly other: JsonObject };

/** A rule of a zone's entry point ruleset. */
export interface ZoneRuleState {
  readonly id: string;
  readonly ref: string;
  /** `execute` for a deployment, `skip` for an exception. */
  readonly action: string;
  readonly expression: string;
  readonly description: string;
  readonly enabled: boolean;
  /** The managed ruleset and its overrides. Present only for an execute rule. */
  readonly deploys?: {
    readonly rulesetId: string;
    readonly version?: string;
    readonly overrides: Overrides;
    /** The public key that encrypts logged payloads. */
    readonly publicKey?: string;
  };
  /** What the rule skips. Present only for a skip rule. */
  readonly skips?: Skip;
  /** Present only for a skip rule whose matches aren't logged. */
  readonly logging?: false;
}

/** A zone's entry point ruleset for managed rules. */
export interface ZoneEntryPoint {
  readonly id: string;
  readonly version: string;
  /** The rules, in the order in which they run. */
  readonly rules: readonly ZoneRuleState[];
}

/** A rule, with what the API returned. */
export interface ZoneRule extends ZoneRuleState {
  readonly raw: JsonObject;
}

/** An entry point ruleset, with what the API returned. */
export interface EntryPoint extends ZoneEntryPoint {
  /** When a rule was last added, changed or removed. */
  readonly lastUpdated?: string;
  readonly rules: readonly ZoneRule[];
}

/** A rule of a managed ruleset. */
export interface ManagedRule {
  readonly id: string;
  readonly action: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly enabled: boolean;
  readonly scoreThreshold?: number;
  /** The actions that an override can set. Absent if Cloudflare doesn't list them. */
  readonly allowedActions?: readonly string[];
}

/** A managed ruleset without its rules. */
export interface ManagedRulesetInfo {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly kind: string;
  readonly phase: string;
  readonly version: string;
  readonly lastUpdated?: string;
}

/** A managed ruleset with its rules. */
export interface ManagedRuleset extends ManagedRulesetInfo {
  readonly rules: readonly ManagedRule[];
}

/** Cloudflare's field names by our property names, in the order in which they're sent. */
const CATEGORY = { tag: "category", enabled: "enabled", action: "action" };
const RULE = { id: "id", enabled: "enabled", action: "action", scoreThreshold: "score_threshold" };
const OVERRIDES = { action: "action", categories: "categories", rules: "rules", enabled: "enabled" };

/** Renames fields to our property names. Other fields are kept in `extra`. */
function renamed<Shape extends z.ZodRawShape>(names: Readonly<Record<string, string>>, shape: Shape) {
  return z
    .looseObject({})
    .transform((raw: JsonObject): JsonObject => {
      const known = Object.entries(names).map(([ours, theirs]) => [ours, raw[theirs]] as const);
      const { extra } = unknownMembers(raw, Object.values(names));
      return { ...Object.fromEntries(known), ...omitAbsent({ extra }) };
    })
    .pipe(z.object({ ...shape, extra: z.custom<JsonObject>().optional() }));
}

const optional = { enabled: z.boolean().nullish(), action: z.string().nullish() };

const overridesWire = renamed(OVERRIDES, {
  ...optional,
  categories: z.array(renamed(CATEGORY, { tag: z.string(), ...optional }).transform(omitAbsent)).nullish(),
  rules: z
    .array(
      renamed(RULE, { id: z.string(), ...optional, scoreThreshold: z.number().nullish() }).transform(
        omitAbsent,
      ),
    )
    .nullish(),
}).transform(({ categories, rules, ...raw }): Overrides => {
  const entries = (rules ?? []).map(({ id, ...entry }) => [id, entry] as const);
  return { ...omitAbsent(raw), categories: categories ?? [], rules: Object.fromEntries(entries) };
});

const NO_OVERRIDES: Overrides = { categories: [], rules: {} };

/** Returns the field `overrides`. Undefined if nothing is overridden, because Cloudflare rejects an empty object. */
export function toOverrides({ action, enabled, categories, rules }: Overrides): JsonObject | undefined {
  const toWire = (names: Readonly<Record<string, string>>, entry: JsonObject): JsonObject =>
    omitAbsent(Object.fromEntries(Object.entries(names).map(([ours, theirs]) => [theirs, entry[ours]])));
  const byId = Object.entries(rules).sort(([a], [b]) => (a < b ? -1 : 1));
  const filled = (list: readonly JsonObject[]): readonly JsonObject[] | undefined =>
    list.length === 0 ? undefined : list;
  const members = omitAbsent({
    action,
    enabled,
    categories: filled(categories.map((entry) => toWire(CATEGORY, { ...entry }))),
    rules: filled(byId.map(([id, entry]) => toWire(RULE, { id, ...entry }))),
  });
  return Object.keys(members).length === 0 ? undefined : members;
}

const ids = z.array(z.string()).transform((list): readonly string[] => list.sort());
/** Lists of rule IDs by ruleset. A list that can't be read counts as empty. */
const idLists = record(ids.catch([]));

function fromSkip(raw: JsonObject): Skip {
  const only = (member: string): unknown => (Object.keys(raw).length === 1 ? raw[member] : undefined);
  if (only("ruleset") === "current") return "all";
  const rulesets = ids.safeParse(only("rulesets")).data;
  if (rulesets !== undefined) return { rulesets };
  const rules = idLists.safeParse(only("rules")).data;
  return rules === undefined ? { other: raw } : { rules };
}

export function toSkip(skip: Skip): JsonObject {
  if (skip === "all") return { ruleset: "current" };
  return "other" in skip ? skip.other : skip;
}

/** A ruleset's version, which is sent as a string. Responses may have a number. */
const version = z.union([z.string(), z.number()]).transform(String).nullish();

const zoneRule = z
  .looseObject({
    id: z.string(),
    ref: z.string().nullish(),
    action: z.string(),
    expression: z.string().nullish(),
    description: z.string().nullish(),
    enabled: z.boolean().nullish(),
    action_parameters: z
      .looseObject({
        id: z.string().nullish(),
        version,
        overrides: z.unknown().optional(),
        matched_data: z.looseObject({ public_key: z.string() }).nullish().catch(undefined),
      })
      .nullish(),
    logging: z.looseObject({ enabled: z.boolean() }).nullish().catch(undefined),
  })
  .transform((raw, ctx): ZoneRule => {
    const { action, action_parameters: parameters } = raw;
    const overrides = overridesWire.nullish().safeParse(parameters?.overrides);
    if (!overrides.success) ctx.addIssue("overrides have an unknown form");
    const deploys =
      action === "execute" && typeof parameters?.id === "string"
        ? omitAbsent({
            rulesetId: parameters.id,
            version: parameters.version,
            overrides: overrides.data ?? NO_OVERRIDES,
            publicKey: parameters.matched_data?.public_key,
          })
        : undefined;
    return omitAbsent({
      id: raw.id,
      ref: raw.ref ?? raw.id,
      action,
      expression: (raw.expression ?? "").trim(),
      description: raw.description ?? "",
      enabled: raw.enabled ?? true,
      deploys,
      skips: action === "skip" ? fromSkip(parameters ?? {}) : undefined,
      logging: action === "skip" && raw.logging?.enabled === false ? (false as const) : undefined,
      raw,
    });
  });

/** Reads the definition of a rule, with or without its ID. Undefined if it can't be read. */
export function readRule(definition: JsonObject | undefined): ZoneRule | undefined {
  return zoneRule.safeParse({ id: "", ...definition }).data;
}

export const entryPoint = z
  .looseObject({
    id: z.string(),
    version,
    last_updated: z.string().nullish().catch(undefined),
    rules: z.array(z.unknown()).nullish(),
  })
  .transform((raw): EntryPoint =>
    omitAbsent({
      id: raw.id,
      version: raw.version ?? "",
      lastUpdated: raw.last_updated,
      rules: (raw.rules ?? []).map((rule) => zoneRule.safeParse(rule).data ?? unreadable(rule)),
    }),
  );

/** Returns a placeholder for a rule that can't be read. It's kept because the order of the rules matters. */
function unreadable(rule: unknown): ZoneRule {
  const raw = isJsonObject(rule) ? rule : {};
  const text = (member: string): string => (typeof raw[member] === "string" ? raw[member] : "");
  return {
    id: text("id"),
    ref: text("ref") || text("id"),
    action: text("action"),
    expression: text("expression"),
    description: text("description"),
    enabled: raw["enabled"] !== false,
    raw,
  };
}

const RULESET_MEMBERS = {
  id: z.string(),
  name: z.string().nullish(),
  description: z.string().nullish(),
  kind: z.string().nullish(),
  phase: z.string().nullish(),
  version,
  last_updated: z.string().nullish(),
};

function toInfo(raw: z.infer<z.ZodObject<typeof RULESET_MEMBERS>>): ManagedRulesetInfo {
  return omitAbsent({
    id: raw.id,
    name: raw.name ?? "",
    description: raw.description ?? "",
    kind: raw.kind ?? "",
    phase: raw.phase ?? "",
    version: raw.version ?? "",
    lastUpdated: raw.last_updated,
  });
}

export const rulesetInfo = z.looseObject(RULESET_MEMBERS).transform(toInfo);

export const managedRule = z
  .looseObject({
    id: z.string(),
    action: z.string().nullish().catch(undefined),
    description: z.string().nullish().catch(undefined),
    categories: z.array(z.string()).nullish().catch(undefined),
    enabled: z.boolean().nullish().catch(undefined),
    score_threshold: z.number().nullish().catch(undefined),
    allowed_override_actions: z.array(z.string()).nullish().catch(undefined),
  })
  .transform((raw): ManagedRule =>
    omitAbsent({
      id: raw.id,
      action: raw.action ?? "",
      description: raw.description ?? "",
      tags: raw.categories ?? [],
      enabled: raw.enabled ?? true,
      scoreThreshold: raw.score_threshold,
      allowedActions: raw.allowed_override_actions,
    }),
  );

export const managedRuleset = z
  .looseObject({ ...RULESET_MEMBERS, rules: z.array(z.unknown()).nullish() })
  .transform(({ rules, ...raw }) => ({ info: toInfo(raw), rules: rules ?? [] }));

/** Fields of a rule that Cloudflare sets, or that are sent separately. */
const SERVER_MEMBERS = ["id", "version", "last_updated", "categories", "position"];

/** Returns the rule as it can be sent back: without the fields that only Cloudflare sets. */
export function definitionOf(raw: JsonObject): JsonObject {
  return omit(raw, SERVER_MEMBERS);
}

const RULE_MEMBERS = [
  "ref",
  "action",
  "expression",
  "description",
  "enabled",
  "action_parameters",
  "logging",
];
/** What a rule executes or skips. */
const PARAMETERS = ["id", "version", "overrides", "ruleset", "rulesets", "rules"];

/** Returns the members of a rule that no argument sets. */
export function unmanagedOf(
  { raw }: ZoneRule,
  { matchedData }: { readonly matchedData?: unknown },
): JsonObject {
  const given = raw["action_parameters"];
  const managed = matchedData === undefined ? PARAMETERS : [...PARAMETERS, "matched_data"];
  const parameters = omit(isJsonObject(given) ? given : {}, managed);
  return { ...omit(definitionOf(raw), RULE_MEMBERS), ...membersInside("action_parameters", parameters) };
}
