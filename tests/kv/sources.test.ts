import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { symlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { catalogOf } from "../../provider/kv/catalog";
import { digest } from "../../provider/kv/entry";
import { collidingKeys, fnv1a } from "./colliding-keys";
import { CANARY, ProjectFolder, summarize, text } from "./source-support";

const project = new ProjectFolder();

describe("reading a directory of entries", () => {
  test("yields one key per file in sorted order, with text as it is and anything else as base64", async () => {
    const binary = Buffer.of(0, 0xff, 0xfe, 0x80);
    project.put("public/b.bin", binary);
    project.put("public/a/z.txt", "\ufeffzett");
    project.put("public/a/y/x.txt", "");
    project.put("public/a.txt", "é");
    project.put("public/.hidden", "h");
    expect(await project.entriesOf({ directory: { path: "public", prefix: "site:" } })).toEqual([
      text("site:.hidden", "h"),
      text("site:a.txt", "é"),
      text("site:a/y/x.txt", ""),
      text("site:a/z.txt", "\ufeffzett"),
      { key: "site:b.bin", value: binary.toString("base64"), base64: true },
    ]);
    expect(await project.entriesOf({ directory: "public/a" })).toEqual([
      text("y/x.txt", ""),
      text("z.txt", "\ufeffzett"),
    ]);
  });

  test("leaves out whatever matches the case-sensitive .gitignore patterns, including links", async () => {
    for (const path of ["a.map", "a.MAP", "keep.map", "tmp/a.txt", "sub/tmp/b.txt", "sub/c.txt"])
      project.put(`d/${path}`, "v");
    symlinkSync("/etc/hostname", join(project.path, "d/link"));
    const entries = await project.entriesOf({
      directory: { path: "d", ignore: ["# a comment", "*.map", "!keep.map", "/tmp/", "link"] },
    });
    expect(entries.map(({ key }) => key)).toEqual(["a.MAP", "keep.map", "sub/c.txt", "sub/tmp/b.txt"]);
  });

  test("refuses a directory with links, special files or files that are too large, and names them", async () => {
    project.put("d/good.txt", CANARY);
    project.put("d/with space.txt", CANARY);
    project.put("d/large.bin", "");
    truncateSync(join(project.path, "d/large.bin"), 26_214_401);
    symlinkSync("good.txt", join(project.path, "d/link"));
    symlinkSync(".", join(project.path, "d/loop"));
    execFileSync("mkfifo", [join(project.path, "d/pipe")]);
    expect(await project.problemsOf({ directory: { path: "d", prefix: "p/" } })).toEqual([
      'd: file "large.bin" (key "p/large.bin"): value is 26,214,401 bytes; the limit is 26,214,400',
      'd: file "link" (key "p/link"): is a symbolic link; replace it with a copy, or add it to `ignore`',
      'd: file "loop" (key "p/loop"): is a symbolic link; replace it with a copy, or add it to `ignore`',
      'd: file "pipe" (key "p/pipe"): is not a regular file; add it to `ignore`',
      'd: file "with space.txt" (key "p/with space.txt"): key contains U+0020 at position 7; use printable characters without whitespace',
    ]);
  });

  test("refuses a directory that's missing, or that's a file", async () => {
    project.put("file", "v");
    expect(await project.problemsOf({ directory: "none" })).toEqual([
      `none can't be read: it does not exist (full path: ${join(project.path, "none")})`,
    ]);
    expect(await project.problemsOf({ directory: "file" })).toEqual([
      "file is a file; `directory` takes a directory with one file per key",
    ]);
  });
});

describe("summarizing a source", () => {
  const bulkJson = (entries: readonly object[]): string => JSON.stringify(entries);

  test("gives the same entries the same digest, whatever their order, format or source", async () => {
    project.put(
      "a.json",
      bulkJson([
        { key: "x", value: "1" },
        { key: "y", value: "AA==", base64: true },
        { key: "z", value: "é" },
      ]),
    );
    project.put(
      "b.json",
      bulkJson([
        { key: "z", value: "w6k=", base64: true },
        { value: "\0", key: "y" },
        { key: "x", value: "1" },
      ]),
    );
    project.put("d/x", "1");
    project.put("d/y", "\0");
    project.put("d/z", "é");
    const summaries = await Promise.all(
      [
        { file: "a.json" },
        { file: "b.json" },
        { directory: "d" },
        { entries: { z: "é", x: "1", y: "\0" } },
      ].map(async (declaration) => await summarize(project.open(declaration))),
    );
    expect(new Set(summaries.map(({ digest }) => digest)).size).toBe(1);
    expect(summaries[0]).toEqual({
      keys: 3,
      bytes: 4,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      problems: [],
      expired: 0,
    });
  });

  test("gives a different digest if anything about an entry changes", async () => {
    const entry = { value: "v", metadata: { a: 1 }, expirationTtl: 60 };
    const variants: Record<string, unknown>[] = [
      { k: entry },
      { l: entry },
      { k: { ...entry, value: "w" } },
      { k: { ...entry, metadata: { a: 2 } } },
      { k: { ...entry, metadata: undefined } },
      { k: { ...entry, expirationTtl: 61 } },
      { k: { ...entry, expirationTtl: undefined } },
      { k: { ...entry, expirationTtl: undefined, expiration: 60 } },
      { k: entry, l: entry },
      {},
    ];
    const digests = await Promise.all(
      variants.map(async (entries) => (await summarize(project.open({ entries }))).digest),
    );
    expect(new Set(digests).size).toBe(variants.length);
  });

  test("uses the SHA-256 of all entries, sorted by key, as the digest", async () => {
    const keys = ["a", "é", "b/1", "🙂", "B", "\ue000"];
    const entry = (key: string) => ({ value: `of ${key}`, metadata: { key }, expirationTtl: 60 });
    const rows = [...keys]
      .sort()
      .map((key) => [key, digest(`of ${key}`), digest(JSON.stringify({ key })), null, 60]);
    const expected = createHash("sha256")
      .update(rows.map((row) => JSON.stringify(row)).join(""))
      .digest("hex");
    for (const order of [keys, [...keys].reverse()]) {
      const entries = Object.fromEntries(order.map((key) => [key, entry(key)]));
      expect(await summarize(project.open({ entries }))).toMatchObject({ digest: expected });
    }
  });

  test("stays fast with many keys that would collide in an unseeded hash", async () => {
    const keys = collidingKeys(14);
    expect([keys.length, new Set(keys.map((key) => fnv1a(key))).size]).toEqual([16_384, 1]);
    project.put("chosen.json", bulkJson(keys.map((key) => ({ key, value: "v" }))));
    const { problems, rows } = await catalogOf(project.open({ file: "chosen.json" }));
    expect([problems, rows.size, keys.filter((key) => !rows.has(key))]).toEqual([[], keys.length, []]);
  });

  test("counts entries that expire within a minute as expired", async () => {
    const at = (expiration: number): object => ({ value: "v", expiration });
    const source = project.open({ entries: { a: at(0), b: at(1059), c: at(1060), d: "v" } });
    expect(await summarize(source, 1000)).toMatchObject({ keys: 4, expired: 2, problems: [] });
  });

  test("handles a file with 20,000 entries", async () => {
    const lines = Array.from({ length: 20_000 }, (_, i) =>
      JSON.stringify({ key: `catalog:product:${i}`, value: `{"id":${i},"text":"${"x".repeat(100)}"}` }),
    );
    project.put("big.json", `[${lines.join(",\n")}]`);
    const before = process.memoryUsage().rss;
    const summary = await summarize(project.open({ file: "big.json" }));
    const grown = (process.memoryUsage().rss - before) / 2 ** 20;
    console.log(`summary of 20,000 entries: resident memory +${grown.toFixed(0)} MB`);
    expect(summary).toMatchObject({ keys: 20_000, problems: [] });
  });
});
