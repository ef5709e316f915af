import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { EdgeApi, type ApiOptions } from "../../provider/api/client";
import { RateBudget } from "../../provider/api/rate-budget";
import type { Credential } from "../../provider/api/credential";

export const TOKEN: Credential = { kind: "token", token: "local-token", origin: "edgeguard:apiToken" };

/** A client as a test wants it, with what it says. */
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
  /** What arrived: method, and path with query below the base. */
  readonly seen: string[];
  close(): Promise<void>;
}

/** Closed after each test, also after one that failed: a server left open would keep jest from ending. */
const open: Throwaway[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

/** A server for responses that the local API never gives. Lives until the end of the test. */
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

/** A server in front of `api`: everything is applied there, but some responses are edited or replaced with another status. */
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

/** The error a promise is rejected with; a promise that is not is a failed test. */
export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    return error as Error; // Errors of Node itself are of another realm than the tests' `Error`.
  }
  throw new Error("this was to fail, and did not");
}

/** Looks until `condition` holds; a test that waits for ever fails by its own time limit. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
