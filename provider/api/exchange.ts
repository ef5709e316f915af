import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { VERSION } from "../version";
import { ATTEMPT_MS, undici } from "./connections";
import { authorization, type Credential } from "./credential";
import { explainProxy } from "./proxy";

/** One request on the wire, and what came of it. */

interface Sending {
  readonly method: Dispatcher.HttpMethod;
  /** Sent as JSON; a Buffer is JSON already. */
  readonly body?: unknown;
  /** A success is taken as bytes; a refusal is text all the same. */
  readonly raw?: boolean;
  readonly credential: Credential;
  readonly dispatcher: () => Dispatcher;
  /** Breaks the request off. */
  readonly signal: AbortSignal | undefined;
  /** Longest time from the connection to the last byte of the answer. */
  readonly attemptMs: number | undefined;
}

/** An answer that is no envelope but the thing itself. */
export interface Bytes {
  readonly bytes: Buffer;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Reply extends Bytes {
  readonly status: number;
  /** Empty where bytes were asked for and given. */
  readonly text: string;
  /** Its text got lost, and its status did not. */
  readonly cutOff: boolean;
  readonly requestId: string | undefined;
  readonly retryAfter: string | undefined;
}

/** What is left of an answer that did not arrive whole. */
export interface LostAnswer {
  readonly errorCode: string | undefined;
  readonly syscall: string | undefined;
  readonly cause: unknown;
  /** True when the answer had begun: the request had been carried out, or refused, and nobody knows which. */
  readonly cutOff: boolean;
}

/** Sends a request and reads its answer whole. Never throws for what the network or the service did. */
export async function exchange(url: URL, sending: Sending): Promise<Reply | LostAnswer> {
  const { signal, attemptMs = ATTEMPT_MS } = sending;
  const body = bytesOf(sending.body);
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new AttemptTimeoutError(attemptMs)), attemptMs);
  const breakOff = (): void => limit.abort(signal?.reason);
  signal?.addEventListener("abort", breakOff, { once: true });
  let response: Dispatcher.ResponseData | undefined;
  try {
    response = await undici().request(url, {
      method: sending.method,
      dispatcher: sending.dispatcher(),
      headers: headersOf(sending, body),
      ...(body === undefined ? {} : { body: piecemeal(body) }),
      signal: limit.signal,
    });
    return await replyOf(response, sending.raw === true, body !== undefined, limit.signal);
  } catch (raised) {
    const cause = explainProxy(raised, url);
    const cutOff = response !== undefined;
    return { errorCode: textOf(cause, "code"), syscall: textOf(cause, "syscall"), cause, cutOff };
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
        // Who refuses a body before all of it was sent may close the connection: the status is the answer.
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
 * A large body goes out in pieces: between them an early refusal is read, which a connection that is closed in the middle
 * of one long write would take with it.
 */
function piecemeal(body: Buffer): Buffer | Readable {
  return body.length <= PIECE_BYTES ? body : Readable.from(piecesOf(body), { objectMode: false });
}

const PIECE_BYTES = 64 * 1024;

function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
}

/** An attempt has taken all the time that it may. */
class AttemptTimeoutError extends Error {
  readonly code = "ETIMEDOUT";

  constructor(ms: number) {
    super(`no complete answer within ${ms / 1000} s`);
  }
}

/** A member of the error, or of what it wraps. */
function textOf(error: unknown, key: "code" | "syscall"): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const own: unknown = Reflect.get(error, key);
  if (typeof own === "string") return own;
  // Several connection attempts are wrapped into one error.
  if ("errors" in error && Array.isArray(error.errors)) return textOf(error.errors[0], key);
  return "cause" in error ? textOf(error.cause, key) : undefined;
}

export function firstOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
