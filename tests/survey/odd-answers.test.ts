import { join } from "node:path";
import { z } from "zod";
import { Journal } from "../../provider/survey/journal";
import type { ListedZone, Zone } from "../../provider/survey/model";
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
