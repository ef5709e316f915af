import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Entry } from "../../provider/kv/entry";
import { openSource, SourceError, type Declaration } from "../../provider/kv/source";
import { summarize } from "../../provider/kv/summary";

/** Stands in every bad value: no message may hold it. */
const CANARY = "canary-7f3a";

let project: string;
beforeEach(() => (project = mkdtempSync(join(tmpdir(), "edgeguard-kv-"))));
afterEach(() => rmSync(project, { recursive: true, force: true }));

function put(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), content);
}

async function entriesOf(declaration: Declaration): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of openSource(declaration, project).read()) entries.push(entry);
  return entries;
}

async function problemsOf(declaration: Declaration): Promise<readonly string[]> {
  const { problems } = await summarize(openSource(declaration, project));
  expect(problems.join("\n")).not.toContain(CANARY);
  return problems;
}

const text = (key: string, value: string): Entry => ({ key, value, base64: false });

describe("entries written in the program", () => {
  test("are strings or objects, and get the defaults where they say nothing themselves", async () => {
    expect(
      await entriesOf({
        entries: {
          a: "text",
          b: { value: "AAH/", base64: true, metadata: { own: true }, expirationTtl: 3600 },
          c: { value: "", expiration: 4_000_000_000, metadata: null },
          d: { value: "both", expiration: 4_000_000_000, expirationTtl: 90 },
        },
        defaults: { metadata: { by: "default" }, expirationTtl: 120 },
      }),
    ).toEqual([
      { ...text("a", "text"), metadata: { by: "default" }, expirationTtl: 120 },
      { key: "b", value: "AAH/", base64: true, metadata: { own: true }, expirationTtl: 3600 },
      { ...text("c", ""), metadata: { by: "default" }, expiration: 4_000_000_000 },
      { ...text("d", "both"), metadata: { by: "default" }, expirationTtl: 90 },
    ]);
  });

  const ofKey = (key: string, written: unknown, sentence: string): [string, Declaration, string] => [
    sentence,
    { entries: { [key]: written } },
    sentence,
  ];
  test.each<[string, Declaration, string]>([
    ofKey("n", 42, 'key "n": value is a number; serialise it to a JSON string'),
    ofKey("n", true, 'key "n": value is a boolean; serialise it to a JSON string'),
    ofKey("n", [CANARY], 'key "n": value is an array; serialise it to a JSON string'),
    ofKey("n", { id: CANARY }, 'key "n": value is an object; serialise it to a JSON string'),
    ofKey("n", { value: { id: CANARY } }, 'key "n": value is an object; serialise it to a JSON string'),
    ofKey("n", null, 'key "n": has no value; write a string'),
    ofKey("n", { base64: true }, 'key "n": has no value; write a string'),
    ofKey(
      "n",
      { value: CANARY, expirationTTl: 60 },
      'key "n": there is no member "expirationTTl". Did you mean "expirationTtl"?',
    ),
    ofKey(
      "n",
      { value: CANARY, colour: CANARY },
      'key "n": there is no member "colour". Members: value, base64, metadata, expiration, expirationTtl.',
    ),
    ofKey("n", { value: CANARY, base64: "yes" }, 'key "n": base64 is a string; write true or false'),
    ...["A", "AA", "AB==", "A A=", "AAA=\n", "_-8=", CANARY].map((value) =>
      ofKey(
        "n",
        { value, base64: true },
        'key "n": value is not valid base64: it takes A-Z, a-z, 0-9, + and /, padded with =, without spaces or line breaks',
      ),
    ),
    ofKey(
      "n",
      `${CANARY}\ud83d`,
      'key "n": value holds half of a surrogate pair, which UTF-8 cannot express; give the bytes as base64 if they are meant',
    ),
    ofKey("n", { value: CANARY, metadata: CANARY }, 'key "n": metadata is a string; write an object'),
    ofKey("n", { value: CANARY, metadata: [CANARY] }, 'key "n": metadata is an array; write an object'),
    ofKey(
      "n",
      { value: CANARY, metadata: { m: "é".repeat(509) } },
      'key "n": metadata is 1,026 bytes of JSON; the limit is 1,024',
    ),
    ofKey("n", { value: "", expirationTtl: 59 }, 'key "n": expirationTtl is 59 seconds; the least is 60'),
    ofKey("n", { value: "", expirationTtl: 60.5 }, 'key "n": expirationTtl is 60.5; write whole seconds'),
    ofKey(
      "n",
      { value: "", expirationTtl: CANARY },
      'key "n": expirationTtl is a string; write a number of seconds',
    ),
    ofKey(
      "n",
      { value: "", expiration: -1 },
      'key "n": expiration is -1; write whole seconds since 1970, not below 0',
    ),
    ofKey(
      "n",
      { value: "", expiration: "2030-01-01" },
      'key "n": expiration is a string; write a number: seconds since 1970',
    ),
    ofKey(
      "n",
      { value: "", expiration: 1_767_225_600_000 },
      'key "n": expiration is 1767225600000, which lies beyond the year 9999; it counts seconds, not milliseconds',
    ),
    ofKey("", CANARY, 'key "": key is empty; write 1 to 512 bytes'),
    ofKey(".", CANARY, 'key ".": key is ".", which the service does not take'),
    ofKey("..", CANARY, 'key "..": key is "..", which the service does not take'),
    ofKey(
      "é🙂 x",
      CANARY,
      'key "é🙂 x": key has U+0020 as character 3; a key takes printable characters without whitespace',
    ),
    ofKey(
      "a\u0007",
      CANARY,
      'key "a\\u0007": key has U+0007 as character 2; a key takes printable characters without whitespace',
    ),
    ofKey(
      "a\u00a0b",
      CANARY,
      'key "a\u00a0b": key has U+00A0 as character 2; a key takes printable characters without whitespace',
    ),
    ofKey(
      "é".repeat(257),
      CANARY,
      `key "${"é".repeat(80)}"… (257 characters): key is 514 bytes; the limit is 512`,
    ),
  ])("%s", async (_title, declaration, sentence) => {
    expect(await problemsOf(declaration)).toEqual([sentence]);
    await expect(entriesOf(declaration)).rejects.toThrow(new SourceError(sentence));
  });

  test("may be as large as the limits and not a byte larger", async () => {
    const key = "é".repeat(256);
    const metadata = { m: "x".repeat(1016) };
    expect(await problemsOf({ entries: { [key]: { value: "v", metadata, expirationTtl: 60 } } })).toEqual([]);
    // 26,214,400 bytes are 34,952,536 characters of base64: what counts is the decoded value.
    const largest = await summarize(
      openSource(
        { entries: { k: { value: Buffer.alloc(26_214_400).toString("base64"), base64: true } } },
        project,
      ),
    );
    expect(largest).toMatchObject({
      bytes: 26_214_400,
      problems: [],
      warnings: [
        'key "k": value is 26,214,400 bytes, more than the 25,000,000 of the documentation; the service may refuse it',
      ],
    });
    expect(await problemsOf({ entries: { k: "x".repeat(26_214_401) } })).toEqual([
      'key "k": value is 26,214,401 bytes; the limit is 26,214,400',
    ]);
  });

  test("take emoji, and any letter of any script, in a key", async () => {
    const keys = ["👩‍👩‍👧", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "日本語", 'a,b;c"d\\e', "...", "__proto__", "%20"];
    expect(await problemsOf({ entries: Object.fromEntries(keys.map((key) => [key, "v"])) })).toEqual([]);
  });

  test("are all named, the first ten in words", async () => {
    const entries = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, 1]));
    const problems = await problemsOf({ entries });
    expect(problems).toHaveLength(11);
    expect(problems.at(-1)).toBe("and 23 more problems");
  });
});

