import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, EnvHttpProxyAgent, request, type Dispatcher } from "undici";
import type { z } from "zod";
import { VERSION } from "../version";
import { decodeEnvelope, type ApiNote, type ResultInfo } from "./envelope";
import { ApiError, CancelledError, isCredentialRefused, isUnauthenticated } from "./errors";
import type { RateBudget } from "./rate-budget";
import { Redactor } from "./redact";
import { backoffMs, outcomeOf, RETRY, retryAfterMs, shouldRetry, type Attempt } from "./retry";

/** What proves who asks: a bearer token (seeds 000, 001) or the pair of headers of seed 002. */
export type Credential = (
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "key"; readonly email: string; readonly key: string }
) & {
  /** Where it was found, as people name it: `edgeguard:apiToken`, `CLOUDFLARE_API_TOKEN`. */
  readonly origin: string;
};

/** Where the client's own remarks go. Every line is redacted before it arrives here. */
export interface ApiLog {
  info(line: string): void;
  warn(line: string): void;
  debug(line: string): void;
}

/** Longest waits for one attempt, in milliseconds. */
export const TIMEOUTS = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000 } as const;

/** Waits longer than this are announced, so that nobody takes a patient pipeline for a hanging one. */
const ANNOUNCE_WAIT_MS = 5_000;

export interface ApiOptions {
  /** Base address that ends in a version segment; a path prefix is kept. */
  readonly baseUrl: string;
  readonly credential: Credential | undefined;
  /** Tried once where `credential` is refused: a token saved by an earlier operation may have been rotated since. */
  readonly fallback?: Credential | undefined;
  readonly budget: RateBudget;
  readonly maxRetries?: number;
  /** Requests in flight at the same time. */
  readonly concurrency?: number;
  /** Fires when nothing may be sent any more. */
  readonly signal?: AbortSignal;
  /** Fires when no further request may begin; what is in flight is finished. */
  readonly closing?: AbortSignal;
  readonly log: ApiLog;
  /** Knows what may not be printed; shared by everything that prints. */
  readonly redactor?: Redactor;
  readonly timeouts?: { readonly connectMs: number; readonly headersMs: number; readonly bodyMs: number };
  /** Replaces the connection pool: a user's own proxy or a test's. */
  readonly dispatcher?: Dispatcher;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions<T> {
  /** What is attempted, as the start of a sentence about its failure: `Reading policy 5f… in zone 0d…`. */
  readonly what: string;
  /** Shape of `result`. */
  readonly schema: z.ZodType<T>;
  readonly query?: Query;
  readonly body?: unknown;
  /** Whether a second execution does no harm. Defaults by method: GET, PUT and DELETE do not, POST and PATCH may. */
  readonly repeatable?: boolean;
  /** Next step for a failure, where the caller knows more than the status tells. */
  readonly advice?: (failure: {
    readonly status: number;
    readonly errors: readonly ApiNote[];
  }) => string | undefined;
}

export interface Answer<T> {
  readonly result: T;
  readonly resultInfo: ResultInfo | undefined;
}

/** The one way to the API: authentication, envelope, retries, rate budget and cancellation in one place. */
export class EdgeApi {
  readonly redactor: Redactor;
  readonly #options: ApiOptions;
  readonly #dispatcher: Dispatcher;
  #credential: Credential | undefined;
  #fallbackRefused = false;
  /** Fires with either signal of the options. */
  readonly #stop: AbortSignal;
  #inFlight = 0;

