import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { MANAGED_RULES } from "../limits";
import { expression } from "../rules-language/argument";
import { isId, type LiteralUnion } from "../runtime/fields";
import { describe } from "../runtime/inputs";
import { record } from "../runtime/json";
import { pluralize } from "../runtime/values";
import { nameOrId, rulesetId, skip, type SkipArgs } from "./skip";

/** The arguments of a deployment: what a program may write, and the schemas that check it and give its canonical form. */

/** What a rule may be told to do. */
export const ACTIONS = ["block", "managed_challenge", "js_challenge", "challenge", "log"] as const;
export type RuleAction = (typeof ACTIONS)[number];

/** The OWASP core ruleset in its own words. */
export interface OwaspArgs {
  /**
   * 1 to 4. Rules of every level up to it stay on; the tags of all higher levels are switched off. Source: seed 001,
   * "Configuration rules", 1.
   */
  readonly paranoiaLevel: pulumi.Input<1 | 2 | 3 | 4 | (number & {})>;
  /**
   * The score from which the ruleset acts: `"low"` is 60, `"medium"` 40, `"high"` 25; or a whole number from 1, of which
   * any other is warned of. Default: the ruleset's own. Source: seed 001, "Configuration rules", 2.
   */
  readonly scoreThreshold?: pulumi.Input<LiteralUnion<"low" | "medium" | "high"> | number>;
  /** What it does with such a request. Default: the ruleset's own, block. Source: seed 001, "Configuration rules", 2. */
  readonly action?: pulumi.Input<LiteralUnion<RuleAction>>;
}

/** An override of all rules with a tag. */
export interface CategoryOverrideArgs {
  /** A tag that at least one rule of the ruleset has. */
  readonly tag: pulumi.Input<string>;
  /** Switches the rules on or off; unset is neither. */
  readonly enabled?: pulumi.Input<boolean>;
  /** What they do instead; a rule that does not take the action keeps its own. */
  readonly action?: pulumi.Input<LiteralUnion<RuleAction>>;
}

/** An override of one rule. */
export interface RuleOverrideArgs {
  /** Switches the rule on or off; unset is neither. Source: seed 001, "Configuration rules", 3. */
  readonly enabled?: pulumi.Input<boolean>;
  /** What it does instead. */
  readonly action?: pulumi.Input<LiteralUnion<RuleAction>>;
  /** Only of the rule that compares the score; `owasp.scoreThreshold` says the same. */
  readonly scoreThreshold?: pulumi.Input<LiteralUnion<"low" | "medium" | "high"> | number>;
}

/** Requests that managed rules leave alone. */
export interface ExceptionArgs {
  /** Which requests, in Cloudflare's Rules language. Checked as `expression` of the resource is. */
  readonly expression: pulumi.Input<string>;
  /** What it is for. Default: empty. */
  readonly description?: pulumi.Input<string>;
  /** What they skip: `"all"`, `"this"`, whole rulesets, or single rules. */
  readonly skip: pulumi.Input<SkipArgs>;
}

const { SCORE_THRESHOLDS, MAX_PARANOIA_LEVEL } = MANAGED_RULES;

export const action = z.enum(ACTIONS);

const A_THRESHOLD = "has to be low, medium, high or a whole number from 1";

/** A name stands for its score: both forms of one threshold are the same. */
export const scoreThreshold = z
  .union([z.enum(["low", "medium", "high"]), z.number()], A_THRESHOLD)
  .refine((given) => typeof given !== "number" || (Number.isInteger(given) && given >= 1), {
    error: ({ input }) => `${A_THRESHOLD}; it is ${describe(input)}`,
  })
  .transform((given) => (typeof given === "number" ? given : SCORE_THRESHOLDS[given]));

export const owasp = z.strictObject({
  paranoiaLevel: z.union(
    [z.literal(1), z.literal(2), z.literal(3), z.literal(4)],
    `has to be a whole number from 1 to ${MAX_PARANOIA_LEVEL}`,
  ),
  scoreThreshold: scoreThreshold.exactOptional(),
  action: action.exactOptional(),
});
export type Owasp = z.output<typeof owasp>;

