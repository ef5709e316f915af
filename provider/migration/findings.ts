import { z } from "zod";
import { MIGRATION } from "../limits/index";
import { canonicalJson } from "../basics/json";
import { pluralize } from "../basics/words";
import {
  expressionOf,
  isMigrated,
  isOwasp,
  switchOf,
  urlOf,
  type PreviousRules,
  type Listing,
} from "./previous-rules";
import { rulesToSendNext, type Observation } from "./observation";
import { deploys, fromWire, type WireRule } from "./rules";
import {
  mappedAction,
  mappedSensitivity,
  owaspOf,
  OWASP_RULESET,
  ruleText,
  thresholdText,
} from "./rule-text";

/** Something that an assessment found in a zone and that you should know before the zone migrates. */
export interface Finding {
  /**
   * `blocks`: prevents the migration. `notCounted`: couldn't be read, so check it manually. `lost`: isn't carried over.
   * `changes`: changes with the migration. `note`: everything else.
   */
  readonly weight: "blocks" | "notCounted" | "lost" | "changes" | "note";
  /** The topic, in one word. */
  readonly about: string;
  /** The finding in one line. A long list ends in `…`. */
  readonly text: string;
  /** All items that the text counts, even those it doesn't list. Absent if the text counts nothing. */
  readonly items?: readonly string[];
}

export const finding: z.ZodType<Finding> = z.object({
  weight: z.enum(["blocks", "notCounted", "lost", "changes", "note"]),
  about: z.string(),
  text: z.string(),
  items: z.array(z.string()).exactOptional(),
});

const DASHBOARD = "Security > WAF > Managed rules";

/** Returns all findings about a zone, the most serious ones first. */
export function findingsOf(observation: Observation, configured?: readonly WireRule[]): Finding[] {
  const { state, open, zoneId } = observation;
  if (state.phase === "retired") {
    const text = "Cloudflare has retired the migration: the zone can no longer be assessed or migrated";
    return [newFinding("note", "retired", text)];
  }
  if (state.phase === "finished" || open === undefined) {
    return observation.deploys === false
      ? [newFinding("changes", "nothingOn", FINISHED_WITHOUT)]
      : [newFinding("note", "finished", FINISHED)];
  }
  const { previous, compatible } = open;
  const blocks = [...uriOverrides(zoneId, previous), ...supportNeeded(previous)];
  const incompatible =
    compatible === undefined
      ? "Cloudflare's compatibility check gave no verdict, so the migration won't proceed"
      : "Cloudflare's check reports the zone as incompatible, and the zone's settings don't show why. Contact Cloudflare Support";
  const undocumented =
    "the zone is in a state that Cloudflare doesn't document, so the migration won't proceed until the state changes";
  return [
    ...blocks,
    ...(compatible !== true && blocks.length === 0
      ? [newFinding("blocks", "compatibility", incompatible)]
      : []),
    ...contradiction(observation),
    ...notCounted(previous),
    ...owaspMapping(previous, open.proposed?.rules ?? []),
    ...lostOverrides(previous),
    ...exceptions(observation, configured),
    ...sendingFindings(observation, configured),
    ...(state.phase === "other" ? [newFinding("note", "state", undocumented)] : []),
    newFinding("changes", "code", CODE),
    newFinding("note", "dashboard", `in the dashboard: ${DASHBOARD}`),
  ];
}

const FINISHED =
  "the previous rules are off and the new ones are on; manage the new rules, categories and settings with ManagedRulesetOverride";
const FINISHED_WITHOUT =
  "the previous rules are off, and no enabled rule executes a managed ruleset, so the zone has no active managed rules. Deploy a ruleset with ManagedRulesetOverride";
const CODE =
  "infrastructure code for the previous packages, groups and rules stops working; replace it with ManagedRulesetOverride";

export function blocking(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ weight }) => weight === "blocks");
}

function newFinding(
  weight: Finding["weight"],
  about: string,
  text: string,
  items?: readonly string[],
): Finding {
  return { weight, about, text, ...(items === undefined ? {} : { items: [...items] }) };
}

function itemsOf<T>(list: Listing<T>): readonly T[] {
  return "items" in list ? list.items : [];
}

function uriOverrides(zone: string, { overrides }: PreviousRules): Finding[] {
  return itemsOf(overrides).map(({ id, urls }) => {
    const shown = [...(urls ?? []).slice(0, 2), ...((urls ?? []).length > 2 ? [CUT] : [])];
    const forThese = urls?.[0] === undefined ? "" : ` (${shown.join(", ")})`;
    const text = `URI-based override ${id}${forThese} must be deleted first: DELETE /zones/${zone}/firewall/waf/overrides/${id}`;
    return newFinding("blocks", "uriOverride", text, urls ?? undefined);
  });
}

