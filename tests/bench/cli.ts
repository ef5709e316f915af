import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Row } from "./table";

/**
 * Measures `edgeguard kv bulk put` as a whole process, from start to exit. The server only waits and answers: processing the
 * entries would slow down both sides on the same cores.
 */

const LATENCY_MS = 50;
const ENTRIES = 100_000;
const VALUE_BYTES = 64;
const MAX_MB = 200;
const MAX_MS = 300;
const TOKEN = "local-token";
const BIN = resolve("provider/dist/cli/main.js");

const ID = "5a0c1e7f3b2d4968a7e1c0f2d3b4b601";

export async function cli(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "edgeguard-bench-"));
  const source = `
    const answer = JSON.stringify({ success: true, errors: [], messages: [], result: null });
    const server = require("node:http").createServer((request, response) => {
      request.resume().on("end", () => setTimeout(() => response.end(answer), ${LATENCY_MS}));
    });
    server.listen(0, "127.0.0.1", () => process.send("http://127.0.0.1:" + server.address().port + "/v4"));`;
  const child = spawn(process.execPath, ["-e", source], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  try {
    const [url] = (await once(child, "message")) as [string];
    const file = join(folder, "entries.json");
    const entries = Array.from({ length: ENTRIES }, (_, i) => ({
      key: `catalog/item-${String(i).padStart(8, "0")}`,
      value: `value ${i} `.padEnd(VALUE_BYTES, "abcdefgh"),
    }));
    writeFileSync(file, JSON.stringify(entries));
    const theirs = await oneByOne(folder, url, file);
    const ours = await edgeguard(folder, url, "kv", "bulk", "put", file, "--namespace-id", ID);
    const version = await edgeguard(folder, url, "--version");
    return [
      {
        what: `kv bulk put of ${ENTRIES.toLocaleString("en-US")} entries, ${LATENCY_MS} ms a request`,
        ours: ours.ms / 1000,
        unit: "s",
        against: "1,000 at a time, sequentially",
        theirs: theirs / 1000,
        atMost: 1 / 5,
      },
      {
        what: "its peak memory",
        ours: ours.peakMb,
        unit: "MB",
        against: "the bound",
        theirs: MAX_MB,
        atMost: 1,
      },
      {
        what: "edgeguard --version",
        ours: version.ms,
        unit: "ms",
        against: "the bound",
        theirs: MAX_MS,
        atMost: 1,
      },
    ];
  } finally {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the built command once, and measures its peak memory. */
async function edgeguard(
  folder: string,
  url: string,
  ...args: string[]
): Promise<{ readonly ms: number; readonly peakMb: number }> {
  const peak = join(folder, "peak");
  const hook = join(folder, "hook.cjs");
  writeFileSync(
    hook,
    `process.on("exit", () => require("fs").writeFileSync(${JSON.stringify(peak)}, String(process.resourceUsage().maxRSS)));`,
  );
  const started = performance.now();
  const child = spawn(process.execPath, ["--require", hook, BIN, ...args], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      PATH: process.env["PATH"],
      EDGEGUARD_BASE_URL: url,
      CLOUDFLARE_ACCOUNT_ID: ID,
      CLOUDFLARE_API_TOKEN: TOKEN,
    },
  });
  let stderr = "";
  child.stderr.on("data", (part: Buffer) => (stderr += part.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  const ms = performance.now() - started;
  if (code !== 0) throw new Error(stderr);
  return { ms, peakMb: (Number(readFileSync(peak, "utf8")) * 1024) / 1e6 };
}

/** A minimal process that uploads sequentially, 1,000 entries per request, as Wrangler does. */
async function oneByOne(folder: string, url: string, file: string): Promise<number> {
  const script = join(folder, "one-by-one.cjs");
  writeFileSync(
    script,
    `const { Agent, request } = require(${JSON.stringify(require.resolve("undici"))});
     const { readFileSync } = require("node:fs");
     (async () => {
       const dispatcher = new Agent({ connections: 1 });
       const entries = JSON.parse(readFileSync(${JSON.stringify(file)}, "utf8"));
       const headers = { authorization: "Bearer ${TOKEN}", "content-type": "application/json" };
       for (let i = 0; i < entries.length; i += 1000) {
         const body = JSON.stringify(entries.slice(i, i + 1000));
         const answer = await request("${url}/accounts/${ID}/storage/kv/namespaces/${ID}/bulk", { method: "PUT", dispatcher, headers, body });
         await answer.body.dump();
         if (answer.statusCode !== 200) throw new Error("the server answered " + answer.statusCode);
       }
       await dispatcher.close();
     })();`,
  );
  const started = performance.now();
  const child = spawn(process.execPath, [script], { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error("the sequential upload failed");
  return performance.now() - started;
}
