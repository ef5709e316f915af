import type { JsonObject } from "../runtime/values";
import type { LiteralUnion } from "../runtime/fields";

/** What a zone's Page Shield is set to, and what Cloudflare has seen the zone's pages load. */

/** Page Shield of a zone as it is. What Cloudflare does not give is absent. */
export interface PageShieldSettingsState {
  readonly enabled: boolean;
  /** When settings were last stored, ISO 8601. */
  readonly updatedAt?: string;
  /** Whether browsers report to Cloudflare's endpoint; read under either of its two names on the wire. */
  readonly useReportingEndpoint?: boolean;
  readonly useConnectionUrlPath?: boolean;
  /** Members of the answer that this version does not know, under the API's own names. */
  readonly extra?: JsonObject;
}

/** A policy as Cloudflare holds it; its texts are as they are stored. */
export interface PageShieldPolicyState {
  /** 32 hexadecimal digits. */
  readonly id: string;
  readonly description?: string;
  readonly action: LiteralUnion<"log" | "allow" | "add_reporting_directives">;
  /** Which requests it covers, in Cloudflare's filter language. */
  readonly expression: string;
  /** A boolean, whichever of its two forms Cloudflare uses. */
  readonly enabled: boolean;
  /** CSP text. */
  readonly value: string;
  /** Members of the answer that this version does not know, under the API's own names. */
  readonly extra?: JsonObject;
}

/** State of a record: seen lately, fewer than 3 times, or not for a week (`inactive`: only in the OpenAPI document). */
export type RecordStatus = LiteralUnion<"active" | "infrequent" | "inactive">;

/**
 * An outbound connection seen on a page of the zone. Only `id`, `url` and `host` are always
 * there: the plan decides over the rest, and what it lacks is absent. Timestamps are ISO 8601.
 */
export interface Connection {
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** Its path is recorded only where `useConnectionUrlPath` is set. */
  readonly url: string;
  /** Hostname of the page it was seen on. */
  readonly host: string;
  readonly addedAt?: string;
  readonly firstSeenAt?: string;
  readonly lastSeenAt?: string;
  /** A threat list names the domain. Not the classification by score: see `isMalicious`. */
  readonly domainReportedMalicious?: boolean;
  readonly maliciousDomainCategories?: readonly string[];
  /** A threat list names the URL. */
  readonly urlReportedMalicious?: boolean;
  readonly maliciousUrlCategories?: readonly string[];
  /** Page on which it was first seen. */
  readonly firstPageUrl?: string;
  readonly status?: RecordStatus;
  readonly urlContainsCdnCgiPath?: boolean;
  /** Pages on which it was seen. Only in the detail, and of a connection only as the OpenAPI has it. */
  readonly pageUrls?: readonly string[];
  /** Members of the answer that this version does not know, under the API's own names. */
  readonly extra?: JsonObject;
}

/**
 * What was found in a script's content. Scores go from 1 to 99, lower is worse; a script that has
 * not been scored has none, whether Cloudflare says null or nothing.
 */
export interface ScriptContent {
  /** SHA-256 of the content, 64 hexadecimal digits. */
  readonly hash?: string;
  /** What the classification as malicious goes by: see `isMalicious`. */
  readonly jsIntegrityScore?: number;
  readonly obfuscationScore?: number;
  readonly dataflowScore?: number;
  /** Only in the OpenAPI document. */
  readonly cryptominingScore?: number;
  /** Only in the OpenAPI document. */
  readonly magecartScore?: number;
  /** Only in the OpenAPI document. */
  readonly malwareScore?: number;
  /** When the content was fetched, ISO 8601. */
  readonly fetchedAt?: string;
  /** Members of the answer that this version does not know, under the API's own names. */
  readonly extra?: JsonObject;
}

/**
 * A script seen on a page of the zone: where, as with a connection, and what is known of its
 * content. Only `id`, `url` and `host` are always there; what the plan lacks is absent.
 */
export interface Script extends Connection, ScriptContent {
  /** Contents it had, newest first. Only in the detail. */
  readonly versions?: readonly ScriptContent[];
}

/**
 * A cookie seen on a page of the zone. Only `id`, `name` and `host` are always there. Timestamps
 * are ISO 8601.
 */
export interface Cookie {
  /** 32 hexadecimal digits. */
  readonly id: string;
  readonly name: string;
  /** Hostname of the page it was seen on. */
  readonly host: string;
  readonly type?: LiteralUnion<"first_party" | "unknown">;
  readonly domainAttribute?: string;
  readonly expiresAttribute?: string;
  readonly httpOnlyAttribute?: boolean;
  /** In seconds. Null: the cookie was set without one; absent: Cloudflare does not say. */
  readonly maxAgeAttribute?: number | null;
  readonly pathAttribute?: string;
  readonly sameSiteAttribute?: LiteralUnion<"lax" | "strict" | "none">;
  readonly secureAttribute?: boolean;
  readonly firstSeenAt?: string;
  readonly lastSeenAt?: string;
  /** Host and path, without a scheme. */
  readonly firstPageUrl?: string;
  readonly pageUrls?: readonly string[];
  /** In no document; kept where Cloudflare gives it. */
  readonly status?: RecordStatus;
  /** Members of the answer that this version does not know, under the API's own names. */
  readonly extra?: JsonObject;
}

/** A query parameter's value; a list is sent with commas. */
export type FilterValue = string | number | boolean | readonly string[];

/** Which records a list returns. */
export interface DetectedFilters {
  /** Hosts whose pages are meant; `*` at start or end stands for anything. Default: all. */
  readonly hosts?: string | readonly string[];
  /** States that are meant, sent as they are. Default: Cloudflare's, which is `active`. */
  readonly status?: RecordStatus | readonly RecordStatus[];
  /**
   * Any other query parameter under the API's own name, sent as it is: `{ exclude_cdn_cgi: false }`. Source: OpenAPI
   * `page-shield-list-page-shield-scripts` and its siblings.
   */
  readonly filters?: Readonly<Record<string, FilterValue>>;
}

export interface DetectedListArgs extends DetectedFilters {
  /** The zone, 32 hexadecimal digits. */
  readonly zoneId: string;
  /** One page alone, 1 or higher. Default: all pages are read, oldest record first; with `perPage` alone the first. */
  readonly page?: number;
  /** Records per page, 1 to 100. Given, only one page is read. Default 100. */
  readonly perPage?: number;
}

/** Where in the list a page is, as Cloudflare says; what it does not say is absent. */
export interface PageInfo {
  readonly page?: number;
  readonly perPage?: number;
  /** Records in this page. */
  readonly count?: number;
  /** Records that match, in all pages. */
  readonly totalCount?: number;
  readonly totalPages?: number;
}

export interface DetectedList<T> {
  readonly items: readonly T[];
  /** Only where one page was asked for. */
  readonly pageInfo?: PageInfo;
}
