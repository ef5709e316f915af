import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { ID, type LiteralUnion } from "../runtime/fields";
import { record } from "../basics/schemas";
import { isJsonObject, ownMember, sameJson, type JsonObject } from "../basics/json";
import { ruleIdOf, ruleName, type RuleIds } from "./rule-names";
import type { Skip } from "./wire";

/** Converts what an exception skips between the program's form and Cloudflare's. */

/**
 * What an exception skips. `"all"` skips every managed rule after the exception, including those of other deployments.
 * `"this"` skips the ruleset that the resource deploys. `{ rulesets: ["this", "Cloudflare Managed Ruleset"] }` skips
 * whole rulesets, by name or ID. `{ rules: { this: ["920272"] } }` skips single rules, listed under the name or ID of
 * their ruleset. Name a rule as in the resource's `rules`: by ID, by number or by words in its description. A rule of
 * another ruleset is looked up in that ruleset's latest version.
 */
export type SkipArgs =
  | LiteralUnion<"all" | "this">
  | {
      readonly rulesets: pulumi.Input<
        readonly pulumi.Input<
          string | { readonly id: pulumi.Input<string> } | { readonly name: pulumi.Input<string> }
        >[]
      >;
    }
  | { readonly rules: pulumi.Input<Record<string, pulumi.Input<readonly pulumi.Input<string>[]>>> };

/** The ruleset that the resource deploys. */
const THIS = "this";

export const rulesetId = ID.of("a ruleset ID", "Find it with `getManagedRulesets`.");

const text = z.string().min(1, "is empty. Set it to a ruleset's name or ID");

/**
 * Parses a name or an ID. An ID is returned in lower case. A string that's almost an ID is rejected as a malformed ID.
 */
export function parseNameOrId(given: string, ctx: z.RefinementCtx): string {
  if (!/^[0-9a-f]{16,}$/i.test(given)) return given;
  const { data, error } = rulesetId.safeParse(given);
  for (const { message } of error?.issues ?? []) ctx.addIssue({ code: "custom", message });
  return data ?? given;
}

const skippedRuleset = z
  .union(
    [text, z.strictObject({ id: rulesetId }), z.strictObject({ name: text })],
    'must be the name or ID of a ruleset, or "this"',
  )
  .transform((given, ctx) => {
    if (typeof given === "string") return parseNameOrId(given, ctx);
    return "id" in given ? given.id : given.name;
  });

const nonEmptySet = <In>(member: z.ZodType<string, In>, what: string): z.ZodType<string[], In[]> =>
  z
    .array(member)
    .min(1, `is empty. List at least one ${what}`)
    .transform((texts) => [...new Set(texts)].sort());

const rulesByRuleset = z
  .unknown()
  .refine((given) => !Array.isArray(given), {
    error:
      "lists rules without their ruleset. Write { this: [rules] } for rules in this resource's ruleset. For another ruleset, use its name or ID as the key instead of `this`",
  })
  .pipe(
    z
      .preprocess((given) => given, record(nonEmptySet(ruleName, "rule")))
      .transform((given, ctx) => {
        const entries = Object.entries(given);
        if (entries.length === 0)
          ctx.addIssue({ code: "custom", message: "is empty. Name at least one ruleset" });
        return Object.fromEntries(entries.map(([name, ids]) => [parseNameOrId(name, ctx), ids]));
      }),
  );

export const skip = z.union(
  [
    z.enum(["all", THIS]),
    z.strictObject({ rulesets: nonEmptySet(skippedRuleset, "ruleset") }),
    z.strictObject({ rules: rulesByRuleset }),
  ],
  'must be "all", "this", { rulesets: [names or IDs] } or { rules: { "<ruleset>": [rules] } }',
);
export type DeclaredSkip = z.output<typeof skip>;

/** Ruleset IDs by name. */
export type RulesetIds = Readonly<Record<string, string>>;

