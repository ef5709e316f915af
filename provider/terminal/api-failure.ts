import { ApiError } from "../api/errors";
import { isNamespaceGone } from "../kv/address";
import { SettingsError } from "../runtime/settings";
import { CommandError } from "./errors";

/** An error of the provider for who works at the command line: without a stack to refresh, with settings of the environment. */
export function inWordsOfTheCommandLine(error: unknown): unknown {
  if (error instanceof SettingsError) return new CommandError(withVariables(error.message));
  if (!(error instanceof ApiError)) return error;
  const { init } = error;
  const advice = isNamespaceGone(error)
    ? "`edgeguard kv namespace list` shows the namespaces of the account."
    : (init.errors ?? []).some(({ code }) => code === 7003)
      ? "Check the account and the namespace: --account-id, --namespace-id, or the configuration file."
      : init.advice;
  return new CommandError(withVariables(new ApiError({ ...init, advice }).message), { cause: error });
}

/** `edgeguard:baseUrl` as `EDGEGUARD_BASE_URL`. */
export function withVariables(message: string): string {
  return message
    .replace(/edgeguard:apiToken/g, "CLOUDFLARE_API_TOKEN")
    .replace(/edgeguard:([a-zA-Z]+)/g, (_, key: string) =>
      `EDGEGUARD_${key.replace(/[A-Z]/g, "_$&")}`.toUpperCase(),
    );
}
