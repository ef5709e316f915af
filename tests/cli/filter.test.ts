import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { startLocalApi } from "edgeguard-local";
import { Shell } from "./shell";

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
    "edgeguard: 2 of 4 lines cannot be read: line 2 is not valid JSON, line 3 is not a JSON object.",
    ...["ClientRequestHost", "ClientRequestPath", "EdgeResponseStatus"].map(
      (field) =>
        `edgeguard: ${field} is missing in 1 of 4 lines: its comparisons fail there, which may not be what Cloudflare does. Use sample lines that have it.`,
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
    [1, "a folder", [FILTER, "."], /it is not a file/],
    [
      1,
      "a file of a filter that is not there",
      ["@nothing.json", "lines.ndjson"],
      /^edgeguard: the filter in nothing\.json cannot be read: it does not exist/,
    ],
    [2, "no filter", [], /missing required argument 'filter'/],
    [2, "a filter that is not JSON", ["{", "lines.ndjson"], /filter is no JSON/],
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
    [2, "a number of examples that is none", [FILTER, "--examples", "many"], /Pass a number from 0 to 9999/],
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
      stderr: "edgeguard: none of 2 lines is a JSON object; line 1 is not valid JSON.\n",
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
      stderr: expect.stringMatching(/no log lines to test/) as string,
    });
  });
});

describe("fields that do not fit, as a LogpushJob would refuse them", () => {
  const on = (key: string, operator = "eq", value = "50"): string =>
    JSON.stringify({ where: { key, operator, value } });
  const STATUS = '{"EdgeResponseStatus":500}';

  test.each<[string, string[], string]>([
    [
      "an operator for another type, without a dataset",
      [on("EdgeResponseStatus", "contains")],
      "filter.where.operator is contains, which does not fit EdgeResponseStatus, a field of type int. Operators for it: eq, !eq, lt, leq, gt, geq, in, !in.\n",
    ],
    [
      "a field that no documented dataset has",
      [on("EdgeResponseStatu")],
      'filter.where.key is "EdgeResponseStatu", a field that dataset http_requests does not have. Did you mean "EdgeResponseStatus"? If it is for another dataset, pass --dataset <name>.\n',
    ],
    [
      "a field of another dataset than the given one",
      [on("QueryName"), "--dataset", "http_requests"],
      'is "QueryName", a field that dataset http_requests does not have. getLogpushFields lists those it has. If Cloudflare has added the field, pass --zone <id> or --account <id>',
    ],
    ["a field that no filter may use", [on("Action"), "--dataset", "firewall_events"], "is Action, which"],
    [
      "a dataset that does not exist",
      [on("RayID"), "--dataset", "http_request"],
      "--dataset http_request is not a known dataset. Did you mean http_requests?\n",
    ],
    [
      "a zone without a dataset",
      [on("RayID"), "--zone", "0".repeat(32)],
      "--zone and --account list the fields of a dataset. Pass --dataset <name>.\n",
    ],
    ["a zone by its name", [on("RayID"), "--zone", "shop.example"], "An ID has 32 hexadecimal digits."],
  ])("%s", async (_, args, sentence) => {
    const { code, stdout, stderr } = await here(args, { input: STATUS });
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(sentence) as string,
    });
  });

  test("a dataset that only the API knows is said to be unchecked", async () => {
    const ran = await here([on("QueryName"), "--dataset", "gateway_dns"], { input: '{"QueryName":"50"}' });
    expect(ran).toMatchObject({
      code: 0,
      stderr:
        "edgeguard: the fields of gateway_dns are not listed here and were not checked. Pass --zone <id> or --account <id> to check them against the API.\n",
    });
  });

  test("the fields of a zone are those that the API lists for it", async () => {
    const api = await startLocalApi({
      logpush: { fields: { http_requests: { NewField: "string", JA4: null } } },
    });
    try {
      const env = { EDGEGUARD_BASE_URL: api.url, CLOUDFLARE_API_TOKEN: "local-token" };
      const live = ["--dataset", "http_requests", "--zone", api.zones.shop];
      const options = { input: '{"NewField":"50","JA4":"50"}', env };
      expect(await here([on("NewField"), ...live], options)).toMatchObject({ code: 0, stderr: "" });
      expect(await here([on("JA4"), ...live], options)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          'is "JA4", a field that dataset http_requests does not have.',
        ) as string,
      });
      const elsewhere = ["--dataset", "audit_logs", "--zone", api.zones.shop];
      expect(await here([on("ActionType"), ...elsewhere], options)).toMatchObject({
        code: 2,
        stderr: `edgeguard: zone ${api.zones.shop} has no dataset audit_logs. Check --dataset and --zone, or pass --account instead.\n`,
      });
    } finally {
      await api.close();
    }
  });
});

test("its help has one example", async () => {
  const { code, stdout } = await here(["--help"]);
  expect(code).toBe(0);
  expect(stdout.match(/^ {2}\$ edgeguard filter .*$/gm)).toHaveLength(1);
});
