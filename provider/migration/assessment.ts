import { z } from "zod";
import { digestOf } from "../basics/digest";
import type { JsonObject } from "../basics/json";
import { pluralize } from "../basics/words";
import { blocking, findingsOf, isCut, LOST, type Finding } from "./findings";
import type { Origin, Sending, SentRule, WireRule } from "./rules";
import type { Mode } from "./api";
import { confirmationDigest, rulesToSendNext, type Observation } from "./observation";
import { isReached, stateText, type Target } from "./state";
import { ruleText } from "./rule-text";

export type Plan = "pro" | "business" | "enterprise";

/** What a program requests for one zone. */
export interface MigrationRequest {
  readonly target: Target;
  readonly plan?: Plan | undefined;
  readonly confirm?: string | undefined;
  readonly configured?: readonly WireRule[] | undefined;
}

/** What the next update does. */
export type NextStep =
  /** Records the zone without sending anything. */
  | { readonly kind: "record" }
  /** Sends nothing: a switch is in progress, or the state is unknown. */
  | { readonly kind: "wait"; readonly why: string }
  | { readonly kind: "send"; readonly mode: Mode; readonly sending: Sending; readonly digest: string }
  | { readonly kind: "refuse"; readonly property: "target" | "confirm"; readonly reason: string };

export interface Assessment {
  readonly findings: readonly Finding[];
  /**
   * The digest that confirms the next step toward the target. With the target `assessed`, that's the step to
   * `finished`.
   */
  readonly digest?: string;
  readonly next: NextStep;
  /** What the preview shows. */
  readonly shown: MigrationAssessment;
  /** A digest of everything that a reviewer needs to know. If it changes, the assessment is shown again. */
  readonly assessmentDigest: string;
}

/** What a preview shows about a zone's migration. It only informs: `assessmentDigest` decides. */
export interface MigrationAssessment {
  /** The zone's state: `start`, `validation`, `finished` or `retired`, otherwise Cloudflare's own word or `unknown`. */
  readonly state: string;
  /** The result in a few words, such as `eligible; the previous rules are active`. */
  readonly verdict: string;
  /** The text, beginning with the verdict: at most 15 lines, plus one for each rule to send. */
  readonly lines: readonly string[];
  /** The steps that can be confirmed now, in order, each with the digest that confirms it. */
  readonly steps: readonly MigrationStep[];
}

export interface MigrationStep {
  readonly target: "validation" | "finished";
  readonly digest: string;
}

const migrationAssessment: z.ZodType<MigrationAssessment> = z.object({
  state: z.string(),
  verdict: z.string(),
  lines: z.array(z.string()),
  steps: z.array(z.object({ target: z.enum(["validation", "finished"]), digest: z.string() })),
});

/** Returns the recorded assessment. Undefined if there's none, or if a plan hides it. */
export function assessmentIn({ assessment }: JsonObject): MigrationAssessment | undefined {
  return migrationAssessment.safeParse(assessment).data;
}

/** Returns the assessment as the preview prints it. */
export function assessmentText(zoneId: string, [head = "", ...rest]: readonly string[]): string {
  return [`WafMigration of zone ${zoneId}: ${head}.`, ...rest.map((line) => `  ${line}`)].join("\n");
}

/** The maximum number of lines in addition to the rules to send. */
const MAX_LINES = 15;
const SENT = "the next step would send these rules, in this order:";

/** Returns the findings, the next step and the preview's text for a zone that was already read. Sends no requests. */
export function assess(observation: Observation, request: MigrationRequest): Assessment {
  const findings = findingsOf(observation, request.configured);
  const sending = rulesToSendNext(observation, request.configured);
  const steps = stepsOf(observation, request, sending);
  const digest = steps.at(-1)?.digest;
  const next = decide(observation, request, findings, sending);
  const waits = next.kind === "wait" ? [`the update sends nothing and waits, because ${next.why}`] : [];
  return {
    findings,
    next,
    ...(digest === undefined ? {} : { digest }),
    shown: {
      state: stateText(observation.state),
      verdict: verdict(observation, findings),
      lines: shortened(
        [...sections(observation, request, findings, sending, steps), waits],
        fullListsHint(observation, findings),
      ),
      steps,
    },
    assessmentDigest: digestOf({
      state: observation.state,
      compatible: observation.open?.compatible ?? null,
      findings,
      digest: digest ?? null,
    }),
  };
}

