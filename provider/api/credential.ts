import { ApiError, type Purpose } from "./errors";
import { nameOfRight, rightOf } from "./rights";

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

/** The permission that a refusal is for, by name; undefined where Cloudflare gives another reason. */
export function lackedRight(error: unknown): string | undefined {
  if (!isUnauthenticated(error) || error.status !== 403) return undefined;
  const right = rightOf(error.init.method, error.init.path);
  return right === undefined ? undefined : nameOfRight(right);
}

/** Credentials that Cloudflare has answered in this process: what one of them may not do, it lacks a permission for. */
const ACCEPTED = new WeakSet<Credential>();

export function noteAccepted(credential: Credential): void {
  ACCEPTED.add(credential);
}

/** The credential as such is refused, and not merely what it was used for. */
export function isCredentialInvalid(error: unknown, credential: Credential | undefined): boolean {
  const forbidden = error instanceof ApiError && error.status === 403;
  const works = credential !== undefined && ACCEPTED.has(credential);
  return isUnauthenticated(error) && !(forbidden && works);
}

/** No credential was found. Raised before anything is sent. */
export class MissingCredentialsError extends Error {
  override readonly name = "MissingCredentialsError";
  /** Why there is none, as a clause. */
  readonly reason: string;

  constructor(what: string, empty: readonly string[] = []) {
    const reason = missingReason(empty);
    super(
      `${what} needs credentials and ${reason}. Set a token with "pulumi config set --secret edgeguard:apiToken <token>" or in CLOUDFLARE_API_TOKEN; ` +
        "or an email and key with edgeguard:apiEmail and edgeguard:apiKey, or CLOUDFLARE_EMAIL and CLOUDFLARE_API_KEY.",
    );
    this.reason = reason;
  }
}

/** Why there is no credential, as a clause. A CI hands over a secret that it does not have as an empty text. */
export function missingReason(empty: readonly string[]): string {
  if (empty.length === 0) return "none are set";
  const names = empty.join(", ").replace(/, ([^,]*)$/, " and $1");
  return `${names} ${empty.length === 1 ? "is" : "are"} empty`;
}

/** Said where the configuration in use may not be the stack's present one. */
export function savedConfigHint(purpose: Purpose | undefined): string {
  return purpose?.savedConfig === true
    ? " A refresh or destroy uses the token saved by the last `pulumi up`: run `pulumi up`, or add --run-program."
    : "";
}

/** Adds to a refusal which credential to look at, and the permission that it lacks. */
export function withCredentialAdvice(
  error: unknown,
  credential: Credential | undefined,
  purpose?: Purpose,
): unknown {
  if (!isCredentialRefused(error) || error.init.advice !== undefined) return error;
  const { origin = "" } = credential ?? {};
  const saved = origin.includes(":") ? savedConfigHint(purpose) : "";
  const advice = error.status === 403 ? forbidden(error, credential) : refused(error, origin);
  return new ApiError({ ...error.init, advice: `${advice}${saved}` });
}

function refused(error: ApiError, origin: string): string {
  if (error.hasCode(6003, 6111))
    return `The credential from ${origin} is malformed: set it again, without spaces, quotes or line breaks.`;
  if (error.hasCode(9106))
    return `The email and key from ${origin} are missing or wrong: set both again, or use a token.`;
  return `The credential from ${origin} was refused: it is wrong, revoked or expired. Set ${origin} again.`;
}

function forbidden(error: ApiError, credential: Credential | undefined): string {
  const { method, path, entitlement = "the feature" } = error.init;
  const right = rightOf(method, path);
  const isToken = credential?.kind !== "key";
  const who = `${isToken ? "The token" : "The user"} from ${credential?.origin ?? ""}`;
  const [, scope = "call"] = /^\/(zone|account)s\//.exec(path) ?? [];
  const lacks = `lacks the permission ${right === undefined ? "" : `${nameOfRight(right)} `}for this ${scope}`;
  const works = credential !== undefined && ACCEPTED.has(credential);
  const mend = isToken
    ? "Edit its permissions and resources in the dashboard, under API Tokens."
    : "Give the user a role that has it, or use a token.";
  if (!isUnauthenticated(error)) return `${who} ${lacks}, or the plan lacks ${entitlement}. ${mend}`;
  return works
    ? `${who} works for other requests of this run, but ${lacks}. ${mend}`
    : `${who} ${lacks}, or is no longer valid. ${mend}`;
}
