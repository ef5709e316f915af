import { type KvLag, noLag } from "./kv/namespace";
import type { ValueStore } from "./kv/value";
import { defaultLimits, type Limits } from "./limits";
import { withChange, defaultWafSettings, type WafSettings, type WafSettingsChange } from "./waf/settings";
import { type LogpushBehavior, usualBehavior } from "./logpush/behavior";

/** Whether to follow Cloudflare's guides or its OpenAPI schema where the two differ. */
export type Dialect = "documented" | "openapi";

/** One accepted credential: a token, or an email with its key. */
export interface Credential {
  readonly token?: string;
  readonly email?: string;
  readonly key?: string;
  /** May only read. */
  readonly readOnly?: boolean;
  /** May only use paths that match, such as `/page_shield/`: a token with the permissions of one product. @default all */
  readonly paths?: RegExp;
}

export interface LocalApiOptions {
  /** @default "openapi" */
  readonly dialect?: Dialect;
  /** 0 picks a free port. @default 0 */
  readonly port?: number;
  /** @default the token "local-token", and the pair "local@example.com" with "local-key" */
  readonly credentials?: readonly Credential[];
  /** How many simulated zones to add to the seeded ones, each different by its number. @default 0 */
  readonly zones?: number;
  /** Refuses input that only the other dialect knows, instead of accepting or ignoring it. @default false */
  readonly strict?: boolean;
  /** Responses contain only what the OpenAPI schema requires, what was set, and cursors. @default false */
  readonly sparse?: boolean;
  /** Delay of every response. @default 0 */
  readonly latencyMs?: number;
  /** Eventual consistency: a read sees a write only after this long. Writes always see each other. @default 0 */
  readonly readLagMs?: number;
  /** The same, but only for listings, including those of KV. An object requested by its ID is up to date. @default 0 */
  readonly listLagMs?: number;
  /** Eventual consistency of KV, which `readLagMs` doesn't affect: how much later listings and reads see a write.
   * @default 0
   */
  readonly kvLagMs?: Partial<KvLag>;
  /** How many empty pages, each with a cursor, precede every page in a listing of keys. @default 0 */
  readonly kvEmptyPages?: number;
  /** "digests" keeps only a KV value's SHA-256 and length, and refuses to read the value. @default "memory" */
  readonly kvStore?: ValueStore;
  /** Details of Logpush responses that Cloudflare doesn't document. @default depends on dialect and strictness */
  readonly logpush?: Partial<LogpushBehavior>;
  /** After a credential sends more than `requests` in the window, all of its requests are refused for
   * `retryAfterSeconds`. @default none
   */
  readonly rateLimit?: {
    readonly requests: number;
    readonly windowMs: number;
    readonly retryAfterSeconds: number;
  };
  /** The folder that keeps the state between runs. @default none: every start uses the seeded state */
  readonly persistTo?: string;
  /** Undocumented aspects of a migration: names and delays. @default the documented names, without delay */
  readonly waf?: WafSettingsChange;
  /** @default the real time */
  readonly clock?: () => Date;
  readonly limits?: Partial<Limits>;
  /** Whether a body over `limits.maxBodyBytes` is read to its end and then refused, or refused immediately with the
   * connection closed. @default "read"
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
  /** Changes while the API runs. */
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