/** Finds firewall rules that exceed the documented limits. Only Cloudflare Support can migrate a zone that has any. */
function supportNeeded({ firewallRules }: PreviousRules): Finding[] {
  const all = itemsOf(firewallRules);
  const migrated = all.filter(isMigrated);
  const { MAX_FIREWALL_RULES, MAX_EXPRESSION_BYTES } = MIGRATION;
  const tooMany = `${migrated.length} of ${all.length} firewall rules bypass the managed rules and would be migrated; the limit is ${MAX_FIREWALL_RULES}. Contact Cloudflare Support`;
  const ids = migrated.map(({ id }) => id);
  const tooLong = migrated.flatMap((rule) => {
    const bytes = Buffer.byteLength(expressionOf(rule));
    const text = `the expression of firewall rule ${rule.id} is ${bytes} bytes; the limit is ${MAX_EXPRESSION_BYTES}. Contact Cloudflare Support`;
    return bytes > MAX_EXPRESSION_BYTES ? [newFinding("blocks", "firewallExpression", text)] : [];
  });
  return [
    ...(ids.length > MAX_FIREWALL_RULES ? [newFinding("blocks", "firewallRules", tooMany, ids)] : []),
    ...tooLong,
  ];
}

/**
 * Returns a blocking finding if the status says both validation and start. A step from validation sends the entry point
 * unchanged, so a zone that's really at start would miss the proposed rules.
 */
function contradiction({ state }: Observation): Finding[] {
  if (state.phase !== "validation" || state.raw?.trim().toLowerCase() !== "start") return [];
  const text = `Cloudflare shows both versions as enabled, but reports the state "${state.raw}". It's unclear what a step would do, so the migration won't proceed. Check the dashboard (${DASHBOARD})`;
  return [newFinding("blocks", "state", text)];
}

function notCounted(previous: PreviousRules): Finding[] {
  const lists: [string, string, Listing<unknown>][] = [
    ["firewallRules", "firewall rules", previous.firewallRules],
    ["pageRules", "page rules", previous.pageRules],
    ["uriOverride", "URI-based overrides", previous.overrides],
    ["settings", "previous settings", previous.packages],
    ["owaspGroups", "OWASP group overrides, which are never carried over", previous.owaspGroups],
    ["owaspRules", "OWASP rule overrides, which are never carried over", previous.owaspRules],
  ];
  // If the packages can't be read, their content can't either: one finding is enough.
  const known = "unread" in previous.packages ? lists.slice(0, 4) : lists;
  return known.flatMap(([about, noun, list]) => {
    if (!("unread" in list)) return [];
    return [
      newFinding("notCounted", about, `couldn't read the ${noun} (${list.unread}). Check them manually`),
    ];
  });
}

/** Applies the documented mapping to the previous settings, and compares the result with the proposal. */
function owaspMapping({ packages }: PreviousRules, proposed: readonly WireRule[]): Finding[] {
  const owasp = itemsOf(packages).find(isOwasp);
  if (owasp === undefined) return [];
  const sensitivity = owasp.sensitivity ?? "default";
  const mapped = mappedSensitivity(sensitivity);
  const action = owasp.action_mode ?? undefined;
  const became = action === undefined ? "" : `; action ${action} -> ${mappedAction(action)}`;
  const to =
    mapped === undefined
      ? "the OWASP ruleset is not deployed"
      : `paranoia level ${mapped.paranoiaLevel}, ${thresholdText(mapped.scoreThreshold)}`;
  const text = `OWASP sensitivity ${sensitivity} -> ${to}${mapped === undefined ? "" : became}`;
  const rule = proposed.find((each) => owaspOf(each) !== undefined);
  const offered = rule === undefined ? undefined : owaspOf(rule);
  const agrees =
    proposed.length === 0 ||
    (offered?.paranoiaLevel === mapped?.paranoiaLevel && offered?.scoreThreshold === mapped?.scoreThreshold);
  const instead = rule === undefined ? `no rule for ruleset ${OWASP_RULESET}` : ruleText(rule);
  const otherwise = `Cloudflare's proposal differs from the documented mapping: ${instead}`;
  return [newFinding("changes", "owasp", text), ...(agrees ? [] : [newFinding("note", "owasp", otherwise)])];
}

/** The maximum number of names shown in one line. */
const SHOWN_NAMES = 5;

function lostOverrides({ owaspGroups, owaspRules }: PreviousRules): Finding[] {
  const groups = itemsOf(owaspGroups).filter(({ mode }) => mode === "off");
  const groupNames = groups.map(({ id, name }) => name ?? id);
  const ruleIds = itemsOf(owaspRules).map(({ id }) => id);
  return [
    ...lostFindings("owaspGroups", "OWASP group override", groupNames),
    ...lostFindings("owaspRules", "OWASP rule override", ruleIds),
  ];
}

/** The start of every finding about something that isn't carried over. */
export const LOST = "not carried over: ";

function lostFindings(about: string, noun: string, items: readonly string[]): Finding[] {
  if (items.length === 0) return [];
  const text = `${LOST}${pluralize(items.length, noun)}: ${shortList(items)}`;
  return [newFinding("lost", about, text, items)];
}

/** Marks the end of a list that was cut. */
const CUT = "…";

function shortList(all: readonly string[], between = ", "): string {
  return [...all.slice(0, SHOWN_NAMES), ...(all.length > SHOWN_NAMES ? [CUT] : [])].join(between);
}

