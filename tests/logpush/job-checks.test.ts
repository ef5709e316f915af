import { destination, filter } from "pulumi-edgeguard";
import { omit } from "../../provider/basics/json";
import { UNKNOWN } from "../support/operation";
import { FILTER, HTTPS, LogpushBench, TYPE, type Members } from "./support";
import { OFFLINE, accounts } from "../support/bench";

/** What a preview refuses or warns of. None of it changes anything, so one local API serves all. */

const b = new LogpushBench(true);

const refusals = (more: Members, live = false) =>
  b.operation(live ? {} : OFFLINE).refusals(TYPE, { ...b.job, ...more });
const warnings = async (more: Members, live = false) => {
  const op = b.operation(live ? {} : OFFLINE);
  await op.preview(TYPE, { ...b.job, ...more });
  return op.warned;
};
const BIGQUERY = "bq://projects/shop/datasets/logs/tables/http?credentials=base64:Y2FuYXJ5";
const A = (conditions: number, value = "") => ({
  where: {
    and: Array.from({ length: conditions }, () => ({ or: [{ key: "ClientIP", operator: "eq", value }] })),
  },
});

describe("a preview without live checks", () => {
  test.each<[Members, string | RegExp]>([
    [{ zoneId: "shop.example" }, /^zoneId: "shop.example" is not a zone ID \(32 hex digits\)/],
    [{ name: " " }, "name: must not be empty"],
    [{ name: "n".repeat(513) }, "name: must be at most 512 characters, not 513"],
    [{ dataset: undefined }, "dataset: is required and must be a string"],
    [
      { dataset: "HTTP requests" },
      'dataset: "HTTP requests" is not the name of a dataset. Use lowercase letters, digits and _, as in http_requests',
    ],
    [
      { destinationConf: undefined },
      "destination: is required. Set destination, or destinationConf for a plain string",
    ],
    [
      { destinationConf: 5 },
      "destination: must come from a builder such as destination.s3(…). For a plain string, use destinationConf instead",
    ],
    [{ destinationConf: { scheme: "ftp" } }, /^destination\.scheme: must come from a builder/],
    [
      { destinationConf: { scheme: "s3", bucket: "logs" } },
      "destination.region: is required and must be a string",
    ],
    [
      { destinationConf: destination.s3({ bucket: "my bucket", region: "us-east-1" }) },
      'destination.bucket: has invalid characters. Use letters, digits, ".", "-" and "_"',
    ],
    [
      {
        destinationConf: destination.r2({
          bucket: "logs",
          accountId: "main",
          accessKeyId: "K",
          secretAccessKey: "S",
        }),
      },
      /^destination\.accountId: is not an account ID \(32 hex digits\)/,
    ],
    [
      { destinationConf: { ...destination.gs({ bucket: "b" }), folder: "x" } },
      /^destination: unknown option "folder"\. Valid options: scheme, bucket, path\.$/,
    ],
    [
      { destinationConf: destination.s3({ bucket: "b", region: "r", accessKeyId: "K" }) },
      /^destination: is missing secretAccessKey\. Set both accessKeyId and secretAccessKey, or neither/,
    ],
    [
      { destinationConf: destination.https({ url: "http://logs.example.com" }) },
      "destination.url: must start with https://, because Logpush pushes only over HTTPS",
    ],
    [{ destinationConf: "s4://logs" }, /^destinationConf: has a scheme .* Did you mean s3:\/\/\?$/],
    [
      { outputOptions: { sampleRate: 0 } },
      "outputOptions.sampleRate: must be above 0 and at most 1 (the share of log lines to send), not 0",
    ],
    [
      { dataset: "dns_logs", filter: undefined, filterAttackTraffic: true },
      "filterAttackTraffic: works only with dataset http_requests, firewall_events, network_analytics_logs, not dns_logs. Remove filterAttackTraffic, or change the dataset",
    ],
    [{ transformerId: 0 }, "transformerId: must be at least 1, not 0"],
    [{ transformerId: 1.5 }, "transformerId: must be a whole number, not 1.5"],
    [
      { transformerId: 42, outputOptions: { outputType: "csv" } },
      'transformerId: works only with outputType "ndjson", not "csv". Remove transformerId, or change outputType',
    ],
    [
      { zoneId: undefined, accountId: accounts.main, outputOptions: { mergeSubrequests: true } },
      "outputOptions.mergeSubrequests: works only for zones. Remove mergeSubrequests, or set zoneId instead of accountId",
    ],
    [
      { outputOptions: { timestampFormat: "iso" } },
      /^outputOptions\.timestampFormat: must be "unixnano", .*, not "iso"$/,
    ],
    [
      { outputOptions: { fieldNames: [] } },
      'outputOptions.fieldNames: must not be an empty list. List at least one field, or set "all"',
    ],
    [
      { outputOptions: { fieldNames: ["A", "B", "A"] } },
      'outputOptions.fieldNames[2]: repeats "A". Remove it',
    ],
    [{ outputOptions: { fieldNames: "every" } }, /^outputOptions\.fieldNames: .*"all"/],
    [
      { outputOptions: { compress: true } },
      /^outputOptions: unknown option "compress"\. Valid options: field/,
    ],
    [{ outputOptions: { sampelRate: 1 } }, /option "sampelRate"\. Did you mean "sampleRate"\?$/],
    [
      { outputOptions: { extra: { sample_rate: 1 } } },
      "outputOptions.extra.sample_rate: has its own argument. Set that argument instead of extra",
    ],
    [{ outputOptions: { cve202144228: "yes" } }, /^outputOptions\.cve202144228: /],
    [
      { maxUploadBytes: 4_999_999 },
      "maxUploadBytes: must be a whole number of bytes from 5000000 to 1000000000, or 0 for no limit, not 4999999",
    ],
    [{ maxUploadBytes: 1_000_000_001 }, /not 1000000001$/],
    [{ maxUploadIntervalSeconds: 29 }, /seconds from 30 to 300, or 0 for no limit, not 29$/],
    [{ maxUploadIntervalSeconds: 301 }, /not 301$/],
    [{ maxUploadRecords: 999 }, /lines from 1000 to 1000000, or 0 for no limit, not 999$/],
    [{ maxUploadRecords: 1_000_001 }, /not 1000001$/],
    [{ maxUploadRecords: 1_000.5 }, /not 1000\.5$/],
    [{ kind: "fast" }, /^kind: must be "" or "edge", not "fast"$/],
    [
      { kind: "edge", dataset: "dns_logs", filter: undefined },
      "kind: works only with dataset http_requests, not dns_logs. Remove kind, or change the dataset",
    ],
    [
      { dataset: "dns_logs", filter: undefined, outputOptions: { mergeSubrequests: true } },
      "outputOptions.mergeSubrequests: works only with dataset http_requests, not dns_logs. Remove mergeSubrequests, or change the dataset",
    ],
    [{ filter: 5 }, "filter: must come from filter.where(…) or be a JSON string, not 5"],
    [{ filter: '{"and":[]}' }, 'filter: has no "where". Wrap its conditions in {"where": …}'],
    [
      { filter: '{"where":{"and":[{"or":[]}]}}' },
      "filter.where.and[0].or: is an empty group. Add at least one condition",
    ],
    [
      { filter: '{"where":{"and":[{"key":"EdgeResponseStatus","operator":"in","value":["200"]}]}}' },
      'filter.where.and[0].value[0]: must be a number without quotes, not "200", since EdgeResponseStatus is a field of type int',
    ],
    [
      { filter: FILTER.replace('"eq"', '"lt"').replace('"500"', '"5xx"') },
      /^filter\.where\.and\[0\]\.operator: lt doesn't work with ClientRequestHost.*; filter\.where\.and\[1\]\.value: must be a whole number, not "5xx", since EdgeResponseStatus is a field of type int$/,
    ],
    [
      { filter: A(15) },
      /^filter: has 31 operators .*; Cloudflare accepts about 30\. .* set filterChecks: "warn"$/,
    ],
    [{ filter: A(1, "x".repeat(1_000)) }, /^filter: has 1\d{3} bytes; Cloudflare accepts about 1000\. /],
    [{ extra: { destination_conf: "x" } }, /^extra\.destination_conf: has its own argument/],
    [{ fieldNames: ["A"] }, /^fieldNames: unknown argument "fieldNames"/],
  ])("rejects %p without sending a request", async (more, sentence) => {
    const [only, ...others] = await refusals(more);
    expect(others).toEqual([]);
    if (typeof sentence === "string") expect(only).toBe(sentence);
    else expect(only).toMatch(sentence);
    expect(b.sent()).toEqual([]);
  });

  test("accepts arguments that are exactly at their limits", async () => {
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

  test("rejects an invalid filter, even while the destination is unknown", async () => {
    expect(await refusals({ destinationConf: UNKNOWN, filter: FILTER.replace('"500"', '"5xx"') })).toEqual([
      expect.stringMatching(/^filter\.where\.and\[1\]\.value: must be a whole number, not "5xx"/),
    ]);
  });
});

describe('with filterChecks: "warn", a preview', () => {
  test.each<[Members, RegExp]>([
    [
      { filter: A(15) },
      /^edgeguard: LogpushJob "shop-requests": Cloudflare may reject the filter, which is sent as written: filter: has 31 operators .* or split the job\.$/,
    ],
    [
      { filter: FILTER.replace('"500"', '"5xx"') },
      /^edgeguard: LogpushJob "shop-requests": Cloudflare may reject the filter, which is sent as written: filter\.where\.and\[1\]\.value: must be a whole number, not "5xx"/,
    ],
  ])("only warns, once, that %p", async (more, sentence) => {
    for (const live of [false, true]) {
      expect(await warnings({ ...more, filterChecks: "warn" }, live)).toEqual([
        expect.stringMatching(sentence),
      ]);
    }
  });

  test("still rejects an invalid filter", async () => {
    expect(await refusals({ filterChecks: "warn", filter: "{}" })).toEqual([
      expect.stringContaining('filter: has no "where"'),
    ]);
  });
});

describe("a preview of a Logpush job", () => {
  test.each<[Members, RegExp]>([
    [
      { dataset: "http_request", filter: undefined, outputOptions: undefined },
      /dataset "http_request" is not known to this version; sending it unchecked\. Did you mean "http_requests"\?$/,
    ],
    [
      { dataset: "audit_logs", filter: undefined },
      /Cloudflare may reject dataset audit_logs, which it documents for accounts\. If it does, set accountId instead of zoneId\.$/,
    ],
    [
      { name: "shop requests" },
      /older versions of the API reject this name\. They accept only letters, digits, "\." and "-"\.$/,
    ],
    [
      { destinationConf: "pipelines://stream?token=canary-token" },
      /the destination's scheme is not known to this version; sending the destination unchecked\. All of it is secret, and any change of it counts as another location\.$/,
    ],
    [
      { destinationConf: BIGQUERY, outputOptions: { outputType: "csv" } },
      /BigQuery may reject log fields that are objects, because outputOptions sets outputType\. Set outputOptions\.stringifyObject to true\.$/,
    ],
    [
      {
        outputOptions: {
          fieldNames: ["RayID"],
          recordTemplate: "{{.RayID}} {{ .ClientIP }} {{/* no .Field */}}",
        },
      },
      /Cloudflare will write null for ClientIP, which outputOptions\.recordTemplate uses but fieldNames doesn't list\.$/,
    ],
  ])("warns about %p", async (more, sentence) => {
    expect(await warnings(more)).toContainEqual(expect.stringMatching(sentence));
  });

  test.each<[string, Members]>([
    [
      "firewall events of an account",
      { zoneId: undefined, accountId: accounts.main, dataset: "firewall_events" },
    ],
    ["WebSocket analytics of a zone", { dataset: "websocket_analytics" }],
    [
      "WebSocket analytics of an account",
      { zoneId: undefined, accountId: accounts.main, dataset: "websocket_analytics" },
    ],
    ["account abuse protection events of a zone", { dataset: "account_abuse_protection_events" }],
    [
      "BigQuery with objects as strings",
      { destinationConf: BIGQUERY, outputOptions: { outputType: "csv", stringifyObject: true } },
    ],
    [
      "BigQuery without formatting",
      { destinationConf: BIGQUERY, outputOptions: { timestampFormat: "rfc3339" } },
    ],
  ])("doesn't warn about %s", async (_, more) => {
    expect(await warnings({ filter: undefined, outputOptions: undefined, ...more })).toEqual([]);
  });

  test("doesn't repeat a warning if nothing has changed", async () => {
    const inputs = { ...b.job, name: "shop requests" };
    const recorded = {
      id: "1",
      inputs: (await b.operation(OFFLINE).check(TYPE, inputs)).inputs,
      outputs: {},
    };
    const op = b.operation();
    await op.check(TYPE, inputs, recorded);
    expect(op.warned).toEqual([]);
  });
});

describe("the live check of a Logpush job", () => {
  test("rejects unknown fields and suggests similar names", async () => {
    const more = {
      outputOptions: { fieldNames: ["RayID", "ClientIp", "EdgeStartTimestmp"] },
      filter: filter.where(filter.and(filter.eq("ClientRequestHots", "x"))),
    };
    expect(await refusals(more, true)).toEqual([
      'outputOptions.fieldNames[1]: "ClientIp" is not a field of dataset http_requests. Did you mean "ClientIP"?',
      'outputOptions.fieldNames[2]: "EdgeStartTimestmp" is not a field of dataset http_requests. Did you mean "EdgeStartTimestamp"?',
      'filter.where.and[0].key: "ClientRequestHots" is not a field of dataset http_requests. Did you mean "ClientRequestHost"?',
    ]);
    expect(await refusals({ ...more, outputOptions: {}, filterChecks: "warn" }, true)).toEqual([]);
  });

  test("sends the same requests for one job and for many", async () => {
    const op = b.operation();
    for (const name of ["a", "b", "c"]) await op.preview(TYPE, { ...b.job, name });
    expect(b.sent()).toEqual(["GET /jobs", "GET /datasets/http_requests/fields"]);
  });

  test("doesn't request the dataset's fields if the job uses none", async () => {
    await b.preview(omit(b.job, ["filter", "outputOptions"]));
    expect(b.sent()).toEqual(["GET /jobs"]);
  });

  test.each<[Members, string]>([
    [
      { dataset: "http_request" },
      'dataset: "http_request" is not a dataset of this zone. Did you mean "http_requests"?',
    ],
    [
      { dataset: "audit_logs", outputOptions: { fieldNames: ["When"] } },
      'dataset: "audit_logs" is not a dataset of this zone. Set accountId instead of zoneId',
    ],
  ])("rejects %p", async (more, sentence) => {
    expect(await refusals({ filter: undefined, ...more }, true)).toEqual([sentence]);
  });

  test("only warns if the API lists no fields for a dataset", async () => {
    const account = {
      ...omit(b.job, ["zoneId", "filter"]),
      accountId: accounts.main,
      dataset: "casb_findings",
    };
    expect(await b.warnings(account)).toEqual([
      expect.stringContaining("live check skipped: Listing the fields of dataset casb_findings"),
    ]);
  });

  test("fails if the plan or token doesn't allow listing jobs, because the update has to list them too", async () => {
    b.api.fault({ match: { method: "GET" }, kind: "status", status: 403, message: "not entitled" });
    expect(await b.refusals(b.job)).toEqual([
      expect.stringMatching(
        /^Listing .* lacks the Logs Write permission for this zone \([^)]*\)\. Edit the token's permissions and resources in the dashboard, under API Tokens\.$/,
      ),
    ]);
  });
});

test("advice is added to an API error, based on its status, code and pointer", async () => {
  b.api.logpush.configure({ unwritable: ["https://logs.example.com"] });
  const closed = await b.operation(OFFLINE).failedUp(TYPE, b.job);
  b.api.logpush.configure({ unwritable: [] });
  expect(closed.message).toContain("error validating destination");
  expect(closed.message).toContain("Cloudflare writes a test file before it accepts a destination");
  expect(closed.message).not.toContain(HTTPS.slice(-8));
});
