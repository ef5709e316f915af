import { z } from "zod";
import type { EdgeApi } from "../api/client";
import { byCursor, byPage } from "../api/pages";
import { KV } from "../limits";
import { omitAbsent } from "../runtime/members";
import { canonicalJson, type Json } from "../runtime/values";
import { metadata, namespacePath, namespacesPath, type NamespaceAddress } from "./address";
import { digest, type Recorded } from "./entry";

/** A key as the listing shows it. */
export interface ListedKey {
  readonly name: string;
  /** When it expires, seconds since the epoch, however its lifetime was written. */
  readonly expiration?: number;
  readonly metadata?: Json;
}

/** The published API gives seconds, the seed's command line shows a time (D34). */
const seconds = z.union([
  z.number(),
  z
    .string()
    .transform((text) => Math.round(Date.parse(text) / 1000))
    .refine((time) => !Number.isNaN(time), "is neither seconds nor a time"),
]);

const wire = z
  .looseObject({ name: z.string(), expiration: seconds.nullish(), metadata })
  .transform(({ name, expiration, metadata }): ListedKey => omitAbsent({ name, expiration, metadata }));

/** The keys of a namespace, one page in memory at a time. The service shows a write with a delay of up to 90 s. */
export function listKeys(
  api: EdgeApi,
  request: NamespaceAddress & {
    readonly prefix?: string;
    /** Keys per request, 10 to 1,000. */
    readonly limit?: number;
    /** False where a key that cannot be read may be left out, with a warning. Default true: it may be somebody's. */
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

/** A listed expiry this close to the recorded one is the same: Cloudflare counts a lifetime from its own clock. */
const SAME_EXPIRY_SECONDS = 120;

/** Whether a listing shows what is recorded or declared: metadata, and the time of expiry. */
export function sameListed(wanted: Recorded, listed: ListedKey, nowSeconds: number): boolean {
  const metadata = listed.metadata === undefined ? undefined : digest(canonicalJson(listed.metadata));
  if (wanted.metadata !== metadata) return false;
  if (wanted.ttl !== undefined && wanted.expiration === undefined)
    return listed.expiration !== undefined && isWithin(listed.expiration - nowSeconds, wanted.ttl);
  if (wanted.expiration === undefined || listed.expiration === undefined)
    return wanted.expiration === listed.expiration;
  return Math.abs(wanted.expiration - listed.expiration) <= tolerance(wanted);
}

/**
 * Whether what is left can be of a lifetime that began not long ago: an entry of a run that was killed can. One that ends
 * much sooner would be gone before its time, and one that ends later was meant otherwise.
 */
function isWithin(left: number, ttl: number): boolean {
  return left <= ttl + SAME_EXPIRY_SECONDS && left >= ttl / 2 - SAME_EXPIRY_SECONDS;
}

/** Whether an entry that is not there any more has expired as it was to, by Cloudflare's clock. */
export function hasExpired(recorded: Recorded, nowSeconds: number): boolean {
  const ahead = Math.max(KV.MIN_TTL_SECONDS, tolerance(recorded)); // As `isPast` has it: the last minute counts as past.
  return recorded.expiration !== undefined && recorded.expiration <= nowSeconds + ahead;
}

function tolerance({ ttl }: Recorded): number {
  return ttl === undefined ? 0 : SAME_EXPIRY_SECONDS;
}

/** The namespaces of an account, in an order that a new title does not shift. */
export function listNamespacesOf<T extends { readonly id: string }>(
  api: EdgeApi,
  accountId: string,
  record: z.ZodType<T>,
): AsyncGenerator<T, void, undefined> {
  return byPage(api, namespacesPath(accountId), {
    what: `Listing the namespaces of account ${accountId}`,
    record,
    query: { order: "id", direction: "asc" },
    perPage: KV.MAX_NAMESPACES_PER_PAGE,
    key: ({ id }) => id,
  });
}

/** Namespaces for people. */
export async function namespacesByTitle<T extends { readonly id: string; readonly title: string }>(
  all: AsyncGenerator<T, void, undefined>,
): Promise<T[]> {
  const found: T[] = [];
  for await (const one of all) found.push(one);
  return found.sort((a, b) => (a.title < b.title ? -1 : 1));
}
