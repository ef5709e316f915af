import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { z } from "zod";
import { describeOnCli, engines, Project, REPOSITORY } from "../support/engine";
import { isWrite } from "../support/is-write";

const SCRIPTS = join(REPOSITORY, "examples/pipelines/ci");
const EDGEGUARD = `${process.execPath} ${join(REPOSITORY, "provider/dist/cli/main.js")}`;
const TOKEN = "local-token";

/** A rule of the Cloudflare Managed Ruleset. */
const RULE = "23ee7cebe6e8443e99ecf932ab579455";

const PROGRAM = `
import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";
const zoneId = new pulumi.Config().require("zoneId");
new PageShieldSettings("settings", { zoneId, enabled: true });
new PageShieldPolicy("baseline", {
  zoneId, description: "baseline", action: "log", expression: "true", value: "script-src 'self'",
});
`;

const MANAGED_RULE = `
import * as pulumi from "@pulumi/pulumi";
import { ManagedRulesetOverride } from "pulumi-edgeguard";
const zoneId = new pulumi.Config().require("zoneId");
const ruleset = "Cloudflare Managed Ruleset";
new ManagedRulesetOverride("waf", { zoneId, ruleset, rules: { "${RULE}": { action: "log" } } });
`;

const withDigest = z.object({ digest: z.string() });

describe("the pipeline script", () => {
  let api: LocalApi;
  beforeAll(async () => {
    api = await startLocalApi();
  });
  afterAll(() => api.close());

  for (const engine of engines()) {
    it(`previews, reports, applies, checks and finds drift, on ${engine.name}`, async () => {
      const zone = api.zones[engine.command[0] === "pulumi" ? "blog" : "empty"];
      const project = new Project(engine, "pipeline");
      try {
        project.write(PROGRAM);
        await project.init({ zoneId: zone });
        const out = join(project.dir, "out");
        const settings = `${api.url}/zones/${zone}/page_shield`;
        const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" };
        const dashboard = async (enabled: boolean): Promise<void> => {
          const put = await fetch(settings, { method: "PUT", headers, body: JSON.stringify({ enabled }) });
          expect(put.status).toBe(200);
        };
        const run = (verb: string, more: NodeJS.ProcessEnv = {}): Promise<Ended> =>
          script(verb, {
            cwd: project.dir,
            env: {
              ...project.environment(),
              PULUMI: engine.command.join(" "),
              EDGEGUARD,
              CLOUDFLARE_API_TOKEN: TOKEN,
              EDGEGUARD_BASE_URL: api.url,
              ...more,
            },
          });

        expect(await run("apply")).toMatchObject({
          code: 0,
          stdout: expect.stringContaining("+ PageShieldPolicy <b>baseline</b>") as string,
        });
        expect(readFileSync(join(out, "report.md"), "utf8")).toMatch(
          /^<!-- edgeguard report pipeline\/dev -->\n/,
        );
        expect(await run("drift")).toEqual({
          code: 0,
          stdout: expect.stringContaining(
            "**Nothing that the program sets was changed manually: 2 resources match the state.**",
          ) as string,
          stderr: "",
        });

        await dashboard(false);
        expect(await run("drift")).toMatchObject({
          code: 3,
          stdout: expect.stringContaining("| `enabled` | `true` | `false` |") as string,
          stderr: "",
        });
        expect(await run("drift", { EDGEGUARD_BASE_URL: "http://127.0.0.1:9" })).toMatchObject({
          code: 1,
          stdout: expect.stringContaining("### The preview failed") as string,
          stderr: expect.stringContaining("the preview failed; the report says why") as string,
        });

        project.write(PROGRAM.replace("enabled: true", "enabled: false"));
        // Dangers are applied only after they're accepted.
        await dashboard(true);
        expect(await run("plan")).toMatchObject({
          code: 0,
          stdout: expect.stringContaining("**unprotect** `PageShieldSettings settings`") as string,
          stderr: "",
        });
        const { digest } = withDigest.parse(JSON.parse(readFileSync(join(out, "report.json"), "utf8")));
        expect(await run("apply", { ACCEPT: "0".repeat(64) })).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(
            new RegExp(
              `of the kinds in --fail-on: unprotect .*--accept 0{64}: no danger.* --accept ${digest}\nnothing was applied\n$`,
            ),
          ) as string,
        });
        expect(await (await fetch(settings, { headers })).json()).toMatchObject({
          result: { enabled: true },
        });
        expect(await run("apply", { ACCEPT: `${"0".repeat(64)} ${digest}` })).toMatchObject({
          code: 0,
          stdout: expect.stringContaining("**unprotect (accepted)**") as string,
        });
        expect(await (await fetch(settings, { headers })).json()).toMatchObject({
          result: { enabled: false },
        });
      } finally {
        project.remove();
      }
    });
  }

  it("prints its usage if an argument or variable is missing", async () => {
    const dir = mkdtempSync(join(tmpdir(), "edgeguard-pipeline-"));
    const { PATH = "" } = process.env;
    expect(await script("deploy", { cwd: dir, env: { PATH, PULUMI_STACK: "dev" } })).toEqual({
      code: 2,
      stdout: "",
      stderr: "usage: pipeline.sh plan|preview|apply|drift\n",
    });
    expect((await script("apply", { cwd: dir, env: { PATH } })).stderr).toContain(
      "set PULUMI_STACK to the name of the stack",
    );
    rmSync(dir, { recursive: true });
  });
});

const SCRIPT = { url: "https://new.example/x.js" };
const PASSPHRASE = "canary-passphrase-3c90";

