import { randomUUID } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { isNamespaceGone, subjectOf, type NamespaceAddress } from "./address";
import { adoptExisting, type Adoption } from "./adopt-existing";
import type { Catalog } from "./catalog";
import { remove } from "./bulk";
import { compare, converge, line, NOTHING, type Plan, type Written } from "./converge";
import { type Declared, fileHash, known, knownPart, look, unchangedFile, withDeclared } from "./declared";
import { driftOf } from "./drift";
import { deletedKeys, heldKeys } from "./held";
import { listKeys } from "./listing";
import { decodeManifest, encodeManifest, type Manifest } from "./manifest";
import { count, isPast, type Recorded, shown } from "./entry";
import { Strangers, type Pruning } from "./prune";
import { soleOwner } from "./sole-owner";
import { SourceError } from "./source-handle";
import { json, record } from "../runtime/json";
import { defineLifecycle, type Context, type Review } from "../runtime/lifecycle";
import { edgeResource, refuseLost } from "../runtime/resource";
import { redactStrings } from "../runtime/secrets";
import { hasUnknown, pick, UNKNOWN, type JsonObject } from "../runtime/values";
import { accountId, adopt, hexId, type Adopt, type LiteralUnion } from "../runtime/fields";
import { LOCK } from "../runtime/locks";

const args = z.object({
  accountId,
  namespaceId: hexId(
    "a namespace ID",
    "Use the ID of a KvNamespace, or find it with `edgeguard kv namespace list`.",
  ),
  entries: record(z.unknown()).exactOptional(),
  file: z.string().min(1, "has to be a path; it is empty").exactOptional(),
  directory: z
    .union(
      [
        z.string().min(1, "has to be a path; it is empty"),
        z.strictObject({
          path: z.string().min(1, "has to be a path; it is empty"),
          prefix: z.string().exactOptional(),
          ignore: z.array(z.string()).exactOptional(),
        }),
      ],
      "has to be a path, or { path, prefix, ignore }",
    )
    .exactOptional(),
  defaults: z
    .strictObject({ metadata: record(json).exactOptional(), expirationTtl: z.number().exactOptional() })
    .exactOptional(),
  adopt: adopt.exactOptional(),
  prune: z.strictObject({ prefix: z.string(), maxDeletes: z.int().min(0).exactOptional() }).exactOptional(),
  maxOwnDeletes: z.int().min(0).exactOptional(),
  verify: z.enum(["keys", "values", "none"]).exactOptional(),
});

const computed = z.object({
  manifest: z.string(),
  writtenAt: z.number(),
  // As declared, unless a write was not finished; and what a refresh found.
  digest: z.string().exactOptional(),
  drift: z.string().exactOptional(),
});

const SOURCES = ["entries", "file", "directory"] as const;

