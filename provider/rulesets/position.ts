import { nearest } from "../runtime/nearest";
import type { Position } from "./arguments";
import { byRef } from "./entry-point";
import type { EntryPoint, ZoneRule } from "./wire";

/** Places in a zone's entry point: a rule is named by its ref, which is its id where it was given none. */

/** What a position is beside. */
interface Anchor {
  readonly side: "before" | "after";
  readonly ref: string;
  /** Undefined where there is no such rule. */
  readonly rule: ZoneRule | undefined;
}

function anchorOf(position: Position | undefined, found: EntryPoint | undefined): Anchor | undefined {
  if (position === undefined || typeof position === "string") return undefined;
  const [side, ref] =
    "before" in position ? (["before", position.before] as const) : (["after", position.after] as const);
  return { side, ref, rule: byRef(found, ref) ?? found?.rules.find(({ id }) => id === ref) };
}

const indexOf = ({ rules }: EntryPoint, id: string): number => rules.findIndex((rule) => rule.id === id);

/** What a request says of the place. */
export type Placement = { readonly before: string } | { readonly after: string };

/**
 * The place in the API's words: an empty id stands for the top or the bottom (OpenAPI). Undefined where nothing has to be
 * said.
 *
 * @throws Error when the rule that is named is not there.
 */
export function placementOf(
  position: Position | undefined,
  found: EntryPoint | undefined,
  zone: string,
): Placement | undefined {
  if (position === "first") return { before: "" };
  if (position === "last") return { after: "" };
  const missing = missingAnchor(position, found, zone);
  if (missing !== undefined) throw new Error(`${missing}.`);
  const { side, rule } = anchorOf(position, found) ?? {};
  if (rule === undefined) return undefined;
  return side === "before" ? { before: headOf(found, rule).id } : { after: rule.id };
}

/** The first of a rule's exceptions, which nothing is put behind: they are to stand directly in front of it. */
function headOf(found: EntryPoint | undefined, rule: ZoneRule): ZoneRule {
  const rules = found?.rules ?? [];
  const isException = ({ ref, skips }: ZoneRule): boolean =>
    skips !== undefined && /\/exception\/[1-9]\d*$/.test(ref);
  const before = rules.slice(0, rules.indexOf(rule));
  return rules[before.findLastIndex((each) => !isException(each)) + 1] ?? rule;
}

/**
 * Whether the rule stands as declared already; `front` are its exceptions, which belong in front of it. A place beside
 * another rule is directly beside it where it was newly asked for, and else anywhere on that side.
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
  if (!directly) return violated(position, found, own) === undefined;
  return side === "before" ? found.rules[at + 1] === headOf(found, rule) : ahead.at(-1) === rule;
}

/** Whether the place lies in front of where the rule stands now. */
export function isForward(placement: Placement, found: EntryPoint, own: ZoneRule): boolean {
  const id = "before" in placement ? placement.before : placement.after;
  return id === "" ? "before" in placement : indexOf(found, id) < indexOf(found, own.id);
}

/** Says that the named rule is not there; undefined where it is. */
export function missingAnchor(
  position: Position | undefined,
  found: EntryPoint | undefined,
  zone: string,
): string | undefined {
  const anchor = anchorOf(position, found);
  if (anchor === undefined || anchor.rule !== undefined) return undefined;
  const refs = (found?.rules ?? []).map(({ ref }) => ref);
  const near = nearest(anchor.ref, refs);
  const hint = near === undefined ? "" : ` (did you mean ${JSON.stringify(near)}?)`;
  return `position.${anchor.side}: zone ${zone} has no managed rule with the ref ${JSON.stringify(anchor.ref)}${hint}`;
}

/**
 * Where the rule stands, if that is not what was declared: on the other side of the rule it was to stand before or
 * behind. First and last are not looked at again, nor is a place beside a rule that is gone.
 */
export function violated(
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
