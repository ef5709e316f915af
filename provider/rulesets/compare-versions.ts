import { omitAbsent } from "../runtime/members";
import { pluralize } from "../runtime/values";
import { effectOf } from "./compare-effects";
import { countByKind, effectiveRules, type EffectiveRule } from "./effective";
import { levelOf, scoreRuleOf, thresholdLabel } from "./overrides";
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
  /** Why the rule's effect changed even though its default didn't: an override now applies, or no longer applies. */
  readonly reason?: string;
  /** The part of the program that refers to the removed rule, and has no effect in the new version. */
  readonly referredToBy?: "override" | "exception";
}

/** The difference between two versions of a managed ruleset, for one deployment with its overrides. */
export interface VersionChange {
  readonly from: string;
  readonly to: string;
  /** The rules that differ. Rules whose changed defaults make no difference are left out. */
  readonly rules: readonly VersionRule[];
  /**
   * How many rules have a changed default that makes no difference, because an override applies or the rule stays off.
   */
  readonly withoutEffect: number;
  /** The score at which the ruleset acts. Present only if it changed. */
  readonly scoreThreshold?: { readonly before?: number; readonly after?: number };
  /** A one-line summary, such as `Cloudflare Managed Ruleset 87 → 88: 1 new rule, 1 on in this zone (1 block)`. */
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
    ...newRules(found, (on) => `${on} on in this zone`),
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
  const summary = `${latest.name} is pinned to ${pinned.version} (${versionsOut(pinned.version, latest.version)}): ${orNothing(parts, deployment)}`;
  return { ...withoutRules(found, deployment), summary };
}

/** Returns the headline, such as `Cloudflare Managed Ruleset 87 → 88`. */
export function headline(former: Pick<Version, "version">, { name, version }: Version): string {
  return `${name} ${former.version} → ${version}`;
}

/** Counts the rules of a version that can't be compared, because the previous version can't be read. */
export function rulesNow({ rules }: Version, { enabled, overrides }: Deployment): string {
  const on = enabled ? effectiveRules({ rules }, overrides).filter((rule) => rule.enabled).length : 0;
  return `${pluralize(rules.length, "rule")} now, ${on} on in this zone`;
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
    .map(({ id, description, before = "new", after = "gone", reason, referredToBy }) => {
      const what = [
        `${before} → ${after}`,
        ...(reason === undefined ? [] : [reason]),
        ...(referredToBy === undefined ? [] : [`an ${referredToBy} refers to it`]),
      ];
      return `${description === "" ? "a rule" : description} (${id}): ${what.join("; ")}`;
    });
  return lines.length <= SHOWN_RULES
    ? lines
    : [...lines.slice(0, SHOWN_RULES), `and ${pluralize(lines.length - SHOWN_RULES, "more rule")}`];
}

const SHOWN_RULES = 5;

type Found = Omit<VersionChange, "summary">;

function compare(former: Version, now: Version, deployment: Deployment): Found {
  const was = new Map(effectiveRules(former, deployment.overrides).map((rule) => [rule.id, rule]));
  const is = new Map(effectiveRules(now, deployment.overrides).map((rule) => [rule.id, rule]));
  const [formerScore, score] = [scoreRuleIn(was, former), scoreRuleIn(is, now)];
  // Another rule that compares the score continues the former one.
  const continues = formerScore !== undefined && score !== undefined && !was.has(score.id);
  const predecessorOf = (rule: EffectiveRule): EffectiveRule | undefined =>
    continues && rule === score ? formerScore : was.get(rule.id);
  const effect = (rule: EffectiveRule): string => (deployment.enabled ? effectOf(rule) : "off");

  const reasonIn = deployment.isSecret === true ? (): undefined => undefined : reasonOf;
  const rules: VersionRule[] = [];
  let withoutEffect = 0;
  for (const rule of is.values()) {
    const { id, description } = rule;
    const old = predecessorOf(rule);
    const [before, after] = [old && effect(old), effect(rule)];
    if (old === undefined || before !== after)
      rules.push(omitAbsent({ id, description, before, after, reason: old && reasonIn(old, rule) }));
    else if (defaultOf(old) !== defaultOf(rule)) withoutEffect += 1;
  }
  for (const rule of was.values()) {
    const { id, description } = rule;
    const referredToBy = refersTo(id, deployment);
    const isContinued = continues && rule === formerScore && referredToBy === undefined;
    if (!is.has(id) && !isContinued)
      rules.push(omitAbsent({ id, description, before: effect(rule), referredToBy }));
  }
  const [low, high] = [formerScore?.scoreThreshold, score?.scoreThreshold];
  const scoreThreshold = low === high ? undefined : omitAbsent({ before: low, after: high });
  return omitAbsent({ from: former.version, to: now.version, rules, withoutEffect, scoreThreshold });
}

