import { z } from "zod";
import type { EdgeApi } from "../api/client";
import { byCursor, byPage } from "../api/pages";
import { KV } from "../limits/index";
import { omitAbsent, canonicalJson, type Json } from "../basics/json";
import { nearest } from "../basics/nearest";
import { camelRecord, optional } from "../basics/schemas";
import type { ListedObject } from "../runtime/lifecycle";
import { metadata, namespacePath, namespacesPath, type NamespaceAddress } from "./address";
import { digest, type RecordedEntry } from "./entry";

export interface ListedKey {
  readonly name: string;
  /** The expiration in Unix seconds, even if the entry was written with a TTL. */
  readonly expiration?: number;
  readonly metadata?: Json;
}

/** A time in Unix seconds, as the API documents. A date is accepted as well. */
const seconds = z.union([
  z.number(),
  z
    .string()
    .transform((text) => Math.round(Date.parse(text) / 1000))
    .refine((time) => !Number.isNaN(time), "is neither a number of seconds nor a date"),
]);

const wire = z
  .looseObject({ name: z.string(), expiration: seconds.nullish(), metadata })
  .transform(({ name, expiration, metadata }): ListedKey => omitAbsent({ name, expiration, metadata }));

/** Lists the keys of a namespace, with one page in memory at a time. A write may take up to 90 seconds to be listed. */
export function listKeys(
  api: EdgeApi,
  request: NamespaceAddress & {
    readonly prefix?: string;
    /** Keys per request, 10 to 1,000. */
    readonly limit?: number;
    /**
     * Whether an unreadable key in a response is an error. If false, the key is skipped with a warning. Defaults to
     * true.
     */
    readonly complete?: boolean;
  },
): AsyncGenerator<ListedKey, void, undefined> {
  const { namespaceId, prefix, limit = KV.MAX_KEYS_PER_PAGE, complete = true } = request;
  return byCursor(api, `${namespacePath(request)}/keys`, {
    what: `Listing the keys of namespace ${namespaceId}`,
    record: wire,
    query: { prefix: prefix === "" ? undefined : prefix },
    perPage: limit,
    sizeParameter: "limit",
    complete,
    key: ({ name }) => name,
  });
}

/**
 * A listed expiration this close to the recorded one counts as equal, because Cloudflare computes it by its own clock.
 */
const SAME_EXPIRY_SECONDS = 120;

/** Whether a listed key has the recorded or declared metadata and expiration. */
export function sameListed(wanted: RecordedEntry, listed: ListedKey, nowSeconds: number): boolean {
  const metadata = listed.metadata === undefined ? undefined : digest(canonicalJson(listed.metadata));
  if (wanted.metadata !== metadata) return false;
  if (wanted.ttl !== undefined && wanted.expiration === undefined)
    return listed.expiration !== undefined && isWithin(listed.expiration - nowSeconds, wanted.ttl);
  if (wanted.expiration === undefined || listed.expiration === undefined)
    return wanted.expiration === listed.expiration;
  return Math.abs(wanted.expiration - listed.expiration) <= tolerance(wanted);
}

/**
 * Whether the remaining time fits a TTL that started recently, such as in a run that was killed. Much less time means
 * that the entry would expire early. More time means that it was written with another TTL.
 */
function isWithin(left: number, ttl: number): boolean {
  return left <= ttl + SAME_EXPIRY_SECONDS && left >= ttl / 2 - SAME_EXPIRY_SECONDS;
}

/** Whether an entry that no longer exists may have expired on time, by Cloudflare's clock. */
export function mayHaveExpired(recorded: RecordedEntry, nowSeconds: number): boolean {
  const ahead = Math.max(KV.MIN_TTL_SECONDS, tolerance(recorded)); // Like `isExpired`: the last minute counts as expired.
  return recorded.expiration !== undefined && recorded.expiration <= nowSeconds + ahead;
}

function tolerance({ ttl }: RecordedEntry): number {
  return ttl === undefined ? 0 : SAME_EXPIRY_SECONDS;
}

/** A namespace, as the API returns it. */
export const namespaceRecord = camelRecord({
  id: z.string(),
  title: z.string(),
  supports_url_encoding: optional(z.boolean()),
  jurisdiction: optional(z.string()),
});
export type Namespace = z.infer<typeof namespaceRecord>;

/** Lists the namespaces of an account, ordered by ID so that a rename doesn't shift the pages. */
export function listNamespacesOf(
  api: EdgeApi,
  accountId: string,
  { complete = false }: { readonly complete?: boolean } = {},
): AsyncGenerator<Namespace, void, undefined> {
  return byPage(api, namespacesPath(accountId), {
    what: `Listing the namespaces of account ${accountId}`,
    record: namespaceRecord,
    query: { order: "id", direction: "asc" },
    perPage: KV.MAX_NAMESPACES_PER_PAGE,
    complete,
    key: ({ id }) => id,
  });
}

/** Finds a namespace by its whole title. Returns a sentence if there's none. */
export async function namespaceNamed(
  api: EdgeApi,
  accountId: string,
  title: string,
): Promise<Namespace | string> {
  const titles: string[] = [];
  for await (const one of listNamespacesOf(api, accountId)) {
    if (one.title === title) return one;
    titles.push(one.title);
  }
  const near = nearest(title, titles);
  const hint =
    near === undefined
      ? "List the account's namespaces with `edgeguard kv namespace list`."
      : `Did you mean ${JSON.stringify(near)}?`;
  return `account ${accountId} has no namespace ${JSON.stringify(title)}. ${hint}`;
}

/** Returns namespaces sorted by title. */
export async function namespacesByTitle(
  ...account: Parameters<typeof listNamespacesOf>
): Promise<Namespace[]> {
  const found: Namespace[] = [];
  for await (const one of listNamespacesOf(...account)) found.push(one);
  return found.sort((a, b) => (a.title < b.title ? -1 : 1));
}

/** Lists namespaces for the plugin. */
export async function listedNamespaces(api: EdgeApi, accountId: string): Promise<readonly ListedObject[]> {
  return (await namespacesByTitle(api, accountId)).map(({ id, title: name }) => ({ id, name }));
}
