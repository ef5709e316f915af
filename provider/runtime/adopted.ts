import { changesInWords, type Changes } from "./changes";
import { omit, pick, type JsonObject } from "./values";

/** What is said and recorded of an object that a create adopts. */

/** What a create finds of the object that it adopts. */
export interface Adoption {
  /** The resource, at the start of a sentence: `PageShieldPolicy "checkout"`. */
  readonly what: string;
  /** The object and where it is: `policy 0f3a… of zone …`. */
  readonly object: string;
  /** Its arguments in canonical form, undefined where it has none; what is left out is as declared. */
  readonly found: JsonObject;
  /** What destroying the resource does: `deletes it`. */
  readonly onDestroy: string;
  /** What else the preview says about it, in sentences. */
  readonly more?: string;
  /** What only the update says, in sentences. */
  readonly afterwards?: string;
}

/** The output `adopted`: the existing object that a resource adopted when it was created. */
export interface Adopted {
  /** The object and where it is: `policy 0f3a… of zone …`. */
  readonly object: string;
  /** What destroying the resource did to it, as declared then: `deletes it`. */
  readonly onDestroy: string;
  /** What adopting it changed, by argument; absent where it matched the program. A side that is absent was not set. */
  readonly changes?: Changes;
}

/** The name of that output, and of the input that shows it in the preview. */
export const ADOPTED = "adopted";

export function adoptedOf({ object, onDestroy }: Adoption, changes: Changes): Adopted {
  return { object, onDestroy, ...(Object.keys(changes).length === 0 ? {} : { changes }) };
}

/** Says in the preview what the update adopts. */
export function adoptionLine({ what, more }: Adoption, { object, onDestroy, changes }: Adopted): string {
  const does =
    changes === undefined
      ? `adopts the existing ${object}, which matches the program`
      : `takes over the existing ${object} and changes ${changesInWords(changes)}`;
  return [`${what} ${does}.`, `Destroying the resource ${onDestroy}.`, more].filter(Boolean).join(" ");
}

/** Names the object with the time that Cloudflare gives for it. */
export function withTimestamp(object: string, raw: JsonObject): string {
  const timeOf = (names: readonly string[]): string | undefined =>
    names.flatMap((name) => (typeof raw[name] === "string" ? [raw[name]] : []))[0];
  const created = timeOf(["created_on", "created_at"]);
  const changed = timeOf(["modified_on", "updated_at", "last_updated"]);
  if (created !== undefined) return `${object} (created ${created})`;
  return changed === undefined ? object : `${object} (last changed ${changed})`;
}

/** What is recorded, with the adoption that the create made in place of the one that its preview expected. */
export function withAdopted(recorded: JsonObject, adopted: unknown): Record<string, unknown> {
  return { ...omit(recorded, [ADOPTED]), ...pick({ [ADOPTED]: adopted }, [ADOPTED]) };
}
