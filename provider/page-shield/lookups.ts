import { ID } from "../runtime/fields";
import { lookup, type Lookup, type ZoneArgs } from "../runtime/lookup";
import {
  CONNECTIONS,
  COOKIES,
  getDetected,
  listDetected,
  listShape,
  recordId,
  SCRIPTS,
  type DetectedKind,
  listPolicies,
  readPolicy,
  readSettings,
} from "./wire";
import type {
  Connection,
  Cookie,
  DetectedList,
  DetectedListArgs,
  PageShieldPolicyState,
  PageShieldSettingsState,
  Script,
} from "./records";

const settingsLookup = lookup<ZoneArgs, PageShieldSettingsState>("getPageShieldSettings")(
  { zoneId: ID.zone },
  async (host, { zoneId }) => (await readSettings(host.api, zoneId)).settings,
);

/**
 * Reads a zone's Page Shield settings.
 *
 * @example Read whether Page Shield is on
 * ```ts
 * import { getPageShieldSettings } from "pulumi-edgeguard";
 *
 * const settings = getPageShieldSettings({ zoneId: "0da42c8d2132a9ddaf714f9e7c920711" });
 *
 * export const isOn = settings.then(({ enabled }) => enabled);
 * ```
 *
 * @throws If the zone ID is malformed, the token lacks Page Shield Read, or the zone's plan doesn't include Page
 * Shield.
 * @see https://developers.cloudflare.com/client-side-security/reference/settings/
 * @see `GET /zones/{zone_id}/page_shield`
 */
export const getPageShieldSettings = settingsLookup.plain;

/**
 * The same as `getPageShieldSettings`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export const getPageShieldSettingsOutput = settingsLookup.output;

const policiesLookup = lookup<ZoneArgs, readonly PageShieldPolicyState[]>("getPageShieldPolicies")(
  { zoneId: ID.zone },
  async (host, { zoneId }) => (await listPolicies(host.api, zoneId)).map(({ policy }) => policy),
);

/**
 * Lists all Page Shield policies of a zone, in one request.
 *
 * @example List the enforced policies
 * ```ts
 * import { getPageShieldPolicies } from "pulumi-edgeguard";
 *
 * const policies = getPageShieldPolicies({ zoneId: "0da42c8d2132a9ddaf714f9e7c920711" });
 *
 * export const enforced = policies.then((all) =>
 *   all.filter(({ action, enabled }) => enabled && action === "allow").map(({ description }) => description),
 * );
 * ```
 *
 * @throws If the zone ID is malformed, the token lacks Page Shield Read, or the zone's plan doesn't include policies.
 * @see https://developers.cloudflare.com/client-side-security/rules/
 * @see `GET /zones/{zone_id}/page_shield/policies`
 */
export const getPageShieldPolicies = policiesLookup.plain;

/**
 * The same as `getPageShieldPolicies`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export const getPageShieldPoliciesOutput = policiesLookup.output;

/** Arguments of `getPageShieldPolicy`. */
export interface PolicyLookupArgs extends ZoneArgs {
  /** The policy's ID (32 hex digits), from `getPageShieldPolicies`. */
  readonly policyId: string;
}

const policyLookup = lookup<PolicyLookupArgs, PageShieldPolicyState>("getPageShieldPolicy")(
  { zoneId: ID.zone, policyId: recordId("policy", "getPageShieldPolicies") },
  async (host, { zoneId, policyId }) => (await readPolicy(host.api, zoneId, policyId)).policy,
);

/**
 * Reads one Page Shield policy of a zone.
 *
 * @example Read a policy by its ID
 * ```ts
 * import { getPageShieldPolicy } from "pulumi-edgeguard";
 *
 * const policy = getPageShieldPolicy({
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   policyId: "8d5f4a1c0b9e47c2a6f3e1d2c3b4a5f6",
 * });
 *
 * export const csp = policy.then(({ value }) => value);
 * ```
 *
 * @throws If an ID is malformed, the zone has no such policy, or the token lacks Page Shield Read.
 * @see https://developers.cloudflare.com/client-side-security/rules/
 * @see `GET /zones/{zone_id}/page_shield/policies/{policy_id}`
 */
