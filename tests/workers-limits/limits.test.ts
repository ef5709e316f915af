import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import {
  checkAccount,
  checkFunction,
  checkRequest,
  limits,
  RUN_TIME_LIMITS,
  type LimitFinding,
} from "pulumi-edgeguard";
import { checkEntry, FILE_SPELLING } from "../../provider/kv/entry";

/** Every number of the tables of seed 002, "Limits", written here by hand: one below it, at it, and one above. */

type Look = (measured: number) => readonly LimitFinding[];
type Row = [title: string, look: Look, limit: number, source: string];

const KB = 1_024;
const MB = 1_048_576;
const GB = 1_073_741_824;

const PLANS = "seed 002, Plan limits";
const SIZES = "seed 002, Request and response size";
const USAGE = "seed 002, Usage limits by usage model";

type Tier = "free" | "bundled" | "unbound" | "standard";
const plan = (tier: Tier): { plan: "free" | "paid"; usageModel?: "bundled" | "unbound" | "standard" } =>
  tier === "free" ? { plan: "free" } : { plan: "paid", usageModel: tier };

const observed =
  (tier: Tier, name: string): Look =>
  (measured) =>
    checkFunction({ ...plan(tier), observed: { [name]: measured } }).filter(({ limit }) => limit === name);

const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `x${i}`);
const named = (count: number): Record<string, string> =>
  Object.fromEntries(many(count).map((name) => [name, ""]));
const found = (name: string, findings: readonly LimitFinding[]): LimitFinding[] =>
  findings.filter(({ limit }) => limit === name);

