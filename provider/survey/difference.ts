import { formatNumber } from "../limits/workers";
import { ownMember } from "../runtime/values";
import type { Change, Verdict } from "./comparison";
import type { Cell, NotReadable } from "./model";
import { isNotReadable, isReadable, notReadableText } from "./readable";

/** Pairs what two surveys contain, and grades the differences. */

/** An item in the old and the new survey. Undefined for a survey that doesn't contain it. */
export type Pair<T> = readonly [old: T | undefined, now: T | undefined];

/**
 * Pairs the items of two surveys by the first key, then the remaining items by the next key: an object that was deleted
 * and recreated has a new ID, but may have the same name.
 */
export function paired<T>(
  before: readonly T[],
  after: readonly T[],
  ...keys: readonly ((item: T) => string)[]
): Pair<T>[] {
  const pairs = new Map<T, T>();
  const left = new Set(after);
  for (const key of keys) {
    const byKey = new Map<string, T[]>();
    for (const now of left) byKey.set(key(now), [...(byKey.get(key(now)) ?? []), now]);
    for (const old of before) {
      const now = pairs.has(old) ? undefined : byKey.get(key(old))?.shift();
      if (now === undefined) continue;
      pairs.set(old, now);
      left.delete(now);
    }
  }
  return [
    ...before.map((old): Pair<T> => [old, pairs.get(old)]),
    ...[...left].map((now): Pair<T> => [undefined, now]),
  ];
}

/** A change, without its zone or account. */
export type Difference = Pick<Change, "verdict" | "what" | "objectId" | "before" | "after">;

/** One property in a survey, and how good its value is. */
export interface Fact {
  readonly text: string;
  /**
   * How good the value is: higher is better. If some grades improve and others worsen, the change is neutral. Undefined
   * if the value can't be graded.
   */
  readonly grades?: readonly (number | undefined)[];
}

/** A missing object. It has the same grade as an object that's off. */
export const ABSENT: Fact = { text: "none", grades: [0] };

export function changed(what: string, before: Fact, after: Fact, objectId?: string): Difference[] {
  if (before.text === after.text) return [];
  return [
    {
      verdict: verdictOf(before, after),
      what,
      ...(objectId === undefined ? {} : { objectId }),
      before: before.text,
      after: after.text,
    },
  ];
}

function verdictOf({ grades: before = [] }: Fact, { grades: after = [] }: Fact): Verdict {
  const steps = before.map((from, index) => {
    const to = after[index];
    return from === to ? 0 : from === undefined || to === undefined ? Number.NaN : Math.sign(to - from);
  });
  const [direction, ...others] = new Set(steps.filter((step) => step !== 0));
  if (others.length > 0) return "neutral";
  return direction === 1 ? "better" : direction === -1 ? "worse" : "neutral";
}

/** Compares a part that both surveys could read. If only one could read it, that's reported as the change. */
export function inPart<T>(
  what: string,
  before: Cell<T>,
  after: Cell<T>,
  differences: (before: Exclude<T, NotReadable>, after: Exclude<T, NotReadable>) => readonly Difference[],
): readonly Difference[] {
  if (isReadable(before) && isReadable(after)) return differences(before, after);
  const [from, to] = [before, after].map((each) =>
    isNotReadable(each) ? { text: notReadableText(each), isRead: false } : { text: "readable", isRead: true },
  );
  // Words for the same failure may differ.
  if (from === undefined || to === undefined || from.isRead === to.isRead) return [];
  return changed(what, { text: from.text }, { text: to.text });
}

/** Compares objects with their earlier versions. If several have the same label, the ID is added to their names. */
export function inObjects<T>(
  pairs: readonly Pair<T>[],
  identify: (item: T) => { readonly id: string; readonly label: string },
  differences: (pair: Pair<T>, what: string, id: string) => readonly Difference[],
): Difference[] {
  const known = pairs.flatMap((pair) => {
    const item = pair[1] ?? pair[0];
    return item === undefined ? [] : [{ pair, ...identify(item) }];
  });
  return known.flatMap(({ pair, id, label }) => {
    const isOnly = known.filter((each) => each.label === label).length === 1;
    return differences(pair, isOnly ? label : `${label} (${id})`, id);
  });
}

export function graded(grades: Readonly<Record<string, number>>, text: string): Fact {
  return { text, grades: [ownMember(grades, text)] };
}

export function fewer(count: number, text = formatNumber(count)): Fact {
  return { text, grades: [-count] };
}

/** The stacks that both surveys include. Only these can be compared. */
export type Stacks = ReadonlySet<string>;

interface Stacked {
  readonly stack?: string | null;
}

/**
 * Compares which stacks manage an object. It's better if a stack manages it. A new object that no stack manages counts
 * as worse.
 */
export function stackDifferences(
  what: string,
  [old, now]: Pair<Stacked>,
  stacks: Stacks,
  id?: string,
): Difference[] {
  if (now?.stack === undefined || stacks.size === 0) return [];
  if (old === undefined)
    return now.stack === null
      ? changed(`${what}: stack`, ABSENT, { text: "not in a stack", grades: [-1] }, id)
      : [];
  if (old.stack === undefined) return [];
  const fact = (stack: string | null): Fact =>
    stack === null
      ? { text: "none", grades: [0] }
      : { text: stack, ...(stacks.has(stack) ? { grades: [1] } : {}) };
  return changed(`${what}: stack`, fact(old.stack), fact(now.stack), id);
}
