import { join } from "node:path";
import { managedRulesets } from "edgeguard-local";
import { z } from "zod";
import { Journal } from "../../provider/survey/journal";
import type { Deployment, ListedZone, Zone } from "../../provider/survey/model";
import { callerOf } from "../local-api/client";
import { sampleZone } from "./sample";
import { Ground } from "./support";

/** What a survey makes of answers that the local API would never give. */

const BUDGET = ["--budget", "100", "--zones", "few.txt"] as const;
const ENTRY_POINT = "http_request_firewall_managed/entrypoint";

describe("a survey of zones whose entry point can't be read", () => {
  it("doesn't report the migration as ready, because rules in the entry point may block it", async () => {
    const ground = await Ground.with();
    ground.api.fault({ kind: "status", status: 400, match: { path: ENTRY_POINT }, times: 1_000 });
    const { code, stderr } = await ground.survey(...BUDGET);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("nothing blocks the migration")]);
    const { zones } = ground.result();
    for (const { deployments, migration } of zones) {
      expect(deployments).toMatchObject({ notReadable: "failed" });
      if (!("readiness" in migration)) expect(migration).toEqual(deployments);
      else expect(migration.readiness).toBe("retired");
    }
  });

  it.each([
    ["without an ID", { id: undefined }],
    ["with a rule whose expression isn't text", { rules: [{ id: "a", action: "block", expression: 5 }] }],
    ["that isn't an object", undefined],
  ])("continues if the response is an entry point %s", async (_, odd) => {
    const ground = await Ground.with();
    const { shop, blog } = ground.api.zones;
    const { code } = await ground.surveyChanged(
      (path, result) =>
        path.includes(shop) && path.endsWith(ENTRY_POINT)
          ? odd === undefined
            ? "none"
            : { ...z.looseObject({}).parse(result), ...odd }
          : undefined,
      ...BUDGET,
    );
    expect(code).toBe(0);
    expect(ground.zone(shop)).toMatchObject({
      deployments: { notReadable: "failed" },
      migration: { notReadable: "failed" },
      pageShield: { enabled: true },
    });
    expect(ground.zone(blog).deployments).toEqual(expect.any(Array));
  });
});

