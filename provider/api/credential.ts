import { ApiError, type Purpose } from "./errors";
import { permissionName, permissionFor, placeInDashboard } from "./permissions";

/** An API token, or an email with its Global API Key. */
export type Credential = (
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "key"; readonly email: string; readonly key: string }
) & {
  /** The setting or variable that the credential came from, such as `edgeguard:apiToken` or `CLOUDFLARE_API_TOKEN`. */
  readonly origin: string;
};

/** Returns a credential's request headers. */
export function authorization(credential: Credential): Record<string, string> {
  return credential.kind === "token"
    ? { authorization: `Bearer ${credential.token}` }
    : { "x-auth-email": credential.email, "x-auth-key": credential.key };
}

/** Returns the parts of a credential that must not be printed. */
export function secretsOf(credential: Credential | undefined): string[] {
  if (credential === undefined) return [];
  return credential.kind === "token" ? [credential.token] : [credential.key, credential.email];
}

/** Error codes for a malformed or invalid credential. */
export const CREDENTIAL_CODES: readonly number[] = [6003, 6111, 9106, 9109, 10000];

/** Whether Cloudflare rejects the credential: status 401, or one of the error codes for credentials. */
export function isUnauthenticated(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 401 || error.hasCode(...CREDENTIAL_CODES));
}

/** Whether Cloudflare rejected the credential or its permissions. */
function isCredentialRefused(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 403 || isUnauthenticated(error));
}

/** Returns the name of the missing permission. Undefined if Cloudflare gives another reason. */
export function missingPermission(error: unknown): string | undefined {
  if (!isUnauthenticated(error) || error.status !== 403) return undefined;
  const permission = permissionFor(error.init.method, error.init.path);
  return permission === undefined ? undefined : permissionName(permission);
}

/** Thrown before anything is sent if no credential was found. */
export class MissingCredentialsError extends Error {
  override readonly name = "MissingCredentialsError";
  /** Why there's no credential: `none are set`, or which variables are empty. */
  readonly reason: string;

  /** @param provider the explicit provider, which has only its own credentials. */
  constructor(
    what: string,
    {
      empty = [],
      provider,
    }: { readonly empty?: readonly string[]; readonly provider?: string | undefined } = {},
  ) {
    const reason = missingReason(empty);
    super(
      `${what} needs credentials, and ${reason}. ${provider === undefined ? SET_CREDENTIALS : PASS_CREDENTIALS}`,
    );
    this.reason = reason;
  }
}

const SET_CREDENTIALS =
  'Set a token with "pulumi config set --secret edgeguard:apiToken <token>" or in CLOUDFLARE_API_TOKEN. ' +
  "Or set an email and key: edgeguard:apiEmail and edgeguard:apiKey, or CLOUDFLARE_EMAIL and CLOUDFLARE_API_KEY.";

const PASS_CREDENTIALS =
  "Pass a token to the Provider: credentials in the stack's configuration or the environment may belong to another account.";

/**
 * Returns why there's no credential: none are set, or some are empty, because CI systems pass a missing secret as an
 * empty string.
 */
export function missingReason(empty: readonly string[]): string {
  if (empty.length === 0) return "none are set";
  const names = empty.join(", ").replace(/, ([^,]*)$/, " and $1");
  return `${names} ${empty.length === 1 ? "is" : "are"} empty`;
}

/** Returns a hint if the operation uses the configuration saved by the last `up`, which may be outdated. */
function savedConfigHint(purpose: Purpose | undefined): string {
  return purpose?.savedConfig === true
    ? " This operation uses the token that the last `pulumi up` saved: run `pulumi up` to save the new token, or add `--run-program` to `pulumi refresh` or `pulumi destroy`."
    : "";
}

/** Adds advice to an error: which credential to check, and which permission it lacks. */
export function withCredentialAdvice(
  error: unknown,
  credential: Credential | undefined,
  purpose?: Purpose,
): unknown {
  if (!isCredentialRefused(error) || error.init.advice !== undefined) return error;
  const { origin = "" } = credential ?? {};
  const isSaved = !origin.startsWith("CLOUDFLARE_"); // Stack config and explicit providers are in the state.
  const saved = isSaved ? savedConfigHint(purpose) : "";
  const advice =
    error.status === 403
      ? forbidden(error, credential)
      : `The credential from ${origin} was refused: it is wrong, revoked or expired. Set ${origin} again, without spaces, quotes or line breaks.`;
  return new ApiError({ ...error.init, advice: `${advice}${saved}` });
}

function forbidden(error: ApiError, credential: Credential | undefined): string {
  const { method, path, entitlement = "the feature" } = error.init;
  const permission = permissionFor(method, path);
  const isToken = credential?.kind !== "key";
  const who = `${isToken ? "token" : "user"} from ${credential?.origin ?? ""}`;
  const [, scope = "call"] = /^\/(zone|account)s\//.exec(path) ?? [];
  const lacks =
    permission === undefined
      ? `lacks permission for this ${scope}`
      : `lacks the ${permission.name} ${permission.level} permission for this ${scope} (${placeInDashboard(permission)})`;
  const fix = isToken
    ? "Edit the token's permissions and resources in the dashboard, under API Tokens."
    : "Give the user a role that includes the permission, or use a token.";
  if (!isUnauthenticated(error)) {
    if (/\/logpush\//.test(path)) return `The ${who} ${lacks}. ${fix}`; // Every plan has Logpush.
    return `The plan doesn't include ${entitlement}, or the ${who} ${lacks}. Check the plan, and upgrade it if needed. Otherwise, the permission is missing. ${fix}`;
  }
  return `The ${who} ${lacks}, or is no longer valid. ${fix}`;
}
