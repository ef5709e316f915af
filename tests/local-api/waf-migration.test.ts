import type { LocalApi, WafAction } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { result } from "./client";
import { Migrating, NEW_OWASP, NEW_VENDOR, OWASP, SCORE_RULE, type SentRule, USUAL_WAF } from "./waf-client";

const api = apiPerFile();
beforeEach(() => {
  api.reset();
  api.changeWaf(USUAL_WAF);
});

type ZoneName = keyof LocalApi["zones"];
const act = (zone: ZoneName, action: WafAction) => api.inDashboard(api.zones[zone], action);
const stepsOf = (zone: ZoneName) =>
  api.waf(api.zones[zone]).migration.steps.map(({ trigger, from, to, effective }) => ({
    step: `${from} -${trigger}-> ${to}`,
    effective,
  }));
const refused = (status: number, code: number) => ({
  status,
  body: { success: false, result: null, errors: [{ code }] },
});
const state = (migration_state: string, old_waf: string, new_waf: string) => ({
  status: 200,
  body: { success: true, result: { migration_state, old_waf, new_waf } },
});

const execute = { action: "execute", action_parameters: { id: NEW_VENDOR }, expression: "true" };

describe("a WAF migration", () => {
  test("takes a check, the proposed configuration, a PUT to validate and a PUT to finish for an Enterprise zone", async () => {
    const zone = new Migrating(api, "migrateEnterprise");
    api.clearRequests();

    expect(await zone.check()).toMatchObject({
      status: 200,
      body: { result: { compatible: true, migration_state: "start" } },
    });
    const proposed = await zone.proposed();
    expect(proposed.map(({ action, expression }) => [action, expression])).toEqual([
      ["skip", "ip.src in {203.0.113.0/28}"],
      ["skip", 'http.host eq "static.migrate-enterprise.example"'],
      ["execute", "true"],
      ["execute", "true"],
    ]);
    expect(await zone.put("validation", proposed)).toMatchObject({ status: 200 });
    const both = await zone.status();
    const adjusted: SentRule[] = (await zone.saved()).map((rule) => ({ ...rule, description: "reviewed" }));
    expect(await zone.put("pending", adjusted)).toMatchObject({
      body: { result: { kind: "zone", name: "default", version: "2" } },
    });

    expect(both).toMatchObject(state("validation", "enabled", "enabled"));
    expect(await zone.status()).toMatchObject(state("finished", "disabled", "enabled"));
    expect((await zone.saved()).map((rule) => [rule["id"], rule["description"]])).toEqual(
      adjusted.map((rule) => [rule["id"], "reviewed"]),
    );
    expect(stepsOf("migrateEnterprise")).toEqual([
      { step: "start -validate-> validation", effective: true },
      { step: "validation -finish-> pending", effective: true },
    ]);
    const entryPoint = "rulesets/phases/http_request_firewall_managed/entrypoint";
    const sent = api.requests.map(({ method, path, query }) => {
      const text = new URLSearchParams(query).toString();
      return `${method} ${path.replace(`${zone.root}/`, "")}${text === "" ? "" : `?${text}`}`;
    });
    expect(sent).toEqual([
      "GET waf_migration/check?phase_two=1",
      "GET waf_migration/config?phase_two=1",
      `PUT ${entryPoint}?waf_migration=validation&phase_two=1`,
      "GET waf_migration/status",
      `GET ${entryPoint}`,
      `PUT ${entryPoint}?waf_migration=pending&phase_two=1`,
      "GET waf_migration/status",
      `GET ${entryPoint}`,
    ]);
  });

  test.each<[ZoneName, string]>([
    ["migratePro", "pending"],
    ["migrateBusiness", "1"],
    ["migrateEnterprise", "pending"],
  ])(
    "takes one PUT for zone %s (mode %s), which turns off the APIs of the previous rules",
    async (name, mode) => {
      const zone = new Migrating(api, name);
      expect(await zone.put(mode, await zone.proposed())).toMatchObject({ status: 200 });
      expect(stepsOf(name)).toEqual([{ step: "start -finish-> pending", effective: true }]);
      expect(await zone.status()).toMatchObject(state("finished", "disabled", "enabled"));
      expect(await zone.check()).toMatchObject({
        body: { result: { compatible: false, migration_state: "finished" } },
      });
      expect(await zone.config()).toMatchObject(refused(400, 12024));
      for (const path of ["/packages", `/packages/${OWASP}/groups`, `/packages/${OWASP}/rules`, "/overrides"])
        expect(await zone.legacy("GET", path)).toMatchObject(refused(403, 12010));
      for (const path of ["/firewall/rules", "/pagerules"])
        expect(await zone.call("GET", zone.root + path)).toMatchObject({ status: 200 });
    },
  );
});

