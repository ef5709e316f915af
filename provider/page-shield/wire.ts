import { z } from "zod";
import type { EdgeApi, Query } from "../api/client";
import { ApiError } from "../api/errors";
import { byPage } from "../api/pages";
import { PAGE_SHIELD } from "../limits/index";
import { formatNumber } from "../limits/workers";
import type { BooleanForm } from "../runtime/boolean-form";
import { ID } from "../runtime/fields";
import { describe, omitAbsent, ownMember } from "../basics/json";
import { record, camelRecord, optional } from "../basics/schemas";
import type {
  Connection,
  Cookie,
  FilterValue,
  PageShieldPolicyState,
  PageShieldSettingsState,
  Script,
} from "./records";

/**
 * Reads what Page Shield's API returns: a zone's settings, policies and detections. Doesn't need the Pulumi SDK, so
 * commands can use it.
 */

/** A zone's settings, and the name under which the zone returns `useReportingEndpoint`: Cloudflare documents two. */
export interface SettingsAnswer {
  readonly settings: PageShieldSettingsState;
  readonly reportingMember: "use_cloudflare_reporting_endpoint" | "use_platform_reporting_endpoint";
}

const settings = camelRecord({
  enabled: z.boolean(),
  updated_at: optional(z.string()),
  use_cloudflare_reporting_endpoint: optional(z.boolean()),
  use_platform_reporting_endpoint: optional(z.boolean()),
  use_connection_url_path: optional(z.boolean()),
}).transform(({ useCloudflareReportingEndpoint, usePlatformReportingEndpoint, ...rest }): SettingsAnswer => ({
  settings: {
    ...rest,
    ...omitAbsent({ useReportingEndpoint: useCloudflareReportingEndpoint ?? usePlatformReportingEndpoint }),
  },
  reportingMember:
    usePlatformReportingEndpoint === undefined
      ? "use_cloudflare_reporting_endpoint"
      : "use_platform_reporting_endpoint",
}));

export function readSettings(api: EdgeApi, zone: string): Promise<SettingsAnswer> {
  return api.get(`/zones/${zone}/page_shield`, {
    what: `Reading Page Shield settings of zone ${zone}`,
    schema: settings,
    entitlement: "Page Shield",
  });
}

/** A policy, and the type with which the zone returns `enabled`: Cloudflare documents two. */
export interface PolicyAnswer {
  readonly policy: PageShieldPolicyState;
  readonly form: BooleanForm;
}

export const policyAnswer = camelRecord({
  id: z.string(),
  description: optional(z.string()),
  action: z.string(),
  expression: z.string(),
  enabled: z.union([z.boolean(), z.enum(["true", "false"])]),
  value: z.string(),
}).transform(({ enabled, ...policy }): PolicyAnswer => ({
  policy: { ...policy, enabled: enabled === true || enabled === "true" },
  form: typeof enabled === "string" ? "string" : "boolean",
}));

export function policiesPath(zone: string): string {
  return `/zones/${zone}/page_shield/policies`;
}

/** What a plan needs for policies, in messages. */
export const POLICIES = "Page Shield policies (an Enterprise plan add-on)";

/**
 * Lists a zone's policies.
 *
 * @param complete whether the list fails if a policy can't be read. By default, it's left out with a warning.
 */
export async function listPolicies(
  api: EdgeApi,
  zone: string,
  { complete = false }: { readonly complete?: boolean } = {},
): Promise<readonly PolicyAnswer[]> {
  const what = `Listing the policies in zone ${zone}`;
  const list = { what, record: policyAnswer, complete, entitlement: POLICIES };
  return (await api.list(policiesPath(zone), list)).records;
}

export function readPolicy(api: EdgeApi, zone: string, id: string): Promise<PolicyAnswer> {
  return api.get(`${policiesPath(zone)}/${id}`, {
    what: `Reading policy ${id} in zone ${zone}`,
    schema: policyAnswer,
    advice: ({ status }) =>
      status === 404
        ? "If the policy was deleted elsewhere, run `pulumi refresh`. The next `pulumi up` then recreates it."
        : undefined,
  });
}

/** A kind of detection: scripts, connections or cookies. */
export interface DetectedKind<T> {
  /** The last segment of the list's URL path, which is also the plural noun in messages. */
  readonly path: string;
  readonly noun: string;
  readonly record: z.ZodType<T>;
  /** Query parameters that make Cloudflare include the detections that it omits by default. */
  readonly includeAll: Readonly<Record<string, FilterValue>>;
}

/** Properties that scripts and connections share. */
const CONNECTION_MEMBERS = {
  id: z.string(),
  url: z.string(),
  host: z.string(),
  added_at: optional(z.string()),
  first_seen_at: optional(z.string()),
  last_seen_at: optional(z.string()),
  domain_reported_malicious: optional(z.boolean()),
  malicious_domain_categories: optional(z.array(z.string())),
  url_reported_malicious: optional(z.boolean()),
  malicious_url_categories: optional(z.array(z.string())),
  first_page_url: optional(z.string()),
  status: optional(z.string()),
  url_contains_cdn_cgi_path: optional(z.boolean()),
  page_urls: optional(z.array(z.string())),
};

export const CONNECTIONS: DetectedKind<Connection> = {
  path: "connections",
  noun: "connection",
  includeAll: { exclude_cdn_cgi: false },
  record: camelRecord(CONNECTION_MEMBERS),
};

const CONTENT_MEMBERS = {
  hash: optional(z.string()),
  js_integrity_score: optional(z.number()),
  obfuscation_score: optional(z.number()),
  dataflow_score: optional(z.number()),
  cryptomining_score: optional(z.number()),
  magecart_score: optional(z.number()),
  malware_score: optional(z.number()),
  fetched_at: optional(z.string()),
};

