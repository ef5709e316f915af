import { ApiError } from "../api/errors";
import { PartialFailure, type Context } from "../runtime/lifecycle";
import { pluralize } from "../basics/words";
import { hidesKeys, subjectOf, type NamespaceAddress } from "./address";
import { remove, upload } from "./bulk";
import type { Catalog, Row, Writable } from "./catalog";
import type { Declared } from "./declaration";
import { isExpired, lifeOf, NO_VALUE, type RecordedEntry, quoteKey, quoteKeys, UNCERTAIN } from "./entry";
import { withoutForeign } from "./drift";
import { keysOf, ownedElsewhere } from "./namespace-keys";
import { encodeManifest, type Manifest } from "./manifest";

/** What the state records about written entries. */
export interface Written {
  readonly manifest: string;
  /** When an entry was last written or deleted, in Unix seconds. */
  readonly writtenAt: number;
}

/** Recorded instead of the digest after a partial failure, so that a refresh can't make the resource look complete. */
export const INCOMPLETE = "incomplete";

interface Work extends NamespaceAddress {
  /** The resource's ID. */
  readonly id: string;
  readonly manifest: Manifest;
  readonly writtenAt: number;
  /** Keys written by others that will be pruned. */
  readonly unmanaged: readonly string[];
}

/**
 * Writes what differs from the manifest and deletes what's no longer declared.
 *
 * @param declared undefined if the entries haven't changed since they were written.
 * @throws PartialFailure with what was written so far.
 */
export async function converge(ctx: Context, declared: Declared | undefined, work: Work): Promise<Written> {
  const { id, accountId, namespaceId, manifest } = work;
  const address = { accountId, namespaceId };
  const plan =
    declared === undefined ? NO_CHANGES : compare(declared.catalog, manifest, ctx.api.now() / 1000);
  let { writtenAt } = work;
  const result = async (): Promise<Written> => ({ manifest: await encodeManifest(manifest), writtenAt });
  const partialFailure = async (reason: string): Promise<PartialFailure<Written>> => {
    const reached = Object.assign(await result(), { digest: INCOMPLETE });
    return new PartialFailure(id, reached, `${subjectOf(ctx, namespaceId)}: ${reason}`);
  };

  // 1. Write.
  const written = await upload({
    ctx,
    ...address,
    entries: declared?.entries ?? NO_ENTRIES,
    rows: plan.writes,
    onDone: (rows, answeredAt) => {
      writtenAt = Math.max(writtenAt, answeredAt);
      // A TTL counts from the write.
      for (const row of rows)
        manifest.set(row.key, row.ttl === undefined ? row : { ...row, expiration: answeredAt + row.ttl });
    },
    onUncertain: (rows) => rows.forEach((row) => manifest.set(row.key, { ...row, ...UNCERTAIN })),
  });
  if (written.error !== undefined)
    throw await partialFailure(
      `${written.error.message} ${entryCount(written.done)} ${written.done === 1 ? "was" : "were"} written and recorded before that. Run \`pulumi up\` again to continue.`,
    );
  const [firstRefused] = written.failed;
  if (firstRefused !== undefined) {
    const names = quoteKeys(
      written.failed.map(({ key }) => key),
      hidesKeys(ctx),
    );
    throw await partialFailure(
      `couldn't write ${entryCount(written.failed.length)} (${names}): ${firstRefused.reason} All other entries were written and recorded.`,
    );
  }

  // 2. Delete, except keys that someone else owns by now.
  let removable: readonly string[];
  try {
    removable = await removableOf(ctx, work, plan.removed);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw await partialFailure(`${error.message} No key was deleted. Run \`pulumi up\` again to continue.`);
  }
  const { deleted } = keysOf(ctx, work);
  const removed = await remove({
    ctx,
    ...address,
    keys: [...removable, ...work.unmanaged],
    onDone: (keys, answeredAt) => {
      writtenAt = Math.max(writtenAt, answeredAt);
      for (const key of keys) {
        manifest.delete(key);
        deleted.add(key);
      }
    },
    // Keys that others wrote never enter the manifest. The next listing finds any that are left.
    onUncertain: (keys) => {
      for (const key of keys) if (manifest.has(key)) manifest.set(key, UNCERTAIN);
    },
  });
  if (removed.error !== undefined)
    throw await partialFailure(
      `${removed.error.message} ${pluralize(removed.done, "key")} ${removed.done === 1 ? "was" : "were"} deleted before that. Run \`pulumi up\` again to continue.`,
    );
  const [firstFailed] = removed.failed;
  if (firstFailed !== undefined)
    throw await partialFailure(
      `couldn't delete ${pluralize(removed.failed.length, "key")}, such as ${quoteKey(firstFailed.key, hidesKeys(ctx))}: ${firstFailed.reason}`,
    );
  return await result();
}

