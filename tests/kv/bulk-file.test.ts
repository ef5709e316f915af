import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { folderPerFile } from "../support/bench";
import { Body, toRequest } from "../../provider/kv/batches";
import { readCatalog } from "../../provider/kv/catalog";
import { openSource } from "../../provider/kv/declaration";
import type { EntryDefaults } from "../../provider/kv/entry";
import { ItemScanner, Mistake } from "../../provider/kv/json-items";

/** A bulk file is split into entries in pieces, and each entry is sent unchanged if possible. */

const FOLDER = folderPerFile("bulk");
const PATH = join(FOLDER, "f.json");

/** The items that the scanner finds in pieces of `piece` bytes. */
function scanned(file: Buffer, piece: number): string[] {
  const scanner = new ItemScanner();
  const texts: string[] = [];
  let at = 0;
  for (let end = piece; ; end += piece) {
    const isLast = end >= file.length;
    at = scanner.scan(file.subarray(0, end), at, isLast, ({ text }) => texts.push(text));
    if (isLast) return texts;
  }
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

describe("the JSON scanner", () => {
  test.each(["", "[", '[{"key":'])("stops early at invalid JSON after %j", (start) => {
    const scanner = new ItemScanner();
    const first = Buffer.from(start + "A".repeat(10_000));
    expect(() => scanner.scan(first, 0, false, () => undefined)).toThrow(Mistake);
  });

  test("finds the entries of any array of objects, no matter where chunks are split", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(object, blank, blank)),
        blank,
        fc.integer({ min: 1, max: 300 }),
        (all, edge, piece) => {
          const entries = all.map(([entry]) => JSON.stringify(entry, null, edge.length));
          const body = all.map(([, before, after], i) => `${before}${entries[i] ?? ""}${after}`).join(",");
          expect(scanned(Buffer.from(`${edge}[${body}]${edge}`), piece)).toEqual(entries);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("accepts any JSON array and nothing else", () => {
    const file = '[{"a":"b\\\\"},{"c":{"d":[1,"}"]}},-0.5e3,true,[null,"\\u00e9\\n"]]';
    for (let i = 0; i < file.length; i += 1) {
      for (const other of ["", "x", '"', "{", "]", ",", "\\", "0", "-", ".", "e", ":", "\t", "\u0001"]) {
        const broken = `${file.slice(0, i)}${other}${file.slice(i + 1)}`;
        if (broken === file) continue;
        let parsed: unknown;
        try {
          parsed = JSON.parse(broken);
        } catch {
          parsed = undefined;
        }
        let found: unknown;
        try {
          found = scanned(Buffer.from(broken), 7).map((entry) => JSON.parse(entry) as unknown);
        } catch {
          found = undefined;
        }
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

/** The body for all entries of a file, and how many of them are sent unchanged. */
async function sentOf(
  content: string,
  defaults: EntryDefaults = {},
): Promise<{ body: unknown; text: string; asIs: number }> {
  writeFileSync(PATH, content);
  const source = openSource({ file: "f.json", defaults }, FOLDER);
  try {
    const catalog = await readCatalog(source);
    expect(catalog.problems).toEqual([]);
    const rows = [...catalog.rows.values()];
    const body = new Body(rows.map(({ sentBytes }) => sentBytes));
    await source.fill(body, rows);
    const text = body.done().toString();
    return { body: JSON.parse(text), text, asIs: rows.filter(({ isAsIs }) => isAsIs).length };
  } finally {
    await source.close?.();
  }
}

describe("the body of a bulk write", () => {
  test("contains the entries exactly as they are in the file", async () => {
    const entries = [
      '{"key":"a","value":"\\u00e9 \\"é🙂\\" \\/"}',
      '{ "value" : "AAH/", "base64" : true,\n  "key" : "b" }',
      '{"key":"c","value":"v","metadata":{"n":[1,{"m":1.50}]},"base64":false}',
    ];
    const { text, asIs } = await sentOf(`[\n${entries.join(" ,\n\n")}\n]\n`);
    expect(text).toBe(`[${entries.join(",")}]`);
    expect(asIs).toBe(3);
  });

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
  ])("isn't copied from the file if an entry has %s", async (_, entry, meant, defaults) => {
    const { body, asIs } = await sentOf(`[${entry}]`, defaults);
    expect(body).toEqual([{ key: "a", ...meant }]);
    expect(asIs).toBe(0);
  });

  test("has the same entries whether they're copied from the file or not", async () => {
    const control = fc.nat(300).map((n) => "\0\u001f".repeat(n));
    const value = fc.oneof(text, fc.string({ unit: "grapheme" }), control);
    const entry = fc.record(
      { value, metadata: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }) },
      { requiredKeys: ["value"] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 8 }), fc.nat(2), async (given, indent) => {
        const entries = given.map((one, i) => ({ key: `key-${i}`, ...one }));
        const { body, asIs } = await sentOf(JSON.stringify(entries, null, indent));
        expect(body).toEqual(
          entries.map((one) => JSON.parse(JSON.stringify(toRequest({ base64: false, ...one }))) as object),
        );
        expect((body as Sent[]).map(decoded)).toEqual(entries);
        expect(asIs).toBe((body as Sent[]).filter(({ base64 }) => base64 === undefined).length);
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