describe("a declaration is refused", () => {
  test.each<[string, Declaration, string]>([
    ["without a source", {}, "write exactly one of entries, file and directory; none is given"],
    [
      "with two sources",
      { file: "a", directory: "b" },
      "write exactly one of entries, file and directory; file and directory are given",
    ],
    [
      "with a default lifetime that is too short",
      { entries: {}, defaults: { expirationTtl: 10 } },
      "defaults.expirationTtl is 10 seconds; the least is 60",
    ],
    [
      "with default metadata that is no object",
      { entries: {}, defaults: { metadata: CANARY } },
      "defaults.metadata is a string; write an object",
    ],
  ])("%s", (_title, declaration, sentence) => {
    expect(() => openSource(declaration, project)).toThrow(new SourceError(sentence));
  });
});

describe("a bulk file", () => {
  test("is the CLI's array of entries, with every member, and can be read again", async () => {
    put(
      "data/catalog.json",
      `\ufeff[{"key":"a","value":"text \\u00e9 \\ud83d\\ude42","metadata":{"n":[1,null]}},\r\n
       {"base64":true,"value":"AAH/","key":"b","expiration":4000000000},
       {"key":"c","value":"","expiration":1,"expiration_ttl":60,"base64":false,"metadata":null}]\n`,
    );
    const source = openSource({ file: "data/catalog.json" }, project);
    expect(source).toMatchObject({ kind: "file", name: "data/catalog.json" });
    const expected = [
      { ...text("a", "text é 🙂"), metadata: { n: [1, null] } },
      { key: "b", value: "AAH/", base64: true, expiration: 4_000_000_000 },
      { ...text("c", ""), expirationTtl: 60 },
    ];
    for (let time = 1; time <= 2; time += 1) {
      const entries: Entry[] = [];
      for await (const entry of source.read()) entries.push(entry);
      expect(entries).toEqual(expected);
    }
  });

  test("may be empty of entries", async () => {
    put("empty.json", "[]");
    expect(await entriesOf({ file: "empty.json" })).toEqual([]);
  });

  const entry = (key: string): string => JSON.stringify({ key, value: CANARY });
  test.each<[string, string | Buffer, string]>([
    ["is empty", "", 'f.json is empty; write an array of entries: [{ "key": …, "value": … }, …]'],
    ["is blank", " \n\n", "f.json, line 3: the file ends within the array; it may have been cut off"],
    [
      "holds an object",
      `\n{"key":"${CANARY}"}`,
      'f.json, line 2: the file holds an object; write an array of entries: [{ "key": …, "value": … }, …]',
    ],
    [
      "holds a string",
      `"${CANARY}"`,
      'f.json, line 1: the file holds something else; write an array of entries: [{ "key": …, "value": … }, …]',
    ],
    [
      "lacks a comma",
      `[\n${entry("a")},\n${entry("b")}\n\n${entry("c")}]`,
      "f.json, line 5 (entry 3): this is no valid JSON; look for a missing comma, quote or bracket, a comma too many, or a line break within a string",
    ],
    [
      "has a comma too many",
      `[\n${entry("a")},\n]`,
      "f.json, line 3: this is no valid JSON; look for a missing comma, quote or bracket, a comma too many, or a line break within a string",
    ],
    [
      "lacks a colon",
      `[\n${entry("a")},\n{"key": "b",\n"value" "${CANARY}"}]`,
      "f.json, line 4 (entry 2, which begins on line 3): this is no valid JSON; look for a missing comma, quote or bracket, a comma too many, or a line break within a string",
    ],
    [
      "breaks a string into two lines",
      `[\n{"key": "b",\n"value": "${CANARY}\n${CANARY}"}]`,
      "f.json, line 3 (entry 1, which begins on line 2): this is no valid JSON; look for a missing comma, quote or bracket, a comma too many, or a line break within a string",
    ],
    [
      "is no JSON at all",
      `\n\n${CANARY}`,
      "f.json, line 3: this is no valid JSON; look for a missing comma, quote or bracket, a comma too many, or a line break within a string",
    ],
    [
      "ends within an entry",
      `[\n${entry("a")},\n{"key": "b",\n"value": "${CANARY}`,
      "f.json, line 4: the file ends within entry 2, which begins on line 3; it may have been cut off",
    ],
    [
      "ends within the array",
      `[\n${entry("a")},\n`,
      "f.json, line 3: the file ends within the array; it may have been cut off",
    ],
    [
      "goes on after the array",
      `[\n${entry("a")}]\n${entry("b")}`,
      "f.json, line 3: there is something after the end of the array",
    ],
    [
      "is not UTF-8",
      Buffer.concat([
        Buffer.from('[\n{"key":"a","value":"'),
        Buffer.of(0xff, 0xfe, 0x41),
        Buffer.from('"}]'),
      ]),
      "f.json, line 2: the text is not UTF-8",
    ],
  ])("that %s is named by its line", async (_title, content, sentence) => {
    put("f.json", content);
    expect(await problemsOf({ file: "f.json" })).toEqual([sentence]);
  });

  test("is named by its line however far down the mistake is", async () => {
    const lines = Array.from(
      { length: 9_000 },
      (_, i) => `${JSON.stringify({ key: `k${i}`, value: "v".repeat(100) })},`,
    );
    put("long.json", `[\n${lines.join("\n")}\n{"key": "last", "value": x}]`);
    expect(await problemsOf({ file: "long.json" })).toEqual([
      expect.stringMatching(/^long.json, line 9002 \(entry 9001\): this is no valid JSON/),
    ]);
  });

  test("is read the same wherever its pieces end", async () => {
    const entries = Array.from({ length: 9_000 }, (_, i) => ({
      key: `é🙂${i}`,
      value: `日本語"\\\n${"🙂".repeat(i % 23)}`,
    }));
    put("f.json", JSON.stringify(entries));
    expect(await entriesOf({ file: "f.json" })).toEqual(entries.map(({ key, value }) => text(key, value)));
    put("f.json", Buffer.concat([Buffer.from(`${JSON.stringify(entries)}\n`), Buffer.of(0xf0, 0x9f)]));
    expect(await problemsOf({ file: "f.json" })).toEqual(["f.json, line 2: the text is not UTF-8"]);
  });

  test("has its bad entries named by position, line and key", async () => {
    put(
      "f.json",
      `[\n${entry("a")},\n\n{"key":"b",\n "value":{"x":"${CANARY}"}},\n "${CANARY}", {"value":"${CANARY}"},
{"key":7,"value":"v","expiration_ttl":1},{"key":"c","value":"v","expirationTtl":60},
{"name":"d","value":"v"}\n]`,
    );
    expect(await problemsOf({ file: "f.json" })).toEqual([
      'f.json: entry 2 (line 4, key "b"): value is an object; serialise it to a JSON string',
      "f.json: entry 3 (line 6): is no object; write { key, value, … }",
      "f.json: entry 4 (line 6): has no key; write 1 to 512 bytes of printable characters",
      "f.json: entry 5 (line 7): key is a number; write a string",
      "f.json: entry 5 (line 7): expiration_ttl is 1 seconds; the least is 60",
      'f.json: entry 6 (line 7, key "c"): there is no member "expirationTtl". Did you mean "expiration_ttl"?',
      'f.json: entry 7 (line 8): there is no member "name". Members: key, value, base64, metadata, expiration, expiration_ttl.',
      "f.json: entry 7 (line 8): has no key; write 1 to 512 bytes of printable characters",
    ]);
  });

  test("has duplicates named with both positions", async () => {
    put(
      "f.json",
      `[${entry("a")},\n${entry("b")},\n${entry("é")},${entry("a")},\n${entry("\u00e9")},${entry("a")}]`,
    );
    expect(await problemsOf({ file: "f.json" })).toEqual([
      'f.json: entry 4 (line 3, key "a"): the key stands in entry 1 (line 1) already; keep one of the two',
      'f.json: entry 5 (line 4, key "é"): the key stands in entry 3 (line 3) already; keep one of the two',
      'f.json: entry 6 (line 4, key "a"): the key stands in entry 1 (line 1) already; keep one of the two',
    ]);
  });

  test("that is missing is named with the place where it was looked for", async () => {
    mkdirSync(join(project, "dir"));
    expect(await problemsOf({ file: "none.json" })).toEqual([
      `none.json cannot be read: it does not exist (looked for ${join(project, "none.json")})`,
    ]);
    expect(await problemsOf({ file: "dir" })).toEqual(["dir cannot be read: it is a directory"]);
  });

  test("shows what can be read before the mistake, and the mistake last", async () => {
    const bad = Array.from({ length: 12 }, (_, i) => `{"key":"k${i}","value":1}`);
    put("f.json", `[${bad.join(",")}, oops`);
    const problems = await problemsOf({ file: "f.json" });
    expect(problems).toHaveLength(12);
    expect(problems.slice(-2)).toEqual([
      "and 2 more problems",
      expect.stringMatching(/^f.json, line 1: this is no valid JSON/),
    ]);
  });
});

