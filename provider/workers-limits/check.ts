import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import {
  WORKERS,
  WORKERS_NOTES,
  REQUESTS,
  boundsOf,
  formatNumber,
  type Amount,
  type WorkersLimit,
  type RequestLimit,
  type Tier,
  type ZonePlan,
} from "../limits/workers";
import { readErrorReason } from "../basics/files";
import { CheckError, findingsOf, type LimitFinding, type LimitTable, type Measurement } from "./finding";

export { CheckError, type LimitFinding } from "./finding";

/** An account's Workers plan. Enterprise has the limits of the paid plan. */
export type WorkersPlan = "free" | "paid" | "enterprise";

/** The usage model of a paid plan. */
export type UsageModel = "bundled" | "unbound" | "standard";

/** A route: its pattern, or its pattern and its zone. */
export type Route = string | { readonly pattern: string; readonly zone: string };

/**
 * The limits that a Worker can reach only while it's running. CPU time, startup and durations are in milliseconds;
 * memory, cached objects and console output are in bytes; the others are counts.
 */
export const RUN_TIME_LIMITS = [
  "startup",
  "cpuPerRequest",
  "cpuPerCronTrigger",
  "durationPerEvent",
  "waitUntil",
  "memory",
  "subrequests",
  "internalSubrequests",
  "connections",
  "cacheCalls",
  "cacheObject",
  "consoleOutput",
] as const satisfies readonly WorkersLimit[];

/** A limit that can be checked only at run time. */
export type RunTimeLimit = (typeof RUN_TIME_LIMITS)[number];

/** A Worker to check before you deploy it. */
export interface WorkerToCheck {
  readonly plan: WorkersPlan;
  /**
   * The usage model of a paid plan; the free plan has its own limits.
   * @defaultValue `"standard"`
   */
  readonly usageModel?: UsageModel;
  /** The Worker's own CPU limit in milliseconds, at most the plan's. By default, the plan's limit applies. */
  readonly cpuLimitMs?: number;
  /**
   * What you upload: a file, a directory (without its source maps), or bytes. Its size is measured after compression.
   */
  readonly bundle?: string | Uint8Array;
  /**
   * Environment variables by name. Values that aren't strings are measured as JSON. Messages never contain values.
   */
  readonly envVars?: Readonly<Record<string, unknown>>;
  /** The Worker's Cron Triggers. Their limit is per account: see also `checkAccount`. */
  readonly crons?: readonly string[];
  /** The Worker's routes: `"shop.example/*"` or, with the zone, `{ pattern, zone }`. */
  readonly routes?: readonly Route[];
  /** Measurements from metrics or logs. A limit without a measurement is listed as `"info"`. */
  readonly observed?: Observed;
}

/** Measurements from a running Worker, by limit. */
export type Observed = Readonly<Partial<Record<RunTimeLimit, number>>>;

/**
 * Checks a Worker against the limits of its plan. Sends no requests.
 *
 * @returns errors first, then warnings, then the limits that can be checked only at run time.
 * @throws CheckError if the bundle can't be read, or if a plan or number is invalid.
 *
 * @example A Worker before its deployment
 * ```ts
 * import { checkWorker } from "pulumi-edgeguard";
 *
 * const findings = checkWorker({
 *   plan: "free",
 *   envVars: { HOST: "shop.example" },
 *   routes: [{ pattern: "shop.example/*", zone: "shop.example" }],
 *   observed: { cpuPerRequest: 8, memory: 64_000_000 },
 * });
 * for (const { level, message } of findings) if (level !== "info") console.warn(`${level}: ${message}`);
 * ```
 * @see https://developers.cloudflare.com/workers/platform/limits/
 */
export function checkWorker(given: WorkerToCheck): readonly LimitFinding[] {
  const { bundle, envVars = {}, crons = [], routes = [], cpuLimitMs } = given;
  const table = tableFor(given.plan, given.usageModel);
  const names = Object.keys(envVars);
  return findingsOf(table, [
    {
      limit: "size",
      measured: bundle === undefined ? undefined : compressedBytes(bundle),
      advice: "Remove unused code from the Worker, or split it into several.",
    },
    { limit: "envVars", measured: names.length },
    ...names.map((name) => ({
      limit: "envVarSize" as const,
      measured: bytesOf(envVars[name]),
      subject: `Environment variable ${JSON.stringify(name)}`,
      advice: "Store large values in Workers KV.",
    })),
    { limit: "cronTriggers", measured: crons.length, subject: "Cron Triggers of this Worker alone" },
    ...routeRows(routes),
    ...cpuLimitRows(table, cpuLimitMs),
    ...runTimeRows(given),
  ]);
}

