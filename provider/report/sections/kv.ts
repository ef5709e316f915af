import { say, valuesOf, words, type Phrase } from "../phrase";
import { ownMessages } from "../diagnostics";
import { visible } from "../../api/printable";
import { bag, cell, compare, counted, number, text } from "../values";
import {
  argumentTable,
  isGone,
  isNew,
  isReplaced,
  oncePerPlan,
  textBlock,
  told,
  type Teller,
  type Told,
} from "./section";

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
    const lines = changeLines(all);
    return [
      ...(drift === undefined ? [] : [textBlock(say`Not as it was written: ${visible(drift)}.`)]),
      ...(prunes === undefined ? [] : [textBlock(prunes.sentence)]),
      ...(lines.length < 2
        ? []
        : [textBlock(words(ONE_OF)), { is: "list", items: lines.map(phraseOf) } as const]),
      ...argumentTable(all, NOISE),
    ];
  },
};

/** Entries of one namespace in several resources: a line names the namespace only. */
const ONE_OF = "One of these changes, the plan does not say which:";

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

/** What the resource's own line says; several where they may be of others of the plan that share the namespace. */
function changeLines(all: Told): readonly ChangeLine[] {
  const { step, old, new: next } = all;
  const before = isNew(step) || isReplaced(step) ? 0 : (keysOf(old.inputs) ?? 0);
  const grows = (keysOf(next.inputs) ?? 0) - before;
  const alone = isAlone(all);
  const fitting = linesOf(all).flatMap((line): [string, ChangeLine][] => {
    const [, counts, added, removed, names = ""] = /^(\+(\d+) ~\d+ -(\d+))(?: \((.*)\))?$/s.exec(line) ?? [];
    if (counts === undefined) return [];
    const fits = alone || Number(added) - Number(removed) === grows;
    return fits ? [[line, { counts, names: visible(names), removed: Number(removed) }]] : [];
  });
  return [...new Map(fitting).values()];
}

/** How many of its own keys an update deletes, of how many. Where several lines may be meant, the gravest. */
export function removed(all: Told): { readonly count: number; readonly before: number } {
  const { step, old, new: next } = all;
  const before = keysOf(old.inputs) ?? 0;
  if (step.kind !== "KvEntries" || step.op !== "update") return { count: 0, before };
  const fewer = before - (keysOf(next.inputs) ?? before);
  return { count: Math.max(0, fewer, ...changeLines(all).map(({ removed }) => removed)), before };
}

/** Keys of others that are to be deleted under the prefix that this resource owns alone. */
export function pruned(all: Told): { readonly message: string; readonly sentence: Phrase } | undefined {
  const prefix = text(bag(all.new.inputs["prune"])["prefix"]);
  if (all.step.kind !== "KvEntries" || prefix === undefined || isGone(all.step)) return undefined;
  for (const message of linesOf(all)) {
    const [, count, keys = ""] =
      /^prune deletes ([\d,]+ keys?) that others wrote: (.*)$/s.exec(message) ?? [];
    // Where several own a prefix of the namespace, the keys tell whose it is.
    if (count === undefined || !keys.startsWith(JSON.stringify(prefix).slice(0, -1))) continue;
    const sentence = say`${words(count)} that others wrote under ${cell(prefix)} will be deleted: ${valuesOf(visible(keys))}`;
    return { message: `${startOf(all)}${message}`, sentence };
  }
  return undefined;
}

/** What the preview says of this resource's namespace. */
function linesOf(all: Told): readonly string[] {
  return indexOf(all.plan).lines.get(startOf(all)) ?? [];
}

function startOf({ new: next, old }: Told): string {
  return `KvEntries ${namespaceOf(next.inputs) ?? namespaceOf(old.inputs) ?? ""}: `;
}

/** As the lines name it. */
function namespaceOf(inputs: Readonly<Record<string, unknown>>): string | undefined {
  const given = inputs["namespaceId"];
  return given === undefined ? undefined : (text(given) ?? "(new namespace)");
}

/** Whether no other entries of this plan that are new or changed belong to the same namespace. */
function isAlone(all: Told): boolean {
  return (indexOf(all.plan).changing.get(startOf(all)) ?? 0) <= 1;
}

/** What a plan says of namespaces, by what the lines begin with. */
interface Index {
  readonly lines: ReadonlyMap<string, readonly string[]>;
  /** How many resources are new or changed. */
  readonly changing: ReadonlyMap<string, number>;
}

const indexOf = oncePerPlan((plan): Index => {
  const lines = new Map<string, string[]>();
  for (const message of ownMessages(plan.diagnostics).sort(compare)) {
    const [whole, start = "", line = ""] = /^(KvEntries [^:]+: )(.*)$/s.exec(message) ?? [];
    if (whole === undefined) continue;
    const known = lines.get(start);
    if (known === undefined) lines.set(start, [line]);
    else known.push(line);
  }
  const changing = new Map<string, number>();
  for (const step of plan.steps) {
    if (step.kind !== "KvEntries" || step.op === "same" || isGone(step)) continue;
    const start = startOf(told(step, plan));
    changing.set(start, (changing.get(start) ?? 0) + 1);
  }
  return { lines, changing };
});
