import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import type { Bag } from "../runtime/values";
import {
  getDetected,
  listDetected,
  type DetectedKind,
  type DetectedList,
  type DetectedListArgs,
  type RecordStatus,
} from "./detected";
import { amount, flag, furtherMembers, present, text, texts } from "../runtime/members";
import { ask, askOutput, type LookupOptions, type Inputs, type Known } from "../runtime/lookup";

/**
 * A cookie seen on a page of the zone (seed 000, "Cookie"). Only `id`, `name` and `host` are always there. Timestamps
 * are ISO 8601.
 */
export interface Cookie {
  /** 32 hexadecimal digits. */
  readonly id: string;
  readonly name: string;
  /** Hostname of the page it was seen on. */
  readonly host: string;
  readonly type?: Known<"first_party" | "unknown">;
  readonly domainAttribute?: string;
  readonly expiresAttribute?: string;
  readonly httpOnlyAttribute?: boolean;
  /** In seconds. Null: the cookie was set without one; absent: the service does not say. */
  readonly maxAgeAttribute?: number | null;
  readonly pathAttribute?: string;
  readonly sameSiteAttribute?: Known<"lax" | "strict" | "none">;
  readonly secureAttribute?: boolean;
  readonly firstSeenAt?: string;
  readonly lastSeenAt?: string;
  /** Host and path, without a scheme. */
  readonly firstPageUrl?: string;
  readonly pageUrls?: readonly string[];
  /** Neither seed nor OpenAPI show it in the record; kept where the service gives it. */
  readonly status?: RecordStatus;
  /** Members of the answer that this version does not know, under the API's own names. */
  readonly extra?: Bag;
}

const COOKIE_MEMBERS = {
  id: z.string(),
  name: z.string(),
  host: z.string(),
  type: text,
  domain_attribute: text,
  expires_attribute: text,
  http_only_attribute: flag,
  max_age_attribute: amount,
  path_attribute: text,
  same_site_attribute: text,
  secure_attribute: flag,
  first_seen_at: text,
  last_seen_at: text,
  first_page_url: text,
  page_urls: texts,
  status: text,
};

export const COOKIES: DetectedKind<Cookie> = {
  path: "cookies",
  noun: "cookie",
  everything: {},
  record: z.looseObject(COOKIE_MEMBERS).transform((raw) => ({
    ...present({
      id: raw.id,
      name: raw.name,
      host: raw.host,
      type: raw.type,
      domainAttribute: raw.domain_attribute,
      expiresAttribute: raw.expires_attribute,
      httpOnlyAttribute: raw.http_only_attribute,
      pathAttribute: raw.path_attribute,
      sameSiteAttribute: raw.same_site_attribute,
      secureAttribute: raw.secure_attribute,
      firstSeenAt: raw.first_seen_at,
      lastSeenAt: raw.last_seen_at,
      firstPageUrl: raw.first_page_url,
      pageUrls: raw.page_urls,
      status: raw.status,
    }),
    ...(raw.max_age_attribute === undefined ? {} : { maxAgeAttribute: raw.max_age_attribute }),
    ...furtherMembers(raw, COOKIE_MEMBERS),
  })),
};

/**
 * Cookies of a zone, on the Business plan and above. `status` is sent only where it is set: the OpenAPI does not know
 * it for cookies, while the seed says that without it only `active` ones are returned.
 *
 * @throws when an argument is wrong, the token lacks Page Shield Read, or the plan lacks cookies.
 */
export function getCookies(args: DetectedListArgs, opts: LookupOptions = {}): Promise<DetectedList<Cookie>> {
  return ask(opts, (host) => listDetected(host, "getCookies", COOKIES, args));
}

/** `getCookies` for arguments that are outputs. Unknown in a preview without credentials. */
export function getCookiesOutput(
  args: Inputs<DetectedListArgs>,
  opts: LookupOptions = {},
): pulumi.Output<DetectedList<Cookie>> {
  const what = "getCookiesOutput";
  return askOutput(what, args, opts, (host, known) => listDetected(host, what, COOKIES, known));
}

export interface CookieArgs {
  /** The zone, 32 hexadecimal digits. */
  readonly zoneId: string;
  /** The cookie's id, 32 hexadecimal digits, as `getCookies` gives it. */
  readonly cookieId: string;
}

/**
 * One cookie (seed 000, "Get cookie").
 *
 * @throws when an id is malformed, the zone has no such cookie, or the token lacks Page Shield Read.
 */
export function getCookie(args: CookieArgs, opts: LookupOptions = {}): Promise<Cookie> {
  return ask(opts, (host) => getDetected(host, "getCookie", COOKIES, args));
}

/** `getCookie` for arguments that are outputs. Unknown in a preview without credentials. */
export function getCookieOutput(args: Inputs<CookieArgs>, opts: LookupOptions = {}): pulumi.Output<Cookie> {
  const what = "getCookieOutput";
  return askOutput(what, args, opts, (host, known) => getDetected(host, what, COOKIES, known));
}
