import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import {
  EDGE_FUNCTION,
  EDGE_FUNCTION_RULES,
  EDGE_REQUEST,
  boundsOf,
  formatNumber,
  formatAmount,
  type Amount,
  type FunctionLimit,
  type RequestLimit,
  type Tier,
  type ZonePlan,
} from "../limits/workers";
import { readErrorReason } from "../runtime/files";
import { atRunTime, CheckError, held, type LimitFinding, type Measure } from "./finding";

export { CheckError, type LimitFinding } from "./finding";

/** What an account pays for. The limits of Enterprise are those of the paid plan. */
export type FunctionPlan = "free" | "paid" | "enterprise";

/** How a paid plan counts. */
export type UsageModel = "bundled" | "unbound" | "standard";

/** A route by its pattern, with the zone where it is known. */
export type Route = string | { readonly pattern: string; readonly zone: string };

/**
 * Limits that only a running function meets. CPU time, startup and durations are in milliseconds, memory, cached objects
 * and console output in bytes; the others are counts.
 */
export const RUN_TIME_LIMITS = [
  "startup",
  "cpuPerRequest",
  "cpuPerTrigger",
  "durationPerEvent",
  "waitUntil",
  "memory",
  "subrequests",
  "internalSubrequests",
  "connections",
  "cacheCalls",
  "cacheObject",
  "consoleOutput",
] as const satisfies readonly FunctionLimit[];

export type RunTimeLimit = (typeof RUN_TIME_LIMITS)[number];

export interface FunctionToCheck {
  readonly plan: FunctionPlan;
  /** Of a paid plan; the free plan has limits of its own. Default `"standard"`. */
  readonly usageModel?: UsageModel;
  /** Its own CPU limit in milliseconds, as set for the Worker: at most that of the plan. Default: the plan's. */
  readonly cpuLimitMs?: number;
  /** What is uploaded: a file, a folder (source maps left out), or the bytes. It is compressed to be measured. */
  readonly bundle?: string | Uint8Array;
  /** Environment variables by name. A value that is no text counts as its JSON. No message repeats one. */
  readonly envVars?: Readonly<Record<string, unknown>>;
  /** Its scheduled triggers; the limit is the account's, see `checkAccount`. */
  readonly crons?: readonly string[];
  /** Its routes, `shop.example/*` or with the zone: `{ pattern, zone }`. */
  readonly routes?: readonly Route[];
  /** What was seen of it at run time, in metrics or logs; what is not given is listed with its limit. */
  readonly observed?: Observed;
}

/** What was measured at run time. */
export type Observed = Readonly<Partial<Record<RunTimeLimit, number>>>;

/**
 * Compares a Worker with the limits of its plan, without a request.
 *
 * @returns errors first, then warnings, then what only run time can tell.
 * @throws CheckError when the bundle cannot be read, or a plan or number is invalid.
 */
export function checkFunction(given: FunctionToCheck): readonly LimitFinding[] {
  const measure = measures(given.plan, given.usageModel);
  const { bundle, envVars = {}, crons = [], routes = [], observed = {}, cpuLimitMs } = given;
  const names = Object.keys(envVars);
  return sorted([
    ...(bundle === undefined
      ? []
      : held(
          measure("size", { advice: "Leave out what it does not use, or split it." }),
          compressedBytes(bundle),
        )),
    ...held(measure("envVars"), names.length),
    ...names.flatMap((name) =>
      held(
        measure("envVarSize", {
          subject: `Environment variable ${JSON.stringify(name)}`,
          advice: "Keep large values in a key-value namespace.",
        }),
        bytesOf(envVars[name]),
      ),
    ),
    ...held(
      measure("scheduledTriggers", { subject: "Scheduled triggers of this function alone" }),
      crons.length,
    ),
    ...routeFindings(measure, routes),
    ...cpuLimitFindings(measure, cpuLimitMs),
    ...RUN_TIME_LIMITS.flatMap((name) => {
      const seen = observed[name];
      const of = withCpuLimit(measure(name, { advice: ruleOf(name) }), cpuLimitMs);
      if (seen !== undefined) return isCpu(name) ? overruns(held(of, seen)) : held(measure(name), seen);
      if (name === "cpuPerTrigger" && crons.length === 0) return [];
      return atRunTime(of);
    }),
    ...sharedQuota(measure, observed),
  ]);
}

