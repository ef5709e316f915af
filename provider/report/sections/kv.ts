import { say, valuesOf, words, type Phrase } from "../phrase";
import { ownMessages } from "../diagnostics";
import { escapeInvisible } from "../../api/printable";
import { bag, cell, compare, counted, number, text } from "../values";
import type { Step } from "../plan";
import { argumentTable, isGone, oncePerPlan, textBlock, type Teller, type Told } from "./section";

export const kvNamespace: Teller = {
  summary: ({ step, old, new: next }) => {
    const [before, after] = [cell(old.inputs["title"], 60), cell(next.inputs["title"], 60)];
    if (isGone(step)) return before;
    return step.old === undefined || before.toString() === after.toString()
      ? after
      : say`${before} → ${after}`;
  },
  blocks: (all) => argumentTable(all),
};

export const kvEntries: Teller = {
  summary: (all) => {
    const { step, old, new: next } = all;
    const [before, after] = [keysOf(old.inputs), keysOf(next.inputs)];
    if (isGone(step)) return words(`${counted(before ?? 0, "key")} to delete`);
    const [line, ...others] = changeLines(all);
    if (line !== undefined && others.length === 0) return phraseOf(line);
    if (after === undefined) return words("");
    const was = before === undefined || before === after ? "" : `${before.toLocaleString("en-US")} → `;
    return words(`${was}${counted(after, "key")}`);
  },
  blocks: (all) => {
    if (isGone(all.step)) return [];
    const drift = text(all.old.inputs["drift"]);
    const prunes = pruned(all);
    const overwrites = overwritten(all);
    const adopts = adopted(all);
    const lines = changeLines(all);
    return [
      ...(drift === undefined ? [] : [textBlock(say`Not as it was written: ${escapeInvisible(drift)}.`)]),
      ...(prunes === undefined ? [] : [textBlock(prunes.sentence)]),
      ...(overwrites === undefined ? [] : [textBlock(overwrites.sentence)]),
      ...(adopts === undefined ? [] : [textBlock(adopts.sentence)]),
      ...(lines.length < 2
        ? []
        : [textBlock(words(ONE_OF)), { is: "list", items: lines.map(phraseOf) } as const]),
      ...argumentTable(all, NOISE),
    ];
  },
};

/** Components may hold resources of one name, and a line tells no more than that. */
const ONE_OF = "One of these changes, as several resources have this name:";

/** What is secret, and what only tells that something differs. */
const NOISE = ["entries", "manifest", "digest", "fileHash", "drift"];

const keysOf = (inputs: Readonly<Record<string, unknown>>): number | undefined => number(inputs["keys"]);

interface ChangeLine {
  /** `+12 ~3 -1` */
  readonly counts: string;
  /** `a, b, c …` */
  readonly names: string;
  readonly removed: number;
}

const phraseOf = ({ counts, names }: ChangeLine): Phrase =>
  names === "" ? words(counts) : say`${words(counts)} (${valuesOf(names)})`;

/** What the resource's own line says; several where resources of different components share its name. */
function changeLines(all: Told): readonly ChangeLine[] {
  const found = linesOf(all).flatMap((line): [string, ChangeLine][] => {
    const [, counts, removed, names = ""] = /^(\+\d+ ~\d+ -(\d+))(?: \((.*)\))?$/s.exec(line) ?? [];
    return counts === undefined
      ? []
      : [[line, { counts, names: escapeInvisible(names), removed: Number(removed) }]];
  });
  return [...new Map(found).values()];
}

/** How many of its own keys an update deletes, of how many. Where several lines may be meant, the gravest. */
export function removed(all: Told): { readonly count: number; readonly before: number } {
  const { step, old, new: next } = all;
  const before = keysOf(old.inputs) ?? 0;
  if (step.kind !== "KvEntries" || step.op !== "update") return { count: 0, before };
  const fewer = before - (keysOf(next.inputs) ?? before);
  return { count: Math.max(0, fewer, ...changeLines(all).map(({ removed }) => removed)), before };
}

/** What the preview says of keys that others wrote. */
export interface Others {
  readonly message: string;
  readonly sentence: Phrase;
}

/** Keys of others that are to be deleted under the prefix that this resource owns alone. */
export function pruned(all: Told): Others | undefined {
  const prefix = text(bag(all.new.inputs["prune"])["prefix"]);
  if (prefix === undefined) return undefined;
  const line = /^prune deletes ([\d,]+ keys?) that others wrote: (.*)$/s;
  return ofOthers(
    all,
    line,
    (keys, names) => say`${keys} that others wrote under ${cell(prefix)} will be deleted: ${names}`,
  );
}

/** Keys of others that `adopt: "takeOver"` writes over. */
export function overwritten(all: Told): Others | undefined {
  const line =
    /^([\d,]+) declared (keys?) exists? already \((.*)\); adopt: "takeOver" overwrites (?:it|them)\./s;
  return ofOthers(
    all,
    line,
    (keys, names) => say`${keys} that ${exist(keys)} already will be overwritten: ${names}`,
  );
}

/** Keys that exist already as they are declared. */
function adopted(all: Told): Others | undefined {
  const line = /^([\d,]+) declared (keys?) exists? already as declared \((.*)\) and (?:is|are) adopted: /s;
  return ofOthers(
    all,
    line,
    (keys, names) =>
      say`${keys} that ${exist(keys)} already as declared will be adopted: ${names}. Destroying the resource deletes what it adopted.`,
  );
}

const exist = (keys: Phrase): Phrase => words(keys.toString().endsWith("s") ? "exist" : "exists");

function ofOthers(
  all: Told,
  form: RegExp,
  sentence: (keys: Phrase, names: Phrase) => Phrase,
): Others | undefined {
  if (all.step.kind !== "KvEntries" || isGone(all.step)) return undefined;
  for (const message of linesOf(all)) {
    const found = form.exec(message)?.slice(1) ?? [];
    const names = found.pop();
    if (names === undefined) continue;
    return {
      message: `${startOf(all.step)}${message}`,
      sentence: sentence(words(found.join(" ")), valuesOf(escapeInvisible(names))),
    };
  }
  return undefined;
}

/** What the preview says of this resource. */
function linesOf({ step, plan }: Told): readonly string[] {
  return linesByStart(plan).get(startOf(step)) ?? [];
}

/** As a line names the resource. */
const startOf = ({ name }: Step): string => escapeInvisible(`KvEntries ${name}: `);

const linesByStart = oncePerPlan((plan): ReadonlyMap<string, readonly string[]> => {
  const lines = new Map<string, string[]>();
  for (const message of ownMessages(plan.diagnostics).sort(compare)) {
    const [whole, start = "", line = ""] =
      /^(KvEntries .*?: )((?:\+\d+ ~\d+ -\d|prune deletes |[\d,]+ declared keys? exists? already ).*)$/s.exec(
        message,
      ) ?? [];
    if (whole === undefined) continue;
    const known = lines.get(start);
    if (known === undefined) lines.set(start, [line]);
    else known.push(line);
  }
  return lines;
});
