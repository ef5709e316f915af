import { PartialFailure, type Context } from "../runtime/lifecycle";
import type { NamespaceAddress } from "./address";
import type { Declared } from "./declared";
import { UNCERTAIN } from "./entry";
import { deletedKeys, heldKeys } from "./held";
import { encodeManifest, type Manifest } from "./manifest";
import { compare, shown } from "./plan";
import { remove, upload } from "./bulk";

/** What is recorded of the entries that were written. */
export interface Written {
  readonly manifest: string;
  /** When the last of them was written or deleted, seconds since the epoch. */
  readonly writtenAt: number;
}

/** In place of the digest where entries are left to be written or deleted: a refresh must not make it look complete. */
export const INCOMPLETE = "incomplete";

interface Work extends NamespaceAddress {
  /** Of the resource. */
  readonly id: string;
  readonly manifest: Manifest;
  readonly writtenAt: number;
  /** Keys of others that are to go. */
  readonly strangers: readonly string[];
}

/**
 * Writes what differs from the manifest and deletes what is no longer declared.
 *
 * @throws PartialFailure with what was reached.
 */
export async function converge(ctx: Context, { catalog, entries }: Declared, work: Work): Promise<Written> {
  const { id, accountId, namespaceId, manifest } = work;
  const address = { accountId, namespaceId };
  const plan = compare(catalog, manifest, ctx.api.now() / 1000);
  let { writtenAt } = work;
  const result = async (): Promise<Written> => ({ manifest: await encodeManifest(manifest), writtenAt });
  const half = async (reason: string): Promise<PartialFailure<Written>> => {
    const reached = Object.assign(await result(), { digest: INCOMPLETE });
    return new PartialFailure(id, reached, `KvEntries ${namespaceId}: ${reason}`);
  };

  // 1. Write.
  const written = await upload({
    ctx,
    ...address,
    entries,
    rows: plan.writes,
    onDone: (rows, answeredAt) => {
      writtenAt = Math.max(writtenAt, answeredAt);
      // A lifetime ends at a time that only the write determines.
      for (const row of rows)
        manifest.set(row.key, row.ttl === undefined ? row : { ...row, expiration: answeredAt + row.ttl });
    },
    onUncertain: (rows) => rows.forEach(({ key }) => manifest.set(key, UNCERTAIN)),
  });
  if (written.error !== undefined)
    throw await half(
      `${written.error.message} ${written.done} entries were written and are recorded; run \`pulumi up\` again to go on.`,
    );
  const [refused] = written.failed;
  if (refused !== undefined) {
    const names = shown(written.failed.map(({ key }) => key));
    throw await half(
      `${written.failed.length} entries could not be written (${names}): ${refused.reason} The others were written and are recorded.`,
    );
  }

  // 2. Delete, but for what another resource of the program has now.
  const isHeld = plan.removed.length === 0 ? () => false : await heldKeys(ctx, work).byOthers(manifest);
  for (const key of plan.removed) if (isHeld(key)) manifest.delete(key);
  const deleted = deletedKeys(ctx, namespaceId);
  const removed = await remove({
    ctx,
    ...address,
    keys: [...plan.removed.filter((key) => !isHeld(key)), ...work.strangers],
    onDone: (keys, answeredAt) => {
      writtenAt = Math.max(writtenAt, answeredAt);
      for (const key of keys) {
        manifest.delete(key);
        deleted.add(key);
      }
    },
    // A stranger's key stays one: what is left of them is found by looking.
    onUncertain: (keys) => {
      for (const key of keys) if (manifest.has(key)) manifest.set(key, UNCERTAIN);
    },
  });
  if (removed.error !== undefined)
    throw await half(
      `${removed.error.message} ${removed.done} keys were deleted; run \`pulumi up\` again to go on.`,
    );
  const [stuck] = removed.failed;
  if (stuck !== undefined)
    throw await half(
      `${removed.failed.length} keys could not be deleted: ${JSON.stringify(stuck.key)}: ${stuck.reason}`,
    );
  return await result();
}
