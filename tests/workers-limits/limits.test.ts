import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import {
  checkAccount,
  checkWorker,
  checkRequest,
  limits,
  RUN_TIME_LIMITS,
  type LimitFinding,
} from "pulumi-edgeguard";
import { checkEntry, FILE_SPELLING } from "../../provider/kv/entry";

/** Every figure of the limits, written by hand: a check one below it, at it and one above. */

type Check = (measured: number) => readonly LimitFinding[];
type Row = [title: string, check: Check, limit: number];

const KB = 1_024;
const MB = 1_048_576;
const GB = 1_073_741_824;

type Tier = "free" | "bundled" | "unbound" | "standard";
const plan = (tier: Tier): { plan: "free" | "paid"; usageModel?: "bundled" | "unbound" | "standard" } =>
  tier === "free" ? { plan: "free" } : { plan: "paid", usageModel: tier };

const observed =
  (tier: Tier, name: string): Check =>
  (measured) =>
    checkWorker({ ...plan(tier), observed: { [name]: measured } }).filter(({ limit }) => limit === name);

const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `x${i}`);
const named = (count: number): Record<string, string> =>
  Object.fromEntries(many(count).map((name) => [name, ""]));
const found = (name: string, findings: readonly LimitFinding[]): LimitFinding[] =>
  findings.filter(({ limit }) => limit === name);

const worker =
  (limit: string, plan: "free" | "paid", args: (n: number) => object): Check =>
  (n) =>
    found(limit, checkWorker({ plan, ...args(n) }));
const account =
  (
    plan: "free" | "paid",
    measured: "workers" | "cronTriggers" | "requestsPerDay" | "requestsPerMinute",
  ): Check =>
  (n) =>
    checkAccount({ plan, workers: 0, cronTriggers: 0, [measured]: n });
const request =
  (plan: "free" | "pro" | "business" | "enterprise", measured: "bodyBytes" | "cachedFileBytes"): Check =>
  (n) =>
    checkRequest({ plan, [measured]: n });

