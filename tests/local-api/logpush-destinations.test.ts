import { readFileSync } from "node:fs";
import { join } from "node:path";
import { apiPerTest } from "../support/bench";
import { callerOf, result } from "./client";
import { create, DATADOG, newJob, refusal, tokenFor } from "./logpush-client";

const S3 = "s3://shop-logs/edge?region=eu-central-1";
const DAY = 24 * 60 * 60 * 1000;

const api = apiPerTest({ clock: () => new Date("2026-10-01T12:00:00Z") });
const call = callerOf(api);
const SCOPE = `/zones/${api.zones.empty}`;
const JOBS = `${SCOPE}/logpush/jobs`;

const claimsOf = (token: string): unknown =>
  JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());

describe("the API for Logpush destinations", () => {
  test.each<[string, string]>([
    ["ftp://host/path", "must start with one of"],
    ["shop-logs", "must start with one of"],
    ["s3://?region=eu-central-1", "needs a bucket"],
    ["s3://shop-logs/edge", "s3:// needs region"],
    ["s3://shop-logs?region=x&endpoint=minio.example", "s3:// needs access-key-id"],
    ["s3://shop-logs?region=x&endpoint=minio.example&access-key-id=a", "s3:// needs secret-access-key"],
    ["r2://shop-logs?access-key-id=a&secret-access-key=b", "r2:// needs account-id"],
    ["r2://shop-logs?account-id=a&secret-access-key=b", "r2:// needs access-key-id"],
    ["r2://shop-logs?account-id=a&access-key-id=b", "r2:// needs secret-access-key"],
    ["gs:///path", "needs a bucket"],
    ["azure://account.blob.example/logs", "azure:// needs sig"],
    ["splunk://splunk.example/hec?header_Authorization=x", "splunk:// needs channel"],
    ["splunk://splunk.example/hec?channel=x", "splunk:// needs header_Authorization"],
    ["datadog://intake.example/v1/input", "datadog:// needs header_DD-API-KEY"],
    ["sumo://collectors.example/other", "needs the path of an HTTP source"],
    ["https://", "needs a bucket or a host"],
  ])("rejects %s on every route, without showing its secrets", async (destination, why) => {
    const refused = refusal(400, 1002, why, "/destination_conf");
    for (const path of [JOBS, `${SCOPE}/logpush/ownership`]) {
      const response = await call("POST", path, { ...newJob, destination_conf: destination });
      expect(response).toMatchObject(refused);
    }
  });

  test("accepts a destination of up to 4,096 characters", async () => {
    const long = (length: number) =>
      `https://logs.example/${"x".repeat(length - "https://logs.example/".length)}`;
    const post = (length: number) => call("POST", JOBS, { ...newJob, destination_conf: long(length) });
    expect(await post(4096)).toMatchObject({ status: 200 });
    expect(await post(4097)).toMatchObject(refusal(400, 1002, "4096", "/destination_conf"));
  });

  test("rejects a job and an ownership challenge if the destination rejects writes", async () => {
    api.logpush.configure({ unwritable: ["datadog://intake"] });
    expect(await call("POST", JOBS, newJob)).toMatchObject(
      refusal(400, 1002, "error validating destination: error writing object", "/destination_conf"),
    );
    const body = { destination_conf: DATADOG };
    expect(result(await call("POST", `${SCOPE}/logpush/ownership`, body))).toEqual({
      filename: "",
      message: "error writing object: access denied",
      valid: false,
    });
    expect(api.logpush.files()).toEqual([]);
  });
});

