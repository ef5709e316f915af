import { createHash } from "node:crypto";
import type { Entry, Recorded } from "../../provider/kv/entry";
import { digest, recordOf } from "../../provider/kv/entry";
import { Manifest, ManifestError } from "../../provider/kv/manifest";
import { compare, line, type Tally } from "../../provider/kv/plan";

/** The same numbers for the same seed: a run that fails can be repeated. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function anyRecord(below: (n: number) => number): Recorded {
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

const byBytes = (map: Iterable<[string, Recorded]>): [string, Recorded][] =>
  [...map].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

describe("a manifest", () => {
  test("of nothing comes back as nothing", async () => {
    const back = await Manifest.decode(await new Manifest().encode());
    expect([back.size, [...back]]).toEqual([0, []]);
  });

  test("behaves as a map through sets, deletions and encodings, whatever the keys", async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const below = random(seed);
      const expected = new Map<string, Recorded>();
      let manifest = new Manifest();
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
        if (below(100) === 0) manifest = await Manifest.decode(await manifest.encode());
      }
      expect(manifest.size).toBe(expected.size);
      for (const [key, record] of expected) expect(manifest.get(key)).toEqual(record);
      expect(manifest.has("no such key")).toBe(false);
      expect(manifest.get("no such key")).toBeUndefined();
      // Equal content is equal text, in whatever order it was made.
      const text = await manifest.encode();
      const back = await Manifest.decode(text);
      expect([...back]).toEqual(byBytes(expected));
      const reversed = new Manifest();
      for (const [key, record] of [...expected].reverse()) reversed.set(key, record);
      expect(await reversed.encode()).toBe(text);
      expect(await back.encode()).toBe(text);
    }
  });

  test("keeps keys at the limits of length, and the largest times", async () => {
    const record = { value: digest("v"), expiration: 253_402_300_799, ttl: 253_402_300_799 };
    const keys = ["a", "é".repeat(256), "x".repeat(512), `${"x".repeat(511)}y`, "🙂".repeat(128)];
    const manifest = new Manifest();
    for (const key of keys)
      manifest.set(key, record).set(`${key.slice(0, 3)}-`, { value: record.value, expiration: 0 });
    const back = await Manifest.decode(await manifest.encode());
    expect(byBytes(back)).toEqual(byBytes(manifest));
    for (const key of keys) expect(back.get(key)).toEqual(record);
  });

  test("that was cut off or altered anywhere is refused with one sentence", async () => {
    const manifest = new Manifest();
    for (let i = 0; i < 20; i += 1) manifest.set(`key:${i}`, { value: digest(String(i)) });
    const text = await manifest.encode();
    const bytes = Buffer.from(text, "base64");
    const damaged = ["", "{}", "AQ==", text.slice(0, -4), text.slice(0, 40), text.slice(4), `${text}AAAA`];
    for (let i = 0; i < bytes.length; i += 7) {
      const copy = Buffer.from(bytes);
      copy.writeUInt8(copy.readUInt8(i) ^ 1, i);
      damaged.push(copy.toString("base64"));
    }
    for (const bad of damaged) {
      await expect(Manifest.decode(bad)).rejects.toThrow(ManifestError);
      await expect(Manifest.decode(bad)).rejects.toThrow(
        /^The manifest in the state is damaged: its checksum does not match, so it was cut off or altered\. Restore the state/,
      );
    }
  });

  test("of a later format names both formats", async () => {
    const bytes = Buffer.from(await new Manifest().encode(), "base64").subarray(0, -8);
    bytes.writeUInt8(2, 0);
    const sum = createHash("sha256").update(bytes).digest().subarray(0, 8);
    await expect(Manifest.decode(Buffer.concat([bytes, sum]).toString("base64"))).rejects.toThrow(
      "The manifest in the state has format 2; this version of pulumi-edgeguard reads format 1.",
    );
  });

  test.each([1_000, 100_000])("of %i realistic keys is small, and quick to read and write", async (keys) => {
    const manifest = new Manifest();
    for (let i = 0; i < keys; i += 1) {
      manifest.set(`catalog:product:${createHash("sha1").update(String(i)).digest("hex").slice(0, 12)}`, {
        value: digest(String(i)),
        metadata: digest(String(i % 10)),
      });
    }
    const before = process.memoryUsage().rss;
    const start = performance.now();
    const text = await manifest.encode();
    const encoded = performance.now();
    const back = await Manifest.decode(text);
    const decoded = performance.now();
    console.log(
      `manifest of ${keys} keys: ${(text.length / keys).toFixed(1)} characters a key, encoded in ${(encoded - start).toFixed(0)} ms, decoded in ${(decoded - encoded).toFixed(0)} ms, resident memory +${((process.memoryUsage().rss - before) / 2 ** 20).toFixed(0)} MB`,
    );
    expect(back.size).toBe(keys);
    expect(text.length / keys).toBeLessThan(40);
    expect(decoded - start).toBeLessThan(5_000);
  });
});

const NOW = 1_800_000_000;

// eslint-disable-next-line @typescript-eslint/require-await -- a source is asynchronous
async function* declared(...entries: (Partial<Entry> & { key: string })[]): AsyncGenerator<Entry> {
  for (const entry of entries) yield { value: "v", base64: false, ...entry };
}

async function written(...entries: (Partial<Entry> & { key: string })[]): Promise<Manifest> {
  const manifest = new Manifest();
  for await (const entry of declared(...entries)) manifest.set(entry.key, recordOf(entry));
  return manifest;
}

describe("the comparison with what was written", () => {
  test("gives what is new and what differs, then what is declared no more", async () => {
    const manifest = await written({ key: "same" }, { key: "differs" }, { key: "gone" }, { key: "meta" });
    const comparison = compare(
      declared(
        { key: "new" },
        { key: "same" },
        { key: "differs", value: "w" },
        { key: "meta", metadata: { a: 1 } },
      ),
      manifest,
      NOW,
    );
    const writes: string[] = [];
    for await (const { entry, kind } of comparison) writes.push(`${kind} ${entry.key}`);
    expect(writes).toEqual(["add new", "change differs", "change meta"]);
    expect([...comparison.removed()]).toEqual(["gone"]);
    expect(comparison.unchanged).toBe(1);
    expect(comparison.changes()).toEqual({
      added: { count: 1, first: ["new"] },
      changed: { count: 2, first: ["differs", "meta"] },
      removed: { count: 1, first: ["gone"] },
    });
  });

  test("finds base64 and text of the same bytes the same, and a lifetime the same whenever it ends", async () => {
    const manifest = await written({ key: "a", value: "AAE=", base64: true });
    manifest.set("ttl", {
      ...recordOf({ key: "ttl", value: "v", base64: false, expirationTtl: 60 }),
      expiration: 5,
    });
    const comparison = compare(
      declared({ key: "a", value: "\0\x01" }, { key: "ttl", expirationTtl: 60 }),
      manifest,
      NOW,
    );
    expect(await comparison.finish()).toMatchObject({
      added: { count: 0 },
      changed: { count: 0 },
      removed: { count: 0 },
    });
  });

  test("never gives an entry whose expiry has passed, nor removes its key", async () => {
    const manifest = await written(
      { key: "old", expiration: NOW - 1 },
      { key: "changed", expiration: NOW - 1 },
    );
    const comparison = compare(
      declared(
        { key: "old", expiration: NOW - 1 },
        { key: "changed", value: "w", expiration: NOW + 59 },
        { key: "never", expiration: 0 },
        { key: "ahead", expiration: NOW + 60 },
      ),
      manifest,
      NOW,
    );
    expect(await comparison.finish()).toEqual({
      added: { count: 1, first: ["ahead"] },
      changed: { count: 0, first: [] },
      removed: { count: 0, first: [] },
    });
    expect(comparison.past).toBe(3);
  });

  test("stays true while the manifest is brought up to date", async () => {
    const keys = Array.from({ length: 500 }, (_, i) => ({ key: `k${i}` }));
    const manifest = await written(...keys.slice(0, 200), { key: "gone" });
    const comparison = compare(
      declared(...keys.map((k, i) => (i % 2 === 0 ? { ...k, value: "w" } : k))),
      manifest,
      NOW,
    );
    let writes = 0;
    for await (const { entry } of comparison) {
      manifest.set(entry.key, recordOf(entry));
      writes += 1;
    }
    const removed = [...comparison.removed()];
    for (const key of removed) manifest.delete(key);
    expect([writes, removed, manifest.size]).toEqual([400, ["gone"], 500]);
  });

  test("does not say what is removed before it has seen everything", async () => {
    const comparison = compare(declared({ key: "a" }), await written({ key: "b" }), NOW);
    expect(() => comparison.changes()).toThrow("what is removed is known once every declared entry was seen");
  });
});

describe("the reviewer's line", () => {
  const tally = (...first: string[]): Tally => ({ count: first.length, first });
  const many = (count: number, letter: string): Tally => ({
    count,
    first: Array.from({ length: Math.min(10, count) }, (_, i) => `${letter}${i}`),
  });

  test.each<[string, Tally, Tally, Tally, string]>([
    ["few keys by name", tally("a", "b"), tally(), tally("c"), "KvEntries ns: +2 ~0 -1 (a, b, c)"],
    ["nothing", tally(), tally(), tally(), "KvEntries ns: +0 ~0 -0"],
    [
      "ten of many, with some of each kind",
      many(12_000, "a"),
      many(3, "c"),
      many(1, "r"),
      "KvEntries ns: +12000 ~3 -1 (a0, a1, a2, a3, a4, a5, c0, c1, c2, r0 …)",
    ],
    [
      "a long key cut",
      tally("k".repeat(100)),
      tally(),
      tally(),
      `KvEntries ns: +1 ~0 -0 (${"k".repeat(60)}…)`,
    ],
  ])("gives %s", (_title, added, changed, removed, expected) => {
    expect(line("ns", { added, changed, removed })).toBe(expected);
  });
});