const ROWS: Row[] = [
  ["50 subrequests, free", observed("free", "subrequests"), 50],
  ["50 subrequests, bundled", observed("bundled", "subrequests"), 50],
  ["1,000 subrequests, unbound", observed("unbound", "subrequests"), 1000],
  ["1,000 subrequests, standard", observed("standard", "subrequests"), 1000],
  ["6 connections, free", observed("free", "connections"), 6],
  ["6 connections, paid", observed("standard", "connections"), 6],
  ["64 environment variables, free", worker("envVars", "free", (n) => ({ envVars: named(n) })), 64],
  ["128 environment variables, paid", worker("envVars", "paid", (n) => ({ envVars: named(n) })), 128],
  [
    "5 KB in one environment variable, free",
    worker("envVarSize", "free", (n) => ({ envVars: { A: "x".repeat(n) } })),
    5 * KB,
  ],
  [
    "5 KB in one environment variable, paid",
    worker("envVarSize", "paid", (n) => ({ envVars: { A: "x".repeat(n) } })),
    5 * KB,
  ],
  ["400 ms of startup, free", observed("free", "startup"), 400],
  ["400 ms of startup, paid", observed("bundled", "startup"), 400],
  ["100 Workers, free", account("free", "workers"), 100],
  ["500 Workers, paid", account("paid", "workers"), 500],
  ["5 Cron Triggers, free", account("free", "cronTriggers"), 5],
  ["250 Cron Triggers, paid", account("paid", "cronTriggers"), 250],
  ["5 Cron Triggers of one Worker, free", worker("cronTriggers", "free", (n) => ({ crons: many(n) })), 5],

  ["a URL of 16 KB", (n) => checkRequest({ plan: "free", url: "u".repeat(n) }), 16 * KB],
  [
    "headers of 32 KB",
    (n) =>
      found(
        "headers",
        checkRequest({ plan: "pro", headers: { a: "v".repeat(15_000), b: "v".repeat(n - 15_000 - 10) } }),
      ),
    32 * KB,
  ],
  [
    "one header of 16 KB",
    (n) => found("header", checkRequest({ plan: "business", headers: { name: "v".repeat(n - 8) } })),
    16 * KB,
  ],
  ["a body of 100 MB, free", request("free", "bodyBytes"), 100 * MB],
  ["a body of 100 MB, pro", request("pro", "bodyBytes"), 100 * MB],
  ["a body of 200 MB, business", request("business", "bodyBytes"), 200 * MB],
  ["a body of 500 MB, enterprise", request("enterprise", "bodyBytes"), 500 * MB],
  ["a cached file of 512 MB, free", request("free", "cachedFileBytes"), 512 * MB],
  ["a cached file of 512 MB, pro", request("pro", "cachedFileBytes"), 512 * MB],
  ["a cached file of 512 MB, business", request("business", "cachedFileBytes"), 512 * MB],
  ["a cached file of 5 GB, enterprise", request("enterprise", "cachedFileBytes"), 5 * GB],

  ["100,000 requests a day, free", account("free", "requestsPerDay"), 100_000],
  ["1,000 requests a minute, free", account("free", "requestsPerMinute"), 1000],
  ["128 MB of memory, free", observed("free", "memory"), 128 * MB],
  ["128 MB of memory, bundled", observed("bundled", "memory"), 128 * MB],
  ["128 MB of memory, standard", observed("standard", "memory"), 128 * MB],
  ["10 ms of CPU, free", observed("free", "cpuPerRequest"), 10],
  ["50 ms of CPU, bundled", observed("bundled", "cpuPerRequest"), 50],
  ["30 s of CPU, unbound", observed("unbound", "cpuPerRequest"), 30_000],
  ["30 s of CPU, standard", observed("standard", "cpuPerRequest"), 30_000],
  ["10 ms of CPU of a Cron Trigger, free", observed("free", "cpuPerCronTrigger"), 10],
  ["50 ms of CPU of a Cron Trigger, bundled", observed("bundled", "cpuPerCronTrigger"), 50],
  ["15 min of CPU of a Cron Trigger, unbound", observed("unbound", "cpuPerCronTrigger"), 900_000],
  ["15 min of CPU of a Cron Trigger, standard", observed("standard", "cpuPerCronTrigger"), 900_000],
  ["15 min of duration, unbound", observed("unbound", "durationPerEvent"), 900_000],
  ["15 min of duration, standard", observed("standard", "durationPerEvent"), 900_000],

  ["30 s in waitUntil()", observed("free", "waitUntil"), 30_000],
  ["1,000 internal subrequests, free", observed("free", "internalSubrequests"), 1000],
  ["1,000 internal subrequests, bundled", observed("bundled", "internalSubrequests"), 1000],
  ["512 MB in the Cache API", observed("bundled", "cacheObject"), 512 * MB],
  ["50 Cache API calls, free", observed("free", "cacheCalls"), 50],
  ["50 Cache API calls, bundled", observed("bundled", "cacheCalls"), 50],
  ["1,000 Cache API calls, unbound", observed("unbound", "cacheCalls"), 1000],
  ["1,000 Cache API calls, standard", observed("standard", "cacheCalls"), 1000],
  [
    "1,000 routes of a zone",
    worker("routesPerZone", "paid", (n) => ({
      routes: many(n).map((pattern) => ({ pattern, zone: "shop" })),
    })),
    1000,
  ],
  [
    "1,000 zones of a Worker",
    worker("zonesPerWorker", "paid", (n) => ({ routes: many(n).map((zone) => ({ pattern: "/*", zone })) })),
    1000,
  ],
  ["128 KB of console output", observed("standard", "consoleOutput"), 128 * KB],
];

const SOURCES = Object.entries({ ...limits.WORKERS, ...limits.REQUESTS }).map(
  ([name, { source }]) => [name, source] as const,
);

