import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { EdgeApi, type ApiOptions } from "../../provider/api/client";
import { RateBudget } from "../../provider/api/rate-budget";
import type { Credential } from "../../provider/api/credential";

export const TOKEN: Credential = { kind: "token", token: "local-token", origin: "edgeguard:apiToken" };

/** A client with the given options, and the messages that it prints. */
export function clientOf(
  baseUrl: string,
  options: Partial<ApiOptions> = {},
): {
  readonly client: EdgeApi;
  readonly info: string[];
  readonly warnings: string[];
  readonly debug: string[];
} {
  const info: string[] = [];
  const warnings: string[] = [];
  const debug: string[] = [];
  const client = new EdgeApi({
    baseUrl,
    credential: TOKEN,
    budget: new RateBudget([]),
    maxRetries: 1,
    log: {
      info: (line) => info.push(line),
      warn: (line) => warnings.push(line),
      debug: (line) => debug.push(line),
    },
    ...options,
  });
  return { client, info, warnings, debug };
}

export interface Throwaway {
  readonly url: string;
  /** The requests that arrived: method, then path and query, without the base path. */
  readonly seen: string[];
  close(): Promise<void>;
}

/** Closes each server after its test, even a failed one: an open server would keep jest running. */
const open: Throwaway[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

/** Starts a server for responses that the local API never gives. It closes after the test. */
export async function serve(
  answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
): Promise<Throwaway> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method ?? ""} ${(request.url ?? "").replace(/^\/v4/, "")}`);
    void answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const throwaway: Throwaway = {
    url: `http://127.0.0.1:${port}/v4`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
  open.push(throwaway);
  return throwaway;
}

/** Starts a proxy for `api`, which applies all requests. The proxy edits some responses or replaces their status. */
export function through(
  api: { readonly url: string },
  statusOf: (method: string, url: string) => number | undefined,
  edited: (text: string) => string = (text) => text,
  record?: (request: IncomingMessage) => void,
): Promise<Throwaway> {
  return serve(async (request, response) => {
    record?.(request);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "", url = "" } = request;
    const answer = await fetch(api.url + url.replace(/^\/v4/, ""), {
      method,
      headers: {
        authorization: request.headers.authorization ?? "",
        ...(chunks.length === 0 ? {} : { "content-type": "application/json" }),
      },
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    const text = await answer.text();
    const status = statusOf(method, url);
    response.writeHead(status ?? answer.status);
    response.end(status === undefined ? edited(text) : "trouble");
  });
}

export function envelope(result: unknown, more: object = {}): string {
  return JSON.stringify({ result, success: true, errors: [], messages: [], ...more });
}

/** Returns the error that a promise rejects with. If it doesn't reject, the test fails. */
export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    return error as Error; // Node's own errors aren't instances of the `Error` that jest gives to tests.
  }
  throw new Error("this was to fail, and did not");
}

/** Waits until `condition` is true. If it never is, the test's own time limit ends the test. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
