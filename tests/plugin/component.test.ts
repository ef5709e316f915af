import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { apiPerTest, folderPerFile } from "../support/bench";
import { describeOnCli, edgeguardResources, summaryOf } from "../support/engine";
import { isWrite } from "../support/is-write";
import { TOKEN } from "../support/scenario";
import { testUnless } from "../support/skip";
import { generateSdk, missingFor, PluginProject } from "./project";

/** The plugin's component, on a real Pulumi CLI: in YAML and with the generated SDK. Other tests run it from Python and Go. */

const onYaml = testUnless(missingFor("yaml"));

const CANARY = "c4nary-of-a-destination";

describeOnCli("ProtectedZone of the provider plugin", (cli) => {
  const folder = folderPerFile("component-sdk");
  const api = apiPerTest();
  let project: PluginProject;

  beforeAll(() => {
    generateSdk(cli, folder, { PULUMI_HOME: folder, PULUMI_SKIP_UPDATE_CHECK: "1" });
  });

  beforeEach(() => {
    project = new PluginProject(cli, "zones");
    symlinkSync(join(folder, "nodejs/bin"), join(project.dir, "sdk"));
    project.env = { CLOUDFLARE_API_TOKEN: TOKEN, CANARY };
  });
  afterEach(() => project.remove());

  const configure = (): Promise<void> =>
    project.init({ "edgeguard:baseUrl": api.url, "edgeguard:accountId": api.accounts.main });
  const writes = (): string[] => api.requests.filter(isWrite).map(({ method, path }) => `${method} ${path}`);

  /** A program with the component, from the classes or from the SDK. */
  function program(from: "pulumi-edgeguard" | "./sdk", args: string, more = "", options = "{}"): void {
    project.write(`
      import * as pulumi from "@pulumi/pulumi";
      import * as edge from ${JSON.stringify(from)};
      const zoneId = ${JSON.stringify(api.zones.empty)};
      const destinationConf = pulumi.secret("https://logs.example.com/in?header_Authorization=Bearer%20" + process.env.CANARY);
      ${more}
      const zone = new edge.ProtectedZone("shop", { zoneId, ${args} }, ${options});
    `);
  }

  test("a component moves from the class to the SDK and back without a change, and so does one of its resources", async () => {
    await configure();
    const args = "owaspRuleset: { owasp: { paranoiaLevel: 2 } }, logpushJob: { destinationConf }";
    program("pulumi-edgeguard", args);
    await project.ok("up", "--yes", "--skip-preview");
    api.clearRequests();
    for (const from of ["./sdk", "pulumi-edgeguard", "./sdk"] as const) {
      program(from, args);
      expect(summaryOf((await project.ok("preview", "--expect-no-changes")).text)).toEqual({ unchanged: 7 });
      await project.ok("up", "--yes", "--skip-preview", "--expect-no-changes");
    }
    const alone = `new edge.ManagedRulesetOverride(
      "shop-owaspRuleset",
      { zoneId, ruleset: "Cloudflare OWASP Core Ruleset", owasp: { paranoiaLevel: 2 } },
      { aliases: [{ parent: "urn:pulumi:dev::zones::edgeguard:index:ProtectedZone::shop" }] },
    );`;
    program("./sdk", `${args}, without: ["owaspRuleset"]`, alone);
    await project.ok("up", "--yes", "--skip-preview", "--expect-no-changes");
    expect(writes()).toEqual([]);
    expect(project.stateText().includes(CANARY)).toBe(false); // The text is long.
    await project.ok("destroy", "--yes", "--skip-preview");
    expect((await project.export()).deployment.resources ?? []).toEqual([]);
  });

  test("the component's provider and options apply to its resources", async () => {
    delete project.env["CLOUDFLARE_API_TOKEN"];
    await project.init({});
    const provider = `const provider = new edge.Provider("own", ${JSON.stringify({
      apiToken: TOKEN,
      baseUrl: api.url,
      accountId: api.accounts.main,
    })});`;
    program("./sdk", 'without: ["logpushJob"]', provider, "{ provider, protect: true }");
    await project.ok("up", "--yes", "--skip-preview");
    const made = [...edgeguardResources(await project.export()).values()];
    expect(made).toHaveLength(5);
    for (const each of made) {
      expect(each).toMatchObject({ protect: true });
      if (each.id !== undefined)
        expect(each).toMatchObject({ provider: expect.stringContaining("::own::") as string });
    }
    const { text } = await project.run("destroy", "--yes", "--skip-preview");
    expect(text).toContain("is protected");
  });

  onYaml(
    "from YAML, a value that isn't known yet and a secret reach the component's resources, and only they",
    async () => {
      project.yaml(`
config:
  destination:
    type: string
resources:
  flags:
    type: edgeguard:KvNamespace
    properties:
      title: flags
  shop:
    type: edgeguard:ProtectedZone
    properties:
      zoneId: ${api.zones.empty}
      without: [owaspRuleset]
      pageShieldPolicy:
        description: only \${flags.id}
        value:
          scriptSrc: ["'self'", "https://cdn.example"]
      logpushJob:
        destinationConf: \${destination}
`);
      await configure();
      await project.ok("config", "set", "--secret", "destination", `https://logs.example.com/${CANARY}-in`);
      api.clearRequests();
      const preview = await project.ok("preview", "--diff");
      expect(summaryOf(preview.text)).toEqual({ create: 7 });
      expect(writes()).toEqual([]);
      await project.ok("up", "--yes", "--skip-preview");
      await project.ok("preview", "--expect-no-changes");
      const made = edgeguardResources(await project.export());
      const flags = made.get("KvNamespace::flags");
      expect(made.get("PageShieldPolicy::shop-pageShieldPolicy")).toMatchObject({
        inputs: { description: `only ${flags?.id ?? ""}` },
        propertyDependencies: { description: [flags?.urn], zoneId: [] },
      });
      expect(made.get("LogpushJob::shop-logpushJob")).toMatchObject({
        inputs: { dataset: "firewall_events", name: "zones-dev-shop-logpushJob" },
      });
      expect(preview.text + project.stateText()).not.toContain(CANARY);
      await project.ok("destroy", "--yes", "--skip-preview");
    },
  );
});
