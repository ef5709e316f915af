import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";
import { z } from "zod";
import { DIGEST_BYTES, type RecordedEntry } from "./entry";

const compress = promisify(brotliCompress);
const decompress = promisify(brotliDecompress);

/** What the resource has written, by key. */
export type Manifest = Map<string, RecordedEntry>;

/** First byte of the encoded form. */
const VERSION = 1;
/** The size of the header: the version, and the length of the compressed columns. */
const HEAD_BYTES = 5;
/** The size of the checksum at the end of the encoded form: a truncated SHA-256 that reveals truncation and changes. */
const CHECKSUM_BYTES = 8;
/**
 * The compression level, from 0 to 11. Above 5, compression gets much slower but hardly better, because most of the
 * content is digests.
 */
const BROTLI_QUALITY = 5;

/**
 * What's recorded in addition to the values' digests, in the order of the keys. It's stored in columns because they
 * compress best; empty ones are omitted.
 */
const columns = z.object({
  keys: z.array(z.string()),
  metadata: z.array(z.string().nullable()).optional(),
  expiration: z.array(z.number().nullable()).optional(),
  ttl: z.array(z.number().nullable()).optional(),
});

/**
 * Encodes the manifest as one line of text for the state. Equal content gives equal text. Each key takes 16 bytes for
 * the value's digest and 2 to 8 bytes for the rest. Base64 adds a third.
 */
export async function encodeManifest(manifest: Manifest, digestBytes = DIGEST_BYTES): Promise<string> {
  const keys = [...manifest.keys()].sort();
  const rows = keys.flatMap((key) => manifest.get(key) ?? []);
  const column = <T>(of: (row: RecordedEntry) => T | undefined): (T | null)[] | undefined =>
    rows.some((row) => of(row) !== undefined) ? rows.map((row) => of(row) ?? null) : undefined;
  const packed = await compress(
    JSON.stringify({
      keys,
      metadata: column(({ metadata }) => metadata),
      expiration: column(({ expiration }) => expiration),
      ttl: column(({ ttl }) => ttl),
    } satisfies z.input<typeof columns>),
    { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [constants.BROTLI_PARAM_LGWIN]: 22 } },
  );
  const head = Buffer.alloc(HEAD_BYTES, VERSION);
  head.writeUInt32BE(packed.length, 1);
  // Digests don't compress.
  const values = Buffer.alloc(rows.length * digestBytes);
  rows.forEach(({ value }, i) => values.write(value, i * digestBytes, digestBytes, "hex"));
  const parts = [head, packed, values];
  return Buffer.concat([...parts, checksum(...parts)]).toString("base64");
}

/** @throws if the text was truncated, changed, or written by a later version. */
export async function decodeManifest(text: string): Promise<Manifest> {
  const whole = Buffer.from(text, "base64");
  const body = whole.subarray(0, -CHECKSUM_BYTES);
  const complete = Math.ceil(whole.length / 3) * 4 === text.length; // Node stops reading base64 at its padding.
  if (!complete || !checksum(body).equals(whole.subarray(-CHECKSUM_BYTES))) {
    throw new Error(
      'The manifest (the record of written keys) in the state is damaged: its checksum doesn\'t match, so it was truncated or changed. Restore the state from a backup, or remove this KvEntries from the state (`pulumi state delete`) and declare it with adopt: "takeOver".',
    );
  }
  if (body[0] !== VERSION) {
    throw new Error(
      `The manifest (the record of written keys) in the state has format ${body[0] ?? 0}, but this version of pulumi-edgeguard reads only format ${VERSION}. Install the version that wrote it, or a later one.`,
    );
  }
  const end = HEAD_BYTES + body.readUInt32BE(1);
  const [packed, values] = [body.subarray(HEAD_BYTES, end), body.subarray(end)];
  const { keys, metadata, expiration, ttl } = await columnsIn(packed);
  const manifest: Manifest = new Map();
  const digestBytes = values.length / Math.max(1, keys.length);
  keys.forEach((key, i) => {
    manifest.set(key, {
      value: values.toString("hex", i * digestBytes, (i + 1) * digestBytes),
      metadata: metadata?.[i] ?? undefined,
      expiration: expiration?.[i] ?? undefined,
      ttl: ttl?.[i] ?? undefined,
    });
  });
  return manifest;
}

async function columnsIn(packed: Buffer): Promise<z.infer<typeof columns>> {
  try {
    return columns.parse(JSON.parse(String(await decompress(packed))));
  } catch (error) {
    throw new Error(
      'This version of pulumi-edgeguard can\'t read the manifest (the record of written keys) in the state. Install the version that wrote it, or remove this KvEntries from the state (`pulumi state delete`) and declare it with adopt: "takeOver".',
      { cause: error },
    );
  }
}

/**
 * Encodes what the next check needs to know about the declared entries: a check doesn't receive the outputs, so not the
 * manifest. The digests are shortened, because they only count changes for the reviewer.
 */
export async function encodeIndex(rows: ReadonlyMap<string, RecordedEntry>): Promise<string> {
  const index: Manifest = new Map();
  for (const [key, { value, metadata, expiration, ttl }] of rows)
    index.set(key, {
      value,
      metadata: metadata?.slice(0, INDEX_DIGEST_BYTES * 2),
      expiration: ttl === undefined ? expiration : undefined, // A TTL's expiration depends on when it was written.
      ttl,
    });
  return await encodeManifest(index, INDEX_DIGEST_BYTES);
}

const INDEX_DIGEST_BYTES = 4;

function checksum(...parts: readonly Buffer[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest().subarray(0, CHECKSUM_BYTES);
}
