import { digestOf } from "../basics/digest";
import { isJsonObject, omit, sameJson, type JsonObject } from "../basics/json";
import { inSeries } from "../basics/words";
import { EXTRA } from "./extra";

/**
 * Members of an object on Cloudflare that the program doesn't set: a newer field, or a switch of the dashboard.
 * Updates keep them. A warning names what someone changed in them, once, because the change is then recorded.
 */

/** The output that records them. */
export const UNMANAGED = "unmanaged";

/** The members by path. Booleans and numbers are shown, for anything else a digest stands. */
export type Unmanaged = Readonly<Record<string, boolean | number | string>>;

/** Names the members of an object inside the object by their paths. */
export function membersInside(part: string, members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [`${part}.${name}`, member]));
}

/** Collects the members that a call reads. */
export class UnmanagedMembers {
  #found: Unmanaged | undefined;

  note(members: JsonObject): void {
    const set = Object.entries(omit(members, EXTRA.stamps)).filter(([, member]) => !isEmpty(member));
    this.#found = Object.fromEntries(set.map(([name, member]) => [name, shownMember(member)]));
  }

  /** Returns the output, without what the program sets by `extra`. Keeps what's recorded if the call read no object. */
  outputs(args: JsonObject, recorded: JsonObject = {}): JsonObject {
    const found = this.#found ?? recorded[UNMANAGED];
    if (!isJsonObject(found)) return {};
    const left = omit(found, isJsonObject(args["extra"]) ? Object.keys(args["extra"]) : []);
    return Object.keys(left).length === 0 ? {} : { [UNMANAGED]: left };
  }
}

/** Cloudflare returns a member that nobody has set with a value such as these, or not at all. */
function isEmpty(member: unknown): boolean {
  return [undefined, null, false, 0, "", [], {}].some((each) => sameJson(each, member));
}

/** Returns what the output records of a member. */
export function shownMember(member: unknown): boolean | number | string {
  return typeof member === "boolean" || typeof member === "number" ? member : digestOf(member).slice(0, 8);
}

/** Says what someone has set or changed since it was recorded. Undefined if nothing. */
export function newsOf(before: unknown, now: unknown): string | undefined {
  const [old, found] = [before, now].map((each) => (isJsonObject(each) ? each : {}));
  const changed = Object.entries(found ?? {}).filter(([name, member]) => !sameJson(old?.[name], member));
  if (changed.length === 0) return undefined;
  const each = changed.map(([name, member]) =>
    typeof member === "string" ? `\`${name}\` has another value` : `\`${name}\` is ${String(member)}`,
  );
  return `changed outside the program: ${inSeries(each)}; the program doesn't set ${each.length === 1 ? "it" : "them"}`;
}
