import { once } from "node:events";
import { KV } from "../../provider/limits";
import { Desk, ended } from "./support";

/** Many entries: progress, and what's left after a failure. */

let desk: Desk;
beforeAll(async () => {
  desk = await Desk.set();
});
beforeEach(() => {
  desk.api.clearFaults();
  desk.api.reset();
  desk.api.clearRequests();
});

/** A tenth of Cloudflare's limit, which behaves the same in a tenth of the time. */
const smallBatches = () => jest.replaceProperty(KV, "MAX_BULK_ENTRIES", 1_000 as never);
afterEach(() => void jest.restoreAllMocks());

const BINDING = ["--binding", "EXISTING"];
const bulks = (): number => desk.api.requests.filter(({ path }) => path.includes("/bulk")).length;

/** Writes a file with `count` entries under `many/`, and one with their keys. */
function files(count: number, valueBytes = 10): string[] {
  const keys = Array.from({ length: count }, (_, i) => `many/${String(i).padStart(6, "0")}`);
  desk.write(
    "entries.json",
    JSON.stringify(keys.map((key) => ({ key, value: key.padEnd(valueBytes, "s3cret") }))),
  );
  desk.write("keys.json", JSON.stringify(keys));
  return keys;
}

test("bulk put and bulk delete send 10,000 entries per request", async () => {
  files(10_001);
  const put = await desk.here("kv", "bulk", "put", "entries.json", ...BINDING);
  expect(put).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringMatching(/wrote 10,001 entries/) as string,
  });
  expect(bulks()).toBe(2);
  desk.api.clearRequests();
  expect(await desk.here("kv", "bulk", "delete", "keys.json", "--yes", ...BINDING)).toMatchObject({
    code: 0,
  });
  expect(bulks()).toBe(2);
  expect(await desk.keys()).toHaveLength(5);
});

test("bulk commands show progress on a terminal, but not in a log", async () => {
  smallBatches();
  files(2_000);
  const LINE = /\r\u001b\[K([\d,]+ of 2,000 (?:entries written|keys deleted))/g;
  const seen = (text: string): string[] => [...text.matchAll(LINE)].map(([, words = ""]) => words);
  const put = await desk.at({ tty: true }, "kv", "bulk", "put", "entries.json", ...BINDING);
  expect(seen(put.stderr)).toContain("1,000 of 2,000 entries written");
  expect(put.stderr).toMatch(/\r\u001b\[Kedgeguard: wrote 2,000 entries .*\n$/);
  const deleted = await desk.at({ typed: "y\n" }, "kv", "bulk", "delete", "keys.json", ...BINDING);
  expect(seen(deleted.stderr)).toContain("1,000 of 2,000 keys deleted");
  const logged = await desk.here("kv", "bulk", "put", "entries.json", ...BINDING);
  expect(logged.stderr.split("\n")).toHaveLength(2);
});

test("bulk put resends keys that Cloudflare reports as unsuccessful", async () => {
  const keys = files(50);
  desk.api.fault({ match: { path: "/bulk" }, kind: "unsuccessful", keys: keys.slice(3, 5) });
  const ran = await desk.here("kv", "bulk", "put", "entries.json", ...BINDING);
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/wrote 50 entries/) as string });
  expect(bulks()).toBe(2);
  expect(String(await desk.value(keys[4] ?? ""))).toContain(keys[4]);
});

test("bulk put prints counts and exits with 1 if the API fails, and writes the rest if run again", async () => {
  smallBatches();
  files(2_000);
  desk.api.fault({ match: { path: "/bulk" }, kind: "status", status: 500 });
  const ran = await desk.here("kv", "bulk", "put", "entries.json", ...BINDING);
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toMatch(
    /Wrote 1,000 of 2,000 entries to namespace .*\. Run the same command again for the rest/,
  );
  expect(ran.stderr).not.toContain("s3cret");
  expect(await desk.here("kv", "bulk", "put", "entries.json", ...BINDING)).toMatchObject({ code: 0 });
  const listed = await desk.here("kv", "key", "list", "--prefix", "many/", ...BINDING);
  expect(JSON.parse(listed.stdout)).toHaveLength(2_000);
});

test("bulk put prints the key of an entry that Cloudflare refuses", async () => {
  files(2);
  desk.api.fault({ match: { path: "/bulk" }, kind: "status", status: 413, times: 2 });
  const ran = await desk.here("kv", "bulk", "put", "entries.json", ...BINDING);
  expect(ran.code).toBe(1);
  expect(ran.stderr).toMatch(
    /key "many\/000000": Writing key "many\/000000" .* returned 413 .*business 200 MB/,
  );
  expect(ran.stderr).toMatch(/Wrote 1 of 2 entries/);
});

test("on Ctrl-C, bulk put finishes requests in flight, says what was written, and exits with 130", async () => {
  files(20_001);
  const env = { ...desk.env, EDGEGUARD_CONCURRENCY: "1" };
  desk.api.fault({ match: { path: "/bulk" }, kind: "slow", delayMs: 300, times: 3 });
  const child = desk.start(["kv", "bulk", "put", "entries.json", ...BINDING], { env });
  const ran = ended(child);
  while (bulks() < 1) await new Promise((resolve) => setTimeout(resolve, 10));
  child.kill("SIGINT");
  const { code, stdout, stderr } = await ran;
  expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
  expect(stderr).toMatch(/interrupted\. Wrote 10,000 of 20,001 entries to namespace/);
  expect(bulks()).toBe(1);
});

test("key list exits without an error if the program that reads its output closes the pipe", async () => {
  files(20_001);
  expect(await desk.here("kv", "bulk", "put", "entries.json", ...BINDING)).toMatchObject({ code: 0 });
  const child = desk.start(["kv", "key", "list", ...BINDING]);
  await once(child.stdout ?? child, "readable");
  child.stdout?.destroy();
  const [[code], stderr] = await Promise.all([
    once(child, "close") as Promise<[number | null]>,
    (async () => {
      let text = "";
      for await (const part of child.stderr ?? []) text += String(part);
      return text;
    })(),
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("key list prints invalid JSON if it fails partway, so that nobody mistakes the output for a complete list", async () => {
  files(4_500);
  await desk.here("kv", "bulk", "put", "entries.json", ...BINDING);
  desk.api.fault({ match: { method: "GET", path: "/keys" }, kind: "slow", delayMs: 0, times: 4 });
  desk.api.fault({ match: { method: "GET", path: "/keys" }, kind: "status", status: 403 });
  const ran = await desk.here("kv", "key", "list", ...BINDING);
  expect(ran.code).toBe(1);
  expect(ran.stdout).toMatch(/^\[\n {2}\{"name":"config\/checkout",.*\},\n/);
  expect(() => JSON.parse(ran.stdout) as unknown).toThrow();
});
