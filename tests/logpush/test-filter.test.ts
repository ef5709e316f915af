import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { filter, testFilter } from "pulumi-edgeguard";
import { folderPerFile } from "../support/bench";

const { and, eq, geq, where } = filter;

const FOLDER = folderPerFile("lines");

const errors = where(and(eq("ClientRequestHost", "example.com"), geq("EdgeResponseStatus", 500)));
const LINES = [
  { ClientRequestHost: "example.com", EdgeResponseStatus: 500, RayID: "1" },
  { ClientRequestHost: "example.com", EdgeResponseStatus: 200, RayID: "2" },
  { ClientRequestHost: "größe.example", EdgeResponseStatus: 503, RayID: "3" },
  { ClientRequestHost: "example.com", EdgeResponseStatus: 503, RayID: "4" },
];
const NDJSON = LINES.map((line) => `${JSON.stringify(line)}\n`).join("");
const [first, second, third, fourth] = LINES;
const RESULT = {
  lines: 4,
  passed: 2,
  rejected: 2,
  unreadable: 0,
  missingFields: {},
  examples: {
    passed: [
      { line: 1, fields: first },
      { line: 4, fields: fourth },
    ],
    rejected: [
      { line: 2, fields: second },
      { line: 3, fields: third },
    ],
    unreadable: [],
  },
};

test("counts the lines that pass and keeps the first ones as examples, for every source of lines", async () => {
  const file = join(FOLDER, "lines.ndjson");
  writeFileSync(file, NDJSON);
  const packed = join(FOLDER, "lines.log.gz");
  writeFileSync(packed, gzipSync(NDJSON));
  async function* later() {
    for (const line of LINES) {
      await Promise.resolve();
      yield line;
    }
  }
  // Chunks that end within a line, and within a character.
  const bytes = Buffer.from(NDJSON);
  const chunks = Array.from({ length: bytes.length }, (_, i) => bytes.subarray(i, i + 1));

  expect(await testFilter(errors, file)).toEqual(RESULT);
  expect(await testFilter(errors, packed)).toEqual(RESULT);
  expect(await testFilter(errors, LINES)).toEqual(RESULT);
  expect(await testFilter(errors, NDJSON.trimEnd().split("\n"))).toEqual(RESULT);
  expect(await testFilter(errors, later())).toEqual(RESULT);
  expect(await testFilter(errors, Readable.from(chunks))).toEqual(RESULT);
  expect(await testFilter(filter.compile(errors), [NDJSON])).toEqual(RESULT);
});

test("reports unreadable lines, and lines that lack one of the filter's fields", async () => {
  const lines = [
    "",
    '{"ClientRequestHost":"example.com"}',
    "not JSON",
    "[1]",
    '{"ClientRequestHost":"example.com","EdgeResponseStatus":null}\r\n',
    '{"ClientRequestHost":"example.com","EdgeResponseStatus":500}',
  ];
  expect(await testFilter(errors, lines, { examples: 1 })).toEqual({
    lines: 5,
    passed: 1,
    rejected: 2,
    unreadable: 2,
    missingFields: { EdgeResponseStatus: 2 },
    examples: {
      passed: [{ line: 6, fields: { ClientRequestHost: "example.com", EdgeResponseStatus: 500 } }],
      rejected: [{ line: 2, fields: { ClientRequestHost: "example.com" } }],
      unreadable: [{ line: 3, reason: "is not a JSON object" }],
    },
  });
});

test("keeps only the examples in memory, however large the source is", async () => {
  function* many() {
    for (let i = 0; i < 50_000; i += 1)
      yield { ClientRequestHost: "example.com", EdgeResponseStatus: i % 600 };
  }
  const { lines, passed, examples } = await testFilter(errors, many());
  expect({ lines, passed, kept: examples.passed.length }).toEqual({ lines: 50_000, passed: 8_300, kept: 3 });
});

test.each([
  [
    "a missing file",
    () => testFilter(errors, join(FOLDER, "none")),
    /^Can't read log lines from ".*none": .*ENOENT/,
  ],
  [
    "a directory",
    () => testFilter(errors, FOLDER),
    /^Can't read log lines from ".*": it is not a file\. Pass an NDJSON file\.$/,
  ],
  ["an invalid filter", () => testFilter('{"where":{}}', LINES), /^filter\.where: must be a comparison/],
])("fails with a reason for %s", async (_what, run, sentence) => {
  await expect(run()).rejects.toThrow(sentence);
});

test("fails with a reason for a corrupt .gz file", async () => {
  const broken = join(FOLDER, "broken.gz");
  writeFileSync(broken, "plain");
  await expect(testFilter(errors, broken)).rejects.toThrow(
    /^Can't read log lines from ".*broken\.gz": .*incorrect header check\.$/,
  );
});
