import type { DeclaredOverrides } from "./declared";
import { conflictsOf, effectiveRules } from "./effective";
import { levelsOff, scoreRuleOf, thresholdInWords } from "./owasp";
import type { ManagedRuleset, Overrides } from "./wire";

/** What a declaration amounts to, in words and numbers, as a reviewer sees it in the preview. */
export interface RulesetExpansion {
  /** Name and id of the managed ruleset. */
  readonly ruleset: string;
  /** The version that is deployed; for `latest` also which one that is now. */
  readonly version: string;
  /** `2: paranoia-level-3 and paranoia-level-4 are off`. */
  readonly paranoiaLevel?: string;
  /** `25 (high)`. Only of a ruleset that scores. */
  readonly scoreThreshold?: string;
  /** What a ruleset that scores does above the threshold, or what all rules were told to do. */
  readonly action?: string;
  /** Rules of the ruleset, and how many of them are on and off. */
  readonly rules: string;
  /** Rules that this declaration switches on and off against their defaults. */
  readonly switched: string;
  /** Where two categories decide the same rules differently: how many, and which of them wins. */
  readonly conflicts?: readonly string[];
  /** The rule that is already there and will be taken over. */
  readonly adopts?: string;
}

export function expand(
  managed: ManagedRuleset,
  declared: DeclaredOverrides & { readonly version?: string | undefined },
  overrides: Overrides,
): RulesetExpansion {
  const effective = effectiveRules(managed, overrides);
  const on = effective.filter(({ enabled }) => enabled).length;
  const switchedOn = effective.filter(({ enabled, byDefault }) => enabled && !byDefault.enabled).length;
  const switchedOff = effective.filter(({ enabled, byDefault }) => !enabled && byDefault.enabled).length;
  const score = effective.find(({ id }) => id === scoreRuleOf(managed));
  const { version = "latest", owasp, action } = declared;
  const acts = score?.scoreThreshold === undefined ? action : score.action;
  const conflicts = conflictsOf(managed, overrides).map(
    ({ tags: [one, other], winner, member, rules }) =>
      `${counted(rules, "rule")} with both tags ${JSON.stringify(one)} and ${JSON.stringify(other)}: ${member} is decided by ${JSON.stringify(winner)}`,
  );
  return {
    ruleset: `${managed.name} (${managed.id})`,
    version: version === "latest" ? `latest, now ${managed.version}` : version,
    ...(owasp === undefined ? {} : { paranoiaLevel: levelInWords(owasp) }),
    ...(score?.scoreThreshold === undefined
      ? {}
      : { scoreThreshold: thresholdInWords(score.scoreThreshold) }),
    ...(acts === undefined ? {} : { action: acts }),
    rules: `${effective.length}: ${on} on, ${effective.length - on} off`,
    switched: `${switchedOn} on, ${switchedOff} off`,
    ...(conflicts.length === 0 ? {} : { conflicts }),
  };
}

function levelInWords(owasp: NonNullable<DeclaredOverrides["owasp"]>): string {
  const off = levelsOff(owasp).map(({ tag }) => tag);
  const last = off.pop();
  if (last === undefined) return `${owasp.paranoiaLevel}: no level is off`;
  return `${owasp.paranoiaLevel}: ${off.length === 0 ? `${last} is` : `${off.join(", ")} and ${last} are`} off`;
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
