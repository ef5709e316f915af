import { hash } from "node:crypto";
import { canonicalJson, type Json } from "../runtime/values";

/** One key-value entry as a declaration gives it, checked and with defaults applied (seed 002, "Key-value entry"). */
export interface Entry {
  readonly key: string;
  /** Text, or base64 text where `base64` is true. */
  readonly value: string;
  readonly base64: boolean;
  readonly metadata?: Json;
  /** Expiry, seconds since the epoch. Absent where `expirationTtl` is given: the lifetime has precedence. */
  readonly expiration?: number;
  /** Lifetime in seconds, at least 60. */
  readonly expirationTtl?: number;
}

/** What the manifest remembers of an entry that was written. */
export interface Recorded {
  /** First 16 bytes of the SHA-256 of the stored bytes, as 32 hexadecimal digits. */
  readonly value: string;
  /** The same of the metadata's canonical JSON; absent without metadata. */
  readonly metadata?: string | undefined;
  /** When it expires, seconds since the epoch: as declared, or for a lifetime as the service lists it. */
  readonly expiration?: number | undefined;
  /** The declared lifetime in seconds; a change of it renews the entry. */
  readonly ttl?: number | undefined;
}

/** Of a recorded digest. */
export const DIGEST_BYTES = 16;

/**
 * What is remembered of a key of which nobody knows what it holds: a write or a delete of it was broken off, or somebody
 * else changed it. Equal to no declaration, so that it is written; still ours, so that it is deleted with the rest.
 */
export const UNCERTAIN: Recorded = { value: "00".repeat(DIGEST_BYTES) };

/** Bytes as the service stores them. */
export function storedBytes(entry: Pick<Entry, "value" | "base64">): Buffer {
  return Buffer.from(entry.value, entry.base64 ? "base64" : "utf8");
}

export function digest(bytes: Buffer | string): string {
  // Not a part of the longer text: that would keep the whole of it in memory.
  return hash("sha256", bytes, "buffer").toString("hex", 0, DIGEST_BYTES);
}

/** What will be remembered of an entry, but for the time at which a lifetime ends. */
export function recordOf(
  entry: Entry,
  stored: Buffer | string = entry.base64 ? storedBytes(entry) : entry.value,
): Recorded {
  return {
    value: digest(stored),
    metadata: entry.metadata === undefined ? undefined : digest(canonicalJson(entry.metadata)),
    expiration: entry.expirationTtl === undefined ? entry.expiration : undefined,
    ttl: entry.expirationTtl,
  };
}
