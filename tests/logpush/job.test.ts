import { filter } from "pulumi-edgeguard";
import type { LocalApiOptions } from "edgeguard-local";
import { omit } from "../../provider/basics/json";
import { driftOf } from "../report/plans";
import { envelope, serve } from "../support/edge-client";
import { Operation, UNKNOWN, refreshedInputs } from "../support/operation";
import { LogpushBench, FILTER, HTTPS, TYPE, type Members } from "./support";
import { OFFLINE, accounts, answerWith } from "../support/bench";

const { and, contains, eq, geq, or, where } = filter;

const b = new LogpushBench();

describe("a LogpushJob", () => {
  test("creates a job as declared, with one request", async () => {
    const recorded = await b.up(b.job);
    expect(await b.stored()).toEqual([
      expect.objectContaining({
        id: Number(recorded.id),
        name: "shop-requests",
        dataset: "http_requests",
        destination_conf: HTTPS,
        enabled: true,
        filter: FILTER,
      }),
    ]);
    expect(recorded.outputs).toEqual({
      ...b.job,
      enabled: true,
      destinationShown: "https://logs.example.com/in?[secret]",
      impact: expect.objectContaining({ operation: "check", revision: 1 }) as object,
      schemaVersion: 1,
      __provider: expect.any(String) as string,
    });
    expect(b.sent("POST", "PUT", "DELETE")).toEqual(["POST /jobs"]);
  });

  test.each<LocalApiOptions>([
    { dialect: "openapi" },
    { dialect: "documented" },
    { strict: true },
    { logpush: { destination: "redacted" } },
    { logpush: { filter: "hidden" } },
    { logpush: { defaults: "hidden", created: "none", filter: "hidden", destination: "redacted" } },
  ])("shows no changes in a preview, a refresh or another update after a create (%j)", async (options) => {
    await b.restart(options);
    const inputs = { ...b.job, frequency: "high", maxUploadRecords: 1_000, kind: "edge" };
    const recorded = await b.up(inputs);
    b.api.clearRequests();
    expect(await b.step(inputs, recorded)).toBe("same");
    expect(b.sent()).toEqual([]);
    const seen = await b.refresh(recorded);
    expect(seen).toEqual({ ...recorded, inputs: refreshedInputs(recorded) });
    expect(await b.step(inputs, seen)).toBe("same");
    await b.update(recorded.inputs, recorded);
    expect(b.sent("POST", "PUT", "DELETE")).toEqual([]);
  });

  test("manages a job that belongs to an account", async () => {
    const account = accounts.main;
    const inputs = {
      ...omit(b.job, ["zoneId", "filter"]),
      accountId: account.toUpperCase(),
      dataset: "audit_logs",
      outputOptions: { fieldNames: ["ActorEmail", "When"] },
    };
    const recorded = await b.up(inputs);
    expect(b.api.requests.find(({ method }) => method === "POST")?.path).toBe(
      `/accounts/${account}/logpush/jobs`,
    );
    expect(await b.step(inputs, recorded)).toBe("same");
    expect(await b.refresh(recorded)).toEqual({ ...recorded, inputs: refreshedInputs(recorded) });
    await b.destroy(recorded);
    expect(b.api.requests.at(-1)).toMatchObject({ method: "DELETE", status: 200 });
  });

  test.each([
    ["dataset", () => ({ dataset: "firewall_events", outputOptions: {}, filter: undefined })],
    ["kind", () => ({ kind: "edge" })],
  ])("replaces the job if its %s changes", async (key, more) => {
    const recorded = await b.up(b.job);
    const other = { ...b.job, ...more() };
    expect(await b.preview(other, recorded)).toMatchObject({ replaces: [key] });
    const there = await b.up(other, recorded);
    expect(there.id).not.toBe(recorded.id);
    expect((await b.stored()).map(({ id }) => String(id))).toEqual([there.id]);
  });

  test("doesn't send the job's kind if it's empty", async () => {
    const recorded = await b.up({ ...b.job, kind: "" });
    expect(b.bodies("POST")[0]).not.toHaveProperty("kind");
    expect(await b.step(b.job, recorded)).toBe("same");
  });

  test("previews a job while some of its arguments are unknown", async () => {
    const unknown = { ...b.job, destinationConf: UNKNOWN, outputOptions: { fieldNames: [UNKNOWN] } };
    expect(await b.step(unknown)).toBe("create");
    expect(b.sent()).toEqual([]);
    const partly = where(and(eq("ClientRequestHost", UNKNOWN), eq("EdgeResponseStatus", 1)));
    const recorded = await b.up(b.job);
    expect(await b.step({ ...b.job, filter: partly }, recorded)).toBe("update");
    expect(await b.refusals({ ...unknown, filter: { where: { or: [] } } })).toEqual([
      expect.stringMatching(/^filter\.where\.or: is an empty group/),
    ]);
  });

  test("shows where a job pushes even if another argument is unknown", async () => {
    const recorded = await b.up(b.job);
    const { destinationShown } = recorded.inputs;
    const moved = { ...b.job, destinationConf: "https://elsewhere.example/in" };
    for (const name of ["zoneId", "filter", "outputOptions"]) {
      const preview = (job: Members) => b.operation().preview(TYPE, { ...job, [name]: UNKNOWN }, recorded);
      expect((await preview(b.job)).inputs).toMatchObject({ destinationShown });
      expect((await preview(b.job)).inputs).not.toHaveProperty("destinationMoved");
      const { inputs } = await preview(moved);
      expect(inputs).toMatchObject({ destinationMoved: expect.anything() as unknown });
      expect([destinationShown, UNKNOWN]).not.toContain(inputs["destinationShown"]);
    }
    const open = await b.operation().preview(TYPE, { ...b.job, destinationConf: UNKNOWN }, recorded);
    expect(open.inputs).toMatchObject({ destinationShown: UNKNOWN, destinationMoved: UNKNOWN });
  });
});

