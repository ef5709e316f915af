import { type KvLag, noLag } from "./kv/namespace";
import type { ValueStore } from "./kv/value";
import { defaultLimits, type Limits } from "./limits";
import { withChange, defaultWafSettings, type WafSettings, type WafSettingsChange } from "./waf/settings";
import { type LogpushBehavior, usualBehavior } from "./logpush/behavior";

/** Whether to follow Cloudflare's guides or its OpenAPI schema where the two differ. */
export type Dialect = "documented" | "openapi";

/** A credential that the API accepts: a token, or an email with its key. */
export interface Credential {
  readonly token?: string;
  readonly email?: string;
  readonly key?: string;
  /** Whether the credential may only read. */
  readonly readOnly?: boolean;
  /**
   * The paths that the credential may use, such as `/page_shield/` for a token with the permissions for one product.
   * @default all
   */
  readonly paths?: RegExp;
}

export interface LocalApiOptions {
  /** Which source to follow where Cloudflare's OpenAPI schema and guides differ. @default "openapi" */
  readonly dialect?: Dialect;
  /** The port. 0 picks a free one. @default 0 */
  readonly port?: number;
  /** @default the token "local-token", and the pair "local@example.com" with "local-key" */
  readonly credentials?: readonly Credential[];
  /** How many simulated zones to add to the seeded ones. They're the same at every start. @default 0 */
  readonly zones?: number;
  /** Whether to reject input that only the other dialect has, instead of accepting or ignoring it. @default false */
  readonly strict?: boolean;
  /**
   * Whether responses omit everything that the OpenAPI schema doesn't require, except cursors and values that were set.
   * @default false
   */
  readonly sparse?: boolean;
  /** The delay of every response, in milliseconds. @default 0 */
  readonly latencyMs?: number;
  /**
   * Simulates eventual consistency: how many milliseconds pass until reads see a write. Writes always see each other.
   * @default 0
   */
  readonly readLagMs?: number;
  /**
   * The same as `readLagMs`, but only for lists, including those of KV. An object requested by its ID is up to date.
   * @default 0
   */
  readonly listLagMs?: number;
  /**
   * Simulates KV's eventual consistency: how many milliseconds pass until lists and reads see a write. `readLagMs`
   * doesn't affect KV.
   * @default 0
   */
  readonly kvLagMs?: Partial<KvLag>;
  /** How many empty pages, each with a cursor, come before every page in a list of keys. @default 0 */
  readonly kvEmptyPages?: number;
  /**
   * How KV values are stored. "digests" stores only a value's SHA-256 and length, and rejects reads of the value.
   * @default "memory"
   */
  readonly kvStore?: ValueStore;
  /** Details of Logpush responses that Cloudflare doesn't document. @default depends on dialect and strictness */
  readonly logpush?: Partial<LogpushBehavior>;
  /**
   * The rate limit. If a credential sends more than `requests` in the window, all of its requests are rejected for
   * `retryAfterSeconds`. @default none
   */
  readonly rateLimit?: {
    readonly requests: number;
    readonly windowMs: number;
    readonly retryAfterSeconds: number;
  };
  /** The directory that keeps the state between runs. @default none: every start uses the seeded state */
  readonly persistTo?: string;
  /**
   * Aspects of a WAF migration that Cloudflare doesn't document, such as property names and delays. @default plausible
   * names, without delays
   */
  readonly waf?: WafSettingsChange;
  /** @default the real time */
  readonly clock?: () => Date;
  readonly limits?: Partial<Limits>;
  /**
   * Whether a body over `limits.maxBodyBytes` is read to its end and then rejected, or rejected immediately by closing
   * the connection. @default "read"
   */
  readonly largeBodies?: "read" | "close";
}

/** The options with every default filled in. */
export interface Settings
  extends
    Required<Omit<LocalApiOptions, "kvLagMs" | "logpush" | "rateLimit" | "persistTo" | "waf" | "limits">>,
    Pick<LocalApiOptions, "rateLimit" | "persistTo"> {
  readonly kvLagMs: KvLag;
  readonly logpush: LogpushBehavior;
  /** The migration's settings, which may change while the API runs. */
  waf: WafSettings;
  readonly limits: Limits;
}

export const defaultCredentials = [
  { token: "local-token" },
  { email: "local@example.com", key: "local-key" },
] as const satisfies readonly Credential[];

export function settle(options: LocalApiOptions): Settings {
  const { dialect = "openapi", strict = false, listLagMs = 0 } = options;
  return {
    port: 0,
    zones: 0,
    credentials: defaultCredentials,
    sparse: false,
    latencyMs: 0,
    readLagMs: 0,
    kvEmptyPages: 0,
    kvStore: "memory",
    largeBodies: "read",
    clock: () => new Date(),
    ...options,
    dialect,
    strict,
    listLagMs,
    kvLagMs: { ...noLag, listing: listLagMs, ...options.kvLagMs },
    logpush: { ...usualBehavior(dialect, strict), ...options.logpush },
    waf: withChange(defaultWafSettings, options.waf ?? {}),
    limits: { ...defaultLimits, ...options.limits },
  };
}
