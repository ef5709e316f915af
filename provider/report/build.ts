import { ownMember } from "../runtime/values";
import { judge } from "./acceptance";
import { dangersOf } from "./dangers";
import { ownMessages, type Diagnostic } from "./diagnostics";
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
import { say, words, type Phrase } from "./phrase";
import { PlanError, type Operation, type Plan, type Step } from "./plan";
import { kvEntries, kvNamespace, overwritten, pruned } from "./sections/kv";
import { logpushJob } from "./sections/logpush";
import { managedRuleset } from "./sections/managed-ruleset";
import { pageShieldPolicy, pageShieldSettings } from "./sections/page-shield";
import { inGeneral, textBlock, told, type Teller } from "./sections/section";
import { wafMigration } from "./sections/waf-migration";
import { compare } from "./values";

/** How each kind of resource is told; what is not here is refused, not guessed. */
const TELLERS: Readonly<Record<string, Teller>> = {
  PageShieldSettings: pageShieldSettings,
  PageShieldPolicy: pageShieldPolicy,
  ManagedRulesetOverride: managedRuleset,
  WafMigration: wafMigration,
  LogpushJob: logpushJob,
  KvNamespace: kvNamespace,
  KvEntries: kvEntries,
};

/** Nothing of these is a change. */
const SILENT: ReadonlySet<Operation> = new Set([
  "read",
  "read-replacement",
  "refresh",
  "discard",
  "discard-replaced",
  "remove-pending-replace",
]);

/** Steps of a replacement beside the one that stands for it, as `--show-replacement-steps` lists them. */
const PARTS: ReadonlySet<Operation> = new Set([
  "create-replacement",
  "delete-replaced",
  "import-replacement",
]);

/**
 * A plan, told for the person who has to approve it.
 *
 * @param unnamed what a plan is called that doesn't say of which stack it is, as one that failed at once.
 */
export function buildReport(plan: Plan, gate: Gate = GATE, unnamed = "plan"): Report {
  const replaced = new Set(plan.steps.filter(({ op }) => op === "replace").map(({ urn }) => urn));
  // Stacks and providers of the engine are no business of a reviewer.
  const steps = plan.steps
    .filter((step) => !step.type.startsWith("pulumi:") && !(PARTS.has(step.op) && replaced.has(step.urn)))
    .sort(byName);
  const changing = steps.filter((step) => isChange(step));
  const own = changing.filter(({ kind }) => kind !== undefined);
  const others = changing.filter(({ kind }) => kind === undefined);
  const title = [plan.project, plan.stack].filter((part) => part !== undefined).join("/") || unnamed;
  const errors = errorsOf(plan.diagnostics);
  const { digest, dangers } = judge(
    title,
    dangersOf(plan, changing, gate.removal),
    gate.failOn,
    gate.accepted,
  );
  return {
    title,
    counts: countsOf(steps),
    notes: notesOf(plan),
    errors,
    dangers,
    digest: errors.length === 0 ? digest : undefined, // A plan that isn't whole can't be accepted.
    warnings: warningsOf(plan, own),
    sections: own.map((step) => sectionOf(step, plan)),
    others: others.map(({ op, type, name }): Named => ({ op, type, name })),
  };
}

function isChange({ op, old, new: next }: Step): boolean {
  return op === "same"
    ? old !== undefined && next !== undefined && old.protect !== next.protect
    : !SILENT.has(op);
}

/** Whatever the order in which the engine came to them. */
function byName(a: Step, b: Step): number {
  return (
    compare(a.kind ?? a.type, b.kind ?? b.type) ||
    compare(a.name, b.name) ||
    compare(a.urn, b.urn) ||
    compare(a.op, b.op)
  );
}

function sectionOf(step: Step, plan: Plan): Section {
  const { op, name, kind = "" } = step;
  const teller = ownMember(TELLERS, kind);
  if (teller === undefined) {
    throw new PlanError(
      `the plan holds a ${kind}, which this version of edgeguard does not know: install the version that the program uses`,
    );
  }
  const all = told(step, plan);
  const general = inGeneral(all);
  const blocks = op === "same" ? general : [...general, ...teller.blocks(all)];
  const summary = teller.summary(all);
  const unseen = op === "update" && blocks.length === 0 && !/^\+\d/.test(summary.toString());
  return { op, kind, name, summary, blocks: unseen ? [textBlock(words(UNSEEN))] : blocks };
}

const UNSEEN =
  "None of the arguments that a plan shows differs: what does is secret, or has to be finished from an earlier run.";

function countsOf(steps: readonly Step[]): Record<string, number> {
  const told = steps.map(({ op }) => OPERATION[op].words);
  return Object.fromEntries(
    COUNTED.map((what) => [what, told.filter((each) => each === what).length] as const).filter(
      ([, count]) => count > 0,
    ),
  );
}

const NOT_LOOKED = /^live checks skipped: (.*)$/s;

function notesOf({ diagnostics, complete, maybeCorrupt }: Plan): Phrase[] {
  const unseen = ownMessages(diagnostics).flatMap((message) => NOT_LOOKED.exec(message)?.[1] ?? []);
  return [
    ...unseen
      .slice(0, 1)
      .map(
        (why) =>
          say`Not checked against the service, so what only it could tell is missing here: ${words(why)}.`,
      ),
    ...(complete
      ? []
      : [
          words(
            "Unchanged resources are not in this plan (it was made without --show-sames): what depends on them may be missing, or told too gravely.",
          ),
        ]),
    ...(maybeCorrupt ? [words("The engine says that its state may be corrupt.")] : []),
  ];
}

/** What the engine says in the end of every failure. */
const FAILED = /^(preview|update|refresh) failed$/;

function errorsOf(diagnostics: readonly Diagnostic[]): Message[] {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const telling = errors.filter(({ text }) => !FAILED.test(text));
  return inOrder((telling.length === 0 ? errors : telling).map(messageOf));
}

function warningsOf(plan: Plan, own: readonly Step[]): Message[] {
  const { diagnostics } = plan;
  const elsewhere = new Set(
    own.flatMap((step) => [pruned, overwritten].map((keys) => keys(told(step, plan))?.message)),
  );
  const engine = diagnostics.filter(({ severity }) => severity === "warning").map(messageOf);
  const said = ownMessages(diagnostics, "info#err")
    .filter((message) => !NOT_LOOKED.test(message) && !elsewhere.has(message))
    .map((text): Message => ({ about: undefined, text }));
  return inOrder([...engine, ...said]);
}

function messageOf({ urn, text }: Diagnostic): Message {
  const [, , types, ...name] = urn?.split("::") ?? [];
  const type = types?.split("$").at(-1);
  const about =
    type === undefined || type.startsWith("pulumi:pulumi:")
      ? undefined
      : `${type.replace(/^.*edgeguard:/, "")} ${name.join("::")}`;
  return { about, text: text.replace(/^edgeguard: /, "") };
}

/** Each once, in an order of their own: the engine's is that of the moment. */
function inOrder(messages: readonly Message[]): Message[] {
  const line = ({ about = "", text }: Message): string => `${about}\n${text}`;
  const once = new Map(messages.map((message) => [line(message), message]));
  return [...once.entries()].sort(([a], [b]) => compare(a, b)).map(([, message]) => message);
}
