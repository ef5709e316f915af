import { isJsonObject } from "../../runtime/values";
import { CspError, parseCsp, type Directives } from "../../page-shield/csp";
import { newlyAllowed } from "../../page-shield/newly-allowed";
import { joined, say, value, words, type Phrase } from "../phrase";
import { wouldBlock } from "../sections/page-shield";
import { bag, cell, counted } from "../values";
import { selectsNoLess } from "./requests";
import {
  isHidden,
  judging,
  stays,
  type Change,
  type Comparison,
  type Fate,
  type Judge,
  type Side,
} from "./sides";

/** What a zone's pages may load, and what is seen of it, before and after. */

const policyFate: Fate = {
  scope: ["zoneId"],
  isSole: false,
  leaves: () => undefined,
  mayReplace: () => true, // Browsers apply every policy of a page.
};

/** What a policy does with what it doesn't allow. */
function effectOf(side: Side | undefined): "blocks" | "reports" | "nothing" | "unknown" {
  if (side === undefined || side.inputs["enabled"] === false) return "nothing";
  const { action, enabled } = side.inputs;
  if (isHidden(enabled)) return "unknown";
  return action === "allow" ? "blocks" : action === "log" ? "reports" : "unknown";
}

/** A policy that blocked or reported, and does so no more. */
const stopped: Comparison = ({ before, after }) => {
  const [was, is] = [effectOf(before), effectOf(after)];
  if (before === undefined || was === "nothing" || is === "blocks") return [];
  if (was === is && stays(before.inputs["action"], after?.inputs["action"])) return [];
  const policy = say`policy ${cell(before.inputs["description"], 60)}`;
  if (was === "reports" || was === "unknown")
    return [say`${policy} no longer reports: ${stateOf(before)} → ${stateOf(after)}`];
  const still = is === "reports" ? ", it only reports" : "";
  return [say`${policy} no longer blocks anything${words(still)}: ${stateOf(before)} → ${stateOf(after)}`];
};

function stateOf(side: Side | undefined): Phrase {
  if (side === undefined) return words("deleted");
  const { enabled, action } = side.inputs;
  if (enabled === false) return words("switched off");
  return isHidden(enabled) ? words("known after apply") : cell(action, 40);
}

/** Both sides of a policy that goes on with what it did, or does more. */
function bothActing(change: Change): { readonly before: Side; readonly after: Side } | undefined {
  const { before, after } = change;
  if (before === undefined || after === undefined || stopped(change).length > 0) return undefined;
  return effectOf(before) === "nothing" ? undefined : { before, after };
}

/** Which pages it covers. */
const fewerPages: Comparison = (change) => {
  const both = bothActing(change);
  if (both === undefined) return [];
  const [was, is] = [both.before.inputs["expression"], both.after.inputs["expression"]];
  if (stays(was, is) || selectsNoLess(is, was)) return [];
  const policy = cell(both.before.inputs["description"], 60);
  return [say`policy ${policy} may cover fewer pages: ${cell(was, 300)} → ${cell(is, 300)}`];
};

/** Which sources it allows. */
const moreSources: Comparison = (change) => {
  const both = bothActing(change);
  if (both === undefined) return [];
  const [was, is] = [both.before.inputs["value"], both.after.inputs["value"]];
  if (stays(was, is)) return [];
  const policy = say`policy ${cell(both.before.inputs["description"], 60)}`;
  const [before, after] = [directivesOf(was), directivesOf(is)];
  if (before === undefined || after === undefined)
    return [say`${policy} may allow more: ${cell(was)} → ${cell(is)}`];
  return newlyAllowed(before, after).map(({ directive, before: deciding, sources }) => {
    const isAnother = deciding.some((name) => name !== directive);
    const side = (of: Directives, names: readonly string[]): Phrase =>
      isAnother
        ? joined(names.map((name) => cell([name, ...(of.get(name) ?? [])].join(" "), 200)))
        : written(directive, of.get(directive));
    const change = say`${side(before, deciding)} → ${side(after, [directive])}`;
    if (sources === undefined) return say`${policy} no longer restricts ${directive}: ${change}`;
    const shown = sources.slice(0, MOST_SOURCES).map((source) => value(source));
    const more = sources.length > MOST_SOURCES ? `, and ${sources.length - MOST_SOURCES} more` : "";
    return say`${policy} newly allows ${joined(shown)}${words(more)} in ${directive}: ${change}`;
  });
};

