import { z } from "zod";
import { parseJson } from "../basics/json";
import type { Context } from "../runtime/lifecycle";
import { needsProof, shownDestination } from "./destination-text";
import { requestChallenge } from "./job-api";
import { scopeOf } from "../runtime/composite-id";
import { jobLabel, type JobArgs } from "./job-args";

/**
 * The ownership token: a JSON web token that Cloudflare writes to a file at the destination. It is bound to the zone or
 * account and to the destination, and valid for seven days. Only its expiry is a claim with a documented name.
 */

const payload = z.object({ exp: z.unknown() });

/** Returns the token's claims. Undefined if it can't be read. */
function readPayload(token: string): z.infer<typeof payload> | undefined {
  const [, middle, , ...more] = token.trim().split(".");
  if (middle === undefined || more.length > 0) return undefined;
  return payload.safeParse(parseJson(Buffer.from(middle, "base64url").toString("utf8"))).data;
}

type TokenFinding = { readonly reason: string } | { readonly warning: string } | undefined;

/** Returns what's wrong with the token, without quoting any of it. The text follows the argument's name. */
export function tokenFinding({ ownershipChallenge }: JobArgs): TokenFinding {
  if (ownershipChallenge === undefined) return undefined;
  const token = readPayload(ownershipChallenge);
  if (token === undefined) {
    return { warning: "is not a JSON Web Token, so only Cloudflare will check it" };
  }
  const expiresAt = typeof token.exp === "number" ? new Date(token.exp * 1000) : undefined;
  if (expiresAt === undefined || expiresAt > new Date()) return undefined;
  const expired = `expired on ${day(expiresAt)}; a token is valid for 7 days`;
  return { reason: `${expired}. Remove it and run \`pulumi up\` to get a new one` };
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
