import { readFileSync } from "node:fs";
import { join } from "node:path";
import { managedRulesets, type FirewallEventInput } from "edgeguard-local";
import { buildSchema, parse, validate } from "graphql";
import { zoneEvents } from "../../provider/rulesets/traffic-events";
import { apiPerTest, zones } from "../support/bench";
import { through } from "../support/edge-client";
import { Operation, type OperationOptions, type Recorded } from "../support/operation";
import { RulesetsBench, TYPE, type Declaration } from "./support";

/** What a change of managed rules would have meant for the requests of the last hours. */

const bench = new RulesetsBench();
let [first, second, third, off]: readonly string[] = [];
beforeEach(async () => {
  const rules = await bench.managedRules(managedRulesets.managed);
  [first = "", second = "", third = ""] = rules
    .filter((rule) => rule["enabled"] === true)
    .map(({ id }) => id);
  off = rules.find((rule) => rule["enabled"] === false)?.id ?? "";
});

/** A deployment whose first rules have these actions. */
function acting(actions: readonly string[], more: Record<string, unknown> = {}): Declaration {
  const rules = [first, second, third].map((id = "", index) => [id, { action: actions[index] ?? "block" }]);
  return bench.declareManaged({ rules: Object.fromEntries(rules) as object, ...more });
}

function happened(times: number, event: FirewallEventInput, zone = bench.zone): void {
  bench.api.addFirewallEvents(
    zone,
    Array.from({ length: times }, () => event),
  );
}

async function preview(declared: Declaration, recorded: Recorded, options: OperationOptions = {}) {
  const op = bench.operation(options);
  bench.api.clearRequests();
  const { inputs } = await op.preview(TYPE, declared, recorded);
  const { traffic } = inputs["impact"] as { readonly traffic?: object };
  const label = 'managed ruleset "edgeguard/site/dev/waf": ';
  const said = op.said.map((line) => line.replace(`edgeguard: ${label}`, ""));
  return { traffic, said, warned: op.warned, queries: queries(), inputs };
}
const queries = (): number => bench.api.requests.filter(({ path }) => path === "/graphql").length;