export const categories = z
  .array(
    z
      .strictObject({
        tag: z.string().min(1, "has to name a tag; it is empty"),
        enabled: z.boolean().exactOptional(),
        action: action.exactOptional(),
      })
      .refine(({ enabled, action }) => enabled !== undefined || action !== undefined, {
        error: "overrides nothing: set enabled, action or both, or leave the entry out",
      }),
  )
  .superRefine((entries, ctx) => {
    entries.forEach(({ tag }, index) => {
      const first = entries.findIndex((entry) => entry.tag === tag);
      if (first === index) return;
      ctx.addIssue({
        code: "custom",
        path: [index, "tag"],
        message: `is ${JSON.stringify(tag)}, as categories[${first}] is already: give a tag one entry with all it is to change`,
      });
    });
  })
  .transform((entries) => (entries.length === 0 ? undefined : entries));
export type Categories = NonNullable<z.output<typeof categories>>;

/** Members by id, in lower case. A malformed key is refused here, so that the sentence names the entry. */
const recordById = <Out, In>(
  member: z.ZodType<Out, In>,
  what: string,
): z.ZodType<Record<string, Out>, Record<string, In>> =>
  record(member)
    .superRefine((given, ctx) => {
      for (const id of Object.keys(given)) {
        if (isId(id)) continue;
        const message = `is not a ${what} (32 hexadecimal digits); it is ${pluralize(id.length, "character")}. Find it with \`getManagedRuleset\``;
        ctx.addIssue({ code: "custom", path: [id], message });
      }
    })
    .transform((given) =>
      Object.fromEntries(Object.entries(given).map(([id, entry]) => [id.toLowerCase(), entry])),
    );

export const rules = recordById(
  z
    .strictObject({
      enabled: z.boolean().exactOptional(),
      action: action.exactOptional(),
      scoreThreshold: scoreThreshold.exactOptional(),
    })
    .refine((entry) => Object.keys(entry).length > 0, {
      error: "overrides nothing: set enabled, action or scoreThreshold, or leave the entry out",
    }),
  "rule ID",
).transform((given) => {
  const entries = Object.entries(given);
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
});
export type Rules = NonNullable<z.output<typeof rules>>;

export const exceptions = z
  .array(
    z.strictObject({
      expression,
      description: z
        .string()
        .transform((text) => (text === "" ? undefined : text))
        .optional(),
      skip,
    }),
  )
  .transform((list) => (list.length === 0 ? undefined : list));
export type Exceptions = NonNullable<z.output<typeof exceptions>>;

const otherRef = z.string().min(1, "has to be the ref of another rule; it is empty");

export const position = z.union(
  [z.enum(["first", "last"]), z.strictObject({ before: otherRef }), z.strictObject({ after: otherRef })],
  'has to be "first", "last", { before: ref } or { after: ref }',
);
export type Position = z.output<typeof position>;

const A_RULESET = "{ id } or { name } of a managed ruleset, or its name as text";

/** A text is a name, or an ID where it has the form of one. */
export const ruleset = z
  .union(
    [
      z.string().min(1, "has to be the ruleset's name; it is empty"),
      z.strictObject({
        id: rulesetId.exactOptional(),
        name: z.string().min(1, "has to be the ruleset's name; it is empty").exactOptional(),
      }),
    ],
    `has to be ${A_RULESET}`,
  )
  .transform((given, ctx): { readonly id?: string; readonly name?: string } => {
    if (typeof given === "string") {
      const named = nameOrId(given, ctx);
      return isId(named) ? { id: named } : { name: named };
    }
    const count = Object.keys(given).length;
    if (count === 1) return given;
    const message = `has to give exactly one of id and name; ${count === 0 ? "neither is set" : "both are set"}`;
    ctx.addIssue({ code: "custom", message });
    return z.NEVER;
  });

export const version = z.string().regex(/^(latest|[1-9]\d*)$/, {
  error: ({ input }) =>
    `has to be "latest" or a version's number as text, for example "37"; it is ${describe(input)}`,
});

export const ref = z.string().min(1, "has to tell this rule from all others of the zone; it is empty");

/** What is declared of a deployment, as far as it makes the overrides. */
export interface DeclaredOverrides {
  readonly owasp?: Owasp | undefined;
  readonly categories?: Categories | undefined;
  readonly rules?: Rules | undefined;
  readonly action?: RuleAction | undefined;
}