/** The complete example of https://developers.cloudflare.com/logs/logpush/examples/example-logpush-curl/. */
test("creates a job with a single POST /zones/{zone_id}/logpush/jobs, authenticated by email and API key", async () => {
  const arrived: { method: string; url: string; headers: Members; body: unknown }[] = [];
  const service = await serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const { method = "", url = "", rawHeaders } = request;
    const headers = Object.fromEntries(
      rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), rawHeaders[i + 1]]] : [])),
    );
    arrived.push({ method, url, headers, body: text === "" ? undefined : JSON.parse(text) });
    const { result } = { result: method === "POST" ? { ...(JSON.parse(text) as object), id: 7 } : [] };
    response.setHeader("content-type", "application/json").end(envelope(result));
  });
  const config = {
    "edgeguard:apiToken": "",
    "edgeguard:apiEmail": "ada@example.com",
    "edgeguard:apiKey": "c2547eb745079dac9320b638f5e225cf483cc5cfdda41",
    "edgeguard:liveChecks": "false",
  };
  const recorded = await new Operation(service, { config }).up(TYPE, {
    zoneId: "023e105f4ecef8ad9ca31a8372d0c353",
    name: "static-assets",
    dataset: "http_requests",
    outputOptions: {
      fieldNames: ["ClientIP", "EdgeStartTimestamp", "RayID"],
      sampleRate: 0.1,
      timestampFormat: "rfc3339",
      cve202144228: true,
    },
    filter: where(and(contains("ClientRequestPath", "/static"), eq("ClientRequestHost", "example.com"))),
    destinationConf: "s3://burritobot/logs?region=us-west-2",
    ownershipChallenge: "00000000000000000000",
  });
  expect(recorded.id).toBe("7");

  const posts = arrived.filter(({ method }) => method !== "GET");
  expect(posts).toHaveLength(1);
  expect(posts[0]).toMatchObject({
    method: "POST",
    url: "/v4/zones/023e105f4ecef8ad9ca31a8372d0c353/logpush/jobs",
  });
  expect(posts[0]?.headers).toMatchObject({
    "x-auth-email": "ada@example.com",
    "x-auth-key": "c2547eb745079dac9320b638f5e225cf483cc5cfdda41",
    "content-type": "application/json",
  });
  expect(posts[0]?.headers).not.toHaveProperty("authorization");
  expect(posts[0]?.body).toEqual({
    name: "static-assets",
    dataset: "http_requests",
    enabled: true,
    output_options: {
      field_names: ["ClientIP", "EdgeStartTimestamp", "RayID"],
      sample_rate: 0.1,
      timestamp_format: "rfc3339",
      "CVE-2021-44228": "true",
    },
    filter:
      '{"where":{"and":[{"key":"ClientRequestPath","operator":"contains","value":"/static"},{"key":"ClientRequestHost","operator":"eq","value":"example.com"}]}}',
    destination_conf: "s3://burritobot/logs?region=us-west-2",
    ownership_challenge: "00000000000000000000",
  });
});

