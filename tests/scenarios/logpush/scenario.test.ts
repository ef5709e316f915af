import { startLocalApi, type LocalApi } from "edgeguard-local";
import { filter, testFilter } from "pulumi-edgeguard";
import { edgeguardResources, itAgrees, summaryOf, type RunResult } from "../../support/engine";
import { lagOf, plays } from "../../support/plays";
import { rawSend } from "../../support/operation";
import { TOKEN } from "../../support/scenario";
import { isWrite } from "../../support/is-write";

/**
 * A zone's job and an account's, from the proof of ownership to destroy, on every engine of this machine. The API hides
 * credentials in its answers, and leaves out the filter.
 */

const CANARY = "c4nary-hec-token-1234567890";
const BUCKET = "s3://shop-logs/http/{DATE}?region=eu-west-1";

const TYPED = `filter.where(and(
  eq("ClientRequestHost", "api.shop.example"),
  or(contains("ClientRequestPath", "/api"), geq("EdgeResponseStatus", 500)),
))`;
const ELSEWISE = `\`{ "where" : { "and" : [
  { "or": [ {"operator":"geq","key":"EdgeResponseStatus","value":500},
            {"value":"/api","operator":"contains","key":"ClientRequestPath"} ] },
  { "value": "api.shop.example", "operator": "eq", "key": "ClientRequestHost" } ] } }\``;

/** A program with the zone's job, whose arguments each step sets, and the account's, with credentials in its destination. */
function program(api: LocalApi, requests: string, audit = true): string {
  return `
    import { destination, filter, LogpushJob } from "pulumi-edgeguard";
    const { and, contains, eq, geq, or } = filter;
    new LogpushJob("requests", { zoneId: "${api.zones.empty}", dataset: "http_requests", ${requests} });
    ${
      audit
        ? `new LogpushJob("audit", {
             accountId: "${api.accounts.main}", name: "audit", dataset: "audit_logs",
             destination: destination.splunk({ endpoint: "splunk.example.com:8088/services/collector/raw", channel: "0f8a", token: process.env.HEC_TOKEN ?? "" }),
             outputOptions: { fieldNames: ["When", "ActorEmail"], timestampFormat: "rfc3339" },
           });`
        : ""
    }`;
}

const first = (rule: string): string =>
  `destination: destination.s3({ bucket: "shop-logs", path: "http/{DATE}", region: "eu-west-1" }), filter: ${rule},
   outputOptions: { fieldNames: ["RayID", "ClientRequestPath", "EdgeResponseStatus"], cve202144228: true }`;
const token = (text: string): string => `ownershipChallenge: ${JSON.stringify(text)},`;

/** Differs from the first in everything that doesn't replace the job. */
const EVERY = `
  name: "shop-errors",
  destination: destination.s3({ bucket: "shop-logs", path: "http/{DATE}", region: "eu-west-1", sse: "AES256" }),
  filter: filter.where(geq("EdgeResponseStatus", 500)),
  enabled: false, frequency: "low", maxUploadBytes: 5_000_000, maxUploadIntervalSeconds: 60, maxUploadRecords: 1_000,
  outputOptions: {
    fieldNames: ["RayID"], sampleRate: 0.5, timestampFormat: "unix", outputType: "csv", batchPrefix: "a", batchSuffix: "b",
    recordPrefix: "c", recordSuffix: "d", recordTemplate: "{{.RayID}}", recordDelimiter: "e", fieldDelimiter: "f",
    mergeSubrequests: true, cve202144228: false,
  },`;