/** The Workers in an account, to check together. */
export interface AccountToCheck {
  readonly plan: WorkersPlan;
  /** The number of Workers in the account. */
  readonly workers: number;
  /** The total number of Cron Triggers of all Workers. */
  readonly cronTriggers: number;
  /** The number of requests to the whole account on its busiest day, from midnight to midnight UTC. */
  readonly requestsPerDay?: number;
  /** The number of requests to the whole account in its busiest minute. */
  readonly requestsPerMinute?: number;
}

/**
 * Checks all Workers in an account together against the limits of its plan. Sends no requests.
 *
 * @returns errors first, then warnings.
 * @throws CheckError if the plan or a number is invalid.
 *
 * @example An account on the free plan
 * ```ts
 * import { checkAccount } from "pulumi-edgeguard";
 *
 * const findings = checkAccount({ plan: "free", workers: 12, cronTriggers: 5, requestsPerDay: 81_000 });
 * for (const { level, message } of findings) console.warn(`${level}: ${message}`);
 * ```
 * @see https://developers.cloudflare.com/workers/platform/limits/
 */
export function checkAccount(given: AccountToCheck): readonly LimitFinding[] {
  const { plan, workers, cronTriggers, requestsPerDay = 0, requestsPerMinute = 0 } = given;
  const advice = "Above the limit, visitors see error 1015 and API clients get a 429.";
  return findingsOf(tableFor(plan), [
    { limit: "workersPerAccount", measured: workers },
    { limit: "cronTriggers", measured: cronTriggers },
    { limit: "requestsPerDay", measured: requestsPerDay, advice },
    { limit: "requestsPerMinute", measured: requestsPerMinute, advice },
  ]);
}

/** A request to a zone, to check against the zone's limits. */
export interface RequestToCheck {
  /** The zone's plan. */
  readonly plan: ZonePlan;
  readonly url?: string | URL;
  /** Headers by name. Pass a list for a header that's sent several times. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** The size of a POST, PUT or PATCH body. */
  readonly bodyBytes?: number;
  /** The size of a response to cache. */
  readonly cachedFileBytes?: number;
}

/**
 * Checks a request against the limits of its zone. The size of a header includes its name, the colon and the line
 * break. Sends no requests.
 *
 * @returns errors first, then warnings.
 * @throws CheckError if the plan or a number is invalid.
 *
 * @example An upload to a zone on the Pro plan
 * ```ts
 * import { checkRequest } from "pulumi-edgeguard";
 *
 * const findings = checkRequest({ plan: "pro", url: "https://shop.example/upload", bodyBytes: 120_000_000 });
 * for (const { level, message } of findings) console.warn(`${level}: ${message}`);
 * ```
 * @see https://developers.cloudflare.com/workers/platform/limits/
 */
export function checkRequest(given: RequestToCheck): readonly LimitFinding[] {
  const { plan, url, headers = {}, bodyBytes, cachedFileBytes } = given;
  if (!Object.hasOwn(REQUESTS.body.limit, plan))
    throw new CheckError(
      `plan: ${JSON.stringify(plan)} is not a plan. Use "free", "pro", "business" or "enterprise".`,
    );
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    (typeof values === "string" ? [values] : values).map((value) => ({
      limit: "header" as const,
      measured: Buffer.byteLength(`${name}: ${value}\r\n`),
      subject: `Request header ${JSON.stringify(name)}`,
    })),
  );
  const table: LimitTable<RequestLimit, ZonePlan> = {
    limits: REQUESTS,
    column: plan,
    where: `on the ${plan} plan`,
  };
  return findingsOf(table, [
    { limit: "url", measured: url === undefined ? undefined : Buffer.byteLength(String(url)) },
    { limit: "headers", measured: lines.reduce((sum, { measured }) => sum + measured, 0) },
    ...lines,
    {
      limit: "body",
      measured: bodyBytes,
      advice: "Cloudflare rejects larger bodies with a 413. Send the body in several requests.",
    },
    { limit: "cachedFile", measured: cachedFileBytes },
  ]);
}

const PAID = { bundled: true, unbound: true, standard: true } as const;
const PLANS = { free: "on the free plan", paid: "on the paid plan", enterprise: "on Enterprise" } as const;

