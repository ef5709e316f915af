import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import {
  checkAccount,
  checkWorker,
  CheckError,
  checkRequest,
  explainError,
  RUN_TIME_LIMITS,
} from "pulumi-edgeguard";
import { folderPerTest } from "../support/bench";
import { clientOf, envelope, failureOf, serve } from "../support/edge-client";
import { z } from "zod";

describe("checkWorker", () => {
  const folder = folderPerTest("workers");

  const size = (bundle: string | Uint8Array): (number | undefined)[] =>
    checkWorker({ plan: "free", bundle })
      .filter(({ limit }) => limit === "size")
      .map(({ measured }) => measured);

  test("compresses the bundle before measuring it", () => {
    expect(size(Buffer.alloc(50_000_000, "a"))).toEqual([]);
    const random = randomBytes(1_048_600);
    const [finding] = checkWorker({ plan: "free", bundle: random });
    const measured = gzipSync(random).length;
    expect(finding).toMatchObject({ level: "error", limit: "size", measured, allowed: 1_048_576 });
    expect(finding?.message).toMatch(
      /^Worker size after compression: 1,04\d,\d{3} bytes, over the limit of 1 MB on the free plan\./,
    );
    expect(checkWorker({ plan: "paid", bundle: random }).filter(({ level }) => level !== "info")).toEqual([]);
  });

  test("measures a file, or a directory without its source maps", () => {
    const random = randomBytes(900_000);
    writeFileSync(join(folder, "index.js"), random);
    expect(size(join(folder, "index.js"))).toEqual([gzipSync(random).length]);
    mkdirSync(join(folder, "lib"));
    const more = randomBytes(50_000);
    writeFileSync(join(folder, "lib", "more.js"), more);
    writeFileSync(join(folder, "index.js.map"), randomBytes(900_000));
    expect(size(folder)).toEqual([gzipSync(Buffer.concat([random, more])).length]);
    expect(() => checkWorker({ plan: "free", bundle: join(folder, "nothing") })).toThrow(
      /^bundle: can't read .*nothing: /,
    );
  });

  test("names an environment variable that's too large, but never its value", () => {
    const findings = checkWorker({
      plan: "paid",
      envVars: { HOSTS: "s3cret".repeat(1_000), LIST: ["a"], NONE: undefined },
    });
    expect(findings.filter(({ level }) => level === "error")).toEqual([
      expect.objectContaining({
        limit: "envVarSize",
        message: expect.stringMatching(/^Environment variable "HOSTS": 6,000 bytes, over /) as string,
      }),
    ]);
    expect(JSON.stringify(findings)).not.toContain("s3cret");
  });

  test("lists each limit that's known only at run time, unless a measurement is given", () => {
    const info = (tier: Parameters<typeof checkWorker>[0]): string[] =>
      checkWorker(tier)
        .filter(({ level }) => level === "info")
        .map(({ limit }) => limit);
    const withoutTriggers = RUN_TIME_LIMITS.filter((name) => name !== "cpuPerCronTrigger");
    expect(info({ plan: "paid" })).toEqual(withoutTriggers);
    expect(info({ plan: "paid", crons: ["0 * * * *"] })).toEqual([...RUN_TIME_LIMITS]);
    // On the free plan, an event has no limit of duration.
    expect(info({ plan: "free" })).toEqual(withoutTriggers.filter((name) => name !== "durationPerEvent"));
    expect(info({ plan: "paid", observed: { memory: 1, startup: 1 } })).not.toContain("memory");

    const cpu = checkWorker({ plan: "free" }).find(({ limit }) => limit === "cpuPerRequest");
    expect(cpu?.message).toMatch(
      /^CPU time per HTTP request: known only at run time\. The limit on the free plan is 10 ms\. /,
    );
  });

  describe("with measurements from a running Worker", () => {
    const found = (given: Parameters<typeof checkWorker>[0]) =>
      checkWorker(given).filter(({ level }) => level !== "info");

    test("adds up fetch() and Cache API calls, because they share one quota", () => {
      const observed = { subrequests: 30, cacheCalls: 30 };
      expect(found({ plan: "free", observed })).toEqual([
        expect.objectContaining({
          level: "error",
          measured: 60,
          allowed: 50,
          message:
            "Subrequests (30) and Cache API calls (30) per request, which share one quota: 60, over the limit of 50 on the free plan. put(), match() and delete() share one quota with fetch().",
        }),
      ]);
      expect(found({ plan: "free", observed: { subrequests: 10, cacheCalls: 10 } })).toEqual([]);
      // Reported once if one of them is too much by itself.
      expect(found({ plan: "free", observed: { subrequests: 60, cacheCalls: 1 } })).toHaveLength(1);
    });

    test("only warns if CPU time exceeds the limit, because Cloudflare may tolerate it", () => {
      const [finding, ...more] = found({ plan: "free", observed: { cpuPerRequest: 25 } });
      expect(more).toEqual([]);
      expect(finding).toMatchObject({ level: "warning", limit: "cpuPerRequest", measured: 25, allowed: 10 });
      expect(finding?.message).toMatch(
        /Cloudflare tolerates occasional overruns, but terminates a Worker that exceeds the limit consistently\./,
      );
    });

    test("compares CPU time with the Worker's own CPU limit", () => {
      const given = { plan: "paid", cpuLimitMs: 200, observed: { cpuPerRequest: 250 } } as const;
      expect(found(given)).toEqual([expect.objectContaining({ level: "warning", allowed: 200 })]);
      expect(found(given)[0]?.message).toContain(
        "over the limit of 200 ms set for this Worker (the plan allows 30 s)",
      );
      expect(found({ ...given, observed: { cpuPerRequest: 100 } })).toEqual([]);
      expect(found({ plan: "free", cpuLimitMs: 500 })).toEqual([
        expect.objectContaining({
          level: "error",
          message: expect.stringMatching(
            /^CPU limit of this Worker: 500 ms, over the limit of 10 ms/,
          ) as string,
        }),
      ]);
      expect(() => checkWorker({ plan: "paid", cpuLimitMs: 0 })).toThrow(/cpuLimitMs: 0 is not a CPU limit/);
    });
  });

  test("applies the limits of the paid plan to an Enterprise account", () => {
    const account = { workers: 501, cronTriggers: 0, requestsPerDay: 10 ** 9 };
    expect(checkAccount({ plan: "enterprise", ...account })).toEqual([
      expect.objectContaining({ level: "error", limit: "workersPerAccount", allowed: 500 }),
    ]);
  });

  test("doesn't guess the zone of a route from its pattern", () => {
    const routes = (count: number): string[] => Array.from({ length: count }, (_, i) => `h${i}.example/*`);
    const [finding] = checkWorker({ plan: "paid", routes: routes(1_001) });
    expect(finding).toMatchObject({
      level: "warning",
      limit: "routesPerZone",
      message: expect.stringMatching(/pass each route with its zone/) as string,
    });
    expect(
      checkWorker({ plan: "paid", routes: routes(700) }).filter(({ level }) => level !== "info"),
    ).toEqual([]);
  });

  test("lists errors first, then warnings, then everything else", () => {
    const findings = checkWorker({ plan: "free", envVars: { A: "x".repeat(5_000), B: "x".repeat(6_000) } });
    expect(findings.slice(0, 3).map(({ level }) => level)).toEqual(["error", "warning", "info"]);
  });

  test("rejects an unknown plan, an unknown usage model and an invalid number", () => {
    const wrong = "gold" as "free";
    expect(() => checkWorker({ plan: wrong })).toThrow(
      new CheckError('plan: "gold" is not a plan. Use "free", "paid" or "enterprise".'),
    );
    expect(() => checkWorker({ plan: "paid", usageModel: "gold" as "standard" })).toThrow(
      /usageModel: "gold" is not a usage model/,
    );
    expect(() => checkRequest({ plan: wrong })).toThrow(/Use "free", "pro", "business" or "enterprise"/);
    expect(() => checkAccount({ plan: "free", workers: NaN, cronTriggers: 0 })).toThrow(
      /Workers per account: NaN is not a measurement/,
    );
    expect(() => checkRequest({ plan: "free", bodyBytes: -1 })).toThrow(/-1 is not a measurement/);
  });
});

