import type { Block } from "../model";
import { isJsonObject } from "../../runtime/values";
import { joined, say, value, words } from "../phrase";
import { bag, cell, counted, list, shown, text } from "../values";
import { argumentTable, isGone, lineChanges, standing, textBlock, type Teller, type Told } from "./section";
import { filterTree } from "../../logpush/filter-text";

export const logpushJob: Teller = {
  summary: (all) => {
    const { dataset, enabled, destinationShown } = standing(all).inputs;
    const to = destinationShown === undefined ? words("") : say` to ${cell(destinationShown, 80)}`;
    return say`${cell(dataset, 40)}${to}${words(enabled === false ? ", switched off" : "")}`;
  },
  blocks: (all) =>
    isGone(all.step) ? [] : [...argumentTable(withoutLists(all), NOISE), ...fields(all), ...filter(all)],
};

/** What is told apart from the other arguments, or not at all. */
const NOISE = ["filter", "filterDigest", "allFields", "destinationMoved"];

/** Fields have a list of their own. */
function withoutLists(all: Told): Told {
  const without = (side: Told["old"]): Told["old"] => {
    const { fieldNames, ...rest } = bag(side.inputs["outputOptions"]);
    const outputOptions = list(fieldNames).length > 0 ? rest : { ...rest, fieldNames };
    return isJsonObject(side.inputs["outputOptions"])
      ? { ...side, inputs: { ...side.inputs, outputOptions } }
      : side;
  };
  return { ...all, before: without(all.before), new: without(all.new) };
}

/** The fields of a line: all of them where they are new, else what goes and what comes. */
function fields({ old, before: was, new: next }: Told): readonly Block[] {
  if ([old, next].some(({ inputs }) => isHidden(inputs["outputOptions"]))) return []; // The table of arguments says so.
  const [before, after] = [fieldsOf(was.inputs), fieldsOf(next.inputs)];
  if (before.join() === after.join()) return [];
  if (before.length === 0)
    return [textBlock(say`${words(counted(after.length, "field"))}: ${joined(after.map(value))}`)];
  const changes = lineChanges(before, after);
  if (after.length === 0)
    return [
      textBlock(words("No fields are named any more, the service chooses them. They were:")),
      ...changes,
    ];
  return changes.length === 0
    ? [textBlock(say`The fields get another order: ${joined(after.map(value))}`)]
    : [textBlock(words("Fields:")), ...changes];
}

/** Not known yet, or a secret, as a whole or in its list of fields. */
function isHidden(outputOptions: unknown): boolean {
  if (!isJsonObject(outputOptions)) return outputOptions !== undefined;
  const { fieldNames } = outputOptions;
  return typeof fieldNames === "string" && fieldNames !== "all";
}

/** With `all`, those that it stands for. */
function fieldsOf({ outputOptions, allFields }: Readonly<Record<string, unknown>>): readonly string[] {
  const { fieldNames } = bag(outputOptions);
  return list(fieldNames === "all" ? allFields : fieldNames).map((name) => shown(name));
}

/** The filter as an indented tree: whole where it is new, else with what goes and what comes. */
function filter({ before: was, new: next }: Told): readonly Block[] {
  const [before, after] = [tree(was.inputs["filter"]), tree(next.inputs["filter"])];
  if (before.join("\n") === after.join("\n")) return [];
  if (after.length === 0)
    return [
      textBlock(words("There is no filter any more: every line passes. It was:")),
      { is: "code", language: "text", lines: before },
    ];
  const whole: Block = { is: "code", language: "text", lines: after };
  if (before.length === 0) return [textBlock(words("Lines that pass:")), whole];
  const changes = lineChanges(before, after);
  return changes.length === 0
    ? [textBlock(words("Lines that pass, the same conditions in another order or group:")), whole]
    : [textBlock(words("Lines that pass:")), whole, textBlock(words("What changes in that:")), ...changes];
}

function tree(given: unknown): readonly string[] {
  if (given === undefined) return [];
  const written = text(given);
  return written === undefined ? [shown(given)] : filterTree(written);
}