function tableFor(plan: WorkersPlan, model: UsageModel = "standard"): LimitTable<WorkersLimit, Tier> {
  if (!Object.hasOwn(PLANS, plan))
    throw new CheckError(`plan: ${JSON.stringify(plan)} is not a plan. Use "free", "paid" or "enterprise".`);
  if (!Object.hasOwn(PAID, model))
    throw new CheckError(
      `usageModel: ${JSON.stringify(model)} is not a usage model. Use "bundled", "unbound" or "standard".`,
    );
  return plan === "free"
    ? { limits: WORKERS, column: "free", where: PLANS.free }
    : { limits: WORKERS, column: model, where: `${PLANS[plan]} (${model})` };
}

/** The Worker's own CPU limit, which has no effect above the plan's. */
function cpuLimitRows(
  { limits, column }: LimitTable<WorkersLimit, Tier>,
  cpuLimitMs: number | undefined,
): Measurement<WorkersLimit>[] {
  if (cpuLimitMs === undefined) return [];
  if (!Number.isInteger(cpuLimitMs) || cpuLimitMs < 1)
    throw new CheckError(
      `cpuLimitMs: ${cpuLimitMs} is not a CPU limit. Use a whole number of milliseconds, 1 or more.`,
    );
  const limit = "cpuPerCronTrigger";
  const planned = limits[limit].limit[column];
  return planned === null || cpuLimitMs <= boundsOf(planned).most
    ? []
    : [{ limit, measured: cpuLimitMs, subject: "CPU limit of this Worker" }];
}

/** The limits of a running Worker. `fetch()` and the Cache API share a quota: if both are measured, their sum counts. */
function runTimeRows({ observed = {}, cpuLimitMs, crons = [] }: WorkerToCheck): Measurement<WorkersLimit>[] {
  const { subrequests, cacheCalls } = observed;
  return RUN_TIME_LIMITS.flatMap((limit): Measurement<WorkersLimit>[] => {
    const isIdle = limit === "cpuPerCronTrigger" && crons.length === 0;
    const measured = observed[limit] ?? (isIdle ? undefined : "at run time");
    const note = WORKERS_NOTES.find(({ limits }) => limits.some((name) => name === limit))?.text;
    const isShared = subrequests !== undefined && cacheCalls !== undefined;
    if (isShared && limit === "subrequests") return [];
    if (isShared && limit === "cacheCalls") {
      const subject = `Subrequests (${formatNumber(subrequests)}) and Cache API calls (${formatNumber(cacheCalls)}) per request, which share one quota`;
      return [{ limit, measured: subrequests + cacheCalls, subject, advice: note }];
    }
    if (limit === "cpuPerRequest" || limit === "cpuPerCronTrigger") {
      // A single measurement can't distinguish an occasional overrun from a consistent one.
      const own: Amount | undefined =
        cpuLimitMs === undefined ? undefined : { amount: cpuLimitMs, unit: "ms" };
      return [{ limit, measured, tolerated: note, own }];
    }
    return [{ limit, measured, advice: measured === "at run time" ? note : undefined }];
  });
}

/** A pattern alone doesn't reliably identify its zone, so too many routes without a zone only cause a warning. */
function routeRows(routes: readonly Route[]): Measurement<WorkersLimit>[] {
  const zones = new Map<string, number>();
  for (const route of routes)
    if (typeof route !== "string") zones.set(route.zone, (zones.get(route.zone) ?? 0) + 1);
  return [
    ...[...zones].map(([zone, measured]) => ({
      limit: "routesPerZone" as const,
      measured,
      subject: `Routes of this Worker in zone ${zone}`,
    })),
    {
      limit: "routesPerZone",
      measured: routes.filter((route) => typeof route === "string").length,
      subject: "Routes without a zone",
      tolerated: "To count the routes per zone, pass each route with its zone: { pattern, zone }.",
    },
    { limit: "zonesPerWorker", measured: zones.size },
  ];
}

function bytesOf(value: unknown): number {
  const text = typeof value === "string" ? value : (JSON.stringify(value) as string | undefined);
  return text === undefined ? 0 : Buffer.byteLength(text);
}

/**
 * Returns the bundle's size after gzip at its default level. Wrangler reports the same size. Source maps aren't
 * counted, because they don't run.
 */
function compressedBytes(bundle: string | Uint8Array): number {
  if (typeof bundle !== "string") return gzipSync(bundle).length;
  try {
    return gzipSync(Buffer.concat(filesIn(bundle).map((file) => readFileSync(file)))).length;
  } catch (error) {
    throw new CheckError(
      `bundle: can't read ${bundle}: ${readErrorReason(error)}. Pass a file, a directory or bytes.`,
    );
  }
}

function filesIn(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path];
  const paths = readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name));
  return paths.filter((each) => !each.endsWith(".map") && !statSync(each).isDirectory()).sort();
}
