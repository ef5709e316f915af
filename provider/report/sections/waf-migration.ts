import { sameJson } from "../../runtime/values";
import type { Block } from "../model";
import { say, words } from "../phrase";
import { cut, list, shown, text } from "../values";
import {
  argumentTable,
  isGone,
  isNew,
  isReplaced,
  lineChanges,
  textBlock,
  type Teller,
  type Told,
} from "./section";

/** The ways there are, none of them back. */
const EDGES = [
  ["start", "validation"],
  ["start", "finished"],
  ["validation", "finished"],
] as const;

const STATES = ["start", "validation", "finished"] as const;

export const wafMigration: Teller = {
  summary: (all) => {
    const { now, target, verdict } = situationOf(all);
    if (isGone(all.step)) return say`forgotten, nothing is sent; the zone stays ${words(now ?? "as it is")}`;
    if (isAhead(all)) return words(`${now ?? "where it is"} → ${target ?? ""}`);
    return verdict === undefined
      ? say`stays ${now === undefined ? "as it is" : words(now)}`
      : words(verdict.split(": ")[0] ?? verdict);
  },
  blocks: (all) => {
    if (isGone(all.step)) return [];
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
  /** A state of ours, or the service's own word; undefined where nobody has looked. */
  readonly now: string | undefined;
  readonly target: string | undefined;
  /** What a look of this preview has led to. */
  readonly verdict: string | undefined;
}

export function situationOf(all: Told): Situation {
  const { step, old, new: next } = all;
  const target = isGone(step) ? undefined : text(next.inputs["target"]);
  const verdict = isGone(step) ? undefined : verdictOf(all);
  const recorded = isNew(step) || isReplaced(step) ? undefined : text(old.outputs["migrationState"]);
  return { target, verdict, now: verdict === undefined ? recorded : stateIn(verdict) };
}

/** The first line of an assessment that was made for this plan; one that was carried along is of an earlier day. */
function verdictOf({ step, old, new: next }: Told): string | undefined {
  const { assessment } = next.inputs;
  if (!isNew(step) && !isReplaced(step) && sameJson(old.inputs["assessment"], assessment)) return undefined;
  const [head] = list(assessment);
  return text(head)?.replace(HEAD, "").replace(/\.$/, "");
}

/** Where the zone is, by the words of the resource. */
export function stateIn(verdict: string): string | undefined {
  if (/; the previous rules are active$/.test(verdict)) return "start";
  if (/; in validation$/.test(verdict)) return "validation";
  const [, own, theirs] = /^(?:(finished|retired)\b|state "(.*)"$)/s.exec(verdict) ?? [];
  return own ?? (theirs === undefined ? undefined : shown(theirs, 40));
}

/** Whether an apply is to send a configuration: not where the zone is there already, or somewhere nobody knows. */
export function isAhead(all: Told): boolean {
  const { now, target } = situationOf(all);
  if (target !== "validation" && target !== "finished") return false;
  if (now === undefined) return true;
  const at = STATES.findIndex((state) => state === now);
  return at >= 0 && at < STATES.indexOf(target);
}

/** What a look at the zone has found; of one that was looked at before, what has become different. */
function assessment({ step, old, new: next }: Told): readonly Block[] {
  const before = isNew(step) || isReplaced(step) ? [] : linesOf(old.inputs);
  const after = linesOf(next.inputs);
  if (after.length === 0 || sameJson(before, after)) return [];
  const whole: Block = { is: "list", items: after.map(words) };
  if (before.length === 0 || old.inputs["target"] !== next.inputs["target"]) return [whole];
  return [
    textBlock(words("Since it was last looked at, this has changed:")),
    ...lineChanges(before.filter(isNews), after.filter(isNews)),
    textBlock(words("All of it:")),
    whole,
  ];
}

/** A digest follows from the rest. */
const isNews = (line: string): boolean => !/confirm: "[0-9a-f]+"$/.test(line);

const linesOf = ({ assessment }: Readonly<Record<string, unknown>>): readonly string[] =>
  list(assessment).map((line) => cut((text(line) ?? shown(line)).replace(HEAD, "").trim(), 400));

/** What an assessment begins with. */
const HEAD = /^WafMigration of zone \S+: /;
