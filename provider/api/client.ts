import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Dispatcher } from "undici";
import { z } from "zod";
import { Connections, type ConnectionOptions } from "./connections";
import {
  withCredentialAdvice,
  isCredentialRefused,
  isCredentialInvalid,
  isUnauthenticated,
  MissingCredentialsError,
  noteAccepted,
  savedConfigHint,
  secretsOf,
  type Credential,
} from "./credential";
import { decodeEnvelope, type ApiNote, type Envelope, type ResultInfo } from "./envelope";
import { ApiError, CancelledError, isUnroutable, type ApiErrorInit, type Purpose } from "./errors";
import { exchange, firstOf, type Bytes, type LostAnswer, type Reply } from "./exchange";
import { ProxyError } from "./proxy";
import { WaitTooLongError, type RateBudget } from "./rate-budget";
import { escapeInvisible } from "./printable";
import { Redactor } from "./redact";
import { hasTimedOut, outcomeOf, RETRY, retryAfterMs, retryDelayMs } from "./retry";
import { adviceFor, cancelled, excerpt, lostDetail } from "./wording";

/** Where the client's own remarks go. Every line is redacted before it arrives here. */
export interface ApiLog {
  info(line: string): void;
  warn(line: string): void;
  debug(line: string): void;
}

/** Waits longer than this are announced, so that nobody takes a patient pipeline for a hanging one. */
const ANNOUNCE_WAIT_MS = 5_000;

/** The longest wait for the rate budget where nobody is to be kept waiting. */
const IMPATIENT_WAIT_MS = 2_000;

export interface ApiOptions extends ConnectionOptions {
  /** Base address that ends in a version segment; a path prefix is kept. */
  readonly baseUrl: string;
  readonly credential: Credential | undefined;
  /** Tried once where `credential` is refused: a token saved by an earlier operation may have been rotated since. */
  readonly fallback?: Credential | undefined;
  /** Credentials that are set but empty, by their names. */
  readonly emptyCredentials?: readonly string[];
  /** What the call in progress is for. */
  readonly purpose?: () => Purpose | undefined;
  readonly budget: RateBudget;
  /** The budget of `fallback`; the same where none is given. */
  readonly fallbackBudget?: RateBudget;
  readonly maxRetries?: number;
  /**
   * False: rather than wait for the rate budget, a request fails as not sent; so does every request after the first that
   * a time limit has ended. Default: true.
   */
  readonly patient?: boolean;
  /** Longest time of one attempt, from its connection to the last byte of its answer. */
  readonly attemptMs?: number;
  /** Connections shared with other clients; in place of `concurrency` and `timeouts`. */
  readonly connections?: Connections;
  /** Fires when nothing may be sent any more. */
  readonly signal?: AbortSignal;
  /** Fires when no further request may begin; what is in flight is finished. */
  readonly closing?: AbortSignal;
  readonly log: ApiLog;
  /** Knows what may not be printed; shared by everything that prints. */
  readonly redactor?: Redactor;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions<T> {
  /** What is attempted, as the start of a sentence about its failure: `Reading policy 5f… in zone 0d…`. */
  readonly what: string;
  /** Shape of `result`. */
  readonly schema: z.ZodType<T>;
  readonly query?: Query;
  /** Sent as JSON; a Buffer is JSON already. */
  readonly body?: unknown;
  /** Whether a second execution does no harm. Defaults by method: GET, PUT and DELETE do not, POST and PATCH may. */
  readonly repeatable?: boolean;
  /**
   * Sent at once and at most once: neither again after an answer or none, nor after a wait for the rate budget. For what
   * was judged a moment ago and has to be judged anew later.
   */
  readonly immediate?: boolean;
  /**
   * Next step for a failure, where the caller knows more than the status tells. A 403 names the permission by itself;
   * advice takes the place of that.
   */
  readonly advice?: (failure: {
    readonly status: number;
    readonly errors: readonly ApiNote[];
  }) => string | undefined;
  /** What the plan has to include, as in "the plan lacks Page Shield policies". */
  readonly entitlement?: string;
}

export interface Answer<T> {
  readonly result: T;
  readonly resultInfo: ResultInfo | undefined;
}

export interface ListOptions<T> extends Omit<RequestOptions<T>, "schema" | "body"> {
  /** Shape of one record. */
  readonly record: z.ZodType<T>;
  /**
   * True where a record that is passed over could do harm, as before a create or a delete: one that cannot be read then
   * fails the list. Default: it is left out, with a warning.
   */
  readonly complete?: boolean;
}

export interface List<T> {
  readonly records: readonly T[];
  /** What was left out, as its warning names it. */
  readonly unread: readonly string[];
  readonly resultInfo: ResultInfo | undefined;
}

export type BytesOptions = Pick<RequestOptions<unknown>, "what" | "query" | "advice" | "entitlement">;

/** One request as it is carried out: all of it but how to understand the answer. */
interface Ask extends Omit<RequestOptions<unknown>, "schema"> {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  /** A success is taken as bytes; a refusal is the envelope all the same. */
  readonly raw?: boolean;
}

/** What is known of a request over all of its attempts, whatever credential they were made with. */
interface Trail {
  /** An attempt may have been carried out: no later refusal takes that back. */
  uncertain: boolean;
}

/** The one way to the API: authentication, envelope, retries, rate budget and cancellation in one place. */
export class EdgeApi {
  readonly redactor: Redactor;
  readonly #options: ApiOptions;
  readonly #connections: Connections;
  #credential: Credential | undefined;
  #fallbackRefused = false;
  /** Fires with either signal of the options. */
  readonly #stop: AbortSignal;
  readonly #said = new Set<string>();
  #inFlight = 0;
  /** Why nothing more is sent by a client without patience. */
  #silence: string | undefined;
  /** How far Cloudflare's clock is ahead of this machine's, by the last answer that told. */
  #aheadMs = 0;

