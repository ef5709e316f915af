import { type LocalApi, startLocalApi } from "edgeguard-local";
import { existsSync } from "node:fs";
import { type Call, callerOf, controlOf, result } from "./client";
import { create, DATADOG, newJob } from "./logpush-client";

const lines = [
  {
    ClientIP: "192.0.2.1",
    EdgeStartTimestamp: "2026-10-01T12:00:00.25Z",
    RayID: "aa",
    EdgeResponseStatus: 200,
    ClientRequestUserAgent: 'curl "8", ${jndi:x}',
  },
  {
    ClientIP: "192.0.2.2",
    EdgeStartTimestamp: 1790856001,
    RayID: "bb",
    EdgeResponseStatus: 503,
    BotTags: ["a"],
  },
];

let api: LocalApi;
let call: Call;
let jobs: string;

beforeAll(async () => {
  const limits = { maxLogpushJobs: { free: 0, pro: 0, business: 0, enterprise: 1000 } };
  api = await startLocalApi({ limits, clock: () => new Date("2026-10-01T12:00:30Z") });
  call = callerOf(api);
  jobs = `/zones/${api.zones.empty}/logpush/jobs`;
});
afterAll(() => api.close());

/** Everything that one push of `lines` writes. */
async function written(output_options: Record<string, unknown>, members: Record<string, unknown> = {}) {
  const id = await create(call, jobs, { output_options, ...members });
  return api.logpush.push(id, lines).files.map((path) => api.logpush.read(path));
}

const names = ["ClientIP", "EdgeStartTimestamp", "RayID"];

describe("a Logpush push", () => {
  test.each<[string, Record<string, unknown>, string]>([
    [
      "JSON lines, and timestamps in nanoseconds",
      {},
      '{"ClientIP":"192.0.2.1","EdgeStartTimestamp":1790856000250000000,"RayID":"aa"}\n' +
        '{"ClientIP":"192.0.2.2","EdgeStartTimestamp":1790856001000000000,"RayID":"bb"}\n',
    ],
    [
      "timestamps in seconds",
      {
        timestamp_format: "unix",
        field_names: ["EdgeStartTimestamp"],
        record_delimiter: "",
        record_suffix: "}",
      },
      '{"EdgeStartTimestamp":1790856000}{"EdgeStartTimestamp":1790856001}',
    ],
    [
      "timestamps as dates",
      { timestamp_format: "rfc3339", field_names: ["EdgeStartTimestamp"], output_type: "csv" },
      '"2026-10-01T12:00:00Z"\n"2026-10-01T12:00:01Z"\n',
    ],
    [
      "timestamps to the millisecond",
      { timestamp_format: "rfc3339ms", field_names: ["EdgeStartTimestamp"], output_type: "csv" },
      '"2026-10-01T12:00:00.250Z"\n"2026-10-01T12:00:01.000Z"\n',
    ],
    [
      "timestamps to the nanosecond",
      { timestamp_format: "rfc3339ns", field_names: ["EdgeStartTimestamp"], output_type: "csv" },
      '"2026-10-01T12:00:00.250000000Z"\n"2026-10-01T12:00:01.000000000Z"\n',
    ],
    [
      "CSV with a header and quoted strings",
      {
        output_type: "csv",
        batch_prefix: "agent,status,tags\n",
        field_names: ["ClientRequestUserAgent", "EdgeResponseStatus", "BotTags"],
      },
      'agent,status,tags\n"curl ""8"", ${jndi:x}",200,\n,503,"[""a""]"\n',
    ],
    [
      "columns separated by tabs",
      { output_type: "csv", field_delimiter: "\t", field_names: ["RayID", "EdgeResponseStatus"] },
      '"aa"\t200\n"bb"\t503\n',
    ],
    [
      "one JSON object",
      {
        field_names: ["RayID"],
        ...{
          batch_prefix: '{"events":[',
          batch_suffix: "]}\n",
          record_prefix: '{"info":{',
          record_suffix: "}}",
          record_delimiter: ",",
        },
      },
      '{"events":[{"info":{"RayID":"aa"}},{"info":{"RayID":"bb"}}]}\n',
    ],
    [
      "a template says, with null for a field that isn't listed",
      {
        field_names: ["RayID", "ClientIP"],
        record_template:
          '"ray":{{ .RayID }}{{/* no comma */}}{{","}}"at":{{.EdgeStartTimestamp}},{{`"{{x}}"`}}:1',
      },
      '{"ray":"aa","at":null,"{{x}}":1}\n{"ray":"bb","at":null,"{{x}}":1}\n',
    ],
    [
      "JSON with null for a field that the line lacks",
      { field_names: ["RayID", "BotTags"] },
      '{"RayID":"aa","BotTags":null}\n{"RayID":"bb","BotTags":["a"]}\n',
    ],
    [
      "text in which ${ is replaced with x{",
      { "CVE-2021-44228": "true", field_names: ["ClientRequestUserAgent"], output_type: "csv" },
      '"curl ""8"", x{jndi:x}"\n\n',
    ],
  ])("writes records as %s", async (_, options, text) => {
    expect(await written({ field_names: names, ...options })).toEqual([text]);
  });

  test("uses logpull_options only without output_options", async () => {
    const older = { logpull_options: "fields=RayID,EdgeStartTimestamp&timestamps=rfc3339" };
    const id = await create(call, jobs, { ...older, output_options: null });
    const [file = ""] = api.logpush.push(id, lines.slice(0, 1)).files;
    expect(api.logpush.read(file)).toBe('{"RayID":"aa","EdgeStartTimestamp":"2026-10-01T12:00:00Z"}\n');
    expect(await written({ field_names: ["ClientIP"] }, older)).toEqual([
      '{"ClientIP":"192.0.2.1"}\n{"ClientIP":"192.0.2.2"}\n',
    ]);
  });

  test("starts a new file when the current one has enough records or bytes", async () => {
    const records = Array.from({ length: 2500 }, (_, index) => ({ RayID: String(index) }));
    const split = async (members: Record<string, unknown>, given: typeof records) => {
      const id = await create(call, jobs, { output_options: { field_names: ["RayID"] }, ...members });
      return api.logpush.push(id, given).files.map((path) => api.logpush.read(path).split("\n").length - 1);
    };
    expect(await split({ max_upload_records: 1000 }, records)).toEqual([1000, 1000, 500]);
    expect(await split({}, records)).toEqual([2500]);
    const large = [{ RayID: "x".repeat(2_600_000) }, { RayID: "y".repeat(2_600_000) }];
    expect(await split({ max_upload_bytes: 5_000_000 }, large)).toEqual([1, 1]);
    expect(await split({ max_upload_bytes: 0 }, large)).toEqual([2]);
  });
});

