import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { edgeguardResources, engines, Project, REPOSITORY } from "../support/engine";

/** Each example is applied as it stands, and leaves nothing to do. */

interface Example {
  /** Its resources, by class. */
  readonly makes: readonly string[];
  readonly config: (api: LocalApi) => Record<string, string>;
}

const TOKEN = "local-token";

const EXAMPLES: Readonly<Record<string, Example>> = {
  "page-shield-settings": {
    makes: ["PageShieldSettings"],
    config: (api) => ({ zoneId: api.zones.empty }),
  },
  "page-shield-policy": {
    makes: ["PageShieldPolicy"],
    config: (api) => ({ zoneId: api.zones.shop, action: "allow" }),
  },
  "managed-ruleset-override": {
    makes: ["ManagedRulesetOverride"],
    config: (api) => ({ zoneId: api.zones.shop }),
  },
  "waf-migration": { makes: ["WafMigration"], config: (api) => ({ zoneId: api.zones.migratePro }) },
  "logpush-job": {
    makes: ["LogpushJob"],
    config: (api) => ({
      zoneId: api.zones.shop,
      bucketAccountId: api.accounts.main,
      accessKeyId: "canary-access-key",
      secretAccessKey: "canary-secret-key",
    }),
  },
  "kv-namespace": { makes: ["KvNamespace", "KvNamespace"], config: () => ({}) },
  "kv-entries": { makes: ["KvEntries", "KvEntries", "KvEntries", "KvNamespace"], config: () => ({}) },
};

it("covers every example that is a program of its own", () => {
  const others = ["edge-site", "many-zones", "pipelines", "policy-pack"]; // Run by the demo, and by tests of their own.
  const folders = readdirSync(join(REPOSITORY, "examples"), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  expect(folders.map(({ name }) => name).sort()).toEqual([...Object.keys(EXAMPLES), ...others].sort());
});

describe.each(engines())("on $name", (engine) => {
  let api: LocalApi;
  beforeAll(async () => {
    api = await startLocalApi();
  });
  afterAll(() => api.close());

  it.each(Object.entries(EXAMPLES))(
    "%s is applied and leaves an empty plan",
    async (name, { makes, config }) => {
      const folder = join(REPOSITORY, "examples", name);
      const project = new Project(engine, name);
      try {
        cpSync(folder, project.dir, {
          recursive: true,
          filter: (path) => !/\.(ts|md)$|Pulumi\.yaml$|tsconfig\.json$/.test(path),
        });
        project.program(folder);
        project.env = { CLOUDFLARE_API_TOKEN: TOKEN };
        await project.init({
          "edgeguard:baseUrl": api.url,
          "edgeguard:accountId": api.accounts.main,
          ...config(api),
        });
        const { text } = await project.ok("up", "--yes", "--skip-preview");
        await project.ok("preview", "--expect-no-changes");
        const made = [...edgeguardResources(await project.export()).values()];
        expect(made.map(({ type }) => type.split(":").at(-1)).sort()).toEqual([...makes].sort());
        expect(text + JSON.stringify(made)).not.toContain("canary");
      } finally {
        project.remove();
      }
    },
    60_000,
  );
});
