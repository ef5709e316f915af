import { HIDDEN } from "./hidden";
import { isJsonObject, type JsonObject } from "../basics/json";

/** Returns the arguments that the program made secret, which the class lists in the inputs. */
export function namesOfSecrets(bag: JsonObject): readonly string[] {
  const names = bag[HIDDEN.secrets];
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}

/** Yields the keys of objects, at any depth, except keys that look like property names, such as `enabled`. */
export function* keysIn(value: unknown): Generator<string> {
  if (!Array.isArray(value) && !isJsonObject(value)) return;
  for (const [key, member] of Object.entries(value)) {
    if (!Array.isArray(value) && !MEMBER_NAME.test(key)) yield key;
    yield* keysIn(member);
  }
}

/** Yields the names of a secret's own members, at any depth. An ID is never secret. */
export function* memberNamesIn(value: unknown): Generator<string> {
  if (!Array.isArray(value) && !isJsonObject(value)) return;
  for (const [key, member] of Object.entries(value)) {
    if (!Array.isArray(value) && MEMBER_NAME.test(key) && key !== "id") yield key;
    yield* memberNamesIn(member);
  }
}

const MEMBER_NAME = /^[a-z_]+$/i;