describe("a survey of a zone with an unusual response", () => {
  it("keeps a score that isn't a whole number", async () => {
    const ground = await Ground.with();
    const { code } = await ground.surveyChanged(
      (path, result) =>
        path.includes("page_shield/scripts")
          ? z
              .array(z.looseObject({}))
              .parse(result ?? [])
              .map((each) => ({ ...each, js_integrity_score: 10.5 }))
          : undefined,
      ...BUDGET,
    );
    expect(code).toBe(0);
    expect(JSON.stringify(ground.zone(ground.api.zones.shop).scripts)).toContain('"score":10.5');
  });

  it("reports the whole list as not readable if one policy, script or job can't be read", async () => {
    const odd = [
      ["policies", "page_shield/policies", { value: null }],
      ["scripts", "page_shield/scripts", { js_integrity_score: "3" }],
      ["jobs", "/logpush/jobs", { dataset: 5 }],
    ] as const;
    const ground = await Ground.with();
    await ground.survey(...BUDGET, "--out", "old");
    const { code } = await ground.surveyChanged(
      (url, result) => {
        const [, , members] = odd.find(([, path]) => url.includes(path)) ?? [];
        if (members === undefined) return undefined;
        const [first, ...rest] = z.array(z.looseObject({})).parse(result ?? []);
        return first && [{ ...first, ...members }, ...rest];
      },
      ...BUDGET,
    );
    expect(code).toBe(0);
    const zone = ground.zone(ground.api.zones.shop);
    for (const [part] of odd) expect(zone[part]).toMatchObject({ notReadable: "failed" });
    const { stdout } = await ground.survey("diff", "old/survey.json", "survey/survey.json");
    expect(stdout).not.toMatch(/^(Better|Worse)/m);
    for (const [part] of odd)
      expect(stdout).toContain(`${part === "jobs" ? "Logpush jobs" : part}: readable -> not readable: `);
  });

  it("hides the values of query parameters in script URLs, and the whole query of page URLs", async () => {
    const ground = await Ground.with();
    const { shop } = ground.api.zones;
    const { code, stderr } = await ground.surveyChanged(
      (path, result) => {
        if (!path.includes("page_shield/scripts")) return undefined;
        const [first, ...rest] = z.array(z.looseObject({})).parse(result ?? []);
        const odd = {
          url: "https://cdn.evil.example/a.js?v=canary-1&access_token=canary-2&canary-3#canary-4",
          first_page_url: "https://shop.example/reset?token=canary-5#canary-6",
          js_integrity_score: 1,
        };
        return first && [{ ...first, ...odd }, ...rest];
      },
      ...BUDGET,
    );
    expect(code).toBe(0);
    const { scripts } = ground.zone(shop);
    expect("worst" in scripts && scripts.worst).toContainEqual(
      expect.objectContaining({
        url: "https://cdn.evil.example/a.js?v=…&access_token=…&…",
        firstPageUrl: "https://shop.example/reset",
      }),
    );
    for (const file of ["survey.json", "survey.csv", "survey.html"])
      expect(ground.read(`survey/${file}`)).not.toContain("canary");
    expect(stderr).not.toContain("canary");
  });

  it.each([
    ['http.host eq "shop.example"', 1],
    ['http.host eq "shop.example" and http.request.uri.path eq "/pay"', 0],
  ])("counts a malicious script as blocked by a policy for %s: %i", async (expression, maliciousBlocked) => {
    const ground = await Ground.with();
    const { shop } = ground.api.zones;
    const scripts = [{ url: "https://evil.example/x.js", host: "shop.example", js_integrity_score: 1 }];
    ground.api.detect(shop, { scripts }, "replace");
    await ground.surveyChanged(
      (path, result) =>
        path.endsWith(`${shop}/page_shield/policies`)
          ? z
              .array(z.looseObject({}))
              .parse(result)
              .slice(0, 1)
              .map((each) => ({
                ...each,
                action: "allow",
                enabled: true,
                expression,
                value: "script-src 'self'",
              }))
          : undefined,
      ...BUDGET,
    );
    expect(ground.zone(shop).scripts).toMatchObject({ malicious: 1, maliciousBlocked });
  });

  it("records a part of an account with an invalid value as unreadable", async () => {
    const facts = sampleZone(2);
    const [managed] = z.array(z.custom<Deployment>()).parse(facts.deployments);
    const deployments = [managed, managed].flatMap((each) =>
      each && "name" in each.effect ? [{ ...each, effect: { ...each.effect, versionsBehind: 0.5 } }] : [],
    );
    const account = { id: "a", zones: 1, rulesets: [], deployments, jobs: [], namespaces: [] };
    const { journal, resumed } = await journaled((writing) => writing.addAccount(account));
    const read = { ...account, deployments: { notReadable: "failed", what: expect.any(String) as string } };
    expect([journal, resumed].map(({ accounts }) => accounts.get("a"))).toEqual([read, read]);
  });

  it("records a part with an invalid value as unreadable, and keeps the rest of the zone", async () => {
    const facts = sampleZone(2);
    const scripts = {
      seen: 1.5,
      malicious: 0,
      suspicious: 0,
      maliciousBlocked: 0,
      notScored: 0,
      unapproved: null,
      onPaymentPages: 0,
      worst: [],
    };
    const { zones } = await journaled(async (writing) => {
      await writing.begin({ zones: [listedOf(facts)], accounts: [] });
      await writing.addZone({ ...facts, scripts });
    });
    expect(zones).toMatchObject([{ scripts: { notReadable: "failed" }, policies: facts.policies }]);
  });
});

