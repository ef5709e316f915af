import { createHash } from "node:crypto";
import { catalogOf, type Catalog, type Row } from "../../provider/kv/catalog";
import { digest, type Entry, type RecordedEntry, recordOf } from "../../provider/kv/entry";
import { decodeManifest, encodeManifest, type Manifest } from "../../provider/kv/manifest";
import { compare } from "../../provider/kv/converge";
import { summaryOf } from "../../provider/kv/impact";
import { openSource } from "../../provider/kv/declaration";
import { LISTED } from "../../provider/runtime/impact";

/** Repeatable numbers, so that a failing run can be repeated. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function anyRecord(below: (n: number) => number): RecordedEntry {
  return {
    value: digest(String(below(1e9))),
    ...(below(2) === 0 ? {} : { metadata: digest(String(below(5))) }),
    ...(below(2) === 0 ? {} : { expiration: below(2) === 0 ? below(100) : 1_700_000_000 + below(2e9) }),
    ...(below(3) === 0 ? { ttl: 60 + below(1e7) } : {}),
  };
}

function anyKey(below: (n: number) => number): string {
  const alphabets = ["ab", "0123456789", "é日本語ß", "🙂👩‍👩‍👧🏴", '!"\\/%~{}'];
  const prefix = below(2) === 0 ? "" : "the/same/long/prefix/of/many/keys/".repeat(below(8));
  const alphabet = Array.from(alphabets[below(alphabets.length)] ?? "");
  return (
    prefix + Array.from({ length: 1 + below(12) }, () => alphabet[below(alphabet.length)] ?? "").join("")
  );
}

const byKey = (map: Iterable<[string, RecordedEntry]>): [string, RecordedEntry][] =>
  [...map].sort(([a], [b]) => (a < b ? -1 : 1));

describe("the manifest", () => {
  test("can be empty", async () => {
    const back = await decodeManifest(await encodeManifest(new Map()));
    expect([back.size, [...back]]).toEqual([0, []]);
  });

  test("behaves like a map of its entries, even after encoding and decoding", async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const below = random(seed);
      const expected = new Map<string, RecordedEntry>();
      let manifest: Manifest = new Map();
      for (let step = 0; step < 400; step += 1) {
        const known = [...expected.keys()];
        const key = known.length > 0 && below(3) === 0 ? (known[below(known.length)] ?? "") : anyKey(below);
        if (below(4) === 0) {
          expect(manifest.delete(key)).toBe(expected.delete(key));
        } else {
          const record = anyRecord(below);
          manifest.set(key, record);
          expected.set(key, record);
        }
        if (below(100) === 0) manifest = await decodeManifest(await encodeManifest(manifest));
      }
      expect(manifest.size).toBe(expected.size);
      for (const [key, record] of expected) expect(manifest.get(key)).toEqual(record);
      expect(manifest.has("no such key")).toBe(false);
      expect(manifest.get("no such key")).toBeUndefined();
      // Equal content gives equal text, in any order.
      const text = await encodeManifest(manifest);
      const back = await decodeManifest(text);
      expect([...back]).toEqual(byKey(expected));
      const reversed: Manifest = new Map();
      for (const [key, record] of [...expected].reverse()) reversed.set(key, record);
      expect(await encodeManifest(reversed)).toBe(text);
      expect(await encodeManifest(back)).toBe(text);
    }
  });

  test("can hold keys of the maximum length and the latest possible times", async () => {
    const record = { value: digest("v"), expiration: 253_402_300_799, ttl: 253_402_300_799 };
    const keys = ["a", "é".repeat(256), "x".repeat(512), `${"x".repeat(511)}y`, "🙂".repeat(128)];
    const manifest: Manifest = new Map();
    for (const key of keys)
      manifest.set(key, record).set(`${key.slice(0, 3)}-`, { value: record.value, expiration: 0 });
    const back = await decodeManifest(await encodeManifest(manifest));
    expect(byKey(back)).toEqual(byKey(manifest));
    for (const key of keys) expect(back.get(key)).toEqual(record);
  });

  test("is refused if it was truncated or changed anywhere", async () => {
    const manifest: Manifest = new Map();
    for (let i = 0; i < 20; i += 1) manifest.set(`key:${i}`, { value: digest(String(i)) });
    const text = await encodeManifest(manifest);
    const bytes = Buffer.from(text, "base64");
    const damaged = ["", "{}", "AQ==", text.slice(0, -4), text.slice(0, 40), text.slice(4), `${text}AAAA`];
    for (let i = 0; i < bytes.length; i += 7) {
      const copy = Buffer.from(bytes);
      copy.writeUInt8(copy.readUInt8(i) ^ 1, i);
      damaged.push(copy.toString("base64"));
    }
    for (const bad of damaged) {
      await expect(decodeManifest(bad)).rejects.toThrow(
        /^The manifest \(the record of written keys\) in the state is damaged: its checksum doesn't match, so it was truncated or changed\. Restore the state/,
      );
    }
  });

  test("is refused if its format is newer, and the error names both formats", async () => {
    const bytes = Buffer.from(await encodeManifest(new Map()), "base64").subarray(0, -8);
    bytes.writeUInt8(2, 0);
    const sum = createHash("sha256").update(bytes).digest().subarray(0, 8);
    await expect(decodeManifest(Buffer.concat([bytes, sum]).toString("base64"))).rejects.toThrow(
      "The manifest (the record of written keys) in the state has format 2, but this version of pulumi-edgeguard reads only format 1.",
    );
  });

  test("is refused if its content is unexpected, without quoting the parser's error", async () => {
    const body = Buffer.concat([Buffer.from([1, 0, 0, 0, 4]), Buffer.from("none")]);
    const sum = createHash("sha256").update(body).digest().subarray(0, 8);
    const text = Buffer.concat([body, sum]).toString("base64");
    await expect(decodeManifest(text)).rejects.toThrow(
      /^This version of pulumi-edgeguard can't read the manifest \(the record of written keys\) in the state\. Install/,
    );
  });

  test.each([1_000, 20_000])("takes less than 40 characters per key with %i realistic keys", async (keys) => {
    const manifest: Manifest = new Map();
    for (let i = 0; i < keys; i += 1) {
      manifest.set(`catalog:product:${createHash("sha1").update(String(i)).digest("hex").slice(0, 12)}`, {
        value: digest(String(i)),
        metadata: digest(String(i % 10)),
      });
    }
    const before = process.memoryUsage().rss;
    const text = await encodeManifest(manifest);
    const back = await decodeManifest(text);
    console.log(
      `manifest of ${keys} keys: ${(text.length / keys).toFixed(1)} characters a key, resident memory +${((process.memoryUsage().rss - before) / 2 ** 20).toFixed(0)} MB`,
    );
    expect(back.size).toBe(keys);
    expect(text.length / keys).toBeLessThan(40);
  });
});

const NOW = 1_800_000_000;

type Written = Partial<Entry> & { readonly key: string };

/** The catalog of inline entries. */
async function declared(...entries: Written[]): Promise<Catalog> {
  const program = entries.map(({ key, value = "v", ...rest }): [string, object] => [key, { value, ...rest }]);
  const catalog = await catalogOf(openSource({ entries: Object.fromEntries(program) }, "/"));
  expect(catalog.problems).toEqual([]);
  return catalog;
}

