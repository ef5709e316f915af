import type { Amount, Limit, Unit } from "./amount";

/**
 * The limits of edge functions as seed 002 gives them. The vendor's present figures differ (facts 11); the seed's are
 * what this package is made to.
 */

/** What an account pays for, and by which usage model: the columns of the seed's tables. */
export type Tier = "free" | "bundled" | "unbound" | "standard";

/** Plans of a zone. */
export type ZonePlan = "free" | "pro" | "business" | "enterprise";

const PLANS = "seed 002, Plan limits";
const SIZES = "seed 002, Request and response size";
const USAGE = "seed 002, Usage limits by usage model";
const RULE = (n: number): string => `seed 002, Usage limits by usage model, rule ${n}`;

const of = (amount: number, unit: Unit = ""): Amount => ({ amount, unit });

function every(all: Amount | null): Record<Tier, Amount | null> {
  return { free: all, bundled: all, unbound: all, standard: all };
}

function byPlan(free: Amount, paid: Amount | null): Record<Tier, Amount | null> {
  return { free, bundled: paid, unbound: paid, standard: paid };
}

function byModel(free: Amount | null, bundled: Amount | null, others: Amount): Record<Tier, Amount | null> {
  return { free, bundled, unbound: others, standard: others };
}

/** Limits of a function, and of the account for its functions together. */
export const EDGE_FUNCTION = {
  subrequests: {
    feature: "Subrequests per request",
    limit: byModel(of(50), of(50), of(1000)),
    source: PLANS,
  },
  connections: {
    feature: "Simultaneous outgoing connections per request",
    limit: every(of(6)),
    source: PLANS,
  },
  envVars: {
    feature: "Environment variables per function",
    limit: byPlan(of(64), of(128)),
    source: PLANS,
  },
  envVarSize: { feature: "Size of one environment variable", limit: every(of(5, "KB")), source: PLANS },
  envVarsPerAccount: {
    feature: "Environment variables per account",
    limit: every(null),
    source: PLANS,
  },
  size: {
    feature: "Function size after compression",
    limit: byPlan(of(1, "MB"), of(10, "MB")),
    source: PLANS,
  },
  startup: {
    feature: "Startup: parsing and running the global scope",
    limit: every(of(400, "ms")),
    source: PLANS,
  },
  functionsPerAccount: {
    feature: "Functions per account",
    limit: byPlan(of(100), of(500)),
    source: PLANS,
  },
  scheduledTriggers: {
    feature: "Scheduled triggers per account",
    limit: byPlan(of(5), of(250)),
    source: PLANS,
  },
  requestsPerDay: {
    feature: "Requests per day, of the account",
    limit: byPlan(of(100_000), null),
    source: USAGE,
  },
  requestsPerMinute: {
    feature: "Requests per minute, of the account",
    limit: byPlan(of(1000), null),
    source: USAGE,
  },
  memory: { feature: "Memory", limit: every(of(128, "MB")), source: USAGE },
  cpuPerRequest: {
    feature: "CPU time per HTTP request",
    limit: byModel(of(10, "ms"), of(50, "ms"), of(30, "s")),
    source: USAGE,
  },
  cpuPerTrigger: {
    feature: "CPU time per scheduled trigger",
    limit: byModel(of(10, "ms"), of(50, "ms"), of(15, "min")),
    source: USAGE,
  },
  durationPerRequest: {
    feature: "Duration of an HTTP request while its client stays connected",
    limit: every(null),
    source: RULE(1),
  },
  durationPerEvent: {
    feature: "Duration of a scheduled trigger, stateful-object alarm or queue consumer",
    limit: byModel(null, null, of(15, "min")),
    source: USAGE,
  },
  waitUntil: {
    feature: "Work under waitUntil() after the client has gone",
    limit: every(of(30, "s")),
    source: RULE(1),
  },
  internalSubrequests: {
    feature: "Subrequests to internal services (key-value store, stateful objects) per request",
    limit: every(of(1000)),
    source: RULE(6),
  },
  cacheObject: { feature: "Object of the Cache API", limit: every(of(512, "MB")), source: RULE(8) },
  cacheCalls: {
    feature: "Cache API calls per request, in one quota with fetch()",
    limit: byModel(of(50), of(50), of(1000)),
    source: RULE(8),
  },
  routesPerZone: {
    feature: "Routes per zone",
    limit: every(of(1000)),
    source: RULE(9),
    onRequest: ["free", "bundled", "unbound", "standard"],
  },
  zonesPerFunction: {
    feature: "Zones that one function refers to",
    limit: every(of(1000)),
    source: RULE(9),
    onRequest: ["free", "bundled", "unbound", "standard"],
  },
  consoleOutput: { feature: "Console output per request", limit: every(of(128, "KB")), source: RULE(10) },
} as const satisfies Readonly<Record<string, Limit<Tier>>>;

export type FunctionLimit = keyof typeof EDGE_FUNCTION;

function everyZone(all: Amount): Record<ZonePlan, Amount> {
  return { free: all, pro: all, business: all, enterprise: all };
}

