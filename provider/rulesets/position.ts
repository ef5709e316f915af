import { nearest } from "../basics/nearest";
import { scopeName, type Scope } from "../runtime/composite-id";
import type { Position } from "./arguments";
import { findByRef } from "./entry-point";
import { areOfOneStack } from "./refs";
import { idsIn } from "./skip";
import type { EntryPoint, Skip, ZoneRule } from "./wire";

/** Positions in a zone's entry point. Other rules are referred to by ref, or by ID if they have no ref. */

/** The rule that a position refers to. */
interface Anchor {
  readonly side: "before" | "after";
  readonly ref: string;
  /** The rule. Undefined if it doesn't exist. */
  readonly rule: ZoneRule | undefined;
}

function anchorOf(position: Position | undefined, found: EntryPoint | undefined): Anchor | undefined {
  if (position === undefined || typeof position === "string") return undefined;
  const [side, ref] =
    "before" in position ? (["before", position.before] as const) : (["after", position.after] as const);
  return { side, ref, rule: findByRef(found, ref) ?? found?.rules.find(({ id }) => id === ref) };
}

const indexOf = ({ rules }: EntryPoint, id: string): number => rules.findIndex((rule) => rule.id === id);

/** A position in the API's format, as sent in requests. */
export type Placement = { readonly before: string } | { readonly after: string };

/**
 * Converts a position to the API's format, where an empty ID means the top or the bottom. Undefined if no position has
 * to be sent. See `POST /zones/{zone_id}/rulesets/{ruleset_id}/rules`.
 *
 * @throws Error if the named rule doesn't exist.
 */
export function placementOf(
  position: Position | undefined,
  found: EntryPoint | undefined,
  scope: Scope,
): Placement | undefined {
  if (position === "first") return { before: "" };
  if (position === "last") return { after: "" };
  const missing = missingAnchor(position, found, scope);
  if (missing !== undefined) throw new Error(`${missing}.`);
  const { side, rule } = anchorOf(position, found) ?? {};
  if (rule === undefined) return undefined;
  return side === "before" ? { before: firstInBlock(found, rule).id } : { after: rule.id };
}

/**
 * Returns the position of a new rule. Without a declared one, it goes before its stack's deployments whose rulesets its
 * exceptions name, so that these apply in whatever order an update creates the rules.
 */
export function positionOfNew(
  { position, ref }: { readonly position?: Position | undefined; readonly ref: string },
  {
    exceptions,
    managed,
  }: { readonly exceptions: readonly { readonly skip: Skip }[]; readonly managed: { readonly id: string } },
  found: EntryPoint | undefined,
): Position | undefined {
  const named = exceptions.flatMap(({ skip }) => idsIn(skip)).filter((id) => id !== managed.id);
  const first = found?.rules.find(
    (rule) => areOfOneStack(ref, rule.ref) && named.includes(rule.deploys?.rulesetId ?? ""),
  );
  return position ?? (first && { before: first.ref });
}

/**
 * Returns the first of a rule's exceptions, or the rule itself if it has none. Nothing is placed between a rule and its
 * exceptions.
 */
function firstInBlock(found: EntryPoint | undefined, rule: ZoneRule): ZoneRule {
  const rules = found?.rules ?? [];
  const isException = ({ ref, skips }: ZoneRule): boolean =>
    skips !== undefined && /\/exception\/[1-9]\d*$/.test(ref);
  const before = rules.slice(0, rules.indexOf(rule));
  return rules[before.findLastIndex((each) => !isException(each)) + 1] ?? rule;
}

/**
 * Whether the rule is at its declared position. `front` contains the IDs of the rule's own exceptions. `directly`
 * means directly next to the other rule; otherwise, any place on the correct side of it is fine.
 */
export function isInPlace(
  position: Position | undefined,
  found: EntryPoint,
  own: ZoneRule,
  { front, directly }: { readonly front: readonly string[]; readonly directly: boolean },
): boolean {
  if (position === undefined) return true;
  const at = indexOf(found, own.id);
  const ahead = found.rules.slice(0, at).filter(({ id }) => !front.includes(id));
  if (position === "first") return ahead.length === 0;
  if (position === "last") return at === found.rules.length - 1;
  const { side, rule } = anchorOf(position, found) ?? {};
  if (rule === undefined) return false;
  if (!directly) return positionOnWrongSide(position, found, own) === undefined;
  return side === "before" ? found.rules[at + 1] === firstInBlock(found, rule) : ahead.at(-1) === rule;
}

/**
 * Whether a position only names the same rule by its new ref: the former one no longer exists, and the rule is still on
 * the correct side.
 */
export function isSamePlace(
  was: Position | undefined,
  is: Position | undefined,
  found: EntryPoint,
  own: ZoneRule,
): boolean {
  const [one, other] = [anchorOf(was, found), anchorOf(is, found)];
  return (
    one !== undefined &&
    one.rule === undefined &&
    other?.rule !== undefined &&
    one.side === other.side &&
    positionOnWrongSide(is, found, own) === undefined
  );
}

/** Whether the placement is before the rule's current position. */
export function isForward(placement: Placement, found: EntryPoint, own: ZoneRule): boolean {
  const id = "before" in placement ? placement.before : placement.after;
  return id === "" ? "before" in placement : indexOf(found, id) < indexOf(found, own.id);
}

/**
 * Returns an error message if the rule named in the position doesn't exist. Otherwise undefined.
 *
 * @param own the ref of the rule that the position is for, which the message doesn't suggest.
 */
export function missingAnchor(
  position: Position | undefined,
  found: EntryPoint | undefined,
  scope: Scope,
  own?: string,
): string | undefined {
  const anchor = anchorOf(position, found);
  if (anchor === undefined || anchor.rule !== undefined) return undefined;
  const refs = (found?.rules ?? []).map(({ ref }) => ref).filter((ref) => ref !== own);
  const near = nearest(anchor.ref, refs);
  const hint = near === undefined ? "" : ` (did you mean ${JSON.stringify(near)}?)`;
  return `position.${anchor.side}: ${scopeName(scope)} has no managed rule with the ref ${JSON.stringify(anchor.ref)}${hint}`;
}

/**
 * Returns the rule's actual position if that's on the wrong side of the rule it was declared before or after. `"first"`
 * and `"last"` aren't checked, nor is a position next to a rule that no longer exists.
 */
export function positionOnWrongSide(
  position: Position | undefined,
  found: EntryPoint,
  own: ZoneRule,
): Position | undefined {
  const { side, ref = "", rule } = anchorOf(position, found) ?? {};
  if (rule === undefined || rule.id === own.id) return undefined;
  const isBefore = indexOf(found, own.id) < found.rules.indexOf(rule);
  if (isBefore === (side === "before")) return undefined;
  return isBefore ? { before: ref } : { after: ref };
}