export interface AccountToCheck {
  readonly plan: FunctionPlan;
  /** How many functions the account has. */
  readonly functions: number;
  /** How many scheduled triggers all of them have together. */
  readonly scheduledTriggers: number;
  /** The busiest day, midnight to midnight UTC, and the busiest minute, of the whole account. */
  readonly requestsPerDay?: number;
  readonly requestsPerMinute?: number;
}

/**
 * Compares an account's Workers together with the limits of its plan.
 *
 * @throws CheckError when the plan is invalid.
 */
export function checkAccount(given: AccountToCheck): readonly LimitFinding[] {
  const measure = measures(given.plan, undefined);
  const { functions, scheduledTriggers, requestsPerDay = 0, requestsPerMinute = 0 } = given;
  const freeLimit = { advice: "Beyond it visitors see error 1015 and programs 429." };
  return sorted([
    ...held(measure("functionsPerAccount"), functions),
    ...held(measure("scheduledTriggers"), scheduledTriggers),
    ...held(measure("requestsPerDay", freeLimit), requestsPerDay),
    ...held(measure("requestsPerMinute", freeLimit), requestsPerMinute),
  ]);
}

export interface RequestToCheck {
  /** Plan of the zone that is asked. */
  readonly plan: ZonePlan;
  readonly url?: string | URL;
  /** By name; a list for a header that is sent several times. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Of a POST, PUT or PATCH. */
  readonly bodyBytes?: number;
  /** Of an answer that is to be cached. */
  readonly cachedFileBytes?: number;
}

/**
 * Holds a request against what a zone takes (seed 002, "Request and response size"). A header is measured as it is
 * sent, `name: value` with its line end.
 *
 * @throws CheckError when the plan is none.
 */
export function checkRequest(given: RequestToCheck): readonly LimitFinding[] {
  const { plan, url, headers = {}, bodyBytes, cachedFileBytes } = given;
  const plans: readonly string[] = Object.keys(EDGE_REQUEST.body.limit);
  if (!plans.includes(plan))
    throw new CheckError(`plan is ${JSON.stringify(plan)}; write "free", "pro", "business" or "enterprise".`);
  const measure = (name: RequestLimit, subject?: string): Measure<ZonePlan> => ({
    name,
    limit: EDGE_REQUEST[name],
    column: plan,
    plan: `the ${plan} plan`,
    ...(subject === undefined ? {} : { subject }),
    ...(name === "body" ? { advice: "The service answers 413: send it in parts." } : {}),
  });
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    (typeof values === "string" ? [values] : values).map((value) => ({
      name,
      bytes: Buffer.byteLength(`${name}: ${value}\r\n`),
    })),
  );
  return [
    ...(url === undefined ? [] : held(measure("url"), Buffer.byteLength(String(url)))),
    ...held(
      measure("headers"),
      lines.reduce((sum, { bytes }) => sum + bytes, 0),
    ),
    ...lines.flatMap(({ name, bytes }) =>
      held(measure("header", `Request header ${JSON.stringify(name)}`), bytes),
    ),
    ...(bodyBytes === undefined ? [] : held(measure("body"), bodyBytes)),
    ...(cachedFileBytes === undefined ? [] : held(measure("cachedFile"), cachedFileBytes)),
  ];
}

type Measures = (
  name: FunctionLimit,
  more?: { readonly subject?: string; readonly advice?: string | undefined },
) => Measure<Tier>;

function measures(plan: FunctionPlan, usageModel: UsageModel = "standard"): Measures {
  const known: readonly string[] = ["free", "paid", "enterprise"];
  if (!known.includes(plan))
    throw new CheckError(`plan is ${JSON.stringify(plan)}; write "free", "paid" or "enterprise".`);
  const models: readonly string[] = ["bundled", "unbound", "standard"];
  if (!models.includes(usageModel))
    throw new CheckError(
      `usageModel is ${JSON.stringify(usageModel)}; write "bundled", "unbound" or "standard".`,
    );
  const column = plan === "free" ? "free" : usageModel;
  const named =
    plan === "free" ? "the free plan" : `${plan === "paid" ? "a paid plan" : "Enterprise"}, ${usageModel}`;
  return (name, { subject, advice } = {}) => ({
    name,
    limit: EDGE_FUNCTION[name],
    column,
    plan: named,
    ...(subject === undefined ? {} : { subject }),
    ...(advice === undefined ? {} : { advice }),
  });
}

