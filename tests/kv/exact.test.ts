import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import fc from "fast-check";
import { startLocalApi } from "edgeguard-local";
import { Operation, rawGet, rawSend, sent } from "../support/operation";
import { emptied } from "./upload-support";
import { EntriesBench, TYPE } from "./entries-bench";

/** Entries arrive as they were written, or are refused: no digit, member, byte or name is lost on the way. */

const bench = new EntriesBench("exact");
const { up } = bench;
const FILE = join(bench.folder, "f.json");

const refusals = (inputs: object) => new Operation(bench.api).refusals(TYPE, { ...bench.address, ...inputs });
const path = (): string =>
  `/accounts/${bench.address.accountId}/storage/kv/namespaces/${bench.address.namespaceId}`;
const listed = async (): Promise<unknown> => (await rawGet(bench.api, `${path()}/keys`))["result"];

async function valueOf(key: string): Promise<Buffer> {
  const answer = await fetch(`${bench.api.url}${path()}/values/${encodeURIComponent(key)}`, {
    headers: { authorization: "Bearer local-token" },
  });
  return Buffer.from(await answer.arrayBuffer());
}

describe("what is no regular file", () => {
  const pipe = join(bench.folder, "pipe");
  const socket = join(bench.folder, "socket");
  const server = createServer();
  beforeAll(async () => {
    execFileSync("mkfifo", [pipe]);
    server.listen(socket);
    await once(server, "listening");
  });
  afterAll(() => void server.close());

  test.each([
    ["a pipe", pipe],
    ["a socket", socket],
    ["a device", "/dev/zero"],
  ])("is refused as file at once: %s", async (_, given) => {
    expect(await refusals({ file: given })).toEqual([
      `file: ${given} cannot be read: it is not a regular file but a pipe, socket or device (looked for ${given})`,
    ]);
  });

  test("is refused in a directory, and as the directory", async () => {
    const directory = join(bench.folder, "special");
    mkdirSync(directory);
    execFileSync("mkfifo", [join(directory, "pipe")]);
    expect(await refusals({ directory })).toEqual([
      `directory: ${directory}: file "pipe" (key "pipe"): is no regular file; name it in \`ignore\``,
    ]);
    expect(await refusals({ directory: pipe })).toEqual([
      `directory: ${pipe} is no directory; \`directory\` takes a key per file of a directory`,
    ]);
  });
});

describe("a key with a character that nobody sees", () => {
  test.each([
    ["zero width", "price\u200b", "price\\u200b", "U+200B as character 6, which is invisible"],
    ["right to left", "\u202egnp.exe", "\\u202egnp.exe", "U+202E as character 1, which is invisible"],
    ["a byte order mark", "\ufeffa", "\\ufeffa", "U+FEFF as character 1, which is invisible"],
    ["a Hangul filler", "a\u3164", "a\\u3164", "U+3164 as character 2, which is invisible"],
    ["a tag", "a\u{e0061}", "a\\u{e0061}", "U+E0061 as character 2, which is invisible"],
    ["no character yet", "a\u0378", "a\\u0378", "U+0378 as character 2, which Unicode has not assigned"],
  ])("is written after a warning that shows it: %s", async (_, key, shown, what) => {
    const op = new Operation(bench.api);
    await op.preview(TYPE, { ...bench.address, __resourceName: "odd", entries: { [key]: "v" } });
    expect(op.said).toEqual([`edgeguard: KvEntries odd: +1 ~0 -0 (+${shown})`]);
    expect(op.warned).toEqual([
      `edgeguard: KvEntries odd: key "${shown}": key has ${what}: a Worker that reads the key as it looks won't find it`,
    ]);
    await up({ entries: { [key]: "v" } });
    expect(await listed()).toEqual([{ name: key }]);
  });

  test("is no emoji, and nothing of another alphabet", async () => {
    const op = new Operation(bench.api);
    const entries = { "straße/münchen": "1", "👩‍🚀/❤️/🏴󠁧󠁢󠁳󠁣󠁴󠁿": "2", "日本語/Ελλάδα": "3" };
    await op.preview(TYPE, { ...bench.address, entries });
    expect(op.warned).toEqual([]);
  });
});