/** Returns the steps that can be confirmed now, in order. */
function stepsOf(
  observation: Observation,
  { target, plan }: MigrationRequest,
  sending: Sending | undefined,
): MigrationStep[] {
  if (sending === undefined) return [];
  const step = (to: MigrationStep["target"]): MigrationStep => ({
    target: to,
    digest: confirmationDigest(observation, to, sending),
  });
  if (target !== "assessed") return isReached(target, observation.state) ? [] : [step(target)];
  const mayValidate = observation.state.phase === "start" && plan !== "pro" && plan !== "business";
  return [...(mayValidate ? [step("validation")] : []), step("finished")];
}

/** Decides what the next update does. `advance` may still wait instead of sending it. */
function decide(
  observation: Observation,
  { target, plan, confirm }: MigrationRequest,
  findings: readonly Finding[],
  sending: Sending | undefined,
): NextStep {
  const { zoneId, state } = observation;
  if (state.phase === "retired")
    return {
      kind: "refuse",
      property: "target",
      reason: `Cloudflare has retired the migration: zone ${zoneId} can no longer be migrated or assessed. Remove its WafMigration from the program`,
    };
  if (target === "assessed" || isReached(target, state)) return { kind: "record" };
  if (state.phase === "other")
    return { kind: "wait", why: `Cloudflare doesn't document the state ${JSON.stringify(stateText(state))}` };
  if (state.phase === "validation" && (plan === "pro" || plan === "business"))
    return {
      kind: "wait",
      why: `the plan "${plan}" has no validation phase, so the zone must already be switching to the new rules`,
    };

  const blocks = blocking(findings);
  if (blocks.length > 0 || sending === undefined) {
    return {
      kind: "refuse",
      property: "target",
      reason: `can't be "${target}" yet: zone ${zoneId} is blocked, so the migration won't proceed. Resolve this first:${indented(blocks.map(({ text }) => text))}`,
    };
  }
  const digest = confirmationDigest(observation, target, sending);
  const mode = target === "finished" ? "pending" : "validation";
  if (confirm === digest) return { kind: "send", mode, sending, digest };
  const why =
    confirm === undefined
      ? "is missing, so the migration won't proceed."
      : "doesn't match the current migration step, so the migration won't proceed.";
  return {
    kind: "refuse",
    property: "confirm",
    reason: `${why} To approve the following, set confirm: "${digest}"${indented(confirmationLines(observation, mode, findings, sending))}`,
  };
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `\n  ${line}`).join("");
}

const NO_WAY_BACK = "no step can be undone";

/** Describes what a confirmation approves. */
function confirmationLines(
  observation: Observation,
  mode: Mode,
  findings: readonly Finding[],
  { rules }: Sending,
): string[] {
  const effect =
    mode === "pending"
      ? "turns on the new rules and turns off the previous ones"
      : "turns on both versions, and the new one runs first";
  const important = findings.filter(({ weight, about }) => weight !== "note" && about !== "code");
  return [
    `zone ${observation.zoneId} gets ${pluralize(rules.length, "rule")} with waf_migration=${mode}. This ${effect}; ${NO_WAY_BACK}`,
    ...numbered(rules),
    ...important.map(({ text }) => text),
    ...(fullListsHint(observation, important).isCut ? [fullListsHint(observation, important).line] : []),
  ];
}

const ORIGINS: Readonly<Record<Origin, string>> = {
  new: "",
  kept: " [exists]",
  changed: " [exists with other settings]",
};

/**
 * Numbers the rules to send. Every rule has its own line, so that nobody confirms a rule that the preview doesn't show.
 */
function numbered(rules: readonly SentRule[]): string[] {
  return rules.map(({ rule, origin }, index) => `${index + 1}. ${ruleText(rule)}${ORIGINS[origin]}`);
}

