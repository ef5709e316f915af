import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { EdgeApi, type ApiOptions, type Call } from "../api/client";
import { Connections } from "../api/connections";
import { CancelledError } from "../api/errors";
import { printable } from "../basics/printable";
import { LISTED, keyedDigest } from "./impact";
import { Seen } from "../api/quote";
import { RateBudget } from "../api/rate-budget";
import { Redactor } from "../api/redact";
import { createOnce, pollUntil } from "./creation";
import type { AboutResource, Context, Messages } from "./lifecycle";
import { provesFailure, skippedRead } from "./skipping";
import { Locks } from "./locks";
import { OperationRecord } from "./operation-record";
import {
  inWordsOf,
  PROVIDER_NAME,
  readSettings,
  secretsIn,
  SettingsError,
  type ConfigGetter,
  type Settings,
} from "./settings";
import { secretsOf, type Credential } from "../api/credential";

export interface HostOptions {
  readonly config: ConfigGetter;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Prints messages, which already have their prefix and contain no secrets. */
  readonly out?: { info(line: string): void; warn(line: string): void };
  readonly signal?: AbortSignal;
  readonly closing?: AbortSignal;
  /** The record that the engine's provider processes share. By default, one of this process alone. */
  readonly record?: OperationRecord | undefined;
  /** Why this host can't do any work. Undefined if it can. */
  readonly problem?: string | undefined;
  /** Waits for a number of milliseconds. Tests replace it to save time. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * The current call. All hosts share one storage, because Node never releases a storage and passes it to every promise.
 */
const CALL = new AsyncLocalStorage<Call>();

/**
 * What all resources in one operation share: settings, connections, rate budget, locks, the operation's record, and cached reads.
 */
export class Host {
  readonly record: OperationRecord;
  readonly #locks = new Locks();
  /**
   * The checked inputs of each resource in this operation, as keys, and whether the resource has pending work. The
   * program still declares these resources.
   */
  readonly declared = new Map<string, { readonly hasPendingWork: boolean }>();
  readonly #options: HostOptions;
  readonly #logged = new Set<string>();
  readonly #kept = new Map<string, unknown>();
  readonly #redactor = new Redactor();
  #settings: Settings | undefined;
  #connections: Connections | undefined;
  #api: EdgeApi | undefined;
  #probe: EdgeApi | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
    this.record = options.record ?? new OperationRecord();
    this.#redactor.add(...secretsIn(options.config, options.env ?? process.env));
  }

  /** @throws SettingsError if the configuration or environment is invalid, or if the host can't do any work. */
  get settings(): Settings {
    return this.#readSettings();
  }

  /** Returns what's wrong with the configuration or environment. Undefined if nothing is. */
  settingsProblem(): string | undefined {
    try {
      this.#readSettings();
      return undefined;
    } catch (error) {
      if (error instanceof SettingsError) return error.message;
      throw error;
    }
  }

  #readSettings(): Settings {
    if (this.#options.problem !== undefined) throw new SettingsError(this.#options.problem);
    this.#settings ??= readSettings(this.#options.config, this.#options.env ?? process.env);
    return this.#settings;
  }

  get api(): EdgeApi {
    this.#api ??= this.#connect({ maxRetries: this.settings.maxRetries });
    return this.#api;
  }

  /** Returns the API client for live checks. It gives up early, so that a preview skips a check instead of waiting. */
  get probe(): EdgeApi {
    this.#probe ??= this.#connect({ maxRetries: 0, patient: false, attemptMs: PROBE_MS });
    return this.#probe;
  }

