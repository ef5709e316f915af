import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LOCAL_ENGINE, startLocalApi, type LocalApi } from "edgeguard-local";
import { edgePolicies } from "pulumi-edgeguard/policies";
import { programsOf } from "../support/documents";
import { cliEngine, Project, REPOSITORY } from "../support/engine";
import { rawSend } from "../support/operation";
import { TYPE_PREFIXES } from "../../provider/runtime/type-tokens";
import { analyze, type Analyzed } from "../support/policies";

/** The Pulumi CLI runs the example's policy pack. For the local engine, which runs none, the test hands its plan to the policies. */

const CLI = cliEngine();
const OPTIONS = { production: "^dev$" } as const;
const VIOLATIONS = [
  "mandatory allow-needs-log strict",
  "mandatory migration-needs-protect waf",
  "mandatory no-force-destroy-in-production catalog",
  "mandatory no-plain-credential logs",
  "mandatory prune-stays-under-limit products",
  "mandatory zones-need-managed-ruleset logs",
  "mandatory zones-need-managed-ruleset waf",
];

let api: LocalApi;
let project: Project;
async function begin(engine = LOCAL_ENGINE): Promise<void> {
  api = await startLocalApi();
  project = new Project(engine, "policies");
  project.env = { CLOUDFLARE_API_TOKEN: "local-token", PWD: project.dir }; // As a shell sets it.
  await project.init({
    zoneId: api.zones.empty,
    wafZoneId: api.zones.migratePro,
    "edgeguard:accountId": api.accounts.main,
    "edgeguard:baseUrl": api.url,
  });
}
const packs: string[] = [];
afterEach(async () => {
  for (const pack of packs.splice(0)) rmSync(pack, { recursive: true, force: true });
  await api.close();
  project.remove();
});

const use = (program: string): void => project.program(join(__dirname, program));

test("every policy finds its violation in the local engine's plan, of the classes and of the plugin, and none in the plan of the fixed program", async () => {
  await begin();
  const found = async (program: string): Promise<string[]> => {
    use(program);
    const { stdout } = await project.ok("preview", "--json");
    const { steps } = JSON.parse(stdout) as { steps: { newState: PlannedState }[] };
    const resources = steps.map(({ newState }) => asAnalyzed(newState));
    const [violations = [], others] = await Promise.all(
      Object.values(TYPE_PREFIXES).map((prefix) =>
        analyze(
          edgePolicies(OPTIONS),
          resources.map((each) => ({ ...each, type: each.type.replace(TYPE_PREFIXES.dynamic, prefix) })),
        ),
      ),
    );
    expect(others).toEqual(violations);
    expect(violations.map(({ message }) => message).join()).not.toMatch(/s3cret|c4nary/);
    return violations.map(({ level, policy, resource }) => `${level} ${policy} ${resource}`).sort();
  };
  expect(await found("program")).toEqual(VIOLATIONS);
  expect(await found("program.fixed")).toEqual([]);
});

const onCli = CLI === undefined ? test.skip : test;
const WHY = CLI === undefined ? " (not run: no pulumi on PATH)" : ` (${CLI.name})`;

onCli(
  `a preview with the policy pack reports every violation, and passes once they are fixed${WHY}`,
  async () => {
    await begin(CLI);
    const config = join(project.dir, "policy.json");
    writeFileSync(config, JSON.stringify({ "no-force-destroy-in-production": OPTIONS }));
    const pack = ["--policy-pack", join(REPOSITORY, "examples/policy-pack"), "--policy-pack-config", config];

    use("program");
    const refused = await project.run("preview", ...pack);
    expect(refused.code).not.toBe(0);
    expect(violationsIn(refused.text)).toEqual(
      [...VIOLATIONS, "mandatory allow-needs-inventory strict"].sort(),
    );
    expect(refused.text).not.toMatch(/s3cret|c4nary/);

    use("program.fixed");
    const logging = await project.ok("up", "--yes", ...pack);
    expect(violationsIn(logging.text)).toEqual([]);
    await project.ok("config", "set", "action", "allow");
    expect(violationsIn((await project.run("preview", ...pack)).text)).toEqual([
      "mandatory allow-needs-inventory strict",
    ]);
    writeFileSync(join(project.dir, "script-inventory.yaml"), "version: 1\nscripts: []\n");
    expect(violationsIn((await project.ok("preview", ...pack)).text)).toEqual([]);
  },
);

