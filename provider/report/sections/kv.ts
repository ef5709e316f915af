import { say, valuesOf, words, type Phrase } from "../phrase";
import { formatNumber } from "../../limits/workers";
import { ownMessages } from "../diagnostics";
import { escapeInvisible } from "../../api/printable";
import { compareText } from "../../runtime/values";
import { asObject, cell, counted, asNumber, asText } from "../values";
import type { Step } from "../plan";
import {
  argumentTable,
  isDeleted,
  oncePerPlan,
  textBlock,
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
    const [line, ...others] = changeLines(all);
    if (line !== undefined && others.length === 0) return phraseOf(line);
    if (after === undefined) return words("");
    const was = before === undefined || before === after ? "" : `${formatNumber(before)} → `;
    return words(`${was}${counted(after, "key")}`);
  },
  blocks: (all) => {
    if (isDeleted(all.step)) return [];
    const drift = asText(all.old.inputs["drift"]);
    const prunes = pruned(all);
    const overwrites = overwritten(all);
    const adopts = adopted(all);
    const lines = changeLines(all);
    return [
      ...(drift === undefined
        ? []
        : [textBlock(say`Changed outside the program: ${escapeInvisible(drift)}.`)]),
      ...(prunes === undefined ? [] : [textBlock(prunes.sentence)]),
      ...(overwrites === undefined ? [] : [textBlock(overwrites.sentence)]),
      ...(adopts === undefined ? [] : [textBlock(adopts.sentence)]),
      ...(lines.length < 2
        ? []
        : [textBlock(words(SHARED_NAME)), { is: "list", items: lines.map(phraseOf) } as const]),
      ...argumentTable(all, NOISE),
    ];
  },
};

/**
 * A note for resources in different components that have the same name, because the preview's lines don't distinguish
 * them.
 */
const SHARED_NAME = "One of these changes (several resources share this name):";

/** Inputs to leave out of the table: secrets, and values that show only that something differs. */
const NOISE = ["entries", "manifest", "digest", "fileHash", "drift"];

const keysOf = (inputs: Readonly<Record<string, unknown>>): number | undefined => asNumber(inputs["keys"]);

interface ChangeLine {
  /** The numbers of added, changed and deleted keys, such as `+12 ~3 -1`. */
  readonly counts: string;
  /** The keys' names, such as `a, b, c …`. */
  readonly names: string;
  readonly removed: number;
}

const phraseOf = ({ counts, names }: ChangeLine): Phrase =>
  names === "" ? words(counts) : say`${words(counts)} (${valuesOf(names)})`;

/** Returns the resource's own summary lines. There are several if resources in different components share its name. */
function changeLines(all: StepView): readonly ChangeLine[] {
  const found = linesOf(all).flatMap((line): [string, ChangeLine][] => {
    const [, counts, removed, names = ""] = /^(\+\d+ ~\d+ -(\d+))(?: \((.*)\))?$/s.exec(line) ?? [];
    return counts === undefined
      ? []
      : [[line, { counts, names: escapeInvisible(names), removed: Number(removed) }]];
  });
  return [...new Map(found).values()];
}

/**
 * Counts how many of the resource's own keys an update deletes. If several lines may apply, uses the largest number.
 */
export function removed(all: StepView): { readonly count: number; readonly before: number } {
  const { step, old, new: next } = all;
  const before = keysOf(old.inputs) ?? 0;
  if (step.kind !== "KvEntries" || step.op !== "update") return { count: 0, before };
  const fewer = before - (keysOf(next.inputs) ?? before);
  return { count: Math.max(0, fewer, ...changeLines(all).map(({ removed }) => removed)), before };
}

/** A message about keys that others wrote, and the report's sentence about it. */
export interface OthersKeys {
  readonly message: string;
  readonly sentence: Phrase;
}

/** Returns the keys written by others that `prune` deletes. */
export function pruned(all: StepView): OthersKeys | undefined {
  const prefix = asText(asObject(all.new.inputs["prune"])["prefix"]);
  if (prefix === undefined) return undefined;
  const line = /^prune deletes ([\d,]+ keys?) that others wrote: (.*)$/s;
  return othersKeys(
    all,
    line,
    (keys, names) => say`${keys} that others wrote under ${cell(prefix)} will be deleted: ${names}`,
  );
}

/** Returns the keys written by others that `adopt: "takeOver"` overwrites. */
export function overwritten(all: StepView): OthersKeys | undefined {
  const line =
    /^([\d,]+) declared (keys?) already exists? \((.*)\); adopt: "takeOver" overwrites (?:it|them)\./s;
  return othersKeys(all, line, (keys, names) => say`${keys} will be overwritten: ${names}`);
}

/** Returns the existing keys that match the program. */
function adopted(all: StepView): OthersKeys | undefined {
  const line =
    /^([\d,]+) declared (keys?) already exists? with matching content \((.*)\) and (?:is|are) adopted\. /s;
  return othersKeys(
    all,
    line,
    (keys, names) =>
      say`${keys} will be adopted unchanged: ${names}. Destroying the resource deletes the keys that it adopted.`,
  );
}

function othersKeys(
  all: StepView,
  form: RegExp,
  sentence: (keys: Phrase, names: Phrase) => Phrase,
): OthersKeys | undefined {
  if (all.step.kind !== "KvEntries" || isDeleted(all.step)) return undefined;
  for (const message of linesOf(all)) {
    const found = form.exec(message)?.slice(1) ?? [];
    const names = found.pop();
    if (names === undefined) continue;
    return {
      message: `${linePrefix(all.step)}${message}`,
      sentence: sentence(words(found.join(" existing ")), valuesOf(escapeInvisible(names))),
    };
  }
  return undefined;
}

/** Finds the preview's messages about this resource. */
function linesOf({ step, plan }: StepView): readonly string[] {
  return linesByPrefix(plan).get(linePrefix(step)) ?? [];
}

/** Returns the beginning of every message about the resource. */
const linePrefix = ({ name }: Step): string => escapeInvisible(`KvEntries ${name}: `);

const linesByPrefix = oncePerPlan((plan): ReadonlyMap<string, readonly string[]> => {
  const lines = new Map<string, string[]>();
  for (const message of ownMessages(plan.diagnostics).sort(compareText)) {
    const [whole, start = "", line = ""] =
      /^(KvEntries .*?: )((?:\+\d+ ~\d+ -\d|prune deletes |[\d,]+ declared keys? already exists? ).*)$/s.exec(
        message,
      ) ?? [];
    if (whole === undefined) continue;
    const known = lines.get(start);
    if (known === undefined) lines.set(start, [line]);
    else known.push(line);
  }
  return lines;
});