describe("a directory", () => {
  test("gives a key per file, sorted, with text as it is and anything else as base64", async () => {
    const binary = Buffer.of(0, 0xff, 0xfe, 0x80);
    put("public/b.bin", binary);
    put("public/a/z.txt", "\ufeffzett");
    put("public/a/y/x.txt", "");
    put("public/a.txt", "é");
    put("public/.hidden", "h");
    expect(await entriesOf({ directory: { path: "public", prefix: "site:" } })).toEqual([
      text("site:.hidden", "h"),
      text("site:a.txt", "é"),
      text("site:a/y/x.txt", ""),
      text("site:a/z.txt", "\ufeffzett"),
      { key: "site:b.bin", value: binary.toString("base64"), base64: true },
    ]);
    expect(await entriesOf({ directory: "public/a" })).toEqual([
      text("y/x.txt", ""),
      text("z.txt", "\ufeffzett"),
    ]);
  });

  test("leaves out what .gitignore patterns name, by letter case, and links among it", async () => {
    for (const path of ["a.map", "a.MAP", "keep.map", "tmp/a.txt", "sub/tmp/b.txt", "sub/c.txt"])
      put(`d/${path}`, "v");
    symlinkSync("/etc/hostname", join(project, "d/link"));
    const entries = await entriesOf({
      directory: { path: "d", ignore: ["# a comment", "*.map", "!keep.map", "/tmp/", "link"] },
    });
    expect(entries.map(({ key }) => key)).toEqual(["a.MAP", "keep.map", "sub/c.txt", "sub/tmp/b.txt"]);
  });

  test("is refused with links, special files and files that are too large, all named", async () => {
    put("d/good.txt", CANARY);
    put("d/with space.txt", CANARY);
    put("d/large.bin", "");
    truncateSync(join(project, "d/large.bin"), 26_214_401);
    symlinkSync("good.txt", join(project, "d/link"));
    symlinkSync(".", join(project, "d/loop"));
    execFileSync("mkfifo", [join(project, "d/pipe")]);
    expect(await problemsOf({ directory: { path: "d", prefix: "p/" } })).toEqual([
      'd: file "large.bin" (key "p/large.bin"): value is 26,214,401 bytes; the limit is 26,214,400',
      'd: file "link" (key "p/link"): is a symbolic link; put a copy in its place, or name it in `ignore`',
      'd: file "loop" (key "p/loop"): is a symbolic link; put a copy in its place, or name it in `ignore`',
      'd: file "pipe" (key "p/pipe"): is no regular file; name it in `ignore`',
      'd: file "with space.txt" (key "p/with space.txt"): key has U+0020 as character 7; a key takes printable characters without whitespace',
    ]);
  });

  test("that is missing, or no directory, is named", async () => {
    put("file", "v");
    expect(await problemsOf({ directory: "none" })).toEqual([
      `none cannot be read: it does not exist (looked for ${join(project, "none")})`,
    ]);
    expect(await problemsOf({ directory: "file" })).toEqual([
      "file is a file; `directory` takes a key per file of a directory",
    ]);
  });
});

