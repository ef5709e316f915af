import { z } from "zod";
import { isBag } from "../runtime/values";
import { adopted, sameVersion, type Declared, type Prepared, type Wanted } from "./deployment";
import { otherManagedRules } from "./entry-point";
import { scoreRuleOf } from "./owasp";
import type { EntryPoint, ZoneRule } from "./wire";

/** What is recorded of a deployment besides its arguments, and what is concluded from it. */

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
  adopted: adopted.exactOptional(),
  /** What a comparison needs to know of the ruleset, so that it asks nothing: the preview of an unchanged stack is silent. */
  known: z.object({
    scoreRule: z.string().exactOptional(),
    sharedTags,
    /** The version as the service gave it back when the rule was last written. */
    version: z.string().exactOptional(),
  }),
});
export type Computed = z.infer<typeof computed>;

export type Recorded = Declared & Computed;

export function outputsOf(
  found: EntryPoint,
  rule: ZoneRule,
  { managed, sharedTags }: Pick<Prepared, "managed" | "sharedTags">,
): Computed {
  const scoreRule = scoreRuleOf(managed);
  const version = rule.deploys?.version;
  return {
    ruleId: rule.id,
    ruleRef: rule.ref,
    entryPointId: found.id,
    rulesetId: managed.id,
    rulesetVersion: managed.version,
    otherManagedRules: otherManagedRules(found, rule.id),
    known: {
      ...(scoreRule === undefined ? {} : { scoreRule }),
      sharedTags: sharedTags.map(([one, other]): [string, string] => [one, other]),
      ...(version === undefined ? {} : { version }),
    },
  };
}

/** Ids of the skip rules that were taken over as exceptions. */
export function exceptionIds({ adopted }: Pick<Computed, "adopted">): string[] {
  return (adopted?.exceptions ?? []).map(({ id }) => id);
}

/** The declared version, unless somebody has pinned another one. What the service filled in is no difference. */
export function readVersion({ version, known }: Recorded, live: string | undefined): string | undefined {
  if (sameVersion(live, version ?? known.version) || sameVersion(live, known.version)) return version;
  return live ?? "latest";
}

/** Members that are declared no more go back to what they were when the rule was found, else to the service's default. */
export function undeclared(
  args: Declared,
  state: Recorded,
  rule: ZoneRule,
): Pick<Wanted, "version" | "description"> {
  const found = state.adopted?.rule;
  const parameters = found?.["action_parameters"];
  const text = (value: unknown): string | undefined =>
    typeof value === "string" && value !== "" ? value : undefined;
  const version =
    state.version === undefined ? state.known.version : text(isBag(parameters) ? parameters["version"] : "");
  const description = state.description === undefined ? text(rule.description) : text(found?.["description"]);
  return { version: args.version ?? version, description: args.description ?? description };
}
