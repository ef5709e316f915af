import { z } from "zod";
import { zoneId } from "../runtime/fields";
import { lookup, type Lookup, type ZoneArgs } from "../runtime/lookup";
import { camelRecord, optionalBoolean, omitAbsent, optionalText } from "../runtime/members";
import {
  CONNECTIONS,
  COOKIES,
  getDetected,
  listDetected,
  listShape,
  recordId,
  SCRIPTS,
  type DetectedRecord,
  type DetectedKind,
} from "./detected";
import type {
  Connection,
  Cookie,
  DetectedList,
  DetectedListArgs,
  PageShieldPolicyState,
  PageShieldSettingsState,
  Script,
} from "./records";

const settings = camelRecord({
  enabled: z.boolean(),
  updated_at: optionalText,
  use_cloudflare_reporting_endpoint: optionalBoolean,
  use_platform_reporting_endpoint: optionalBoolean,
  use_connection_url_path: optionalBoolean,
}).transform(({ useCloudflareReportingEndpoint, usePlatformReportingEndpoint, ...rest }) => ({
  ...rest,
  ...omitAbsent({ useReportingEndpoint: useCloudflareReportingEndpoint ?? usePlatformReportingEndpoint }),
}));

const settingsLookup = lookup<ZoneArgs, PageShieldSettingsState>("getPageShieldSettings")(
  { zoneId },
  (host, { zoneId }) =>
    host.api.get(`/zones/${zoneId}/page_shield`, {
      what: `Reading page security of zone ${zoneId}`,
      schema: settings,
    }),
);

/**
 * Page Shield of a zone.
 *
 * @throws when the zone id is malformed, the token lacks Page Shield Read, or the plan lacks Page Shield.
 */
export const getPageShieldSettings = settingsLookup.plain;

/** `getPageShieldSettings` for arguments that are outputs. Unknown in a preview without credentials. */
export const getPageShieldSettingsOutput = settingsLookup.output;

const policy = camelRecord({
  id: z.string(),
  description: optionalText,
  action: z.string(),
  expression: z.string(),
  enabled: z
    .union([z.boolean(), z.enum(["true", "false"])])
    .transform((enabled) => enabled === true || enabled === "true"),
  value: z.string(),
});

const policiesLookup = lookup<ZoneArgs, readonly PageShieldPolicyState[]>("getPageShieldPolicies")(
  { zoneId },
  async (host, { zoneId }) => {
    const what = `Listing the policies of zone ${zoneId}`;
    return (await host.api.list(`/zones/${zoneId}/page_shield/policies`, { what, record: policy })).records;
  },
);

/**
 * All policies of a zone; Cloudflare gives them in one answer.
 *
 * @throws when the zone id is malformed, the token lacks Page Shield Read, or the plan lacks policies.
 */
export const getPageShieldPolicies = policiesLookup.plain;

/** `getPageShieldPolicies` for arguments that are outputs. Unknown in a preview without credentials. */
export const getPageShieldPoliciesOutput = policiesLookup.output;

export interface PolicyLookupArgs extends ZoneArgs {
  /** The policy's id, 32 hexadecimal digits, as `getPageShieldPolicies` gives it. */
  readonly policyId: string;
}

const policyLookup = lookup<PolicyLookupArgs, PageShieldPolicyState>("getPageShieldPolicy")(
  { zoneId, policyId: recordId("policy") },
  (host, { zoneId, policyId }) =>
    host.api.get(`/zones/${zoneId}/page_shield/policies/${policyId}`, {
      what: `Reading policy ${policyId} of zone ${zoneId}`,
      schema: policy,
    }),
);

/**
 * One policy of a zone.
 *
 * @throws when an id is malformed, the zone has no such policy, or the token lacks Page Shield Read.
 */
export const getPageShieldPolicy = policyLookup.plain;

/** `getPageShieldPolicy` for arguments that are outputs. Unknown in a preview without credentials. */
export const getPageShieldPolicyOutput = policyLookup.output;

