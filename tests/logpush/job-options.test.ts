import { omit } from "../../provider/basics/json";
import { driftOf } from "../report/plans";
import { envelope, serve } from "../support/edge-client";
import { madeTransformer, Operation, refreshedInputs } from "../support/operation";
import { LogpushBench, TYPE, type Members } from "./support";
import { OFFLINE, answerWith } from "../support/bench";

const b = new LogpushBench();

describe("a LogpushJob with output options", () => {
  const EVERY: Members = {
    fieldNames: ["ClientIP", "RayID"],
    sampleRate: 0.25,
    timestampFormat: "rfc3339ms",
    outputType: "csv",
    batchPrefix: "ClientIP;RayID\n",
    batchSuffix: "end\n",
    recordPrefix: ">",
    recordSuffix: "<\n",
    recordTemplate: "{{.ClientIP}};{{.RayID}}",
    recordDelimiter: "",
    fieldDelimiter: ";",
    mergeSubrequests: true,
    cve202144228: true,
    stringifyObject: true,
  };
  const wireNameOf = (name: string): string =>
    name === "cve202144228"
      ? "CVE-2021-44228"
      : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const WIRE: Members = {
    ...Object.fromEntries(Object.entries(EVERY).map(([name, value]) => [wireNameOf(name), value])),
    "CVE-2021-44228": "true",
  };

  test.each(["openapi", "documented"] as const)(
    "sends all output options and reads them back (%s)",
    async (dialect) => {
      await b.restart({ dialect });
      const inputs = { ...b.job, outputOptions: EVERY };
      const recorded = await b.up(inputs);
      expect(b.bodies("POST")[0]?.["output_options"]).toEqual(WIRE);
      expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
      expect(await b.step(inputs, recorded)).toBe("same");
    },
  );

  test.each(Object.keys(EVERY))(
    "reports drift if output options change in the dashboard, declared or not, and reverts it: %s",
    async (key) => {
      const other: Members = {
        fieldNames: ["ClientIP"],
        sampleRate: 0.5,
        timestampFormat: "unix",
        outputType: "ndjson",
        mergeSubrequests: false,
        cve202144228: false,
        stringifyObject: false,
      };
      const wireName = wireNameOf(key);
      const value = other[key] ?? "else";
      // 1. Declared.
      const inputs = { ...b.job, outputOptions: EVERY };
      const recorded = await b.up(inputs);
      await b.changed(recorded.id, { output_options: { ...WIRE, [wireName]: value } });
      const drifted = await b.refresh(recorded);
      expect(drifted.inputs["outputOptions"]).toMatchObject({ [key]: value });
      const inReport = driftOf(TYPE, recorded, drifted)?.changes.map(({ property }) => property);
      expect(inReport).toEqual([`outputOptions.${key}`]);
      expect(await b.step(inputs, drifted)).toBe("update");
      await b.up(inputs, drifted);
      expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
      // 2. Not declared: it's drift unless it's at its default.
      if (["fieldNames", "recordDelimiter"].includes(key)) return;
      const few = { ...b.job, name: "few", outputOptions: { fieldNames: ["RayID"] } };
      const plain = await b.up(few);
      const raw = key === "cve202144228" ? true : WIRE[wireName];
      await b.changed(plain.id, { output_options: { field_names: ["RayID"], [wireName]: raw } });
      const seen = await b.refresh(plain);
      expect(seen.inputs["outputOptions"]).toMatchObject({ fieldNames: ["RayID"], [key]: EVERY[key] });
      await b.up(few, seen);
      expect((await b.refresh(plain)).inputs).toEqual(refreshedInputs(plain));
    },
  );

  test("reports no drift for options at their defaults, even if the API omits them or returns them in another form", async () => {
    const recorded = await b.up(b.job);
    const answers: Members[] = [
      { field_names: ["ClientIP", "RayID"] },
      {
        field_names: ["ClientIP", "RayID"],
        sample_rate: 1,
        timestamp_format: "unixnano",
        output_type: "ndjson",
      },
      {
        field_names: ["ClientIP", "RayID"],
        "CVE-2021-44228": "false",
        merge_subrequests: null,
        sample_rate: null,
      },
      {
        field_names: ["RayID", "ClientIP"],
        "CVE-2021-4428": false,
        record_prefix: "{",
        record_suffix: "}\n",
      },
    ];
    const raw = await b.one();
    for (const output_options of answers) {
      answerWith(b.api, { method: "GET" }, { ...raw, output_options });
      expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
    }
  });

  test("reports drift if none are set anymore", async () => {
    const outputOptions = { ...b.job.outputOptions, sampleRate: 0.5 };
    const recorded = await b.up({ ...b.job, outputOptions });
    for (const output_options of [null, { record_prefix: "{" }]) {
      await b.changed(recorded.id, { output_options });
      expect((await b.refresh(recorded)).inputs["outputOptions"]).toEqual({ sampleRate: 1 });
    }
  });

  test("doesn't take a job without any for one that has the declared ones", async () => {
    const id = await b.made({ output_options: null });
    expect(await b.refusals(b.job)).toEqual([expect.stringContaining("outputOptions")]);
    const adopted = await b.up({ ...b.job, adopt: "takeOver" });
    expect(adopted.id).toBe(id);
  });

  test("sends the fields again if the program reorders them, but doesn't report Cloudflare's own order as drift", async () => {
    const recorded = await b.up(b.job);
    await b.changed(recorded.id, { output_options: { field_names: ["RayID", "ClientIP"] } });
    expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
    await b.changed(recorded.id, { output_options: { field_names: ["ClientIP", "RayID"] } });
    const turned = { ...b.job, outputOptions: { fieldNames: ["RayID", "ClientIP"] } };
    await b.up(turned, recorded);
    expect(await b.one()).toMatchObject({ output_options: { field_names: ["RayID", "ClientIP"] } });
    // CSV columns have no names, so there the order matters.
    const csv = { ...b.job, name: "csv", outputOptions: { ...b.job.outputOptions, outputType: "csv" } };
    const table = await b.up(csv);
    await b.changed(table.id, { output_options: { field_names: ["RayID", "ClientIP"], output_type: "csv" } });
    expect((await b.refresh(table)).inputs["outputOptions"]).toMatchObject({
      fieldNames: ["RayID", "ClientIP"],
    });
  });

  describe("and the CVE flag", () => {
    const flagged = () => ({ ...b.job, outputOptions: { ...b.job.outputOptions, cve202144228: true } });
    const flags = (method: string) =>
      b.bodies(method).map((body) => (body["output_options"] as Members)["CVE-2021-44228"]);

    test("sends the flag as a string, and again as a boolean if Cloudflare's error points at it", async () => {
      await b.restart({ logpush: { cve: "booleanOnly" } });
      const op = b.operation();
      const recorded = await op.up(TYPE, flagged());
      expect(flags("POST")).toEqual(["true", true]);
      await op.up(TYPE, { ...flagged(), name: "second" });
      expect(flags("POST")).toEqual(["true", true, true]); // Remembered for the rest of the operation.
      expect((await b.refresh(recorded)).inputs).toEqual(refreshedInputs(recorded));
      expect(await b.stored()).toHaveLength(2);
    });

    test("sends the flag only as a string if Cloudflare accepts that", async () => {
      await b.restart({ logpush: { cve: "stringOnly" } });
      const recorded = await b.up(flagged());
      expect(flags("POST")).toEqual(["true"]);
      await b.up({ ...b.job, outputOptions: { ...b.job.outputOptions, cve202144228: false } }, recorded);
      expect(flags("PUT")).toEqual(["false"]);
    });

    test("doesn't send the flag again after a 400 error about another field", async () => {
      b.api.fault({
        match: { method: "POST" },
        kind: "status",
        status: 400,
        message: "CVE-2021-44228 is bad",
      });
      await b.failedUp(flagged());
      expect(flags("POST")).toEqual(["true"]);
    });
  });
});

