import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Shell } from "./alone";

/** `edgeguard filter`: what a filter lets through, before it is deployed. */

const { cwd, bin, here } = new Shell("filter");

const LINES = [
  '{"ClientRequestHost":"www.shop.example","ClientRequestPath":"/","EdgeResponseStatus":200,"RayID":"a"}',
  '{"ClientRequestHost":"www.shop.example","ClientRequestPath":"/cart","EdgeResponseStatus":503,"RayID":"b"}',
  '{"ClientRequestHost":"blog.shop.example","ClientRequestPath":"/api/posts","EdgeResponseStatus":500,"RayID":"c"}',
  "",
  '{"ClientRequestHost": "blog.shop.example", "ClientRequestPath": "/\u2028", "EdgeResponseStatus": 500}',
];
const FILTER = JSON.stringify({
  where: {
    and: [
      {
        or: [
          { key: "ClientRequestHost", operator: "eq", value: "www.shop.example" },
          { key: "ClientRequestPath", operator: "contains", value: "/api" },
        ],
      },
      { key: "EdgeResponseStatus", operator: "geq", value: 500 },
    ],
  },
});
const NDJSON = `${LINES.join("\n")}\n`;

beforeAll(() => {
  writeFileSync(join(cwd, "lines.ndjson"), NDJSON);
  writeFileSync(join(cwd, "lines.ndjson.gz"), gzipSync(NDJSON));
  writeFileSync(join(cwd, "filter.json"), FILTER);
  writeFileSync(join(cwd, "broken.ndjson"), `${LINES[1] ?? ""}\nnot JSON\n[1]\n{"RayID":"d"}\n`);
});

const TOLD = `The filter, 5 of about 30 operators and 224 of about 1,000 bytes:
  all of
    any of
      ClientRequestHost eq "www.shop.example"
      ClientRequestPath contains "/api"
    EdgeResponseStatus geq "500"

2 of 4 lines pass, 2 do not.

For example, these pass:
  line 2: {"ClientRequestHost":"www.shop.example","ClientRequestPath":"/cart","EdgeResponseStatus":503}
  line 3: {"ClientRequestHost":"blog.shop.example","ClientRequestPath":"/api/posts","EdgeResponseStatus":500}

And these do not:
  line 1: {"ClientRequestHost":"www.shop.example","ClientRequestPath":"/","EdgeResponseStatus":200}
  line 5: {"ClientRequestHost":"blog.shop.example","ClientRequestPath":"/\u2028","EdgeResponseStatus":500}
`;

describe("the built command", () => {
  test("counts what passes of a file, with the first of each kind", async () => {
    expect(await bin([FILTER, "lines.ndjson"])).toMatchObject({ code: 0, stdout: TOLD, stderr: "" });
  });

  test("takes the filter from a file, and the lines from a pipe", async () => {
    expect(await bin(["@filter.json"], NDJSON)).toMatchObject({ code: 0, stdout: TOLD, stderr: "" });
  });

  test("prints the lines that pass, byte for byte, and nothing else to stdout", async () => {
    const ran = await bin([FILTER, "lines.ndjson", "--print"]);
    expect(ran).toMatchObject({
      code: 0,
      stdout: `${LINES[1] ?? ""}\n${LINES[2] ?? ""}\n`,
      stderr: "edgeguard: 2 of 4 lines pass, 2 do not.\n",
    });
  });
});

test.each([
  ["compressed", [FILTER, "lines.ndjson.gz"], ""],
  ["from -", [FILTER, "-"], NDJSON],
  ["with the line breaks of Windows", [FILTER], NDJSON.replaceAll("\n", "\r\n")],
  ["for a filter as the API holds it, a text in a text", [JSON.stringify(FILTER), "lines.ndjson"], ""],
])("reads lines %s", async (_, args, input) => {
  expect(await here(args, { input })).toEqual({ code: 0, stdout: TOLD, stderr: "" });
});

test("prints compressed lines as they were, and all examples that are asked for", async () => {
  expect((await here([FILTER, "lines.ndjson.gz", "--print"])).stdout).toBe(
    `${LINES[1] ?? ""}\n${LINES[2] ?? ""}\n`,
  );
  const none = await here([FILTER, "lines.ndjson", "--examples", "0"]);
  expect(none.stdout.trimEnd().split("\n").at(-1)).toBe("2 of 4 lines pass, 2 do not.");
  expect((await here([FILTER, "lines.ndjson", "--examples", "1"])).stdout.match(/^ {2}line /gm)).toHaveLength(
    2,
  );
});

