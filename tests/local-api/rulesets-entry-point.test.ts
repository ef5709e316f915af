import { managedRulesets, seededEntryPoints, seededRules } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { callerOf, each, idOf, result, start } from "./client";
import { idsOf, PHASE, rulesOf, ZoneRulesets } from "./rulesets-client";

const execute = {
  action: "execute",
  action_parameters: { id: managedRulesets.owasp },
  expression: 'http.host eq "a.example"',
};

describe("a zone's entry point", () => {
  const api = apiPerFile({ clock: () => now });
  const shop = new ZoneRulesets(api, api.zones.shop);
  const empty = new ZoneRulesets(api, api.zones.empty);
  let now = new Date("2026-09-02T10:00:00Z");
  const { monitoring, managed, credentials } = seededRules.shop;

  beforeEach(() => {
    now = new Date("2026-09-02T10:00:00Z");
    api.reset();
  });

  test("exists initially in two of the seeded zones", async () => {
    const blog = new ZoneRulesets(api, api.zones.blog);
    expect([idOf(await shop.read()), idOf(await blog.read())]).toEqual(Object.values(seededEntryPoints));
    expect(idsOf(await shop.read())).toEqual([monitoring, managed, credentials]);
    expect(idsOf(await blog.read())).toEqual([seededRules.blog.owasp]);
    for (const zone of ["small", "free", "empty"] as const) {
      expect(await new ZoneRulesets(api, api.zones[zone]).read()).toMatchObject({
        status: 404,
        body: {
          result: null,
          errors: [{ code: 10003, message: `could not find entrypoint ruleset in the ${PHASE} phase` }],
        },
      });
    }
  });

  test("keeps every version with its rules", async () => {
    const before = await shop.read();
    const root = `${shop.root}/${idOf(before)}`;
    await shop.call("DELETE", `${root}/rules/${monitoring}`);
    const version = Number(result(before)["version"]);
    const versions = each(await shop.call("GET", `${root}/versions`), "version");
    expect(versions).toEqual([String(version), String(version + 1)]);
    expect(idsOf(await shop.call("GET", `${root}/versions/${version}`))).toEqual(idsOf(before));
    expect(idsOf(await shop.call("GET", `${root}/versions/${version + 1}`))).toEqual([managed, credentials]);
    expect(await shop.call("GET", `${root}/versions/${version + 2}`)).toMatchObject({ status: 404 });
  });

  test("can be created once, and a second POST fails with code 20217", async () => {
    const made = await empty.create();
    expect(made).toMatchObject({
      status: 200,
      body: {
        result: {
          name: "default",
          kind: "zone",
          phase: PHASE,
          source: "firewall_managed",
          version: "1",
          rules: [],
        },
      },
    });
    expect(await empty.create()).toMatchObject({
      status: 400,
      body: { errors: [{ code: 20217, source: { pointer: "/kind" } }] },
    });
    expect(idOf(await empty.read())).toBe(idOf(made));
    expect(each(await empty.call("GET", empty.root), "kind")).toEqual([
      "zone",
      ...Object.keys(managedRulesets).map(() => "managed"),
    ]);
  });

  test("can also be created with a PUT, and keeps its first name", async () => {
    const made = await empty.put({ name: "default", rules: [execute] });
    const again = await empty.put({ name: "other", rules: [] });
    expect([made, again]).toMatchObject([
      { status: 200, body: { result: { name: "default", version: "1" } } },
      { status: 200, body: { result: { name: "default", version: "2", rules: [] } } },
    ]);
  });

  test("gives a new rule an ID, a ref, a version and default values", async () => {
    const [rule] = rulesOf(await empty.put({ rules: [execute] }));
    expect(rule?.id).toMatch(/^[0-9a-f]{32}$/);
    expect(rule).toEqual({
      ...execute,
      action_parameters: { id: managedRulesets.owasp, version: "latest" },
      id: rule?.id,
      ref: rule?.id,
      version: "1",
      description: "",
      enabled: true,
      last_updated: "2026-09-02T10:00:00.000000Z",
      categories: [],
    });
  });

  test("enables logging for skip rules by default", async () => {
    const skip = { action: "skip", action_parameters: { ruleset: "current" }, expression: "true" };
    const rules = rulesOf(await empty.put({ rules: [skip, { ...skip, logging: { enabled: false } }] }));
    expect(rules.map((rule) => rule["logging"])).toEqual([{ enabled: true }, { enabled: false }]);
  });

  test("keeps the rules whose IDs are in a PUT, and replaces all others", async () => {
    const before = rulesOf(await shop.read());
    const [first, second] = before;
    now = new Date("2026-09-02T11:00:00Z");
    const { id, ...withoutId } = second ?? {};
    const after = rulesOf(await shop.put({ rules: [withoutId, first] }));
    expect(after).toEqual([
      { ...second, id: after[0]?.id, version: "1", last_updated: "2026-09-02T11:00:00.000000Z" },
      first,
    ]);
    expect(after[0]?.id).not.toBe(id);
    expect(result(await shop.read())).toMatchObject({
      version: "7",
      last_updated: "2026-09-02T11:00:00.000000Z",
    });
  });

  test("treats empty IDs and refs as unset, because a WAF migration's configuration contains them", async () => {
    const [rule] = rulesOf(
      await empty.put({ name: "default", rules: [{ ...execute, id: "", ref: "", version: "" }] }),
    );
    expect(rule?.ref).toBe(rule?.id);
  });

  test("keeps its rules if a PUT contains only a description", async () => {
    const before = result(await shop.read());
    await shop.put({ description: "reviewed" });
    expect(result(await shop.read())).toMatchObject({ description: "reviewed", rules: before["rules"] });
  });

  test("adds a rule at the end and returns all rules", async () => {
    const before = rulesOf(await shop.read());
    const response = await shop.add({ ...execute, ref: "mine", description: "d", enabled: false });
    const after = rulesOf(response);
    expect(after.slice(0, -1)).toEqual(before);
    expect(after.at(-1)).toMatchObject({ ref: "mine", description: "d", enabled: false, version: "1" });
    expect(result(response)["version"]).toBe("7");
    expect(result(await shop.read())).toEqual(result(response));
  });

  test.each([
    ["before another", { before: managed }, 1],
    ["before all", { before: "" }, 0],
    ["after another", { after: managed }, 2],
    ["after all", { after: "" }, 3],
    ["first, by index", { index: 1 }, 0],
    ["third, by index", { index: 3 }, 2],
    ["after the last, by index", { index: 4 }, 3],
  ])("places a new rule %s", async (_, position, index) => {
    const ids = idsOf(await shop.add({ ...execute, position }));
    expect(ids.filter((id) => ![monitoring, managed, credentials].includes(id as never))).toEqual([
      ids[index],
    ]);
  });

  test("moves a rule without changing its version if a PATCH contains only a position", async () => {
    const before = rulesOf(await shop.read());
    const response = await shop.change(credentials, { position: { before: managed } });
    expect(rulesOf(response)).toEqual([before[0], before[2], before[1]]);
    expect(result(response)["version"]).toBe("7");
    expect(idsOf(await shop.change(credentials, { position: { index: 3 } }))).toEqual([
      monitoring,
      managed,
      credentials,
    ]);
  });

  test("replaces a rule's whole definition on a PATCH, with defaults for omitted properties", async () => {
    const before = rulesOf(await shop.read());
    now = new Date("2026-09-02T11:00:00Z");
    const after = rulesOf(await shop.change(managed, execute));
    expect(after[1]).toEqual({
      ...execute,
      action_parameters: { id: managedRulesets.owasp, version: "latest" },
      id: managed,
      ref: managed,
      version: "4",
      description: "",
      enabled: true,
      last_updated: "2026-09-02T11:00:00.000000Z",
      categories: [],
    });
    expect([after[0], after[2]]).toEqual([before[0], before[2]]);
  });

  test("gets a new version from a PATCH that changes nothing, but the rule keeps its version", async () => {
    const [, rule] = rulesOf(await shop.read());
    now = new Date("2026-09-02T11:00:00Z");
    const response = await shop.change(managed, rule ?? {});
    expect(rulesOf(response)[1]).toEqual(rule);
    expect(result(response)["version"]).toBe("7");
  });

  test("still exists after its last rule is deleted", async () => {
    const blog = new ZoneRulesets(api, api.zones.blog);
    expect(await blog.remove(seededRules.blog.owasp)).toMatchObject({
      status: 200,
      body: { result: { rules: [], version: "3" } },
    });
    expect(await blog.remove(seededRules.blog.owasp)).toMatchObject({ status: 404 });
    expect(result(await blog.read())).toMatchObject({ rules: [] });
  });

  test("loses no rules when writes run in parallel", async () => {
    await empty.create();
    const refs = Array.from({ length: 30 }, (_, index) => `writer-${index}`);
    const path = `${empty.root}/${idOf(await empty.read())}/rules`;
    await Promise.all(
      refs.map((ref) => empty.call("POST", path, { ...execute, ref, position: { before: "" } })),
    );
    const ids = idsOf(await empty.read());
    await Promise.all(
      ids.map((id, index) =>
        index % 3 === 0
          ? empty.call("DELETE", `${path}/${id}`)
          : empty.call("PATCH", `${path}/${id}`, { ...execute, ref: `changed-${index}` }),
      ),
    );
    const left = ids.map((_, index) => `changed-${index}`).filter((_, index) => index % 3 !== 0);
    expect(rulesOf(await empty.read()).map(({ ref }) => ref)).toEqual(left);
    expect(result(await empty.read())["version"]).toBe("61");
  });

  test("shows a write to reads only after the lag, but to other writes immediately", async () => {
    const slow = await start({ readLagMs: 1000, clock: () => now });
    const zone = new ZoneRulesets(slow, slow.zones.blog);
    const path = `${zone.root}/${seededEntryPoints.blog}/rules`;
    expect(idsOf(await zone.call("POST", path, execute))).toHaveLength(2);
    expect(idsOf(await zone.read())).toHaveLength(1);
    expect(idsOf(await zone.call("POST", path, execute))).toHaveLength(3);
    slow.advance(1000);
    expect(idsOf(await zone.read())).toHaveLength(3);
  });

  test("is part of a snapshot, and is removed when a snapshot without rulesets is restored", async () => {
    await shop.add({ ...execute, ref: "kept" });
    const snapshot = api.snapshot();
    const before = result(await shop.read());
    api.reset();
    api.restore(snapshot);
    expect(result(await shop.read())).toEqual(before);
    const older: Partial<typeof snapshot> = { ...snapshot };
    delete older.rulesets;
    const put = await fetch(new URL("/__local/state", api.url), {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(older),
    });
    expect(put.status).toBe(204);
    expect((await shop.read()).status).toBe(404);
  });

  test("exists only for the managed rules phase", async () => {
    const other = `${shop.root}/phases/http_ratelimit/entrypoint`;
    expect(await shop.call("GET", other)).toMatchObject({ status: 404, body: { errors: [{ code: 10003 }] } });
    expect(await shop.call("PUT", other, { rules: [] })).toMatchObject({
      status: 400,
      body: { errors: [{ code: 50002, message: "not entitled to use the phase http_ratelimit" }] },
    });
    expect((await callerOf(api)("GET", `/zones/${"0".repeat(32)}/rulesets`)).status).toBe(404);
  });
});
