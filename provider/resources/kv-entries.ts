import { randomUUID } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { isNamespaceGone, type NamespaceAddress } from "../kv/address";
import { isPast } from "../kv/check-entry";
import { digest, recordOf, UNCERTAIN, type Entry, type Recorded } from "../kv/entry";
import { listKeys, type ListedKey } from "../kv/listing";
import { Manifest } from "../kv/manifest";
import { compare, line } from "../kv/plan";
import { openSource, type Source } from "../kv/source";
import { SourceError } from "../kv/source-error";
import { summarize } from "../kv/summary";
import { remove, upload } from "../kv/upload";
import { readValues } from "../kv/values";
import { KV } from "../limits";
import { AdoptionError } from "../runtime/adoption";
import { defineLifecycle, PartialFailure, type Context } from "../runtime/lifecycle";
import { claimOnce, EdgeResource } from "../runtime/resource";
import { canonicalJson, type Bag } from "../runtime/values";
import { accountId, adopt, hexId } from "./fields";
import { deletedKeys } from "./kv-namespace";

const metadata = z.record(z.string(), z.json());

const args = z.object({
  accountId,
  namespaceId: hexId("It is the id of a KvNamespace, or what the command line's `kv namespace list` shows."),
  entries: z.record(z.string(), z.unknown()).exactOptional(),
  file: z.string().min(1, "has to be a path; it is empty").exactOptional(),
  directory: z
    .union([
      z.string().min(1, "has to be a path; it is empty"),
      z.object({
        path: z.string().min(1, "has to be a path; it is empty"),
        prefix: z.string().exactOptional(),
        ignore: z.array(z.string()).exactOptional(),
      }),
    ])
    .exactOptional(),
  defaults: z
    .object({ metadata: metadata.exactOptional(), expirationTtl: z.number().exactOptional() })
    .exactOptional(),
  adopt: adopt.exactOptional(),
  prune: z.object({ prefix: z.string(), maxDeletes: z.int().min(0).exactOptional() }).exactOptional(),
  verify: z.enum(["keys", "values", "none"]).exactOptional(),
});
type EntriesArgs = z.output<typeof args>;

const computed = z.object({ manifest: z.string(), writtenAt: z.number() });
type Computed = z.infer<typeof computed>;

const SOURCES = ["entries", "file", "directory"] as const;
const MAX_PRUNED = 100;
const SHOWN_KEYS = 10;

/** In place of the digest where entries are left to be written or deleted: a refresh must not make it look complete. */
const INCOMPLETE = "incomplete";

/** A listed expiry this close to the recorded one is the same: the service counts a lifetime from its own clock. */
const SAME_EXPIRY_SECONDS = 120;