export const getPageShieldPolicy = policyLookup.plain;

/**
 * The same as `getPageShieldPolicy`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export const getPageShieldPolicyOutput = policyLookup.output;

/** Returns the list lookup for one kind of detection. */
function listLookup<T extends { readonly id: string }>(
  name: string,
  kind: DetectedKind<T>,
): Lookup<DetectedListArgs, DetectedList<T>> {
  return lookup<DetectedListArgs, DetectedList<T>>(name)(listShape, async (host, args) => ({
    items: await listDetected(host.api, kind, args),
  }));
}

const connectionsLookup = listLookup("getConnections", CONNECTIONS);

/**
 * Lists the outbound connections that Page Shield has seen on a zone's pages. Requires the Business plan.
 *
 * Returns only `active` ones unless you set `status`.
 *
 * @example List the hosts that the checkout connects to
 * ```ts
 * import { getConnections } from "pulumi-edgeguard";
 *
 * const connections = getConnections({
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   hosts: "checkout.shop.example",
 * });
 *
 * export const urls = connections.then(({ items }) => items.map(({ url }) => url));
 * ```
 *
 * @throws If an argument is invalid, the token lacks Page Shield Read, or the zone's plan doesn't include connections.
 * @see https://developers.cloudflare.com/client-side-security/detection/monitor-connections-scripts/
 * @see `GET /zones/{zone_id}/page_shield/connections`
 */
export const getConnections = connectionsLookup.plain;

/**
 * The same as `getConnections`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export const getConnectionsOutput = connectionsLookup.output;

/** Arguments of `getConnection`. */
export interface ConnectionArgs extends ZoneArgs {
  /** The connection's ID (32 hex digits), from `getConnections`. */
  readonly connectionId: string;
}

const connectionLookup = lookup<ConnectionArgs, Connection>("getConnection")(
  { zoneId: ID.zone, connectionId: recordId("connection", "getConnections") },
  (host, { zoneId, connectionId }) => getDetected(host.api, CONNECTIONS, zoneId, connectionId),
);

/**
 * Reads one connection, regardless of its status.
 *
 * @example Read a connection by its ID
 * ```ts
 * import { getConnection } from "pulumi-edgeguard";
 *
 * const connection = getConnection({
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   connectionId: "8d5f4a1c0b9e47c2a6f3e1d2c3b4a5f6",
 * });
 *
 * export const pages = connection.then(({ pageUrls }) => pageUrls);
 * ```
 *
 * @throws If an ID is malformed, the zone has no such connection, or the token lacks Page Shield Read.
 * @see https://developers.cloudflare.com/client-side-security/detection/monitor-connections-scripts/
 * @see `GET /zones/{zone_id}/page_shield/connections/{connection_id}`
 */
export const getConnection = connectionLookup.plain;

/**
 * The same as `getConnection`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export const getConnectionOutput = connectionLookup.output;

const cookiesLookup = listLookup("getCookies", COOKIES);

/**
 * Lists the cookies that Page Shield has seen on a zone's pages. Requires the Business plan.
 *
 * Returns only `active` ones unless you set `status`. `status` is sent only if set, because Cloudflare's OpenAPI schema
 * doesn't document it for cookies.
 *
 * @example List cookies without the Secure attribute
 * ```ts
 * import { getCookies } from "pulumi-edgeguard";
 *
 * const cookies = getCookies({
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   filters: { secure: false },
 * });
 *
 * export const insecure = cookies.then(({ items }) => items.map(({ name }) => name));
 * ```
 *
 * @throws If an argument is invalid, the token lacks Page Shield Read, or the zone's plan doesn't include cookies.
 * @see https://developers.cloudflare.com/client-side-security/detection/monitor-connections-scripts/
 * @see `GET /zones/{zone_id}/page_shield/cookies`
 */
export const getCookies = cookiesLookup.plain;

/** The same as `getCookies`, but its arguments may be outputs. The result is unknown in a preview without credentials. */
export const getCookiesOutput = cookiesLookup.output;

