import { randomUUID } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { hidesKeys, isNamespaceGone, NAMED_BY, subjectOf, type NamespaceAddress } from "./address";
import { adoptExisting, NOTHING_ADOPTED, type AdoptedKeys, type AdoptionRequest } from "./adopt-existing";
import { remove } from "./bulk";
import { compare, converge, entryCount, NO_CHANGES, type Plan, type Written } from "./converge";
import {
  type Declared,
  fileHash,
  knownPart,
  loadCatalog,
  unchangedFile,
  withCheckedSource,
} from "./declaration";
import { driftOf, withoutForeign } from "./drift";
import { keysOf, ownedElsewhere, type Keys } from "./namespace-keys";
import { listedNamespaces, listKeys } from "./listing";
import { entriesMessages, entriesRecord, SEEN, type EntriesImpact } from "./impact";
import { decodeManifest, encodeIndex, encodeManifest, type Manifest } from "./manifest";
import { formatNumber } from "../limits/workers";
import { isExpired, lifeOf, type RecordedEntry, quoteKey, quoteKeys } from "./entry";
import { pruneLimitError, unmanagedKeys, type Pruning } from "./prune";
import { SourceError } from "./source-handle";
import { json, record } from "../basics/schemas";
import type { Listed } from "../runtime/impact";
import { AdoptionError } from "../runtime/adoption";
import type { CheckFailure } from "../runtime/inputs";
import type { Context, Findings } from "../runtime/lifecycle";
import { defineResource, refuseProto } from "../runtime/resource";
import { hasUnknown } from "../runtime/engine-values";
import { pick, type JsonObject } from "../basics/json";
import { pluralize } from "../basics/words";
import { CompositeId } from "../runtime/composite-id";
import { ID, adopt, type Adopt, type LiteralUnion } from "../runtime/fields";
import { LOCK } from "../runtime/locks";

/** Any JSON, but without the recursive type: TypeScript would expand it endlessly in policies on the whole stack. */
const anyJson: z.ZodType = json;

const args = z.object({
  accountId: ID.account,
  namespaceId: ID.of(
    "a namespace ID",
    "Use the ID of a KvNamespace, or find an ID with `edgeguard kv namespace list`.",
  ),
  entries: record(z.unknown()).exactOptional(),
  file: z.string().min(1, "is empty. Pass a file's path").exactOptional(),
  directory: z
    .union(
      [
        z.string().min(1, "is empty. Pass a file's path"),
        z.strictObject({
          path: z.string().min(1, "is empty. Pass a file's path"),
          prefix: z.string().exactOptional(),
          ignore: z.array(z.string()).exactOptional(),
        }),
      ],
      "must be a path or { path, prefix, ignore }",
    )
    .exactOptional(),
  defaults: z
    .strictObject({ metadata: record(anyJson).exactOptional(), expirationTtl: z.number().exactOptional() })
    .exactOptional(),
  adopt: adopt.exactOptional(),
  prune: z.strictObject({ prefix: z.string(), maxDeletes: z.int().min(0).exactOptional() }).exactOptional(),
  maxOwnDeletes: z.int().min(0).exactOptional(),
  verify: z.enum(["keys", "values", "none"]).exactOptional(),
});

const computed = z.object({
  manifest: z.string(),
  writtenAt: z.number(),
  bytes: z.number().exactOptional(),
  // `digest` is the declared digest, unless a write was interrupted. `drift` is what a refresh found.
  digest: z.string().exactOptional(),
  drift: z.string().exactOptional(),
});

const SOURCES = ["entries", "file", "directory"] as const;

