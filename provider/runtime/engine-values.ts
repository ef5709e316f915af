import { isJsonObject } from "../basics/json";

/** Values that have a meaning of their own in the engine's messages and files. */

/** How the engine's messages and files mark a value as secret. */
export const WIRE_SECRET = {
  /** The member that marks an object as a special value. */
  member: "4dabf18193072939515e22adb298388d",
  /** That member's value for a secret. */
  mark: "1b47061264138c4ac30d75fd1eb44270",
} as const;

/** Represents an unknown value in previews, at any depth (@pulumi/pulumi, runtime/rpc). */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Whether the value, or anything inside it, is unknown. */
export function hasUnknown(value: unknown): boolean {
  if (value === UNKNOWN) return true;
  if (Array.isArray(value)) return value.some(hasUnknown);
  return isJsonObject(value) && Object.values(value).some(hasUnknown);
}

/** Whether the value at `path` is unknown, contains something unknown, or is inside something unknown. */
export function unknownAt(value: unknown, path: readonly PropertyKey[]): boolean {
  let current = value;
  for (const key of path) {
    if (current === UNKNOWN) return true;
    current = isJsonObject(current) || Array.isArray(current) ? Reflect.get(current, key) : undefined;
  }
  return hasUnknown(current);
}