describe("a Logpush push", () => {
  const errors = '{"where":{"and":[{"key":"EdgeResponseStatus","operator":"geq","value":"500"}]}}';

  test("writes the lines that pass the filter to the destination's directory", async () => {
    const destination_conf = `r2://logs/{DATE}?account-id=${api.accounts.main}&access-key-id=a&secret-access-key=b`;
    const id = await create(call, jobs, { filter: errors, destination_conf });
    const report = api.logpush.push(id, lines);
    expect(report).toEqual({
      lines: 2,
      passed: 1,
      sent: 1,
      files: [
        expect.stringMatching(/^r2\/logs\/20261001\/20261001T120030Z_20261001T120030Z_[0-9a-f]{8}\.log$/),
      ],
      error: null,
    });
    const [file = ""] = report.files;
    expect(api.logpush.read(file)).toBe(
      '{"ClientIP":"192.0.2.2","EdgeStartTimestamp":"2026-10-01T12:00:01Z","RayID":"bb"}\n',
    );
  });

  test("samples the same lines every time, from those that pass the filter", async () => {
    const id = await create(call, jobs, { output_options: { field_names: ["RayID"], sample_rate: 0.1 } });
    const first = api.logpush.push(id, { count: 400 });
    expect(first).toMatchObject({ lines: 400, passed: 400 });
    expect(first.sent).toBeGreaterThan(20);
    expect(first.sent).toBeLessThan(60);
    expect(api.logpush.push(id, { count: 400 })).toEqual(first);
    await call("PUT", `${jobs}/${id}`, { output_options: { sample_rate: 0 } });
    expect(api.logpush.push(id, { count: 100 })).toMatchObject({ passed: 100, sent: 0, files: [] });
  });

  test("fails for a disabled or missing job", async () => {
    const id = await create(call, jobs, { enabled: false });
    const control = controlOf(api);
    const path = (job: number | string) => `/logpush/jobs/${job}/push`;
    expect(await control("POST", path(id), { count: 1 })).toMatchObject({
      status: 409,
      body: {
        errors: [{ message: `job ${id} is disabled. Enable it to push` }],
      },
    });
    expect(await control("POST", path(9999), { count: 1 })).toMatchObject({ status: 404 });
    expect(await control("POST", path("x"), { count: 1 })).toMatchObject({ status: 404 });
    expect(await control("POST", path(id), { count: 0 })).toMatchObject({ status: 400 });
  });

  test("records an error in the job if its destination rejects writes", async () => {
    const id = await create(call, jobs);
    api.logpush.configure({ unwritable: [DATADOG] });
    expect(api.logpush.push(id, lines)).toMatchObject({
      sent: 0,
      files: [],
      error: "error writing object: access denied",
    });
    api.logpush.configure({ unwritable: [] });
    expect(result(await call("GET", `${jobs}/${id}`))).toMatchObject({
      last_error: "2026-10-01T12:00:30.000Z",
      error_message: "error writing object: access denied",
    });
  });

  test("works over HTTP, with JSON, NDJSON or generated lines, and its files can be downloaded", async () => {
    const id = await create(call, jobs, { filter: errors, output_options: { field_names: ["RayID"] } });
    const control = controlOf(api);
    const path = `/logpush/jobs/${id}/push`;
    expect(await control("POST", path, { lines })).toMatchObject({
      status: 200,
      body: { lines: 2, passed: 1 },
    });

    const ndjson = (text: string) =>
      fetch(new URL(`/__local${path}`, api.url), {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body: text,
      });
    const response = await ndjson(lines.map((line) => `${JSON.stringify(line)}\n\n`).join(""));
    const report = (await response.json()) as { files: string[] };
    expect(report).toMatchObject({ lines: 2, passed: 1, sent: 1 });
    const [file = ""] = report.files;
    expect((await control("GET", `/logpush/sink/${file}`)).body).toEqual({ RayID: "bb" });
    const listed = await control("GET", "/logpush/sink");
    expect(listed.body).toContainEqual({ path: file, bytes: '{"RayID":"bb"}\n'.length });
    expect(await control("GET", "/logpush/sink/s3/none.log")).toMatchObject({ status: 404 });
    expect(await (await ndjson('{"RayID":"x"}\n[1]')).text()).toContain("line 2 is not a log line");

    expect(await control("POST", path, { count: 50, seed: 3 })).toMatchObject({
      status: 200,
      body: { lines: 50 },
    });
  });
});

