import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { open } from "node:fs/promises";
import { catalogOf } from "../../kv/catalog";
import { checkEntry, FILE_SPELLING, isExpired } from "../../kv/entry";
import { formatNumber } from "../../limits/workers";
import { fileHash, openSource } from "../../kv/declaration";
import { listKeys, type ListedKey } from "../../kv/listing";
import { encodeManifest } from "../../kv/manifest";
import { readValues } from "../../kv/values";
import { pluralize } from "../../basics/words";
import { SECRET_MODE, type Staging } from "../staging";
import { Code } from "../code";
import { TYPES, type ExistingObject } from "../existing";
import { entryId } from "../old-state/selection";
import { distinctNames } from "../names";
import type { Inventory } from "../inventory";
import type { Account } from "../zones";

/** The subdirectory of the output directory that contains the entries. */
export const ENTRIES_FOLDER = "kv";

/** Writes each namespace's entries to a file in the format of a bulk upload. */
export async function readEntries(
  inventory: Inventory,
  account: Account,
  namespaces: readonly ExistingObject[],
  staging: Staging,
): Promise<void> {
  const names = distinctNames(namespaces, "namespace");
  for (const [index, namespace] of namespaces.entries()) {
    if (!inventory.wants(TYPES.kvEntries, namespace.scope, namespace.id)) continue;
    const name = names[index] ?? namespace.id;
    await inventory.part(`entries of ${namespace.what}`, async () => {
      const file = `${ENTRIES_FOLDER}/${name}.json`;
      const path = await staging.stage(file);
      const written = await writeEntries(inventory, { account, namespace, path });
      if (written === 0) return; // Nothing to declare.
      staging.keep(file);
      inventory.found.push(await entriesIn(path, file, account, namespace));
    });
  }
  if (staging.has(ENTRIES_FOLDER))
    inventory.notes.push(
      `The program reads ${ENTRIES_FOLDER}/, which .gitignore excludes because values may be secrets. Commit the files that contain no secrets, and copy the others to wherever the program runs.`,
    );
}

async function writeEntries(
  inventory: Inventory,
  { account, namespace, path }: { account: Account; namespace: ExistingObject; path: string },
): Promise<number> {
  const { host } = inventory;
  const address = { accountId: account.id, namespaceId: namespace.id };
  const progress = (line: string): void => inventory.progress(`reading ${namespace.what}: ${line}`);

  const listed = new Map<string, ListedKey>();
  for await (const key of listKeys(host.api, { ...address, complete: false })) {
    const isWanted = inventory.wants(TYPES.kvEntries, namespace.scope, entryId(namespace.id, key.name));
    if (isWanted && !isExpired(key, Date.now() / 1000)) listed.set(key.name, key);
    if (listed.size % 1_000 === 0) progress(`${formatNumber(listed.size)} keys`);
  }
  const file = await open(path, "wx", SECRET_MODE);
  let [read, written, expiring] = [0, 0, 0];
  try {
    const ctx = host.context(TYPES.kvEntries.type);
    for await (const { key, bytes } of readValues(ctx, {
      ...address,
      keys: listed.keys(),
      withMetadata: false,
    })) {
      read += 1;
      if (read % 100 === 0) progress(`${formatNumber(read)} of ${formatNumber(listed.size)} values`);
      const { metadata, expiration } = listed.get(key) ?? {};
      const members = {
        key,
        ...(isUtf8(bytes)
          ? { value: bytes.toString("utf8") }
          : { value: bytes.toString("base64"), base64: true }),
        ...(metadata === undefined ? {} : { metadata }),
        ...(expiration === undefined ? {} : { expiration }),
      };
      const checked = checkEntry({ place: {}, key, members, spelling: FILE_SPELLING });
      if ("problems" in checked) {
        inventory.leaveOut(`an entry of ${namespace.what}`, checked.problems.join("; "));
        continue;
      }
      await file.write(`${written === 0 ? "[" : ","}\n  ${JSON.stringify(members)}`);
      written += 1;
      if (expiration !== undefined) expiring += 1;
    }
    if (written > 0) await file.write("\n]\n");
  } finally {
    await file.close();
  }
  if (expiring > 0)
    inventory.notes.push(
      `In the file for ${namespace.what}, ${formatNumber(expiring)} of ${pluralize(written, "entry")} ${expiring === 1 ? "has" : "have"} an expiration. Once an entry expires, updates don't write it again.`,
    );
  return written;
}

/** Builds the state that a create would record after adopting the entries. */
async function entriesIn(
  path: string,
  file: string,
  account: Account,
  namespace: ExistingObject,
): Promise<ExistingObject> {
  const scope = { kind: "account", id: account.id } as const;
  const { rows, keys, bytes, digest, sha256 = "" } = await catalogOf(openSource({ file: path }, "/"));
  return {
    resource: TYPES.kvEntries,
    id: `${namespace.id}/${randomUUID()}`,
    what: `the ${pluralize(keys, "entry")} of ${namespace.what}`,
    labels: namespace.labels,
    scope,
    contains: [...rows.keys()].map((key) => entryId(namespace.id, key)),
    args: (writing) => ({
      accountId: writing.scope(scope),
      namespaceId: writing.idOf(namespace) ?? namespace.id,
      file: new Code(path, { kind: "data", data: file }),
    }),
    recordedAs: { file },
    outputs: {
      accountId: account.id,
      namespaceId: namespace.id,
      file,
      keys,
      bytes,
      digest,
      fileHash: fileHash(sha256),
      manifest: await encodeManifest(new Map(rows)),
      writtenAt: 0, // A time long past, so that a refresh compares right away.
      schemaVersion: TYPES.kvEntries.schemaVersion,
    },
  };
}
