import { managedRulesets } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { Operation } from "../support/operation";

const api = apiPerFile();
beforeEach(() => {
  api.reset();
  api.clearFaults();
  api.clearRequests();
});

const TYPE = "ManagedRulesetOverride";
const ruleset = (zoneId: string, id: string = managedRulesets.managed): Record<string, unknown> => ({
  zoneId,
  accountId: api.accounts.main,
  ref: "mine",
  ruleset: { id },
});
const zoneReads = (): number => api.requests.filter(({ path }) => /^\/zones\/\w+$/.test(path)).length;

describe("the preview of a create", () => {
  test("refuses a ruleset that the zone's plan doesn't include", async () => {
    expect(await new Operation(api).refusals(TYPE, ruleset(api.zones.free))).toEqual([
      `zoneId: the free plan of zone free.example doesn't include "Cloudflare Managed Ruleset". Upgrade the zone to pro, business or enterprise, or remove this resource`,
    ]);
    expect(zoneReads()).toBe(1);
  });

  test.each([
    ["a ruleset that every plan has", () => ruleset(api.zones.free, managedRulesets.free), 0],
    ["another ruleset, in a zone that deploys one", () => ruleset(api.zones.shop, managedRulesets.owasp), 0],
    ["the first ruleset of a zone whose plan includes it", () => ruleset(api.zones.empty), 1],
  ])("accepts %s", async (_, declared, reads) => {
    expect((await new Operation(api).preview(TYPE, declared())).step).toBe("create");
    expect(zoneReads()).toBe(reads);
  });

  test("reads the plan once for all resources of a zone, and an unchanged preview sends nothing", async () => {
    const op = new Operation(api);
    const other = { ...ruleset(api.zones.empty, managedRulesets.owasp), ref: "other" };
    for (const declared of [ruleset(api.zones.empty), other]) await op.preview(TYPE, declared);
    expect(zoneReads()).toBe(1);
    const made = await new Operation(api).up(TYPE, ruleset(api.zones.empty));
    api.clearRequests();
    expect((await new Operation(api).preview(TYPE, ruleset(api.zones.empty), made)).step).toBe("same");
    expect(api.requests).toEqual([]);
  });

  test.each([403, 503])("passes if the plan can't be read (%i), and says nothing", async (status) => {
    api.fault({ match: { path: `^/zones/${api.zones.free}$` }, kind: "status", status, code: 10000 });
    const op = new Operation(api);
    expect((await op.preview(TYPE, ruleset(api.zones.free))).step).toBe("create");
    expect([zoneReads(), op.warned.filter((line) => line.includes("zone"))]).toEqual([1, []]);
  });
});

describe("the preview of a zone's first Page Shield policy", () => {
  const policy = (zoneId: string): Record<string, unknown> => ({
    zoneId,
    description: "Checkout",
    action: "log",
    expression: "true",
    value: "script-src 'self'",
  });

  test("is refused on the free plan, and warns where only an OpenAPI schema lists the plan", async () => {
    expect(await new Operation(api).refusals("PageShieldPolicy", policy(api.zones.free))).toEqual([
      "zoneId: the free plan of zone free.example doesn't include Page Shield policies (an Enterprise plan add-on). Upgrade the zone to pro, business or enterprise, or remove this resource",
    ]);
    const op = new Operation(api);
    const made = await op.up("PageShieldPolicy", policy(api.zones.small));
    expect(op.warned).toEqual([
      expect.stringContaining("according to Cloudflare's documentation, the pro plan of zone small.example"),
    ]);
    api.clearRequests();
    const next = new Operation(api);
    expect((await next.preview("PageShieldPolicy", policy(api.zones.small), made)).step).toBe("same");
    expect([api.requests, next.warned]).toEqual([[], []]);
  });

  test("says nothing on Enterprise", async () => {
    const op = new Operation(api);
    await op.preview("PageShieldPolicy", policy(api.zones.empty));
    expect([zoneReads(), op.warned]).toEqual([1, []]);
  });
});

describe("an error about a zone that doesn't exist", () => {
  const zoneId = "0123456789abcdef0123456789abcdef";

  test("names five of the zones that the token can see, and lists them once per operation", async () => {
    const op = new Operation(api);
    for (const enabled of [true, false]) {
      expect(await op.refusals("PageShieldSettings", { zoneId, enabled })).toEqual([
        expect.stringMatching(
          /does not exist, or edgeguard:baseUrl is wrong: check both\. The token can see 18 zones: blog\.example \(5a0c1e7f3b2d4968a7e1c0f2d3b4a502\), empty\.example \(\w+\), free\.example \(\w+\), migrate-\w+\.example \(\w+\), migrate-\w+\.example \(\w+\) and 13 more\.$/,
        ),
      ]);
    }
    expect(api.requests.filter(({ path }) => path === "/zones")).toHaveLength(1);
  });

  test("says nothing about zones if the token can see this one, or can't list any", async () => {
    const gone = { kind: "status", status: 404, code: 7003, message: "Could not route" } as const;
    api.fault({ ...gone, match: { path: "/page_shield$" } });
    const declared = { zoneId: api.zones.shop, enabled: true };
    const seen = await new Operation(api).refusals("PageShieldSettings", declared);
    api.fault({ match: { path: "^/zones$" }, kind: "status", status: 403, code: 10000 });
    const unlisted = await new Operation(api).refusals("PageShieldSettings", { zoneId, enabled: true });
    expect([...seen, ...unlisted]).toEqual([
      expect.stringMatching(/check both\.$/),
      expect.stringMatching(/check both\.$/),
    ]);
  });
});
