import { type LocalApi, type LocalApiOptions, startLocalApi } from "edgeguard-local";
import { omit } from "../../provider/basics/json";
import { driftOf } from "../report/plans";
import { failureOf } from "../support/edge-client";
import { Operation, rawGet, rawSend, sent } from "../support/operation";

const TYPE = "PageShieldSettings";
let api: LocalApi;
let zone: { readonly zoneId: string };
let path: string;

async function start(options: LocalApiOptions = {}): Promise<void> {
  api = await startLocalApi(options);
  zone = { zoneId: api.zones.empty };
  path = `/zones/${zone.zoneId}/page_shield`;
}
beforeEach(() => start());
afterEach(() => api.close());

const puts = () => api.requests.filter(({ method }) => method === "PUT").map(({ body }) => body);
/** The values of the settings. A new zone has: off, reports to Cloudflare, no paths. */
const current = async () => {
  const { result } = await rawGet(api, path);
  return Object.values(omit(result as Record<string, unknown>, ["updated_at"]));
};

describe.each([
  ["openapi", "use_cloudflare_reporting_endpoint"],
  ["documented", "use_platform_reporting_endpoint"],
] as const)("settings in the API's %s dialect", (dialect, member) => {
  beforeEach(async () => {
    await api.close();
    await start({ dialect, strict: true });
  });

  test("are sent only if declared, and are read back", async () => {
    const recorded = await new Operation(api).up(TYPE, { ...zone, enabled: true });
    expect(sent(api)).toEqual(["GET ", "GET ", "PUT ", "GET "]); // The first one is the check's.
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
    await new Operation(api).up(TYPE, {
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
    const recorded = await new Operation(api).up(TYPE, inputs);
    api.clearRequests();
    expect(await new Operation(api).preview(TYPE, inputs, recorded)).toMatchObject({ step: "same" });
    expect(sent(api)).toEqual([]);
    const refreshed = await new Operation(api).refresh(TYPE, recorded);
    expect(refreshed?.outputs).toEqual(recorded.outputs);
    expect(await new Operation(api).preview(TYPE, inputs, refreshed)).toMatchObject({ step: "same" });
    await new Operation(api).update(TYPE, inputs, recorded);
    expect(puts()).toEqual([]);
  });
});

test("an update doesn't write settings that already match", async () => {
  const recorded = await new Operation(api).up(TYPE, { ...zone, enabled: false, useReportingEndpoint: true });
  expect(sent(api)).toEqual(["GET ", "GET "]); // From the check and the create.
  expect(recorded.outputs).toMatchObject({ previous: { enabled: false, useReportingEndpoint: true } });
});

test.each([2_500, 4_000, 5_000])(
  "an update waits for reads that lag %i ms behind the write",
  async (readLagMs) => {
    await api.close();
    await start({ readLagMs });
    const recorded = await new Operation(api, { inNoTime: api }).up(TYPE, { ...zone, enabled: true });
    expect(recorded.outputs).toMatchObject({ enabled: true });
    expect(puts()).toEqual([{ enabled: true }]);
  },
);

test("updatedAt is the time of the write, not of an earlier change", async () => {
  const stored = async () => ((await rawGet(api, path))["result"] as { updated_at: string }).updated_at;
  const original = await stored();
  const first = await new Operation(api).up(TYPE, { ...zone, enabled: true });
  const created = await stored();
  api.advance(1_000);
  const second = await new Operation(api).up(TYPE, { ...zone, enabled: false }, first);
  expect([first.outputs["updatedAt"], second.outputs["updatedAt"]]).toEqual([created, await stored()]);
  expect(new Set([original, created, await stored()]).size).toBe(3);
});

describe("removing a setting", () => {
  test("restores the value from before the setting was first declared", async () => {
    await rawSend(api, "PUT", path, { use_cloudflare_reporting_endpoint: false });
    const all = { ...zone, enabled: true, useReportingEndpoint: true, useConnectionUrlPath: true };
    const first = await new Operation(api).up(TYPE, all);
    expect(await current()).toEqual([true, true, true]);
    api.clearRequests();
    const second = await new Operation(api).up(TYPE, { ...zone, enabled: true }, first);
    expect(await current()).toEqual([true, false, false]);
    expect(puts()).toEqual([
      { use_cloudflare_reporting_endpoint: false, use_connection_url_path: false, enabled: true },
    ]);
    expect(await new Operation(api).preview(TYPE, { ...zone, enabled: true }, second)).toMatchObject({
      step: "same",
    });
  });

  test("restores the value from before the setting was last added", async () => {
    const without = { ...zone, enabled: true };
    const withPath = { ...without, useConnectionUrlPath: false };
    let recorded = await new Operation(api).up(TYPE, without);
    await rawSend(api, "PUT", path, { use_connection_url_path: true });
    recorded = await new Operation(api).up(TYPE, withPath, recorded);
    expect(recorded.outputs["previous"]).toMatchObject({ useConnectionUrlPath: true });
    expect(await current()).toEqual([true, true, false]);
    await new Operation(api).up(TYPE, without, recorded);
    expect(await current()).toEqual([true, true, true]);
  });

  test("restores the value even if the first attempt failed", async () => {
    const first = await new Operation(api).up(TYPE, { ...zone, enabled: true, useConnectionUrlPath: true });
    api.fault({ match: { method: "PUT" }, kind: "status", status: 500, times: 2 });
    const failed = await new Operation(api).failedUp(TYPE, { ...zone, enabled: true }, first);
    expect(await current()).toEqual([true, true, true]);
    expect(failed.recorded?.outputs).toMatchObject({ useConnectionUrlPath: true });
    const second = await new Operation(api).up(TYPE, { ...zone, enabled: true }, failed.recorded);
    expect(await current()).toEqual([true, true, false]);
    expect(second.outputs).not.toHaveProperty("useConnectionUrlPath");
  });
});

describe("destroying settings", () => {
  test("restores the original values, but only of declared settings", async () => {
    const recorded = await new Operation(api).up(TYPE, {
      ...zone,
      enabled: true,
      useReportingEndpoint: false,
    });
    await rawSend(api, "PUT", path, { use_connection_url_path: true });
    await new Operation(api).destroy(TYPE, recorded);
    expect(await current()).toEqual([false, true, true]);
  });

  test("writes nothing the second time", async () => {
    const recorded = await new Operation(api).up(TYPE, { ...zone, enabled: true });
    await new Operation(api).destroy(TYPE, recorded);
    api.clearRequests();
    await new Operation(api).destroy(TYPE, recorded);
    expect(sent(api)).toEqual(["GET "]);
  });

  test('sends nothing with onDestroy: "keep", and says so', async () => {
    const recorded = await new Operation(api).up(TYPE, { ...zone, enabled: true, onDestroy: "keep" });
    api.clearRequests();
    const op = new Operation(api);
    await op.destroy(TYPE, recorded);
    expect(sent(api)).toEqual([]);
    expect(op.said).toEqual([expect.stringContaining('stays as it is (onDestroy: "keep")')]);
  });

  test("fails like a refresh if the zone isn't found, because edgeguard:baseUrl may be wrong", async () => {
    const recorded = await new Operation(api).up(TYPE, { ...zone, enabled: true });
    const { zones, ...rest } = api.snapshot();
    api.restore({ ...rest, zones: zones.filter(({ id }) => id !== zone.zoneId) });
    const { message } = await failureOf(new Operation(api).refresh(TYPE, recorded));
    expect(message).toContain(
      "The zone or account does not exist, or edgeguard:baseUrl is wrong: check both.",
    );
    const refused = await failureOf(new Operation(api).destroy(TYPE, recorded));
    expect(refused.message).toContain(
      "remove its resources from the state with `pulumi state delete '<URN>'`",
    );
  });
});

test("changing onDestroy alone sends no write", async () => {
  const recorded = await new Operation(api).up(TYPE, { ...zone, enabled: true });
  api.clearRequests();
  const kept = await new Operation(api).up(TYPE, { ...zone, enabled: true, onDestroy: "keep" }, recorded);
  expect(kept.outputs).toMatchObject({ onDestroy: "keep", previous: { enabled: false } });
  expect(puts()).toEqual([]);
});

test("changing the zone replaces the resource and restores the old zone's settings", async () => {
  const recorded = await new Operation(api).up(TYPE, { ...zone, enabled: true });
  const moved = { zoneId: api.zones.blog, enabled: true };
  expect(await new Operation(api).preview(TYPE, moved, recorded)).toMatchObject({
    step: "replace",
    replaces: ["zoneId"],
  });
  await new Operation(api).up(TYPE, moved, recorded);
  expect(await current()).toEqual([false, true, false]);
  expect(await rawGet(api, `/zones/${api.zones.blog}/page_shield`)).toMatchObject({
    result: { enabled: true },
  });
});

test("a refresh reports drift only in declared settings", async () => {
  const inputs = { ...zone, enabled: true, useReportingEndpoint: true };
  const recorded = await new Operation(api).up(TYPE, inputs);
  await rawSend(api, "PUT", path, {
    enabled: false,
    use_cloudflare_reporting_endpoint: false,
    use_connection_url_path: true,
  });
  const refreshed = await new Operation(api).refresh(TYPE, recorded);
  expect(refreshed?.inputs).toMatchObject({ enabled: false, useReportingEndpoint: false });
  expect(refreshed?.inputs).not.toHaveProperty("useConnectionUrlPath");
  expect(driftOf(TYPE, recorded, refreshed)?.changes).toEqual([
    { property: "enabled", before: "true", now: "false" },
    { property: "useReportingEndpoint", before: "true", now: "false" },
  ]);
  expect(refreshed?.outputs["previous"]).toEqual(recorded.outputs["previous"]);
  await new Operation(api).up(TYPE, inputs, refreshed);
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
    const recorded = await new Operation(api).up(TYPE, { ...zone, enabled: true });
    api.fault({ match: {}, times: 9, ...fault });
    const failure = await failureOf(new Operation(api).refresh(TYPE, recorded));
    expect(failure.message).toContain(`Reading Page Shield settings of zone ${zone.zoneId} failed`);
  });
});

