import { PartialFailure, type Context } from "../runtime/lifecycle";
import { subjectOf, type NamespaceAddress } from "./address";
import { remove, upload } from "./bulk";
import type { Catalog, Row, Writable } from "./catalog";
import type { Declared } from "./declared";
import { isPast, type Recorded, shown, UNCERTAIN, withEscapes } from "./entry";
import { deletedKeys, heldKeys } from "./held";
import { encodeManifest, type Manifest } from "./manifest";

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
 * @param declared left out where the entries are as they were written.
 * @throws PartialFailure with what was reached.
 */
export async function converge(ctx: Context, declared: Declared | undefined, work: Work): Promise<Written> {
  const { id, accountId, namespaceId, manifest } = work;
  const address = { accountId, namespaceId };
  const plan = declared === undefined ? NOTHING : compare(declared.catalog, manifest, ctx.api.now() / 1000);
  let { writtenAt } = work;
  const result = async (): Promise<Written> => ({ manifest: await encodeManifest(manifest), writtenAt });
  const half = async (reason: string): Promise<PartialFailure<Written>> => {
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

/** Keys by what becomes of them. */
export interface Changes {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  /** Those that were written and are declared no more. */
  readonly removed: readonly string[];
}

/** What brings a namespace from what was written to what is declared. */
export interface Plan extends Changes {
  /** What is added and changed, in the order of the catalog. */
  readonly writes: readonly Row[];
  /** Entries that are as they were written. */
  readonly unchanged: number;
  /** Entries left out because their expiry has passed: they are neither written nor removed. */
  readonly past: number;
}

/** Where everything is as it was written. */
export const NOTHING: Plan = { writes: [], added: [], changed: [], removed: [], unchanged: 0, past: 0 };
const NO_ENTRIES: Writable = { fill: () => Promise.resolve() };

/** Declared entries beside what the manifest says was written. */
export function compare(
  { rows }: Pick<Catalog, "rows">,
  manifest: Manifest,
  nowSeconds = Date.now() / 1000,
): Plan {
  const [writes, added, changed]: [Row[], string[], string[]] = [[], [], []];
  let [unchanged, past] = [0, 0];
  for (const row of rows.values()) {
    const written = manifest.get(row.key);
    if (isPast(row, nowSeconds)) past += 1;
    else if (written !== undefined && isAsWritten(row, written)) unchanged += 1;
    else {
      (written === undefined ? added : changed).push(row.key);
      writes.push(row);
    }
  }
  const removed = [...manifest.keys()].filter((key) => !rows.has(key));
  return { writes, added, changed, removed, unchanged, past };
}

/** Whether an entry needs no write. A lifetime is renewed only when its own entry changes. */
function isAsWritten(declared: Recorded, written: Recorded): boolean {
  return (
    declared.value === written.value &&
    declared.metadata === written.metadata &&
    declared.ttl === written.ttl &&
    (declared.ttl !== undefined || declared.expiration === written.expiration)
  );
}

const SHOWN_KEYS = 10;
const SHOWN_KEY_CHARACTERS = 60;
const SIGNS = ["+", "~", "-"];

/**
 * The reviewer's line: `KvEntries products: +12 ~3 -1 (+a, +b, ~c, -d …)`. Ten keys at most; each kind of change is
 * represented, in the order of the counts.
 */
export function line(who: string, { added, changed, removed }: Changes): string {
  const kinds = [added, changed, removed];
  // Round by round one key of each kind, so that twelve new keys do not hide the one that goes.
  const shares = kinds.map(() => 0);
  const sum = (): number => shares.reduce((a, b) => a + b, 0);
  for (let round = 1; round <= SHOWN_KEYS; round += 1) {
    kinds.forEach((keys, kind) => {
      if (keys.length >= round && sum() < SHOWN_KEYS) shares[kind] = round;
    });
  }
  const shown = kinds.flatMap((keys, kind) =>
    keys.slice(0, shares[kind]).map((key) => `${SIGNS[kind] ?? ""}${cut(key)}`),
  );
  const total = added.length + changed.length + removed.length;
  const names = shown.length === 0 ? "" : ` (${shown.join(", ")}${total > shown.length ? " …" : ""})`;
  return `${who}: +${added.length} ~${changed.length} -${removed.length}${names}`;
}

function cut(key: string): string {
  return key.length <= SHOWN_KEY_CHARACTERS
    ? withEscapes(key)
    : `${withEscapes(key.slice(0, SHOWN_KEY_CHARACTERS))}…`;
}