/** The list of one kind of record. */
function listLookup<T extends DetectedRecord>(
  name: string,
  kind: DetectedKind<T>,
): Lookup<DetectedListArgs, DetectedList<T>> {
  return lookup<DetectedListArgs, DetectedList<T>>(name)(listShape, (host, args) =>
    listDetected(host, kind, args),
  );
}

const connectionsLookup = listLookup("getConnections", CONNECTIONS);

/**
 * Outbound connections of a zone, on the Business plan and above. Only `active` ones unless `status` says otherwise.
 *
 * @throws when an argument is wrong, the token lacks Page Shield Read, or the plan lacks connections.
 */
export const getConnections = connectionsLookup.plain;

/** `getConnections` for arguments that are outputs. Unknown in a preview without credentials. */
export const getConnectionsOutput = connectionsLookup.output;

export interface ConnectionArgs extends ZoneArgs {
  /** The connection's id, 32 hexadecimal digits, as `getConnections` gives it. */
  readonly connectionId: string;
}

const connectionLookup = lookup<ConnectionArgs, Connection>("getConnection")(
  { zoneId, connectionId: recordId("connection") },
  (host, { zoneId, connectionId }) => getDetected(host, CONNECTIONS, zoneId, connectionId),
);

/**
 * One connection, in any state.
 *
 * @throws when an id is malformed, the zone has no such connection, or the token lacks Page Shield Read.
 */
export const getConnection = connectionLookup.plain;

/** `getConnection` for arguments that are outputs. Unknown in a preview without credentials. */
export const getConnectionOutput = connectionLookup.output;

const cookiesLookup = listLookup("getCookies", COOKIES);

/**
 * Cookies of a zone, on the Business plan and above. `status` is sent only where it is set: the OpenAPI document does not
 * have it for cookies. Without it only `active` ones are returned.
 *
 * @throws when an argument is wrong, the token lacks Page Shield Read, or the plan lacks cookies.
 */
export const getCookies = cookiesLookup.plain;

/** `getCookies` for arguments that are outputs. Unknown in a preview without credentials. */
export const getCookiesOutput = cookiesLookup.output;

export interface CookieArgs extends ZoneArgs {
  /** The cookie's id, 32 hexadecimal digits, as `getCookies` gives it. */
  readonly cookieId: string;
}

const cookieLookup = lookup<CookieArgs, Cookie>("getCookie")(
  { zoneId, cookieId: recordId("cookie") },
  (host, { zoneId, cookieId }) => getDetected(host, COOKIES, zoneId, cookieId),
);

/**
 * One cookie.
 *
 * @throws when an id is malformed, the zone has no such cookie, or the token lacks Page Shield Read.
 */
export const getCookie = cookieLookup.plain;

/** `getCookie` for arguments that are outputs. Unknown in a preview without credentials. */
export const getCookieOutput = cookieLookup.output;

const scriptsLookup = listLookup("getScripts", SCRIPTS);

/**
 * Scripts of a zone, on the Pro plan and above. Only `active` ones unless `status` says otherwise; Cloudflare leaves
 * out duplicates and its own `/cdn-cgi/` paths unless `filters` say otherwise.
 *
 * @throws when an argument is wrong, the token lacks Page Shield Read, or the plan lacks scripts.
 */
export const getScripts = scriptsLookup.plain;

/** `getScripts` for arguments that are outputs. Unknown in a preview without credentials. */
export const getScriptsOutput = scriptsLookup.output;

export interface ScriptArgs extends ZoneArgs {
  /** The script's id, 32 hexadecimal digits, as `getScripts` gives it. */
  readonly scriptId: string;
}

const scriptLookup = lookup<ScriptArgs, Script>("getScript")(
  { zoneId, scriptId: recordId("script") },
  (host, { zoneId, scriptId }) => getDetected(host, SCRIPTS, zoneId, scriptId),
);

/**
 * One script, in any state, with `pageUrls` and `versions`.
 *
 * @throws when an id is malformed, the zone has no such script, or the token lacks Page Shield Read.
 */
export const getScript = scriptLookup.plain;

/** `getScript` for arguments that are outputs. Unknown in a preview without credentials. */
export const getScriptOutput = scriptLookup.output;