/** A journal after the writes, the same journal as a resumed survey reads it, and the zones that it reads. */
async function journaled(write: (journal: Journal) => Promise<void>) {
  const { cwd } = await Ground.with();
  const path = join(cwd, "journal.jsonl");
  const beginning = { tool: "t", options: "o" };
  const journal = await Journal.create(path, { ...beginning, at: "2026-01-01" });
  await write(journal);
  await journal.close();
  const resumed = await Journal.resume(path, beginning);
  const zones: Zone[] = [];
  for await (const zone of resumed.zones()) zones.push(zone);
  await resumed.close();
  return { journal, resumed, zones };
}

function listedOf({ id, name, plan, status, accountId }: Zone): ListedZone {
  return { id, name, plan, status, accountId };
}

const wire = z.looseObject({ rules: z.array(z.looseObject({ action: z.string() })) });
const OFF: readonly (readonly [string, (rules: z.infer<typeof wire>["rules"]) => object[]])[] = [
  [
    "an override turns off their rules",
    (rules) =>
      rules.map((each) =>
        each.action !== "execute"
          ? each
          : {
              ...each,
              enabled: true,
              action_parameters: {
                ...z.looseObject({}).parse(each["action_parameters"]),
                overrides: { enabled: false },
              },
            },
      ),
  ],
  [
    "an earlier rule skips them for all requests",
    (rules) => [
      {
        id: "a".repeat(32),
        ref: "x",
        version: "1",
        action: "skip",
        action_parameters: { ruleset: "current" },
        expression: "(true)",
        enabled: true,
      },
      ...rules,
    ],
  ],
];

const OWASP = managedRulesets.owasp;
const COMPARES_SCORE = "6179ae15870a4bb7b2d480d4843b323c";
const owaspRule = (given: { overrides?: object; expression?: string } = {}): object => ({
  id: "b".repeat(32),
  version: "1",
  action: "execute",
  expression: given.expression ?? "true",
  enabled: true,
  action_parameters: { id: OWASP, overrides: given.overrides ?? {} },
});
const skipRule = (expression: string, parameters: object): object => ({
  id: "a".repeat(32),
  version: "1",
  action: "skip",
  expression,
  enabled: true,
  action_parameters: parameters,
});
const DEAD: readonly (readonly [string, readonly object[]])[] = [
  [
    "the rule that compares the score is off",
    [owaspRule({ overrides: { rules: [{ id: COMPARES_SCORE, enabled: false }] } })],
  ],
  [
    "an exception for all requests skips the rule that compares the score",
    [skipRule("true", { rules: { [OWASP]: [COMPARES_SCORE] } }), owaspRule()],
  ],
  [
    "only the rule that compares the score is on",
    [
      owaspRule({
        overrides: {
          categories: [1, 2, 3, 4].map((level) => ({ category: `paranoia-level-${level}`, enabled: false })),
        },
      }),
    ],
  ],
  ["the expression matches no request", [owaspRule({ expression: "false" })]],
  ["the expression matches only another zone", [owaspRule({ expression: 'cf.zone.name eq "x.invalid"' })]],
  [
    "an exception matches every request to the zone",
    [skipRule('(cf.zone.name eq "shop.example") or not false', { ruleset: "current" }), owaspRule()],
  ],
];

