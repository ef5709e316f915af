import { KV } from "../limits/index";
import type { Context } from "../runtime/lifecycle";
import { hidesKeys, subjectOf, type NamespaceAddress } from "./address";
import { formatNumber } from "../limits/workers";
import { digest, FOREIGN, quoteKeys, UNCERTAIN, type RecordedEntry } from "./entry";
import { TOO_RECENT, uncompared } from "./impact";
import { mayHaveExpired, listKeys, type ListedKey, sameListed } from "./listing";
import { canonicalJson } from "../basics/json";
import { firstOf, pluralize } from "../basics/words";
import type { Manifest } from "./manifest";
import { existingOf } from "./prune";
import { readValues } from "./values";

export interface Verification extends NamespaceAddress {
  readonly verify?: "keys" | "values" | "none" | undefined;
  /** The size of all values. */
  readonly bytes?: number;
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
  const who = subjectOf(ctx, state.namespaceId);
  if (now - state.writtenAt < KV.CONSISTENCY_SECONDS) {
    ctx.say.warn(`${who}: ${TOO_RECENT}.`);
    return undefined;
  }

  const unlisted: string[] = [];
  const changed: string[] = [];
  for (const [key, recorded] of manifest) {
    if (!isCertain(recorded)) continue; // These entries are already known to need a write.
    const found = listed.get(key);
    if (found === undefined) {
      if (!mayHaveExpired(recorded, now)) unlisted.push(key);
    } else if (!sameListed(recorded, found, now)) changed.push(key);
  }
  // An incomplete listing doesn't prove that a key is missing. A read of the key does.
  const existing = new Set(await existingOf(ctx, state, unlisted));
  const missing = unlisted.filter((key) => !existing.has(key));
  const omitted = uncompared({ ...state, keys: manifest.size });
  if (omitted !== undefined) ctx.say.info(`${who}: ${omitted}.`);
  else {
    const differing = new Set(changed);
    const keys = [...listed.keys()].filter((key) => !differing.has(key));
    for (const key of await changedValues(ctx, state, manifest, keys)) changed.push(key);
  }

  // The next update writes both kinds. A changed key isn't deleted once it's no longer declared.
  for (const key of missing) manifest.delete(key);
  for (const key of changed) manifest.set(key, { ...manifest.get(key), ...FOREIGN });
  const parts = [driftPart(ctx, "missing", missing), driftPart(ctx, "changed", changed)].filter(
    (part) => part !== undefined,
  );
  return parts.length === 0 ? undefined : parts.join("; ");
}

/** Whether it's known what the resource wrote. */
const isCertain = ({ value }: RecordedEntry): boolean => value !== UNCERTAIN.value && value !== FOREIGN.value;

/**
 * Returns the keys that may be deleted, because their content is what the resource wrote, or unknown after a write that
 * was interrupted. Says which ones someone else has changed since, as another stack does that takes them over.
 */
export async function withoutForeign(
  ctx: Context,
  state: Omit<Verification, "verify">,
  manifest: Manifest,
  keys: readonly string[],
): Promise<string[]> {
  const foreign = new Set(keys.filter((key) => manifest.get(key)?.value === FOREIGN.value));
  for (const key of await settledChanges(ctx, state, manifest, keys)) foreign.add(key);
  if (foreign.size > 0)
    ctx.say.info(
      `${subjectOf(ctx, state.namespaceId)}: keeping ${pluralize(foreign.size, "key")} (${quoteKeys([...foreign], hidesKeys(ctx))}), because someone else has changed ${foreign.size === 1 ? "it" : "them"} since this resource wrote ${foreign.size === 1 ? "it" : "them"}.`,
    );
  return keys.filter((key) => !foreign.has(key));
}

/** Finds changed values. A read may still show what our own last write replaced, so those that differ are read again. */
async function settledChanges(
  ctx: Context,
  state: Omit<Verification, "verify">,
  manifest: Manifest,
  keys: readonly string[],
): Promise<string[]> {
  const changed = await changedValues(ctx, state, manifest, keys);
  const seconds = Math.ceil(state.writtenAt + KV.CONSISTENCY_SECONDS - ctx.api.now() / 1000);
  if (changed.length === 0 || seconds <= 0) return changed;
  ctx.say.info(
    `${subjectOf(ctx, state.namespaceId)}: waiting ${seconds} s, because reads may not show its last update yet.`,
  );
  await ctx.pause(seconds * 1000);
  return await changedValues(ctx, state, manifest, changed);
}

/** Finds the keys whose values or metadata differ from what was written. */
async function changedValues(
  ctx: Context,
  { accountId, namespaceId }: NamespaceAddress,
  manifest: Manifest,
  given: readonly string[],
): Promise<string[]> {
  const keys = given.filter((key) => isCertain(manifest.get(key) ?? UNCERTAIN));
  const requests = Math.ceil(keys.length / KV.MAX_BULK_GET_KEYS);
  if (requests > 1)
    ctx.say.info(
      `${subjectOf(ctx, namespaceId)}: comparing ${formatNumber(keys.length)} values takes ${formatNumber(requests)} requests.`,
    );
  const changed: string[] = [];
  const values = readValues(ctx, { accountId, namespaceId, keys, withMetadata: false });
  for await (const { key, bytes, metadata, isAlone = false } of values) {
    const written = manifest.get(key);
    const found = metadata === undefined ? undefined : digest(canonicalJson(metadata));
    if (written?.value !== digest(bytes) || (!isAlone && written.metadata !== found)) changed.push(key);
  }
  return changed;
}

const SHOWN_KEYS = 10;

/** Describes drifted keys, such as `2 keys missing: a, b`. */
function driftPart(ctx: Context, what: string, keys: readonly string[]): string | undefined {
  if (keys.length === 0) return undefined;
  const named = hidesKeys(ctx) ? "" : `: ${firstOf([...keys].sort(), SHOWN_KEYS)}`;
  return `${pluralize(keys.length, "key")} ${what}${named}`;
}
