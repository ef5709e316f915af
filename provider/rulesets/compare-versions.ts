import { omitAbsent } from "../basics/json";
import { pluralize } from "../basics/words";
import { effectOf, pairRules } from "./compare-effects";
import { countByKind, effectiveRules, type EffectiveRule } from "./effective";
import { scoreRuleOf, thresholdLabel } from "./overrides";
import type { ManagedRuleset, Overrides } from "./wire";

/**
 * Compares two versions of a managed ruleset to find out what the new one changes for a deployment. Returns data and
 * text.
 */

/** A rule that the new version adds or removes, or whose effect it changes. */
export interface VersionRule {
  readonly id: string;
  readonly description: string;
  /** The rule's effect in the previous version: its action, or `off`. Absent if the rule is new. */
  readonly before?: string;
  /** The rule's effect in the new version. Absent if the rule was removed. */
  readonly after?: string;
  /** The part of the program that refers to the removed rule, and has no effect in the new version. */
  readonly referredToBy?: "override" | "exception";
}

/** The difference between two versions of a managed ruleset, for one deployment with its overrides. */
export interface VersionChange {
  readonly from: string;
  readonly to: string;
  /** The rules that differ. Rules whose changed defaults make no difference are left out. */
  readonly rules: readonly VersionRule[];
  /** The score at which the ruleset acts. Present only if it changed. */
  readonly scoreThreshold?: { readonly before?: number; readonly after?: number };
  /** A one-line summary, such as `Cloudflare Managed Ruleset 87 → 88: 1 new rule, 1 on in this deployment (1 block)`. */
  readonly summary: string;
}

/** How a zone uses a managed ruleset. */
export interface Deployment {
  readonly enabled: boolean;
  readonly overrides: Overrides;
  /** IDs of the ruleset's rules that exceptions skip individually. */
  readonly skipped: readonly string[];
  /** Whether the overrides or exceptions are secret. If so, a comparison only counts rules. */
  readonly isSecret?: boolean;
}

type Version = Pick<ManagedRuleset, "name" | "version" | "rules">;

/** Compares a deployment's previous version with its current one. */
export function changeSince(former: Version, now: Version, deployment: Deployment): VersionChange {
  const found = compare(former, now, deployment);
  const renamed =
    former.name === now.name || former.name === "" ? "" : ` (renamed from ${JSON.stringify(former.name)})`;
  const parts = [
    ...newRules(found, (on) => `${on} on in this deployment`),
    ...goneRules(found, (rule) => `${rule} ${rule.startsWith("1 ") ? "was" : "were"} removed`),
    ...otherEffects(found, ""),
  ];
  const summary = `${headline(former, now)}${renamed}: ${orNothing(parts, deployment)}`;
  return { ...withoutRules(found, deployment), summary };
}

/** Compares a pinned version with the latest one. */
export function lackOf(pinned: Version, latest: Version, deployment: Deployment): VersionChange {
  const found = compare(pinned, latest, deployment);
  const parts = [
    ...newRules(found, (on) => `${on} would be on`).map((part) => `lacks ${part}`),
    ...goneRules(found, (rule) => `still has ${rule} that version ${latest.version} no longer has`),
    ...otherEffects(found, "would go "),
  ];
  const summary = `${latest.name} is pinned to ${pinned.version} (the latest is ${latest.version}): ${orNothing(parts, deployment)}`;
  return { ...withoutRules(found, deployment), summary };
}

/** Returns the headline, such as `Cloudflare Managed Ruleset 87 → 88`. */
export function headline(former: Pick<Version, "version">, { name, version }: Version): string {
  return `${name} ${former.version} → ${version}`;
}

/** Counts the rules of a version that can't be compared, because the previous version can't be read. */
export function rulesNow({ rules }: Version, { enabled, overrides }: Deployment): string {
  const on = enabled ? effectiveRules({ rules }, overrides).filter((rule) => rule.enabled).length : 0;
  return `${pluralize(rules.length, "rule")} now, ${on} on in this deployment`;
}

