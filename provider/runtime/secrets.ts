import { EVERYDAY_WORD, stringsIn, type Redactor } from "../api/redact";
import { isJsonObject, type JsonObject } from "../basics/json";

/**
 * The input that names a program's secret arguments. The engine doesn't display inputs whose names begin with
 * underscores. Every state contains this one, so its name never changes.
 */
export const SECRETS = "__secrets";

/** Returns the arguments that the program made secret, which the class lists in the inputs. */
export function namesOfSecrets(bag: JsonObject): readonly string[] {
  const names = bag[SECRETS];
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

/** Hides the strings of an argument that may contain anything. */
export function redactStrings(redactor: Redactor, value: unknown): void {
  for (const text of stringsIn(value)) if (!EVERYDAY_WORD.test(text)) redactor.addValue(text);
}
