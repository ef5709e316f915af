import { startLocalApi, type LocalApi } from "edgeguard-local";
import { LookupError, migrationReadiness, type MigrationReadiness } from "pulumi-edgeguard";
import { puts } from "./support";
import { failureOf } from "../support/edge-client";

let api: LocalApi;
beforeAll(async () => {
  api = await startLocalApi();
});
beforeEach(() => {
  api.clearFaults();
  api.clearRequests();
});
afterAll(() => api.close());

function readinessOf(...zones: string[]): Promise<MigrationReadiness> {
  const config = { baseUrl: api.url, apiToken: "local-token", maxRetries: "0" };
  return migrationReadiness({ zones }, { config });
}

test("reports on each zone: ready, blocked (with the reason), done or retired", async () => {
  const names = [
    "migrateEnterprise",
    "migrateLimits",
    "migrateOverrides",
    "migrateManyRules",
    "migrateLongRule",
    "migrateValidating",
    "migrateFinished",
    "migrateRetired",
  ] as const;
  const { zones } = await readinessOf(...names.map((name) => api.zones[name]));
  expect(zones.map(({ readiness, migrationState }, i) => [names[i], readiness, migrationState])).toEqual([
    ["migrateEnterprise", "ready", "start"],
    ["migrateLimits", "ready", "start"],
    ["migrateOverrides", "blocked", "start"],
    ["migrateManyRules", "blocked", "start"],
    ["migrateLongRule", "blocked", "start"],
    ["migrateValidating", "ready", "validation"],
    ["migrateFinished", "done", "finished"],
    ["migrateRetired", "retired", "retired"],
  ]);
  const because = zones.map((zone) => zone.because.join("\n"));
  expect(because[2]).toMatch(/URI-based override [0-9a-f]{32} .* must be deleted first: DELETE /);
  expect(because[3]).toMatch(
    /201 of \d+ firewall rules bypass the managed rules .* limit is 200\. Contact Cloudflare Support/,
  );
  expect(because[4]).toMatch(/is 4097 bytes; the limit is 4096/);
  expect(zones[0]?.findings).toContainEqual(
    expect.objectContaining({ weight: "lost", about: "owaspGroups" }),
  );
  expect(puts(api)).toEqual([]);
});

test.each([
  ["/firewall/rules", "firewall rules"],
  ["/pagerules", "page rules"],
  ["/firewall/waf/overrides", "URI-based overrides"],
  ["/firewall/waf/packages", "previous settings"],
])("a zone isn't ready if %s can't be read", async (path, noun) => {
  api.fault({ kind: "status", status: 403, match: { path } });
  const { zones } = await readinessOf(api.zones.migratePro);
  expect(zones).toMatchObject([
    {
      readiness: "notCounted",
      because: [expect.stringContaining(`couldn't read the ${noun} (`)],
    },
  ]);
});

test("reports a zone as notCounted if listing its firewall rules returns a server error", async () => {
  api.fault({ kind: "status", status: 500, match: { path: "/firewall/rules" } });
  expect((await readinessOf(api.zones.migratePro)).zones).toMatchObject([{ readiness: "notCounted" }]);
});

test("reports the other zones if one can't be read", async () => {
  const nowhere = "0".repeat(32);
  const { zones } = await readinessOf(nowhere, api.zones.migratePro, api.zones.migratePro);
  expect(zones).toMatchObject([
    { zoneId: nowhere, readiness: "notRead", because: [expect.stringContaining("does not exist")] },
    { zoneId: api.zones.migratePro, readiness: "ready" },
  ]);
});

test("reports that a zone's switch is in progress", async () => {
  api.inDashboard(api.zones.migrateBusiness, { do: "hang" });
  api.changeWaf({ stateNames: { pending: "phase-8" } });
  await fetch(
    `${api.url}/zones/${api.zones.migrateBusiness}/rulesets/phases/http_request_firewall_managed/entrypoint?waf_migration=pending&phase_two=1`,
    {
      method: "PUT",
      headers: { authorization: "Bearer local-token", "content-type": "application/json" },
      body: JSON.stringify({ name: "default", rules: [] }),
    },
  );
  const { zones } = await readinessOf(api.zones.migrateBusiness);
  expect(zones).toMatchObject([{ readiness: "underWay", because: ["Cloudflare reports the state phase-8"] }]);
});

test("refuses an empty list or a malformed zone ID without a request", async () => {
  for (const [given, sentence] of [
    [[], /migrationReadiness: zones: is empty\. List at least one zone ID/],
    [["5a0c"], /migrationReadiness: zones\[0\]: "5a0c" is not a zone ID \(32 hex digits\)/],
  ] as const) {
    const failure = await failureOf(readinessOf(...given));
    expect(failure).toBeInstanceOf(LookupError);
    expect(failure.message).toMatch(sentence);
  }
  expect(api.requests).toEqual([]);
});