function written(...entries: Written[]): Manifest {
  const manifest: Manifest = new Map();
  for (const entry of entries) manifest.set(entry.key, recordOf({ value: "v", base64: false, ...entry }));
  return manifest;
}

const keysOf = (rows: readonly Row[]) => rows.map(({ key }) => key);

describe("the comparison of entries with what was written", () => {
  test("finds added, changed and removed entries", async () => {
    const manifest = written({ key: "same" }, { key: "differs" }, { key: "gone" }, { key: "meta" });
    const catalog = await declared(
      { key: "new" },
      { key: "same" },
      { key: "differs", value: "w" },
      { key: "meta", metadata: { a: 1 } },
    );
    const plan = compare(catalog, manifest, NOW);
    expect(keysOf(plan.writes)).toEqual(["new", "differs", "meta"]);
    expect(plan).toMatchObject({
      added: ["new"],
      changed: ["differs", "meta"],
      removed: ["gone"],
      unchanged: 1,
      past: 0,
    });
  });

  test("finds a difference in every part of an entry", async () => {
    const entry = { key: "k", metadata: { a: 1 }, expirationTtl: 60 };
    const others: Written[] = [
      { ...entry, value: "w" },
      { ...entry, metadata: { a: 2 } },
      { key: "k", expirationTtl: 60 },
      { ...entry, expirationTtl: 61 },
      { key: "k", metadata: { a: 1 } },
      { key: "k", metadata: { a: 1 }, expiration: NOW + 600 },
    ];
    const manifest = written(entry);
    expect(compare(await declared(entry), manifest, NOW).unchanged).toBe(1);
    for (const other of others) expect(compare(await declared(other), manifest, NOW).changed).toEqual(["k"]);
    const timed = written({ key: "k", expiration: NOW + 600 });
    expect(compare(await declared({ key: "k", expiration: NOW + 600 }), timed, NOW).unchanged).toBe(1);
    expect(compare(await declared({ key: "k", expiration: NOW + 601 }), timed, NOW).changed).toEqual(["k"]);
    expect(compare(await declared({ key: "k" }), timed, NOW).changed).toEqual(["k"]);
  });

  test("treats base64 and text of the same bytes as equal, and equal TTLs as equal even if they end at different times", async () => {
    const manifest = written({ key: "a", value: "AAE=", base64: true });
    manifest.set("ttl", {
      ...recordOf({ key: "ttl", value: "v", base64: false, expirationTtl: 60 }),
      expiration: 5,
    });
    const catalog = await declared({ key: "a", value: "\0\x01" }, { key: "ttl", expirationTtl: 60 });
    expect(compare(catalog, manifest, NOW)).toMatchObject({ writes: [], removed: [], unchanged: 2 });
  });

  test("finds nothing to write or remove for an expired entry", async () => {
    const manifest = written({ key: "old", expiration: NOW - 1 }, { key: "changed", expiration: NOW - 1 });
    const catalog = await declared(
      { key: "old", expiration: NOW - 1 },
      { key: "changed", value: "w", expiration: NOW + 59 },
      { key: "never", expiration: 0 },
      { key: "ahead", expiration: NOW + 60 },
    );
    expect(compare(catalog, manifest, NOW)).toMatchObject({
      added: ["ahead"],
      changed: [],
      removed: [],
      past: 3,
    });
  });

  test("removes the keys of expired entries, except those that expired by themselves", async () => {
    const manifest = written(
      { key: "forever" },
      { key: "longer", expiration: NOW + 600 },
      { key: "timed", expirationTtl: 600 },
      { key: "over", expiration: NOW - 600 },
    );
    const catalog = await declared(...[...manifest.keys()].map((key) => ({ key, expiration: NOW - 1 })));
    const plan = compare(catalog, manifest, NOW);
    expect(plan).toMatchObject({ writes: [], removed: ["forever", "longer", "timed"], past: 4 });
  });

  test("finds no changes once everything is written and recorded", async () => {
    const keys = Array.from({ length: 500 }, (_, i) => ({ key: `k${i}` }));
    const manifest = written(...keys.slice(0, 200), { key: "gone" });
    const catalog = await declared(...keys.map((k, i) => (i % 2 === 0 ? { ...k, value: "w" } : k)));
    const plan = compare(catalog, manifest, NOW);
    for (const row of plan.writes) manifest.set(row.key, row);
    for (const key of plan.removed) manifest.delete(key);
    expect([plan.writes.length, plan.removed, manifest.size]).toEqual([400, ["gone"], 500]);
    const again = compare(catalog, await decodeManifest(await encodeManifest(manifest)), NOW);
    expect(again).toMatchObject({ writes: [], removed: [], unchanged: 500 });
  });
});

describe("the preview's summary line", () => {
  const many = (count: number, letter: string): string[] =>
    Array.from({ length: count }, (_, i) => `${letter}${i}`);

  test.each<[string, string[], string[], string[], string]>([
    ["a few keys", ["a", "b"], [], ["c"], "+2 ~0 -1 (+a, +b, -c)"],
    ["no keys if nothing changes", [], [], [], "+0 ~0 -0"],
    [
      "ten of many keys of each kind",
      many(12_000, "a"),
      many(3, "c"),
      many(1, "r"),
      "+12000 ~3 -1 (+a0, +a1, +a2, +a3, +a4, +a5, +a6, +a7, +a8, +a9, ~c0, ~c1, ~c2, -r0 …)",
    ],
    ["the start of a long key", ["k".repeat(150)], [], [], `+1 ~0 -0 (+${"k".repeat(99)}…)`],
  ])("shows %s", (_title, added, changed, removed, expected) => {
    const lists = { added: LISTED.of(added), changed: LISTED.of(changed), removed: LISTED.of(removed) };
    expect(summaryOf(lists)).toBe(expected);
  });
});
