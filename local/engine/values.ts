/** Property values, on the wire and in the state. */
import { UnsupportedError } from "./errors";

/** A value that a preview doesn't know yet. */
export class Unknown {
  static readonly value = new Unknown();
  readonly kind = "unknown";
  private constructor() {
    // Use `Unknown.value`.
  }
}

/** A value that's encrypted in the state and never shown. */
export class Secret {
  constructor(readonly element: Value) {}
}

export type Value = null | boolean | number | string | Value[] | ValueMap | Secret | Unknown;
export interface ValueMap {
  [key: string]: Value;
}

/** JSON from a file or a protobuf Struct. */
export type Json = null | boolean | number | string | Json[] | JsonMap;
export interface JsonMap {
  [key: string]: Json;
}

const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
export const SIGNATURE = "4dabf18193072939515e22adb298388d";
export const SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270";

/** Signatures of values that this engine doesn't support, with their readable names. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  c44067f5952c0a294b673a41bacd8c17: "assets",
  "0def7320c3a5731c473e5ecbe6d01bc7": "archives",
  "5cf8f73096256a8f31e491e813e4eb8e": "resource references",
  d0e6a833031e9bbcd3f4e8bde6ca49a4: "output values",
};

export const isMap = (value: Value | undefined): value is ValueMap =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Secret) &&
  !(value instanceof Unknown);

export const isJsonMap = (value: unknown): value is JsonMap =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads a secret's content, which is plain on the wire and encrypted in the state. */
type OpenSecret = (marked: JsonMap) => Value;

const openWireSecret: OpenSecret = (marked) => fromWire(marked["value"] ?? null);

/** Reads a value from the program or the provider host. */
export function fromWire(json: Json): Value {
  return decode(json, openWireSecret);
}

export function mapFromWire(json: JsonMap): ValueMap {
  return mapValues(json, fromWire);
}

export function decode(json: Json, openSecret: OpenSecret): Value {
  if (json === UNKNOWN) return Unknown.value;
  if (Array.isArray(json)) return json.map((item) => decode(item, openSecret));
  if (!isJsonMap(json)) return json;
  const signature = json[SIGNATURE];
  if (signature === SECRET_SIGNATURE) return secret(openSecret(json));
  if (typeof signature === "string") {
    throw new UnsupportedError(UNSUPPORTED[signature] ?? `property values with the signature ${signature}`);
  }
  return mapValues(json, (item) => decode(item, openSecret));
}

/** Writes a value for the program, which supports secrets. */
export function toWire(value: Value): Json {
  return encode(value, (element) => ({ [SIGNATURE]: SECRET_SIGNATURE, value: toWire(element) }));
}

/** Writes a value for the dynamic provider host, which doesn't support secrets. */
export function toPlain(value: Value): Json {
  return encode(value, toPlain);
}

/** Writes a value for users, without secrets. */
export function toRedacted(value: Value): Json {
  return encode(value, () => "[secret]");
}

export function encode(value: Value, sealSecret: (element: Value, secret: Secret) => Json): Json {
  if (value instanceof Unknown) return UNKNOWN;
  if (value instanceof Secret) return sealSecret(value.element, value);
  if (Array.isArray(value)) return value.map((item) => encode(item, sealSecret));
  if (isMap(value)) return mapValues(sorted(value), (item) => encode(item, sealSecret));
  return value;
}

export const toWireMap = (map: ValueMap): JsonMap => mapValues(map, toWire);
export const toPlainMap = (map: ValueMap): JsonMap => mapValues(map, toPlain);

/** Marks a value as secret. Never nests secrets. */
export function secret(value: Value): Secret {
  return value instanceof Secret ? value : new Secret(value);
}

function containsSecrets(value: Value): boolean {
  if (value instanceof Secret) return true;
  if (Array.isArray(value)) return value.some(containsSecrets);
  return isMap(value) && Object.values(value).some(containsSecrets);
}

export function containsUnknowns(value: Value): boolean {
  if (value instanceof Unknown) return true;
  if (value instanceof Secret) return containsUnknowns(value.element);
  if (Array.isArray(value)) return value.some(containsUnknowns);
  return isMap(value) && Object.values(value).some(containsUnknowns);
}

/**
 * Marks returned values as secret if the values sent under the same keys were secret, because the provider host doesn't
 * support secrets.
 */
export function markSecretsLike(returned: ValueMap, sent: ValueMap): ValueMap {
  const marked: ValueMap = { ...returned };
  for (const [key, sentValue] of Object.entries(sent)) {
    const value = marked[key];
    if (value === undefined) continue;
    if (isMap(value) && isMap(sentValue)) marked[key] = markSecretsLike(value, sentValue);
    else if (containsSecrets(sentValue)) marked[key] = secret(value);
  }
  return marked;
}

export function equal(left: Value, right: Value): boolean {
  if (left instanceof Secret) return right instanceof Secret && equal(left.element, right.element);
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => equal(item, right[index] ?? null))
    );
  }
  if (isMap(left)) return isMap(right) && equalMaps(left, right);
  return left === right;
}

export function equalMaps(left: ValueMap, right: ValueMap): boolean {
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => {
      const [a, b] = [left[key], right[key]];
      return a !== undefined && b !== undefined && equal(a, b);
    })
  );
}

export function mapValues<From, To>(
  map: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]));
}

export function sorted<T>(map: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
