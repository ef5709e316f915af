import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Dispatcher } from "undici";
import { z } from "zod";
import { Connections, type ConnectionOptions } from "./connections";
import {
  withCredentialAdvice,
  isUnauthenticated,
  MissingCredentialsError,
  secretsOf,
  type Credential,
} from "./credential";
import { decodeEnvelope, type ApiNote, type Envelope, type ResultInfo } from "./envelope";
import { ApiError, CancelledError, isRead, isUnroutable, type ApiErrorInit, type Purpose } from "./errors";
import { exchange, firstOf, type Bytes, type LostResponse, type Reply } from "./exchange";
import { ProxyError } from "./proxy";
import { NotSentError, type RateBudget, type RateWindow } from "./rate-budget";
import { quoteOwn, Quotes, type Seen } from "./quote";
import { Redactor } from "./redact";
import { hasTimedOut, outcomeOf, RETRY, retryAfterMs, retryDelayMs } from "./retry";
import { adviceFor, cancelledError, lostReason } from "./wording";
import { unknownZone, zonesSeen } from "./wrong-zone";

/** Receives the client's log lines. Secrets are already removed from them. */
export interface ApiLog {
  info(line: string): void;
  warn(line: string): void;
  debug(line: string): void;
}

/** Longer waits are announced, so that a pipeline doesn't look stuck. */
const ANNOUNCE_WAIT_MS = 5_000;

/** The longest time that a client with `patient: false` waits for the rate budget. */
const IMPATIENT_WAIT_MS = 2_000;

export interface ApiOptions extends ConnectionOptions {
  /** The API's base URL. It ends in a version such as `/v4`, and may contain a path prefix. */
  readonly baseUrl: string;
  readonly credential: Credential | undefined;
  /** The names of credential settings and variables that are set but empty, for error messages. */
  readonly emptyCredentials?: readonly string[];
  /** The name of the explicit provider that `credential` belongs to. Undefined without an explicit provider. */
  readonly provider?: string | undefined;
  /** Returns the provider call that sends the request. */
  readonly call?: () => Call | undefined;
  readonly budget: RateBudget;
  readonly maxRetries?: number;
  /**
   * Whether requests may wait. If false, a request isn't sent if it would have to wait for the rate budget, or if an
   * earlier one timed out. Defaults to true.
   */
  readonly patient?: boolean;
  /** The time limit for one attempt, from connecting to the last byte of the response. */
  readonly attemptMs?: number;
  /** Connections to share with other clients. They replace `concurrency` and `timeouts`. */
  readonly connections?: Connections;
  /** Aborts when nothing more may be sent. */
  readonly signal?: AbortSignal;
  /** Aborts when no new request may start. Requests in flight continue. */
  readonly closing?: AbortSignal;
  readonly log: ApiLog;
  /** Hides secrets in log lines and errors. */
  readonly redactor?: Redactor;
}