describeOnCli("the pipeline script with a saved plan", (cli) => {
  let api: LocalApi;
  let project: Project;

  beforeEach(async () => {
    api = await startLocalApi();
    project = new Project(cli, "pipeline");
    project.write(PROGRAM.replace('"log"', '"allow"'));
    await project.init({ zoneId: api.zones.blog });
    git("init", "--quiet");
    commit();
  });

  afterEach(async () => {
    await api.close();
    project.remove();
  });

  const git = (...args: readonly string[]): void => {
    const author = ["-c", "user.name=dev", "-c", "user.email=dev@example.com"];
    execFileSync("git", [...author, ...args], { cwd: project.dir });
  };
  const commit = (): void => git("commit", "--quiet", "--allow-empty", "--message", "change");
  const writes = (): number => api.requests.filter(isWrite).length;
  const run = (verb: string, more: NodeJS.ProcessEnv = {}): Promise<Ended> =>
    script(verb, {
      cwd: project.dir,
      env: {
        ...project.environment(),
        EDGEGUARD,
        CLOUDFLARE_API_TOKEN: TOKEN,
        EDGEGUARD_BASE_URL: api.url,
        FAIL_ON: "irreversible,unprotect,removes", // The policies here are new, and block what pages load.
        PLAN: "out/plan.enc",
        PLAN_PASSPHRASE: PASSPHRASE,
        ...more,
      },
    });
  const refused = async (reason: RegExp, more: NodeJS.ProcessEnv = {}): Promise<void> => {
    expect(await run("apply", more)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`${reason.source}[^]*nothing was applied\n$`)) as string,
    });
    expect(writes()).toBe(0);
  };

  it("applies exactly what was planned, even if visitors load other scripts in the meantime", async () => {
    const planned = await run("plan");
    expect(planned).toMatchObject({ code: 0, stderr: "" });
    expect(planned.stdout).toContain("Would block 3 of the 4 active scripts");
    api.detect(api.zones.blog, { scripts: [SCRIPT] });

    const applied = await run("apply");
    expect(applied).toMatchObject({ code: 0 });
    expect(applied.stdout).toContain("Would block 4 of the 5 active scripts");
    expect(writes()).toBe(2);
    const artifact = readFileSync(join(project.dir, "out/plan.enc"), "latin1");
    expect(artifact.startsWith("Salted__")).toBe(true);
    for (const text of [artifact, planned.stdout, planned.stderr, applied.stdout, applied.stderr])
      for (const canary of [TOKEN, PASSPHRASE]) expect(text).not.toContain(canary);
    expect(artifact).not.toContain(api.zones.blog);
  });

  it("counts the requests that a tightening would have stopped again before it's applied", async () => {
    const happened = (times: number): void => {
      api.addFirewallEvents(
        api.zones.blog,
        Array.from({ length: times }, () => ({ ruleId: RULE, action: "log" })),
      );
    };
    project.write(MANAGED_RULE);
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN, EDGEGUARD_BASE_URL: api.url };
    await project.ok("config", "set", "edgeguard:accountId", api.accounts.main);
    await project.ok("up", "--yes", "--skip-preview");
    project.write(MANAGED_RULE.replace('"log"', '"block"'));
    happened(3);
    git("add", "--all");
    commit();
    api.clearRequests();

    expect(await run("plan", { FAIL_ON: "traffic=2" })).toMatchObject({
      stdout: expect.stringContaining(
        "would have stopped up to 3 events of the last 24 h that passed",
      ) as string,
    });
    expect(await run("plan", { FAIL_ON: "traffic=5" })).toMatchObject({ code: 0, stderr: "" });
    happened(4);
    await refused(/a traffic=<n> so high allows them, and --accept doesn't/, { FAIL_ON: "traffic=5" });
    expect(await run("apply", { FAIL_ON: "traffic=7" })).toMatchObject({ code: 0 });
    expect(writes()).toBe(1);
  });

  it("refuses to apply the plan with another commit or passphrase, or after a zone or the program changed", async () => {
    expect(await run("plan")).toMatchObject({ code: 0 });
    await refused(/can't open the plan in out\/plan.enc/, { PLAN_PASSPHRASE: "another one" });
    await refused(/can't open the plan in out\/none.enc/, { PLAN: "out/none.enc" });
    commit();
    await refused(/the saved plan is for commit [0-9a-f]{40}, and this is [0-9a-f]{40}/);
    git("reset", "--quiet", "--soft", "HEAD~1");
    project.write(PROGRAM.replace('"log"', '"allow"').replace("baseline", "other"));
    await refused(/a zone or the program has changed/);
    project.write(PROGRAM.replace('"log"', '"allow"'));

    const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" };
    const body = JSON.stringify({ enabled: true });
    const settings = `${api.url}/zones/${api.zones.blog}/page_shield`;
    expect((await fetch(settings, { method: "PUT", headers, body })).status).toBe(200);
    api.clearRequests();
    await refused(/a zone or the program has changed/);
  });

  it("refuses to save a plan without a passphrase, or to apply one after another update", async () => {
    expect(await run("plan", { PLAN_PASSPHRASE: "" })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("set PLAN_PASSPHRASE to the passphrase of the saved plan") as string,
    });
    expect(await run("plan")).toMatchObject({ code: 0 });
    await project.ok("config", "set", "edgeguard:baseUrl", api.url);
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
    await project.ok("up", "--yes", "--skip-preview");
    api.clearRequests();
    await refused(/the stack's state has changed since the plan was saved/);
  });
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the script from a copy, as in a project. */
function script(verb: string, at: { cwd: string; env: NodeJS.ProcessEnv }): Promise<Ended> {
  cpSync(SCRIPTS, join(at.cwd, "ci"), { recursive: true });
  return new Promise((resolve) => {
    execFile("ci/pipeline.sh", [verb], at, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
    );
  });
}
