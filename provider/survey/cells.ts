import { isUnauthenticated } from "../api/credential";
import { ApiError } from "../api/errors";
import { permissionFor, permissionName, type RequiredPermission } from "../api/permissions";
import type { Cell } from "./model";

/** After this many zones of an account, a permission that none of them granted is no longer tried. */
const ZONES_TRIED = 20;

/** After this many requests in a row that Cloudflare fails to answer, the survey ends: it's an outage. */
const FAILURES_IN_A_ROW = 20;

/** Reads cells, and remembers which permissions the token lacks, so that it isn't refused thousands of times. */
export class Cells {
  readonly #tried = new Map<string, { refused: number; granted: boolean }>();

  #failed = 0;

  /** @param redact hides secrets in the text of a failure. */
  constructor(readonly redact: (text: string) => string) {}

  /**
   * Reads a cell. What the token or the plan refuses, and any other lasting failure, becomes its content.
   *
   * @param path of the first request, which says which permission it takes.
   * @param account the account of the zone, because a token may cover only some.
   * @throws ApiError if there was no response, the token is invalid, Cloudflare has an outage, or the rate limit is used up: then the survey has
   * to go on later.
   */
  async read<T>(path: string, account: string | undefined, read: () => Promise<T>): Promise<Cell<T>> {
    const permission = permissionFor("GET", path);
    const right = permission === undefined ? path : rightName(permission);
    const key = `${right} ${account ?? ""}`;
    const tried = this.#tried.get(key) ?? { refused: 0, granted: false };
    this.#tried.set(key, tried);
    const most = path.startsWith("/accounts/") ? 1 : ZONES_TRIED;
    if (!tried.granted && tried.refused >= most) return { notReadable: "right", what: right };
    try {
      const value = await read();
      tried.granted = true;
      this.#failed = 0;
      return value;
    } catch (error) {
      const isOver = error instanceof ApiError && [undefined, 401, 429].includes(error.status);
      if (!(error instanceof ApiError) || isOver) throw error;
      this.#failed = (error.status ?? 0) >= 500 ? this.#failed + 1 : 0;
      if (this.#failed >= FAILURES_IN_A_ROW) throw error;
      if (error.status === 403 && isUnauthenticated(error)) {
        tried.refused += 1;
        return { notReadable: "right", what: right };
      }
      tried.granted = true; // Cloudflare refuses the object rather than the token.
      if (error.status === 403) return { notReadable: "plan", what: planReason(error) };
      const { message } = new ApiError({ ...error.init, advice: undefined });
      return { notReadable: "failed", what: this.redact(message) };
    }
  }

  /** Whether any request was granted. Otherwise the token is probably invalid. */
  get anyGranted(): boolean {
    return [...this.#tried.values()].some(({ granted }) => granted);
  }
}

function planReason({ init, errors }: ApiError): string {
  const [first] = errors;
  return init.entitlement ?? first?.message ?? init.path;
}

/** One path for each permission that a survey takes. */
const PATHS = [
  "/zones",
  "/zones/z/page_shield",
  "/zones/z/rulesets",
  "/zones/z/firewall/rules",
  "/zones/z/logpush/jobs",
  "/accounts/a/logpush/jobs",
  "/accounts/a/rulesets",
  "/accounts/a/storage/kv/namespaces",
];

/** `Page Shield Read`. Zones and accounts each have a permission named Logs. */
function rightName({ scope, name, level }: RequiredPermission): string {
  return `${scope === "Account" && name === "Logs" ? "Account " : ""}${name} ${level}`;
}

/** Every permission that a survey takes: its name in cells, and where to grant it. */
export const RIGHTS: ReadonlyMap<string, string> = new Map(
  PATHS.map((path) => permissionFor("GET", path))
    .filter((permission) => permission !== undefined)
    .map((permission) => [rightName(permission), permissionName(permission)]),
);
