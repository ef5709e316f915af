import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { managedRulesets } from "edgeguard-local";
import { madeTransformer, Operation, type Recorded } from "../support/operation";
import { ImportDesk } from "./support";

/** What the command writes, against a local API in this process. engine.test.ts runs the program itself. */

const ONLY_READS = /^(GET|POST .*\/bulk\/get$)/;

describe("edgeguard import", () => {
  it("only reads from the API, and writes a state in which previews and refreshes find no changes", async () => {
    const desk = await ImportDesk.from();
    await desk.job("audit", { destination_conf: "https://logs.example/in?header_X-Key=hush-1" });
    desk.api.clearRequests();
    const { code, stderr } = await desk.run([
      "--zone",
      desk.zone,
      "--account",
      desk.account,
      "--with-values",
    ]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(desk.api.requests.filter((r) => !ONLY_READS.test(`${r.method} ${r.path}`))).toEqual([]);

    const found = desk.recorded();
    expect([...found.keys()]).toEqual([
      "PageShieldSettings shopExample",
      "PageShieldPolicy checkoutRecordWhatThePagesLoad",
      "ManagedRulesetOverride baselineOfTheSecurityTeam",
      "ManagedRulesetOverride stolenCredentialsAtTheLogin",
      "LogpushJob existing",
      "LogpushJob audit",
      "KvNamespace existing",
      "KvEntries existing",
    ]);
    for (const [name, { type, inputs, outputs }] of found) {
      for (const bag of [inputs, outputs]) expect(bag).not.toHaveProperty("impact");
      const isIndexed = ["index" in inputs, "index" in outputs];
      expect({ name, isIndexed }).toEqual({ name, isIndexed: [type === "KvEntries", false] });
    }
    for (const [name, { type, ...recorded }] of found) {
      const operation = new Operation(desk.api);
      desk.api.clearRequests();
      const inputs =
        type === "KvEntries" // Paths are relative to the program's folder, and this test runs elsewhere.
          ? { ...recorded.inputs, file: join(desk.folder, "kv/existing.json") }
          : recorded.inputs;
      const { step } = await operation.preview(type, inputs, recorded);
      expect({ name, step, asked: desk.api.requests.length }).toEqual({ name, step: "same", asked: 0 });
      const now = await operation.refresh(type, recorded);
      expect({ name, ...now }).toEqual({ name, ...recorded });
    }
  });

  it("writes a state from which the next preview tells which entries were removed", async () => {
    const desk = await ImportDesk.from();
    await desk.run(["--account", desk.account, "--only", "kv", "--with-values"]);
    const recorded = desk.recorded().get("KvEntries existing");
    if (recorded === undefined) throw new Error("the entries were not imported");
    const [removed, changed, ...others] = JSON.parse(desk.read("kv/existing.json")) as { key: string }[];
    const edited = [{ ...changed, value: "changed", base64: false }, ...others, { key: "new", value: "1" }];
    desk.write("kv/existing.json", JSON.stringify(edited));
    const { accountId, namespaceId } = recorded.inputs;
    const inputs = { accountId, namespaceId, file: join(desk.folder, "kv/existing.json") };
    const preview = await new Operation(desk.api).preview("KvEntries", inputs, recorded);
    expect(preview).toMatchObject({
      step: "update",
      inputs: {
        impact: {
          seen: ["existingKeys", "ownKeys"],
          added: { names: ["new"] },
          changed: { names: [changed?.key] },
          removed: { names: [removed?.key] },
        },
      },
    });
  });

  it("keeps secrets in files that only the owner can read, and out of the program and the summary", async () => {
    const desk = await ImportDesk.from();
    await desk.job("audit", { destination_conf: "https://logs.example/in?header_X-Key=hush-1" });
    mkdirSync(desk.folder);
    writeFileSync(join(desk.folder, ".gitignore"), "node_modules\n/kv/");
    const { stderr } = await desk.run(["--zone", desk.zone, "--account", desk.account, "--with-values"]);

    for (const file of ["import.json", "import-config.sh", "kv/existing.json"])
      expect({ file, mode: statSync(join(desk.folder, file)).mode & 0o777 }).toEqual({ file, mode: 0o600 });
    expect(desk.read(".gitignore")).toBe("node_modules\n/kv/\n/import.json\n/import-config.sh\n");
    expect(desk.read("import-config.sh")).toContain(
      "pulumi config set --secret auditXKey <<'VALUE'\nhush-1\nVALUE\n",
    );
    for (const text of [stderr, desk.read("index.ts")])
      expect(text).not.toMatch(/hush-1|Grüß Gott|local-token/);
    expect(desk.read("import.json")).toMatch(
      /"plaintext": "\\"https:\/\/logs.example\/in\?header_X-Key=hush-1/,
    );
  });
});

describe("an existing exception in front of a deployment", () => {
  const NAME = "ManagedRulesetOverride baselineOfTheSecurityTeam";
  const imported = async (): Promise<{ desk: ImportDesk; recorded: Recorded; before: unknown[] }> => {
    const desk = await ImportDesk.from();
    await desk.run(["--zone", desk.zone, "--only", "rulesets"]);
    const recorded = desk.recorded().get(NAME);
    if (recorded === undefined) throw new Error(`${NAME} was not imported`);
    return { desk, recorded, before: await rulesOf(desk) };
  };

  it("is declared with its deployment; an update can change it, and a destroy restores it", async () => {
    const { desk, recorded, before } = await imported();
    expect(recorded.inputs["exceptions"]).toEqual([
      {
        expression: 'http.request.uri.path eq "/health" and http.user_agent contains "monitor"',
        description: "The monitoring system requests the health page every second",
        skip: "all",
      },
    ]);
    const wanted = {
      ...recorded.inputs,
      exceptions: [{ expression: 'http.host eq "a.example"', skip: "all" }],
    };
    const after = await new Operation(desk.api).up("ManagedRulesetOverride", wanted, recorded);
    const [exception, ...others] = await rulesOf(desk);
    expect(exception).toMatchObject({ id: idOf(before[0]), expression: 'http.host eq "a.example"' });
    expect(others.map(idOf)).toEqual(before.slice(1).map(idOf));

    await new Operation(desk.api).destroy("ManagedRulesetOverride", after);
    expect((await rulesOf(desk)).map(content)).toEqual(before.map(content));
  });

  it("is declared with its own ruleset as `this`, and with others by name", async () => {
    const desk = await ImportDesk.from();
    const path = "/zones/{zone}/rulesets/phases/http_request_firewall_managed/entrypoint";
    const { rules } = (await desk.send("GET", path)) as { rules: Record<string, unknown>[] };
    const [exception, ...others] = rules;
    const { owasp, managed } = managedRulesets;
    const skipping = (parameters: object, host: string) => ({
      action: "skip",
      action_parameters: parameters,
      expression: `http.host eq "${host}.example"`,
    });
    const more = [skipping({ rulesets: [managed] }, "a"), skipping({ rulesets: [managed, owasp] }, "b")];
    await desk.send("PUT", path, { rules: [exception, ...more, ...others] });
    await desk.run(["--zone", desk.zone, "--only", "rulesets"]);
    const recorded = desk.recorded().get(NAME);
    expect(recorded?.inputs["exceptions"]).toMatchObject([
      { skip: "all" },
      { skip: "this" },
      { skip: { rulesets: ["Cloudflare OWASP Core Ruleset", "this"] } },
    ]);
    const operation = new Operation(desk.api);
    const inputs = recorded?.inputs ?? {};
    expect(await operation.preview("ManagedRulesetOverride", inputs, recorded)).toMatchObject({
      step: "same",
    });
  });

  it("is declared with a comment that describes each rule it skips", async () => {
    const desk = await ImportDesk.from();
    const path = "/zones/{zone}/rulesets/phases/http_request_firewall_managed/entrypoint";
    const { rules } = (await desk.send("GET", path)) as { rules: Record<string, unknown>[] };
    const rule = "23ee7cebe6e8443e99ecf932ab579455";
    const skipped = { [managedRulesets.managed]: [rule] };
    const exception = {
      action: "skip",
      action_parameters: { rules: skipped },
      expression: 'http.host eq "a.example"',
    };
    await desk.send("PUT", path, { rules: [exception, ...rules.slice(1)] });
    await desk.run(["--zone", desk.zone, "--only", "rulesets"]);
    expect(desk.read("index.ts")).toMatch(
      new RegExp(`// WordPress: SQL injection \\(100000\\)\\n +"${rule}",`),
    );
  });

  it("is removed with the deployment by a destroy if onDestroy is remove", async () => {
    const { desk, recorded, before } = await imported();
    const outputs = { ...recorded.outputs, onDestroy: "remove" };
    await new Operation(desk.api).destroy("ManagedRulesetOverride", { ...recorded, outputs });
    expect((await rulesOf(desk)).map(idOf)).toEqual(before.slice(2).map(idOf));
  });
});

async function rulesOf(desk: ImportDesk): Promise<unknown[]> {
  const path = "/zones/{zone}/rulesets/phases/http_request_firewall_managed/entrypoint";
  return (await desk.send("GET", path))["rules"] as unknown[];
}

/** The start of an ID as it appears in a name. */
const idStart = (id: unknown): string =>
  String(id)
    .slice(0, 8)
    .replace(/^[a-f]/, (letter) => letter.toUpperCase());

const idOf = (rule: unknown): unknown => (rule as { id: unknown }).id;

/** Without what every write changes. */
const content = (rule: unknown): unknown => ({ ...(rule as object), version: "", last_updated: "" });

describe("objects that can't be declared", () => {
  it("are listed with a reason in the summary and the program; the rest is declared", async () => {
    const desk = await ImportDesk.from();
    const policy = {
      action: "log",
      expression: 'http.host eq "a.example"',
      enabled: true,
      value: "script-src a.example",
    };
    const first = await desk.send("POST", "/zones/{zone}/page_shield/policies", {
      ...policy,
      description: "twice",
    });
    const second = await desk.send("POST", "/zones/{zone}/page_shield/policies", {
      ...policy,
      description: "twice",
    });
    await desk.job("", { destination_conf: "https://logs.example/in" });
    await desk.job("same", { destination_conf: "https://logs.example/1" });
    await desk.job("same", { destination_conf: "https://logs.example/2" });
    const { code, stderr } = await desk.run(["--zone", desk.zone]);
    expect(code).toBe(0);
    expect(stderr).toContain(
      `policy ${String(second["id"])} "twice" in zone shop.example: it has the same identifying arguments as policy ${String(first["id"])} "twice" in zone shop.example, so a program can't distinguish them`,
    );
    expect(stderr).toMatch(/Logpush job 102 "" of zone shop\.example: name: must not be empty/);
    expect(stderr).toMatch(
      /Logpush job 104 "same" of zone shop\.example: it has the same identifying arguments as Logpush job 103 "same"/,
    );
    expect(desk.read("index.ts").replace(/\n\/\/ (?!Not)/g, " ")).toContain(
      `// Not declared: policy ${String(second["id"])}`,
    );
    expect([...desk.recorded().keys()]).toEqual([
      "PageShieldSettings shopExample",
      "PageShieldPolicy checkoutRecordWhatThePagesLoad",
      `PageShieldPolicy twice${idStart(first["id"])}`,
      "ManagedRulesetOverride baselineOfTheSecurityTeam",
      "ManagedRulesetOverride stolenCredentialsAtTheLogin",
      "LogpushJob existing",
      "LogpushJob same103",
    ]);
  });
});

describe("edgeguard import of a Logpush job", () => {
  it("declares a region that ends in a slash, as in Cloudflare's own example", async () => {
    const desk = await ImportDesk.from();
    const keys = "access-key-id=AKID&secret-access-key=hush-3";
    await desk.job("slashed", { destination_conf: `s3://logs/http?region=us-west-2/&${keys}` });
    const { code } = await desk.run(["--zone", desk.zone, "--only", "logpush"]);
    expect(code).toBe(0);
    expect(desk.read("index.ts")).toContain('region: "us-west-2/"');
  });

  it("says which parts of the job Cloudflare doesn't return, and where to set them", async () => {
    const desk = await ImportDesk.from({ logpush: { destination: "redacted", filter: "hidden" } });
    const where = `r2://logs/http?account-id=${desk.account}&access-key-id=AKID&secret-access-key=hush-2`;
    await desk.job("audit", {
      destination_conf: where,
      filter: '{"where":{"and":[{"key":"RayID","operator":"eq","value":"1"}]}}',
    });
    const { code, stderr } = await desk.run(["--zone", desk.zone, "--only", "logpush"]);
    expect(code).toBe(0);
    expect(desk.has("import-config.sh")).toBe(false);
    expect(stderr).toContain(
      "pulumi config set --secret auditSecretAccessKey   # the secret access key for bucket logs",
    );
    expect(stderr).toMatch(/doesn't show the filter of Logpush job 102 "audit"/);
    expect(desk.read("index.ts")).toMatch(
      /\/\/ Cloudflare doesn't show the job's filter[^]*new LogpushJob\("audit"/,
    );

    const recorded = desk.recorded().get("LogpushJob audit");
    if (recorded === undefined) throw new Error("the job was not imported");
    // With the user's credentials the preview shows no changes; with another bucket it does.
    const preview = async (destinationConf: string): Promise<string> =>
      (await new Operation(desk.api).preview("LogpushJob", { ...recorded.inputs, destinationConf }, recorded))
        .step;
    expect(await preview(where)).toBe("same");
    expect(await preview(where.replace("logs", "other"))).toBe("update");
  });
});

describe("edgeguard import of a job, a namespace and a deployment with every new member", () => {
  it("declares them, so that the next preview shows no changes", async () => {
    const desk = await ImportDesk.from();
    await madeTransformer(desk.api, "http_requests", { name: "thin", description: "fewer fields" });
    await desk.job("thinned", {
      destination_conf: "https://logs.shop.example/edge",
      filter_attack_traffic: true,
      transformer_id: 1,
      output_options: { field_names: ["RayID"], stringify_object: true },
    });
    await desk.send("POST", "/accounts/{account}/storage/kv/namespaces", {
      title: "european",
      jurisdiction: "eu",
    });
    const key = `${"A".repeat(43)}=`;
    await desk.send("PUT", "/zones/{zone}/rulesets/phases/http_request_firewall_managed/entrypoint", {
      rules: [
        {
          action: "skip",
          action_parameters: { ruleset: "current" },
          expression: 'http.host eq "a.example"',
          logging: { enabled: false },
        },
        {
          action: "execute",
          action_parameters: {
            id: managedRulesets.managed,
            matched_data: { public_key: key },
            overrides: { enabled: false },
          },
          expression: "true",
        },
      ],
    });
    const { code } = await desk.run(["--zone", desk.zone, "--account", desk.account]);
    expect(code).toBe(0);
    const program = desk.read("index.ts");
    for (const line of [
      "filterAttackTraffic: true",
      'code: "SELECT * FROM http_requests"',
      'description: "fewer fields"',
      "transformerId: thin.id",
      "stringifyObject: true",
      'jurisdiction: "eu"',
      "allRulesEnabled: false",
      `publicKey: "${key}"`,
      "logging: false",
    ])
      expect(program).toContain(line);
    for (const { type, ...recorded } of desk.recorded().values()) {
      const { step } = await new Operation(desk.api).preview(type, recorded.inputs, recorded);
      expect({ type, step }).toEqual({ type, step: "same" });
    }
  });
});

describe("an import that can't read everything", () => {
  it("lists in the summary what it couldn't read, and imports the rest", async () => {
    const desk = await ImportDesk.from();
    desk.api.fault({ kind: "status", status: 403, code: 10000, match: { path: "/page_shield/policies" } });
    const { code, stderr } = await desk.run(["--zone", desk.zone]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/Not imported:\n {2}- Page Shield policies in zone shop\.example: .*403/);
    expect([...desk.recorded().keys()].filter((name) => name.startsWith("PageShield"))).toEqual([
      "PageShieldSettings shopExample",
    ]);
  });

  it.each([
    [
      "a 403 for every request",
      { kind: "status", status: 403, code: 10000, match: { path: "page_shield" }, times: 9 },
      /nothing could be read.*403/,
    ],
    [
      "a server error",
      { kind: "status", status: 503, match: { path: "page_shield/policies" }, times: 9 },
      /503.*Nothing was written/,
    ],
    [
      "a lost connection",
      { kind: "dropBefore", match: { path: "page_shield/policies" }, times: 9 },
      /got no response.*Nothing was written/,
    ],
  ] as const)("fails without writing anything after %s", async (_, fault, words) => {
    const desk = await ImportDesk.from();
    desk.api.fault(fault);
    const { code, stderr } = await desk.run(["--zone", desk.zone, "--only", "page-shield"]);
    expect({ code, stderr: stderr.replace(/\s+/g, " ") }).toEqual({
      code: 1,
      stderr: expect.stringMatching(words) as string,
    });
    expect(desk.has("")).toBe(false);
  });

  it("stops reading after Ctrl-C, and writes nothing", async () => {
    const desk = await ImportDesk.from();
    expect(await desk.run(["--zone", desk.zone], { stopped: true })).toEqual({
      code: 130,
      stderr: "edgeguard: interrupted. Nothing was written.\n",
    });
    expect({ asked: desk.api.requests, written: desk.has("") }).toEqual({ asked: [], written: false });
  });

  it("says to check the zone ID if Cloudflare has no such zone", async () => {
    const desk = await ImportDesk.from();
    const { code, stderr } = await desk.run(["--zone", "0".repeat(32)]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining("Check the IDs: --zone, --account.") as string,
    });
  });
});

describe("the account that managed rulesets are read from", () => {
  const ACCOUNT = { EDGEGUARD_ACCOUNT_ID: "" };

  it("is the zone's own account if --account isn't given", async () => {
    const desk = await ImportDesk.from();
    const env = { ...desk.env, ...ACCOUNT };
    expect(await desk.run(["--zone", desk.zone, "--only", "rulesets"], { env })).toMatchObject({ code: 0 });
    const recorded = desk.recorded().get("ManagedRulesetOverride baselineOfTheSecurityTeam");
    expect(recorded?.inputs).toMatchObject({ accountId: desk.account });
  });

  it("must be given with --account if the token can't read the zone; otherwise nothing is written", async () => {
    const desk = await ImportDesk.from();
    const zone = { method: "GET", path: `zones/${desk.zone}$` };
    desk.api.fault({ kind: "status", status: 403, code: 9109, match: zone, times: 9 });
    const env = { ...desk.env, ...ACCOUNT };
    const { code, stderr } = await desk.run(["--zone", desk.zone], { env });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^edgeguard: zone \w+ deploys managed rulesets from its account.*\. Pass --account <id>, .* Nothing was written\.\n$/,
      ) as string,
    });
    expect(desk.has("")).toBe(false);
    // The zone's name isn't known, so names come from its ID.
    expect(await desk.run(["--zone", desk.zone, "--account", desk.account], { env })).toMatchObject({
      code: 0,
    });
    expect([...desk.recorded().keys()][0]).toBe(`PageShieldSettings zone${desk.zone.slice(0, 8)}`);
  });

  it("is also used for namespaces if --only includes kv", async () => {
    const desk = await ImportDesk.from();
    const env = { ...desk.env, ...ACCOUNT };
    expect(await desk.run(["--zone", desk.zone, "--only", "kv"], { env })).toMatchObject({ code: 0 });
    expect([...desk.recorded().keys()]).toEqual(["KvNamespace existing"]);
    expect(await desk.run(["--only", "kv", "--force"], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        "Workers KV namespaces belong to an account. Pass --account <id>",
      ) as string,
    });
  });
});

