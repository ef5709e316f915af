import { omit } from "../../provider/basics/json";
import { driftOf } from "../report/plans";
import { failureOf } from "../support/edge-client";
import { answerWith, Bench, zones } from "../support/bench";
import { rawGet, rawSend } from "../support/operation";

const TYPE = "PageShieldSettings";
const b = new Bench(TYPE);
const zone = { zoneId: zones.empty };
const PATH = `/zones/${zone.zoneId}/page_shield`;

const puts = () => b.bodies("PUT");
/** The values of the settings. A new zone has: off, reports to Cloudflare, no paths. */
const current = async () => {
  const { result } = await rawGet(b.api, PATH);
  return Object.values(omit(result as Record<string, unknown>, ["updated_at"]));
};

describe.each([
  ["openapi", "use_cloudflare_reporting_endpoint"],
  ["documented", "use_platform_reporting_endpoint"],
] as const)("settings in the API's %s dialect", (dialect, member) => {
  beforeEach(async () => {
    await b.restart({ dialect, strict: true });
  });

  test("are sent only if declared, and are read back", async () => {
    const recorded = await b.up({ ...zone, enabled: true });
    expect(b.sent()).toEqual([
      "GET /page_shield",
      "GET /page_shield",
      "PUT /page_shield",
      "GET /page_shield",
    ]); // The first one is the check's.
    expect(puts()).toEqual([{ enabled: true }]);
    expect(recorded).toMatchObject({
      id: zone.zoneId,
      outputs: {
        enabled: true,
        previous: { enabled: false, useReportingEndpoint: true, useConnectionUrlPath: false },
        updatedAt: expect.stringMatching(/^\d{4}-/) as string,
      },
    });
    expect(recorded.outputs).not.toHaveProperty("useReportingEndpoint");
  });

  test("use the name that the zone returns for the reporting setting", async () => {
    await b.up({
      ...zone,
      enabled: true,
      useReportingEndpoint: false,
      useConnectionUrlPath: true,
    });
    expect(puts()).toEqual([{ enabled: true, [member]: false, use_connection_url_path: true }]);
    expect(await current()).toEqual([true, false, true]);
  });

  test("aren't changed by a preview, a refresh or a second update", async () => {
    const inputs = { ...zone, enabled: true, useReportingEndpoint: false };
    const recorded = await b.up(inputs);
    b.api.clearRequests();
    expect(await b.step(inputs, recorded)).toBe("same");
    expect(b.sent()).toEqual([]);
    const refreshed = await b.refresh(recorded);
    expect(refreshed.outputs).toEqual(recorded.outputs);
    expect(await b.step(inputs, refreshed)).toBe("same");
    await b.update(inputs, recorded);
    expect(puts()).toEqual([]);
  });
});

test("an update doesn't write settings that already match", async () => {
  const recorded = await b.up({ ...zone, enabled: false, useReportingEndpoint: true });
  expect(b.sent()).toEqual(["GET /page_shield", "GET /page_shield"]); // From the check and the create.
  expect(recorded.outputs).toMatchObject({ previous: { enabled: false, useReportingEndpoint: true } });
});

test.each([2_500, 4_000, 5_000])(
  "an update waits for reads that lag %i ms behind the write",
  async (readLagMs) => {
    await b.restart({ readLagMs });
    const recorded = await b.operation({ inNoTime: b.api }).up(TYPE, { ...zone, enabled: true });
    expect(recorded.outputs).toMatchObject({ enabled: true });
    expect(puts()).toEqual([{ enabled: true }]);
  },
);

test("updatedAt is the time of the write, not of an earlier change", async () => {
  const stored = async () => ((await rawGet(b.api, PATH))["result"] as { updated_at: string }).updated_at;
  const original = await stored();
  const first = await b.up({ ...zone, enabled: true });
  const created = await stored();
  b.api.advance(1_000);
  const second = await b.up({ ...zone, enabled: false }, first);
  expect([first.outputs["updatedAt"], second.outputs["updatedAt"]]).toEqual([created, await stored()]);
  expect(new Set([original, created, await stored()]).size).toBe(3);
});