export const kvEntries = defineLifecycle({
  type: "KvEntries",
  schemaVersion: 1,
  upgrades: {},
  args,
  computed,
  computedInputs: ["keys", "bytes", "digest", "fileHash", "drift"],
  // The class gives no digest of its own: one that arrives is the recorded one, which `ignoreChanges` brings back.
  hints: ["digest"],
  // The same content from another place is no change: what is compared is its digest.
  compared: { ignore: ["entries", "file", "directory", "defaults"], also: ["digest", "drift"] },
  replaceOn: ["accountId", "namespaceId"],
  secret: { entries: redactStrings },
  // Whoever sees a digest can try contents until one has it: for a short value a matter of seconds.
  secretOutputs: ["manifest", "digest", "fileHash"],
  fromSettings: { accountId: ({ accountId }) => accountId },
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
          reason: `exactly one of entries, file and directory gives the entries; ${which}`,
        };
      },
    },
  ],

  // A new namespace has no id in a preview; its entries are looked at all the same.
  deriveWithout: ["accountId", "namespaceId", "entries", "adopt", "prune", "verify"],

  async derive({ ctx, args, olds, hints }) {
    const property = SOURCES.find((name) => args[name] !== undefined) ?? "entries";
    const who = subjectOf(ctx, args.namespaceId);
    try {
      const same = ignoredContent(args, olds, hints) ?? (await unchangedFile(args, olds));
      if (same !== undefined) return { computed: same };
      const [declaration, isWhole] = knownPart(args);
      const catalog = await look(ctx, declaration);
      const { keys, bytes, digest, problems, expired, warnings, sha256 } = catalog;
      if (problems.length > 0) return { failures: problems.map((reason) => ({ property, reason })) };
      if (digest !== olds["digest"]) for (const warning of warnings) ctx.say.warn(`${who}: ${warning}`);
      // A saved plan takes an unknown for a later value, and nothing for one.
      if (!isWhole) return { computed: { keys: UNKNOWN, bytes: UNKNOWN, digest: UNKNOWN } };
      if (digest !== olds["digest"] && expired > 0)
        ctx.say.warn(`${who}: ${expired} of ${keys} entries have expired already and are not sent.`);
      // For what exists, `review` compares with what was written.
      if (isNew(args, olds)) ctx.say.info(line(who, compare(catalog, new Map())));
      return {
        computed: { keys, bytes, digest, ...(sha256 === undefined ? {} : { fileHash: fileHash(sha256) }) },
      };
    } catch (error) {
      if (error instanceof SourceError) return { failures: [{ property, reason: error.message }] };
      throw error;
    }
  },

  // What exists, a create asks here, and an update when it is reviewed: only there it is known what was written.
  async live({ ctx, args, olds }) {
    if (!isNew(args, olds)) return {};
    const catalog = await known(ctx, args);
    return reviewed(await existingFor(ctx, management(args), catalog, new Map(), { isPreview: true }));
  },

  async review({ ctx, state, args, inputs, change }) {
    // Nothing of what an unchanged resource owns may be deleted by another.
    if (change === "none") heldKeys(ctx, state).addRecorded(state.manifest);
    if (args === undefined || change === "replacement") return [];
    const isWritten = isContentWritten(state, inputs);
    if (isWritten && args.prune === undefined && change === "none") return [];
    const managed = management(args);
    const manifest = await decodeManifest(state.manifest);
    const catalog = isWritten ? undefined : await known(ctx, args);
    if (catalog !== undefined && catalog.digest !== inputs["digest"])
      throw new Error(
        `${subjectOf(ctx, args.namespaceId)}: an earlier update left entries unwritten, and their source has changed since, which ignoreChanges ignores. Restore the source, or remove ignoreChanges for one update.`,
      );
    // What others write under the prefix can be seen only by looking, also where nothing was changed here.
    const strangers = async (): Promise<Review> => {
      const own = { rows: catalog?.rows ?? manifest, manifest, writtenAt: state.writtenAt };
      return reviewed(await strangersOf(ctx, managed, own));
    };
    const pruned = args.prune === undefined ? [] : [strangers];
    if (change === "none") return pruned;

    const plan = catalog === undefined ? NOTHING : compare(catalog, manifest);
    ctx.say.info(line(subjectOf(ctx, args.namespaceId), plan));
    refuseOwnDeletes(ctx, args, plan, manifest);
    const newKeys = async (): Promise<Review> => {
      if (catalog !== undefined) await adoptExisting(ctx, managed, catalog, manifest, { isPreview: true });
      return {};
    };
    return [newKeys, ...pruned];
  },

  async create({ ctx, args, inputs }) {
    return await withDeclared(ctx, args, inputs["digest"], async (declared) => {
      const { catalog } = declared;
      const manifest: Manifest = new Map();
      const managed = management(args);
      heldKeys(ctx, managed).add(manifest, catalog.rows);
      const strangers = await existingFor(ctx, managed, catalog, manifest);
      strangers.refuseTooMany();
      const id = `${args.namespaceId}/${randomUUID()}`;
      const work = { ...managed, id, manifest, writtenAt: 0, strangers: strangers.keys };
      return { id, computed: await converge(ctx, declared, work) };
    });
  },

  async update({ ctx, id, state, args, inputs }) {
    const manifest = await decodeManifest(state.manifest);
    const managed = management(args);
    const bring = async (declared?: Declared): Promise<Written> => {
      const rows = declared?.catalog.rows ?? manifest;
      heldKeys(ctx, managed).add(manifest, rows);
      const strangers = await strangersOf(ctx, managed, { rows, manifest, writtenAt: state.writtenAt });
      strangers.refuseTooMany();
      if (declared !== undefined) await adoptExisting(ctx, managed, declared.catalog, manifest);
      const work = { ...managed, id, manifest, writtenAt: state.writtenAt, strangers: strangers.keys };
      return await converge(ctx, declared, work);
    };
    if (isContentWritten(state, inputs)) return await bring();
    return await withDeclared(ctx, args, inputs["digest"], async (declared) => {
      refuseOwnDeletes(ctx, args, compare(declared.catalog, manifest), manifest);
      return await bring(declared);
    });
  },

  async read({ ctx, state }) {
    if (state.verify === "none") return state;
    const manifest = await decodeManifest(state.manifest);
    try {
      const drift = await driftOf(ctx, state, manifest);
      if (drift === undefined) return state;
      return { ...state, manifest: await encodeManifest(manifest), drift };
    } catch (error) {
      if (isNamespaceGone(error)) return undefined;
      throw error;
    }
  },

  async delete({ ctx, state }) {
    const { accountId, namespaceId } = state;
    const manifest = await decodeManifest(state.manifest);
    const isHeld = await heldKeys(ctx, state).byOthers();
    const own = [...manifest.keys()].filter((key) => !isHeld(key));
    if (own.length < manifest.size) {
      ctx.say.info(
        `${subjectOf(ctx, namespaceId)}: ${manifest.size - own.length} of ${manifest.size} keys are kept: another resource of this operation has them.`,
      );
    }
    const deleted = deletedKeys(ctx, namespaceId);
    const onDone = (keys: readonly string[]): void => keys.forEach((key) => deleted.add(key));
    const outcome = await remove({ ctx, accountId, namespaceId, keys: own, onDone });
    if (outcome.error !== undefined) throw outcome.error;
    const [first] = outcome.failed;
    if (first !== undefined)
      throw new Error(
        `${outcome.failed.length} keys could not be deleted: ${JSON.stringify(first.key)}: ${first.reason}. Run the command again.`,
      );
  },
});

