import { sameJson } from "../../runtime/values";
import type { Block } from "../model";
import { say, words } from "../phrase";
import { truncate, asList, formatValue, asText } from "../values";
import {
  argumentTable,
  isDeleted,
  isNew,
  isReplaced,
  lineChanges,
  textBlock,
  type SectionWriter,
  type StepView,
} from "./section";

/** The possible transitions, none of which goes back. */
const EDGES = [
  ["start", "validation"],
  ["start", "finished"],
  ["validation", "finished"],
] as const;

const STATES = ["start", "validation", "finished"] as const;

export const wafMigration: SectionWriter = {
  summary: (all) => {
    const { now, target, verdict } = situationOf(all);
    if (isDeleted(all.step))
      return say`removed from the state without a request; the zone stays ${words(now === undefined ? "as it is" : `at ${now}`)}`;
    if (isAhead(all)) return words(`${now ?? "current state"} → ${target ?? ""}`);
    return verdict === undefined
      ? say`stays ${words(now === undefined ? "as it is" : `at ${now}`)}`
      : words(verdict.split(": ")[0] ?? verdict);
  },
  blocks: (all) => {
    if (isDeleted(all.step)) return [];
    const { now, target } = situationOf(all);
    const next = isAhead(all) ? STATES.find((state) => state === target) : undefined;
    return [
      { is: "states", edges: EDGES, now: STATES.find((state) => state === now), next },
      ...assessment(all),
      ...argumentTable(all, ["assessment", "assessmentDigest"]),
    ];
  },
};

interface Situation {
  /**
   * The zone's state: a known one, or Cloudflare's own word for it. Undefined without an assessment or a recorded
   * state.
   */
  readonly now: string | undefined;
  readonly target: string | undefined;
  /** The first line of the assessment that this preview made. */
  readonly verdict: string | undefined;
}

export function situationOf(all: StepView): Situation {
  const { step, old, new: next } = all;
  const target = isDeleted(step) ? undefined : asText(next.inputs["target"]);
  const verdict = isDeleted(step) ? undefined : verdictOf(all);
  const recorded = isNew(step) || isReplaced(step) ? undefined : asText(old.outputs["migrationState"]);
  return { target, verdict, now: verdict === undefined ? recorded : stateIn(verdict) };
}

/** Returns the first line of the assessment if this preview made it. An assessment that equals the recorded one may be
 * old.
 */
function verdictOf({ step, old, new: next }: StepView): string | undefined {
  const { assessment } = next.inputs;
  if (!isNew(step) && !isReplaced(step) && sameJson(old.inputs["assessment"], assessment)) return undefined;
  const [head] = asList(assessment);
  return asText(head)?.replace(HEAD, "").replace(/\.$/, "");
}

/** Parses the zone's state from the resource's own wording. */
export function stateIn(verdict: string): string | undefined {
  if (/; the previous rules are active$/.test(verdict)) return "start";
  if (/; in validation$/.test(verdict)) return "validation";
  const [, own, theirs] = /^(?:(finished|retired)\b|state "(.*)"$)/s.exec(verdict) ?? [];
  return own ?? (theirs === undefined ? undefined : formatValue(theirs, 40));
}

/** Whether an update sends a configuration. It doesn't if the zone has already reached the requested state, or is in an
 * unknown one.
 */
export function isAhead(all: StepView): boolean {
  const { now, target } = situationOf(all);
  if (target !== "validation" && target !== "finished") return false;
  if (now === undefined) return true;
  const at = STATES.findIndex((state) => state === now);
  return at >= 0 && at < STATES.indexOf(target);
}

/** Shows what changed since the last assessment, then the assessment itself. */
function assessment({ step, old, new: next }: StepView): readonly Block[] {
  const before = isNew(step) || isReplaced(step) ? [] : linesOf(old.inputs);
  const after = linesOf(next.inputs);
  if (after.length === 0 || sameJson(before, after)) return [];
  const whole: Block = { is: "list", items: after.map(words) };
  if (before.length === 0 || old.inputs["target"] !== next.inputs["target"]) return [whole];
  return [
    textBlock(words("Changed since the last assessment:")),
    ...lineChanges(before.filter(isNotDigest), after.filter(isNotDigest)),
    textBlock(words("Full assessment:")),
    whole,
  ];
}

/** Whether a line is anything but the digest, which changes along with any other line. */
const isNotDigest = (line: string): boolean => !/confirm: "[0-9a-f]+"$/.test(line);

const linesOf = ({ assessment }: Readonly<Record<string, unknown>>): readonly string[] =>
  asList(assessment).map((line) =>
    truncate((asText(line) ?? formatValue(line)).replace(HEAD, "").trim(), 400),
  );

/** Matches the start of an assessment. */
const HEAD = /^WafMigration of zone \S+: /;
