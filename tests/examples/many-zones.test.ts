import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isolatedEnvironment, LOCAL_ENGINE, startLocalApi, type LocalApi } from "edgeguard-local";
import { fanOut } from "../../examples/many-zones/fan-out";
import { countsIn, reasonIn } from "../../examples/many-zones/engines";
import { readZones } from "../../examples/many-zones/zones-file";
import { engines, REPOSITORY } from "../support/engine";

const TOKEN = "local-token";
const MISSING = "0123456789abcdef0123456789abcdef";

describe("the many-zones script", () => {
  let home: string;
  let folder: string;
  let api: LocalApi;

  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), "edgeguard-zones-"));
    mkdirSync(join(home, "state"));
    folder = join(home, "many-zones");
    cpSync(join(REPOSITORY, "examples/many-zones"), folder, { recursive: true });
    symlinkSync(join(REPOSITORY, "node_modules"), join(home, "node_modules"));
    api = await startLocalApi();
  });

  afterEach(async () => {
    await api.close();
    rmSync(home, { recursive: true, force: true });
  });

  for (const engine of engines()) {
    const real = engine.name !== LOCAL_ENGINE.name;
    const count = real ? 20 : 3;

    it(`deploys ${count} zones and says which one failed and why, on ${engine.name}`, async () => {
      const zones = await manyZones(api, count - 1);
      const declared = [
        ...zones.map((zoneId, index) => ({ stack: `zone-${index + 1}`, zoneId })),
        { stack: "typo", zoneId: MISSING },
      ];
      writeFileSync(join(folder, "zones.json"), JSON.stringify(declared));

      const { code, stdout, stderr } = await deploy(
        "--parallel",
        "2",
        ...(real ? [] : ["--engine", LOCAL_ENGINE.command.join(" ")]),
      );

      expect({ code, last: stdout.trim().split("\n").at(-1), stderr: real ? "" : stderr }).toEqual({
        code: 1,
        last: `${count - 1} done, 1 failed`,
        stderr: real ? "" : declared.map(({ stack }) => `${stack}: started\n`).join(""),
      });
      expect(stdout.replace(/[\s│]+/g, "")).toContain(MISSING); // The table wraps it.
      expect(stdout).toMatch(/typo +│ failed +│ /);
      for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
      expect(stdout.match(/│ done +│ \+ 6 created/g)).toHaveLength(count - 1);
      expect(stdout + stderr).not.toContain(TOKEN);
      for (const zone of zones) {
        const response = await fetch(`${api.url}/zones/${zone}/page_shield/policies`, {
          headers: { Authorization: `Bearer ${TOKEN}` },
        });
        expect(await response.json()).toMatchObject({ result: [{ description: "baseline" }] });
      }
    }, 300_000);
  }

  it("previews all zones in one report with one digest, and deploys none", async () => {
    const [zone = ""] = await manyZones(api, 1);
    const settings = `${api.url}/zones/${zone}/page_shield`;
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const before = await (await fetch(settings, { headers })).json();
    const declared = [
      { stack: "shop", zoneId: zone },
      { stack: "typo", zoneId: MISSING },
    ];
    writeFileSync(join(folder, "zones.json"), JSON.stringify(declared));
    const { code, stdout } = await deploy("preview", "--engine", LOCAL_ENGINE.command.join(" "));

    expect({ code, last: stdout.trim().split("\n").at(-1) }).toEqual({
      code: 1,
      last: "1 planned, 1 failed",
    });
    expect(stdout).toMatch(/shop +│ planned +│ create 6/);
    const report = readFileSync(join(folder, "report.md"), "utf8");
    expect(report).toMatch(/^<!-- edgeguard report many-zones\/all stacks -->\n/);
    expect(report).toContain("+ PageShieldPolicy <b>baseline-pageShieldPolicy (shop)</b>");
    expect(report).toMatch(new RegExp(`### The preview failed\n\n- \`typo: .*\`: .*${MISSING}`));
    expect(await (await fetch(settings, { headers })).json()).toEqual(before);
  });

  it("deploys no zone with --fail-on if the plan of one fails", async () => {
    const [zone = ""] = await manyZones(api, 1);
    const declared = [
      { stack: "shop", zoneId: zone },
      { stack: "typo", zoneId: MISSING },
    ];
    writeFileSync(join(folder, "zones.json"), JSON.stringify(declared));
    const writes = (): number => api.requests.filter(({ method }) => method !== "GET").length;
    const gated = ["--fail-on", "unprotect", "--engine", LOCAL_ENGINE.command.join(" ")];
    expect(await deploy(...gated)).toMatchObject({ code: 1 });
    expect(writes()).toBe(0);
    const { code, stdout } = await deploy(...gated, "--only", "shop");
    expect({ code, last: stdout.trim().split("\n").at(-1) }).toEqual({ code: 0, last: "1 done, 0 failed" });
    expect(writes()).toBeGreaterThan(0);
  });

  it("shows its help, and refuses unknown stacks", async () => {
    const help = await deploy("--help");
    expect(help).toMatchObject({ code: 0, stderr: "" });
    for (const option of ["preview", "--zones", "--only", "--parallel", "--engine", "--fail-on", "--accept"])
      expect(help.stdout).toContain(`  ${option} `);
    const refused = await deploy("--only", "nobody");
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--only nobody: no such stack in/) as string,
    });
  });

  function deploy(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const env = {
      ...isolatedEnvironment(home),
      NO_COLOR: "1",
      PULUMI_NODEJS_TRANSPILE_ONLY: "true", // Types are compared by another test.
      CLOUDFLARE_API_TOKEN: TOKEN,
      EDGEGUARD_BASE_URL: api.url,
      EDGEGUARD_ACCOUNT_ID: api.accounts.main,
    };
    const tsNode = join(REPOSITORY, "node_modules/.bin/ts-node");
    return new Promise((resolve) => {
      execFile(
        tsNode,
        ["--transpile-only", "deploy.ts", ...args],
        { cwd: folder, env },
        (error, stdout, stderr) => {
          resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
        },
      );
    });
  }
});