/** A provider call in progress. */
export interface Call {
  /** What it's for, which determines the advice in errors. */
  readonly purpose: Purpose;
  readonly secrets: Redactor;
  /** What it has read so far. */
  readonly seen: Seen;
  /** Hides the values in a result that are secret in the program. */
  readonly hideTwins: (result: unknown) => void;
  /** The arguments that aren't secret, as text. */
  readonly shown: () => string;
  /** Whether one of its requests changed something, or may have. */
  wrote?: boolean;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions<T> {
  /** What the request does, as the start of an error message: `Reading policy 5f… in zone 0d…`. */
  readonly what: string;
  /** The schema of the response's `result`. */
  readonly schema: z.ZodType<T>;
  readonly query?: Query;
  /** The body, sent as JSON. A Buffer already contains JSON. */
  readonly body?: unknown;
  /**
   * Whether sending the request twice is safe. By default, that's true for GET, PUT and DELETE, and false for POST and
   * PATCH.
   */
  readonly repeatable?: boolean;
  /**
   * Whether to send the request now or not at all, without retries and without waiting for the rate budget. Set for a
   * write that depends on data that was just read.
   */
  readonly immediate?: boolean;
  /** Whether the request changes no object, although its method isn't GET. */
  readonly isNoWrite?: boolean;
  /**
   * Returns advice for an error, if the caller knows more than the status shows. It replaces the general advice, which
   * for a 403 names the missing permission.
   */
  readonly advice?: (failure: {
    readonly status: number;
    readonly errors: readonly ApiNote[];
  }) => string | undefined;
  /** The feature that the plan must include, as in "the plan doesn't include Page Shield policies". */
  readonly entitlement?: string;
}

export interface ApiResponse<T> {
  readonly result: T;
  readonly resultInfo: ResultInfo | undefined;
}

export interface ListOptions<T> extends Omit<RequestOptions<T>, "schema" | "body"> {
  /** The schema of one record in the list. */
  readonly record: z.ZodType<T>;
  /**
   * Whether the list fails if a record can't be read. Set it if missing a record could do harm, such as before a create
   * or a delete, or in evidence. By default, the record is left out with a warning.
   */
  readonly complete?: boolean;
}

export interface List<T> {
  readonly records: readonly T[];
  /** The names of the records that were left out because they couldn't be read. The warnings use the same names. */
  readonly unread: readonly string[];
  readonly resultInfo: ResultInfo | undefined;
}

export type BytesOptions = Pick<RequestOptions<unknown>, "what" | "query" | "advice" | "entitlement">;

/** One request, without the schema of its response. */
interface ApiRequest extends Omit<RequestOptions<unknown>, "schema"> {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  /** Whether to return a successful response as bytes. An error response is still decoded. */
  readonly raw?: boolean;
}

/** What's known about a request after all its attempts. */
interface AttemptHistory {
  /** Whether Cloudflare may have applied an attempt. It stays true if a later attempt is rejected. */
  uncertain: boolean;
}

/** The only client for the API. Handles authentication, the envelope, retries, the rate budget and cancellation. */
export class EdgeApi {
  readonly redactor: Redactor;
  readonly #options: ApiOptions;
  readonly #connections: Connections;
  /** Aborts when `signal` or `closing` aborts. */
  readonly #stop: AbortSignal;
  readonly #logged = new Set<string>();
  readonly #zonesSeen = new Map<string, Promise<string | undefined>>();
  #inFlight = 0;
  #sent = 0;
  /** Why a client with `patient: false` sends no more requests. */
  #unresponsive: string | undefined;
  /** How far Cloudflare's clock is ahead of this machine's, according to the latest response. */
  #aheadMs = 0;

