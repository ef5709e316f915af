import { batches, Body, entryBytes, toRequest, type Batch } from "../../provider/kv/batches";
import type { Entry } from "../../provider/kv/entry";
import { progressReporter } from "../../provider/kv/bulk";
import { manyEntries, textEntry } from "./upload-support";

const cut = (entries: Iterable<Entry>, items: number, bytes: number) => [
  ...batches(entries, { items, bytes, bytesOf: entryBytes }),
];
const bodyOf = ({ items }: Batch<Entry>) => JSON.stringify(items.map(toRequest));

const strange: Entry[] = [
  textEntry("plain", "text"),
  textEntry("empty", ""),
  textEntry('q"uote\\', 'a "quoted" \\ text\n\t\u0000\u007f'),
  textEntry("straße/münchen", "Grüß Gott 🙂 \u2028"),
  textEntry("half a character", "\ud83d"),
  { key: "bytes", value: "AAEC/w==", base64: true },
  { key: "all", value: "v", base64: false, metadata: { a: ["ü", null, { b: 1.5 }] }, expirationTtl: 60 },
  { key: "expires", value: "v", base64: false, expiration: 4_102_444_800 },
];

describe("splitting entries into batches", () => {
  test("computes the exact size of a batch's body, whatever it contains", () => {
    for (const most of [1, 3, 8]) {
      const found = cut(strange, most, Infinity);
      expect(found.map(({ bytes }) => bytes)).toEqual(found.map((batch) => Buffer.byteLength(bodyOf(batch))));
      expect(found.flatMap(({ items }) => items)).toEqual(strange);
    }
  });

  test("builds a body of exactly the computed size", () => {
    const [batch] = cut(strange, 100, Infinity);
    const body = new Body(strange.map(entryBytes));
    strange.forEach((entry) => body.add(entry));
    const bytes = body.done();
    expect(bytes.length).toBe(batch?.bytes);
    expect(JSON.parse(bytes.toString())).toEqual(JSON.parse(JSON.stringify(strange.map(toRequest))));
  });

  test("refuses to send a body that isn't full, because the rest would be uninitialized memory", () => {
    const body = new Body([100]);
    body.add(textEntry("a", "1"));
    expect(() => body.done()).toThrow(new RangeError("expected a body of 102 bytes but wrote 25"));
  });

  test("limits the number of entries in a batch", () => {
    const found = cut(manyEntries(25), 10, Infinity);
    expect(found.map(({ items }) => items.length)).toEqual([10, 10, 5]);
    expect(cut([], 10, Infinity)).toEqual([]);
  });

  test("limits the size of a batch, and fills it up to the limit", () => {
    const [whole] = cut(manyEntries(4), 4, Infinity);
    const bytes = whole?.bytes ?? 0;
    expect(cut(manyEntries(8), 100, bytes).map(({ items }) => items.length)).toEqual([4, 4]);
    expect(cut(manyEntries(4), 100, bytes - 1).map(({ items }) => items.length)).toEqual([3, 1]);
  });

  test("puts a single entry that's larger than the limit into its own batch", () => {
    const found = cut([textEntry("a", "1"), textEntry("b", "x".repeat(1000)), textEntry("c", "1")], 10, 500);
    expect(found.map(({ items }) => items.map(({ key }) => key))).toEqual([["a"], ["b"], ["c"]]);
  });

  test("returns each batch before it reads the next", () => {
    let read = 0;
    const counted = function* () {
      for (const entry of manyEntries(100)) {
        read += 1;
        yield entry;
      }
    };
    const found = batches(counted(), { items: 10, bytes: Infinity, bytesOf: entryBytes });
    found.next();
    expect(read).toBe(11);
    found.return();
  });
});

describe("upload progress", () => {
  let now = 0;
  let lines: string[];
  const reported = (total: number, steps: readonly (readonly [atMs: number, count: number])[]) => {
    now = 0;
    lines = [];
    const say = { info: (line: string) => void lines.push(line), warn: () => undefined };
    const add = progressReporter({ say, who: "KvEntries 5a0c", what: "entries written", total });
    for (const [atMs, count] of steps) {
      now = atMs;
      add(count);
    }
    return lines;
  };

  beforeEach(() => void jest.spyOn(performance, "now").mockImplementation(() => now));
  afterEach(() => void jest.restoreAllMocks());

  test("shows counts", () => {
    expect(reported(100_000, [[4_938, 30_000], [5_000, 10_000]])).toEqual([
      "KvEntries 5a0c: 40,000 of 100,000 entries written",
    ]); // prettier-ignore
    expect(reported(1_000_000, [[60_000, 12_345]])).toEqual([
      "KvEntries 5a0c: 12,345 of 1,000,000 entries written",
    ]); // prettier-ignore
  });

  test("is shown at most every five seconds, and not once the work is done", () => {
    const steps = Array.from({ length: 130 }, (_, i) => [(i + 1) * 100, 10] as const);
    expect(reported(1_300, steps)).toHaveLength(2);
    expect(reported(10, [[9_000, 10]])).toEqual([]);
  });
});
