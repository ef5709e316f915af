import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { LOCAL_ENGINE, startLocalApi, type LocalApi } from "edgeguard-local";
import { Project, REPOSITORY, summaryOf, type RunResult } from "../support/engine";

let api: LocalApi;
beforeAll(async () => {
  api = await startLocalApi();
});
afterAll(() => api.close());
beforeEach(() => {
  api.reset();
  api.clearRequests();
});

describe("in a program", () => {
  let project: Project;
  beforeEach(() => {
    project = new Project(LOCAL_ENGINE, "lookups");
  });
  afterEach(() => project.remove());

  async function preview(program: string, config: Readonly<Record<string, string>> = {}): Promise<RunResult> {
    project.write(`import * as edgeguard from "pulumi-edgeguard";\n${program}`);
    await project.init({ "edgeguard:baseUrl": api.url, "edgeguard:apiToken": "local-token", ...config });
    return await project.run("preview");
  }

  const settings = (enabled: string): string =>
    `new edgeguard.PageShieldSettings("s", { zoneId: "${api.zones.empty}", enabled: ${enabled} });`;

  test("an awaited assertion fails the preview and lists the scripts, before anything is declared", async () => {
    const { code, text } = await preview(`export = async () => {
      await edgeguard.assertNoMaliciousScripts({ zoneId: "${api.zones.shop}" });
      ${settings("true")}
    };`);
    expect(code).not.toBe(0);
    expect(text).toMatch(
      /error: edgeguard: zone \w+ has 2 scripts that score below 50 or are on a threat list\./,
    );
    expect(text).toContain(
      "score 4, on a threat list: https://stats-collect.example.com/c.js on checkout.shop.example",
    );
    expect(text).not.toContain("PageShieldSettings");
    expect(text).not.toMatch(/^\s+at /m);
  });

  test("an assertion that isn't awaited also fails the preview", async () => {
    const { code, text } = await preview(
      `void edgeguard.assertNoMaliciousScripts({ zoneId: "${api.zones.shop}" });
      const args = { inventory: { file: "list.yaml", sha256: "", entries: [] }, zoneIds: ["${api.zones.shop}"] };
      void edgeguard.assertScriptInventory({ ...args, onFindings: "warn" });`,
    );
    expect(code).not.toBe(0);
    expect(text.match(/has 2 scripts that score below 50/g)).toHaveLength(1);
    expect(text).toMatch(/warning: edgeguard: the scripts don't match list\.yaml \(24 findings\):/);
  });

  test("a lookup's output uses the stack's configuration and can be a resource's argument", async () => {
    const { code, text } = await preview(`
      const found = edgeguard.getPageShieldSettingsOutput({ zoneId: Promise.resolve("${api.zones.shop}") });
      ${settings("found.enabled")}
      export const scripts = edgeguard.getScriptsOutput({ zoneId: "${api.zones.blog}" }).items.length;`);
    expect({ code, scripts: /scripts: (\d+)/.exec(text)?.[1] }).toEqual({ code: 0, scripts: "4" });
    expect(summaryOf(text)).toMatchObject({ create: 2 });
  });

  test("a lookup that fails in its output form also fails the preview, with one sentence", async () => {
    const { code, text } = await preview(`
      const found = edgeguard.getPageShieldSettingsOutput({ zoneId: "${api.zones.free}" });
      ${settings("found.enabled")}`);
    expect(code).not.toBe(0);
    expect(text).toMatch(
      /error: edgeguard: Reading Page Shield settings of zone \w+ failed: .*403 Forbidden/,
    );
    expect(text).not.toMatch(/^\s+at /m);
  });

  test("without credentials, a preview leaves outputs unknown and warns, and an up fails", async () => {
    const { code, text } = await preview(
      `
      const found = edgeguard.getPageShieldSettingsOutput({ zoneId: "${api.zones.shop}" });
      ${settings("found.enabled")}
      void edgeguard.assertNoMaliciousScripts({ zoneId: "${api.zones.shop}" });
      const inventory = { file: "list.yaml", sha256: "", entries: [] };
      void edgeguard.assertScriptInventory({ inventory, zoneIds: ["${api.zones.shop}"] });`,
      { "edgeguard:apiToken": " " },
    );
    expect({ code, text }).toMatchObject({ code: 0 });
    expect(text).toMatch(/warning: edgeguard: getPageShieldSettingsOutput: skipped in this preview, so/);
    expect(text).toMatch(/warning: edgeguard: assertNoMaliciousScripts: skipped in this preview, so/);
    expect(text).toMatch(/warning: edgeguard: assertScriptInventory: skipped in this preview, so/);
    const up = await project.run("up", "--yes", "--skip-preview");
    expect(up.code).not.toBe(0);
    expect(up.text).toMatch(/error: edgeguard: .* needs credentials, and edgeguard:apiToken is empty/);
    expect(api.requests).toEqual([]);
  });

  test("a lookup refuses a misspelled configuration key", async () => {
    const { code, text } = await preview(
      `export const s = edgeguard.getScripts({ zoneId: "${api.zones.shop}" });`,
      {
        "edgeguard:maxRetrys": "1",
      },
    );
    expect(code).not.toBe(0);
    expect(text).toContain('Did you mean "edgeguard:maxRetries"?');
    expect(api.requests).toEqual([]);
  });

  test("a policy built from a committed file of scripts doesn't read the zone's scripts", async () => {
    const scripts = [
      { url: "https://a.example/a.js", host: "www.shop.example", jsIntegrityScore: 90 },
      { url: "https://b.example/b.js", host: "www.shop.example" },
    ];
    writeFileSync(join(project.dir, "scripts.json"), JSON.stringify(scripts));
    const { code, text } = await preview(
      `
      const { scriptSrc, leftOut } = edgeguard.scriptSources(require("./scripts.json"));
      new edgeguard.PageShieldPolicy("p", {
        zoneId: "${api.zones.shop}",
        description: "seen",
        action: "log",
        expression: 'http.host eq "www.shop.example"',
        value: { scriptSrc: ["'self'", ...scriptSrc] },
      });
      export const notCovered = leftOut.map(({ url }) => url);`,
      { "edgeguard:liveChecks": "false" },
    );
    expect({ code, text }).toMatchObject({ code: 0 });
    expect(text).toContain("https://b.example/b.js");
    expect(text).toMatch(/warning: edgeguard: scriptSources: left out 1 script.*b\.js \(unscored\)\./);
    expect(api.requests).toEqual([]);
  });
});

describe("a lookup in a plain script", () => {
  /** Run with the built package, as a user runs it. */
  function script(text: string, env: Readonly<Record<string, string>>) {
    const program = `(async () => { const edgeguard = require("pulumi-edgeguard"); ${text} })()`;
    return promisify(execFile)(process.execPath, ["-e", program], {
      cwd: REPOSITORY,
      env: { PATH: process.env["PATH"], ...env },
      timeout: 150_000, // A guard against a hang: a busy machine takes its time.
    });
  }

  test("takes settings from the environment, and lets the process exit by itself", async () => {
    const env = { EDGEGUARD_BASE_URL: api.url, CLOUDFLARE_API_TOKEN: "local-token" };
    const { stdout, stderr } = await script(
      `
      const { items } = await edgeguard.getScripts({ zoneId: "${api.zones.small}" });
      await edgeguard.assertNoMaliciousScripts({ zoneId: "${api.zones.small}" });
      // An idle connection does not keep the process: what is left is its own output.
      const left = () => process.getActiveResourcesInfo().filter((name) => name !== "PipeWrap");
      setImmediate(() => setImmediate(() => console.log(items.length, left())));`,
      env,
    );
    expect(stdout).toBe("2 []\n");
    expect(stderr).toMatch(/^edgeguard: assertNoMaliciousScripts: couldn't check 2 of 2 scripts/);
  });

  test("throws errors with a name and status, so that a script can handle them", async () => {
    const env = { EDGEGUARD_BASE_URL: api.url, CLOUDFLARE_API_TOKEN: "wrong" };
    const { stdout } = await script(
      `await edgeguard.getScripts({ zoneId: "${api.zones.small}" }).catch((e) => console.log(e.name, e.status));`,
      env,
    );
    expect(stdout).toBe("ApiError 403\n");
  });
});