  /** Runs work while no other resource on this machine, with any provider and in any stack, is running work with this key. */
  async exclusively<T>(key: string, work: () => Promise<T>): Promise<T> {
    const options = { pause: this.#pause, say: this.say };
    // Two stacks may manage parts of one zone at the same time.
    const everywhere = `${this.settings.baseUrl.replace(/\/+$/, "")} ${key}`;
    return await this.#locks.with(key, () => this.record.exclusively(everywhere, options, work));
  }

  get inFlight(): number {
    return (this.#api?.inFlight ?? 0) + (this.#probe?.inFlight ?? 0);
  }

  /** Returns a digest of secret values that only someone with the credential can compute. Undefined without one. */
  keyedDigest(value: unknown): string | undefined {
    const key = secretsOf(this.settings.credential).join("\n");
    return key === "" ? undefined : keyedDigest(key, value);
  }

  /** @param about the resource that the context is for. */
  context(
    type: string,
    { name, holder, secrets = [], skipped = [], unmanaged }: AboutResource = {},
    api = this.api,
  ): Context {
    const skip = (reason: string): void => {
      skipped.push(this.redact(reason));
      this.say.warn(`live check skipped: ${reason}`);
    };
    const { settings, say } = this;
    const waiting = { settings, say, pause: this.#pause };
    return {
      name,
      holder,
      api,
      ...waiting,
      once: this.once,
      forget: (key) => void this.#kept.delete(key),
      redact: this.redact,
      isSecret: (argument) => secrets.includes(argument),
      hide: (text) => CALL.getStore()?.secrets.add(text),
      noteUnmanaged: (members) => unmanaged?.note(members),
      list: (names, from) =>
        from.some((argument) => secrets.includes(argument))
          ? LISTED.of(names, (value) => this.keyedDigest(value) ?? "")
          : LISTED.of(names),
      tell: this.tell,
      skip,
      pollUntil: (read, isEnough, maxReads) => pollUntil(waiting, read, isEnough, maxReads),
      createOnce: (creation) => createOnce(waiting, creation),
      unlessForbidden: async (read) => {
        try {
          return await read();
        } catch (error) {
          if (!provesFailure(error)) throw error;
          skip(skippedRead(error));
          return undefined;
        }
      },
      holding: (id) => this.record.holding(type, id),
      isUnclaimed: (id) => [undefined, "unchanged"].includes(this.record.holding(type, id)),
      othersHold: (id) => this.record.othersHold(type, id),
      isClaimed: (kind, key) => this.record.isDeclared(`${kind} ${key}`),
    };
  }

  readonly #pause = async (ms: number): Promise<void> => {
    const stop = AbortSignal.any(
      [this.#options.signal, this.#options.closing].filter((signal) => signal !== undefined),
    );
    try {
      await (this.#options.sleep ?? realTime)(ms, stop);
    } catch (error) {
      if (stop.aborted) throw new CancelledError("The operation was cancelled, or the Pulumi engine exited.");
      throw error;
    }
  };

  /** Prints messages, each once per operation, even if several resources say the same. */
  readonly say = {
    info: (line: string): void => this.#once("info", line, line),
    warn: (line: string, key = line): void => this.#once("warn", line, key),
  };

  /** Prints messages about findings. */
  readonly tell = ({ infos = [], warnings = [] }: Messages): void => {
    for (const line of infos) this.say.info(line);
    for (const line of warnings) this.say.warn(line);
  };

  /** Makes or reads once per operation. A failed read is also kept, so that other resources don't repeat it. */
  readonly once = <T>(key: string, make: () => T): T => {
    if (!this.#kept.has(key)) this.#kept.set(key, make());
    const kept = this.#kept.get(key) as T; // One key is only ever made by one function.
    // What another resource has read may contain values that are secret in this one.
    if (kept instanceof Promise) void kept.then(CALL.getStore()?.hideTwins, () => undefined);
    return kept;
  };

  /** Removes secrets of the configuration, the environment and the current call from a text. */
  readonly redact = (text: string): string => {
    const known = this.#redactor.redact(text);
    return CALL.getStore()?.secrets.redact(known) ?? known;
  };

  /** Removes secrets from a message, and anything that a terminal or CI system would execute. */
  presentable(message: string): string {
    return printable(this.inWords(message));
  }

  /** Removes secrets from a message, and names settings as this host's provider does. */
  inWords(message: string): string {
    return inWordsOf(this.#options.config(PROVIDER_NAME), this.redact(message));
  }

  /** Whether the running provider call changed something, or may have. */
  get wrote(): boolean {
    return CALL.getStore()?.wrote === true;
  }

  /** Runs one provider call. Nothing that it prints or throws contains its secrets. */
  async during<T>(call: Omit<Call, "seen">, work: () => Promise<T>): Promise<T> {
    return await CALL.run({ ...call, seen: new Seen() }, async () => {
      try {
        return await work();
      } catch (error) {
        if (error instanceof Error) {
          error.stack = this.redact(error.stack ?? "");
          error.message = this.presentable(error.message);
        }
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    await this.#connections?.close();
  }

  #connect(options: Pick<ApiOptions, "maxRetries" | "patient" | "attemptMs">): EdgeApi {
    const { provider, baseUrl, credential, emptyCredentials, rates, concurrency } = this.settings;
    const { signal, closing } = this.#options;
    const debugging = (this.#options.env ?? process.env)["EDGEGUARD_DEBUG"] === "1";
    return new EdgeApi({
      baseUrl,
      credential,
      emptyCredentials,
      provider,
      call: () => CALL.getStore(),
      budget: budgetOf(credential, baseUrl, rates),
      ...options,
      connections: (this.#connections ??= new Connections({ concurrency })),
      redactor: this.#redactor,
      log: { ...this.say, debug: (line) => (debugging ? this.#print("info", `debug: ${line}`) : undefined) },
      ...(signal === undefined ? {} : { signal }),
      ...(closing === undefined ? {} : { closing }),
    });
  }

  #once(level: "info" | "warn", line: string, key: string): void {
    if (this.#logged.has(key)) return;
    this.#logged.add(key);
    this.#print(level, line);
  }

  #print(level: "info" | "warn", line: string): void {
    const out = this.#options.out ?? PROCESS;
    out[level](`edgeguard: ${this.presentable(line)}`);
  }
}

/** How long a preview waits for a response, in milliseconds. */
const PROBE_MS = 10_000;

function realTime(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal });
}

/** Writes to stdout and stderr, whose lines the engine shows as messages of the stack. */
const PROCESS = {
  info: (line: string): void => void process.stdout.write(`${line}\n`),
  warn: (line: string): void => void process.stderr.write(`${line}\n`),
};

const budgets = new Map<string, RateBudget>();

/**
 * Returns a credential's rate budget. Everything in this process that uses the credential shares it, and all configured
 * rates apply.
 */
function budgetOf(credential: Credential | undefined, baseUrl: string, rates: Settings["rates"]): RateBudget {
  const secret = credential?.kind === "key" ? [credential.email, credential.key] : [credential?.token];
  const key = createHash("sha256")
    .update(JSON.stringify([secret, baseUrl.replace(/\/+$/, "")]))
    .digest("hex");
  const budget = budgets.get(key) ?? new RateBudget([]);
  budget.limit(rates);
  budgets.set(key, budget);
  return budget;
}
