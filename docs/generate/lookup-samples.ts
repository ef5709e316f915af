import { managedRulesets, type LocalApi } from "edgeguard-local";
import * as edgeguard from "pulumi-edgeguard";
import { permissionName, permissionFor } from "../../provider/api/permissions";
import { templateOf } from "./requests";

/** What a lookup asks of the API. */
export interface Asked {
  readonly requests: readonly string[];
  readonly rights: readonly string[];
}

type Call = (api: LocalApi, opts: edgeguard.LookupOptions) => Promise<unknown>;

/** One call of each; most read of a list what they ask for by ID. */
const CALLS: Readonly<Record<string, Call>> = {
  getPageShieldSettings: ({ zones }, opts) => edgeguard.getPageShieldSettings({ zoneId: zones.shop }, opts),
  getPageShieldPolicies: ({ zones }, opts) => edgeguard.getPageShieldPolicies({ zoneId: zones.shop }, opts),
  getPageShieldPolicy: ({ zones }, opts) =>
    edgeguard.getPageShieldPolicy({ zoneId: zones.shop, policyId: ANY }, opts),
  getScripts: ({ zones }, opts) => edgeguard.getScripts({ zoneId: zones.shop }, opts),
  getScript: ({ zones }, opts) => edgeguard.getScript({ zoneId: zones.shop, scriptId: ANY }, opts),
  getConnections: ({ zones }, opts) => edgeguard.getConnections({ zoneId: zones.shop }, opts),
  getConnection: ({ zones }, opts) =>
    edgeguard.getConnection({ zoneId: zones.shop, connectionId: ANY }, opts),
  getCookies: ({ zones }, opts) => edgeguard.getCookies({ zoneId: zones.shop }, opts),
  getCookie: ({ zones }, opts) => edgeguard.getCookie({ zoneId: zones.shop, cookieId: ANY }, opts),
  assertNoMaliciousScripts: ({ zones }, opts) =>
    edgeguard.assertNoMaliciousScripts({ zoneId: zones.shop }, opts),
  checkScriptInventory: ({ zones }, opts) =>
    edgeguard.checkScriptInventory({ inventory: NO_ENTRIES, zoneIds: [zones.shop] }, opts),
  assertScriptInventory: ({ zones }, opts) =>
    edgeguard.assertScriptInventory({ inventory: NO_ENTRIES, zoneIds: [zones.shop] }, opts),
  getManagedRulesets: ({ accounts }, opts) =>
    edgeguard.getManagedRulesets({ accountId: accounts.main }, opts),
  getManagedRuleset: ({ accounts }, opts) =>
    edgeguard.getManagedRuleset({ accountId: accounts.main, ruleset: { id: managedRulesets.owasp } }, opts),
  getZoneManagedRules: ({ zones }, opts) => edgeguard.getZoneManagedRules({ zoneId: zones.shop }, opts),
  explainZone: ({ zones, accounts }, opts) =>
    edgeguard.explainZone({ zoneId: zones.shop, accountId: accounts.main }, opts),
  getLogpushJobs: ({ zones }, opts) => edgeguard.getLogpushJobs({ zoneId: zones.shop }, opts),
  getLogpushFields: ({ zones }, opts) =>
    edgeguard.getLogpushFields({ zoneId: zones.shop, dataset: "http_requests" }, opts),
  getKvNamespaces: ({ accounts }, opts) => edgeguard.getKvNamespaces({ accountId: accounts.main }, opts),
  getKvNamespaceByTitle: ({ accounts }, opts) =>
    edgeguard.getKvNamespaceByTitle({ accountId: accounts.main, title: "any" }, opts),
  getKvKeys: (api, opts) => edgeguard.getKvKeys(namespaceOf(api), opts),
  getKvValue: (api, opts) => edgeguard.getKvValue({ ...namespaceOf(api), key: "any" }, opts),
  getKvMetadata: (api, opts) => edgeguard.getKvMetadata({ ...namespaceOf(api), key: "any" }, opts),
  migrationReadiness: ({ zones }, opts) => edgeguard.migrationReadiness({ zones: [zones.migratePro] }, opts),
};

const ANY = "0".repeat(32);
const NO_ENTRIES: edgeguard.ScriptInventory = {
  file: "script-inventory.yaml",
  sha256: "0".repeat(64),
  entries: [],
};

function namespaceOf({ accounts, namespaces }: LocalApi): { accountId: string; namespaceId: string } {
  return { accountId: accounts.main, namespaceId: namespaces.existing };
}

/** The requests of each lookup, as the local API records them, with the permissions that they need. */
export async function askedByLookups(api: LocalApi): Promise<ReadonlyMap<string, Asked>> {
  const asked = new Map<string, Asked>();
  for (const [name, call] of Object.entries(CALLS)) {
    api.clearRequests();
    const config = { baseUrl: api.url, apiToken: "local-token", maxRetries: "0" };
    await call(api, { config }).catch(() => undefined); // What is not there was asked for all the same.
    const rights = api.requests.flatMap(({ method, path }) => permissionFor(method, path) ?? []);
    asked.set(name, {
      requests: [...new Set(api.requests.map(templateOf))],
      rights: [...new Set(rights.map(permissionName))],
    });
  }
  return asked;
}
