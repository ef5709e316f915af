import { KV } from "../limits";
import type { Context } from "../runtime/lifecycle";
import { subjectOf, type NamespaceAddress } from "./address";
import { formatNumber } from "../limits/workers";
import { digest, UNCERTAIN } from "./entry";
import { mayHaveExpired, listKeys, type ListedKey, sameListed } from "./listing";
import type { Manifest } from "./manifest";
import { readValues } from "./values";

export interface Verification extends NamespaceAddress {
  readonly verify?: "keys" | "values" | "none" | undefined;
  /** When the last entry was written, in Unix seconds. */
  readonly writtenAt: number;
}

/**
 * Describes how the entries that exist differ from the manifest, and marks them in the manifest so that the next update
 * repairs them. Returns undefined if nothing drifted.
 */
export async function driftOf(
  ctx: Context,
  state: Verification,
  manifest: Manifest,
): Promise<string | undefined> {
  const listed = new Map<string, ListedKey>();
  for await (const key of listKeys(ctx.api, state)) if (manifest.has(key.name)) listed.set(key.name, key);
  const now = ctx.api.now() / 1000;
  // Neither a listing nor a read is guaranteed to show our own writes yet.
  if (now - state.writtenAt < KV.CONSISTENCY_SECONDS) return undefined;

  const missing: string[] = [];
  const changed: string[] = [];
  for (const [key, recorded] of manifest) {
    if (recorded.value === UNCERTAIN.value) continue; // These entries are already known to need a write.
    const found = listed.get(key);
    if (found === undefined) {
      if (!mayHaveExpired(recorded, now)) missing.push(key);
    } else if (!sameListed(recorded, found, now)) changed.push(key);
  }
  if (state.verify === "values") {
    const differing = new Set(changed);
    const keys = [...listed.keys()].filter(
      (key) => !differing.has(key) && manifest.get(key)?.value !== UNCERTAIN.value,
    );
    changed.push(...(await changedValues(ctx, state, manifest, keys)));
  }

  // The next update writes both kinds. A changed key is still ours, and is deleted once it's no longer declared.
  for (const key of missing) manifest.delete(key);
  for (const key of changed) manifest.set(key, UNCERTAIN);
  const parts = [driftPart("missing", missing), driftPart("changed", changed)].filter(
    (part) => part !== undefined,
  );
  return parts.length === 0 ? undefined : parts.join("; ");
}

/** Finds the keys whose values differ from what was written. */
async function changedValues(
  ctx: Context,
  { accountId, namespaceId }: NamespaceAddress,
  manifest: Manifest,
  keys: readonly string[],
): Promise<string[]> {
  const requests = Math.ceil(keys.length / KV.MAX_BULK_GET_KEYS);
  ctx.say.info(
    `${subjectOf(ctx, namespaceId)}: comparing ${formatNumber(keys.length)} ${keys.length === 1 ? "value" : "values"} takes ${formatNumber(requests)} ${requests === 1 ? "request" : "requests"}.`,
  );
  const others: string[] = [];
  const values = readValues(ctx, { accountId, namespaceId, keys, withMetadata: false });
  for await (const { key, bytes } of values) {
    if (manifest.get(key)?.value !== digest(bytes)) others.push(key);
  }
  return others;
}

const SHOWN_KEYS = 10;

/** Describes drifted keys, such as `2 keys missing: a, b`. */
function driftPart(what: string, keys: readonly string[]): string | undefined {
  if (keys.length === 0) return undefined;
  const first = [...keys].sort().slice(0, SHOWN_KEYS).join(", ");
  const noun = keys.length === 1 ? "key" : "keys";
  return `${formatNumber(keys.length)} ${noun} ${what}: ${first}${keys.length > SHOWN_KEYS ? ", …" : ""}`;
}
