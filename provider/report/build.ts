import { entriesMessages, TOO_RECENT, uncompared } from "../kv/impact";
import { kindOf, PROVIDER_TYPES } from "../runtime/type-tokens";
import { partsOfUrn } from "../runtime/urn";
import { applyAcceptances } from "./acceptance";
import { dangersOf } from "./dangers";
import { impactOf, refreshImpact } from "./impact";
import { ownWarnings, type Diagnostic } from "./diagnostics";
import {
  COUNTED,
  GATE,
  OPERATION,
  type Gate,
  type Message,
  type Named,
  type Report,
  type Section,
} from "./model";
import { joined, name as nameOf, say, value, words, type Phrase } from "./phrase";
import type { Plan, Refreshed, Step } from "./plan";
import { commonBlocks, isDeleted, isPart, textBlock, undoesChange, viewOf } from "./sections/section";
import { sectionWriterOf } from "./sections/writers";
import { applying, compareText } from "../basics/words";
import { hasUnknown } from "../runtime/engine-values";
import { asList } from "./values";

/**
 * Builds the report on a plan, for the person who approves the plan.
 *
 * @param unnamed the title for a plan that doesn't name its stack, for example because the preview failed immediately.
 */
export function buildReport(plan: Plan, gate: Gate = GATE, unnamed = "plan"): Report {
  const steps = resourceSteps(plan);
  const changing = steps.filter((step) => isChange(step));
  // Whether an unchanged KvEntries prunes anything is known only if the preview looked.
  const unlooked = steps.filter(
    (step) => step.op === "same" && step.kind === "KvEntries" && impactOf(step).skipped.length > 0,
  );
  const own = changing.filter(({ kind }) => kind !== undefined);
  // A component of this package only groups its resources.
  const others = changing.filter(({ kind, type }) => kind === undefined && kindOf(type) === undefined);
  const title = titleOf(plan, unnamed);
  const errors = errorsOf(plan.diagnostics);
  const { digest, dangers } = applyAcceptances(
    title,
    dangersOf(plan, [...new Set([...changing, ...unlooked, ...changedProviders(plan)])], gate.removal),
    gate.failOn,
    gate.accepted,
  );
  return {
    title,
    counts: countsOf(steps),
    notes: [...notesOf(plan), ...(steps.some(undoesChange) ? [ONLY_REFRESHED] : [])],
    errors,
    dangers,
    digest: errors.length === 0 ? digest : undefined, // Nobody can accept a plan that's incomplete.
    warnings: warningsOf(plan, own),
    newVersions: newVersionsOf(plan),
    sections: own.map((step) => sectionOf(step, plan)),
    others: others.map(({ op, type, name }): Named => ({ op, type, name })),
  };
}

export function titleOf({ project, stack }: Plan, unnamed: string): string {
  return [project, stack].filter((part) => part !== undefined).join("/") || unnamed;
}

/** Returns the plan's steps without the engine's own stack and provider resources, which reviewers don't need. */
export function resourceSteps(plan: Plan): readonly Step[] {
  return plan.steps.filter((step) => !step.type.startsWith("pulumi:") && !isPart(step, plan)).sort(byName);
}

export function isChange({ op, old, new: next }: Step): boolean {
  return op === "same"
    ? old !== undefined && next !== undefined && old.protect !== next.protect
    : !["to read", "to forget"].includes(OPERATION[op].words);
}

/** Sorts steps by name, because the engine's order varies. */
export function byName(a: Step, b: Step): number {
  return (
    compareText(a.kind ?? a.type, b.kind ?? b.type) ||
    compareText(a.name, b.name) ||
    compareText(a.urn, b.urn) ||
    compareText(a.op, b.op)
  );
}

function sectionOf(step: Step, plan: Plan): Section {
  const { op, name, kind = "" } = step;
  const writer = sectionWriterOf(kind);
  const all = viewOf(step, plan);
  const general = commonBlocks(all);
  const isUntouched = op === "same" || (isDeleted(step) && all.old.retained);
  const blocks = isUntouched ? general : [...general, ...writer.blocks(all)];
  const summary = writer.summary(all);
  const unseen = op === "update" && blocks.length === 0 && !/^\+\d/.test(summary.toString());
  return { op, kind, name, summary, blocks: unseen ? [textBlock(HIDDEN_CHANGE)] : blocks };
}

const HIDDEN_CHANGE =
  "No visible argument changes: the change is in a secret, or the update finishes the work of an earlier run.";

function countsOf(steps: readonly Step[]): Record<string, number> {
  const labels = steps.map(({ op }) => OPERATION[op].words);
  return Object.fromEntries(
    COUNTED.map((what) => [what, labels.filter((each) => each === what).length] as const).filter(
      ([, count]) => count > 0,
    ),
  );
}

/** Finds the explicit providers that change: the engine doesn't list the default one. */
const changedProviders = ({ steps }: Plan): readonly Step[] =>
  steps.filter((step) => PROVIDER_TYPES.includes(step.type) && step.op !== "same" && isChange(step));

