import { type Plan, rank } from "../limits";
import type { Dialect } from "../options";
import type { Zone } from "../state";
import type { Connection, Cookie, Policy, Script, ScriptVersion, Settings } from "./entities";

/** The dialect and zone, which determine the properties of a response. */
export interface View {
  readonly dialect: Dialect;
  readonly zone: Zone;
}

export type Wire = Record<string, unknown>;

/** Returns the name of the setting for Cloudflare's reporting endpoint, which depends on the dialect. */
export function reportingMember(dialect: Dialect) {
  return dialect === "documented" ? "use_platform_reporting_endpoint" : "use_cloudflare_reporting_endpoint";
}

export function settingsToWire(settings: Settings, dialect: Dialect): Wire {
  return {
    enabled: settings.enabled,
    updated_at: settings.updated_at,
    [reportingMember(dialect)]: settings.use_reporting_endpoint,
    use_connection_url_path: settings.use_connection_url_path,
  };
}

/**
 * Converts settings to the response to an update. In Cloudflare's guides, it has fewer properties than the response to
 * a read.
 */
export function updatedSettingsToWire(settings: Settings, dialect: Dialect): Wire {
  if (dialect === "openapi") return settingsToWire(settings, dialect);
  return { enabled: settings.enabled, updated_at: settings.updated_at };
}

export function policyToWire(policy: Policy, dialect: Dialect): Wire {
  const { further, enabled, ...known } = policy;
  return { ...further, ...known, enabled: dialect === "documented" ? String(enabled) : enabled };
}

/** Converts a script to its form in a list. Only the response to a read by ID has `page_urls` and `versions`. */
export function scriptToWire(script: Script, view: View): Wire {
  return visibleMembers(omitMembers(script, "page_urls", "versions"), view);
}

export function scriptDetailToWire(script: Script, view: View): Wire {
  const { page_urls, versions } = script;
  const detail = { page_urls, versions: versions.map((version) => versionToWire(version, view)) };
  return { ...scriptToWire(script, view), ...visibleMembers(detail, view) };
}

export function connectionToWire(connection: Connection, view: View): Wire {
  return visibleMembers(omitMembers(connection, "page_urls"), view);
}

/**
 * Converts a connection to the response to a read by ID. Only in the OpenAPI schema does it have more properties than
 * in a list.
 */
export function connectionDetailToWire(connection: Connection, view: View): Wire {
  return visibleMembers(
    view.dialect === "documented" ? connectionToWire(connection, view) : connection,
    view,
  );
}

/**
 * Converts a cookie. Responses don't contain its status. In the OpenAPI schema, `max_age_attribute` is an integer or
 * absent.
 */
export function cookieToWire(cookie: Cookie, { dialect }: View): Wire {
  const record = omitMembers(cookie, "status");
  const ageless = dialect === "openapi" && cookie.max_age_attribute === null;
  return ageless ? omitMembers(record, "max_age_attribute") : record;
}

function versionToWire(version: ScriptVersion, view: View): Wire {
  const { hash, js_integrity_score, fetched_at } = version;
  return visibleMembers(
    view.dialect === "documented" ? { hash, js_integrity_score, fetched_at } : version,
    view,
  );
}

/** Properties that Cloudflare's guides don't mention. */
const OPENAPI_ONLY = new Set(["cryptomining_score", "magecart_score", "malware_score"]);

/** Properties that only some plans include, each with the lowest plan that includes it. */
const MINIMUM_PLAN: Readonly<Record<string, Plan>> = {
  first_page_url: "business",
  page_urls: "business",
  hash: "enterprise",
  versions: "enterprise",
  fetched_at: "enterprise",
  js_integrity_score: "enterprise",
  obfuscation_score: "enterprise",
  dataflow_score: "enterprise",
  cryptomining_score: "enterprise",
  magecart_score: "enterprise",
  malware_score: "enterprise",
  domain_reported_malicious: "enterprise",
  url_reported_malicious: "enterprise",
  malicious_domain_categories: "enterprise",
  malicious_url_categories: "enterprise",
};

/**
 * Omits properties that the plan doesn't have. In the dialect of Cloudflare's guides, also omits null scores and
 * properties that the guides don't mention.
 */
function visibleMembers(record: Wire, { dialect, zone }: View): Wire {
  const visible = Object.entries(record).filter(([name, value]) => {
    const needed = MINIMUM_PLAN[name];
    if (needed !== undefined && rank(zone.plan) < rank(needed)) return false;
    return dialect === "openapi" || (value !== null && !OPENAPI_ONLY.has(name));
  });
  return Object.fromEntries(visible);
}

function omitMembers(record: Wire, ...names: readonly string[]): Wire {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}
