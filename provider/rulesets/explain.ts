import { omitAbsent } from "../runtime/members";
import { pluralize, isJsonObject } from "../runtime/values";
import { effectiveRules, type Decider, type EffectiveRule } from "./effective";
import { LEVELS, paranoiaTag, thresholdInWords } from "./overrides";
import { PHASE, type EntryPoint, type ManagedRuleset, type Skip, type ZoneRule } from "./wire";

/** What of the managed rulesets works in a zone, as data and as text. */

/** Requests that a skip rule keeps from a deployment behind it. */
export interface ExplainedException {
  readonly ruleId: string;
  readonly ref: string;
  readonly description: string;
  readonly expression: string;
  /** `all`: the whole deployment; a number: so many of its rules. */
  readonly skips: "all" | number;
}

/** A rule that works otherwise than by default. */
export interface ExplainedRule {
  readonly id: string;
  readonly description: string;
  /** What decided: `ruleset`, `rule`, or `category <tag>`. */
  readonly by: Exclude<Decider, "default">;
}

export interface ExplainedDeployment {
  /** Id of the zone's rule. */
  readonly ruleId: string;
  readonly ref: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly expression: string;
  /** Name and version are absent where the account does not give the ruleset. */
  readonly ruleset: { readonly id: string; readonly name?: string; readonly version?: string };
  /** The highest level of which rules are on. Only of a ruleset with paranoia levels. */
  readonly paranoiaLevel?: number;
  /** Only of a ruleset that scores. */
  readonly scoreThreshold?: number;
  /** What a ruleset that scores does; else what all its rules were told to do. */
  readonly action?: string;
  /** Rules of the ruleset that are on and off; none is on where the deployment is disabled. Absent with the name. */
  readonly rules?: { readonly on: number; readonly off: number };
  /** Rules that an override has switched off. */
  readonly switchedOff: readonly ExplainedRule[];
  /** Rules that an override has switched on. */
  readonly switchedOn: readonly ExplainedRule[];
  /** Rules that an override has given another action. */
  readonly otherAction: readonly (ExplainedRule & { readonly action: string })[];
  /** Enabled skip rules in front of it that concern it. */
  readonly exceptions: readonly ExplainedException[];
}

export interface ZoneExplanation {
  readonly zoneId: string;
  /** In the order in which they run. */
  readonly deployments: readonly ExplainedDeployment[];
  /** The same as Markdown: a table, and lists of what differs from the defaults. */
  readonly markdown: string;
}

export function explain(
  zoneId: string,
  found: EntryPoint | undefined,
  rulesetOf: (rule: ZoneRule) => ManagedRuleset | undefined,
): ZoneExplanation {
  const rules = found?.rules ?? [];
  const deployments = rules.flatMap((rule, index) =>
    rule.deploys === undefined ? [] : [explainOne(rule, rules.slice(0, index), rulesetOf(rule))],
  );
  return { zoneId, deployments, markdown: toMarkdown(zoneId, deployments) };
}

function explainOne(
  { id, ref, description, enabled, expression, deploys }: ZoneRule,
  before: readonly ZoneRule[],
  managed: ManagedRuleset | undefined,
): ExplainedDeployment {
  const { rulesetId = "", overrides = { categories: [], rules: {} } } = deploys ?? {};
  const effective = managed === undefined ? [] : effectiveRules(managed, overrides);
  const on = enabled ? effective.filter((rule) => rule.enabled).length : 0;
  const score = effective.find(({ scoreThreshold }) => scoreThreshold !== undefined);
  const changed = (member: "enabled" | "action", to: (rule: EffectiveRule) => boolean): ExplainedRule[] =>
    effective.flatMap((rule) => {
      const by = rule.decided[member];
      return by === "default" || rule[member] === rule.byDefault[member] || !to(rule)
        ? []
        : [{ id: rule.id, description: rule.description, by }];
    });
  const actions = new Map(effective.map((rule) => [rule.id, rule.action]));
  return omitAbsent({
    ruleId: id,
    ref,
    description,
    enabled,
    expression,
    ruleset: omitAbsent({ id: rulesetId, name: managed?.name, version: managed?.version }),
    paranoiaLevel: levelOf(effective),
    scoreThreshold: score?.scoreThreshold,
    action: score?.action ?? overrides.action,
    rules: managed === undefined ? undefined : { on, off: effective.length - on },
    switchedOff: changed("enabled", (rule) => !rule.enabled),
    switchedOn: changed("enabled", (rule) => rule.enabled),
    otherAction: changed("action", (rule) => rule.enabled).map((rule) => ({
      ...rule,
      action: actions.get(rule.id) ?? "",
    })),
    exceptions: before.flatMap((rule) => {
      const skips = rule.enabled ? skippedBy(rule.skips, rulesetId) : undefined;
      if (skips === undefined) return [];
      const { id: ruleId, ref, description, expression } = rule;
      return [{ ruleId, ref, description, expression, skips }];
    }),
  });
}

