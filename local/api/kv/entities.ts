import { z } from "zod";
import { identifier } from "../request";
import {
  bufferOf,
  type Bytes,
  bytesIn,
  bytesOf,
  contentOf,
  Digest,
  storedValue,
  readableText,
  textOf,
  type Value,
  type ValueStore,
} from "./value";

/** A key's value, expiration and metadata. */
export interface Entry {
  readonly value: Value;
  /** The expiration in Unix seconds. */
  readonly expiration: number | undefined;
  /** Metadata as JSON. */
  readonly metadata: string | undefined;
}

/** A key and its new entry. The entry is undefined for a delete. */
export type Change = readonly [key: Bytes, entry: Entry | undefined];

const common = {
  key: z.string(),
  expiration: z.number().optional(),
  metadata: z.unknown().optional(),
};

/** The schema of an entry in a snapshot. It contains the value or only the value's digest. */
export const entryRecord = z.union([
  z.strictObject({ ...common, value: z.string(), base64: z.boolean().optional() }),
  z.strictObject({ ...common, sha256: z.string().regex(/^[0-9a-f]{64}$/), length: z.int().min(0) }),
]);

/** Where a namespace's data is stored, which only its creation decides. */
export const jurisdiction = z.enum(["eu", "us", "fedramp"]);

export const namespaceRecord = z.strictObject({
  id: identifier,
  title: z.string(),
  jurisdiction: jurisdiction.optional(),
});

export const kvSnapshot = z.strictObject({
  namespaces: z.array(z.strictObject({ ...namespaceRecord.shape, entries: z.array(entryRecord) })),
});

export type EntryRecord = z.infer<typeof entryRecord>;
export type NamespaceRecord = z.infer<typeof namespaceRecord>;
export type KvSnapshot = z.infer<typeof kvSnapshot>;

export function recordOf(key: Bytes, { value, expiration, metadata }: Entry): EntryRecord {
  return {
    key: textOf(key),
    ...valueRecord(value),
    ...(expiration === undefined ? {} : { expiration }),
    ...(metadata === undefined ? {} : { metadata: JSON.parse(metadata) as unknown }),
  };
}

export function changeOf(record: EntryRecord, store: ValueStore): [Bytes, Entry] {
  const { key, expiration, metadata } = record;
  const value =
    "sha256" in record
      ? new Digest(bytesIn(Buffer.from(record.sha256, "hex")), record.length)
      : storedValue(record.base64 === true ? Buffer.from(record.value, "base64") : record.value, store);
  return [bytesOf(key), { value, expiration, metadata: metadataOf(metadata) }];
}

/** Converts metadata to JSON. Undefined for null, which clients send for no metadata. */
export function metadataOf(metadata: unknown): string | undefined {
  return metadata === undefined || metadata === null ? undefined : JSON.stringify(metadata);
}

function valueRecord(value: Value) {
  if (value instanceof Digest) {
    return { sha256: bufferOf(value.sha256).toString("hex"), length: value.length };
  }
  const content = contentOf(value) ?? Buffer.alloc(0);
  const text = readableText(content);
  return text === undefined ? { value: content.toString("base64"), base64: true } : { value: text };
}
