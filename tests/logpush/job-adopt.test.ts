import { REGISTER } from "../../provider/register";
import { omit } from "../../provider/basics/json";
import { through } from "../support/edge-client";
import { Operation, refreshedInputs } from "../support/operation";
import { LogpushBench, FILTER, TYPE, type Members } from "./support";
import { OFFLINE, answerWith, zones } from "../support/bench";

const b = new LogpushBench();

describe("when a job with the same name exists", () => {
  test.each([{}, { destination: "redacted", defaults: "hidden" }] as const)(
    "adopts a job and writes it once if everything that the API returns matches, and the preview says so (%j)",
    async (logpush) => {
      await b.restart({ logpush });
      const id = await b.made();
      b.api.clearRequests();
      const after = "https://logs.example.com/in?[secret]";
      const before = `${after}, perhaps with another credential or tenant`;
      const adopted = {
        object: `job ${id} of zone ${zones.empty}`,
        onDestroy: "deletes it",
        ...("destination" in logpush && { changes: { destinationShown: { before, after } } }),
      };
      const how =
        "destination" in logpush
          ? ` and changes destinationShown: ${JSON.stringify(before)} → ${JSON.stringify(after)}`
          : ", which matches the program";
      const line = `LogpushJob "shop-requests" adopts the existing ${adopted.object}${how}. Destroying the resource deletes it.`;
      const op = b.operation();
      expect((await op.preview(TYPE, b.job)).inputs["adopted"]).toEqual(adopted);
      expect(op.said).toEqual([expect.stringContaining(line)]);
      const recorded = await b.up(b.job);
      expect(recorded).toMatchObject({ id, outputs: { adopted } });
      expect(b.sent("POST", "PUT")).toEqual([`PUT /jobs/${id}`]);
      expect(await b.step(b.job, recorded)).toBe("same");
    },
  );

  test("says that a job's filter isn't known if the API doesn't return it, and adopts the job", async () => {
    await b.restart({ logpush: { filter: "hidden" } });
    const id = await b.made();
    const { id: adopted, outputs } = await b.up(b.job);
    expect(adopted).toBe(id);
    expect(outputs["adopted"]).toMatchObject({ changes: { filter: { before: "not returned" } } });
  });

  test("says nothing when a replacement adopts the job it replaces", async () => {
    const recorded = await b.up(b.job);
    const replacement = b.operation();
    const { inputs } = await replacement.preview(TYPE, b.job, recorded);
    await REGISTER[TYPE]?.create(replacement.host, inputs);
    expect(replacement.said).toEqual([]);
  });

  test("overwrites the filter of an adopted job if the API doesn't return that filter", async () => {
    await b.restart({ logpush: { filter: "hidden" } });
    const id = await b.made({ filter: FILTER.replace("500", "400") });
    expect((await b.up(omit(b.job, ["filter"]))).id).toBe(id);
    expect(b.bodies("PUT")).toMatchObject([{ filter: "" }]);
  });

  test.each<[string, Members]>([
    ["enabled: false → true", { enabled: false }],
    [
      'destinationShown: "https://other.example.com" → "https://logs.example.com/in?[secret]"',
      { destination_conf: "https://other.example.com" },
    ],
    [
      'destinationShown: "https://logs.example.com/in?[secret], with another credential or tenant" → "https://logs.example.com/in?[secret]"',
      { destination_conf: "https://logs.example.com/in?header_Authorization=s3cret-of-others" },
    ],
    [
      'destinationShown: "https://logs.example.com/elsewhere" → "https://logs.example.com/in?[secret]"',
      { destination_conf: "https://logs.example.com/elsewhere" },
    ],
    [
      String.raw`filter: …\"geq\",\"value\":\"400\"}]}}" → …\"geq\",\"value\":\"500\"}]}}"`,
      { filter: FILTER.replace("500", "400") },
    ],
    [`filter: not set → ${JSON.stringify(FILTER).slice(0, 120)}…`, { filter: "" }],
    [
      'outputOptions.fieldNames: ["ClientIP"] → ["ClientIP", "RayID"]',
      { output_options: { field_names: ["ClientIP"] } },
    ],
    [
      "outputOptions.sampleRate: 0.1 → not set",
      { output_options: { field_names: ["ClientIP", "RayID"], sample_rate: 0.1 } },
    ],
    ['frequency: "low" → not set', { frequency: "low" }],
    ["maxUploadBytes: 5000000 → not set", { max_upload_bytes: 5_000_000 }],
  ])(
    "refuses in preview and update to adopt a job that differs in %s, and gives its ID",
    async (key, more) => {
      const id = await b.made(more);
      const sentence = `A Logpush job "shop-requests" for dataset http_requests in zone ${zones.empty} already exists (${id}) but differs in ${key}. If the job is left over from an interrupted \`pulumi up\`, set adopt: "takeOver" to continue. If you renamed or moved this resource, add its old URN to its options, under \`aliases\`; \`pulumi stack --show-urns\` lists it. Otherwise choose another name, or delete the job.`;
      const [reason, ...others] = await b.refusals(b.job);
      expect(reason).toContain(`adopt: ${sentence}`);
      expect(others).toEqual([]);
      const offline = b.operation(OFFLINE);
      expect((await offline.failedUp(TYPE, b.job)).message).toContain(sentence);
      expect(b.sent("POST", "PUT")).toEqual(["POST /jobs"]);
    },
  );

  test('with adopt: "takeOver", changes everything that differs', async () => {
    const id = await b.made({
      enabled: false,
      filter: "",
      frequency: "low",
      max_upload_bytes: 5_000_000,
      output_options: { field_names: ["ClientIP"], sample_rate: 0.1 },
    });
    const inputs = { ...b.job, adopt: "takeOver" };
    const recorded = await b.up(inputs);
    expect(recorded.id).toBe(id);
    expect(await b.one()).toMatchObject({
      enabled: true,
      filter: FILTER,
      frequency: "high",
      max_upload_bytes: null,
      output_options: { field_names: ["ClientIP", "RayID"], sample_rate: 1 },
    });
    expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
  });

  test('with adopt: "never", refuses to adopt a job', async () => {
    const id = await b.made();
    expect(await b.refusals({ ...b.job, adopt: "never" })).toEqual([
      expect.stringMatching(
        `^adopt: A Logpush job .*${id}.* prevents adopting it\\. .*add its old URN to its options`,
      ),
    ]);
  });

  test.each(["ifEqual", "takeOver", "never"])(
    "refuses to adopt one of several jobs, and lists their IDs (adopt: %j)",
    async (adopt) => {
      const ids = [await b.made(), await b.made({ enabled: false })];
      const [reason] = await b.refusals({ ...b.job, adopt });
      expect(reason).toContain("More than one Logpush job");
      expect(reason).toContain(`: ${ids.join(", ")}. Delete all but one`);
    },
  );

  test.each<[string, Members]>([
    ["another dataset", { dataset: "dns_logs", output_options: null, filter: "" }],
    ["another kind", { kind: "edge" }],
    ["another name", { name: "else" }],
  ])("doesn't adopt a job that has %s", async (_what, more) => {
    const id = await b.made(more);
    expect((await b.up(b.job)).id).not.toBe(id);
    expect(await b.stored()).toHaveLength(2);
  });

  test("ignores other jobs once the resource's own job is in the state", async () => {
    const recorded = await b.up({ ...b.job, adopt: "never" });
    await b.up({ ...b.job, adopt: "never", enabled: false }, recorded);
    expect(await b.stored()).toHaveLength(1);
  });
});

