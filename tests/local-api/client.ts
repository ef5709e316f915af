import { type LocalApi, type LocalApiOptions, startLocalApi } from "edgeguard-local";
import { z } from "zod";

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON, else the text; undefined when there was none. */
  readonly body: unknown;
}

export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<ApiResponse>;

export const token = { authorization: "Bearer local-token" };

/** Plain HTTP to the API, without the provider's client. */
export function callerOf(api: LocalApi, credentials: Record<string, string> = token): Call {
  return (method, path, body, headers) =>
    request(api.url + path, method, body, { ...credentials, ...headers });
}

/** The local API's control routes. */
export function controlOf(api: LocalApi): Call {
  return (method, path, body) => request(new URL(`/__local${path}`, api.url).href, method, body, {});
}

async function request(
  url: string,
  method: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<ApiResponse> {
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: sent }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parsed(text) };
}

export function idOf(response: ApiResponse): string {
  return z.object({ result: z.object({ id: z.string() }) }).parse(response.body).result.id;
}

/** Values of one member over a list response. */
export function each(response: ApiResponse, member: string): unknown[] {
  const list = z
    .object({ result: z.array(z.record(z.string(), z.unknown())).default([]) })
    .parse(response.body);
  return list.result.map((record) => record[member]);
}

export function result(response: ApiResponse): Record<string, unknown> {
  return z.object({ result: z.record(z.string(), z.unknown()) }).parse(response.body).result;
}

const running: LocalApi[] = [];

/** A local API of the test's own, which closes after it. */
export async function start(options: LocalApiOptions = {}): Promise<LocalApi> {
  const api = await startLocalApi(options);
  running.push(api);
  return api;
}
afterEach(() => Promise.all(running.splice(0).map((api) => api.close())));

export const newPolicy = {
  description: "Blog: only our scripts",
  action: "allow",
  expression: 'http.host eq "www.shop.example"',
  enabled: true,
  value: "script-src 'self'",
};

function parsed(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