describe("a change that Cloudflare rejects or ignores", () => {
  test("isn't recorded, and the error says which values need an entitlement", async () => {
    const { message, recorded } = await new Operation(api).failedUp(TYPE, {
      zoneId: api.zones.small,
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
    const { message } = await new Operation(api).failedUp(TYPE, { zoneId: api.zones.free, enabled: true });
    expect(message).toContain("Reading Page Shield settings of zone");
    expect(message).toContain("not entitled: page_shield");
  });

  test("is reported and recorded as incomplete if Cloudflare accepts it but doesn't keep it", async () => {
    api.fault({
      match: { method: "PUT" },
      kind: "raw",
      status: 200,
      body: '{"success":true,"result":{"enabled":true}}',
      contentType: "application/json",
    });
    const { message, recorded } = await new Operation(api, { inNoTime: api }).failedUp(TYPE, {
      ...zone,
      enabled: true,
    });
    expect(message).toContain(
      `Cloudflare accepted the change to Page Shield in zone ${zone.zoneId}, but didn't keep enabled: true. The plan may lack the entitlement`,
    );
    expect(recorded?.outputs).toMatchObject({ previous: { enabled: false } });
    const done = await new Operation(api).update(TYPE, { ...zone, enabled: true }, recorded as never);
    expect(await current()).toEqual([true, true, false]);
    expect(done.outputs).toMatchObject({ previous: { enabled: false } });
  });
});

describe("an update of settings", () => {
  test("succeeds after a retry if a response is lost", async () => {
    api.fault({ match: { method: "PUT" }, kind: "dropAfter" });
    const recorded = await new Operation(api).up(TYPE, { ...zone, enabled: true });
    expect(recorded.outputs).toMatchObject({ previous: { enabled: false } });
    expect(puts()).toHaveLength(2);
  });

  test("records the original settings even if every response is lost, so a destroy restores them", async () => {
    api.fault({ match: { method: "PUT" }, kind: "dropAfter", times: 2 });
    const { recorded, message } = await new Operation(api).failedUp(TYPE, { ...zone, enabled: true });
    expect(message).toContain("Cloudflare may have applied the change.");
    expect(await current()).toEqual([true, true, false]);
    expect(recorded).toMatchObject({ id: zone.zoneId, outputs: { previous: { enabled: false } } });
    await new Operation(api).destroy(TYPE, recorded as never);
    expect(await current()).toEqual([false, true, false]);
  });

  test.each([
    ["its response is lost", { kind: "dropAfter" } as const],
    ["a 500", { kind: "status", status: 500 } as const],
    ["a 403", { kind: "status", status: 403 } as const],
    ["a 429", { kind: "status", status: 429 } as const],
    ["a proxy's page", { kind: "raw", status: 200, body: "<html>" } as const],
  ])("records the original settings even if the read after the write fails (%s)", async (_how, fault) => {
    const op = new Operation(api, { config: { "edgeguard:maxRetries": "0" } });
    api.fault({ match: { method: "PUT" }, kind: "slow", delayMs: 100, when: "after" });
    const failing = op.failedUp(TYPE, { ...zone, enabled: true });
    while (puts().length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    api.fault({ match: { method: "GET" }, ...fault }); // Hits the read after the write: the one before it is over.
    const { recorded, message } = await failing;
    expect(message).toContain(
      `Cloudflare accepted the change to Page Shield in zone ${zone.zoneId}, but the result couldn't be read back. Reading Page Shield settings`,
    );
    expect(recorded).toMatchObject({
      id: zone.zoneId,
      outputs: { enabled: true, previous: { enabled: false } },
    });
    api.clearFaults();
    const done = await new Operation(api).update(TYPE, { ...zone, enabled: true }, recorded as never);
    expect(done.outputs).toMatchObject({ previous: { enabled: false } });
    expect(puts()).toHaveLength(1);
  });
});