  constructor(options: ApiOptions) {
    this.#options = options;
    this.#credential = options.credential;
    this.redactor = options.redactor ?? new Redactor();
    for (const credential of [options.credential, options.fallback])
      this.redactor.add(...secretsOf(credential));
    this.#connections = options.connections ?? new Connections(options);
    // Every request and every wait listens; Node would warn of a leak from the eleventh on.
    const signals = [options.signal, options.closing].filter((signal) => signal !== undefined);
    this.#stop = AbortSignal.any(signals);
    setMaxListeners(0, this.#stop, ...signals);
  }

  /** The time by Cloudflare's clock, in milliseconds since 1970; by this machine's until the first answer. */
  now(): number {
    return Date.now() + this.#aheadMs;
  }

  /** Requests that have been sent and not yet answered. */
  get inFlight(): number {
    return this.#inFlight;
  }

  async get<T>(path: string, options: RequestOptions<T>): Promise<T> {
    return (await this.send("GET", path, options)).result;
  }

  /** GET of a list, each record of which is read for itself. */
  async list<T>(path: string, options: ListOptions<T>): Promise<List<T>> {
    const schema = z.array(z.unknown()).nullable();
    const { result, resultInfo } = await this.send("GET", path, { ...options, schema });
    return { ...this.readRecords(path, result ?? [], options), resultInfo };
  }

  /** Records that stand in an answer. One that cannot be read is left out with a warning, unless all are needed. */
  readRecords<T>(
    path: string,
    given: readonly unknown[],
    { what, record, complete = false }: Pick<ListOptions<T>, "what" | "record" | "complete">,
  ): Omit<List<T>, "resultInfo"> {
    const records: T[] = [];
    const unread: string[] = [];
    for (const [index, item] of given.entries()) {
      if (item === null) continue; // No record at all, as Logpush answers for a job that is gone.
      const parsed = record.safeParse(item);
      if (parsed.success) {
        records.push(parsed.data);
        continue;
      }
      const problem = `${nameOf(item, index)}: ${problemOf(parsed.error)}`;
      if (complete) throw this.#notUnderstood({ what, method: "GET", path, status: 200 }, problem);
      unread.push(problem);
      const line = `${what}: left out the record with ${this.redactor.redact(problem)}. This version of pulumi-edgeguard cannot read it: look for a newer one.`;
      if (this.#unsaid(line)) this.#options.log.warn(line);
    }
    return { records, unread };
  }

  async post<T>(path: string, options: RequestOptions<T>): Promise<T> {
    return (await this.send("POST", path, options)).result;
  }

  async put<T>(path: string, options: RequestOptions<T>): Promise<T> {
    return (await this.send("PUT", path, options)).result;
  }

  async delete<T>(path: string, options: RequestOptions<T>): Promise<T> {
    return (await this.send("DELETE", path, options)).result;
  }

  /**
   * GET of what is stored as it is, where Cloudflare answers without its envelope.
   *
   * @throws as `send` does.
   */
  async getBytes(path: string, options: BytesOptions): Promise<Bytes> {
    const { bytes, headers } = await this.#ask({ ...options, method: "GET", path, raw: true });
    return { bytes, headers };
  }

  /**
   * Sends one request, again where that is safe and may help, and decodes the answer.
   *
   * @throws ApiError when Cloudflare refuses, cannot be reached, or answers something else than the envelope.
   * The outcome it has is that of all attempts: "notDone" is said only when none may have been carried out.
   * @throws CancelledError when the engine has gone.
   */
  async send<T>(method: Dispatcher.HttpMethod, path: string, options: RequestOptions<T>): Promise<Answer<T>> {
    const { envelope, status, requestId } = await this.#ask({ ...options, method, path });
    const parsed = options.schema.safeParse(envelope?.result ?? null);
    if (parsed.success) return { result: parsed.data, resultInfo: envelope?.resultInfo };
    const failed = { what: options.what, method, path, status, requestId };
    throw this.#notUnderstood(failed, problemOf(parsed.error, "result"));
  }

  async #ask(ask: Ask): Promise<Success> {
    const trail: Trail = { uncertain: false };
    try {
      return await this.#askWithFallback(ask, trail);
    } catch (error) {
      if (!trail.uncertain) throw error;
      if (error instanceof CancelledError) throw cancelled(ask.what, "unknown");
      throw error instanceof ApiError ? new ApiError({ ...error.init, outcome: "unknown" }) : error;
    }
  }

  async #askWithFallback(ask: Ask, trail: Trail): Promise<Success> {
    const used = this.#credential;
    try {
      return await this.#sendWithRetries(ask, used, trail);
    } catch (error) {
      const { fallback } = this.#options;
      const tried = fallback === undefined || used === fallback || this.#fallbackRefused;
      if (!isCredentialRefused(error) || tried) throw this.#explained(error, used);
      // Who is known and may not do this may do the next thing: only who is not known is given up.
      const dead = isCredentialInvalid(error, used);
      try {
        const success = await this.#sendWithRetries(ask, fallback, trail);
        if (dead) this.#switchTo(fallback);
        else this.#lend(fallback, used);
        return success;
      } catch (second) {
        if (!isCredentialRefused(second)) throw second;
        const known = !isCredentialInvalid(second, fallback);
        if (!known) this.#fallbackRefused = true; // A second refusal is Cloudflare's last word.
        if (!known || !dead) throw this.#explained(error, used);
        this.#switchTo(fallback);
        throw this.#explained(second, fallback);
      }
    }
  }

