import { nearest } from "../runtime/nearest";
import type { Position } from "./declared";
import { byRef } from "./entry-point";
import type { EntryPoint, ZoneRule } from "./wire";

/** Places in a zone's entry point: a rule is named by its ref, which is its id where it was given none. */

export function anchorOf(
  position: Position | undefined,
): { readonly side: "before" | "after"; readonly ref: string } | undefined {
  if (position === undefined || typeof position === "string") return undefined;
  return "before" in position
    ? { side: "before", ref: position.before }
    : { side: "after", ref: position.after };
}

function named(found: EntryPoint | undefined, ref: string): ZoneRule | undefined {
  return byRef(found, ref) ?? found?.rules.find((rule) => rule.id === ref);
}

/** What a request says of the place; undefined where nothing has to be said. */
export type Placement = { readonly before: string } | { readonly after: string };

/**
 * The place in the API's words: an empty id stands for the top or the bottom (OpenAPI).
 *
 * @throws Error when the rule that is named is not there.
 */
export function placementOf(
  position: Position | undefined,
  found: EntryPoint | undefined,
  zone: string,
): Placement | undefined {
  if (position === undefined) return undefined;
  if (position === "first") return { before: "" };
  if (position === "last") return { after: "" };
  const missing = missingAnchor(position, found, zone);
  if (missing !== undefined) throw new Error(`${missing}.`);
  const anchor = anchorOf(position);
  const other = anchor === undefined ? undefined : named(found, anchor.ref);
  if (other === undefined) return undefined;
  return anchor?.side === "before" ? { before: headOf(found, other).id } : { after: other.id };
}

/** The first of a rule's exceptions, which nothing is put behind: they are to stand directly in front of it. */
function headOf(found: EntryPoint | undefined, rule: ZoneRule): ZoneRule {
  const rules = found?.rules ?? [];
  const isException = ({ ref, skips }: ZoneRule): boolean =>
    skips !== undefined && /\/exception\/[1-9]\d*$/.test(ref);
  let at = rules.indexOf(rule);
  for (let before = rules[at - 1]; before !== undefined && isException(before); before = rules[at - 1])
    at -= 1;
  return rules[at] ?? rule;
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
  const at = found.rules.findIndex(({ id }) => id === own.id);
  if (position === "first") return found.rules.slice(0, at).every(({ id }) => front.includes(id));
  if (position === "last") return at === found.rules.length - 1;
  const anchor = anchorOf(position);
  const other = anchor === undefined ? undefined : named(found, anchor.ref);
  if (other === undefined) return false;
  if (!directly) return violated(position, found, own) === undefined;
  const ahead = found.rules.slice(0, at).filter(({ id }) => !front.includes(id));
  return anchor?.side === "before" ? found.rules[at + 1] === headOf(found, other) : ahead.at(-1) === other;
}

/** Whether the place lies in front of where the rule stands now. */
export function isForward(placement: Placement, found: EntryPoint, own: ZoneRule): boolean {
  const [id] = Object.values(placement) as [string];
  if (id === "") return "before" in placement;
  const index = (of: string): number => found.rules.findIndex((rule) => rule.id === of);
  return index(id) < index(own.id);
}

/** Says that the named rule is not there; undefined where it is. */
export function missingAnchor(
  position: Position | undefined,
  found: EntryPoint | undefined,
  zone: string,
): string | undefined {
  const anchor = anchorOf(position);
  if (anchor === undefined || named(found, anchor.ref) !== undefined) return undefined;
  const near = nearest(
    anchor.ref,
    (found?.rules ?? []).map((rule) => rule.ref),
  );
  return (
    `position.${anchor.side}: zone ${zone} has no managed rule with the ref ${JSON.stringify(anchor.ref)}` +
    (near === undefined ? "" : ` (did you mean ${JSON.stringify(near)}?)`)
  );
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
  const anchor = anchorOf(position);
  const other = anchor === undefined ? undefined : named(found, anchor.ref);
  if (anchor === undefined || other === undefined || other.id === own.id) return undefined;
  const isBefore = found.rules.findIndex(({ id }) => id === own.id) < found.rules.indexOf(other);
  if (isBefore === (anchor.side === "before")) return undefined;
  return isBefore ? { before: anchor.ref } : { after: anchor.ref };
}
