import type { JsonObject } from "../basics/json";
import type { LiteralUnion } from "../runtime/fields";

/** Page Shield settings of a zone, as Cloudflare returns them. Fields that Cloudflare omits are absent. */
export interface PageShieldSettingsState {
  /** Whether Page Shield monitors the zone's pages. */
  readonly enabled: boolean;
  /** When the settings were last changed, in ISO 8601. */
  readonly updatedAt?: string;
  /** Whether browsers report to Cloudflare's endpoint instead of one under the zone's own hostname. */
  readonly useReportingEndpoint?: boolean;
  /** Whether Page Shield records the path of a connection's URL, not only the host. */
  readonly useConnectionUrlPath?: boolean;
  /** Response fields that this version of edgeguard doesn't recognize, under their API names. */
  readonly extra?: JsonObject;
}

/** A Page Shield policy as Cloudflare returns it. */
export interface PageShieldPolicyState {
  /** The policy's ID (32 hex digits). */
  readonly id: string;
  /** The policy's description. */
  readonly description?: string;
  /** What happens to a script that `value` doesn't allow: `"log"` reports it, `"allow"` blocks it. */
  readonly action: LiteralUnion<"log" | "allow" | "add_reporting_directives">;
  /** The requests that the policy covers, in Cloudflare's Rules language. */
  readonly expression: string;
  /** Whether the policy is enabled. It's a boolean, even if Cloudflare returns a string. */
  readonly enabled: boolean;
  /** The Content Security Policy, as text. */
  readonly value: string;
  /** Response fields that this version of edgeguard doesn't recognize, under their API names. */
  readonly extra?: JsonObject;
}

/**
 * A detection's status: `active` if seen recently, `infrequent` if seen fewer than 3 times, `inactive` if not seen for
 * a week. `inactive` is documented only in Cloudflare's OpenAPI schema.
 */
export type RecordStatus = LiteralUnion<"active" | "infrequent" | "inactive">;

/**
 * An outbound connection that Page Shield has seen on a page of the zone. Only `id`, `url` and `host` are always present;
 * the others depend on the plan. Timestamps are in ISO 8601.
 */
export interface Connection {
  /** The detection's ID (32 hex digits). */
  readonly id: string;
  /** The URL. A connection's URL includes the path only with `useConnectionUrlPath`. */
  readonly url: string;
  /** The hostname of the page on which the detection was seen. */
  readonly host: string;
  /** When Cloudflare added the detection. */
  readonly addedAt?: string;
  /** When the detection was first seen. */
  readonly firstSeenAt?: string;
  /** When the detection was last seen. */
  readonly lastSeenAt?: string;
  /** Whether the domain is on a threat list. Scores are separate: see `isMalicious`. */
  readonly domainReportedMalicious?: boolean;
  /** The threat list's categories for the domain, such as `Malware`. */
  readonly maliciousDomainCategories?: readonly string[];
  /** Whether the URL is on a threat list. */
  readonly urlReportedMalicious?: boolean;
  /** The threat list's categories for the URL. */
  readonly maliciousUrlCategories?: readonly string[];
  /** The page on which the detection was first seen. */
  readonly firstPageUrl?: string;
  /** How recently and how often the detection was seen. */
  readonly status?: RecordStatus;
  /** Whether the URL is one of Cloudflare's own, under `/cdn-cgi/`. */
  readonly urlContainsCdnCgiPath?: boolean;
  /**
   * The pages on which the detection was seen. Present only if the detection was read by ID. For connections, it's
   * documented only in Cloudflare's OpenAPI schema.
   */
  readonly pageUrls?: readonly string[];
  /** Response fields that this version of edgeguard doesn't recognize, under their API names. */
  readonly extra?: JsonObject;
}

/**
 * What Cloudflare found in a script's content. Scores range from 1 to 99; lower is worse. A script that hasn't been
 * scored yet has none.
 */