function scoreRuleIn(rules: ReadonlyMap<string, EffectiveRule>, ruleset: Version): EffectiveRule | undefined {
  const last = rules.get(scoreRuleOf(ruleset) ?? "");
  return last?.scoreThreshold === undefined ? undefined : last;
}

const withoutRules = (found: Found, { isSecret = false }: Deployment): Found =>
  isSecret ? { ...found, rules: [] } : found;

const defaultOf = ({ byDefault }: EffectiveRule): string => effectOf(byDefault);

function refersTo(id: string, { overrides, skipped, isSecret }: Deployment): VersionRule["referredToBy"] {
  if (isSecret === true) return undefined;
  if (overrides.rules[id] !== undefined) return "override";
  return skipped.includes(id) ? "exception" : undefined;
}

/** Returns a text about the override that now applies or no longer applies. Undefined if the rule's default changed. */
function reasonOf(was: EffectiveRule, is: EffectiveRule): string | undefined {
  const member = was.enabled === is.enabled ? "action" : "enabled";
  const [before, after] = [tagOf(was.decided[member]), tagOf(is.decided[member])];
  if (before === after) return undefined;
  const [from, to] = [was, is].map(({ tags }) => tags.flatMap((tag) => levelOf(tag) ?? [])[0]);
  if (from !== undefined && to !== undefined && from !== to) return `paranoia level ${from} → ${to}`;
  return after === undefined
    ? `your override for the tag ${JSON.stringify(before)} no longer applies`
    : `your override for the tag ${JSON.stringify(after)} now applies`;
}

const tagOf = (decided: string): string | undefined => /^category (.*)$/s.exec(decided)?.[1];

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

function otherEffects({ rules, scoreThreshold, withoutEffect }: Found, verb: string): string[] {
  const kinds = rules.flatMap(({ before, after, reason }) =>
    before === undefined || after === undefined
      ? []
      : [`${verb}${before} → ${after}${reason === undefined ? "" : ` (${reason})`}`],
  );
  const threshold = (score: number | undefined): string =>
    score === undefined ? "none" : thresholdLabel(score);
  return [
    ...countByKind(kinds).map(([kind, count]) => `${pluralize(count, "rule")} ${kind}`),
    ...(scoreThreshold === undefined
      ? []
      : [`score threshold ${verb}${threshold(scoreThreshold.before)} → ${threshold(scoreThreshold.after)}`]),
    ...(withoutEffect === 0
      ? []
      : [
          `${pluralize(withoutEffect, "changed default")} ${withoutEffect === 1 ? "makes" : "make"} no difference in this zone`,
        ]),
  ];
}

function orNothing(parts: readonly string[], { enabled }: Deployment): string {
  const text =
    parts.length === 0 ? "no rules were added or removed, and no defaults changed" : parts.join(", ");
  return enabled ? text : `${text} (the deployment is disabled)`;
}

/** Returns which versions are newer: `88 is available`, `88 and 89 are available` or `88 to 95 are available`. */
function versionsOut(pinned: string, latest: string): string {
  const first = Number(pinned) + 1;
  const last = Number(latest);
  if (!(first <= last)) return `the latest is ${latest}`;
  if (first === last) return `${last} is available`;
  return `${first} ${first + 1 === last ? "and" : "to"} ${last} are available`;
}