/** Returns the keys that no one else owns. The others are no longer this resource's. */
async function removableOf(ctx: Context, work: Work, removed: readonly string[]): Promise<readonly string[]> {
  if (removed.length === 0) return [];
  const { manifest } = work;
  const isOwnedElsewhere = await ownedElsewhere(ctx, work, manifest);
  const left = removed.filter((key) => !isOwnedElsewhere(key));
  const own = await withoutForeign(ctx, work, manifest, left);
  const kept = new Set(removed);
  own.forEach((key) => kept.delete(key));
  kept.forEach((key) => manifest.delete(key));
  return own;
}

export const entryCount = (n: number): string => `${n} ${n === 1 ? "entry" : "entries"}`;

/** Keys by kind of change. */
export interface Changes {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  /** Keys that the resource wrote but that are no longer declared, or whose entry has expired. */
  readonly removed: readonly string[];
}

/** What an update has to write and delete. */
export interface Plan extends Changes {
  /** Added and changed entries, in the order of the catalog. */
  readonly writes: readonly Row[];
  /** How many entries are already written as declared. */
  readonly unchanged: number;
  /** Those of the changed keys that expire earlier than what was written. */
  readonly shortened: readonly Row[];
  /** Those of the changed keys whose value becomes empty. */
  readonly emptied: readonly string[];
  /** How many entries have expired. They count as not declared. */
  readonly past: number;
}

export const NO_CHANGES: Plan = {
  writes: [],
  added: [],
  changed: [],
  removed: [],
  shortened: [],
  emptied: [],
  unchanged: 0,
  past: 0,
};
const NO_ENTRIES: Writable = { fill: () => Promise.resolve() };

/** Compares the declared entries with those that the manifest records. */
export function compare(
  { rows }: Pick<Catalog, "rows">,
  manifest: Manifest,
  nowSeconds = Date.now() / 1000,
): Plan {
  const [writes, added, changed, shortened]: [Row[], string[], string[], Row[]] = [[], [], [], []];
  const emptied: string[] = [];
  let [unchanged, past] = [0, 0];
  for (const row of rows.values()) {
    const written = manifest.get(row.key);
    if (isExpired(row, nowSeconds)) past += 1;
    else if (written !== undefined && isAsWritten(row, written)) unchanged += 1;
    else {
      (written === undefined ? added : changed).push(row.key);
      writes.push(row);
      if (written !== undefined && lifeOf(row, nowSeconds) < lifeOf(written, nowSeconds)) shortened.push(row);
      if (written !== undefined && row.value === NO_VALUE && !NO_VALUE.startsWith(written.value))
        emptied.push(row.key);
    }
  }
  const isKept = (row: Row | undefined, written: RecordedEntry): boolean =>
    // What was written may have expired by itself, on time.
    row !== undefined && (!isExpired(row, nowSeconds) || isExpired(written, nowSeconds));
  const removed = [...manifest]
    .filter(([key, written]) => !isKept(rows.get(key), written))
    .map(([key]) => key);
  return { writes, added, changed, removed, shortened, emptied, unchanged, past };
}

/**
 * Whether an entry was already written as declared. Its TTL restarts only when the entry changes. What's recorded may be
 * shortened digests.
 */
function isAsWritten(declared: RecordedEntry, written: RecordedEntry): boolean {
  return (
    declared.value.startsWith(written.value) &&
    (declared.metadata === undefined) === (written.metadata === undefined) &&
    declared.metadata?.startsWith(written.metadata ?? "") !== false &&
    declared.ttl === written.ttl &&
    (declared.ttl !== undefined || declared.expiration === written.expiration)
  );
}
