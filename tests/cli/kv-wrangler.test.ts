import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Desk } from "./support";

/** The commands must have the same effect as Wrangler's. */

/** The version of Wrangler on PATH, if any. */
function wranglerVersion(): readonly number[] | undefined {
  try {
    const said = execFileSync("wrangler", ["--version"], { encoding: "utf8", timeout: 20_000 });
    return /(\d+)\.(\d+)\.(\d+)/.exec(said)?.slice(1).map(Number);
  } catch {
    return undefined;
  }
}

const version = wranglerVersion();
const compared = version === undefined ? test.skip : test;
const WHY = version === undefined ? " (not run: no wrangler on PATH)" : ` (wrangler ${version.join(".")})`;

const ENTRIES = [
  { key: "bulk/one", value: "1" },
  { key: "bulk/two", value: "/wAB", base64: true },
  { key: "bulk/three", value: "3", metadata: { rank: 3 }, expiration: 4_102_444_800 },
];

/** Commands on one namespace, for both tools. */
const SCRIPT: string[][] = [
  ["key", "put", "a/b?c%d", "a value"],
  ["key", "put", "greeting", "changed", "--metadata", '{"by":"hand"}', "--expiration", "4102444800"],
  ["key", "put", "picture", "--path=picture.bin"],
  ["bulk", "put", "entries.json"],
  ["key", "delete", "feature:new-cart"],
  ["bulk", "delete", "keys.json"],
];

async function runCommands(tool: "edgeguard" | "wrangler"): Promise<unknown> {
  const desk = await Desk.set();
  desk.write("entries.json", JSON.stringify(ENTRIES));
  desk.write("keys.json", '["bulk/one", "logo.ico"]');
  desk.write("picture.bin", Buffer.from([0, 0xff, 0x0d, 0x0a, 0x80]));
  const home = mkdtempSync(join(tmpdir(), "edgeguard-wrangler-"));
  mkdirSync(join(home, "config"));
  const env = {
    ...desk.env,
    HOME: home,
    XDG_CONFIG_HOME: join(home, "config"),
    CLOUDFLARE_API_BASE_URL: desk.api.url,
    WRANGLER_SEND_METRICS: "false",
    CI: "1",
  };
  const [major = 0] = version ?? [];
  try {
    for (const [group = "", verb = "", ...rest] of SCRIPT) {
      const args = ["kv", group, verb, ...rest, "--namespace-id", desk.api.namespaces.existing];
      if (tool === "edgeguard") {
        const { code, stderr } = await desk.here(...args, ...(verb === "delete" ? ["--yes"] : []));
        expect({ args, code, stderr }).toMatchObject({ code: 0 });
      } else {
        // Version 4 and later work locally by default. Without a terminal, Wrangler doesn't ask.
        const more = major >= 4 ? ["--remote"] : [];
        await promisify(execFile)("wrangler", [...args, ...more], { cwd: desk.cwd, env });
      }
    }
    const [existing] = desk.api.snapshot().kv?.namespaces ?? [];
    const entries = [...(existing?.entries ?? [])].sort((a, b) => (a.key < b.key ? -1 : 1));
    return { title: existing?.title, entries };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

test("kv commands do what Wrangler's do", async () => {
  expect(await runCommands("edgeguard")).toEqual({
    title: "existing",
    entries: [
      { key: "a/b?c%d", value: "a value" },
      { key: "bulk/three", value: "3", metadata: { rank: 3 }, expiration: 4_102_444_800 },
      { key: "bulk/two", value: "/wAB", base64: true },
      {
        key: "config/checkout",
        value: '{"currency":"EUR","express":true}',
        metadata: { owner: "shop", revision: 3 },
      },
      { key: "greeting", value: "changed", metadata: { by: "hand" }, expiration: 4_102_444_800 },
      { key: "picture", value: "AP8NCoA=", base64: true },
      { key: "straße/münchen", value: "Grüß Gott" },
    ],
  });
});

compared(`wrangler's commands have the same effect${WHY}`, async () => {
  expect(await runCommands("edgeguard")).toEqual(await runCommands("wrangler"));
});