describe("readZones", () => {
  const SHOP = { stack: "shop", zoneId: "a".repeat(32) };
  const complaint = (text: string | undefined): string => {
    const home = mkdtempSync(join(tmpdir(), "edgeguard-zones-"));
    const file = join(home, "zones.json");
    if (text !== undefined) writeFileSync(file, text);
    try {
      readZones(file);
      return "none";
    } catch (error) {
      return error instanceof Error ? error.message.replaceAll(file, "zones.json") : "no error";
    } finally {
      rmSync(home, { recursive: true });
    }
  };

  it.each<[string, string | undefined, string]>([
    ["accepts a valid file", JSON.stringify([SHOP]), "none"],
    [
      "accepts a stack name with its organization",
      JSON.stringify([{ ...SHOP, stack: "acme/edge/shop" }]),
      "none",
    ],
    [
      "refuses a missing file",
      undefined,
      `zones.json can't be read (ENOENT). List the zones there: [{ "stack": "shop", "zoneId": "…" }]`,
    ],
    ["refuses invalid JSON", '[{ "stack": ', "zones.json is not valid JSON: Unexpected end of JSON input"],
    ["refuses an empty list", "[]", "zones.json:\n  the list: is empty"],
    [
      "lists every mistake",
      JSON.stringify([SHOP, { stack: "blog", zoneId: "shop.example" }, { stack: "my blog", zoneID: "1" }]),
      [
        "zones.json:",
        `zone 2, zoneId: "shop.example" is not a zone ID (32 hex digits). Find it on the zone's Overview page`,
        `zone 3, stack: "my blog" is not a stack name (letters, digits, ., _ and -, optionally after organization/ or organization/project/)`,
        "zone 3, zoneId: Invalid input: expected string, received undefined",
        'zone 3: Unrecognized key: "zoneID"',
      ].join("\n  "),
    ],
    [
      "refuses a zone or stack that's listed twice",
      JSON.stringify([SHOP, SHOP]),
      [
        "zones.json:",
        'zone 2, stack: "shop" is also in zone 1. Keep one of them',
        `zone 2, zoneId: "${SHOP.zoneId}" is also in zone 1. Keep one of them`,
      ].join("\n  "),
    ],
  ])("%s", (_, text, expected) => {
    expect(complaint(text)).toBe(expected);
  });
});

describe("fan-out over stacks", () => {
  it("limits how many stacks run at once, continues after a failure, and returns results in order", async () => {
    let atWork = 0;
    let most = 0;
    const finished = await fanOut([5, 1, 4, 2, 3], 2, async (item) => {
      most = Math.max(most, ++atWork);
      await new Promise((done) => setTimeout(done, item));
      atWork -= 1;
      if (item === 4) throw new Error("no such zone");
      return `+ ${item} created`;
    });
    expect(most).toBe(2);
    expect(finished.map(({ item, outcome }) => [item, outcome])).toEqual([
      [5, { changes: "+ 5 created" }],
      [1, { changes: "+ 1 created" }],
      [4, { failure: "no such zone" }],
      [2, { changes: "+ 2 created" }],
      [3, { changes: "+ 3 created" }],
    ]);
  });

  it("takes the counts of changes and the reasons for failures from the engine's output", () => {
    expect(countsIn("…\n\nResources:\n    + 2 created\n    1 unchanged\n\nDuration: 1s\n")).toBe(
      "+ 2 created, 1 unchanged",
    );
    expect(reasonIn("Diagnostics:\n  x (a):\n    error: update failed\n    error: zone is gone\n")).toBe(
      "zone is gone",
    );
  });
});

/** Zones without any settings. */
async function manyZones(api: LocalApi, count: number): Promise<string[]> {
  const address = `${new URL(api.url).origin}/__local/state`;
  const state = (await (await fetch(address)).json()) as {
    zones: { id: string; name: string; plan: string }[];
    pageShield: Record<string, unknown>;
    pageShieldDetected: Record<string, unknown>;
  };
  const ids = Array.from({ length: count }, (_, index) => (index + 1).toString(16).padStart(32, "f"));
  for (const [index, id] of ids.entries()) {
    state.zones.push({ id, name: `zone-${index + 1}.example`, plan: "enterprise" });
    state.pageShield[id] = state.pageShield[api.zones.empty];
    state.pageShieldDetected[id] = state.pageShieldDetected[api.zones.empty];
  }
  const put = await fetch(address, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(state),
  });
  if (!put.ok) throw new Error(await put.text());
  return ids;
}