/** Limits of a request to a zone and of what is answered. */
export const EDGE_REQUEST = {
  url: { feature: "URL", limit: everyZone(of(16, "KB")), source: SIZES },
  headers: { feature: "Request headers together", limit: everyZone(of(32, "KB")), source: SIZES },
  header: { feature: "One request header", limit: everyZone(of(16, "KB")), source: SIZES },
  body: {
    feature: "Body of a POST, PUT or PATCH",
    limit: { free: of(100, "MB"), pro: of(100, "MB"), business: of(200, "MB"), enterprise: of(500, "MB") },
    source: SIZES,
    onRequest: ["enterprise"],
  },
  cachedFile: {
    feature: "Cached file",
    limit: { free: of(512, "MB"), pro: of(512, "MB"), business: of(512, "MB"), enterprise: of(5, "GB") },
    source: SIZES,
  },
  response: {
    feature: "Response, other than by what may be cached",
    limit: { free: null, pro: null, business: null, enterprise: null },
    source: SIZES,
  },
} as const satisfies Readonly<Record<string, Limit<ZonePlan>>>;

export type RequestLimit = keyof typeof EDGE_REQUEST;

/** What takes one of the simultaneous connections (seed 002, rule 7). */
export const COUNTED_AS_CONNECTION = {
  fetch: ["fetch"],
  keyValue: ["get", "put", "list", "delete"],
  cache: ["put", "match", "delete"],
  objectStorage: ["list", "get", "put", "delete", "head"],
  queue: ["send", "sendBatch"],
  socket: ["connect"],
} as const;

export interface EdgeRule {
  /** Its number in the seed. */
  readonly rule: number;
  readonly about: string;
  readonly says: string;
  /** The limits it speaks of. */
  readonly limits: readonly FunctionLimit[];
  readonly source: string;
}

/** The ten rules beside the tables of seed 002. */
export const EDGE_FUNCTION_RULES: readonly EdgeRule[] = [
  {
    rule: 1,
    about: "Duration",
    says:
      "An invocation may last as long as its client is there: duration is time by the clock and has no hard end. When the " +
      "client leaves, every task of the request ends with it; waitUntil() holds that off until its promise settles, for 30 s at most.",
    limits: ["durationPerRequest", "durationPerEvent", "waitUntil"],
    source: RULE(1),
  },
  {
    rule: 2,
    about: "CPU time",
    says: "Only computing counts, not waiting. An overrun now and then is let pass, a steady one ends the function. A lower limit can be set for each function.",
    limits: ["cpuPerRequest", "cpuPerTrigger"],
    source: RULE(2),
  },
  {
    rule: 3,
    about: "Requests of the free plan",
    says:
      "The limits per minute and per day are the account's: all its zones and the platform's default subdomain draw on them. The day begins " +
      "at midnight UTC. Paid plans and Enterprise have neither.",
    limits: ["requestsPerDay", "requestsPerMinute"],
    source: RULE(3),
  },
  {
    rule: 4,
    about: "Abuse protection",
    says: "Requests per second have no general limit, but many thousands a second from few addresses may be taken for an attack and see error 1015.",
    limits: [],
    source: RULE(4),
  },
  {
    rule: 5,
    about: "Memory",
    says: "Each server of the network runs one instance; where it goes beyond its memory, requests may be cancelled.",
    limits: ["memory"],
    source: RULE(5),
  },
  {
    rule: 6,
    about: "Subrequests",
    says:
      "Each step of a redirect is a subrequest of its own. Internal services have a limit apart, the same in every usage model. A fetch of a function " +
      "on the own zone fails without a service binding; of one on a custom domain it may be made.",
    limits: ["subrequests", "internalSubrequests"],
    source: RULE(6),
  },
  {
    rule: 7,
    about: "Connections",
    says:
      "What is tried beyond the limit waits until a connection is free. A body that nobody reads holds one: response.body.cancel() lets go of it. An " +
      "invocation whose connections wait for each other loses the least recently used one, and using that one throws.",
    limits: ["connections"],
    source: RULE(7),
  },
  {
    rule: 8,
    about: "Cache API",
    says: "put(), match() and delete() draw on one quota with fetch().",
    limits: ["cacheObject", "cacheCalls"],
    source: RULE(8),
  },
  {
    rule: 9,
    about: "Routes",
    says: "The routes of a zone and the zones of a function are limited; the service raises both on request.",
    limits: ["routesPerZone", "zonesPerFunction"],
    source: RULE(9),
  },
  {
    rule: 10,
    about: "Console output",
    says: "Log statements, exceptions, request metadata and headers count together; what goes beyond is not recorded.",
    limits: ["consoleOutput"],
    source: RULE(10),
  },
];

/** What happens at a limit, as visitors and programs see it (seed 002, "Errors"). */
export const EDGE_ERRORS = {
  bodyTooLarge: { status: 413 },
  freeLimit: { status: 429, page: 1015, securityEventRule: "worker" },
  dailyLimitFailClosed: { page: 1027 },
} as const;