  constructor(options: ApiOptions) {
    this.#options = options;
    this.redactor = options.redactor ?? new Redactor();
    this.redactor.add(...secretsOf(options.credential));
    this.#connections = options.connections ?? new Connections(options);
    // Every request and wait adds a listener, and Node would warn about a leak from the eleventh on.
    const signals = [options.signal, options.closing].filter((signal) => signal !== undefined);
    this.#stop = AbortSignal.any(signals);
    setMaxListeners(0, this.#stop, ...signals);
  }

  /** Returns Cloudflare's time in milliseconds since 1970, or this machine's until the first response. */
  now(): number {
    return Date.now() + this.#aheadMs;
  }

  /** Returns the number of requests that have no response yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The number of requests sent so far, with retries. */
  get sent(): number {
    return this.#sent;
  }

  /** Adds rate limits for everything in this process that uses the credential. */
  limitRate(...rates: readonly RateWindow[]): void {
    this.#options.budget.limit(rates);
  }

  async get<T>(path: string, options: RequestOptions<T>): Promise<T> {
    return (await this.send("GET", path, options)).result;
  }

  /** Sends a GET for a list, and parses each record separately. */
  async list<T>(path: string, options: ListOptions<T>): Promise<List<T>> {
    const schema = z.array(z.unknown()).nullable();
    const { result, resultInfo } = await this.send("GET", path, { ...options, schema });
    return { ...this.readRecords(path, result ?? [], options), resultInfo };
  }

  /**
   * Reads the records in a response. A record that can't be read is left out with a warning, unless `complete` is set.
   */
  readRecords<T>(
    path: string,
    given: readonly unknown[],
    { what, record, complete = false }: Pick<ListOptions<T>, "what" | "record" | "complete">,
  ): Omit<List<T>, "resultInfo"> {
    const records: T[] = [];
    const unread: string[] = [];
    for (const [index, item] of given.entries()) {
      if (item === null) continue; // Logpush returns null for a deleted job.
      const parsed = record.safeParse(item);
      if (parsed.success) {
        records.push(parsed.data);
        continue;
      }
      const problem = `${recordName(item, index, this.#redact)}: ${problemOf(parsed.error)}`;
      if (complete) throw this.#notUnderstood({ what, method: "GET", path, status: 200 }, problem);
      unread.push(problem);
      const line = `${what}: skipped a record that this version of pulumi-edgeguard can't read: ${this.#redact(problem)}. Check for a newer version.`;
      if (this.#isNew(line)) this.#options.log.warn(line);
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
   * Sends a GET for stored bytes, which Cloudflare returns without its envelope.
   *
   * @throws the same errors as `send`.
   */
  async getBytes(path: string, options: BytesOptions): Promise<Bytes> {
    const { bytes, headers } = await this.#request({ ...options, method: "GET", path, raw: true });
    return { bytes, headers };
  }

  /**
   * Sends a GraphQL query, which Cloudflare answers without its envelope. Returns the response's text.
   *
   * @throws the same errors as `send`.
   */
  async query(body: { readonly query: string; readonly variables: object }): Promise<string> {
    const what = "Asking for firewall events";
    const path = "/graphql";
    const { bytes } = await this.#request({ what, body, method: "POST", path, raw: true, immediate: true });
    return bytes.toString("utf8");
  }

  /**
   * Sends one request, retries it if that's safe and may help, and decodes the response.
   *
   * @throws ApiError if Cloudflare rejects the request, can't be reached, or returns something other than the envelope.
   * The error's outcome covers all attempts: it's "notDone" only if none of them can have been applied.
   * @throws CancelledError when the engine has exited.
   */
  async send<T>(
    method: Dispatcher.HttpMethod,
    path: string,
    options: RequestOptions<T>,
  ): Promise<ApiResponse<T>> {
    const { envelope, status, requestId } = await this.#request({ ...options, method, path });
    const parsed = options.schema.safeParse(envelope?.result ?? null);
    if (parsed.success) return { result: parsed.data, resultInfo: envelope?.resultInfo };
    const failed = { what: options.what, method, path, status, requestId };
    throw this.#notUnderstood(failed, problemOf(parsed.error, "result"));
  }

  async #request(request: ApiRequest): Promise<Success> {
    const history: AttemptHistory = { uncertain: false };
    try {
      const done = await this.#sendWithRetries(request, history);
      this.#noteWrite(request);
      return done;
    } catch (failure) {
      if (history.uncertain) this.#noteWrite(request);
      const advised = withCredentialAdvice(
        failure,
        this.#options.credential,
        this.#options.call?.()?.purpose,
      );
      const error = await this.#withZones(advised, request.path);
      if (!history.uncertain) throw error;
      if (error instanceof CancelledError) throw cancelledError(request.what, "unknown");
      throw error instanceof ApiError ? new ApiError({ ...error.init, outcome: "unknown" }) : error;
    }
  }

  /** Adds the zones that the token can see to an error about a zone that doesn't exist. Lists them once. */
  async #withZones(error: unknown, path: string): Promise<unknown> {
    const zone = unknownZone(error, path);
    if (zone === undefined || !(error instanceof ApiError)) return error;
    const seen = this.#zonesSeen.get(zone) ?? zonesSeen(this, zone);
    this.#zonesSeen.set(zone, seen);
    return new ApiError({ ...error.init, alternatives: await seen });
  }

  /** Logs a warning about a response. */
  warn(line: string): void {
    this.#options.log.warn(this.#redact(line));
  }

  /** Quotes Cloudflare's words about the object from a result. */
  quote(text: string): string {
    return quoteOwn(text, this.#redactors());
  }

  /** Closes the connections for every client that shares them. */
  close(): Promise<void> {
    return this.#connections.close();
  }

  async #sendWithRetries(request: ApiRequest, history: AttemptHistory): Promise<Success> {
    const { method, what, immediate = false } = request;
    const { credential, budget } = this.#options;
    if (credential === undefined) {
      const { emptyCredentials: empty = [], provider } = this.#options;
      throw new MissingCredentialsError(what, { empty, provider });
    }
    const maxRetries = immediate ? 0 : this.#options.maxRetries;

    let last: ApiError | undefined;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#unlessCancelled(what, () => this.#waitForTurn(immediate));
      } catch (error) {
        if (!(error instanceof NotSentError)) throw error;
        const { path } = request;
        const { message: detail, advice } = error;
        throw last ?? new ApiError({ what, method, path, outcome: "notDone", unsent: true, detail, advice });
      }
      const reply = await this.#attempt(request, credential, history);
      const result = this.#interpret(request, reply, attempt);
      if (!(result instanceof ApiError)) return result;
      last = result;
      if (result.outcome === "unknown" && !isRead(request)) history.uncertain = true;

      const { retryAfterMs: asked, init } = result;
      // Applies to every caller, even if this one gives up.
      if (asked !== undefined && result.status === 429) budget.pause(asked);
      const ended = "status" in reply ? { status: reply.status, foreign: init.foreign } : reply;
      const wait = retryDelayMs(
        { method, ...ended },
        { attempt, maxRetries, repeatable: request.repeatable, asked },
      );
      if (wait === undefined) throw result;
      if (wait >= ANNOUNCE_WAIT_MS) {
        const seconds = Math.ceil(wait / 1000);
        this.#options.log.info(
          `waiting ${seconds} s before the next attempt: ${this.#redact(result.message)}`,
        );
      }
      await this.#unlessCancelled(what, () => sleep(wait, undefined, { signal: this.#stop }));
    }
  }

