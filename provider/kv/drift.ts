import { KV } from "../limits";
import type { Context } from "../runtime/lifecycle";
import { subjectOf, type NamespaceAddress } from "./address";
import { count, digest, UNCERTAIN } from "./entry";
import { hasExpired, listKeys, type ListedKey, sameListed } from "./listing";
import type { Manifest } from "./manifest";
import { readValues } from "./values";

export interface Verification extends NamespaceAddress {
  readonly verify?: "keys" | "values" | "none" | undefined;
  /** When the last entry was written, seconds since the epoch. */
  readonly writtenAt: number;
}

/** What differs from the manifest, in words; the manifest is brought to what is there. Undefined where nothing differs. */
export async function driftOf(
  ctx: Context,
  state: Verification,
  manifest: Manifest,
): Promise<string | undefined> {
  const listed = new Map<string, ListedKey>();
  for await (const key of listKeys(ctx.api, state)) if (manifest.has(key.name)) listed.set(key.name, key);
  const now = ctx.api.now() / 1000;
  // Neither a listing nor a read has to show yet what we have written.
  if (now - state.writtenAt < KV.CONSISTENCY_SECONDS) return undefined;

  const gone: string[] = [];
  const changed: string[] = [];
  for (const [key, recorded] of manifest) {
    if (recorded.value === UNCERTAIN.value) continue; // Known to need a write already.
    const found = listed.get(key);
    if (found === undefined) {
      if (!hasExpired(recorded, now)) gone.push(key);
    } else if (!sameListed(recorded, found, now)) changed.push(key);
  }
  if (state.verify === "values") {
    const differing = new Set(changed);
    const keys = [...listed.keys()].filter(
      (key) => !differing.has(key) && manifest.get(key)?.value !== UNCERTAIN.value,
    );
    changed.push(...(await otherValues(ctx, state, manifest, keys)));
  }

  // The next update writes both; what is there is still deleted when it is declared no more.
  for (const key of gone) manifest.delete(key);
  for (const key of changed) manifest.set(key, UNCERTAIN);
  const parts = [told("gone", gone), told("changed", changed)].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join("; ");
}

/** Keys whose value is another than the one that was written. */
async function otherValues(
  ctx: Context,
  { accountId, namespaceId }: NamespaceAddress,
  manifest: Manifest,
  keys: readonly string[],
): Promise<string[]> {
  const requests = Math.ceil(keys.length / KV.MAX_BULK_GET_KEYS);
  ctx.say.info(
    `${subjectOf(ctx, namespaceId)}: comparing ${count(keys.length)} ${keys.length === 1 ? "value" : "values"} takes ${count(requests)} ${requests === 1 ? "request" : "requests"}.`,
  );
  const others: string[] = [];
  const values = readValues(ctx, { accountId, namespaceId, keys, withMetadata: false });
  for await (const { key, bytes } of values) {
    if (manifest.get(key)?.value !== digest(bytes)) others.push(key);
  }
  return others;
}

const SHOWN_KEYS = 10;

/** `2 keys gone: a, b` */
function told(what: string, keys: readonly string[]): string | undefined {
  if (keys.length === 0) return undefined;
  const first = [...keys].sort().slice(0, SHOWN_KEYS).join(", ");
  const noun = keys.length === 1 ? "key" : "keys";
  return `${count(keys.length)} ${noun} ${what}: ${first}${keys.length > SHOWN_KEYS ? ", …" : ""}`;
}