/** Returns the preview's lines, grouped by section, so that the longest section can be shortened first. */
function sections(
  observation: Observation,
  request: MigrationRequest,
  findings: readonly Finding[],
  sending: Sending | undefined,
  steps: readonly MigrationStep[],
): string[][] {
  const { state, open } = observation;
  const head = verdict(observation, findings);
  if (open === undefined) return [[`${head}: ${findings[0]?.text ?? stateText(state)}`]];
  const texts = (wanted: (finding: Finding) => boolean): string[] =>
    findings.filter(wanted).map(({ text }) => text);
  const rules = sending?.rules ?? [];
  const [code = "", dashboard = ""] = texts(({ about }) => about === "code" || about === "dashboard");
  const blocked = blocking(findings).length > 0;
  return [
    [head],
    texts(({ weight }) => weight === "blocks"),
    texts(({ weight }) => weight === "notCounted"),
    rules.length === 0 ? [] : [SENT, ...numbered(rules)],
    texts(({ about }) => about === "owasp"),
    inOneLine(texts(({ weight }) => weight === "lost")),
    texts(({ weight, about }) => weight === "changes" && ["pageRules", "nothingOn"].includes(about)),
    texts(({ weight, about }) => weight === "note" && !["dashboard", "owasp"].includes(about)),
    [`${code}; ${dashboard}`],
    blocked ? [] : steps.map((step) => confirmLine(step, request.confirm)),
    [NO_WAY_BACK],
  ];
}

/** Returns a hint that says where to find the lines that were cut. */
function fullListsHint(
  { zoneId }: Observation,
  findings: readonly Finding[],
): { isCut: boolean; line: string } {
  const line = `for the full text of lists that end in "…", see the findings of migrationReadiness({ zones: ["${zoneId}"] }) or, after an update, the findings output (pulumi stack export)`;
  return { isCut: findings.some(isCut), line };
}

/** Joins findings into one line. Their common beginning appears only once. */
function inOneLine(texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [texts.join("; ").replaceAll(`; ${LOST}`, "; ")];
}

/** Returns the line that says how to confirm a step. */
export function confirmLine({ target, digest }: MigrationStep, confirm: string | undefined): string {
  if (confirm === digest) return `confirmed: the next update sends this step (target "${target}")`;
  const label = target === "validation" ? "to validate (Enterprise only)" : "to finish";
  return `${label}: target: "${target}", confirm: "${digest}"`;
}

function verdict({ state }: Observation, findings: readonly Finding[]): string {
  const blocks = blocking(findings).length;
  const counted = findings.every(({ weight }) => weight !== "notCounted");
  switch (state.phase) {
    case "retired":
      return "retired";
    case "finished":
      return "finished";
    case "other":
      return `state ${JSON.stringify(stateText(state))}`;
    default: {
      const at = state.phase === "start" ? "the previous rules are active" : "in validation";
      if (blocks > 0) return `blocked; ${at}`;
      return `eligible${counted ? "" : ", but some rules couldn't be counted"}; ${at}`;
    }
  }
}

/** Joins the sections and, if there are too many lines, shortens the longest ones. Never shortens the rules to send. */
function shortened(all: readonly (readonly string[])[], see: ReturnType<typeof fullListsHint>): string[] {
  const shown = all.map((section) => [...section]);
  const others = shown.filter(([first]) => first !== SENT);
  const total = (): number => others.reduce((sum, section) => sum + section.length, 0);
  if (see.isCut || total() > MAX_LINES) {
    const last = [see.line];
    shown.push(last);
    others.push(last);
  }
  while (total() > MAX_LINES) {
    const longest = others.reduce((a, b) => (b.length > a.length ? b : a));
    const more = /^… and (\d+) more/.exec(longest.at(-1) ?? "")?.[1];
    const left =
      more === undefined ? longest.splice(-2).length : Number(more) + longest.splice(-2).length - 1;
    longest.push(`… and ${left} more`);
  }
  return shown.flat();
}
