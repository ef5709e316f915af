import type { LocalApi } from "edgeguard-local";
import { apiPerFile } from "../support/bench";
import { spawnSync } from "node:child_process";
import { BIN } from "../cli/support";
import { report, type WrittenReport } from "../../provider/report";
import { rawGet, rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { surfaces } from "../support/surfaces";

/** What an update really loses, the report on its preview names, on every engine and surface. */

const S3 = "s3://logs/http?REGION&access-key-id=KEYKEY&secret-access-key=SECRET";
const R2 = (account: string): string =>
  `r2://logs/http?account-id=${account}&access-key-id=KEYKEY&secret-access-key=SECRET`;
const SPLUNK =
  "splunk://splunk.shop.example/raw?channel=c&insecure-skip-verify=VERIFY&header_Authorization=Splunk%20SECRET";
const MINE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
const FOREIGN = "00000000000000000000000000000007";

/** What each job's destination changes in, and where it goes before and after. */
const MOVED: Readonly<
  Record<string, readonly [zone: "empty" | "shop" | "large", before: string, after: string]>
> = {
  endpoint: [
    "empty",
    S3.replace("REGION", "region=eu&endpoint=one.example"),
    S3.replace("REGION", "region=eu&endpoint=two.example"),
  ],
  region: ["empty", S3.replace("REGION", "region=eu-west-1"), S3.replace("REGION", "region=us-east-1")],
  certificate: ["empty", SPLUNK.replace("VERIFY", "false"), SPLUNK.replace("VERIFY", "true")],
  query: ["shop", "https://logs.shop.example/in?table=a", "https://logs.shop.example/in?table=b"],
  account: ["large", R2(MINE), R2(FOREIGN)],
};
const FAIL_ON = ["irreversible", "unprotect", "removes", "unseen"] as const;
const SHARED_HOST = "https://siem.shop.example";
const API_PATH = 'starts_with(http.request.uri.path, "/api/")';
/** Names that read like the message of a harmless update. */
const HOSTILE = ["products: prune deletes nothing", "own\nedgeguard: KvEntries own: prune deletes nothing"];

const jobsOf = (side: 1 | 2): string =>
  Object.entries(MOVED)
    .map(
      ([name, moved]) =>
        `job("${name}", ${moved[0]}, "http_requests", "${moved[side]}"${name === "account" && side === 2 ? ", { ownershipChallenge }" : ""});`,
    )
    .join("\n");
const HEAD = `
import * as pulumi from "@pulumi/pulumi";
import { KvEntries, KvNamespace, LogpushJob, ManagedRulesetOverride } from "pulumi-edgeguard";
const { accountId, empty, shop, large, existing, ownershipChallenge } =
  new pulumi.Config().requireObject<Record<string, string>>("ids");
const job = (name: string, zoneId: string, dataset: string, destinationConf: string, more = {}) =>
  new LogpushJob(name, { zoneId, dataset, destinationConf, outputOptions: { fieldNames: ["RayID"] }, ...more });
const first = new KvNamespace("first", { accountId, title: "first" });
const second = new KvNamespace("second", { accountId, title: "second" });
const many = (prefix: string) => Object.fromEntries(Array.from({ length: 12 }, (_, index) => [prefix + index, "1"]));
job("archive", large, "firewall_events", "${SHARED_HOST}/archive");
`;
const BEFORE = `${HEAD}${jobsOf(1)}
job("security", large, "firewall_events", "${SHARED_HOST}/security");
job("swapped", shop, "firewall_events", "https://swap.shop.example/");
new ManagedRulesetOverride("owasp", { zoneId: empty, accountId, ruleset: "Cloudflare OWASP Core Ruleset" });
new KvEntries("leaving", { accountId, namespaceId: first.id, entries: many("leaving/") });
new KvEntries("moving", { accountId, namespaceId: first.id, entries: many("moving/") });
`;
const AFTER = `${HEAD}${jobsOf(2)}
job("swapped", shop, "http_requests", "https://swap.shop.example/");
const skipping = new ManagedRulesetOverride("skipping", {
  zoneId: empty, accountId, ruleset: "Cloudflare Managed Ruleset",
  exceptions: [{ expression: '${API_PATH}', skip: "all" }],
});
new ManagedRulesetOverride("owasp", {
  zoneId: empty, accountId, ruleset: "Cloudflare OWASP Core Ruleset", position: "last",
}, { dependsOn: [skipping] });
new KvEntries("moving", { accountId, namespaceId: second.id, entries: many("moving/") });
${HOSTILE.map(
  (name, index) =>
    `new KvEntries(${JSON.stringify(name)}, { accountId, namespaceId: existing, entries: { "${index}/mine": "1" }, prune: { prefix: "${index}/" } });`,
).join("\n")}
`;

interface Job {
  readonly name: string;
  readonly dataset: string;
  readonly destination_conf: string;
}

const UNREFRESHED =
  "unseen: may delete what someone changed manually: only a preview with --refresh compares what the update deletes and what stays";

describe.each(surfaces())("on $name, the gate names it if", (surface) => {
  const api = apiPerFile();
  let plan: WrittenReport;
  let printed: { readonly status: number | null; readonly stderr: string };
  let before: Seen;
  let after: Seen;

  beforeAll(async () => {
    const { empty, shop, migrateEnterprise: large } = api.zones;
    const { existing } = api.namespaces;
    await rawSend(api, "POST", `/zones/${large}/logpush/ownership`, { destination_conf: R2(FOREIGN) });
    const [proof] = api.logpush.files();
    const ownershipChallenge = api.logpush.read(proof?.path ?? "");
    const project = surface.project("losses");
    try {
      project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
      const ids = JSON.stringify({ accountId: MINE, empty, shop, large, existing, ownershipChallenge });
      await project.init({ ids, "edgeguard:baseUrl": api.url });
      project.write(BEFORE);
      await project.ok("up", "--yes", "--skip-preview");
      const theirs = HOSTILE.flatMap((_, index) =>
        Array.from({ length: 5 }, (__, key) => ({ key: `${index}/theirs${key}`, value: "theirs" })),
      );
      await rawSend(api, "PUT", `/accounts/${MINE}/storage/kv/namespaces/${existing}/bulk`, theirs);

      project.write(AFTER);
      const { stdout } = await project.ok("preview", "--json", "--show-sames");
      plan = report(stdout, "json", { failOn: FAIL_ON });
      const args = [BIN, "report", "--fail-on", FAIL_ON.join(",")];
      printed = spawnSync(process.execPath, args, { input: stdout, encoding: "utf8" });
      before = await seenIn(api);
      await project.ok("up", "--yes", "--skip-preview");
      after = await seenIn(api);
    } finally {
      project.remove();
    }
  }, 300_000);

  /** The sentences of the dangers by which the gate fails because of a resource. */
  const failing = (name: string): string[] =>
    plan.dangers
      .filter((danger) => danger.name === name && danger.verdict === "fails")
      .map(({ kind, sentence }) => `${kind}: ${sentence.toString()}`);

  it("anything is lost, and a name that contains a line break forges no line", () => {
    expect(printed).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /^edgeguard: the plan has dangers of the kinds in --fail-on: .*\n$/,
      ) as string,
    });
  });

  it.each(Object.keys(MOVED))("a Logpush job goes to another location by its %s", (name) => {
    const [, from = "", to = ""] = MOVED[name] ?? [];
    expect([before.jobs.get(name)?.destination_conf, after.jobs.get(name)?.destination_conf]).toEqual([
      from,
      to,
    ]);
    expect(failing(name)).toEqual([
      expect.stringMatching(/^unprotect: log lines go to another destination: .+ → .+/),
    ]);
    const [was, is] = (failing(name)[0] ?? "").split(" → ");
    expect(was?.endsWith(is ?? "")).toBe(false);
  });

  it("a security log goes although another job pushes to its host, and a replaced one changes its dataset", () => {
    expect([before.jobs.has("security"), after.jobs.has("security")]).toEqual([true, false]);
    expect(failing("security")).toEqual([
      "unprotect: the Logpush job is deleted: firewall_events is no longer pushed to https://siem.shop.example/security",
      UNREFRESHED,
    ]);
    expect(after.jobs.get("swapped")?.dataset).toBe("http_requests");
    expect(failing("swapped")).toEqual([
      "unprotect: the Logpush job is deleted: firewall_events is no longer pushed to https://swap.shop.example",
      UNREFRESHED,
    ]);
  });

  it("a rule moves behind a new rule that skips all rules after it for a path", () => {
    expect(before.rules).toEqual([expect.stringMatching(/owasp$/)]);
    expect(after.rules).toEqual(
      ["skipping/exception/1", "skipping", "owasp"].map(
        (name) => expect.stringMatching(`${name}$`) as string,
      ),
    );
    expect(failing("owasp")).toEqual([
      `unprotect: "Cloudflare OWASP Core Ruleset" may come after an exception of "Cloudflare Managed Ruleset": ${JSON.stringify(API_PATH)} skips "all managed rules after it"`,
    ]);
  });

  it("a whole KvEntries is deleted or goes to another namespace", () => {
    expect([before.keys("first"), after.keys("first")]).toEqual([24, 0]);
    const removed = "removes: all 12 keys that it wrote are deleted";
    expect(failing("leaving")).toEqual([removed]);
    expect(failing("moving")).toEqual([removed]);
  });

  it.each(HOSTILE)("a KvEntries named %j prunes keys", (name) => {
    const prefix = String(HOSTILE.indexOf(name));
    expect([before, after].map(({ theirs }) => theirs(prefix))).toEqual([5, 0]);
    expect(failing(name)).toEqual([
      expect.stringMatching(/^irreversible: 5 keys that others wrote under .* will be deleted/),
    ]);
  });
});