describe("a number in metadata", () => {
  const LOST = "is a number that JSON numbers do not keep exactly; write it as a string";
  const written = (metadata: string): string => `[{"key":"a","value":"\\"v","metadata":${metadata}}]`;

  test.each([
    ['{"id":9007199254740993}', "metadata.id"],
    ['{"id":1e400}', "metadata.id"],
    ['{"id":1e-400}', "metadata.id"],
    ['{"n":[1,{"a b":0.12345678901234567890}]}', 'metadata.n[1]["a b"]'],
    ['{"s":"\\"{9","__proto__":{"n":-12345678901234567890}}', "metadata.__proto__.n"],
  ])("whose digits a double does not keep is refused by its place: %s", async (metadata, place) => {
    writeFileSync(FILE, written(metadata));
    expect(await refusals({ file: FILE })).toEqual([
      `file: ${FILE}: entry 1 (line 1, key "a"): ${place} ${LOST}`,
    ]);
  });

  test("that a double keeps is taken, however it is written", async () => {
    const numbers = [
      "9007199254740991",
      "-0",
      "0.1",
      "1.50",
      "1e21",
      "1E-7",
      "123456789012345e3",
      "5e-324",
      "0e999",
    ];
    writeFileSync(FILE, written(`{"n":[${numbers.join()}]}`));
    await up({ file: FILE });
    const metadata = { n: numbers.map((number) => Number(number) + 0) };
    expect(await listed()).toEqual([{ name: "a", metadata }]);
  });

  test("is refused in a program too, where its language has lost the digits before", async () => {
    const metadata = { n: [1, 2 ** 53] };
    expect(await refusals({ entries: { a: { value: "v", metadata } } })).toEqual([
      `entries: key "a": metadata.n[1] ${LOST}`,
    ]);
    expect(await refusals({ entries: {}, defaults: { metadata } })).toEqual([
      `entries: defaults.metadata.n[1] ${LOST}`,
    ]);
  });
});

test.each([
  ["objects", '{"a":', "}"],
  ["arrays", "[", "]"],
])("metadata nested without end in %s is refused", async (_, open, close) => {
  const depth = 100_000;
  const metadata = `{"m":${open.repeat(depth)}1${close.repeat(depth)}}`;
  writeFileSync(FILE, `[{"key":"a","value":"v","metadata":${metadata}}]`);
  expect(await refusals({ file: FILE })).toEqual([
    `file: ${FILE}: entry 1 (line 1, key "a"): metadata is nested deeper than its limit of 1,024 bytes allows`,
  ]);
});

/** Names that every object inherits something under. */
const NAMES = ["__proto__", "constructor", "hasOwnProperty", "prototype", "toString", "valueOf"];
const name = fc.constantFrom(...NAMES);