export const kvEntries = defineResource({
  type: "KvEntries",
  compositeId: new CompositeId(["<account ID>/<namespace ID>"]),
  importedWith: "--only kv --with-values",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed,
  computedInputs: ["keys", "bytes", "digest", "fileHash", "drift", "index"],
  inputsOnly: ["index"],
  record: entriesRecord,
  pending: ({ inputs: { file } }) => [
    "keys",
    "bytes",
    "digest",
    "index",
    ...(file === undefined ? [] : ["fileHash"]),
  ],
  informs: ["index"],
  // Digests are compared, so moving the same content elsewhere isn't a change.
  compared: { ignore: ["entries", "file", "directory", "defaults"], also: ["digest", "drift"] },
  replaceOn: ["accountId", "namespaceId"],
  secret: { entries: (redactor, given) => redactor.addStrings(given) },
  // A short value can be guessed from its digest within seconds.
  secretOutputs: ["manifest", "digest", "fileHash", "index"],
  ofAccount: true,
  lock: ({ accountId, namespaceId }) => LOCK.entries(accountId, namespaceId),

  rules: [
    {
      needs: [],
      check: (_args, given) => {
        const set = SOURCES.filter((name) => given[name] !== undefined);
        if (set.length === 1) return undefined;
        const which = set.length === 0 ? "none is set" : `${set.join(" and ")} are set`;
        return {
          property: set[1] ?? "entries",
          reason: `set exactly one of entries, file and directory; ${which}`,
        };
      },
    },
  ],

  // A new namespace has no ID in a preview, but its entries are still checked.
  deriveWithout: ["accountId", "namespaceId", "entries", "adopt", "prune", "verify", "maxOwnDeletes"],

  async derive({ ctx, args, olds, given }) {
    const property = SOURCES.find((name) => args[name] !== undefined) ?? "entries";
    const who = subjectOf(ctx, args.namespaceId);
    try {
      const same =
        ignoredContent(args, olds, given) ??
        (olds["drift"] === undefined && olds["index"] !== undefined
          ? await unchangedFile(args, olds)
          : undefined);
      const declare = async (keys: () => Promise<Keys>): Promise<CheckFailure[]> => {
        if (hasUnknown([args.accountId, args.namespaceId, args.prune])) return [];
        const { holder = "", name = "" } = ctx;
        const where = `namespace ${args.namespaceId}`;
        const mine = { name, where, prefix: args.prune?.prefix, isSecret: hidesKeys(ctx), keys };
        const clash = await keysOf(ctx, args).declare(holder, mine);
        return clash === undefined ? [] : [{ property: "", reason: clash }];
      };
      if (same !== undefined) {
        const computed = { ...same, ...pick(olds, ["index"]) };
        const found = async (): Promise<JsonObject> =>
          isIndexed(olds)
            ? contentFound(ctx, await indexOf(olds), isNew(args, olds) ? undefined : NO_CHANGES)
            : {};
        const failures = await declare(() => indexOf(olds));
        return { computed, seen: [SEEN.ownKeys], found, failures };
      }
      const [declaration, isWhole] = knownPart(args);
      const catalog = await loadCatalog(ctx, declaration);
      const { keys, bytes, digest, problems, expired, sha256, rows } = catalog;
      if (problems.length > 0) return { failures: problems.map((reason) => ({ property, reason })) };
      const names = new Set([...Object.keys(args.entries ?? {}), ...rows.keys()]);
      const failures = await declare(() => Promise.resolve(names));
      if (!isWhole) return { failures };
      if (digest !== olds["digest"] && expired > 0)
        ctx.say.warn(
          `${who}: ${expired} of ${entryCount(keys)} ${expired === 1 ? "has" : "have"} already expired. ${expired === 1 ? "It counts" : "They count"} as not declared.`,
        );
      const isFirst = isNew(args, olds);
      const isWritten = !isFirst && isContentWritten(olds, { digest });
      const index = isWritten && isIndexed(olds) ? olds["index"] : await encodeIndex(rows);
      const isKnown = isFirst || isWritten || isIndexed(olds);
      const plan = async (): Promise<Plan> =>
        isWritten ? NO_CHANGES : compare(catalog, isFirst ? EMPTY : await indexOf(olds));
      return {
        computed: {
          keys,
          bytes,
          digest,
          index,
          ...(sha256 === undefined ? {} : { fileHash: fileHash(sha256) }),
        },
        seen: isKnown ? [SEEN.ownKeys] : [],
        found: async () => contentFound(ctx, rows, isKnown ? await plan() : undefined),
        failures,
      };
    } catch (error) {
      if (error instanceof SourceError) return { failures: [{ property, reason: error.message }] };
      throw error;
    }
  },

  // Others may have written keys under the prefix, even if nothing changed here.
  liveAlways: ({ prune }) => prune !== undefined,

  async live({ ctx, args, olds, inputs }) {
    const isFirst = isNew(args, olds);
    const isWritten = !isFirst && isContentWritten(olds, inputs);
    const recorded = isWritten ? inputs : olds;
    if (!isFirst && !isIndexed(recorded)) {
      ctx.skip(
        `the state of ${subjectOf(ctx, args.namespaceId)} doesn't list its keys yet. Run pulumi refresh to add them`,
      );
      return [];
    }
    const own: Manifest = new Map(isFirst ? EMPTY : await indexOf(recorded));
    const catalog = isWritten ? undefined : await loadCatalog(ctx, args);
    const managed = managementOf(args);
    const existing = async (): Promise<Findings> => {
      if (catalog === undefined) return { seen: [SEEN.existingKeys] };
      try {
        const adopted = await adoptExisting(ctx, managed, catalog, own, true);
        const seen = adopted.unchecked > 0 ? [] : [SEEN.existingKeys];
        return { seen, found: existingFound(ctx, { ...adopted, prunes: [] }) };
      } catch (error) {
        // The resource may have written these keys in an update that failed. The diff knows.
        if (isFirst || !(error instanceof AdoptionError)) throw error;
        return {};
      }
    };
    const prunable = async (): Promise<Findings> => {
      const prunes = await findUnmanagedKeys(ctx, managed, { rows: catalog?.rows ?? own, manifest: own });
      const reason = pruneLimitError(args.prune, prunes);
      if (reason !== undefined) return { failures: [{ property: "prune.maxDeletes", reason }] };
      return {
        seen: [SEEN.prunedKeys],
        found: existingFound(ctx, { ...NOTHING_ADOPTED, prunes }),
        pendingWork: prunes.length > 0,
      };
    };
    return args.prune === undefined ? [existing] : [existing, prunable];
  },

  messages: (found, { name, args: { namespaceId } }) =>
    entriesMessages(found, subjectOf({ name }, String(namespaceId))),

  async review({ ctx, state, args, inputs, change }) {
    // No other resource may delete the keys of an unchanged one.
    if (change === "none") keysOf(ctx, state).own(() => decodeManifest(state.manifest));
    if (args === undefined || change !== "update" || isContentWritten(state, inputs)) return [];
    const catalog = await loadCatalog(ctx, args);
    if (catalog.digest !== inputs["digest"])
      throw new Error(
        `${subjectOf(ctx, args.namespaceId)}: an earlier update didn't write all entries. Their source has changed since then, but ignoreChanges hides the change. Restore the source, or remove ignoreChanges for one update.`,
      );
    const manifest = await decodeManifest(state.manifest);
    refuseOwnDeletes(ctx, args, compare(catalog, manifest), manifest);
    const refused = async (): Promise<Findings> => {
      await adoptExisting(ctx, managementOf(args), catalog, manifest, true);
      return {};
    };
    return [refused];
  },

  async create({ ctx, args, inputs }) {
    return await withCheckedSource(ctx, args, inputs["digest"], async (declared) => {
      const { catalog } = declared;
      const manifest: Manifest = new Map();
      const managed = managementOf(args);
      keysOf(ctx, managed).own(() => Promise.resolve(manifest));
      const unmanaged = await prunedKeys(ctx, managed, { rows: catalog.rows, manifest, writtenAt: 0 });
      const adopted = await adoptExisting(ctx, managed, catalog, manifest);
      tellExisting(ctx, args, { ...adopted, prunes: unmanaged });
      const id = `${args.namespaceId}/${randomUUID()}`;
      const work = { ...managed, id, manifest, writtenAt: 0, unmanaged };
      return { id, computed: await converge(ctx, declared, work) };
    });
  },

  async update({ ctx, id, state, args, inputs }) {
    const manifest = await decodeManifest(state.manifest);
    const managed = managementOf(args);
    const apply = async (declared?: Declared): Promise<Written> => {
      const rows = declared?.catalog.rows ?? manifest;
      keysOf(ctx, managed).own(() => Promise.resolve(manifest));
      const unmanaged = await prunedKeys(ctx, managed, { rows, manifest, writtenAt: state.writtenAt });
      const adopted =
        declared === undefined
          ? NOTHING_ADOPTED
          : await adoptExisting(ctx, managed, declared.catalog, manifest);
      tellExisting(ctx, args, { ...adopted, prunes: unmanaged });
      const work = { ...managed, id, manifest, writtenAt: state.writtenAt, unmanaged };
      return await converge(ctx, declared, work);
    };
    if (isContentWritten(state, inputs)) return await apply();
    return await withCheckedSource(ctx, args, inputs["digest"], async (declared) => {
      refuseOwnDeletes(ctx, args, compare(declared.catalog, manifest), manifest);
      return await apply(declared);
    });
  },

  async read({ ctx, state }) {
    const manifest = await decodeManifest(state.manifest);
    try {
      const drift = state.verify === "none" ? undefined : await driftOf(ctx, state, manifest);
      const index = await encodeIndex(manifest);
      if (drift === undefined) return { ...state, index };
      return { ...state, manifest: await encodeManifest(manifest), drift, index };
    } catch (error) {
      if (isNamespaceGone(error)) return undefined;
      throw error;
    }
  },

  // A refresh compares nothing, because it's unknown what was written.
  async existing({ ctx, address: { scope, id } }) {
    const address = { accountId: scope.id, namespaceId: id };
    const listing = listKeys(ctx.api, address);
    let keys = 0;
    while ((await listing.next()).done !== true) keys += 1;
    ctx.say.info(
      `${subjectOf(ctx, id)}: KvEntries.get counts the namespace's keys but doesn't read their values, so bytes and digest are undefined. ` +
        `To write a program that declares the entries, run \`edgeguard import --account ${scope.id} --only kv --with-values\`.`,
    );
    const manifest = await encodeManifest(new Map());
    return { id, outputs: { ...address, verify: "none", keys, manifest, writtenAt: 0 } };
  },

  // Of each namespace, because an account's list says no more.
  list: ({ ctx, scope }) => listedNamespaces(ctx.api, scope.id),

  async delete({ ctx, state }) {
    const { accountId, namespaceId } = state;
    const manifest = await decodeManifest(state.manifest);
    const isOwnedElsewhere = await ownedElsewhere(ctx, state);
    const left = [...manifest.keys()].filter((key) => !isOwnedElsewhere(key));
    const taken = manifest.size - left.length;
    if (taken > 0)
      ctx.say.info(
        `${subjectOf(ctx, namespaceId)}: keeping ${taken} of its ${pluralize(manifest.size, "key")}, because another resource now owns ${taken === 1 ? "it" : "them"}.`,
      );
    const own = await withoutForeign(ctx, state, manifest, left);
    const { deleted } = keysOf(ctx, state);
    const onDone = (keys: readonly string[]): void => keys.forEach((key) => deleted.add(key));
    const outcome = await remove({ ctx, accountId, namespaceId, keys: own, onDone });
    if (outcome.error !== undefined) throw outcome.error;
    const [first] = outcome.failed;
    if (first !== undefined)
      throw new Error(
        `Couldn't delete ${pluralize(outcome.failed.length, "key")}, such as ${quoteKey(first.key, hidesKeys(ctx))}: ${first.reason} Run the command again.`,
      );
  },
});