test.each(ROWS)("%s: warns near and at the limit, and fails above it", (name, check, limit) => {
  const levels = (measured: number): string[] => check(measured).map(({ level }) => level);
  expect({ below: levels(limit - 1), at: levels(limit), above: levels(limit + 1) }).toEqual({
    below: ["warning"],
    at: ["warning"],
    above: [/ of CPU\b/.test(name) ? "warning" : "error"], // Cloudflare tolerates occasional overruns of CPU time.
  });
  const [finding, ...more] = check(limit + 1);
  expect(more).toEqual([]);
  expect(finding).toMatchObject({ measured: limit + 1, allowed: limit });
  expect(SOURCES).toContainEqual([finding?.limit, finding?.source]);
});

test.each([
  ["free", 1_048_576],
  ["paid", 10_485_760],
] as const)("compares the compressed size with the limit of the %s plan, %d bytes", (plan, limit) => {
  // Random bytes don't get smaller, and what compression adds to them is the same for one byte more or less.
  const random = randomBytes(limit);
  let length = 2 * limit - gzipSync(random).length;
  length += limit - gzipSync(random.subarray(0, length)).length;
  const check = (measured: number): object[] => {
    const bundle = random.subarray(0, length + measured - limit);
    return found("size", checkWorker({ plan, bundle })).map(({ level, measured }) => ({ level, measured }));
  };
  expect([check(limit - 1), check(limit), check(limit + 1)].flat()).toEqual([
    { level: "warning", measured: limit - 1 },
    { level: "warning", measured: limit },
    { level: "error", measured: limit + 1 },
  ]);
});

test.each<[string, number, boolean]>([
  ["key", 512, false],
  ["value", 26_214_400, false],
  ["metadata", 1_024, false],
  ["expiration_ttl", 60, true],
])("accepts a KV entry's %s only within its limit of %d", (what, limit, isLeast) => {
  const problems = (n: number): readonly string[] => {
    const members = {
      key: what === "key" ? "k".repeat(n) : "key",
      value: what === "value" ? "v".repeat(n) : "",
      ...(what === "metadata" ? { metadata: { a: "m".repeat(n - 8) } } : {}),
      ...(what === "expiration_ttl" ? { expiration_ttl: n } : {}),
    };
    const checked = checkEntry({ place: {}, key: members.key, members, spelling: FILE_SPELLING });
    return "problems" in checked ? checked.problems : [];
  };
  const [inside, outside] = isLeast ? [limit + 1, limit - 1] : [limit - 1, limit + 1];
  expect(problems(inside)).toEqual([]);
  expect(problems(limit)).toEqual([]);
  expect(problems(outside)).toHaveLength(1);
});

test("a Logpush filter has at most 30 operators and 1,000 bytes", () => {
  expect(limits.LOGPUSH).toMatchObject({ MAX_FILTER_OPERATORS: 30, MAX_FILTER_BYTES: 1000 });
});

describe("a check with both meanings of MB, 1,000,000 and 1,048,576 bytes,", () => {
  const body = (bodyBytes: number): readonly LimitFinding[] => checkRequest({ plan: "free", bodyBytes });
  test.each<[number, string[], RegExp]>([
    [79_999_999, [], /^$/],
    [
      80_000_000,
      ["warning"],
      /^Body of a POST, PUT or PATCH request: 80,000,000 bytes, 80% of the limit of 100 MB on the free plan\.$/,
    ],
    [100_000_000, ["warning"], /100% of the limit of 100 MB/],
    [
      100_000_001,
      ["warning"],
      /within the limit of 100 MB on the free plan only if Cloudflare counts in units of 1,024/,
    ],
    [104_857_600, ["warning"], /only if Cloudflare counts in units of 1,024/],
    [
      104_857_601,
      ["error"],
      /^Body of a POST, PUT or PATCH request: 104,857,601 bytes, over the limit of 100 MB on the free plan\. Cloudflare rejects larger bodies with a 413\./,
    ],
  ])("compares a body of %d bytes with both limits", (bytes, levels, words) => {
    const findings = body(bytes);
    expect(findings.map(({ level }) => level)).toEqual(levels);
    expect(findings.map(({ message }) => message).join("")).toMatch(words);
  });

  test("compares a count or a time with a single limit, and warns at 80% and above", () => {
    const startup = observed("free", "startup");
    expect(startup(319)).toEqual([]);
    expect(startup(320)).toEqual([
      expect.objectContaining({
        level: "warning",
        message: expect.stringContaining("320 ms, 80% of the limit of 400 ms") as string,
      }),
    ]);
  });
});

