import { z } from "zod";
import type { Context } from "../runtime/lifecycle";
import { parseDestination } from "./destination-schemes";
import { needsProof, sameDestination, shownDestination } from "./destination-text";
import { requestChallenge, scopeOf } from "./job-api";
import { jobLabel, type JobArgs } from "./job-args";

/**
 * The ownership token: a JSON web token that Cloudflare writes to a file at the destination. It is bound to the zone or
 * account and to the destination, and valid for seven days.
 */

/** Cloudflare documents the token's claims but not their names, so several names are tried for each. */
const CLAIM_NAMES = {
  objectType: ["objecttype", "type", "scope"],
  objectId: ["objectid", "object", "oid", "zoneid", "accountid", "sub"],
  destination: ["destinationconf", "destconf", "destination", "dest"],
} as const;

const payload = z.record(z.string(), z.unknown());

/** Returns the token's claims by lowercase name. Undefined if the token can't be read. */
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

const GET_NEW_TOKEN = "Remove it and run `pulumi up` to get a new one";

/** Returns what's wrong with the token, without quoting any of it. The text follows the argument's name. */
export function tokenFinding(args: JobArgs): TokenFinding {
  const { ownershipChallenge: token, destinationConf: destination } = args;
  if (token === undefined) return undefined;
  const scope = scopeOf(args);
  const claims = readClaims(token);
  if (claims === undefined) {
    return { warning: "is not a JSON Web Token, so only Cloudflare will check it" };
  }
  const claim = (of: keyof typeof CLAIM_NAMES): string | undefined =>
    CLAIM_NAMES[of].map((name) => claims.get(name)).find((value) => typeof value === "string");
  const expiry = claims.get("exp");
  const expiresAt = typeof expiry === "number" ? new Date(expiry * 1000) : undefined;
  if (expiresAt !== undefined && expiresAt <= new Date())
    return { reason: `expired on ${day(expiresAt)}; a token is valid for 7 days. ${GET_NEW_TOKEN}` };
  const objectType = claim("objectType")?.toLowerCase();
  const otherKind = ["zone", "account"].find((kind) => objectType?.includes(kind) === true);
  if (otherKind !== undefined && otherKind !== scope.kind) {
    return {
      reason: `was issued for ${otherKind === "zone" ? "a zone" : "an account"}, but this job belongs to ${scope.kind} ${scope.id}. ${GET_NEW_TOKEN}`,
    };
  }
  const objectId = claim("objectId")?.toLowerCase();
  if (objectId !== undefined && /^[0-9a-f]{32}$/.test(objectId) && objectId !== scope.id) {
    return {
      reason: `was issued for ${scope.kind} ${objectId}, but this job belongs to ${scope.kind} ${scope.id}. ${GET_NEW_TOKEN}`,
    };
  }
  const claimed = claim("destination");
  if (claimed !== undefined && !sameDestination(claimed, destination)) {
    const other = shownDestination(claimed);
    const own = shownDestination(destination);
    const reason =
      parseDestination(claimed) === undefined || other === own
        ? "was issued for a different destination"
        : `was issued for ${other}, but this job pushes to ${own}`;
    return { reason: `${reason}. ${GET_NEW_TOKEN}` };
  }
  return undefined;
}

/** Formats a date like 2025-01-31, in UTC. */
function day(date: Date): string {
  return Number.isNaN(date.getTime()) ? "an unreadable date" : date.toISOString().slice(0, 10);
}

/** Whether Cloudflare always requires a token for this destination, and none is set. */
export function lacksProof({ ownershipChallenge, destinationConf }: JobArgs): boolean {
  return ownershipChallenge === undefined && needsProof(destinationConf);
}

/** Warns in a preview about what the update will do without an ownership token. */
export function warnOfMissingProof(ctx: Context, args: JobArgs): void {
  if (!lacksProof(args)) return;
  ctx.say.warn(
    `${jobLabel(args.name)}: ${shownDestination(args.destinationConf)} needs an ownership challenge, and ownershipChallenge is not set. The update will ask Cloudflare to write a token to the destination, then stop and print the token's file name. It won't create or change the job.`,
  );
}

/** @throws if Cloudflare would reject the token. */
export function assertTokenUsable(args: JobArgs): void {
  const finding = tokenFinding(args);
  if (finding !== undefined && "reason" in finding) {
    throw new Error(`${jobLabel(args.name)}: ownershipChallenge ${finding.reason}. Nothing was sent.`);
  }
}

/** Asks Cloudflare to write a token, and returns an error that says where the token is. Doesn't change the job. */
export async function proofError(ctx: Context, args: JobArgs, what: "created" | "changed"): Promise<Error> {
  const { filename, note } = await requestChallenge(ctx.api, scopeOf(args), args.destinationConf);
  return new Error(
    `${jobLabel(args.name)} was not ${what}: prove that you own ${shownDestination(args.destinationConf)}. ` +
      `Cloudflare wrote a token to the file ${JSON.stringify(filename)} there${note === "" ? "" : ` (${note})`}. ` +
      "Set ownershipChallenge to the file's content, as a secret, and run `pulumi up` within 7 days.",
  );
}
