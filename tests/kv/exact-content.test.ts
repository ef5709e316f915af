import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import fc from "fast-check";
import { startLocalApi } from "edgeguard-local";
import { KV } from "../../provider/limits";
import { Operation, rawGet, rawSend, sent } from "../support/operation";
import { emptyNamespace } from "./upload-support";
import { EntriesSetup, TYPE } from "./entries-setup";

/** Entries are stored exactly as declared, or refused. */

const setup = new EntriesSetup("exact");
const { up } = setup;
const FILE = join(setup.folder, "f.json");

const refusals = (inputs: object) => new Operation(setup.api).refusals(TYPE, { ...setup.address, ...inputs });
const PATH = `/accounts/${setup.address.accountId}/storage/kv/namespaces/${setup.address.namespaceId}`;
const listed = async (): Promise<unknown> => (await rawGet(setup.api, `${PATH}/keys`))["result"];

afterEach(() => void jest.restoreAllMocks());

async function valueOf(key: string): Promise<Buffer> {
  const response = await fetch(`${setup.api.url}${PATH}/values/${encodeURIComponent(key)}`, {
    headers: { authorization: "Bearer local-token" },
  });
  return Buffer.from(await response.arrayBuffer());
}

describe("special files", () => {
  const pipe = join(setup.folder, "pipe");
  const socket = join(setup.folder, "socket");
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
  ])("are refused as the source file: %s", async (_, given) => {
    expect(await refusals({ file: given })).toEqual([
      `file: ${given} can't be read: it is a pipe, socket or device, not a regular file (full path: ${given})`,
    ]);
  });

  test("are refused inside the source directory, and in place of the directory itself", async () => {
    const directory = join(setup.folder, "special");
    mkdirSync(directory);
    execFileSync("mkfifo", [join(directory, "pipe")]);
    expect(await refusals({ directory })).toEqual([
      `directory: ${directory}: file "pipe" (key "pipe"): is not a regular file; add it to \`ignore\``,
    ]);
    expect(await refusals({ directory: pipe })).toEqual([
      `directory: ${pipe} is not a directory; \`directory\` takes a directory with one file per key`,
    ]);
  });
});

test("invisible characters in keys are shown escaped", async () => {
  const op = new Operation(setup.api);
  await op.preview(TYPE, { ...setup.address, __resourceName: "odd", entries: { "price\u200b": "v" } });
  expect(op.said).toEqual(["edgeguard: KvEntries odd: +1 ~0 -0 (+price\\u200b)"]);
});

describe("numbers in metadata", () => {
  const lost = (name: string): string =>
    `metadata has a number ("${name}") that loses digits in JSON; write it as a string`;
  const written = (metadata: string): string => `[{"key":"a","value":"\\"v","metadata":${metadata}}]`;

  test.each([
    ['{"id":9007199254740993}', "id"],
    ['{"id":1e400}', "id"],
    ['{"n":[1,{"a b":1e21}]}', "a b"],
    ['{"s":"\\"{9","__proto__":{"n":-12345678901234567890}}', "n"],
  ])("are refused if they'd lose digits as a double: %s", async (metadata, name) => {
    writeFileSync(FILE, written(metadata));
    expect(await refusals({ file: FILE })).toEqual([
      `file: ${FILE}: entry 1 (line 1, key "a"): ${lost(name)}`,
    ]);
  });

  test("are accepted if they're safe integers or fractions, however they're written", async () => {
    const numbers = ["9007199254740991", "-0", "0.1", "1.50", "1E-7", "123456789012e3", "5e-324", "0e999"];
    writeFileSync(FILE, written(`{"n":[${numbers.join()}]}`));
    await up({ file: FILE });
    const metadata = { n: numbers.map((number) => Number(number) + 0) };
    expect(await listed()).toEqual([{ name: "a", metadata }]);
  });

  test("are also refused in a program if JavaScript may already have rounded them", async () => {
    const metadata = { n: [1, 2 ** 53] };
    expect(await refusals({ entries: { a: { value: "v", metadata } } })).toEqual([
      `entries: key "a": ${lost("1")}`,
    ]);
    expect(await refusals({ entries: {}, defaults: { metadata } })).toEqual([
      `entries: defaults.${lost("1")}`,
    ]);
  });
});

test.each([
  ["objects", '{"a":', "}"],
  ["arrays", "[", "]"],
])("refuses deeply nested metadata: %s", async (_, open, close) => {
  const depth = 100_000;
  const metadata = `{"m":${open.repeat(depth)}1${close.repeat(depth)}}`;
  writeFileSync(FILE, `[{"key":"a","value":"v","metadata":${metadata}}]`);
  expect(await refusals({ file: FILE })).toEqual([
    `file: ${FILE}: entry 1 (line 1, key "a"): metadata is nested too deeply to fit in 1,024 bytes`,
  ]);
});

