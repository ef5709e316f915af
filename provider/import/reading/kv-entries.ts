import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { open } from "node:fs/promises";
import { catalogOf } from "../../kv/catalog";
import { checkEntry, count, FILE_SPELLING, isPast } from "../../kv/entry";
import { fileHash, openSource } from "../../kv/declared";
import { listKeys, type ListedKey } from "../../kv/listing";
import { encodeManifest } from "../../kv/manifest";
import { readValues } from "../../kv/values";
import { SECRET_MODE, type Staging } from "../staging";
import { Code } from "../code";
import { TYPES, type Found } from "../found";
import { distinctNames } from "../names";
import type { Reading } from "../reading";
import type { Account } from "../zones";

/** In the output folder, and for its owner alone. */
export const ENTRIES_FOLDER = "kv";

/** What the namespaces hold, each in a file of its own in the form of a bulk upload. */
export async function readEntries(
  reading: Reading,
  account: Account,
  namespaces: readonly Found[],
  staging: Staging,
): Promise<void> {
  const names = distinctNames(namespaces, "namespace");
  for (const [index, namespace] of namespaces.entries()) {
    const name = names[index] ?? namespace.id;
    await reading.part(`entries of ${namespace.what}`, async () => {
      const file = `${ENTRIES_FOLDER}/${name}.json`;
      const path = await staging.place(file);
      const written = await writeEntries(reading, { account, namespace, path });
      if (written === 0) return; // A declaration of nothing says nothing.
      staging.keep(file);
      reading.found.push(await entriesIn(path, file, account, namespace));
    });
  }
  if (staging.has(ENTRIES_FOLDER))
    reading.notes.push(
      `The program reads ${ENTRIES_FOLDER}/, which .gitignore leaves out, as values may be secrets. Commit the files that hold none; the others have to be there wherever the program runs.`,
    );
}

async function writeEntries(
  reading: Reading,
  { account, namespace, path }: { account: Account; namespace: Found; path: string },
): Promise<number> {
  const { host } = reading;
  const address = { accountId: account.id, namespaceId: namespace.id };
  const progress = (line: string): void => reading.progress(`reading ${namespace.what}: ${line}`);

  const listed = new Map<string, ListedKey>();
  for await (const key of listKeys(host.api, { ...address, complete: false })) {
    if (!isPast(key, Date.now() / 1000)) listed.set(key.name, key);
    if (listed.size % 1_000 === 0) progress(`${count(listed.size)} keys`);
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
      if (read % 100 === 0) progress(`${count(read)} of ${count(listed.size)} values`);
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
        reading.leave(`an entry of ${namespace.what}`, checked.problems.join("; "));
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
    reading.notes.push(
      `In the file of ${namespace.what}, ${count(expiring)} of ${count(written)} entries say when they expire; they are not written again after that.`,
    );
  return written;
}

/** As a create records entries that it has found as declared. */
async function entriesIn(path: string, file: string, account: Account, namespace: Found): Promise<Found> {
  const scope = { kind: "account", id: account.id } as const;
  const { rows, keys, bytes, digest, sha256 = "" } = await catalogOf(openSource({ file: path }, "/"));
  return {
    resource: TYPES.kvEntries,
    id: `${namespace.id}/${randomUUID()}`,
    what: `the ${count(keys)} ${keys === 1 ? "entry" : "entries"} of ${namespace.what}`,
    labels: namespace.labels,
    scope,
    args: (writing) => ({
      accountId: writing.scope(scope),
      namespaceId: writing.idOf(namespace) ?? namespace.id,
      file: new Code(path, JSON.stringify(file)),
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
      writtenAt: 0, // Long ago: a refresh compares at once.
      schemaVersion: TYPES.kvEntries.schemaVersion,
    },
  };
}
