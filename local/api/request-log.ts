import type { Context } from "hono";

/** Headers whose value is a credential: the log says which kind was used, never the value. */
const credentialHeaders = new Set(["authorization", "x-auth-email", "x-auth-key", "cookie"]);

export interface LoggedRequest {
  /** ISO 8601, when the request arrived. */
  readonly at: string;
  readonly method: string;
  /** Below the base address, without the query: `/zones/…/page_shield`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Of the answer; null while there is none, and for ever when the connection was dropped. */
  status: number | null;
  /** Kind of the fault that struck it. */
  fault?: string;
  /** Parsed where it is JSON, else its text; absent when nothing was sent. */
  readonly body?: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly credential: "token" | "key" | "both" | "none";
  readonly userAgent: string | undefined;
  readonly contentType: string | undefined;
}

/** What arrived, oldest first. The array stays the same object, so a reference to it stays live. */
export class RequestLog {
  readonly entries: LoggedRequest[] = [];

  constructor(private readonly maxEntries: number) {}

  async record(c: Context, path: string, at: Date): Promise<LoggedRequest> {
    const text = await c.req.text();
    const entry: LoggedRequest = {
      at: at.toISOString(),
      method: c.req.method,
      path,
      query: c.req.query(),
      status: null,
      ...(text === "" ? {} : { body: parsed(text) }),
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function withoutCredentials(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !credentialHeaders.has(name)));
}

function credentialKind(c: Context): LoggedRequest["credential"] {
  const token = c.req.header("authorization") !== undefined;
  const pair = c.req.header("x-auth-email") !== undefined || c.req.header("x-auth-key") !== undefined;
  if (token && pair) return "both";
  if (token) return "token";
  return pair ? "key" : "none";
}
