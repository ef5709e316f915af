import { sameJson } from "../runtime/values";
import type { Step } from "./plan";

/** What a refresh may be told as: older engines put in its place what it has found. */
const REFRESHING: readonly string[] = ["refresh", "update", "delete"];

/**
 * With `--refresh` a plan holds two steps of a resource: the refresh, which knows what was recorded before, and what the
 * program makes of what was found. One is left, and it says what had been changed by others.
 */
export function applyRefresh(steps: readonly Step[]): Step[] {
  if (!steps.some(({ op }) => op === "refresh")) return [...steps];
  const recorded = new Map<string, Step>();
  const left: Step[] = [];
  for (const step of steps) {
    const before = recorded.get(step.urn);
    if (before !== undefined) left.push({ ...step, ...foundBy(before, step) });
    else if (REFRESHING.includes(step.op)) recorded.set(step.urn, step);
    else left.push(step);
  }
  return left;
}

function foundBy({ old: before }: Step, { op, old: now, new: next }: Step): Pick<Step, "found"> {
  if (before === undefined) return {};
  if (op === "create") return { found: "gone" };
  if (now === undefined) return {};
  const names = Object.keys({ ...before.inputs, ...now.inputs });
  const changed = names.filter((name) => !sameJson(before.inputs[name], now.inputs[name]));
  return changed.length === 0 || next === undefined ? {} : { found: changed.sort() };
}