describe("a survey of managed rulesets", () => {
  it.each(DEAD)("doesn't count a ruleset as protection if %s", async (_, rules) => {
    const ground = await Ground.with();
    const { shop } = ground.api.zones;
    const entry = { id: "e".repeat(32), version: "1", rules };
    const { code } = await ground.surveyChanged(
      (path) => (path.includes("/zones/") && path.endsWith(ENTRY_POINT) ? entry : undefined),
      ...BUDGET,
    );
    expect(code).toBe(0);
    const zone = ground.zone(shop);
    expect([zone.deployments, zone.owasp]).toMatchObject([[{ state: "off" }], { state: "off" }]);
    expect(zone.tasks.map(({ kind }) => kind)).toContain("noManagedRuleset");
    expect(ground.result().totals["managedRulesets"]).toMatchObject({ on: 0, perhaps: 0, none: 2 });
  });

  it("doesn't count a ruleset that doesn't exist as protection", async () => {
    const ground = await Ground.with();
    const rule = { ...owaspRule(), action_parameters: { id: "f".repeat(32) } };
    await ground.surveyChanged(
      (path) =>
        path.includes("/zones/") && path.endsWith(ENTRY_POINT)
          ? { id: "e".repeat(32), version: "1", rules: [rule] }
          : undefined,
      ...BUDGET,
    );
    const { zones, totals } = ground.result();
    expect(zones).toMatchObject([{ deployments: [{ state: "perhaps" }] }, {}]);
    expect(totals["managedRulesets"]).toMatchObject({ on: 0, notReadable: 2 });
    expect(totals["owasp"]).toMatchObject({ on: 0, notReadable: 2 });
  });

  it.each(OFF)("reports rulesets as off in every file and in the comparison if %s", async (_, change) => {
    const ground = await Ground.with();
    const { shop } = ground.api.zones;
    await ground.survey(...BUDGET, "--out", "old");
    const { code } = await ground.surveyChanged(
      (path, result) => {
        if (!path.endsWith(ENTRY_POINT)) return undefined;
        const found = wire.safeParse(result).data;
        return found === undefined ? undefined : { ...found, rules: change(found.rules) };
      },
      ...BUDGET,
    );
    expect(code).toBe(0);
    const zone = ground.zone(shop);
    expect(ground.result().totals["managedRulesets"]).toMatchObject({ on: 0 });
    expect(zone.owasp).toEqual({ state: "off" });
    expect(zone.tasks.map(({ kind }) => kind)).toContain("noManagedRuleset");
    expect(ground.row(shop)).toContain("Cloudflare Managed Ruleset (off)");
    const { stdout } = await ground.survey("diff", "old/survey.json", "survey/survey.json");
    expect(stdout).toMatch(/Worse[^]*shop\.example: Cloudflare Managed Ruleset: on -> off/);
  });
});