describe("a LogpushJob with a filter", () => {
  const typed = where(
    and(
      eq("ClientRequestHost", "example.com"),
      or(contains("ClientRequestPath", "/api"), geq("EdgeResponseStatus", 500)),
      filter.in("ClientCountry", ["de", "fr"]),
    ),
  );
  const elsewise = `{ "where": { "and": [
    { "value": ["fr", "de"], "operator": "in", "key": "ClientCountry" },
    { "or": [ {"operator":"geq","key":"EdgeResponseStatus","value":500}, {"value":"/api","key":"ClientRequestPath","operator":"contains"} ] },
    { "key": "ClientRequestHost", "operator": "eq", "value": "example.com" } ] } }`;

  test("finds no difference if the filter is rewritten with builders, as JSON or as reordered JSON", async () => {
    const recorded = await b.up({ ...b.job, filter: typed });
    b.api.clearRequests();
    for (const form of [typed, filter.compile(typed), JSON.stringify(typed, null, 2), elsewise]) {
      expect(await b.step({ ...b.job, filter: form }, recorded)).toBe("same");
      const after = await b.up({ ...b.job, filter: form }, recorded);
      expect(await b.step({ ...b.job, filter: typed }, after)).toBe("same");
    }
    expect(b.sent("PUT", "POST")).toEqual([]);
  });

  test("reports no drift if the dashboard wrote the filter in another order", async () => {
    const recorded = await b.up({ ...b.job, filter: typed });
    await b.changed(recorded.id, { filter: elsewise.replace(":500", ':"500"').replace(/\s+/g, " ") });
    expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
  });

  test("reports drift if the filter now matches other lines, and the update restores it", async () => {
    const recorded = await b.up(b.job);
    const other = FILTER.replace("500", "400");
    await b.changed(recorded.id, { filter: other });
    const drifted = await b.refresh(recorded);
    expect(drifted.inputs["filter"]).toBe(other);
    expect(driftOf(TYPE, recorded, drifted)?.changes).toMatchObject([{ property: "filter" }]);
    expect(await b.step(b.job, drifted)).toBe("update");
    await b.up(b.job, drifted);
    expect(await b.one()).toMatchObject({ filter: FILTER });
  });

  test("reports drift if the filter was removed, or added to a job without one", async () => {
    const recorded = await b.up(b.job);
    await b.changed(recorded.id, { filter: "" });
    const without = await b.refresh(recorded);
    expect(without.inputs).not.toHaveProperty("filter");
    expect(driftOf(TYPE, recorded, without)?.changes).toMatchObject([{ property: "filter", now: "–" }]);
    await b.up(b.job, without);
    expect(await b.one()).toMatchObject({ filter: FILTER });

    const bare = await b.up(omit(b.job, ["filter"]), recorded);
    expect(await b.one()).toMatchObject({ filter: "" });
    await b.changed(bare.id, { filter: FILTER });
    const added = await b.refresh(bare);
    expect(added.inputs["filter"]).toBe(FILTER);
    await b.up(omit(b.job, ["filter"]), added);
    expect(await b.one()).toMatchObject({ filter: "" });
  });

  test("keeps the filter in the state if the API doesn't return it, and still sends a changed filter", async () => {
    await b.restart({ logpush: { filter: "hidden" } });
    const recorded = await b.up(b.job);
    expect((await b.refresh(recorded)).inputs["filter"]).toBe(FILTER);
    b.api.clearRequests();
    const changed = await b.up({ ...b.job, filter: typed }, recorded);
    expect(b.bodies("PUT")).toMatchObject([{ filter: filter.compile(typed) }]);
    await b.up(omit(b.job, ["filter"]), changed);
    expect(b.bodies("PUT")[1]).toMatchObject({ filter: "" });
  });

  test("shows an invalid filter unchanged, and the update restores the declared filter", async () => {
    const recorded = await b.up(b.job);
    const raw = { ...(await b.one()), filter: '{"where":"tomorrow"}' };
    const drifted = () => answerWith(b.api, { method: "GET" }, raw);
    drifted();
    const seen = await b.refresh(recorded);
    expect(seen.inputs["filter"]).toBe('{"where":"tomorrow"}');
    drifted();
    await b.operation(OFFLINE).up(TYPE, b.job, seen);
    expect(b.bodies("PUT")).toMatchObject([{ filter: FILTER }]);
  });
});

