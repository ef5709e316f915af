import { isUnauthenticated } from "../api/credential";
import { ApiError } from "../api/errors";
import { permissionFor, permissionName, type RequiredPermission } from "../api/permissions";
import type { Host } from "../runtime/host";
import type { Cell, NotReadable } from "./model";

/** How many requests in a row may fail with a server error before the survey stops: Cloudflare then has an outage. */
const FAILURES_IN_A_ROW = 20;

/** Makes a list fail if one of its records can't be read. Otherwise, the survey would show too few records. */
export const COMPLETE = { complete: true } as const;

/** Sends requests (`host`) and turns their results into cells (`cells`). */
export interface Reader {
  readonly host: Host;
  readonly cells: Cells;
}

/** Reads the cells of a survey: values, or reasons why they couldn't be read. */
export class Cells {
  #failed = 0;

  /** @param redact hides secrets in error messages. */
  constructor(readonly redact: (text: string) => string) {}

  /**
   * Reads a cell. If that fails permanently, for example because the token lacks a permission, the cell contains the
   * reason instead of a value.
   *
   * @param path the path of the first request, which determines the permission needed.
   * @throws ApiError if there was no response, the token is invalid, Cloudflare has an outage, or the rate limit is
   * used up. The survey can then be resumed later.
   */
  async read<T>(path: string, read: () => Promise<T>): Promise<Cell<T>> {
    try {
      const value = await read();
      this.#failed = 0;
      return value;
    } catch (error) {
      const isOver = error instanceof ApiError && [undefined, 401, 429].includes(error.status);
      if (!(error instanceof ApiError) || isOver) throw error;
      this.#failed = (error.status ?? 0) >= 500 ? this.#failed + 1 : 0;
      if (this.#failed >= FAILURES_IN_A_ROW) throw error;
      if (error.status === 403 && isUnauthenticated(error))
        return { notReadable: "right", what: rightFor(path) };
      if (error.status === 403) return rejected(error);
      const { message } = new ApiError({ ...error.init, advice: undefined });
      return { notReadable: "failed", what: this.redact(message) };
    }
  }
}

/** Returns why Cloudflare rejected a request even though the token has the permission. */
function rejected({ init, errors: [first] }: ApiError): NotReadable {
  return init.entitlement === undefined
    ? { notReadable: "failed", what: `Cloudflare rejected the request: ${first?.message ?? init.path}` }
    : { notReadable: "plan", what: init.entitlement };
}

/** A path for each permission that a survey uses. */
const PATHS = [
  "/zones",
  "/zones/z/page_shield",
  "/zones/z/rulesets",
  "/zones/z/firewall/rules",
  "/zones/z/logpush/jobs",
  "/accounts/a/logpush/jobs",
  "/accounts/a/rulesets",
  "/accounts/a/storage/kv/namespaces",
  "/graphql",
];

/** Returns the permission needed to read a path, such as `Page Shield Read`. */
export function rightFor(path: string): string {
  const permission = permissionFor("GET", path);
  return permission === undefined ? path : rightName(permission);
}

/**
 * Returns a permission's name. Zones and accounts both have a permission named Logs, so the account's gets a prefix.
 */
function rightName({ scope, name, level }: RequiredPermission): string {
  return `${scope === "Account" && name === "Logs" ? "Account " : ""}${name} ${level}`;
}

/** All permissions that a survey uses: the name in cells, and where to grant it. */
export const RIGHTS: ReadonlyMap<string, string> = new Map(
  PATHS.map((path) => permissionFor("GET", path))
    .filter((permission) => permission !== undefined)
    .map((permission) => [rightName(permission), permissionName(permission)]),
);
