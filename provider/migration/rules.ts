import { z } from "zod";
import { ID, type LiteralUnion } from "../runtime/fields";
import { json, record, unknownMembers } from "../basics/schemas";
import { canonicalJson, isJsonObject, omit, ownMember, pick, type JsonObject } from "../basics/json";
import type { MigrationState } from "./state";

/**
 * Converts an entry point's rules between the API's format and that of `configuration`, and decides which rules a
 * migration sends.
 */

/** The schema of a rule in the API's format. */
export const wireRule = z.looseObject({ action: z.string(), expression: z.string() });
export type WireRule = z.infer<typeof wireRule>;

/** An execute rule's override of a category (tag). */
export interface CategoryChange {
  /** The tag, such as `paranoia-level-3`. Updates in place. */
  readonly category: string;
  /** Whether the rules with this tag are on. Updates in place. */
  readonly enabled?: boolean;
  /** The action of the rules with this tag. Updates in place. */
  readonly action?: string;
  /** The sensitivity of the rules with this tag. Updates in place. */
  readonly sensitivityLevel?: string;
}

/** An execute rule's override of one rule in the managed ruleset. */
export interface RuleChange {
  /** The ID of a rule in the managed ruleset. Updates in place. */
  readonly id: string;
  /** Whether the rule is on. Updates in place. */
  readonly enabled?: boolean;
  /** The action of the rule. Updates in place. */
  readonly action?: string;
  /** The score threshold, on the last rule of the OWASP Core Ruleset. Updates in place. */
  readonly scoreThreshold?: number;
  /** The sensitivity of the rule. Updates in place. */
  readonly sensitivityLevel?: string;
}

/** What an execute rule executes, or what a skip rule skips. */
export interface MigrationRuleParameters {
  /** The ID of the managed ruleset that an execute rule executes. Updates in place. */
  readonly id?: string;
  /** The version of the managed ruleset, or `latest`. Updates in place. */
  readonly version?: string;
  /** The overrides of an execute rule. Updates in place. */
  readonly overrides?: {
    /** The action of all rules of the ruleset. Updates in place. */
    readonly action?: string;
    /** Whether all rules of the ruleset are on. Updates in place. */
    readonly enabled?: boolean;
    /** The sensitivity of all rules of the ruleset. Updates in place. */
    readonly sensitivityLevel?: string;
    /** Overrides by category (tag). Updates in place. */
    readonly categories?: readonly CategoryChange[];
    /** Overrides of single rules. Updates in place. */
    readonly rules?: readonly RuleChange[];
  };
  /** On a skip rule, `current` skips all remaining rules. Updates in place. */
  readonly ruleset?: string;
  /** The IDs of the managed rulesets that a skip rule skips. Updates in place. */
  readonly rulesets?: readonly string[];
  /** The IDs of the rules that a skip rule skips, by ruleset ID. Updates in place. */
  readonly rules?: Readonly<Record<string, readonly string[]>>;
}

/** A rule of a zone's entry point, without the fields that Cloudflare adds. */
export interface MigrationRule {
  /** What the rule does: execute a managed ruleset, or skip rules. Updates in place. */
  readonly action: LiteralUnion<"execute" | "skip">;
  /**
   * The requests that the rule applies to, in Cloudflare's Rules language; `"true"` means all requests. Updates in
   * place.
   */
  readonly expression: string;
  /** A description of the rule. Updates in place. */
  readonly description?: string;
  /**
   * Whether the rule is on. Updates in place.
   * @defaultValue `true`
   */
  readonly enabled?: boolean;
  /** A stable name for the rule: it stays the same when the rule's ID changes. Updates in place. */
  readonly ref?: string;
  /** What the rule executes or skips. Updates in place. */
  readonly actionParameters?: MigrationRuleParameters;
  /** Whether requests that match the rule are logged. Updates in place. */
  readonly logging?: {
    /** Whether to log these requests. Updates in place. */
    readonly enabled: boolean;
  };
  /** API fields of a rule that this version of edgeguard doesn't know. They're sent unchanged. Updates in place. */
  readonly extra?: JsonObject;
}

/** Property names in `configuration` that differ from the API's, at any depth. */
const NAMES: Readonly<Record<string, string>> = {
  actionParameters: "action_parameters",
  scoreThreshold: "score_threshold",
  sensitivityLevel: "sensitivity_level",
  matchedData: "matched_data",
  publicKey: "public_key",
};
const SURFACE = Object.fromEntries(Object.entries(NAMES).map(([ours, theirs]) => [theirs, ours]));

const MEMBERS = [
  "action",
  "expression",
  "description",
  "enabled",
  "ref",
  "actionParameters",
  "logging",
] as const;

/** Fields that Cloudflare adds. A rule's `categories` are its tags. */
const STAMPS = ["id", "version", "last_updated", "categories"];

export function toWire({ extra, ...rule }: MigrationRule): WireRule {
  const known = renamed({ ...rule }, NAMES) as JsonObject;
  return { ...extra, ...known, action: rule.action, expression: rule.expression };
}

