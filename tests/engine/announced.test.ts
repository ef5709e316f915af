import { spawnSync } from "node:child_process";
import { BIN } from "../cli/support";
import { report, type WrittenReport } from "../../provider/report";
import { apiPerFile } from "../support/bench";
import { rawGet } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { surfaces } from "../support/surfaces";

/** What a change of a policy or a credential does to visitors and logs, the gate says before it happens, and only that. */

const KEY = "0123456789abcdef0123456789abcdef";
const ROTATED = "fedcba9876543210fedcba9876543210";
const [LIB, ODD, EVIL, API] = [
  "https://cdn.example.com/lib.js",
  "https://odd.example.net/y.js",
  "https://evil.example.org/x.js",
  "https://api.example.com/v1",
] as const;

/** A policy's arguments before and after, and the dangers at which the recommended gate stops. */
interface Row {
  readonly before: string;
  readonly after: string | undefined;
  readonly fails: readonly string[];
}

const allow = (description: string, value: string): string =>
  `description: "${description}", value: "${value}", ...enforced`;

const POLICIES: Readonly<Record<string, Row>> = {
  "connect-src 'none' is added": {
    before: allow("connections", "script-src *"),
    after: allow("connections", "script-src *; connect-src 'none'"),
    fails: [`blocks: would newly block 1 active script or connection: ${API}`],
  },
  "everything is forbidden by default": {
    before: allow("default", "script-src *"),
    after: allow("default", "default-src 'none'"),
    fails: [
      expect.stringMatching(
        /^blocks: would newly block 3 active scripts or connections, besides 1 malicious: .*; nobody knows what .*img-src.*form|^blocks: would newly block 3 .*; nobody knows what .*img-src/,
      ) as string,
    ],
  },
  "a known script is newly blocked": {
    before: allow("known", "script-src *"),
    after: allow("known", "script-src https://www.example.com"),
    fails: [
      `blocks: would newly block 2 active scripts or connections, besides 1 malicious: ${ODD} (suspicious, score 30), ${LIB}`,
    ],
  },
  "only a malicious script is newly blocked": {
    before: allow("malicious", "script-src *"),
    after: allow("malicious", "script-src https://cdn.example.com https://odd.example.net"),
    fails: [],
  },
  "a blocking policy's description is edited": {
    before: allow("described", "script-src 'self'"),
    after: allow("described better", "script-src 'self'"),
    fails: [],
  },
  "an allow list becomes longer": {
    before: allow("loosened", "script-src 'self'"),
    after: allow("loosened", "script-src 'self' https://cdn.example.com"),
    fails: [
      expect.stringMatching(/^unprotect: policy loosened newly allows https:\/\/cdn\.example\.com/) as string,
    ],
  },
  "a blocking policy is deleted": {
    // In a zone of its own: another policy that blocks as much would replace it.
    before: `${allow("deleted", "script-src https://cdn.example.com")}, zoneId: logsZoneId`,
    after: undefined,
    fails: [
      `unprotect: policy deleted no longer blocks anything: allow → deleted. When it was last changed, it blocked 2 active scripts (1 malicious): ${EVIL} (malicious, score 5), ${ODD} (suspicious, score 30)`,
      "unseen: may delete what someone changed manually: only a preview with --refresh compares what the update deletes and what stays",
    ],
  },
};

const hidden = (where: string): string =>
  `unprotect: log lines may go to another recipient: a hidden part of ${where} changes, such as a credential or tenant`;

/** A job's destination before and after. */
const JOBS: Readonly<Record<string, Row>> = {
  datadog: {
    before: `datadog://logs.example.com/v1?header_DD-API-KEY=${KEY}&ddsource=cloudflare`,
    after: `datadog://logs.example.com/v1?header_DD-API-KEY=${ROTATED}&ddsource=cloudflare`,
    fails: [hidden("datadog://logs.example.com/v1?ddsource=cloudflare&[secret]")],
  },
  header: {
    before: `https://logs.example.com/in?header_Authorization=Bearer%20${KEY}`,
    after: `https://logs.example.com/in?header_Authorization=Bearer%20${ROTATED}`,
    fails: [hidden("https://logs.example.com/in?[secret]")],
  },
  tenant: {
    before: `https://logs.example.com/in?header_X-Tenant=ours&token=${KEY}`,
    after: `https://logs.example.com/in?header_X-Tenant=theirs&token=${KEY}`,
    fails: [hidden("https://logs.example.com/in?[secret]&[secret]")],
  },
  bucket: {
    before: `s3://logs/http?region=eu&access-key-id=KEY&secret-access-key=${KEY}`,
    after: `s3://logs/http?region=eu&access-key-id=KEY2&secret-access-key=${ROTATED}`,
    fails: [],
  },
};

const RENAMED = { before: "renamed-before", after: "renamed-after" } as const;
const FAIL_ON = ["irreversible", "unprotect", "blocks", "removes", "unseen"] as const;

/** @param jobs the destinations, if they aren't those of the side. */
function program(side: "before" | "after", jobs = destinations(side)): string {
  const policies = Object.entries(POLICIES).flatMap(([name, row]) => {
    const args = row[side];
    return args === undefined ? [] : [`new PageShieldPolicy(${JSON.stringify(name)}, { zoneId, ${args} });`];
  });
  return `
import * as pulumi from "@pulumi/pulumi";
import { LogpushJob, PageShieldPolicy } from "pulumi-edgeguard";
const { zoneId, logsZoneId } = new pulumi.Config().requireObject<Record<string, string>>("ids");
const enforced = { action: "allow", expression: "true" };
${policies.join("\n")}
new PageShieldPolicy("${RENAMED[side]}", { zoneId, ${allow("renamed", "script-src 'self'")} });
for (const [name, destinationConf] of ${JSON.stringify(jobs)} as [string, string][])
  new LogpushJob(name, { zoneId: logsZoneId, dataset: "http_requests", destinationConf, outputOptions: { fieldNames: ["RayID"] } });
`;
}

