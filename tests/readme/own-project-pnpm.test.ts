import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isolatedEnvironment, startLocalApi, type EngineCommand, type LocalApi } from "edgeguard-local";
import { folderPerFile } from "../support/bench";
import { edgeguardResources, engines, Project, REPOSITORY } from "../support/engine";
import { rawSend } from "../support/operation";

/**
 * A program, installed by pnpm, that uses pulumi-edgeguard only through a company's component package. The provider host
 * finds it if it's also a dependency of the program, or hoisted.
 */

const PNPM = "pnpm@10.34.9"; // The last that runs on Node 20.
const SDK = "3.248.0";

const HOME = folderPerFile("pnpm");
beforeAll(() => {
  const run = (cwd: string, command: string, ...args: readonly string[]): string =>
    execFileSync(command, args, { cwd, env: isolatedEnvironment(HOME), encoding: "utf8" });
  const packed = ["--pack-destination", HOME, "--ignore-scripts", "--silent"];
  run(REPOSITORY, "npm", "pack", "--workspace", "provider", ...packed);
  const tarball = readdirSync(HOME).find((name) => name.startsWith("pulumi-edgeguard-")) ?? "";

  const component = join(HOME, "component");
  write(component, "package.json", {
    name: "@company/edge",
    version: "1.0.0",
    dependencies: { "pulumi-edgeguard": "*" },
    peerDependencies: { "@pulumi/pulumi": "*" },
  });
  write(
    component,
    "index.js",
    `const pulumi = require("@pulumi/pulumi");
    const { PageShieldSettings } = require("pulumi-edgeguard");
    exports.Shop = class extends pulumi.ComponentResource {
      constructor(name, { zoneId }) {
        super("company:Shop", name);
        new PageShieldSettings(name, { zoneId, enabled: true }, { parent: this });
      }
    };`,
  );
  run(component, "npm", "pack", ...packed);

  const app = {
    name: "app",
    private: true,
    main: "index.js",
    dependencies: { "@pulumi/pulumi": SDK, "@company/edge": "file:../company-edge-1.0.0.tgz" },
    pnpm: { overrides: { "pulumi-edgeguard": `file:../${tarball}` } }, // The registry has no build of this clone.
  };
  const direct = { ...app, dependencies: { ...app.dependencies, "pulumi-edgeguard": "*" } };
  for (const [name, manifest] of Object.entries({ alone: app, direct, hoisted: app })) {
    const folder = join(HOME, name);
    write(folder, "package.json", manifest);
    if (name === "hoisted") write(folder, ".npmrc", "public-hoist-pattern[]=pulumi-edgeguard\n");
    const install = ["install", "--ignore-scripts", "--prefer-offline"];
    run(folder, "npm", "exec", "--yes", PNPM, "--", ...install);
  }

  const program = join(HOME, "program");
  write(program, "package.json", app);
  write(program, "Pulumi.yaml", "name: app\nruntime:\n  name: nodejs\n  options:\n    typescript: false\n");
  write(
    program,
    "index.js",
    `const { Shop } = require("@company/edge");
    new Shop("shop", { zoneId: new (require("@pulumi/pulumi").Config)().require("zoneId") });`,
  );
}, 240_000);

function write(folder: string, file: string, content: object | string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), typeof content === "string" ? content : JSON.stringify(content));
}

/** Runs the program with the packages of one of the installations. */
async function withPackages(
  engine: EngineCommand,
  installation: string,
  work: (project: Project, api: LocalApi) => Promise<void>,
): Promise<void> {
  const api = await startLocalApi();
  const project = new Project(engine, "app");
  try {
    project.copy(join(HOME, "program"), join(HOME, installation, "node_modules"));
    project.env = { CLOUDFLARE_API_TOKEN: "local-token" };
    await project.init({ zoneId: api.zones.empty, "edgeguard:baseUrl": api.url });
    await work(project, api);
  } finally {
    project.remove();
    await api.close();
  }
}

test.each(engines())(
  "the preview on $name says what to do if pnpm links pulumi-edgeguard only into the component",
  (engine) =>
    withPackages(engine, "alone", async (project) => {
      const { code, text } = await project.run("preview");
      expect(code).not.toBe(0);
      expect(text).toMatch(/Add pulumi-edgeguard to the program's own dependencies .*publicHoistPattern/s);
    }),
  240_000,
);

test.each(
  engines().flatMap((engine) =>
    ["direct", "hoisted"].map((remedy) => ({ remedy, engine, name: engine.name })),
  ),
)(
  "creates, refreshes and destroys the component's resource on $name with the package $remedy, and keeps this machine's paths out of state",
  ({ engine, remedy }) =>
    withPackages(engine, remedy, async (project, api) => {
      const settings = (): Promise<unknown> => rawSend(api, "GET", `/zones/${api.zones.empty}/page_shield`);
      await project.ok("up", "--yes", "--skip-preview");
      expect(await settings()).toMatchObject({ result: { enabled: true } });
      const [resource] = edgeguardResources(await project.export()).values();
      const state = JSON.stringify([resource?.inputs, resource?.outputs]);
      expect([HOME, project.dir, tmpdir()].filter((path) => state.includes(path))).toEqual([]);
      await project.ok("refresh", "--yes", "--skip-preview");
      await project.ok("destroy", "--yes", "--skip-preview");
      expect(await settings()).toMatchObject({ result: { enabled: false } });
    }),
  240_000,
);
