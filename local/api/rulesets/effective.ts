import type { Catalog } from "./catalog";
import type { EntryPoint, ManagedRule, Overrides, SkipParameters, ZoneRule } from "./entities";

/** What determined whether a rule is on, and its action. */
type DecidedBy = "default" | "ruleset" | `category ${string}` | "rule";

export interface EffectiveRule {
  readonly id: string;
  readonly description: string;
  readonly categories: readonly string[];
  readonly enabled: boolean;
  readonly action: string;
  readonly score_threshold?: number;
  readonly decided: { readonly enabled: DecidedBy; readonly action: DecidedBy };
  /** IDs of the zone's skip rules that skip this rule. */
  readonly skippedBy: readonly string[];
}

export interface EffectiveDeployment {
  /** The ID of the zone's execute rule. */
  readonly id: string;
  readonly ref: string;
  readonly enabled: boolean;
  readonly expression: string;
  readonly ruleset: { readonly id: string; readonly name: string; readonly version: string };
  readonly on: number;
  readonly off: number;
  readonly rules: readonly EffectiveRule[];
}

interface EffectiveException {
  readonly id: string;
  readonly ref: string;
  readonly enabled: boolean;
  readonly expression: string;
  readonly skips: SkipParameters;
}

/** A zone's deployments with the resulting state of each managed rule, and the zone's exceptions. */
export interface EffectiveWaf {
  readonly deployments: readonly EffectiveDeployment[];
  readonly exceptions: readonly EffectiveException[];
}

/**
 * Computes which managed rules are on in a zone, with which action. Doesn't use the provider's code. Rule overrides
 * take precedence over category overrides, later category overrides over earlier ones, and all of them over ruleset
 * overrides. See https://developers.cloudflare.com/ruleset-engine/managed-rulesets/override-managed-ruleset/
 */
export function effectiveWaf(entryPoint: EntryPoint | undefined, catalog: Catalog): EffectiveWaf {
  const rules = entryPoint?.rules ?? [];
  const deployments = rules.flatMap((rule, index) => deploymentOf(rule, rules.slice(0, index), catalog));
  const exceptions = rules.flatMap((rule) =>
    rule.action === "skip"
      ? [
          {
            id: rule.id,
            ref: rule.ref,
            enabled: rule.enabled,
            expression: rule.expression,
            skips: rule.action_parameters,
          },
        ]
      : [],
  );
  return { deployments, exceptions };
}

function deploymentOf(rule: ZoneRule, before: readonly ZoneRule[], catalog: Catalog): EffectiveDeployment[] {
  if (rule.action !== "execute") return [];
  const { id, version, overrides = {} } = rule.action_parameters;
  const ruleset = catalog.resolve(id, version);
  if (ruleset === undefined) return [];

  const rules = ruleset.rules.map((each): EffectiveRule => {
    const skippedBy = before.filter((other) => skips(other, id, each.id)).map((other) => other.id);
    return { ...decide(each, overrides), skippedBy };
  });
  const on = rule.enabled ? rules.filter((each) => each.enabled).length : 0;
  return [
    {
      id: rule.id,
      ref: rule.ref,
      enabled: rule.enabled,
      expression: rule.expression,
      ruleset: { id, name: ruleset.name, version: String(ruleset.version) },
      on,
      off: rules.length - on,
      rules,
    },
  ];
}

function decide(rule: ManagedRule, overrides: Overrides): Omit<EffectiveRule, "skippedBy"> {
  const { id, description, categories } = rule;
  let enabled: [boolean, DecidedBy] = [rule.enabled, "default"];
  let action: [string, DecidedBy] = [rule.action, "default"];
  let threshold = rule.score_threshold;

  // From the weakest to the strongest: the last one wins.
  const applying: (readonly [{ enabled?: boolean | undefined; action?: string | undefined }, DecidedBy])[] = [
    [overrides, "ruleset"],
  ];
  for (const override of overrides.categories ?? []) {
    if (categories.includes(override.category)) applying.push([override, `category ${override.category}`]);
  }
  for (const override of overrides.rules ?? []) {
    if (override.id !== id) continue;
    applying.push([override, "rule"]);
    threshold = override.score_threshold ?? threshold;
  }
  for (const [override, decider] of applying) {
    if (override.enabled !== undefined) enabled = [override.enabled, decider];
    if (rule.allowed_override_actions.some((allowed) => allowed === override.action)) {
      action = [override.action ?? action[0], decider];
    }
  }
  return {
    id,
    description,
    categories,
    enabled: enabled[0],
    action: action[0],
    ...(threshold === undefined ? {} : { score_threshold: threshold }),
    decided: { enabled: enabled[1], action: action[1] },
  };
}

/** Whether a skip rule skips another rule. A skip rule only affects rules that come after it. */
function skips(rule: ZoneRule, ruleset: string, id: string): boolean {
  if (rule.action !== "skip" || !rule.enabled) return false;
  const parameters = rule.action_parameters;
  if (parameters.ruleset === "current") return true;
  return (
    parameters.rulesets?.includes(ruleset) === true || parameters.rules?.[ruleset]?.includes(id) === true
  );
}
