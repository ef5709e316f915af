import { createHmac } from "node:crypto";
import { z } from "zod";
import { type Destination, fingerprint } from "./destination";
import { logpushFailures } from "./failures";
import type { Scope } from "./entities";

/**
 * The key that signs tokens, so that changed tokens are detected. It may be public, because the tokens protect nothing.
 */
const SIGNING_KEY = "edgeguard-local ownership challenge";

const LIFETIME_SECONDS = 7 * 24 * 60 * 60;

/** The token's claims. Cloudflare doesn't document their names, so these are made up. */
const claims = z.object({
  object_type: z.enum(["zone", "account"]),
  object_id: z.string(),
  destination_conf: z.string(),
  destination_fingerprint: z.string(),
  /** The time of issue, in seconds since the epoch. */
  iat: z.number(),
  exp: z.number(),
});

type OwnershipClaims = z.infer<typeof claims>;

export function mintToken(scope: Scope, text: string, destination: Destination, now: Date): string {
  const seconds = Math.floor(now.getTime() / 1000);
  const said: OwnershipClaims = {
    object_type: objectType(scope),
    object_id: scope.id,
    destination_conf: text,
    destination_fingerprint: fingerprint(destination),
    iat: seconds,
    exp: seconds + LIFETIME_SECONDS,
  };
  const signed = `${base64({ alg: "HS256", typ: "JWT" })}.${base64(said)}`;
  return `${signed}.${signatureOf(signed)}`;
}

/** Throws unless the token is currently valid for this destination and scope. */
export function requireToken(token: string, scope: Scope, text: string, now: Date): void {
  const [header = "", payload = "", signature = ""] = token.trim().split(".");
  if (signatureOf(`${header}.${payload}`) !== signature)
    throw logpushFailures.ownershipInvalid("not a token");
  const said = claims.parse(JSON.parse(Buffer.from(payload, "base64url").toString()));
  if (said.object_type !== objectType(scope) || said.object_id !== scope.id) {
    throw logpushFailures.ownershipInvalid(`issued for another ${said.object_type}`);
  }
  if (said.destination_conf !== text)
    throw logpushFailures.ownershipInvalid("issued for another destination");
  if (said.exp <= now.getTime() / 1000) throw logpushFailures.ownershipInvalid("expired");
}

function objectType(scope: Scope): OwnershipClaims["object_type"] {
  return scope.kind === "zones" ? "zone" : "account";
}

function signatureOf(signed: string): string {
  return createHmac("sha256", SIGNING_KEY).update(signed).digest("base64url");
}

function base64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
