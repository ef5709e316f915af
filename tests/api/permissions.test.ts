import { readFileSync } from "node:fs";
import { join } from "node:path";
import { managedRulesets } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { z } from "zod";
import { RESOURCE_PERMISSIONS, permissionFor } from "../../provider/api/permissions";
import { clientOf, failureOf } from "../support/edge-client";
import { REPOSITORY } from "../support/engine";
import { Operation } from "../support/operation";
import { permissionsSentence, type ResourceName } from "../support/permissions-markdown";

const api = apiPerFile();
beforeEach(() => {
  api.reset();
  api.clearFaults();
  api.clearRequests();
});

const FILES: Readonly<Record<ResourceName, string>> = {
  PageShieldSettings: "page-shield/settings.ts",
  PageShieldPolicy: "page-shield/policy.ts",
  ManagedRulesetOverride: "rulesets/managed-ruleset-override.ts",
  WafMigration: "migration/waf-migration.ts",
  LogpushJob: "logpush/logpush-job.ts",
  LogpushTransformer: "logpush/logpush-transformer.ts",
  KvNamespace: "kv/kv-namespace.ts",
  KvEntries: "kv/kv-entries.ts",
};
const NAMES = Object.keys(FILES) as ResourceName[];

test.each(NAMES)("the docstring of %s says which permissions it needs", (name) => {
  const source = readFileSync(join(REPOSITORY, "provider", FILES[name]), "utf8");
  expect(source.replace(/\n \* /g, " ")).toContain(permissionsSentence(name));
});

/** Creates, reads, changes and deletes each resource. */
const LIVES: Readonly<Record<ResourceName, () => readonly [object, object]>> = {
  PageShieldSettings: () => [
    { zoneId: api.zones.empty, enabled: true },
    { zoneId: api.zones.empty, enabled: false },
  ],
  PageShieldPolicy: () => {
    const policy = { zoneId: api.zones.shop, description: "d", action: "allow", expression: "true" };
    return [
      { ...policy, value: "script-src 'self'" },
      { ...policy, value: "script-src 'none'" },
    ];
  },
  ManagedRulesetOverride: () => {
    const rule = { zoneId: api.zones.empty, accountId: api.accounts.main, ref: "mine" };
    const ruleset = { id: managedRulesets.owasp };
    return [
      { ...rule, ruleset, owasp: { paranoiaLevel: 1 } },
      { ...rule, ruleset, owasp: { paranoiaLevel: 2 } },
    ];
  },
  WafMigration: () => {
    const zone = { zoneId: api.zones.migratePro, target: "assessed" };
    return [zone, zone];
  },
  LogpushJob: () => {
    const job = { zoneId: api.zones.empty, name: "j", dataset: "http_requests" };
    const destinationConf = "https://logs.example.com/in?header_Authorization=Bearer%20x";
    return [
      { ...job, destinationConf },
      { ...job, destinationConf, enabled: false },
    ];
  },
  LogpushTransformer: () => {
    const transformer = { accountId: api.accounts.main, name: "t" };
    return [
      { ...transformer, code: "SELECT RayID FROM http_requests" },
      { ...transformer, code: "SELECT ClientIP FROM http_requests" },
    ];
  },
  KvNamespace: () => [
    { accountId: api.accounts.main, title: "one" },
    { accountId: api.accounts.main, title: "two" },
  ],
  KvEntries: () => {
    const entries = { accountId: api.accounts.main, namespaceId: api.namespaces.existing };
    return [
      { ...entries, entries: { a: "1" } },
      { ...entries, entries: { a: "2" } },
    ];
  },
};

test.each(NAMES)("%s needs only the permissions that it documents", async (name) => {
  const [first, second] = LIVES[name]();
  const created = await new Operation(api).up(name, { ...first });
  await new Operation(api).refresh(name, created);
  const updated = await new Operation(api).up(name, { ...second }, created);
  await new Operation(api).destroy(name, updated);
  // Without Zone Read, the plan stays unknown, and without Analytics Read, what happened to requests.
  const requests = api.requests.filter(({ path }) => !/^\/(zones\/\w+|graphql)$/.test(path));
  const needed = requests.map(({ method, path }) => JSON.stringify(permissionFor(method, path)));
  const { toRead, toWrite } = RESOURCE_PERMISSIONS[name];
  const allowed = [...toRead, ...toWrite].map((permission) => JSON.stringify(permission));
  expect(needed.length).toBeGreaterThan(0);
  expect(needed.filter((permission) => !allowed.includes(permission))).toEqual([]);
});

