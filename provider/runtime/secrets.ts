import type { Redactor } from "../api/redact";
import { isJsonObject, type JsonObject } from "./values";

/**
 * The input that names a program's secret arguments. The engine's displays leave out what begins like this, and it is
 * part of every state: its name never changes.
 */
export const SECRETS = "__secrets";

/** What a lifecycle says of secrets. */
export interface SecretRules {
  readonly secret?: Readonly<Record<string, unknown>>;
  readonly secretOutputs?: readonly string[];
  readonly computedInputs?: readonly string[];
  readonly derivedFrom?: Readonly<Record<string, readonly string[]>>;
}

/** The arguments that a program made secret, as its class says in the inputs. */
export function namesOfSecrets(bag: JsonObject): readonly string[] {
  const names = bag[SECRETS];
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}

/** A number with fewer digits occurs in any text. */
const LONG_NUMBER_DIGITS = 6;

/** Every text and every long number in a value, at any depth. */
export function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "number" && String(value).length >= LONG_NUMBER_DIGITS) yield String(value);
  else if (Array.isArray(value) || isJsonObject(value)) {
    for (const member of Object.values(value)) yield* stringsIn(member);
  }
}

/** Longer texts are documents, which share pieces with every sentence; a key file is shorter. */
const MOST_TOKEN_CHARACTERS = 4096;

/** Hiding "true" or "keys" would garble every sentence. */
const EVERYDAY_WORD = /^[a-z]{1,7}$/i;

/** For arguments that hold all kinds of texts: one with white space is hidden as a whole, and any other in pieces, too. */
export function redactStrings(redactor: Redactor, value: unknown): void {
  for (const text of stringsIn(value)) {
    if (EVERYDAY_WORD.test(text)) continue;
    if (text.length > MOST_TOKEN_CHARACTERS || /\s/.test(text)) redactor.addWhole(text);
    else redactor.add(text);
  }
}
