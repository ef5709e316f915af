import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { Desk, type Ran } from "./support";

/** `--local` and `--persist-to`: the same data as in `edgeguard-local api --persist-to DIR`. */

let desk: Desk;
beforeAll(async () => {
  desk = await Desk.set();
});

const NEW = "0123456789abcdef0123456789abcdef";
let folders = 0;
const newFolder = (): string => `data-${++folders}`;

async function valueOf(api: LocalApi, namespace: string, key: string): Promise<string> {
  const path = `/accounts/${api.accounts.main}/storage/kv/namespaces/${namespace}/values/${key}`;
  return await (await fetch(api.url + path, { headers: { authorization: "Bearer local-token" } })).text();
}

async function putValue(api: LocalApi, namespace: string, key: string, value: string): Promise<void> {
  const path = `/accounts/${api.accounts.main}/storage/kv/namespaces/${namespace}/values/${key}`;
  const headers = { authorization: "Bearer local-token" };
  expect((await fetch(api.url + path, { method: "PUT", headers, body: value })).status).toBe(200);
}

test("without --persist-to, --local keeps the data in .edgeguard/local-api and sends nothing to the account", async () => {
  const local = ["--binding", "EXISTING", "--local"];
  // As a process without any settings.
  desk.api.clearRequests();
  const env = { PATH: process.env["PATH"] ?? "" };
  const put = desk.start(["kv", "key", "put", "draft", "local value", ...local], { env });
  expect(await new Promise((done) => put.once("close", done))).toBe(0);
  expect(await desk.at({ env }, "kv", "key", "get", "draft", "--text", ...local)).toMatchObject({
    stdout: "local value",
  });
  expect(existsSync(join(desk.cwd, ".edgeguard/local-api/local-api.json"))).toBe(true);
  expect(desk.api.requests).toHaveLength(0);
  expect(await desk.value("draft")).toBeUndefined();
});

test("--local puts the data next to the configuration file, and says so when the first write creates it", async () => {
  const below = join(desk.cwd, "worker", "src");
  mkdirSync(below, { recursive: true });
  desk.write("worker/wrangler.toml", `[[kv_namespaces]]\nbinding = "DRAFTS"\nid = "${NEW}"\n`);
  const put = (key: string): Promise<Ran> =>
    desk.at({ cwd: below }, "kv", "key", "put", key, "1", "--binding", "DRAFTS", "--local");
  const folder = join(desk.cwd, "worker", ".edgeguard/local-api");
  expect((await put("a")).stderr).toContain(
    `edgeguard: created an empty local namespace ${NEW} (binding DRAFTS) in ${folder}.\n`,
  );
  expect((await put("b")).stderr).not.toContain("created");
  expect(existsSync(join(folder, "local-api.json"))).toBe(true);
});

test("every data command works with --local, on the data of edgeguard-local api", async () => {
  const folder = newFolder();
  const at = ["--namespace-id", NEW, "--local", "--persist-to", folder];
  const here = (...args: string[]): Promise<Ran> => desk.here("kv", ...args, ...at);

  expect((await here("key", "list")).stderr).toMatch(/namespace not found/); // Reading creates nothing.
  expect(await here("key", "put", "a", "1")).toMatchObject({ code: 0 });
  desk.write("local.json", '[{"key":"b","value":"2"},{"key":"c","value":"3"}]');
  expect(await here("bulk", "put", "local.json")).toMatchObject({ code: 0 });
  expect(await here("key", "delete", "b", "--yes")).toMatchObject({ code: 0 });
  expect(JSON.parse((await here("key", "list")).stdout)).toEqual([{ name: "a" }, { name: "c" }]);

  const api = await startLocalApi({ persistTo: join(desk.cwd, folder) });
  expect(await valueOf(api, NEW, "a")).toBe("1");
  await putValue(api, NEW, "d", "4");
  await api.close();

  desk.write("keys.json", '["a", "c", "d"]');
  expect(JSON.parse((await here("bulk", "get", "keys.json")).stdout)).toHaveLength(3);
  expect(await here("bulk", "delete", "keys.json", "--yes")).toMatchObject({ code: 0 });
  expect(await here("key", "list")).toMatchObject({ stdout: "[]\n" });
  expect(existsSync(join(desk.cwd, folder, "in-use.json"))).toBe(false);
});

test("--local refuses a directory that another process uses, and says which process", async () => {
  const folder = join(desk.cwd, newFolder());
  const api = await startLocalApi({ persistTo: folder });
  const at = ["--namespace-id", NEW, "--local", "--persist-to", folder];
  const ran = await desk.bin("kv", "key", "put", "a", "1", ...at);
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toContain(`Process ${process.pid} already uses ${folder}. End that process first.`);
  await api.close();
});

test("--local ignores the lock file of a killed process", async () => {
  const folder = newFolder();
  mkdirSync(join(desk.cwd, folder));
  const gone = spawn(process.execPath, ["-e", ""]);
  await new Promise((done) => gone.once("close", done));
  desk.write(join(folder, "in-use.json"), JSON.stringify({ pid: gone.pid }));
  const at = ["--namespace-id", NEW, "--local", "--persist-to", folder];
  expect(await desk.here("kv", "key", "put", "a", "1", ...at)).toMatchObject({ code: 0 });
});

test("--local refuses a directory with other content, and doesn't change it", async () => {
  const folder = newFolder();
  mkdirSync(join(desk.cwd, folder));
  const file = desk.write(join(folder, "local-api.json"), "{}");
  const ran = await desk.here(
    "kv",
    "key",
    "list",
    "--binding",
    "EXISTING",
    "--local",
    "--persist-to",
    folder,
  );
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toMatch(
    /local-api\.json is not a valid state of the local API\. Delete it, or use another directory\.\n$/,
  );
  expect(readFileSync(file, "utf8")).toBe("{}");
});
