import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Shell } from "./shell";

/** `edgeguard filter` tests a Logpush filter before it is deployed. */

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

const OUTPUT = `The filter uses 5 operators (limit: about 30) and 224 bytes (limit: about 1,000):
  all of
    any of
      ClientRequestHost eq "www.shop.example"
      ClientRequestPath contains "/api"
    EdgeResponseStatus geq "500"

2 of 4 lines pass, 2 don't.

For example, these pass:
  line 2: {"ClientRequestHost":"www.shop.example","ClientRequestPath":"/cart","EdgeResponseStatus":503}
  line 3: {"ClientRequestHost":"blog.shop.example","ClientRequestPath":"/api/posts","EdgeResponseStatus":500}

For example, these don't pass:
  line 1: {"ClientRequestHost":"www.shop.example","ClientRequestPath":"/","EdgeResponseStatus":200}
  line 5: {"ClientRequestHost":"blog.shop.example","ClientRequestPath":"/\u2028","EdgeResponseStatus":500}
`;

describe("edgeguard filter, as built", () => {
  test("counts the lines in a file that pass the filter, and shows the first that passes and the first that doesn't", async () => {
    expect(await bin([FILTER, "lines.ndjson"])).toMatchObject({ code: 0, stdout: OUTPUT, stderr: "" });
  });

  test("reads the filter from a file and the lines from a pipe", async () => {
    expect(await bin(["@filter.json"], NDJSON)).toMatchObject({ code: 0, stdout: OUTPUT, stderr: "" });
  });
});

test.each([
  ["reads compressed lines", [FILTER, "lines.ndjson.gz"], ""],
  ["reads lines from standard input if the file is -", [FILTER, "-"], NDJSON],
  ["reads lines with Windows line breaks", [FILTER], NDJSON.replaceAll("\n", "\r\n")],
  [
    "accepts a filter copied from an API request, as JSON in a JSON string",
    [JSON.stringify(FILTER), "lines.ndjson"],
    "",
  ],
])("edgeguard filter %s", async (_, args, input) => {
  expect(await here(args, { input })).toEqual({ code: 0, stdout: OUTPUT, stderr: "" });
});

test("edgeguard filter warns about lines that make the counts unreliable", async () => {
  const ran = await here([FILTER, "broken.ndjson"]);
  expect(ran.code).toBe(0);
  expect(ran.stdout).toContain("1 of 4 lines passes, 1 doesn't, 2 can't be read.");
  expect(ran.stderr.split("\n")).toEqual([
    "edgeguard: 2 of 4 lines can't be read: line 2 is not a JSON object, line 3 is not a JSON object.",
    ...["ClientRequestHost", "ClientRequestPath", "EdgeResponseStatus"].map(
      (field) =>
        `edgeguard: 1 of 4 lines has no ${field} field, so comparisons with it fail. Cloudflare may treat such lines differently. Use sample lines that have the field.`,
    ),
    "",
  ]);
  const many = {
    or: Array.from({ length: 30 }, (_, i) => ({ key: "RayID", operator: "eq", value: String(i) })),
  };
  expect((await here([JSON.stringify({ where: many }), "lines.ndjson"])).stderr).toMatch(
    /the filter has 31 operators .* about 30.* To deploy it as it is, set filterChecks: "warn" on the LogpushJob\./,
  );
});

