import { showsWholeLocation } from "../../logpush/destination-text";
import { filterMeaning } from "../../logpush/filter-text";
import { fieldsInTemplate } from "../../logpush/output-options";
import { passesAtLeast } from "../../logpush/filter-compare";
import { sameJson } from "../../runtime/values";
import { joined, say, value, words, type Phrase } from "../phrase";
import { asObject, cell, asNumber, asText, counted } from "../values";
import {
  isHidden,
  judgesFor,
  isUnchanged,
  type Change,
  type Comparison,
  type ObjectTraits,
  type Side,
} from "./sides";

/** Compares what a Logpush job records before and after the update, because missing log lines can hide attacks. */

const traits: ObjectTraits = {
  scope: ["zoneId", "accountId", "dataset", "kind"],
  isSole: false,
  leaves: () => undefined,
  // The comparisons judge the rest. What the plan hides or doesn't know yet may differ between two jobs.
  mayReplace({ inputs: gone }, { new: { inputs: next } }) {
    const where = next["destinationShown"];
    return (
      next["enabled"] === true &&
      typeof where === "string" &&
      !isHidden(where) &&
      showsWholeLocation(where) &&
      (next["filter"] === undefined || isSameFilter(gone["filter"], next["filter"]))
    );
  },
};

const isSameFilter = (was: unknown, is: unknown): boolean =>
  isUnchanged(was, is) ||
  (!isHidden(was) && !isHidden(is) && filterMeaning(asText(was)) === filterMeaning(asText(is)));

/** Finds a job that stops pushing. */
const stopped: Comparison = ({ before, after }) => {
  if (before === undefined || before.inputs["enabled"] === false) return [];
  const now = after?.inputs["enabled"];
  if (after !== undefined && now !== false && !isHidden(now)) return [];
  const how = after === undefined ? "is deleted" : now === false ? "is disabled" : "may be disabled";
  return [
    say`the Logpush job ${words(how)}: ${cell(before.inputs["dataset"], 60)} is no longer pushed to ${destinationOf(before)}`,
  ];
};

/** Finds a job whose filter matches fewer log lines. */
const fewerLines: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  const [was, is] = [both.before.inputs["filter"], both.after.inputs["filter"]];
  if (isUnchanged(was, is)) return [];
  const isKnown = !isHidden(was) && !isHidden(is);
  if (isKnown && passesAtLeast(asText(was), asText(is))) return [];
  const shown = (filter: unknown): Phrase => (filter === undefined ? words("every line") : cell(filter, 300));
  return [say`the filter may match fewer lines: ${shown(was)} → ${shown(is)}`];
};

/** Finds a job that pushes a smaller sample of the log lines. */
const smallerShare: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  const [was, is] = [both.before, both.after].map((side) => option(side, "sampleRate") ?? 1);
  if (isUnchanged(was, is) || (asNumber(is) ?? 0) >= (asNumber(was) ?? 2)) return [];
  return [say`a smaller share of the log lines is pushed: sampleRate ${cell(was)} → ${cell(is)}`];
};

/** Finds a job that no longer logs some of its fields. */
const fewerFields: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  const names = ["fieldNames", "recordTemplate"];
  if (
    names.every((name) => isUnchanged(option(both.before, name), option(both.after, name))) &&
    isUnchanged(both.before.inputs["allFields"], both.after.inputs["allFields"])
  )
    return [];
  const [was, is] = [fieldsOf(both.before), fieldsOf(both.after)];
  if (is === "all") return [];
  if (was === undefined && is === undefined)
    return [words("some fields might stop being logged, but the plan doesn't show which")];
  if (is === undefined)
    return [
      say`some fields might stop being logged: the job logged ${fieldWords(was)}, but the plan doesn't show which ones it will log`,
    ];
  if (was === undefined)
    return [
      say`some fields might stop being logged: the job will log ${fieldWords(is)}, but the plan doesn't show which ones it logs now`,
    ];
  if (was === "all") return [say`some fields might stop being logged: all fields → ${fieldWords(is)}`];
  const lost = was.filter((field) => !is.includes(field));
  if (lost.length === 0) return [];
  const more = lost.length > MOST_FIELDS ? `, and ${lost.length - MOST_FIELDS} more` : "";
  const shown = joined(lost.slice(0, MOST_FIELDS).map(value));
  const what = lost.length === 1 ? "a field is" : "fields are";
  const counts = `${was.length} → ${counted(is.length, "field")}`;
  return [say`${words(what)} no longer logged: ${shown}${words(more)} (${words(counts)})`];
};

