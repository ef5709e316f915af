import { omit, ownMember } from "../../runtime/values";
import type { Block } from "../model";
import { say, value, words, type Phrase } from "../phrase";
import { bag, cell, counted, differences, list, number, shown, text } from "../values";
import {
  argumentTable,
  isGone,
  isFresh,
  lineChanges,
  standing,
  successor,
  tableOf,
  textBlock,
  type Teller,
  type Told,
} from "./section";

export const pageShieldSettings: Teller = {
  summary: ({ step, old, new: next }) => {
    if (isGone(step)) {
      return words(
        old.inputs["onDestroy"] === "keep"
          ? "no longer managed; the zone keeps its settings"
          : "no longer managed; the zone gets back the settings that it had before",
      );
    }
    return words(next.inputs["enabled"] === false ? "the page monitor is off" : "");
  },
  blocks: (all) => (isGone(all.step) ? restored(all) : settings(all)),
};

/** What a destroy puts back. */
function restored(all: Told): readonly Block[] {
  if (successor(all, ["zoneId"]) !== undefined) return [];
  const rows = restoredValues(all.old).map(([name, now, then]) => [value(name), now, then]);
  if (rows.length === 0) return [];
  return [{ is: "table", head: ["setting", "now", "then"], rows }];
}

function restoredValues(old: Told["old"]): ReturnType<typeof differences> {
  if (old.inputs["onDestroy"] === "keep") return [];
  const now = omit(old.inputs, ["zoneId", "onDestroy", "found"]);
  const previous = bag(old.outputs["previous"]);
  const then = Object.fromEntries(Object.keys(now).map((name) => [name, previous[name]]));
  return differences(now, then);
}

/** A setting that is declared no more goes back to what the zone had before. */
function settings(all: Told): readonly Block[] {
  const { before, new: next } = all;
  const previous = bag(before.outputs["previous"]);
  const rows = differences(before.inputs, next.inputs, ["found"]).map(
    ([name, was, is]): [Phrase, Phrase, Phrase] => {
      const back = next.inputs[name] === undefined && previous[name] !== undefined;
      return [value(name), was, back ? say`back to ${shown(previous[name])}` : is];
    },
  );
  return tableOf(all, "argument", rows);
}

export const pageShieldPolicy: Teller = {
  summary: (all) => {
    const { action, enabled, description } = standing(all).inputs;
    const what = ownMember(ACTION_WORDS, text(action) ?? "");
    const state = words(enabled === false ? ", switched off" : "");
    return say`${cell(description, 60)}: ${what === undefined ? cell(action) : words(what)}${state}`;
  },
  blocks: (all) => [
    ...argumentTable(all, ["value", "wouldBlock"]),
    ...directiveChanges(all),
    ...(isGone(all.step) ? [] : blocked(all)),
  ],
};

const ACTION_WORDS: Readonly<Record<string, string>> = {
  log: "reports what the policy does not allow",
  allow: "blocks what the policy does not allow",
  add_reporting_directives: "adds reporting directives",
};

function blocked(all: Told): readonly Block[] {
  const { count, seen, scripts } = wouldBlock(all);
  if (seen === undefined) return [];
  if (seen === 0) {
    const unknown =
      "Nobody knows what it would block: no active script has been seen on the pages it covers.";
    return [textBlock(words(unknown))];
  }
  const some = `${count.toLocaleString("en-US")} of the ${counted(seen, "active script")} seen on the pages it covers would be blocked`;
  if (count === 0) return [textBlock(words(`${some}.`))];
  const more = count > scripts.length ? [words(`and ${count - scripts.length} more`)] : [];
  return [textBlock(words(`${some}:`)), { is: "list", items: [...scripts.map(value), ...more] }];
}

/** What the zone's pages load today and the policy does not allow. */
export function wouldBlock({ step, new: next }: Told): {
  readonly count: number;
  /** Undefined where nothing was found out, or nothing is enforced. */
  readonly seen: number | undefined;
  readonly scripts: readonly string[];
} {
  const { action, enabled, wouldBlock: found } = next.inputs;
  const { count, seen, scripts } = isGone(step) || action !== "allow" || enabled === false ? {} : bag(found);
  return {
    count: number(count) ?? 0,
    seen: number(seen),
    scripts: list(scripts).map((script) => shown(script)),
  };
}

/** A line for a directive and a source, so that a source that is added reads as one line. */
function directiveChanges(all: Told): readonly Block[] {
  const { step, before, new: next } = all;
  if (isGone(step)) return [];
  const after = directiveLines(next.inputs["value"]);
  if (isFresh(all)) return after.length === 0 ? [] : [{ is: "code", language: "text", lines: after }];
  return lineChanges(directiveLines(before.inputs["value"]), after);
}

function directiveLines(given: unknown): string[] {
  return (text(given) ?? "").split(";").flatMap((directive) => {
    const [name, ...sources] = directive.trim().split(/\s+/);
    if (name === undefined || name === "") return [];
    return sources.length === 0 ? [name] : sources.map((source) => `${name} ${source}`);
  });
}
