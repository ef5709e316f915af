import { omitAbsent } from "../basics/json";
import { changeSince, lackOf, type VersionChange } from "./compare-versions";
import { isPinned } from "./deployment";
import { effectiveRules, type DecidedBy, type EffectiveRule } from "./effective";
import { LEVELS, paranoiaTag } from "./overrides";
import { exceptionsIn, type ExplainedException } from "./skip-rules";
import { deploymentIn } from "./version-changes";
import type { EntryPoint, ManagedRuleset, ZoneRule } from "./wire";

/** Explains what a zone's managed rulesets do. */

/** A rule that an override changes. */
export interface ExplainedRule {
  readonly id: string;
  readonly description: string;
  /** Which override changes the rule: `ruleset`, `rule` or `category <tag>`. */
  readonly by: Exclude<DecidedBy, "default">;
}

/** A deployment of a managed ruleset, with its effect. */
export interface ExplainedDeployment {
  /** The ID of the execute rule. */
  readonly ruleId: string;
  readonly ref: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly expression: string;
  /** The managed ruleset. Its name and version are absent if the account doesn't have it. */
  readonly ruleset: { readonly id: string; readonly name?: string; readonly version?: string };
  /** The highest paranoia level with rules that are on. Present only for a ruleset with paranoia levels. */
  readonly paranoiaLevel?: number;
  /**
   * The score at which the ruleset acts. Present only for a ruleset that scores requests, while the rule that compares
   * the score is on.
   */
  readonly scoreThreshold?: number;
  /**
   * What a ruleset that scores requests does at the threshold. For other rulesets, the action that overrides all rules.
   */
  readonly action?: string;
  /**
   * How many rules are on and off. All are off if the deployment is disabled. Absent if the account doesn't have the
   * ruleset.
   */
  readonly rules?: { readonly on: number; readonly off: number };
  /** Rules that an override turned off. */
  readonly switchedOff: readonly ExplainedRule[];
  /** Rules that an override turned on. */
  readonly switchedOn: readonly ExplainedRule[];
  /** Rules that an override gave another action. */
  readonly otherAction: readonly (ExplainedRule & { readonly action: string })[];
  /** Enabled skip rules before the deployment that apply to it. */
  readonly exceptions: readonly ExplainedException[];
  /** Present if the part of a request that matched a rule is logged, encrypted. */
  readonly payloadLogging?: true;
  /**
   * What the latest version changed for this deployment, compared with the version before it. Present only if the
   * deployment uses the latest version and Cloudflare still serves the previous one.
   */
  readonly latestChange?: VersionChange;
  /**
   * What a pinned version lacks, compared with the latest one. Absent if no version is pinned, or the pinned one is the
   * latest.
   */
  readonly behind?: VersionChange;
}

/** An explanation of what a zone's managed rulesets do. */
export interface ZoneExplanation {
  readonly zoneId: string;
  /** The deployments, in the order in which they run. */
  readonly deployments: readonly ExplainedDeployment[];
}

/** The managed ruleset that a rule executes, and another version of it to compare with. */
export interface ExecutedRuleset {
  readonly managed: ManagedRuleset;
  /** The previous version, or the latest one if the rule pins its version. */
  readonly other?: ManagedRuleset | undefined;
}

export function explain(
  zoneId: string,
  found: EntryPoint | undefined,
  rulesetOf: (rule: ZoneRule) => ExecutedRuleset | undefined,
): ZoneExplanation {
  const rules = found?.rules ?? [];
  const deployments = rules.flatMap((rule, index) =>
    rule.deploys === undefined ? [] : [explainDeployment(rule, rules.slice(0, index), rulesetOf(rule))],
  );
  return { zoneId, deployments };
}

function explainDeployment(
  rule: ZoneRule,
  before: readonly ZoneRule[],
  executed: ExecutedRuleset | undefined,
): ExplainedDeployment {
  const { id, ref, description, enabled, expression, deploys } = rule;
  const { managed, other } = executed ?? {};
  const { rulesetId = "", overrides = { categories: [], rules: {} } } = deploys ?? {};
  const effective = managed === undefined ? [] : effectiveRules(managed, overrides);
  const on = enabled ? effective.filter((rule) => rule.enabled).length : 0;
  const score = effective.find((rule) => rule.enabled && rule.scoreThreshold !== undefined);
  const changed = (member: "enabled" | "action", to: (rule: EffectiveRule) => boolean): ExplainedRule[] =>
    effective.flatMap((rule) => {
      const by = rule.decided[member];
      return by === "default" || rule[member] === rule.byDefault[member] || !to(rule)
        ? []
        : [{ id: rule.id, description: rule.description, by }];
    });
  const isComparable = managed !== undefined && other !== undefined;
  const deployment = deploymentIn(before, rule);
  const pins = isPinned(deploys?.version);
  const actions = new Map(effective.map((rule) => [rule.id, rule.action]));
  return omitAbsent({
    ruleId: id,
    ref,
    description,
    enabled,
    expression,
    ruleset: omitAbsent({ id: rulesetId, name: managed?.name, version: managed?.version }),
    paranoiaLevel: effectiveLevel(effective),
    scoreThreshold: score?.scoreThreshold,
    action: score?.action ?? overrides.action,
    rules: managed === undefined ? undefined : { on, off: effective.length - on },
    switchedOff: changed("enabled", (rule) => !rule.enabled),
    switchedOn: changed("enabled", (rule) => rule.enabled),
    otherAction: changed("action", (rule) => rule.enabled).map((rule) => ({
      ...rule,
      action: actions.get(rule.id) ?? "",
    })),
    exceptions: exceptionsIn(before, rulesetId),
    payloadLogging: deploys?.publicKey === undefined ? undefined : (true as const),
    latestChange: isComparable && !pins ? changeSince(other, managed, deployment) : undefined,
    behind: isComparable && pins ? lackOf(managed, other, deployment) : undefined,
  });
}

/** Returns the paranoia level in effect. A rule that was turned on by its own override doesn't raise it. */
function effectiveLevel(effective: readonly EffectiveRule[]): number | undefined {
  const has = (level: number, of: readonly EffectiveRule[]): boolean =>
    of.some(({ tags }) => tags.includes(paranoiaTag(level)));
  if (!LEVELS.some((level) => has(level, effective))) return undefined;
  const on = effective.filter(({ enabled, decided }) => enabled && decided.enabled !== "rule");
  return LEVELS.filter((level) => has(level, on)).at(-1);
}
