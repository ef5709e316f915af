import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";

/** An entry in `errors` or `messages`. Codes below 1000 aren't in the published schema. */
export interface ApiMessage {
  readonly code: number;
  readonly message: string;
  readonly source?: { readonly pointer: string };
  readonly error_chain?: readonly { readonly code: number; readonly message: string }[];
}

/** Paging information for a list that's read by page. */
export interface ResultInfo {
  readonly page: number;
  readonly per_page: number;
  readonly count: number;
  readonly total_count: number;
  readonly total_pages: number;
}

/** Paging information for any list. KV omits some fields and lists keys by cursor; rulesets have only cursors. */
type AnyResultInfo = Partial<ResultInfo> & {
  readonly cursor?: string;
  readonly cursors?: { readonly after: string };
};

/** Thrown to reject a request. `server.ts` converts it to the error envelope. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  readonly errors: readonly ApiMessage[];

  constructor(
    readonly status: ContentfulStatusCode,
    errors: ApiMessage | readonly ApiMessage[],
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    const all = "code" in errors ? [errors] : errors;
    super(all.map((error) => error.message).join("; "));
    this.errors = all;
  }
}

/** Returns an ApiFailure with one error. `pointer` is the path of the invalid field in the body. */
export function refusal(
  status: ContentfulStatusCode,
  code: number,
  message: string,
  pointer?: string,
): ApiFailure {
  return new ApiFailure(status, { code, message, ...(pointer === undefined ? {} : { source: { pointer } }) });
}

export function ok(c: Context, result: unknown, resultInfo?: AnyResultInfo): Response {
  const body = { result, success: true, errors: [], messages: [] };
  return c.json(resultInfo === undefined ? body : { ...body, result_info: resultInfo });
}

export function fail(c: Context, failure: ApiFailure): Response {
  const body = { result: null, success: false, errors: failure.errors, messages: [] };
  return c.json(body, failure.status, failure.headers);
}

/**
 * Cloudflare's errors. If a code is marked INV, Cloudflare is known to reject such requests, but the code is made up.
 */
export const failures = {
  credentialsMissing: () => refusal(400, 9106, "Authentication failed"),

  credentialsMalformed: () =>
    new ApiFailure(400, {
      code: 6003,
      message: "Invalid request headers",
      error_chain: [{ code: 6111, message: "Invalid format for Authorization header" }],
    }),

  credentialsRefused: () => refusal(403, 10000, "Authentication error"),

  notEntitled: (what: string) => refusal(403, 10010 /* INV */, `not entitled: ${what}`),

  tooManyPolicies: (wanted: number, quota: number) => {
    const phase = "http_response_page_shield";
    const problem = `exceeded the maximum number of rules in the phase ${phase}: ${wanted} out of ${quota}`;
    return refusal(400, 10011 /* INV */, problem);
  },

  notFound: (what: string) => refusal(404, 10004, `${what} not found`),

  /** The error for a malformed identifier, or for a zone that no account here owns: both are routing errors. */
  notRouted: (status: 400 | 404, path: string) =>
    new ApiFailure(status, [
      { code: 7003, message: `Could not route to ${path}, perhaps your object identifier is invalid?` },
      { code: 7000, message: "No route for that URI" },
    ]),

  noControl: (request: string, list: string) => {
    const problem = `${request} is not a control route of the local API. GET ${list} lists the control routes.`;
    return refusal(404, 7000, problem);
  },

  methodNotAllowed: (method: string) => refusal(405, 10405, `${method} not allowed`),

  bodyNotJson: () => refusal(400, 10001, "invalid body: not JSON"),

  bodyWithoutJsonType: (type = "(none)") =>
    refusal(415, 10415 /* INV */, `unsupported content type ${type}: send application/json`),

  bodyTooLarge: (headers: Readonly<Record<string, string>> = {}) =>
    new ApiFailure(413, { code: 10413 /* INV */, message: "request entity too large" }, headers),

  bodyInvalid: (why: string, pointer?: string) => refusal(400, 10001, `invalid body: ${why}`, pointer),

  queryInvalid: (...issues: readonly string[]) =>
    new ApiFailure(
      400,
      issues.map((issue) => ({ code: 10001, message: `invalid query: ${issue}` })),
    ),

  tooManyRequests: (headers: Readonly<Record<string, string>>) =>
    new ApiFailure(429, { code: 10429 /* INV */, message: "too many requests" }, headers),

  internal: (error: unknown) => refusal(500, 10500, `the local API itself failed: ${String(error)}`),
};