test("gives all of it as JSON", async () => {
  const { code, stdout } = await here([FILTER, "lines.ndjson", "--format", "json"]);
  expect({ code, result: JSON.parse(stdout) as unknown }).toMatchObject({
    code: 0,
    result: {
      filter: expect.stringContaining('"value":"500"') as string,
      operators: 5,
      bytes: 224,
      lines: 4,
      passed: 2,
      rejected: 2,
      unreadable: 0,
      missingFields: {},
      examples: { passed: [{ line: 2, fields: { RayID: "b" } }, { line: 3 }], unreadable: [] },
    },
  });
});

test("says what makes the counts say less than they seem to", async () => {
  const ran = await here([FILTER, "broken.ndjson"]);
  expect(ran.code).toBe(0);
  expect(ran.stdout).toContain("1 of 4 lines passes, 1 does not, 2 cannot be read.");
  expect(ran.stderr.split("\n")).toEqual([
    "edgeguard: 2 of 4 lines cannot be read: line 2 is no JSON, line 3 is JSON, but no object.",
    ...["ClientRequestHost", "ClientRequestPath", "EdgeResponseStatus"].map(
      (field) =>
        `edgeguard: ${field} is missing in 1 of 4 lines: a comparison with it fails there, which says nothing of what the service will do.`,
    ),
    "",
  ]);
  const many = {
    or: Array.from({ length: 30 }, (_, i) => ({ key: "RayID", operator: "eq", value: String(i) })),
  };
  expect((await here([JSON.stringify({ where: many }), "lines.ndjson"])).stderr).toMatch(
    /the filter has 31 operators .* about 30/,
  );
});

describe("ends with", () => {
  test.each<[number, string, string[], RegExp]>([
    [1, "no line", [FILTER], /^edgeguard: there are no log lines/],
    [1, "a file of lines that is not there", [FILTER, "nothing.ndjson"], /nothing\.ndjson" cannot be read/],
    [1, "a folder", [FILTER, "."], /it is no file/],
    [
      1,
      "a file of a filter that is not there",
      ["@nothing.json", "lines.ndjson"],
      /^edgeguard: the filter in nothing\.json cannot be read: it does not exist/,
    ],
    [2, "no filter", [], /missing required argument 'filter'/],
    [2, "a filter that is no JSON", ["{", "lines.ndjson"], /filter is no JSON/],
    [2, "a filter without where", ['{"and":[]}', "lines.ndjson"], /filter has no "where"/],
    [
      2,
      "an operator of other tools",
      [FILTER.replace("geq", "gte"), "lines.ndjson"],
      /filter\.where\.and\[1\]\.operator is "gte", which is no operator\. Did you mean "geq"\?\n$/,
    ],
    [2, "an empty group", ['{"where":{"and":[]}}', "lines.ndjson"], /filter\.where\.and is an empty group/],
    [
      2,
      "lines and a result on stdout at once",
      [FILTER, "lines.ndjson", "--print", "--format", "json"],
      /'--print' cannot be used with option '--format/,
    ],
    [2, "a number of examples that is none", [FILTER, "--examples", "many"], /Write a number from 0 to 9999/],
    [2, "an unknown format", [FILTER, "--format", "csv"], /Allowed choices are text, json/],
  ])("%i for %s", async (code, _, args, sentence) => {
    const ran = await here(args);
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: "" });
    expect(ran.stderr).toMatch(sentence);
  });

  test("1 for lines of which none is JSON", async () => {
    expect(await here([FILTER], { input: "one\ntwo\n" })).toEqual({
      code: 1,
      stdout: "",
      stderr: "edgeguard: none of 2 lines is a JSON object; line 1 is no JSON.\n",
    });
  });

  test("0 where no line passes: that is an answer, too", async () => {
    const none = FILTER.replace("500", "600");
    const ran = await here([none, "lines.ndjson"]);
    expect(ran).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("0 of 4 lines pass, 4 do not.") as string,
    });
  });

  test("2 where somebody at a terminal gives no lines", async () => {
    expect(await here([FILTER], { tty: true })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/which log lines\?/) as string,
    });
  });
});

test("with a dataset, refuses operators that do not fit its fields, as the job would be", async () => {
  const filter = '{"where":{"key":"EdgeResponseStatus","operator":"contains","value":"50"}}';
  const misfit = await bin([filter, "--dataset", "http_requests"], '{"EdgeResponseStatus":500}');
  expect(misfit.code).toBe(2);
  expect(misfit.stderr).toMatch(
    /filter\.where\.operator is contains, which does not fit EdgeResponseStatus, a field of type int/,
  );
  const unknown = await here([filter, "--dataset", "http_request"]);
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain("Did you mean http_requests?");
});

test("its help has one example", async () => {
  const { code, stdout } = await here(["--help"]);
  expect(code).toBe(0);
  expect(stdout.match(/^ {2}\$ edgeguard filter .*$/gm)).toHaveLength(1);
});