const MOST_FIELDS = 12;

/** Returns the fields that a job logs, or `all`. Undefined if the plan doesn't show them. */
function fieldsOf(side: Side): readonly string[] | "all" | undefined {
  const names = option(side, "fieldNames");
  const template = option(side, "recordTemplate");
  if (isHidden(names) || isHidden(template)) return undefined;
  const all = side.inputs["allFields"];
  const listed = names === "all" && Array.isArray(all) && !isHidden(all) ? all : names;
  if (template === undefined || template === "")
    return listed === "all" ? "all" : Array.isArray(listed) ? listed.map(String) : undefined;
  const used = fieldsInTemplate(asText(template) ?? "");
  // Conditions and functions in a template may drop fields.
  const isPlain = !/\{\{/.test((asText(template) ?? "").replace(/\{\{-?\s*\.\w+\s*-?\}\}/g, ""));
  if (!isPlain || listed === undefined) return undefined;
  return Array.isArray(listed) ? used.filter((field) => listed.includes(field)) : used;
}

const fieldWords = (fields: readonly string[] | "all" | undefined): Phrase =>
  words(fields === "all" ? "all fields" : counted(fields?.length ?? 0, "field"));

/** Finds a job that starts to merge subrequests, which then no longer have their own log lines. */
const mergedSubrequests: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  const [was, is] = [both.before, both.after].map((side) => option(side, "mergeSubrequests") ?? false);
  if (isUnchanged(was, is) || is === false) return [];
  return [say`subrequests no longer get their own log lines: mergeSubrequests ${cell(was)} → ${cell(is)}`];
};

/** Finds a job that no longer defuses Log4Shell attacks on the software that reads its lines. */
const log4shellOff: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  const [was, is] = [both.before, both.after].map((side) => option(side, "cve202144228") ?? false);
  if (isUnchanged(was, is) || is === true || was === false) return [];
  return [
    say`log lines may carry $\{…} to the software that reads them (CVE-2021-44228): cve202144228 ${cell(was)} → ${cell(is)}`,
  ];
};

/** Finds a job that pushes to another destination. */
const otherDestination: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  const isMoved = both.after.inputs["destinationMoved"] !== undefined; // True, or unknown.
  const isSame = sameJson(both.before.inputs["destinationShown"], both.after.inputs["destinationShown"]);
  if (!isMoved && isSame) return [];
  const elsewhere = isMoved && isSame ? " (in a different location)" : "";
  return [
    say`log lines go to another destination: ${destinationOf(both.before)} → ${destinationOf(both.after)}${words(elsewhere)}`,
  ];
};

/** Finds changes to API fields that this version doesn't know. They may have any effect. */
const changedExtra: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  return [
    ["extra", both.before.inputs["extra"], both.after.inputs["extra"]] as const,
    ["outputOptions.extra", option(both.before, "extra"), option(both.after, "extra")] as const,
  ].flatMap(([name, was, is]) =>
    isUnchanged(was, is)
      ? []
      : [say`${name} changes, and its effect on the logs is unknown: ${cell(was)} → ${cell(is)}`],
  );
};

const judge = judgesFor(traits, [
  stopped,
  fewerLines,
  smallerShare,
  fewerFields,
  mergedSubrequests,
  log4shellOff,
  otherDestination,
  changedExtra,
]);
export const stopsPushing = judge(stopped);
export const filter = judge(fewerLines);
export const sampleRate = judge(smallerShare);
export const fields = judge(fewerFields);
export const subrequests = judge(mergedSubrequests);
export const log4shell = judge(log4shellOff);
export const destination = judge(otherDestination);
export const extra = judge(changedExtra);

function bothPushing({ before, after }: Change): { readonly before: Side; readonly after: Side } | undefined {
  if (before === undefined || after === undefined) return undefined;
  if (before.inputs["enabled"] === false || after.inputs["enabled"] === false) return undefined;
  return { before, after };
}

/** Returns an output option. If the options are hidden as a whole, returns the hidden value for each of them. */
function option({ inputs }: Side, name: string): unknown {
  const options = inputs["outputOptions"];
  return isHidden(options) && typeof options === "string" ? options : asObject(options)[name];
}

const destinationOf = ({ inputs }: Side): Phrase =>
  cell(inputs["destinationShown"], MOST_DESTINATION_CHARACTERS);

/** Shows all of almost any location. The destination has at most 4,096 characters. */
const MOST_DESTINATION_CHARACTERS = 500;
