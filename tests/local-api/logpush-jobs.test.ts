import { type LocalApi, type LocalApiOptions, startLocalApi } from "edgeguard-local";
import { apiPerFile, folderPerTest } from "../support/bench";
import { callerOf, controlOf, each, result, start } from "./client";
import { create, DATADOG, jobId, newJob, refusal } from "./logpush-client";

const FLAG = "CVE-2021-44228";
const zonePath = (api: LocalApi) => `/zones/${api.zones.empty}/logpush/jobs`;

async function zoneIn(options: LocalApiOptions = {}) {
  const api = await start(options);
  return { api, call: callerOf(api), path: zonePath(api) };
}

describe("the API for Logpush jobs", () => {
  const api = apiPerFile();
  const call = callerOf(api);
  const path = zonePath(api);
  beforeEach(() => api.reset());

  test("by default, creates a disabled job for http_requests, without a filter", async () => {
    const response = await call("POST", path, { destination_conf: DATADOG });
    expect(response.status).toBe(200);
    expect(result(response)).toEqual({
      id: 102,
      name: "",
      dataset: "http_requests",
      kind: "",
      enabled: false,
      destination_conf: DATADOG,
      filter: "",
      filter_attack_traffic: false,
      frequency: "high",
      logpull_options: null,
      max_upload_bytes: null,
      max_upload_interval_seconds: null,
      max_upload_records: null,
      output_options: null,
      transformer_id: null,
      last_complete: null,
      last_error: null,
      error_message: null,
    });
  });

  test("fills in the defaults of a job's output options", async () => {
    const id = await create(call, path);
    expect(result(await call("GET", `${path}/${id}`))["output_options"]).toEqual({
      ...newJob.output_options,
      output_type: "ndjson",
      sample_rate: 1,
      "CVE-2021-44228": false,
      batch_prefix: "",
      batch_suffix: "",
      record_prefix: "{",
      record_suffix: "}\n",
      record_template: "",
      record_delimiter: "",
      field_delimiter: ",",
    });
  });

  test("lists a job only in its own zone or account, and under its dataset", async () => {
    const account = `/accounts/${api.accounts.main}/logpush`;
    const zoneJob = await create(call, path);
    const events = await create(call, path, { dataset: "firewall_events", output_options: null });
    const audit = await create(call, `${account}/jobs`, { dataset: "audit_logs", output_options: null });

    expect(each(await call("GET", path), "id")).toEqual([zoneJob, events]);
    expect(each(await call("GET", `${account}/jobs`), "id")).toEqual([audit]);
    const byDataset = path.replace("/jobs", "/datasets/firewall_events/jobs");
    expect(each(await call("GET", byDataset), "id")).toEqual([events]);
    expect(await call("GET", `${account}/jobs/${zoneJob}`)).toMatchObject({ status: 404 });
  });

  test("keeps what a PUT omits, but replaces the output options as a whole", async () => {
    const filter = '{"where":{"and":[{"key":"ClientIP","operator":"eq","value":"192.0.2.1"}]}}';
    const id = await create(call, path, { filter, max_upload_records: 5000 });
    await call("PUT", `${path}/${id}`, { name: "renamed" });
    expect(result(await call("GET", `${path}/${id}`))).toMatchObject({
      ...newJob,
      name: "renamed",
      filter,
      max_upload_records: 5000,
    });

    await call("PUT", `${path}/${id}`, { output_options: { field_names: ["RayID"] }, filter: null });
    expect(result(await call("GET", `${path}/${id}`))).toMatchObject({
      filter: "",
      output_options: { field_names: ["RayID"], timestamp_format: "unixnano" },
    });
  });

  test("stores and returns unknown properties of a job", async () => {
    const id = await create(call, path, { note: "ours", id: 7, last_error: "x" });
    await call("PUT", `${path}/${id}`, { weight: 3 });
    const job = result(await call("GET", `${path}/${id}`));
    expect(job).toMatchObject({ id, note: "ours", weight: 3, last_error: null });
  });

  test("returns the ID of a deleted job, and never reuses it", async () => {
    const id = await create(call, path);
    expect(await call("DELETE", `${path}/${id}`)).toMatchObject({ status: 200, body: { result: { id } } });
    const gone = refusal(404, 1002, `job ${id} not found`);
    expect(await call("GET", `${path}/${id}`)).toMatchObject(gone);
    expect(await call("PUT", `${path}/${id}`, { enabled: true })).toMatchObject(gone);
    expect(await call("DELETE", `${path}/${id}`)).toMatchObject(gone);
    expect(await create(call, path)).toBe(id + 1);
  });

  test("accepts an email and API key instead of a token", async () => {
    const withKey = callerOf(api, { "x-auth-email": "local@example.com", "x-auth-key": "local-key" });
    expect(await withKey("POST", path, newJob)).toMatchObject({ status: 200 });
    const wrong = callerOf(api, { "x-auth-email": "local@example.com", "x-auth-key": "wrong" });
    expect(await wrong("POST", path, newJob)).toMatchObject({
      status: 400,
      body: { errors: [{ code: 9106 }] },
    });
  });

  test.each(["0", "-1", "x", "1.5", "0".repeat(32)])(
    "returns a routing error for the job ID %s",
    async (id) => {
      expect(await call("GET", `${path}/${id}`)).toMatchObject({
        status: 400,
        body: { errors: [{ code: 7003 }, {}] },
      });
    },
  );

  test("refuses to change a job's dataset or kind", async () => {
    const id = await create(call, path, { kind: "edge" });
    for (const member of [{ dataset: "dns_logs" }, { kind: "" }]) {
      const [name = ""] = Object.keys(member);
      const refused = refusal(400, 1002, `${name} cannot be changed`, `/${name}`);
      expect(await call("PUT", `${path}/${id}`, member)).toMatchObject(refused);
    }
    expect(await call("PUT", `${path}/${id}`, { dataset: "http_requests", kind: "edge" })).toMatchObject({
      status: 200,
    });
  });

  const options = (members: Record<string, unknown>) => ({ output_options: members });
  const tooLong = (length: number) => "x".repeat(length);

  test.each<[string, Record<string, unknown>, pointer: string, message?: string]>([
    ["no destination", { destination_conf: undefined }, "/destination_conf"],
    ["a long name", { name: tooLong(513) }, "/name", "512"],
    ["an unknown dataset", { dataset: "nonsense" }, "/dataset"],
    ["an account's dataset", { dataset: "audit_logs" }, "/dataset", "not available for a zone"],
    ["enabled as a string", { enabled: "true" }, "/enabled"],
    ["an unknown kind", { kind: "instant" }, "/kind"],
    [
      "kind edge for a dataset that isn't http_requests",
      { kind: "edge", dataset: "dns_logs", output_options: null },
      "/kind",
      "kind edge",
    ],
    ["an unknown frequency", { frequency: "often" }, "/frequency"],
    ["too few bytes", { max_upload_bytes: 4_999_999 }, "/max_upload_bytes", "5000000"],
    ["too many bytes", { max_upload_bytes: 1_000_000_001 }, "/max_upload_bytes", "1000000000"],
    ["too short an interval", { max_upload_interval_seconds: 29 }, "/max_upload_interval_seconds", "30"],
    ["too long an interval", { max_upload_interval_seconds: 301 }, "/max_upload_interval_seconds", "300"],
    ["too few records", { max_upload_records: 999 }, "/max_upload_records", "1000"],
    ["too many records", { max_upload_records: 1_000_001 }, "/max_upload_records", "1000000"],
    ["a sample rate above 1", options({ sample_rate: 1.01 }), "/output_options/sample_rate"],
    ["a sample rate of 0", options({ sample_rate: 0 }), "/output_options/sample_rate"],
    [
      "attack traffic left out of another dataset",
      { dataset: "dns_logs", output_options: null, filter: null, filter_attack_traffic: true },
      "/filter_attack_traffic",
    ],
    ["a transformer with number 0", { transformer_id: 0 }, "/transformer_id"],
    [
      "a BigQuery dataset without a table",
      { destination_conf: "bq://projects/p/datasets/d?credentials=url:x" },
      "/destination_conf",
    ],
    [
      "an unknown timestamp format",
      options({ timestamp_format: "iso" }),
      "/output_options/timestamp_format",
      "",
    ],
    ["an unknown output", options({ output_type: "xml" }), "/output_options/output_type", ""],
    ["a CVE flag that isn't a boolean", options({ [FLAG]: "yes" }), `/output_options/${FLAG}`, ""],
    [
      "merge_subrequests for another dataset",
      { dataset: "dns_logs", ...options({ merge_subrequests: true }) },
      "/output_options/merge_subrequests",
    ],
  ])("rejects a job with %s", async (_, members, pointer, message = pointer.split("/").at(-1) ?? "") => {
    await expectRejected(members, refusal(400, 1002, message, pointer));
  });

  test("rejects a job with an unknown field", async () => {
    const unknown = "creating a new job is not allowed: unknown field RayId";
    const refused = refusal(400, 1004, unknown, "/output_options/field_names/1");
    await expectRejected(options({ field_names: ["RayID", "RayId"] }), refused);
  });

  async function expectRejected(members: Record<string, unknown>, refused: object): Promise<void> {
    expect(await call("POST", path, { ...newJob, ...members })).toMatchObject(refused);
    expect(each(await call("GET", path), "id")).toEqual([]);
  }

  test.each<[string, Record<string, unknown>]>([
    ["the longest name", { name: tooLong(512) }],
    ["no upload limits", { max_upload_bytes: 0, max_upload_interval_seconds: 0, max_upload_records: 0 }],
    [
      "the smallest upload limits",
      { max_upload_bytes: 5_000_000, max_upload_interval_seconds: 30, max_upload_records: 1000 },
    ],
    [
      "the largest upload limits",
      { max_upload_bytes: 1_000_000_000, max_upload_interval_seconds: 300, max_upload_records: 1_000_000 },
    ],
    [
      "null as upload limits",
      { max_upload_bytes: null, max_upload_interval_seconds: null, max_upload_records: null },
    ],
    ["a sample rate above 0", options({ sample_rate: 0.001 })],
    ["objects as strings", options({ stringify_object: true })],
    ["attack traffic left out", { filter_attack_traffic: true }],
    ["no transformer", { transformer_id: null }],
    ["a BigQuery table", { destination_conf: "bq://projects/p/datasets/d/tables/t?credentials=url:x" }],
    ["a sample rate of 1", options({ sample_rate: 1 })],
  ])("accepts a job with %s", async (_, members) => {
    const id = await create(call, path, members);
    expect(result(await call("GET", `${path}/${id}`))).toMatchObject(members);
  });
});

