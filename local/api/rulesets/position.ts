import { z } from "zod";
import type { ZoneRule } from "./entities";
import { problems, refused } from "./problems";

/** The schema of a rule's position. An empty ID means before or after all others. */
export const position = z.strictObject({
  before: z.string().optional(),
  after: z.string().optional(),
  /** The rule's index, counted from 1. */
  index: z.int().optional(),
});

export type Position = z.infer<typeof position>;

/** Returns the rules after moving one of them to a position. Without a position, the order stays the same. */
export function withRuleAt(rules: readonly ZoneRule[], rule: ZoneRule, at?: Position): ZoneRule[] {
  if (at === undefined) return [...rules];
  const others = rules.filter(({ id }) => id !== rule.id);
  const index = indexAmong(others, at);
  return [...others.slice(0, index), rule, ...others.slice(index)];
}

function indexAmong(others: readonly ZoneRule[], { before, after, index }: Position): number {
  if ([before, after, index].filter((each) => each !== undefined).length !== 1) {
    throw refused(problems.positionAmbiguous("/position"));
  }
  if (index !== undefined) {
    const most = others.length + 1;
    if (index < 1 || index > most) throw refused(problems.positionOutside(index, most, "/position/index"));
    return index - 1;
  }
  if (before !== undefined) return before === "" ? 0 : indexOf(others, before, "before");
  return after === undefined || after === "" ? others.length : indexOf(others, after, "after") + 1;
}

function indexOf(others: readonly ZoneRule[], id: string, member: "before" | "after"): number {
  const found = others.findIndex((each) => each.id === id);
  if (found < 0) throw refused(problems.positionUnknown(id, member, `/position/${member}`));
  return found;
}
