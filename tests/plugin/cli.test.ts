import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LOCAL_ENGINE, startLocalApi, type LocalApi } from "edgeguard-local";
import { engines, finished, summaryOf, type Deployment } from "../support/engine";
import { raw, TOKEN } from "../support/scenario";
import { generateSdk, PluginProject } from "./project";

/** The provider plugin on a real Pulumi CLI: programs of the generated SDK and in YAML. */

const cli = engines().find((engine) => engine !== LOCAL_ENGINE);
const onCli = cli === undefined ? describe.skip : describe;
const onYaml = hasLanguage("yaml") ? test : test.skip;

const CANARY = "c4nary-of-a-destination";

onCli(`on ${cli?.name ?? "the Pulumi CLI: skipped, because none is on PATH"}`, () => {
  let folder: string;
  let api: LocalApi;
  let project: PluginProject;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "edgeguard-sdk-"));
    if (cli !== undefined) generateSdk(cli, folder, { PULUMI_HOME: folder, PULUMI_SKIP_UPDATE_CHECK: "1" });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  beforeEach(async () => {
    api = await startLocalApi();
    if (cli === undefined) return;
    project = new PluginProject(cli, "moves");
    symlinkSync(join(folder, "nodejs/bin"), join(project.dir, "sdk"));
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN, CANARY };
    await project.init({ "edgeguard:baseUrl": api.url, "edgeguard:accountId": api.accounts.main });
  });
  afterEach(async () => {
    project.remove();
    await api.close();
  });

  /** A program with all seven types, from the classes or from the SDK. */
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
      const flags = new edge.KvNamespace("flags", { title: ${JSON.stringify(title)} });
      new edge.KvEntries("entries", { namespaceId: flags.id, entries: { a: process.env.CANARY, b: { value: "2", metadata: { of: "b" } } } });
    `);
  }

  const writes = (): string[] =>
    api.requests
      .filter(({ method, path }) => method !== "GET" && !path.endsWith("/bulk/get"))
      .map(({ method, path }) => `${method} ${path}`);

  test("all seven types move from the classes to the SDK and back, without a change or a write", async () => {
    program("pulumi-edgeguard");
    await project.ok("up", "--yes", "--skip-preview");
    for (const from of ["./sdk", "pulumi-edgeguard"] as const) {
      program(from);
      api.clearRequests();
      const { text } = await project.ok("preview", "--expect-no-changes");
      expect(summaryOf(text)).toEqual({ unchanged: 8 });
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

  test("pulumi import by ID writes a program that matches what exists, and get reads each type", async () => {
    const { shop, migrateEnterprise } = api.zones;
    const account = api.accounts.main;
    const made = async (path: string, body: object): Promise<string> =>
      String(((await raw(api, "POST", path, body)).result as { id: unknown }).id);
    const namespace = await made(`/accounts/${account}/storage/kv/namespaces`, { title: "theirs" });
    const policy = await made(`/zones/${shop}/page_shield/policies`, {
      description: "theirs", action: "log", expression: "true", enabled: true, value: "script-src 'self'",
    });
    const job = await made(`/zones/${shop}/logpush/jobs`, {
      name: "theirs", dataset: "http_requests", enabled: true,
      destination_conf: `https://logs.example.com/in?header_Authorization=Bearer%20${CANARY}`,
    });
    const { result } = await raw(api, "GET", `/zones/${shop}/rulesets/phases/http_request_firewall_managed/entrypoint`);
    const rule = (result as { rules: { id: string; action: string }[] }).rules.find((r) => r.action === "execute")?.id ?? "";
    const ids: Record<string, string> = {
      PageShieldSettings: shop,
      PageShieldPolicy: `${shop}/${policy}`,
      ManagedRulesetOverride: `${shop}/${rule}`,
      WafMigration: migrateEnterprise,
      LogpushJob: `zone/${shop}/${job}`,
      KvNamespace: `${account}/${namespace}`,
      KvEntries: `${account}/${namespace}`,
    };
    const resources = Object.entries(ids).map(([type, id]) => ({ type: `edgeguard:index:${type}`, name: type, id }));
    const file = join(project.dir, "import.json");
    writeFileSync(file, JSON.stringify({ resources }));
    const imported = await project.run("import", "--file", file, "--yes", "--protect=false", "--out", join(project.dir, "code.ts"));
    console.log(imported.text, readFileSync(join(project.dir, "code.ts"), "utf8"));
    project.write(readFileSync(join(project.dir, "code.ts"), "utf8").replace('"@pulumi/edgeguard"', '"./sdk"').replace('"pulumi-edgeguard-sdk"', '"./sdk"'));
    const after = await project.run("preview", "--diff");
    console.log(after.text);
    project.write(`import * as edge from "./sdk";\n${Object.entries(ids).map(([type, id]) => `export const ${type} = edge.${type}.get("${type}", ${JSON.stringify(id)});`).join("\n")}`);
    const got = await project.run("preview");
    console.log(got.text);
  });
});

/** The packages of the stack's own resources. */
function prefixes({ deployment }: Deployment): string[] {
  const types = (deployment.resources ?? []).map(({ type }) => type);
  return [...new Set(types.flatMap((type) => /^(edgeguard|pulumi-nodejs):/.exec(type)?.[1] ?? []))];
}

function hasLanguage(name: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v pulumi-language-${name}`]);
    return cli !== undefined;
  } catch {
    return false;
  }
}
void onYaml; void finished; void raw;
