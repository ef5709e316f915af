import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as rpc from "@pulumi/pulumi/proto/provider_pb";
import { apiPerTest, folderPerFile } from "../support/bench";
import { PluginClient } from "../plugin/client";
import { missingFor, PLUGIN } from "../plugin/project";
import { cliEngine, Project, REPOSITORY, summaryOf } from "../support/engine";
import { rawSend } from "../support/operation";
import { TOKEN } from "../support/scenario";
import { testUnless } from "../support/skip";

/** The provider plugin as it's published, in a folder that knows nothing of this repository. */

/** A guard against packing what nobody needs. */
const LIMIT_BYTES = 80_000;

const cli = cliEngine();
const onYaml = testUnless(missingFor("yaml"));

const api = apiPerTest();
const HOME = folderPerFile("packed");
const UNPACKED = join(HOME, "package");

beforeAll(() => {
  const run = (command: string, ...args: string[]): void => {
    execFileSync(command, args, { cwd: HOME, stdio: "ignore" });
  };
  const packages = ["--workspace", "plugin", "--workspace", "provider", "--prefix", REPOSITORY];
  run("npm", "pack", ...packages, "--ignore-scripts", "--pack-destination", HOME);
  run("tar", "-xzf", "pulumi-resource-edgeguard-0.1.0.tgz");
  // The provider comes from here until the registry has it.
  const provider = join(HOME, "pulumi-edgeguard-0.1.0.tgz");
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--no-save"];
  run("npm", "install", "--omit=dev", "--prefix", UNPACKED, provider, ...quiet);
}, 240_000);
test("the installed executable returns the schema, checks arguments and creates an object", async () => {
  expect(statSync(join(HOME, "pulumi-resource-edgeguard-0.1.0.tgz")).size).toBeLessThan(LIMIT_BYTES);
  const plugin = await PluginClient.start(
    { apiToken: TOKEN, baseUrl: api.url, accountId: api.accounts.main },
    { command: [join(UNPACKED, "pulumi-resource-edgeguard")] },
  );
  try {
    const answer: rpc.GetSchemaResponse = await plugin.call("getSchema", new rpc.GetSchemaRequest());
    expect(answer.getSchema()).toBe(readFileSync(join(PLUGIN, "schema.json"), "utf8"));
    const { failures } = await plugin.check("KvNamespace", "flags", { titel: "flags" });
    expect(failures.join()).toContain('unknown argument "titel"');
    const { id } = await plugin.create("KvNamespace", "flags", { title: "flags" });
    const path = `/accounts/${api.accounts.main}/storage/kv/namespaces/${id}`;
    expect((await rawSend(api, "GET", path)).result).toMatchObject({ id, title: "flags" });
  } finally {
    plugin.stop();
  }
});

const FLAGS = "resources:\n  flags:\n    type: edgeguard:KvNamespace\n    properties:\n      title: flags\n";

onYaml(
  "its entry in `packages` is restored on another machine by npm install, then pulumi install",
  async () => {
    if (cli === undefined) return;
    const project = new Project(cli, "restored");
    const npmInstall = (): void => {
      const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
      execFileSync("npm", ["install", "--prefix", ".", ...quiet], { cwd: project.dir, stdio: "ignore" });
    };
    try {
      const dependencies = { "pulumi-resource-edgeguard": `file:${UNPACKED}` };
      writeFileSync(join(project.dir, "package.json"), JSON.stringify({ private: true, dependencies }));
      writeFileSync(join(project.dir, "Pulumi.yaml"), `name: restored\nruntime: yaml\n${FLAGS}`);
      npmInstall();
      project.env = { CLOUDFLARE_API_TOKEN: TOKEN, CLOUDFLARE_ACCOUNT_ID: api.accounts.main };
      await project.init({ "edgeguard:baseUrl": api.url });
      await project.ok("package", "add", "./node_modules/pulumi-resource-edgeguard");
      expect(readFileSync(join(project.dir, "Pulumi.yaml"), "utf8")).toContain(
        "packages:\n  edgeguard: ./node_modules/pulumi-resource-edgeguard\n",
      );
      rmSync(join(project.dir, "node_modules"), { recursive: true }); // As a colleague's clone lacks it.
      expect((await project.run("install")).code).not.toBe(0);
      npmInstall();
      await project.ok("install");
      expect(summaryOf((await project.ok("preview")).text)).toEqual({ create: 2 });
    } finally {
      project.remove();
    }
  },
);

onYaml(
  "an archive of it is installed by Pulumi's CLI, and a program without a path finds it and can add it",
  async () => {
    if (cli === undefined) return;
    rmSync(join(UNPACKED, "PulumiPlugin.yaml"));
    const archive = join(HOME, "edgeguard.tar.gz");
    execFileSync("tar", ["-czf", archive, "-C", UNPACKED, "."]);
    const project = new Project(cli, "archive");
    try {
      writeFileSync(join(project.dir, "Pulumi.yaml"), `name: archive\nruntime: yaml\n${FLAGS}`);
      project.env = { CLOUDFLARE_API_TOKEN: TOKEN, CLOUDFLARE_ACCOUNT_ID: api.accounts.main };
      await project.init({ "edgeguard:baseUrl": api.url });
      await project.ok("plugin", "install", "resource", "edgeguard", "0.1.0", "--file", archive);
      await project.ok("package", "add", "edgeguard@0.1.0");
      expect(readFileSync(join(project.dir, "Pulumi.yaml"), "utf8")).toContain(
        "edgeguard: edgeguard@0.1.0\n",
      );
      expect(summaryOf((await project.ok("up", "--yes", "--skip-preview")).text)).toEqual({ create: 2 });
      await project.ok("destroy", "--yes", "--skip-preview");
    } finally {
      project.remove();
    }
  },
);
