import { showsWholeLocation } from "../../logpush/destination-text";
import { filterMeaning } from "../../logpush/filter-text";
import { fieldsInTemplate } from "../../logpush/output-options";
import { passesAtLeast } from "../../logpush/filter-compare";
import { sameJson } from "../../basics/json";
import { hasUnknown, UNKNOWN } from "../../runtime/engine-values";
import { say, someOf, value, words, type Phrase } from "../phrase";
import { asObject, cell, asNumber, asText, counted, isHidden } from "../values";
import { isReplaced } from "../sections/section";
import {
  judgesFor,
  isUnchanged,
  whileActing,
  type Comparison,
  type ObjectTraits,
  type PlanComparison,
  type Side,
} from "./sides";

/** Compares what a Logpush job records before and after the update, because missing log lines can hide attacks. */

const traits: ObjectTraits = {
  scope: ["zoneId", "accountId", "dataset", "kind"],
  isSole: false,
  leaves: () => undefined,
  // The comparisons judge the rest. What the plan hides or doesn't know yet may differ between two jobs, and so may options
  // that a program leaves to others.
  mayReplace(old, { new: after }) {
    const [{ inputs: gone }, { inputs: next }] = [old, after];
    const where = next["destinationShown"];
    return (
      [old, after].every((side) => option(side, "fieldNames") !== undefined) &&
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

const isEnabled = ({ inputs }: Side): boolean => inputs["enabled"] !== false;
const whilePushing = whileActing(isEnabled);

/** Finds a job that stops pushing. */
const stopped: Comparison = ({ before, after }) => {
  if (before === undefined || !isEnabled(before)) return [];
  const now = after?.inputs["enabled"];
  if (after !== undefined && now !== false && !isHidden(now)) return [];
  const how = after === undefined ? "is deleted" : now === false ? "is disabled" : "may be disabled";
  return [
    say`the Logpush job ${words(how)}: ${cell(before.inputs["dataset"], 60)} is no longer pushed to ${destinationOf(before)}`,
  ];
};

/** Finds a job whose filter matches fewer log lines. */
const fewerLines = whilePushing((before, after) => {
  const [was, is] = [before.inputs["filter"], after.inputs["filter"]];
  if (isUnchanged(was, is)) return [];
  const isKnown = !isHidden(was) && !isHidden(is);
  if (isKnown && passesAtLeast(asText(was), asText(is))) return [];
  const shown = (filter: unknown): Phrase => (filter === undefined ? words("every line") : cell(filter, 300));
  return [say`the filter may match fewer lines: ${shown(was)} → ${shown(is)}`];
});

/** Finds a job that no longer logs some of its fields. */
const fewerFields = whilePushing((before, after) => {
  const names = ["fieldNames", "recordTemplate"];
  if (
    names.every((name) => isUnchanged(option(before, name), option(after, name))) &&
    isUnchanged(before.inputs["allFields"], after.inputs["allFields"])
  )
    return [];
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  if (is === "all") return [];
  if (was === undefined || is === undefined || was === "all")
    return [say`some fields might stop being logged: ${fieldWords(was)} → ${fieldWords(is)}`];
  const lost = was.filter((field) => !is.includes(field));
  if (lost.length === 0) return [];
  const what = lost.length === 1 ? "a field is" : "fields are";
  const counts = `${was.length} → ${counted(is.length, "field")}`;
  return [say`${words(what)} no longer logged: ${someOf(lost.map(value), MOST_FIELDS)} (${words(counts)})`];
});

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

function fieldWords(fields: ReturnType<typeof fieldsOf>): Phrase {
  if (fields === undefined) return words("fields that the plan doesn't show");
  return words(fields === "all" ? "all fields" : counted(fields.length, "field"));
}

/** Finds a job that pushes to another destination, or to someone else there: a credential may name the recipient. Whoever
 * enables a job again that's disabled now sends its lines there. */
const otherDestination = whileActing(
  isEnabled,
  () => true,
)((before, after) => {
  const moved = after.inputs["destinationMoved"]; // A digest, true if it's too easy to guess, or unknown.
  const isSame = sameJson(before.inputs["destinationShown"], after.inputs["destinationShown"]);
  if (moved === undefined && isSame) return [];
  // The engine doesn't check a resource whose provider's settings aren't known yet, so it has no `destinationShown`.
  if (hasUnknown(after.inputs["destinationShown"] ?? UNKNOWN))
    return [say`log lines may no longer go to ${destinationOf(before)}: where they go is known after apply`];
  if (!isSame)
    return [say`log lines go to another destination: ${destinationOf(before)} → ${destinationOf(after)}`];
  return [otherRecipient(after, "changes")];
});

const otherRecipient = (after: Side, how: string): Phrase =>
  say`log lines may go to another recipient: a hidden part of ${destinationOf(after)} ${words(how)}, such as a credential or tenant`;

/** The engine checks a replacement as a new resource, so nothing compares the credentials. */
const inReplacement: PlanComparison = (change, all) => {
  const found = otherDestination(change);
  const { before, after } = change;
  if (found.length > 0 || !isReplaced(all) || before !== all.old || after === undefined) return found;
  const shown = after.inputs["destinationShown"];
  const isWhole = typeof shown === "string" && showsWholeLocation(shown);
  return isWhole || !isEnabled(before) ? [] : [otherRecipient(after, "may change")];
};

/** Finds an output option, or an argument, whose new value loses something, unless `isSafe`. */
const optionLoss = (
  what: string,
  name: string,
  unset: unknown,
  isSafe: (was: unknown, is: unknown) => boolean,
  valueOf: (side: Side, name: string) => unknown = option,
): Comparison =>
  whilePushing((before, after) => {
    const [was, is] = [before, after].map((side) => valueOf(side, name) ?? unset);
    if (isUnchanged(was, is) || isSafe(was, is)) return [];
    const maybe = isHidden(was) || isHidden(is) ? "the plan doesn't show whether " : "";
    return [say`${words(`${maybe}${what}: ${name}`)} ${cell(was)} → ${cell(is)}`];
  });

const argument = ({ inputs }: Side, name: string): unknown => inputs[name];

const smallerShare = optionLoss(
  "a smaller share of the log lines is pushed",
  "sampleRate",
  1,
  (was, is) => (asNumber(is) ?? 0) >= (asNumber(was) ?? 2),
);

const mergedSubrequests = optionLoss(
  "subrequests no longer get their own log lines",
  "mergeSubrequests",
  false,
  (_was, is) => is === false,
);

/** Finds a job that no longer defuses Log4Shell attacks on the software that reads its lines. */
const log4shellOff = optionLoss(
  "log lines may carry ${…} to the software that reads them (CVE-2021-44228)",
  "cve202144228",
  false,
  (was, is) => is === true || was === false,
);

const attacksLeftOut = optionLoss(
  "attack traffic is no longer logged",
  "filterAttackTraffic",
  false,
  (_was, is) => is === false,
  argument,
);

/** Finds a job whose lines go through another SQL query, which may drop them. */
const otherTransformer = optionLoss(
  "a transformer may drop log lines",
  "transformerId",
  "none",
  (_was, is) => is === "none",
  argument,
);

/** Finds changes to API fields that this version doesn't know. They may have any effect. */
const changedExtra = whilePushing((before, after) => {
  const changes = [
    ["extra", before.inputs["extra"], after.inputs["extra"]],
    ["outputOptions.extra", option(before, "extra"), option(after, "extra")],
  ] as const;
  return changes
    .filter(([, was, is]) => !isUnchanged(was, is))
    .map(
      ([name, was, is]) =>
        say`${name} changes, and its effect on the logs is unknown: ${cell(was)} → ${cell(is)}`,
    );
});

const COMPARISONS = {
  stopsPushing: stopped,
  filter: fewerLines,
  sampleRate: smallerShare,
  fields: fewerFields,
  subrequests: mergedSubrequests,
  log4shell: log4shellOff,
  attackTraffic: attacksLeftOut,
  transformer: otherTransformer,
  destination: otherDestination,
  extra: changedExtra,
};

export const logpush = judgesFor(traits, COMPARISONS, { destination: inReplacement });

/** Compares a transformer's code by its digest, because the plan hides the code. */
export const transformer = judgesFor(
  { scope: ["accountId"], isSole: false, leaves: () => undefined, mayReplace: () => true },
  {
    code: whileActing(() => true)((before, after) => {
      const [was, is = UNKNOWN] = [before, after].map(({ inputs }) => inputs["codeDigest"]);
      return isUnchanged(was, is)
        ? []
        : [
            say`the transformer may drop or change other log lines: its code changes, ${cell(was)} → ${cell(is)}`,
          ];
    }),
  },
);

/** Returns an output option. If the options are hidden as a whole, returns the hidden value for each of them. */
function option({ inputs }: Side, name: string): unknown {
  const options = inputs["outputOptions"];
  return isHidden(options) && typeof options === "string" ? options : asObject(options)[name];
}

const destinationOf = ({ inputs }: Side): Phrase =>
  cell(inputs["destinationShown"], MOST_DESTINATION_CHARACTERS);

/** Shows all of almost any location. The destination has at most 4,096 characters. */
const MOST_DESTINATION_CHARACTERS = 500;