describe("an update of a LogpushJob", () => {
  test("sends the whole job once, without dataset and kind, whatever changed", async () => {
    const inputs = { ...b.job, kind: "edge", outputOptions: { ...b.job.outputOptions, sampleRate: 0.5 } };
    const recorded = await b.up(inputs);
    b.api.clearRequests();
    await b.up({ ...inputs, enabled: false }, recorded);
    expect(b.bodies("PUT")).toEqual([
      {
        name: "shop-requests",
        enabled: false,
        destination_conf: HTTPS,
        filter: FILTER,
        output_options: { field_names: ["ClientIP", "RayID"], sample_rate: 0.5 },
      },
    ]);
  });

  test("sends nothing if nothing differs", async () => {
    const recorded = await b.up(b.job);
    b.api.clearRequests();
    await b.update({ ...recorded.inputs, adopt: "never" }, recorded);
    expect(b.sent("PUT")).toEqual([]);
  });

  test.each<[string, Members, Members]>([
    ["frequency", { frequency: "low" }, { frequency: "high" }],
    ["maxUploadBytes", { maxUploadBytes: 5_000_000 }, { max_upload_bytes: null }],
    ["maxUploadIntervalSeconds", { maxUploadIntervalSeconds: 300 }, { max_upload_interval_seconds: null }],
    ["maxUploadRecords", { maxUploadRecords: 5_000 }, { max_upload_records: null }],
    ["outputOptions", {}, { output_options: null }],
    ["filter", {}, { filter: "" }],
  ])("resets %s to its default once it's no longer declared", async (key, more, body) => {
    const recorded = await b.up({ ...b.job, ...more });
    b.api.clearRequests();
    const without = omit(b.job, [key]);
    const after = await b.up(without, recorded);
    const [sent] = b.bodies("PUT");
    expect(sent).toMatchObject(body);
    expect(after.outputs).not.toHaveProperty(key);
    expect(await b.step(without, await b.refresh(after))).toBe("same");
  });

  test("keeps API fields of a job that this version doesn't know", async () => {
    const recorded = await b.up(b.job);
    await b.changed(recorded.id, {
      label: { a: [1] },
      output_options: { field_names: ["ClientIP", "RayID"], compress: "zstd" },
    });
    expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
    await b.up({ ...b.job, enabled: false }, recorded);
    expect(b.bodies("PUT").at(-1)).toMatchObject({
      label: { a: [1] },
      output_options: { field_names: ["ClientIP", "RayID"], compress: "zstd" },
    });
    expect(b.bodies("PUT").at(-1)).not.toHaveProperty("last_complete");
  });

  test("sends the fields in extra, detects drift in them, and drops a field that's removed from extra", async () => {
    const options = { ...b.job.outputOptions, extra: { compress: "zstd" } };
    const inputs = { ...b.job, outputOptions: options, extra: { label: "a" } };
    const recorded = await b.up(inputs);
    expect(b.bodies("POST")[0]).toMatchObject({ label: "a", output_options: { compress: "zstd" } });
    expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
    await b.changed(recorded.id, { label: "b" });
    const drifted = await b.refresh(recorded);
    expect(drifted.inputs["extra"]).toEqual({ label: "b" });
    await b.up(inputs, drifted);
    expect(await b.one()).toMatchObject({ label: "a" });
    await b.up(b.job, recorded);
    const [body] = b.bodies("PUT").slice(-1);
    expect(body).not.toHaveProperty("label");
    expect(body?.["output_options"]).toEqual({ field_names: ["ClientIP", "RayID"] });
  });

  test("sends a new credential of the destination, even though the API hides credentials", async () => {
    await b.restart({ logpush: { destination: "redacted" } });
    const recorded = await b.up(b.job);
    const rotated = HTTPS.replace("first", "second");
    expect(await b.step({ ...b.job, destinationConf: rotated }, recorded)).toBe("update");
    await b.up({ ...b.job, destinationConf: rotated }, recorded);
    expect(b.bodies("PUT")).toMatchObject([{ destination_conf: rotated }]);
    expect(b.api.snapshot().logpush.jobs.map(({ destination_conf }) => destination_conf)).toContain(rotated);
  });

  test("sends a new credential after an import that recorded the old one masked", async () => {
    await b.restart({ logpush: { destination: "redacted" } });
    const made = await b.up(b.job);
    const shown = String((await b.one())["destination_conf"]);
    expect(shown).not.toBe(HTTPS);
    const imported = {
      ...made,
      inputs: { ...made.inputs, destinationConf: shown },
      outputs: { ...made.outputs, destinationConf: shown },
    };
    const first = b.operation();
    const applied = await first.up(TYPE, b.job, imported); // Nothing to do, and the inputs are now the program's.
    expect(b.sent("PUT")).toEqual([]);
    expect(first.warned.join()).toMatch(
      /this preview can't tell whether the destination's credentials changed, because the state has them masked/,
    );

    const rotated = HTTPS.replace("first", "second");
    expect(await b.step(b.job, applied)).toBe("same");
    expect(await b.step({ ...b.job, destinationConf: rotated }, applied)).toBe("update");
    await b.up({ ...b.job, destinationConf: rotated }, applied);
    expect(b.bodies("PUT")).toMatchObject([{ destination_conf: rotated }]);
  });

  test("sends a new path, even if the old path looks like a hidden credential", async () => {
    const place = (folder: string) => ({ ...b.job, destinationConf: `https://logs.example.com/${folder}` });
    const recorded = await b.up(place("redacted"));
    expect(await b.step(place("raw"), recorded)).toBe("update");
    await b.up(place("raw"), recorded);
    expect(b.bodies("PUT")).toMatchObject([{ destination_conf: "https://logs.example.com/raw" }]);
  });

  test("resets the list of fields once it's no longer declared, and keeps other options", async () => {
    const named = await b.up({ ...b.job, outputOptions: { fieldNames: ["ClientIP"], sampleRate: 0.5 } });
    await b.up({ ...b.job, outputOptions: { sampleRate: 0.5 } }, named);
    expect(b.bodies("PUT")).toMatchObject([{ output_options: { sample_rate: 0.5 } }]);
    expect((await b.one())["output_options"]).not.toMatchObject({ field_names: ["ClientIP"] });
  });

  test.each([
    ["maxUploadRecords", 0],
    ["maxUploadRecords", 100_000],
    ["maxUploadIntervalSeconds", 30],
  ])(
    "sends %s if it's set to its default %s, although the API returns null for a default",
    async (name, value) => {
      const recorded = await b.up(b.job);
      const limited = await b.up({ ...b.job, [name]: value }, recorded);
      expect(b.sent("PUT")).toHaveLength(1);
      expect(await b.step({ ...b.job, [name]: value }, limited)).toBe("same");
      expect((await b.refresh(limited)).inputs).toEqual(refreshedInputs(limited));
    },
  );
});

