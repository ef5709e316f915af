/**
 * The limits of Workers and of requests to a zone, for Cloudflare's usage models Bundled, Unbound and Standard.
 * Cloudflare changes its limits from time to time; each entry links to the page with the current values.
 */

/** The units of Cloudflare's limits. Cloudflare doesn't say whether 1 KB is 1,000 or 1,024 bytes: see `boundsOf`. */
export type Unit = "" | "B" | "KB" | "MB" | "GB" | "ms" | "s" | "min";

/** A limit's value as Cloudflare documents it. */
export interface Amount {
  readonly amount: number;
  readonly unit: Unit;
}

/** A limit with its value for each plan or usage model. `null` means that there's no limit. */
export interface Limit<Column extends string> {
  /** What's limited. */
  readonly feature: string;
  readonly limit: Readonly<Record<Column, Amount | null>>;
  /** Cloudflare's page about the limit. */
  readonly source: string;
  /** The plans or usage models for which Cloudflare raises the limit on request. */
  readonly onRequest?: readonly Column[];
}

/** The two possible values of a limit: in bytes, in milliseconds or as a count. */
export interface Bounds {
  /** The smaller value, with 1 MB as 1,000,000 bytes. Checks warn from 80% of it. */
  readonly documented: number;
  /** The larger value, with 1 MB as 1,048,576 bytes. Checks report an error above it. */
  readonly most: number;
}

/** The Workers plan of an account: free, or the usage model of a paid plan. */
export type Tier = "free" | "bundled" | "unbound" | "standard";

/** A zone's plan. */
export type ZonePlan = "free" | "pro" | "business" | "enterprise";

const PAGE = "https://developers.cloudflare.com/workers/platform/limits/";
const CACHE_PAGE = "https://developers.cloudflare.com/cache/concepts/default-cache-behavior/";
const ACCOUNT_PLAN = `${PAGE}#account-plan-limits`;
const CACHE_API = `${PAGE}#cache-api-limits`;
const CONNECTIONS = `${PAGE}#simultaneous-open-connections`;
const CPU_TIME = `${PAGE}#cpu-time`;
const DURATION = `${PAGE}#duration`;
const ENVIRONMENT = `${PAGE}#environment-variables`;
const LOG_SIZE = `${PAGE}#log-size`;
const MEMORY = `${PAGE}#memory`;
const SUBREQUESTS = `${PAGE}#subrequests`;

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

/** The limits of a single Worker, and of all Workers in an account together. */
export const WORKERS = {
  subrequests: row("Subrequests per request", SUBREQUESTS, byModel(of(50), of(50), of(1000))),
  connections: row("Simultaneous outgoing connections per request", CONNECTIONS, every(of(6))),
  envVars: row("Environment variables per Worker", ENVIRONMENT, byPlan(of(64), of(128))),
  envVarSize: row("Size of one environment variable", ENVIRONMENT, every(of(5, "KB"))),
  envVarsPerAccount: row("Environment variables per account", ENVIRONMENT, every(null)),
  size: row("Worker size after compression", `${PAGE}#worker-size`, byPlan(of(1, "MB"), of(10, "MB"))),
  startup: row(
    "Startup time: parsing and running the global scope",
    `${PAGE}#worker-startup-time`,
    every(of(400, "ms")),
  ),
  workersPerAccount: row("Workers per account", `${PAGE}#number-of-workers`, byPlan(of(100), of(500))),
  cronTriggers: row("Cron Triggers per account", ACCOUNT_PLAN, byPlan(of(5), of(250))),
  requestsPerDay: row("Requests per day, whole account", PAGE, byPlan(of(100_000), null)),
  requestsPerMinute: row("Requests per minute, whole account", PAGE, byPlan(of(1000), null)),
  memory: row("Memory", MEMORY, every(of(128, "MB"))),
  cpuPerRequest: row("CPU time per HTTP request", CPU_TIME, byModel(of(10, "ms"), of(50, "ms"), of(30, "s"))),
  cpuPerCronTrigger: row(
    "CPU time per Cron Trigger",
    CPU_TIME,
    byModel(of(10, "ms"), of(50, "ms"), of(15, "min")),
  ),
  durationPerRequest: row(
    "Duration of an HTTP request while the client stays connected",
    DURATION,
    every(null),
  ),
  durationPerEvent: row(
    "Duration of a Cron Trigger, Durable Object alarm or queue consumer",
    DURATION,
    byModel(null, null, of(15, "min")),
  ),
  waitUntil: row("Time in waitUntil() after the client disconnects", DURATION, every(of(30, "s"))),
  internalSubrequests: row(
    "Subrequests to internal services (Workers KV, Durable Objects) per request",
    SUBREQUESTS,
    every(of(1000)),
  ),
  cacheObject: row("Object size in the Cache API", CACHE_API, every(of(512, "MB"))),
  cacheCalls: row(
    "Cache API calls per request (quota shared with fetch())",
    CACHE_API,
    byModel(of(50), of(50), of(1000)),
  ),
  routesPerZone: { ...row("Routes per zone", PAGE, every(of(1000))), onRequest: ALL_TIERS },
  zonesPerWorker: { ...row("Routed zones per Worker", PAGE, every(of(1000))), onRequest: ALL_TIERS },
  consoleOutput: row("Console output per request", LOG_SIZE, every(of(128, "KB"))),
} as const satisfies Readonly<Record<string, Limit<Tier>>>;

