import { destination, filter } from "pulumi-edgeguard";
import { omit } from "../../provider/runtime/values";
import { Operation, UNKNOWN } from "../support/operation";
import { bench, FILTER, HTTPS, TYPE, type Bench, type Members } from "./support";

/** What a preview refuses or warns of. None of it changes anything, so one local API serves all. */

let b: Bench;
beforeAll(async () => {
  b = await bench();
});
afterAll(() => b.api.close());
beforeEach(() => b.api.clearRequests());

const offline = { config: { "edgeguard:liveChecks": "false" } };
const refusals = (more: Members, live = false) =>
  new Operation(b.api, live ? {} : offline).refusals(TYPE, { ...b.job, ...more });
const warnings = async (more: Members, live = false) => {
  const op = new Operation(b.api, live ? {} : offline);
  await op.preview(TYPE, { ...b.job, ...more });
  return op.warned;
};
const A = (conditions: number, value = "") => ({
  where: {
    and: Array.from({ length: conditions }, () => ({ or: [{ key: "ClientIP", operator: "eq", value }] })),
  },
});

describe("without asking the service, a preview refuses", () => {
  test.each<[string, Members, string | RegExp]>([
    [
      "neither a zone nor an account",
      { zoneId: undefined },
      "zoneId: exactly one of zoneId and accountId says whose lines are pushed; neither is set",
    ],
    [
      "both a zone and an account",
      { accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1" },
      "accountId: exactly one of zoneId and accountId says whose lines are pushed; both are set",
    ],
    [
      "a zone that is none",
      { zoneId: "shop.example" },
      /^zoneId: "shop.example" is not a zone ID \(32 hex digits\)/,
    ],
    ["an empty name", { name: " " }, "name: is empty"],
    ["a long name", { name: "n".repeat(513) }, "name: is 513 characters; the limit is 512"],
    ["no dataset", { dataset: undefined }, "dataset: is required and must be a string"],
    [
      "a dataset that is no name",
      { dataset: "HTTP requests" },
      /^dataset: has to be the name of a dataset, such as http_requests/,
    ],
    [
      "no destination",
      { destinationConf: undefined },
      "destinationConf: is required: set destination, or destinationConf as a text",
    ],
    [
      "a destination of another kind",
      { destinationConf: 5 },
      /^destinationConf: has to be a text, or made by a builder such as destination\.s3$/,
    ],
    [
      "a destination of no scheme",
      { destinationConf: { scheme: "ftp" } },
      /^destinationConf\.scheme: has to be a text, or made by a builder/,
    ],
    [
      "a destination without its region",
      { destinationConf: "s3://logs" },
      /^destinationConf: lacks "region" in its query/,
    ],
    [
      "a typed one without it",
      { destinationConf: { scheme: "s3", bucket: "logs" } },
      "destinationConf.region: is required: a text",
    ],
    [
      "a typed one with more",
      { destinationConf: { ...destination.gs({ bucket: "b" }), folder: "x" } },
      /^destinationConf: unknown option "folder"\. Valid options: scheme, bucket, path\.$/,
    ],
    [
      "a typed one with half a key pair",
      { destinationConf: destination.s3({ bucket: "b", region: "r", accessKeyId: "K" }) },
      /^destinationConf: lacks "secret-access-key"/,
    ],
    [
      "an address over plain HTTP",
      { destinationConf: destination.https({ url: "http://logs.example.com" }) },
      "destinationConf.url: has to begin with https://, the only protocol the service pushes by",
    ],
    [
      "a rate that is no share",
      { outputOptions: { sampleRate: 1.5 } },
      "outputOptions.sampleRate: has to be from 0 to 1, the share of lines to send; it is 1.5",
    ],
    ["a negative rate", { outputOptions: { sampleRate: -0.1 } }, /it is -0\.1$/],
    [
      "a time format of another tool",
      { outputOptions: { timestampFormat: "iso" } },
      /^outputOptions\.timestampFormat: must be "unixnano", .*, not "iso"$/,
    ],
    [
      "no fields",
      { outputOptions: { fieldNames: [] } },
      'outputOptions.fieldNames: is an empty list; name at least one field, or write "all"',
    ],
    [
      "a field twice",
      { outputOptions: { fieldNames: ["A", "B", "A"] } },
      'outputOptions.fieldNames[2]: is "A" once more; keep one',
    ],
    ["a misspelt all", { outputOptions: { fieldNames: "every" } }, /^outputOptions\.fieldNames: .*"all"/],
    [
      "an unknown option",
      { outputOptions: { compress: true } },
      /^outputOptions: unknown option "compress"\. Valid options: field/,
    ],
    [
      "a misspelt option",
      { outputOptions: { sampelRate: 1 } },
      /option "sampelRate"\. Did you mean "sampleRate"\?$/,
    ],
    [
      "a known one as extra",
      { outputOptions: { extra: { sample_rate: 1 } } },
      "outputOptions.extra.sample_rate: is a known member of the API: set it by its own argument instead of extra",
    ],
    ["a flag that is none", { outputOptions: { cve202144228: "yes" } }, /^outputOptions\.cve202144228: /],
    [
      "too few bytes",
      { maxUploadBytes: 4_999_999 },
      "maxUploadBytes: has to be a whole number of bytes from 5000000 to 1000000000, or 0 for no limit; it is 4999999",
    ],
    ["too many bytes", { maxUploadBytes: 1_000_000_001 }, /it is 1000000001$/],
    [
      "too few seconds",
      { maxUploadIntervalSeconds: 29 },
      /seconds from 30 to 300, or 0 for no limit; it is 29$/,
    ],
    ["too many seconds", { maxUploadIntervalSeconds: 301 }, /it is 301$/],
    ["too few lines", { maxUploadRecords: 999 }, /lines from 1000 to 1000000, or 0 for no limit; it is 999$/],
    ["too many lines", { maxUploadRecords: 1_000_001 }, /it is 1000001$/],
    ["half a line", { maxUploadRecords: 1_000.5 }, /it is 1000\.5$/],
    ["a kind that is none", { kind: "fast" }, /^kind: must be "" or "edge", not "fast"$/],
    [
      "the edge for other datasets",
      { kind: "edge", dataset: "dns_logs", filter: undefined },
      'kind: is "edge", which is for the dataset http_requests only; this is dns_logs',
    ],
    [
      "merged subrequests of other datasets",
      { dataset: "dns_logs", filter: undefined, outputOptions: { mergeSubrequests: true } },
      "outputOptions.mergeSubrequests: is true, which is for the dataset http_requests only; this is dns_logs",
    ],
    [
      "a filter that is a number",
      { filter: 5 },
      /^filter: has to be made by the builders, filter\.where\(…\), or be JSON as a text, not 5$/,
    ],
    [
      "a filter without where",
      { filter: '{"and":[]}' },
      'filter: has no "where"; write {"where": …} around its conditions',
    ],
    [
      "an empty group",
      { filter: '{"where":{"and":[{"or":[]}]}}' },
      "filter.where.and[0].or: is an empty group; a group holds at least one condition",
    ],
    [
      "an operator that is none",
      { filter: FILTER.replace("geq", "gte") },
      'filter.where.and[1].operator: is "gte", which is no operator. Did you mean "geq"?',
    ],
    [
      "a text in a list of numbers",
      { filter: '{"where":{"and":[{"key":"EdgeResponseStatus","operator":"in","value":["200"]}]}}' },
      'filter.where.and[0].value[0]: is "200"; EdgeResponseStatus is a field of type int, so in takes numbers without quotes',
    ],
    [
      "what does not fit in two places, in one sentence",
      { filter: FILTER.replace('"eq"', '"lt"').replace('"500"', '"5xx"') },
      /^filter\.where\.and\[0\]\.operator: is lt, which does not fit ClientRequestHost.*; filter\.where\.and\[1\]\.value is "5xx"; EdgeResponseStatus is a field of type int and takes a whole number$/,
    ],
    ["too many operators", { filter: A(15) }, /^filter: has 31 operators .*; the service takes about 30\. /],
    [
      "too many bytes of filter",
      { filter: A(1, "x".repeat(1_000)) },
      /^filter: is 1\d{3} bytes; the service takes about 1000\. /,
    ],
    [
      "a known member as extra",
      { extra: { destination_conf: "x" } },
      /^extra\.destination_conf: is a known member of the API/,
    ],
    ["an argument that is none", { fieldNames: ["A"] }, /^fieldNames: unknown argument "fieldNames"/],
  ])("%s", async (_what, more, sentence) => {
    const [only, ...others] = await refusals(more);
    expect(others).toEqual([]);
    if (typeof sentence === "string") expect(only).toBe(sentence);
    else expect(only).toMatch(sentence);
    expect(b.sent()).toEqual([]);
  });

  test("nothing at each limit", async () => {
    const more = {
      name: "n".repeat(512),
      destinationConf: `gs://${"b".repeat(4_096 - 5)}`,
      outputOptions: { sampleRate: 1 },
      maxUploadBytes: 5_000_000,
      maxUploadIntervalSeconds: 300,
      maxUploadRecords: 1_000_000,
    };
    expect(await refusals(more)).toEqual([]);
    expect(
      await refusals({
        outputOptions: { sampleRate: 0.000_001 },
        maxUploadBytes: 1_000_000_000,
        maxUploadIntervalSeconds: 30,
        maxUploadRecords: 1_000,
        filter: { where: { and: [...A(14).where.and, { key: "ClientIP", operator: "eq", value: "" }] } },
      }),
    ).toEqual([]);
    expect(
      await refusals({ maxUploadBytes: 0, maxUploadIntervalSeconds: 0, maxUploadRecords: 0, filter: "" }),
    ).toEqual([]);
  });

  test("a bad filter also while the destination is not known yet", async () => {
    expect(await refusals({ destinationConf: UNKNOWN, filter: FILTER.replace('"500"', '"5xx"') })).toEqual([
      expect.stringMatching(/^filter\.where\.and\[1\]\.value: is "5xx"/),
    ]);
  });
});

describe('with filterChecks: "warn", a filter is sent although', () => {
  test.each<[string, Members, RegExp]>([
    [
      "it is larger than documented",
      { filter: A(15) },
      /^edgeguard: LogpushJob "shop-requests": filter has 31 operators/,
    ],
    [
      "it does not fit what is documented of a field",
      { filter: FILTER.replace('"500"', '"5xx"') },
      /^edgeguard: LogpushJob "shop-requests": filter\.where\.and\[1\]\.value is "5xx"; EdgeResponseStatus is a field of type int/,
    ],
  ])("%s, and that is said once", async (_what, more, sentence) => {
    for (const live of [false, true]) {
      expect(await warnings({ ...more, filterChecks: "warn" }, live)).toEqual([
        expect.stringMatching(sentence),
      ]);
    }
  });

  test("but not where it is no filter", async () => {
    expect(await refusals({ filterChecks: "warn", filter: "{}" })).toEqual([
      expect.stringContaining('filter: has no "where"'),
    ]);
  });
});

describe("a preview warns of", () => {
  test.each<[string, Members, RegExp]>([
    [
      "a dataset it does not know",
      { dataset: "http_request", filter: undefined, outputOptions: undefined },
      /this version does not know the dataset "http_request"; did you mean "http_requests"\?$/,
    ],
    [
      "a dataset of accounts for a zone",
      { dataset: "audit_logs", filter: undefined },
      /audit_logs was last seen as a dataset of accounts; set accountId instead if the service refuses it\.$/,
    ],
    [
      "a name with other characters",
      { name: "shop requests" },
      /older versions of the service take letters, digits, "\." and "-" in a name only\.$/,
    ],
    [
      "a rate of nothing",
      { outputOptions: { sampleRate: 0 } },
      /outputOptions\.sampleRate is 0: it sends no line at all\.$/,
    ],
    [
      "a template of fields that are not sent",
      {
        outputOptions: {
          fieldNames: ["RayID"],
          recordTemplate: "{{.RayID}} {{ .ClientIP }} {{/* no .Field */}}",
        },
      },
      /outputOptions\.recordTemplate uses ClientIP, which fieldNames does not have: the service writes null there\.$/,
    ],
  ])("%s", async (_what, more, sentence) => {
    expect(await warnings(more)).toEqual([expect.stringMatching(sentence)]);
  });

  test("none of it again, where nothing has changed", async () => {
    const inputs = { ...b.job, name: "shop requests" };
    const recorded = {
      id: "1",
      inputs: (await new Operation(b.api, offline).check(TYPE, inputs)).inputs,
      outputs: {},
    };
    const op = new Operation(b.api);
    await op.check(TYPE, inputs, recorded);
    expect(op.warned).toEqual([]);
  });
});

describe("the service is asked, once for all jobs,", () => {
  test("for the fields of the dataset, and the nearest is named", async () => {
    const more = {
      outputOptions: { fieldNames: ["RayID", "ClientIp", "EdgeStartTimestmp"] },
      filter: filter.where(filter.and(filter.eq("ClientRequestHots", "x"))),
    };
    expect(await refusals(more, true)).toEqual([
      'outputOptions.fieldNames[1]: is "ClientIp", a field that dataset http_requests does not have. Did you mean "ClientIP"?',
      'outputOptions.fieldNames[2]: is "EdgeStartTimestmp", a field that dataset http_requests does not have. Did you mean "EdgeStartTimestamp"?',
      'filter.where.and[0].key: is "ClientRequestHots", a field that dataset http_requests does not have. Did you mean "ClientRequestHost"?',
    ]);
    expect(await refusals({ ...more, outputOptions: {}, filterChecks: "warn" }, true)).toEqual([]);
  });

  test("whatever number of them there is", async () => {
    const op = new Operation(b.api);
    for (const name of ["a", "b", "c"]) await op.preview(TYPE, { ...b.job, name });
    expect(b.sent()).toEqual(["GET /jobs", "GET /datasets/http_requests/fields"]);
  });

  test("not for fields where none are named", async () => {
    await new Operation(b.api).preview(TYPE, omit(b.job, ["filter", "outputOptions"]));
    expect(b.sent()).toEqual(["GET /jobs"]);
  });

  test.each<[string, Members, string]>([
    [
      "that it has no such dataset",
      { dataset: "http_request" },
      'dataset: is "http_request", which the service does not know for this zone',
    ],
    [
      "that the dataset is the account's",
      { dataset: "audit_logs", outputOptions: { fieldNames: ["When"] } },
      'dataset: is "audit_logs", which this zone does not have; set accountId instead of zoneId',
    ],
  ])("and its answer proves %s", async (_what, more, sentence) => {
    expect(await refusals({ filter: undefined, ...more }, true)).toEqual([sentence]);
  });

  test("and where it knows no fields of the dataset, that is a warning", async () => {
    const account = {
      ...omit(b.job, ["zoneId", "filter"]),
      accountId: b.api.accounts.main,
      dataset: "casb_findings",
    };
    const op = new Operation(b.api);
    await op.preview(TYPE, account);
    expect(op.warned).toEqual([
      expect.stringContaining("live check skipped: Listing the fields of dataset casb_findings"),
    ]);
  });

  test("and what the plan or the token does not allow fails the preview, for the update needs it", async () => {
    b.api.fault({ match: { method: "GET" }, kind: "status", status: 403, message: "not entitled" });
    expect(await new Operation(b.api).refusals(TYPE, b.job)).toEqual([
      expect.stringMatching(/^Listing .* lacks the permission Logs Write .* or the plan lacks Logpush/),
    ]);
  });
});

test("a refusal of the service says what to do, by its status, code and pointer", async () => {
  const zoneId = b.api.zones.free;
  const quota = await new Operation(b.api, offline).failedUp(TYPE, { ...b.job, zoneId });
  expect(quota.message).toContain("exceeded max jobs allowed [code 1004]");
  expect(quota.message).toContain("the Logpush job limit is reached (documented: 4 jobs per zone)");
  b.api.logpush.configure({ unwritable: ["https://logs.example.com"] });
  const closed = await new Operation(b.api, offline).failedUp(TYPE, b.job);
  b.api.logpush.configure({ unwritable: [] });
  expect(closed.message).toContain("error validating destination");
  expect(closed.message).toContain("The service writes a test file before it accepts a destination");
  expect(closed.message).not.toContain(HTTPS.slice(-8));
});