describe("a survey of an account that deploys managed rulesets itself", () => {
  const ENTERPRISE = 'cf.zone.plan eq "ENT"';
  it.each([
    ["enterprise", ENTERPRISE, "on"],
    ["enterprise", `http.host eq "only.this.example" and ${ENTERPRISE}`, "perhaps"],
    ["enterprise", `ends_with(cf.zone.name, ".de") and ${ENTERPRISE}`, "perhaps"],
    ["enterprise", "not an expression", "perhaps"],
    ["partners_pro", ENTERPRISE, "none"],
    ["lite", "true", "none"],
  ])(
    "reports protection for the plan %s and the expression %s as: %s",
    async (plan, expression, protection) => {
      const ground = await Ground.with();
      const entry = { id: "e".repeat(32), version: "1", rules: [owaspRule({ expression })] };
      await ground.surveyChanged(
        (path, found) => {
          if (path.endsWith(ENTRY_POINT))
            return path.includes("/accounts/") ? entry : { id: "f".repeat(32), version: "1", rules: [] };
          if (!path.includes("/zones?")) return undefined;
          const zones = z.array(z.looseObject({})).parse(found);
          return zones.map((each) => ({ ...each, plan: { legacy_id: plan } }));
        },
        ...BUDGET,
      );
      const { zones, totals } = ground.result();
      expect(totals["managedRulesets"]).toMatchObject({ [protection]: 2 });
      expect(totals["owasp"]).toMatchObject({ [protection === "none" ? "off" : protection]: 2 });
      for (const { tasks } of zones)
        expect(tasks.some(({ kind }) => kind === "noManagedRuleset")).toBe(protection !== "on");
      const [, row] = ground.read("survey/survey.csv").split("\n");
      expect(row?.includes("Cloudflare OWASP Core Ruleset (perhaps on)")).toBe(protection === "perhaps");
    },
  );

  it("shows the account's rulesets in the Enterprise zones that they apply to, without exceptions for other zones", async () => {
    const ground = await Ground.with({ zones: 1 });
    const { shop, blog } = ground.api.zones;
    const [managed] = z
      .looseObject({ result: z.array(z.looseObject({ id: z.string(), name: z.string() })) })
      .parse(
        (await callerOf(ground.api)("GET", `/accounts/${ground.api.accounts.main}/rulesets`)).body,
      ).result;
    const skip = (name: string) => ({
      id: name.padEnd(32, "0"),
      action: "skip",
      action_parameters: { ruleset: "current" },
      expression: `cf.zone.name eq "${name}.example" and http.request.uri.path eq "/health"`,
      description: name,
      enabled: true,
    });
    const only = 'cf.zone.name in {"shop.example" "free.example"} and cf.zone.plan eq "ENT"';
    const deploy = {
      id: "d".repeat(32),
      action: "execute",
      action_parameters: { id: managed?.id },
      expression: only,
      description: "everywhere",
      enabled: true,
    };
    const entry = { id: "e".repeat(32), version: "1", rules: [skip("shop"), skip("blog"), deploy] };
    const { code } = await ground.surveyChanged(
      (path, found) => {
        if (path.includes("/accounts/") && path.endsWith(ENTRY_POINT)) return entry;
        if (!path.includes("/zones?")) return undefined;
        const zones = z.array(z.looseObject({ id: z.string() })).parse(found);
        return zones.map((each) => ({
          ...each,
          plan: { legacy_id: each.id === blog ? "pro" : "enterprise" },
        }));
      },
      ...BUDGET,
    );
    expect(code).toBe(0);
    const [account] = ground.result().accounts;
    const deployment = { entryPointId: entry.id, effect: { name: managed?.name, versionsBehind: 0 } };
    expect(account?.deployments).toMatchObject([
      { ...deployment, exceptions: [{ description: "shop" }, { description: "blog" }] },
    ]);
    expect(ground.zone(shop).accountDeployments).toMatchObject([
      { ...deployment, exceptions: [{ description: "shop", skips: "all" }] },
    ]);
    for (const { name, accountDeployments } of ground.result().zones)
      expect(accountDeployments).toHaveLength(name === "shop.example" || name === "free.example" ? 1 : 0);
  });
});

describe("a survey that couldn't read anything in a zone", () => {
  it("reports the zone's tasks and unmanaged objects as not known, instead of none", async () => {
    const ground = await Ground.with();
    ground.write("state.json", JSON.stringify({ version: 3, deployment: { resources: [] } }));
    for (const path of ["page_shield", "logpush/jobs", ENTRY_POINT])
      ground.api.fault({ kind: "status", status: 400, match: { path }, times: 1_000 });
    await ground.survey(...BUDGET, "--stack", "state.json");
    const unread = ["pageShield", "policies", "deployments", "responseDeployments", "jobs"];
    expect(ground.zone(ground.api.zones.blog).unmanaged).toEqual({ objects: [], unread, command: "" });
    expect(ground.row(ground.api.zones.blog)).toMatch(/,not known,not known,not known\r?$/);
  });
});

describe("a survey of zones by name", () => {
  it("rejects a name that exists in two accounts, and lists the IDs to use instead", async () => {
    const ground = await Ground.with();
    const other = { id: "f".repeat(32), account: { id: "b".repeat(32), name: "other" } };
    const twice = z.array(z.looseObject({ name: z.string() }));
    for (const names of ["shop.example", "shop.example\nblog.example"]) {
      ground.write("names.txt", names);
      const { code, stderr } = await ground.surveyChanged(
        (path, found) =>
          path.includes("/zones?")
            ? twice
                .parse(found)
                .flatMap((each) => (each.name === "shop.example" ? [each, { ...each, ...other }] : [each]))
            : undefined,
        ...BUDGET,
        ...["--zones", "names.txt", "--out", `out-${names.length}`],
      );
      expect(stderr).toContain('2 zones are named "shop.example"');
      expect(stderr).toContain(`${other.id} (account ${other.account.id}). Write the ID instead of the name`);
      expect(code).toBe(1);
    }
  });
});