  constructor(options: ApiOptions) {
    this.#options = options;
    this.#credential = options.credential;
    this.redactor = options.redactor ?? new Redactor();
    for (const credential of [options.credential, options.fallback])
      this.redactor.add(...secretsOf(credential));
    this.#dispatcher = options.dispatcher ?? pool(options);
    // Every request and every wait listens; Node would warn of a leak from the eleventh on.
    const signals = [options.signal, options.closing].filter((signal) => signal !== undefined);
    this.#stop = AbortSignal.any(signals);
    setMaxListeners(0, this.#stop, ...signals);
  }

  /** Requests that have been sent and not yet answered. */
  get inFlight(): number {
    return this.#inFlight;
  }

  get baseUrl(): string {
    return this.#options.baseUrl;
  }

  async get<T>(path: string, options: RequestOptions<T>): Promise<T> {
    return (await this.send("GET", path, options)).result;
  }

  async post<T>(path: string, options: RequestOptions<T>): Promise<T> {
    return (await this.send("POST", path, options)).result;
  }

  async put<T>(path: string, options: RequestOptions<T>): Promise<T> {
    return (await this.send("PUT", path, options)).result;
  }

  async patch<T>(path: string, options: RequestOptions<T>): Promise<T> {
    return (await this.send("PATCH", path, options)).result;
  }

  async delete<T>(path: string, options: RequestOptions<T>): Promise<T> {
    return (await this.send("DELETE", path, options)).result;
  }

  /**
   * Sends one request, again where that is safe and may help, and decodes the answer.
   *
   * @throws ApiError when the service refuses, cannot be reached, or answers something else than the envelope.
   * @throws CancelledError when the engine has gone.
   */
  async send<T>(method: Dispatcher.HttpMethod, path: string, options: RequestOptions<T>): Promise<Answer<T>> {
    const used = this.#credential;
    try {
      return await this.#sendWithRetries(method, path, options, used);
    } catch (error) {
      const { fallback } = this.#options;
      const tried = fallback === undefined || used === fallback || this.#fallbackRefused;
      if (!isCredentialRefused(error) || tried) throw explained(error, used);
      // Requests that were refused side by side each come here; the first to be accepted switches for all.
      try {
        const answer = await this.#sendWithRetries(method, path, options, fallback);
        this.#switchTo(fallback);
        return answer;
      } catch (second) {
        if (!isCredentialRefused(second)) throw second;
        this.#fallbackRefused = true; // A second refusal is the service's last word.
        throw explained(error, used);
      }
    }
  }

  #switchTo(fallback: Credential): void {
    if (this.#credential === fallback) return;
    const refused = this.#credential?.origin ?? "the saved credential";
    this.#credential = fallback;
    this.#options.log.warn(`${refused} was refused; ${fallback.origin} is used instead. ${SAVED_TOKEN}`);
  }

  /** Frees the connections. */
  close(): Promise<void> {
    return this.#dispatcher.destroy();
  }

  async #sendWithRetries<T>(
    method: Dispatcher.HttpMethod,
    path: string,
    options: RequestOptions<T>,
    credential: Credential | undefined,
  ): Promise<Answer<T>> {
    const { budget, log, maxRetries = RETRY.maxRetries } = this.#options;
    if (credential === undefined) throw new MissingCredentialsError(options.what);
    const repeatable = options.repeatable ?? (RETRY.repeatable as readonly string[]).includes(method);

    for (let attempt = 1; ; attempt += 1) {
      await this.#unlessCancelled(options.what, () => budget.take(this.#stop));
      const reply = await this.#attempt(method, path, options, credential);
      const failure = this.#judge(method, path, options, reply, attempt);
      if (failure === undefined) return this.#decode(method, path, options, reply);

      const known: Attempt =
        "status" in reply ? { method, status: reply.status } : { method, errorCode: reply.errorCode };
      const asked = "status" in reply ? retryAfterMs(reply.retryAfter, Date.now()) : undefined;
      const patience = asked === undefined || asked <= RETRY.maxRetryAfterMs;
      // It holds for every caller, not only this one, and also where this one gives up.
      if (asked !== undefined && patience && known.status === 429) budget.pause(asked);
      if (attempt > maxRetries || !patience || !shouldRetry(known, repeatable)) throw failure;
      // "Retry-After: 0" says nothing of when, and must not make us ask again without a pause.
      const wait = asked === undefined || asked === 0 ? backoffMs(attempt + 1) : asked;
      if (wait >= ANNOUNCE_WAIT_MS) {
        log.info(
          `waiting ${Math.ceil(wait / 1000)} s before the next attempt: ${this.redactor.redact(failure.message)}`,
        );
      }
      await this.#unlessCancelled(options.what, () => sleep(wait, undefined, { signal: this.#stop }));
    }
  }

