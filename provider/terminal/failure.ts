import { missingReason } from "../api/credential";
import { ApiError, isUnroutable } from "../api/errors";
import { Redactor } from "../api/redact";
import { isNamespaceGone } from "../kv/address";
import { secretsIn, SettingsError, type Settings } from "../runtime/settings";
import { ownMember } from "../basics/json";
import { CommandError, DriftError, InterruptedError, UnfinishedError, UsageError } from "./errors";
import { INTERRUPTED_EXIT_CODE, type Io } from "./io";

/** A failed command's message and exit code. */
export interface Failure {
  readonly message: string;
  readonly exitCode: number;
}

/**
 * Converts the error that ended a command to its message and exit code.
 *
 * @param group the first word of the command line, such as `kv`.
 */
export function failureOf(error: unknown, group: string | undefined, env: Io["env"]): Failure {
  const redactor = new Redactor(); // Hides the environment's secrets.
  redactor.add(...secretsIn(() => undefined, env));
  const message = redactor.redact(messageOf(error, group, env["EDGEGUARD_DEBUG"] === "1"));
  if (error instanceof UsageError) return { message, exitCode: 2 };
  if (error instanceof DriftError) return { message, exitCode: 3 };
  return { message, exitCode: error instanceof InterruptedError ? INTERRUPTED_EXIT_CODE : 1 };
}

function messageOf(error: unknown, group: string | undefined, isDebugging: boolean): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof UnfinishedError) return `${messageOf(error.cause, group, false)} ${error.more}`;
  if (error instanceof SettingsError) return withVariables(error.message);
  if (error instanceof ApiError) {
    const advice = ownMember(ADVICE, group ?? "")?.(error) ?? error.init.advice;
    return withVariables(new ApiError({ ...error.init, advice }).message);
  }
  const isOurs = error instanceof CommandError || error instanceof DriftError;
  return isDebugging && !isOurs ? (error.stack ?? error.message) : error.message;
}

/**
 * Advice for API errors, by group of commands. The provider's own advice doesn't apply: the command line has no stack
 * to refresh.
 */
const ADVICE: Readonly<Record<string, (error: ApiError) => string | undefined>> = {
  kv: (error) => {
    const isGone: boolean = isNamespaceGone(error);
    if (isGone) return "Run `edgeguard kv namespace list` to see the account's namespaces.";
    return error.hasCode(7003)
      ? "Check the account ID and the namespace ID (--account-id, --namespace-id, or the configuration file)."
      : undefined;
  },
  inventory: (error) => (isUnroutable(error) ? "Check the zone ID: --zone." : undefined),
  import: (error) => (isUnroutable(error) ? "Check the IDs: --zone, --account." : undefined),
  rollout: (error) => (isUnroutable(error) ? "Check the zone ID: --zone." : undefined),
  survey: (error) => (isUnroutable(error) ? "Check the IDs: --account, --zones." : undefined),
};

/** @throws SettingsError if the environment's settings are invalid, or CommandError without a credential. */
export function requireCredential({ credential, emptyCredentials }: Settings): void {
  if (credential !== undefined) return;
  throw new CommandError(
    `this command needs credentials, and ${missingReason(emptyCredentials)}. Set CLOUDFLARE_API_TOKEN, or CLOUDFLARE_EMAIL and CLOUDFLARE_API_KEY.`,
  );
}

/**
 * Replaces the names of settings with the names of their environment variables: `edgeguard:baseUrl` becomes
 * `EDGEGUARD_BASE_URL`.
 */
export function withVariables(message: string): string {
  return message
    .replace(/edgeguard:apiToken/g, "CLOUDFLARE_API_TOKEN")
    .replace(/edgeguard:([a-zA-Z]+)/g, (_, key: string) =>
      `EDGEGUARD_${key.replace(/[A-Z]/g, "_$&")}`.toUpperCase(),
    );
}
