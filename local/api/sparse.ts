import type { Next } from "hono";
import { z } from "zod";
import type { ApiContext } from "./context";
import { BASE_PATH } from "./route";

/**
 * Makes responses as sparse as Cloudflare's OpenAPI schema allows. They omit every field that the schema doesn't
 * require, unless someone set the field or clients couldn't continue without it.
 */

type Member = "errors" | "messages" | "result" | "result_info";
type Fields = Readonly<Record<string, unknown>>;

interface Requirement {
  /** Matches the method and the path, relative to the base URL. */
  readonly on: RegExp;
  /** Required fields of the envelope, in addition to `success`. */
  readonly success: readonly Member[];
  readonly failure: readonly Member[];
}

const common = ["errors", "messages"] as const;
const all = [...common, "result"] as const;

/** The required fields of responses, by request. The first match applies. */
const requirements: readonly Requirement[] = [
  { on: /\/page_shield$/, success: [], failure: ["errors"] },
  { on: /^GET .*\/page_shield\/connections$/, success: ["result_info"], failure: ["errors"] },
  { on: /^GET .*\/page_shield\/\w+$/, success: ["result", "result_info"], failure: ["errors"] },
  { on: /\/page_shield\//, success: ["result"], failure: ["errors"] },
  { on: /^PUT .*\/storage\/kv\/namespaces\/\w+$/, success: all, failure: all },
  { on: /\/(logpush|storage\/kv)\//, success: common, failure: all },
  { on: /\/(rulesets|firewall\/waf)\b/, success: all, failure: all },
  // The schema requires nothing of responses that it doesn't describe.
  { on: /^/, success: [], failure: ["errors"] },
];

/** Requests that only query something, although their method isn't GET. Their result is never omitted. */
const questions = /\/(ownership|bulk\/get)$/;

const message = z.looseObject({ code: z.number(), message: z.string() });
const fields = z.record(z.string(), z.unknown());

const envelope = z.looseObject({
  success: z.boolean(),
  result: z.unknown().optional(),
  errors: z.array(message),
  messages: z.array(message),
  result_info: fields.optional(),
});

/** Makes each response sparse before it's sent. */
export async function answerSparsely(c: ApiContext, next: Next): Promise<void> {
  await next();
  const full = envelope.safeParse(c.get("sentStatus") === undefined ? await json(c.res) : undefined);
  if (!full.success || c.get("fault")?.kind === "raw") return;
  const { status, headers } = c.res;
  const reduced = sparse(`${c.req.method} ${c.req.path.slice(BASE_PATH.length)}`, full.data);
  c.res = undefined;
  c.res = new Response(JSON.stringify(reduced), { status, headers: new Headers(headers) });
}

async function json(response: Response): Promise<unknown> {
  if (response.headers.get("content-type")?.startsWith("application/json") !== true) return undefined;
  return await response.clone().json();
}

function sparse(request: string, full: z.infer<typeof envelope>): Fields {
  const { success, result, errors, messages, result_info } = full;
  const required = requirements.find(({ on }) => on.test(request))?.[success ? "success" : "failure"] ?? [];
  const asks = request.startsWith("GET ") || questions.test(request);
  const hasResult = asks || required.includes("result") || holdsFailedKeys(result);
  const notes = { errors: errors.map((each) => note(request, each)), messages };
  const info = required.includes("result_info") ? result_info : cursorOf(result_info);
  return {
    ...(required.includes("result") || (hasResult && !isHollow(result))
      ? { result: record(request, result) }
      : {}),
    success,
    ...(required.includes("errors") || errors.length > 0 ? { errors: notes.errors } : {}),
    ...(required.includes("messages") || messages.length > 0 ? { messages } : {}),
    ...(info === undefined ? {} : { result_info: info }),
  };
}

/**
 * Codes of errors that are returned before a request reaches a product. The products' own codes aren't in the schema.
 */
const fromTheGate = [6003, 7000, 7003, 9106, 10_000];

function note(request: string, { code, message: words }: z.infer<typeof message>): Fields {
  const coded = !/\/rulesets\b/.test(request) || fromTheGate.includes(code);
  return coded ? { code, message: words } : { message: words };
}

/** Returns a list's cursor, because clients couldn't continue the list without it. */
function cursorOf(info: Fields | undefined): Fields | undefined {
  const cursor = info?.["cursor"];
  if (typeof cursor === "string" && cursor !== "") return { cursor };
  return info?.["cursors"] === undefined ? undefined : { cursors: info["cursors"] };
}

function holdsFailedKeys(result: unknown): boolean {
  return !isHollow(fields.safeParse(result).data?.["unsuccessful_keys"]);
}

function isHollow(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

const detected = ["id", "host", "first_seen_at", "last_seen_at"];
const loaded = [...detected, "url", "added_at", "url_contains_cdn_cgi_path"];

/** Required fields of read-only records. */
const readOnly: readonly { readonly on: RegExp; readonly required: readonly string[] }[] = [
  { on: /\/page_shield\/(scripts|connections)\b/, required: loaded },
  { on: /\/page_shield\/cookies\b/, required: [...detected, "name", "type"] },
  { on: /\/storage\/kv\/namespaces(\/\w+)?$/, required: ["id", "title"] },
];

/** Default values of fields. A field with its default value is omitted. */
const defaults: readonly { readonly on: RegExp; readonly values: Fields }[] = [
  {
    on: /\/logpush\/.*jobs\b/,
    values: {
      dataset: "http_requests",
      enabled: false,
      filter_attack_traffic: false,
      frequency: "high",
      kind: "",
    },
  },
  { on: /\/rulesets\b/, values: { description: "" } },
  { on: /\/firewall\/waf\/packages\b/, values: { status: "active", modified_rules_count: 0 } },
];

/** A property of Logpush jobs that the OpenAPI schema doesn't mention. */
const UNDOCUMENTED = "filter";

const outputDefaults: Fields = {
  batch_prefix: "",
  batch_suffix: "",
  field_delimiter: ",",
  output_type: "ndjson",
  record_delimiter: "",
  record_prefix: "{",
  record_suffix: "}\n",
  record_template: "",
  sample_rate: 1,
  timestamp_format: "unixnano",
};

/** Removes optional fields from one record or a list of records. */
function record(request: string, result: unknown): unknown {
  if (Array.isArray(result)) return result.map((each) => record(request, each));
  const { data } = fields.safeParse(result);
  if (data === undefined) return result;
  const kept = readOnly.find(({ on }) => on.test(request))?.required;
  if (kept !== undefined)
    return Object.fromEntries(Object.entries(data).filter(([name]) => kept.includes(name)));
  const values = defaults.find(({ on }) => on.test(request))?.values;
  if (values === undefined) return data;
  const { rules, output_options: options, ...rest } = without(data, values);
  return {
    ...rest,
    ...(rules === undefined ? {} : { rules: record(request, rules) }),
    ...(options === undefined ? {} : { output_options: without(fields.parse(options), outputDefaults) }),
  };
}

function without(data: Fields, values: Fields): Fields {
  const set = Object.entries(data).filter(
    ([name, value]) => value !== null && value !== values[name] && name !== UNDOCUMENTED,
  );
  return Object.fromEntries(set);
}