describe("the API for Logpush ownership", () => {
  test("requires an ownership token for buckets, but not for destinations with credentials", async () => {
    const keys = "access-key-id=a&secret-access-key=b";
    const asked = [
      S3,
      "gs://shop-logs/edge",
      "azure://account.blob.example/logs?sig=x",
      "sumo://collectors.example/receiver/v1/http/abc",
      `r2://shop-logs?account-id=${"0".repeat(32)}&${keys}`,
    ];
    const free = [
      DATADOG,
      "https://logs.example/in",
      "splunk://splunk.example/hec?channel=1&header_Authorization=x",
      `s3://shop-logs?region=x&endpoint=minio.example&${keys}`,
      `r2://shop-logs?account-id=${api.accounts.main}&${keys}`,
    ];
    const responses = [];
    for (const destination_conf of [...asked, ...free]) {
      const response = await call("POST", JOBS, { ...newJob, destination_conf });
      responses.push(response);
      if (response.status === 200) await call("DELETE", `${JOBS}/${String(result(response)["id"])}`);
    }
    const refused = refusal(400, 1002, "ownership_challenge is required", "/ownership_challenge");
    expect(responses.slice(0, 5)).toMatchObject(asked.map(() => refused));
    expect(responses.slice(5).map(({ status }) => status)).toEqual(free.map(() => 200));
  });

  test("writes a token to a file at the destination, and accepts a job that sends the token back", async () => {
    const withDate = "s3://shop-logs/edge/{DATE}?region=eu-central-1";
    const response = await call("POST", `${SCOPE}/logpush/ownership`, { destination_conf: withDate });
    expect(result(response)).toEqual({
      filename: expect.stringMatching(/^edge\/20261001\/ownership-challenge-[0-9a-f]{8}\.txt$/) as string,
      message: expect.stringContaining(api.logpush.folder) as string,
      valid: true,
    });
    const [file] = api.logpush.files();
    expect(file?.path).toBe(`s3/shop-logs/${String(result(response)["filename"])}`);
    const token = api.logpush.read(file?.path ?? "");
    await create(call, JOBS, { destination_conf: withDate, ownership_challenge: token });
    expect(readFileSync(join(api.logpush.folder, file?.path ?? ""), "utf8")).toBe(token);
  });

  test("issues a token for one destination of one zone or account, valid for seven days", async () => {
    const token = await tokenFor(api, call, SCOPE, S3);
    const issued = Date.parse("2026-10-01T12:00:00Z") / 1000;
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(claimsOf(token)).toEqual({
      object_type: "zone",
      object_id: api.zones.empty,
      destination_conf: S3,
      destination_fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      iat: issued,
      exp: issued + 604_800,
    });
    const ofAccount = await tokenFor(api, call, `/accounts/${api.accounts.main}`, S3);
    expect(claimsOf(ofAccount)).toMatchObject({ object_type: "account", object_id: api.accounts.main });
  });

  test("rejects a token that's for another zone, account or destination, was changed, or has expired", async () => {
    const token = await tokenFor(api, call, SCOPE, S3);
    const [header = "", , signature = ""] = token.split(".");
    const forged = Buffer.from(JSON.stringify({ ...Object(claimsOf(token)), exp: 9e9 })).toString(
      "base64url",
    );
    const statusOf = async (of: string, destination_conf: string, ownership_challenge: string) => {
      const dataset = of.startsWith("/accounts") ? "audit_logs" : "http_requests";
      const body = { ...newJob, dataset, output_options: null, destination_conf, ownership_challenge };
      return (await call("POST", `${of}/logpush/jobs`, body)).status;
    };

    expect(await statusOf(SCOPE, S3, token)).toBe(200);
    expect(await statusOf(`/zones/${api.zones.shop}`, S3, token)).toBe(400);
    expect(await statusOf(`/accounts/${api.accounts.main}`, S3, token)).toBe(400);
    expect(await statusOf(SCOPE, `${S3}&sse=AES256`, token)).toBe(400);
    expect(await statusOf(SCOPE, S3, `${header}.${forged}.${signature}`)).toBe(400);
    expect(await statusOf(SCOPE, S3, "00000000000000000000")).toBe(400);

    api.advance(7 * DAY - 1000);
    expect(await statusOf(SCOPE, S3, token)).toBe(200);
    api.advance(1000);
    const expired = await call("POST", JOBS, { ...newJob, destination_conf: S3, ownership_challenge: token });
    expect(expired).toMatchObject(
      refusal(400, 1002, "ownership_challenge is invalid: expired", "/ownership_challenge"),
    );
  });

  test("requires a new token if a job's bucket or path changes, but not if only parameters change", async () => {
    const ownership_challenge = await tokenFor(api, call, SCOPE, S3);
    const path = `${JOBS}/${await create(call, JOBS, { destination_conf: S3, ownership_challenge })}`;

    expect(await call("PUT", path, { destination_conf: `${S3}&sse=AES256` })).toMatchObject({ status: 200 });
    const moved = "s3://shop-logs/elsewhere?region=eu-central-1";
    const missing = refusal(400, 1002, "ownership_challenge is required", "/ownership_challenge");
    expect(await call("PUT", path, { destination_conf: moved })).toMatchObject(missing);
    const stale = await call("PUT", path, { destination_conf: moved, ownership_challenge });
    expect(stale).toMatchObject(refusal(400, 1002, "issued for another destination", "/ownership_challenge"));
    const token = await tokenFor(api, call, SCOPE, moved);
    const proven = await call("PUT", path, { destination_conf: moved, ownership_challenge: token });
    expect(result(proven)).toMatchObject({ destination_conf: moved });
    expect(JSON.stringify(proven.body)).not.toContain(token);
  });

  test.each([
    ["s3://shop-logs/../../../etc?region=x", "s3/shop-logs/etc/"],
    ["gs://shop-logs/a b/ü", "gs/shop-logs/a_b/_/"],
    ["sumo://collectors.example/receiver/v1/http/canary", "sumo/collectors.example/receiver/v1/http/secret/"],
  ])(
    "keeps the token's file inside the destinations' directory, without secrets in its path: %s",
    async (destination, folder) => {
      await call("POST", `${SCOPE}/logpush/ownership`, { destination_conf: destination });
      expect(api.logpush.files().map(({ path }) => path)).toEqual([
        expect.stringMatching(new RegExp(`^${folder}ownership-challenge-[0-9a-f]{8}\\.txt$`)),
      ]);
    },
  );
});

