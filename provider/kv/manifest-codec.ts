import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";
import { ByteReader, ByteWriter } from "./bytes";
import { DIGEST_BYTES, Records } from "./records";

const compress = promisify(brotliCompress);
const decompress = promisify(brotliDecompress);

/** The manifest in the state cannot be read. */
export class ManifestError extends Error {
  override readonly name = "ManifestError";
}

/** First byte of the encoded form. */
const VERSION = 1;
/** Of the SHA-256 at the end of the encoded form: finds what was cut off or altered. */
const CHECKSUM_BYTES = 8;
/** Of 0 to 11. Above 5 the time grows much faster than the text shrinks: the digests are most of it. */
const BROTLI_QUALITY = 5;

/**
 * Rows as one line of text: base64 of a version byte, the columns in Brotli, and a checksum. Keys are sorted and each
 * says how many bytes it shares with the one before; equal content gives equal text. About 16 bytes of the value's
 * digest and 2 to 6 of the rest per key, times 4/3 for base64.
 */
export async function encode(records: Records, rows: number[]): Promise<string> {
  // An array and not a typed one: its sort takes runs that are in order already as they are, which most are.
  const order = rows.sort((a, b) => records.compareKeys(a, b));
  const head = new ByteWriter();
  const keys = new ByteWriter();
  const times = new ByteWriter();
  const values = Buffer.alloc(order.length * DIGEST_BYTES);
  const pool = new Map<number, number>();

  // 1. Keys and times in columns of their own: alike beside alike compresses best.
  let last = -1;
  order.forEach((row, i) => {
    const shared = last === -1 ? 0 : records.sharedBytes(last, row);
    const own = records.keyBytes(row, shared);
    head.number(shared);
    head.number(own.length);
    keys.bytes(own);
    records.copyValue(row, values, i * DIGEST_BYTES);
    last = row;
  });
  for (const row of order) {
    const number = records.metadata(row);
    if (number !== 0 && !pool.has(number)) pool.set(number, pool.size + 1);
    times.number(pool.get(number) ?? 0);
  }
  for (const row of order) times.optional(records.ttl(row));
  let lastExpiration = 0;
  for (const row of order) {
    const expiration = records.expiration(row);
    times.optionalSigned(expiration - lastExpiration);
    if (!Number.isNaN(expiration)) lastExpiration = expiration;
  }
  const metadata = Buffer.from(
    [...pool.keys()].map((number) => records.metadataDigest(number)).join(""),
    "hex",
  );

  // 2. Digests are noise, which no compression makes smaller: they stay outside.
  const columns = [head.done(), keys.done(), times.done()];
  const packed = await compress(Buffer.concat(columns), {
    params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [constants.BROTLI_PARAM_LGWIN]: 22 },
  });
  const lengths = new ByteWriter();
  for (const length of [order.length, pool.size, packed.length, ...columns.map((c) => c.length)]) {
    lengths.number(length);
  }
  const body = Buffer.concat([Buffer.of(VERSION), lengths.done(), packed, metadata, values]);
  return Buffer.concat([body, checksum(body)]).toString("base64");
}

/** @throws ManifestError for text that was cut off, altered, or written by a later version. */
export async function decode(text: string): Promise<Records> {
  const whole = Buffer.from(text, "base64");
  const body = whole.subarray(0, -CHECKSUM_BYTES);
  const complete = Math.ceil(whole.length / 3) * 4 === text.length; // Node stops reading base64 at its padding.
  if (!complete || !checksum(body).equals(whole.subarray(-CHECKSUM_BYTES))) {
    throw new ManifestError(
      'The manifest in the state is damaged: its checksum does not match, so it was cut off or altered. Restore the state from a backup, or remove this KvEntries from the state (`pulumi state delete`) and declare it with adopt: "takeOver".',
    );
  }
  if (body[0] !== VERSION) {
    throw new ManifestError(
      `The manifest in the state has format ${body[0] ?? 0}; this version of pulumi-edgeguard reads format ${VERSION}. Install the version that wrote it, or a later one.`,
    );
  }
  return await read(body);
}

async function read(body: Buffer): Promise<Records> {
  const records = new Records();
  const reader = new ByteReader(body, 1);
  const [rows, pool, packedBytes] = [reader.number(), reader.number(), reader.number()];
  const [headBytes, keyBytes, timeBytes] = [reader.number(), reader.number(), reader.number()];
  const columns = await decompress(reader.bytes(packedBytes));
  for (let i = 0; i < pool; i += 1) records.metadataNumber(reader.bytes(DIGEST_BYTES).toString("hex"));
  const head = new ByteReader(columns, 0);
  const suffixes = new ByteReader(columns, headBytes);
  const times = new ByteReader(columns, headBytes + keyBytes, headBytes + keyBytes + timeBytes);

  records.reserve(rows);
  for (let row = 0; row < rows; row += 1) {
    const [shared, own] = [head.number(), head.number()];
    records.addAfter(shared, suffixes.bytes(own));
  }
  records.setValues(reader.bytes(rows * DIGEST_BYTES));
  for (let row = 0; row < rows; row += 1) records.setMetadata(row, times.number());
  const ttls = Float64Array.from({ length: rows }, () => times.optional());
  let lastExpiration = 0;
  for (let row = 0; row < rows; row += 1) {
    const expiration = times.optionalSigned() + lastExpiration;
    records.setTimes(row, expiration, ttls[row] ?? NaN);
    if (!Number.isNaN(expiration)) lastExpiration = expiration;
  }
  return records;
}

function checksum(body: Buffer): Buffer {
  return createHash("sha256").update(body).digest().subarray(0, CHECKSUM_BYTES);
}
