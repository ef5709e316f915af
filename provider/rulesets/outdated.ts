import type { Declared } from "./deployment";
import { judge } from "./judge";
import { scoreRuleOf } from "./overrides";
import type { ManagedRuleset } from "./wire";

/** What a new version of a managed ruleset takes the effect from, each a sentence. */

interface Recorded extends Declared {
  readonly rulesetId: string;
  readonly known: { readonly scoreRule?: string | undefined };
}

/** What is declared, and this version of the ruleset does not have. */
export function goneFrom(managed: ManagedRuleset, recorded: Recorded): string[] {
  const findings = judge(recorded, managed).map(({ property, reason }) => `${property}: ${reason}`);
  if (findings.length === 0) return [];
  return [
    `${named(recorded)}: version ${managed.version} of ${JSON.stringify(managed.name)} lacks what the program names, so that has no effect: ` +
      `${findings.join("; ")}. Change the program, then run \`pulumi up\`.`,
  ];
}

/** A threshold or an action that is set on a rule which no longer compares the score. */
export function scoreRuleMoved(managed: ManagedRuleset, recorded: Recorded): string[] {
  const { owasp, rulesetId, known } = recorded;
  const [before, now] = [known.scoreRule, scoreRuleOf(managed)];
  const isSet = owasp?.scoreThreshold !== undefined || owasp?.action !== undefined;
  if (!isSet || managed.id !== rulesetId || before === undefined || before === now) return [];
  return [
    `${named(recorded)}: in version ${managed.version} of ${JSON.stringify(managed.name)}, rule ${now} compares the score. It was ${before} when this was last written, ` +
      "so the score threshold and action of owasp have no effect. The next `pulumi up` sets them on the new rule.",
  ];
}

const named = ({ ref }: Recorded): string => `managed ruleset ${JSON.stringify(ref)}`;
