import type { ApiContext } from "./context";
import { type Batch, batchOf } from "./kv/requests";
import { bodyBytes, bodyJson } from "./request";

/** Headers whose value is a credential. The log contains the kind of credential, never its value. */
const credentialHeaders = new Set(["authorization", "x-auth-email", "x-auth-key", "cookie"]);

export interface LoggedRequest {
  /** When the request arrived, in ISO 8601. */
  readonly at: string;
  /**
   * When the request arrived, in milliseconds. Uses the real clock instead of the API's own, so that concurrent
   * requests overlap.
   */
  readonly startedAt: number;
  /** The time just before the response is sent. Null until then. */
  endedAt: number | null;
  readonly method: string;
  /** The path relative to the base URL, without the query: `/zones/…/page_shield`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The response's status. Null until it's sent, and permanently if the connection was dropped. */
  status: number | null;
  /** The kind of fault that affected the request. */
  fault?: string;
  /** The body, parsed if it's JSON, otherwise as text. Absent if none was sent. */
  readonly body?: unknown;
  /** A summary that replaces `body` in requests with KV keys or values, to save memory. */
  readonly batch?: Batch;
  readonly headers: Readonly<Record<string, string>>;
  readonly credential: "token" | "key" | "both" | "none";
  readonly userAgent: string | undefined;
  readonly contentType: string | undefined;
}

/** The requests received, oldest first. The array is always the same object, so a reference to it stays up to date. */
export class RequestLog {
  readonly entries: LoggedRequest[] = [];

  constructor(readonly maxEntries: number) {}

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
    if (this.entries.length > this.maxEntries) this.entries.shift();
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
