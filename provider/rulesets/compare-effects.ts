import { pluralize } from "../runtime/values";
import { countedByKind, effectiveRules, type ComparedRules, type EffectiveRule } from "./effective";
import { thresholdInWords } from "./overrides";
import type { CategoryOverride, ManagedRuleset, Overrides, RuleOverride } from "./wire";

/** Whether one set of overrides protects less than another: rule by rule where the ruleset is known, else by what is declared. */

/** A managed ruleset as a deployment runs it. */
export interface Running {
  readonly managed: Pick<ManagedRuleset, "id" | "name" | "version" | "rules">;
  readonly overrides: Overrides;
}

/** Off is the weakest, log only records, and block is the strongest. An action that isn't here can't be ranked. */
const STRENGTH: Readonly<Record<string, number>> = {
  off: 0,
  log: 1,
  challenge: 2,
  js_challenge: 2,
  managed_challenge: 3,
  block: 4,
};

/** Whether a rule that did `before` may protect less when it does `after`. */
export function isWeaker(before: string, after: string): boolean {
  if (before === after || before === "off" || after === "block") return false;
  if (after === "off") return true;
  const [was, is] = [STRENGTH[before], STRENGTH[after]];
  return was === undefined || is === undefined || is < was;
}

const actOf = (rule: EffectiveRule | undefined): string => (rule?.enabled === true ? rule.action : "off");

/** Compares rule by rule. */
export function compareEffects(before: Running, after: Running): Pick<ComparedRules, "weaker" | "stronger"> {
  if (before.managed.id !== after.managed.id) {
    const on = effectiveRules(before.managed, before.overrides).filter(({ enabled }) => enabled).length;
    const line = `${named(before.managed)} no longer runs (${pluralize(on, "rule")} on), ${named(after.managed)} runs instead`;
    return { weaker: [line], stronger: [] };
  }
  const was = new Map(effectiveRules(before.managed, before.overrides).map((rule) => [rule.id, rule]));
  const is = new Map(effectiveRules(after.managed, after.overrides).map((rule) => [rule.id, rule]));
  const [weaker, stronger]: [string[], string[]] = [[], []];
  const thresholds = { weaker: [] as string[], stronger: [] as string[] };
  for (const id of new Set([...was.keys(), ...is.keys()])) {
    const [one, other] = [was.get(id), is.get(id)];
    const [from, to] = [actOf(one), actOf(other)];
    // A version may have rules that another one doesn't.
    if (from !== to)
      (isWeaker(from, to) ? weaker : stronger).push(`${from} → ${other === undefined ? "gone" : to}`);
    const [low, high] = [one?.scoreThreshold, other?.scoreThreshold];
    if (one === undefined || other === undefined || low === high) continue;
    const isLess = low === undefined || high === undefined || high > low;
    thresholds[isLess ? "weaker" : "stronger"].push(`score threshold ${inWords(low)} → ${inWords(high)}`);
  }
  const lines = (kinds: readonly string[]): string[] =>
    countedByKind(kinds).map(([kind, count]) => `${pluralize(count, "rule")} ${kind}`);
  return {
    weaker: [...lines(weaker), ...thresholds.weaker],
    stronger: [...lines(stronger), ...thresholds.stronger],
  };
}

const inWords = (score: number | undefined): string =>
  score === undefined ? "the ruleset's own" : thresholdInWords(score);

const named = ({ name, id }: Running["managed"]): string => (name === "" ? id : JSON.stringify(name));

/**
 * Compares what is declared of one ruleset without knowing its rules: whatever isn't provably as strong whatever the
 * rules are by default counts as weaker. Lines as of `compareEffects`.
 */
export function compareDeclared(before: Overrides, after: Overrides): readonly string[] {
  const lines: string[] = [];
  const compare = (what: string, was: Override | undefined, is: Override | undefined): void => {
    for (const [member, from, to] of lowered(was ?? {}, is ?? {}))
      lines.push(`${what} ${member}${from} → ${to}`);
  };
  compare("all rules", before, after);
  const tags = new Set([...before.categories, ...after.categories].map(({ tag }) => tag));
  const of = (entries: readonly CategoryOverride[], tag: string): Override | undefined =>
    entries.find((entry) => entry.tag === tag);
  for (const tag of tags) compare(`tag ${tag}`, of(before.categories, tag), of(after.categories, tag));
  // Of several tags of one rule the last decides.
  const order = (one: Overrides, other: Overrides): string =>
    one.categories
      .filter(({ tag }) => of(other.categories, tag) !== undefined)
      .map(({ tag }) => tag)
      .join(", ");
  const [was, is] = [order(before, after), order(after, before)];
  if (was !== is) lines.push(`order of tags ${was} → ${is}`);
  for (const id of new Set([...Object.keys(before.rules), ...Object.keys(after.rules)]))
    compare(`rule ${id}`, before.rules[id], after.rules[id]);
  return lines;
}

type Override = Omit<RuleOverride, "further">;

/** Members of one override that may let more through: an undeclared one falls back to nobody knows what. */
function lowered(was: Override, is: Override): (readonly [member: string, from: string, to: string])[] {
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
      found.push(["score threshold ", inWords(from), inWords(to)]);
  }
  return found;
}