describe("edgeguard import into a Pulumi project", () => {
  const POLICIES = ["--only", "page-shield"];

  it("creates a missing project, named after the directory, and never changes an existing one", async () => {
    const desk = await ImportDesk.from();
    const args = ["--zone", desk.zone, ...POLICIES];
    const { stderr } = await desk.run(args);
    expect(desk.read("Pulumi.yaml")).toBe("name: out\nruntime: nodejs\n");
    expect(stderr).toContain("  pulumi stack init dev\n");
    desk.write("Pulumi.yaml", "name: mine\nruntime: nodejs\n");
    expect((await desk.run([...args, "--force"])).stderr).not.toContain("stack init");
    expect(desk.read("Pulumi.yaml")).toBe("name: mine\nruntime: nodejs\n");
  });

  it.each([
    [
      "a project in a parent directory",
      "../Pulumi.yaml",
      "",
      /^edgeguard: \S+out has no Pulumi\.yaml, so Pulumi would import into the project that \S+\/Pulumi\.yaml defines\. Pass --project out to create a project there, or --out \.\. to import into the existing project\.\n$/,
    ],
    [
      "a project whose program is in another directory",
      "Pulumi.yaml",
      "main: src/",
      /\S+out\/Pulumi\.yaml sets the program's directory to \S+out\/src\. To write the program there, pass --out src\.\n$/,
    ],
  ])("refuses %s before sending any request", async (_, file, main, words) => {
    const desk = await ImportDesk.from();
    desk.write(file, `name: infra\nruntime: nodejs\n${main}\n`);
    const args = ["--zone", desk.zone, ...POLICIES];
    expect(await desk.run(args)).toEqual({ code: 2, stderr: expect.stringMatching(words) as string });
    expect({ asked: desk.api.requests, written: desk.has("index.ts") }).toEqual({
      asked: [],
      written: false,
    });
  });

  it("uses a parent directory's project if its program is in the output directory; --project creates another", async () => {
    const desk = await ImportDesk.from();
    desk.write("../Pulumi.yaml", "name: infra\nruntime: nodejs\nmain: ./out # of the shop\n");
    const args = ["--zone", desk.zone, ...POLICIES];
    expect(await desk.run(args)).toMatchObject({ code: 0 });
    expect(desk.has("Pulumi.yaml")).toBe(false);
    expect(await desk.run([...args, "--force", "--project", "shop"])).toMatchObject({ code: 0 });
    expect(desk.read("Pulumi.yaml")).toBe("name: shop\nruntime: nodejs\n");
  });
});