describe("the job limit", () => {
  test("rejects a fifth job in a zone until one is deleted", async () => {
    const { call, path } = await zoneIn();
    const ids = [await create(call, path), await create(call, path), await create(call, path)];
    await create(call, path);
    const refused = refusal(403, 1004, "creating a new job is not allowed: exceeded max jobs allowed");
    expect(await call("POST", path, newJob)).toMatchObject(refused);
    await call("DELETE", `${path}/${ids[0] ?? 0}`);
    expect(await call("POST", path, newJob)).toMatchObject({ status: 200 });
  });

  test("limits an account's jobs separately from a zone's, whatever the plan", async () => {
    const api = await start({ limits: { maxAccountLogpushJobs: 1 } });
    const call = callerOf(api);
    const refused = refusal(403, 1004, "exceeded max jobs allowed");
    expect(await call("POST", `/zones/${api.zones.free}/logpush/jobs`, newJob)).toMatchObject({
      status: 200,
    });
    const account = `/accounts/${api.accounts.main}/logpush/jobs`;
    await create(call, account, { dataset: "workers_trace_events", output_options: null });
    const second = { ...newJob, dataset: "workers_trace_events", output_options: null };
    expect(await call("POST", account, second)).toMatchObject(refused);
  });
});

describe("Logpush responses", () => {
  const r2 = (api: LocalApi) =>
    `r2://logs/shop/{DATE}?account-id=${api.accounts.main}&access-key-id=canary-id&secret-access-key=canary-key`;

  test("can show a destination in full or redacted, and a client can't send the redacted one back", async () => {
    const { api, call, path } = await zoneIn({ logpush: { destination: "redacted" } });
    const created = await call("POST", path, { ...newJob, destination_conf: r2(api) });
    const shown = `r2://logs/shop/{DATE}?account-id=${api.accounts.main}&access-key-id=****&secret-access-key=****`;
    expect(result(created)["destination_conf"]).toBe(shown);
    expect(JSON.stringify((await call("GET", path)).body)).not.toContain("canary");

    const sentBack = await call("PUT", `${path}/${jobId(created)}`, { destination_conf: shown });
    expect(sentBack).toMatchObject(refusal(400, 1002, "access denied", "/destination_conf"));
    api.logpush.configure({ destination: "full" });
    expect(result(await call("GET", `${path}/${jobId(created)}`))["destination_conf"]).toBe(r2(api));
  });

  test.each([
    ["sumo://collectors.example/receiver/v1/http/canary", "sumo://collectors.example/receiver/v1/http/<>"],
    [
      "https://user:canary@logs.example/in?format=a%2Fb&token=canary?",
      "https://<>@logs.example/in?format=a%2Fb&token=<>",
    ],
    [
      "splunk://splunk.example/hec?channel=1&sourcetype=edge&header_Authorization=Splunk%20canary",
      "splunk://splunk.example/hec?channel=1&sourcetype=edge&header_Authorization=<>",
    ],
    ["azure://acc.blob.example/logs?sp=w&sig=canary", "azure://acc.blob.example/logs?sp=<>&sig=<>"],
  ])("can redact the secrets in %s", async (destination, shown) => {
    const api = await start({ logpush: { destination: "redacted", mask: "<>" } });
    const snapshot = api.snapshot();
    const [job] = snapshot.logpush.jobs;
    if (job === undefined) throw new Error("no job is seeded");
    const jobs = [{ ...job, destination_conf: destination }];
    api.restore({ ...snapshot, logpush: { ...snapshot.logpush, jobs } });
    const list = await callerOf(api)("GET", `/zones/${api.zones.shop}/logpush/jobs`);
    expect(each(list, "destination_conf")).toEqual([shown]);
  });

  test("can omit filters, defaults and the created job", async () => {
    const { call, path } = await zoneIn({
      logpush: { filter: "hidden", defaults: "hidden", created: "none" },
    });
    const created = await call("POST", path, { ...newJob, filter: "" });
    expect(created).toMatchObject({ status: 200, body: { success: true, result: null } });
    const [id] = each(await call("GET", path), "id");
    const job = result(await call("GET", `${path}/${String(id)}`));
    expect(job).not.toHaveProperty("filter");
    expect(job["output_options"]).toEqual(newJob.output_options);
  });

  test.each([
    ["boolean", { dialect: "openapi" }, ["true", true], "none", true],
    ["string", { dialect: "documented" }, ["true", true], "none", "true"],
    ["boolean", { dialect: "openapi", strict: true }, [true], "true", true],
    ["string", { dialect: "documented", strict: true }, ["true"], true, "true"],
  ] as const)(
    "contain the CVE flag as a %s if the API's options are %j",
    async (_, options, accepted, refused, shown) => {
      const { call, path } = await zoneIn(options);
      for (const value of accepted) {
        const created = await call("POST", path, { ...newJob, output_options: { [FLAG]: value } });
        expect(result(created)["output_options"]).toMatchObject({ [FLAG]: shown });
      }
      const pointed = { source: { pointer: `/output_options/${FLAG}` } };
      expect(await call("POST", path, { ...newJob, output_options: { [FLAG]: refused } })).toMatchObject({
        status: 400,
        body: { errors: [pointed] },
      });
    },
  );

  test("in strict mode, reject a job with unknown properties, and a PUT with a dataset or kind", async () => {
    const { call, path } = await zoneIn({ strict: true });
    expect(await call("POST", path, { ...newJob, note: 1 })).toMatchObject(
      refusal(400, 1002, "note", "/note"),
    );
    const id = await create(call, path);
    const same = await call("PUT", `${path}/${id}`, { dataset: "http_requests" });
    expect(same).toMatchObject(refusal(400, 1002, "dataset cannot be changed", "/dataset"));
  });
});