/** One inline entry of a `KvEntries`: a value with its options. */
export interface KvEntryArgs {
  /** The value as text, or as base64 if `base64` is true. At most 25 MiB after decoding. Updates in place. */
  readonly value: pulumi.Input<string>;
  /**
   * Whether `value` is base64 of the bytes to store. Updates in place.
   *
   * @defaultValue `false`
   */
  readonly base64?: pulumi.Input<boolean>;
  /** An object stored with the value: at most 1,024 bytes of JSON. Updates in place. */
  readonly metadata?: pulumi.Input<Record<string, unknown>>;
  /**
   * When the entry expires: a Unix time in seconds. An entry that has expired counts as not
   * declared: its key isn't written, and is deleted if the resource wrote it without that expiration. Updates in place.
   */
  readonly expiration?: pulumi.Input<number>;
  /**
   * The entry's TTL in seconds, counted from when it's written. Minimum: 60. Overrides `expiration`. Updates in place.
   */
  readonly expirationTtl?: pulumi.Input<number>;
}

export interface KvEntriesArgs {
  /**
   * The ID of the account that owns the namespace (32 hex digits). By default, the setting `edgeguard:accountId`, or
   * `CLOUDFLARE_ACCOUNT_ID`. Changing it replaces the entries.
   */
  readonly accountId?: pulumi.Input<string>;
  /** The namespace's ID (32 hex digits), such as `namespace.id`. Changing it replaces the entries. */
  readonly namespaceId: pulumi.Input<string>;
  /**
   * The entries, inline: a map from key to value, or to an object with the value and its options. Values are secret in the
   * state. A key has 1 to 512 bytes of printable characters without whitespace and isn't `.` or `..`. Set exactly one of `entries`, `file` and `directory`. Updates in place. Only entries that
   * differ are written.
   */
  readonly entries?: pulumi.Input<Record<string, pulumi.Input<string | KvEntryArgs>>>;
  /**
   * A JSON file in the form of `wrangler kv bulk put`: an array of
   * `{ key, value, base64, metadata, expiration, expiration_ttl }`. The path is relative to the program's directory.
   * Moving the same content to another file changes nothing. The state never contains the values. A mistake in the file is
   * reported with the line on which its entry begins. Updates in place.
   *
   * With `ignoreChanges: ["file"]`, the file is read once, when the entries are created. After that, neither a new path nor
   * new content changes anything, and drift isn't repaired. A transform must set `ignoreChanges: ["file", "digest"]`.
   */
  readonly file?: pulumi.Input<string>;
  /**
   * A directory with one file per key, including hidden files such as `.DS_Store`. The file's bytes, text or binary, are
   * the value. Pass the directory's path, or an object with options. The state never contains the values. Updates in
   * place. `ignoreChanges: ["directory"]` works as described for `file`.
   */
  readonly directory?: pulumi.Input<
    | string
    | {
        /** The directory's path, relative to the program's directory. Updates in place. */
        path: pulumi.Input<string>;
        /** Text before each file's relative path in its key; no slash is added. Updates in place. */
        prefix?: pulumi.Input<string>;
        /** Files to leave out: .gitignore patterns, relative to the directory. Updates in place. */
        ignore?: pulumi.Input<readonly pulumi.Input<string>[]>;
      }
  >;
  /** Default metadata and TTL, for entries that don't set their own. Updates in place. */
  readonly defaults?: pulumi.Input<{
    /** Metadata for entries that have none: at most 1,024 bytes of JSON. Updates in place. */
    metadata?: pulumi.Input<Record<string, unknown>>;
    /** TTL for entries with neither an expiration nor a TTL: at least 60 seconds. Updates in place. */
    expirationTtl?: pulumi.Input<number>;
  }>;
  /**
   * What to do with a declared key that already exists and wasn't written by this resource. Applies when the resource
   * is created and when it's updated. `"ifEqual"` adopts it if its content matches and otherwise fails. `"takeOver"`
   * overwrites it. `"never"` always fails. Updates in place. Changing it alone writes nothing.
   *
   * @defaultValue `"ifEqual"`
   */
  readonly adopt?: pulumi.Input<LiteralUnion<Adopt>>;
  /**
   * Deletes all keys under a prefix, whoever wrote them, except those that this resource declares. If unset, keys
   * written by others stay. The program fails if it has another `KvEntries` that declares keys under the prefix.
   * Updates in place.
   */
  readonly prune?: pulumi.Input<{
    /** The prefix; `""` means every key in the namespace. Updates in place. */
    prefix: pulumi.Input<string>;
    /**
     * The maximum number of keys written by others that one update may delete. If there are more, the preview and the
     * update fail. Updates in place.
     *
     * @defaultValue `100`
     */
    maxDeletes?: pulumi.Input<number>;
  }>;
  /**
   * The maximum number of the resource's own keys that one update may delete: keys that it wrote and no longer
   * declares. If there are more, the preview and the update fail, so that an incomplete export can't empty the
   * namespace. Destroying or replacing the resource isn't limited. If unset, updates aren't limited either. Updates in
   * place. Changing it alone writes nothing.
   */
  readonly maxOwnDeletes?: pulumi.Input<number>;
  /**
   * What a refresh compares. `"keys"` lists the namespace and compares keys, expirations and metadata. `"values"` also reads
   * the values, with one request per 100 keys, and one more for each value that isn't text. `"none"` compares nothing. A
   * refresh and the drift report say what wasn't compared. Updates in place. Changing it alone writes nothing.
   *
   * @defaultValue `"values"` for up to 1,000 keys with up to 1 MiB of values, otherwise `"keys"`
   */
  readonly verify?: pulumi.Input<LiteralUnion<"keys" | "values" | "none">>;
}