describe("edgeguard import into a directory", () => {
  it("overwrites existing files only with --force, and otherwise sends no request", async () => {
    const desk = await ImportDesk.from();
    mkdirSync(desk.folder);
    writeFileSync(join(desk.folder, "index.ts"), "mine");
    const args = ["--zone", desk.zone, "--only", "page-shield"];
    const refused = await desk.run(args);
    expect(refused).toEqual({
      code: 1,
      stderr: expect.stringMatching(/index\.ts already exists in .* --force/) as string,
    });
    expect({ text: desk.read("index.ts"), asked: desk.api.requests.length }).toEqual({
      text: "mine",
      asked: 0,
    });
    expect(await desk.run([...args, "--force"])).toMatchObject({ code: 0 });
    expect(desk.read("index.ts")).toContain("new PageShieldSettings");
  });

  it("fails if the directory can't be created", async () => {
    const desk = await ImportDesk.from();
    const given = ["--zone", desk.zone, "--only", "page-shield"];
    expect(await desk.run(given, { out: "/proc/nope/out" })).toEqual({
      code: 1,
      stderr: expect.stringContaining("/proc/nope can't be created (ENOENT)") as string,
    });
  });
});

describe("the edgeguard import command", () => {
  it.each([
    [[], "nothing to import. Pass --zone <zone>"],
    [["--zone", "abc"], "32 hex digits"],
    [["--account", "{account}", "--only", "page-shield"], "--only page-shield needs a zone"],
    [["--zone", "{zone}", "--only", "waf"], "Choose from page-shield, rulesets, logpush, kv"],
    [["--zone", "{zone}", "--only", "rulesets", "--with-values"], "Add kv to --only"],
    [["--zone", "{zone}", "--project", "my shop"], "Use 1 to 100 letters"],
  ])("refuses the command line %j", async (args, words) => {
    const desk = await ImportDesk.from();
    const given = args.map((arg) => arg.replace("{account}", desk.account).replace("{zone}", desk.zone));
    expect(await desk.run(given)).toEqual({ code: 2, stderr: expect.stringContaining(words) as string });
    expect(desk.api.requests).toEqual([]);
  });

  it("finds a zone by its name, once, and names the token's zones if there's none", async () => {
    const desk = await ImportDesk.from();
    const only = ["--only", "page-shield"];
    const twice = ["--zone", "shop.example", "--zone", desk.zone.toUpperCase()];
    expect(await desk.run([...twice, ...only])).toMatchObject({ code: 0 });
    expect(desk.read("index.ts")).toContain(`const zoneId = "${desk.api.zones.shop}"; // shop.example`);
    const sees = /The token can see 18 zones: blog\.example \(\w+\), .* and 13 more\./;
    for (const [zone, says] of [
      ["shop.missing", 'edgeguard: --zone: the token can\'t see a zone named "shop.missing". '],
      ["0".repeat(32), "Check the IDs: --zone, --account. "],
    ] as const) {
      const { code, stderr } = await desk.run(["--zone", zone, ...only, "--force"]);
      expect([code, stderr]).toEqual([1, expect.stringContaining(says)]);
      expect(stderr).toMatch(sees);
    }
  });

  it("accepts several zones, prefixes each name with the zone's name, and reads all pages of an account", async () => {
    const desk = await ImportDesk.from();
    const titles = Array.from({ length: 100 }, (_, i) => `n${i}`);
    const path = "/accounts/{account}/storage/kv/namespaces";
    await Promise.all(titles.map((title) => desk.send("POST", path, { title })));
    desk.api.clearRequests();
    const zones = ["--zone", desk.api.zones.shop, "--zone", desk.api.zones.blog];
    const { code, stderr } = await desk.run([...zones, "--account", desk.account], { tty: true });
    expect(code).toBe(0);
    expect(stderr).toMatch(/\r\u001b\[K/); // A terminal shows progress.
    const program = desk.read("index.ts");
    expect(program).toContain(
      `const zones = {\n  shopExample: "${desk.api.zones.shop}", // shop.example\n  blogExample: "${desk.api.zones.blog}", // blog.example\n};`,
    );
    expect(program).toContain('new PageShieldSettings("blogExample", {\n  zoneId: zones.blogExample,');
    expect(program.match(/new KvNamespace\(/g)).toHaveLength(101);
    expect(desk.api.requests.filter(({ path }) => path.endsWith("/namespaces"))).toHaveLength(2);
  });
});
