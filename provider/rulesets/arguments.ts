import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { MANAGED_RULES } from "../limits/index";
import { expression } from "../rules-language/argument";
import { ID, type LiteralUnion } from "../runtime/fields";
import { describe } from "../basics/json";
import { record } from "../basics/schemas";
import { RESERVED_REF } from "./refs";
import { PHASES } from "./wire";
import { parseRuleName } from "./rule-names";
import { parseNameOrId, rulesetId, skip, type SkipArgs } from "./skip";

/** The arguments of a deployment, and the schemas that check them and convert them to their canonical form. */

/** The actions that an override can set. */
export const ACTIONS = ["block", "managed_challenge", "js_challenge", "challenge", "log"] as const;
export type RuleAction = (typeof ACTIONS)[number];

/** Settings of the OWASP Core Ruleset. */
export interface OwaspArgs {
  /**
   * The paranoia level, from 1 to 4. Rules of this level and all lower levels stay on. The tags of all higher levels
   * are turned off. Updates in place.
   */
  readonly paranoiaLevel: pulumi.Input<1 | 2 | 3 | 4 | (number & {})>;
  /**
   * The score at which the ruleset acts: `"low"` (60), `"medium"` (40), `"high"` (25), or a whole number of at
   * least 1. Numbers other than these three cause a warning. By default, the ruleset's own threshold. Updates in place.
   */
  readonly scoreThreshold?: pulumi.Input<LiteralUnion<"low" | "medium" | "high"> | number>;
  /**
   * What the ruleset does with a request that reaches the score threshold. By default, the ruleset's own action, which
   * is `"block"`. Updates in place.
   */
  readonly action?: pulumi.Input<LiteralUnion<RuleAction>>;
}

/** An override of all rules with a tag. */
export interface CategoryOverrideArgs {
  /** The tag. At least one rule of the ruleset must have it. Updates in place. */
  readonly tag: pulumi.Input<string>;
  /** Turns the rules on or off. If unset, this entry does neither. Updates in place. */
  readonly enabled?: pulumi.Input<boolean>;
  /** The rules' new action. A rule that doesn't accept the action keeps its own. Updates in place. */
  readonly action?: pulumi.Input<LiteralUnion<RuleAction>>;
}

/** An override of one rule. */
export interface RuleOverrideArgs {
  /** Turns the rule on or off. If unset, this entry does neither. Updates in place. */
  readonly enabled?: pulumi.Input<boolean>;
  /** The rule's new action. Updates in place. */
  readonly action?: pulumi.Input<LiteralUnion<RuleAction>>;
  /**
   * The score threshold, as in `owasp.scoreThreshold`. Only the rule that compares the score accepts one. Updates in
   * place.
   */
  readonly scoreThreshold?: pulumi.Input<LiteralUnion<"low" | "medium" | "high"> | number>;
}

/** An exception: requests that skip managed rules. */
export interface ExceptionArgs {
  /**
   * Selects the requests, in Cloudflare's Rules language. It's checked like the resource's own `expression`. Updates in
   * place.
   */
  readonly expression: pulumi.Input<string>;
  /** What the exception is for. Empty by default. Updates in place. */
  readonly description?: pulumi.Input<string>;
  /**
   * What the requests skip. `"this"` means the ruleset that the resource deploys. `"all"` means every managed rule
   * after the exception, including those of other deployments. `{ rulesets }` lists whole rulesets by name or ID, and
   * `{ rules }` lists single rules by ruleset. Updates in place.
   */
  readonly skip: pulumi.Input<SkipArgs>;
  /**
   * Whether security events and Logpush show the requests that match. Updates in place.
   * @defaultValue `true`
   */
  readonly logging?: pulumi.Input<boolean>;
}

/** How Cloudflare logs the part of a request that matched a rule, which may contain personal data. */
export interface MatchedDataArgs {
  /**
   * The public key that encrypts it: 44 characters of base64, as `matched-data-cli generate-key-pair` prints them. Whoever
   * has the private key can read it. Updates in place.
   */
  readonly publicKey: pulumi.Input<string>;
}

