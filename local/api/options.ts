import { type KvLag, noLag } from "./kv/namespace";
import type { ValueStore } from "./kv/value";
import { defaultLimits, type Limits } from "./limits";
import { changed, defaultWafSettings, type WafSettings, type WafSettingsChange } from "./waf/settings";
import { type LogpushBehaviour, usualBehaviour } from "./logpush/behaviour";

/** Where the specification and the published API differ, an answer takes one side (facts, section 12). */
export type Dialect = "seed" | "published";

/** One accepted credential: a token, or an email with its key. */
export interface Credential {
  readonly token?: string;
  readonly email?: string;
  readonly key?: string;
  /** Refused on every method that writes. */
  readonly readOnly?: boolean;
}

export interface LocalApiOptions {
  /** @default "published" */
  readonly dialect?: Dialect;
  /** 0 takes a free port. @default 0 */
  readonly port?: number;
  /** @default the token "local-token", and the pair "local@example.com" with "local-key" */
  readonly credentials?: readonly Credential[];
  /** Refuses what only the other dialect knows, instead of accepting or ignoring it. @default false */
  readonly strict?: boolean;
  /** Answers hold only what the published document requires, what somebody set, and cursors. @default false */
  readonly sparse?: boolean;
  /** Each answer waits this long. @default 0 */
  readonly latencyMs?: number;
  /** Eventual consistency: a read sees a write only after this long. Writes always see each other. @default 0 */
  readonly readLagMs?: number;
  /** The same of listings alone, those of KV included: one object that is asked for by its id is up to date. @default 0 */
  readonly listLagMs?: number;
  /** Eventual consistency of KV, which `readLagMs` leaves alone: listings and reads see a write so much later. @default 0 */
  readonly kvLagMs?: Partial<KvLag>;
  /** Every page of a listing of keys comes after so many pages without keys, each with a cursor. @default 0 */
  readonly kvEmptyPages?: number;
  /** "digests" keeps of a KV value its SHA-256 and its length: reading it is refused. @default "memory" */
  readonly kvStore?: ValueStore;
  /** How the answers of Logpush look where the service's are unknown. @default by dialect and strictness */
  readonly logpush?: Partial<LogpushBehaviour>;
  /** Per credential: more than `requests` within the window, and all are refused for `retryAfterSeconds`. @default none */
  readonly rateLimit?: {
    readonly requests: number;
    readonly windowMs: number;
    readonly retryAfterSeconds: number;
  };
  /** Folder that keeps the state between runs. @default none: every start is the seeded state */
  readonly persistTo?: string;
  /** What nobody has documented of a migration: names, delays. @default those of facts 6.4, without delay */
  readonly waf?: WafSettingsChange;
  /** @default the real time */
  readonly clock?: () => Date;
  readonly limits?: Partial<Limits>;
  /** A body beyond `limits.maxBodyBytes` is read to its end and refused, or refused at once and the connection closed. @default "read" */
  readonly largeBodies?: "read" | "close";
}

export interface Settings {
  readonly dialect: Dialect;
  readonly port: number;
  readonly credentials: readonly Credential[];
  readonly strict: boolean;
  readonly sparse: boolean;
  readonly latencyMs: number;
  readonly readLagMs: number;
  readonly listLagMs: number;
  readonly kvLagMs: KvLag;
  readonly kvEmptyPages: number;
  readonly kvStore: ValueStore;
  readonly logpush: LogpushBehaviour;
  readonly rateLimit: LocalApiOptions["rateLimit"];
  readonly persistTo: string | undefined;
  /** Changes while the API runs. */
  waf: WafSettings;
  readonly clock: () => Date;
  readonly limits: Limits;
  readonly largeBodies: "read" | "close";
}

export const defaultCredentials = [
  { token: "local-token" },
  { email: "local@example.com", key: "local-key" },
] as const satisfies readonly Credential[];

export function settle(options: LocalApiOptions): Settings {
  return {
    dialect: options.dialect ?? "published",
    port: options.port ?? 0,
    credentials: options.credentials ?? defaultCredentials,
    strict: options.strict ?? false,
    sparse: options.sparse ?? false,
    latencyMs: options.latencyMs ?? 0,
    readLagMs: options.readLagMs ?? 0,
    listLagMs: options.listLagMs ?? 0,
    kvLagMs: { ...noLag, listing: options.listLagMs ?? 0, ...options.kvLagMs },
    kvEmptyPages: options.kvEmptyPages ?? 0,
    kvStore: options.kvStore ?? "memory",
    logpush: {
      ...usualBehaviour(options.dialect ?? "published", options.strict ?? false),
      ...options.logpush,
    },
    rateLimit: options.rateLimit,
    persistTo: options.persistTo,
    waf: changed(defaultWafSettings, options.waf ?? {}),
    clock: options.clock ?? (() => new Date()),
    largeBodies: options.largeBodies ?? "read",
    limits: { ...defaultLimits, ...options.limits },
  };
}