describe("the preview of a change of managed rules", () => {
  test("counts the logged events that would have been blocked, without those that were blocked before", async () => {
    const recorded = await bench.up(acting(["log", "log", "block"]));
    happened(3, { ruleId: first ?? "", action: "log" });
    happened(1, { ruleId: second ?? "", action: "log" });
    happened(5, { ruleId: first ?? "", action: "block" });
    happened(7, { ruleId: third ?? "", action: "block" });
    happened(9, { ruleId: first ?? "", action: "log", datetime: "2026-01-01T00:00:00Z" });
    happened(9, { ruleId: first ?? "", action: "log", source: "firewallCustom" });
    const { traffic, said, queries } = await preview(acting(["block", "block", "block"]), recorded);
    const top = { id: first, description: expect.any(String) as string, events: 3 };
    const changes = [{ from: "log", to: "block", events: 4, rules: 2, top }];
    expect(traffic).toEqual({ hours: 24, changes, exceptions: [] });
    expect(said).toEqual([
      expect.stringMatching(
        /^log → block: at most 4 events of the last 24 h would have been blocked \(2 rules; 3 of rule [0-9a-f]{32} ".+"\)$/,
      ),
    ]);
    expect(queries).toBe(2);
  });

  test("counts what would have passed or been challenged, each change by itself", async () => {
    const recorded = await bench.up(acting(["block", "managed_challenge", "log"]));
    happened(310, { ruleId: first ?? "", action: "block" });
    happened(2, { ruleId: second ?? "", action: "managed_challenge" });
    happened(1, { ruleId: second ?? "", action: "managed_challenge_bypassed" });
    const { said } = await preview(acting(["log", "block", "managed_challenge"]), recorded);
    expect(said.map((line) => line.replace(/ ".*"/, ""))).toEqual([
      `block → log: at most 310 events of the last 24 h would have passed (rule ${first})`,
      `managed_challenge → block: at most 3 events of the last 24 h would have been blocked (rule ${second})`,
      "log → managed_challenge: no event of the last 24 h (1 rule)",
    ]);
  });

  test("says that rules that were off have no events, and asks for none", async () => {
    const recorded = await bench.up(acting([]));
    const rules = { ...(acting([])["rules"] as object), [off ?? ""]: { enabled: true } };
    const { said, queries } = await preview(acting([], { rules }), recorded);
    expect(said).toEqual(["1 rule that was off: events aren't known; log first to find out"]);
    expect(queries).toBe(0);
  });

  test("says that events don't tell what a paranoia level changes", async () => {
    const recorded = await bench.up(bench.declare({ owasp: { paranoiaLevel: 1 } }));
    const { said, queries } = await preview(bench.declare({ owasp: { paranoiaLevel: 2 } }), recorded);
    expect(said).toContain("scores and paranoia levels: not known from events");
    expect(queries).toBe(0);
  });

  test.each([
    ['http.request.uri.path eq "/hook" and http.request.method eq "POST"', 4, 0],
    ['starts_with(lower(http.request.uri.path), "/HOOK") or http.host contains "shop"', 0, 0],
    ["not ip.src in {198.51.100.0/24} or ip.src eq 203.0.113.9", 2, 0],
    ['ip.src.country in {"NL" "DE"}', 4, 0],
    ['http.request.uri.path eq "/hook" and http.user_agent contains "bot"', 0, 4],
    ['http.request.uri.path eq "/hook" or http.user_agent contains "bot"', 4, 2],
    ['http.request.uri.path matches "^/hook"', 0, 6],
    ["ip.src in $partners", 0, 6],
  ])("counts the events that a new exception matches: %s", async (expression, matching, undecided) => {
    const recorded = await bench.up(acting([]));
    const hook = { clientRequestPath: "/hook", clientRequestHTTPMethodName: "POST" };
    const from = { clientIP: "198.51.100.7", clientCountryName: "NL", clientRequestHTTPHost: "api.example" };
    happened(4, { ruleId: first ?? "", action: "block", ...hook, ...from });
    happened(2, { ruleId: second ?? "", action: "log", clientIP: "2001:db8::1" });
    const { traffic, said } = await preview(
      acting([], { exceptions: [{ expression, skip: "this" }] }),
      recorded,
    );
    expect(traffic).toEqual({
      hours: 24,
      changes: [],
      exceptions: [{ index: 0, events: 6, matching, undecided }],
    });
    const more = undecided === 0 ? "" : `; ${undecided} more can't be decided from events`;
    expect(said).toEqual([
      `exception 1: matches ${matching} of 6 events of the last 24 h of the rules that it skips${more}`,
    ]);
  });

  test("counts only the rules that an exception skips, and no exception that exists already", async () => {
    const skips = (id: string | undefined) => ({ expression: "true", skip: { rules: { this: [id] } } });
    const recorded = await bench.up(acting([], { exceptions: [skips(first)] }));
    happened(4, { ruleId: first ?? "", action: "block" });
    happened(2, { ruleId: second ?? "", action: "block" });
    const { traffic } = await preview(acting([], { exceptions: [skips(first), skips(second)] }), recorded);
    expect(traffic).toMatchObject({ exceptions: [{ index: 1, events: 2, matching: 2 }] });
  });

  test("keeps paths, addresses and agents out of the record and the messages", async () => {
    const recorded = await bench.up(acting(["log"]));
    const request = {
      clientRequestPath: "/canary-7f3a",
      clientIP: "203.0.113.77",
      clientRequestHTTPHost: "canary.example",
    };
    happened(3, { ruleId: first ?? "", action: "log", ...request });
    const exceptions = [{ expression: 'http.request.uri.path contains "7f3a"', skip: "this" }];
    const { inputs, said, warned } = await preview(acting(["block"], { exceptions }), recorded);
    expect(inputs["impact"]).toMatchObject({ traffic: { exceptions: [{ matching: 3 }] } });
    const all = JSON.stringify([inputs["impact"], said, warned]);
    for (const personal of ["canary", "203.0.113.77"]) expect(all).not.toContain(personal);
  });

  test("reads single events where the plan has no groups, and counts what each stands for", async () => {
    bench.inZone("blog");
    const recorded = await bench.up(acting(["log"]));
    const zone = bench.api.snapshot();
    bench.api.restore({ ...zone, zones: zone.zones.map((each) => ({ ...each, plan: "free" })) });
    happened(2, { ruleId: first ?? "", action: "log", sampleInterval: 10 });
    const exceptions = [{ expression: 'http.host eq "a.example"', skip: "this" }];
    const { said } = await preview(acting(["block"], { exceptions }), recorded);
    expect(said).toEqual([
      expect.stringMatching(/^log → block: 5 to 73 events of the last 24 h would have been blocked \(rule /),
      "exception 1: matches about 0 of about 20 events of the last 24 h of the rules that it skips",
      "Cloudflare samples these events: a range contains the true number 95 times out of 100",
    ]);
  });

  test("says that there are more events if Cloudflare returns as many as it may", async () => {
    const recorded = await bench.up(acting(["log"]));
    const limits = { enabled: true, maxDuration: 86_400, maxPageSize: 2, notOlderThan: 2_678_400 };
    const settings = { firewallEventsAdaptiveGroups: limits, firewallEventsAdaptive: limits };
    const answered = async (events: readonly string[]): Promise<readonly string[]> => {
      for (const zone of [
        { zoneTag: bench.zone, settings },
        {
          zoneTag: bench.zone,
          events: events.map((action) => ({
            count: 3,
            avg: { sampleInterval: 1 },
            dimensions: { ruleId: first, action },
          })),
        },
      ])
        bench.api.fault({
          kind: "raw",
          status: 200,
          body: JSON.stringify({ data: { viewer: { zones: [zone] } }, errors: null }),
          contentType: "application/json",
          match: { path: "/graphql" },
        });
      return (await preview(acting(["block"]), recorded)).said;
    };
    expect(await answered(["log"])).toEqual([expect.stringContaining("log → block: at most 3 events")]);
    expect(await answered(["log", "block"])).toEqual([
      expect.stringContaining("log → block: at least 3 events"),
    ]);
  });

  test("never says that there are none if there are more events than Cloudflare returns", async () => {
    const recorded = await bench.up(acting(["log", "log"]));
    happened(3, { ruleId: first ?? "", action: "log" });
    const proxy = await through(
      bench.api,
      () => undefined,
      (text) => text.replaceAll('"maxPageSize":10000', '"maxPageSize":1'),
    );
    const config = { "edgeguard:baseUrl": proxy.url };
    const { said } = await preview(acting(["block", "managed_challenge"]), recorded, { config });
    expect(said.map((line) => line.replace(/ \(.*/, ""))).toEqual([
      "log → block: at least 3 events of the last 24 h would have been blocked",
      "log → managed_challenge: at least 0 events of the last 24 h would have been challenged",
    ]);
  });

  test("leaves out events without a rule", async () => {
    const recorded = await bench.up(acting(["log"]));
    happened(3, { ruleId: "", action: "log" });
    happened(1, { ruleId: first ?? "", action: "log" });
    for (const ruleId of ['"ruleId":""', '"ruleId":null']) {
      const proxy = await through(
        bench.api,
        () => undefined,
        (text) => text.replaceAll('"ruleId":""', ruleId),
      );
      const config = { "edgeguard:baseUrl": proxy.url };
      const { traffic } = await preview(acting(["block"]), recorded, { config });
      expect(traffic).toMatchObject({ changes: [{ events: 1, rules: 1 }] });
    }
  });

  test("counts no longer than the plan allows, or than the setting says, and nothing if it's 0", async () => {
    const recorded = await bench.up(acting(["log"]));
    const hours = async (traffic: string): Promise<unknown> => {
      const config = { "edgeguard:traffic": traffic };
      const found = await preview(acting(["block"]), recorded, { config });
      return [(found.traffic as { hours?: number } | undefined)?.hours, found.queries];
    };
    expect(await hours("1")).toEqual([1, 2]);
    expect(await hours("720")).toEqual([720, 2]);
    const zone = bench.api.snapshot();
    bench.api.restore({ ...zone, zones: zone.zones.map((each) => ({ ...each, plan: "pro" })) });
    expect(await hours("720")).toEqual([24, 2]);
    expect(await hours("0")).toEqual([undefined, 0]);
  });

  test("sends nothing if nothing changes, or without live checks", async () => {
    const recorded = await bench.up(acting(["log"]));
    bench.api.clearRequests();
    await bench.operation().preview(TYPE, acting(["log"]), recorded);
    await bench
      .operation({ config: { "edgeguard:liveChecks": "false" } })
      .preview(TYPE, acting(["block"]), recorded);
    expect(bench.api.requests).toEqual([]);
  });
});

describe("a preview that can't count events says so in one line, and is otherwise the same", () => {
  const NEEDS = "the token needs Analytics Read (in the dashboard: Zone > Analytics > Read)";
  const json = (body: object) =>
    ({ kind: "raw", status: 200, body: JSON.stringify(body), contentType: "application/json" }) as const;
  test.each([
    ["the token lacks the permission", { kind: "status", status: 403, code: 10000 } as const, NEEDS],
    [
      "Cloudflare answers 200 with an error about access",
      json({
        data: null,
        errors: [{ message: "not authorized for canary-7f3a", extensions: { code: "authz" } }],
      }),
      NEEDS,
    ],
    [
      "it refuses the query",
      json({ data: null, errors: [{ message: "unknown field canary-7f3a" }] }),
      "Cloudflare refused the query",
    ],
    [
      "it lacks the settings",
      json({ data: { viewer: { zones: [{ zoneTag: zones.shop }] } }, errors: null }),
      "Cloudflare's answer can't be read",
    ],
    ["it answers with something else", json([]), "Cloudflare's answer can't be read"],
    ["it returns no zone", json({ data: { viewer: { zones: [] } } }), "Cloudflare offers none for the zone"],
    ["it's unavailable", { kind: "status", status: 503 } as const, "Cloudflare didn't answer"],
    ["the connection drops", { kind: "dropBefore" } as const, "Cloudflare didn't answer"],
  ])("if %s", async (_, fault, reason) => {
    const recorded = await bench.up(acting(["log"]));
    const whole = await preview(acting(["block"]), recorded);
    bench.api.fault({ ...fault, times: 9, match: { path: "/graphql" } });
    const { said, warned, inputs } = await preview(acting(["block"]), recorded);
    expect(said).toEqual([`events weren't counted: ${reason}`]);
    expect(warned).toEqual([]);
    const compared = ({ inputs: { impact } }: { readonly inputs: object & { readonly impact?: unknown } }) =>
      (impact as { readonly compared: object }).compared;
    expect(compared({ inputs })).toEqual(compared(whole));
  });

  const refused = (message: string, code?: string): string =>
    JSON.stringify({ data: null, errors: [{ message, ...(code && { extensions: { code } }) }] });
  test.each([
    ["a dimension", '"clientRequestPath"', refused("unknown field clientRequestPath"), "refused the query"],
    ["the dataset", '"events"', refused("unknown field firewallEventsAdaptiveGroups"), "refused the query"],
    ["the settings node", '"settings"', refused("unknown field settings"), "refused the query"],
    [
      "both datasets",
      '"settings"',
      json({
        data: {
          viewer: {
            zones: [
              { zoneTag: zones.shop, settings: { firewallEventsAdaptive: null } },
              { zoneTag: zones.blog, settings: {} },
            ],
          },
        },
      }).body,
      "offers none for the zone",
    ],
    ["too wide a time range", '"events"', refused("cannot request", "quota"), "refused the query"],
  ])("if it refuses %s", async (_, part, answer, reason) => {
    const recorded = await bench.up(acting(["log"]));
    happened(1, { ruleId: first ?? "", action: "log" });
    const changed = acting(["block"], { exceptions: [{ expression: "true", skip: "this" }] });
    const whole = await preview(changed, recorded);
    const proxy = await through(
      bench.api,
      () => undefined,
      (text) => (text.includes(part) ? answer : text),
    );
    const config = { "edgeguard:baseUrl": proxy.url };
    const { said, warned, inputs } = await preview(changed, recorded, { config });
    expect([said, warned]).toEqual([[`events weren't counted: Cloudflare ${reason}`], []]);
    const withoutTraffic = ({ impact, ...more }: Record<string, unknown>): object => ({
      ...more,
      impact: { ...(impact as object), traffic: undefined },
    });
    expect(withoutTraffic(inputs)).toEqual(withoutTraffic(whole.inputs));
  });

  test("if Cloudflare is silent for 5 s", async () => {
    const recorded = await bench.up(acting(["log"]));
    bench.api.fault({ kind: "slow", delayMs: 60_000, when: "before", match: { path: "/graphql" } });
    const { said } = await preview(acting(["block"]), recorded);
    expect(said).toEqual(["events weren't counted: Cloudflare didn't answer within 5 s"]);
    expect(bench.api.requests.filter(({ path }) => path === "/graphql")).toMatchObject([{ status: null }]);
  });
});

describe("a query for firewall events", () => {
  const schema = buildSchema(readFileSync(join(__dirname, "firewall-events.graphql"), "utf8"));
  const problems = (query: string): readonly string[] =>
    validate(schema, parse(query)).map(({ message }) => message);

  test.each(["enterprise", "free"] as const)(
    "uses only what Cloudflare documents, in a zone with the plan %s",
    async (plan) => {
      const state = bench.api.snapshot();
      bench.api.restore({ ...state, zones: state.zones.map((each) => ({ ...each, plan })) });
      for (const source of ["firewallManaged", "waf"] as const)
        for (const withFields of [false, true]) {
          const { host } = new Operation(bench.api);
          const read = await zoneEvents(host.context(TYPE), bench.zone, withFields, source);
          expect(read).toMatchObject({ events: [] });
        }
      const sent = bench.api.requests.flatMap(({ path, body }) =>
        path === "/graphql" ? [(body as { readonly query: string }).query] : [],
      );
      expect(sent).toHaveLength(8);
      expect(sent.flatMap(problems)).toEqual([]);
      expect(problems((sent[1] ?? "").replace("ruleId", "rule_id"))).not.toEqual([]);
    },
  );
});

describe("a stack with 200 zones", () => {
  const api = apiPerTest({ zones: 200 });
  const asked = async (together: boolean): Promise<readonly [counted: number, requests: number]> => {
    const { host } = new Operation(api);
    const ctx = host.context(TYPE, {}, host.probe);
    const ids = api
      .snapshot()
      .zones.map(({ id }) => id)
      .slice(-200);
    const found = together ? await Promise.all(ids.map((id) => zoneEvents(ctx, id, false))) : [];
    if (!together) for (const id of ids) found.push(await zoneEvents(ctx, id, false));
    return [found.filter((each) => "events" in each).length, api.requests.length];
  };

  test("asks about ten zones at once if they're checked together", async () => {
    const [counted, requests] = await asked(true);
    expect(counted).toBe(200);
    expect(requests).toBeGreaterThanOrEqual(40);
    expect(requests).toBeLessThanOrEqual(60);
  });

  test("asks about the first 30 zones if they're checked one after the other", async () => {
    expect(await asked(false)).toEqual([30, 60]);
  });
});
