import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { managedRulesets, type FirewallEventInput } from "edgeguard-local";
import { parse } from "yaml";
import { isJsonObject, type JsonObject } from "../../provider/basics/json";
import { expression as schema } from "../../provider/rules-language/argument";
import { matcher } from "../../provider/rules-language/evaluate";
import { verdictOf } from "../../provider/rulesets/rollout";
import { expressionFor, kindsOf, type RequestKind } from "../../provider/rulesets/spare";
import type { RuleEvents } from "../../provider/rulesets/traffic-events";
import { accounts } from "../support/bench";
import { envelope } from "../support/edge-client";
import { OWASP, RulesetsBench, TYPE, type Rule } from "../rulesets/support";
import { Desk, type Ran } from "./support";

/** What `edgeguard rollout` proposes for rules on log, and when it says that it doesn't know. */

const DAY_MS = 86_400_000;
const DEPLOYED = Date.parse("2026-09-01T00:00:00Z");
let now = DEPLOYED;
const bench = new RulesetsBench({ options: { clock: () => new Date(now) } });
const desk = new Desk(bench.api);
let [first, second, third, blocking]: readonly string[] = [];

beforeEach(async () => {
  now = DEPLOYED;
  for (const rule of await bench.rules()) await bench.deleteRule(rule);
  const rules = (await bench.managedRules(managedRulesets.managed)).filter(
    (rule) => rule["enabled"] === true,
  );
  [first = "", second = "", third = "", blocking = ""] = rules.map(({ id }) => id);
});

const onLog = (...ids: readonly (string | undefined)[]) =>
  Object.fromEntries(ids.map((id = "") => [id, { action: "log" }]));

/** The Cloudflare Managed Ruleset with its first three rules on log, ten days ago. */
async function deployed(more: Record<string, unknown> = {}) {
  const declared = bench.declareManaged({ rules: onLog(first, second, third), ...more });
  const recorded = await bench.up(declared);
  now += 10 * DAY_MS;
  return { declared, recorded };
}

function happened(times: number, event: FirewallEventInput): void {
  const datetime = new Date(now - DAY_MS).toISOString();
  bench.api.addFirewallEvents(
    bench.zone,
    Array.from({ length: times }, () => ({ datetime, ...event })),
  );
}

const rollout = async (...args: string[]): Promise<Ran> =>
  await desk.here("rollout", "--zone", bench.zone, ...args);

/** The lines below a heading, without their indent. */
function under(heading: string, { stdout }: Ran): readonly string[] {
  const lines = stdout.split("\n");
  const at = lines.findIndex((line) => line.startsWith(heading));
  if (at === -1) return [];
  const end = lines.findIndex((line, index) => index > at && line !== "" && !line.startsWith("  "));
  return lines
    .slice(at + 1, end === -1 ? undefined : end)
    .flatMap((line) => (line === "" ? [] : line.slice(2)));
}
const canBlock = (ran: Ran): readonly string[] => under("Can block", ran);
const notKnown = (ran: Ran): readonly string[] => under("Not known", ran);
const hit = (ran: Ran): readonly string[] => under("Had events", ran);

const evaluated = (code: string): unknown => JSON.parse(JSON.stringify(runInNewContext(`(${code})`)));

const nextStep = ({ stdout }: Ran): readonly string[] =>
  (/\nNext step.*\n((?:.+\n)*)/.exec(stdout)?.[1] ?? "").split("\n");

/** The members in the diff, before or after the change. */
function diffed(ran: Ran, side: "before" | "after"): JsonObject {
  const other = side === "before" ? "+" : "-";
  const lines = nextStep(ran).filter((line) => !line.startsWith(other));
  return evaluated(`{${lines.map((line) => line.slice(1)).join("\n")}}`) as JsonObject;
}

/** The exceptions as text, to paste into a program's list. */
const printed = (ran: Ran): readonly string[] =>
  hit(ran).flatMap((line) => /^ {4}(\{.*\})$/.exec(line)?.[1] ?? []);