describe("a refresh of a LogpushJob", () => {
  const ERROR = { last_error: "2026-02-03T10:00:00Z", error_message: "no permission to write." };

  test("records the job's health, which never shows a change in the preview", async () => {
    const recorded = await b.up(b.job);
    b.api.logpush.setHealth(Number(recorded.id), { last_complete: "2026-02-03T09:00:00Z", ...ERROR });
    const sick = await b.refresh(recorded);
    expect(sick.outputs).toMatchObject({
      lastComplete: "2026-02-03T09:00:00Z",
      lastError: "2026-02-03T10:00:00Z",
      errorMessage: "no permission to write.",
    });
    expect(sick.inputs).toEqual(refreshedInputs(recorded));
    expect(await b.step(b.job, sick)).toBe("same");
    b.api.logpush.setHealth(Number(recorded.id), { last_error: null, error_message: null });
    const well = await b.refresh(sick);
    expect(well.outputs).not.toHaveProperty("lastError");
    expect(await b.step(b.job, well)).toBe("same");
  });

  test.each<[string, Members, RegExp | undefined]>([
    [
      "warns about a job that failed and has never pushed",
      ERROR,
      /^edgeguard: LogpushJob "shop-requests" \(job \d+\) is failing: no permission to write \(last error 2026-02-03T10:00:00Z\)\. Nothing has been pushed yet\.$/,
    ],
    [
      "warns about a job that hasn't pushed since it failed",
      { ...ERROR, last_complete: "2026-02-03T09:59:59Z" },
      /\. Nothing has been pushed since 2026-02-03T09:59:59Z\.$/,
    ],
    [
      "doesn't warn about a job that has pushed since it failed",
      { ...ERROR, last_complete: "2026-02-03T12:00:00+01:00" },
      undefined,
    ],
    ["doesn't warn about a job without an error", { last_complete: "2026-02-03T09:59:59Z" }, undefined],
  ])("%s", async (_when, health, sentence) => {
    const recorded = await b.up(b.job);
    b.api.logpush.setHealth(Number(recorded.id), health);
    const op = b.operation();
    await op.refresh(TYPE, recorded);
    expect(op.warned).toEqual(sentence === undefined ? [] : [expect.stringMatching(sentence)]);
  });
});

