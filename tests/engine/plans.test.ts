import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LOCAL_ENGINE } from "edgeguard-local";
import { apiPerTest } from "../support/bench";
import { UNKNOWN } from "../../provider/runtime/engine-values";
import { summaryOf, type Project, type RunResult } from "../support/engine";
import { sent } from "../support/operation";
import { surfaces, type Surface } from "../support/surfaces";

const TOKEN = "canary-token-5f2e9a7c1b";
const SECRET = "canary-secret-88d1c0";

/** Every resource, with arguments that are unknown as long as the namespace GATE isn't created. */
const EVERYTHING = `
import * as pulumi from "@pulumi/pulumi";
import * as edgeguard from "pulumi-edgeguard";
const { accountId, emptyZone, blog, shop } = new pulumi.Config().requireObject<Record<string, string>>("ids");
const secret = new pulumi.Config().requireSecret("secret");
const gate = new edgeguard.KvNamespace("GATE", { accountId, title: "GATE" });
const late = <T>(value: pulumi.Input<T>) => gate.id.apply(() => value);
const zoneId = late(blog);

const settings = new edgeguard.PageShieldSettings("settings", { zoneId, enabled: true });
const policy = new edgeguard.PageShieldPolicy("policy", {
  zoneId, description: "checkout", action: late("allow"), expression: "true", value: "script-src 'self'",
});
const ruleset = { name: "Cloudflare OWASP Core Ruleset" };
const owasp = new edgeguard.ManagedRulesetOverride("owasp", {
  zoneId, accountId, ruleset, owasp: { paranoiaLevel: 2, scoreThreshold: "high", action: "log" }, adopt: "takeOver",
});
const migration = new edgeguard.WafMigration("old", { zoneId: late(shop), target: "assessed", plan: late("enterprise") });
const job = new edgeguard.LogpushJob("job", {
  zoneId: emptyZone, dataset: "http_requests", name: late("errors"), outputOptions: { fieldNames: "all" },
  destinationConf: pulumi.interpolate\`https://logs.shop.example/?header_Authorization=\${secret}\`,
});
const other = new edgeguard.LogpushJob("other", {
  zoneId: late(emptyZone), dataset: "http_requests", outputOptions: late({ fieldNames: "all" }),
  destinationConf: late(pulumi.interpolate\`https://more.shop.example/?header_Authorization=\${secret}\`),
});
const second = new edgeguard.KvNamespace("second", { accountId: late(accountId), title: late("second") });
const namespaceId = second.id;
const inline = new edgeguard.KvEntries("inline", { accountId, namespaceId, entries: late({ a: secret, b: "1" }) });
const file = new edgeguard.KvEntries("file", { accountId: late(accountId), namespaceId, file: late("entries.json") });

export const values = [settings.updatedAt, policy.impact, owasp.rulesetVersion, migration.assessment, job.allFields, other.id];
export const keys = [second.fullTitle, inline.keys, file.bytes];
`;

const POLICY = `
import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy } from "pulumi-edgeguard";
const { blog: zoneId } = new pulumi.Config().requireObject<Record<string, string>>("ids");
const policy = new PageShieldPolicy("policy", {
  zoneId, description: "checkout", action: "allow", expression: "true", value: "script-src 'self'",
});
export const impact = policy.impact;
`;

const onCli = surfaces().filter(({ engine }) => engine !== LOCAL_ENGINE);
if (onCli.length === 0) test.todo("saved plans: skipped, because no Pulumi CLI is on PATH");
else describe.each(onCli)("a plan saved by $name", playPlans);