/** A single rule that was switched on by itself does not raise the level. */
function levelOf(effective: readonly EffectiveRule[]): number | undefined {
  const has = (level: number, of: readonly EffectiveRule[]): boolean =>
    of.some(({ tags }) => tags.includes(paranoiaTag(level)));
  if (!LEVELS.some((level) => has(level, effective))) return undefined;
  const on = effective.filter(({ enabled, decided }) => enabled && decided.enabled !== "rule");
  return LEVELS.filter((level) => has(level, on)).at(-1);
}

/** What a skip rule leaves out of a deployment of this ruleset; undefined where it does not concern it. */
export function skippedBy(skips: Skip | undefined, rulesetId: string): "all" | number | undefined {
  if (skips === undefined) return undefined;
  if (skips === "all") return "all";
  if ("rulesets" in skips) return skips.rulesets.includes(rulesetId) ? "all" : undefined;
  if ("rules" in skips) return skips.rules[rulesetId]?.length;
  const { ruleset, rulesets, rules, phases } = skips.other;
  const has = (list: unknown, id: string): boolean => Array.isArray(list) && list.includes(id);
  if (ruleset === "current" || has(rulesets, rulesetId) || has(phases, PHASE)) return "all";
  const listed = isJsonObject(rules) ? rules[rulesetId] : undefined;
  return Array.isArray(listed) ? listed.length : undefined;
}

/** The table: each column with what its cell says of a deployment. */
const COLUMNS: Readonly<Record<string, (deployment: ExplainedDeployment, number: number) => string>> = {
  "#": (_, number) => String(number),
  Ruleset: nameOf,
  Version: ({ ruleset }) => ruleset.version ?? "",
  Requests: ({ expression }) => code(expression),
  State: ({ enabled }) => (enabled ? "on" : "**off**"),
  "Paranoia level": ({ paranoiaLevel }) => String(paranoiaLevel ?? ""),
  Threshold: ({ scoreThreshold }) => (scoreThreshold === undefined ? "" : thresholdInWords(scoreThreshold)),
  Action: ({ action }) => action ?? "",
  Rules: ({ rules }) => (rules === undefined ? "unknown" : `${rules.on} on, ${rules.off} off`),
  Exceptions: ({ exceptions }) => (exceptions.length === 0 ? "" : String(exceptions.length)),
};

function toMarkdown(zoneId: string, deployments: readonly ExplainedDeployment[]): string {
  const heading = `### Managed rulesets of zone ${zoneId}`;
  if (deployments.length === 0) return `${heading}\n\nNone is deployed.\n`;
  const names = Object.keys(COLUMNS);
  const rows = deployments.map((each, index) => Object.values(COLUMNS).map((cell) => cell(each, index + 1)));
  const table = [names, names.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  const lists = deployments.flatMap((deployment, index) => listsOf(deployment, index + 1));
  return `${[heading, "", ...table, ...(lists.length === 0 ? [] : ["", ...lists])].join("\n")}\n`;
}

const SHOWN_RULES = 10;

function listsOf(deployment: ExplainedDeployment, number: number): string[] {
  const { switchedOff, switchedOn, otherAction, exceptions } = deployment;
  const actions = [...new Set(otherAction.map(({ action }) => action))].sort();
  const given = (action: string): ExplainedRule[] => otherAction.filter((rule) => rule.action === action);
  const lines = [
    ...inGroups("off", switchedOff),
    ...inGroups("on", switchedOn),
    ...actions.flatMap((action) => inGroups(action, given(action))),
    ...exceptions.map(
      ({ skips, expression, description }) =>
        `not for ${code(expression)}${description === "" ? "" : ` (${plain(description)})`}: ${skips === "all" ? "all of it" : pluralize(skips, "rule")}`,
    ),
  ];
  return lines.length === 0
    ? []
    : [`${number}. ${nameOf(deployment)}`, ...lines.map((line) => `   - ${line}`)];
}

/** One line for what decided; rules that were decided one by one are named. */
function inGroups(what: string, rules: readonly ExplainedRule[]): string[] {
  return [...new Set(rules.map(({ by }) => by))].map((by) => {
    const group = rules.filter((rule) => rule.by === by);
    const count = `${what}: ${pluralize(group.length, "rule")}`;
    if (by === "ruleset") return `${count}, by an override of the whole ruleset`;
    if (by !== "rule") return `${count} tagged ${code(by.slice("category ".length))}`;
    const names = group
      .slice(0, SHOWN_RULES)
      .map(({ id, description }) => `${plain(description)} (${code(id)})`);
    return `${count}: ${names.join(", ")}${group.length > SHOWN_RULES ? ", …" : ""}`;
  });
}

function nameOf({ ruleset }: ExplainedDeployment): string {
  return plain(ruleset.name ?? ruleset.id);
}

/** Text of others within a table and within Markdown. */
function plain(text: string): string {
  return text.replace(/[\\|`*_<>[\]]/g, "\\$&").replace(/\s+/g, " ");
}

function code(text: string): string {
  const fence = text.includes("`") ? "``" : "`";
  return `${fence}${text.replace(/\|/g, "\\|").replace(/\s+/g, " ")}${fence}`;
}
