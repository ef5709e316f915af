import { managedRulesets, OWASP_SCORE_RULE, startLocalApi } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { z } from "zod";
import { callerOf, controlOf, each, result, start } from "./client";
import { type Rule, rulesOf } from "./rulesets-client";

describe("the API for managed rulesets", () => {
  const api = apiPerFile();
  const call = callerOf(api);
  const root = `/accounts/${api.accounts.main}/rulesets`;

  afterEach(() => api.reset());

  const read = async (id: string) => rulesOf(await call("GET", `${root}/${id}`));
  const publish = (id: string, body: unknown) => controlOf(api)("POST", `/rulesets/${id}/versions`, body);

  test("lists managed rulesets without rules, with Cloudflare's IDs", async () => {
    const list = await call("GET", root);
    expect(each(list, "id")).toEqual(Object.values(managedRulesets));
    expect(each(list, "rules")).toEqual(Object.values(managedRulesets).map(() => undefined));
    expect(list.body).toMatchObject({
      result: [
        {
          name: "Cloudflare Managed Ruleset",
          kind: "managed",
          source: "firewall_managed",
          phase: "http_request_firewall_managed",
          version: "88",
        },
        { name: "Cloudflare OWASP Core Ruleset", version: "37" },
        {},
        {},
        { name: "Cloudflare Sensitive Data Detection", phase: "http_response_firewall_managed" },
      ],
    });
  });

  test("lists managed rulesets in pages with a cursor", async () => {
    const seen: unknown[] = [];
    let cursor: string | undefined = "";
    for (let page = 0; page < 9 && cursor !== undefined; page++) {
      const response = await call("GET", `${root}?per_page=3${cursor === "" ? "" : `&cursor=${cursor}`}`);
      seen.push(each(response, "id").length, ...each(response, "id"));
      cursor = z
        .looseObject({ result_info: z.object({ cursors: z.object({ after: z.string() }) }).optional() })
        .parse(response.body).result_info?.cursors.after;
    }
    const [a, b, c, d, e] = Object.values(managedRulesets);
    expect(seen).toEqual([3, a, b, c, 2, d, e]);
    expect((await call("GET", `${root}?cursor=bm9uZQ`)).status).toBe(400);
    expect((await call("GET", `${root}?per_page=51`)).status).toBe(400);
  });

  test("returns rules with several tags, rules that are off, and rules with fewer actions in the Cloudflare Managed Ruleset", async () => {
    const rules = await read(managedRulesets.managed);
    expect(rules.length).toBeGreaterThanOrEqual(120);
    expect(unique(rules.map(({ id }) => id))).toBe(rules.length);
    expect(unique(rules.map(({ ref }) => ref))).toBe(rules.length);
    expect(unique(rules.flatMap(({ categories }) => categories))).toBeGreaterThan(20);
    expect(rules.every(({ categories }) => categories.length > 1)).toBe(true);
    expect(unique(rules.map(({ action }) => action))).toBe(3);
    expect(rules.filter(({ enabled }) => !enabled).length).toBeGreaterThan(20);
    expect(unique(rules.map((rule) => String(rule["allowed_override_actions"])))).toBe(2);
  });

  test("returns the same managed rulesets at every start", async () => {
    const other = await start();
    const theirs = await callerOf(other)("GET", `${root}/${managedRulesets.managed}`);
    expect(rulesOf(theirs)).toEqual(await read(managedRulesets.managed));
  });

  test("returns one paranoia level for each scoring rule of the OWASP Core Ruleset, whose last rule acts on the score", async () => {
    const rules = await read(managedRulesets.owasp);
    const scoring = rules.slice(0, -1);
    const levels = scoring.map(({ categories }) =>
      categories.filter((tag) => tag.startsWith("paranoia-level-")),
    );
    expect(scoring.length).toBeGreaterThanOrEqual(100);
    expect(levels.every((tags) => tags.length === 1)).toBe(true);
    expect([...new Set(levels.flat())].sort()).toEqual(
      [1, 2, 3, 4].map((level) => `paranoia-level-${level}`),
    );
    expect(scoring.every(({ action, enabled }) => action === "score" && enabled)).toBe(true);
    expect(rules.at(-1)).toMatchObject({ id: OWASP_SCORE_RULE, action: "block", score_threshold: 40 });
  });

  test('returns a rule\'s expression in the "openapi" dialect, but not in the "documented" one', async () => {
    const documented = await startLocalApi({ dialect: "documented" });
    const [rule] = rulesOf(await callerOf(documented)("GET", `${root}/${managedRulesets.free}`));
    expect(rule).not.toHaveProperty("expression");
    expect((await read(managedRulesets.free))[0]).toHaveProperty("expression");
    await documented.close();
  });

  test("returns an older version of a managed ruleset", async () => {
    const path = `${root}/${managedRulesets.managed}/versions`;
    expect(each(await call("GET", path), "version")).toEqual(["87", "88"]);
    const [before, after] = [
      rulesOf(await call("GET", `${path}/87`)),
      rulesOf(await call("GET", `${path}/88`)),
    ];
    expect([newIn(after, before), newIn(before, after)]).toMatchObject([[{}], [{}]]);
    expect((await call("GET", `${path}/86`)).status).toBe(404);
  });

  test("returns other rules once a version is published, but the rule that acts on the score stays last", async () => {
    const before = await read(managedRulesets.owasp);
    const [gone, changed] = before;
    const published = await publish(managedRulesets.owasp, {
      add: [{ description: "950100: new", categories: ["paranoia-level-1"] }],
      remove: [gone?.id],
      change: [{ id: changed?.id, categories: ["protocol", "paranoia-level-2"] }],
    });
    expect(published).toMatchObject({ status: 200, body: { version: "38" } });

    const after = await read(managedRulesets.owasp);
    expect(newIn(before, after)).toEqual([gone]);
    expect(newIn(after, before)).toMatchObject([
      { description: "950100: new", action: "score", categories: ["paranoia-level-1"], enabled: true },
    ]);
    expect(after[0]).toMatchObject({
      id: changed?.id,
      version: "2",
      categories: ["protocol", "paranoia-level-2"],
    });
    expect(after.at(-1)).toEqual(before.at(-1));
  });

  test("keeps a published version in a snapshot, and removes it in a reset", async () => {
    const version = async () => result(await call("GET", `${root}/${managedRulesets.free}`))["version"];
    await publish(managedRulesets.free, { add: [{ description: "new", categories: ["log4j"] }] });
    const snapshot = api.snapshot();
    api.reset();
    expect(await version()).toBe("21");
    api.restore(snapshot);
    expect(await version()).toBe("22");
  });

  test('returns all managed rulesets at once in the "documented" dialect, which has no pages', async () => {
    const documented = await startLocalApi({ dialect: "documented" });
    const list = await callerOf(documented)("GET", `${root}?per_page=1`);
    expect(each(list, "id")).toEqual(Object.values(managedRulesets));
    expect(list.body).not.toHaveProperty("result_info");
    await documented.close();
  });

  test.each([
    ["an unknown ruleset", "0".repeat(32), {}, 404],
    ["an unknown rule", managedRulesets.free, { remove: ["0".repeat(32)] }, 404],
    [
      "a rule that already exists",
      managedRulesets.owasp,
      { add: [{ id: OWASP_SCORE_RULE, description: "x" }] },
      400,
    ],
    [
      "a property that rules don't have",
      managedRulesets.free,
      { add: [{ description: "x", tags: [] }] },
      400,
    ],
  ])("refuses to publish %s", async (_, id, body, status) => {
    expect((await publish(id, body)).status).toBe(status);
  });

  test("rejects writes to managed rulesets, unknown IDs and unknown paths", async () => {
    const owasp = `${root}/${managedRulesets.owasp}`;
    expect(await call("GET", `${root}/${"0".repeat(32)}`)).toMatchObject({ status: 404 });
    expect(await call("GET", `${root}/owasp`)).toMatchObject({
      status: 400,
      body: { errors: [{ code: 7003 }, {}] },
    });
    expect(await call("PUT", owasp, { rules: [] })).toMatchObject({ status: 405 });
    expect(await call("DELETE", owasp)).toMatchObject({ status: 405 });
  });
});

function unique(values: readonly unknown[]): number {
  return new Set(values).size;
}

function newIn(rules: readonly Rule[], others: readonly Rule[]): Rule[] {
  return rules.filter(({ id }) => !others.some((other) => other.id === id));
}