/** Returns the names that have to be looked up in the account's list of rulesets. */
export function namesIn(skipped: DeclaredSkip): string[] {
  if (typeof skipped === "string") return [];
  const names = "rulesets" in skipped ? skipped.rulesets : Object.keys(skipped.rules);
  return names.filter((name) => name !== THIS && !ID.is(name));
}

/** Returns the IDs of the rulesets that are skipped, completely or in part. */
export function idsIn(skip: Skip): readonly string[] {
  if (skip === "all" || "other" in skip) return [];
  return "rulesets" in skip ? skip.rulesets : Object.keys(skip.rules);
}

/** Returns which rules of a ruleset are skipped individually. Undefined if the skip doesn't list rules of it. */
export function skippedRulesOf(skipped: Skip, ruleset: string): readonly unknown[] | undefined {
  if (skipped === "all") return undefined;
  const rules = "other" in skipped ? skipped.other["rules"] : "rules" in skipped ? skipped.rules : undefined;
  const listed = isJsonObject(rules) ? rules[ruleset] : undefined;
  return Array.isArray(listed) ? listed : undefined;
}

/** The IDs that the names in an exception stand for. */
export interface SkipIds {
  /** The ID of the ruleset that the resource deploys. */
  readonly own: string;
  readonly rulesets: RulesetIds;
  readonly rules: RuleIds;
}

function rulesetIdOf({ own, rulesets }: Pick<SkipIds, "own" | "rulesets">, name: string): string {
  return name === THIS ? own : (ownMember(rulesets, name) ?? name);
}

/** Returns the single rules that are skipped, as declared, each with its ruleset's ID and its path in the argument. */
export function skippedRuleNames(
  skipped: DeclaredSkip,
  ids: Pick<SkipIds, "own" | "rulesets">,
): readonly { readonly ruleset: string; readonly name: string; readonly path: string }[] {
  if (typeof skipped === "string" || "rulesets" in skipped) return [];
  return Object.entries(skipped.rules).flatMap(([key, names]) =>
    names.map((name, index) => ({
      ruleset: rulesetIdOf(ids, key),
      name,
      path: `rules[${JSON.stringify(key)}][${index}]`,
    })),
  );
}

/** Converts a declared skip to Cloudflare's form. */
export function resolveSkip(skipped: DeclaredSkip, ids: SkipIds): Skip {
  if (skipped === "all") return "all";
  if (skipped === THIS) return { rulesets: [ids.own] };
  if ("rulesets" in skipped)
    return { rulesets: [...new Set(skipped.rulesets.map((name) => rulesetIdOf(ids, name)))].sort() };
  const rules: Record<string, readonly string[]> = {};
  for (const { ruleset, name } of skippedRuleNames(skipped, ids))
    rules[ruleset] = [...new Set([...(rules[ruleset] ?? []), ruleIdOf(ids.rules, ruleset, name)])].sort();
  return { rules };
}

/**
 * Returns the first declared skip that means the same as the existing one. If there is none, returns the existing one.
 */
export function asDeclared(found: Skip | undefined, declared: readonly unknown[], ids: SkipIds): unknown {
  return (
    declared.find((each) => {
      const { data } = skip.safeParse(each);
      return data !== undefined && found !== undefined && sameJson(resolveSkip(data, ids), found);
    }) ?? found
  );
}

/** Returns the existing skip as a program would declare it, with `"this"` for the resource's own ruleset. */
export function skipArgument(
  found: Exclude<Skip, { other: JsonObject }>,
  own: string,
  nameOf: (id: string) => string,
): DeclaredSkip {
  if (found === "all") return "all";
  const name = (id: string): string => (id === own ? THIS : nameOf(id));
  if ("rules" in found) {
    return {
      rules: Object.fromEntries(Object.entries(found.rules).map(([id, list]) => [name(id), [...list]])),
    };
  }
  return sameJson(found.rulesets, [own]) ? THIS : { rulesets: found.rulesets.map(name).sort() };
}
