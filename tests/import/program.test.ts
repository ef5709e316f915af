import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { managedRulesets } from "edgeguard-local";
import { Operation, type Recorded } from "../support/operation";
import { Importing } from "./support";

/** What the command writes and says, against a local API in this process. The program itself runs in engine.test.ts. */

const ONLY_READS = /^(GET|POST .*\/bulk\/get$)/;

describe("edgeguard import", () => {
  it("only reads, and gives a state in which each resource's own preview and refresh find nothing to do", async () => {
    const here = await Importing.from();
    await here.job("audit", { destination_conf: "https://logs.example/in?header_X-Key=hush-1" });
    here.api.clearRequests();
    const { code, told } = await here.run(["--zone", here.zone, "--account", here.account, "--with-values"]);
    expect({ code, told }).toMatchObject({ code: 0 });
    expect(here.api.requests.filter((r) => !ONLY_READS.test(`${r.method} ${r.path}`))).toEqual([]);

    const found = here.recorded();
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
    for (const [name, { type, ...recorded }] of found) {
      const operation = new Operation(here.api);
      here.api.clearRequests();
      const inputs =
        type === "KvEntries" // A program's paths are relative to its folder, which here is another one.
          ? { ...recorded.inputs, file: join(here.folder, "kv/existing.json") }
          : recorded.inputs;
      const { step } = await operation.preview(type, inputs, recorded);
      expect({ name, step, asked: here.api.requests.length }).toEqual({ name, step: "same", asked: 0 });
      const now = await operation.refresh(type, recorded);
      expect({ name, ...now }).toEqual({ name, ...recorded });
    }
  });

  it("keeps to the owner what may be secret, and out of the program and the summary", async () => {
    const here = await Importing.from();
    await here.job("audit", { destination_conf: "https://logs.example/in?header_X-Key=hush-1" });
    mkdirSync(here.folder);
    writeFileSync(join(here.folder, ".gitignore"), "node_modules\n/kv/");
    const { told } = await here.run(["--zone", here.zone, "--account", here.account, "--with-values"]);

    for (const file of ["import.json", "import-config.sh", "kv/existing.json"])
      expect({ file, mode: statSync(join(here.folder, file)).mode & 0o777 }).toEqual({ file, mode: 0o600 });
    expect(here.read(".gitignore")).toBe("node_modules\n/kv/\n/import.json\n/import-config.sh\n");
    expect(here.read("import-config.sh")).toContain(
      "pulumi config set --secret auditXKey <<'VALUE'\nhush-1\nVALUE\n",
    );
    for (const text of [told, here.read("index.ts")])
      expect(text).not.toMatch(/hush-1|Grüß Gott|local-token/);
    expect(here.read("import.json")).toMatch(
      /"plaintext": "\\"https:\/\/logs.example\/in\?header_X-Key=hush-1/,
    );
  });
});

