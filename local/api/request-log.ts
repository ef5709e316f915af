import type { ApiContext } from "./context";
import { type Batch, batchOf } from "./kv/requests";
import { bodyBytes, bodyJson } from "./request";

/** Headers whose value is a credential: the log says which kind was used, never the value. */
const credentialHeaders = new Set(["authorization", "x-auth-email", "x-auth-key", "cookie"]);

export interface LoggedRequest {
  /** ISO 8601, when the request arrived. */
  readonly at: string;
  /** Milliseconds on the real clock, however the API's own clock was set or moved, so that concurrent requests overlap.
   */
  readonly startedAt: number;
  /** Just before the response is sent; null until then. */
  endedAt: number | null;
  readonly method: string;
  /** The path relative to the base URL, without the query: `/zones/…/page_shield`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The response's status; null until it's sent, and for good if the connection was dropped. */
  status: number | null;
  /** The kind of fault that hit the request. */
  fault?: string;
  /** Parsed if it's JSON, otherwise text; absent if no body was sent. */
  readonly body?: unknown;
  /** Replaces `body` in requests with keys or values, which would fill up memory. */
  readonly batch?: Batch;
  readonly headers: Readonly<Record<string, string>>;
  readonly credential: "token" | "key" | "both" | "none";
  readonly userAgent: string | undefined;
  readonly contentType: string | undefined;
}

/** The requests received, oldest first. The array stays the same object, so a reference to it stays up to date. */
export class RequestLog {
  readonly entries: LoggedRequest[] = [];

  readonly #maxEntries: number;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  async record(c: ApiContext, path: string, at: Date): Promise<LoggedRequest> {
    const startedAt = realTime();
    const batch = await batchOf(c, path);
    const entry: LoggedRequest = {
      at: at.toISOString(),
      startedAt,
      endedAt: null,
      method: c.req.method,
      path,
      query: c.req.query(),
      status: null,
      ...(batch === undefined ? await loggedBody(c) : { batch }),
      headers: withoutCredentials(c.req.header()),
      credential: credentialKind(c),
      userAgent: c.req.header("user-agent"),
      contentType: c.req.header("content-type"),
    };
    this.entries.push(entry);
    if (this.entries.length > this.#maxEntries) this.entries.shift();
    return entry;
  }

  clear(): void {
    this.entries.length = 0;
  }
}

export function realTime(): number {
  return performance.timeOrigin + performance.now();
}

async function loggedBody(c: ApiContext): Promise<Pick<LoggedRequest, "body">> {
  const bytes = await bodyBytes(c);
  if (bytes.length === 0) return {};
  const json = await bodyJson(c);
  return { body: json === undefined ? bytes.toString() : json.value };
}

function withoutCredentials(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !credentialHeaders.has(name)));
}

function credentialKind(c: ApiContext): LoggedRequest["credential"] {
  const token = c.req.header("authorization") !== undefined;
  const pair = c.req.header("x-auth-email") !== undefined || c.req.header("x-auth-key") !== undefined;
  if (token && pair) return "both";
  if (token) return "token";
  return pair ? "key" : "none";
}