/**
 * Entries of one Workers KV namespace, declared inline, in a JSON file or in a directory.
 *
 * An update writes the entries that differ, in bulk, and deletes those that are no longer declared. Keys written by
 * others stay, unless `prune` is set. The state holds digests instead of values; only the values of inline `entries`
 * are in the state, as secrets.
 *
 * Token permissions: Workers KV Storage Read to preview and refresh; Workers KV Storage Write to update and destroy.
 *
 * @example
 * Inline entries, one with an expiration
 * ```ts
 * import { KvEntries, KvNamespace } from "pulumi-edgeguard";
 *
 * const accountId = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
 * const site = new KvNamespace("site", { accountId, title: "site" });
 *
 * new KvEntries("banners", {
 *   accountId,
 *   namespaceId: site.id,
 *   entries: {
 *     "banner/home": "Free shipping",
 *     "banner/sale": { value: "Today only", expirationTtl: 86_400, metadata: { owner: "marketing" } },
 *   },
 * });
 * ```
 * @example
 * Own all keys under a prefix, with a limit on what one update deletes
 * ```ts
 * import { KvEntries, KvNamespace } from "pulumi-edgeguard";
 *
 * const accountId = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
 * const site = new KvNamespace("redirects", { accountId, title: "redirects" });
 * const redirects = { "/old-shop": "/shop", "/imprint": "/legal" };
 *
 * new KvEntries("redirects", {
 *   accountId,
 *   namespaceId: site.id,
 *   entries: Object.fromEntries(Object.entries(redirects).map(([from, to]) => [`redirect${from}`, to])),
 *   prune: { prefix: "redirect/", maxDeletes: 20 },
 *   maxOwnDeletes: 100,
 * });
 * ```
 * @destroy
 * Deletes the keys that the resource wrote or adopted, unless someone else has changed them since. Other keys and the
 * namespace stay.
 * @importing
 * `edgeguard import --account <account ID> --only kv --with-values` writes each namespace's entries to a file, together
 * with the program and the import file. The resource's ID is the namespace's ID, a slash and a UUID.
 * @reading
 * `keys` is the number of keys in the namespace. The declared content can't be derived from them, so `bytes`, `digest`
 * and `fileHash` are undefined, and a refresh compares nothing. To declare the entries, import them.
 * @throws In the preview, if entries exceed a limit. The error says which entries, and where they're declared.
 * @throws If declared keys already exist and may not be adopted.
 * @throws If two `KvEntries` declare the same key, or one prunes what the other declares.
 * @throws If an update would delete more keys than `maxOwnDeletes` or `prune.maxDeletes` allows.
 * @throws If the source changed since the preview.
 * @throws If entries couldn't be written. What was written is recorded, and the next update writes the rest.
 * @see https://developers.cloudflare.com/kv/api/write-key-value-pairs/
 * @see `PUT /accounts/{account_id}/storage/kv/namespaces/{namespace_id}/bulk`
 * @see `POST /accounts/{account_id}/storage/kv/namespaces/{namespace_id}/bulk/delete`
 */