describe("the summary", () => {
  const bulk = (entries: readonly object[]): string => JSON.stringify(entries);

  test("has the same digest for the same entries in another order, form or place", async () => {
    put(
      "a.json",
      bulk([
        { key: "x", value: "1" },
        { key: "y", value: "AA==", base64: true },
        { key: "z", value: "é" },
      ]),
    );
    put(
      "b.json",
      bulk([
        { key: "z", value: "w6k=", base64: true },
        { value: "\0", key: "y" },
        { key: "x", value: "1" },
      ]),
    );
    put("d/x", "1");
    put("d/y", "\0");
    put("d/z", "é");
    const summaries = await Promise.all(
      [
        { file: "a.json" },
        { file: "b.json" },
        { directory: "d" },
        { entries: { z: "é", x: "1", y: "\0" } },
      ].map(async (declaration) => await summarize(openSource(declaration, project))),
    );
    expect(new Set(summaries.map(({ digest }) => digest)).size).toBe(1);
    expect(summaries[0]).toEqual({
      keys: 3,
      bytes: 4,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      problems: [],
      expired: 0,
      warnings: [],
    });
  });

  test("has another digest when anything about an entry changes", async () => {
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
      variants.map(async (entries) => (await summarize(openSource({ entries }, project))).digest),
    );
    expect(new Set(digests).size).toBe(variants.length);
  });

  test("counts entries whose expiry has passed, and those whose last minute has begun", async () => {
    const at = (expiration: number): object => ({ value: "v", expiration });
    const source = openSource({ entries: { a: at(0), b: at(1059), c: at(1060), d: "v" } }, project);
    expect(await summarize(source, 1000)).toMatchObject({ keys: 4, expired: 2, problems: [] });
  });

  test("takes a file of 100,000 entries in seconds", async () => {
    const lines = Array.from({ length: 100_000 }, (_, i) =>
      JSON.stringify({ key: `catalog:product:${i}`, value: `{"id":${i},"text":"${"x".repeat(100)}"}` }),
    );
    put("big.json", `[${lines.join(",\n")}]`);
    const before = process.memoryUsage().rss;
    const start = performance.now();
    const summary = await summarize(openSource({ file: "big.json" }, project));
    const seconds = (performance.now() - start) / 1000;
    const grown = (process.memoryUsage().rss - before) / 2 ** 20;
    console.log(
      `summary of 100,000 entries: ${seconds.toFixed(1)} s, resident memory +${grown.toFixed(0)} MB`,
    );
    expect(summary).toMatchObject({ keys: 100_000, problems: [] });
    expect(seconds).toBeLessThan(10);
  });
});