const ROWS: Row[] = [
  ["50 subrequests, free", observed("free", "subrequests"), 50, PLANS],
  ["50 subrequests, bundled", observed("bundled", "subrequests"), 50, PLANS],
  ["1,000 subrequests, unbound", observed("unbound", "subrequests"), 1000, PLANS],
  ["1,000 subrequests, standard", observed("standard", "subrequests"), 1000, PLANS],
  ["6 connections, free", observed("free", "connections"), 6, PLANS],
  ["6 connections, paid", observed("standard", "connections"), 6, PLANS],
  [
    "64 environment variables, free",
    (n) => found("envVars", checkFunction({ plan: "free", envVars: named(n) })),
    64,
    PLANS,
  ],
  [
    "128 environment variables, paid",
    (n) => found("envVars", checkFunction({ plan: "paid", envVars: named(n) })),
    128,
    PLANS,
  ],
  [
    "5 KB of one variable, free",
    (n) => found("envVarSize", checkFunction({ plan: "free", envVars: { A: "x".repeat(n) } })),
    5 * KB,
    PLANS,
  ],
  [
    "5 KB of one variable, paid",
    (n) => found("envVarSize", checkFunction({ plan: "paid", envVars: { A: "x".repeat(n) } })),
    5 * KB,
    PLANS,
  ],
  ["400 ms of startup, free", observed("free", "startup"), 400, PLANS],
  ["400 ms of startup, paid", observed("bundled", "startup"), 400, PLANS],
  [
    "100 functions, free",
    (n) => checkAccount({ plan: "free", functions: n, scheduledTriggers: 0 }),
    100,
    PLANS,
  ],
  [
    "500 functions, paid",
    (n) => checkAccount({ plan: "paid", functions: n, scheduledTriggers: 0 }),
    500,
    PLANS,
  ],
  ["5 triggers, free", (n) => checkAccount({ plan: "free", functions: 0, scheduledTriggers: n }), 5, PLANS],
  [
    "250 triggers, paid",
    (n) => checkAccount({ plan: "paid", functions: 0, scheduledTriggers: n }),
    250,
    PLANS,
  ],
  [
    "5 triggers of one function, free",
    (n) => found("scheduledTriggers", checkFunction({ plan: "free", crons: many(n) })),
    5,
    PLANS,
  ],

  ["16 KB of URL", (n) => checkRequest({ plan: "free", url: "u".repeat(n) }), 16 * KB, SIZES],
  [
    "32 KB of headers",
    (n) =>
      found(
        "headers",
        checkRequest({ plan: "pro", headers: { a: "v".repeat(15_000), b: "v".repeat(n - 15_000 - 10) } }),
      ),
    32 * KB,
    SIZES,
  ],
  [
    "16 KB of one header",
    (n) => found("header", checkRequest({ plan: "business", headers: { name: "v".repeat(n - 8) } })),
    16 * KB,
    SIZES,
  ],
  ["100 MB of body, free", (n) => checkRequest({ plan: "free", bodyBytes: n }), 100 * MB, SIZES],
  ["100 MB of body, pro", (n) => checkRequest({ plan: "pro", bodyBytes: n }), 100 * MB, SIZES],
  ["200 MB of body, business", (n) => checkRequest({ plan: "business", bodyBytes: n }), 200 * MB, SIZES],
  ["500 MB of body, enterprise", (n) => checkRequest({ plan: "enterprise", bodyBytes: n }), 500 * MB, SIZES],
  ["512 MB of cached file, free", (n) => checkRequest({ plan: "free", cachedFileBytes: n }), 512 * MB, SIZES],
  ["512 MB of cached file, pro", (n) => checkRequest({ plan: "pro", cachedFileBytes: n }), 512 * MB, SIZES],
  [
    "512 MB of cached file, business",
    (n) => checkRequest({ plan: "business", cachedFileBytes: n }),
    512 * MB,
    SIZES,
  ],
  [
    "5 GB of cached file, enterprise",
    (n) => checkRequest({ plan: "enterprise", cachedFileBytes: n }),
    5 * GB,
    SIZES,
  ],

  [
    "100,000 requests a day, free",
    (n) => checkAccount({ plan: "free", functions: 0, scheduledTriggers: 0, requestsPerDay: n }),
    100_000,
    USAGE,
  ],
  [
    "1,000 requests a minute, free",
    (n) => checkAccount({ plan: "free", functions: 0, scheduledTriggers: 0, requestsPerMinute: n }),
    1000,
    USAGE,
  ],
  ["128 MB of memory, free", observed("free", "memory"), 128 * MB, USAGE],
  ["128 MB of memory, bundled", observed("bundled", "memory"), 128 * MB, USAGE],
  ["128 MB of memory, standard", observed("standard", "memory"), 128 * MB, USAGE],
  ["10 ms of CPU, free", observed("free", "cpuPerRequest"), 10, USAGE],
  ["50 ms of CPU, bundled", observed("bundled", "cpuPerRequest"), 50, USAGE],
  ["30 s of CPU, unbound", observed("unbound", "cpuPerRequest"), 30_000, USAGE],
  ["30 s of CPU, standard", observed("standard", "cpuPerRequest"), 30_000, USAGE],
  ["10 ms of CPU of a trigger, free", observed("free", "cpuPerTrigger"), 10, USAGE],
  ["50 ms of CPU of a trigger, bundled", observed("bundled", "cpuPerTrigger"), 50, USAGE],
  ["15 min of CPU of a trigger, unbound", observed("unbound", "cpuPerTrigger"), 900_000, USAGE],
  ["15 min of CPU of a trigger, standard", observed("standard", "cpuPerTrigger"), 900_000, USAGE],
  ["15 min of duration, unbound", observed("unbound", "durationPerEvent"), 900_000, USAGE],
  ["15 min of duration, standard", observed("standard", "durationPerEvent"), 900_000, USAGE],

  ["30 s under waitUntil()", observed("free", "waitUntil"), 30_000, `${USAGE}, rule 1`],
  ["1,000 internal subrequests, free", observed("free", "internalSubrequests"), 1000, `${USAGE}, rule 6`],
  [
    "1,000 internal subrequests, bundled",
    observed("bundled", "internalSubrequests"),
    1000,
    `${USAGE}, rule 6`,
  ],
  ["512 MB of cached object", observed("bundled", "cacheObject"), 512 * MB, `${USAGE}, rule 8`],
  ["50 cache calls, free", observed("free", "cacheCalls"), 50, `${USAGE}, rule 8`],
  ["50 cache calls, bundled", observed("bundled", "cacheCalls"), 50, `${USAGE}, rule 8`],
  ["1,000 cache calls, unbound", observed("unbound", "cacheCalls"), 1000, `${USAGE}, rule 8`],
  ["1,000 cache calls, standard", observed("standard", "cacheCalls"), 1000, `${USAGE}, rule 8`],
  [
    "1,000 routes of a zone",
    (n) =>
      found(
        "routesPerZone",
        checkFunction({ plan: "paid", routes: many(n).map((pattern) => ({ pattern, zone: "shop" })) }),
      ),
    1000,
    `${USAGE}, rule 9`,
  ],
  [
    "1,000 zones of a function",
    (n) =>
      found(
        "zonesPerFunction",
        checkFunction({ plan: "paid", routes: many(n).map((zone) => ({ pattern: "/*", zone })) }),
      ),
    1000,
    `${USAGE}, rule 9`,
  ],
  ["128 KB of console output", observed("standard", "consoleOutput"), 128 * KB, `${USAGE}, rule 10`],
];

test.each(ROWS)("%s", (name, look, limit, source) => {
  const levels = (measured: number): string[] => look(measured).map(({ level }) => level);
  expect({ below: levels(limit - 1), at: levels(limit), above: levels(limit + 1) }).toEqual({
    below: ["warning"],
    at: ["warning"],
    above: [/ of CPU\b/.test(name) ? "warning" : "error"], // An overrun of CPU now and then is let pass.
  });
  expect(look(limit + 1)).toEqual([expect.objectContaining({ measured: limit + 1, allowed: limit, source })]);
});