  /** One request on the wire. Never throws for what the network or the service did; only for cancellation. */
  async #attempt<T>(
    method: Dispatcher.HttpMethod,
    path: string,
    options: RequestOptions<T>,
    credential: Credential,
  ): Promise<Reply | Lost> {
    const url = this.#url(path, options.query);
    const started = Date.now();
    const seen = { status: 0 };
    this.#inFlight += 1;
    try {
      const response = await request(url, {
        method,
        dispatcher: this.#dispatcher,
        headers: {
          accept: "application/json",
          "user-agent": `pulumi-edgeguard/${VERSION} node/${process.versions.node}`,
          ...authorization(credential),
          ...(options.body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
        ...(this.#options.signal === undefined ? {} : { signal: this.#options.signal }),
      });
      seen.status = response.statusCode;
      const text = await response.body.text();
      const requestId = first(response.headers["cf-ray"]);
      this.#debug(
        `${method} ${url.pathname}${url.search} -> ${response.statusCode} in ${Date.now() - started} ms`,
        requestId,
      );
      return {
        status: response.statusCode,
        text,
        requestId,
        retryAfter: first(response.headers["retry-after"]),
      };
    } catch (error) {
      if (this.#gone()) throw cancelled(options.what);
      const errorCode = codeOf(error);
      this.#debug(
        `${method} ${url.pathname}${url.search} -> ${errorCode ?? String(error)} in ${Date.now() - started} ms`,
      );
      return { errorCode, cause: error, cutOff: seen.status !== 0 };
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** The error that the reply amounts to, or undefined when it is a success. */
  #judge<T>(
    method: string,
    path: string,
    options: RequestOptions<T>,
    reply: Reply | Lost,
    attempts: number,
  ): ApiError | undefined {
    const base = { what: options.what, method, path, attempts };
    if (!("status" in reply)) {
      return new ApiError({
        ...base,
        outcome: outcomeOf({ method, errorCode: reply.errorCode }),
        detail: this.redactor.redact(lostDetail(reply, this.#options.baseUrl)),
        cause: reply.cause,
        advice:
          outcomeOf({ method, errorCode: reply.errorCode }) === "notDone"
            ? "Check edgeguard:baseUrl and the network."
            : undefined,
      });
    }
    const { status, text, requestId } = reply;
    // A deletion result may be no body at all; of anything else it would be a broken answer.
    if (text === "" && (status === 204 || (method === "DELETE" && status < 300))) return undefined;
    const envelope = decodeEnvelope(text);
    if (status < 400 && envelope?.success === true) return undefined;
    const errors = (envelope?.errors ?? []).map((e) => ({
      ...e,
      message: this.redactor.redact(e.message),
      pointer: e.pointer === undefined ? undefined : this.redactor.redact(e.pointer),
    }));
    const failure = new ApiError({
      ...base,
      status,
      errors,
      foreign: envelope === undefined,
      requestId,
      // success: false on a 2xx means the service looked at the request and declined it.
      outcome: envelope === undefined && status < 400 ? "unknown" : outcomeOf({ method, status }),
      detail:
        envelope === undefined
          ? `the body is not the API's envelope but ${excerpt(this.redactor.redact(text))}`
          : "the service gave no reason",
      advice: adviceFor(status, errors, retryAfterMs(reply.retryAfter, Date.now())),
    });
    // Who was not recognised is told of the credential, not of the object.
    const advice = isUnauthenticated(failure) ? undefined : options.advice?.({ status, errors });
    return advice === undefined ? failure : new ApiError({ ...failure.init, advice });
  }

  #decode<T>(method: string, path: string, options: RequestOptions<T>, reply: Reply | Lost): Answer<T> {
    const envelope = "text" in reply ? decodeEnvelope(reply.text) : undefined;
    for (const message of envelope?.messages ?? [])
      this.#options.log.info(`the API says: ${this.redactor.redact(message)}`);
    const parsed = options.schema.safeParse(envelope?.result ?? null);
    if (parsed.success) return { result: parsed.data, resultInfo: envelope?.resultInfo };
    const issue = parsed.error.issues[0];
    throw new ApiError({
      what: options.what,
      method,
      path,
      outcome: "unknown",
      ...("status" in reply ? { status: reply.status, requestId: reply.requestId } : {}),
      detail: this.redactor.redact(
        `result${issue === undefined ? "" : `${issue.path.map((key) => `.${String(key)}`).join("")}: ${issue.message}`}`,
      ),
      advice:
        "This version of pulumi-edgeguard does not understand the answer: check edgeguard:baseUrl, then look for a newer version.",
    });
  }

  async #unlessCancelled<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.#gone()) throw cancelled(what);
    try {
      return await work();
    } catch (error) {
      if (this.#gone()) throw cancelled(what);
      throw error;
    }
  }

  #gone(): boolean {
    return this.#stop.aborted;
  }

  #url(path: string, query: Query = {}): URL {
    const url = new URL(this.#options.baseUrl.replace(/\/+$/, "") + path);
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(key, String(value));
    }
    return url;
  }

  #debug(line: string, requestId?: string): void {
    this.#options.log.debug(
      this.redactor.redact(requestId === undefined ? line : `${line}, request id ${requestId}`),
    );
  }
}

