import { isJsonObject, type JsonObject } from "../../basics/json";
import { applying, pluralize } from "../../basics/words";
import { formatNumber } from "../../limits/workers";
import { IMPACT } from "../../runtime/impact";
import { parseForeignCsp, type Directives } from "../../page-shield/csp";
import type { Blocked } from "../../page-shield/impact";
import { threatMark } from "../../page-shield/threat";
import { newlyAllowed, unreportedText } from "../../page-shield/newly-allowed";
import { joined, say, someOf, value, words, type Phrase } from "../phrase";
import { wouldBlockIn } from "../sections/page-shield";
import type { StepView } from "../sections/section";
import { asObject, cell, SECRET, isHidden } from "../values";
import { selectsNoLess, selectsNothing } from "./requests";
import {
  judgesFor,
  isUnchanged,
  type Change,
  type Comparison,
  type ObjectTraits,
  type Judge,
  type Side,
} from "./sides";

/** Compares what a zone's pages may load, and what Page Shield monitors, before and after the update. */

const policyTraits: ObjectTraits = {
  scope: ["zoneId"],
  isSole: false,
  leaves: () => undefined,
  mayReplace: () => true, // Browsers enforce all of a page's policies.
};

/** Returns what a policy does with sources that it doesn't allow. */
function effectOf(side: Side | undefined): "blocks" | "reports" | "nothing" | "unknown" {
  if (side === undefined || side.inputs["enabled"] === false) return "nothing";
  const { action, enabled } = side.inputs;
  if (isHidden(enabled)) return "unknown";
  return action === "allow" ? "blocks" : action === "log" ? "reports" : "unknown";
}

/** Whether there's nothing that the policy could do less of. What its unknown fields do, nobody knows. */
const isInert = (side: Side): boolean =>
  effectOf(side) === "nothing" ||
  (side.inputs["extra"] === undefined && selectsNothing(side.inputs["expression"]));

/** Finds a policy that stops blocking or reporting. */
const stopped: Comparison = ({ before, after }) => {
  const [was, is] = [effectOf(before), effectOf(after)];
  if (before === undefined || isInert(before) || is === "blocks") return [];
  const isSame = was === is && was !== "unknown";
  if (isSame && isUnchanged(before.inputs["action"], after?.inputs["action"])) return [];
  const policy = say`policy ${cell(before.inputs["description"], 60)}`;
  if (was === "reports" || was === "unknown")
    return [say`${policy} no longer reports: ${stateOf(before)} → ${stateOf(after)}`];
  const still = is === "reports" ? ", only reports" : "";
  return [
    say`${policy} no longer blocks anything${words(still)}: ${stateOf(before)} → ${stateOf(after)}${loadsAgain(before)}`,
  ];
};

/** Names what a policy blocked when it was last changed, malicious scripts first. Empty if that isn't recorded. */
function loadsAgain({ outputs }: Side): Phrase {
  const blocked: Blocked | undefined = wouldBlockIn(asObject(outputs[IMPACT]))?.scripts;
  const { count = 0, malicious = 0 } = blocked ?? {};
  if (blocked === undefined || count === 0) return words("");
  const worst = malicious > 0 ? ` (${formatNumber(malicious)} malicious)` : "";
  return say`. When it was last changed, it blocked ${words(pluralize(count, "active script") + worst)}${firstUrls(blocked, blocked.urls, count)}`;
}

function stateOf(side: Side | undefined): Phrase {
  if (side === undefined) return words("deleted");
  const { enabled, action } = side.inputs;
  if (enabled === false) return words("disabled");
  return cell(isHidden(enabled) ? enabled : action, 40);
}

/** Compares a policy that acts, unless it stops blocking or reporting. */
const whileEnforced =
  (lost: (before: Side, after: Side) => readonly Phrase[]): Comparison =>
  (change) => {
    const { before, after } = change;
    if (before === undefined || after === undefined || stopped(change).length > 0) return [];
    return isInert(before) ? [] : lost(before, after);
  };

/** Finds a policy that covers fewer pages. */
const fewerPages = whileEnforced((before, after) => {
  const [was, is] = [before.inputs["expression"], after.inputs["expression"]];
  if (isUnchanged(was, is) || selectsNoLess(is, was)) return [];
  const policy = cell(before.inputs["description"], 60);
  return [say`policy ${policy} may cover fewer pages: ${cell(was, 300)} → ${cell(is, 300)}`];
});

/** Finds a policy that allows more sources. */
const moreSources = whileEnforced((before, after) => {
  const [was, is] = [before.inputs["value"], after.inputs["value"]];
  if (isUnchanged(was, is)) return [];
  const policy = say`policy ${cell(before.inputs["description"], 60)}`;
  const [wasAllowed, isAllowed] = [directivesOf(was), directivesOf(is)];
  if (wasAllowed === undefined || isAllowed === undefined)
    return [say`${policy} may allow more: ${cell(was)} → ${cell(is)}`];
  return newlyAllowed(wasAllowed, isAllowed).map(({ directive, before: deciding, sources }) => {
    const isAnother = deciding.some((name) => name !== directive);
    const side = (of: Directives, names: readonly string[]): Phrase =>
      isAnother
        ? joined(names.map((name) => cell([name, ...(of.get(name) ?? [])].join(" "), 200)))
        : formatSources(directive, of.get(directive));
    const change = say`${side(wasAllowed, deciding)} → ${side(isAllowed, [directive])}`;
    return sources === undefined
      ? say`${policy} no longer restricts ${directive}: ${change}`
      : say`${policy} newly allows ${someOf(sources.map(value), MOST_SOURCES)} in ${directive}: ${change}`;
  });
});

