import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { hexId, isId, type LiteralUnion } from "../runtime/fields";
import { record } from "../runtime/json";
import { sameJson, type JsonObject } from "../runtime/values";
import type { Skip } from "./wire";

/** What an exception skips: as a program says it, as Cloudflare takes it, and back. */

/** A managed ruleset, by its name or its ID, or `"this"` for the one that the resource deploys. */
export type SkippedRuleset =
  string | { readonly id: pulumi.Input<string> } | { readonly name: pulumi.Input<string> };

/**
 * `"all"` skips all managed rules behind the exception, those of other deployments too. `"this"` skips the ruleset that this
 * resource deploys. `{ rulesets: ["this", "Cloudflare Managed Ruleset"] }` skips whole rulesets, by name or ID.
 * `{ rules: { this: ["<rule ID>"] } }` skips single rules, under the name or ID of their ruleset.
 */
export type SkipArgs =
  | LiteralUnion<"all" | "this">
  | { readonly rulesets: pulumi.Input<readonly pulumi.Input<SkippedRuleset>[]> }
  | { readonly rules: pulumi.Input<Record<string, pulumi.Input<readonly pulumi.Input<string>[]>>> };

/** The ruleset that the resource deploys. */
const THIS = "this";

export const rulesetId = hexId("a ruleset ID", "Find it with `getManagedRulesets`.");
export const ruleId = hexId("a rule ID", "Find it with `getManagedRuleset`.");

const text = z.string().min(1, "has to be a ruleset's name or ID; it is empty");

/** An ID in lower case, or a name. What is nearly an ID is no name. */
export function nameOrId(given: string, ctx: z.RefinementCtx): string {
  if (!/^[0-9a-f]{16,}$/i.test(given)) return given;
  const { data, error } = rulesetId.safeParse(given);
  for (const { message } of error?.issues ?? []) ctx.addIssue({ code: "custom", message });
  return data ?? given;
}

const skippedRuleset = z
  .union(
    [text, z.strictObject({ id: rulesetId }), z.strictObject({ name: text })],
    'has to be the name or ID of a ruleset, or "this"',
  )
  .transform((given, ctx) => {
    if (typeof given === "string") return nameOrId(given, ctx);
    return "id" in given ? given.id : given.name;
  });

const set = <In>(member: z.ZodType<string, In>, what: string): z.ZodType<string[], In[]> =>
  z
    .array(member)
    .min(1, `has to hold at least one ${what}; it is empty`)
    .transform((texts) => [...new Set(texts)].sort());

const rulesByRuleset = z
  .unknown()
  .refine((given) => !Array.isArray(given), {
    error: `lists rules without their ruleset. Write { this: [ruleIds] } for rules of this resource's ruleset, or the name or ID of theirs in place of "this"`,
  })
  .pipe(
    z
      .preprocess((given) => given, record(set(ruleId, "rule id")))
      .transform((given, ctx) => {
        const entries = Object.entries(given);
        if (entries.length === 0)
          ctx.addIssue({ code: "custom", message: "has to name at least one ruleset; it is empty" });
        return Object.fromEntries(entries.map(([name, ids]) => [nameOrId(name, ctx), ids]));
      }),
  );

export const skip = z.union(
  [
    z.enum(["all", THIS]),
    z.strictObject({ rulesets: set(skippedRuleset, "ruleset") }),
    z.strictObject({ rules: rulesByRuleset }),
  ],
  'has to be "all", "this", { rulesets: [names or IDs] } or { rules: { "<ruleset>": [ruleIds] } }',
);
export type DeclaredSkip = z.output<typeof skip>;

/** IDs of rulesets by the names that a program gives them. */
export type RulesetIds = Readonly<Record<string, string>>;

/** The names that only the account's list of rulesets resolves. */
export function namesIn(skipped: DeclaredSkip): string[] {
  if (typeof skipped === "string") return [];
  const names = "rulesets" in skipped ? skipped.rulesets : Object.keys(skipped.rules);
  return names.filter((name) => name !== THIS && !isId(name));
}

/** IDs of the rulesets that something skips, all of it or single rules. */
export function idsIn(skip: Skip): readonly string[] {
  if (skip === "all" || "other" in skip) return [];
  return "rulesets" in skip ? skip.rulesets : Object.keys(skip.rules);
}

/** As Cloudflare takes it. @param own the ID of the ruleset that the resource deploys. */
export function resolveSkip(skipped: DeclaredSkip, own: string, ids: RulesetIds): Skip {
  if (skipped === "all") return "all";
  if (skipped === THIS) return { rulesets: [own] };
  const idOf = (name: string): string => (name === THIS ? own : (ids[name] ?? name));
  if ("rulesets" in skipped) return { rulesets: [...new Set(skipped.rulesets.map(idOf))].sort() };
  const rules: Record<string, readonly string[]> = {};
  for (const [name, list] of Object.entries(skipped.rules)) {
    const id = idOf(name);
    rules[id] = [...new Set([...(rules[id] ?? []), ...list])].sort();
  }
  return { rules };
}

/** What was found, in the words of the declaration that means the same; else as it was found. */
export function inDeclaredWords(
  found: Skip | undefined,
  declared: readonly unknown[],
  own: string,
  ids: RulesetIds,
): unknown {
  return (
    declared.find((each) => {
      const { data } = skip.safeParse(each);
      return data !== undefined && found !== undefined && sameJson(resolveSkip(data, own, ids), found);
    }) ?? found
  );
}

/** What was found, as one would write it: the own ruleset as `"this"`, others by a name that only one has. */
export function inWords(
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
