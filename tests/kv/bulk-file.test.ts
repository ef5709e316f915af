import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { folderPerFile } from "../support/bench";
import { Body, toRequest } from "../../provider/kv/batches";
import { readCatalog } from "../../provider/kv/catalog";
import { openSource } from "../../provider/kv/declaration";
import type { EntryDefaults } from "../../provider/kv/entry";
import { readItems } from "../../provider/kv/json-items";
import { parseJson } from "../../provider/basics/json";

/** A bulk file is split into entries in chunks, and each entry is sent as what it means. */

const FOLDER = folderPerFile("bulk");
const PATH = join(FOLDER, "f.json");

/** The items of a file that's read in chunks of `size` bytes. */
async function itemsOf(text: string, size: number): Promise<unknown[]> {
  const bytes = Buffer.from(text);
  const read = (into: Buffer, offset: number): Promise<Buffer> =>
    Promise.resolve(into.subarray(0, bytes.copy(into, 0, offset)));
  const found: unknown[] = [];
  for await (const items of readItems({ name: "f.json", read }, undefined, size))
    found.push(...items.map(({ value }) => value));
  return found;
}

const blank = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
/** Text in which quotes, backslashes and brackets are common, and which may be long. */
const text = fc.oneof(
  fc
    .array(fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", "\n", "é", "🙂", "x"), { maxLength: 12 })
    .map((parts) => parts.join("")),
  fc.nat(600).map((n) => '\\"x'.repeat(n)),
  fc.nat(600).map((n) => "x".repeat(n)),
);
const object = fc.dictionary(
  text,
  fc.oneof(
    text,
    fc.integer(),
    fc.boolean(),
    fc.array(text, { maxLength: 2 }),
    fc.dictionary(text, text, { maxKeys: 2 }),
  ),
  { maxKeys: 4 },
);

describe("a bulk file", () => {
  test("is read the same no matter where it's split into chunks", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(object, blank, blank)),
        blank,
        fc.integer({ min: 1, max: 300 }),
        async (all, edge, size) => {
          const entries = all.map(([entry]) => JSON.stringify(entry, null, edge.length));
          const body = all.map(([, before, after], i) => `${before}${entries[i] ?? ""}${after}`).join(",");
          const file = `${edge}[${body}]${edge}`;
          expect(await itemsOf(file, size)).toEqual(JSON.parse(file));
        },
      ),
      { numRuns: 200 },
    );
  });

  test("is any JSON array and nothing else", async () => {
    const file = '[{"a":"b\\\\"},{"c":{"d":[1,"}"]}},-0.5e3,true,[null,"\\u00e9\\n"]]';
    for (let i = 0; i < file.length; i += 1) {
      for (const other of ["", "x", '"', "{", "]", ",", "\\", "0", "-", ".", "e", ":", "\t", "\u0001"]) {
        const broken = `${file.slice(0, i)}${other}${file.slice(i + 1)}`;
        const parsed = parseJson(broken);
        const found = await itemsOf(broken, 7).catch(() => undefined);
        expect(found).toEqual(Array.isArray(parsed) ? parsed : undefined);
      }
    }
  });
});

interface Sent {
  readonly value: string;
  readonly base64?: true;
}

/** The stored value of text that was sent as base64 because that's shorter. */
function decoded({ base64, ...entry }: Sent): object {
  return base64 === undefined
    ? entry
    : { ...entry, value: Buffer.from(entry.value, "base64").toString("utf8") };
}

/** The body for all entries of a file. */
async function sentOf(content: string, defaults: EntryDefaults = {}): Promise<unknown> {
  writeFileSync(PATH, content);
  const source = openSource({ file: "f.json", defaults }, FOLDER);
  try {
    const catalog = await readCatalog(source);
    expect(catalog.problems).toEqual([]);
    const rows = [...catalog.rows.values()];
    const body = new Body(rows.map(({ sentBytes }) => sentBytes));
    await source.fill(body, rows);
    return JSON.parse(body.done().toString());
  } finally {
    await source.close?.();
  }
}

describe("the body of a bulk write", () => {
  test.each<[string, string, object, EntryDefaults]>([
    ["a duplicate member", '{"key":"x","key":"a","value":"v"}', { value: "v" }, {}],
    [
      "metadata with a duplicate member",
      '{"key":"a","value":"v","metadata":{"m":1,"m":2}}',
      { value: "v", metadata: { m: 2 } },
      {},
    ],
    [
      "null for members that aren't set",
      '{"key":"a","value":"v","metadata":null,"base64":null,"expiration":null}',
      { value: "v" },
      {},
    ],
    [
      "an expiration and a TTL",
      '{"key":"a","value":"v","expiration":4000000000,"expiration_ttl":6e1}',
      { value: "v", expiration_ttl: 60 },
      {},
    ],
    [
      "no metadata, but the resource has a default",
      '{"key":"a","value":"v"}',
      { value: "v", metadata: { d: 1 } },
      { metadata: { d: 1 } },
    ],
    [
      "neither metadata nor a TTL, but the resource has defaults for both",
      '{"key":"a","value":"v"}',
      { value: "v", metadata: { d: 1 }, expiration_ttl: 90 },
      { metadata: { d: 1 }, expirationTtl: 90 },
    ],
  ])("has what an entry means that has %s", async (_, entry, meant, defaults) => {
    expect(await sentOf(`[${entry}]`, defaults)).toEqual([{ key: "a", ...meant }]);
  });

  test("has the entries of the file", async () => {
    const control = fc.nat(300).map((n) => "\0\u001f".repeat(n));
    const value = fc.oneof(text, fc.string({ unit: "grapheme" }), control);
    const entry = fc.record(
      { value, metadata: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }) },
      { requiredKeys: ["value"] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 8 }), fc.nat(2), async (given, indent) => {
        const entries = given.map((one, i) => ({ key: `key-${i}`, ...one }));
        const body = await sentOf(JSON.stringify(entries, null, indent));
        expect(body).toEqual(
          entries.map((one) => JSON.parse(JSON.stringify(toRequest({ base64: false, ...one }))) as object),
        );
        expect((body as Sent[]).map(decoded)).toEqual(entries);
      }),
      { numRuns: 60 },
    );
  });

  test("can have entries that are far apart in a long file", async () => {
    const entries = Array.from({ length: 40 }, (_, i) => ({ key: `k${i}`, value: `${i}`.repeat(60_000) }));
    writeFileSync(PATH, JSON.stringify(entries));
    const source = openSource({ file: "f.json" }, FOLDER);
    const catalog = await readCatalog(source);
    const some = [0, 1, 17, 18, 30, 39];
    const rows = [...catalog.rows.values()].filter((_, i) => some.includes(i));
    const body = new Body(rows.map(({ sentBytes }) => sentBytes));
    await source.fill(body, rows);
    await source.close?.();
    expect(JSON.parse(body.done().toString())).toEqual(some.map((i) => entries[i]));
  });
});
