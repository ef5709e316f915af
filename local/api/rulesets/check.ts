import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { complaint } from "../expression";
import { type Limits, type Plan, rank } from "../limits";
import type { Catalog } from "./catalog";
import {
  type ExecuteParameters,
  executeParameters,
  type ManagedRuleset,
  PHASE,
  type RuleDefinition,
  ruleDefinition,
  type SkipParameters,
  skipParameters,
} from "./entities";
import { managedRulesets } from "./ids";
import { overrideProblems } from "./overrides";
import { type Problem, problems } from "./problems";

/** An empty text stands for nothing: the migration's configuration has such members (facts D21). */
const given = z
  .string()
  .transform((text) => (text === "" ? undefined : text))
  .optional();

/** What a rule may be sent as; what its members say is looked at by `checkRule`. */
export const ruleMembers = {
  id: given,
  ref: given,
  action: given,
  action_parameters: z.record(z.string(), z.unknown()).optional(),
  expression: z.string().optional(),
  description: z.string().optional(),
  enabled: z.boolean().optional(),
  logging: z.strictObject({ enabled: z.boolean() }).optional(),
  /** Read-only: whoever sends back what was read sends these too. */
  version: z.unknown().optional(),
  last_updated: z.unknown().optional(),
  categories: z.unknown().optional(),
};

export const ruleRequest = z.strictObject(ruleMembers);
export type RuleRequest = z.infer<typeof ruleRequest>;

/** A rule that may be kept. */
export interface CheckedRule {
  /** Of the rule that it replaces. */
  readonly id: string | undefined;
  readonly ref: string | undefined;
  readonly definition: RuleDefinition;
}

/** What a rule is judged by. */
interface Judgement {
  readonly catalog: Catalog;
  readonly plan: Plan;
  readonly limits: Limits;
}

/** The rule, with the service's defaults filled in, or all that is wrong with it. */
export function checkRule(
  sent: RuleRequest,
  judge: Judgement,
  pointer: string,
): { readonly rule: CheckedRule } | { readonly problems: readonly Problem[] } {
  const { id, ref, action, action_parameters: parameters, logging } = sent;
  const found = expressionProblems(sent.expression ?? "", judge.limits, `${pointer}/expression`);
  if (action === undefined) return { problems: [...found, problems.actionMissing(`${pointer}/action`)] };
  if (action !== "execute" && action !== "skip") {
    return { problems: [...found, problems.actionNotAllowed(action, PHASE, `${pointer}/action`)] };
  }
  const at = `${pointer}/action_parameters`;
  if (parameters === undefined) return { problems: [...found, problems.parametersMissing(action, at)] };

  if (action === "execute") {
    const parsed = executeParameters.safeParse(parameters);
    if (!parsed.success) return { problems: [...found, ...malformed(parsed.error, at)] };
    found.push(...executeProblems(parsed.data, judge, at));
  } else {
    const parsed = skipParameters.safeParse(parameters);
    if (!parsed.success) return { problems: [...found, ...malformed(parsed.error, at)] };
    found.push(...skipProblems(parsed.data, judge, at));
  }
  if (found.length > 0) return { problems: found };

  // INV: what the service fills in. Clients must not take it for a change.
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

function expressionProblems(expression: string, limits: Limits, pointer: string): Problem[] {
  if (expression.trim() === "") return [problems.expressionBlank(pointer)];
  const most = limits.maxExpressionCharacters;
  if (expression.length > most) return [problems.expressionTooLong(expression.length, most, pointer)];
  const why = complaint(expression);
  return why === undefined ? [] : [problems.expressionInvalid(expression, why, pointer)];
}

function executeProblems({ id, version, overrides }: ExecuteParameters, judge: Judgement, at: string) {
  const latest = judge.catalog.latest(id);
  if (latest === undefined) return [problems.rulesetUnknown(id, `${at}/id`)];
  if (!isEntitled(latest, judge.plan)) return [problems.notEntitledRuleset(latest.name, `${at}/id`)];
  const ruleset = judge.catalog.resolve(id, version);
  if (ruleset === undefined) return [problems.versionUnknown(version ?? "", `${at}/version`)];
  return overrides === undefined ? [] : overrideProblems(overrides, ruleset, `${at}/overrides`);
}

/** DOC: on the lowest plan there is one ruleset. */
function isEntitled({ id }: ManagedRuleset, plan: Plan): boolean {
  return id === managedRulesets.free || rank(plan) >= rank("pro");
}

function skipProblems(sent: SkipParameters, { catalog }: Judgement, at: string): Problem[] {
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
    if (Array.isArray(value)) found.push(...twice(value, `${at}/${name}`));
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
  // INV: the schema has both, for phases of which this one is none.
  phases?.forEach((each, index) => {
    found.push(problems.skipNotAllowed("phases", each, `${at}/phases/${index}`));
  });
  products?.forEach((each, index) => {
    found.push(problems.skipNotAllowed("products", each, `${at}/products/${index}`));
  });
  return found;
}

function twice(values: readonly unknown[], pointer: string): Problem[] {
  return values.flatMap((value, index) =>
    values.findIndex((other) => isDeepStrictEqual(other, value)) < index
      ? [problems.overriddenTwice(String(value), `${pointer}/${index}`)]
      : [],
  );
}

function malformed(error: z.ZodError, pointer: string): Problem[] {
  return error.issues.map((issue) => {
    const path = issue.path.map((part) => `/${String(part)}`).join("");
    if (issue.code !== "unrecognized_keys") return problems.invalidJson(issue.message, pointer + path);
    const key = issue.keys[0] ?? "";
    return problems.invalidJson(`unknown field "${key}"`, `${pointer}${path}/${key}`);
  });
}
