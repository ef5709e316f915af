import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { VERSION } from "../version";
import { ATTEMPT_MS, undici } from "./connections";
import { authorization, type Credential } from "./credential";
import { explainProxy } from "./proxy";

/** Sends one HTTP request and reads its response. */

interface Sending {
  readonly method: Dispatcher.HttpMethod;
  /** The body, sent as JSON. A Buffer already contains JSON. */
  readonly body?: unknown;
  /** Whether to read a successful response as bytes. An error is still read as text. */
  readonly raw?: boolean;
  readonly credential: Credential;
  readonly dispatcher: () => Dispatcher;
  /** Aborts the request. */
  readonly signal: AbortSignal | undefined;
  /** The time limit for one attempt, from connecting to the last byte of the response. */
  readonly attemptMs: number | undefined;
}

/** A response that consists of the stored bytes, without the envelope. */
export interface Bytes {
  readonly bytes: Buffer;
  /** The headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Reply extends Bytes {
  readonly status: number;
  /** The body as text; empty if the response was read as bytes. */
  readonly text: string;
  /** Whether the status arrived but the body didn't. */
  readonly cutOff: boolean;
  readonly requestId: string | undefined;
  readonly retryAfter: string | undefined;
}

/** A response that didn't arrive or arrived only in part. */
export interface LostResponse {
  readonly errorCode: string | undefined;
  readonly syscall: string | undefined;
  readonly cause: unknown;
  /**
   * Whether part of the response arrived. The request was either applied or rejected, and there's no way to tell which.
   */
  readonly cutOff: boolean;
}

/** Sends a request and reads the complete response. Never throws for a network failure or an error response. */
export async function exchange(url: URL, sending: Sending): Promise<Reply | LostResponse> {
  const { signal, attemptMs = ATTEMPT_MS } = sending;
  const body = bytesOf(sending.body);
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(timeoutOf(attemptMs)), attemptMs);
  const breakOff = (): void => limit.abort(signal?.reason);
  signal?.addEventListener("abort", breakOff, { once: true });
  let response: Dispatcher.ResponseData | undefined;
  try {
    response = await undici().request(url, {
      method: sending.method,
      dispatcher: sending.dispatcher(),
      headers: headersOf(sending, body),
      ...(body === undefined ? {} : { body: inChunks(body) }),
      signal: limit.signal,
    });
    return await replyOf(response, sending.raw === true, body !== undefined, limit.signal);
  } catch (raised) {
    const cause = explainProxy(raised, url);
    const cutOff = response !== undefined;
    return { errorCode: errorMember(cause, "code"), syscall: errorMember(cause, "syscall"), cause, cutOff };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", breakOff);
  }
}

function headersOf({ raw, credential }: Sending, body: Buffer | undefined): Record<string, string> {
  return {
    accept: raw === true ? "*/*" : "application/json",
    "user-agent": `pulumi-edgeguard/${VERSION} node/${process.versions.node}`,
    ...authorization(credential),
    ...(body === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(body.length) }),
  };
}

async function replyOf(
  response: Dispatcher.ResponseData,
  raw: boolean,
  hasBody: boolean,
  stop: AbortSignal,
): Promise<Reply> {
  const { statusCode: status, headers } = response;
  const isRaw = raw && status < 300;
  const bytes = isRaw ? Buffer.from(await response.body.arrayBuffer()) : NO_BYTES;
  let cutOff = false;
  const text = isRaw
    ? ""
    : await response.body.text().catch((error: unknown) => {
        // A server that refuses a body midway may close the connection, so the status is enough.
        cutOff = hasBody && status >= 400 && status < 500;
        if (!cutOff || stop.aborted) throw error;
        return "";
      });
  const [requestId, retryAfter] = [firstOf(headers["cf-ray"]), firstOf(headers["retry-after"])];
  return { status, text, cutOff, bytes, headers, requestId, retryAfter };
}

const NO_BYTES = Buffer.alloc(0);

function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined || Buffer.isBuffer(body)) return body;
  return Buffer.from(JSON.stringify(body));
}

/**
 * Splits a large body into chunks, so that an early rejection can be read between two chunks. It would be lost if the
 * connection closed during one long write.
 */
function inChunks(body: Buffer): Buffer | Readable {
  return body.length <= CHUNK_BYTES ? body : Readable.from(chunksOf(body), { objectMode: false });
}

const CHUNK_BYTES = 64 * 1024;

function* chunksOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += CHUNK_BYTES) yield body.subarray(at, at + CHUNK_BYTES);
}

/** Returns a property of the error, or of the error that it wraps. */
function errorMember(error: unknown, key: "code" | "syscall"): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const own: unknown = Reflect.get(error, key);
  if (typeof own === "string") return own;
  // Node wraps several connection attempts into one error.
  if ("errors" in error && Array.isArray(error.errors)) return errorMember(error.errors[0], key);
  return "cause" in error ? errorMember(error.cause, key) : undefined;
}

export function firstOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** An error like those of Node.js itself. */
function timeoutOf(ms: number): Error {
  return Object.assign(new Error(`no complete response within ${ms / 1000} s`), { code: "ETIMEDOUT" });
}
