import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readDetections } from "pulumi-edgeguard";
import { Desk } from "./support";

let desk: Desk;
beforeAll(async () => {
  desk = await Desk.set();
});
beforeEach(() => {
  desk.api.reset();
  desk.api.clearRequests();
});

const save = async (...args: string[]) => await desk.here("detections", "save", ...args);
const path = (file: string): string => join(desk.cwd, file);

test("detections save writes a zone's active scripts, and a second run leaves the file unchanged and says so", async () => {
  const { shop } = desk.api.zones;
  expect(await save("--zone", shop)).toMatchObject({
    code: 0,
    stdout: "",
    stderr: `edgeguard: detections.json now has 21 scripts from zone ${shop}.\n`,
  });
  expect(readDetections(path("detections.json")).scripts).toHaveLength(21);
  const { stderr } = await save("--zone", shop.toUpperCase());
  expect(stderr).toBe(`edgeguard: detections.json already has 21 scripts from zone ${shop}.\n`);
  expect(desk.api.requests.map(({ query }) => query)).toEqual(
    [1, 2].map(
      () => expect.objectContaining({ exclude_duplicates: "false", exclude_cdn_cgi: "false" }) as object,
    ),
  );
});

test("detections save writes only the kinds, statuses and hosts that the options select", async () => {
  const { shop } = desk.api.zones;
  const options = ["--include", "scripts,cookies", "--status", "active, infrequent", "--hosts", "checkout.*"];
  const { code, stderr } = await save("--zone", shop, "--out", "checkout.json", ...options);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `edgeguard: checkout.json now has 8 scripts and 1 cookie from zone ${shop}.\n`,
  });
  const { scripts = [] } = readDetections(path("checkout.json"));
  expect(scripts.map(({ url }) => url)).toContain("https://cdn.extension-helper.example/inject.js");
});

test("detections save keeps the old file and leaves no temporary file if Cloudflare refuses a request", async () => {
  await save("--zone", desk.api.zones.small, "--out", "kept.json");
  const before = readFileSync(path("kept.json"), "utf8");
  const { code, stderr } = await save(
    "--zone",
    desk.api.zones.small,
    "--out",
    "kept.json",
    "--include",
    "cookies",
  );
  expect(code).toBe(1);
  expect(stderr).toContain("403 Forbidden");
  expect(readFileSync(path("kept.json"), "utf8")).toBe(before);
  expect(readdirSync(desk.cwd).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

test("detections save writes nothing if it's interrupted", async () => {
  desk.api.fault({ match: { path: "/scripts" }, kind: "slow", delayMs: 20_000, when: "after" });
  const child = desk.start(["detections", "save", "--zone", desk.api.zones.shop, "--out", "late.json"]);
  const said: string[] = [];
  child.stderr?.on("data", (part: Buffer) => said.push(String(part)));
  while (desk.api.requests.length === 0 && child.exitCode === null)
    await new Promise((go) => setTimeout(go, 20));
  child.kill("SIGINT");
  const code = await new Promise((ended) => child.once("close", ended));
  expect({ code, said: said.join("") }).toEqual({
    code: 130,
    said: "edgeguard: interrupted. late.json is unchanged.\n",
  });
  expect(existsSync(path("late.json"))).toBe(false);
});

test("detections save overwrites another zone's snapshot or an unrelated file only with --force", async () => {
  const { blog, shop } = desk.api.zones;
  await save("--zone", blog, "--out", "blog.json");
  expect(await save("--zone", shop, "--out", "blog.json")).toMatchObject({
    code: 1,
    stderr: `edgeguard: blog.json is a snapshot of another zone (${blog}). Pass another file with --out, or --force to overwrite it.\n`,
  });
  desk.write("index.ts", "export {};");
  expect((await save("--zone", shop, "--out", "index.ts")).stderr).toContain(
    "index.ts is not a snapshot of detections.",
  );
  expect((await save("--zone", shop, "--out", "blog.json", "--force")).code).toBe(0);
  expect(readDetections(path("blog.json")).zoneId).toBe(shop);
});

test.each([
  [[], "required option '--zone <id>' not specified"],
  [["--zone", "shop.example"], "32 hex digits"],
  [["--zone", "0".repeat(32), "--status", "activ"], "Choose from active, infrequent, inactive."],
  [["--zone", "0".repeat(32), "--include", "images"], "Choose from scripts, connections, cookies."],
])("detections save refuses the command line %j", async (args, sentence) => {
  const { code, stderr } = await save(...args);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(sentence) as string });
  expect(desk.api.requests).toEqual([]);
});