describe("removing a setting", () => {
  test("restores the value from before the setting was first declared", async () => {
    await rawSend(b.api, "PUT", PATH, { use_cloudflare_reporting_endpoint: false });
    const all = { ...zone, enabled: true, useReportingEndpoint: true, useConnectionUrlPath: true };
    const first = await b.up(all);
    expect(await current()).toEqual([true, true, true]);
    b.api.clearRequests();
    const second = await b.up({ ...zone, enabled: true }, first);
    expect(await current()).toEqual([true, false, false]);
    expect(puts()).toEqual([
      { use_cloudflare_reporting_endpoint: false, use_connection_url_path: false, enabled: true },
    ]);
    expect(await b.step({ ...zone, enabled: true }, second)).toBe("same");
  });

  test("restores the value from before the setting was last added", async () => {
    const without = { ...zone, enabled: true };
    const withPath = { ...without, useConnectionUrlPath: false };
    let recorded = await b.up(without);
    await rawSend(b.api, "PUT", PATH, { use_connection_url_path: true });
    recorded = await b.up(withPath, recorded);
    expect(recorded.outputs["previous"]).toMatchObject({ useConnectionUrlPath: true });
    expect(await current()).toEqual([true, true, false]);
    await b.up(without, recorded);
    expect(await current()).toEqual([true, true, true]);
  });

  test("restores the value even if the first attempt failed", async () => {
    const first = await b.up({ ...zone, enabled: true, useConnectionUrlPath: true });
    b.api.fault({ match: { method: "PUT" }, kind: "status", status: 500, times: 2 });
    const failed = await b.failedUp({ ...zone, enabled: true }, first);
    expect(await current()).toEqual([true, true, true]);
    expect(failed.recorded?.outputs).toMatchObject({ useConnectionUrlPath: true });
    const second = await b.up({ ...zone, enabled: true }, failed.recorded);
    expect(await current()).toEqual([true, true, false]);
    expect(second.outputs).not.toHaveProperty("useConnectionUrlPath");
  });
});

describe("destroying settings", () => {
  test("restores the original values, but only of declared settings", async () => {
    const recorded = await b.up({
      ...zone,
      enabled: true,
      useReportingEndpoint: false,
    });
    await rawSend(b.api, "PUT", PATH, { use_connection_url_path: true });
    await b.destroy(recorded);
    expect(await current()).toEqual([false, true, true]);
  });

  test("writes nothing the second time", async () => {
    const recorded = await b.up({ ...zone, enabled: true });
    await b.destroy(recorded);
    b.api.clearRequests();
    await b.destroy(recorded);
    expect(b.sent()).toEqual(["GET /page_shield"]);
  });

  test('sends nothing with onDestroy: "keep", and says so', async () => {
    const recorded = await b.up({ ...zone, enabled: true, onDestroy: "keep" });
    b.api.clearRequests();
    const op = b.operation();
    await op.destroy(TYPE, recorded);
    expect(b.sent()).toEqual([]);
    expect(op.said).toEqual([expect.stringContaining('stays as it is (onDestroy: "keep")')]);
  });

  test("fails like a refresh if the zone isn't found, because edgeguard:baseUrl may be wrong", async () => {
    const recorded = await b.up({ ...zone, enabled: true });
    const { zones, ...rest } = b.api.snapshot();
    b.api.restore({ ...rest, zones: zones.filter(({ id }) => id !== zone.zoneId) });
    const { message } = await failureOf(b.refresh(recorded));
    expect(message).toContain(
      "The zone or account does not exist, or edgeguard:baseUrl is wrong: check both.",
    );
    const refused = await failureOf(b.destroy(recorded));
    expect(refused.message).toContain(
      "remove its resources from the state with `pulumi state delete '<URN>'`",
    );
  });
});

test("changing onDestroy alone sends no write", async () => {
  const recorded = await b.up({ ...zone, enabled: true });
  b.api.clearRequests();
  const kept = await b.up({ ...zone, enabled: true, onDestroy: "keep" }, recorded);
  expect(kept.outputs).toMatchObject({ onDestroy: "keep", previous: { enabled: false } });
  expect(puts()).toEqual([]);
});

test("changing the zone replaces the resource and restores the old zone's settings", async () => {
  const recorded = await b.up({ ...zone, enabled: true });
  const moved = { zoneId: zones.blog, enabled: true };
  expect(await b.preview(moved, recorded)).toMatchObject({
    step: "replace",
    replaces: ["zoneId"],
  });
  await b.up(moved, recorded);
  expect(await current()).toEqual([false, true, false]);
  expect(await rawGet(b.api, `/zones/${zones.blog}/page_shield`)).toMatchObject({
    result: { enabled: true },
  });
});

test("a refresh reports drift only in declared settings", async () => {
  const inputs = { ...zone, enabled: true, useReportingEndpoint: true };
  const recorded = await b.up(inputs);
  await rawSend(b.api, "PUT", PATH, {
    enabled: false,
    use_cloudflare_reporting_endpoint: false,
    use_connection_url_path: true,
  });
  const refreshed = await b.refresh(recorded);
  expect(refreshed.inputs).toMatchObject({ enabled: false, useReportingEndpoint: false });
  expect(refreshed.inputs).not.toHaveProperty("useConnectionUrlPath");
  expect(driftOf(TYPE, recorded, refreshed)?.changes).toEqual([
    { property: "enabled", before: "true", now: "false" },
    { property: "useReportingEndpoint", before: "true", now: "false" },
  ]);
  expect(refreshed.outputs["previous"]).toEqual(recorded.outputs["previous"]);
  await b.up(inputs, refreshed);
  expect(await current()).toEqual([true, true, true]);
});

