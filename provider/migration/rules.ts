import { z } from "zod";
import { hexId, type LiteralUnion } from "../runtime/fields";
import { json, record } from "../runtime/json";
import { unknownMembers } from "../runtime/members";
import { canonicalJson, isJsonObject, omit, ownMember, pick, type JsonObject } from "../runtime/values";
import type { MigrationState } from "./state";

/** Rules of an entry point in their two forms, and which of them a migration sends. */

/** A rule as Cloudflare writes it. */
export const wireRule = z.looseObject({ action: z.string(), expression: z.string() });
export type WireRule = z.infer<typeof wireRule>;

export interface CategoryChange {
  /** The tag: `paranoia-level-3`. */
  readonly category: string;
  readonly enabled?: boolean;
  readonly action?: string;
  readonly sensitivityLevel?: string;
}

export interface RuleChange {
  /** Of a rule of the managed ruleset. */
  readonly id: string;
  readonly enabled?: boolean;
  readonly action?: string;
  /** Of the OWASP ruleset's last rule. */
  readonly scoreThreshold?: number;
  readonly sensitivityLevel?: string;
}

export interface MigrationRuleParameters {
  /** Of an execute rule: the managed ruleset. */
  readonly id?: string;
  /** A version, or `latest`. */
  readonly version?: string;
  readonly overrides?: {
    readonly action?: string;
    readonly enabled?: boolean;
    readonly sensitivityLevel?: string;
    readonly categories?: readonly CategoryChange[];
    readonly rules?: readonly RuleChange[];
  };
  /** Of a skip rule: `current` leaves out every rule that follows. */
  readonly ruleset?: string;
  readonly rulesets?: readonly string[];
  readonly rules?: Readonly<Record<string, readonly string[]>>;
}

/** A rule of a zone's entry point, without what Cloudflare itself writes on it. */
export interface MigrationRule {
  readonly action: LiteralUnion<"execute" | "skip">;
  /** Which requests it is for, in Cloudflare's filter language; `true` is all of them. */
  readonly expression: string;
  readonly description?: string;
  /** Default true. */
  readonly enabled?: boolean;
  readonly ref?: string;
  readonly actionParameters?: MigrationRuleParameters;
  readonly logging?: { readonly enabled: boolean };
  /** Members of the API's rule that this version does not know by name, as they are. */
  readonly extra?: JsonObject;
}

/** Names that differ between the two forms, wherever they stand. */
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

/** Members that Cloudflare writes; `categories` of a rule are its tags. */
const STAMPS = ["id", "version", "last_updated", "categories"];

export function toWire({ extra, ...rule }: MigrationRule): WireRule {
  const known = renamed({ ...rule }, NAMES) as JsonObject;
  return { ...extra, ...known, action: rule.action, expression: rule.expression };
}

/** The readable form; what is given to `configuration`. */
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

/** `config` comes back with empty texts where Cloudflare will fill something in. */
function withoutBlank(rule: JsonObject): Record<string, unknown> {
  const blank = Object.keys(rule).filter((key) => rule[key] === "" || rule[key] === null);
  return omit(rule, blank);
}

/** As it may be sent: with its identity, without Cloudflare's stamps and without empty members. */
export function stripped(rule: WireRule): WireRule {
  const sent = withoutBlank(omit(rule, ["version", "last_updated", "categories"]));
  return { ...sent, action: rule.action, expression: rule.expression };
}

/**
 * What the rule does, the same before and after Cloudflare has stored it: it fills in `ref`, `enabled`, `description`,
 * the version `latest`, and that a skip rule logs.
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

/** Whether the rule lets a managed ruleset act on the zone. */
export function deploys(rule: WireRule): boolean {
  return rule.action === "execute" && rule["enabled"] !== false;
}

/** What makes a rule the one it is: for an execute rule that is the ruleset, whatever it overrides. */
export function identityOf(rule: WireRule): string {
  const { action_parameters } = contentOf(rule);
  const parameters = isJsonObject(action_parameters) ? action_parameters : {};
  const what = rule.action === "execute" ? parameters["id"] : parameters;
  return canonicalJson([rule.action, rule.expression.trim(), what ?? null]);
}

/** What it does, however it is called. */
export function effectOf(rule: WireRule): string {
  return canonicalJson(omit(contentOf(rule), ["ref", "description"]));
}