describe('a LogpushJob with fieldNames: "all"', () => {
  const all = () => ({ ...b.job, outputOptions: { fieldNames: "all", sampleRate: 0.5 } });
  const names = (method: string) =>
    b.bodies(method).map((body) => (body["output_options"] as { field_names: string[] }).field_names);
  /** Serves the local API with these fields in every dataset. */
  const serveFields = (fields: string[]) =>
    serve(async (request, response) => {
      const isFields = request.url?.endsWith("/fields") === true;
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const answer = await fetch(b.api.url + (request.url ?? "").replace(/^\/v4/, ""), {
        method: request.method ?? "",
        headers: { authorization: "Bearer local-token", "content-type": "application/json" },
        ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
      });
      const text = await answer.text();
      response.writeHead(answer.status);
      response.end(
        isFields
          ? envelope(
              Object.fromEntries(fields.map((name) => [name, /Status|Score/.test(name) ? "int" : "string"])),
            )
          : text,
      );
    });

  test("looks up the dataset's fields once, then keeps them and shows them in the preview", async () => {
    const service = await serveFields(["ClientIP", "ClientRequestHost", "EdgeResponseStatus", "RayID"]);
    const recorded = await new Operation(service).up(TYPE, all());
    const FIELDS = ["ClientIP", "ClientRequestHost", "EdgeResponseStatus", "RayID"];
    expect(names("POST")).toEqual([FIELDS]);
    expect(recorded.inputs).toMatchObject({ outputOptions: { fieldNames: "all" }, allFields: FIELDS });
    expect(recorded.outputs["allFields"]).toEqual(FIELDS);

    const op = new Operation(service);
    expect(await op.preview(TYPE, all(), recorded)).toMatchObject({
      step: "same",
      inputs: { allFields: FIELDS },
    });
    expect(op.warned).toEqual([]);
    expect((await new Operation(service).refresh(TYPE, recorded))?.inputs).toEqual(refreshedInputs(recorded));
  });

  test("keeps the job's fields when the dataset's fields change, and the preview warns", async () => {
    const before = await serveFields(["ClientIP", "ClientRequestHost", "EdgeResponseStatus", "RayID"]);
    const recorded = await new Operation(before).up(TYPE, all());
    const after = await serveFields([
      "ClientIP",
      "ClientRequestHost",
      "EdgeResponseStatus",
      "JA4",
      "BotScore",
    ]);
    const op = new Operation(after);
    expect(await op.preview(TYPE, all(), recorded)).toMatchObject({ step: "same" });
    expect(op.warned).toEqual([
      expect.stringMatching(
        /the job won't push 2 new fields of http_requests: JA4, BotScore\. fieldNames: "all" means the 4 fields that the dataset had when you set it\. To push them too, list the fields by name/,
      ),
      expect.stringMatching(
        /includes a field that http_requests no longer has: RayID\. To drop it, list the other fields by name\./,
      ),
    ]);
    const changed = await new Operation(after).up(TYPE, { ...all(), enabled: false }, recorded);
    expect(names("PUT")).toEqual([["ClientIP", "ClientRequestHost", "EdgeResponseStatus", "RayID"]]);
    expect(changed.outputs["allFields"]).toEqual(recorded.outputs["allFields"]);
  });

  test('sends the same fields if a list of them replaces "all"', async () => {
    const service = await serveFields(["ClientIP", "ClientRequestHost", "EdgeResponseStatus", "RayID"]);
    const recorded = await new Operation(service).up(TYPE, all());
    const listed = { fieldNames: recorded.outputs["allFields"], sampleRate: 0.5 };
    const after = await new Operation(service).up(TYPE, { ...all(), outputOptions: listed }, recorded);
    expect(names("PUT")).toEqual([recorded.outputs["allFields"]]);
    expect(after.outputs).not.toHaveProperty("allFields");
  });

  test("reports drift if someone selected other fields, and the update restores the job's fields", async () => {
    const recorded = await b.up(all());
    await b.changed(recorded.id, { output_options: { field_names: ["RayID"], sample_rate: 0.5 } });
    const drifted = await b.refresh(recorded);
    expect(drifted.inputs["outputOptions"]).toEqual({ fieldNames: ["RayID"], sampleRate: 0.5 });
    await b.up(all(), drifted);
    expect(names("PUT").at(-1)).toEqual(recorded.outputs["allFields"]);
  });

  test("looks up the dataset's fields in the update if the preview made no live checks", async () => {
    const offline = b.operation(OFFLINE);
    const recorded = await offline.up(TYPE, all());
    expect(names("POST")[0]).toContain("RayID");
    expect(recorded.outputs["allFields"]).toEqual(names("POST")[0]);
    expect(recorded.inputs).not.toHaveProperty("allFields");
  });
});