function expired(): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "HS256" })}.${part({ exp: 1_738_281_600 })}.eA`;
}

const recorded = new Map<string, unknown>();

describe("Logpush jobs of a zone and an account", () => {
  test.each(plays().map((play) => [play.title, play] as const))(
    "%s",
    async (_title, { surface, mode }) => {
      const api = await startLocalApi({
        logpush: { destination: "redacted", filter: "hidden" },
        ...mode?.api,
      });
      const jobs = `/zones/${api.zones.empty}/logpush/jobs`;
      const audits = `/accounts/${api.accounts.main}/logpush/jobs`;
      const project = surface.project("shop");
      const writes = () =>
        api.requests
          .filter(isWrite)
          .map(
            ({ method, path }) => `${method} ${path.replace(/^\/(zone|account)s\/[0-9a-f]+\/logpush/, "$1")}`,
          )
          .sort();
      const printed: string[] = [];
      const run = async (what: readonly string[], text: string): Promise<RunResult> => {
        project.write(text);
        api.clearRequests();
        const result = await project.run(...what);
        printed.push(result.text);
        return result;
      };
      const up = ["up", "--yes", "--skip-preview"];
      const job = () => api.snapshot().logpush.jobs.find(({ dataset }) => dataset === "http_requests");
      try {
        project.env = { CLOUDFLARE_API_TOKEN: TOKEN, HEC_TOKEN: CANARY };
        await project.init({ "edgeguard:baseUrl": api.url });

        // 1. Without an ownership token, no job is created; Cloudflare writes a token and names its file.
        const unproven = await run(up, program(api, first(TYPED), false));
        expect(unproven.code).not.toBe(0);
        expect(writes()).toEqual(["POST zone/ownership"]);
        const [written] = api.logpush.files();
        const file =
          /prove that you own s3:\/\/shop-logs\/http\/\{DATE\}\?region=eu-west-1\..* the file "([^"]+)" there/.exec(
            unproven.text.replace(/\s+/g, " "),
          )?.[1];
        expect(written?.path).toBe(`s3/shop-logs/${file ?? "not named"}`);
        const proof = api.logpush.read(written?.path ?? "");

        // 2. An expired token fails the preview.
        const late = await run(["preview"], program(api, token(expired()) + first(TYPED)));
        expect(late.code).not.toBe(0);
        expect(late.text).toMatch(/expired on 2025-01-31; a token is valid for 7 days/);
        expect(writes()).toEqual([]);

        // 3. With a valid token, the job is created. The account's existing job is adopted and written once.
        const existing = {
          name: "audit",
          dataset: "audit_logs",
          destination_conf: `splunk://splunk.example.com:8088/services/collector/raw?channel=0f8a&header_Authorization=Splunk%20${CANARY}`,
          enabled: true,
          output_options: { field_names: ["When", "ActorEmail"], timestamp_format: "rfc3339" },
        };
        await rawSend(api, "POST", audits, existing);
        api.advance(lagOf({ mode }));
        const auditId = api.snapshot().logpush.jobs.find(({ name }) => name === "audit")?.id ?? 0;
        const made = await run(up, program(api, token(proof) + first(TYPED)));
        expect(made.text).toContain(`the existing job ${auditId} of account ${api.accounts.main}`);
        expect(summaryOf(made.text)).toEqual({ create: 2, unchanged: 1 }); // The stack already exists.
        expect(writes()).toEqual([`PUT account/jobs/${auditId}`, "POST zone/jobs"].sort());
        expect(job()).toMatchObject({ name: "shop-dev-requests", enabled: true, destination_conf: BUCKET });

        // 4. testFilter says which lines its filter passes.
        const lines = [
          {
            ClientRequestHost: "api.shop.example",
            ClientRequestPath: "/api/orders",
            EdgeResponseStatus: 200,
            RayID: "1",
          },
          {
            ClientRequestHost: "api.shop.example",
            ClientRequestPath: "/",
            EdgeResponseStatus: 200,
            RayID: "2",
          },
          {
            ClientRequestHost: "www.shop.example",
            ClientRequestPath: "/api",
            EdgeResponseStatus: 503,
            RayID: "3",
          },
          {
            ClientRequestHost: "api.shop.example",
            ClientRequestPath: "/",
            EdgeResponseStatus: 503,
            RayID: "\${jndi}",
          },
        ];
        const { and, contains, eq, geq, or, where } = filter;
        const typed = where(
          and(
            eq("ClientRequestHost", "api.shop.example"),
            or(contains("ClientRequestPath", "/api"), geq("EdgeResponseStatus", 500)),
          ),
        );
        expect(await testFilter(typed, lines)).toMatchObject({ lines: 4, passed: 2 });

        // 5. The same filter from builders, as JSON, and in another order and spacing, without the token, shows no changes.
        for (const rule of [TYPED, JSON.stringify(filter.compile(typed)), ELSEWISE]) {
          const same = await run(["preview", "--expect-no-changes"], program(api, first(rule)));
          expect({ code: same.code, writes: writes() }).toEqual({ code: 0, writes: [] });
        }

        // 6. Changing every option sends one PUT with all of them.
        const every = await run(up, program(api, EVERY));
        expect(summaryOf(every.text)).toEqual({ update: 1, unchanged: 2 });
        expect(writes()).toEqual([`PUT zone/jobs/${job()?.id ?? 0}`]);
        const wanted = {
          name: "shop-errors",
          enabled: false,
          destination_conf: `${BUCKET}&sse=AES256`,
          filter: '{"where":{"and":[{"key":"EdgeResponseStatus","operator":"geq","value":"500"}]}}',
          frequency: "low",
          max_upload_bytes: 5_000_000,
          max_upload_interval_seconds: 60,
          max_upload_records: 1_000,
          output_options: {
            field_names: ["RayID"],
            sample_rate: 0.5,
            timestamp_format: "unix",
            output_type: "csv",
            batch_prefix: "a",
            batch_suffix: "b",
            record_prefix: "c",
            record_suffix: "d",
            record_template: "{{.RayID}}",
            record_delimiter: "e",
            field_delimiter: "f",
            merge_subrequests: true,
            "CVE-2021-44228": false,
          },
        };
        expect(job()).toMatchObject(wanted);

        // 7. Someone edits the job in the dashboard, and it starts to fail: the refresh shows the drift and warns.
        await rawSend(api, "PUT", `${jobs}/${job()?.id ?? 0}`, {
          enabled: true,
          output_options: { ...wanted.output_options, sample_rate: 1 },
        });
        api.logpush.setHealth(auditId, {
          last_error: "2026-02-03T10:00:00Z",
          error_message: `denied: Splunk ${CANARY}`,
        });
        const drift = await run(["refresh", "--yes", "--skip-preview"], program(api, EVERY));
        expect(drift.text).toContain(`LogpushJob "audit" (job ${auditId}) is failing: denied: [secret]`);
        expect(writes()).toEqual([]);
        const mended = await run(up, program(api, EVERY));
        expect(summaryOf(mended.text)).toEqual({ update: 1, unchanged: 2 });
        expect(writes()).toEqual([`PUT zone/jobs/${job()?.id ?? 0}`]);
        expect(job()).toMatchObject(wanted);

        // 8. The state shows no credential, and is the same on every engine.
        const state = await project.export();
        if (mode === undefined)
          recorded.set(
            surface.name,
            [...edgeguardResources(state)]
              .sort(([a], [b]) => (a < b ? -1 : 1)) // Engines record two creates in the order in which they end.
              .map(([urn, { inputs, outputs }]) => ({ urn, inputs, outputs }))
              .map(alike),
          );
        expect(JSON.stringify(state)).toContain("splunk://splunk.example.com:8088");
        for (const secret of [CANARY, proof]) {
          expect(JSON.stringify(state)).not.toContain(secret);
          expect(printed.join("\n")).not.toContain(secret);
        }

        // 9. Destroy deletes both jobs.
        const gone = await run(["destroy", "--yes", "--skip-preview"], program(api, EVERY));
        expect(summaryOf(gone.text)).toEqual({ delete: 3 });
        expect(writes()).toEqual([
          `DELETE account/jobs/${auditId}`,
          expect.stringMatching(/^DELETE zone\/jobs\/\d+$/),
        ]);
        expect(api.snapshot().logpush.jobs.map((each) => each.name)).toEqual(["existing"]);
      } finally {
        await api.close();
        project.remove();
      }
    },
    180_000,
  );

  itAgrees(recorded);
});

/** Without what differs between runs: ciphertexts, and when the job pushed. */
function alike(resource: object): unknown {
  const text = JSON.stringify(resource)
    .replace(/"ciphertext":"[^"]*"/g, '"ciphertext":"{secret}"')
    .replace(/"lastComplete":"[^"]*"/g, '"lastComplete":"{time}"');
  return JSON.parse(text);
}