const { SCORE_THRESHOLDS, MAX_PARANOIA_LEVEL } = MANAGED_RULES;

export const action = z.enum(ACTIONS);

const ALLOWED_THRESHOLDS = "must be low, medium, high or a whole number of at least 1";

/** A score threshold. Its canonical form is a number. */
export const scoreThreshold = z
  .union([z.enum(["low", "medium", "high"]), z.number()], ALLOWED_THRESHOLDS)
  .refine((given) => typeof given !== "number" || (Number.isInteger(given) && given >= 1), {
    error: ({ input }) => `${ALLOWED_THRESHOLDS}, not ${describe(input)}`,
  })
  .transform((given) => (typeof given === "number" ? given : SCORE_THRESHOLDS[given]));

/** Settings of the OWASP Core Ruleset in canonical form. */
export interface Owasp {
  /** The paranoia level, from 1 to 4. The tags of all higher levels are turned off. */
  readonly paranoiaLevel: 1 | 2 | 3 | 4;
  /** The score at which the ruleset acts. If absent, the ruleset's own threshold applies. */
  readonly scoreThreshold?: number;
  /** What the ruleset does with a request that reaches the threshold. If absent, the ruleset's own action applies. */
  readonly action?: RuleAction;
}

export const owasp: z.ZodType<Owasp> = z.strictObject({
  paranoiaLevel: z.union(
    [z.literal(1), z.literal(2), z.literal(3), z.literal(4)],
    `must be a whole number from 1 to ${MAX_PARANOIA_LEVEL}`,
  ),
  scoreThreshold: scoreThreshold.exactOptional(),
  action: action.exactOptional(),
});

export const categories = z
  .array(
    z
      .strictObject({
        tag: z.string().min(1, "is empty. Set it to one of the ruleset's tags"),
        enabled: z.boolean().exactOptional(),
        action: action.exactOptional(),
      })
      .refine(({ enabled, action }) => enabled !== undefined || action !== undefined, {
        error: "overrides nothing. Set enabled, action or both, or remove the entry",
      }),
  )
  .superRefine((entries, ctx) => {
    entries.forEach(({ tag }, index) => {
      const first = entries.findIndex((entry) => entry.tag === tag);
      if (first === index) return;
      ctx.addIssue({
        code: "custom",
        path: [index, "tag"],
        message: `${JSON.stringify(tag)} is already used in categories[${first}]. Merge the two entries`,
      });
    });
  })
  .transform((entries) => (entries.length === 0 ? undefined : entries));
export type Categories = NonNullable<z.output<typeof categories>>;

/** A record with one entry per rule, by ID or name. IDs are converted to lowercase, and malformed IDs are rejected. */
const recordByRule = <Out, In>(
  member: z.ZodType<Out, In>,
): z.ZodType<Record<string, Out>, Record<string, In>> =>
  record(member).transform((given, ctx) => {
    const found: Record<string, Out> = {};
    for (const [name, entry] of Object.entries(given)) {
      const refuse = (message: string): void => ctx.addIssue({ code: "custom", path: [name], message });
      const parsed = parseRuleName(name, refuse);
      if (Object.hasOwn(found, parsed))
        refuse("appears twice, in uppercase and in lowercase. Merge the two entries");
      found[parsed] = entry;
    }
    return found;
  });

export const rules = recordByRule(
  z
    .strictObject({
      enabled: z.boolean().exactOptional(),
      action: action.exactOptional(),
      scoreThreshold: scoreThreshold.exactOptional(),
    })
    .refine((entry) => Object.keys(entry).length > 0, {
      error: "overrides nothing. Set enabled, action or scoreThreshold, or remove the entry",
    }),
).transform((given) => {
  const entries = Object.entries(given);
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
});
export type Rules = NonNullable<z.output<typeof rules>>;