/** Adds what is known of the credential to a refusal; the sentence then says which one to look at. */
function explained(error: unknown, { origin = "" }: Partial<Credential> = {}): unknown {
  if (!isCredentialRefused(error) || error.init.advice !== undefined) return error;
  const saved = origin.includes(":") ? ` ${SAVED_TOKEN}` : "";
  const advice = isUnauthenticated(error)
    ? `The credential from ${origin} was refused: it is wrong, revoked, expired, or made for something else.${saved}`
    : `The call is forbidden: the credential from ${origin} lacks the permission, or the plan lacks the feature.`;
  return new ApiError({ ...error.init, advice });
}

/** No credential was found. Raised before anything is sent. */
export class MissingCredentialsError extends Error {
  override readonly name = "MissingCredentialsError";
  constructor(what: string) {
    super(
      `${what} needs credentials and none are set. Set a token with "pulumi config set --secret edgeguard:apiToken <token>" or in CLOUDFLARE_API_TOKEN; ` +
        "or an email and key with edgeguard:apiEmail and edgeguard:apiKey, or CLOUDFLARE_EMAIL and CLOUDFLARE_API_KEY.",
    );
  }
}

const SAVED_TOKEN =
  "A refresh or destroy uses the token saved by the last up: run `pulumi up`, or refresh with --run-program.";

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly requestId: string | undefined;
  readonly retryAfter: string | undefined;
}

interface Lost {
  readonly errorCode: string | undefined;
  readonly cause: unknown;
  /** True when the answer had begun: the request had been carried out, or refused, and nobody knows which. */
  readonly cutOff: boolean;
}

function pool({ concurrency = 8, timeouts = TIMEOUTS }: ApiOptions): Dispatcher {
  const options: Agent.Options = {
    connections: concurrency,
    pipelining: 1,
    connect: { timeout: timeouts.connectMs },
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.bodyMs,
  };
  const proxied = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"].some(
    (name) => process.env[name],
  );
  return proxied ? new EnvHttpProxyAgent(options) : new Agent(options);
}

function authorization(credential: Credential): Record<string, string> {
  return credential.kind === "token"
    ? { authorization: `Bearer ${credential.token}` }
    : { "x-auth-email": credential.email, "x-auth-key": credential.key };
}

function secretsOf(credential: Credential | undefined): string[] {
  if (credential === undefined) return [];
  return credential.kind === "token" ? [credential.token] : [credential.key, credential.email];
}

function adviceFor(
  status: number,
  errors: readonly ApiNote[],
  retryAfter: number | undefined,
): string | undefined {
  if (errors.some((e) => e.code === 7003)) {
    return "The zone or account does not exist, or edgeguard:baseUrl is wrong. Where it is gone for good, forget the resource with `pulumi state delete`.";
  }
  const asked = retryAfter === undefined ? "" : ` It asks to wait ${Math.ceil(retryAfter / 1000)} s.`;
  if (status === 429) {
    return `The rate limit is used up.${asked} Lower edgeguard:requestsPerSecond, or run again later.`;
  }
  if (status === 413) return "The body is larger than the plan allows.";
  if (status >= 500)
    return `The service is in trouble; what was done so far is recorded.${asked} Run the command again.`;
  return undefined;
}

function lostDetail(lost: Lost, baseUrl: string): string {
  const reason = lost.cause instanceof Error ? lost.cause.message : String(lost.cause);
  const code = lost.errorCode === undefined ? "" : ` (${lost.errorCode})`;
  return lost.cutOff
    ? `the answer was cut off${code}`
    : `${reason === "" ? "no connection" : reason}${code} at ${new URL(baseUrl).origin}`;
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  if ("code" in error && typeof error.code === "string") return error.code;
  // Several connection attempts are wrapped into one error.
  if ("errors" in error && Array.isArray(error.errors)) return codeOf(error.errors[0]);
  return "cause" in error ? codeOf(error.cause) : undefined;
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function excerpt(text: string): string {
  const short = text.replace(/\s+/g, " ").trim().slice(0, 120);
  return short === "" ? "empty" : JSON.stringify(short);
}

function cancelled(what: string): CancelledError {
  return new CancelledError(
    `${what} was not carried out: the operation was cancelled or its engine has gone.`,
  );
}
