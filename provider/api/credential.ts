/** What proves who asks: a bearer token (seeds 000, 001) or the pair of headers of seed 002. */
export type Credential = (
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "key"; readonly email: string; readonly key: string }
) & {
  /** Where it was found, as people name it: `edgeguard:apiToken`, `CLOUDFLARE_API_TOKEN`. */
  readonly origin: string;
};

/** The headers that carry it. */
export function authorization(credential: Credential): Record<string, string> {
  return credential.kind === "token"
    ? { authorization: `Bearer ${credential.token}` }
    : { "x-auth-email": credential.email, "x-auth-key": credential.key };
}

/** What of it may not be printed. */
export function secretsOf(credential: Credential | undefined): string[] {
  if (credential === undefined) return [];
  return credential.kind === "token" ? [credential.token] : [credential.key, credential.email];
}
