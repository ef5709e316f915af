import type { Declared } from "./deployment";
import { validate } from "./validate";
import { scoreRuleOf } from "./overrides";
import type { ManagedRuleset } from "./wire";

/** Warnings about settings that have no effect in a new version of a managed ruleset. */

interface Recorded extends Declared {
  readonly rulesetId: string;
  readonly known: { readonly scoreRule?: string | undefined };
}

/** Settings for tags or rules that this version of the ruleset doesn't have. */
export function missingInVersion(managed: ManagedRuleset, recorded: Recorded): string[] {
  const findings = validate(recorded, managed).map(({ property, reason }) => `${property}: ${reason}`);
  if (findings.length === 0) return [];
  return [
    `${label(recorded)}: version ${managed.version} of ${JSON.stringify(managed.name)} doesn't have what these settings refer to, so they have no effect: ` +
      `${findings.join("; ")}. Change the program, then run \`pulumi up\`.`,
  ];
}

/** A score threshold or an action that is set on a rule that no longer compares the score. */
export function movedScoreRule(managed: ManagedRuleset, recorded: Recorded): string[] {
  const { owasp, rulesetId, known } = recorded;
  const [before, now] = [known.scoreRule, scoreRuleOf(managed)];
  const isSet = owasp?.scoreThreshold !== undefined || owasp?.action !== undefined;
  if (!isSet || managed.id !== rulesetId || before === undefined || before === now) return [];
  return [
    `${label(recorded)}: in version ${managed.version} of ${JSON.stringify(managed.name)}, rule ${now} compares the score. The last update set the score threshold and action of owasp on rule ${before}, ` +
      "where they no longer have an effect. The next `pulumi up` sets them on the new rule.",
  ];
}

const label = ({ ref }: Recorded): string => `managed ruleset ${JSON.stringify(ref)}`;