const destinations = (side: "before" | "after"): [string, string][] =>
  Object.entries(JOBS).map(([name, row]) => [name, row[side] ?? ""]);

describe.each(surfaces())("on $name, the recommended gate", (surface) => {
  const api = apiPerFile();
  let plan: WrittenReport;
  let reports: Readonly<Record<"elsewhere" | "accepted" | "other", WrittenReport>>;
  let printed: string;
  let before: Seen;
  let after: Seen;

  /** What the API holds, read without the provider's code. */
  async function seen(): Promise<Seen> {
    const { empty, migrateEnterprise } = api.zones;
    const listed = [empty, migrateEnterprise].map((zone) =>
      rawGet(api, `/zones/${zone}/page_shield/policies`),
    );
    const policies = (await Promise.all(listed)).flatMap(({ result }) => result as Policy[]);
    const jobs = (await rawGet(api, `/zones/${migrateEnterprise}/logpush/jobs`))["result"];
    return {
      policies: new Map(policies.map(({ description, value }) => [description, value])),
      jobs: new Map((jobs as Job[]).map((each) => [each.name.replace(/^.*-/, ""), each.destination_conf])),
    };
  }

  beforeAll(async () => {
    const { empty: zoneId, migrateEnterprise: logsZoneId } = api.zones;
    const host = "www.empty.example";
    for (const zone of [zoneId, logsZoneId])
      api.detect(
        zone,
        {
          scripts: [
            { url: LIB, host, js_integrity_score: 90 },
            { url: ODD, host, js_integrity_score: 30 },
            { url: EVIL, host, js_integrity_score: 5 },
          ],
          connections: [{ url: API, host }],
        },
        "replace",
      );
    const project = surface.project("announced");
    try {
      project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
      await project.init({
        ids: JSON.stringify({ zoneId, logsZoneId }),
        "edgeguard:baseUrl": api.url,
      });
      const planned = async (text: string): Promise<string> => {
        project.write(text);
        return (await project.ok("preview", "--json", "--show-sames")).stdout;
      };
      const gate = (text: string, accept: readonly string[] = []): WrittenReport =>
        report(text, "json", { failOn: FAIL_ON, accepted: new Set(accept) });
      project.write(program("before"));
      await project.ok("up", "--yes", "--skip-preview");
      before = await seen();

      // The same change, but to someone else's key.
      const elsewhere = destinations("after").map(([name, to]): [string, string] => [
        name,
        to.replace(ROTATED, "f".repeat(32)),
      ]);
      const other = await planned(program("after", elsewhere));
      const text = await planned(program("after"));
      plan = gate(text);
      const each = plan.dangers.map(({ digest }) => digest);
      reports = { elsewhere: gate(other, each), accepted: gate(text, each), other: gate(other) };
      printed = spawnSync(process.execPath, [BIN, "report"], { input: text, encoding: "utf8" }).stdout;
      await project.ok("up", "--yes", "--skip-preview");
      after = await seen();
    } finally {
      project.remove();
    }
  }, 300_000);

  const stopsAt = (name: string, { dangers } = plan): string[] =>
    dangers
      .filter((danger) => danger.name === name && danger.verdict === "fails")
      .map(({ kind, sentence }) => `${kind}: ${sentence.toString()}`);

  it.each(Object.entries(POLICIES))(
    "says what happens when %s",
    (name, { before: from, after: to, fails }) => {
      const [was, is] = [from, to].map(
        (args = "") => /description: "(.*?)", value: "(.*?)"/.exec(args) ?? [],
      );
      expect(before.policies.get(was?.[1] ?? "")).toBe(was?.[2]);
      expect(after.policies.get(is?.[1] ?? "")).toBe(is?.[2]);
      expect(stopsAt(name)).toEqual(fails);
    },
  );

  it("lets a renamed resource pass", () => {
    expect([before, after].map(({ policies }) => policies.get("renamed"))).toEqual(
      Array(2).fill("script-src 'self'"),
    );
    for (const name of Object.values(RENAMED)) expect(stopsAt(name)).toEqual([]);
  });

  it.each(Object.entries(JOBS))(
    "stops at another recipient, but not at a new key for the same bucket: %s",
    (name, row) => {
      expect([before.jobs.get(name), after.jobs.get(name)]).toEqual([row.before, row.after]);
      expect(stopsAt(name)).toEqual(row.fails);
      expect(printed + JSON.stringify(plan)).not.toMatch(/0123456789abcdef|fedcba9876543210|ours|theirs/);
    },
  );

  it("takes an acceptance only for the change that was accepted", () => {
    expect(Object.keys(JOBS).flatMap((name) => stopsAt(name, reports.accepted))).toEqual([]);
    for (const name of ["datadog", "header"])
      expect(stopsAt(name, reports.elsewhere)).toEqual(JOBS[name]?.fails);
    const digestOf = (name: string): unknown => plan.dangers.find((each) => each.name === name)?.digest;
    expect(digestOf("everything is forbidden by default")).not.toBe(digestOf("connect-src 'none' is added"));
  });
});

interface Policy {
  readonly description: string;
  readonly value: string;
}

interface Job {
  readonly name: string;
  readonly destination_conf: string;
}

interface Seen {
  /** The values of policies by description. */
  readonly policies: ReadonlyMap<string, string>;
  /** The destinations of jobs by name. */
  readonly jobs: ReadonlyMap<string, string>;
}