test.each([
  ["free", 1_048_576],
  ["paid", 10_485_760],
] as const)("1 MB and 10 MB of function after compression: %s, %d bytes", (plan, limit) => {
  // Random bytes do not get smaller, and what compression adds to them is the same for one byte more or less.
  const random = randomBytes(limit);
  let length = 2 * limit - gzipSync(random).length;
  length += limit - gzipSync(random.subarray(0, length)).length;
  const look = (measured: number): object[] => {
    const bundle = random.subarray(0, length + measured - limit);
    return found("size", checkFunction({ plan, bundle })).map(({ level, measured }) => ({ level, measured }));
  };
  expect([look(limit - 1), look(limit), look(limit + 1)].flat()).toEqual([
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
])("a key-value entry's %s of %d", (what, limit, isLeast) => {
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

test("filters of log-push jobs: 30 operators, 1,000 bytes", () => {
  expect(limits.LOGPUSH).toMatchObject({ MAX_FILTER_OPERATORS: 30, MAX_FILTER_BYTES: 1000 });
});

describe("a size is counted in both readings of its unit:", () => {
  const body = (bodyBytes: number): readonly LimitFinding[] => checkRequest({ plan: "free", bodyBytes });
  test.each<[number, string[], RegExp]>([
    [79_999_999, [], /^$/],
    [
      80_000_000,
      ["warning"],
      /^Body of a POST, PUT or PATCH: 80,000,000 bytes, 80% of the limit of 100 MB \(the free plan\)\.$/,
    ],
    [100_000_000, ["warning"], /100% of the limit of 100 MB/],
    [100_000_001, ["warning"], /which is within the limit of 100 MB only if it is counted in units of 1,024/],
    [104_857_600, ["warning"], /only if it is counted in units of 1,024/],
    [
      104_857_601,
      ["error"],
      /^Body of a POST, PUT or PATCH: 104,857,601 bytes; the limit of the free plan is 100 MB\. The service answers 413/,
    ],
  ])("%d bytes of body", (bytes, levels, words) => {
    const findings = body(bytes);
    expect(findings.map(({ level }) => level)).toEqual(levels);
    expect(findings.map(({ message }) => message).join("")).toMatch(words);
  });

  test("counts and times have one reading, and warn from 80% on", () => {
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

test("what has no limit is not found", () => {
  const none: LimitFinding[] = [
    ...checkAccount({
      plan: "paid",
      functions: 0,
      scheduledTriggers: 0,
      requestsPerDay: 1e12,
      requestsPerMinute: 1e9,
    }),
    ...observed("free", "durationPerEvent")(1e9),
    ...observed("bundled", "durationPerEvent")(1e9),
  ];
  expect(none).toEqual([]);
  const { envVarsPerAccount, durationPerRequest } = limits.EDGE_FUNCTION;
  for (const { limit } of [envVarsPerAccount, durationPerRequest])
    expect(new Set(Object.values(limit))).toEqual(new Set([null]));
  expect(limits.EDGE_REQUEST.response.limit).toEqual({
    free: null,
    pro: null,
    business: null,
    enterprise: null,
  });
});

test("each of the ten rules is there, with its limits and its source", () => {
  expect(limits.EDGE_FUNCTION_RULES.map(({ rule, source }) => [rule, source])).toEqual(
    Array.from({ length: 10 }, (_, i) => [i + 1, `${USAGE}, rule ${i + 1}`]),
  );
  const said = limits.EDGE_FUNCTION_RULES.map(({ says }) => says).join(" ");
  for (const words of [
    "waitUntil()",
    "midnight UTC",
    "default subdomain",
    "1015",
    "redirect",
    "service binding",
    "custom domain",
    "response.body.cancel()",
    "least recently used",
  ])
    expect(said).toContain(words);
  expect(
    Object.entries(limits.COUNTED_AS_CONNECTION).map(([api, calls]) => `${api} ${calls.length}`),
  ).toEqual(["fetch 1", "keyValue 4", "cache 3", "objectStorage 5", "queue 2", "socket 1"]);
});

test.each<[number, string, string[]]>([
  [1, "Duration", ["durationPerRequest", "durationPerEvent", "waitUntil"]],
  [2, "CPU time", ["cpuPerRequest", "cpuPerTrigger"]],
  [3, "Requests of the free plan", ["requestsPerDay", "requestsPerMinute"]],
  [4, "Abuse protection", []],
  [5, "Memory", ["memory"]],
  [6, "Subrequests", ["subrequests", "internalSubrequests"]],
  [7, "Connections", ["connections"]],
  [8, "Cache API", ["cacheObject", "cacheCalls"]],
  [9, "Routes", ["routesPerZone", "zonesPerFunction"]],
  [10, "Console output", ["consoleOutput"]],
])("rule %d is about %s, and a limit that only run time can tell quotes it", (rule, about, names) => {
  const found = limits.EDGE_FUNCTION_RULES.find((each) => each.rule === rule);
  expect(found).toMatchObject({ about, limits: names });
  const quoting = checkFunction({ plan: "paid", crons: ["0 * * * *"] }).filter(({ message }) =>
    message.endsWith(` ${found?.says ?? "-"}`),
  );
  const atRunTime = names.filter((name) => RUN_TIME_LIMITS.some((each) => each === name));
  expect(quoting.map(({ limit }) => limit).sort()).toEqual(atRunTime.sort());
});

test("every entry names a section of the seed", () => {
  const all = [...Object.values(limits.EDGE_FUNCTION), ...Object.values(limits.EDGE_REQUEST)];
  for (const { source } of all)
    expect(source).toMatch(/^seed 002, (Plan limits|Request and response size|Usage limits by usage model)/);
});
