import { createHash } from "node:crypto";
import { canonicalJson } from "./json";

/** Returns the SHA-256 of a value's JSON, with properties in a fixed order, as 64 hex digits. */
export function digestOf(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}
