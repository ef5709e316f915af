import { levelOf, readLevel, thresholdLabel } from "../rulesets/overrides";
import { readRule, type Overrides, type RuleOverride, type Skip, type ZoneRule } from "../rulesets/wire";
import { isJsonObject, omit, omitAbsent, ownMember } from "../basics/json";
import { pluralize } from "../basics/words";
import type { WireRule } from "./rules";

/** Formats rules and previous settings as text. */

/** The ID of the Cloudflare Managed Ruleset. Managed rulesets have the same ID in every zone. */
const CLOUDFLARE_RULESET = "efb7b8c949ac4650a09736fc376e9aee";
export const OWASP_RULESET = "4814384a9e5d4991b9815dcfc25d2f1f";

const RULESET_NAMES: Readonly<Record<string, string>> = {
  [CLOUDFLARE_RULESET]: "Cloudflare Managed Ruleset",
  [OWASP_RULESET]: "Cloudflare OWASP Core Ruleset",
};

export interface OwaspSettings {
  readonly paranoiaLevel: number;
  readonly scoreThreshold: number;
}

/**
 * What each sensitivity of the previous OWASP package becomes
 * (https://developers.cloudflare.com/waf/reference/migration-guides/waf-managed-rules-migration/).
 */
const MAPPING: Readonly<Record<string, OwaspSettings>> = {
  high: { paranoiaLevel: 2, scoreThreshold: 40 },
  medium: { paranoiaLevel: 1, scoreThreshold: 25 },
  low: { paranoiaLevel: 1, scoreThreshold: 40 },
  default: { paranoiaLevel: 2, scoreThreshold: 40 },
};

/**
 * Maps the previous package's sensitivity to the new settings. Undefined if the package was off, because then the new
 * ruleset isn't deployed.
 */
export function mappedSensitivity(sensitivity: string | undefined): OwaspSettings | undefined {
  const word = sensitivity?.toLowerCase() ?? "default";
  return word === "off" ? undefined : (ownMember(MAPPING, word) ?? MAPPING["default"]);
}

/** Maps a previous action to the new one. Simulate becomes `log`; the others stay the same. */
export function mappedAction(action: string): string {
  return action.toLowerCase() === "simulate" ? "log" : action.toLowerCase();
}

/** Reads a rule as those of a zone are read. Undefined if its overrides have an unknown form. */
const read = (rule: WireRule): ZoneRule | undefined => readRule(omit(rule, ["id"]));

/**
 * Returns how an execute rule configures the OWASP ruleset. Undefined for any other rule, or if the overrides can't be
 * read.
 */
export function owaspOf(rule: WireRule): (Partial<OwaspSettings> & { readonly action?: string }) | undefined {
  const { rulesetId, overrides } = read(rule)?.deploys ?? {};
  if (overrides === undefined || rulesetId !== OWASP_RULESET) return undefined;
  const scored = scoredIn(overrides);
  return omitAbsent({
    paranoiaLevel: paranoiaLevelOf(overrides),
    scoreThreshold: scored?.scoreThreshold,
    action: scored?.action ?? overrides.action,
  });
}

const scoredIn = ({ rules }: Overrides): RuleOverride | undefined =>
  Object.values(rules).find(({ scoreThreshold }) => scoreThreshold !== undefined);

/** Returns paranoia level N if exactly the tags of the levels above N are off. Otherwise undefined. */
function paranoiaLevelOf({ categories }: Overrides): number | undefined {
  const { paranoiaLevel, hasGap } = readLevel(categories);
  return hasGap ? undefined : paranoiaLevel;
}

/** Describes in one line what the rule does, to which requests, and with which overrides. */
export function ruleText(rule: WireRule): string {
  const off = rule["enabled"] === false ? " (disabled)" : "";
  const where = expressionText(rule.expression);
  if (rule.action === "execute") {
    const { deploys } = read(rule) ?? {};
    const { id } = isJsonObject(rule["action_parameters"]) ? rule["action_parameters"] : {};
    const words = deploys === undefined ? "overrides that this version can't read" : overridesText(deploys);
    return `execute ${rulesetName(typeof id === "string" ? id : undefined)}${where}${off}${words === "" ? "" : `: ${words}`}`;
  }
  if (rule.action === "skip") return `skip ${skipText(read(rule)?.skips)}${where}${off}`;
  return `${rule.action}${where}${off}`;
}

export function rulesetName(id: string | undefined): string {
  return id === undefined ? "a managed ruleset" : (ownMember(RULESET_NAMES, id) ?? `ruleset ${id}`);
}

const SHOWN_EXPRESSION = 70;

function expressionText(expression: string): string {
  const text = expression.replace(/\s+/g, " ").trim();
  if (text === "true") return "";
  const cut = text.length > SHOWN_EXPRESSION ? `${text.slice(0, SHOWN_EXPRESSION)}…` : text;
  return ` where ${cut}`;
}

function skipText(skips: Skip = { other: {} }): string {
  if (skips === "all") return "all remaining rules";
  if ("other" in skips) return "as specified by its parameters";
  if ("rulesets" in skips) return skips.rulesets.map(rulesetName).join(", ");
  return Object.entries(skips.rules)
    .map(([id, list]) => `${pluralize(list.length, "rule")} of ${rulesetName(id)}`)
    .join(", ");
}

function overridesText({ rulesetId, overrides }: NonNullable<ZoneRule["deploys"]>): string {
  const { categories, rules } = overrides;
  const parts: string[] = [];
  const levels = categories.some(({ tag }) => levelOf(tag) !== undefined);
  if (rulesetId === OWASP_RULESET || levels) {
    const level = paranoiaLevelOf(overrides);
    const words = `paranoia level ${level ?? ""}${levels ? "" : " (no level turned off)"}`;
    parts.push(level === undefined ? "custom paranoia levels" : words);
  }
  const scored = scoredIn(overrides);
  if (scored?.scoreThreshold !== undefined) parts.push(thresholdText(scored.scoreThreshold));
  else if (rulesetId === OWASP_RULESET) parts.push("the ruleset's default score threshold");
  if (scored?.action !== undefined) parts.push(`action ${scored.action}`);
  if (overrides.enabled === false) parts.push("all rules off");
  if (overrides.action !== undefined) parts.push(`action ${overrides.action} for all rules`);
  const others = Object.values(rules).filter((each) => each !== scored);
  const tags = categories.filter(({ tag }) => levelOf(tag) === undefined);
  parts.push(...changeCounts("tag", tags), ...changeCounts("rule", others));
  return parts.join(", ");
}

export function thresholdText(score: number): string {
  return `score threshold ${thresholdLabel(score)}`;
}

/** Summarizes overrides, such as `3 rules changed (2 off, 1 log)`. */
function changeCounts(noun: string, changed: readonly RuleOverride[]): string[] {
  if (changed.length === 0) return [];
  const kinds = changed.map(({ enabled, action }) =>
    enabled === false ? "off" : (action ?? (enabled === true ? "on" : "changed")),
  );
  const counts = [...new Set(kinds)].map((kind) => `${kinds.filter((k) => k === kind).length} ${kind}`);
  return [`${pluralize(changed.length, noun)} changed (${counts.join(", ")})`];
}