export class KvEntries extends kvEntries.base<KvEntriesArgs>() {
  /** How many entries are declared. */
  declare readonly keys: pulumi.Output<number>;
  /** The total size of the values in bytes, as stored. */
  declare readonly bytes: pulumi.Output<number>;
  /** A digest of the declared content, the same for any source. Secret, because short values can be guessed from it. */
  declare readonly digest: pulumi.Output<string>;
  /** SHA-256 of the file. A preview uses it to tell whether the file has changed. Secret. Unset for other sources. */
  declare readonly fileHash: pulumi.Output<string | undefined>;
  /** What the last change found out: the keys that it added, changed, deleted, adopted, overwrote and pruned. */
  declare readonly impact: pulumi.Output<EntriesImpact | undefined>;

  constructor(name: string, args: KvEntriesArgs, opts?: pulumi.CustomResourceOptions) {
    const { entries, ...rest } = args;
    refuseProto(`KvEntries "${name}"`, entries); // Wrapping the entries in a secret would drop `__proto__`.
    const secret = entries === undefined ? {} : { entries: pulumi.secret(entries) };
    super(name, { ...rest, ...secret }, ignoringContent(opts));
  }
}

/** Adds `digest` to `ignoreChanges` if that lists `file` or `directory`. Otherwise, a new digest would be a change. */
function ignoringContent(
  opts: pulumi.CustomResourceOptions | undefined,
): pulumi.CustomResourceOptions | undefined {
  const ignored = opts?.ignoreChanges ?? [];
  return ["file", "directory"].some((source) => ignored.includes(source))
    ? { ...opts, ignoreChanges: [...ignored, "digest"] }
    : opts;
}

