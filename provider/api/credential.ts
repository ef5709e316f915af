import { ApiError } from "./errors";

/** What proves who asks: an API token, or an email with its API key. */
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

/** Codes for a malformed or dead credential. */
export const CREDENTIAL_CODES: readonly number[] = [6003, 6111, 9106, 9109, 10000];

/** Cloudflare does not know who asks: 401, or one of the codes for a credential. */
export function isUnauthenticated(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 401 || error.hasCode(...CREDENTIAL_CODES));
}

/** The credential was refused, or the call is forbidden to it. Another credential may do better. */
export function isCredentialRefused(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 403 || isUnauthenticated(error));
}

/** No credential was found. Raised before anything is sent. */
export class MissingCredentialsError extends Error {
  override readonly name = "MissingCredentialsError";
  constructor(what: string) {
    super(
      `${what} needs credentials and none are set. Set a token with "pulumi config set --secret edgeguard:apiToken <token>" or in CLOUDFLARE_API_TOKEN; ` +
        "or an email and key with edgeguard:apiEmail and edgeguard:apiKey, or CLOUDFLARE_EMAIL and CLOUDFLARE_API_KEY.",
    );
  }
}

export const SAVED_TOKEN =
  "If this is a refresh or destroy: it uses the token saved by the last up: run `pulumi up`, or refresh with --run-program.";

/** Adds what is known of the credential to a refusal; the sentence then says which one to look at. */
export function explained(error: unknown, origin = ""): unknown {
  if (!isCredentialRefused(error) || error.init.advice !== undefined) return error;
  const saved = origin.includes(":") ? ` ${SAVED_TOKEN}` : "";
  const advice = isUnauthenticated(error)
    ? `The credential from ${origin} was refused: it is wrong, revoked, expired, or made for something else.${saved}`
    : `The call is forbidden: the credential from ${origin} lacks the permission, or the plan lacks the feature.`;
  return new ApiError({ ...error.init, advice });
}