describe("the API for Logpush datasets", () => {
  const path = (of: string, dataset: string, what: string) => `${of}/logpush/datasets/${dataset}/${what}`;

  test("lists the fields of a dataset with their types", async () => {
    const fields = result(await call("GET", path(SCOPE, "http_requests", "fields")));
    expect(fields).toMatchObject({
      ClientIP: "string",
      ClientRequestMethod: "string; GET | POST | HEAD | PUT | DELETE",
      EdgeResponseStatus: "int",
      EdgeStartTimestamp: "int or string",
      EdgeResponseCompressionRatio: "float",
      CacheTieredFill: "bool",
      Cookies: "object",
      BotTags: "array[string]",
      BotDetectionIDs: "array[int]",
    });
    expect(Object.keys(fields)).toEqual(Object.keys(fields).sort());
    const account = `/accounts/${api.accounts.main}`;
    const trace = result(await call("GET", path(account, "workers_trace_events", "fields")));
    expect(trace).toMatchObject({ ScriptName: "string", Logs: "array[object]" });
  });

  test.each(["http_requests", "dns_logs"])("lists %s for a zone, but not for an account", async (dataset) => {
    expect(await call("GET", path(SCOPE, dataset, "fields"))).toMatchObject({ status: 200 });
    const unknown = refusal(404, 1002, `dataset ${dataset} not found`);
    expect(await call("GET", path(`/accounts/${api.accounts.main}`, dataset, "fields"))).toMatchObject(
      unknown,
    );
  });

  test("has fields that a test added, and none that it removed", async () => {
    const fields = {
      http_requests: { NewField: "int", BotScore: null },
      casb_findings: { FindingID: "string" },
    } as const;
    api.logpush.configure({ fields });
    const zone = result(await call("GET", path(SCOPE, "http_requests", "fields")));
    expect(zone).toMatchObject({ NewField: "int", ClientIP: "string" });
    expect(zone).not.toHaveProperty("BotScore");
    const account = `/accounts/${api.accounts.main}`;
    expect(result(await call("GET", path(account, "casb_findings", "fields")))).toEqual({
      FindingID: "string",
    });
    await create(call, JOBS, { output_options: { field_names: ["NewField"] } });
    const gone = { ...newJob, output_options: { field_names: ["BotScore"] } };
    expect(await call("POST", JOBS, gone)).toMatchObject(refusal(400, 1004, "unknown field BotScore"));
  });

  test("accepts jobs for a dataset whose fields it doesn't know, but returns an error for its fields", async () => {
    const account = `/accounts/${api.accounts.main}`;
    const unknown = refusal(404, 1002, "doesn't know the fields of dataset casb_findings");
    expect(await call("GET", path(account, "casb_findings", "fields"))).toMatchObject(unknown);
    expect(await call("GET", path(account, "casb_findings", "jobs"))).toMatchObject({ status: 200 });
    expect(await call("GET", path(SCOPE, "nonsense", "jobs"))).toMatchObject({ status: 404 });
    const job = { ...newJob, dataset: "casb_findings", output_options: { field_names: ["Anything"] } };
    expect(await call("POST", `${account}/logpush/jobs`, job)).toMatchObject({ status: 200 });
  });
});