const MOST_SOURCES = 8;

function written(name: string, sources: readonly string[] | undefined): Phrase {
  return sources === undefined
    ? words("not set")
    : cell(sources.length === 0 ? name : sources.join(" "), 200);
}

function directivesOf(given: unknown): Directives | undefined {
  if (typeof given !== "string" || isHidden(given)) return undefined;
  try {
    return parseCsp(given);
  } catch (error) {
    if (error instanceof CspError) return undefined; // What somebody stored by hand.
    throw error;
  }
}

/** Members of the API that this version doesn't know may do anything. */
const otherMembers: Comparison = (change) => {
  const both = bothActing(change);
  if (both === undefined || stays(both.before.inputs["extra"], both.after.inputs["extra"])) return [];
  const policy = cell(both.before.inputs["description"], 60);
  const [was, is] = [both.before.inputs["extra"], both.after.inputs["extra"]];
  return [say`extra of policy ${policy} changes, and what it does is not known: ${cell(was)} → ${cell(is)}`];
};

const judgePolicy = judging(policyFate, [stopped, fewerPages, moreSources, otherMembers]);
export const policyStops = judgePolicy(stopped);
export const policyPages = judgePolicy(fewerPages);
export const policySources = judgePolicy(moreSources);
export const policyExtra = judgePolicy(otherMembers);

const settingsFate: Fate = {
  scope: ["zoneId"],
  isSole: true,
  // Off by declaration, or since a destroy puts back what was there before.
  leaves: (old) => {
    const { inputs, outputs } = old;
    return inputs["onDestroy"] === "keep"
      ? old
      : { inputs: { ...inputs, ...bag(outputs["previous"]) }, outputs };
  },
  mayReplace: () => true,
};

/** What monitoring and reporting a zone has: a setting that isn't declared is as it was found. */
const settingOf = (side: Side, name: string, recorded: Side): unknown =>
  side.inputs[name] ?? bag(recorded.outputs["previous"])[name];

/** What the preview of a new resource has found: a zone always has settings. */
function foundBy(after: Side | undefined): Side | undefined {
  const found = after?.inputs["found"];
  return isJsonObject(found) ? { inputs: found, outputs: { previous: found } } : undefined;
}

/** The monitor itself. */
const monitorOff: Comparison = ({ before: old, after }) => {
  const before = old ?? foundBy(after);
  if (after === undefined || stays(before?.inputs["enabled"], after.inputs["enabled"])) return [];
  if (after.inputs["enabled"] === true || before?.inputs["enabled"] === false) return [];
  const zone = cell(after.inputs["zoneId"], 40);
  return before === undefined
    ? [say`the page monitor of zone ${zone} is switched off, if it is on`]
    : [say`the page monitor of zone ${zone} is switched off`];
};

/** What of it is reported, and where to. */
function reporting(name: string, what: string): Comparison {
  return ({ before: old, after }) => {
    const before = old ?? foundBy(after);
    if (before === undefined || after === undefined) return [];
    const [was, is] = [settingOf(before, name, before), settingOf(after, name, before)];
    if (stays(was, is) || is === true || is === undefined || was === false) return [];
    const zone = cell(after.inputs["zoneId"], 40);
    return [say`page security of zone ${zone} ${words(what)}: ${name} ${cell(was)} → ${cell(is)}`];
  };
}

const endpointOff = reporting("useReportingEndpoint", "no longer reports to Cloudflare's endpoint");
const pathsOff = reporting("useConnectionUrlPath", "no longer records the paths of connections");

const judgeSettings = judging(settingsFate, [monitorOff, endpointOff, pathsOff]);
export const monitor = judgeSettings(monitorOff);
export const reportingEndpoint = judgeSettings(endpointOff);
export const connectionPaths = judgeSettings(pathsOff);

/** What an enforced policy stops on the live zone. */
export const policyBlocks: Judge = (all) => {
  const { count, scripts } = wouldBlock(all);
  if (count === 0) return [];
  const more = words(count > scripts.length ? " …" : "");
  const which = scripts.length === 0 ? words("") : say`: ${joined(scripts.map(value))}${more}`;
  return [["blocks", say`${words(counted(count, "active script"))} of the zone would be blocked${which}`]];
};
