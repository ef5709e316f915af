import { startLocalApi, type LocalApi } from "edgeguard-local";
import {
  assertNoMaliciousScripts,
  isMalicious,
  limits,
  MaliciousScriptsError,
  type LookupOptions,
} from "pulumi-edgeguard";

test("a script is malicious if its score is below 50", () => {
  expect(limits.PAGE_SHIELD.MALICIOUS_BELOW_SCORE).toBe(50);
  expect([1, 49, 50, 99].map((jsIntegrityScore) => isMalicious({ jsIntegrityScore }))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("a script without a score is unknown, not harmless", () => {
  expect(isMalicious({})).toBeUndefined();
  expect(isMalicious({ jsIntegrityScore: null })).toBeUndefined();
});

test("the threshold can be set to a number from 1 to 100", () => {
  expect(isMalicious({ jsIntegrityScore: 49 }, { threshold: 10 })).toBe(false);
  expect(isMalicious({ jsIntegrityScore: 9 }, { threshold: 10 })).toBe(true);
  for (const threshold of [0, 101, Number.NaN]) {
    expect(() => isMalicious({ jsIntegrityScore: 9 }, { threshold })).toThrow(
      "threshold must be a number from 1 to 100",
    );
  }
});

test("threat lists don't change whether a script counts as malicious", () => {
  const script = { jsIntegrityScore: 90, urlReportedMalicious: true };
  expect(isMalicious(script)).toBe(false);
});

describe.each(["documented", "openapi"] as const)("assertNoMaliciousScripts (API dialect: %s)", (dialect) => {
  let api: LocalApi;
  let opts: LookupOptions;
  let written: jest.SpiedFunction<typeof process.stderr.write>;

  beforeAll(async () => {
    api = await startLocalApi({ dialect });
    opts = { config: { baseUrl: api.url, apiToken: "local-token" } };
  });
  afterAll(() => api.close());
  beforeEach(() => {
    api.clearRequests();
    written = jest.spyOn(process.stderr, "write").mockReturnValue(true);
  });
  afterEach(() => written.mockRestore());

  test("fails and lists the scripts, worst first", async () => {
    const failure: unknown = await assertNoMaliciousScripts({ zoneId: api.zones.shop }, opts).catch(
      (error: unknown) => error,
    );
    if (!(failure instanceof MaliciousScriptsError)) throw new Error(`not the list: ${String(failure)}`);
    expect(failure.message.split("\n")).toEqual([
      expect.stringMatching(
        `^zone ${api.zones.shop} has 2 scripts that score below 50 or are on a threat list\\. Remove them .* set threshold: 10\\.$`,
      ),
      "  malicious, score 4, on a threat list: https://stats-collect.example.com/c.js on checkout.shop.example, first seen on checkout.shop.example/payment",
      "  suspicious, score 32: https://cdn.libraries.example/jquery/3.4.1/jquery.min.js on checkout.shop.example, first seen on checkout.shop.example/payment",
    ]);
    expect(failure.scripts.map(({ jsIntegrityScore }) => jsIntegrityScore).sort()).toEqual([32, 4]);
  });

  test("passes if no score is below the threshold and no script is on a threat list", async () => {
    await assertNoMaliciousScripts({ zoneId: api.zones.shop, threshold: 4, hosts: "www.shop.example" }, opts);
    expect(written.mock.calls).toEqual([]);
  });

  test("says how many scripts couldn't be checked if the plan has no scores", async () => {
    await assertNoMaliciousScripts({ zoneId: api.zones.small }, opts);
    expect(written.mock.calls.map(([line]) => String(line))).toEqual([
      expect.stringMatching(/couldn't check 2 of 2 scripts in zone \w+, because they have no score/),
    ]);
  });

  test("checks only scripts that match status and hosts", async () => {
    await expect(
      assertNoMaliciousScripts({ zoneId: api.zones.shop, threshold: 13, status: "infrequent" }, opts),
    ).rejects.toThrow("inject.js");
    await assertNoMaliciousScripts({ zoneId: api.zones.shop, hosts: "www.shop.example" }, opts);
  });

  test("also checks duplicates", async () => {
    await assertNoMaliciousScripts({ zoneId: api.zones.empty }, opts);
    expect(api.requests[0]?.query).toMatchObject({ exclude_duplicates: "false", exclude_cdn_cgi: "false" });
  });

  test("fails if it can't read the scripts", async () => {
    await expect(assertNoMaliciousScripts({ zoneId: api.zones.free }, opts)).rejects.toThrow("403 Forbidden");
  });

  test("fails because of a script on a threat list, whatever its score", async () => {
    const url = "https://listed.example/c.js";
    api.detect(api.zones.empty, {
      scripts: [{ url, js_integrity_score: 90, domain_reported_malicious: true }],
    });
    await expect(assertNoMaliciousScripts({ zoneId: api.zones.empty }, opts)).rejects.toThrow(
      `has 1 script that scores below 50 or is on a threat list`,
    );
    await expect(assertNoMaliciousScripts({ zoneId: api.zones.empty }, opts)).rejects.toThrow(
      `malicious, score 90, on a threat list: ${url} on `,
    );
  });
});