export interface ScriptContent {
  /** SHA-256 of the content: 64 hex digits. */
  readonly hash?: string;
  /** The score that decides whether the script is malicious: see `isMalicious`. */
  readonly jsIntegrityScore?: number;
  /** The score for obfuscated code. Cloudflare replaced it with `jsIntegrityScore`. */
  readonly obfuscationScore?: number;
  /** The score for suspicious data flow. Cloudflare replaced it with `jsIntegrityScore`. */
  readonly dataflowScore?: number;
  /** The score for cryptomining. Documented only in Cloudflare's OpenAPI schema. */
  readonly cryptominingScore?: number;
  /** The score for Magecart-style attacks. Documented only in Cloudflare's OpenAPI schema. */
  readonly magecartScore?: number;
  /** The score for malware. Documented only in Cloudflare's OpenAPI schema. */
  readonly malwareScore?: number;
  /** When the content was fetched, in ISO 8601. */
  readonly fetchedAt?: string;
  /** Response fields that this version of edgeguard doesn't recognize, under their API names. */
  readonly extra?: JsonObject;
}

/**
 * A script that Page Shield has seen on a page of the zone, with what's known about its content. Only `id`, `url` and
 * `host` are always present; the others depend on the plan.
 */
export interface Script extends Connection, ScriptContent {
  /** The versions of the script's content over time, newest first. Present only if the script was read by ID. */
  readonly versions?: readonly ScriptContent[];
}

/**
 * A cookie that Page Shield has seen on a page of the zone. Only `id`, `name` and `host` are always present. Timestamps are
 * in ISO 8601.
 */
export interface Cookie {
  /** The detection's ID (32 hex digits). */
  readonly id: string;
  /** The cookie's name. */
  readonly name: string;
  /** The hostname of the page on which the detection was seen. */
  readonly host: string;
  /** Who set the cookie. */
  readonly type?: LiteralUnion<"first_party" | "unknown">;
  /** The cookie's `Domain` attribute. */
  readonly domainAttribute?: string;
  /** The cookie's `Expires` attribute, in ISO 8601. */
  readonly expiresAttribute?: string;
  /** Whether the cookie has the `HttpOnly` attribute. */
  readonly httpOnlyAttribute?: boolean;
  /**
   * The cookie's `Max-Age` attribute, in seconds. Null if the cookie has none. Absent if Cloudflare doesn't report it.
   */
  readonly maxAgeAttribute?: number | null;
  /** The cookie's `Path` attribute. */
  readonly pathAttribute?: string;
  /** The cookie's `SameSite` attribute. */
  readonly sameSiteAttribute?: LiteralUnion<"lax" | "strict" | "none">;
  /** Whether the cookie has the `Secure` attribute. */
  readonly secureAttribute?: boolean;
  /** When the detection was first seen. */
  readonly firstSeenAt?: string;
  /** When the detection was last seen. */
  readonly lastSeenAt?: string;
  /** The page on which the cookie was first seen: host and path, without a scheme. */
  readonly firstPageUrl?: string;
  /** The pages on which the detection was seen. */
  readonly pageUrls?: readonly string[];
  /** How recently and how often the cookie was seen. Cloudflare doesn't document this field for cookies. */
  readonly status?: RecordStatus;
  /** Response fields that this version of edgeguard doesn't recognize, under their API names. */
  readonly extra?: JsonObject;
}

/** The value of a query parameter. A list is sent as one string, separated by commas. */
export type FilterValue = string | number | boolean | readonly string[];

/** Which detections a list returns. */
export interface DetectedFilters {
  /** Returns only detections seen on these hosts; `*` at the start or end matches anything. By default, all hosts. */
  readonly hosts?: string | readonly string[];
  /**
   * Returns only detections with these statuses. They're sent unchanged. By default, Cloudflare returns only `active`
   * detections.
   */
  readonly status?: RecordStatus | readonly RecordStatus[];
  /**
   * Other query parameters of the API, by name. They're sent unchanged: `{ exclude_cdn_cgi: false }`. Those that sort are
   * refused, because all pages are read, oldest detection first: sort the result.
   */
  readonly filters?: Readonly<Record<string, FilterValue>>;
}

/**
 * Arguments of `getScripts`, `getConnections` and `getCookies`. All pages are read, oldest detection first, so the API's
 * `page` and `per_page` aren't arguments. More than 50,000 detections are refused: set `hosts` or `status`.
 */
export interface DetectedListArgs extends DetectedFilters {
  /** The zone's ID (32 hex digits). */
  readonly zoneId: string;
}

/** A list of detections. */
export interface DetectedList<T> {
  /** The detections, without duplicates. */
  readonly items: readonly T[];
}