export interface KvEntryArgs {
  /** Text, or base64 text where `base64` is true. At most 25 MiB after decoding. */
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
   * Keys: 1 to 512 bytes, printable, without white space, not `.` or `..`. A key with invisible characters warns. Set
   * exactly one of `entries`, `file` and `directory`. Updates in place: only what differs is written.
   */
  readonly entries?: pulumi.Input<Record<string, pulumi.Input<string | KvEntryArgs>>>;
  /**
   * A JSON file as `wrangler kv bulk put` takes it: an array of `{ key, value, base64, metadata, expiration,
   * expiration_ttl }`. The path is relative to the program's folder. The same content in another file changes nothing.
   * State never holds its values. Updates in place.
   *
   * With `ignoreChanges: ["file"]`, neither another path nor other content changes anything, and drift is not repaired:
   * the file is read once, when the entries are created. In a transform, write `["file", "digest"]`.
   */
  readonly file?: pulumi.Input<string>;
  /**
   * A directory whose files are the values, binary or text. Each file's key is its relative path after `prefix`. `ignore`
   * holds patterns as in .gitignore. State never holds its values. Updates in place. `ignoreChanges: ["directory"]` works
   * as for `file`.
   */
  readonly directory?: pulumi.Input<
    | string
    | {
        path: pulumi.Input<string>;
        prefix?: pulumi.Input<string>;
        ignore?: pulumi.Input<readonly pulumi.Input<string>[]>;
      }
  >;
  /** Metadata and lifetime of entries that have none of their own. In place. */
  readonly defaults?: pulumi.Input<{
    metadata?: pulumi.Input<Record<string, unknown>>;
    expirationTtl?: pulumi.Input<number>;
  }>;
  /**
   * What to do with a declared key that exists already and was not written by this resource, in a create and in an update.
   * `"ifEqual"`: adopt it if it is equal, else refuse. `"never"`: refuse. `"takeOver"`: overwrite it. Default `"ifEqual"`.
   * Updates in place, without a write.
   */
  readonly adopt?: pulumi.Input<LiteralUnion<Adopt>>;
  /**
   * Delete keys of others that begin with `prefix`: this resource then is the prefix's sole owner. `""` means every key of
   * the namespace. An `up` refuses to delete more than `maxDeletes`, 100 by default. Unset: keys of others are left alone.
   * A program in which another KvEntries declares keys under the prefix is refused.
   */
  readonly prune?: pulumi.Input<{ prefix: pulumi.Input<string>; maxDeletes?: pulumi.Input<number> }>;
  /**
   * How many of its own keys, which it has written and which are no longer declared, an update may delete: with more, the
   * preview fails, and so does the update. A destroy and a replacement are not limited. No default. Updates in place,
   * without a write.
   *
   * @example maxOwnDeletes: 100 // an export that comes up short does not empty the namespace
   */
  readonly maxOwnDeletes?: pulumi.Input<number>;
  /**
   * What a refresh compares: `"keys"` presence, expiry and metadata by listing the namespace; `"values"` the values too,
   * a request for every 100 keys; `"none"` nothing. Default `"keys"`. In place, without a write.
   */
  readonly verify?: pulumi.Input<LiteralUnion<"keys" | "values" | "none">>;
}

/**
 * Entries of one namespace as desired state: what differs is written in bulk, what is no longer declared is deleted, what
 * others wrote is left alone. The state holds digests, not values, but for inline `entries`, which are secret.
 *
 * Token permissions: Workers KV Storage Read to preview and refresh; Workers KV Storage Write to update and destroy.
 *
 * @throws in the preview for every entry that breaks a limit, by name and place; in an up when keys may not be adopted,
 * the source changed since the preview, or entries are left that could not be written (what was written is recorded).
 */