describe("drift detection for a LogpushJob", () => {
  test.each<[string, Members, unknown]>([
    ["name", { name: "else" }, "else"],
    ["enabled", { enabled: false }, false],
    ["destinationConf", { destination_conf: "https://other.example.com/in" }, "https://other.example.com/in"],
    ["frequency", { frequency: "low" }, "low"],
    ["maxUploadBytes", { max_upload_bytes: 6_000_000 }, 6_000_000],
    ["maxUploadIntervalSeconds", { max_upload_interval_seconds: null }, undefined],
    ["maxUploadRecords", { max_upload_records: 2_000 }, 2_000],
  ])("reports drift in %s, which an update reverts", async (key, members, shown) => {
    const inputs = {
      ...b.job,
      frequency: "high",
      maxUploadBytes: 5_000_000,
      maxUploadIntervalSeconds: 30,
      maxUploadRecords: 1_000,
    };
    const recorded = await b.up(inputs);
    await b.changed(recorded.id, members);
    const drifted = await b.refresh(recorded);
    const unlimited = key === "maxUploadIntervalSeconds"; // Null means the default, 30 seconds.
    expect(drifted.inputs[key]).toEqual(unlimited ? 30 : shown);
    expect(await b.step(inputs, drifted)).toBe(unlimited ? "same" : "update");
    const mended = await b.up(inputs, drifted);
    const moved = key === "destinationConf" ? { destinationMoved: true } : {}; // Stays until the next change.
    expect((await b.refresh(mended)).inputs).toEqual({ ...refreshedInputs(recorded), ...moved });
  });

  test("reports drift if someone changed a credential, but not if the program changed it", async () => {
    const recorded = await b.up({ ...b.job, destinationConf: HTTPS });
    expect(driftOf(TYPE, recorded, await b.refresh(recorded))).toBeUndefined();
    await b.changed(recorded.id, { destination_conf: HTTPS.replace("first", "canary") });
    const drifted = await b.refresh(recorded);
    expect(drifted.outputs["drift"]).toBe("the destination differs in a part that isn't shown");
    expect(driftOf(TYPE, recorded, drifted)?.changes).toMatchObject([{ property: "destinationConf" }]);
    expect((await b.refresh(drifted)).outputs).not.toHaveProperty("drift"); // The state has it now.
    const restored = await b.up({ ...b.job, destinationConf: HTTPS }, drifted);
    expect(restored.outputs).not.toHaveProperty("drift");
  });

  const KEYS = "access-key-id=AKIDCANARY&secret-access-key=canary-secret";
  const account = (last: number): string => `account-id=${String(last).padStart(32, "0")}`;
  test.each([
    [
      "another endpoint of S3-compatible storage",
      `s3://logs/http?region=r&endpoint=one.example.com&${KEYS}`,
      `s3://logs/http?region=r&endpoint=two.example.com&${KEYS}`,
    ],
    ["no endpoint", `s3://logs?region=r&endpoint=one.example.com&${KEYS}`, `s3://logs?region=r&${KEYS}`],
    ["another region", `s3://logs/http?region=r&${KEYS}`, `s3://logs/http?region=q&${KEYS}`],
    ["another path", "https://logs.example.com/in", "https://logs.example.com/out"],
    ["another table", "https://logs.example.com/in?table=a", "https://logs.example.com/in?table=b"],
    [
      "any certificate",
      "splunk://s.example.com/raw?channel=c&insecure-skip-verify=false&header_Authorization=Splunk%20canary-token",
      "splunk://s.example.com/raw?channel=c&insecure-skip-verify=true&header_Authorization=Splunk%20canary-token",
    ],
  ])("shows and judges drift to %s", async (_what, declared, shown) => {
    const recorded = await b.up({ ...b.job, destinationConf: declared });
    await b.changed(recorded.id, { destination_conf: shown });
    const [before, now] = [declared, shown].map((text) =>
      text.replace(/&(access|secret).*$/, "").replace(/header.*$/, "[secret]"),
    );
    const canonical = (text = ""): string =>
      text.replace("&insecure-skip-verify=false", "").replace(/\?(region=\w)&(endpoint=.*)$/, "?$2&$1");
    const drift = driftOf(TYPE, recorded, await b.refresh(recorded));
    expect(drift?.changes).toEqual([
      { property: "destinationConf", before: canonical(before), now: canonical(now) },
    ]);
    expect(drift?.lost).toEqual([
      `log lines go to another destination: ${canonical(before)} → ${canonical(now)}`,
    ]);
    expect(JSON.stringify(drift)).not.toMatch(/canary/i);
  });

  test.each([
    ["an unknown parameter", "https://logs.example.com/in?k=one", "https://logs.example.com/in?k=two"],
    [
      "a path segment that may be a token",
      "https://logs.example.com/first-canary-token",
      "https://logs.example.com/other-canary-token",
    ],
  ])("reports drift in %s without showing it", async (_what, declared, shown) => {
    const recorded = await b.up({ ...b.job, destinationConf: declared });
    await b.changed(recorded.id, { destination_conf: shown });
    const drifted = await b.refresh(recorded);
    expect(drifted.outputs["destinationShown"]).toBe(recorded.outputs["destinationShown"]);
    const drift = driftOf(TYPE, recorded, drifted);
    expect(drift?.lost).toEqual(["destinationConf has changed; the plan hides it"]);
    expect(JSON.stringify(drift)).not.toMatch(/canary|one|two/);
    // Undoing it moves the job, too.
    const { inputs } = await b.preview({ ...b.job, destinationConf: declared }, drifted);
    expect(inputs["destinationMoved"]).toBeDefined();
  });

  test("an account ID of R2 that differs isn't the same location, but new keys are", async () => {
    const r2 = (last: number, keys: string): Members => ({
      ...b.job,
      destinationConf: `r2://logs/http?${account(last)}&${keys}`,
    });
    const own = { ...b.job, destinationConf: `r2://logs/http?account-id=${accounts.main}&${KEYS}` };
    const recorded = await b.up(own);
    const preview = async (inputs: Members): Promise<unknown> =>
      (await b.preview(inputs, recorded)).inputs["destinationMoved"];
    expect(await preview(r2(7, KEYS))).toBeDefined();
    const rotated = own.destinationConf.replaceAll("canary", "fresh").replace("CANARY", "FRESH");
    expect(await preview({ ...own, destinationConf: rotated })).toBeUndefined();
  });

  const DATADOG = "datadog://http-intake.logs.datadoghq.com/v1/input?ddsource=cloudflare&header_DD-API-KEY=";
  test("a new credential that names the recipient has a digest of its own, unless it could be guessed", async () => {
    const moved = async (before: string, after: string, token = "a-token"): Promise<unknown> => {
      const recorded = await b.up({ ...b.job, destinationConf: before, adopt: "takeOver" });
      const operation = b.operation({ config: { "edgeguard:apiToken": token } });
      const { inputs } = await operation.preview(TYPE, { ...b.job, destinationConf: after }, recorded);
      return inputs["destinationMoved"];
    };
    const [own, theirs] = ["0123456789abcdef", "fedcba9876543210"].map((key) => DATADOG + key) as [
      string,
      string,
    ];
    const digest = await moved(own, theirs);
    expect(digest).toMatch(/^[0-9a-f]{32}$/);
    expect(await moved(own, `${theirs}0`)).not.toBe(digest);
    expect(await moved(own, theirs, "another-token")).toBe(digest); // The pipeline previews with one token, and updates with another.
    // Whoever knows what was recorded could try all short values.
    expect(await moved(`${DATADOG}ab12`, theirs)).toBe(true);
  });

  test.each([
    ["the host in upper case", "https://Logs.Example.com/in", "https://logs.example.com/in"],
    ["the host with its default port", "https://logs.example.com:443/in", "https://logs.example.com/in"],
    [
      "the endpoint of S3-compatible storage in upper case",
      "s3://logs/in?region=auto&endpoint=S3.Example.com:443&access-key-id=a&secret-access-key=b",
      "s3://logs/in?region=auto&endpoint=s3.example.com&access-key-id=a&secret-access-key=b",
    ],
  ])("reports no drift and writes nothing if the program declares %s", async (_what, declared, shown) => {
    const job = { ...b.job, destinationConf: declared };
    const recorded = await b.up(job);
    await b.changed(recorded.id, { destination_conf: shown });
    const found = await b.refresh(recorded);
    expect(found.inputs).toEqual(refreshedInputs(recorded));
    b.api.clearRequests();
    await b.update(recorded.inputs, recorded);
    expect(await b.preview({ ...job, destinationConf: shown }, found)).toMatchObject({
      step: "same",
    });
    expect(b.sent("PUT", "POST")).toEqual([]);
  });

  test("reports drift if the port or the case of the bucket name differs", async () => {
    for (const [declared, shown] of [
      [
        "s3://logs/in?region=auto&access-key-id=a&secret-access-key=b",
        "s3://Logs/in?region=auto&access-key-id=a&secret-access-key=b",
      ],
      ["https://logs.example.com/in", "https://logs.example.com:8443/in"],
    ]) {
      const recorded = await b.up({ ...b.job, name: shown, destinationConf: declared });
      await b.changed(recorded.id, { destination_conf: shown });
      expect((await b.refresh(recorded)).inputs["destinationConf"]).toBe(shown);
    }
  });

  test("reports drift in a destination with hidden credentials, but not in the hidden part", async () => {
    await b.restart({ logpush: { destination: "redacted" } });
    const recorded = await b.up(b.job);
    await b.changed(recorded.id, { destination_conf: HTTPS.replace("first", "other") });
    expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
    await b.changed(recorded.id, { destination_conf: HTTPS.replace("logs.", "else.") });
    const drifted = await b.refresh(recorded);
    expect(drifted.outputs).toMatchObject({
      destinationConf: "https://else.example.com/in?header_Authorization=****",
      destinationShown: "https://else.example.com/in?[secret]",
    });
    await b.up(b.job, drifted);
    expect(b.api.snapshot().logpush.jobs.at(-1)?.destination_conf).toBe(HTTPS);
  });
});
