import type { Context } from "hono";
import { failures } from "./envelope";
import type { Credential } from "./options";

/** Refuses the request unless its headers carry an accepted credential with the right to do it (facts 1.3, 1.5). */
export function authorize(c: Context, accepted: readonly Credential[]): void {
  const credential = identify(c, accepted);
  const writes = c.req.method !== "GET" && c.req.method !== "HEAD";
  if (writes && credential.readOnly === true) throw failures.credentialsRefused();
}

function identify(c: Context, accepted: readonly Credential[]): Credential {
  const authorization = c.req.header("authorization");
  if (authorization !== undefined) {
    const token = /^Bearer ([\w-]+)$/.exec(authorization)?.[1];
    if (token === undefined) throw failures.credentialsMalformed();
    const known = accepted.find((credential) => credential.token === token);
    if (known === undefined) throw failures.credentialsRefused();
    return known;
  }

  const email = c.req.header("x-auth-email");
  const key = c.req.header("x-auth-key");
  if (email === undefined || key === undefined) throw failures.credentialsMissing();
  const known = accepted.find((credential) => credential.email === email && credential.key === key);
  if (known === undefined) throw failures.credentialsMissing();
  return known;
}