/** Names of inherited members of every object. */
const NAMES = ["__proto__", "constructor", "hasOwnProperty", "prototype", "toString", "valueOf"];
const name = fc.constantFrom(...NAMES);

describe("keys named like inherited properties", () => {
  test("are written like any other keys and metadata, from every source", async () => {
    const sources = ["entries", "file", "directory"] as const;
    const given = fc.record({
      source: fc.constantFrom(...sources),
      keys: fc.uniqueArray(name, { minLength: 1 }),
      member: name,
    });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(given, async ({ source, keys, member }) => {
        emptyNamespace(setup.api);
        const metadata: unknown = JSON.parse(`{"${member}":{"${member}":"m"}}`);
        const directory = join(setup.folder, `names-${(runs += 1)}`);
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

        setup.api.clearRequests();
        const op = new Operation(setup.api);
        expect((await op.preview(TYPE, { ...setup.address, ...declared }, recorded)).step).toBe("same");
        const refreshed = await op.refresh(TYPE, recorded);
        expect(refreshed?.outputs).toEqual(recorded.outputs);
        expect(sent(setup.api, "PUT")).toEqual([]);
        await up({ entries: {} }, recorded);
        expect(await listed()).toEqual([]);
      }),
      { numRuns: 12 },
    );
  });

  test("never set an entry's properties through its prototype", async () => {
    const stray: unknown = JSON.parse('{"value":"v","__proto__":1,"constructor":2}');
    expect(await refusals({ entries: { a: stray } })).toEqual(
      ["__proto__", "constructor"].map((member): unknown =>
        expect.stringContaining(`entries: key "a": unknown property "${member}"; use one of: `),
      ),
    );
    writeFileSync(FILE, '[{"__proto__":{"key":"a","value":"v"}}]');
    expect(await refusals({ file: FILE })).toEqual([
      expect.stringContaining('unknown property "__proto__"'),
      expect.stringContaining("key is missing"),
      expect.stringContaining("value is missing"),
    ]);
  });
});

test("an entry of a file gets the defaults, even if its text has the size of what's sent", async () => {
  const wanted = '{"key":"sized","value":"v","metadata":{"n":1}}';
  const text = '{"key":"sized","value":"v"}';
  writeFileSync(FILE, `[${text.replace(",", "," + " ".repeat(wanted.length - text.length))}]`);
  await up({ file: FILE, adopt: "takeOver", defaults: { metadata: { n: 1 } } });
  expect(await listed()).toContainEqual({ name: "sized", metadata: { n: 1 } });
});

test("sends control characters as base64 to keep bodies under the size limit", async () => {
  const limit = KV.BATCH_BYTES / 16; // Values and limit of a sixteenth behave the same.
  jest.replaceProperty(KV, "BATCH_BYTES", limit);
  const value = "\0\u0001\u001f".repeat(500_000 / 16);
  const directory = join(setup.folder, "control");
  mkdirSync(directory);
  for (const key of ["a", "b", "c"]) writeFileSync(join(directory, key), value);
  writeFileSync(FILE, JSON.stringify([{ key: "a", value }]));

  let recorded = await up({ directory });
  expect((await valueOf("b")).equals(Buffer.from(value))).toBe(true);
  recorded = await up({ file: FILE, defaults: { expirationTtl: 600 } }, recorded);
  recorded = await up({ file: FILE }, recorded);
  expect((await valueOf("a")).equals(Buffer.from(value))).toBe(true);
  await up({ entries: { a: { value, metadata: { m: 1 } } } }, recorded);
  const bodies = setup.api.requests.flatMap(({ batch }) => (batch === undefined ? [] : [batch.bytes]));
  expect(bodies.length).toBeGreaterThan(3);
  expect(Math.max(...bodies)).toBeLessThan(limit);
  expect(
    (await new Operation(setup.api).preview(TYPE, { ...setup.address, file: FILE }, recorded)).step,
  ).toBe("same");
});

test("reports no TTL drift if Cloudflare's clock is minutes ahead of this machine's, or behind it", async () => {
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
      there.advance(100_000); // One has expired; the other still has its first TTL.
      const later = await new Operation(there).refresh(TYPE, recorded);
      expect(later?.inputs).not.toHaveProperty("drift");
      expect((await new Operation(there).preview(TYPE, inputs, later)).step).toBe("same");
      const gone = `/accounts/${inputs.accountId}/storage/kv/namespaces/${inputs.namespaceId}/bulk/delete`;
      await rawSend(there, "POST", gone, ["long"]);
      const drifted = later && (await new Operation(there).refresh(TYPE, later));
      expect(drifted?.inputs).toMatchObject({ drift: "1 key missing: long" });
    }
  } finally {
    await ahead.close();
    await behind.close();
  }
});