describe("a refresh", () => {
  test.each([
    [
      "if something other than the API returns 404",
      { kind: "raw", status: 404, body: "<html>Not found</html>" } as const,
    ],
    ["if the API is down", { kind: "status", status: 503 } as const],
    ["if the token is rejected", { kind: "status", status: 403 } as const],
  ])("keeps the settings in state %s", async (_why, fault) => {
    const recorded = await b.up({ ...zone, enabled: true });
    b.api.fault({ match: {}, times: 9, ...fault });
    const failure = await failureOf(b.refresh(recorded));
    expect(failure.message).toContain(`Reading Page Shield settings of zone ${zone.zoneId} failed`);
  });
});

describe("a change that Cloudflare rejects or ignores", () => {
  test("isn't recorded, and the error says which values need an entitlement", async () => {
    const { message, recorded } = await b.failedUp({
      zoneId: zones.small,
      enabled: true,
      useConnectionUrlPath: true,
    });
    expect(message).toMatch(
      /^Updating Page Shield settings of zone \w+ failed: PUT .* returned 403 Forbidden: not entitled/,
    );
    expect(message).toContain("useConnectionUrlPath: true");
    expect(recorded).toBeUndefined();
  });

  test("fails during the read if the zone's plan lacks Page Shield", async () => {
    const { message } = await b.failedUp({ zoneId: zones.free, enabled: true });
    expect(message).toContain("Reading Page Shield settings of zone");
    expect(message).toContain("not entitled: page_shield");
  });

  test("is reported and recorded as incomplete if Cloudflare accepts it but doesn't keep it", async () => {
    answerWith(b.api, { method: "PUT" }, { enabled: true });
    const { message, recorded } = await b.operation({ inNoTime: b.api }).failedUp(TYPE, {
      ...zone,
      enabled: true,
    });
    expect(message).toContain(
      `Cloudflare accepted the change to Page Shield in zone ${zone.zoneId}, but didn't keep enabled: true. The plan may lack the entitlement`,
    );
    expect(recorded?.outputs).toMatchObject({ previous: { enabled: false } });
    const done = await b.update({ ...zone, enabled: true }, recorded as never);
    expect(await current()).toEqual([true, true, false]);
    expect(done.outputs).toMatchObject({ previous: { enabled: false } });
  });
});

describe("an update of settings", () => {
  test("succeeds after a retry if a response is lost", async () => {
    b.api.fault({ match: { method: "PUT" }, kind: "dropAfter" });
    const recorded = await b.up({ ...zone, enabled: true });
    expect(recorded.outputs).toMatchObject({ previous: { enabled: false } });
    expect(puts()).toHaveLength(2);
  });

  test("records the original settings even if every response is lost, so a destroy restores them", async () => {
    b.api.fault({ match: { method: "PUT" }, kind: "dropAfter", times: 2 });
    const { recorded, message } = await b.failedUp({ ...zone, enabled: true });
    expect(message).toContain("Cloudflare may have applied the change.");
    expect(await current()).toEqual([true, true, false]);
    expect(recorded).toMatchObject({ id: zone.zoneId, outputs: { previous: { enabled: false } } });
    await b.destroy(recorded as never);
    expect(await current()).toEqual([false, true, false]);
  });

  test.each([
    ["its response is lost", { kind: "dropAfter" } as const],
    ["a 500", { kind: "status", status: 500 } as const],
    ["a 403", { kind: "status", status: 403 } as const],
    ["a 429", { kind: "status", status: 429 } as const],
    ["a proxy's page", { kind: "raw", status: 200, body: "<html>" } as const],
  ])("records the original settings even if the read after the write fails (%s)", async (_how, fault) => {
    const op = b.operation({ config: { "edgeguard:maxRetries": "0" } });
    b.api.fault({ match: { method: "PUT" }, kind: "slow", delayMs: 100, when: "after" });
    const failing = op.failedUp(TYPE, { ...zone, enabled: true });
    while (puts().length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    b.api.fault({ match: { method: "GET" }, ...fault }); // Hits the read after the write: the one before it is over.
    const { recorded, message } = await failing;
    expect(message).toContain(
      `Cloudflare accepted the change to Page Shield in zone ${zone.zoneId}, but the result couldn't be read back. Reading Page Shield settings`,
    );
    expect(recorded).toMatchObject({
      id: zone.zoneId,
      outputs: { enabled: true, previous: { enabled: false } },
    });
    b.api.clearFaults();
    const done = await b.update({ ...zone, enabled: true }, recorded as never);
    expect(done.outputs).toMatchObject({ previous: { enabled: false } });
    expect(puts()).toHaveLength(1);
  });
});