function isCpu(name: string): boolean {
  return name === "cpuPerRequest" || name === "cpuPerTrigger";
}

/** A CPU limit of the Worker's own has to be a number, and is no use above the plan's. */
function cpuLimitFindings(measure: Measures, cpuLimitMs: number | undefined): LimitFinding[] {
  if (cpuLimitMs === undefined) return [];
  if (!Number.isInteger(cpuLimitMs) || cpuLimitMs < 1)
    throw new CheckError(`cpuLimitMs is ${cpuLimitMs}; write milliseconds, a whole number from 1.`);
  const own = measure("cpuPerTrigger", { subject: "CPU limit set for this function" });
  return held(own, cpuLimitMs).filter(({ level }) => level === "error");
}

/** The same measure against the Worker's own limit, where that is lower than the plan's. */
function withCpuLimit(of: Measure<Tier>, cpuLimitMs: number | undefined): Measure<Tier> {
  const planned = of.limit.limit[of.column];
  if (cpuLimitMs === undefined || !isCpu(of.name) || planned === null) return of;
  if (boundsOf(planned).most <= cpuLimitMs) return of;
  const amount: Amount = { amount: cpuLimitMs, unit: "ms" };
  return {
    ...of,
    limit: { ...of.limit, limit: { ...of.limit.limit, [of.column]: amount } },
    plan: `this function (the plan allows ${formatAmount(planned)})`,
  };
}

/** One measure does not tell a single overrun, which is let pass, from a steady one, which ends the Worker. */
function overruns(findings: readonly LimitFinding[]): LimitFinding[] {
  return findings.map((finding) => ({ ...finding, level: "warning" }));
}

/** Calls of fetch() and of the Cache API draw on one quota: each may be within it, and both together beyond it. */
function sharedQuota(measure: Measures, { subrequests, cacheCalls }: Observed): LimitFinding[] {
  if (subrequests === undefined || cacheCalls === undefined) return [];
  const subject = `Subrequests (${formatNumber(subrequests)}) and Cache API calls (${formatNumber(cacheCalls)}) per request, in one quota`;
  const together = held(
    measure("cacheCalls", { subject, advice: ruleOf("cacheCalls") }),
    subrequests + cacheCalls,
  );
  const alone = [...held(measure("subrequests"), subrequests), ...held(measure("cacheCalls"), cacheCalls)];
  const isSaid = (level: LimitFinding["level"]): boolean => alone.some((each) => each.level === level);
  return together.filter(({ level }) => !isSaid("error") && !isSaid(level));
}

/** Zones that are not named are not guessed from the patterns: too many routes in all are then only warned of. */
function routeFindings(measure: Measures, routes: readonly Route[]): LimitFinding[] {
  const zones = new Map<string, number>();
  let unknown = 0;
  for (const route of routes) {
    if (typeof route === "string") unknown += 1;
    else zones.set(route.zone, (zones.get(route.zone) ?? 0) + 1);
  }
  const perZone = [...zones].flatMap(([zone, count]) =>
    held(measure("routesPerZone", { subject: `Routes of this function in zone ${zone}` }), count),
  );
  const unnamed = held(measure("routesPerZone", { subject: "Routes whose zone is not given" }), unknown).map(
    (finding): LimitFinding => ({
      ...finding,
      level: "warning",
      message: `${finding.message} Give each its zone, as { pattern, zone }, to have it counted.`,
    }),
  );
  return [...perZone, ...unnamed, ...held(measure("zonesPerFunction"), zones.size)];
}

function ruleOf(name: FunctionLimit): string | undefined {
  return EDGE_FUNCTION_RULES.find(({ limits }) => limits.includes(name))?.says;
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
 * Bytes of a function after compression: it is compressed, with gzip at its default level, as for an upload. Of a folder
 * every file counts but source maps, which are not part of what runs.
 *
 * @throws CheckError where it cannot be read.
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
    throw new CheckError(`The bundle ${path} cannot be read: ${readErrorReason(error)}.`);
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
