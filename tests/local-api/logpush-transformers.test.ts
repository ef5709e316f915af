import { apiPerTest } from "../support/bench";
import { madeTransformer, rawGet, rawSend } from "../support/operation";
import { callerOf } from "./client";

const api = apiPerTest();

describe("the API for Logpush transformers", () => {
  const path = (): string => `/accounts/${api.accounts.main}/logpush/transformers`;
  const posted = (members: object) =>
    callerOf(api)("POST", path(), { name: "a", code: "SELECT RayID FROM http_requests", ...members });

  test.each([
    ["no name", { name: undefined }, 400, "missing required field: name"],
    ["no code", { code: "" }, 400, "missing required field: code"],
    ["code of more than 10 KB", { code: `SELECT '${"x".repeat(10_000)}' FROM dns_logs` }, 413, "too large"],
    ["no dataset", { code: "SELECT 1" }, 400, "no FROM clause"],
    ["no query", { code: "DELETE FROM http_requests" }, 400, "expected SELECT or WITH"],
    [
      "an aggregation",
      { code: "SELECT COUNT(*) FROM http_requests GROUP BY ClientIP" },
      400,
      "unsupported: GROUP BY",
    ],
    [
      "two queries",
      { code: "SELECT RayID FROM http_requests; SELECT ClientIP FROM http_requests" },
      400,
      "unsupported: ; S",
    ],
  ])("rejects a transformer with %s", async (_what, members, status, message) => {
    expect(await posted(members)).toMatchObject({
      status,
      body: { success: false, errors: [{ message: expect.stringContaining(message) as string }] },
    });
    expect(await rawGet(api, path())).toMatchObject({ result: [] });
  });

  test.each([
    [
      "a function with FROM",
      "SELECT extract(epoch FROM to_timestamp(When)) AS t FROM audit_logs",
      "audit_logs",
    ],
    ["a CTE", "WITH seen AS (SELECT RayID FROM http_requests) SELECT RayID FROM seen", "http_requests"],
    [
      "a text with a query in it",
      "SELECT 'a FROM dns_logs ORDER BY' AS a FROM http_requests",
      "http_requests",
    ],
  ])("finds the dataset behind %s", async (_what, code, dataset) => {
    expect(await posted({ code })).toMatchObject({ status: 200, body: { result: { dataset } } });
  });

  test("attaches only a transformer of the job's dataset, to a job that writes NDJSON", async () => {
    const id = await madeTransformer(api);
    const jobs = `/zones/${api.zones.empty}/logpush/jobs`;
    const refused = async (members: object): Promise<unknown> =>
      (await rawSend(api, "POST", jobs, { destination_conf: "https://logs.example", ...members })).errors;
    const pointer = { source: { pointer: "/transformer_id" } };
    expect(await refused({ dataset: "dns_logs", transformer_id: id })).toMatchObject([
      {
        message: `transformer ${id} dataset "http_requests" does not match job dataset "dns_logs"`,
        ...pointer,
      },
    ]);
    expect(await refused({ dataset: "dns_logs", transformer_id: 99 })).toMatchObject([
      { message: "transformer 99 not found for this account", ...pointer },
    ]);
    const csv = { dataset: "http_requests", transformer_id: id, output_options: { output_type: "csv" } };
    expect(await refused(csv)).toMatchObject([pointer]);
    expect(await rawGet(api, jobs)).toMatchObject({ result: [] });
  });

  test("lists the jobs that use a transformer, and survives a restart of the API", async () => {
    const id = await madeTransformer(api);
    const jobs = `/zones/${api.zones.empty}/logpush/jobs`;
    const job = {
      name: "j",
      dataset: "http_requests",
      destination_conf: "https://l.example",
      transformer_id: id,
    };
    await rawSend(api, "POST", jobs, job);
    api.restore(api.snapshot());
    expect(await rawGet(api, `${path()}/${id}`)).toMatchObject({
      result: { associated_jobs: [{ name: "j", object_tag: api.zones.empty, object_type: "zone" }] },
    });
  });
});