test("reports nothing if there's no limit", () => {
  const none: LimitFinding[] = [
    ...checkAccount({
      plan: "paid",
      workers: 0,
      cronTriggers: 0,
      requestsPerDay: 1e12,
      requestsPerMinute: 1e9,
    }),
    ...observed("free", "durationPerEvent")(1e9),
    ...observed("bundled", "durationPerEvent")(1e9),
  ];
  expect(none).toEqual([]);
  const { envVarsPerAccount, durationPerRequest } = limits.WORKERS;
  for (const { limit } of [envVarsPerAccount, durationPerRequest])
    expect(new Set(Object.values(limit))).toEqual(new Set([null]));
  expect(limits.REQUESTS.response.limit).toEqual({
    free: null,
    pro: null,
    business: null,
    enterprise: null,
  });
});

test("the notes cover what Cloudflare documents beyond the numbers", () => {
  const notes = limits.WORKERS_NOTES.map(({ text }) => text).join(" ");
  for (const words of [
    "waitUntil()",
    "midnight UTC",
    "workers.dev",
    "1015",
    "redirect",
    "service binding",
    "custom domain",
    "response.body.cancel()",
    "least recently used",
  ])
    expect(notes).toContain(words);
  expect(
    Object.entries(limits.COUNTED_AS_CONNECTION).map(([api, calls]) => `${api} ${calls.length}`),
  ).toEqual(["fetch 1", "kv 4", "cache 3", "r2 5", "queue 2", "socket 1"]);
});

test.each<[string, string[]]>([
  ["Duration", ["durationPerRequest", "durationPerEvent", "waitUntil"]],
  ["CPU time", ["cpuPerRequest", "cpuPerCronTrigger"]],
  ["Requests on the free plan", ["requestsPerDay", "requestsPerMinute"]],
  ["Abuse protection", []],
  ["Memory", ["memory"]],
  ["Subrequests", ["subrequests", "internalSubrequests"]],
  ["Connections", ["connections"]],
  ["Cache API", ["cacheObject", "cacheCalls"]],
  ["Routes", ["routesPerZone", "zonesPerWorker"]],
  ["Console output", ["consoleOutput"]],
])("the message about a run-time limit ends with the note about that limit: %s", (about, names) => {
  const note = limits.WORKERS_NOTES.find((each) => each.about === about);
  expect(note?.limits).toEqual(names);
  const quoting = checkWorker({ plan: "paid", crons: ["0 * * * *"] }).filter(({ message }) =>
    message.endsWith(` ${note?.text ?? "-"}`),
  );
  const atRunTime = names.filter((name) => RUN_TIME_LIMITS.some((each) => each === name));
  expect(quoting.map(({ limit }) => limit).sort()).toEqual(atRunTime.sort());
});

test("every limit and note links to Cloudflare's page about it", () => {
  const links = [...SOURCES.map(([, source]) => source), ...limits.WORKERS_NOTES.map(({ source }) => source)];
  for (const link of links)
    expect(link).toMatch(
      /^https:\/\/developers\.cloudflare\.com\/(workers\/platform\/limits\/(#[a-z-]+)?|cache\/concepts\/default-cache-behavior\/)$/,
    );
});