/** Lists the rules that changed, each with its effect. The most important ones come first. */
export function changedRuleLines({ rules }: Pick<VersionChange, "rules">): string[] {
  const rank = ({ before, after, referredToBy }: VersionRule): number => {
    if (referredToBy !== undefined) return 0;
    if (before !== undefined && after !== undefined) return 1;
    if ((after ?? before) === "off") return 4;
    return before === undefined ? 2 : 3;
  };
  const lines = [...rules]
    .sort((a, b) => rank(a) - rank(b))
    .map(({ id, description, before = "new", after = "gone", referredToBy }) => {
      const why = referredToBy === undefined ? "" : `; an ${referredToBy} refers to it`;
      return `${description === "" ? "a rule" : description} (${id}): ${before} → ${after}${why}`;
    });
  return lines.length <= SHOWN_RULES
    ? lines
    : [...lines.slice(0, SHOWN_RULES), `and ${pluralize(lines.length - SHOWN_RULES, "more rule")}`];
}

const SHOWN_RULES = 5;

type Found = Omit<VersionChange, "summary">;

function compare(former: Version, now: Version, deployment: Deployment): Found {
  const { overrides, enabled } = deployment;
  const pairs = pairRules({ managed: former, overrides }, { managed: now, overrides });
  const effect = (rule: EffectiveRule | undefined): string | undefined =>
    rule && (enabled ? effectOf(rule) : "off");
  const rules = pairs.flatMap(([old, rule]): VersionRule[] => {
    const [before, after] = [effect(old), effect(rule)];
    const { id = "", description = "" } = rule ?? old ?? {};
    const referredToBy = rule === undefined ? refersTo(id, deployment) : undefined;
    return before === after ? [] : [omitAbsent({ id, description, before, after, referredToBy })];
  });
  const scoreOf = (side: 0 | 1, version: Version): number | undefined =>
    pairs.find((pair) => pair[side]?.id === scoreRuleOf(version))?.[side]?.scoreThreshold;
  const [low, high] = [scoreOf(0, former), scoreOf(1, now)];
  const scoreThreshold = low === high ? undefined : omitAbsent({ before: low, after: high });
  return omitAbsent({ from: former.version, to: now.version, rules, scoreThreshold });
}

const withoutRules = (found: Found, { isSecret = false }: Deployment): Found =>
  isSecret ? { ...found, rules: [] } : found;

function refersTo(id: string, { overrides, skipped, isSecret }: Deployment): VersionRule["referredToBy"] {
  if (isSecret === true) return undefined;
  if (overrides.rules[id] !== undefined) return "override";
  return skipped.includes(id) ? "exception" : undefined;
}

const tally = (effects: readonly string[]): string =>
  countByKind(effects)
    .map(([effect, count]) => `${count} ${effect === "" ? "on" : effect}`)
    .join(", ");

function newRules({ rules }: Found, onText: (on: number | "none") => string): string[] {
  const added = rules.flatMap(({ before, after }) => (before === undefined ? [after ?? "off"] : []));
  if (added.length === 0) return [];
  const on = added.filter((effect) => effect !== "off");
  const which = on.length === 0 ? onText("none") : `${onText(on.length)} (${tally(on)})`;
  return [`${pluralize(added.length, "new rule")}, ${which}`];
}

function goneRules({ rules }: Found, text: (rules: string) => string): string[] {
  const gone = rules.filter(({ after }) => after === undefined);
  const by = (who: VersionRule["referredToBy"]): readonly VersionRule[] =>
    gone.filter(({ referredToBy }) => referredToBy === who);
  const [others, overridden, skipped] = [by(undefined), by("override"), by("exception")];
  return [
    ...(overridden.length === 0 ? [] : [text(`${pluralize(overridden.length, "rule")} you override`)]),
    ...(skipped.length === 0 ? [] : [text(`${pluralize(skipped.length, "rule")} your exceptions skip`)]),
    ...(others.length === 0
      ? []
      : [`${text(pluralize(others.length, "rule"))} (${tally(others.map(({ before = "off" }) => before))})`]),
  ];
}

function otherEffects({ rules, scoreThreshold }: Found, verb: string): string[] {
  const kinds = rules.flatMap(({ before, after }) =>
    before === undefined || after === undefined ? [] : [`${verb}${before} → ${after}`],
  );
  const threshold = (score: number | undefined): string =>
    score === undefined ? "none" : thresholdLabel(score);
  return [
    ...countByKind(kinds).map(([kind, count]) => `${pluralize(count, "rule")} ${kind}`),
    ...(scoreThreshold === undefined
      ? []
      : [`score threshold ${verb}${threshold(scoreThreshold.before)} → ${threshold(scoreThreshold.after)}`]),
  ];
}

function orNothing(parts: readonly string[], { enabled }: Deployment): string {
  const text = parts.length === 0 ? "no rule was added or removed, or does something else" : parts.join(", ");
  return enabled ? text : `${text} (the deployment is disabled)`;
}