export const kvEntries = defineLifecycle({
  type: "KvEntries",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed,
  computedInputs: ["keys", "bytes", "digest", "drift"],
  // The same content from another place is no change: what is compared is its digest.
  compared: { ignore: ["entries", "file", "directory", "defaults"], also: ["digest", "drift"] },
  replaceOn: ["accountId", "namespaceId"],
  secret: ["entries"],
  secretOutputs: ["manifest"],
  fromSettings: { accountId: ({ accountId }) => accountId },
  lock: ({ accountId, namespaceId }) => `namespace ${accountId} ${namespaceId}`,

  rules: [
    {
      needs: [],
      check: (_args, given) => {
        const set = SOURCES.filter((name) => given[name] !== undefined);
        if (set.length === 1) return undefined;
        const which = set.length === 0 ? "none is set" : `${set.join(" and ")} are set`;
        return {
          property: set[1] ?? "entries",
          reason: `exactly one of entries, file and directory gives the entries; ${which}`,
        };
      },
    },
  ],

  async derive({ ctx, args, olds }) {
    const property = SOURCES.find((name) => args[name] !== undefined) ?? "entries";
    try {
      const { keys, bytes, digest, problems, expired, warnings } = await summarize(open(args));
      if (problems.length > 0) return { failures: problems.map((reason) => ({ property, reason })) };
      if (digest !== olds["digest"]) {
        for (const warning of warnings) ctx.say.warn(`KvEntries ${args.namespaceId}: ${warning}`);
        if (expired > 0)
          ctx.say.warn(
            `KvEntries ${args.namespaceId}: ${expired} of ${keys} entries have expired already and are not sent.`,
          );
      }
      return { computed: { keys, bytes, digest } };
    } catch (error) {
      if (error instanceof SourceError) return { failures: [{ property, reason: error.message }] };
      throw error;
    }
  },

  async describe({ state, args }) {
    const comparison = compare(open(args).read(), await Manifest.decode(state.manifest));
    return line(args.namespaceId, await comparison.finish());
  },

  async keep({ ctx, state }) {
    held(ctx, state).push(await Manifest.decode(state.manifest));
  },

  // What others write under the prefix can be seen only by looking, also where nothing was changed here.
  liveAlways: ({ prune }) => prune !== undefined,

  async live({ ctx, args }) {
    if (args.prune === undefined) return {};
    const declared = new Set<string>();
    for await (const { key } of open(args).read()) declared.add(key);
    const strangers = await strangersOf(ctx, args, (key) => declared.has(key));
    if (strangers.length === 0) return {};
    const names = strangers
      .slice(0, SHOWN_KEYS)
      .map((key) => JSON.stringify(key))
      .join(", ");
    return {
      due: `KvEntries ${args.namespaceId}: prune deletes ${strangers.length} ${strangers.length === 1 ? "key" : "keys"} that others wrote: ${names}${strangers.length > SHOWN_KEYS ? ", …" : ""}`,
    };
  },

  async create({ ctx, args, inputs }) {
    const source = await asChecked(args, inputs);
    const manifest = new Manifest();
    await adoptExisting(ctx, args, source, manifest);
    held(ctx, args).push(manifest);
    const id = `${args.namespaceId}/${randomUUID()}`;
    return { id, computed: await converge(ctx, args, source, manifest, id) };
  },

  async update({ ctx, id, state, args, inputs }) {
    const source = await asChecked(args, inputs);
    const manifest = await Manifest.decode(state.manifest);
    held(ctx, args).push(manifest);
    return await converge(ctx, args, source, manifest, id, state.writtenAt);
  },

  async read({ ctx, state }) {
    if (state.verify === "none") return state;
    const manifest = await Manifest.decode(state.manifest);
    try {
      const drift = await driftOf(ctx, state, manifest);
      if (drift === undefined) return state;
      return { ...state, manifest: await manifest.encode(), drift };
    } catch (error) {
      if (isNamespaceGone(error)) return undefined;
      throw error;
    }
  },

  async delete({ ctx, state }) {
    const manifest = await Manifest.decode(state.manifest);
    const others = held(ctx, state);
    const deleted = deletedKeys(ctx, state.namespaceId);
    const own = [...manifest.keys()].filter((key) => !others.some((other) => other.has(key)));
    if (own.length < manifest.size) {
      ctx.say.info(
        `KvEntries ${state.namespaceId}: ${manifest.size - own.length} of ${manifest.size} keys are kept: another resource of this operation has them.`,
      );
    }
    const outcome = await remove({
      ctx,
      accountId: state.accountId,
      namespaceId: state.namespaceId,
      keys: own,
      total: own.length,
      onRemoved: (keys) => keys.forEach((key) => deleted.add(key)),
    });
    if (outcome.error !== undefined) throw outcome.error;
    const [first] = outcome.failed;
    if (first !== undefined)
      throw new Error(
        `${outcome.failed.length} keys could not be deleted: ${JSON.stringify(first.key)}: ${first.reason}. Run the command again.`,
      );
  },
});

export interface KvEntryArgs {
  /** Text, or base64 text where `base64` is true. At most 25 MB after decoding. Source: seed 002, "Key-value entry". */
  readonly value: pulumi.Input<string>;
  /** Whether `value` is base64 of the bytes to store. Default false. */
  readonly base64?: pulumi.Input<boolean>;
  /** An object of at most 1,024 bytes as JSON. */
  readonly metadata?: pulumi.Input<Record<string, unknown>>;
  /** When the entry expires, seconds since the UNIX epoch. A time in the past is not sent. */
  readonly expiration?: pulumi.Input<number>;
  /** Lifetime in seconds, at least 60, from the write. Has precedence over `expiration`. */
  readonly expirationTtl?: pulumi.Input<number>;
}

