import { EDGE_FUNCTION, EDGE_FUNCTION_RULES, type FunctionLimit, type Tier } from "../limits/edge-function";
import { compressedBytes } from "./bundle";
import { atRunTime, CheckError, held, type LimitFinding, type Measure } from "./finding";

/** What an account pays for. */
export type FunctionPlan = "free" | "paid";

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
  /** What is uploaded: a file, a folder (source maps left out), or the bytes. It is compressed to be measured. */
  readonly bundle?: string | Uint8Array;
  /** Environment variables by name. A value that is no text counts as its JSON. No message repeats one. */
  readonly envVars?: Readonly<Record<string, unknown>>;
  /** Its scheduled triggers; the limit is the account's, see `checkAccount`. */
  readonly crons?: readonly string[];
  /** Its routes, `shop.example/*` or with the zone: `{ pattern, zone }`. */
  readonly routes?: readonly Route[];
  /** What was seen of it at run time, in metrics or logs; what is not given is listed with its limit. */
  readonly observed?: Readonly<Partial<Record<RunTimeLimit, number>>>;
}

/**
 * Holds an edge function against the limits of its plan (seed 002, "Limits"), without a request to anybody.
 *
 * @returns errors first, then warnings, then what only run time can tell.
 * @throws CheckError when the bundle cannot be read or the plan is none.
 */
export function checkFunction(given: FunctionToCheck): readonly LimitFinding[] {
  const measure = measures(given.plan, given.usageModel);
  const { bundle, envVars = {}, crons = [], routes = [], observed = {} } = given;
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
    ...RUN_TIME_LIMITS.flatMap((name) => {
      const seen = observed[name];
      if (seen !== undefined) return held(measure(name), seen);
      if (name === "cpuPerTrigger" && crons.length === 0) return [];
      return atRunTime(measure(name, { advice: ruleOf(name) }));
    }),
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
 * Holds an account's functions together against the limits of its plan (seed 002, "Plan limits" and rule 3).
 *
 * @throws CheckError when the plan is none.
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

type Measures = (
  name: FunctionLimit,
  more?: { readonly subject?: string; readonly advice?: string | undefined },
) => Measure<Tier>;

function measures(plan: FunctionPlan, usageModel: UsageModel = "standard"): Measures {
  const known: readonly string[] = ["free", "paid"];
  if (!known.includes(plan)) throw new CheckError(`plan is ${JSON.stringify(plan)}; write "free" or "paid".`);
  const models: readonly string[] = ["bundled", "unbound", "standard"];
  if (!models.includes(usageModel))
    throw new CheckError(
      `usageModel is ${JSON.stringify(usageModel)}; write "bundled", "unbound" or "standard".`,
    );
  const column = plan === "free" ? "free" : usageModel;
  const named = plan === "free" ? "the free plan" : `a paid plan, ${usageModel}`;
  return (name, { subject, advice } = {}) => ({
    name,
    limit: EDGE_FUNCTION[name],
    column,
    plan: named,
    ...(subject === undefined ? {} : { subject }),
    ...(advice === undefined ? {} : { advice }),
  });
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