interface Seen {
  readonly jobs: ReadonlyMap<string, Job>;
  /** The refs of the zone's managed rules, in order. */
  readonly rules: readonly string[];
  /** How many keys a namespace has. */
  readonly keys: (title: string) => number;
  /** How many keys under a prefix someone else wrote. */
  readonly theirs: (prefix: string) => number;
}

/** What the API holds, read without the provider's code. */
async function seenIn(api: LocalApi): Promise<Seen> {
  const jobs: Job[] = [];
  for (const zone of [api.zones.empty, api.zones.shop, api.zones.migrateEnterprise])
    jobs.push(...((await rawGet(api, `/zones/${zone}/logpush/jobs`))["result"] as Job[]));
  const phase = `/zones/${api.zones.empty}/rulesets/phases/http_request_firewall_managed/entrypoint`;
  const { rules } = (await rawGet(api, phase))["result"] as { rules: readonly { ref: string }[] };
  const namespaces = api.snapshot().kv?.namespaces ?? [];
  return {
    // A job's default name ends with its resource's.
    jobs: new Map(jobs.map((each) => [each.name.replace(/^.*[^a-z]/, ""), each])),
    rules: rules.map(({ ref }) => ref),
    keys: (title) => namespaces.find((each) => each.title === title)?.entries.length ?? 0,
    theirs: (prefix) =>
      namespaces.flatMap(({ entries }) => entries).filter(({ key }) => key.startsWith(`${prefix}/theirs`))
        .length,
  };
}
