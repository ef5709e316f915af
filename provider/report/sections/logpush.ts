import type { Block } from "../model";
import { isJsonObject } from "../../basics/json";
import { joined, say, value, words } from "../phrase";
import { asObject, cell, counted, asList, formatValue, asText } from "../values";
import {
  argumentTable,
  isDeleted,
  codeBlock,
  lineChanges,
  currentSides,
  textBlock,
  titled,
  type SectionWriter,
  type StepView,
} from "./section";
import { filterTree } from "../../logpush/filter-text";

export const logpushJob: SectionWriter = {
  summary: (all) => {
    const { dataset, enabled, destinationShown } = currentSides(all).inputs;
    const to = destinationShown === undefined ? words("") : say` to ${cell(destinationShown, 80)}`;
    return say`${cell(dataset, 40)}${to}${words(enabled === false ? ", disabled" : "")}`;
  },
  blocks: (all) =>
    isDeleted(all.step) ? [] : [...argumentTable(withoutLists(all), NOISE), ...fields(all), ...filter(all)],
};

export const logpushTransformer: SectionWriter = {
  summary: (all) => cell(currentSides(all).inputs["name"], 60),
  blocks: (all) => argumentTable(all, ["code"]),
};

/** Inputs to leave out of the table, because they're shown in a separate block or not at all. */
const NOISE = ["filter", "filterDigest", "allFields", "destinationMoved"];

/** Removes the lists of fields, which the report shows in a separate block. */
function withoutLists(all: StepView): StepView {
  const without = (side: StepView["old"]): StepView["old"] => {
    const { fieldNames, ...rest } = asObject(side.inputs["outputOptions"]);
    const outputOptions = asList(fieldNames).length > 0 ? rest : { ...rest, fieldNames };
    return isJsonObject(side.inputs["outputOptions"])
      ? { ...side, inputs: { ...side.inputs, outputOptions } }
      : side;
  };
  return { ...all, before: without(all.before), new: without(all.new) };
}

/** Shows the fields that a job logs: all of them for a new list, otherwise those that are removed or added. */
function fields({ old, before: was, new: next }: StepView): readonly Block[] {
  if ([old, next].some(({ inputs }) => isHidden(inputs["outputOptions"]))) return []; // The argument table says that they're hidden.
  const [before, after] = [fieldsOf(was.inputs), fieldsOf(next.inputs)];
  if (before.join() === after.join()) return [];
  if (before.length === 0)
    return [textBlock(say`${words(counted(after.length, "field"))}: ${joined(after.map(value))}`)];
  const changes = lineChanges(before, after);
  if (after.length === 0)
    return titled("No fields are listed anymore, so Cloudflare chooses them. They were:", changes);
  return changes.length === 0
    ? [textBlock(say`The order of the fields changes: ${joined(after.map(value))}`)]
    : titled("Fields:", changes);
}

/** Whether the options, or their list of fields, are unknown or secret. */
function isHidden(outputOptions: unknown): boolean {
  if (!isJsonObject(outputOptions)) return outputOptions !== undefined;
  const { fieldNames } = outputOptions;
  return typeof fieldNames === "string" && fieldNames !== "all";
}

/** Returns the fields, with `all` expanded. */
function fieldsOf({ outputOptions, allFields }: Readonly<Record<string, unknown>>): readonly string[] {
  const { fieldNames } = asObject(outputOptions);
  return asList(fieldNames === "all" ? allFields : fieldNames).map((name) => formatValue(name));
}

/** Shows the filter as an indented tree: all of it if it's new, otherwise the lines that are removed or added. */
function filter({ before: was, new: next }: StepView): readonly Block[] {
  const [before, after] = [tree(was.inputs["filter"]), tree(next.inputs["filter"])];
  if (before.join("\n") === after.join("\n")) return [];
  if (after.length === 0)
    return titled("The filter is removed, so every line is pushed. It was:", codeBlock(before));
  if (before.length === 0) return titled("Pushed lines:", codeBlock(after));
  const changes = lineChanges(before, after);
  const what = changes.length === 0 ? " (the same conditions, reordered or regrouped)" : "";
  return [...titled(`Pushed lines${what}:`, codeBlock(after)), ...titled("Changed conditions:", changes)];
}

function tree(given: unknown): readonly string[] {
  if (given === undefined) return [];
  const written = asText(given);
  return written === undefined ? [formatValue(given)] : filterTree(written);
}
