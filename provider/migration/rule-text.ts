import { z } from "zod";
import { LEVELS, levelOf, thresholdLabel } from "../rulesets/overrides";
import { omitAbsent, isJsonObject, ownMember, type JsonObject } from "../basics/json";
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

const override = z.looseObject({
  enabled: z.boolean().nullish(),
  action: z.string().nullish(),
  score_threshold: z.number().nullish(),
});
const overrides = z.looseObject({
  enabled: z.boolean().nullish(),
  action: z.string().nullish(),
  categories: z.array(override.extend({ category: z.string() })).nullish(),
  rules: z.array(override.extend({ id: z.string() })).nullish(),
});

/**
 * Returns how an execute rule configures the OWASP ruleset. Undefined for any other rule, or if the overrides can't be
 * read.
 */
export function owaspOf(rule: WireRule): (Partial<OwaspSettings> & { readonly action?: string }) | undefined {
  const { id, changes } = executed(rule);
  if (id !== OWASP_RULESET || changes === undefined) return undefined;
  const scored = changes.rules?.find((each) => typeof each.score_threshold === "number");
  return omitAbsent({
    paranoiaLevel: paranoiaLevelOf(changes),
    scoreThreshold: scored?.score_threshold,
    action: scored?.action ?? changes.action,
  });
}

type Changes = z.infer<typeof overrides>;

function executed({ action, action_parameters }: WireRule): {
  readonly id: string | undefined;
  readonly changes: Changes | undefined;
} {
  if (action !== "execute" || !isJsonObject(action_parameters)) return { id: undefined, changes: undefined };
  const parsed = overrides.safeParse(action_parameters["overrides"] ?? {});
  const id = action_parameters["id"];
  return { id: typeof id === "string" ? id : undefined, changes: parsed.data };
}

/** Returns paranoia level N if exactly the tags of the levels above N are off. Otherwise undefined. */
function paranoiaLevelOf({ categories }: Changes): number | undefined {
  const switchedOff = (categories ?? []).filter(({ enabled }) => enabled === false);
  const off = new Set(switchedOff.flatMap(({ category }) => levelOf(category) ?? []));
  const level = LEVELS.length - off.size;
  return [...off].every((each) => each > level) && level > 0 ? level : undefined;
}

/** Describes in one line what the rule does, to which requests, and with which overrides. */
export function ruleText(rule: WireRule): string {
  const off = rule["enabled"] === false ? " (disabled)" : "";
  const where = expressionText(rule.expression);
  if (rule.action === "execute") {
    const { id } = executed(rule);
    const words = overridesText(rule);
    return `execute ${rulesetName(id)}${where}${off}${words === "" ? "" : `: ${words}`}`;
  }
  if (rule.action === "skip") return `skip ${skipText(rule)}${where}${off}`;
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

function skipText({ action_parameters }: WireRule): string {
  const parameters: JsonObject = isJsonObject(action_parameters) ? action_parameters : {};
  const { rulesets, rules } = parameters;
  if (parameters["ruleset"] === "current") return "all remaining rules";
  if (Array.isArray(rulesets)) return rulesets.map((id) => rulesetName(String(id))).join(", ");
  if (!isJsonObject(rules)) return "as specified by its parameters";
  return Object.entries(rules)
    .map(([id, list]) => `${pluralize(Array.isArray(list) ? list.length : 0, "rule")} of ${rulesetName(id)}`)
    .join(", ");
}

function overridesText(rule: WireRule): string {
  const { id, changes } = executed(rule);
  if (changes === undefined) return "overrides that this version can't read";
  const { categories, rules } = changes;
  const parts: string[] = [];
  const levels = (categories ?? []).some(({ category }) => levelOf(category) !== undefined);
  if (id === OWASP_RULESET || levels) {
    const level = paranoiaLevelOf(changes);
    const words = `paranoia level ${level ?? ""}${levels ? "" : " (no level turned off)"}`;
    parts.push(level === undefined ? "custom paranoia levels" : words);
  }
  const scored = rules?.find(({ score_threshold }) => typeof score_threshold === "number");
  if (typeof scored?.score_threshold === "number") parts.push(thresholdText(scored.score_threshold));
  else if (id === OWASP_RULESET) parts.push("the ruleset's default score threshold");
  if (typeof scored?.action === "string") parts.push(`action ${scored.action}`);
  if (changes.enabled === false) parts.push("all rules off");
  if (typeof changes.action === "string") parts.push(`action ${changes.action} for all rules`);
  parts.push(
    ...changeCounts("tag", categories?.filter(({ category }) => levelOf(category) === undefined) ?? []),
  );
  parts.push(...changeCounts("rule", rules?.filter((each) => each !== scored) ?? []));
  return parts.join(", ");
}

export function thresholdText(score: number): string {
  return `score threshold ${thresholdLabel(score)}`;
}

/** Summarizes overrides, such as `3 rules changed (2 off, 1 log)`. */
function changeCounts(noun: string, changed: readonly z.infer<typeof override>[]): string[] {
  if (changed.length === 0) return [];
  const kinds = changed.map(({ enabled, action }) =>
    enabled === false ? "off" : (action ?? (enabled === true ? "on" : "changed")),
  );
  const counts = [...new Set(kinds)].map((kind) => `${kinds.filter((k) => k === kind).length} ${kind}`);
  return [`${pluralize(changed.length, noun)} changed (${counts.join(", ")})`];
}