  // Requests that were refused side by side each come here; the first one switches for all.
  #switchTo(fallback: Credential): void {
    if (this.#credential === fallback) return;
    const refused = this.#credential?.origin ?? "the saved credential";
    this.#credential = fallback;
    const saved = savedConfigHint(this.#options.purpose?.());
    this.#options.log.warn(`${refused} was refused; ${fallback.origin} is used instead.${saved}`);
  }

  #explained(error: unknown, credential: Credential | undefined): unknown {
    return withCredentialAdvice(error, credential, this.#options.purpose?.());
  }

  #lend(fallback: Credential, used: Credential | undefined): void {
    const line = `${used?.origin ?? "the saved credential"} may not do all that is asked; where it may not, ${fallback.origin} is used.`;
    if (this.#unsaid(line)) this.#options.log.warn(line);
  }

  /** Says something of an answer that its reader has to know. */
  warn(line: string): void {
    this.#options.log.warn(this.redactor.redact(line));
  }

  /** Frees the connections, also those of clients that share them. */
  close(): Promise<void> {
    return this.#connections.close();
  }

  async #sendWithRetries(ask: Ask, credential: Credential | undefined, trail: Trail): Promise<Success> {
    const { method, what, immediate = false } = ask;
    if (credential === undefined) throw new MissingCredentialsError(what, this.#options.emptyCredentials);
    const budget = this.#budgetOf(credential);
    const maxRetries = immediate ? 0 : this.#options.maxRetries;

    let last: ApiError | undefined;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#unlessCancelled(what, () => this.#admission(budget, immediate));
      } catch (error) {
        const reason = reasonNotToSend(error);
        if (reason === undefined) throw error;
        throw last ?? unsent(ask, reason);
      }
      const reply = await this.#attempt(ask, credential, trail);
      const judged = this.#judge(ask, reply, attempt);
      if (!(judged instanceof ApiError)) {
        noteAccepted(credential);
        return judged;
      }
      last = judged;
      if (judged.outcome === "unknown" && method !== "GET") trail.uncertain = true;

      const { retryAfterMs: asked, init } = judged;
      // It holds for every caller, not only this one, and also where this one gives up.
      if (asked !== undefined && judged.status === 429) budget.pause(asked);
      const ended = "status" in reply ? { status: reply.status, foreign: init.foreign } : reply;
      const wait = retryDelayMs(
        { method, ...ended },
        { attempt, maxRetries, repeatable: ask.repeatable, asked },
      );
      if (wait === undefined) throw judged;
      if (wait >= ANNOUNCE_WAIT_MS) {
        const seconds = Math.ceil(wait / 1000);
        this.#options.log.info(
          `waiting ${seconds} s before the next attempt: ${this.redactor.redact(judged.message)}`,
        );
      }
      await this.#unlessCancelled(what, () => sleep(wait, undefined, { signal: this.#stop }));
    }
  }

  #budgetOf(credential: Credential): RateBudget {
    const { budget, fallback, fallbackBudget = budget } = this.#options;
    return credential === fallback ? fallbackBudget : budget;
  }

  /** Waits until one more request may be sent, and takes a connection for it, which `#attempt` gives back. */
  async #admission(budget: RateBudget, immediate: boolean): Promise<void> {
    const { log, patient = true } = this.#options;
    for (;;) {
      await budget.take({
        signal: this.#stop,
        maxWaitMs: patient && !immediate ? RETRY.maxRetryAfterMs : IMPATIENT_WAIT_MS,
        onWait: ({ ms, reason }) => {
          if (ms >= ANNOUNCE_WAIT_MS) log.info(`waiting ${Math.ceil(ms / 1000)} s: ${reason}`);
        },
      });
      await this.#connections.take(this.#stop);
      if (this.#silence !== undefined) {
        this.#connections.giveBack();
        throw new SilentError(this.#silence);
      }
      if (!budget.paused && !this.#gone()) return;
      this.#connections.giveBack(); // A pause or the end came while others were served.
      this.#stop.throwIfAborted();
    }
  }

  /** One request on the wire. Never throws for what the network or Cloudflare did; only for cancellation. */
  async #attempt(ask: Ask, credential: Credential, trail: Trail): Promise<Reply | LostAnswer> {
    const url = this.#url(ask);
    const started = Date.now();
    const { signal, attemptMs, patient } = this.#options;
    const dispatcher = (): Dispatcher => this.#connections.dispatcher;
    this.#inFlight += 1;
    try {
      const reply = await exchange(url, { ...ask, credential, dispatcher, signal, attemptMs });
      const isLost = !("status" in reply);
      if (isLost && signal?.aborted === true) {
        trail.uncertain ||= ask.method !== "GET";
        throw cancelled(ask.what, "notDone");
      }
      // Before the connection is given back, for whoever waits for it.
      if (isLost && patient === false && hasTimedOut(reply))
        this.#silence ??= `an earlier request got no answer from ${url.origin} in time`;
      const end = isLost ? (reply.errorCode ?? String(reply.cause)) : reply.status;
      const line = `${ask.method} ${url.pathname}${url.search} -> ${end} in ${Date.now() - started} ms`;
      this.#debug(isLost || reply.requestId === undefined ? line : `${line}, request id ${reply.requestId}`);
      return reply;
    } finally {
      this.#inFlight -= 1;
      this.#connections.giveBack();
    }
  }

  #setClock(date: string | undefined): void {
    const told = Date.parse(date ?? "");
    if (!Number.isNaN(told)) this.#aheadMs = told - Date.now();
  }

  /** What was answered when it is a success, else the error that it amounts to. */
  #judge(ask: Ask, reply: Reply | LostAnswer, attempts: number): Success | ApiError {
    const { what, method, path, raw = false } = ask;
    const base = { what, method, path, attempts, entitlement: ask.entitlement };
    if (!("status" in reply)) return this.#lossOf(base, reply);
    const { status, text, requestId } = reply;
    if (raw && status < 300) return { ...reply, envelope: undefined };
    // A deletion result may be no body at all; of anything else it would be a broken answer.
    if (text === "" && (status === 204 || (method === "DELETE" && status < 300)))
      return { ...reply, envelope: undefined };
    const envelope = decodeEnvelope(text);
    if (envelope !== undefined) this.#setClock(firstOf(reply.headers["date"])); // A portal's clock is not Cloudflare's.
    this.#passOn(envelope?.messages ?? []);
    if (!raw && status < 400 && envelope?.success === true) return { ...reply, envelope };
    const errors = (envelope?.errors ?? []).map((e) => ({
      ...e,
      message: this.redactor.redact(e.message),
      pointer: e.pointer === undefined ? undefined : this.redactor.redact(e.pointer),
    }));
    const asked = retryAfterMs(reply.retryAfter, Date.now());
    const failure = new ApiError({
      ...base,
      status,
      errors,
      foreign: envelope === undefined,
      requestId,
      retryAfterMs: asked,
      // success: false on a 2xx means Cloudflare looked at the request and declined it.
      outcome: envelope === undefined && status < 400 ? "unknown" : outcomeOf({ method, status }),
      detail: reply.cutOff
        ? "the connection was closed before the rest of the answer"
        : envelope === undefined
          ? `the body is not the API's envelope but ${excerpt(this.redactor.redact(text))}`
          : "the service gave no reason",
      advice: adviceFor(status, errors, asked, this.#options.purpose?.()),
    });
    // Who was not recognised is told of the credential, not of the object; where the zone is gone, of that.
    const isElsewhere = isUnauthenticated(failure) || isUnroutable(failure);
    const advice = isElsewhere ? undefined : ask.advice?.({ status, errors });
    return advice === undefined ? failure : new ApiError({ ...failure.init, advice });
  }

  /** The error that a lost answer amounts to. */
  #lossOf(base: Omit<ApiErrorInit, "outcome">, lost: LostAnswer): ApiError {
    const { cause } = lost;
    if (cause instanceof ProxyError) {
      const { message, advice } = cause;
      return new ApiError({ ...base, outcome: "notDone", unsent: true, detail: message, cause, advice });
    }
    const outcome = outcomeOf({ method: base.method, ...lost });
    return new ApiError({
      ...base,
      outcome,
      detail: this.redactor.redact(lostDetail(lost, this.#options.baseUrl)),
      cause,
      advice: outcome === "notDone" ? "Check edgeguard:baseUrl and the network." : undefined,
    });
  }

  /** What Cloudflare has to say besides the result, once. */
  #passOn(messages: readonly string[]): void {
    for (const message of messages) {
      const line = `the API says: ${escapeInvisible(this.redactor.redact(message))}`;
      if (this.#unsaid(line)) this.#options.log.info(line);
    }
  }

  #unsaid(line: string): boolean {
    if (this.#said.has(line)) return false;
    this.#said.add(line);
    return true;
  }

  #notUnderstood(init: Omit<ApiErrorInit, "outcome">, problem: string): ApiError {
    return new ApiError({
      ...init,
      outcome: "unknown",
      detail: this.redactor.redact(problem),
      advice:
        "This version of pulumi-edgeguard does not understand the answer: check edgeguard:baseUrl, then look for a newer version.",
    });
  }

  async #unlessCancelled<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.#gone()) throw cancelled(what, "notDone");
    try {
      return await work();
    } catch (error) {
      if (this.#gone()) throw cancelled(what, "notDone");
      throw error;
    }
  }

  #gone(): boolean {
    return this.#stop.aborted;
  }

  #url({ path, query = {} }: Ask): URL {
    const url = new URL(this.#options.baseUrl.replace(/\/+$/, "") + path);
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(key, String(value));
    }
    return url;
  }

  #debug(line: string): void {
    this.#options.log.debug(this.redactor.redact(line));
  }
}