/** Whether the entries are about to be created, for the first time or in another namespace. */
function isNew(args: NamespaceAddress, olds: JsonObject): boolean {
  if (olds["digest"] === undefined) return true;
  return (["accountId", "namespaceId"] as const).some(
    (key) => !hasUnknown(args[key]) && args[key] !== olds[key],
  );
}

/** Returns the recorded content if `ignoreChanges` lists the source, so that the source isn't read. */
function ignoredContent(args: NamespaceAddress, olds: JsonObject, given: JsonObject): JsonObject | undefined {
  // The class never passes a digest. If there's one, `ignoreChanges` has restored the recorded one.
  const isIgnored = given["digest"] !== undefined && given["digest"] === olds["digest"] && !isNew(args, olds);
  // Drift stays recorded, because an update may not read the source to repair it.
  return isIgnored ? pick(olds, ["keys", "bytes", "digest", "fileHash", "drift"]) : undefined;
}

/** Whether every declared entry has been written, so that an update doesn't have to read the source. */
function isContentWritten(recorded: JsonObject, inputs: JsonObject): boolean {
  return recorded["digest"] === inputs["digest"] && recorded["drift"] === inputs["drift"];
}

/** @throws If an update would delete more of the resource's own keys than `maxOwnDeletes`. */
function refuseOwnDeletes(
  ctx: Context,
  {
    namespaceId,
    maxOwnDeletes,
  }: { readonly namespaceId: string; readonly maxOwnDeletes?: number | undefined },
  { removed }: Pick<Plan, "removed">,
  { size }: Manifest,
): void {
  if (maxOwnDeletes === undefined || removed.length <= maxOwnDeletes) return;
  throw new Error(
    `${subjectOf(ctx, namespaceId)}: this update would delete ${formatNumber(removed.length)} of its ${pluralize(size, "key")} (${quoteKeys(removed, hidesKeys(ctx))}); maxOwnDeletes allows ${formatNumber(maxOwnDeletes)}. ` +
      "Nothing was written. Check the source of the entries, or raise maxOwnDeletes.",
  );
}