export class KvEntries extends edgeResource<KvEntriesArgs>()(kvEntries) {
  /** How many entries are declared. */
  declare readonly keys: pulumi.Output<number>;
  /** Bytes of all values together, as stored. */
  declare readonly bytes: pulumi.Output<number>;
  /** Digest of the declared content, whatever its source. A secret: a short value can be guessed from it. */
  declare readonly digest: pulumi.Output<string>;
  /** SHA-256 of the file as it is, which tells a preview that nothing changed in it. A secret. Unset for other sources. */
  declare readonly fileHash: pulumi.Output<string | undefined>;

  constructor(name: string, args: KvEntriesArgs, opts?: pulumi.CustomResourceOptions) {
    const { entries, ...rest } = args;
    refuseLost(`KvEntries "${name}"`, entries); // A secret is without the member already.
    const secret = entries === undefined ? {} : { entries: pulumi.secret(entries) };
    super(name, { ...rest, ...secret, namespaceId: soleOwner(name, args) }, ignoringContent(opts));
  }
}

/** A source whose changes are ignored takes its content along: that is compared by its digest. */
function ignoringContent(
  opts: pulumi.CustomResourceOptions | undefined,
): pulumi.CustomResourceOptions | undefined {
  const ignored = opts?.ignoreChanges ?? [];
  return ["file", "directory"].some((source) => ignored.includes(source))
    ? { ...opts, ignoreChanges: [...ignored, "digest"] }
    : opts;
}

/** Whether the entries are created: for the first time, or by a replacement in another namespace. */
function isNew(args: NamespaceAddress, olds: JsonObject): boolean {
  if (olds["digest"] === undefined) return true;
  return (["accountId", "namespaceId"] as const).some(
    (key) => !hasUnknown(args[key]) && args[key] !== olds[key],
  );
}

/** What is recorded, where the engine was told to ignore changes of the source: it is not read. */
function ignoredContent(args: NamespaceAddress, olds: JsonObject, hints: JsonObject): JsonObject | undefined {
  const isIgnored = hints["digest"] !== undefined && hints["digest"] === olds["digest"] && !isNew(args, olds);
  // Drift stays, as no update may read the source to mend it.
  return isIgnored ? pick(olds, ["keys", "bytes", "digest", "fileHash", "drift"]) : undefined;
}

/** Whether every declared entry is written, so that an update need not read them. */
function isContentWritten(state: z.infer<typeof computed>, inputs: JsonObject): boolean {
  return state.digest === inputs["digest"] && state.drift === inputs["drift"];
}

/** @throws where an update deletes more of the resource's own keys than it may. */
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
    `${subjectOf(ctx, namespaceId)}: this update deletes ${count(removed.length)} of its ${count(size)} keys (${shown(removed)}); maxOwnDeletes allows ${count(maxOwnDeletes)}. ` +
      "Nothing was written. Check the source of the entries, or raise maxOwnDeletes.",
  );
}

/** Where and how the keys are managed: what is declared beside the entries. */
function management({ accountId, namespaceId, adopt, prune }: Adoption & Pruning): Adoption & Pruning {
  return { accountId, namespaceId, adopt, prune };
}

/** What a create finds. Where it prunes, one listing tells both what exists of its keys and which are strange. */
async function existingFor(
  ctx: Context,
  args: Adoption & Pruning,
  catalog: Catalog,
  manifest: Manifest,
  manner: { readonly isPreview?: boolean } = {},
): Promise<Strangers> {
  const strangers = await Strangers.of(ctx, args, isAmong(ctx, catalog.rows));
  const listing = args.prune === undefined ? undefined : strangers.among(listKeys(ctx.api, args));
  await adoptExisting(ctx, args, catalog, manifest, { ...manner, listing });
  return strangers;
}

/** What a preview says of the keys that are pruned. */
function reviewed({ sentence, tooMany }: Strangers): Review {
  if (tooMany !== undefined) return { failures: [{ property: "prune.maxDeletes", reason: tooMany }] };
  return sentence === undefined ? {} : { pendingWork: sentence };
}

/** Keys under the pruned prefix that are neither declared nor written by the resource before. */
async function strangersOf(
  ctx: Context,
  pruning: Pruning,
  own: {
    readonly rows: Timed;
    readonly manifest: Manifest;
    readonly writtenAt: number;
  },
): Promise<Strangers> {
  const isDeclared = isAmong(ctx, own.rows);
  const strangers = await Strangers.of(ctx, pruning, (key) => isDeclared(key) || own.manifest.has(key));
  return await strangers.list(ctx, own.writtenAt);
}

type Timed = ReadonlyMap<string, Pick<Recorded, "expiration">>;

/** Whether a key is declared and still to be there: what has expired is never written, so it is not ours. */
function isAmong(ctx: Context, rows: Timed): (key: string) => boolean {
  const now = ctx.api.now() / 1000;
  return (key) => {
    const row = rows.get(key);
    return row !== undefined && !isPast(row, now);
  };
}
