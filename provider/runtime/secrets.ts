import type { Redactor } from "../api/redact";
import { isJsonObject, type JsonObject } from "./values";

/**
 * The input that names a program's secret arguments. The engine doesn't display inputs whose names begin with
 * underscores. Every state contains this one, so its name never changes.
 */
export const SECRETS = "__secrets";

/** The member that marks an object as a special value in the engine's messages and files. */
export const WIRE_SIGNATURE = "4dabf18193072939515e22adb298388d";
/** That member's value for a secret. */
export const WIRE_SECRET = "1b47061264138c4ac30d75fd1eb44270";

/** Which of a resource type's arguments and outputs are secret. */
export interface SecretRules {
  readonly secret?: Readonly<Record<string, unknown>>;
  readonly secretOutputs?: readonly string[];
  readonly computedInputs?: readonly string[];
  readonly derivedFrom?: Readonly<Record<string, readonly string[]>>;
}

/** Returns the arguments that the program made secret, which the class lists in the inputs. */
export function namesOfSecrets(bag: JsonObject): readonly string[] {
  const names = bag[SECRETS];
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}

/** Shorter numbers are too common to hide. */
const LONG_NUMBER_DIGITS = 6;

/** Yields every string and long number in a value, at any depth. */
export function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "number" && String(value).length >= LONG_NUMBER_DIGITS) yield String(value);
  else if (Array.isArray(value) || isJsonObject(value)) {
    for (const member of Object.values(value)) yield* stringsIn(member);
  }
}

/** Yields the keys of objects, at any depth, except keys that look like property names, such as `enabled`. */
export function* keysIn(value: unknown): Generator<string> {
  if (!Array.isArray(value) && !isJsonObject(value)) return;
  for (const [key, member] of Object.entries(value)) {
    if (!Array.isArray(value) && !MEMBER_NAME.test(key)) yield key;
    yield* keysIn(member);
  }
}

const MEMBER_NAME = /^[a-z_]+$/i;

/**
 * The maximum length of a string whose parts are hidden as well. Longer strings are documents, whose parts may occur in
 * any sentence. Key files are shorter.
 */
const MOST_TOKEN_CHARACTERS = 4096;

/** Words such as "true" or "keys" aren't hidden, because that would garble every sentence. */
const EVERYDAY_WORD = /^[a-z]{1,7}$/i;

/**
 * Redacts arguments that may contain arbitrary strings. A string with whitespace is hidden only as a whole. Otherwise,
 * its parts are hidden as well.
 */
export function redactStrings(redactor: Redactor, value: unknown): void {
  for (const text of stringsIn(value)) {
    if (EVERYDAY_WORD.test(text)) continue;
    if (text.length > MOST_TOKEN_CHARACTERS || /\s/.test(text)) redactor.addWhole(text);
    else redactor.add(text);
  }
}
