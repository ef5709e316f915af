import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { complaint } from "../expression";
import { type Limits, type Plan, rank } from "../limits";
import { pointerTo } from "../request";
import type { Catalog } from "./catalog";
import type { Place } from "./store";
import {
  type ExecuteParameters,
  executeParameters,
  type ManagedRuleset,
  RESPONSES,
  type RuleDefinition,
  ruleDefinition,
  type SkipParameters,
  skipParameters,
} from "./entities";
import { managedRulesets } from "./ids";
import { overrideProblems } from "./overrides";
import { type Problem, problems } from "./problems";

/**
 * An optional text. An empty string counts as unset, because a WAF migration's configuration contains empty strings.
 */
const optionalText = z
  .string()
  .transform((text) => (text === "" ? undefined : text))
  .optional();

/** The properties of a rule in a request. `checkRule` checks their values. */
export const ruleMembers = {
  id: optionalText,
  ref: optionalText,
  action: optionalText,
  action_parameters: z.record(z.string(), z.unknown()).optional(),
  expression: z.string().optional(),
  description: z.string().optional(),
  enabled: z.boolean().optional(),
  logging: z.strictObject({ enabled: z.boolean() }).optional(),
  /** A read-only property, accepted so that clients can send back what they read. */
  version: z.unknown().optional(),
  last_updated: z.unknown().optional(),
  categories: z.unknown().optional(),
};

export const ruleRequest = z.strictObject(ruleMembers);
export type RuleRequest = z.infer<typeof ruleRequest>;

/** A valid rule. */
export interface CheckedRule {
  /** The ID of the rule that this one replaces. */
  readonly id: string | undefined;
  readonly ref: string | undefined;
  readonly definition: RuleDefinition;
}

/** The managed rulesets, plan and limits that determine whether a rule is valid. */
interface RuleContext {
  readonly catalog: Catalog;
  readonly place: Place;
  readonly limits: Limits;
}

/** Checks a rule. Returns it with Cloudflare's defaults filled in, or all of its problems. */
export function checkRule(
  sent: RuleRequest,
  ctx: RuleContext,
  pointer: string,
): { readonly rule: CheckedRule } | { readonly problems: readonly Problem[] } {
  const { id, ref, action, action_parameters: parameters, logging } = sent;
  const found = expressionProblems(sent.expression ?? "", ctx, `${pointer}/expression`);
  if (action === undefined) return { problems: [...found, problems.actionMissing(`${pointer}/action`)] };
  if (action !== "execute" && action !== "skip") {
    return { problems: [...found, problems.actionNotAllowed(action, ctx.place.phase, `${pointer}/action`)] };
  }
  const at = `${pointer}/action_parameters`;
  if (parameters === undefined) return { problems: [...found, problems.parametersMissing(action, at)] };

  if (action === "execute") {
    const parsed = executeParameters.safeParse(parameters);
    if (!parsed.success) return { problems: [...found, ...schemaProblems(parsed.error, at)] };
    found.push(...executeProblems(parsed.data, ctx, at));
  } else {
    const parsed = skipParameters.safeParse(parameters);
    if (!parsed.success) return { problems: [...found, ...schemaProblems(parsed.error, at)] };
    found.push(...skipProblems(parsed.data, ctx, at));
  }
  if (found.length > 0) return { problems: found };

  // Undocumented: skip rules log by default. Clients must not take this for a change.
  const logs = logging ?? (action === "skip" ? { enabled: true } : undefined);
  const definition = ruleDefinition.parse({
    action,
    action_parameters: action === "execute" ? { version: "latest", ...parameters } : parameters,
    expression: sent.expression,
    description: sent.description ?? "",
    enabled: sent.enabled ?? true,
    ...(logs === undefined ? {} : { logging: logs }),
  });
  return { rule: { id, ref, definition } };
}

function expressionProblems(expression: string, { limits, place }: RuleContext, pointer: string): Problem[] {
  if (expression.trim() === "") return [problems.expressionBlank(pointer)];
  const most = limits.maxExpressionCharacters;
  if (expression.length > most) return [problems.expressionTooLong(expression.length, most, pointer)];
  const why = complaint(expression);
  if (why !== undefined) return [problems.expressionInvalid(expression, why, pointer)];
  const isForEnterprise = /cf\.zone\.plan eq "ENT"\)*$/.test(expression.trim());
  return place.kind === "zone" || isForEnterprise
    ? []
    : [problems.expressionNotEnterprise(expression, pointer)];
}