/** A reply that is no error, with its envelope where it has one. */
interface Success extends Reply {
  readonly envelope: Envelope | undefined;
}

/** A record by what it has, for one that could not be read. */
function nameOf(record: unknown, index: number): string {
  const members = NAMING.flatMap((member) => {
    const value: unknown =
      typeof record === "object" && record !== null ? Reflect.get(record, member) : undefined;
    if (typeof value !== "string" && typeof value !== "number") return [];
    return [`${member} ${JSON.stringify(value).slice(0, LONGEST_NAME)}`];
  });
  return members.length === 0 ? `number ${index + 1} of the list` : members.join(", ");
}

const NAMING = ["id", "ref", "url", "name"];
const LONGEST_NAME = 200;

function problemOf({ issues: [issue] }: z.ZodError, ...root: string[]): string {
  if (issue === undefined) return "";
  const path = [...root, ...issue.path.map(String)].join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}

/** The API did not answer an earlier request in time, and nobody is to be kept waiting again. */
class SilentError extends Error {}

interface Reason {
  readonly detail: string;
  readonly advice: string;
}

function reasonNotToSend(error: unknown): Reason | undefined {
  if (error instanceof SilentError)
    return { detail: error.message, advice: "Check edgeguard:baseUrl and the network." };
  if (!(error instanceof WaitTooLongError)) return undefined;
  const { reason, ms } = error.wait;
  return {
    detail: `${reason}, and ${Math.ceil(ms / 1000)} s of waiting are left`,
    advice: "Run again after that.",
  };
}

function unsent({ what, method, path }: Ask, reason: Reason): ApiError {
  return new ApiError({ what, method, path, outcome: "notDone", unsent: true, ...reason });
}
