/**
 * What an API token must be allowed to do, by request and by resource. This is the single source for messages, README
 * and docstrings. The names are those of https://developers.cloudflare.com/fundamentals/api/reference/permissions/; the
 * dashboard says Edit where the API says Write, and Write includes Read.
 */

interface Permission {
  readonly scope: "Zone" | "Account";
  readonly name: string;
  /** The level needed to read: Read, unless Cloudflare requires more. */
  readonly toRead: "Read" | "Write";
}

/** A permission at the level that a request needs. */
export interface RequiredPermission extends Pick<Permission, "scope" | "name"> {
  readonly level: "Read" | "Write";
}

const zone = (name: string): Permission => ({ scope: "Zone", name, toRead: "Read" });
const account = (name: string): Permission => ({ scope: "Account", name, toRead: "Read" });

const PAGE_SHIELD = zone("Page Shield");
const ZONE_WAF = zone("Zone WAF");
const FIREWALL_SERVICES = zone("Firewall Services");
const PAGE_RULES = zone("Page Rules");
// A job holds credentials: https://developers.cloudflare.com/logs/logpush/permissions/ requires Write even for reading
// one.
const ZONE_LOGS: Permission = { scope: "Zone", name: "Logs", toRead: "Write" };
const ACCOUNT_LOGS: Permission = { scope: "Account", name: "Logs", toRead: "Write" };
const ACCOUNT_RULESETS = account("Account Rulesets");
const WORKERS_KV = account("Workers KV Storage");

const BY_PATH: readonly (readonly [RegExp, Permission])[] = [
  [/^\/zones\/[^/]+\/page_shield(\/|$)/, PAGE_SHIELD],
  [/^\/zones\/[^/]+\/(rulesets|waf_migration)(\/|$)/, ZONE_WAF],
  [/^\/zones\/[^/]+\/firewall\//, FIREWALL_SERVICES],
  [/^\/zones\/[^/]+\/pagerules(\/|$)/, PAGE_RULES],
  [/^\/zones\/[^/]+\/logpush\//, ZONE_LOGS],
  [/^\/accounts\/[^/]+\/logpush\//, ACCOUNT_LOGS],
  [/^\/accounts\/[^/]+\/rulesets(\/|$)/, ACCOUNT_RULESETS],
  [/^\/accounts\/[^/]+\/storage\/kv\//, WORKERS_KV],
  [/^\/graphql$/, zone("Analytics")],
  [/^\/zones(\/[^/]+)?$/, zone("Zone")],
  [/^\/accounts(\/[^/]+)?$/, account("Account Settings")],
];

/** POST requests that only read. */
const READING_POST = /\/(bulk\/get|graphql)$/;

/** Returns the permission that a request needs. Undefined for a path that isn't in the table. */
export function permissionFor(method: string, path: string): RequiredPermission | undefined {
  const permission = BY_PATH.find(([permissions]) => permissions.test(path))?.[1];
  if (permission === undefined) return undefined;
  const reads = method === "GET" || (method === "POST" && READING_POST.test(path));
  return reads ? toRead(permission) : toWrite(permission);
}

/** Returns a permission's name in the API and its place in the dashboard, so that people can find it. */
export function permissionName(permission: RequiredPermission): string {
  return `${permission.name} ${permission.level} (${placeInDashboard(permission)})`;
}

/** Returns where to find a permission in the dashboard, which says Edit instead of Write. */
export function placeInDashboard({ scope, name, level }: RequiredPermission): string {
  const shown = name === PAGE_SHIELD.name ? "Client-side security" : name; // The dashboard has the product's new name.
  return `in the dashboard: ${scope} > ${shown} > ${level === "Write" ? "Edit" : "Read"}`;
}

interface ResourcePermissions {
  /** The permissions for a preview, a refresh or a lookup. */
  readonly toRead: readonly RequiredPermission[];
  /** The permissions for an update or a destroy. */
  readonly toWrite: readonly RequiredPermission[];
  /** A sentence of additional advice. */
  readonly note?: string;
}

/** The permissions that each resource needs. */
export const RESOURCE_PERMISSIONS = {
  PageShieldSettings: of([PAGE_SHIELD]),
  PageShieldPolicy: of([PAGE_SHIELD]),
  ManagedRulesetOverride: of(
    [ZONE_WAF],
    [ACCOUNT_RULESETS],
    "With Zone Read, the preview of a create also tells whether the zone's plan includes the ruleset. With Analytics Read, the preview of a change counts firewall events. In an account, an update needs Account Rulesets Write instead of Zone WAF Write.",
  ),
  WafMigration: of(
    [ZONE_WAF],
    [FIREWALL_SERVICES, PAGE_RULES],
    'With `target: "assessed"`, Read is enough. Without Firewall Services and Page Rules, the assessment lists what it could not read. With Analytics Read, the preview counts what the previous rules stopped.',
  ),
  LogpushJob: of(
    [ZONE_LOGS, ACCOUNT_LOGS],
    [],
    "For the zone or the account that the job belongs to. Zero Trust datasets also need Zero Trust: PII Read.",
  ),
  LogpushTransformer: of([ACCOUNT_LOGS]),
  KvNamespace: of([WORKERS_KV]),
  KvEntries: of([WORKERS_KV]),
} as const satisfies Readonly<Record<string, ResourcePermissions>>;

function of(
  owned: readonly Permission[],
  onlyRead: readonly Permission[] = [],
  note?: string,
): ResourcePermissions {
  return {
    toRead: [...owned, ...onlyRead].map(toRead),
    toWrite: [...owned.map(toWrite), ...onlyRead.map(toRead)],
    ...(note === undefined ? {} : { note }),
  };
}

function toRead({ scope, name, toRead: level }: Permission): RequiredPermission {
  return { scope, name, level };
}

function toWrite({ scope, name }: Permission): RequiredPermission {
  return { scope, name, level: "Write" };
}