const ONLY_REFRESHED = say`This plan was made with --refresh and undoes manual changes: it holds for ${value("pulumi up --refresh")}. Without that, an update leaves alone what the program doesn't change.`;

export function notesOf(plan: Plan): Phrase[] {
  const { steps, complete, maybeCorrupt } = plan;
  const names = [...new Set(changedProviders(plan).map((step) => step.name))].sort(compareText);
  // What's unknown in any plan of a new resource isn't worth a note. If it could hide a loss, that's a danger.
  const checked = steps.filter(({ new: next }) => !hasUnknown(next?.inputs));
  const skipped = new Set(checked.flatMap((step) => impactOf(step).skipped));
  return applying(
    ...[...skipped]
      .sort(compareText)
      .map(
        (why) =>
          say`Some live checks were skipped, so this report leaves out what only they can find. Reason: ${words(why)}.`,
      ),
    ...uncomparedIn(plan).map(
      ({ step, omitted }) => say`${nameOf(`${step.kind} ${step.name}`)}: ${words(omitted)}.`,
    ),
    names.length > 0 && say`Providers created, changed or deleted: ${joined(names.map(value))}.`,
    !complete &&
      words(
        "This plan leaves out unchanged resources, because it was made without --show-sames. Dangers that depend on them may be missing or overstated.",
      ),
    maybeCorrupt && words("Pulumi reports that its state may be corrupt."),
  );
}

/** Returns what a refresh compared only in part. */
export function uncomparedIn({ refreshed = [], diagnostics }: Plan): { step: Step; omitted: string }[] {
  const warned = new Set(ownWarnings(diagnostics));
  return refreshed.flatMap(({ step, now, next }) => {
    if (step.kind === undefined || now === undefined || isRead(next)) return [];
    if (step.old?.isUnfinished === true) return [{ step, omitted: INTERRUPTED }];
    if (step.kind !== "KvEntries") return [];
    const isTooRecent = warned.has(`KvEntries ${step.name}: ${TOO_RECENT}.`);
    const omitted = isTooRecent ? TOO_RECENT : uncompared(now.inputs);
    return omitted === undefined ? [] : [{ step, omitted }];
  });
}

const INTERRUPTED =
  "its last update was interrupted, so nobody knows what that left and what someone changed. Run `pulumi up` to finish it";

/** Whether the program only reads the resource, which then belongs to someone else. */
export const isRead = (next: Refreshed["next"]): boolean =>
  next?.op === "read" || next?.op === "read-replacement";

/** The engine's last message in every failed preview. It's left out if there's another error. */
const ENGINE_FAILED = /^(preview|update|refresh) failed$/;

export function errorsOf(diagnostics: readonly Diagnostic[]): Message[] {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const telling = errors.filter(({ text }) => !ENGINE_FAILED.test(text));
  return uniqueSorted((telling.length === 0 ? errors : telling).map(messageOf));
}

/** The warnings that the report shows: all but those whose content stands elsewhere. */
export function warningsOf(plan: Plan, own: readonly Step[]): Message[] {
  const { diagnostics } = plan;
  const elsewhere = new Set([
    ...uncomparedIn(plan).map(({ step, omitted }) => `KvEntries ${step.name}: ${omitted}.`),
    ...own.flatMap((step) => [
      ...impactOf(step).skipped.flatMap((reason) => [
        `live checks skipped: ${reason}`,
        `live check skipped: ${reason}`,
      ]),
      ...(step.kind === "KvEntries"
        ? entriesMessages(impactOf(step).members, `KvEntries ${step.name}`).warnings
        : []),
    ]),
  ]);
  const engine = diagnostics.filter(({ severity }) => severity === "warning").map(messageOf);
  const said = ownWarnings(diagnostics)
    .filter((message) => !elsewhere.has(message))
    .map((text): Message => ({ about: undefined, text }));
  return uniqueSorted([...engine, ...said]);
}

/** Returns what a refresh or preview found out about new versions of managed rulesets. */
export function newVersionsOf({ steps, refreshed = [] }: Plan): Message[] {
  const found = [
    ...steps.map((step) => [step, impactOf(step).members] as const),
    ...refreshed.map(({ step, now }) => [step, refreshImpact(step.kind, now)] as const),
  ];
  return uniqueSorted(
    found.flatMap(([{ kind = "", name }, { versions }]) =>
      asList(versions).map((line): Message => ({ about: `${kind} ${name}`, text: String(line) })),
    ),
  );
}

function messageOf({ urn, text }: Diagnostic): Message {
  const { type, name = "" } = partsOfUrn(urn ?? "") ?? {};
  const about =
    type === undefined || type.startsWith("pulumi:pulumi:") ? undefined : `${kindOf(type) ?? type} ${name}`;
  return { about, text: text.replace(/^edgeguard: /, "") };
}

/** Removes duplicate messages and sorts the rest, because the engine's order changes from run to run. */
export function uniqueSorted(messages: readonly Message[]): Message[] {
  const line = ({ about = "", text }: Message): string => `${about}\n${text}`;
  const once = new Map(messages.map((message) => [line(message), message]));
  return [...once.entries()].sort(([a], [b]) => compareText(a, b)).map(([, message]) => message);
}