export const SCRIPTS: DetectedKind<Script> = {
  path: "scripts",
  noun: "script",
  includeAll: { exclude_cdn_cgi: false, exclude_duplicates: false },
  record: camelRecord({
    ...CONNECTION_MEMBERS,
    ...CONTENT_MEMBERS,
    versions: z
      .array(camelRecord(CONTENT_MEMBERS))
      .nullish()
      .transform((versions) => versions ?? undefined),
  }),
};

export const COOKIES: DetectedKind<Cookie> = {
  path: "cookies",
  noun: "cookie",
  includeAll: {},
  record: camelRecord({
    id: z.string(),
    name: z.string(),
    host: z.string(),
    type: optional(z.string()),
    domain_attribute: optional(z.string()),
    expires_attribute: optional(z.string()),
    http_only_attribute: optional(z.boolean()),
    max_age_attribute: z.number().nullish(),
    path_attribute: optional(z.string()),
    same_site_attribute: optional(z.string()),
    secure_attribute: optional(z.boolean()),
    first_seen_at: optional(z.string()),
    last_seen_at: optional(z.string()),
    first_page_url: optional(z.string()),
    page_urls: optional(z.array(z.string())),
    status: optional(z.string()),
  }),
};

const RESERVED_PARAMETERS: Readonly<Record<string, string>> = {
  hosts: "has its own argument. Set hosts",
  status: "has its own argument. Set status",
  page: "is not supported, because all pages are read. Remove it",
  per_page: "is not supported, because all pages are read. Remove it",
  order_by: "is not supported, because all pages are read, oldest detection first. Sort the result",
  direction: "is not supported, because all pages are read, oldest detection first. Sort the result",
  prioritize_malicious:
    "is not supported, because all pages are read, oldest detection first. Sort the result",
  export: "is not supported, because it makes the API return a file. Remove it",
};

const LIST_FORM = "must be a string or a list with at least one item (omit it for the default)";

const commaList = z
  .union([z.string(), z.array(z.string())], LIST_FORM)
  .refine((given) => splitWords(given).length > 0 && splitWords(given).every((word) => word !== ""), {
    error: ({ input }) => `${LIST_FORM}, not ${describe(input)}`,
  })
  .transform((given) => splitWords(given).join(","));

function splitWords(given: string | readonly string[]): string[] {
  return (typeof given === "string" ? given.split(",") : given).map((word) => word.trim());
}

const filters = record(
  z.union(
    [z.string(), z.number(), z.boolean(), z.array(z.string())],
    "must be a string, a number, true, false or a list of strings",
  ),
).superRefine((given, ctx) => {
  for (const name of Object.keys(given)) {
    const advice = ownMember(RESERVED_PARAMETERS, name);
    if (advice !== undefined) ctx.addIssue({ code: "custom", path: [name], message: advice });
  }
});

/** Schemas for the properties of `DetectedFilters`. */
export const filterShape = {
  hosts: commaList.optional(),
  status: commaList.optional(),
  filters: filters.optional(),
};

/** Schemas for the properties of `DetectedListArgs`. */
export const listShape = { zoneId: ID.zone, ...filterShape };

/** A list's arguments, validated by `listShape`. */
interface ListQuery {
  readonly zoneId: string;
  readonly hosts?: string | undefined;
  readonly status?: string | undefined;
  readonly filters?: Readonly<Record<string, FilterValue>> | undefined;
  /** Whether the list fails if a detection can't be read. By default, that detection is left out with a warning. */
  readonly complete?: boolean;
}

/**
 * Lists all detections of one kind.
 *
 * @throws ApiError if there are more than fit into memory.
 */
export async function listDetected<T extends { readonly id: string }>(
  api: EdgeApi,
  { path, record }: DetectedKind<T>,
  args: ListQuery,
): Promise<T[]> {
  const what = `Listing the ${path} in zone ${args.zoneId}`;
  const list = `/zones/${args.zoneId}/page_shield/${path}`;
  const items: T[] = [];
  const pages = byPage(api, list, {
    what,
    record,
    query: { ...toQuery(args), ...PAGE_SHIELD.STEADY_ORDER },
    perPage: PAGE_SHIELD.MAX_PER_PAGE,
    complete: args.complete ?? false,
    key: ({ id }) => id,
  });
  for await (const item of pages) {
    if (items.length === PAGE_SHIELD.MAX_DETECTIONS) throw tooMany(what, list);
    items.push(item);
  }
  return items;
}

function tooMany(what: string, path: string): ApiError {
  const detail = `there are more than ${formatNumber(PAGE_SHIELD.MAX_DETECTIONS)}, the most that are read`;
  const advice = "Set hosts or status, so that fewer match.";
  return new ApiError({ what, method: "GET", path, status: 200, outcome: "notDone", detail, advice });
}

/** Reads one detection, including the properties that lists omit. */
export function getDetected<T>(
  api: EdgeApi,
  { path, noun, record }: DetectedKind<T>,
  zoneId: string,
  id: string,
): Promise<T> {
  return api.get(`/zones/${zoneId}/page_shield/${path}/${id}`, {
    what: `Reading ${noun} ${id} in zone ${zoneId}`,
    schema: record,
  });
}

/** @param lookup the lookup that lists such IDs, for error messages. */
export function recordId(noun: string, lookup: string): z.ZodType<string, string> {
  return ID.of(`a ${noun} ID`, `Find it with ${lookup}.`);
}

function toQuery(args: ListQuery): Query {
  const filters = Object.entries(args.filters ?? {}).map(
    ([name, value]): [string, string | number | boolean] => [
      name,
      typeof value === "object" ? value.join(",") : value,
    ],
  );
  return { ...Object.fromEntries(filters), hosts: args.hosts, status: args.status };
}
