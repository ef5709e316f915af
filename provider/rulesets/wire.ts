import { z } from "zod";
import { furtherMembers, present } from "../runtime/members";
import { isBag, omit, type Bag } from "../runtime/values";

/** Rules and rulesets as the service writes them, and the two mappers between its form and ours. */

interface Override {
  readonly enabled?: boolean;
  readonly action?: string;
}

export interface CategoryOverride extends Override {
  readonly tag: string;
  /** Members that no argument stands for, as they came. */
  readonly further?: Bag;
}

export interface RuleOverride extends Override {
  readonly scoreThreshold?: number;
  readonly further?: Bag;
}

/** What an execute rule changes of the managed ruleset. The order of categories means something, that of rules does not. */
export interface Overrides {
  readonly action?: string;
  readonly categories: readonly CategoryOverride[];
  readonly rules: Readonly<Record<string, RuleOverride>>;
  /** On or off for the whole ruleset: somebody else's, as no argument says it. */
  readonly enabled?: boolean;
  readonly further?: Bag;
}

export type Skip =
  | "all"
  | { readonly rulesets: readonly string[] }
  | { readonly rules: Readonly<Record<string, readonly string[]>> }
  /** Something that no argument can say. */
  | { readonly other: Bag };

/** A rule of a zone's entry point. */
export interface ZoneRule {
  readonly id: string;
  readonly ref: string;
  readonly action: string;
  readonly expression: string;
  readonly description: string;
  readonly enabled: boolean;
  /** Of an execute rule. */
  readonly deploys?: { readonly rulesetId: string; readonly version?: string; readonly overrides: Overrides };
  /** Of a skip rule. */
  readonly skips?: Skip;
  /** The rule as it came. */
  readonly raw: Bag;
}

export interface EntryPoint {
  readonly id: string;
  readonly version: string;
  /** In the order in which they run. */
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
  /** The actions that an override may give it; absent where the service does not say. */
  readonly allowedActions?: readonly string[];
}

export interface ManagedRulesetInfo {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly kind: string;
  readonly phase: string;
  readonly version: string;
  readonly lastUpdated?: string;
}

export interface ManagedRuleset extends ManagedRulesetInfo {
  readonly rules: readonly ManagedRule[];
}

const optional = { enabled: z.boolean().nullish(), action: z.string().nullish() };

const overridesWire = z.looseObject({
  ...optional,
  categories: z.array(z.looseObject({ category: z.string(), ...optional })).nullish(),
  rules: z
    .array(z.looseObject({ id: z.string(), score_threshold: z.number().nullish(), ...optional }))
    .nullish(),
});

const NO_OVERRIDES: Overrides = { categories: [], rules: {} };

function fromOverrides(raw: z.infer<typeof overridesWire>): Overrides {
  const further = (bag: Bag, known: readonly string[]): Bag | undefined => furtherMembers(bag, known).extra;
  return present({
    action: raw.action,
    enabled: raw.enabled,
    categories: (raw.categories ?? []).map((c) =>
      present({
        tag: c.category,
        enabled: c.enabled,
        action: c.action,
        further: further(c, ["category", "enabled", "action"]),
      }),
    ),
    rules: Object.fromEntries(
      (raw.rules ?? []).map((r): [string, RuleOverride] => [
        r.id,
        present({
          enabled: r.enabled,
          action: r.action,
          scoreThreshold: r.score_threshold,
          further: further(r, ["id", "enabled", "action", "score_threshold"]),
        }),
      ]),
    ),
    further: further(raw, ["action", "enabled", "categories", "rules"]),
  });
}

/** The member `overrides`; undefined where nothing is overridden, as an empty one is refused (facts 5.1). */
export function toOverrides({ action, categories, rules }: Overrides): Bag | undefined {
  const ruleEntries = Object.entries(rules).sort(([a], [b]) => (a < b ? -1 : 1));
  const members = present({
    action,
    categories:
      categories.length === 0
        ? undefined
        : categories.map((c) => present({ category: c.tag, enabled: c.enabled, action: c.action })),
    rules:
      ruleEntries.length === 0
        ? undefined
        : ruleEntries.map(([id, r]) =>
            present({ id, enabled: r.enabled, action: r.action, score_threshold: r.scoreThreshold }),
          ),
  });
  return Object.keys(members).length === 0 ? undefined : members;
}

function fromSkip(raw: Bag): Skip {
  const sorted = (list: unknown): readonly string[] | undefined => {
    const texts = z.array(z.string()).safeParse(list);
    return texts.success ? [...texts.data].sort() : undefined;
  };
  const only = (member: string): unknown => (Object.keys(raw).length === 1 ? raw[member] : undefined);
  if (only("ruleset") === "current") return "all";
  const rulesets = sorted(only("rulesets"));
  if (rulesets !== undefined) return { rulesets };
  const rules = only("rules");
  if (isBag(rules)) {
    const lists = Object.entries(rules).map(([id, list]) => [id, sorted(list) ?? []]);
    return { rules: Object.fromEntries(lists) as Record<string, readonly string[]> };
  }
  return { other: raw };
}

export function toSkip(skip: Skip): Bag {
  if (skip === "all") return { ruleset: "current" };
  return "other" in skip ? skip.other : skip;
}

/** Written as text, and understood as a number, too. */
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
        overrides: overridesWire.nullish(),
      })
      .nullish(),
  })
  .transform((raw): ZoneRule => {
    const parameters = raw.action_parameters ?? {};
    return present({
      id: raw.id,
      ref: raw.ref ?? raw.id,
      action: raw.action,
      expression: (raw.expression ?? "").trim(),
      description: raw.description ?? "",
      enabled: raw.enabled ?? true,
      deploys:
        raw.action === "execute" && typeof parameters.id === "string"
          ? present({
              rulesetId: parameters.id,
              version: parameters.version,
              overrides: isBag(parameters.overrides) ? fromOverrides(parameters.overrides) : NO_OVERRIDES,
            })
          : undefined,
      skips: raw.action === "skip" ? fromSkip(parameters) : undefined,
      raw,
    });
  });

export const entryPoint = z
  .looseObject({
    id: z.string(),
    version,
    rules: z.array(z.unknown()).nullish(),
  })
  .transform((raw): EntryPoint => ({
    id: raw.id,
    version: raw.version ?? "",
    rules: (raw.rules ?? []).map((rule) => zoneRule.safeParse(rule).data ?? unreadable(rule)),
  }));

/** A rule in a form that this version does not know. It keeps its place: the order of rules means something. */
function unreadable(rule: unknown): ZoneRule {
  const raw = isBag(rule) ? rule : {};
  const text = (member: string): string => {
    const value = raw[member];
    return typeof value === "string" ? value : "";
  };
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
  return present({
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
    present({
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

/** Members of a rule that the service writes, or that are sent apart. */
const STAMPS = ["id", "version", "last_updated", "categories", "position"];

/** The rule as it may be sent back: everything it holds but the service's own stamps. */
export function definitionOf(raw: Bag): Bag {
  return omit(raw, STAMPS);
}
