import type { Declaration } from "../../provider/kv/declaration";
import { SourceError } from "../../provider/kv/source-handle";
import { CANARY, ProjectFolder, summarize, text } from "./source-support";

let project: ProjectFolder;
beforeEach(() => (project = new ProjectFolder()));
afterEach(() => project.remove());

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

  const ofKey = (key: string, written: unknown, sentence: string): [string, Declaration, string] => [
    sentence,
    { entries: { [key]: written } },
    sentence,
  ];
  test.each<[string, Declaration, string]>([
    ofKey("n", 42, 'key "n": value is a number; serialize it to a JSON string'),
    ofKey("n", true, 'key "n": value is a boolean; serialize it to a JSON string'),
    ofKey("n", [CANARY], 'key "n": value is an array; serialize it to a JSON string'),
    ofKey("n", { id: CANARY }, 'key "n": value is an object; serialize it to a JSON string'),
    ofKey("n", { value: { id: CANARY } }, 'key "n": value is an object; serialize it to a JSON string'),
    ofKey("n", null, 'key "n": value is missing; use a string'),
    ofKey("n", { base64: true }, 'key "n": value is missing; use a string'),
    ofKey(
      "n",
      { value: CANARY, expirationTTl: 60 },
      'key "n": unknown property "expirationTTl"; did you mean "expirationTtl"?',
    ),
    ofKey(
      "n",
      { value: CANARY, colour: CANARY },
      'key "n": unknown property "colour"; use one of: value, base64, metadata, expiration, expirationTtl',
    ),
    ofKey("n", { value: CANARY, base64: "yes" }, 'key "n": base64 is a string; use true or false'),
    ...["A", "AA", "AB==", "A A=", "AAA=\n", "_-8=", CANARY].map((value) =>
      ofKey(
        "n",
        { value, base64: true },
        'key "n": value is not valid base64; use A-Z, a-z, 0-9, + and /, padded with =, without spaces or line breaks',
      ),
    ),
    ofKey(
      "n",
      `${CANARY}\ud83d`,
      'key "n": value contains half of a surrogate pair, which UTF-8 can\'t encode; to store arbitrary bytes, pass them as base64',
    ),
    ofKey("n", { value: CANARY, metadata: CANARY }, 'key "n": metadata is a string; use an object'),
    ofKey("n", { value: CANARY, metadata: [CANARY] }, 'key "n": metadata is an array; use an object'),
    ofKey(
      "n",
      { value: CANARY, metadata: { m: "é".repeat(509) } },
      'key "n": metadata is 1,026 bytes of JSON; the limit is 1,024',
    ),
    ofKey("n", { value: "", expirationTtl: 59 }, 'key "n": expirationTtl is 59 seconds; the minimum is 60'),
    ofKey(
      "n",
      { value: "", expirationTtl: 60.5 },
      'key "n": expirationTtl is 60.5; use a whole number of seconds',
    ),
    ofKey(
      "n",
      { value: "", expirationTtl: CANARY },
      'key "n": expirationTtl is a string; use a number of seconds',
    ),
    ofKey(
      "n",
      { value: "", expiration: -1 },
      'key "n": expiration is -1; use a Unix time in whole seconds, 0 or greater',
    ),
    ofKey(
      "n",
      { value: "", expiration: "2030-01-01" },
      'key "n": expiration is a string; use a Unix time in seconds',
    ),
    ofKey(
      "n",
      { value: "", expiration: 1_767_225_600_000 },
      'key "n": expiration is 1767225600000, which is after the year 9999; use seconds, not milliseconds',
    ),
    ofKey("", CANARY, 'key "": key is empty; use 1 to 512 bytes'),
    ofKey(".", CANARY, 'key ".": key is ".", which Cloudflare refuses'),
    ofKey("..", CANARY, 'key "..": key is "..", which Cloudflare refuses'),
    ofKey(
      "é🙂 x",
      CANARY,
      'key "é🙂 x": key contains U+0020 at position 3; use printable characters without whitespace',
    ),
    ofKey(
      "a\u0007",
      CANARY,
      'key "a\\u0007": key contains U+0007 at position 2; use printable characters without whitespace',
    ),
    ofKey(
      "a\u00a0b",
      CANARY,
      'key "a\u00a0b": key contains U+00A0 at position 2; use printable characters without whitespace',
    ),
    ofKey(
      "é".repeat(257),
      CANARY,
      `key "${"é".repeat(80)}"… (257 characters): key is 514 bytes; the limit is 512`,
    ),
  ])("are refused with %s", async (_title, declaration, sentence) => {
    expect(await project.problemsOf(declaration)).toEqual([sentence]);
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
      warnings: [
        'key "k": value is 26,214,400 bytes, more than 25,000,000 (25 MB); Cloudflare may refuse it',
      ],
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