describe("generated log lines", () => {
  const get = async (query: string) =>
    (await fetch(new URL(`/__local/logpush/lines/${query}`, api.url))).text();

  test("are the same for the same seed, and different for a different seed", async () => {
    const first = await get("http_requests?count=20&seed=1");
    expect(await get("http_requests?count=20")).toBe(first);
    expect(await get("http_requests?count=20&seed=2")).not.toBe(first);
    expect(first.trim().split("\n")).toHaveLength(20);
  });

  test.each([
    "http_requests",
    "firewall_events",
    "dns_logs",
    "spectrum_events",
    "workers_trace_events",
    "audit_logs",
  ])("have every field of %s, with its type", async (dataset) => {
    const scope = ["workers_trace_events", "audit_logs"].includes(dataset)
      ? `/accounts/${api.accounts.main}`
      : `/zones/${api.zones.empty}`;
    const fields = result(await call("GET", `${scope}/logpush/datasets/${dataset}/fields`));
    const [first = ""] = (await get(`${dataset}?count=1`)).split("\n");
    const line = JSON.parse(first) as Record<string, unknown>;
    expect(Object.keys(line).sort()).toEqual(Object.keys(fields).sort());
    const kinds = new Map([
      ["string", "string"],
      ["int", "number"],
      ["float", "number"],
      ["bool", "boolean"],
      ["int or string", "string"],
      ["object", "object"],
    ]);
    for (const [name, text] of Object.entries(fields)) {
      const [type = ""] = String(text).split(";");
      const kind = Array.isArray(line[name]) ? "array" : typeof line[name];
      expect({ name, kind }).toEqual({ name, kind: type.startsWith("array") ? "array" : kinds.get(type) });
    }
  });

  test("aren't available for an unknown dataset", async () => {
    expect(await get("nonsense")).toContain("dataset nonsense not found");
  });
});

test("closing the API deletes the temporary directory for Logpush destinations", async () => {
  const own = await startLocalApi();
  await callerOf(own)("POST", `/zones/${own.zones.empty}/logpush/ownership`, {
    destination_conf: newJob.destination_conf,
  });
  const { folder } = own.logpush;
  expect(existsSync(folder)).toBe(true);
  await own.close();
  expect(existsSync(folder)).toBe(false);
});
