import { pluralize } from "../basics/words";
import { LISTED } from "../runtime/impact";
import { countByKind, effectiveRules, type EffectiveRule } from "./effective";
import type { ComparedRules } from "./impact";
import { thresholdLabel } from "./overrides";
import type { CategoryOverride, ManagedRuleset, Overrides, RuleOverride } from "./wire";

/**
 * Compares two sets of overrides to find out whether one protects less. Compares rule by rule if the ruleset is known,
 * otherwise only the declarations.
 */

/** A managed ruleset, and the overrides that a deployment applies to it. */
export interface RunningRuleset {
  readonly managed: Pick<ManagedRuleset, "id" | "name" | "version" | "rules">;
  readonly overrides: Overrides;
}

/** The actions, ranked from weakest to strongest. An action that isn't listed can't be ranked. */
const STRENGTH: Readonly<Record<string, number>> = {
  off: 0,
  log: 1,
  challenge: 2,
  js_challenge: 2,
  managed_challenge: 3,
  block: 4,
};

/** Whether a rule may protect less with `after` than with `before`. */
export function isWeaker(before: string, after: string): boolean {
  if (before === after || before === "off" || after === "block") return false;
  if (after === "off") return true;
  const [was, is] = [STRENGTH[before], STRENGTH[after]];
  return was === undefined || is === undefined || is < was;
}

/** Returns a rule's effect: its action, or `off`. */
export const effectOf = (rule: Pick<EffectiveRule, "enabled" | "action"> | undefined): string =>
  rule?.enabled === true ? rule.action : "off";

/** A rule before and after a change. It's undefined on a side that doesn't have it. */
export type RulePair = readonly [before: EffectiveRule | undefined, after: EffectiveRule | undefined];

/** Pairs the rules of two versions of a ruleset, or of one version under two sets of overrides. */
export function pairRules(before: Applied, after: Applied): RulePair[] {
  const [was, is] = [before, after].map(
    ({ managed, overrides }) => new Map(effectiveRules(managed, overrides).map((rule) => [rule.id, rule])),
  );
  const ids = new Set([...(is?.keys() ?? []), ...(was?.keys() ?? [])]);
  return [...ids].map((id): RulePair => [was?.get(id), is?.get(id)]);
}

/** Rules of a ruleset, and the overrides that apply to them. */
interface Applied {
  readonly managed: Pick<ManagedRuleset, "rules">;
  readonly overrides: Overrides;
}

export function compareEffects(before: RunningRuleset, after: RunningRuleset): Omit<ComparedRules, "moved"> {
  if (before.managed.id !== after.managed.id) {
    const on = effectiveRules(before.managed, before.overrides).filter(({ enabled }) => enabled).length;
    const line = `${rulesetLabel(before.managed)} no longer runs (${pluralize(on, "rule")} on); ${rulesetLabel(after.managed)} runs instead`;
    return { weaker: [line], stronger: [], digest: LISTED.of([line]).digest };
  }
  const [weaker, stronger]: [string[], string[]] = [[], []];
  const thresholds = { weaker: [] as string[], stronger: [] as string[] };
  const changes: string[] = [];
  for (const [one, other] of pairRules(before, after)) {
    const [from, to] = [effectOf(one), effectOf(other)];
    // Versions of a ruleset have different rules.
    if (from !== to)
      (isWeaker(from, to) ? weaker : stronger).push(`${from} → ${other === undefined ? "removed" : to}`);
    const [low, high] = [one?.scoreThreshold, other?.scoreThreshold];
    if (from !== to || low !== high) changes.push(JSON.stringify([(other ?? one)?.id, from, to, low, high]));
    if (from === "off" || to === "off" || low === high) continue;
    const isLess = low === undefined || high === undefined || high > low;
    thresholds[isLess ? "weaker" : "stronger"].push(
      `score threshold ${thresholdText(low)} → ${thresholdText(high)}`,
    );
  }
  const lines = (kinds: readonly string[]): string[] =>
    countByKind(kinds).map(([kind, count]) => `${pluralize(count, "rule")} ${kind}`);
  return {
    weaker: [...lines(weaker), ...thresholds.weaker],
    stronger: [...lines(stronger), ...thresholds.stronger],
    digest: LISTED.of(changes).digest,
  };
}

const thresholdText = (score: number | undefined): string =>
  score === undefined ? "the ruleset's default" : thresholdLabel(score);

const rulesetLabel = ({ name, id }: RunningRuleset["managed"]): string =>
  name === "" ? id : JSON.stringify(name);

/**
 * Compares the overrides of two declarations without knowing the ruleset's rules. Lists every change that could let
 * more requests through, in the same format as `compareEffects`.
 */
export function compareDeclared(before: Overrides, after: Overrides): readonly string[] {
  const lines: string[] = [];
  const compare = (what: string, was: Override | undefined, is: Override | undefined): void => {
    for (const [member, from, to] of weakenedMembers(was ?? {}, is ?? {}))
      lines.push(`${what} ${member}${from} → ${to}`);
  };
  compare("all rules", before, after);
  const tags = new Set([...before.categories, ...after.categories].map(({ tag }) => tag));
  const of = (entries: readonly CategoryOverride[], tag: string): Override | undefined =>
    entries.find((entry) => entry.tag === tag);
  for (const tag of tags) compare(`tag ${tag}`, of(before.categories, tag), of(after.categories, tag));
  // If a rule has several of the tags, the last tag decides.
  const order = (one: Overrides, other: Overrides): string =>
    one.categories
      .filter(({ tag }) => of(other.categories, tag) !== undefined)
      .map(({ tag }) => tag)
      .join(", ");
  const [was, is] = [order(before, after), order(after, before)];
  if (was !== is) lines.push(`order of tags ${was} → ${is}`);
  for (const id of new Set([...Object.keys(before.rules), ...Object.keys(after.rules)])) {
    const [was, is] = [before.rules[id], after.rules[id]];
    // What a rule that's off would do doesn't matter. A rule of a tag that's off may be on.
    compare(`rule ${id}`, was, is?.enabled === false ? { ...was, enabled: false } : is);
  }
  return lines;
}

type Override = Omit<RuleOverride, "extra">;

/**
 * Finds changed properties of an override that may let more requests through, whatever the ruleset's defaults are.
 */
function weakenedMembers(
  was: Override,
  is: Override,
): (readonly [member: string, from: string, to: string])[] {
  const found: (readonly [string, string, string])[] = [];
  const onOff = (enabled: boolean | undefined): string =>
    enabled === undefined ? "by default" : enabled ? "on" : "off";
  if (was.enabled !== is.enabled && was.enabled !== false && is.enabled !== true)
    found.push(["", onOff(was.enabled), onOff(is.enabled)]);
  if (was.action !== is.action && was.action !== "log" && is.action !== "block") {
    const [from, to] = [was.action, is.action];
    if (from === undefined || to === undefined || isWeaker(from, to))
      found.push(["action ", from ?? "by default", to ?? "by default"]);
  }
  if (was.scoreThreshold !== is.scoreThreshold) {
    const [from, to] = [was.scoreThreshold, is.scoreThreshold];
    if (from === undefined || to === undefined || to > from)
      found.push(["score threshold ", thresholdText(from), thresholdText(to)]);
  }
  return found;
}