const exceptionsIn = (ran: Ran): readonly { readonly expression: string }[] =>
  printed(ran).map((code) => evaluated(code) as { expression: string });

function merged(declared: JsonObject, change: JsonObject): JsonObject {
  const members = Object.entries(change).map(([name, value]) => {
    const old = declared[name];
    return [name, isJsonObject(value) && isJsonObject(old) ? merged(old, value) : value];
  });
  return { ...declared, ...(Object.fromEntries(members) as JsonObject) };
}

const hook = {
  clientRequestHTTPHost: "api.example",
  clientRequestPath: "/hook",
  clientRequestHTTPMethodName: "POST",
};

const ZONE = { method: "GET", path: "^/zones/[0-9a-f]+$" };

/** Lets the next read of the zone return these members. */
function zoneSays(members: object): void {
  const zone = {
    ...{ id: bench.zone, name: "shop.example", status: "active", paused: false },
    ...{ account: { id: accounts.main }, plan: { legacy_id: "enterprise" } },
    ...{ modified_on: "2026-08-01T00:00:00Z", ...members },
  };
  bench.api.fault({ kind: "raw", status: 200, body: envelope(zone), match: ZONE });
}

describe("edgeguard rollout", () => {
  test("lets rules block without events, or with events only from addresses that other rules blocked", async () => {
    await deployed();
    happened(3, { ruleId: second ?? "", action: "log", clientIP: "203.0.113.9" });
    happened(1, { ruleId: blocking ?? "", action: "block", clientIP: "203.0.113.9" });
    happened(4, { ruleId: third ?? "", action: "log", clientIP: "198.51.100.1", ...hook });
    happened(2, { ruleId: third ?? "", action: "log", clientIP: "203.0.113.9", ...hook });
    happened(9, { ruleId: first ?? "", action: "log", datetime: new Date(now - 8 * DAY_MS).toISOString() });
    bench.api.clearRequests();
    const ran = await rollout();
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(bench.writes()).toEqual([]);
    expect(ran.stdout).toMatch(/^zone shop\.example: 10 events of managed rules in the last 7 days\n/);
    expect(canBlock(ran)).toEqual([
      expect.stringMatching(new RegExp(`^${first} ".+": no event$`)),
      expect.stringMatching(
        new RegExp(`^${second} ".+": 3 events, only from addresses that other rules blocked$`),
      ),
    ]);
    expect(hit(ran).slice(0, 2)).toEqual([
      expect.stringMatching(new RegExp(`^${third} ".+": 4 events from 1 address$`)),
      "  4 POST api.example/hook",
    ]);
    expect(notKnown(ran)).toEqual([]);
    expect(diffed(ran, "before")).toEqual({
      rules: { [first ?? ""]: { action: "log" }, [second ?? ""]: { action: "log" } },
    });
    expect(diffed(ran, "after")).toEqual({
      rules: { [first ?? ""]: { action: "block" }, [second ?? ""]: { action: "block" } },
    });
  });

  test("finds the zone by its name, and asks only for what it prints", async () => {
    await deployed();
    happened(1, { ruleId: third ?? "", action: "log" });
    bench.api.clearRequests();
    const ran = await desk.here("rollout", "--zone", "shop.example", "--days", "9");
    expect(ran.stdout).toContain("1 event of managed rules in the last 9 days");
    expect(bench.api.requests.filter(({ path }) => path === "/graphql")).toHaveLength(3);
  });

  test("prints a diff and exceptions with which the program previews", async () => {
    const { declared, recorded } = await deployed();
    const datetime = new Date(now - DAY_MS / 2).toISOString();
    happened(2, { ruleId: third ?? "", action: "log", datetime, ...hook });
    const ran = await rollout();
    const changed = merged(declared, diffed(ran, "after"));
    const exceptions = exceptionsIn(ran);
    expect(exceptions).toHaveLength(1);
    const previewed = await bench.operation().preview(TYPE, { ...changed, exceptions }, recorded);
    expect(previewed.step).toBe("update");
    expect(previewed.inputs["impact"]).toMatchObject({
      compared: { stronger: ["2 rules log → block"] },
      traffic: { exceptions: [{ index: 0, events: 2, matching: 2 }] },
    });
    expect(merged(declared, diffed(ran, "before"))).toEqual(declared);
  });

  test("prints exceptions that are the same in YAML", async () => {
    await deployed();
    happened(2, { ruleId: third ?? "", action: "log", ...hook, clientRequestPath: '/"${a}"\\:\u0001' });
    const ran = await rollout();
    expect(printed(ran).map((code) => parse(`- ${code}`) as unknown)).toEqual([exceptionsIn(ran)]);
  });

  test.each<[string, JsonObject]>([
    ["an action for all rules", { action: "log" }],
    ["a category", { categories: [{ tag: "wordpress", enabled: true, action: "log" }] }],
    ["an action, also of rules that are off by default", { allRulesEnabled: true, action: "log" }],
  ])("adds an override for each rule whose action comes from %s", async (_, overrides) => {
    const { declared, recorded } = await deployed({ rules: undefined, ...overrides });
    happened(1, { ruleId: blocking ?? "", action: "log" });
    const ran = await rollout();
    const { rules } = diffed(ran, "after") as { rules: JsonObject };
    expect(Object.keys(rules)).toHaveLength(canBlock(ran).length);
    const previewed = await bench.operation().preview(TYPE, merged(declared, { rules }), recorded);
    const { compared } = previewed.inputs["impact"] as { compared: { stronger: string[]; weaker: string[] } };
    expect(compared).toMatchObject({ weaker: [] });
    expect(compared.stronger).toEqual([
      expect.stringContaining(`${canBlock(ran).length} rules log → block`) as string,
    ]);
  });

  test("changes the action of the OWASP score where the program declares it", async () => {
    const owasp = { paranoiaLevel: 2, scoreThreshold: 40, action: "log" };
    const declared = bench.declare({ owasp });
    const recorded = await bench.up(declared);
    now += 10 * DAY_MS;
    happened(1, { ruleId: blocking ?? "", action: "block" });
    const ran = await rollout();
    expect(ran.stdout).toContain(OWASP);
    expect(diffed(ran, "before")).toEqual({ owasp });
    expect(diffed(ran, "after")).toEqual({ owasp: { ...owasp, action: "block" } });
    const changed = merged(declared, diffed(ran, "after"));
    expect(await bench.operation().preview(TYPE, changed, recorded)).toMatchObject({ step: "update" });
  });

  test("says so if no managed rule is on log", async () => {
    await deployed({ rules: { [first ?? ""]: { action: "block" } } });
    expect(await rollout()).toMatchObject({
      code: 0,
      stdout:
        "zone shop.example: 0 events of managed rules in the last 7 days\nThe zone deploys no managed rule on log.\n",
    });
  });

  test("shows ten kinds of requests, and spares no others", async () => {
    await deployed();
    for (let at = 0; at < 12; at += 1)
      happened(12 - at, { ruleId: first ?? "", action: "log", clientRequestPath: `/p${at}` });
    const ran = await rollout();
    expect(hit(ran).filter((line) => /^ {2}\d+ GET /.test(line))).toHaveLength(10);
    expect(hit(ran)).toContain("  3 other events, which the exception doesn't spare");
    const [{ expression } = { expression: "" }] = exceptionsIn(ran);
    expect(expression).toContain("/p9");
    expect(expression).not.toContain("/p10");
  });
});

