import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { z } from "zod";
import { engines, Project, REPOSITORY } from "../support/engine";

const SCRIPTS = join(REPOSITORY, "examples/pipelines/ci");
const EDGEGUARD = `${process.execPath} ${join(REPOSITORY, "provider/dist/cli/main.js")}`;
const TOKEN = "local-token";

const PROGRAM = `
import * as pulumi from "@pulumi/pulumi";
import { PageShieldPolicy, PageShieldSettings } from "pulumi-edgeguard";
const zoneId = new pulumi.Config().require("zoneId");
new PageShieldSettings("settings", { zoneId, enabled: true });
new PageShieldPolicy("baseline", {
  zoneId, description: "baseline", action: "log", expression: "true", value: "script-src 'self'",
});
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
        expect(await run("drift")).toEqual({ code: 0, stdout: "no drift\n", stderr: "" });

        await dashboard(false);
        expect(await run("drift")).toMatchObject({
          code: 3,
          stdout: expect.stringMatching(/enabled.*true.*false/s) as string,
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
              `--fail-on names: unprotect .*--accept 0{64}: no danger.* --accept ${digest}\nnothing was applied\n$`,
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

  it("explains its usage", async () => {
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