/** Whether the text leaves out some of the items that it counts. */
export function isCut({ text, items }: Finding): boolean {
  return items !== undefined && text.includes(CUT);
}

/**
 * Checks that the exceptions to send cover every firewall rule and page rule that bypasses the previous managed rules.
 * Cloudflare converts such rules to exceptions, because they have no effect on the new managed rules.
 */
function exceptions(observation: Observation, configured: readonly WireRule[] | undefined): Finding[] {
  const { open } = observation;
  if (open === undefined) return [];
  const bypasses = itemsOf(open.previous.firewallRules).filter(isMigrated);
  const off = itemsOf(open.previous.pageRules).filter((rule) => switchOf(rule) === "off");
  if (bypasses.length + off.length === 0) return [];
  const sending = rulesToSendNext(observation, configured)?.rules.map(({ rule }) => rule);
  const rules = sending ?? open.proposed?.rules;
  const urls = off.map(urlOf);
  if (rules === undefined) {
    const text = `${pluralize(bypasses.length, "firewall bypass rule")} and ${pluralize(off.length, "WAF-disabling page rule")} have no effect on the new rules unless they become exceptions (skip rules). Cloudflare's proposal couldn't be read`;
    return [newFinding("changes", "pageRules", text, [...bypasses.map(expressionOf), ...urls])];
  }
  const left = rules.filter(({ action }) => action === "skip");
  /** Whether one of the remaining exceptions fits. If so, removes the exception, so that it's counted only once. */
  const isConverted = (fits: (skip: WireRule) => boolean): boolean => {
    const at = left.findIndex(fits);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  };
  const missingBypasses = bypasses
    .filter((rule) => !isConverted(({ expression }) => expression.trim() === expressionOf(rule).trim()))
    .map((rule) => `${rule.id} (${expressionOf(rule)})`);
  const missingPages = urls.filter((url) => !isConverted(({ expression }) => isFor(expression, url)));
  const share = (noun: string, all: number, missing: number): string[] =>
    all === 0 ? [] : [`${all - missing} of ${pluralize(all, noun)}`];
  const shares = [
    ...share("firewall bypass rule", bypasses.length, missingBypasses.length),
    ...share("WAF-disabling page rule", off.length, missingPages.length),
  ];
  const become = `converted to exceptions (skip rules): ${shares.join(", ")}`;
  return [
    newFinding("note", "exceptions", become),
    ...lostFindings("firewallRules", "firewall bypass rule", missingBypasses),
    ...lostFindings("pageRules", "WAF-disabling page rule", missingPages),
  ];
}

/** Whether an expression contains the host and path of a page rule's pattern, with any operators. */
function isFor(expression: string, url: string): boolean {
  const [, host = "", path = ""] = /^(?:https?:\/\/)?([^/]*)(\/.*)?$/.exec(url) ?? [];
  return [...host.split("*"), ...path.split("*")]
    .filter((part) => part !== "" && part !== "/")
    .every((part) => expression.includes(JSON.stringify(part).slice(1, -1)));
}

/** Returns findings about the rules that the next step changes, removes or leaves out. */
function sendingFindings(observation: Observation, configured: readonly WireRule[] | undefined): Finding[] {
  const sending = rulesToSendNext(observation, configured);
  if (sending === undefined) return [];
  const { dropped, overwritten, passedOver } = sending;
  const rules = sending.rules.map(({ rule }) => rule);
  const changed = sending.rules.filter(({ origin }) => origin === "changed").map(({ rule }) => rule);
  const first = rules.findIndex(deploys);
  const late = rules.filter(({ action }, index) => action === "skip" && first >= 0 && index > first);
  const words = (found: readonly WireRule[], between?: string): string =>
    shortList(found.map(ruleText), between);
  const named = shortList(dropped.map((rule) => `${String(rule["id"])} ${ruleText(rule)}`));
  const texts = {
    changed: `the next step changes the settings of ${pluralize(changed.length, "rule")} in the entry point: ${words(changed)}`,
    dropped: `the configuration argument removes ${pluralize(dropped.length, "rule")} from the entry point: ${named}`,
    passedOver: `proposed by Cloudflare, but not sent: ${words(passedOver, "; ")}`,
    late: `exceptions without effect, because they come after the execute rule: ${words(late)}`,
  };
  const all: readonly (readonly [boolean, Finding])[] = [
    [changed.length > 0, newFinding("note", "entryPoint", texts.changed, overwritten.map(ruleJson))],
    [dropped.length > 0, newFinding("lost", "entryPoint", texts.dropped, dropped.map(ruleJson))],
    [passedOver.length > 0, newFinding("note", "proposed", texts.passedOver, passedOver.map(ruleJson))],
    [first < 0, newFinding("changes", "nothingOn", NOTHING_SENT)],
    [late.length > 0, newFinding("note", "order", texts.late, late.map(ruleJson))],
  ];
  return all.flatMap(([holds, found]) => (holds ? [found] : []));
}

const NOTHING_SENT = "no enabled execute rule would be sent, so the zone would have no active managed rules";

/** Formats a rule as JSON, in the format of `configuration`. */
function ruleJson(rule: WireRule): string {
  return canonicalJson(fromWire(rule));
}