describe("edgeguard rollout doesn't know", () => {
  /** The reason for all three rules. */
  async function reasonFor(ran: Promise<Ran> = rollout()): Promise<string | undefined> {
    const found = await ran;
    expect(found).toMatchObject({ code: 0, stderr: "" });
    expect(canBlock(found)).toEqual([]);
    expect(nextStep(found)).toEqual([""]);
    const [only, ...more] = notKnown(found);
    expect(more).toEqual([]);
    return only?.replace(/^.*": /, "");
  }
  const traffic = (): void => happened(1, { ruleId: blocking ?? "", action: "block" });
  test("if the list of managed rules changed in these days", async () => {
    await deployed();
    traffic();
    now -= 4 * DAY_MS;
    const rule = { action: "skip", action_parameters: { ruleset: "current" }, expression: "ssl" };
    await bench.addRule({ ...rule, enabled: true, ref: "other", description: "" });
    now += 4 * DAY_MS;
    expect(await reasonFor()).toBe("the list of the zone's managed rules changed on 2026-09-07");
    expect(canBlock(await rollout("--days", "3"))).toHaveLength(3);
  });

  test("if the zone changed in these days", async () => {
    await deployed();
    traffic();
    zoneSays({ modified_on: "2026-09-08T01:00:00Z" });
    expect(await reasonFor()).toBe("the zone changed on 2026-09-08");
  });

  test("if the deployment is off", async () => {
    await deployed({ enabled: false });
    traffic();
    expect(await reasonFor()).toBe("its deployment is off");
  });

  test("if a skip rule before it skips it for all requests", async () => {
    await deployed({ exceptions: [{ expression: "true", skip: "this" }] });
    traffic();
    expect(await reasonFor()).toBe("a skip rule before it skips it for all requests");
  });

  test("if Cloudflare published a version of the ruleset, unless the deployment pins an older one", async () => {
    await deployed();
    traffic();
    now -= DAY_MS;
    await bench.publishVersion(managedRulesets.managed, { change: [{ id: first, description: "Wider" }] });
    now += DAY_MS;
    expect(await reasonFor()).toBe("the managed ruleset changed on 2026-09-10");
    const [own] = await bench.rules();
    const parameters = own?.["action_parameters"] as JsonObject;
    now -= 10 * DAY_MS;
    await bench.editRule(own as Rule, { action_parameters: { ...parameters, version: "88" } });
    now += 10 * DAY_MS;
    expect(canBlock(await rollout())).toHaveLength(3);
  });

  test("if the events are a sample, except about rules that had some", async () => {
    await deployed();
    happened(1, { ruleId: first ?? "", action: "log", sampleInterval: 10 });
    const ran = await rollout();
    expect(hit(ran)[0]).toContain(": 10 events from 1 address");
    expect(canBlock(ran)).toEqual([]);
    expect(notKnown(ran)).toEqual([
      expect.stringContaining("the zone's events are a sample, which may leave out events of this rule"),
    ]);
  });

  test("if there was no event at all", async () => {
    await deployed();
    expect(await reasonFor()).toBe(
      "no managed rule had an event, so nothing shows that the zone had traffic",
    );
  });

  test("if there are more events than Cloudflare returns", () => {
    const none = { events: [], isCut: false };
    const event = { ruleId: "b", action: "log", count: 1, interval: 1, fields: {} };
    const more = "the zone has more events than Cloudflare returns at once. Pass fewer --days";
    expect(verdictOf("a", { byRule: { events: [event], isCut: true }, byRequest: none })).toBe(more);
    const whole = { events: [event], isCut: false };
    expect(verdictOf("b", { byRule: whole, byRequest: { events: [], isCut: true } })).toBe(more);
    expect(verdictOf("a", { byRule: whole, byRequest: { events: [], isCut: true } })).toMatchObject({
      events: 0,
    });
  });
});

describe("edgeguard rollout fails", () => {
  test.each([{ paused: true }, { status: "pending" }, { modified_on: null }, undefined])(
    "if the zone says %j",
    async (zone) => {
      await deployed();
      if (zone === undefined) bench.api.fault({ kind: "status", status: 403, match: ZONE });
      else zoneSays(zone);
      expect(await rollout()).toMatchObject({ code: 1, stdout: "" });
      bench.api.fault({ kind: "status", status: 403, match: ZONE });
      const { stderr } = await rollout();
      expect(stderr).toMatch(/is paused or not active, or the token lacks Zone Read for it\.\n$/);
    },
  );

  test("without the permission to read events, and says which one it needs", async () => {
    await deployed();
    bench.api.fault({ kind: "status", status: 403, code: 10000, match: { path: "/graphql" } });
    expect(await rollout()).toMatchObject({
      code: 1,
      stdout: "",
      stderr:
        "edgeguard: zone shop.example: its firewall events can't be read: the token needs Analytics Read (in the dashboard: Zone > Analytics > Read).\n",
    });
  });

  test("if a later query fails: half of the days are no answer", async () => {
    bench.inZone("small");
    const match = { path: "/graphql" };
    bench.api.fault({ kind: "slow", delayMs: 0, times: 2, match });
    bench.api.fault({ kind: "status", status: 500, times: 9, match });
    const ran = await rollout("--days", "2");
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toContain("its firewall events can't be read: Cloudflare didn't answer.");
  });

  test.each([
    ["blog", "7", "for 2 whole days, not for 7. Pass --days 2."],
    ["small", "3", "for 2 whole days, not for 3. Pass --days 2."],
    ["free", "1", "for 0 whole days, not for 1."],
  ] as const)("if the plan of %s keeps no events of %s days", async (zone, days, kept) => {
    bench.inZone(zone);
    const ran = await rollout("--days", days);
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toContain(`its firewall events can't be read: Cloudflare keeps them ${kept}`);
  });

  test("asks as often as a plan's longest query needs, and counts each event once", async () => {
    bench.inZone("small");
    const atMidnight = { datetime: new Date(now - DAY_MS).toISOString() };
    happened(3, { ruleId: first ?? "", action: "log", ...atMidnight });
    bench.api.clearRequests();
    const ran = await rollout("--days", "2");
    expect(ran.stdout).toContain("3 events of managed rules in the last 2 days");
    expect(bench.api.requests.filter(({ path }) => path === "/graphql")).toHaveLength(5);
  });

  test.each([[["--days", "0"]], [["--days", "29"]], [["--zone", "nothing"]]])(
    "on a usage error: %j",
    async (args) => {
      expect(await rollout(...args)).toMatchObject({ code: 2, stdout: "" });
    },
  );
});

describe("what a request contains", () => {
  const canary = { clientRequestPath: "/canary-7f3a", clientIP: "203.0.113.77" };

  test("is in the output only: paths there, addresses nowhere", async () => {
    await deployed();
    happened(1, { ruleId: first ?? "", action: "log", ...canary });
    const env = { ...desk.env, EDGEGUARD_DEBUG: "1" };
    const { stdout, stderr } = await desk.at({ env }, "rollout", "--zone", bench.zone);
    expect(stdout).toContain("/canary-7f3a");
    expect(stderr).toContain("POST");
    for (const personal of ["canary", "203.0.113.77"]) expect(stderr).not.toContain(personal);
    expect(stdout).not.toContain("203.0.113.77");
    bench.api.fault({ kind: "truncated", times: 9, match: { path: "/graphql" } });
    const failed = await desk.at({ env }, "rollout", "--zone", bench.zone);
    expect(failed.code).toBe(1);
    expect(failed.stdout + failed.stderr).not.toMatch(/canary|203\.0\.113\.77/);
  });

  test("can't reach the terminal, a pipeline or the program", async () => {
    await deployed();
    const hostile = [
      'quote"\\" or true or http.host eq "',
      "`${process.env.HOME}` ${zoneId} $${x}",
      "\n##vso[task.setvariable]x ##[error]y\r\n::add-mask::z",
      "\u001b[31m\u009b\u202e\u2066\u0000é\u{1f600}",
      "*/ --> ' <{%reset%}>",
    ];
    for (const path of hostile)
      happened(1, {
        ...{ ruleId: first ?? "", action: "log", clientRequestPath: `/${path}` },
        ...{ clientRequestHTTPHost: `${path}.example`, clientRequestHTTPMethodName: path },
      });
    const ran = await rollout();
    expect(ran.stdout).not.toMatch(
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/,
    );
    expect(ran.stdout).not.toMatch(/^\s*::|##\[|##vso\[|<\{%/m);
    expect(hit(ran)).toHaveLength(hostile.length + 3); // No text makes a line of its own.
    const [{ expression } = { expression: "" }] = exceptionsIn(ran);
    expect(expression).not.toMatch(/[`$#<]/);
    expect(schema.safeParse(expression)).toMatchObject({ success: true });
    for (const path of hostile) {
      const request = { host: `${path}.example`, path: `/${path}`, method: path };
      expect(selects(expression, request)).toBe(true);
      expect(selects(expression, { ...request, path })).toBe(false);
    }
  });

  const text = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.string({ unit: "binary", maxLength: 8 }),
    fc.constantFrom("/", "/a", "a.example", "GET", '"', "\\", '") or (true', "\\x41", "`${1}`"),
  );
  const request = fc.record({ host: text, path: text, method: text });

  test("is matched exactly by the exception: each shown request, and no other", () => {
    fc.assert(
      fc.property(fc.array(request, { minLength: 1, maxLength: 12 }), request, (requests, other) => {
        const kinds = kindsOf(requests.map(eventOf));
        const shown = kinds.slice(0, 10);
        const expression = expressionFor(shown);
        expect(shown.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(requests.length);
        expect(schema.safeParse(expression).success).toBe(true);
        for (const each of [...requests, other]) {
          const isShown = shown.some(
            ({ host, path, method }) => host === each.host && path === each.path && method === each.method,
          );
          expect({ each, expression, selected: selects(expression, each) }).toMatchObject({
            selected: isShown,
          });
          expect(matcher(expression)(eventOf(each).fields)).toBe(isShown);
        }
      }),
    );
  });

  test("is left out where it would make an expression too long for Cloudflare", () => {
    const events = ["a", "b", "c"].map((sign) =>
      eventOf({ host: "h", path: sign.repeat(1_900), method: "GET" }),
    );
    const read = { byRule: { events, isCut: false }, byRequest: { events, isCut: false } };
    const found = verdictOf("r", read);
    expect(found).toMatchObject({
      events: 3,
      shown: [{ path: "a".repeat(1_900) }, { path: "b".repeat(1_900) }],
    });
    const long = [eventOf({ host: "h", path: "\u0000".repeat(1_900), method: "GET" })];
    expect(verdictOf("r", { ...read, byRequest: { events: long, isCut: false } })).toMatchObject({
      ...{ events: 1, shown: [], exception: "" },
    });
  });
});

type Request = Pick<RequestKind, "host" | "path" | "method">;

function eventOf({ host, path, method }: Request): RuleEvents {
  const fields = { "http.host": host, "http.request.uri.path": path, "http.request.method": method };
  return { ruleId: "r", action: "log", count: 1, interval: 1, fields };
}

/** Whether an expression of comparisons, `and`, `or` and parentheses selects a request, read by rules of its own. */
function selects(expression: string, { host, path, method }: Request): boolean {
  const values = { "http.host": host, "http.request.uri.path": path, "http.request.method": method };
  const tokens = expression.match(/"(?:\\[^]|[^"\\])*"|[\w.]+|[(){}]/g) ?? [];
  const bytesOf = (token: string): string =>
    token
      .slice(1, -1)
      .replace(/\\x(..)|\\(.)/g, (_, hex: string | undefined, sign: string) =>
        hex === undefined ? sign : String.fromCharCode(parseInt(hex, 16)),
      );
  const next = (): string => tokens.shift() ?? "";
  const comparison = (): boolean => {
    const field = next();
    if (field === "(") {
      const inner = alternatives();
      next();
      return inner;
    }
    const value = Buffer.from(values[field as keyof typeof values], "utf8").toString("latin1");
    if (next() === "eq") return bytesOf(next()) === value;
    next();
    let found = false;
    for (let token = next(); token !== "}"; token = next()) found = bytesOf(token) === value || found;
    return found;
  };
  const all = (): boolean => {
    let holds = comparison();
    while (tokens[0] === "and") {
      next();
      holds = comparison() && holds;
    }
    return holds;
  };
  const alternatives = (): boolean => {
    let holds = all();
    while (tokens[0] === "or") {
      next();
      holds = all() || holds;
    }
    return holds;
  };
  const result = alternatives();
  expect(tokens).toEqual([]);
  return result;
}