const MOST_SOURCES = 8;

function formatSources(name: string, sources: readonly string[] | undefined): Phrase {
  return sources === undefined
    ? words("not set")
    : cell(sources.length === 0 ? name : sources.join(" "), 200);
}

/** Undefined if the plan doesn't show it, or someone else wrote an invalid one. */
function directivesOf(given: unknown): Directives | undefined {
  return typeof given !== "string" || isHidden(given) ? undefined : parseForeignCsp(given);
}

/** Finds changes to API fields that this version doesn't know. They may have any effect. */
const changedExtra = whileEnforced((before, after) => {
  const [was, is] = [before.inputs["extra"], after.inputs["extra"]];
  if (isUnchanged(was, is)) return [];
  const policy = cell(before.inputs["description"], 60);
  return [
    say`the extra argument of policy ${policy} changes, and its effect is unknown: ${cell(was)} → ${cell(is)}`,
  ];
});

export const policy = judgesFor(policyTraits, {
  stops: stopped,
  pages: fewerPages,
  sources: moreSources,
  extra: changedExtra,
});

const settingsTraits: ObjectTraits = {
  scope: ["zoneId"],
  isSole: true,
  // Unless it keeps the settings, a destroy restores the earlier ones.
  leaves: (old) => {
    const { inputs, outputs } = old;
    return inputs["onDestroy"] === "keep"
      ? old
      : { inputs: { ...inputs, ...previousOf(outputs["previous"]) }, outputs };
  },
  mayReplace: () => true,
};

/** Returns the settings that a destroy restores. What they are is hidden if the zone's ID may be secret. */
function previousOf(previous: unknown): JsonObject {
  const hidden = { enabled: SECRET, useReportingEndpoint: SECRET, useConnectionUrlPath: SECRET };
  return isHidden(previous) ? hidden : asObject(previous);
}

/** Returns the zone's settings as found by the preview of a new resource. */
function foundSettings({ found: { settings } }: Change): Side | undefined {
  return isJsonObject(settings) ? { inputs: settings, outputs: { previous: settings } } : undefined;
}

/** Finds settings that disable Page Shield. */
const monitorOff: Comparison = (change) => {
  const { before: old, after } = change;
  const before = foundSettings(change) ?? old;
  if (after === undefined || isUnchanged(before?.inputs["enabled"], after.inputs["enabled"])) return [];
  if (after.inputs["enabled"] === true || before?.inputs["enabled"] === false) return [];
  const zone = cell(after.inputs["zoneId"], 40);
  if (before === undefined) return [say`Page Shield in zone ${zone} is disabled, if it's enabled now`];
  const is = words(isHidden(after.inputs["enabled"]) ? "may be" : "is");
  return [say`Page Shield in zone ${zone} ${is} disabled`];
};

/** Finds settings that make Page Shield report or record less. If it's disabled, it does neither. */
function reporting(name: string, what: string): Comparison {
  return (change) => {
    const { before: old, after } = change;
    const before = foundSettings(change) ?? old;
    if (before === undefined || after === undefined || before.inputs["enabled"] === false) return [];
    // One that isn't declared has the value that the preview or, before it, the first update found.
    const { [name]: previous } = previousOf((old ?? before).outputs["previous"]);
    const was = before.inputs[name] ?? old?.inputs[name] ?? previous;
    const is = after.inputs[name] ?? (old?.inputs[name] === undefined ? was : previous);
    if (isUnchanged(was, is) || is === true || is === undefined || was === false) return [];
    const zone = cell(after.inputs["zoneId"], 40);
    return [say`Page Shield in zone ${zone} ${words(what)}: ${name} ${cell(was)} → ${cell(is)}`];
  };
}

export const settings = judgesFor(settingsTraits, {
  monitor: monitorOff,
  reportingEndpoint: reporting("useReportingEndpoint", "no longer reports to Cloudflare's endpoint"),
  connectionPaths: reporting("useConnectionUrlPath", "no longer records connection paths"),
});

/**
 * Finds what a policy newly blocks on the live zone. What's malicious should be blocked, and what the policy blocks
 * already is no change.
 */
export const policyBlocks: Judge = (all) => {
  const found = applying(newlyBlocked(all), unknownBlocks(all));
  return found.length === 0 ? [] : [["blocks", joined(found, "; ")]];
};

/** Says which scripts and connections of the live zone the policy newly blocks. */
export function newlyBlocked({ impact }: StepView): Phrase | undefined {
  const { newly } = wouldBlockIn(impact.members) ?? {};
  const count = newly === undefined ? 0 : newly.count - newly.malicious;
  if (newly === undefined || count === 0) return undefined;
  const urls = newly.urls.slice(newly.malicious);
  const what = count === 1 ? "script or connection" : "scripts or connections";
  const besides = newly.malicious > 0 ? `, besides ${formatNumber(newly.malicious)} malicious` : "";
  return say`would newly block ${words(`${formatNumber(count)} active ${what}${besides}`)}${firstUrls(newly, urls, count)}`;
}

function unknownBlocks({ impact }: StepView): Phrase | undefined {
  const { unreported = [] } = wouldBlockIn(impact.members) ?? {};
  return unreported.length === 0 ? undefined : words(unreportedText(unreported));
}

/** Lists URLs after a colon. @param count how many there are in all. */
function firstUrls(blocked: Blocked, urls: readonly string[], count: number): Phrase {
  const more = words(count > urls.length ? ` and ${formatNumber(count - urls.length)} more` : "");
  return urls.length === 0
    ? words("")
    : say`: ${joined(urls.map((url) => say`${value(url)}${words(threatMark(blocked.scores, url))}`))}${more}`;
}