test("checkRequest counts bytes, not characters, and each value of a repeated header", () => {
  const finding = (limit: string, findings: ReturnType<typeof checkRequest>): number | undefined =>
    findings.find((each) => each.limit === limit)?.measured;
  expect(finding("url", checkRequest({ plan: "free", url: `https://x/${"ü".repeat(7_000)}` }))).toBe(14_010);
  const cookies = Array.from({ length: 3 }, () => "v".repeat(9_000));
  const findings = checkRequest({ plan: "free", headers: { "set-cookie": cookies, accept: "*/*" } });
  expect(findings).toEqual([
    expect.objectContaining({ limit: "headers", level: "warning", measured: 3 * 9_014 + 13 }),
  ]);
});

describe("explainError", () => {
  test.each<[Parameters<typeof explainError>[0], RegExp[]]>([
    [
      { status: 413 },
      [/free 100 MB, pro 100 MB, business 200 MB, enterprise 500 MB/, /Send smaller requests/],
    ],
    [{ status: 413, plan: "business" }, [/larger than the business plan's limit of 200 MB\. Send smaller/]],
    [
      { status: 413, plan: "enterprise" },
      [/enterprise plan's limit of 500 MB, unless Cloudflare granted more/],
    ],
    [
      { status: 429 },
      [
        /1,200 requests per 5 minutes per user/,
        /100,000 requests per day and 1,000 per minute/,
        /Retry-After/,
        /midnight UTC/,
      ],
    ],
    [
      { code: 1015 },
      [
        /Workers Free plan.s 100,000 requests per day or 1,000 per minute/,
        /API clients get a 429/,
        /rule "worker"/,
        /fails open bypass the Worker/,
        /fails closed shows error 1027/,
      ],
    ],
    [
      { code: 1027 },
      [
        /Workers Free plan.s 100,000 requests per day/,
        /the route fails closed/,
        /make the route fail open/,
        /paid plan/,
      ],
    ],
    [{ code: 1004, status: 403 }, [/reached its limit of Logpush jobs\. Delete a job/]],
    [{ code: 1004, status: 400 }, [/A value in the filter has the wrong type/]],
    [{ code: 1004 }, [/Logpush jobs/, /filter/]],
    [{ code: 9106 }, [/email or the API key/]],
    [{ code: 10000 }, [/lacks permission/]],
    [{ code: 7003, status: 404 }, [/the IDs in the path/]],
  ])("explains %j", (error, words) => {
    for (const word of words) expect(explainError(error)).toMatch(word);
  });

  test.each([
    1004, 6003, 6111, 7000, 7003, 9106, 10000, 10003, 10009, 10012, 10013, 10014, 10019, 10029, 10034, 10405,
    20217,
  ])("explains API code %d", (code) => expect(explainError({ code })).toMatch(/^[A-Z].*\.$/));

  test("returns undefined for an error it doesn't know", () => {
    expect(explainError({})).toBeUndefined();
    expect(explainError({ status: 404 })).toBeUndefined();
    expect(explainError({ code: 1 })).toBeUndefined();
  });

  const refusal = async (status: number, errors: object[]): Promise<string> => {
    const server = await serve((_, response) => {
      response.writeHead(status).end(envelope(null, { success: false, errors }));
    });
    const { client } = clientOf(server.url, { maxRetries: 0 });
    const error = await failureOf(client.get("/x", { what: "Reading x", schema: z.unknown() }));
    await client.close();
    return error.message;
  };

  test("adds its advice to the API client's errors", async () => {
    expect(await refusal(400, [{ code: 10014, message: "taken" }])).toMatch(
      new RegExp(`taken \\[code 10014\\]\\. ${explainError({ code: 10014 }) ?? "-"}$`),
    );
    expect(await refusal(413, [{ code: 7, message: "large" }])).toContain(explainError({ status: 413 }));
    // Naming the refused credential helps more than explaining the code.
    expect(await refusal(403, [{ code: 10000, message: "no" }])).toMatch(
      /The token from edgeguard:apiToken lacks permission/,
    );
  });
});