onCli(
  `the guide's pack starts with the dependencies that the guide names, and lets the README's program pass${WHY}`,
  async () => {
    await begin(CLI);
    const guide = readFileSync(join(REPOSITORY, "docs/guides/policies.md"), "utf8");
    const [, list = ""] = /with its dependencies: ([^.]*)\./.exec(guide) ?? [];
    const named = [...list.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    const ours = `file:${join(REPOSITORY, "provider")}`;
    const dependencies = named.map((name) => [name, name === "pulumi-edgeguard" ? ours : "*"] as const);
    const pack = mkdtempSync(join(tmpdir(), "edgeguard-pack-")); // Outside of the project and its packages.
    packs.push(pack);
    writeFileSync(join(pack, "PulumiPolicy.yaml"), "runtime: nodejs\n");
    writeFileSync(
      join(pack, "package.json"),
      JSON.stringify({
        name: "edge-security",
        version: "1.0.0",
        dependencies: Object.fromEntries(dependencies),
      }),
    );
    writeFileSync(join(pack, "index.ts"), programsOf("docs/guides/policies.md")[0]?.text ?? "");
    // --install-links: a copy of the package can't find what this repository has installed.
    const flags = ["--install-links", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
    execFileSync("npm", ["install", "--prefix", ".", ...flags], { cwd: pack, stdio: "ignore" });
    const [program] = programsOf("README.md");
    project.write(
      (program?.text ?? "")
        .replace("0da42c8d2132a9ddaf714f9e7c920711", api.zones.empty)
        .replace("5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1", api.accounts.main),
    );
    const { text } = await project.ok("preview", "--policy-pack", pack);
    expect(text).toContain("edge-security");
    expect(violationsIn(text)).toEqual([]);
  },
);

onCli(
  `the policy page-shield-stays-on turns Page Shield on instead of refusing its settings, if its level is remediate${WHY}`,
  async () => {
    await begin(CLI);
    const pack = mkdtempSync(join(project.dir, "pack-"));
    writeFileSync(join(pack, "PulumiPolicy.yaml"), "runtime: nodejs\n");
    writeFileSync(join(pack, "package.json"), '{ "name": "pack", "version": "1.0.0", "main": "index.js" }');
    const program = (level: string): void =>
      writeFileSync(
        join(pack, "index.js"),
        `const { pageShieldStaysOn, zonesNeedPageShield } = require("pulumi-edgeguard/policies");
        const policies = [pageShieldStaysOn({ enforcementLevel: "${level}" }), zonesNeedPageShield()];
        new (require("@pulumi/policy").PolicyPack)("edge", { policies });`,
      );
    project.write(`
      import { PageShieldSettings } from "pulumi-edgeguard";
      new PageShieldSettings("one", { zoneId: "${api.zones.empty}", enabled: false });
    `);
    program("mandatory");
    const refused = await project.run("preview", "--policy-pack", pack);
    expect(violationsIn(refused.text)).toEqual([
      "mandatory page-shield-stays-on one",
      "mandatory zones-need-page-shield one",
    ]);
    program("remediate");
    await project.ok("up", "--yes", "--skip-preview", "--policy-pack", pack);
    const settings = async (): Promise<unknown> => {
      const { result } = await rawSend(api, "GET", `/zones/${api.zones.empty}/page_shield`);
      return result;
    };
    expect(await settings()).toMatchObject({ enabled: true });
    await project.ok("preview", "--expect-no-changes", "--policy-pack", pack);
    await project.ok("refresh", "--yes", "--expect-no-changes");
    await project.ok("destroy", "--yes", "--skip-preview");
    expect(await settings()).toMatchObject({ enabled: false });
  },
);

/** Each once: `up` prints those of its preview again. */
function violationsIn(text: string): string[] {
  const found = [...text.matchAll(/\[(\w+)\] {2}([\w-]+) {2}\(.*: ([\w-]+)\)/g)];
  return [...new Set(found.map(([, ...words]) => words.join(" ")))].sort();
}

interface PlannedState {
  readonly type: string;
  readonly urn: string;
  readonly protect?: boolean;
  readonly inputs?: Readonly<Record<string, unknown>>;
}

/** As the engine hands a resource to a policy: without what begins with underscores. */
function asAnalyzed({ type, urn, protect = false, inputs = {} }: PlannedState): Analyzed {
  const all = Object.entries(inputs).filter(([name]) => !name.startsWith("__"));
  return { type, urn, protect, props: Object.fromEntries(all) };
}
