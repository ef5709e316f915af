import { z } from "zod";
import type { Context } from "../runtime/lifecycle";
import { parseDestination } from "./destination-schemes";
import { needsProof, sameDestination, shownDestination } from "./destination-text";
import { requestChallenge, scopeOf } from "./job-api";
import { jobLabel, type JobArgs } from "./job-args";

/**
 * The token that proves a destination to be one's own: a JSON web token that Cloudflare writes to a file there, bound
 * to a zone or account and to the destination, good for seven days.
 */

/** What a token claims. Cloudflare documents the claims in words, not by name: each is looked for under several. */
const CLAIM_NAMES = {
  objectType: ["objecttype", "type", "scope"],
  objectId: ["objectid", "object", "oid", "zoneid", "accountid", "sub"],
  destination: ["destinationconf", "destconf", "destination", "dest"],
} as const;

const payload = z.record(z.string(), z.unknown());

/** What the token claims, by names in small letters; undefined where it is none that can be read. */
function readClaims(token: string): ReadonlyMap<string, unknown> | undefined {
  const [, middle, , ...more] = token.trim().split(".");
  if (middle === undefined || more.length > 0) return undefined;
  try {
    const said = payload.parse(JSON.parse(Buffer.from(middle, "base64url").toString("utf8")));
    return new Map(
      Object.entries(said).map(([name, value]) => [name.toLowerCase().replace(/[^a-z]/g, ""), value]),
    );
  } catch {
    return undefined;
  }
}

type TokenFinding = { readonly reason: string } | { readonly warning: string } | undefined;

const GET_NEW_TOKEN = "Remove it and run `pulumi up` for a new one";

/** What is to be said of the token, if one is given: goes on from the argument's name and holds nothing of the token. */
export function tokenFinding(args: JobArgs): TokenFinding {
  const { ownershipChallenge: token, destinationConf: destination } = args;
  if (token === undefined) return undefined;
  const scope = scopeOf(args);
  const claims = readClaims(token);
  if (claims === undefined) {
    return { warning: "is no JSON web token, so nothing of it could be checked; the service will" };
  }
  const claim = (of: keyof typeof CLAIM_NAMES): string | undefined =>
    CLAIM_NAMES[of].map((name) => claims.get(name)).find((value) => typeof value === "string");
  const expiry = claims.get("exp");
  const expiresAt = typeof expiry === "number" ? new Date(expiry * 1000) : undefined;
  if (expiresAt !== undefined && expiresAt <= new Date())
    return { reason: `expired on ${day(expiresAt)}; a token lasts 7 days. ${GET_NEW_TOKEN}` };
  const objectType = claim("objectType")?.toLowerCase();
  const otherKind = ["zone", "account"].find((kind) => objectType?.includes(kind) === true);
  if (otherKind !== undefined && otherKind !== scope.kind) {
    return {
      reason: `was issued for ${otherKind === "zone" ? "a zone" : "an account"}; this job is of ${scope.kind} ${scope.id}. ${GET_NEW_TOKEN}`,
    };
  }
  const objectId = claim("objectId")?.toLowerCase();
  if (objectId !== undefined && /^[0-9a-f]{32}$/.test(objectId) && objectId !== scope.id) {
    return {
      reason: `was issued for ${scope.kind} ${objectId}; this job is of ${scope.id}. ${GET_NEW_TOKEN}`,
    };
  }
  const claimed = claim("destination");
  if (claimed !== undefined && !sameDestination(claimed, destination)) {
    const other = shownDestination(claimed);
    const own = shownDestination(destination);
    const which =
      parseDestination(claimed) === undefined || other === own
        ? "for another destination than the declared one"
        : `for ${other}; this job pushes to ${own}`;
    return { reason: `was issued ${which}. ${GET_NEW_TOKEN}` };
  }
  return undefined;
}

/** 2025-01-31, in universal time. */
function day(date: Date): string {
  return Number.isNaN(date.getTime()) ? "a day that cannot be read" : date.toISOString().slice(0, 10);
}

/** Whether Cloudflare is known to want a token, and none is given. */
export function lacksProof({ ownershipChallenge, destinationConf }: JobArgs): boolean {
  return ownershipChallenge === undefined && needsProof(destinationConf);
}

/** Says in a preview what the up will do about a proof of ownership that is not given. */
export function warnOfMissingProof(ctx: Context, args: JobArgs): void {
  if (!lacksProof(args)) return;
  ctx.say.warn(
    `${jobLabel(args.name)}: ${shownDestination(args.destinationConf)} needs a proof of ownership, and ownershipChallenge is not set. The update will have Cloudflare write a token to the destination, create no job, and name the token's file.`,
  );
}

/** @throws when the token would be refused. */
export function assertTokenUsable(args: JobArgs): void {
  const finding = tokenFinding(args);
  if (finding !== undefined && "reason" in finding) {
    throw new Error(`${jobLabel(args.name)}: ownershipChallenge ${finding.reason}. Nothing was sent.`);
  }
}

/** Has Cloudflare write a token, and says where it is: the job itself is left alone. */
export async function proofError(ctx: Context, args: JobArgs, what: "created" | "changed"): Promise<Error> {
  const { filename, note } = await requestChallenge(ctx.api, scopeOf(args), args.destinationConf);
  return new Error(
    `${jobLabel(args.name)} was not ${what}: prove that you own ${shownDestination(args.destinationConf)}. ` +
      `Cloudflare wrote a token to the file ${JSON.stringify(filename)} there${note === "" ? "" : ` (${note})`}. ` +
      "Set its content as ownershipChallenge, a secret, and run `pulumi up` within 7 days.",
  );
}