describe("an exception that somebody made in front of a deployment", () => {
  const NAME = "ManagedRulesetOverride baselineOfTheSecurityTeam";
  const imported = async (): Promise<{ here: Importing; recorded: Recorded; before: unknown[] }> => {
    const here = await Importing.from();
    await here.run(["--zone", here.zone, "--only", "rulesets"]);
    const recorded = here.recorded().get(NAME);
    if (recorded === undefined) throw new Error(`${NAME} was not imported`);
    return { here, recorded, before: await rulesOf(here) };
  };

  it("is declared with it, changed through it, and put back as it was found by a destroy", async () => {
    const { here, recorded, before } = await imported();
    expect(recorded.inputs["exceptions"]).toEqual([
      {
        expression: 'http.request.uri.path eq "/health" and http.user_agent contains "monitor"',
        description: "Monitoring looks at the health page every second",
        skip: "all",
      },
    ]);
    const wanted = {
      ...recorded.inputs,
      exceptions: [{ expression: 'http.host eq "a.example"', skip: "all" }],
    };
    const after = await new Operation(here.api).up("ManagedRulesetOverride", wanted, recorded);
    const [exception, ...others] = await rulesOf(here);
    expect(exception).toMatchObject({ id: idOf(before[0]), expression: 'http.host eq "a.example"' });
    expect(others.map(idOf)).toEqual(before.slice(1).map(idOf));

    await new Operation(here.api).destroy("ManagedRulesetOverride", after);
    expect((await rulesOf(here)).map(content)).toEqual(before.map(content));
  });

  it("names its own ruleset as this, and others by their names", async () => {
    const here = await Importing.from();
    const path = "/zones/{zone}/rulesets/phases/http_request_firewall_managed/entrypoint";
    const { rules } = (await here.send("GET", path)) as { rules: Record<string, unknown>[] };
    const [exception, ...others] = rules;
    const { owasp, managed } = managedRulesets;
    const skipping = (parameters: object, host: string) => ({
      action: "skip",
      action_parameters: parameters,
      expression: `http.host eq "${host}.example"`,
    });
    const more = [skipping({ rulesets: [managed] }, "a"), skipping({ rulesets: [managed, owasp] }, "b")];
    await here.send("PUT", path, { rules: [exception, ...more, ...others] });
    await here.run(["--zone", here.zone, "--only", "rulesets"]);
    const recorded = here.recorded().get(NAME);
    expect(recorded?.inputs["exceptions"]).toMatchObject([
      { skip: "all" },
      { skip: "this" },
      { skip: { rulesets: ["Cloudflare OWASP Core Ruleset", "this"] } },
    ]);
    const operation = new Operation(here.api);
    const inputs = recorded?.inputs ?? {};
    expect(await operation.preview("ManagedRulesetOverride", inputs, recorded)).toMatchObject({
      step: "same",
    });
  });

  it("goes with its deployment where a destroy is to remove it", async () => {
    const { here, recorded, before } = await imported();
    const outputs = { ...recorded.outputs, onDestroy: "remove" };
    await new Operation(here.api).destroy("ManagedRulesetOverride", { ...recorded, outputs });
    expect((await rulesOf(here)).map(idOf)).toEqual(before.slice(2).map(idOf));
  });
});

async function rulesOf(here: Importing): Promise<unknown[]> {
  const path = "/zones/{zone}/rulesets/phases/http_request_firewall_managed/entrypoint";
  return (await here.send("GET", path))["rules"] as unknown[];
}

/** As it stands in a name: with a capital, where it begins with a letter. */
const idStart = (id: unknown): string =>
  String(id)
    .slice(0, 8)
    .replace(/^[a-f]/, (letter) => letter.toUpperCase());

const idOf = (rule: unknown): unknown => (rule as { id: unknown }).id;

/** Without what every write changes. */
const content = (rule: unknown): unknown => ({ ...(rule as object), version: "", last_updated: "" });