function playPlans(surface: Surface): void {
  const api = apiPerTest({ credentials: [{ token: TOKEN }] });
  let project: Project;

  beforeEach(async () => {
    project = surface.project("plans");
    project.env = { EDGEGUARD_DEBUG: "1" };
    const { empty: emptyZone, blog, shop } = api.zones;
    const ids = JSON.stringify({ accountId: api.accounts.main, emptyZone, blog, shop });
    await project.init({ ids, "edgeguard:baseUrl": api.url, "edgeguard:apiToken": TOKEN });
    await project.ok("config", "set", "--secret", "secret", SECRET);
    writeFileSync(join(project.dir, "entries.json"), '[{ "key": "c", "value": "in a file" }]');
  });

  afterEach(() => project.remove());

  const save = async (env: Record<string, string> = {}): Promise<string> => {
    project.env = { EDGEGUARD_DEBUG: "1", ...env };
    const { text } = await project.ok("preview", "--diff", "--save-plan", "plan.json");
    project.env = { EDGEGUARD_DEBUG: "1" };
    return text;
  };
  const apply = (): Promise<RunResult> => project.run("up", "--yes", "--diff", "--plan", "plan.json");
  const applied = async (): Promise<RunResult> => {
    const result = await apply();
    if (result.code !== 0) throw new Error(result.text);
    return result;
  };
  const writes = (): string[] => sent(api, "POST", "PUT", "PATCH", "DELETE");

  it("applies a saved plan in which every resource had unknown arguments", async () => {
    const shown: string[] = [];
    const update = async (program: string): Promise<Record<string, number>> => {
      project.write(program);
      // Without it, the plan would pin that the preview couldn't look, because of unknown arguments.
      shown.push(
        await save({ EDGEGUARD_SAVED_PLAN: "true" }),
        readFileSync(join(project.dir, "plan.json"), "utf8"),
      );
      const { text } = await applied();
      shown.push(text);
      await project.ok("preview", "--expect-no-changes");
      return summaryOf(text.slice(text.indexOf("Updating (dev)")));
    };
    expect(await update(EVERYTHING.replaceAll("GATE", "first"))).toEqual({ create: 11 });
    // The same arguments of existing resources, of which one changes.
    const edited = EVERYTHING.replaceAll("GATE", "third")
      .replace("zoneId, enabled: true", "zoneId: blog, enabled: late(true)")
      .replace("'self'", "'self' cdn.shop.example");
    expect(await update(edited)).toMatchObject({
      create: 1,
      update: 1,
      delete: 1,
    });

    const state = JSON.stringify(await project.export());
    expect(state).not.toContain(UNKNOWN);
    for (const text of [...shown, state, project.stateText()])
      for (const canary of [TOKEN, SECRET]) expect(text).not.toContain(canary);
  });

  it("a saved plan pins what its preview found, unless EDGEGUARD_SAVED_PLAN is true", async () => {
    project.write(POLICY);
    expect(await save()).toContain("would block 3 of the 4 active scripts");
    api.detect(api.zones.blog, { scripts: [{ url: "https://new.example/x.js" }] });
    const pinned = await apply();
    expect(pinned.code).not.toBe(0);
    expect(pinned.text).toMatch(/violates plan: properties changed: [^\n]*impact/);

    expect(await save({ EDGEGUARD_SAVED_PLAN: "true" })).toContain("would block 4 of the 5 active scripts");
    api.detect(api.zones.blog, { scripts: [{ url: "https://newer.example/y.js" }] });
    expect(writes()).toEqual([]);
    await applied();
    expect(JSON.stringify(await project.export())).toMatch(/"scripts":\{"count":5/);
  });

  it("refuses to apply a saved plan to an edited program, before anything is sent", async () => {
    project.write(POLICY);
    await save({ EDGEGUARD_SAVED_PLAN: "true" });
    project.write(POLICY.replace('"allow"', '"log"'));
    const refused = await apply();
    expect(refused.code).not.toBe(0);
    expect(refused.text).toContain("violates plan: properties changed: ++action");
    expect(writes()).toEqual([]);
  });

  const update = surface.by === "SDK" ? "refuses an update, and sends nothing" : "has no effect on an update";
  it(`EDGEGUARD_SAVED_PLAN ${update}`, async () => {
    project.write(POLICY);
    project.env = { EDGEGUARD_SAVED_PLAN: "true" };
    const { code, text } = await project.run("up", "--yes");
    expect(code === 0).toBe(surface.by === "classes");
    if (surface.by === "SDK") {
      expect(text).toMatch(/unexpected unknown property value for \\?"impact/); // The engine's.
      expect(writes()).toEqual([]);
    }
    expect(JSON.stringify(await project.export())).not.toContain(UNKNOWN);
    project.env = { EDGEGUARD_SAVED_PLAN: "yes" };
    expect((await project.run("preview")).text).toContain(
      'edgeguard: EDGEGUARD_SAVED_PLAN is "yes" but must be true or false.',
    );
  });
}