export type WorkersLimit = keyof typeof WORKERS;

/** The limits of a request to a zone and of its response. */
export const REQUESTS = {
  url: row("URL", PAGE, everyZone(of(16, "KB"))),
  headers: row("Request headers, total", PAGE, everyZone(of(32, "KB"))),
  header: row("One request header", PAGE, everyZone(of(16, "KB"))),
  body: {
    ...row("Body of a POST, PUT or PATCH request", PAGE, {
      free: of(100, "MB"),
      pro: of(100, "MB"),
      business: of(200, "MB"),
      enterprise: of(500, "MB"),
    }),
    onRequest: ["enterprise"],
  },
  cachedFile: row("Cached file", CACHE_PAGE, {
    free: of(512, "MB"),
    pro: of(512, "MB"),
    business: of(512, "MB"),
    enterprise: of(5, "GB"),
  }),
  response: row("Response, apart from cache limits", PAGE, everyZone(null)),
} as const satisfies Readonly<Record<string, Limit<ZonePlan>>>;

export type RequestLimit = keyof typeof REQUESTS;

/** The calls that count toward a Worker's limit of simultaneous connections, by API. */
export const COUNTED_AS_CONNECTION = {
  fetch: ["fetch"],
  kv: ["get", "put", "list", "delete"],
  cache: ["put", "match", "delete"],
  r2: ["list", "get", "put", "delete", "head"],
  queue: ["send", "sendBatch"],
  socket: ["connect"],
} as const;

/** What Cloudflare's docs say about limits in addition to their values. */
export interface WorkersNote {
  readonly about: string;
  readonly text: string;
  /** The limits that the note applies to. */
  readonly limits: readonly WorkersLimit[];
  /** Cloudflare's page with this information. */
  readonly source: string;
}

