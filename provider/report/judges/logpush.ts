import { fieldsInTemplate } from "../../logpush/output-options";
import { passesAtLeast } from "../../logpush/filter-compare";
import { sameJson } from "../../runtime/values";
import { joined, say, value, words, type Phrase } from "../phrase";
import { bag, cell, number, text } from "../values";
import { isHidden, judging, stays, type Change, type Comparison, type Fate, type Side } from "./sides";

/** What a Logpush job records before and after: lines that no longer arrive are an attack that nobody sees. */

const fate: Fate = {
  scope: ["zoneId", "accountId", "dataset", "kind"],
  isSole: false,
  leaves: () => undefined,
  mayReplace: () => true,
};

/** A job that pushed, and doesn't any more. */
const stopped: Comparison = ({ before, after }) => {
  if (before === undefined || before.inputs["enabled"] === false) return [];
  const now = after?.inputs["enabled"];
  if (after !== undefined && now !== false && !isHidden(now)) return [];
  const how = after === undefined ? "is deleted" : now === false ? "is switched off" : "may be switched off";
  return [
    say`the Logpush job ${words(how)}: ${cell(before.inputs["dataset"], 60)} is no longer logged to ${placeOf(before)}`,
  ];
};

/** Which lines pass. */
const fewerLines: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  const [was, is] = [both.before.inputs["filter"], both.after.inputs["filter"]];
  if (stays(was, is)) return [];
  const isKnown = !isHidden(was) && !isHidden(is);
  if (isKnown && passesAtLeast(text(was), text(is))) return [];
  const shown = (filter: unknown): Phrase => (filter === undefined ? words("every line") : cell(filter, 300));
  return [say`the filter may let fewer lines through: ${shown(was)} → ${shown(is)}`];
};

/** How many of them are sent. */
const smallerShare: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  const [was, is] = [both.before, both.after].map((side) => option(side, "sampleRate") ?? 1);
  if (stays(was, is) || (number(is) ?? 0) >= (number(was) ?? 2)) return [];
  return [say`a smaller share of the lines is logged: sampleRate ${cell(was)} → ${cell(is)}`];
};

/** What is written of each line. */
const fewerFields: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  const names = ["fieldNames", "recordTemplate"];
  if (
    names.every((name) => stays(option(both.before, name), option(both.after, name))) &&
    stays(both.before.inputs["allFields"], both.after.inputs["allFields"])
  )
    return [];
  const [was, is] = [fieldsOf(both.before), fieldsOf(both.after)];
  if (is === "all") return [];
  if (was === undefined || is === undefined || was === "all")
    return [say`fields may no longer be logged: ${fieldWords(was)} → ${fieldWords(is)}`];
  const lost = was.filter((field) => !is.includes(field));
  if (lost.length === 0) return [];
  const more = lost.length > MOST_FIELDS ? `, and ${lost.length - MOST_FIELDS} more` : "";
  const shown = joined(lost.slice(0, MOST_FIELDS).map(value));
  return [say`fields are no longer logged: ${shown}${words(more)} (${was.length} → ${is.length} fields)`];
};

const MOST_FIELDS = 12;

/** The fields that a line holds; `all` of them, or undefined where the plan doesn't tell. */
function fieldsOf(side: Side): readonly string[] | "all" | undefined {
  const names = option(side, "fieldNames");
  const template = option(side, "recordTemplate");
  if (isHidden(names) || isHidden(template)) return undefined;
  const all = side.inputs["allFields"];
  const listed = names === "all" && Array.isArray(all) && !isHidden(all) ? all : names;
  if (template === undefined || template === "")
    return listed === "all" ? "all" : Array.isArray(listed) ? listed.map(String) : undefined;
  const used = fieldsInTemplate(text(template) ?? "");
  // Whatever else a template does with fields is its own affair.
  const isPlain = !/\{\{/.test((text(template) ?? "").replace(/\{\{-?\s*\.\w+\s*-?\}\}/g, ""));
  if (!isPlain || listed === undefined) return undefined;
  return Array.isArray(listed) ? used.filter((field) => listed.includes(field)) : used;
}

const fieldWords = (fields: readonly string[] | "all" | undefined): Phrase =>
  words(fields === undefined ? "not known" : fields === "all" ? "all fields" : `${fields.length} fields`);

/** Whether the requests that a request leads to have lines of their own. */
const mergedSubrequests: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  const [was, is] = [both.before, both.after].map((side) => option(side, "mergeSubrequests") ?? false);
  if (stays(was, is) || is === false) return [];
  return [say`subrequests no longer have lines of their own: mergeSubrequests ${cell(was)} → ${cell(is)}`];
};

/** Whether a line may carry an attack on what reads it. */
const attackOnReaders: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  const [was, is] = [both.before, both.after].map((side) => option(side, "cve202144228") ?? false);
  if (stays(was, is) || is === true || was === false) return [];
  return [
    say`lines may carry $\{…} to what reads them (CVE-2021-44228): cve202144228 ${cell(was)} → ${cell(is)}`,
  ];
};

/** Where the lines go. */
const otherPlace: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  const isMoved = both.after.inputs["destinationMoved"] === true;
  const isSame = sameJson(both.before.inputs["destinationShown"], both.after.inputs["destinationShown"]);
  if (!isMoved && isSame) return [];
  const elsewhere = isMoved && isSame ? " (another place there)" : "";
  return [say`lines go elsewhere: ${placeOf(both.before)} → ${placeOf(both.after)}${words(elsewhere)}`];
};

/** Members of the API that this version doesn't know may do anything. */
const otherMembers: Comparison = (change) => {
  const both = bothPushing(change);
  if (both === undefined) return [];
  return [
    ["extra", both.before.inputs["extra"], both.after.inputs["extra"]] as const,
    ["outputOptions.extra", option(both.before, "extra"), option(both.after, "extra")] as const,
  ].flatMap(([name, was, is]) =>
    stays(was, is)
      ? []
      : [say`${name} changes, and what it does to the log is not known: ${cell(was)} → ${cell(is)}`],
  );
};

const judge = judging(fate, [
  stopped,
  fewerLines,
  smallerShare,
  fewerFields,
  mergedSubrequests,
  attackOnReaders,
  otherPlace,
  otherMembers,
]);
export const stopsPushing = judge(stopped);
export const filter = judge(fewerLines);
export const sampleRate = judge(smallerShare);
export const fields = judge(fewerFields);
export const subrequests = judge(mergedSubrequests);
export const log4shell = judge(attackOnReaders);
export const destination = judge(otherPlace);
export const further = judge(otherMembers);

function bothPushing({ before, after }: Change): { readonly before: Side; readonly after: Side } | undefined {
  if (before === undefined || after === undefined) return undefined;
  if (before.inputs["enabled"] === false || after.inputs["enabled"] === false) return undefined;
  return { before, after };
}

/** A member of the output options; where they are hidden as a whole, each is. */
function option({ inputs }: Side, name: string): unknown {
  const options = inputs["outputOptions"];
  return isHidden(options) && typeof options === "string" ? options : bag(options)[name];
}

const placeOf = ({ inputs }: Side): Phrase => cell(inputs["destinationShown"], 80);
