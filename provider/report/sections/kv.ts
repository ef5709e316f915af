import { z } from "zod";
import { joined, say, value, valuesOf, words, type Phrase } from "../phrase";
import { entriesRecord, overwrittenLoss, summaryOf } from "../../kv/impact";
import { formatNumber } from "../../limits/workers";
import { escapeInvisible } from "../../basics/printable";
import type { Listed } from "../../runtime/impact";
import { asObject, cell, counted, asNumber, asText } from "../values";
import {
  argumentTable,
  isDeleted,
  textBlock,
  unknownPlaces,
  type SectionWriter,
  type StepView,
} from "./section";

export const kvNamespace: SectionWriter = {
  summary: ({ step, old, new: next }) => {
    const [before, after] = [cell(old.inputs["title"], 60), cell(next.inputs["title"], 60)];
    if (isDeleted(step)) return before;
    return step.old === undefined || before.toString() === after.toString()
      ? after
      : say`${before} → ${after}`;
  },
  blocks: (all) => argumentTable(all),
};

export const kvEntries: SectionWriter = {
  summary: (all) => {
    const { step, old, new: next } = all;
    const [before, after] = [keysOf(old.inputs), keysOf(next.inputs)];
    if (isDeleted(step)) return words(`${before === undefined ? "keys" : counted(before, "key")} to delete`);
    const { added, changed, removed } = entriesImpact(all);
    // The preview compared them with the namespace that they may leave.
    const isCompared = unknownPlaces(all).length === 0;
    if (isCompared && added !== undefined && changed !== undefined && removed !== undefined) {
      const [counts = "", names = ""] = summaryOf({ added, changed, removed }).split(" (", 2);
      return names === "" ? words(counts) : say`${words(counts)} (${valuesOf(names.replace(/\)$/, ""))})`;
    }
    if (after === undefined) return words("");
    const was = before === undefined || before === after ? "" : `${formatNumber(before)} → `;
    return words(`${was}${counted(after, "key")}`);
  },
  blocks: (all) => {
    if (isDeleted(all.step)) return [];
    const drift = asText(all.old.inputs["drift"]);
    return [
      ...(drift === undefined
        ? []
        : [textBlock(say`Changed outside the program: ${escapeInvisible(drift)}.`)]),
      ...[pruned(all), overwritten(all), adopted(all)].flatMap((sentence) =>
        sentence === undefined ? [] : [textBlock(sentence)],
      ),
      ...argumentTable(all, NOISE),
    ];
  },
};

/** Inputs to leave out of the table: secrets, and values that show only that something differs. */
const NOISE = ["entries", "manifest", "digest", "fileHash", "drift", "index"];

const keysOf = (inputs: Readonly<Record<string, unknown>>): number | undefined => asNumber(inputs["keys"]);

/** Returns what the preview found out. */
export const entriesImpact = ({ impact }: Pick<StepView, "impact">): z.output<typeof members> =>
  members.parse(impact.members);
const members = z.object(entriesRecord);

/** Says which keys written by others `prune` deletes. Undefined if there are none. */
export function pruned(all: Pick<StepView, "impact" | "new">): Phrase | undefined {
  const prefix = asText(asObject(all.new.inputs["prune"])["prefix"]);
  const under = prefix === undefined ? words("") : say` under ${cell(prefix)}`;
  return namedKeys(
    entriesImpact(all).prunes,
    "key",
    (keys) => say`${keys} that others wrote${under} will be deleted`,
  );
}

/** Says which existing keys `adopt: "takeOver"` overwrites. Undefined if there are none. */
export function overwritten(all: StepView): Phrase | undefined {
  const found = entriesImpact(all);
  const loss = words(overwrittenLoss(found));
  return namedKeys(found.overwrites, "existing key", (keys) => say`${keys} will be overwritten${loss}`);
}

/** Says which existing keys match the program. Undefined if there are none. */
function adopted(all: StepView): Phrase | undefined {
  const { adopts } = entriesImpact(all);
  const sentence = namedKeys(adopts, "existing key", (keys) => say`${keys} will be adopted unchanged`);
  return sentence && say`${sentence}. Destroying the resource deletes the keys that it adopted.`;
}

function namedKeys(
  list: Listed | undefined,
  noun: string,
  sentence: (keys: Phrase) => Phrase,
): Phrase | undefined {
  if (list === undefined || list.count === 0) return undefined;
  const said = sentence(words(counted(list.count, noun)));
  const shown = list.names.slice(0, SHOWN_KEYS).map((key) => value(escapeInvisible(key)));
  const more = words(list.count > shown.length ? ", …" : "");
  return shown.length === 0 ? said : say`${said}: ${joined(shown)}${more}`;
}

const SHOWN_KEYS = 10;
