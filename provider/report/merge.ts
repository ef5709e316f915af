import { digestOf } from "../runtime/digest";
import type { DriftReport } from "./drift/model";
import { COUNTED, type Gate, type Message, type Report } from "./model";
import { joined, name as nameOf, say, words, type Phrase } from "./phrase";
import { PlanError } from "./plan";
import { compareText } from "../runtime/values";
import { counted } from "./values";

/**
 * Merges the reports of several stacks. Adds the stack to each resource's name, and lists shared messages only once.
 */
export function mergeReports(reports: readonly Report[], { accepted }: Gate): Report {
  const { title, stacks } = stacksOf(reports);
  const dangers = named(stacks, ({ dangers }) => dangers);
  const isWhole = reports.every(({ errors }) => errors.length === 0);
  const digest =
    isWhole && dangers.length > 0
      ? digestOf({ stacks: dangers.map((danger) => danger.digest).sort() })
      : undefined;
  const isAccepted = digest !== undefined && accepted.has(digest);
  return {
    title,
    counts: sumOf(reports),
    notes: notes(stacks),
    errors: messages(stacks, ({ errors }) => errors),
    dangers: isAccepted ? dangers.map((danger) => ({ ...danger, verdict: "accepted" })) : dangers,
    digest,
    warnings: messages(stacks, ({ warnings }) => warnings),
    newVersions: messages(stacks, ({ newVersions }) => newVersions),
    sections: named(stacks, ({ sections }) => sections),
    others: named(stacks, ({ others }) => others),
  };
}

/** Merges the drift reports of several stacks, as `mergeReports` does for plans. */
export function mergeDrift(reports: readonly DriftReport[]): DriftReport {
  const { title, stacks } = stacksOf(reports);
  const sum = (of: keyof DriftReport["counts"]): number =>
    reports.reduce((total, { counts }) => total + counts[of], 0);
  return {
    title,
    drifted: reports.some(({ drifted }) => drifted),
    counts: { changed: sum("changed"), gone: sum("gone"), asRecorded: sum("asRecorded") },
    notes: notes(stacks),
    errors: messages(stacks, ({ errors }) => errors),
    warnings: messages(stacks, ({ warnings }) => warnings),
    newVersions: messages(stacks, ({ newVersions }) => newVersions),
    resources: named(stacks, ({ resources }) => resources),
    others: named(stacks, ({ others }) => others),
    pending: named(stacks, ({ pending }) => pending),
  };
}

interface AnyReport {
  readonly title: string;
  readonly notes: readonly Phrase[];
}

type Stack<R extends AnyReport> = R & { readonly stack: string };

/** Returns the common title, and the reports by the name of their stack. */
function stacksOf<R extends AnyReport>(
  reports: readonly R[],
): { readonly title: string; readonly stacks: readonly Stack<R>[] } {
  const titles = reports.map(({ title }) => title);
  const twice = titles.find((title, index) => titles.indexOf(title) !== index);
  if (twice !== undefined) throw new PlanError(`two plans are for ${twice}. Pass one plan per stack.`);
  const projects = new Set(titles.map((title) => title.split("/", 1)[0]));
  const [project] = projects;
  const isOne = projects.size === 1 && project !== undefined;
  const stacks = reports
    .map((report) => ({ ...report, stack: isOne ? report.title.slice(project.length + 1) : report.title }))
    .sort((a, b) => compareText(a.stack, b.stack));
  return { title: isOne ? `${project}/all stacks` : "all stacks", stacks };
}

function named<R extends AnyReport, T extends { readonly name: string }>(
  stacks: readonly Stack<R>[],
  of: (report: R) => readonly T[],
): T[] {
  return stacks.flatMap((report) =>
    of(report).map((one) => ({ ...one, name: `${one.name} (${report.stack})` })),
  );
}

function sumOf(reports: readonly Report[]): Record<string, number> {
  const total = (what: string): number => reports.reduce((sum, { counts }) => sum + (counts[what] ?? 0), 0);
  return Object.fromEntries(
    COUNTED.map((what) => [what, total(what)] as const).filter(([, count]) => count > 0),
  );
}

function notes(stacks: readonly Stack<AnyReport>[]): Phrase[] {
  return [...groups(stacks, ({ notes }) => notes, String)].map(
    ([note, whose]): Phrase => say`${stackNames(whose)}: ${note}`,
  );
}

/** Groups equal messages, each with the names of the stacks that reported it. */
function groups<R extends AnyReport, T>(
  stacks: readonly Stack<R>[],
  of: (report: R) => readonly T[],
  key: (said: T) => string,
): Iterable<readonly [T, string[]]> {
  const found = new Map<string, readonly [T, string[]]>();
  for (const report of stacks) {
    for (const said of of(report)) {
      const [, whose] = found.get(key(said)) ?? [said, []];
      whose.push(report.stack);
      found.set(key(said), [said, whose]);
    }
  }
  return found.values();
}

function messages<R extends AnyReport>(
  stacks: readonly Stack<R>[],
  of: (report: R) => readonly Message[],
): Message[] {
  const key = ({ about, text }: Message): string => JSON.stringify([about, text]);
  return [...groups(stacks, of, key)].map(([{ about, text }, whose]) => {
    const stacksOf = stackNames(whose).toString();
    return { about: about === undefined ? stacksOf : `${stacksOf}: ${about}`, text };
  });
}

const MOST_NAMED = 5;

function stackNames(stacks: readonly string[]): Phrase {
  const names = joined(stacks.slice(0, MOST_NAMED).map(nameOf));
  return stacks.length > MOST_NAMED
    ? say`${names} and ${words(counted(stacks.length - MOST_NAMED, "more stack"))}`
    : names;
}