export interface KvEntriesArgs {
  /** The account, 32 hexadecimal digits. Default: `edgeguard:accountId`, else CLOUDFLARE_ACCOUNT_ID. Replaces. */
  readonly accountId?: pulumi.Input<string>;
  /** The namespace, such as `namespace.id`. Replaces. */
  readonly namespaceId: pulumi.Input<string>;
  /**
   * The entries: a map from key to text, or to an object with the value and its options. Values are secret in state.
   * Keys: 1 to 512 bytes, printable, without white space, not `.` or `..`. Exactly one of `entries`, `file` and
   * `directory`. In place: what differs is written. Source: seed 002, "Key-value entry".
   */
  readonly entries?: pulumi.Input<Record<string, pulumi.Input<string | KvEntryArgs>>>;
  /**
   * A JSON file as the command line's bulk upload takes it: an array of `{ key, value, base64, metadata, expiration,
   * expiration_ttl }`. The path is relative to the program's folder and no part of the identity: the same content in
   * another file is no change. No value of it reaches the state. In place. Source: seed 002, "Command-line commands".
   */
  readonly file?: pulumi.Input<string>;
  /**
   * A folder whose files are the values, binary or text, each under its relative path with `prefix` in front; `ignore`
   * holds patterns as in .gitignore. No value of it reaches the state. In place.
   */
  readonly directory?: pulumi.Input<
    | string
    | {
        path: pulumi.Input<string>;
        prefix?: pulumi.Input<string>;
        ignore?: pulumi.Input<pulumi.Input<string>[]>;
      }
  >;
  /** Metadata and lifetime of entries that have none of their own. In place. */
  readonly defaults?: pulumi.Input<{
    metadata?: pulumi.Input<Record<string, unknown>>;
    expirationTtl?: pulumi.Input<number>;
  }>;
  /**
   * What to do with declared keys that exist already when this resource is made. `"ifEqual"`: compare, and take them over
   * if all are equal. `"never"`: refuse. `"takeOver"`: overwrite. Default `"ifEqual"`. In place, without a write.
   */
  readonly adopt?: pulumi.Input<"ifEqual" | "never" | "takeOver">;
  /**
   * Delete keys of others that begin with `prefix`: this resource then is the prefix's sole owner. `""` means every key of
   * the namespace. An `up` refuses to delete more than `maxDeletes`, 100 by default. Unset: keys of others are left alone.
   */
  readonly prune?: pulumi.Input<{ prefix: pulumi.Input<string>; maxDeletes?: pulumi.Input<number> }>;
  /**
   * What a refresh compares: `"keys"` presence, expiry and metadata by listing the namespace; `"values"` the values too,
   * a request for every 100 keys; `"none"` nothing. Default `"keys"`. In place, without a write.
   */
  readonly verify?: pulumi.Input<"keys" | "values" | "none">;
}

/**
 * Entries of one namespace as desired state: what differs is written in bulk, what is no longer declared is deleted, what
 * others wrote is left alone. The state holds digests, not values, but for inline `entries`, which are secret.
 *
 * @throws in the preview for every entry that breaks a limit, by name and place; in an up when keys may not be adopted,
 * the source changed since the preview, or entries are left that could not be written (what was written is recorded).
 */
export class KvEntries extends EdgeResource {
  declare readonly accountId: pulumi.Output<string>;
  declare readonly namespaceId: pulumi.Output<string>;
  /** How many entries are declared. */
  declare readonly keys: pulumi.Output<number>;
  /** Bytes of all values together, as stored. */
  declare readonly bytes: pulumi.Output<number>;
  /** Digest of the declared content, whatever its source. */
  declare readonly digest: pulumi.Output<string>;

