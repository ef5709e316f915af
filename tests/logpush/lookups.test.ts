import * as pulumi from "@pulumi/pulumi";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import {
  getLogpushFields,
  getLogpushFieldsOutput,
  getLogpushJobs,
  getLogpushJobsOutput,
  type LookupOptions,
} from "pulumi-edgeguard";
import { envelope, serve } from "../support/edge-client";
import { rawSend } from "../support/operation";

let api: LocalApi;
let opts: LookupOptions;
let zoneId: string;
beforeAll(async () => {
  api = await startLocalApi();
  opts = { config: { baseUrl: api.url, apiToken: "local-token", accountId: api.accounts.main } };
  zoneId = api.zones.shop;
});
afterAll(() => api.close());
beforeEach(() => {
  api.reset();
  api.clearRequests();
});

const known = <T>(output: pulumi.Output<T>) => new Promise<T>((done) => output.apply(done));

test("lists the fields of a zone's or account's dataset with their types", async () => {
  const fields = await getLogpushFields({ zoneId, dataset: "http_requests" }, opts);
  expect(fields).toContainEqual({ name: "EdgeResponseStatus", type: "int", description: "int" });
  expect(fields).toContainEqual({
    name: "ClientDeviceType",
    type: "string",
    description: "string; desktop | mobile | tablet",
  });
  const accountId = api.accounts.main.toUpperCase();
  const dataset = pulumi.output("audit_logs");
  expect(await known(getLogpushFieldsOutput({ accountId, dataset }, opts))).toContainEqual({
    name: "When",
    type: "int or string",
    description: "int or string",
  });
  expect(api.requests.map(({ path }) => path)).toEqual([
    `/zones/${zoneId}/logpush/datasets/http_requests/fields`,
    `/accounts/${api.accounts.main}/logpush/datasets/audit_logs/fields`,
  ]);
});

test("omits a field's type if Cloudflare's description doesn't start with a type", async () => {
  const service = await serve((_request, response) => {
    response.end(envelope({ ClientIP: "the client's address", RayID: null }));
  });
  expect(
    await getLogpushFields(
      { zoneId, dataset: "http_requests" },
      { config: { baseUrl: service.url, apiToken: "t" } },
    ),
  ).toEqual([
    { name: "ClientIP", description: "the client's address" },
    { name: "RayID", description: "" },
  ]);
});

test("lists all jobs or those of one dataset, without anything that could be a credential", async () => {
  const secret = "c4nary-token-aaaa";
  const { result } = await rawSend(api, "POST", `/zones/${zoneId}/logpush/jobs`, {
    name: "requests",
    dataset: "http_requests",
    destination_conf: `https://logs.example.com/in?header_Authorization=Bearer%20${secret}`,
    enabled: true,
    kind: "edge",
    filter: '{"where":{"and":[{"key":"ClientIP","operator":"eq","value":"x"}]}}',
    output_options: {
      field_names: ["ClientIP"],
      sample_rate: 0.5,
      "CVE-2021-44228": "true",
      compress: "zstd",
    },
  });
  const id = String((result as { id: number }).id);
  api.logpush.setHealth(Number(id), {
    last_complete: "2026-02-03T09:00:00Z",
    last_error: "2026-02-03T10:00:00Z",
    error_message: `refused: Bearer ${secret}`,
  });
  const requests = {
    id,
    name: "requests",
    dataset: "http_requests",
    enabled: true,
    kind: "edge",
    destination: "https://logs.example.com/in?[secret]",
    filter: '{"where":{"and":[{"key":"ClientIP","operator":"eq","value":"x"}]}}',
    outputOptions: {
      fieldNames: ["ClientIP"],
      sampleRate: 0.5,
      cve202144228: true,
      extra: { compress: "zstd" },
    },
    lastComplete: "2026-02-03T09:00:00Z",
    lastError: "2026-02-03T10:00:00Z",
    errorMessage: "refused: [secret]",
  };
  const existing = {
    id: "101",
    name: "existing",
    dataset: "firewall_events",
    enabled: true,
    destination: "gs://shop-example-logs/firewall",
    outputOptions: { fieldNames: ["Datetime", "ClientIP", "Action", "RuleID"], timestampFormat: "rfc3339" },
  };
  api.clearRequests();
  expect(await getLogpushJobs({ zoneId }, opts)).toEqual([existing, requests]);
  expect(await known(getLogpushJobsOutput({ zoneId, dataset: "http_requests" }, opts))).toEqual([requests]);
  expect(await getLogpushJobs({ accountId: api.accounts.main }, opts)).toEqual([]);
  expect(api.requests.map(({ path }) => path)).toEqual([
    `/zones/${zoneId}/logpush/jobs`,
    `/zones/${zoneId}/logpush/datasets/http_requests/jobs`,
    `/accounts/${api.accounts.main}/logpush/jobs`,
  ]);
});

test.each([
  [
    "neither zone nor account",
    () => getLogpushJobs({}, opts),
    "getLogpushJobs: set either zoneId or accountId; neither is set.",
  ],
  [
    "both zone and account",
    () => getLogpushFields({ zoneId, accountId: zoneId, dataset: "x" }, opts),
    "getLogpushFields: set either zoneId or accountId; both are set.",
  ],
  [
    "a malformed zone ID",
    () => getLogpushJobs({ zoneId: "shop" }, opts),
    /^getLogpushJobs: zoneId: .* is not a zone ID \(32 hex digits\)/,
  ],
  [
    "a malformed dataset",
    () => getLogpushFields({ zoneId, dataset: "../jobs" }, opts),
    /^getLogpushFields: dataset: "\.\.\/jobs" is not the name of a dataset/,
  ],
])("rejects a lookup with %s before any request", async (_what, lookup, sentence) => {
  await expect(lookup()).rejects.toThrow(sentence);
  expect(api.requests).toEqual([]);
});

test("getLogpushFields fails if the zone has no such dataset", async () => {
  await expect(getLogpushFields({ zoneId, dataset: "audit_logs" }, opts)).rejects.toMatchObject({
    name: "ApiError",
    status: 404,
  });
});