/** Returns the arguments that decide which existing keys are adopted or pruned. */
function managementOf({
  accountId,
  namespaceId,
  adopt,
  prune,
}: AdoptionRequest & Pruning): AdoptionRequest & Pruning {
  return { accountId, namespaceId, adopt, prune };
}

/** Returns what the record says about the declared content. */
function contentFound(ctx: Context, rows: ReadonlyMap<string, unknown>, plan?: Plan): JsonObject {
  const list = (names: Iterable<string>): Listed => ctx.list(names, NAMED_BY);
  const keys = list(rows.keys());
  if (plan === undefined) return { keys };
  const { added, changed, removed, shortened, emptied } = plan;
  const found = { keys, added: list(added), changed: list(changed), removed: list(removed) };
  if (emptied.length > 0) Object.assign(found, { emptied: list(emptied) });
  if (shortened.length === 0) return found;
  return { ...found, expires: list(shortened.map(({ key }) => key)), expiry: firstExpiry(shortened) };
}

/** Says when the first of some entries expires. */
function firstExpiry(rows: readonly RecordedEntry[]): string {
  const now = Date.now() / 1000;
  const { ttl, expiration = 0 } = rows.reduce((a, b) => (lifeOf(b, now) < lifeOf(a, now) ? b : a));
  const date = new Date(expiration * 1000).toISOString();
  return ttl === undefined ? `at ${date}` : `${formatNumber(ttl)} s after the update`;
}