  constructor(name: string, args: KvEntriesArgs, opts?: pulumi.CustomResourceOptions) {
    const { entries, ...rest } = args;
    const claim = claimOnce("KvEntries", name, { namespaceId: args.namespaceId, entries }, (known) =>
      Object.keys(known.entries ?? {}).map((key) => ({
        key: `${known.namespaceId} ${key}`,
        clash: `both declare the key ${JSON.stringify(key)} of namespace ${known.namespaceId}: keep it in one of them`,
      })),
    );
    const secret = entries === undefined ? {} : { entries: pulumi.secret(entries) };
    super(
      kvEntries,
      name,
      { ...rest, ...secret },
      ["accountId", "keys", "bytes", "digest", "manifest", "writtenAt"],
      opts,
      claim,
    );
  }
}

function open(args: EntriesArgs): Source {
  return openSource(
    { entries: args.entries, file: args.file, directory: args.directory, defaults: args.defaults },
    process.cwd(),
  );
}

/** The source, if it still is what `check` saw. */
async function asChecked(args: EntriesArgs, inputs: Bag): Promise<Source> {
  const source = open(args);
  const { digest, problems } = await summarize(source);
  if (problems[0] !== undefined) throw new Error(`${problems[0]} Nothing was sent.`);
  if (digest !== inputs["digest"]) {
    throw new Error(
      `${source.name} has changed since it was checked: nothing was sent. Run the command again when it is complete.`,
    );
  }
  return source;
}

/** Manifests of the resources that hold entries of the namespace in this operation. */
function held(ctx: Context, { accountId, namespaceId }: NamespaceAddress): Manifest[] {
  return ctx.shared(`entries of ${accountId} ${namespaceId}`, () => []);
}