  /** Waits until one more request may be sent, and acquires a connection, which `#attempt` releases. */
  async #waitForTurn(immediate: boolean): Promise<void> {
    const { budget, log, patient = true } = this.#options;
    for (;;) {
      await budget.take({
        signal: this.#stop,
        maxWaitMs: patient && !immediate ? RETRY.maxRetryAfterMs : IMPATIENT_WAIT_MS,
        onWait: ({ ms, reason }) => {
          if (ms >= ANNOUNCE_WAIT_MS) log.info(`waiting ${Math.ceil(ms / 1000)} s: ${reason}`);
        },
      });
      await this.#connections.acquire(this.#stop);
      if (this.#unresponsive !== undefined) {
        this.#connections.release();
        throw new NotSentError(this.#unresponsive, "Check edgeguard:baseUrl and the network.");
      }
      if (!budget.paused && !this.#isStopped()) return;
      this.#connections.release(); // Paused or stopped while waiting for the connection.
      this.#stop.throwIfAborted();
    }
  }

  /** Sends one request. Throws only if it's cancelled, never for a network failure or an error response. */
  async #attempt(
    request: ApiRequest,
    credential: Credential,
    history: AttemptHistory,
  ): Promise<Reply | LostResponse> {
    const url = this.#url(request);
    const started = Date.now();
    const { signal, attemptMs, patient } = this.#options;
    const dispatcher = (): Dispatcher => this.#connections.dispatcher;
    this.#inFlight += 1;
    this.#sent += 1;
    try {
      const reply = await exchange(url, { ...request, credential, dispatcher, signal, attemptMs });
      const isLost = !("status" in reply);
      if (isLost && signal?.aborted === true) {
        history.uncertain ||= !isRead(request);
        throw cancelledError(request.what, "notDone");
      }
      // Set before the connection is released, so that the next request sees it.
      if (isLost && patient === false && hasTimedOut(reply))
        this.#unresponsive ??= `an earlier request to ${url.origin} timed out`;
      const end = isLost ? (reply.errorCode ?? String(reply.cause)) : reply.status;
      const line = `${request.method} ${url.pathname}${url.search} -> ${end} in ${Date.now() - started} ms`;
      this.#debug(isLost || reply.requestId === undefined ? line : `${line}, request ID ${reply.requestId}`);
      return reply;
    } finally {
      this.#inFlight -= 1;
      this.#connections.release();
    }
  }