/** Notes about limits that their numbers alone don't explain. */
export const WORKERS_NOTES: readonly WorkersNote[] = [
  {
    about: "Duration",
    text:
      "Duration is wall-clock time and has no hard limit while the client stays connected. " +
      "When the client disconnects, all of the request's tasks are canceled; waitUntil() delays the cancellation until its promise settles, for up to 30 s.",
    limits: ["durationPerRequest", "durationPerEvent", "waitUntil"],
    source: DURATION,
  },
  {
    about: "CPU time",
    text: "CPU time counts computing, not waiting. Cloudflare tolerates occasional overruns, but terminates a Worker that exceeds the limit consistently. You can set a lower limit per Worker.",
    limits: ["cpuPerRequest", "cpuPerCronTrigger"],
    source: CPU_TIME,
  },
  {
    about: "Requests on the free plan",
    text:
      "The limits per minute and per day apply to the whole account: requests to all its zones and its workers.dev subdomain count. " +
      "The daily count resets at midnight UTC. Paid plans and Enterprise have neither limit.",
    limits: ["requestsPerDay", "requestsPerMinute"],
    source: PAGE,
  },
  {
    about: "Abuse protection",
    text: "There's no general limit on requests per second. However, many thousands of requests per second from a few client addresses can trigger abuse protection (error 1015).",
    limits: [],
    source: PAGE,
  },
  {
    about: "Memory",
    text: "Each server in Cloudflare's network runs one instance of a Worker. If the instance exceeds its memory limit, one or more requests can be canceled.",
    limits: ["memory"],
    source: MEMORY,
  },
  {
    about: "Subrequests",
    text:
      "Every redirect in a chain counts as a subrequest. Subrequests to internal services have a separate limit, which is the same for every usage model. " +
      "A fetch() to a Worker on the same zone fails without a service binding; a fetch() to a Worker on a custom domain is allowed.",
    limits: ["subrequests", "internalSubrequests"],
    source: SUBREQUESTS,
  },
  {
    about: "Connections",
    text:
      "New connections beyond the limit wait until an open connection closes. An unread response body keeps its connection open; response.body.cancel() closes it. " +
      "If all of an invocation's connections wait for each other, Cloudflare cancels the least recently used one. Using it after that throws an error.",
    limits: ["connections"],
    source: CONNECTIONS,
  },
  {
    about: "Cache API",
    text: "put(), match() and delete() share one quota with fetch().",
    limits: ["cacheObject", "cacheCalls"],
    source: CACHE_API,
  },
  {
    about: "Routes",
    text: "The number of routes per zone and the number of zones per Worker are limited. Cloudflare raises both limits on request.",
    limits: ["routesPerZone", "zonesPerWorker"],
    source: PAGE,
  },
  {
    about: "Console output",
    text: "Log statements, exceptions, request metadata and headers all count toward one limit. Cloudflare doesn't record output beyond it.",
    limits: ["consoleOutput"],
    source: LOG_SIZE,
  },
];

/** What visitors and API clients see when a limit is reached. */
export const LIMIT_ERRORS = {
  bodyTooLarge: { status: 413 },
  freeLimit: { status: 429, page: 1015, securityEventRule: "worker" },
  dailyLimitFailClosed: { page: 1027 },
} as const;

/**
 * Returns both possible values of a limit. Checks report an error only above the larger one, because Cloudflare may
 * accept everything up to it.
 */
export function boundsOf({ amount, unit }: Amount): Bounds {
  const bytes = ["B", "KB", "MB", "GB"].indexOf(unit);
  if (bytes >= 0) return { documented: amount * 1000 ** bytes, most: amount * 1024 ** bytes };
  const plain = amount * (unit === "s" ? 1000 : unit === "min" ? 60_000 : 1);
  return { documented: plain, most: plain };
}

/** Formats a number with thousands separators: `26,214,400`. */
export function formatNumber(number: number): string {
  return number.toLocaleString("en-US");
}

/** Formats a limit as documented: `10 MB`, `1,000`. */
export function formatAmount({ amount, unit }: Amount): string {
  return unit === "" ? formatNumber(amount) : `${formatNumber(amount)} ${unit}`;
}

/** Formats a measurement with its unit: `1,048,577 bytes`, `51 ms`, `65`. */
export function formatMeasured(number: number, { unit }: Amount): string {
  if (["B", "KB", "MB", "GB"].includes(unit)) return `${formatNumber(number)} bytes`;
  return ["ms", "s", "min"].includes(unit) ? `${formatNumber(number)} ms` : formatNumber(number);
}
