import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isolatedEnvironment, LOCAL_ENGINE, startLocalApi, type LocalApi } from "edgeguard-local";
import { fanOut } from "../../examples/many-zones/fan-out";
import { countsIn, reasonIn } from "../../examples/many-zones/engines";
import { engines, REPOSITORY } from "../support/engine";

const TOKEN = "local-token";
const MISSING = "0123456789abcdef0123456789abcdef";

describe("many zones, a stack for each", () => {
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

    it(`deploys ${count} zones and tells which one failed and why, on ${engine.name}`, async () => {
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
      expect(stdout).toMatch(new RegExp(`typo +│ failed +│ .*${MISSING}`));
      expect(stdout.match(/│ done +│ \+ 3 created/g)).toHaveLength(count - 1);
      expect(stdout + stderr).not.toContain(TOKEN);
      for (const zone of zones) {
        const answer = await fetch(`${api.url}/zones/${zone}/page_shield/policies`, {
          headers: { Authorization: `Bearer ${TOKEN}` },
        });
        expect(await answer.json()).toMatchObject({ result: [{ description: "baseline" }] });
      }
    }, 300_000);
  }

  it("refuses a stack that the file does not name", async () => {
    expect(await deploy("--only", "nobody")).toMatchObject({ code: 2, stderr: /--only nobody: not in/ });
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

describe("a bounded fan-out", () => {
  it("has never more than so many at work, goes on after a failure, and answers in order", async () => {
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

  it("takes counts and reasons from what an engine prints", () => {
    expect(countsIn("…\n\nResources:\n    + 2 created\n    1 unchanged\n\nDuration: 1s\n")).toBe(
      "+ 2 created, 1 unchanged",
    );
    expect(reasonIn("Diagnostics:\n  x (a):\n    error: update failed\n    error: zone is gone\n")).toBe(
      "zone is gone",
    );
  });
});

/** Zones that nobody has set anything in. */
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
