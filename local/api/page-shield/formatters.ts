import { type Plan, rank } from "../limits";
import type { Dialect } from "../options";
import type { Zone } from "../state";
import type { Connection, Cookie, Policy, Script, ScriptVersion, Settings } from "./entities";

/** Where an entity is shown, and to whom. */
export interface View {
  readonly dialect: Dialect;
  readonly zone: Zone;
}

export type Wire = Record<string, unknown>;

/** D04: each dialect knows one name. */
export function reportingMember(dialect: Dialect) {
  return dialect === "seed" ? "use_platform_reporting_endpoint" : "use_cloudflare_reporting_endpoint";
}

export function settingsToWire(settings: Settings, dialect: Dialect): Wire {
  return {
    enabled: settings.enabled,
    updated_at: settings.updated_at,
    [reportingMember(dialect)]: settings.use_reporting_endpoint,
    use_connection_url_path: settings.use_connection_url_path,
  };
}

/** D03: the seed's answer to an update is shorter than its answer to a read. */
export function updatedSettingsToWire(settings: Settings, dialect: Dialect): Wire {
  if (dialect === "published") return settingsToWire(settings, dialect);
  return { enabled: settings.enabled, updated_at: settings.updated_at };
}

export function policyToWire(policy: Policy, dialect: Dialect): Wire {
  const { further, enabled, ...known } = policy;
  return { ...further, ...known, enabled: dialect === "seed" ? String(enabled) : enabled };
}

/** A list entry. `page_urls` and `versions` belong to the detail. */
export function scriptToWire(script: Script, view: View): Wire {
  return shown(without(script, "page_urls", "versions"), view);
}

export function scriptDetailToWire(script: Script, view: View): Wire {
  const { page_urls, versions } = script;
  const detail = { page_urls, versions: versions.map((version) => versionToWire(version, view)) };
  return { ...scriptToWire(script, view), ...shown(detail, view) };
}

export function connectionToWire(connection: Connection, view: View): Wire {
  return shown(without(connection, "page_urls"), view);
}

/** D16: only the published detail says more than the list. */
export function connectionDetailToWire(connection: Connection, view: View): Wire {
  return shown(view.dialect === "seed" ? connectionToWire(connection, view) : connection, view);
}

/** D13, D15: no status on the wire; the published `max_age_attribute` is an integer or absent. */
export function cookieToWire(cookie: Cookie, { dialect }: View): Wire {
  const record = without(cookie, "status");
  const ageless = dialect === "published" && cookie.max_age_attribute === null;
  return ageless ? without(record, "max_age_attribute") : record;
}

function versionToWire(version: ScriptVersion, view: View): Wire {
  const { hash, js_integrity_score, fetched_at } = version;
  return shown(view.dialect === "seed" ? { hash, js_integrity_score, fetched_at } : version, view);
}

/** Members that the seed does not know. */
const publishedOnly = new Set(["cryptomining_score", "magecart_score", "malware_score"]);

/** Members that a plan must reach; the others are shown on every plan. */
const fromPlan: Readonly<Record<string, Plan>> = {
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

/** Leaves out what the plan does not reach and, for the seed, what it does not know: a score is an integer or absent. */
function shown(record: Wire, { dialect, zone }: View): Wire {
  const visible = Object.entries(record).filter(([name, value]) => {
    const needed = fromPlan[name];
    if (needed !== undefined && rank(zone.plan) < rank(needed)) return false;
    return dialect === "published" || (value !== null && !publishedOnly.has(name));
  });
  return Object.fromEntries(visible);
}

function without(record: Wire, ...names: readonly string[]): Wire {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}