/** Returns what the record says about existing keys. */
function existingFound(
  ctx: Context,
  {
    adopts,
    overwrites,
    shortened,
    emptied,
    prunes,
    unchecked,
  }: AdoptedKeys & { readonly prunes: readonly string[] },
): JsonObject {
  return {
    ...(adopts.length === 0 ? {} : { adopts: ctx.list(adopts, NAMED_BY) }),
    ...(overwrites.length === 0 ? {} : { overwrites: ctx.list(overwrites, NAMED_BY) }),
    ...(shortened.length === 0
      ? {}
      : { overwrittenExpire: shortened.length, overwrittenExpiry: firstExpiry(shortened) }),
    ...(emptied.length === 0 ? {} : { overwrittenEmptied: emptied.length }),
    ...(prunes.length === 0 ? {} : { prunes: ctx.list(prunes, ["prune"]) }),
    ...(unchecked === 0 ? {} : { unchecked }),
  };
}

/** Says during the update what happens to existing keys, in case that no live check did. */
function tellExisting(
  ctx: Context,
  { namespaceId }: NamespaceAddress,
  existing: Parameters<typeof existingFound>[1],
): void {
  ctx.tell(entriesMessages(existingFound(ctx, existing), subjectOf(ctx, namespaceId)));
}

const isIndexed = (olds: JsonObject): boolean => typeof olds["index"] === "string";

const EMPTY: Manifest = new Map();

/** Returns the entries that the last update declared. Empty if they aren't recorded. */
async function indexOf(olds: JsonObject): Promise<Manifest> {
  const { index } = olds;
  return typeof index === "string" ? await decodeManifest(index) : new Map();
}

interface Own {
  readonly rows: Timed;
  readonly manifest: Manifest;
  readonly writtenAt?: number;
}

/** Finds keys under the pruned prefix that the resource neither declares nor wrote before. */
async function findUnmanagedKeys(
  ctx: Context,
  pruning: Pruning,
  { rows, manifest, writtenAt }: Own,
): Promise<string[]> {
  const isDeclared = isDeclaredIn(ctx, rows);
  return await unmanagedKeys(ctx, pruning, (key) => isDeclared(key) || manifest.has(key), writtenAt);
}

/** @throws if there are more keys to prune than `maxDeletes`. */
async function prunedKeys(ctx: Context, pruning: Pruning, own: Own): Promise<string[]> {
  const keys = await findUnmanagedKeys(ctx, pruning, own);
  const problem = pruneLimitError(pruning.prune, keys);
  if (problem !== undefined) throw new Error(`${subjectOf(ctx, pruning.namespaceId)}: ${problem}`);
  return keys;
}

type Timed = ReadonlyMap<string, Pick<RecordedEntry, "expiration">>;

/**
 * Returns a predicate for keys that are declared and haven't expired. Expired entries are never written, so their keys
 * aren't ours.
 */
function isDeclaredIn(ctx: Context, rows: Timed): (key: string) => boolean {
  const now = ctx.api.now() / 1000;
  return (key) => {
    const row = rows.get(key);
    return row !== undefined && !isExpired(row, now);
  };
}