describe("names that every object inherits", () => {
  test("are keys and metadata members like any other, from every source", async () => {
    const sources = ["entries", "file", "directory"] as const;
    const given = fc.record({
      source: fc.constantFrom(...sources),
      keys: fc.uniqueArray(name, { minLength: 1 }),
      member: name,
    });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(given, async ({ source, keys, member }) => {
        bench.address = emptied(bench.api);
        const metadata: unknown = JSON.parse(`{"${member}":{"${member}":"m"}}`);
        const directory = join(bench.folder, `names-${(runs += 1)}`);
        mkdirSync(directory);
        for (const key of keys) writeFileSync(join(directory, key), `v ${key}`);
        const entries = keys.map((key) => ({ key, value: `v ${key}`, metadata }));
        writeFileSync(FILE, JSON.stringify(entries));
        const declared = {
          entries: { entries: Object.fromEntries(entries.map(({ key, ...entry }) => [key, entry])) },
          file: { file: FILE },
          directory: { directory, defaults: { metadata } },
        }[source];

        const recorded = await up(declared);
        const found = keys.map((key) => ({ name: key, metadata }));
        expect(await listed()).toEqual(found.sort((a, b) => (a.name < b.name ? -1 : 1)));
        for (const key of keys) expect(String(await valueOf(key))).toBe(`v ${key}`);

        bench.api.clearRequests();
        const op = new Operation(bench.api);
        expect((await op.preview(TYPE, { ...bench.address, ...declared }, recorded)).step).toBe("same");
        const refreshed = await op.refresh(TYPE, recorded);
        expect(refreshed?.outputs).toEqual(recorded.outputs);
        expect(sent(bench.api, "PUT")).toEqual([]);
        await up({ entries: {} }, recorded);
        expect(await listed()).toEqual([]);
      }),
      { numRuns: 12 },
    );
  });

  test("are no members of an entry", async () => {
    const stray: unknown = JSON.parse('{"value":"v","__proto__":1,"constructor":2}');
    expect(await refusals({ entries: { a: stray } })).toEqual(
      ["__proto__", "constructor"].map((member): unknown =>
        expect.stringContaining(`entries: key "a": there is no member "${member}". Members: `),
      ),
    );
    writeFileSync(FILE, '[{"__proto__":{"key":"a","value":"v"}}]');
    expect(await refusals({ file: FILE })).toEqual([
      expect.stringContaining('there is no member "__proto__"'),
      expect.stringContaining("has no key"),
      expect.stringContaining("has no value"),
    ]);
  });
});

test("text of control characters goes as base64, so that no body is larger than was meant", async () => {
  const value = "\0\u0001\u001f".repeat(500_000);
  const directory = join(bench.folder, "control");
  mkdirSync(directory);
  for (const key of ["a", "b", "c"]) writeFileSync(join(directory, key), value);
  writeFileSync(FILE, JSON.stringify([{ key: "a", value }]));

  let recorded = await up({ directory });
  expect((await valueOf("b")).equals(Buffer.from(value))).toBe(true);
  recorded = await up({ file: FILE, defaults: { expirationTtl: 600 } }, recorded);
  recorded = await up({ file: FILE }, recorded);
  expect((await valueOf("a")).equals(Buffer.from(value))).toBe(true);
  await up({ entries: { a: { value, metadata: { m: 1 } } } }, recorded);
  const bodies = bench.api.requests.flatMap(({ batch }) => (batch === undefined ? [] : [batch.bytes]));
  expect(bodies.length).toBeGreaterThan(3);
  expect(Math.max(...bodies)).toBeLessThan(8 * 1024 * 1024);
  expect(
    (await new Operation(bench.api).preview(TYPE, { ...bench.address, file: FILE }, recorded)).step,
  ).toBe("same");
});

test("a lifetime is counted by Cloudflare's clock: one that is minutes off this machine's is no drift", async () => {
  const ahead = await startLocalApi({ clock: () => new Date(Date.now() + 600_000) });
  const behind = await startLocalApi({ clock: () => new Date(Date.now() - 600_000) });
  try {
    for (const there of [ahead, behind]) {
      const inputs = {
        accountId: there.accounts.main,
        namespaceId: there.namespaces.existing,
        entries: { brief: { value: "v", expirationTtl: 120 }, long: { value: "v", expirationTtl: 7200 } },
      };
      const recorded = await new Operation(there).up(TYPE, inputs);
      there.advance(100_000);
      const refreshed = await new Operation(there).refresh(TYPE, recorded);
      expect(refreshed?.inputs).not.toHaveProperty("drift");
      there.advance(100_000); // The one has expired; the other has not been renewed.
      const later = await new Operation(there).refresh(TYPE, recorded);
      expect(later?.inputs).not.toHaveProperty("drift");
      expect((await new Operation(there).preview(TYPE, inputs, later)).step).toBe("same");
      const gone = `/accounts/${inputs.accountId}/storage/kv/namespaces/${inputs.namespaceId}/bulk/delete`;
      await rawSend(there, "POST", gone, ["long"]);
      const drifted = later && (await new Operation(there).refresh(TYPE, later));
      expect(drifted?.inputs).toMatchObject({ drift: "1 key gone: long" });
    }
  } finally {
    await ahead.close();
    await behind.close();
  }
});
