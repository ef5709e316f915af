import { cpSync, existsSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { LocalApi } from "edgeguard-local";
import { apiPerFile, folderPerFile } from "../support/bench";
import ts from "typescript";
import { report } from "../../provider/report";
import { edgeguardResources, engines, Project, REPOSITORY } from "../support/engine";
import { packedModules } from "../support/packed";
import { LONG } from "../support/long";

/** Copies each example out of the repository, compiles and applies it, and expects no changes afterwards. */

interface Example {
  /** Its resources, by class. */
  readonly makes: readonly string[];
  /** Classes that turn something off, or block: a preview without live checks can't rule out a loss. */
  readonly mayLose?: readonly string[];
  readonly config: (api: LocalApi) => Record<string, string>;
}

const TOKEN = "local-token";
const FOLDER = join(REPOSITORY, "examples");

const HOME = folderPerFile("examples");
let modules: string;
beforeAll(() => {
  modules = packedModules(HOME);
});

const EXAMPLES: Readonly<Record<string, Example>> = {
  "page-shield-settings": {
    makes: ["PageShieldSettings"],
    mayLose: ["PageShieldSettings"],
    config: (api) => ({ zoneId: api.zones.empty }),
  },
  "page-shield-policy": {
    makes: ["PageShieldPolicy"],
    mayLose: ["PageShieldPolicy"],
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

/** Without EDGEGUARD_TEST_LONG=1, only the two largest are applied. The demo applies edge-site. */
const APPLIED = Object.entries(EXAMPLES).filter(
  ([name]) => LONG || ["logpush-job", "kv-entries"].includes(name),
);

it("tests every example that's a program", () => {
  const others = ["edge-site", "many-zones", "pipelines", "policy-pack", "python", "yaml"]; // The demo and other tests run these.
  const folders = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).sort()).toEqual([...Object.keys(EXAMPLES), ...others].sort());
});

it("every example compiles in its own directory, with the packed package", () => {
  const compiled = readdirSync(FOLDER).filter((name) => existsSync(join(FOLDER, name, "tsconfig.json")));
  const parsed = new Map<string, ts.SourceFile | undefined>();
  for (const name of compiled) {
    const copy = join(HOME, name);
    cpSync(join(FOLDER, name), copy, { recursive: true });
    symlinkSync(modules, join(copy, "node_modules"));
    expect({ name, found: mistakesIn(copy, parsed) }).toEqual({ name, found: [] });
  }
  expect(compiled).toEqual(expect.arrayContaining([...Object.keys(EXAMPLES), "edge-site", "many-zones"]));
  expect([...parsed.keys()].filter((file) => file.startsWith(join(REPOSITORY, "provider")))).toEqual([]);
});

describe.each(engines())("on $name", (engine) => {
  const api = apiPerFile();

  it.each(APPLIED)(
    "after %s is applied, a preview shows no changes",
    async (name, { makes, mayLose = [], config }) => {
      const project = new Project(engine, name);
      try {
        project.copy(join(FOLDER, name), modules);
        // Types are checked once, above.
        project.env = { CLOUDFLARE_API_TOKEN: TOKEN, PULUMI_NODEJS_TRANSPILE_ONLY: "true" };
        await project.init({
          "edgeguard:baseUrl": api.url,
          "edgeguard:accountId": api.accounts.main,
          ...config(api),
        });
        for (const liveChecks of ["false", "true"]) {
          await project.ok("config", "set", "edgeguard:liveChecks", liveChecks);
          const { stdout } = await project.run(
            "preview",
            "--json",
            "--show-sames",
            "--show-replacement-steps",
          );
          const { dangers } = report(stdout, "json");
          const unseen = dangers.filter(({ kind }) => kind === "unseen").map(({ type }) => type);
          expect(unseen).toEqual(liveChecks === "false" ? mayLose : []);
        }
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

/** Compile errors in a folder with its own tsconfig.json. Shared files are parsed once. */
function mistakesIn(folder: string, parsed: Map<string, ts.SourceFile | undefined>): string[] {
  const file = join(folder, "tsconfig.json");
  const read = ts.readConfigFile(file, (path) => ts.sys.readFile(path));
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(read.config, ts.sys, folder);
  const reader = ts.createCompilerHost(options);
  const getSourceFile: typeof reader.getSourceFile = (path, ...rest) => {
    if (!parsed.has(path)) parsed.set(path, reader.getSourceFile(path, ...rest));
    return parsed.get(path);
  };
  const host = { ...reader, getSourceFile };
  const program = ts.createProgram({ rootNames: fileNames, options, host });
  return [...errors, ...ts.getPreEmitDiagnostics(program)].map(
    ({ file: where, messageText }) =>
      `${where?.fileName ?? file}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
  );
}