/** Converts a rule to the format of `configuration`. */
export function fromWire(raw: WireRule): MigrationRule {
  const members = withoutBlank(omit(raw, STAMPS));
  const own = renamed(members, SURFACE) as JsonObject;
  return {
    ...pick(own, MEMBERS),
    action: raw.action,
    expression: raw.expression,
    ...unknownMembers(
      members,
      MEMBERS.map((name) => NAMES[name] ?? name),
    ),
  };
}

function renamed(value: unknown, names: Readonly<Record<string, string>>): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [ownMember(names, key) ?? key, renamed(member, names)]),
  );
}

/** Removes empty strings and nulls. A proposal contains them for values that Cloudflare fills in later. */
function withoutBlank(rule: JsonObject): Record<string, unknown> {
  const blank = Object.keys(rule).filter((key) => rule[key] === "" || rule[key] === null);
  return omit(rule, blank);
}

/** Returns the rule as it's sent back: with its ID, but without empty fields and other fields that Cloudflare adds. */
export function stripped(rule: WireRule): WireRule {
  const sent = withoutBlank(omit(rule, ["version", "last_updated", "categories"]));
  return { ...sent, action: rule.action, expression: rule.expression };
}

/**
 * Returns what's left of a rule without the values that Cloudflare fills in, so that a stored rule equals the one that
 * was sent. Cloudflare fills in `ref`, `enabled`, `description`, the version `latest` and the logging of a skip rule.
 */
export function contentOf(rule: WireRule): JsonObject {
  const { ref, enabled, description, action_parameters, logging, ...rest } = withoutBlank(rule);
  const parameters = isJsonObject(action_parameters) ? action_parameters : {};
  const usual = rule.action === "skip" && canonicalJson(logging) === canonicalJson({ enabled: true });
  return {
    ...omit(rest, STAMPS),
    ...(ref === undefined || ref === rule["id"] ? {} : { ref }),
    ...(usual || logging === undefined ? {} : { logging }),
    action_parameters: parameters["version"] === "latest" ? omit(parameters, ["version"]) : parameters,
    enabled: enabled ?? true,
    description: description ?? "",
  };
}

/** Whether the rule is enabled and executes a managed ruleset. */
export function deploys(rule: WireRule): boolean {
  return rule.action === "execute" && rule["enabled"] !== false;
}

/**
 * Returns a key that identifies a rule without its ID: its action, its expression, and the ruleset that it executes or
 * what it skips.
 */
export function identityOf(rule: WireRule): string {
  const { action_parameters } = contentOf(rule);
  const parameters = isJsonObject(action_parameters) ? action_parameters : {};
  const what = rule.action === "execute" ? parameters["id"] : parameters;
  return canonicalJson([rule.action, rule.expression.trim(), what ?? null]);
}

/** Returns a key for what the rule does. It's the same for rules that differ only in ref or description. */
export function effectOf(rule: WireRule): string {
  return canonicalJson(omit(contentOf(rule), ["ref", "description"]));
}

/** Rules to match with others by identity. Each rule can be matched only once. */
class RulePool {
  readonly #left = new Map<string, WireRule[]>();

  constructor(rules: readonly WireRule[]) {
    for (const rule of rules) {
      const key = identityOf(rule);
      this.#left.set(key, [...(this.#left.get(key) ?? []), rule]);
    }
  }

  claim(like: WireRule): WireRule | undefined {
    return this.#left.get(identityOf(like))?.shift();
  }