function executeProblems({ id, version, overrides }: ExecuteParameters, ctx: RuleContext, at: string) {
  const latest = ctx.catalog.latest(id);
  if (latest?.phase !== ctx.place.phase) return [problems.rulesetUnknown(id, `${at}/id`)];
  if (!isEntitled(latest, ctx.place.plan)) return [problems.notEntitledRuleset(latest.name, `${at}/id`)];
  const ruleset = ctx.catalog.resolve(id, version);
  if (ruleset === undefined) return [problems.versionUnknown(version ?? "", `${at}/version`)];
  return overrides === undefined ? [] : overrideProblems(overrides, ruleset, `${at}/overrides`);
}

/**
 * Whether a plan includes a ruleset. Free plans have only the Free Managed Ruleset:
 * https://developers.cloudflare.com/waf/managed-rules/
 */
function isEntitled({ id, phase }: ManagedRuleset, plan: Plan): boolean {
  if (phase === RESPONSES) return plan === "enterprise";
  return id === managedRulesets.free || rank(plan) >= rank("pro");
}

function skipProblems(sent: SkipParameters, { catalog }: RuleContext, at: string): Problem[] {
  const { ruleset, rulesets, rules, phases, products } = sent;
  const members = { ruleset, rulesets, rules, phases, products };
  const used = Object.entries(members).filter(([, value]) => value !== undefined);
  if (used.length === 0) return [problems.skipNothing(at)];

  const found: Problem[] = [];
  const incompatible = [
    ["ruleset", "rulesets"],
    ["ruleset", "rules"],
    ["ruleset", "phases"],
    ["rulesets", "phases"],
  ] as const;
  for (const [one, other] of incompatible) {
    if (members[one] !== undefined && members[other] !== undefined) {
      found.push(problems.skipAmbiguous(one, other, `${at}/${other}`));
    }
  }
  for (const [name, value] of used) {
    const count = typeof value === "string" ? 1 : Object.keys(value ?? {}).length;
    if (count === 0) found.push(problems.skipNothing(`${at}/${name}`));
    if (Array.isArray(value)) found.push(...duplicates(value, `${at}/${name}`));
  }

  if (ruleset !== undefined && ruleset !== "current") {
    found.push(problems.skipNotAllowed("ruleset", ruleset, `${at}/ruleset`));
  }
  rulesets?.forEach((id, index) => {
    if (catalog.latest(id) === undefined) found.push(problems.rulesetUnknown(id, `${at}/rulesets/${index}`));
  });
  for (const [id, skipped] of Object.entries(rules ?? {})) {
    const known = catalog.versions(id).flatMap((version) => version.rules.map((rule) => rule.id));
    if (known.length === 0) found.push(problems.rulesetUnknown(id, `${at}/rules/${id}`));
    else if (skipped.length === 0) found.push(problems.skipNothing(`${at}/rules/${id}`));
    else {
      skipped.forEach((rule, index) => {
        if (!known.includes(rule)) found.push(problems.ruleUnknown(rule, `${at}/rules/${id}/${index}`));
      });
    }
  }
  // The OpenAPI schema has both members, but they're for other phases.
  phases?.forEach((each, index) => {
    found.push(problems.skipNotAllowed("phases", each, `${at}/phases/${index}`));
  });
  products?.forEach((each, index) => {
    found.push(problems.skipNotAllowed("products", each, `${at}/products/${index}`));
  });
  return found;
}

function duplicates(values: readonly unknown[], pointer: string): Problem[] {
  return values.flatMap((value, index) =>
    values.findIndex((other) => isDeepStrictEqual(other, value)) < index
      ? [problems.overriddenTwice(String(value), `${pointer}/${index}`)]
      : [],
  );
}

function schemaProblems(error: z.ZodError, pointer: string): Problem[] {
  return error.issues.map((issue) => {
    const isUnknown = issue.code === "unrecognized_keys";
    const message = isUnknown ? `unknown field "${issue.keys[0] ?? ""}"` : issue.message;
    return problems.invalidJson(message, pointer + pointerTo(issue));
  });
}
