/**
 * The limits of Workers, and of requests to a zone. Cloudflare's present figures differ; those of the specification are
 * what this package is made to.
 */

/** Units of the documentation. Kilobytes and their like are left open there: see `boundsOf`. */
export type Unit = "" | "B" | "KB" | "MB" | "GB" | "ms" | "s" | "min";

/** A figure as the documentation has it. */
export interface Amount {
  readonly amount: number;
  readonly unit: Unit;
}

/** One row of a table of limits: a figure, or `null` for no limit, for each of its columns. */
export interface Limit<Column extends string> {
  /** What is limited, as the table's first cell has it. */
  readonly feature: string;
  readonly limit: Readonly<Record<Column, Amount | null>>;
  /** Seed file and section. */
  readonly source: string;
  /** In these columns the service raises it on request. */
  readonly onRequest?: readonly Column[];
}

/** The same limit, from two points of view: in bytes, milliseconds or as a count. */
export interface Bounds {
  /** By the smaller reading of the unit: 1 MB is 1,000,000 bytes. Warned of above. */
  readonly documented: number;
  /** By the larger reading: 1 MB is 1,048,576 bytes. Refused above. */
  readonly most: number;
}

/** What an account pays for, and by which usage model: the columns of the seed's tables. */
export type Tier = "free" | "bundled" | "unbound" | "standard";

/** Plans of a zone. */
export type ZonePlan = "free" | "pro" | "business" | "enterprise";

const PLANS = "seed 002, Plan limits";
const SIZES = "seed 002, Request and response size";
const USAGE = "seed 002, Usage limits by usage model";
const RULE = (n: number): string => `${USAGE}, rule ${n}`;

const of = (amount: number, unit: Unit = ""): Amount => ({ amount, unit });

function every<Figure extends Amount | null>(all: Figure): Record<Tier, Figure> {
  return { free: all, bundled: all, unbound: all, standard: all };
}

function byPlan(free: Amount, paid: Amount | null): Record<Tier, Amount | null> {
  return { free, bundled: paid, unbound: paid, standard: paid };
}

function byModel(free: Amount | null, bundled: Amount | null, others: Amount): Record<Tier, Amount | null> {
  return { free, bundled, unbound: others, standard: others };
}

function everyZone<Figure extends Amount | null>(all: Figure): Record<ZonePlan, Figure> {
  return { free: all, pro: all, business: all, enterprise: all };
}

function row<Figures>(
  feature: string,
  source: string,
  limit: Figures,
): { readonly feature: string; readonly source: string; readonly limit: Figures } {
  return { feature, source, limit };
}

const ALL_TIERS: readonly Tier[] = ["free", "bundled", "unbound", "standard"];

/** Limits of a Worker, and of the account for its Workers together. */
export const EDGE_FUNCTION = {
  subrequests: row("Subrequests per request", PLANS, byModel(of(50), of(50), of(1000))),
  connections: row("Simultaneous outgoing connections per request", PLANS, every(of(6))),
  envVars: row("Environment variables per function", PLANS, byPlan(of(64), of(128))),
  envVarSize: row("Size of one environment variable", PLANS, every(of(5, "KB"))),
  envVarsPerAccount: row("Environment variables per account", PLANS, every(null)),
  size: row("Function size after compression", PLANS, byPlan(of(1, "MB"), of(10, "MB"))),
  startup: row("Startup: parsing and running the global scope", PLANS, every(of(400, "ms"))),
  functionsPerAccount: row("Functions per account", PLANS, byPlan(of(100), of(500))),
  scheduledTriggers: row("Scheduled triggers per account", PLANS, byPlan(of(5), of(250))),
  requestsPerDay: row("Requests per day, of the account", USAGE, byPlan(of(100_000), null)),
  requestsPerMinute: row("Requests per minute, of the account", USAGE, byPlan(of(1000), null)),
  memory: row("Memory", USAGE, every(of(128, "MB"))),
  cpuPerRequest: row("CPU time per HTTP request", USAGE, byModel(of(10, "ms"), of(50, "ms"), of(30, "s"))),
  cpuPerTrigger: row(
    "CPU time per scheduled trigger",
    USAGE,
    byModel(of(10, "ms"), of(50, "ms"), of(15, "min")),
  ),
  durationPerRequest: row(
    "Duration of an HTTP request while its client stays connected",
    RULE(1),
    every(null),
  ),
  durationPerEvent: row(
    "Duration of a scheduled trigger, stateful-object alarm or queue consumer",
    USAGE,
    byModel(null, null, of(15, "min")),
  ),
  waitUntil: row("Work under waitUntil() after the client has gone", RULE(1), every(of(30, "s"))),
  internalSubrequests: row(
    "Subrequests to internal services (key-value store, stateful objects) per request",
    RULE(6),
    every(of(1000)),
  ),
  cacheObject: row("Object of the Cache API", RULE(8), every(of(512, "MB"))),
  cacheCalls: row(
    "Cache API calls per request, in one quota with fetch()",
    RULE(8),
    byModel(of(50), of(50), of(1000)),
  ),
  routesPerZone: { ...row("Routes per zone", RULE(9), every(of(1000))), onRequest: ALL_TIERS },
  zonesPerFunction: {
    ...row("Zones that one function refers to", RULE(9), every(of(1000))),
    onRequest: ALL_TIERS,
  },
  consoleOutput: row("Console output per request", RULE(10), every(of(128, "KB"))),
} as const satisfies Readonly<Record<string, Limit<Tier>>>;

