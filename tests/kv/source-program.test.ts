import type { Declaration } from "../../provider/kv/declaration";
import { SourceError } from "../../provider/kv/source-handle";
import { CANARY, ProjectFolder, summarize, text } from "./source-support";

const project = new ProjectFolder();

describe("inline entries", () => {
  test("can be strings or objects, and get the defaults for what they don't set", async () => {
    expect(
      await project.entriesOf({
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

  const NOT_BASE64 =
    "value is not valid base64; use A-Z, a-z, 0-9, + and /, padded with =, without spaces or line breaks";
  test.each<[string, unknown]>([
    ["value is a number; serialize it to a JSON string", 42],
    ["value is a boolean; serialize it to a JSON string", true],
    ["value is an array; serialize it to a JSON string", [CANARY]],
    ["value is an object; serialize it to a JSON string", { id: CANARY }],
    ["value is an object; serialize it to a JSON string", { value: { id: CANARY } }],
    ["value is missing; use a string", null],
    ["value is missing; use a string", { base64: true }],
    ['unknown property "expirationTTl"; did you mean "expirationTtl"?', { value: CANARY, expirationTTl: 60 }],
    [
      'unknown property "colour"; use one of: value, base64, metadata, expiration, expirationTtl',
      { value: CANARY, colour: CANARY },
    ],
    ["base64 is a string; use true or false", { value: CANARY, base64: "yes" }],
    ...["A", "AA", "AB==", "A A=", "AAA=\n", "_-8=", CANARY].map((value): [string, unknown] => [
      NOT_BASE64,
      { value, base64: true },
    ]),
    [
      "value contains half of a surrogate pair, which UTF-8 can't encode; to store arbitrary bytes, pass them as base64",
      `${CANARY}\ud83d`,
    ],
    ["metadata is a string; use an object", { value: CANARY, metadata: CANARY }],
    ["metadata is an array; use an object", { value: CANARY, metadata: [CANARY] }],
    [
      "metadata is 1,026 bytes of JSON; the limit is 1,024",
      { value: CANARY, metadata: { m: "é".repeat(509) } },
    ],
    ["expirationTtl is 59 seconds; the minimum is 60", { value: "", expirationTtl: 59 }],
    ["expirationTtl is 60.5; use a whole number of seconds", { value: "", expirationTtl: 60.5 }],
    ["expirationTtl is a string; use a number of seconds", { value: "", expirationTtl: CANARY }],
    ["expiration is -1; use a Unix time in whole seconds, 0 or greater", { value: "", expiration: -1 }],
    ["expiration is a string; use a Unix time in seconds", { value: "", expiration: "2030-01-01" }],
    [
      "expiration is 1767225600000, which is after the year 9999; use seconds, not milliseconds",
      { value: "", expiration: 1_767_225_600_000 },
    ],
  ])('are refused with key "n": %s', async (problem, written) => {
    expect(await project.problemsOf({ entries: { n: written } })).toEqual([`key "n": ${problem}`]);
  });

  const PRINTABLE = "use printable characters without whitespace";
  test.each<[string, string]>([
    ['key "": key is empty; use 1 to 512 bytes', ""],
    ['key ".": key is ".", which Cloudflare refuses', "."],
    ['key "..": key is "..", which Cloudflare refuses', ".."],
    [`key "é🙂 x": key contains U+0020 at position 3; ${PRINTABLE}`, "é🙂 x"],
    [`key "a\\u0007": key contains U+0007 at position 2; ${PRINTABLE}`, "a\u0007"],
    [`key "a\u00a0b": key contains U+00A0 at position 2; ${PRINTABLE}`, "a\u00a0b"],
    [`key "${"é".repeat(80)}"… (257 characters): key is 514 bytes; the limit is 512`, "é".repeat(257)],
  ])("are refused with %s", async (sentence, key) => {
    expect(await project.problemsOf({ entries: { [key]: CANARY } })).toEqual([sentence]);
  });

  test("may be as large as the limits, but not a byte larger", async () => {
    const key = "é".repeat(256);
    const metadata = { m: "x".repeat(1016) };
    expect(
      await project.problemsOf({ entries: { [key]: { value: "v", metadata, expirationTtl: 60 } } }),
    ).toEqual([]);
    // 26,214,400 bytes are 34,952,536 characters of base64: what counts is the decoded value.
    const largest = await summarize(
      project.open({ entries: { k: { value: Buffer.alloc(26_214_400).toString("base64"), base64: true } } }),
    );
    expect(largest).toMatchObject({
      bytes: 26_214_400,
      problems: [],
    });
    expect(await project.problemsOf({ entries: { k: "x".repeat(26_214_401) } })).toEqual([
      'key "k": value is 26,214,401 bytes; the limit is 26,214,400',
    ]);
  });

  test("may have keys with emoji and letters of any script", async () => {
    const keys = ["👩‍👩‍👧", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "日本語", 'a,b;c"d\\e', "...", "__proto__", "%20"];
    expect(await project.problemsOf({ entries: Object.fromEntries(keys.map((key) => [key, "v"])) })).toEqual(
      [],
    );
  });

  test("have their first ten problems listed, and the others counted", async () => {
    const entries = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, 1]));
    const problems = await project.problemsOf({ entries });
    expect(problems).toHaveLength(11);
    expect(problems.at(-1)).toBe("and 23 more problems");
  });
});

describe("refuses arguments", () => {
  test.each<[string, Declaration, string]>([
    [
      "with a default TTL that's too short",
      { entries: {}, defaults: { expirationTtl: 10 } },
      "defaults.expirationTtl is 10 seconds; the minimum is 60",
    ],
    [
      "with default metadata that isn't an object",
      { entries: {}, defaults: { metadata: CANARY } },
      "defaults.metadata is a string; use an object",
    ],
  ])("%s", (_title, declaration, sentence) => {
    expect(() => project.open(declaration)).toThrow(new SourceError(sentence));
  });
});