/** Arguments of `getCookie`. */
export interface CookieArgs extends ZoneArgs {
  /** The cookie's ID (32 hex digits), from `getCookies`. */
  readonly cookieId: string;
}

const cookieLookup = lookup<CookieArgs, Cookie>("getCookie")(
  { zoneId: ID.zone, cookieId: recordId("cookie", "getCookies") },
  (host, { zoneId, cookieId }) => getDetected(host.api, COOKIES, zoneId, cookieId),
);

/**
 * Reads one cookie.
 *
 * @example Read a cookie by its ID
 * ```ts
 * import { getCookie } from "pulumi-edgeguard";
 *
 * const cookie = getCookie({
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   cookieId: "8d5f4a1c0b9e47c2a6f3e1d2c3b4a5f6",
 * });
 *
 * export const sameSite = cookie.then(({ sameSiteAttribute }) => sameSiteAttribute);
 * ```
 *
 * @throws If an ID is malformed, the zone has no such cookie, or the token lacks Page Shield Read.
 * @see https://developers.cloudflare.com/client-side-security/detection/monitor-connections-scripts/
 * @see `GET /zones/{zone_id}/page_shield/cookies/{cookie_id}`
 */
export const getCookie = cookieLookup.plain;

/** The same as `getCookie`, but its arguments may be outputs. The result is unknown in a preview without credentials. */
export const getCookieOutput = cookieLookup.output;

const scriptsLookup = listLookup("getScripts", SCRIPTS);

/**
 * Lists the scripts that Page Shield has seen on a zone's pages. Requires the Pro plan.
 *
 * Returns only `active` ones unless you set `status`. Cloudflare omits duplicates and its own `/cdn-cgi/` paths unless
 * you set `filters`.
 *
 * @example List all scripts, including duplicates
 * ```ts
 * import { getScripts } from "pulumi-edgeguard";
 *
 * const scripts = getScripts({
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   status: ["active", "infrequent"],
 *   filters: { exclude_duplicates: false, exclude_cdn_cgi: false },
 * });
 *
 * export const urls = scripts.then(({ items }) => items.map(({ url }) => url));
 * ```
 *
 * @throws If an argument is invalid, the token lacks Page Shield Read, or the zone's plan doesn't include scripts.
 * @see https://developers.cloudflare.com/client-side-security/detection/monitor-connections-scripts/
 * @see `GET /zones/{zone_id}/page_shield/scripts`
 */
export const getScripts = scriptsLookup.plain;

/** The same as `getScripts`, but its arguments may be outputs. The result is unknown in a preview without credentials. */
export const getScriptsOutput = scriptsLookup.output;

/** Arguments of `getScript`. */
export interface ScriptArgs extends ZoneArgs {
  /** The script's ID (32 hex digits), from `getScripts`. */
  readonly scriptId: string;
}

const scriptLookup = lookup<ScriptArgs, Script>("getScript")(
  { zoneId: ID.zone, scriptId: recordId("script", "getScripts") },
  (host, { zoneId, scriptId }) => getDetected(host.api, SCRIPTS, zoneId, scriptId),
);

/**
 * Reads one script, regardless of its status, with its `pageUrls` and `versions`.
 *
 * @example Read the pages that load a script
 * ```ts
 * import { getScript } from "pulumi-edgeguard";
 *
 * const script = getScript({
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   scriptId: "8d5f4a1c0b9e47c2a6f3e1d2c3b4a5f6",
 * });
 *
 * export const pages = script.then(({ pageUrls }) => pageUrls);
 * ```
 *
 * @throws If an ID is malformed, the zone has no such script, or the token lacks Page Shield Read.
 * @see https://developers.cloudflare.com/client-side-security/detection/monitor-connections-scripts/
 * @see `GET /zones/{zone_id}/page_shield/scripts/{script_id}`
 */
export const getScript = scriptLookup.plain;

/** The same as `getScript`, but its arguments may be outputs. The result is unknown in a preview without credentials. */
export const getScriptOutput = scriptLookup.output;
