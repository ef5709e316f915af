import { IMPACT } from "../../runtime/impact";
import { omit, ownMember, pick } from "../../basics/json";
import { formatNumber } from "../../limits/workers";
import type { Block } from "../model";
import { say, value, words, type Phrase } from "../phrase";
import { asObject, cell, differences, asList, asNumber, formatValue, asText } from "../values";
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
  summary: ({ step, old, new: next }) => {
    if (isDeleted(step)) {
      return words(
        old.inputs["onDestroy"] === "keep"
          ? "no longer managed; the zone keeps its settings"
          : "no longer managed; the zone gets its previous settings back",
      );
    }
    return words(next.inputs["enabled"] === false ? "Page Shield is disabled" : "");
  },
  blocks: (all) => (isDeleted(all.step) ? restored(all) : settings(all)),
};

/** Shows what a destroy restores. */
function restored(all: StepView): readonly Block[] {
  const { inputs, outputs } = all.old;
  if (successor(all, ["zoneId"]) !== undefined || inputs["onDestroy"] === "keep") return [];
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
  const { count, seen, scripts } = wouldBlock(all);
  if (seen === undefined) return [];
  if (seen === 0) {
    const unknown =
      "It's unknown what the policy would block, because no active scripts have been seen on the pages that it covers.";
    return [textBlock(unknown)];
  }
  const some =
    seen === 1
      ? `${count === 0 ? "Wouldn't" : "Would"} block the only active script`
      : `Would block ${count === 0 ? "none" : formatNumber(count)} of the ${formatNumber(seen)} active scripts`;
  const impact = `${some} seen on the pages that the policy covers`;
  if (count === 0) return [textBlock(`${impact}.`)];
  const more = count > scripts.length ? [words(`and ${formatNumber(count - scripts.length)} more`)] : [];
  return titled(`${impact}:`, listBlock([...scripts.map(value), ...more]));
}

/** Returns the scripts that the zone's pages currently load and the policy doesn't allow. */
export function wouldBlock({ impact }: StepView): {
  readonly count: number;
  /** The number of active scripts that were seen. Undefined without live checks, or if the policy doesn't enforce. */
  readonly seen: number | undefined;
  readonly scripts: readonly string[];
} {
  const { count, seen, scripts } = asObject(impact.members["wouldBlock"]);
  return {
    count: asNumber(count) ?? 0,
    seen: asNumber(seen),
    scripts: asList(scripts).map((script) => formatValue(script)),
  };
}

/** Lists each directive and source on its own line, so that an added source shows up as one line. */
function directiveChanges(all: StepView): readonly Block[] {
  const { step, before, new: next } = all;
  if (isDeleted(step)) return [];
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
