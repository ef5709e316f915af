import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { seededRules } from "edgeguard-local";
import { callerOf } from "../local-api/client";
import { rawSend } from "../support/operation";
import { schemaProblems } from "../support/published";
import { LONG } from "../support/long";
import { Ground, type Surveyed } from "./support";

/** Where more zones would show nothing more. */
const FEW = ["--zones", "few.txt", "--budget", "100"] as const;
const JOURNAL = "survey/.edgeguard-survey.jsonl";
const FILES = ["survey.json", "survey.csv", "survey.html"] as const;

function expectEnd({ code, stderr }: Surveyed, expected: number, message: string): void {
  expect(stderr).toContain(message);
  expect(code).toBe(expected);
}

describe("edgeguard survey", () => {
  it("sends as few requests as possible for 100 zones: one list per 50 zones, one read per ruleset version, and at least six per zone", async () => {
    const all = 100;
    const ground = await Ground.with({ zones: all - 18 });
    expect(await ground.survey("--budget", "100")).toMatchObject({ code: 0 });
    const account = `/accounts/${ground.api.accounts.main}`;
    const counts: Record<string, number> = {};
    for (const { method, path } of ground.api.requests) {
      const kind = `${method} ${path.replace(account, "/accounts/A").replace(/\/[0-9a-f]{32}/g, "/X")}`;
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
    const { zones } = ground.result();
    const inState = (...states: string[]): number =>
      zones.filter(({ migration }) => "state" in migration && states.includes(migration.state)).length;
    const isOpen = inState("start", "validation");
    expect(zones).toHaveLength(all);
    expect(counts).toEqual({
      "GET /zones": 2,
      "GET /accounts/A/rulesets": 1,
      "GET /accounts/A/rulesets/X": 3,
      "GET /accounts/A/rulesets/X/versions/87": 1,
      "GET /accounts/A/rulesets/phases/http_request_firewall_managed/entrypoint": 1,
      "GET /accounts/A/logpush/jobs": 1,
      "GET /accounts/A/storage/kv/namespaces": 1,
      "GET /accounts/A/storage/kv/namespaces/X/keys": 1,
      "GET /zones/X/page_shield": all,
      "GET /zones/X/page_shield/policies": all,
      "GET /zones/X/page_shield/scripts": all + 2, // Two zones have more than a hundred scripts.
      "GET /zones/X/rulesets/phases/http_request_firewall_managed/entrypoint": all,
      // Only Enterprise zones.
      "GET /zones/X/rulesets/phases/http_response_firewall_managed/entrypoint": zones.filter(
        ({ plan }) => plan === "enterprise",
      ).length,
      "GET /zones/X/waf_migration/status": all,
      "GET /zones/X/logpush/jobs": all,
      "POST /graphql": 29, // For ten zones: what their plans allow, the events of Free zones, and those of the others.
      // Only zones that haven't migrated.
      "GET /zones/X/waf_migration/check": isOpen,
      "GET /zones/X/firewall/waf/overrides": isOpen,
      "GET /zones/X/firewall/rules": isOpen + 4, // Two zones have more than 200 firewall rules.
    });
  });

  it("writes files that only their owner can read, follow their schema, and agree on every zone", async () => {
    const ground = await Ground.with();
    const { stderr } = await ground.survey("--budget", "100", "--payment-pages", "checkout.*");
    expect(stderr).toMatch(
      /^edgeguard: surveying 18 zones: about 108 to 162 requests, and one for each Workers KV namespace, at most 240 a minute/,
    );
    expect(stderr).toContain(
      "shop.example: Remove or block 1 malicious script and 2 suspicious scripts: https://stats-collect.example.com/c.js (score 4)",
    );
    // Equal tasks of several zones are one row, with the code for all of them.
    expect(stderr).toMatch(
      / {2}- 8 zones \(migrate-business\.example, migrate-deployed\.example, migrate-enterprise\.example, …\): Migrate .*\n {6}import \{ WafMigration \} from "pulumi-edgeguard";\n {6}for \(const \[zone, zoneId\] of \[\n( {8}\["migrate-.*\n){8} {6}\] as const\)\n {8}new WafMigration\(zone/,
    );
    expect(stderr).toMatch(/ {2}- and \d+ more, which survey\.html lists\n/);
    for (const file of FILES) expect(statSync(join(ground.cwd, "survey", file)).mode & 0o777).toBe(0o600);
    expect(existsSync(join(ground.cwd, JOURNAL))).toBe(false);
    const result = ground.result();
    expect(schemaProblems("survey.v1", JSON.parse(ground.read("survey/survey.json")))).toEqual([]);
    expect(result.first[0]).toMatchObject({
      zones: [{ name: "shop.example" }],
      zoneCount: 1,
      kind: "maliciousScript",
      rank: 0,
    });
    const csv = ground.read("survey/survey.csv").trimEnd().split("\n");
    expect(csv).toHaveLength(19);
    for (const { id } of result.zones) {
      expect(csv.filter((line) => line.startsWith(`${id},`))).toHaveLength(1);
      expect(ground.read("survey/survey.html")).toContain(id);
    }
  });

  it("surveys what a token for one product can read, and lists once what it can't", async () => {
    const token = { token: "page-shield-only", paths: /\/page_shield(\/|$)/ };
    const ground = await Ground.with({ zones: 6, credentials: [token] });
    const env = { CLOUDFLARE_API_TOKEN: token.token };
    const account = ["--account", ground.api.accounts.main];
    const refused = await ground.run({ env }, ...account);
    expectEnd(refused, 1, "pass the zones' IDs with --zones FILE");

    const ids = ground.api.snapshot().zones.map(({ id }) => id);
    ground.write("zones.txt", `# all\n${ids.join("\n")}\n`);
    ground.api.clearRequests();
    const options = [...account, "--zones", "zones.txt", "--out", "other"];
    const { code, stderr } = await ground.run({ env }, ...options);
    expect(code).toBe(0);
    const rights = [
      "Zone Read",
      "Zone WAF Read",
      "Logs Write",
      "Account Logs Write",
      "Account Rulesets Read",
      "Analytics Read",
      "Workers KV Storage Read",
    ];
    const { missingRights, zones } = ground.result("other");
    expect(missingRights.map(({ right }) => right).sort()).toEqual([...rights].sort());
    for (const { where } of missingRights) expect(stderr.split(where)).toHaveLength(2);
    const shop = zones.find(({ id }) => id === ground.api.zones.shop);
    expect(shop).toMatchObject({
      name: { notReadable: "right", what: "Zone Read" },
      pageShield: { enabled: true },
      scripts: { seen: 23, malicious: 1, suspicious: 2 },
      deployments: { notReadable: "right", what: "Zone WAF Read" },
      owasp: { notReadable: "right" },
      migration: { notReadable: "right", what: "Zone WAF Read" },
      jobs: { notReadable: "right", what: "Logs Write" },
    });
    for (const line of ground.read("other/survey.csv").split("\n").slice(1, 2))
      expect(line).toContain("not readable: missing permission Zone WAF Read");
    expect(stderr).toContain("Logs > Edit): 24 zones\n");
    expect(zones.at(-1)?.jobs).toEqual({ notReadable: "right", what: "Logs Write" });
  });

  it("resumes where Ctrl-C stopped it, with the same result as an uninterrupted survey", async () => {
    const ground = await Ground.with({ zones: LONG ? 40 : 2 });
    const stop = new AbortController();
    const watch = setInterval(() => {
      if (ground.api.requests.filter(({ path }) => path.endsWith("/page_shield")).length > 12) stop.abort();
    }, 1);
    const first = await ground.run({ interrupted: stop.signal }, "--budget", "100");
    clearInterval(watch);
    expect(first.code).toBe(130);
    expect(first.stderr).toMatch(
      /interrupted\. Kept the results for \d+ of \d+ zones\. To continue, pass --resume\./,
    );
    expect(existsSync(join(ground.cwd, "survey/survey.json"))).toBe(false);
    expect(statSync(join(ground.cwd, JOURNAL)).mode & 0o777).toBe(0o600);
    expectEnd(await ground.survey("--budget", "100"), 1, "--resume");

    expect(await ground.survey("--budget", "100", "--resume")).toMatchObject({ code: 0 });
    await ground.survey("--budget", "100", "--out", "whole");
    expect({ ...ground.result(), at: "" }).toEqual({ ...ground.result("whole"), at: "" });
    const reads = ground.api.requests.filter(({ path }) => /^\/zones\/[0-9a-f]{32}\/page_shield$/.test(path));
    expect(reads.length).toBeLessThanOrEqual(2 * (LONG ? 58 : 20) + 4);
  });

  it("resumes from a journal with an incomplete last line, but rejects one that's damaged or from another survey", async () => {
    const ground = await Ground.with();
    const stop = new AbortController();
    const watch = setInterval(() => {
      if (ground.api.requests.filter(({ path }) => path.endsWith("/page_shield")).length > 8) stop.abort();
    }, 1);
    await ground.run({ interrupted: stop.signal }, "--budget", "100");
    clearInterval(watch);
    const journal = join(ground.cwd, JOURNAL);
    const whole = readFileSync(journal);
    truncateSync(journal, whole.length - 20);

    const other = await ground.survey("--resume", "--payment-pages", "checkout.*");
    expectEnd(other, 1, "a survey with different options");
    const lines = whole.toString().split("\n");
    writeFileSync(journal, [...lines.slice(0, 2), '{"zone":{"id":1}}', ...lines.slice(2)].join("\n"));
    const damaged = await ground.survey("--resume");
    expectEnd(damaged, 1, ".edgeguard-survey.jsonl: line 3 is damaged");
    writeFileSync(journal, whole.subarray(0, whole.length - 20));
    expect(await ground.survey("--resume", "--budget", "100")).toMatchObject({ code: 0 });
    expect(ground.result().zones).toHaveLength(18);
    const none = await ground.survey("--resume", "--force");
    expectEnd(none, 1, "no unfinished survey to resume");

    writeFileSync(journal, [...lines.slice(0, 2), '{"zone":{"id":1}}', ...lines.slice(2)].join("\n"));
    expectEnd(await ground.survey("--resume", "--force"), 1, "Delete the file to start over.");
    rmSync(journal);
    expect(await ground.survey(...FEW, "--force")).toMatchObject({ code: 0 });
    const elsewhere = await ground.survey(...FEW, "--payment-pages", "checkout.*", "--out", "another");
    expect(elsewhere).toMatchObject({ code: 0 });
  });

  it("keeps what it has read if it gives up waiting for a rate limit", async () => {
    const ground = await Ground.with();
    ground.api.fault({ kind: "status", status: 429, match: { path: "/logpush/jobs" }, retryAfter: 3_600 });
    expectEnd(await ground.survey("--budget", "100"), 1, "zones. To continue, pass --resume.");
  });

  it("writes no credentials to its files, journal or messages", async () => {
    const ground = await Ground.with({ zones: 4, credentials: [{ token: "canary-token-4711-0815" }] });
    const call = callerOf(ground.api, { authorization: "Bearer canary-token-4711-0815" });
    const secret = "canary-secret-key-99887766";
    const jobs = `/zones/${ground.api.zones.shop}/logpush/jobs`;
    const created = await call("POST", jobs, {
      name: "leaky",
      dataset: "http_requests",
      destination_conf: `s3://bucket/path?region=eu-west-1&access-key-id=AKIACANARY&secret-access-key=${secret}`,
      enabled: true,
    });
    const { result } = created.body as { readonly result: { readonly id: number } };
    ground.api.logpush.setHealth(result.id, {
      last_error: "2026-09-01T00:00:00Z",
      error_message: `denied for ${secret} at s3://bucket/path?secret-access-key=${secret}`,
    });
    const { stderr, code } = await ground.run(
      { env: { CLOUDFLARE_API_TOKEN: "canary-token-4711-0815", EDGEGUARD_DEBUG: "1" } },
      ...FEW,
    );
    expect(code).toBe(0);
    const texts = [stderr, ...FILES.map((file) => ground.read(`survey/${file}`))];
    for (const text of texts)
      expect(text).not.toMatch(/canary-secret|AKIACANARY|canary-token|simulated-secret/);
    expect(ground.zone(ground.api.zones.shop).jobs).toContainEqual(
      expect.objectContaining({
        name: "leaky",
        state: "failing",
        destination: "s3://bucket/path?region=eu-west-1",
      }),
    );
  });

  it("writes zones as they are, whatever they have in common with a credential", async () => {
    const ground = await Ground.with();
    const env = { CLOUDFLARE_EMAIL: "ops@free.example", CLOUDFLARE_API_KEY: "shop.example" };
    expect(await ground.run({ env }, ...FEW)).toMatchObject({ code: 0 });
    for (const file of FILES) {
      expect(ground.read(`survey/${file}`)).toContain("shop.example");
      expect(ground.read(`survey/${file}`)).not.toContain("[secret]");
    }
  });

  it("fails if its directory can't be created", async () => {
    const ground = await Ground.with();
    expectEnd(await ground.survey("--out", "/proc/nope/out"), 1, "/proc/nope can't be created (ENOENT)");
  });

  it("stops if Cloudflare fails one request after another, instead of filling the survey with failures", async () => {
    const ground = await Ground.with();
    ground.api.fault({ kind: "status", status: 502, match: { path: "/zones/.+/" }, times: 10_000 });
    expectEnd(await ground.survey("--budget", "100"), 1, "To continue, pass --resume.");
    ground.api.clearFaults();
    ground.api.fault({
      kind: "status",
      status: 500,
      match: { path: `${ground.api.zones.shop}/logpush/jobs` },
    });
    expectEnd(await ground.survey("--budget", "100", "--out", "one"), 0, "18 zones");
    expect(ground.zone(ground.api.zones.shop, "one").jobs).toMatchObject({ notReadable: "failed" });
  });

  it.each([
    [
      "that --payment-pages names",
      ["--inventory", "inventory.yaml", "--payment-pages", "https://checkout.*"],
    ],
    ["that load a script in the inventory", []],
  ])(
    "counts scripts that the inventory doesn't approve, and ranks tasks first if they're for pages %s",
    async (_, more) => {
      const ground = await Ground.with();
      ground.write(
        more.length > 0 ? "inventory.yaml" : "script-inventory.yaml",
        `version: 1
scripts:
  - script: js.payments.example
    justification: takes the payment
    owner: payments
    approval: { by: ada, on: 2026-01-01 }
`,
      );
      expectEnd(await ground.survey(...more, ...FEW), 0, "2 zones");
      const shop = ground.zone(ground.api.zones.shop);
      expect(shop).toMatchObject({ hasPaymentPages: true, scripts: { seen: 23, unapproved: 22 } });
      expect(shop.tasks.map(({ kind, rank }) => [kind, rank]).slice(0, 2)).toEqual([
        ["maliciousScript", 0],
        ["unapprovedScript", 2],
      ]);
      expect(ground.zone(ground.api.zones.blog).hasPaymentPages).toBe(false);
    },
  );

  it("on a terminal, shows its speed and the remaining time", async () => {
    const ground = await Ground.with({ latencyMs: 30 });
    const { stderr } = await ground.run({ isTerminal: true }, ...FEW);
    expect(stderr).toMatch(/\d+ of 2 zones, [\d.]+ requests\/s, \d+ s left/);
  });

  it("marks objects that stacks manage, and lists the others with the command that imports them", async () => {
    const ground = await Ground.with();
    const { zones, namespaces, accounts } = ground.api;
    const before = ground.api.snapshot();
    const [policy] = before.pageShield[zones.shop]?.policies ?? [];
    const rules = before.rulesets.zones[zones.shop]?.entryPoint?.rules ?? [];
    const [baseline, credentials] = ["Baseline of the security team", "Stolen credentials at the login"].map(
      (description) => rules.find((each) => each.description === description),
    );
    const urn = (type: string, name: string) => `urn:pulumi:prod::shop::${type}::${name}`;
    const ours = (name: string) => `pulumi-nodejs:dynamic/edgeguard:${name}`;
    const resource = (type: string, id: string, more = {}) => ({ urn: urn(type, id), type, id, ...more });
    ground.write(
      "state.json",
      JSON.stringify({
        version: 3,
        deployment: {
          resources: [
            resource("pulumi:pulumi:Stack", "shop-prod"),
            resource(ours("PageShieldSettings"), zones.shop),
            resource(ours("PageShieldPolicy"), policy?.id ?? "", { external: true }),
            resource("edgeguard:index:ManagedRulesetOverride", baseline?.id ?? ""),
            resource("cloudflare:index/logpushJob:LogpushJob", "101"),
            resource("acme:index:ManagedRulesetOverride", credentials?.id ?? ""), // A component of their own.
            resource("cloudflare:index/workersKvNamespace:WorkersKvNamespace", namespaces.existing),
          ],
        },
      }),
    );
    const marked = await ground.survey(...FEW, "--stack", "state.json");
    expect(marked.stderr).toMatch(/Pulumi manages 4 objects, and \d+ aren't managed/);
    const shop = ground.zone(zones.shop);
    expect(shop).toMatchObject({
      pageShield: { stack: "shop/prod" },
      policies: [{ stack: null }],
      jobs: [{ id: "101", stack: "shop/prod" }],
      unmanaged: {
        objects: [
          { type: "PageShieldPolicy", id: policy?.id },
          { type: "ManagedRulesetOverride", name: "Stolen credentials at the login" },
        ],
        command: `edgeguard import --zone ${zones.shop} --only page-shield,rulesets --out shop-example`,
      },
    });
    const [, ...importing] = (shop.unmanaged?.command ?? "").split(" ");
    expect(await ground.command({}, ...importing)).toMatchObject({ code: 0 });
    expect(ground.read("shop-example/index.ts")).toContain("Stolen credentials at the login");
    const [account] = ground.result().accounts;
    expect(account?.unmanaged).toEqual({ objects: [], unread: [], command: "" });
    expect(account?.id).toBe(accounts.main);
    // A stack's migration isn't declared a second time.
    const id = zones.migratePro;
    const migrating = { deployment: { resources: [resource(ours("WafMigration"), id)] } };
    ground.write("zone.txt", id);
    ground.write("migrating.json", JSON.stringify(migrating));
    await ground.survey("--zones", "zone.txt", "--budget", "100", "--stack", "migrating.json", "--force");
    expect(ground.zone(id).tasks[0]).toEqual(
      expect.not.objectContaining({ code: expect.anything() as unknown }),
    );
    expect(ground.zone(id).tasks[0]?.text).toMatch(
      /^Migrate to .* Stack shop\/prod has the zone's WafMigration: change it there\.$/,
    );
    // Nor is a stack's deployment imported a second time.
    const [blog, rule] = [zones.blog, seededRules.blog.owasp];
    const { entryPoint } = ground.api.snapshot().rulesets.zones[blog] ?? {};
    const path = `/zones/${blog}/rulesets/${entryPoint?.id}/rules/${rule}`;
    const own = entryPoint?.rules.find(({ id: each }) => each === rule);
    await rawSend(ground.api, "PATCH", path, { ...own, enabled: false });
    const deployed = { deployment: { resources: [resource(ours("ManagedRulesetOverride"), rule)] } };
    ground.write("zone.txt", blog);
    ground.write("deployed.json", JSON.stringify(deployed));
    await ground.survey("--zones", "zone.txt", "--budget", "100", "--stack", "deployed.json", "--force");
    const said = ground.zone(blog).tasks.filter(({ text }) => text.includes("ManagedRulesetOverride"));
    expect(said).toEqual([expect.not.objectContaining({ command: expect.anything() as unknown })]);
    const broken = await ground.survey("--stack", ground.write("other.json", "{}"), "--out", "o2");
    expectEnd(broken, 1, "is not an exported stack");
  });
});

describe("edgeguard survey diff", () => {
  it("says what got better and worse between two surveys", async () => {
    const ground = await Ground.with();
    const { zones } = ground.api;
    await ground.survey(...FEW, "--out", "old");
    const call = callerOf(ground.api);
    await call("PUT", `/zones/${zones.blog}/page_shield`, { enabled: true });
    await call("DELETE", `/zones/${zones.shop}/logpush/jobs/101`);
    ground.api.detect(zones.shop, { scripts: [{ url: "https://evil.example/x.js", js_integrity_score: 3 }] });
    await ground.survey(...FEW, "--out", "new");
    const { code, stdout } = await ground.survey("diff", "old/survey.json", "new/survey.json");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /Worse \(2\):[^]*shop\.example: malicious or suspicious script https:\/\/evil\.example\/x\.js: none -> seen on .*\n.*shop\.example: Logpush job "existing": new -> none/,
    );
    expect(stdout).toMatch(/Better \(1\):\n {2}blog\.example: Page Shield: off -> on/);
    expect((await ground.survey("diff", "old/survey.json", "old/survey.json")).stdout).toContain(
      "Nothing that is compared has changed.",
    );
    const wrong = await ground.survey("diff", ground.write("x.json", "{}"), "old/survey.json");
    expectEnd(wrong, 1, "x.json is not a survey");
  });
});