test("what someone else sets in options that the program leaves out isn't drift, and updates keep it", async () => {
  const others = { frequency: "low", max_upload_bytes: 5_000_000, max_upload_interval_seconds: 60 };
  const plain = omit(b.job, ["outputOptions"]);
  const recorded = await b.up(plain);
  const more = { ...others, max_upload_records: 1_000, output_options: { field_names: ["RayID"] } };
  await b.changed(recorded.id, more);
  const refreshed = await b.refresh(recorded);
  expect(refreshed.inputs).toEqual(refreshedInputs(recorded));
  expect(await b.step(plain, refreshed)).toBe("same");
  await b.up({ ...plain, enabled: false }, refreshed);
  expect(await b.one()).toMatchObject({ ...more, enabled: false });
});

describe("the switches of a Logpush job that leave lines out", () => {
  const switches = { filterAttackTraffic: true, transformerId: 1 };
  beforeEach(async () => {
    await madeTransformer(b.api);
    b.api.clearRequests();
  });

  test("are sent, shown as drift if the dashboard changes them, and reset once the program removes them", async () => {
    const inputs = { ...b.job, ...switches };
    const recorded = await b.up(inputs);
    expect(b.bodies("POST")).toMatchObject([{ filter_attack_traffic: true, transformer_id: 1 }]);
    await b.expectNoChange(inputs, recorded);
    await b.changed(recorded.id, { filter_attack_traffic: false, transformer_id: null });
    const drifted = await b.refresh(recorded);
    expect(drifted.inputs["filterAttackTraffic"]).toBe(false);
    expect(drifted.inputs).not.toHaveProperty("transformerId");
    const repaired = await b.up(inputs, drifted);
    expect(await b.one()).toMatchObject({ filter_attack_traffic: true, transformer_id: 1 });
    await b.up(b.job, repaired);
    expect(await b.one()).toMatchObject({ filter_attack_traffic: false, transformer_id: null });
  });

  test("of an existing job differ from a program without them, and are read by get and the lookup", async () => {
    const id = await b.made({ filter_attack_traffic: true, transformer_id: 1 });
    await expect(b.preview(b.job)).rejects.toThrow(
      /differs in filterAttackTraffic: true → not set; transformerId: 1 → not set\./,
    );
    const { outputs } = await b.operation().get("LogpushJob", `zone/${b.job.zoneId}/${id}`);
    expect(outputs).toMatchObject(switches);
  });

  test("are drift if the program doesn't declare them, and the next update resets them", async () => {
    const recorded = await b.up(b.job);
    await b.changed(recorded.id, { filter_attack_traffic: true, transformer_id: 1 });
    const drifted = await b.refresh(recorded);
    expect(drifted.inputs).toMatchObject(switches);
    await b.up({ ...b.job, enabled: false }, recorded);
    expect(await b.one()).toMatchObject({
      enabled: false,
      filter_attack_traffic: false,
      transformer_id: null,
    });
  });
});
