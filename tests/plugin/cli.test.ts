import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isolatedEnvironment } from "edgeguard-local";
import { apiPerTest, folderPerFile } from "../support/bench";
import { stringify } from "yaml";
import { describeOnCli, Project, REPOSITORY, summaryOf, type Deployment } from "../support/engine";
import { rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { testUnless } from "../support/skip";
import { BIN, ended } from "../cli/support";
import { generateSdk, missingFor, PLUGIN, PluginProject } from "./project";
import { isWrite } from "../support/is-write";

/** The provider plugin on a real Pulumi CLI: programs of the generated SDK and in YAML. */

const onYaml = testUnless(missingFor("yaml"));

const CANARY = "c4nary-of-a-destination";

describeOnCli("with the provider plugin", (cli) => {
  const folder = folderPerFile("sdk");
  const api = apiPerTest();
  let project: PluginProject;

  beforeAll(() => {
    generateSdk(cli, folder, { PULUMI_HOME: folder, PULUMI_SKIP_UPDATE_CHECK: "1" });
  });

  beforeEach(async () => {
    project = new PluginProject(cli, "moves");
    symlinkSync(join(folder, "nodejs/bin"), join(project.dir, "sdk"));
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN, CANARY };
    await project.init({ "edgeguard:baseUrl": api.url, "edgeguard:accountId": api.accounts.main });
  });
  afterEach(() => project.remove());

  /** A program with every type, from the classes or from the SDK. */
  function program(from: "pulumi-edgeguard" | "./sdk", title = "flags"): void {
    const zone = JSON.stringify(api.zones.shop);
    project.write(`
      import * as pulumi from "@pulumi/pulumi";
      import * as edge from ${JSON.stringify(from)};
      const zoneId = ${zone};
      new edge.PageShieldSettings("settings", { zoneId, enabled: true });
      new edge.PageShieldPolicy("policy", {
        zoneId, description: "checkout", action: "log", expression: 'http.host eq "shop.example"', value: { scriptSrc: ["'self'", "https://a.example"] },
      });
      new edge.ManagedRulesetOverride("owasp", {
        zoneId, ruleset: "Cloudflare OWASP Core Ruleset", owasp: { paranoiaLevel: 2, scoreThreshold: "high" },
        exceptions: [{ expression: 'http.request.uri.path eq "/a"', skip: "all" }],
      });
      new edge.WafMigration("migration", { zoneId: ${JSON.stringify(api.zones.migrateEnterprise)}, plan: "enterprise", target: "assessed", quiet: true });
      new edge.LogpushJob("job", {
        zoneId, dataset: "http_requests", enabled: true, outputOptions: { fieldNames: ["RayID"] },
        destinationConf: pulumi.secret("https://logs.example.com/in?header_Authorization=Bearer%20" + process.env.CANARY),
        filter: '{"where":{"key":"ClientRequestHost","operator":"eq","value":"shop.example"}}',
      });
      const transformer = new edge.LogpushTransformer("transformer", {
        code: pulumi.secret("SELECT '" + process.env.CANARY + "' AS tag FROM dns_logs"),
      });
      new edge.LogpushJob("transformed", {
        zoneId, dataset: "dns_logs", destinationConf: pulumi.secret("https://logs.example.com/dns"), transformerId: transformer.id,
      });
      const flags = new edge.KvNamespace("flags", { title: ${JSON.stringify(title)} });
      new edge.KvEntries("entries", { namespaceId: flags.id, entries: { a: process.env.CANARY, b: { value: "2", metadata: { of: "b" } } } });
    `);
  }

  const writes = (): string[] => api.requests.filter(isWrite).map(({ method, path }) => `${method} ${path}`);

  test("the schema is valid by Pulumi's own schema of schemas", () => {
    const [pulumi, ...before] = cli.command;
    const env = { ...process.env, ...isolatedEnvironment(folder) };
    const check = (file: string): number | null =>
      spawnSync(pulumi, [...before, "schema", "check", file], { env }).status;
    expect(check(join(PLUGIN, "schema.json"))).toBe(0);
    const wrong = join(folder, "wrong.json");
    const text = readFileSync(join(PLUGIN, "schema.json"), "utf8");
    writeFileSync(wrong, text.replace('"type": "integer"', '"type": "int"'));
    expect(check(wrong)).not.toBe(0);
  });

  test("every type can switch from the classes to the SDK and back without a change or a write", async () => {
    program("pulumi-edgeguard");
    await project.ok("up", "--yes", "--skip-preview");
    for (const from of ["./sdk", "pulumi-edgeguard"] as const) {
      program(from);
      api.clearRequests();
      const { text } = await project.ok("preview", "--expect-no-changes");
      expect(summaryOf(text)).toEqual({ unchanged: 10 });
      await project.ok("up", "--yes", "--skip-preview", "--expect-no-changes");
      await project.ok("refresh", "--yes", "--expect-no-changes");
      await project.ok("preview", "--expect-no-changes");
      expect(writes()).toEqual([]);
      const own = prefixes(await project.export());
      expect(own).toEqual([from === "./sdk" ? "edgeguard" : "pulumi-nodejs"]);
    }
    expect(project.stateText().includes(CANARY)).toBe(false); // The text is long.
    await project.ok("destroy", "--yes", "--skip-preview");
  });

  test("a policy pack refuses what the SDK's resources declare", async () => {
    project.write(`
      import * as edge from "./sdk";
      new edge.PageShieldPolicy("strict", {
        zoneId: "${api.zones.empty}", description: "strict", action: "allow", expression: "true", value: "script-src 'self'",
      });
      new edge.WafMigration("waf", { zoneId: "${api.zones.migratePro}", target: "assessed" });
    `);
    project.env = { ...project.env, PWD: project.dir }; // As a shell sets it.
    const pack = join(REPOSITORY, "examples/policy-pack");
    const { code, text } = await project.run("preview", "--policy-pack", pack);
    expect(code).not.toBe(0);
    expect(text).toMatch(/allow-needs-log {2}\(edgeguard:index:PageShieldPolicy: strict\)/);
    expect(text).toMatch(/allow-needs-inventory {2}\(edgeguard:index:PageShieldPolicy: strict\)/);
    expect(text).toMatch(/migration-needs-protect {2}\(edgeguard:index:WafMigration: waf\)/);
  });

  test("resources that the SDK created switch to the classes without sending anything, and the classes can destroy them", async () => {
    program("./sdk");
    await project.ok("up", "--yes", "--skip-preview");
    program("pulumi-edgeguard");
    api.clearRequests();
    expect(summaryOf((await project.ok("preview")).text)).toEqual({ update: 9, unchanged: 1 });
    await project.ok("up", "--yes", "--skip-preview");
    await project.ok("refresh", "--yes", "--expect-no-changes");
    await project.ok("preview", "--expect-no-changes");
    expect(writes()).toEqual([]);
    await project.ok("destroy", "--yes", "--skip-preview");
    expect(writes()).not.toEqual([]);
    expect((await project.export()).deployment.resources ?? []).toEqual([]);
  });

  test("pulumi import by ID writes a program that matches what exists, except for values that an import can't read", async () => {
    const ids = await existing();
    const resources = Object.entries(ids).map(([type, id]) => ({
      type: `edgeguard:index:${type}`,
      name: `the-${type}`,
      id,
    }));
    const wrong = await project.run(
      "import",
      "edgeguard:index:KvNamespace",
      "wrong",
      api.zones.shop,
      "--yes",
    );
    expect(wrong.text).toMatch(/is not "<account ID>\/<namespace ID>"/);
    const [file, code] = ["import.json", "code.ts"].map((name) => join(project.dir, name)) as [
      string,
      string,
    ];
    writeFileSync(file, JSON.stringify({ resources }));
    const options = ["--yes", "--skip-preview", "--protect=false", "--out", code];
    const { text } = await project.ok("import", "--file", file, ...options);
    expect(summaryOf(text)).toMatchObject({ import: 8 });
    // The values in a namespace may be anybody's: the program has to declare them.
    const program = readFileSync(code, "utf8").replace("verify: ", "entries: {}, verify: ");
    project.write(program.replace('"pulumi-edgeguard-sdk"', '"./sdk"'));
    api.clearRequests();
    const after = await project.ok("preview", "--diff");
    expect(summaryOf(after.text)).toEqual({ update: 2, unchanged: 7 });
    expect(
      after.text
        .match(/^ +~ edgeguard:index:\w+/gm)
        ?.map((each) => each.trim())
        .sort(),
    ).toEqual([
      "~ edgeguard:index:KvEntries", // Its entries.
      "~ edgeguard:index:WafMigration", // Its assessment, which the update records without a write.
    ]);
    expect(writes()).toEqual([]);
    expect(after.text).not.toContain(CANARY);
  });

  describe.each(["yaml", "typescript"] as const)(
    "a program in %s that edgeguard import wrote",
    (language) => {
      (language === "yaml" ? onYaml : test)(
        `matches what exists after the import: ${language === "yaml" ? "YAML" : "it compiles, too"}`,
        async () => {
          const { PageShieldSettings: zone } = await existing();
          const account = `/accounts/${api.accounts.main}`;
          const job = { name: "account", dataset: "audit_logs", enabled: true };
          const awkward = {
            ...job,
            destination_conf: `https://logs.example.com/${CANARY}-${"0".repeat(16)}`,
          };
          await rawSend(api, "POST", `${account}/logpush/jobs`, awkward);
          await rawSend(api, "POST", `/zones/${api.zones.shop}/page_shield/policies`, {
            ...{ description: "- ${a} $$ # 1_000: \u2028 \u{1f600}", action: "log", enabled: false },
            ...{ expression: 'http.host eq "a.example"\nor http.host eq "${b}"', value: "script-src 'self'" },
          });
          const desk = join(folder, language);
          mkdirSync(join(desk, "node_modules"), { recursive: true });
          symlinkSync(join(folder, "nodejs"), join(desk, "node_modules/pulumi-edgeguard-sdk"));
          symlinkSync(PLUGIN, join(desk, "node_modules/pulumi-resource-edgeguard"));
          symlinkSync(join(REPOSITORY, "node_modules/@pulumi"), join(desk, "node_modules/@pulumi"));
          const args = ["--zone", String(zone), "--account", api.accounts.main, "--with-values"];
          const env = { ...process.env, EDGEGUARD_BASE_URL: api.url, CLOUDFLARE_API_TOKEN: TOKEN };
          const bin = spawn(
            process.execPath,
            [BIN, "import", ...args, "--for", "plugin", "--language", language, "--out", desk],
            { env },
          );
          const { code, stderr } = await ended(bin);
          expect({ code, stderr }).toMatchObject({ code: 0 });
          expect(stderr).not.toContain("Not declared");

          cpSync(join(desk, "kv"), join(project.dir, "kv"), { recursive: true });
          cpSync(join(desk, "import.json"), join(project.dir, "import.json"));
          if (language === "yaml") {
            project.yaml("");
            cpSync(join(desk, "Main.yaml"), join(project.dir, "Main.yaml"));
          } else
            project.write(
              readFileSync(join(desk, "index.ts"), "utf8").replace('"pulumi-edgeguard-sdk"', '"./sdk"'),
            );
          const script = readFileSync(join(desk, "import-config.sh"), "utf8");
          for (const [, key = "", value = ""] of script.matchAll(/--secret (\w+) <<'VALUE'\n(.*)\nVALUE/g))
            await project.ok("config", "set", "--secret", key, value);
          const options = ["--yes", "--skip-preview", "--protect=false", "--generate-code=false"];
          api.clearRequests();
          const { text } = await project.ok("import", "--file", "import.json", ...options);
          const count = summaryOf(text)["import"] ?? 0;
          expect(count).toBeGreaterThan(9);
          for (const step of [["preview"], ["up", "--yes", "--skip-preview"], ["preview"]]) {
            const unchanged = await project.ok(...step, "--expect-no-changes");
            expect(summaryOf(unchanged.text)).toEqual({ unchanged: count + 1 });
          }
          expect(api.requests).toEqual([]);
          await project.ok("refresh", "--yes", "--expect-no-changes");
          expect(writes()).toEqual([]);
          rmSync(join(project.dir, "import.json"));
          expect(project.stateText().includes(CANARY)).toBe(false);
        },
      );
    },
  );

  test("get reads each type without managing it", async () => {
    const ids = await existing();
    const gets = Object.entries(ids).map(
      ([type, id]) => `export const ${type} = edge.${type}.get("one", ${JSON.stringify(id)});`,
    );
    project.write(`import * as edge from "./sdk";\n${gets.join("\n")}`);
    api.clearRequests();
    await project.ok("up", "--yes", "--skip-preview");
    const { deployment } = await project.export();
    const read = (deployment.resources ?? []).filter(({ type }) => type.startsWith("edgeguard:index:"));
    expect(read.map(({ type, id }) => [type.split(":").at(-1), id]).sort()).toEqual(
      Object.entries(ids)
        .map(([type, id]) => [type, id.split("/").at(-1)])
        .sort(),
    );
    await project.ok("refresh", "--yes", "--expect-no-changes");
    await project.ok("destroy", "--yes", "--skip-preview");
    expect(writes()).toEqual([]);
    expect(project.stateText().includes(CANARY)).toBe(false);
  });

  test("a preview shows the values that differ, no secret reaches the output or state, and no token reaches a log", async () => {
    const policy = (sources: string): void =>
      project.write(`
        import * as pulumi from "@pulumi/pulumi";
        import * as edge from "./sdk";
        new edge.LogpushJob("job", {
          zoneId: ${JSON.stringify(api.zones.shop)}, dataset: "http_requests", name: pulumi.secret("n-" + process.env.CANARY),
          destinationConf: "https://logs.example.com/in?header_Authorization=Bearer%20" + process.env.CANARY,
          outputOptions: { fieldNames: ${sources} },
        });
        const ns = new edge.KvNamespace("flags", { title: "flags" });
        new edge.KvEntries("entries", { namespaceId: ns.id, entries: { a: process.env.CANARY + ${JSON.stringify(sources)} } });
      `);
    policy('["RayID", "ClientIP"]');
    const verbose = ["--logtostderr", "-v=9"];
    const logs = [(await project.ok("up", "--yes", "--skip-preview", ...verbose)).text];
    policy('["RayID", "ClientRequestHost", "ClientIP"]');
    const { stdout, text } = await project.ok("preview", "--json");
    const { steps } = JSON.parse(stdout) as { steps: { urn: string; detailedDiff?: object }[] };
    const changed = steps.flatMap(({ urn, detailedDiff }) =>
      detailedDiff ? [[urn.split("::").at(-1), detailedDiff]] : [],
    );
    expect(Object.fromEntries(changed)).toEqual({
      job: {
        "outputOptions.fieldNames[1]": { kind: "update", inputDiff: false },
        "outputOptions.fieldNames[2]": { kind: "add", inputDiff: false },
      },
      entries: expect.objectContaining({ entries: { kind: "update", inputDiff: false } }) as unknown,
    });
    const shown = [text, (await project.ok("preview", "--diff")).text];
    logs.push((await project.ok("refresh", "--yes", "--diff", ...verbose)).text);
    shown.push((await project.ok("up", "--yes", "--diff")).text);
    shown.push(project.stateText(), JSON.stringify(await project.export()));
    const linesWith = (secret: string, texts: readonly string[]): string[] =>
      texts.flatMap((each) => each.split("\n")).filter((line) => line.includes(secret));
    expect(linesWith(CANARY, shown)).toEqual([]);
    expect(linesWith(TOKEN, [...shown, ...logs])).toEqual([]);
    // At this level the engine itself logs every property of every provider.
    expect(
      linesWith(CANARY, logs).filter((line) => !/arshaling property|RegisterResource RPC/.test(line)),
    ).toEqual([]);
  });

  test("two providers of one program don't both manage the same object", async () => {
    project.write(`
      import * as edge from "./sdk";
      for (const [name, enabled] of [["one", true], ["two", false]] as const) {
        const provider = new edge.Provider(name, { apiToken: "${TOKEN}", baseUrl: "${api.url}" });
        new edge.PageShieldSettings(name, { zoneId: ${JSON.stringify(api.zones.shop)}, enabled }, { provider });
      }
    `);
    const { code, text } = await project.run("preview");
    expect(code).not.toBe(0);
    expect(text).toMatch(
      /PageShieldSettings \\?"(one|two)\\?" and \\?"(one|two)\\?" both manage Page Shield in zone/,
    );
    expect(writes()).toEqual([]);
  });

  onYaml(
    "a YAML program takes over resources that the classes created, changes one argument and reads other objects",
    async () => {
      const zoneId = api.zones.shop;
      const policy = {
        zoneId,
        description: "checkout",
        action: "log",
        expression: "true",
        value: "script-src 'self'",
      };
      project.write(`
      import { KvNamespace, PageShieldPolicy } from "pulumi-edgeguard";
      new PageShieldPolicy("policy", ${JSON.stringify(policy)});
      new KvNamespace("flags", { title: "flags" });
    `);
      await project.ok("up", "--yes", "--skip-preview");
      const yaml = (title: string): void =>
        project.yaml(
          stringify({
            variables: {
              found: { "fn::invoke": { function: "edgeguard:getPageShieldSettings", arguments: { zoneId } } },
            },
            resources: {
              policy: { type: "edgeguard:PageShieldPolicy", properties: policy },
              flags: { type: "edgeguard:KvNamespace", properties: { title } },
              settings: { type: "edgeguard:PageShieldSettings", get: { id: zoneId } },
            },
            outputs: { enabled: "${settings.enabled}", found: "${found.enabled}" },
          }),
        );
      yaml("flags");
      expect(summaryOf((await project.ok("preview")).text)).toEqual({ unchanged: 3 });
      yaml("flags of the shop");
      const { text } = await project.ok("up", "--yes", "--diff");
      expect(text).toMatch(/~ title +: "flags" => "flags of the shop"/);
      expect(text).toMatch(/enabled: true[^]*found +: true/);
      await project.ok("preview", "--expect-no-changes");
    },
  );

  onYaml("a YAML program with a function can be previewed without credentials", async () => {
    const call = (name: string): object => ({
      "fn::invoke": { function: `edgeguard:${name}`, arguments: { zoneId: api.zones.shop } },
    });
    project.env = {};
    project.yaml(
      stringify({
        variables: { found: call("getScripts"), policies: call("getPageShieldPolicies") },
        outputs: { scripts: "${found.items}", policies: "${policies.result}" },
      }),
    );
    const { text } = await project.ok("preview");
    expect(text).toContain("getScripts: skipped in this preview, so its result is empty.");
    expect(api.requests).toEqual([]);
  });

  onYaml(
    "the YAML example runs when installed as the docs say, and the next preview shows no changes",
    async () => {
      const example = new Project(cli, "yaml");
      try {
        example.copy(join(REPOSITORY, "examples/yaml"), join(REPOSITORY, "node_modules"));
        example.env = { CLOUDFLARE_API_TOKEN: TOKEN, CLOUDFLARE_ACCOUNT_ID: api.accounts.main };
        await example.init({ "edgeguard:baseUrl": api.url, zoneId: api.zones.empty });
        expect(summaryOf((await example.ok("up", "--yes", "--skip-preview")).text)).toEqual({ create: 5 });
        await example.ok("preview", "--expect-no-changes");
        await example.ok("destroy", "--yes", "--skip-preview");
      } finally {
        example.remove();
      }
    },
  );

  /** Creates or finds an object of each type: its composite ID, by type. */
  async function existing(): Promise<Readonly<Record<string, string>>> {
    const { shop, migrateEnterprise } = api.zones;
    const account = api.accounts.main;
    const made = async (path: string, body: object): Promise<string> =>
      String(((await rawSend(api, "POST", path, body)).result as { id: unknown }).id);
    const namespace = await made(`/accounts/${account}/storage/kv/namespaces`, { title: "their namespace" });
    const policy = await made(`/zones/${shop}/page_shield/policies`, {
      ...{ description: "their policy", action: "log", expression: "true", enabled: true },
      value: "script-src 'self'",
    });
    const job = await made(`/zones/${shop}/logpush/jobs`, {
      ...{ name: "their-job", dataset: "http_requests", enabled: true },
      destination_conf: `https://logs.example.com/in?header_Authorization=Bearer%20${CANARY}`,
    });
    const transformer = await made(`/accounts/${account}/logpush/transformers`, {
      name: "their-transformer",
      code: "SELECT RayID FROM http_requests",
    });
    const entryPoint = `/zones/${shop}/rulesets/phases/http_request_firewall_managed/entrypoint`;
    const { rules } = (await rawSend(api, "GET", entryPoint)).result as {
      rules: { id: string; action: string }[];
    };
    const rule = rules.find(({ action }) => action === "execute")?.id ?? "";
    return {
      PageShieldSettings: shop,
      PageShieldPolicy: `${shop}/${policy}`,
      ManagedRulesetOverride: `${shop}/${rule}`,
      WafMigration: migrateEnterprise,
      LogpushJob: `zone/${shop}/${job}`,
      LogpushTransformer: `${account}/${transformer}`,
      KvNamespace: `${account}/${namespace}`,
      KvEntries: `${account}/${namespace}`,
    };
  }
});

/** The packages of the stack's own resources. */
function prefixes({ deployment }: Deployment): string[] {
  const types = (deployment.resources ?? []).map(({ type }) => type);
  return [...new Set(types.flatMap((type) => /^(edgeguard|pulumi-nodejs):/.exec(type)?.[1] ?? []))];
}