describe("a LogpushJob", () => {
  const create = (op = b.operation(OFFLINE)) => op.up(TYPE, b.job);

  test.each(["dropAfter", "truncated"] as const)(
    "creates exactly one job if the response is lost (%s)",
    async (kind) => {
      b.api.fault({ match: { method: "POST" }, kind });
      const recorded = await create();
      expect((await b.stored()).map(({ id }) => String(id))).toEqual([recorded.id]);
      expect(b.bodies("POST")).toHaveLength(1);
    },
  );

  test("creates one job if the response is lost and the list lags by 5 seconds", async () => {
    await b.restart({ readLagMs: 5_000 });
    b.api.fault({ match: { method: "POST" }, kind: "dropAfter" });
    const recorded = await b.operation({ inNoTime: b.api }).up(TYPE, b.job);
    b.api.advance(60_000);
    expect((await b.stored()).map(({ id }) => String(id))).toEqual([recorded.id]);
  });

  test("creates exactly one job if the API returns 500 although it created the job", async () => {
    const between = await through(b.api, (method) => (method === "POST" ? 500 : undefined));
    const recorded = await new Operation(between).up(TYPE, b.job);
    expect((await b.stored()).map(({ id }) => String(id))).toEqual([recorded.id]);
    expect(b.bodies("POST")).toHaveLength(1);
  });

  test("looks up the new job if the response doesn't contain it", async () => {
    await b.restart({ logpush: { created: "none" } });
    await b.made({ name: "another" });
    b.api.clearRequests();
    const recorded = await create();
    expect(await b.stored()).toContainEqual(
      expect.objectContaining({ id: Number(recorded.id), name: "shop-requests" }),
    );
    expect(b.sent("POST")).toEqual(["POST /jobs"]);
  });

  test("reads the new job by its ID if the response contains only the ID", async () => {
    const fault = (id: number) => answerWith(b.api, { method: "POST" }, { id });
    const id = await b.made({ name: "stands in" });
    fault(Number(id));
    const recorded = await create();
    expect(recorded.id).toBe(id);
    expect(b.sent().at(-1)).toBe(`GET /jobs/${id}`);
    // It is recorded even if it can't be read.
    fault(Number(id));
    b.api.fault({ match: { method: "GET", path: `/jobs/${id}$` }, kind: "status", status: 403 });
    const unread = await b.up({ ...b.job, name: "unread" });
    expect(unread.id).toBe(id);
  });
});