describe("Logpush jobs in the state", () => {
  const folder = folderPerTest("jobs");
  test("survive a restart, and are restored from a snapshot", async () => {
    const first = await startLocalApi({ persistTo: folder });
    const id = await create(callerOf(first), zonePath(first), { filter: "" });
    const before = first.snapshot().logpush;
    await first.close();

    const second = await start({ persistTo: folder });
    expect(second.snapshot().logpush).toEqual(before);
    const call = callerOf(second);
    await call("DELETE", `${zonePath(second)}/${id}`);
    second.restore({ ...second.snapshot(), logpush: before });
    expect(await call("GET", `${zonePath(second)}/${id}`)).toMatchObject({ status: 200 });
    second.reset();
    expect(await call("GET", `${zonePath(second)}/${id}`)).toMatchObject({ status: 404 });
    expect(each(await call("GET", `/zones/${second.zones.shop}/logpush/jobs`), "name")).toEqual(["existing"]);
    await second.close();
  });

  test("show up in reads only after the lag", async () => {
    const api = await start({ readLagMs: 1000 });
    const call = callerOf(api);
    const id = await create(call, zonePath(api));
    expect(each(await call("GET", zonePath(api)), "id")).toEqual([]);
    api.advance(1001);
    expect(each(await call("GET", zonePath(api)), "id")).toEqual([id]);
  });

  test("are all removed by restoring an older version's state, which has no Logpush", async () => {
    const api = await start();
    const older = Object.fromEntries(Object.entries(api.snapshot()).filter(([name]) => name !== "logpush"));
    expect(await controlOf(api)("PUT", "/state", older)).toMatchObject({ status: 204 });
    expect(each(await callerOf(api)("GET", `/zones/${api.zones.shop}/logpush/jobs`), "id")).toEqual([]);
  });
});
