import { createHash, createHmac } from "node:crypto";
import { z } from "zod";
import { members } from "../basics/published";
import { canonicalJson, isJsonObject, omit, type JsonObject } from "../basics/json";
import { compareText, truncate } from "../basics/words";
import type { Changes } from "./changes";
import type { Unmanaged } from "./unmanaged";

/**
 * What an operation finds out about a resource, as data. It travels as the input `impact`, which `check` adds to a new
 * or changed resource. The report, the gate, policies and the plugin read nothing else, and messages are made from it.
 */

/** The name of the input and of the output that keep the record of the last update. */
export const IMPACT = "impact";

/** At most this many names are listed, each shortened. The count and the digest cover all of them. */
const MOST_NAMES = 20;
const MOST_CHARACTERS = 100;

/** A list of any length, in a few hundred bytes. */
export interface Listed {
  /** How many names the list has. */
  readonly count: number;
  /** The first 20, each of at most 100 characters. Empty if they come from a secret argument. */
  readonly names: readonly string[];
  /** A digest of all names. Keyed by the credential if an argument is secret. */
  readonly digest: string;
}

/** What every type's record has. */
export interface ImpactRecord {
  /** What made the record: the check of a preview or an update, or a refresh. */
  readonly operation: "check" | "refresh";
  /** One more than in the resource's previous record, so that an earlier operation's record is recognized. */
  readonly revision: number;
  /**
   * What the operation looked at: objects to adopt (`existingPolicy`, `existingRule`, `existingJob`,
   * `existingTransformer`, `existingNamespace`), a zone's `settings` before the change, what a policy `wouldBlock`, the keys that a `KvEntries`
   * deletes (`ownKeys`), overwrites (`existingKeys`) or prunes (`prunedKeys`). Anything else counts as not seen.
   */
  readonly seen: readonly string[];
  /** Why it didn't look at the rest. */
  readonly skipped?: readonly string[];
  /** The arguments that aren't known yet, at least in part. */
  readonly unknown?: readonly string[];
  /**
   * If there are some, an argument is secret or it didn't look everywhere: a digest of what is known, keyed by the
   * credential.
   */
  readonly known?: string;
  /** The ID of the object that was compared with what's recorded: an update writes it, if it's the resource's own. */
  readonly own?: string;
  /** What someone changed in that object since it was recorded, by argument: `before` is what exists, `after` what's recorded. */
  readonly changes?: Changes;
  /** What a refresh found changed and a plan may hide: arguments that the program made secret, and outputs that show these. */
  readonly drifted?: readonly string[];
  /** Members of the existing object that no argument sets. */
  readonly unmanaged?: Unmanaged;
}

/**
 * The schemas of the members that a resource type adds to the record. The types in the published declarations are
 * written out, because those can't import zod.
 */
export type RecordShape<Impact = Readonly<Record<string, unknown>>> = {
  readonly [Name in Exclude<keyof Impact, keyof ImpactRecord>]-?: z.ZodType<Impact[Name]>;
};

const base = z.object({
  operation: z.enum(["check", "refresh"]),
  revision: z.int().min(1),
  seen: z.array(z.string()).readonly(),
  skipped: z.array(z.string()).readonly().exactOptional(),
  unknown: z.array(z.string()).readonly().exactOptional(),
  known: z.string().exactOptional(),
  own: z.string().exactOptional(),
  changes: z
    .record(z.string(), members({ before: z.unknown().optional(), after: z.unknown().optional() }))
    .exactOptional(),
  drifted: z.array(z.string()).readonly().exactOptional(),
  unmanaged: z.record(z.string(), z.union([z.boolean(), z.number(), z.string()])).exactOptional(),
}) satisfies z.ZodType<ImpactRecord>;

/** A record, with the members of the resource's type. */
export type RecordRead = ImpactRecord & { readonly members: JsonObject };

/** Reads the record in a resource's inputs or outputs. Undefined if there's none that this version can read. */
export function readRecord(bag: JsonObject | undefined, shape: RecordShape = {}): RecordRead | undefined {
  const given = bag?.[IMPACT];
  if (!isJsonObject(given)) return undefined;
  const common = base.safeParse(given);
  const members = z.object(shape).safeParse(given);
  return common.success && members.success ? { ...common.data, members: members.data } : undefined;
}

/** Leaves out of a bag's record what only programs read. */
export function withoutBookkeeping(bag: JsonObject): JsonObject {
  const { [IMPACT]: record, ...others } = bag;
  if (!isJsonObject(record)) return bag;
  const shown = omit(record, ["operation", "revision", "seen", "known", "own"]);
  return Object.keys(shown).length === 0 ? others : { ...others, [IMPACT]: shown };
}

export const LISTED = {
  schema: members({
    count: z.int().min(0),
    names: z.array(z.string()).readonly(),
    digest: z.string(),
  }) satisfies z.ZodType<Listed>,

  /**
   * Returns a list's first names, count and digest.
   *
   * @param hide returns the keyed digest of names that come from a secret argument.
   */
  of(all: Iterable<string>, hide?: (value: unknown) => string): Listed {
    const names = [...all];
    const count = names.length;
    const sorted = [...names].sort(compareText);
    if (hide !== undefined) return { count, names: [], digest: hide(sorted) };
    const shown = names.slice(0, MOST_NAMES).map((name) => truncate(name, MOST_CHARACTERS));
    return { count, names: shown, digest: hexDigest(createHash("sha256"), sorted) };
  },
};

/** Returns a digest that nobody can compute from a guessed value without the key. */
export function keyedDigest(key: string, value: unknown): string {
  return hexDigest(createHmac("sha256", `impact ${key}`), value);
}

const DIGEST_DIGITS = 32;

const hexDigest = (hash: ReturnType<typeof createHash | typeof createHmac>, value: unknown): string =>
  hash.update(canonicalJson(value)).digest("hex").slice(0, DIGEST_DIGITS);

/** Returns the revision of the record in a resource's inputs or outputs. 0 if there's none. */
export function revisionOf(bag: JsonObject): number {
  const record = bag[IMPACT];
  const revision = isJsonObject(record) ? record["revision"] : undefined;
  return typeof revision === "number" ? revision : 0;
}
