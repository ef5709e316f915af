import { digestOf } from "../basics/digest";
import { compareText } from "../basics/words";
import type { DriftReport } from "./drift/model";
import { byHarm } from "./drift/build";
import { COUNTED, type Gate, type Message, type Report } from "./model";
import { name as nameOf, say, someOf, type Phrase } from "./phrase";
import { PlanError } from "./plan";

/**
 * Merges the reports of several stacks. Adds the stack to each resource's name, and lists shared messages only once.
 */
export function mergeReports(reports: readonly Report[], { accepted }: Gate): Report {
  const { shared, named } = merge(reports);
  const dangers = named(({ dangers }) => dangers);
  const digest =
    shared.errors.length === 0 && dangers.length > 0
      ? digestOf({ stacks: dangers.map((danger) => danger.digest).sort() })
      : undefined;
  const isAccepted = digest !== undefined && accepted.has(digest);
  const total = (what: string): number => reports.reduce((sum, { counts }) => sum + (counts[what] ?? 0), 0);
  return {
    ...shared,
    counts: Object.fromEntries(
      COUNTED.map((what) => [what, total(what)] as const).filter(([, count]) => count > 0),
    ),
    dangers: dangers.map((danger) =>
      isAccepted && danger.kind !== "traffic" ? { ...danger, verdict: "accepted" } : danger,
    ),
    digest,
    sections: named(({ sections }) => sections),
    others: named(({ others }) => others),
  };
}

/** Merges the drift reports of several stacks, as `mergeReports` does for plans. */
export function mergeDrift(reports: readonly DriftReport[]): DriftReport {
  const { shared, named } = merge(reports);
  const sum = (of: keyof DriftReport["counts"]): number =>
    reports.reduce((total, { counts }) => total + counts[of], 0);
  return {
    ...shared,
    drifted: reports.some(({ drifted }) => drifted),
    counts: {
      changed: sum("changed"),
      gone: sum("gone"),
      asRecorded: sum("asRecorded"),
      uncompared: sum("uncompared"),
    },
    resources: named(({ resources }) => resources).sort(byHarm),
    others: named(({ others }) => others),
    pending: named(({ pending }) => pending),
  };
}

/** What reports on plans and on drift have in common. */
type Shared = Pick<Report, "title" | "notes" | "errors" | "warnings" | "newVersions">;

interface Merged<R> {
  readonly shared: Shared;
  /** Collects the resources of all stacks, each with its stack in its name. */
  readonly named: <T extends { readonly name: string }>(of: (report: R) => readonly T[]) => T[];
}

function merge<R extends Shared>(reports: readonly R[]): Merged<R> {
  const titles = reports.map(({ title }) => title);
  const twice = titles.find((title, index) => titles.indexOf(title) !== index);
  if (twice !== undefined) throw new PlanError(`two plans are for ${twice}. Pass one plan per stack.`);
  const [project = "", ...others] = new Set(titles.map((title) => title.split("/", 1)[0] ?? ""));
  const isOne = others.length === 0;
  const stacks = reports
    .map((report) => ({ report, stack: isOne ? report.title.slice(project.length + 1) : report.title }))
    .sort((a, b) => compareText(a.stack, b.stack));
  const messages = (of: (report: Shared) => readonly Message[]): Message[] =>
    grouped(stacks, of, ({ about, text }) => JSON.stringify([about, text])).map(
      ([{ about, text }, whose]) => ({
        about: about === undefined ? whose.toString() : `${whose.toString()}: ${about}`,
        text,
      }),
    );
  return {
    shared: {
      title: isOne ? `${project}/all stacks` : "all stacks",
      notes: grouped(stacks, ({ notes }) => notes, String).map(([note, whose]) => say`${whose}: ${note}`),
      errors: messages(({ errors }) => errors),
      warnings: messages(({ warnings }) => warnings),
      newVersions: messages(({ newVersions }) => newVersions),
    },
    named: (of) =>
      stacks.flatMap(({ report, stack }) =>
        of(report).map((one) => ({ ...one, name: `${one.name} (${stack})` })),
      ),
  };
}

const MOST_NAMED = 5;

/** Groups equal messages, each with the names of the stacks that reported it. */
function grouped<T>(
  stacks: readonly { readonly report: Shared; readonly stack: string }[],
  of: (report: Shared) => readonly T[],
  key: (said: T) => string,
): (readonly [T, Phrase])[] {
  const found = new Map<string, { readonly said: T; readonly whose: Phrase[] }>();
  for (const { report, stack } of stacks) {
    for (const said of of(report)) {
      const group = found.get(key(said)) ?? { said, whose: [] };
      group.whose.push(nameOf(stack));
      found.set(key(said), group);
    }
  }
  return [...found.values()].map(({ said, whose }) => {
    const more = whose.length === MOST_NAMED + 1 ? "more stack" : "more stacks";
    return [said, someOf(whose, MOST_NAMED, more)];
  });
}
