import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { startLocalApi } from "edgeguard-local";
import { folderPerFile } from "../support/bench";

const CLI = resolve(__dirname, "../../local/bin/edgeguard-local.js");

const ROOT = folderPerFile("local-api");
/** A child that outlives its test would keep jest running. */
const started: ChildProcess[] = [];
afterEach(() => started.splice(0).forEach((child) => child.kill("SIGKILL")));

function run(...args: string[]): { process: ChildProcess; output: () => string } {
  const child = spawn(process.execPath, [CLI, "api", ...args], { stdio: "pipe" });
  started.push(child);
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (part: Buffer) => (text += part.toString()));
  return { process: child, output: () => text };
}

test.each(["SIGINT", "SIGTERM"] as const)(
  "the local API starts, prints how to point a program at it, and stops on %s",
  async (signal) => {
    const { process: child, output } = run("--port", "0", "--dialect", "documented", "--token", "my-token");
    while (!output().includes("Ctrl-C")) await once(child.stdout ?? child, "data");

    const url = /at (http:\S+)/.exec(output())?.[1] ?? "";
    expect(output()).toContain("documented dialect");
    expect(output()).toContain(`pulumi config set edgeguard:baseUrl ${url}\n`);
    expect(output()).toContain("pulumi config set --secret edgeguard:apiToken my-token\n");
    expect(output()).toContain(`EDGEGUARD_BASE_URL=${url} CLOUDFLARE_API_TOKEN=my-token\n`);
    const zone = /([0-9a-f]{32}) {2}shop\.example +enterprise/.exec(output())?.[1] ?? "";
    const response = await fetch(`${url}/zones/${zone}/page_shield`, {
      headers: { authorization: "Bearer my-token" },
    });
    expect(await response.json()).toMatchObject({ result: { use_platform_reporting_endpoint: true } });

    child.kill(signal);
    expect(await once(child, "exit")).toEqual([0, null]);
  },
);

test.each(["SIGINT", "SIGTERM"] as const)("the local API writes its state on %s", async (signal) => {
  const folder = join(ROOT, signal);
  const { process: child, output } = run("--port", "0", "--persist-to", folder);
  while (!output().includes("Ctrl-C")) await once(child.stdout ?? child, "data");
  expect(output()).toContain(`Its state is written to ${folder} when this command ends.`);
  const url = /at (http:\S+)/.exec(output())?.[1] ?? "";
  const value = `${url}/accounts/5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1/storage/kv/namespaces/5a0c1e7f3b2d4968a7e1c0f2d3b4b601/values/a`;
  const headers = { authorization: "Bearer local-token" };
  expect((await fetch(value, { method: "PUT", headers, body: "kept" })).status).toBe(200);
  child.kill(signal);
  expect(await once(child, "exit")).toEqual([0, null]);
  const next = await startLocalApi({ persistTo: folder });
  expect(JSON.stringify(next.snapshot().kv)).toContain('{"key":"a","value":"kept"}');
  await next.close();
});

test("the local API exits with code 1 at once if it can't create its directory", async () => {
  const { process: child, output } = run("--port", "0", "--persist-to", "/proc/nope");
  expect(await once(child, "close")).toEqual([1, null]);
  expect(output()).toMatch(
    /^\/proc\/nope can't keep the state \(ENOENT.*\)\. Choose a directory that you can write to\.\n$/,
  );
});

test("the local API exits with code 1 and a one-sentence error if its port is in use", async () => {
  const api = await startLocalApi();
  const { port } = new URL(api.url);
  const { process: child, output } = run("--port", port);
  expect(await once(child, "close")).toEqual([1, null]);
  expect(output()).toBe(`Port ${port} is in use: choose another, or port 0 for a free one.\n`);
  await api.close();
});

test("the local API rejects an invalid argument and quotes it", async () => {
  const { process: child, output } = run("--port", "high");
  expect(await once(child, "close")).toEqual([1, null]);
  expect(output()).toContain("'--port <number>' argument 'high' is invalid");
});