describe("what cannot be declared", () => {
  it("is named with the reason, in the summary and in the program, and everything else is declared", async () => {
    const here = await Importing.from();
    const policy = {
      action: "log",
      expression: 'http.host eq "a.example"',
      enabled: true,
      value: "script-src a.example",
    };
    const first = await here.send("POST", "/zones/{zone}/page_shield/policies", {
      ...policy,
      description: "twice",
    });
    const second = await here.send("POST", "/zones/{zone}/page_shield/policies", {
      ...policy,
      description: "twice",
    });
    await here.job("", { destination_conf: "https://logs.example/in" });
    await here.job("same", { destination_conf: "https://logs.example/1" });
    await here.job("same", { destination_conf: "https://logs.example/2" });
    const { code, told } = await here.run(["--zone", here.zone]);
    expect(code).toBe(0);
    expect(told).toContain(
      `policy ${String(second["id"])} "twice" of zone shop.example: a program would take it for policy ${String(first["id"])} "twice"`,
    );
    expect(told).toMatch(/Logpush job 102 "" of zone shop\.example: name: is empty/);
    expect(told).toMatch(
      /Logpush job 104 "same" of zone shop\.example: a program would take it for Logpush job 103 "same"/,
    );
    expect(here.read("index.ts").replace(/\n\/\/ (?!Not)/g, " ")).toContain(
      `// Not declared: policy ${String(second["id"])}`,
    );
    expect([...here.recorded().keys()]).toEqual([
      "PageShieldSettings shopExample",
      "PageShieldPolicy checkoutRecordWhatThePagesLoad",
      `PageShieldPolicy twice${idStart(first["id"])}`,
      "ManagedRulesetOverride baselineOfTheSecurityTeam",
      "ManagedRulesetOverride stolenCredentialsAtTheLogin",
      "LogpushJob existing",
      "LogpushJob same103",
    ]);
  });

  it("declares a job whose region ends in a slash, as in Cloudflare's own example", async () => {
    const here = await Importing.from();
    const keys = "access-key-id=AKID&secret-access-key=hush-3";
    await here.job("slashed", { destination_conf: `s3://logs/http?region=us-west-2/&${keys}` });
    const { code } = await here.run(["--zone", here.zone, "--only", "logpush"]);
    expect(code).toBe(0);
    expect(here.read("index.ts")).toContain('region: "us-west-2/"');
  });

  it("says what of a job the service does not show, and where to put it", async () => {
    const here = await Importing.from({ logpush: { destination: "redacted", filter: "hidden" } });
    const where = `r2://logs/http?account-id=${here.account}&access-key-id=AKID&secret-access-key=hush-2`;
    await here.job("audit", {
      destination_conf: where,
      filter: '{"where":{"and":[{"key":"RayID","operator":"eq","value":"1"}]}}',
    });
    const { code, told } = await here.run(["--zone", here.zone, "--only", "logpush"]);
    expect(code).toBe(0);
    expect(here.has("import-config.sh")).toBe(false);
    expect(told).toContain(
      "pulumi config set --secret auditSecretAccessKey   # secret access key of the bucket logs",
    );
    expect(told).toMatch(/does not show the filter of Logpush job 102 "audit"/);
    expect(here.read("index.ts")).toMatch(
      /\/\/ filter: Cloudflare does not show it[^]*new LogpushJob\("audit"/,
    );

    const recorded = here.recorded().get("LogpushJob audit");
    if (recorded === undefined) throw new Error("the job was not imported");
    // With the credentials that the user has, the preview is empty; with another bucket it is not.
    const preview = async (destinationConf: string): Promise<string> =>
      (await new Operation(here.api).preview("LogpushJob", { ...recorded.inputs, destinationConf }, recorded))
        .step;
    expect(await preview(where)).toBe("same");
    expect(await preview(where.replace("logs", "other"))).toBe("update");
  });
});

describe("what may not be read", () => {
  it("is skipped with a line, and the rest is imported", async () => {
    const here = await Importing.from();
    here.api.fault({ kind: "status", status: 403, code: 10000, match: { path: "/page_shield/policies" } });
    const { code, told } = await here.run(["--zone", here.zone]);
    expect(code).toBe(0);
    expect(told).toMatch(/Not imported:\n {2}- Page Shield policies of zone shop\.example: .*403/);
    expect([...here.recorded().keys()].filter((name) => name.startsWith("PageShield"))).toEqual([
      "PageShieldSettings shopExample",
    ]);
  });

  it.each([
    [
      "all of it",
      { kind: "status", status: 403, code: 10000, match: { path: "page_shield" }, times: 9 },
      /nothing could be read.*403/,
    ],
    [
      "the service in trouble",
      { kind: "status", status: 503, match: { path: "page_shield/policies" }, times: 9 },
      /503.*Nothing was written/,
    ],
    [
      "no connection",
      { kind: "dropBefore", match: { path: "page_shield/policies" }, times: 9 },
      /got no answer.*Nothing was written/,
    ],
  ] as const)("ends the command, with nothing written: %s", async (_, fault, words) => {
    const here = await Importing.from();
    here.api.fault(fault);
    const { code, told } = await here.run(["--zone", here.zone, "--only", "page-shield"]);
    expect({ code, told: told.replace(/\s+/g, " ") }).toEqual({
      code: 1,
      told: expect.stringMatching(words) as string,
    });
    expect(here.has("")).toBe(false);
  });

  it("is not read any more after Ctrl-C, and nothing is written", async () => {
    const here = await Importing.from();
    expect(await here.run(["--zone", here.zone], { stopped: true })).toEqual({
      code: 130,
      told: "edgeguard: interrupted. Nothing was written.\n",
    });
    expect({ asked: here.api.requests, written: here.has("") }).toEqual({ asked: [], written: false });
  });

  it("ends with the zone's id in question where the service knows no such zone", async () => {
    const here = await Importing.from();
    const { code, told } = await here.run(["--zone", "0".repeat(32)]);
    expect({ code, told }).toEqual({
      code: 1,
      told: expect.stringContaining("Check the ids: --zone, --account.") as string,
    });
  });
});

describe("the account of managed rulesets", () => {
  const ACCOUNT = { EDGEGUARD_ACCOUNT_ID: "" };

  it("is the zone's own, without a word about it", async () => {
    const here = await Importing.from();
    const env = { ...here.env, ...ACCOUNT };
    expect(await here.run(["--zone", here.zone, "--only", "rulesets"], { env })).toMatchObject({ code: 0 });
    const recorded = here.recorded().get("ManagedRulesetOverride baselineOfTheSecurityTeam");
    expect(recorded?.inputs).toMatchObject({ accountId: here.account });
  });

  it("is asked for where the token may not read the zone, and nothing is written", async () => {
    const here = await Importing.from();
    const zone = { method: "GET", path: `zones/${here.zone}$` };
    here.api.fault({ kind: "status", status: 403, code: 9109, match: zone, times: 9 });
    const env = { ...here.env, ...ACCOUNT };
    const { code, told } = await here.run(["--zone", here.zone], { env });
    expect({ code, told }).toEqual({
      code: 1,
      told: expect.stringMatching(
        /^edgeguard: zone \w+ deploys managed rulesets, .*\. Pass --account <id>, .* Nothing was written\.\n$/,
      ) as string,
    });
    expect(here.has("")).toBe(false);
    // With it, names come from the hosts of the zone's rules.
    expect(await here.run(["--zone", here.zone, "--account", here.account], { env })).toMatchObject({
      code: 0,
    });
    expect([...here.recorded().keys()][0]).toBe("PageShieldSettings checkoutShopExample");
  });

  it("is the zone's own for namespaces too, where they are asked for by name", async () => {
    const here = await Importing.from();
    const env = { ...here.env, ...ACCOUNT };
    expect(await here.run(["--zone", here.zone, "--only", "kv"], { env })).toMatchObject({ code: 0 });
    expect([...here.recorded().keys()]).toEqual(["KvNamespace existing"]);
    expect(await here.run(["--only", "kv", "--force"], { env })).toMatchObject({
      code: 2,
      told: expect.stringContaining("namespaces belong to an account. Pass --account <id>") as string,
    });
  });
});

describe("the Pulumi project", () => {
  const POLICIES = ["--only", "page-shield"];

  it("is made where there is none, with the folder's name, and left alone where there is one", async () => {
    const here = await Importing.from();
    const args = ["--zone", here.zone, ...POLICIES];
    const { told } = await here.run(args);
    expect(here.read("Pulumi.yaml")).toBe("name: out\nruntime: nodejs\n");
    expect(told).toContain("  pulumi stack init dev\n");
    here.write("Pulumi.yaml", "name: mine\nruntime: nodejs\n");
    expect((await here.run([...args, "--force"])).told).not.toContain("stack init");
    expect(here.read("Pulumi.yaml")).toBe("name: mine\nruntime: nodejs\n");
  });

  it.each([
    [
      "of a folder above",
      "../Pulumi.yaml",
      "",
      /^edgeguard: \S+out has no Pulumi\.yaml, and Pulumi would import into the stack of \S+\/Pulumi\.yaml\. Pass --project out for a project of its own, or --out \.\. to import into that one\.\n$/,
    ],
    [
      "whose program is in another folder",
      "Pulumi.yaml",
      "main: src/",
      /the program of \S+out\/Pulumi\.yaml is in \S+out\/src\. Pass --out src\.\n$/,
    ],
  ])("%s is not imported into, and nothing is asked", async (_, file, main, words) => {
    const here = await Importing.from();
    here.write(file, `name: infra\nruntime: nodejs\n${main}\n`);
    const args = ["--zone", here.zone, ...POLICIES];
    expect(await here.run(args)).toEqual({ code: 2, told: expect.stringMatching(words) as string });
    expect({ asked: here.api.requests, written: here.has("index.ts") }).toEqual({
      asked: [],
      written: false,
    });
  });

  it("of a folder above is imported into where its program is here, and another is started by name", async () => {
    const here = await Importing.from();
    here.write("../Pulumi.yaml", "name: infra\nruntime: nodejs\nmain: ./out # of the shop\n");
    const args = ["--zone", here.zone, ...POLICIES];
    expect(await here.run(args)).toMatchObject({ code: 0 });
    expect(here.has("Pulumi.yaml")).toBe(false);
    expect(await here.run([...args, "--force", "--project", "shop"])).toMatchObject({ code: 0 });
    expect(here.read("Pulumi.yaml")).toBe("name: shop\nruntime: nodejs\n");
  });
});

describe("files that are there", () => {
  it("are not overwritten, and nothing is asked of the service, without --force", async () => {
    const here = await Importing.from();
    mkdirSync(here.folder);
    writeFileSync(join(here.folder, "index.ts"), "mine");
    const args = ["--zone", here.zone, "--only", "page-shield"];
    const refused = await here.run(args);
    expect(refused).toEqual({
      code: 1,
      told: expect.stringMatching(/index\.ts already exists in .* --force/) as string,
    });
    expect({ text: here.read("index.ts"), asked: here.api.requests.length }).toEqual({
      text: "mine",
      asked: 0,
    });
    expect(await here.run([...args, "--force"])).toMatchObject({ code: 0 });
    expect(here.read("index.ts")).toContain("new PageShieldSettings");
  });
});

describe("the command line", () => {
  it.each([
    [[], "nothing to import. Pass --zone <id>"],
    [["--zone", "abc"], "32 hexadecimal digits"],
    [["--account", "{account}", "--only", "rulesets"], "--only rulesets needs a zone"],
    [["--zone", "{zone}", "--only", "waf"], "Choose from page-shield, rulesets, logpush, kv"],
    [["--zone", "{zone}", "--only", "rulesets", "--with-values"], "Add kv to --only"],
    [["--zone", "{zone}", "--project", "my shop"], "A project name has 1 to 100 letters"],
  ])("refuses %j", async (args, words) => {
    const here = await Importing.from();
    const given = args.map((arg) => arg.replace("{account}", here.account).replace("{zone}", here.zone));
    expect(await here.run(given)).toEqual({ code: 2, told: expect.stringContaining(words) as string });
    expect(here.api.requests).toEqual([]);
  });

  it("takes several zones, and begins the names of what each has with its own; page after page of an account", async () => {
    const here = await Importing.from();
    const titles = Array.from({ length: 100 }, (_, i) => `n${i}`);
    const path = "/accounts/{account}/storage/kv/namespaces";
    await Promise.all(titles.map((title) => here.send("POST", path, { title })));
    here.api.clearRequests();
    const zones = ["--zone", here.api.zones.shop, "--zone", here.api.zones.blog];
    const { code, told } = await here.run([...zones, "--account", here.account], { tty: true });
    expect(code).toBe(0);
    expect(told).toMatch(/\r\u001b\[K/); // On a terminal it says how far it is.
    const program = here.read("index.ts");
    expect(program).toContain(
      `const zones = {\n  shopExample: "${here.api.zones.shop}", // shop.example\n  blogExample: "${here.api.zones.blog}", // blog.example\n};`,
    );
    expect(program).toContain('new PageShieldSettings("blogExample", {\n  zoneId: zones.blogExample,');
    expect(program.match(/new KvNamespace\(/g)).toHaveLength(101);
    expect(here.api.requests.filter(({ path }) => path.endsWith("/namespaces"))).toHaveLength(2);
  });
});