  rest(): WireRule[] {
    return [...this.#left.values()].flat();
  }
}

/** Where a rule to send comes from. */
export type Origin =
  /** Exists in the entry point and is sent back unchanged. */
  | "kept"
  /** Exists in the entry point with different content. */
  | "changed"
  | "new";

export interface SentRule {
  readonly rule: WireRule;
  readonly origin: Origin;
}

export interface Sending {
  readonly rules: readonly SentRule[];
  /** Rules in the entry point that are removed because they aren't sent. */
  readonly dropped: readonly WireRule[];
  /** Rules in the entry point that are sent with different content. */
  readonly overwritten: readonly WireRule[];
  /** Proposed rules that aren't sent, or are sent with changes. */
  readonly passedOver: readonly WireRule[];
}

/**
 * Returns the rules that the next step sends. From start, these are the entry point's own rules, then the proposed or
 * configured ones. From validation, they're the configured rules or, without any, the unchanged entry point, because
 * that's what was validated and adjusted.
 */
export function rulesToSend(request: {
  readonly state: MigrationState;
  readonly own: readonly WireRule[];
  readonly proposed: readonly WireRule[];
  readonly configured: readonly WireRule[] | undefined;
}): Sending {
  const { state, own, proposed, configured } = request;
  const wanted = (configured ?? proposed).map(stripped);
  const rules =
    state.phase !== "validation"
      ? merged(own, wanted)
      : configured === undefined
        ? own.map((rule): SentRule => ({ rule: stripped(rule), origin: "kept" }))
        : identified(own, wanted);
  const sentIds = new Set(rules.map(({ rule }) => rule["id"]));
  const sent = new Set(rules.map(({ rule }) => effectOf(rule)));
  return {
    rules,
    dropped: own.filter((rule) => !sentIds.has(rule["id"])),
    overwritten: own.filter(({ id }) =>
      rules.some(({ rule, origin }) => origin === "changed" && rule["id"] === id),
    ),
    passedOver: proposed.filter((rule) => !sent.has(effectOf(rule))),
  };
}

/**
 * Merges the wanted rules into the entry point's own rules. Own rules keep their places. An own rule that matches a
 * wanted rule gets the wanted content. Other wanted rules come last.
 */
function merged(own: readonly WireRule[], wanted: readonly WireRule[]): SentRule[] {
  const stock = new RulePool(wanted);
  const kept = own.map((rule): SentRule => {
    const match = stock.claim(rule);
    return match === undefined ? { rule: stripped(rule), origin: "kept" } : withWantedContent(rule, match);
  });
  const rest = new Set(stock.rest());
  return [
    ...kept,
    ...wanted.filter((rule) => rest.has(rule)).map((rule): SentRule => ({ rule, origin: "new" })),
  ];
}

/** Returns the wanted rules in order. A rule that already exists keeps its ID and ref, so it isn't created again. */
function identified(own: readonly WireRule[], wanted: readonly WireRule[]): SentRule[] {
  const stock = new RulePool(own);
  return wanted.map((rule): SentRule => {
    const match = stock.claim(rule);
    return match === undefined ? { rule, origin: "new" } : withWantedContent(match, rule);
  });
}

function withWantedContent(own: WireRule, wanted: WireRule): SentRule {
  const rule = { ...stripped(own), enabled: true, ...wanted, ...pick(stripped(own), ["id", "ref"]) };
  const isSame = canonicalJson(contentOf(rule)) === canonicalJson(contentOf(own));
  return isSame ? { rule: stripped(own), origin: "kept" } : { rule, origin: "changed" };
}

const changeable = {
  enabled: z.boolean().exactOptional(),
  action: z.string().min(1, "is empty").exactOptional(),
  sensitivityLevel: z.string().exactOptional(),
};

const parameters = z.looseObject({
  id: ID.of("a ruleset ID", "Use the ID of a managed ruleset.").exactOptional(),
  version: z.string().min(1, 'is empty. Use a version or "latest"').exactOptional(),
  overrides: z
    .looseObject({
      ...changeable,
      categories: z
        .array(
          z.looseObject({
            category: z.string().min(1, 'is empty. Use a tag such as "paranoia-level-3"'),
            ...changeable,
          }),
        )
        .exactOptional(),
      rules: z
        .array(
          z.looseObject({
            id: ID.of("a rule ID", "Use the ID of a rule in the managed ruleset."),
            scoreThreshold: z.int().exactOptional(),
            ...changeable,
          }),
        )
        .exactOptional(),
    })
    .exactOptional(),
  ruleset: z.string().exactOptional(),
  rulesets: z.array(z.string()).exactOptional(),
  rules: record(z.array(z.string())).exactOptional(),
});

const rule = z
  .strictObject({
    action: z.string().min(1, 'is empty. Use "execute" or "skip"'),
    expression: z.string().trim().min(1, 'is empty. Use an expression, or "true" for all requests'),
    description: z.string().exactOptional(),
    enabled: z.boolean().exactOptional(),
    ref: z.string().min(1, "is empty. Leave it out").exactOptional(),
    actionParameters: parameters.exactOptional(),
    logging: z.strictObject({ enabled: z.boolean() }).exactOptional(),
    extra: record(json).exactOptional(),
  })
  .superRefine(({ action, actionParameters }, ctx) => {
    const refuse = (message: string): void =>
      ctx.addIssue({ code: "custom", path: ["actionParameters"], message });
    if (action === "execute" && actionParameters?.id === undefined)
      refuse("has no id. Set id to the ID of the managed ruleset to execute");
    if (action === "skip" && actionParameters === undefined)
      refuse('is missing. Set what to skip, such as { ruleset: "current" } for all remaining rules');
  });

/** The schema of the argument `configuration`: a complete list of rules. */
export const configuration: z.ZodType<readonly MigrationRule[], readonly MigrationRule[]> = z
  .array(rule)
  .min(1, "is empty, which would leave the zone without managed rules. List at least one rule")
  .superRefine((rules, ctx) => {
    const seen = new Map<string, number>();
    rules.forEach((each, index) => {
      const key = identityOf(toWire(each));
      const first = seen.get(key);
      if (first === undefined) return void seen.set(key, index);
      ctx.addIssue({
        code: "custom",
        path: [index],
        message: `is the same rule as configuration[${first}] (same action, expression and target). Keep one of them`,
      });
    });
  });
