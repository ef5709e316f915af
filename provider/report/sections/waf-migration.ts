import { assessmentIn, confirmLine, type MigrationAssessment } from "../../migration/assessment";
import { migrationLines } from "../../migration/impact";
import { sameJson } from "../../basics/json";
import type { Block } from "../model";
import { say, words } from "../phrase";
import { truncate, formatValue, asText, isHidden } from "../values";
import {
  argumentTable,
  isDeleted,
  isNew,
  isReplaced,
  lineChanges,
  listBlock,
  textBlock,
  titled,
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
      : words(formatValue(verdict, 400));
  },
  blocks: (all) => {
    if (isDeleted(all.step)) return [];
    const { now, target } = situationOf(all);
    const next = isAhead(all) ? STATES.find((state) => state === target) : undefined;
    return [
      { is: "states", edges: EDGES, now: STATES.find((state) => state === now), next },
      ...assessment(all),
      ...titled(
        "Firewall events, without the previous rules:",
        listBlock(migrationLines(all.impact.members).map((line) => words(formatValue(line, 300)))),
      ),
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
  /** The verdict of the assessment that this preview made. */
  readonly verdict: string | undefined;
}

export function situationOf(all: StepView): Situation {
  const { step, old, new: next } = all;
  const declared = next.inputs["target"];
  const target = isDeleted(step) || declared === undefined ? undefined : formatValue(declared, 40);
  const { state, verdict } = isDeleted(step) ? {} : (newAssessment(all) ?? {});
  const recorded = isNew(step) || isReplaced(all) ? undefined : asText(old.outputs["migrationState"]);
  return { target, verdict, now: state === undefined ? recorded : formatValue(state, 40) };
}

/** Returns the assessment if this preview made it. One that equals the recorded one may be old. */
function newAssessment(all: StepView): MigrationAssessment | undefined {
  const { step, old, new: next } = all;
  const isRecorded = !isNew(step) && !isReplaced(all);
  return isRecorded && sameJson(old.inputs["assessment"], next.inputs["assessment"])
    ? undefined
    : assessmentIn(next.inputs);
}

/** Whether an update sends a configuration. It doesn't if the zone has already reached the requested state, or is in an
 * unknown one.
 */
export function isAhead(all: StepView): boolean {
  const { now, target } = situationOf(all);
  const isOpen = target !== undefined && isHidden(all.new.inputs["target"]);
  const last = isOpen ? "finished" : target;
  if (last !== "validation" && last !== "finished") return false;
  if (now === undefined) return true;
  const at = STATES.findIndex((state) => state === now);
  return at >= 0 && at < STATES.indexOf(last);
}

/** Shows what changed since the last assessment, then the assessment itself. */
function assessment(all: StepView): readonly Block[] {
  const { step, old, new: next } = all;
  const [before, after] = [isNew(step) || isReplaced(all) ? {} : old.inputs, next.inputs].map(assessmentIn);
  if (after === undefined || sameJson(before, after)) return [];
  const whole: Block = { is: "list", items: after.lines.map(shortLine).map(words) };
  if (before === undefined || old.inputs["target"] !== next.inputs["target"]) return [whole];
  return [
    textBlock("Changed since the last assessment:"),
    ...lineChanges(linesWithoutDigests(before), linesWithoutDigests(after)),
    textBlock("Full assessment:"),
    whole,
  ];
}

/** Leaves out the digests to confirm, which change along with any other line. */
function linesWithoutDigests({ lines, steps }: MigrationAssessment): readonly string[] {
  const digests = steps.map((step) => confirmLine(step, undefined));
  return lines.filter((line) => !digests.includes(line)).map(shortLine);
}

const shortLine = (line: string): string => truncate(line, 400);