export type FunctionLimit = keyof typeof EDGE_FUNCTION;

/** Limits of a request to a zone and of what is answered. */
export const EDGE_REQUEST = {
  url: row("URL", SIZES, everyZone(of(16, "KB"))),
  headers: row("Request headers together", SIZES, everyZone(of(32, "KB"))),
  header: row("One request header", SIZES, everyZone(of(16, "KB"))),
  body: {
    ...row("Body of a POST, PUT or PATCH", SIZES, {
      free: of(100, "MB"),
      pro: of(100, "MB"),
      business: of(200, "MB"),
      enterprise: of(500, "MB"),
    }),
    onRequest: ["enterprise"],
  },
  cachedFile: row("Cached file", SIZES, {
    free: of(512, "MB"),
    pro: of(512, "MB"),
    business: of(512, "MB"),
    enterprise: of(5, "GB"),
  }),
  response: row("Response, other than by what may be cached", SIZES, everyZone(null)),
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

/** The ten rules beside the tables, in order. */
const RULES: readonly Omit<EdgeRule, "rule" | "source">[] = [
  {
    about: "Duration",
    says:
      "An invocation may last as long as its client is there: duration is time by the clock and has no hard end. When the " +
      "client leaves, every task of the request ends with it; waitUntil() holds that off until its promise settles, for 30 s at most.",
    limits: ["durationPerRequest", "durationPerEvent", "waitUntil"],
  },
  {
    about: "CPU time",
    says: "Only computing counts, not waiting. An overrun now and then is let pass, a steady one ends the function. A lower limit can be set for each function.",
    limits: ["cpuPerRequest", "cpuPerTrigger"],
  },
  {
    about: "Requests of the free plan",
    says:
      "The limits per minute and per day are the account's: all its zones and the platform's default subdomain draw on them. The day begins " +
      "at midnight UTC. Paid plans and Enterprise have neither.",
    limits: ["requestsPerDay", "requestsPerMinute"],
  },
  {
    about: "Abuse protection",
    says: "Requests per second have no general limit, but many thousands a second from few addresses may be taken for an attack and see error 1015.",
    limits: [],
  },
  {
    about: "Memory",
    says: "Each server of the network runs one instance; where it goes beyond its memory, requests may be cancelled.",
    limits: ["memory"],
  },
  {
    about: "Subrequests",
    says:
      "Each step of a redirect is a subrequest of its own. Internal services have a limit apart, the same in every usage model. A fetch of a function " +
      "on the own zone fails without a service binding; of one on a custom domain it may be made.",
    limits: ["subrequests", "internalSubrequests"],
  },
  {
    about: "Connections",
    says:
      "What is tried beyond the limit waits until a connection is free. A body that nobody reads holds one: response.body.cancel() lets go of it. An " +
      "invocation whose connections wait for each other loses the least recently used one, and using that one throws.",
    limits: ["connections"],
  },
  {
    about: "Cache API",
    says: "put(), match() and delete() draw on one quota with fetch().",
    limits: ["cacheObject", "cacheCalls"],
  },
  {
    about: "Routes",
    says: "The routes of a zone and the zones of a function are limited; the service raises both on request.",
    limits: ["routesPerZone", "zonesPerFunction"],
  },
  {
    about: "Console output",
    says: "Log statements, exceptions, request metadata and headers count together; what goes beyond is not recorded.",
    limits: ["consoleOutput"],
  },
];

export const EDGE_FUNCTION_RULES: readonly EdgeRule[] = RULES.map((rule, index) => ({
  rule: index + 1,
  ...rule,
  source: RULE(index + 1),
}));

/** What happens at a limit, as visitors and programs see it (seed 002, "Errors"). */
export const EDGE_ERRORS = {
  bodyTooLarge: { status: 413 },
  freeLimit: { status: 429, page: 1015, securityEventRule: "worker" },
  dailyLimitFailClosed: { page: 1027 },
} as const;

/** The documentation does not say whether its kilobytes are of 1,000 or of 1,024 bytes; nobody is refused what may pass. */
export function boundsOf({ amount, unit }: Amount): Bounds {
  const bytes = ["B", "KB", "MB", "GB"].indexOf(unit);
  if (bytes >= 0) return { documented: amount * 1000 ** bytes, most: amount * 1024 ** bytes };
  const plain = amount * (unit === "s" ? 1000 : unit === "min" ? 60_000 : 1);
  return { documented: plain, most: plain };
}

/** `26,214,400` */
export function formatNumber(number: number): string {
  return number.toLocaleString("en-US");
}

/** `10 MB`, `1,000` */
export function formatAmount({ amount, unit }: Amount): string {
  return unit === "" ? formatNumber(amount) : `${formatNumber(amount)} ${unit}`;
}

/** `1,048,577 bytes`, `51 ms`, `65` */
export function formatMeasured(number: number, { unit }: Amount): string {
  if (["B", "KB", "MB", "GB"].includes(unit)) return `${formatNumber(number)} bytes`;
  return ["ms", "s", "min"].includes(unit) ? `${formatNumber(number)} ms` : formatNumber(number);
}