  #noteWrite(request: ApiRequest): void {
    const call = this.#options.call?.();
    if (call !== undefined && !isRead(request) && request.isNoWrite !== true) call.wrote = true;
  }

  #setClock(date: string | undefined): void {
    const serverTime = Date.parse(date ?? "");
    if (!Number.isNaN(serverTime)) this.#aheadMs = serverTime - Date.now();
  }

  /** Returns the response if it's a success, otherwise the error to throw. */
  #interpret(request: ApiRequest, reply: Reply | LostResponse, attempts: number): Success | ApiError {
    const { what, method, path, raw = false } = request;
    const base = { what, method, path, attempts, entitlement: request.entitlement };
    if (!("status" in reply)) return this.#lostError(base, reply);
    const { status, text, requestId } = reply;
    const call = this.#options.call?.();
    if (raw && status < 300) {
      call?.seen.add(reply.bytes.toString());
      return { ...reply, envelope: undefined };
    }
    // Only a DELETE may return no body; any other empty response is broken.
    if (text === "" && (status === 204 || (method === "DELETE" && status < 300)))
      return { ...reply, envelope: undefined };
    const envelope = decodeEnvelope(text);
    if (envelope !== undefined) this.#setClock(firstOf(reply.headers["date"])); // Only Cloudflare's own clock matters.
    const sentAndRead = [request.body, envelope?.result];
    const quotes = this.#quotes(() => `${what} ${this.#url(request).href}`, sentAndRead);
    this.#logMessages(envelope?.messages ?? [], quotes);
    if (!raw && status < 400 && envelope?.success === true) {
      call?.seen.add(envelope.result);
      call?.hideTwins(envelope.result);
      return { ...reply, envelope };
    }
    const errors = (envelope?.errors ?? []).map(({ code, message, pointer = "" }) => ({
      code,
      message: quotes.quote(message),
      pointer: POINTER.test(pointer) && this.#redact(pointer) === pointer ? pointer : undefined,
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
        ? "the connection closed before the rest of the response arrived"
        : envelope === undefined
          ? `the body is not an API response: ${quotes.describe(text, firstOf(reply.headers["content-type"]))}`
          : "Cloudflare gave no reason",
      advice:
        envelope === undefined && status < 400
          ? "Check edgeguard:baseUrl, and whether a proxy answers instead of Cloudflare."
          : adviceFor(status, errors, asked, this.#options.call?.()?.purpose),
    });
    // A bad credential or a missing zone is more helpful to know about than the caller's advice on its object.
    const isElsewhere = isUnauthenticated(failure) || isUnroutable(failure);
    const advice = isElsewhere ? undefined : request.advice?.({ status, errors });
    return advice === undefined ? failure : new ApiError({ ...failure.init, advice });
  }

  /** Returns the error for a lost response. */
  #lostError(base: Omit<ApiErrorInit, "outcome">, lost: LostResponse): ApiError {
    const { cause } = lost;
    if (cause instanceof ProxyError) {
      const { message, advice } = cause;
      return new ApiError({ ...base, outcome: "notDone", unsent: true, detail: message, cause, advice });
    }
    const outcome = outcomeOf({ method: base.method, ...lost });
    return new ApiError({
      ...base,
      outcome,
      detail: this.#redact(lostReason(lost, this.#options.baseUrl)),
      cause,
      advice: outcome === "notDone" ? "Check edgeguard:baseUrl and the network." : undefined,
    });
  }

  /** Logs Cloudflare's first messages, each once. */
  #logMessages(messages: readonly string[], quotes: Quotes): void {
    for (const message of messages.slice(0, MOST_MESSAGES)) {
      const line = `message from the API: ${quotes.quote(message)}`;
      if (this.#isNew(line)) this.#options.log.info(line);
    }
  }

  /** @param shown returns what the error shows anyway. */
  #quotes(shown: () => string, values: readonly unknown[] = []): Quotes {
    const call = this.#options.call?.();
    return new Quotes({
      secrets: this.#redactors(),
      values,
      seen: call?.seen,
      shown: () => `${shown()} ${call?.shown() ?? ""}`,
    });
  }

  #redactors(): readonly Redactor[] {
    const { secrets } = this.#options.call?.() ?? {};
    return secrets === undefined ? [this.redactor] : [this.redactor, secrets];
  }

  readonly #redact = (text: string): string =>
    this.#redactors().reduce((rest, redactor) => redactor.redact(rest), text);

  #isNew(line: string): boolean {
    if (this.#logged.has(line)) return false;
    this.#logged.add(line);
    return true;
  }

  #notUnderstood(init: Omit<ApiErrorInit, "outcome">, problem: string): ApiError {
    return new ApiError({
      ...init,
      outcome: "unknown",
      detail: this.#redact(problem),
      advice:
        "This version of pulumi-edgeguard can't read the response. Check edgeguard:baseUrl, then check for a newer version.",
    });
  }

  async #unlessCancelled<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.#isStopped()) throw cancelledError(what, "notDone");
    try {
      return await work();
    } catch (error) {
      if (this.#isStopped()) throw cancelledError(what, "notDone");
      throw error;
    }
  }

  #isStopped(): boolean {
    return this.#stop.aborted;
  }

  #url({ path, query = {} }: ApiRequest): URL {
    const url = new URL(this.#options.baseUrl.replace(/\/+$/, "") + path);
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(key, String(value));
    }
    return url;
  }

  #debug(line: string): void {
    this.#options.log.debug(this.#redact(line));
  }
}

/** A successful response, with its envelope if it has one. */
interface Success extends Reply {
  readonly envelope: Envelope | undefined;
}

/** Returns how warnings identify an unreadable record: its ID or name, otherwise its position in the list. */
function recordName(record: unknown, index: number, redact: (text: string) => string): string {
  const members = NAMING.flatMap((member) => {
    const value: unknown =
      typeof record === "object" && record !== null ? Reflect.get(record, member) : undefined;
    if (typeof value !== "string" && typeof value !== "number") return [];
    return [`${member} ${redact(JSON.stringify(value)).slice(0, LONGEST_NAME)}`];
  });
  return members.length === 0 ? `item ${index + 1} in the list` : members.join(", ");
}

const NAMING = ["id", "ref", "url", "name"];
const LONGEST_NAME = 200;

/** How many messages of one response are shown. */
const MOST_MESSAGES = 3;

/** A location in a body, as `/output_options/CVE-2021-44228`. */
const POINTER = /^[\w./-]{1,100}$/;

function problemOf({ issues: [issue] }: z.ZodError, ...root: string[]): string {
  if (issue === undefined) return "";
  const path = [...root, ...issue.path.map(String)].join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}
