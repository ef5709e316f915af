import { changesInWords, type Changes } from "./changes";
import { isJsonObject, omit, pick, type JsonObject } from "../basics/json";

/** What the preview shows and the state records about an adopted object. */

/** An existing object that a create adopts. */
export interface Adoption {
  /** The resource's type and name, as the start of a sentence: `PageShieldPolicy "checkout"`. */
  readonly what: string;
  /** The object and its location, as text: `policy 0f3a… in zone …`. */
  readonly object: string;
  /**
   * The object's arguments that differ from the program, in canonical form. Undefined if the object doesn't set the
   * argument.
   */
  readonly found: JsonObject;
  /** What destroying the resource does to the object: `deletes it`. */
  readonly onDestroy: string;
  /** More sentences for the preview's message about the adoption. */
  readonly more?: string;
  /** The object as the API returns it, if that says when it was created or last changed. */
  readonly raw?: JsonObject;
}

/** The output `adopted`: an existing object that the resource adopted instead of creating one. */
export interface Adopted {
  /** The object and its location, as text: `policy 0f3a… in zone …`. */
  readonly object: string;
  /** What destroying the resource does to the object, as of the adoption: `deletes it`. */
  readonly onDestroy: string;
  /** What adopting the object changed, by argument. Absent if the object matched the program. */
  readonly changes?: Changes;
}

/** The name of the output, and of the input that shows the adoption in the preview. */
export const ADOPTED = "adopted";

/** Returns the ID of the object that's adopted: the word after the kind of object. */
export function adoptedId({ [ADOPTED]: adopted }: JsonObject): string | undefined {
  const { object } = isJsonObject(adopted) ? adopted : {};
  return typeof object === "string" ? object.split(" ")[1] : undefined;
}

/**
 * Returns the inputs that a preview shows as unknown if a create may adopt an object but the preview can't look it up.
 */
export function pendingAdoption(inputs: JsonObject, isNew: boolean): readonly string[] {
  return isNew && inputs["adopt"] !== "never" ? [ADOPTED] : [];
}

export function adoptedOf({ object, onDestroy }: Adoption, changes: Changes): Adopted {
  return { object, onDestroy, ...(Object.keys(changes).length === 0 ? {} : { changes }) };
}

/** Returns the preview's message about the adoption. */
export function adoptionLine({ what, more }: Adoption, { object, onDestroy, changes }: Adopted): string {
  const does =
    changes === undefined
      ? `adopts the existing ${object}, which matches the program`
      : `adopts the existing ${object} and changes ${changesInWords(changes)}`;
  return [`${what} ${does}.`, `Destroying the resource ${onDestroy}.`, more].filter(Boolean).join(" ");
}

/** Describes the object, with when it was created or last changed. */
export function withTimestamp({ object, raw = {} }: Adoption): string {
  const timeOf = (names: readonly string[]): string | undefined =>
    names.flatMap((name) => (typeof raw[name] === "string" ? [raw[name]] : []))[0];
  const created = timeOf(["created_on", "created_at"]);
  const changed = timeOf(["modified_on", "updated_at", "last_updated"]);
  if (created !== undefined) return `${object} (created ${created})`;
  return changed === undefined ? object : `${object} (last changed ${changed})`;
}

/** Returns the recorded inputs, with the adoption that took place instead of the one that the preview expected. */
export function withAdopted(recorded: JsonObject, adopted: unknown): Record<string, unknown> {
  return { ...omit(recorded, [ADOPTED]), ...pick({ [ADOPTED]: adopted }, [ADOPTED]) };
}
