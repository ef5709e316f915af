import { join } from "node:path";
import { z } from "zod";
import { Journal } from "../../provider/survey/journal";
import type { ListedZone, Zone } from "../../provider/survey/model";
import { callerOf } from "../local-api/client";
import { sampleZone } from "./sample";
import { Ground } from "./support";

/** What a survey makes of answers that the local API would never give. */

const BUDGET = ["--budget", "100", "--zones", "few.txt"] as const;
const ENTRY_POINT = "http_request_firewall_managed/entrypoint";

describe("a survey of zones whose entry point can't be read", () => {
  it("doesn't report a migration as ready, because the entry point may contain rules that block it", async () => {
    const ground = await Ground.with();
    ground.api.fault({ kind: "status", status: 400, match: { path: ENTRY_POINT }, times: 1_000 });
    const { code, stderr } = await ground.survey(...BUDGET);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("nothing blocks the zone")]);
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
  ])("continues after an entry point %s", async (_, odd) => {
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

  it("journals a part with an invalid value as unreadable, and keeps the rest of the zone", async () => {
    const ground = await Ground.with();
    const facts = sampleZone(2);
    const path = join(ground.cwd, "journal.jsonl");
    const beginning = { tool: "t", options: "o" };
    const journal = await Journal.create(path, { ...beginning, at: "2026-01-01" }, (text) => text);
    await journal.begin({ zones: [listedOf(facts)], accounts: [] });
    const scripts = { seen: 1.5, malicious: 0, notScored: 0, unapproved: null, onPaymentPages: 0, worst: [] };
    await journal.addZone({ ...facts, scripts });
    await journal.close();
    const resumed = await Journal.resume(path, beginning, (text) => text);
    const zones: Zone[] = [];
    for await (const zone of resumed.zones()) zones.push(zone);
    await resumed.close();
    expect(zones).toMatchObject([{ scripts: { notReadable: "failed" }, policies: facts.policies }]);
  });
});

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

describe("a survey of managed rulesets", () => {
  it.each(OFF)("every file and a comparison report rulesets as off if %s", async (_, change) => {
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
    const row = ground
      .read("survey/survey.csv")
      .split("\n")
      .find((line) => line.startsWith(shop));
    expect(row).toContain("Cloudflare Managed Ruleset (off)");
    const { stdout } = await ground.survey("diff", "old/survey.json", "survey/survey.json");
    expect(stdout).toMatch(/Worse[^]*shop\.example: Cloudflare Managed Ruleset: on -> off/);
  });
});

describe("a survey of an account that deploys managed rulesets itself", () => {
  it("shows them in its Enterprise zones that the expression covers, without exceptions for other zones", async () => {
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

describe("a survey of zones by name", () => {
  it("refuses a name that two accounts have, and says which IDs to write", async () => {
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