/** Writes what differs from the manifest and deletes what is no longer declared. What was reached is recorded. */
async function converge(
  ctx: Context,
  args: EntriesArgs,
  source: Source,
  manifest: Manifest,
  id: string,
  writtenBefore = 0,
): Promise<Computed> {
  const comparison = compare(source.read(), manifest);
  let writtenAt = writtenBefore;
  const result = async (): Promise<Computed> => ({ manifest: await manifest.encode(), writtenAt });
  const half = async (reason: string): Promise<PartialFailure<Computed>> =>
    new PartialFailure(
      id,
      Object.assign(await result(), { digest: INCOMPLETE }),
      `KvEntries ${args.namespaceId}: ${reason}`,
    );

  if (args.prune !== undefined) await refuseTooManyPruned(ctx, args, source, manifest);
  const written = await upload({
    ctx,
    accountId: args.accountId,
    namespaceId: args.namespaceId,
    entries: entriesOf(comparison),
    onWritten: (entries, answeredAt) => {
      writtenAt = Math.max(writtenAt, answeredAt);
      for (const entry of entries) manifest.set(entry.key, recordedAt(entry, answeredAt));
    },
    onUncertain: (entries) => entries.forEach(({ key }) => manifest.set(key, UNCERTAIN)),
  });
  if (written.error !== undefined)
    throw await half(
      `${written.error.message} ${written.written} entries were written and are recorded; run \`pulumi up\` again to go on.`,
    );
  const [refused] = written.failed;
  if (refused !== undefined) {
    const names = written.failed
      .slice(0, SHOWN_KEYS)
      .map(({ key }) => JSON.stringify(key))
      .join(", ");
    throw await half(
      `${written.failed.length} entries could not be written (${names}${written.failed.length > SHOWN_KEYS ? ", …" : ""}): ${refused.reason} The others were written and are recorded.`,
    );
  }

  const others = held(ctx, args).filter((other) => other !== manifest);
  const gone = [...comparison.removed()];
  const kept = new Set(gone.filter((key) => others.some((other) => other.has(key))));
  for (const key of kept) manifest.delete(key); // Another resource of the program has it now.
  let strangers: string[];
  try {
    strangers = await strangersOf(ctx, args, (key) => manifest.has(key));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw await half(`${error.message} What was written is recorded; run \`pulumi up\` again to go on.`);
  }
  const deleted = deletedKeys(ctx, args.namespaceId);
  const removed = await remove({
    ctx,
    accountId: args.accountId,
    namespaceId: args.namespaceId,
    keys: [...gone.filter((key) => !kept.has(key)), ...strangers],
    onRemoved: (keys) => {
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
      `${removed.error.message} ${removed.removed} keys were deleted; run \`pulumi up\` again to go on.`,
    );
  const [stuck] = removed.failed;
  if (stuck !== undefined)
    throw await half(
      `${removed.failed.length} keys could not be deleted: ${JSON.stringify(stuck.key)}: ${stuck.reason}`,
    );
  return await result();
}

async function* entriesOf(comparison: ReturnType<typeof compare>): AsyncGenerator<Entry> {
  for await (const { entry } of comparison) yield entry;
}

/** A lifetime ends at a time that only the write determines. */
function recordedAt(entry: Entry, answeredAt: number): Recorded {
  const record = recordOf(entry);
  return record.ttl === undefined ? record : { ...record, expiration: Math.round(answeredAt) + record.ttl };
}

/** Fills the manifest with declared entries that exist already, as far as `adopt` allows it. */
async function adoptExisting(
  ctx: Context,
  args: EntriesArgs,
  source: Source,
  manifest: Manifest,
): Promise<void> {
  const deleted = deletedKeys(ctx, args.namespaceId);
  const existing = new Map<string, ListedKey>();
  for await (const listed of listKeys(ctx.api, args))
    if (!deleted.has(listed.name)) existing.set(listed.name, listed);
  if (existing.size === 0 || args.adopt === "takeOver") return;

  const now = Date.now() / 1000;
  const declared = new Map<string, Recorded>();
  for await (const entry of source.read()) {
    if (existing.has(entry.key) && !isPast(entry, now)) declared.set(entry.key, recordOf(entry));
  }
  if (declared.size === 0) return;
  if (args.adopt === "never") throw refusedAdoption(args, [...declared.keys()], "exist already");

  const requests = Math.ceil(declared.size / KV.MAX_BULK_GET_KEYS);
  if (requests > 1)
    ctx.say.info(
      `KvEntries ${args.namespaceId}: ${declared.size} declared keys exist already; comparing them takes ${requests} requests. adopt: "takeOver" overwrites them without looking.`,
    );
  const unread = new Set(declared.keys());
  const different: string[] = [];
  for await (const { key, bytes } of readValues(ctx, {
    accountId: args.accountId,
    namespaceId: args.namespaceId,
    keys: declared.keys(),
    withMetadata: false,
  })) {
    unread.delete(key);
    const wanted = declared.get(key);
    const listed = existing.get(key);
    if (wanted === undefined || listed === undefined) continue;
    const same = wanted.value === digest(bytes) && sameListed(wanted, listed);
    if (same)
      manifest.set(key, {
        ...wanted,
        ...(listed.expiration === undefined ? {} : { expiration: listed.expiration }),
      });
    else different.push(key);
  }
  // A key that was listed and has no value is one that is just disappearing: it is written like a new one.
  if (different.length > 0) throw refusedAdoption(args, different, "exist already with other content");
}

function refusedAdoption(args: EntriesArgs, keys: readonly string[], how: string): AdoptionError {
  const names = keys
    .slice(0, SHOWN_KEYS)
    .map((key) => JSON.stringify(key))
    .join(", ");
  return new AdoptionError(
    `KvEntries ${args.namespaceId}: ${keys.length} declared ${keys.length === 1 ? "key" : "keys"} ${how} (${names}${keys.length > SHOWN_KEYS ? ", …" : ""}). ` +
      'Nothing was written. Set adopt: "takeOver" to overwrite them, or declare other keys.',
  );
}

/** Whether a listing shows what is recorded or declared: metadata, and the time of expiry. */
function sameListed(wanted: Recorded, listed: ListedKey): boolean {
  const shown = listed.metadata === undefined ? undefined : digest(canonicalJson(listed.metadata));
  if (wanted.metadata !== shown) return false;
  if (wanted.ttl !== undefined && wanted.expiration === undefined) return listed.expiration !== undefined;
  if (wanted.expiration === undefined || listed.expiration === undefined)
    return wanted.expiration === listed.expiration;
  return (
    Math.abs(wanted.expiration - listed.expiration) <= (wanted.ttl === undefined ? 0 : SAME_EXPIRY_SECONDS)
  );
}

/** Keys under the pruned prefix that nobody of this program declares. */
async function strangersOf(
  ctx: Context,
  args: EntriesArgs,
  declared: (key: string) => boolean,
): Promise<string[]> {
  if (args.prune === undefined) return [];
  const deleted = deletedKeys(ctx, args.namespaceId);
  const others = held(ctx, args);
  const strangers: string[] = [];
  for await (const { name } of listKeys(ctx.api, { ...args, prefix: args.prune.prefix })) {
    if (!declared(name) && !deleted.has(name) && !others.some((other) => other.has(name)))
      strangers.push(name);
  }
  return strangers;
}

async function refuseTooManyPruned(
  ctx: Context,
  args: EntriesArgs,
  source: Source,
  manifest: Manifest,
): Promise<void> {
  const declared = new Set<string>();
  for await (const { key } of source.read()) declared.add(key);
  const strangers = await strangersOf(ctx, args, (key) => declared.has(key) || manifest.has(key));
  const most = args.prune?.maxDeletes ?? MAX_PRUNED;
  if (strangers.length <= most) return;
  throw new Error(
    `KvEntries ${args.namespaceId}: prune would delete ${strangers.length} keys of others under ${JSON.stringify(args.prune?.prefix ?? "")}; the limit is ${most}. ` +
      "Nothing was written. Raise prune.maxDeletes if that is meant, or choose a longer prefix.",
  );
}

/** What differs from the manifest, in words; the manifest is brought to what is there. Undefined where nothing differs. */
async function driftOf(
  ctx: Context,
  state: EntriesArgs & Computed,
  manifest: Manifest,
): Promise<string | undefined> {
  const now = Date.now() / 1000;
  const fresh = now - state.writtenAt < KV.CONSISTENCY_SECONDS; // The listing may not show yet what we have written.
  const listed = new Map<string, ListedKey>();
  for await (const key of listKeys(ctx.api, state)) if (manifest.has(key.name)) listed.set(key.name, key);

  const gone: string[] = [];
  const changed: string[] = [];
  for (const [key, recorded] of manifest) {
    if (recorded.value === UNCERTAIN.value) continue; // Known to need a write already.
    const found = listed.get(key);
    if (found !== undefined) {
      if (!sameListed(recorded, found) && !fresh) changed.push(key);
    } else if (!fresh && !(recorded.expiration !== undefined && recorded.expiration <= now)) gone.push(key);
  }
  if (state.verify === "values") {
    const differing = new Set(changed);
    const keys = [...listed.keys()].filter(
      (key) => !differing.has(key) && manifest.get(key)?.value !== UNCERTAIN.value,
    );
    ctx.say.info(
      `KvEntries ${state.namespaceId}: comparing ${keys.length} values takes ${Math.ceil(keys.length / KV.MAX_BULK_GET_KEYS)} requests.`,
    );
    for await (const { key, bytes } of readValues(ctx, {
      accountId: state.accountId,
      namespaceId: state.namespaceId,
      keys,
      withMetadata: false,
    })) {
      if (manifest.get(key)?.value !== digest(bytes) && !fresh) changed.push(key);
    }
  }
  // The next update writes both; what is there is still deleted when it is declared no more.
  for (const key of gone) manifest.delete(key);
  for (const key of changed) manifest.set(key, UNCERTAIN);
  const parts = [
    ...(gone.length === 0
      ? []
      : [`${gone.length} ${gone.length === 1 ? "key" : "keys"} gone: ${shown(gone)}`]),
    ...(changed.length === 0
      ? []
      : [`${changed.length} ${changed.length === 1 ? "key" : "keys"} changed: ${shown(changed)}`]),
  ];
  return parts.length === 0 ? undefined : parts.join("; ");
}

function shown(keys: readonly string[]): string {
  const first = [...keys].sort().slice(0, SHOWN_KEYS).join(", ");
  return keys.length > SHOWN_KEYS ? `${first}, …` : first;
}
