import type { ApiContext } from "../context";
import type { Limits } from "../limits";
import type { Settings } from "../options";
import { bodyBytes, bodyJson, isRecord, requireJsonType } from "../request";
import { type Bytes, bytesIn, bytesOf, storedValue } from "./value";
import { type Change, type Entry, jurisdiction, metadataOf, type NamespaceRecord } from "./entities";
import { kvFailures } from "./failures";

/** A summary that the request log contains instead of a body with KV keys or values. */
export interface Batch {
  /** The number of pairs written, or of keys deleted or read. */
  readonly entries: number;
  /** The body's size. */
  readonly bytes: number;
  /** The first five keys. */
  readonly keys: readonly string[];
}

const batchPath = /^\/accounts\/[^/]+\/storage\/kv\/namespaces\/[^/]+\/(bulk(?:\/delete|\/get)?|values\/.+)$/;

/** Returns the key from the last segment of the encoded path. Routers decode parts of the path too early. */
function keyInPath(c: ApiContext): string | undefined {
  const path = (c.env.incoming.url ?? "").split("?")[0] ?? "";
  const encoded = /\/(?:values|metadata)\/([^/]+)\/?$/.exec(path)?.[1];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

export function readKey(c: ApiContext, settings: Settings): Bytes {
  return checkedKey(keyInPath(c) ?? "", settings);
}

/** Reads the pairs of a bulk write. Throws if any of them is invalid. */
export async function readPairs(c: ApiContext, settings: Settings): Promise<Change[]> {
  const items = await readArray(c, settings.limits.maxKvPairs);
  const now = settings.clock().getTime();
  return items.map((item, index) => readPair(item, `/${index}`, settings, now));
}

/** Reads the keys of a bulk delete. */
export async function readKeys(c: ApiContext, settings: Settings): Promise<Bytes[]> {
  const items = await readArray(c, settings.limits.maxKvPairs);
  return items.map((item, index) => {
    if (typeof item !== "string") throw kvFailures.bodyInvalid("a key is a string", `/${index}`);
    return checkedKey(item, settings, `/${index}`);
  });
}

export interface BulkGet {
  readonly keys: readonly string[];
  readonly type: "text" | "json";
  readonly withMetadata: boolean;
}

export async function readBulkGet(c: ApiContext, settings: Settings): Promise<BulkGet> {
  const body = await readJson(c);
  if (!isRecord(body)) throw kvFailures.bodyInvalid("it is not an object");
  const { keys = [], type = "text", withMetadata = false } = body;
  if (!isStrings(keys)) throw kvFailures.bodyInvalid("keys are strings", "/keys");
  if (type !== "text" && type !== "json") throw kvFailures.bodyInvalid("text or json", "/type");
  if (typeof withMetadata !== "boolean") throw kvFailures.bodyInvalid("true or false", "/withMetadata");

  const { maxKvBulkReadKeys } = settings.limits;
  if (keys.length === 0) throw kvFailures.tooFewKeys();
  if (keys.length > maxKvBulkReadKeys) throw kvFailures.tooManyKeys(keys.length, maxKvBulkReadKeys);
  keys.forEach((key, index) => checkedKey(key, settings, `/keys/${index}`));
  return { keys, type, withMetadata };
}

/** Reads one value: the raw body. Only bulk writes have metadata. */
export async function readEntry(c: ApiContext, settings: Settings): Promise<Entry> {
  const { limits, kvStore } = settings;
  if (/^multipart\//i.test(c.req.header("content-type") ?? ""))
    throw kvFailures.bodyInvalid("the local API reads a value only as the raw body, not as a form");
  const value = await bodyBytes(c);
  if (value.length > limits.maxKvValueBytes) {
    throw kvFailures.valueTooLarge(value.length, limits.maxKvValueBytes);
  }
  const times = {
    expiration: numberIn(c.req.query("expiration")),
    expiration_ttl: numberIn(c.req.query("expiration_ttl")),
  };
  return {
    value: storedValue(value, kvStore),
    expiration: expirationOf(times, "", limits, settings.clock().getTime()),
    metadata: undefined,
  };
}

/** Reads a create or a rename. A rename ignores the jurisdiction. */
export async function readNamespace(
  c: ApiContext,
  { maxNamespaceTitleCharacters }: Limits,
): Promise<Omit<NamespaceRecord, "id">> {
  const body = await readJson(c);
  if (!isRecord(body)) throw kvFailures.bodyInvalid("it is not an object");
  const { title = "" } = body;
  if (typeof title !== "string") throw kvFailures.bodyInvalid("the title is not a string", "/title");
  if (title === "") throw kvFailures.titleMissing();
  if (Array.from(title).length > maxNamespaceTitleCharacters) {
    throw kvFailures.bodyInvalid(
      `the title has more than ${maxNamespaceTitleCharacters} characters`,
      "/title",
    );
  }
  const restricted = jurisdiction.optional().safeParse(body["jurisdiction"]);
  if (!restricted.success) throw kvFailures.bodyInvalid("jurisdiction is eu, us or fedramp", "/jurisdiction");
  return { title, jurisdiction: restricted.data };
}

function readPair(item: unknown, pointer: string, settings: Settings, now: number): Change {
  if (!isRecord(item)) throw kvFailures.bodyInvalid("a pair is an object", pointer);
  const { key, value, base64 = false, metadata } = item;
  if (typeof key !== "string") throw kvFailures.bodyInvalid("a pair has a key", `${pointer}/key`);
  if (typeof value !== "string") throw kvFailures.bodyInvalid("a value is a string", `${pointer}/value`);
  if (typeof base64 !== "boolean") throw kvFailures.bodyInvalid("true or false", `${pointer}/base64`);
  if (base64 && !isBase64(value)) throw kvFailures.bodyInvalid("it is not base64", `${pointer}/value`);

  const { limits, kvStore } = settings;
  const content = base64 ? Buffer.from(value, "base64") : value;
  const length = Buffer.byteLength(content);
  if (length > limits.maxKvValueBytes) {
    throw kvFailures.valueTooLarge(length, limits.maxKvValueBytes, `${pointer}/value`);
  }
  return [
    checkedKey(key, settings, `${pointer}/key`),
    {
      value: storedValue(content, kvStore),
      expiration: expirationOf(item, pointer, limits, now),
      metadata: checkedMetadata(metadata, `${pointer}/metadata`, settings),
    },
  ];
}

/**
 * Checks a key. In the "documented" dialect, a strict API rejects whitespace and control characters, which the OpenAPI
 * schema allows.
 */
function checkedKey(key: string, { limits, dialect, strict }: Settings, pointer?: string): Bytes {
  const bytes = bytesOf(key);
  if (["", ".", ".."].includes(key)) throw kvFailures.keyIllegal(pointer);
  if (bytes.length > limits.maxKvKeyBytes) {
    throw kvFailures.keyTooLong(bytes.length, limits.maxKvKeyBytes, pointer);
  }
  if (strict && dialect === "documented" && /[\s\p{C}]/u.test(key)) throw kvFailures.keyIllegal(pointer);
  return bytes;
}

/**
 * Checks metadata. In the "documented" dialect, a strict API accepts only objects; the OpenAPI schema allows any JSON.
 */
function checkedMetadata(
  metadata: unknown,
  pointer: string,
  { limits, dialect, strict }: Settings,
): string | undefined {
  const text = metadataOf(metadata);
  const bytes = Buffer.byteLength(text ?? "");
  if (bytes > limits.maxKvMetadataBytes) {
    const why = `${bytes} bytes, but the limit is ${limits.maxKvMetadataBytes}`;
    throw kvFailures.metadataInvalid(why, pointer);
  }
  if (strict && dialect === "documented" && text !== undefined && !isRecord(metadata)) {
    throw kvFailures.metadataInvalid("it is not an object", pointer);
  }
  return text;
}

/** Returns when an entry expires. A TTL overrides an expiration. */
function expirationOf(
  { expiration, expiration_ttl: ttl }: Readonly<Record<string, unknown>>,
  pointer: string,
  { minKvTtlSeconds }: Limits,
  now: number,
): number | undefined {
  const nowSeconds = Math.floor(now / 1000);
  if (ttl !== undefined) {
    if (isWhole(ttl) && ttl >= minKvTtlSeconds) return nowSeconds + ttl;
    throw kvFailures.expirationTtlInvalid(minKvTtlSeconds, `${pointer}/expiration_ttl`);
  }
  if (expiration === undefined) return undefined;
  if (isWhole(expiration) && expiration >= nowSeconds + minKvTtlSeconds) return expiration;
  throw kvFailures.expirationInvalid(minKvTtlSeconds, `${pointer}/expiration`);
}

async function readArray(c: ApiContext, most: number): Promise<unknown[]> {
  const body = await readJson(c);
  if (!Array.isArray(body)) throw kvFailures.bodyInvalid("it is not an array");
  if (body.length > most) throw kvFailures.tooManyKeys(body.length, most);
  return body as unknown[];
}

async function readJson(c: ApiContext): Promise<unknown> {
  requireJsonType(c);
  const json = await bodyJson(c);
  if (json === undefined) throw kvFailures.bodyInvalid("it is not JSON");
  return json.value;
}

/**
 * Whether a text is base64 with padding and without line breaks. Searches for invalid characters, because matching 30
 * MB as a whole exhausts the stack.
 */
function isBase64(text: string): boolean {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.slice(0, text.length - padding));
}

/** Converts a query parameter to a number. Returns other text unchanged, which the schema then rejects. */
function numberIn(text: string | undefined): unknown {
  return text === undefined || !/^\d+$/.test(text) ? text : Number(text);
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** A position in a list of keys. Clients receive it as an opaque cursor. */
interface Cursor {
  readonly after: Bytes;
  readonly emptyPages: number;
}

export function encodeCursor({ after, emptyPages }: Cursor): string {
  return Buffer.from(`${emptyPages}:${after}`, "latin1").toString("base64url");
}

export function decodeCursor(cursor: string | undefined): Cursor {
  if (cursor === undefined || cursor === "") return { after: bytesOf(""), emptyPages: 0 };
  const text = bytesIn(Buffer.from(cursor, "base64url"));
  const [found, emptyPages = "", after = ""] = /^(\d+):([^]*)$/.exec(text) ?? [];
  const decoded = { emptyPages: Number(emptyPages), after: after as Bytes };
  if (found === undefined || encodeCursor(decoded) !== cursor) throw kvFailures.cursorInvalid();
  return decoded;
}

/** Returns what the request log contains instead of the body. Undefined for requests without keys or values. */
export async function batchOf(c: ApiContext, path: string): Promise<Batch | undefined> {
  const kind = batchPath.exec(path)?.[1];
  const bytes = (await bodyBytes(c)).length;
  if (kind === undefined || (bytes === 0 && c.req.method !== "PUT")) return undefined;
  if (kind.startsWith("values/")) return { entries: 1, bytes, keys: [keyInPath(c) ?? ""] };

  const value = (await bodyJson(c))?.value;
  const items: unknown = isRecord(value) ? value["keys"] : value;
  if (!Array.isArray(items)) return { entries: 0, bytes, keys: [] };
  const keys = items.slice(0, 5).map((item: unknown) => String(isRecord(item) ? item["key"] : item));
  return { entries: items.length, bytes, keys };
}