export const exceptions = z
  .array(
    z
      .strictObject({
        expression,
        description: z
          .string()
          .transform((text) => (text === "" ? undefined : text))
          .optional(),
        skip,
        logging: z
          .boolean()
          .transform((logs) => (logs ? undefined : false))
          .optional(),
      })
      // Pulumi can't send undefined members.
      .transform(({ description, logging, ...exception }) => ({
        ...exception,
        ...(description === undefined ? {} : { description }),
        ...(logging === undefined ? {} : { logging: false as const }),
      })),
  )
  .transform((list) => (list.length === 0 ? undefined : list));
export type Exceptions = NonNullable<z.output<typeof exceptions>>;

export const matchedData = z.strictObject({
  publicKey: z.string().regex(/^[A-Za-z0-9+/]{43}=$/, {
    error: ({ input }) => `must be a public key of 44 characters of base64, not ${describe(input)}`,
  }),
});

const otherRef = z.string().min(1, "is empty. Set it to the ref of another rule");

/** Each of the two is the other's unknown option. */
const notBoth: z.core.$ZodErrorMap = (issue) =>
  issue.code === "unrecognized_keys" && issue.keys.some((key) => ["before", "after"].includes(key))
    ? "set either before or after"
    : undefined;

export const position = z.union(
  [
    z.enum(["first", "last"]),
    z.strictObject({ before: otherRef }, { error: notBoth }),
    z.strictObject({ after: otherRef }, { error: notBoth }),
  ],
  'must be "first", "last", { before: ref } or { after: ref }',
);
export type Position = z.output<typeof position>;

const rulesetName = z.string().min(1, "is empty. Set it to the ruleset's name");

/** A ruleset. A string is its name, or its ID if it looks like one. */
export const ruleset = z
  .union(
    [rulesetName, z.strictObject({ id: rulesetId.exactOptional(), name: rulesetName.exactOptional() })],
    "must be the name of a managed ruleset, { name } or { id }",
  )
  .transform((given, ctx): { readonly id?: string; readonly name?: string } => {
    if (typeof given === "string") {
      const named = parseNameOrId(given, ctx);
      return ID.is(named) ? { id: named } : { name: named };
    }
    const count = Object.keys(given).length;
    if (count === 1) return given;
    const message = `must set exactly one of id and name, but ${count === 0 ? "neither is set" : "both are set"}`;
    ctx.addIssue({ code: "custom", message });
    return z.NEVER;
  });

export const version = z.string().regex(/^(latest|[1-9]\d*)$/, {
  error: ({ input }) =>
    `must be "latest" or a version number as a string, such as "37", not ${describe(input)}`,
});

/** The default has no canonical form, so that it may be left out. */
export const phase = z.enum(PHASES).transform((given) => (given === PHASES[0] ? undefined : given));

/** What the expression of each of an account's rules ends with. */
const OF_ENTERPRISE = /\bcf\.zone\.plan (?:eq|==) "ENT"[\s)]*$/;

/**
 * Returns the path of the first expression of an account's rules that doesn't end as Cloudflare requires:
 * https://developers.cloudflare.com/ruleset-engine/managed-rulesets/deploy-managed-ruleset/. A program that forgets
 * `zoneId` fails on it, too.
 */
export function notOfEnterprise(rule: string, exceptions: Exceptions): string | undefined {
  const all = [rule, ...exceptions.map((each) => each.expression)];
  const at = all.findIndex((text) => !OF_ENTERPRISE.test(text));
  return at > 0 ? `exceptions[${at - 1}].expression` : at === 0 ? "expression" : undefined;
}

export const ref = z
  .string()
  .min(1, "is empty. Set it to a ref that identifies the rule in its entry point")
  .refine((given) => !RESERVED_REF.test(given), {
    error: ({ input }) =>
      `${describe(input)} ends like a ref that this package gives to an exception ("/exception/1") or to a new rule ("/unfinished"). Use another ref`,
  });

/** The arguments that determine the overrides. */
export interface DeclaredOverrides {
  readonly owasp?: Owasp | undefined;
  readonly categories?: Categories | undefined;
  readonly rules?: Rules | undefined;
  readonly action?: RuleAction | undefined;
  readonly allRulesEnabled?: boolean | undefined;
}
