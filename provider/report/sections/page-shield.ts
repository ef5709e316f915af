import { hasUnknown } from "../../runtime/engine-values";
import { IMPACT } from "../../runtime/impact";
import { policyRecord, type Blocked, type WouldBlock } from "../../page-shield/impact";
import { threatMark } from "../../page-shield/threat";
import { omit, ownMember, pick, type JsonObject } from "../../basics/json";
import { pluralize } from "../../basics/words";
import { formatNumber } from "../../limits/workers";
import type { Block } from "../model";
import { say, value, words, type Phrase } from "../phrase";
import { asObject, cell, differences, formatValue, asText } from "../values";
import {
  argumentTable,
  isDeleted,
  hasNoBefore,
  lineChanges,
  currentSides,
  successor,
  tableOf,
  codeBlock,
  listBlock,
  textBlock,
  titled,
  type SectionWriter,
  type StepView,
} from "./section";

export const pageShieldSettings: SectionWriter = {
  summary: (all) => {
    if (!isDeleted(all.step))
      return words(all.new.inputs["enabled"] === false ? "Page Shield is disabled" : "");
    const next = successor(all, ["zoneId"]);
    if (next !== undefined)
      return words(
        `no longer managed by this resource, but by another one${
          next.inputs["onDestroy"] === "keep"
            ? ""
            : ", which would restore what the zone has now. With an alias, it would restore what the zone had before"
        }`,
      );
    return words(
      keepsSettings(all)
        ? "no longer managed; the zone keeps its settings"
        : "no longer managed; the zone gets its previous settings back",
    );
  },
  blocks: (all) => (isDeleted(all.step) ? restored(all) : settings(all)),
};

const keepsSettings = ({ old }: StepView): boolean => old.retained || old.inputs["onDestroy"] === "keep";

/** Shows what a destroy restores. */
function restored(all: StepView): readonly Block[] {
  const { inputs, outputs } = all.old;
  if (successor(all, ["zoneId"]) !== undefined || keepsSettings(all)) return [];
  const now = omit(inputs, ["zoneId", "onDestroy", IMPACT]);
  const rows = differences(now, pick(asObject(outputs["previous"]), Object.keys(now)));
  return tableOf(
    all,
    "setting",
    rows.map(([name, was, is]) => [value(name), was, is]),
  );
}

/** Shows the settings. One that's no longer declared reverts to its previous value. */
function settings(all: StepView): readonly Block[] {
  const { before, new: next } = all;
  const previous = asObject(before.outputs["previous"]);
  const rows = differences(before.inputs, next.inputs, [IMPACT]).map(
    ([name, was, is]): [Phrase, Phrase, Phrase] => {
      const back = next.inputs[name] === undefined && previous[name] !== undefined;
      return [value(name), was, back ? say`back to ${formatValue(previous[name])}` : is];
    },
  );
  return tableOf(all, "argument", rows);
}

export const pageShieldPolicy: SectionWriter = {
  summary: (all) => {
    const { action, enabled, description } = currentSides(all).inputs;
    const what = ownMember(ACTION_WORDS, asText(action) ?? "");
    const state = words(enabled === false ? "disabled; if enabled, " : "");
    return say`${cell(description, 60)}: ${state}${what === undefined ? cell(action) : words(what)}`;
  },
  blocks: (all) => [
    ...argumentTable(all, ["value", "logged"]),
    ...directiveChanges(all),
    ...(isDeleted(all.step) ? [] : blocked(all)),
  ],
};

const ACTION_WORDS: Readonly<Record<string, string>> = {
  log: "reports what the policy doesn't allow",
  allow: "blocks what the policy doesn't allow",
  add_reporting_directives: "adds reporting directives",
};

function blocked(all: StepView): readonly Block[] {
  const found = wouldBlockIn(all.impact.members);
  if (found === undefined) return [];
  const { seen, scripts, connections, newly } = found;
  const count = scripts?.count ?? 0;
  const some =
    seen === 1
      ? `${count === 0 ? "Wouldn't" : "Would"} block the only active script`
      : `Would block ${count === 0 ? "none" : formatNumber(count)} of the ${formatNumber(seen)} active scripts`;
  const total = count + (connections?.count ?? 0);
  return [
    ...(seen === 0
      ? [
          textBlock(
            "It's unknown which scripts the policy would block, because no active ones have been seen on the pages that it covers.",
          ),
        ]
      : scripts === undefined
        ? [textBlock("Only a browser can tell which scripts the policy would block ('strict-dynamic').")]
        : listed(`${some} seen on the pages that the policy covers`, scripts)),
    ...(connections === undefined
      ? []
      : listed(`Would block ${pluralize(connections.count, "active connection")}`, connections)),
    ...(newly.count < total
      ? [textBlock(`${formatNumber(total - newly.count)} of these are blocked already.`)]
      : []),
  ];
}

function listed(what: string, blocked: Blocked): readonly Block[] {
  const { count, urls } = blocked;
  if (count === 0) return [textBlock(`${what}.`)];
  const more = count > urls.length ? [words(`and ${formatNumber(count - urls.length)} more`)] : [];
  return titled(
    `${what}:`,
    listBlock([...urls.map((url) => say`${value(url)}${words(threatMark(blocked.scores, url))}`), ...more]),
  );
}

/** Returns what an operation found out about what a policy blocks. Undefined if it didn't look. */
export function wouldBlockIn({ wouldBlock }: JsonObject): WouldBlock | undefined {
  return policyRecord.wouldBlock.safeParse(wouldBlock).data;
}

/** Lists each directive and source on its own line, so that an added source shows up as one line. */
function directiveChanges(all: StepView): readonly Block[] {
  const { step, before, new: next } = all;
  if (isDeleted(step)) return [];
  if (hasUnknown(next.inputs["value"])) return [textBlock("Its directives are known after apply.")];
  const after = directiveLines(next.inputs["value"]);
  if (hasNoBefore(all)) return codeBlock(after);
  return lineChanges(directiveLines(before.inputs["value"]), after);
}

function directiveLines(given: unknown): string[] {
  return (asText(given) ?? "").split(";").flatMap((directive) => {
    const [name, ...sources] = directive.trim().split(/\s+/);
    if (name === undefined || name === "") return [];
    return sources.length === 0 ? [name] : sources.map((source) => `${name} ${source}`);
  });
}