describe("edgeguard filter", () => {
  test.each<[number, string, string[], RegExp]>([
    [1, "no lines", [FILTER], /^edgeguard: no log lines\. Put one JSON object on each line/],
    [
      1,
      "a missing file of lines",
      [FILTER, "nothing.ndjson"],
      /Can't read log lines from ".*nothing\.ndjson"/,
    ],
    [1, "a directory", [FILTER, "."], /it is not a file/],
    [
      1,
      "a missing file with the filter",
      ["@nothing.json", "lines.ndjson"],
      /^edgeguard: the filter in nothing\.json can't be read: it does not exist/,
    ],
    [2, "no filter", [], /missing required argument 'filter'/],
    [2, "a filter that is not JSON", ["{", "lines.ndjson"], /filter: is not valid JSON/],
    [2, "a filter without where", ['{"and":[]}', "lines.ndjson"], /filter: has no "where"/],
    [
      2,
      "another tool's operator",
      [FILTER.replace("geq", "gte"), "lines.ndjson"],
      /filter\.where\.and\[1\]\.operator: "gte" is not an operator\. Did you mean "geq"\?\n$/,
    ],
    [2, "an empty group", ['{"where":{"and":[]}}', "lines.ndjson"], /filter\.where\.and: is an empty group/],
  ])("exits with %i for %s", async (code, _, args, sentence) => {
    const ran = await here(args);
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: "" });
    expect(ran.stderr).toMatch(sentence);
  });

  test("exits with 1 if no line is JSON", async () => {
    expect(await here([FILTER], { input: "one\ntwo\n" })).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "edgeguard: none of the 2 lines is a JSON object; line 1 is not a JSON object. Put one JSON object on each line (NDJSON).\n",
    });
  });

  test("exits with 0 even if no line passes", async () => {
    const none = FILTER.replace("500", "600");
    const ran = await here([none, "lines.ndjson"]);
    expect(ran).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("0 of 4 lines pass, 4 don't.") as string,
    });
  });

  test("exits with 2 if there are no lines and stdin is a terminal", async () => {
    expect(await here([FILTER], { tty: true })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no log lines to test/) as string,
    });
  });
});

describe("the filter's field checks", () => {
  const on = (key: string, operator = "eq", value = "50"): string =>
    JSON.stringify({ where: { key, operator, value } });
  const STATUS = '{"EdgeResponseStatus":500}';

  test.each<[string, string[], string]>([
    [
      "an operator for another type, without a dataset",
      [on("EdgeResponseStatus", "contains")],
      "filter.where.operator: contains doesn't work with EdgeResponseStatus, a field of type int. Use one of: eq, !eq, lt, leq, gt, geq, in, !in.\n",
    ],
    [
      "a field that no documented dataset has",
      [on("EdgeResponseStatu")],
      'filter.where.key: "EdgeResponseStatu" is not a field of dataset http_requests. Did you mean "EdgeResponseStatus"? If the filter is for another dataset, pass --dataset <name>.\n',
    ],
    [
      "a field of another dataset",
      [on("QueryName"), "--dataset", "http_requests"],
      '"QueryName" is not a field of dataset http_requests. List its fields with getLogpushFields. If the field is newer than this version of edgeguard, update it.',
    ],
    [
      "a field that filters can't use",
      [on("Action"), "--dataset", "firewall_events"],
      "Action can't be used in a filter of dataset firewall_events",
    ],
    [
      "an unknown dataset",
      [on("RayID"), "--dataset", "http_request"],
      "--dataset: http_request is not a known dataset. Did you mean http_requests?\n",
    ],
  ])("reject %s", async (_, args, sentence) => {
    const { code, stdout, stderr } = await here(args, { input: STATUS });
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(sentence) as string,
    });
  });

  test("only warn about a dataset whose fields are known only to the API", async () => {
    const ran = await here([on("QueryName"), "--dataset", "gateway_dns"], { input: '{"QueryName":"50"}' });
    expect(ran).toMatchObject({
      code: 0,
      stderr:
        "edgeguard: the fields of gateway_dns weren't checked, because this version of edgeguard doesn't list them. The preview of a LogpushJob checks them against the API.\n",
    });
  });
});

test("edgeguard filter shows one example in its help", async () => {
  const { code, stdout } = await here(["--help"]);
  expect(code).toBe(0);
  expect(stdout.match(/^ {2}\$ edgeguard filter .*$/gm)).toHaveLength(1);
});