describe("the error for a 403", () => {
  const schema = z.unknown();
  const zone = "/zones/5a0c1e7f3b2d4968a7e1c0f2d3b4a505";
  const account = "/accounts/5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
  const kv = `${account}/storage/kv/namespaces`;

  test.each([
    ["GET", `${zone}/page_shield`, "Page Shield Read (in the dashboard: Zone > Client-side security > Read)"],
    [
      "PUT",
      `${zone}/page_shield`,
      "Page Shield Write (in the dashboard: Zone > Client-side security > Edit)",
    ],
    ["POST", `${zone}/rulesets`, "Zone WAF Write (in the dashboard: Zone > Zone WAF > Edit)"],
    ["GET", `${zone}/waf_migration/status`, "Zone WAF Read (in the dashboard: Zone > Zone WAF > Read)"],
    ["GET", `${zone}/pagerules`, "Page Rules Read (in the dashboard: Zone > Page Rules > Read)"],
    ["GET", `${zone}/logpush/jobs`, "Logs Write (in the dashboard: Zone > Logs > Edit)"],
    ["GET", `${account}/logpush/jobs`, "Logs Write (in the dashboard: Account > Logs > Edit)"],
    [
      "GET",
      `${account}/rulesets`,
      "Account Rulesets Read (in the dashboard: Account > Account Rulesets > Read)",
    ],
    ["GET", kv, "Workers KV Storage Read (in the dashboard: Account > Workers KV Storage > Read)"],
    [
      "POST",
      `${kv}/1/bulk/get`,
      "Workers KV Storage Read (in the dashboard: Account > Workers KV Storage > Read)",
    ],
    [
      "PUT",
      `${kv}/1/bulk`,
      "Workers KV Storage Write (in the dashboard: Account > Workers KV Storage > Edit)",
    ],
  ] as const)("names the missing permission for %s %s", async (method, path, permission) => {
    api.fault({ match: {}, kind: "status", status: 403, code: 10000, message: "Authentication error" });
    const { client } = clientOf(api.url);
    const { message } = await failureOf(client.send(method, path, { what: "Asking", schema }));
    const where = path.startsWith("/zones") ? "zone" : "account";
    const [name, place] = permission.split(" (");
    expect(message).toContain(`lacks the ${name} permission for this ${where} (${place}`);
  });

  test("suggests Zero Trust: PII Read if Cloudflare refuses a Zero Trust dataset", async () => {
    const words = "reading job for product 'access_requests' is not allowed";
    api.fault({ match: { path: "logpush" }, kind: "status", status: 403, code: 1004, message: words });
    const [first] = LIVES.LogpushJob();
    const [refusal] = await new Operation(api).refusals("LogpushJob", { ...first });
    expect(refusal).toContain("Zero Trust: PII Read");
  });
});

test("skips a read that the update doesn't depend on, and the warning names the missing permission", async () => {
  api.fault({ match: { path: "/page_shield/scripts" }, kind: "status", status: 403, code: 10000 });
  const op = new Operation(api);
  const [first] = LIVES.PageShieldPolicy();
  expect((await op.preview("PageShieldPolicy", { ...first })).step).toBe("create");
  expect(op.warned).toEqual([
    `edgeguard: live check skipped: Listing the scripts in zone ${api.zones.shop} needs Page Shield Read (in the dashboard: Zone > Client-side security > Read)`,
  ]);
});

describe("the advice after a refusal", () => {
  const zoneId = "0123456789abcdef0123456789abcdef";
  const gone = { match: {}, kind: "status", status: 404, code: 7003, message: "Could not route" } as const;

  test("doesn't mention the state or the last `up` after a failed create", async () => {
    api.fault({ ...gone, times: 9 });
    const [refusal] = await new Operation(api).refusals("PageShieldSettings", { zoneId, enabled: true });
    expect(refusal).toContain("The zone or account does not exist");
    expect(refusal).not.toMatch(/state delete|last `pulumi up`/);
    const { message } = await new Operation(api, { config: { "edgeguard:liveChecks": "false" } }).failedUp(
      "PageShieldSettings",
      { zoneId, enabled: true },
    );
    expect(message).not.toMatch(/state delete|last `pulumi up`/);
  });

  test.each(["PageShieldPolicy", "LogpushJob", "ManagedRulesetOverride"] as const)(
    "says to remove a %s from state or check the token if a refresh can't find the zone",
    async (type) => {
      const [declared] = LIVES[type]();
      const made = await new Operation(api).up(type, { ...declared });
      api.fault({ ...gone, times: 9 });
      const { message } = await failureOf(new Operation(api).refresh(type, made));
      expect(message).toContain("Or the token no longer has access");
      expect(message).toContain("`pulumi state delete '<URN>'`");
      expect(message).not.toContain("`pulumi refresh`");
    },
  );

  test("mentions the last `up` after a refresh, but not after a preview", async () => {
    const made = await new Operation(api).up("PageShieldSettings", {
      zoneId: api.zones.empty,
      enabled: true,
    });
    api.fault({ match: {}, kind: "status", status: 401, code: 1000, message: "Invalid API Token", times: 9 });
    const changed = { zoneId: api.zones.empty, enabled: false };
    const [refusal] = await new Operation(api).refusals("PageShieldSettings", changed, made);
    expect(refusal).toContain("The credential from edgeguard:apiToken was refused");
    expect(refusal).not.toContain("last `pulumi up`");
    const { message } = await failureOf(new Operation(api).refresh("PageShieldSettings", made));
    expect(message).toContain(
      "This operation uses the token that the last `pulumi up` saved: run `pulumi up` to save the new token",
    );
  });

  test("says to remove the resource from state, not to refresh, if a refresh finds that the zone was deleted", async () => {
    const [first] = LIVES.PageShieldPolicy();
    const made = await new Operation(api).up("PageShieldPolicy", { ...first });
    api.fault({ ...gone, times: 9 });
    const { message } = await failureOf(new Operation(api).refresh("PageShieldPolicy", made));
    expect(message).toContain("remove its resources from the state with `pulumi state delete '<URN>'`");
    expect(message).not.toContain("pulumi refresh");
  });
});

test("the warning says that a credential is empty, not that none is set", async () => {
  const op = new Operation(api, {
    config: { "edgeguard:apiToken": "" },
    env: { CLOUDFLARE_API_TOKEN: " " },
  });
  await op.preview("PageShieldSettings", { zoneId: api.zones.empty, enabled: true });
  expect(op.warned).toEqual([
    "edgeguard: live checks skipped: CLOUDFLARE_API_TOKEN is empty. pulumi up, refresh and destroy need credentials",
  ]);
  const { message } = await op.failedUp("PageShieldSettings", { zoneId: api.zones.empty, enabled: true });
  expect(message).toContain("needs credentials, and CLOUDFLARE_API_TOKEN is empty");
});
