import { KV } from "../limits";
import { canonicalJson } from "../runtime/values";
import { digest, type Recorded } from "./entry";
import type { ListedKey } from "./listing";

/** A listed expiry this close to the recorded one is the same: the service counts a lifetime from its own clock. */
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

/** Whether an entry that is not there any more has expired as it was to, by the clock of the service. */
export function hasExpired(recorded: Recorded, nowSeconds: number): boolean {
  const ahead = Math.max(KV.MIN_TTL_SECONDS, tolerance(recorded)); // As `isPast` has it: the last minute counts as past.
  return recorded.expiration !== undefined && recorded.expiration <= nowSeconds + ahead;
}

function tolerance({ ttl }: Recorded): number {
  return ttl === undefined ? 0 : SAME_EXPIRY_SECONDS;
}