describe("during a migration", () => {
  const reach: Record<string, (zone: ZoneName) => void> = {
    start: () => undefined,
    validation: (zone) => act(zone, { do: "validate" }),
    pending: (zone) => act(zone, { do: "hang" }),
    finished: (zone) => act(zone, { do: "finish" }),
  };

  test.each<[string, ZoneName, string | undefined, number, string, boolean | undefined]>([
    ["start", "migrateEnterprise", "validation", 200, "validation", true],
    ["start", "migrateEnterprise", "2", 200, "validation", true],
    ["start", "migrateEnterprise", "pending", 200, "finished", true],
    ["start", "migrateEnterprise", undefined, 200, "start", undefined],
    ["start", "migratePro", "validation", 400, "start", undefined],
    ["start", "migrateBusiness", "2", 400, "start", undefined],
    ["start", "migratePro", "1", 200, "finished", true],
    ["start", "migratePro", undefined, 400, "start", undefined],
    ["start", "migrateBusiness", undefined, 400, "start", undefined],
    ["validation", "migrateEnterprise", "validation", 200, "validation", false],
    ["validation", "migrateEnterprise", "pending", 200, "finished", true],
    ["validation", "migrateEnterprise", undefined, 200, "validation", undefined],
    ["pending", "migrateEnterprise", "validation", 400, "pending", undefined],
    ["pending", "migrateEnterprise", "pending", 200, "pending", false],
    ["pending", "migratePro", "validation", 400, "pending", undefined],
    ["pending", "migratePro", undefined, 200, "pending", undefined],
    ["finished", "migrateEnterprise", "validation", 400, "finished", undefined],
    ["finished", "migrateEnterprise", "pending", 200, "finished", false],
    ["finished", "migratePro", "2", 400, "finished", undefined],
    ["finished", "migratePro", "1", 200, "finished", false],
    ["finished", "migratePro", undefined, 200, "finished", undefined],
  ])(
    "from state %s of zone %s, a PUT with mode %s returns %i and leads to state %s",
    async (from, name, mode, status, to, effective) => {
      const zone = new Migrating(api, name);
      reach[from]?.(name);
      if (from === "pending") await zone.put("pending", [execute]);
      expect(api.waf(api.zones[name]).phase).toBe(from);
      const before = stepsOf(name).length;
      const saved = await zone.saved();

      const next = [{ ...execute, description: "next" }];
      expect((await zone.put(mode, next)).status).toBe(status);
      expect(api.waf(api.zones[name]).phase).toBe(to);
      const taken = stepsOf(name).slice(before);
      expect(taken.map((step) => step.effective)).toEqual(effective === undefined ? [] : [effective]);
      const now = await zone.saved();
      if (status === 200) expect(now).toMatchObject(next);
      else expect(now).toEqual(saved);
    },
  );

  test("a PUT without phase_two=1, with an unknown mode, with an invalid body or as a dry run doesn't change a zone's state", async () => {
    const zone = new Migrating(api, "migrateEnterprise");
    expect(await zone.put("pending", [execute], "")).toMatchObject(refused(400, 12020));
    expect(await zone.put("pending", [execute], "&phase_two=2")).toMatchObject(refused(400, 12020));
    expect(await zone.put("finished", [execute])).toMatchObject(refused(400, 12021));
    expect(await zone.put("pending", [{ ...execute, expression: "" }])).toMatchObject({ status: 400 });
    expect(await zone.put("pending", [execute], "&phase_two=1&dry_run=true")).toMatchObject({ status: 400 });
    expect(await zone.check("")).toMatchObject(refused(400, 12020));
    expect(await zone.config("")).toMatchObject(refused(400, 12020));
    expect(api.waf(api.zones.migrateEnterprise).phase).toBe("start");
    expect(stepsOf("migrateEnterprise")).toEqual([]);
    expect(await zone.saved()).toEqual([]);
  });

  test("a zone's state changes only once if many requests arrive at the same time", async () => {
    const zone = new Migrating(api, "migratePro");
    const responses = await Promise.all(Array.from({ length: 6 }, () => zone.put("pending", [execute])));
    expect(responses.map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(stepsOf("migratePro").filter(({ effective }) => effective)).toHaveLength(1);
  });

  test("a zone below Enterprise can only add disabled rules until it's finished or retired", async () => {
    const zone = new Migrating(api, "migratePro");
    expect(await zone.put(undefined, [{ ...execute, enabled: false }, execute])).toMatchObject({
      status: 400,
      body: { errors: [{ code: 12033, source: { pointer: "/rules/1/enabled" } }] },
    });
    expect(await zone.put(undefined, [{ ...execute, enabled: false }])).toMatchObject({ status: 200 });
    act("migratePro", { do: "retire", status: 410 });
    expect(await zone.put(undefined, [execute])).toMatchObject({ status: 200 });
  });

  test("a zone stays pending until the switch completes", async () => {
    api.changeWaf({ pendingMs: 60_000 });
    const zone = new Migrating(api, "migratePro");
    await zone.put("pending", await zone.proposed());
    expect(await zone.status()).toMatchObject(state("pending", "enabled", "disabled"));
    expect(await zone.legacy("GET", "/packages")).toMatchObject({ status: 200 });
    api.changeWaf({ pendingShows: "both" });
    expect(await zone.status()).toMatchObject(state("pending", "enabled", "enabled"));
    api.advance(59_000);
    expect(api.waf(api.zones.migratePro).phase).toBe("pending");
    api.advance(1_000);
    expect(await zone.status()).toMatchObject(state("finished", "disabled", "enabled"));
  });

  test("the names, properties and values of states in responses are configurable", async () => {
    api.changeWaf({
      stateNames: { validation: "SIDE_BY_SIDE", finished: "Phase2Done" },
      statusMembers: { state: "state", previous: "previous_rules", next: "new_rules" },
      statusValues: "boolean",
    });
    const zone = new Migrating(api, "migrateEnterprise");
    expect(result(await zone.status())).toEqual({ state: "start", previous_rules: true, new_rules: false });
    await zone.put("validation", [execute]);
    expect(result(await zone.status())).toEqual({
      ...{ state: "SIDE_BY_SIDE", previous_rules: true, new_rules: true },
    });
    expect(result(await zone.check())).toEqual({ compatible: true, migration_state: "SIDE_BY_SIDE" });
    api.changeWaf({ statusValues: "onOff" });
    await zone.put("pending", [execute]);
    expect(result(await zone.status())).toEqual({
      ...{ state: "Phase2Done", previous_rules: "off", new_rules: "on" },
    });
  });
});

describe("when a migration is blocked", () => {
  test("a zone can't migrate until its URI-based overrides are deleted", async () => {
    const zone = new Migrating(api, "migrateOverrides");
    expect(result(await zone.check())).toEqual({ compatible: false });
    expect(await zone.put("pending", [execute])).toMatchObject(refused(400, 12030));
    expect(await zone.saved()).toEqual([]);
    const { overrides } = api.waf(api.zones.migrateOverrides);
    expect(overrides).toHaveLength(2);
    for (const { id } of overrides) await zone.legacy("DELETE", `/overrides/${id}`);
    expect(result(await zone.check())).toEqual({ compatible: true, migration_state: "start" });
    expect(await zone.put("pending", [execute])).toMatchObject({ status: 200 });
  });

  test.each<[ZoneName, number]>([
    ["migrateManyRules", 12031],
    ["migrateLongRule", 12032],
  ])("zone %s needs Cloudflare Support, although the check doesn't say so", async (name, code) => {
    const zone = new Migrating(api, name);
    expect(result(await zone.check())).toEqual({ compatible: true, migration_state: "start" });
    for (const mode of ["validation", "pending"]) {
      expect(await zone.put(mode, await zone.proposed())).toMatchObject(refused(400, code));
    }
    expect(stepsOf(name)).toEqual([]);
  });
});

describe("the seeded zones", () => {
  test("include zones exactly at the migration's limits, and zones just above them", () => {
    const measures = (name: ZoneName) => {
      const rules = api.waf(api.zones[name]).firewallRules;
      const bypassing = rules.filter(({ products }) => products?.includes("waf"));
      const bytes = Math.max(...rules.map(({ expression }) => Buffer.byteLength(expression)));
      return { all: rules.length, bypassing: bypassing.length, bytes };
    };
    expect(measures("migrateManyRules")).toMatchObject({ all: 201, bypassing: 201 });
    expect(measures("migrateLongRule")).toEqual({ all: 2, bypassing: 2, bytes: 4097 });
    expect(measures("migrateLimits")).toEqual({ all: 202, bypassing: 200, bytes: 4096 });
    const longest = api.waf(api.zones.migrateLongRule).firewallRules[0]?.expression ?? "";
    expect(longest.length).toBeLessThan(2100);
  });

  test("called migrateDeployed, migrateValidating and migrateFinished are in the state that their name says", async () => {
    const deployed = new Migrating(api, "migrateDeployed");
    const [office, executed] = await deployed.saved();
    expect([office?.action, executed?.action]).toEqual(["skip", "execute"]);
    const [proposed] = await deployed.proposed();
    expect([proposed?.action, proposed?.expression, proposed?.["action_parameters"]]).toEqual([
      ...[executed?.action, executed?.expression, { id: NEW_VENDOR }],
    ]);

    const validating = new Migrating(api, "migrateValidating");
    expect(await validating.status()).toMatchObject(state("validation", "enabled", "enabled"));
    expect((await validating.saved()).at(-1)).toMatchObject({
      action_parameters: {
        id: NEW_OWASP,
        overrides: { rules: [{ id: SCORE_RULE, action: "block", score_threshold: 60 }] },
      },
    });
    expect((await validating.proposed()).at(-1)).toMatchObject({
      action_parameters: { overrides: { rules: [{ score_threshold: 40 }] } },
    });

    const finished = new Migrating(api, "migrateFinished");
    expect(await finished.status()).toMatchObject(state("finished", "disabled", "enabled"));
    expect(await finished.saved()).toHaveLength(2);
    expect(stepsOf("migrateFinished")).toHaveLength(1);
  });

  test("for other products are already migrated", async () => {
    for (const name of ["shop", "blog", "small", "empty"] as const) {
      const zone = new Migrating(api, name);
      expect(await zone.status()).toMatchObject(state("finished", "disabled", "enabled"));
      expect(await zone.legacy("GET", "/packages")).toMatchObject(refused(403, 12010));
    }
  });
});

test.each([404, 410] as const)(
  "all migration and previous WAF routes return %i once Cloudflare has retired the migration",
  async (status) => {
    const zone = new Migrating(api, "migrateRetired");
    act("migrateRetired", { do: "retire", status });
    for (const response of [
      ...[await zone.check(), await zone.config(), await zone.status(), await zone.put("pending", [execute])],
      ...[await zone.legacy("GET", "/packages"), await zone.legacy("GET", "/overrides")],
    ]) {
      expect(response).toMatchObject(refused(status, 12011));
    }
    expect(await zone.saved()).toEqual([]);
  },
);

describe("a colleague in the simulated dashboard", () => {
  test("can finish a migration straight from the start phase, which keeps the zone's own rules ahead of the proposed ones", async () => {
    const zone = new Migrating(api, "migrateDeployed");
    const own = await zone.saved();
    expect(act("migrateDeployed", { do: "finish" })).toMatchObject({
      phase: "finished",
      migration: { steps: [{ by: "dashboard", from: "start", to: "pending", rules: 3 }] },
    });
    expect((await zone.saved()).slice(0, 2).map((rule) => rule["id"])).toEqual(own.map((rule) => rule["id"]));
    expect(act("migrateDeployed", { do: "finish" }).migration.steps).toHaveLength(1);
  });

  test("can finish a migration in validation, which doesn't change the zone's rules", async () => {
    const zone = new Migrating(api, "migrateValidating");
    const before = await zone.saved();
    act("migrateValidating", { do: "finish" });
    expect(await zone.status()).toMatchObject(state("finished", "disabled", "enabled"));
    expect(await zone.saved()).toEqual(before);
  });

  test("can only do what Cloudflare allows", () => {
    expect(() => act("migratePro", { do: "validate" })).toThrow("Enterprise zones only");
    expect(() => act("migrateFinished", { do: "validate" })).toThrow("can't go back");
    expect(() => act("migrateOverrides", { do: "finish" })).toThrow(
      "it has URI-based overrides (2). Delete them first",
    );
    expect(() => act("migratePro", { do: "adjust", change: {} })).toThrow("rule not found");
    expect(() => act("migratePro", { do: "rule", id: "1", mode: "off" })).toThrow("WAF rule not found");
  });

  test("can change properties of a rule", async () => {
    const zone = new Migrating(api, "migrateValidating");
    const [first, second] = await zone.saved();
    act("migrateValidating", { do: "adjust", rule: String(second?.["id"]), change: { enabled: false } });
    const [untouched, adjusted] = await zone.saved();
    expect(untouched).toEqual(first);
    expect(adjusted).toEqual({
      ...{ ...second, enabled: false, version: "2" },
      last_updated: expect.any(String) as string,
    });
  });

  test("can add and delete overrides, and change settings", async () => {
    const zone = new Migrating(api, "migratePro");
    const override = { urls: ["*"], groups: { a: "disable" } };
    const [added] = act("migratePro", { do: "addOverride", override }).overrides;
    expect(await zone.check()).toMatchObject({ body: { result: { compatible: false } } });
    act("migratePro", { do: "deleteOverride", id: String(added?.id) });
    act("migratePro", { do: "package", sensitivity: "medium", action_mode: "simulate" });
    expect((await zone.proposed())[1]).toMatchObject({
      action_parameters: { overrides: { rules: [{ action: "log", score_threshold: 25 }] } },
    });
  });

  test("can complete a switch that hangs", async () => {
    const zone = new Migrating(api, "migratePro");
    act("migratePro", { do: "hang" });
    await zone.put("pending", [execute]);
    api.advance(86_400_000);
    expect(await zone.status()).toMatchObject(state("pending", "enabled", "disabled"));
    act("migratePro", { do: "completeSwitch" });
    expect(await zone.status()).toMatchObject(state("finished", "disabled", "enabled"));
  });
});

test("a test can make a PUT return an error even though the PUT is applied", async () => {
  const zone = new Migrating(api, "migrateEnterprise");
  act("migrateEnterprise", { do: "failAfterPut", status: 502 });
  expect(await zone.put("validation", [execute])).toMatchObject(refused(502, 12040));
  expect(await zone.status()).toMatchObject(state("validation", "enabled", "enabled"));
  expect(await zone.saved()).toMatchObject([execute]);
  expect(await zone.put("pending", [execute])).toMatchObject({ status: 200 });
});

test("snapshots of the state include migrations", async () => {
  const zone = new Migrating(api, "migratePro");
  await zone.put("pending", [execute]);
  const kept = api.snapshot();
  api.reset();
  expect(api.waf(api.zones.migratePro).phase).toBe("start");
  api.restore(kept);
  expect(api.waf(api.zones.migratePro).phase).toBe("finished");
  expect(stepsOf("migratePro")).toHaveLength(1);
});
