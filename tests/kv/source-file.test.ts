import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { CANARY, ProjectFolder, text } from "./source-support";

const project = new ProjectFolder();

describe("reading a file of entries", () => {
  test("accepts every property in Wrangler's format, and works repeatedly", async () => {
    project.put(
      "data/catalog.json",
      `\ufeff[{"key":"a","value":"text \\u00e9 \\ud83d\\ude42","metadata":{"n":[1,null]}},\r\n
       {"base64":true,"value":"AAH/","key":"b","expiration":4000000000},
       {"key":"c","value":"","expiration":1,"expiration_ttl":60,"base64":false,"metadata":null}]\n`,
    );
    expect(project.open({ file: "data/catalog.json" })).toMatchObject({
      kind: "file",
      name: "data/catalog.json",
    });
    const expected = [
      { ...text("a", "text é 🙂"), metadata: { n: [1, null] } },
      { key: "b", value: "AAH/", base64: true, expiration: 4_000_000_000 },
      { ...text("c", ""), expirationTtl: 60 },
    ];
    for (let time = 1; time <= 2; time += 1)
      expect(await project.entriesOf({ file: "data/catalog.json" })).toEqual(expected);
  });

  test("accepts an empty array", async () => {
    project.put("empty.json", "[]");
    expect(await project.entriesOf({ file: "empty.json" })).toEqual([]);
  });

  const NOT_JSON =
    "is not valid JSON; look for an extra comma, a missing comma, quote or bracket, or a line break in a string";
  const EXPECTED = "expected a JSON array";
  const entry = (key: string): string => JSON.stringify({ key, value: CANARY });
  test.each<[string, string | Buffer, string]>([
    ["is empty", "", `f.json is empty; ${EXPECTED}`],
    ["is blank", " \n\n", `f.json is empty; ${EXPECTED}`],
    ["is an object", `\n{"key":"${CANARY}"}`, `f.json, line 2: the file is not an array; ${EXPECTED}`],
    ["is a string", `"${CANARY}"`, `f.json, line 1: the file is not an array; ${EXPECTED}`],
    [
      "lacks a comma",
      `[\n${entry("a")},\n${entry("b")}\n\n${entry("c")}]`,
      `f.json, line 3: entry 2 ${NOT_JSON}`,
    ],
    ["has an extra comma", `[\n${entry("a")},\n]`, `f.json, line 3: this ${NOT_JSON}`],
    [
      "lacks a colon",
      `[\n${entry("a")},\n{"key": "b",\n"value" "${CANARY}"}]`,
      `f.json, line 3: entry 2 ${NOT_JSON}`,
    ],
    [
      "breaks a string into two lines",
      `[\n{"key": "b",\n"value": "${CANARY}\n${CANARY}"}]`,
      `f.json, line 2: entry 1 ${NOT_JSON}`,
    ],
    ["is not JSON at all", `\n\n${CANARY}`, `f.json, line 3: the file is not an array; ${EXPECTED}`],
    [
      "ends inside an entry",
      `[\n${entry("a")},\n{"key": "b",\n"value": "${CANARY}`,
      "f.json: the file ends inside entry 2, which begins on line 3; it may be truncated",
    ],
    [
      "ends inside the array",
      `[\n${entry("a")},\n`,
      "f.json: the file ends inside the array; it may be truncated",
    ],
    [
      "continues after the array",
      `[\n${entry("a")}]\n${entry("b")}`,
      "f.json, line 3: there is text after the end of the array",
    ],
    [
      "is not UTF-8",
      Buffer.concat([
        Buffer.from('[\n{"key":"a","value":"'),
        Buffer.of(0xff, 0xfe, 0x41),
        Buffer.from('"}]'),
      ]),
      "f.json, line 2: the text of entry 1 is not UTF-8",
    ],
  ])("reports the line of the problem in a file that %s", async (_title, content, sentence) => {
    project.put("f.json", content);
    expect(await project.problemsOf({ file: "f.json" })).toEqual([sentence]);
  });

  test("reports the line of a mistake far down in the file", async () => {
    const lines = Array.from(
      { length: 9_000 },
      (_, i) => `${JSON.stringify({ key: `k${i}`, value: "v".repeat(100) })},`,
    );
    project.put("long.json", `[\n${lines.join("\n")}\n{"key": "last", "value": x}]`);
    expect(await project.problemsOf({ file: "long.json" })).toEqual([
      expect.stringMatching(/^long.json, line 9002: entry 9001 is not valid JSON/),
    ]);
  });

  test("works no matter where the file is split into chunks", async () => {
    const entries = Array.from({ length: 9_000 }, (_, i) => ({
      key: `é🙂${i}`,
      value: `日本語"\\\n${"🙂".repeat(i % 23)}`,
    }));
    project.put("f.json", JSON.stringify(entries));
    const read = await project.entriesOf({ file: "f.json" });
    // Compared as text: jest takes seconds for so many objects.
    expect(JSON.stringify(read)).toBe(JSON.stringify(entries.map(({ key, value }) => text(key, value))));
  });

  test("reports the position, line and key of each invalid entry", async () => {
    project.put(
      "f.json",
      `[\n${entry("a")},\n\n{"key":"b",\n "value":{"x":"${CANARY}"}},\n "${CANARY}", {"value":"${CANARY}"},
{"key":7,"value":"v","expiration_ttl":1},{"key":"c","value":"v","expirationTtl":60},
{"name":"d","value":"v"}\n]`,
    );
    expect(await project.problemsOf({ file: "f.json" })).toEqual([
      'f.json: entry 2 (line 4, key "b"): value is an object; serialize it to a JSON string',
      "f.json: entry 3 (line 6): is not an object; expected { key, value, … }",
      "f.json: entry 4 (line 6): key is missing; use 1 to 512 bytes of printable characters",
      "f.json: entry 5 (line 7): key is a number; use a string",
      "f.json: entry 5 (line 7): expiration_ttl is 1 second; the minimum is 60",
      'f.json: entry 6 (line 7, key "c"): unknown property "expirationTtl"; did you mean "expiration_ttl"?',
      'f.json: entry 7 (line 8): unknown property "name"; use one of: key, value, base64, metadata, expiration, expiration_ttl',
      "f.json: entry 7 (line 8): key is missing; use 1 to 512 bytes of printable characters",
    ]);
  });

  test("reports both positions of a duplicate key", async () => {
    project.put(
      "f.json",
      `[${entry("a")},\n${entry("b")},\n${entry("é")},${entry("a")},\n${entry("\u00e9")},${entry("a")}]`,
    );
    expect(await project.problemsOf({ file: "f.json" })).toEqual([
      'f.json: entry 4 (line 3, key "a"): the key is already used in entry 1 (line 1); keep only one of the two entries',
      'f.json: entry 5 (line 4, key "é"): the key is already used in entry 3 (line 3); keep only one of the two entries',
      'f.json: entry 6 (line 4, key "a"): the key is already used in entry 1 (line 1); keep only one of the two entries',
    ]);
  });

  test("reports a missing file with its absolute path", async () => {
    mkdirSync(join(project.path, "dir"));
    expect(await project.problemsOf({ file: "none.json" })).toEqual([
      `none.json can't be read: it does not exist (full path: ${join(project.path, "none.json")})`,
    ]);
    expect(await project.problemsOf({ file: "dir" })).toEqual([
      `dir can't be read: it is a directory (full path: ${join(project.path, "dir")})`,
    ]);
  });

  test("lists problems with the entries before a syntax error, and the syntax error last", async () => {
    const bad = Array.from({ length: 12 }, (_, i) => `{"key":"k${i}","value":1}`);
    project.put("f.json", `[${bad.join(",")}, oops]`);
    const problems = await project.problemsOf({ file: "f.json" });
    expect(problems).toHaveLength(12);
    expect(problems.slice(-2)).toEqual([
      "and 2 more problems",
      expect.stringMatching(/^f.json, line 1: entry 13 is not valid JSON/),
    ]);
  });
});
