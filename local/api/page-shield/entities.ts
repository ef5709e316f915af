import { z } from "zod";
import { identifier } from "../request";

/*
 * The Page Shield state of a zone. Members have Cloudflare's names, so that formatters only choose among them. The schemas
 * validate state files and requests to the control routes.
 */

const score = z.int().min(1).max(99).nullable();
const timestamp = z.iso.datetime({ offset: true });
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const recordStatus = z.enum(["active", "infrequent", "inactive"]);

const scores = {
  hash: sha256.nullable(),
  js_integrity_score: score,
  obfuscation_score: score,
  dataflow_score: score,
  cryptomining_score: score,
  magecart_score: score,
  malware_score: score,
  fetched_at: timestamp.nullable(),
};

const scriptVersion = z.strictObject(scores);

export const connection = z.strictObject({
  id: identifier,
  url: z.string(),
  host: z.string(),
  added_at: timestamp,
  first_seen_at: timestamp,
  last_seen_at: timestamp,
  first_page_url: z.string(),
  page_urls: z.array(z.string()),
  status: recordStatus,
  url_contains_cdn_cgi_path: z.boolean(),
  domain_reported_malicious: z.boolean(),
  url_reported_malicious: z.boolean(),
  malicious_domain_categories: z.array(z.string()).optional(),
  malicious_url_categories: z.array(z.string()).optional(),
});

export const script = z.strictObject({ ...connection.shape, ...scores, versions: z.array(scriptVersion) });

export const cookie = z.strictObject({
  id: identifier,
  type: z.enum(["first_party", "unknown"]),
  name: z.string(),
  host: z.string(),
  domain_attribute: z.string(),
  expires_attribute: timestamp,
  http_only_attribute: z.boolean(),
  max_age_attribute: z.int().nullable(),
  path_attribute: z.string(),
  same_site_attribute: z.enum(["lax", "strict", "none"]),
  secure_attribute: z.boolean(),
  first_seen_at: timestamp,
  last_seen_at: timestamp,
  first_page_url: z.string(),
  page_urls: z.array(z.string()),
  status: recordStatus,
});

const settings = z.strictObject({
  enabled: z.boolean(),
  updated_at: timestamp,
  use_reporting_endpoint: z.boolean(),
  use_connection_url_path: z.boolean(),
});

export const policyAction = z.enum(["log", "allow", "add_reporting_directives"]);

const policy = z.strictObject({
  id: identifier,
  description: z.string(),
  action: policyAction,
  expression: z.string(),
  enabled: z.boolean(),
  value: z.string(),
  /** Unknown properties, which are stored and returned. */
  further: z.record(z.string(), z.unknown()),
});

/** The settings and policies that users configure. */
export const configured = z.strictObject({ settings, policies: z.array(policy) });

/** What Page Shield has detected. */
export const detected = z.strictObject({
  scripts: z.array(script),
  connections: z.array(connection),
  cookies: z.array(cookie),
});

export type Script = z.infer<typeof script>;
export type ScriptVersion = z.infer<typeof scriptVersion>;
export type Connection = z.infer<typeof connection>;
export type Cookie = z.infer<typeof cookie>;
export type Settings = z.infer<typeof settings>;
export type Policy = z.infer<typeof policy>;
export type Configured = z.infer<typeof configured>;
export type Detected = z.infer<typeof detected>;