/** Rules by their identity, each to be taken once. */
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

/** Where a rule that is sent comes from. */
export type Origin =
  /** In the entry point already, and sent back as it is. */
  | "kept"
  /** In the entry point already, with another content. */
  | "changed"
  | "new";

export interface SentRule {
  readonly rule: WireRule;
  readonly origin: Origin;
}

export interface Sending {
  readonly rules: readonly SentRule[];
  /** Rules of the entry point that are not among those sent: they go. */
  readonly dropped: readonly WireRule[];
  /** Rules of the entry point that are sent with another content. */
  readonly overwritten: readonly WireRule[];
  /** Proposed, and not sent as it is proposed: shown beside. */
  readonly passedOver: readonly WireRule[];
}

/**
 * What the next step sends. From start: the entry point's own rules, then those proposed, or configured in their place.
 * From validation: the entry point as it stands, as that is what was validated and adjusted, or what is configured.
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

/** The entry point's own rules in their places; one that is wanted takes the wanted content. Then what is new. */
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

/** The wanted rules in their order; one that exists keeps its id and ref, so that it stays the same rule. */
function identified(own: readonly WireRule[], wanted: readonly WireRule[]): SentRule[] {
  const stock = new RulePool(own);
  return wanted.map((rule): SentRule => {
    const match = stock.claim(rule);
    return match === undefined ? { rule, origin: "new" } : withWantedContent(match, rule);
  });
}

/** The existing rule with the wanted content. */
function withWantedContent(own: WireRule, wanted: WireRule): SentRule {
  const rule = { ...stripped(own), enabled: true, ...wanted, ...pick(stripped(own), ["id", "ref"]) };
  const same = canonicalJson(contentOf(rule)) === canonicalJson(contentOf(own));
  return same ? { rule: stripped(own), origin: "kept" } : { rule, origin: "changed" };
}

/** The argument `configuration`: rules in the form of the output `proposedConfiguration`. */

const changeable = {
  enabled: z.boolean().exactOptional(),
  action: z.string().min(1, "is empty").exactOptional(),
  sensitivityLevel: z.string().exactOptional(),
};

const parameters = z.looseObject({
  id: hexId("a ruleset ID", "Use the ID of a managed ruleset.").exactOptional(),
  version: z.string().min(1, 'has to be a version or "latest"; it is empty').exactOptional(),
  overrides: z
    .looseObject({
      ...changeable,
      categories: z
        .array(z.looseObject({ category: z.string().min(1, "has to be a tag; it is empty"), ...changeable }))
        .exactOptional(),
      rules: z
        .array(
          z.looseObject({
            id: hexId("a rule ID", "Use the ID of a rule of the managed ruleset."),
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
    action: z.string().min(1, 'has to be "execute" or "skip"; it is empty'),
    expression: z.string().trim().min(1, 'has to select requests, "true" for all of them; it is empty'),
    description: z.string().exactOptional(),
    enabled: z.boolean().exactOptional(),
    ref: z.string().min(1, "is empty: leave it out").exactOptional(),
    actionParameters: parameters.exactOptional(),
    logging: z.strictObject({ enabled: z.boolean() }).exactOptional(),
    extra: record(json).exactOptional(),
  })
  .superRefine(({ action, actionParameters }, ctx) => {
    const refuse = (message: string): void =>
      ctx.addIssue({ code: "custom", path: ["actionParameters"], message });
    if (action === "execute" && actionParameters?.id === undefined)
      refuse("needs id, the managed ruleset that an execute rule is for");
    if (action === "skip" && actionParameters === undefined)
      refuse('says what a skip rule leaves out, { ruleset: "current" } for every rule that follows');
  });

/** A complete list: an empty one would leave the zone without managed rules. */
export const configuration: z.ZodType<readonly MigrationRule[], readonly MigrationRule[]> = z
  .array(rule)
  .min(1, "has to hold at least one rule: an empty list would leave the zone without managed rules")
  .superRefine((rules, ctx) => {
    const seen = new Map<string, number>();
    rules.forEach((each, index) => {
      const key = identityOf(toWire(each));
      const first = seen.get(key);
      if (first === undefined) return void seen.set(key, index);
      ctx.addIssue({
        code: "custom",
        path: [index],
        message: `is the same rule as configuration[${first}], by action, expression and what it is for: keep one of them`,
      });
    });
  });
