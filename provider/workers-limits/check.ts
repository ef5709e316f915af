import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import {
  WORKERS,
  WORKERS_NOTES,
  REQUESTS,
  boundsOf,
  formatNumber,
  formatAmount,
  type Amount,
  type WorkersLimit,
  type RequestLimit,
  type Tier,
  type ZonePlan,
} from "../limits/workers";
import { readErrorReason } from "../runtime/files";
import { CheckError, compareWithLimit, knownAtRunTime, type LimitFinding, type Measure } from "./finding";

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
  const measure = measures(given.plan, given.usageModel);
  const { bundle, envVars = {}, crons = [], routes = [], observed = {}, cpuLimitMs } = given;
  const names = Object.keys(envVars);
  return sorted([
    ...(bundle === undefined
      ? []
      : compareWithLimit(
          measure("size", { advice: "Remove unused code from the Worker, or split it into several." }),
          compressedBytes(bundle),
        )),
    ...compareWithLimit(measure("envVars"), names.length),
    ...names.flatMap((name) =>
      compareWithLimit(
        measure("envVarSize", {
          subject: `Environment variable ${JSON.stringify(name)}`,
          advice: "Store large values in Workers KV.",
        }),
        bytesOf(envVars[name]),
      ),
    ),
    ...compareWithLimit(
      measure("cronTriggers", { subject: "Cron Triggers of this Worker alone" }),
      crons.length,
    ),
    ...routeFindings(measure, routes),
    ...cpuLimitFindings(measure, cpuLimitMs),
    ...RUN_TIME_LIMITS.flatMap((name) => {
      const measured = observed[name];
      const of = withCpuLimit(measure(name, { advice: noteOn(name) }), cpuLimitMs);
      if (measured !== undefined)
        return isCpu(name)
          ? overruns(compareWithLimit(of, measured))
          : compareWithLimit(measure(name), measured);
      if (name === "cpuPerCronTrigger" && crons.length === 0) return [];
      return knownAtRunTime(of);
    }),
    ...sharedQuota(measure, observed),
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
  const measure = measures(given.plan, undefined);
  const { workers, cronTriggers, requestsPerDay = 0, requestsPerMinute = 0 } = given;
  const freeLimit = { advice: "Above the limit, visitors see error 1015 and API clients get a 429." };
  return sorted([
    ...compareWithLimit(measure("workersPerAccount"), workers),
    ...compareWithLimit(measure("cronTriggers"), cronTriggers),
    ...compareWithLimit(measure("requestsPerDay", freeLimit), requestsPerDay),
    ...compareWithLimit(measure("requestsPerMinute", freeLimit), requestsPerMinute),
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
 * @returns errors and warnings, in the order of the arguments.
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
  const plans: readonly string[] = Object.keys(REQUESTS.body.limit);
  if (!plans.includes(plan))
    throw new CheckError(
      `plan: ${JSON.stringify(plan)} is not a plan. Use "free", "pro", "business" or "enterprise".`,
    );
  const measure = (name: RequestLimit, subject?: string): Measure<ZonePlan> => ({
    name,
    limit: REQUESTS[name],
    column: plan,
    where: `on the ${plan} plan`,
    ...(subject === undefined ? {} : { subject }),
    ...(name === "body"
      ? { advice: "Cloudflare rejects larger bodies with a 413. Send the body in several requests." }
      : {}),
  });
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    (typeof values === "string" ? [values] : values).map((value) => ({
      name,
      bytes: Buffer.byteLength(`${name}: ${value}\r\n`),
    })),
  );
  return [
    ...(url === undefined ? [] : compareWithLimit(measure("url"), Buffer.byteLength(String(url)))),
    ...compareWithLimit(
      measure("headers"),
      lines.reduce((sum, { bytes }) => sum + bytes, 0),
    ),
    ...lines.flatMap(({ name, bytes }) =>
      compareWithLimit(measure("header", `Request header ${JSON.stringify(name)}`), bytes),
    ),
    ...(bodyBytes === undefined ? [] : compareWithLimit(measure("body"), bodyBytes)),
    ...(cachedFileBytes === undefined ? [] : compareWithLimit(measure("cachedFile"), cachedFileBytes)),
  ];
}

type Measures = (
  name: WorkersLimit,
  more?: { readonly subject?: string; readonly advice?: string | undefined },
) => Measure<Tier>;

function measures(plan: WorkersPlan, usageModel: UsageModel = "standard"): Measures {
  const known: readonly string[] = ["free", "paid", "enterprise"];
  if (!known.includes(plan))
    throw new CheckError(`plan: ${JSON.stringify(plan)} is not a plan. Use "free", "paid" or "enterprise".`);
  const models: readonly string[] = ["bundled", "unbound", "standard"];
  if (!models.includes(usageModel))
    throw new CheckError(
      `usageModel: ${JSON.stringify(usageModel)} is not a usage model. Use "bundled", "unbound" or "standard".`,
    );
  const column = plan === "free" ? "free" : usageModel;
  const where =
    plan === "free"
      ? "on the free plan"
      : `on ${plan === "paid" ? "the paid plan" : "Enterprise"} (${usageModel})`;
  return (name, { subject, advice } = {}) => ({
    name,
    limit: WORKERS[name],
    column,
    where,
    ...(subject === undefined ? {} : { subject }),
    ...(advice === undefined ? {} : { advice }),
  });
}

function isCpu(name: string): boolean {
  return name === "cpuPerRequest" || name === "cpuPerCronTrigger";
}

/** Checks a Worker's own CPU limit, which has no effect above the plan's. */
function cpuLimitFindings(measure: Measures, cpuLimitMs: number | undefined): LimitFinding[] {
  if (cpuLimitMs === undefined) return [];
  if (!Number.isInteger(cpuLimitMs) || cpuLimitMs < 1)
    throw new CheckError(
      `cpuLimitMs: ${cpuLimitMs} is not a CPU limit. Use a whole number of milliseconds, 1 or more.`,
    );
  const own = measure("cpuPerCronTrigger", { subject: "CPU limit of this Worker" });
  return compareWithLimit(own, cpuLimitMs).filter(({ level }) => level === "error");
}

/** Applies the Worker's own CPU limit if it's lower than the plan's. */
function withCpuLimit(of: Measure<Tier>, cpuLimitMs: number | undefined): Measure<Tier> {
  const planned = of.limit.limit[of.column];
  if (cpuLimitMs === undefined || !isCpu(of.name) || planned === null) return of;
  if (boundsOf(planned).most <= cpuLimitMs) return of;
  const amount: Amount = { amount: cpuLimitMs, unit: "ms" };
  return {
    ...of,
    limit: { ...of.limit, limit: { ...of.limit.limit, [of.column]: amount } },
    where: `set for this Worker (the plan allows ${formatAmount(planned)})`,
  };
}

/**
 * Converts errors to warnings, because a single measurement can't distinguish an occasional overrun, which Cloudflare
 * tolerates, from a consistent one.
 */
function overruns(findings: readonly LimitFinding[]): LimitFinding[] {
  return findings.map((finding) => ({ ...finding, level: "warning" }));
}

/**
 * Checks the quota that fetch() and the Cache API share. Each of them can be within the limit even if both together
 * exceed it.
 */
function sharedQuota(measure: Measures, { subrequests, cacheCalls }: Observed): LimitFinding[] {
  if (subrequests === undefined || cacheCalls === undefined) return [];
  const subject = `Subrequests (${formatNumber(subrequests)}) and Cache API calls (${formatNumber(cacheCalls)}) per request, which share one quota`;
  const together = compareWithLimit(
    measure("cacheCalls", { subject, advice: noteOn("cacheCalls") }),
    subrequests + cacheCalls,
  );
  const alone = [
    ...compareWithLimit(measure("subrequests"), subrequests),
    ...compareWithLimit(measure("cacheCalls"), cacheCalls),
  ];
  const has = (level: LimitFinding["level"]): boolean => alone.some((each) => each.level === level);
  return together.filter(({ level }) => !has("error") && !has(level));
}

/**
 * Checks the number of routes per zone. A pattern alone doesn't reliably identify its zone, so too many routes without
 * a zone only cause a warning.
 */
function routeFindings(measure: Measures, routes: readonly Route[]): LimitFinding[] {
  const zones = new Map<string, number>();
  let unknown = 0;
  for (const route of routes) {
    if (typeof route === "string") unknown += 1;
    else zones.set(route.zone, (zones.get(route.zone) ?? 0) + 1);
  }
  const perZone = [...zones].flatMap(([zone, count]) =>
    compareWithLimit(measure("routesPerZone", { subject: `Routes of this Worker in zone ${zone}` }), count),
  );
  const unnamed = compareWithLimit(
    measure("routesPerZone", { subject: "Routes without a zone" }),
    unknown,
  ).map((finding): LimitFinding => ({
    ...finding,
    level: "warning",
    message: `${finding.message} To count the routes per zone, pass each route with its zone: { pattern, zone }.`,
  }));
  return [...perZone, ...unnamed, ...compareWithLimit(measure("zonesPerWorker"), zones.size)];
}

function noteOn(name: WorkersLimit): string | undefined {
  return WORKERS_NOTES.find(({ limits }) => limits.includes(name))?.text;
}

function bytesOf(value: unknown): number {
  const text = typeof value === "string" ? value : (JSON.stringify(value) as string | undefined);
  return text === undefined ? 0 : Buffer.byteLength(text);
}

const ORDER = ["error", "warning", "info"] as const;

function sorted(findings: readonly LimitFinding[]): readonly LimitFinding[] {
  return ORDER.flatMap((level) => findings.filter((finding) => finding.level === level));
}

/**
 * Returns the bundle's size after gzip at its default level. Wrangler reports the same size. Source maps aren't
 * counted, because they don't run.
 */
function compressedBytes(bundle: string | Uint8Array): number {
  return gzipSync(typeof bundle === "string" ? Buffer.concat(read(bundle)) : bundle).length;
}

function read(path: string): Buffer[] {
  try {
    return statSync(path).isDirectory()
      ? [...filesOf(path)].map((file) => readFileSync(file))
      : [readFileSync(path)];
  } catch (error) {
    throw new CheckError(
      `bundle: can't read ${path}: ${readErrorReason(error)}. Pass a file, a directory or bytes.`,
    );
  }
}

function* filesOf(folder: string): Generator<string> {
  const found = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const one of found) {
    const path = join(folder, one.name);
    if (one.isDirectory()) yield* filesOf(path);
    else if (!one.name.endsWith(".map")) yield path;
  }
}
