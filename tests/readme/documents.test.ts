import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { startLocalApi } from "edgeguard-local";
import { folderPerTest } from "../support/bench";
import { REPOSITORY } from "../support/engine";
import { blockWith, commandsOf, DOCUMENTS, shellOf } from "../support/documents";

/** The README and the guides are promises: each command runs in a test as a reader would type it. tests/docs compiles their programs. */

const run = promisify(execFile);

const DEMO = ["npm ci && npm run demo"];
const REPORT = [
  "pulumi preview --json --show-sames --show-replacement-steps > plan.json",
  "edgeguard report plan.json --fail-on irreversible,unprotect,blocks,removes,unseen > comment.md",
];

const DRIFT = [
  "pulumi preview --refresh --json --show-sames > refreshed.json",
  "edgeguard report --drift refreshed.json > drift.md",
];

/** The commands of each document, block by block. Add a command here only with a test that runs it. */
const COMMANDS: Readonly<Record<string, readonly unknown[]>> = {
  "README.md": [
    [...DEMO, "npm cit"],
    [
      expect.stringMatching(/^npm install pulumi-edgeguard /),
      "pulumi stack init dev",
      expect.stringMatching(/^pulumi config set --secret edgeguard:apiToken /),
      "pulumi preview",
      "pulumi up --yes",
    ],
    [
      "export CLOUDFLARE_API_TOKEN=…",
      "edgeguard import --zone 0da42c8d2132a9ddaf714f9e7c920711",
      "pulumi stack init dev",
      "pulumi import --file import.json --yes --protect=false --generate-code=false",
      "pulumi preview --expect-no-changes",
    ],
    REPORT,
  ],
  "docs/guides/coming-from-terraform.md": [
    ["export CLOUDFLARE_API_TOKEN=…", "terraform show -json | edgeguard import --from - --out ../edge"],
    ["pulumi stack export | edgeguard import --from - --out ../edge"],
  ],
  // Pulumi Cloud and the other systems' machines aren't available: what the commands use is in tests/examples.
  "docs/guides/deployments.md": [
    ["cp -r ci <your repository>/ci", "cp gitlab/.gitlab-ci.yml <your repository>/"],
    ["cp -r ci <your repository>/ci", "cp bitbucket/bitbucket-pipelines.yml <your repository>/"],
    [
      expect.stringMatching(/^pulumi env init .* --file environment\.yaml$/),
      expect.stringMatching(/^pulumi env set .* cloudflare\.apiToken --secret --string --file token\.txt$/),
      "rm token.txt",
    ],
    [
      expect.stringMatching(/^pulumi env run .* -- ci\/pipeline\.sh preview$/),
      expect.stringMatching(/^pulumi env run .* -- ci\/pipeline\.sh apply$/),
    ],
    ["deployments.sh acme/edge/production acme/infra"],
  ],
  "docs/guides/first-hour.md": [
    DEMO,
    [
      "npm ci",
      "npm pack --workspaces --pack-destination ..",
      "cp -r examples/page-shield-policy ../shop && cd ../shop",
      expect.stringMatching(/^npm install \.\.\/pulumi-edgeguard-\*\.tgz \.\.\/edgeguard-local-\*\.tgz /),
      "npx edgeguard-local api --port 8787",
    ],
    [
      expect.stringMatching(/^export EDGEGUARD_BASE_URL=/),
      expect.stringMatching(/^export PULUMI_BACKEND_URL=/),
      "mkdir state",
      "npx edgeguard-local stack init dev",
      expect.stringMatching(/^npx edgeguard-local config set zoneId /),
      "npx edgeguard-local up --yes",
    ],
    [
      expect.stringMatching(/^curl -X POST .*"status"/),
      "npx edgeguard-local refresh --yes",
      expect.stringMatching(/^curl -X POST .*"dropAfter"/),
      "npx edgeguard-local config set action allow",
      "npx edgeguard-local up --yes",
      "curl http://127.0.0.1:8787/__local",
    ],
  ],
  "docs/guides/other-languages.md": [
    ["npm install pulumi-resource-edgeguard"], // this and the archive: tests/package
    [
      "npm pack pulumi-resource-edgeguard",
      "tar -xzf pulumi-resource-edgeguard-0.1.0.tgz",
      "npm install --omit=dev --prefix package",
      "rm package/PulumiPlugin.yaml",
      "tar -czf edgeguard.tar.gz -C package .",
      "pulumi plugin install resource edgeguard 0.1.0 --file edgeguard.tar.gz",
    ],
    [expect.stringMatching(/^pulumi package add /)], // tests/plugin
    [expect.stringMatching(/^npx .* import .* --for plugin --language yaml /)], // tests/import
    [expect.stringMatching(/^pulumi import edgeguard:index:PageShieldPolicy /)], // tests/plugin
    [expect.stringMatching(/^pulumi do --package .* edgeguard:index:LogpushJob list /)], // tests/plugin
  ],
  "docs/installation-configuration.md": [
    ["npm install pulumi-resource-edgeguard", expect.stringMatching(/^pulumi package add /)], // as in the guide
    [expect.stringMatching(/^pulumi plugin install resource edgeguard --server github:/)], // needs a release: tests/package
    [
      expect.stringMatching(/^pulumi config set --secret edgeguard:apiToken /),
      expect.stringMatching(/^pulumi config set edgeguard:accountId /),
    ],
    [
      expect.stringMatching(/^export CLOUDFLARE_API_TOKEN=/),
      expect.stringMatching(/^export CLOUDFLARE_ACCOUNT_ID=/),
    ],
  ],
  "docs/guides/many-zones.md": [[expect.stringMatching(/^pulumi state move --source .* --dest /)]], // tests/engine/move
  "docs/guides/pipelines.md": [REPORT, DRIFT],
  "docs/guides/rules-logs-kv.md": [
    [expect.stringMatching(/^edgeguard filter '/)],
    Array.from({ length: 9 }, () => expect.stringMatching(/^edgeguard kv /) as string),
  ],
  "docs/guides/script-inventory.md": [
    [
      expect.stringMatching(/^edgeguard inventory propose --zone /),
      expect.stringMatching(/^edgeguard inventory check --zone /),
    ],
    [expect.stringMatching(/^edgeguard inventory check .* --evidence evidence$/)],
    [
      expect.stringMatching(/^edgeguard inventory check .* --format json > check\.json \|\| true$/),
      "edgeguard report plan.json --inventory check.json > comment.md",
    ],
  ],
  "docs/guides/survey.md": [
    ["export CLOUDFLARE_API_TOKEN=…", "edgeguard survey"],
    ["edgeguard survey diff 2026-10/survey.json 2026-11/survey.json"],
    ["edgeguard survey --stack infra --stack exported-state.json"],
    ["edgeguard survey --resume"], // tests/survey
  ],
};

describe("in the documents", () => {
  const home = folderPerTest("readme");
  beforeEach(() => {
    const bin = join(REPOSITORY, "provider/dist/cli/main.js");
    writeFileSync(join(home, "edgeguard"), `#!/bin/sh\nexec node "${bin}" "$@"\n`, { mode: 0o755 });
  });

  it.each(DOCUMENTS)("every command in %s is run by a test", (document) => {
    expect(shellOf(document).map(commandsOf)).toEqual(COMMANDS[document] ?? []);
  });

  it("the README has at most 200 lines", () => {
    expect(readFileSync(join(REPOSITORY, "README.md"), "utf8").split("\n").length).toBeLessThanOrEqual(200);
  });

  it("the guide's commands for KV data write, read and delete entries", async () => {
    const api = await startLocalApi();
    writeFileSync(
      join(home, "catalog.json"),
      '[{"key":"product/a","value":"1"},{"key":"other","value":"2"}]',
    );
    writeFileSync(join(home, "banner.png"), Buffer.from([0x89, 0x50, 0xff, 0]));
    try {
      const env = {
        PATH: `${home}:${process.env["PATH"] ?? ""}`,
        CLOUDFLARE_API_TOKEN: "local-token",
        CLOUDFLARE_ACCOUNT_ID: api.accounts.main,
        EDGEGUARD_BASE_URL: api.url,
      };
      const script = commandsOf(blockWith("edgeguard kv")).join("\n");
      await run("sh", ["-e", "-c", script], { cwd: home, env });
      const made = api.snapshot().kv?.namespaces.find(({ title }) => title === "CATALOG");
      expect(made?.entries.map(({ key }) => key).sort()).toEqual(["banner", "other"]);
      expect(readFileSync(join(home, "copy.png"))).toEqual(Buffer.from([0x89, 0x50, 0xff, 0]));
      expect(readFileSync(join(home, ".edgeguard/local-api/local-api.json"), "utf8")).toMatch(/"hello"/);
    } finally {
      await api.close();
    }
  });

  it("the guide's commands for a script inventory create it, write evidence and comment on a plan", async () => {
    const api = await startLocalApi();
    try {
      const env = {
        PATH: `${home}:${process.env["PATH"] ?? ""}`,
        CLOUDFLARE_API_TOKEN: "local-token",
        EDGEGUARD_BASE_URL: api.url,
      };
      const [start, evidence, comment] = shellOf("docs/guides/script-inventory.md").map((block) =>
        commandsOf(block).join("\n").replaceAll("0da42c8d2132a9ddaf714f9e7c920711", api.zones.shop),
      );
      const shell = (script = ""): Promise<unknown> => run("sh", ["-e", "-c", script], { cwd: home, env });
      await expect(shell(start)).rejects.toMatchObject({
        code: 1,
        stdout: expect.stringContaining("unapproved") as unknown,
      });
      expect(readFileSync(join(home, "script-inventory.yaml"), "utf8")).toContain("approval: null");
      await expect(shell(evidence)).rejects.toMatchObject({ code: 1 });
      expect(readdirSync(join(home, "evidence"))).toHaveLength(3);
      copyFileSync(join(REPOSITORY, "tests/report/fixtures/unchanged.json"), join(home, "plan.json"));
      await shell(comment);
      expect(readFileSync(join(home, "comment.md"), "utf8")).toContain("unapproved");
    } finally {
      await api.close();
    }
  });

  it("the guide's commands for surveys write a survey and compare two", async () => {
    const api = await startLocalApi();
    const stack = { version: 3, deployment: { manifest: {}, resources: [] } };
    writeFileSync(join(home, "exported-state.json"), JSON.stringify(stack));
    writeFileSync(join(home, "pulumi"), "#!/bin/sh\ncat ../exported-state.json\n", { mode: 0o755 });
    mkdirSync(join(home, "infra"));
    writeFileSync(join(home, "infra/Pulumi.yaml"), "name: infra\nruntime: nodejs\n");
    try {
      const env = {
        PATH: `${home}:${process.env["PATH"] ?? ""}`,
        EDGEGUARD_BASE_URL: api.url,
      };
      const [read, compare, marks] = shellOf("docs/guides/survey.md").map((block) =>
        commandsOf(block).join("\n").replace("=…", "=local-token"),
      );
      const shell = (script: string): Promise<{ stdout: string }> =>
        run("sh", ["-e", "-c", script], { cwd: home, env });
      await shell(`${read ?? ""}\ncp -r survey 2026-10\nmv survey 2026-11`);
      expect(readdirSync(join(home, "2026-11")).sort()).toEqual(["survey.csv", "survey.html", "survey.json"]);
      expect((await shell(compare ?? "")).stdout).toMatch(/no difference|nothing/i);
      await shell(`export CLOUDFLARE_API_TOKEN=local-token\n${marks ?? ""}`);
      expect(readFileSync(join(home, "survey/survey.json"), "utf8")).toContain("exported-state.json");
    } finally {
      await api.close();
    }
  });

  it("the guide's commands for coming from Terraform and from Pulumi write a program", async () => {
    const api = await startLocalApi();
    try {
      const type = "cloudflare_workers_kv_namespace";
      const values = { id: api.snapshot().kv?.namespaces[0]?.id, account_id: api.accounts.main };
      const old = { address: `${type}.a`, mode: "managed", type, provider_name: "cloudflare", values };
      const urn = "urn:pulumi:dev::old::cloudflare:index/workersKvNamespace:WorkersKvNamespace::a";
      const { id, account_id: accountId } = values;
      const resource = { urn, custom: true, type: urn.split("::")[2], id, outputs: { accountId } };
      const states = {
        terraform: { format_version: "1.0", values: { root_module: { resources: [old] } } },
        pulumi: { version: 3, deployment: { resources: [resource] } },
      };
      mkdirSync(join(home, "old"));
      for (const [tool, state] of Object.entries(states)) {
        const script = `#!/bin/sh\ncat <<'STATE'\n${JSON.stringify(state)}\nSTATE\n`;
        writeFileSync(join(home, tool), script, { mode: 0o755 });
      }
      const env = { PATH: `${home}:${process.env["PATH"] ?? ""}`, EDGEGUARD_BASE_URL: api.url };
      const [first = "", second = ""] = shellOf("docs/guides/coming-from-terraform.md").map((block) =>
        commandsOf(block).join("\n").replace("=…", "=local-token"),
      );
      const shell = async (script: string): Promise<string> =>
        (await run("sh", ["-e", "-c", script], { cwd: join(home, "old"), env })).stderr;
      expect(await shell(first)).toContain(`terraform state rm \\\n    '${type}.a'`);
      const again = `export CLOUDFLARE_API_TOKEN=local-token\nrm -r ../edge\n${second}`;
      expect(await shell(again)).toContain(`pulumi state delete --yes '${urn}'`);
      expect(readFileSync(join(home, "edge/index.ts"), "utf8")).toContain("new KvNamespace(");
    } finally {
      await api.close();
    }
  });

  it("the guide's commands for drift detect it", async () => {
    const plan = join(REPOSITORY, "tests/report/fixtures/drift/page-shield.json");
    writeFileSync(join(home, "pulumi"), `#!/bin/sh\ncat "${plan}"\n`, { mode: 0o755 });
    const env = { PATH: `${home}:${process.env["PATH"] ?? ""}` };
    await expect(run("sh", ["-e", "-c", DRIFT.join("\n")], { cwd: home, env })).rejects.toMatchObject({
      code: 3,
    });
    expect(readFileSync(join(home, "drift.md"), "utf8")).toContain("PageShieldPolicy");
  });

  it("the guide's command for filters tests log lines", async () => {
    const lines = [200, 500, 503].map((EdgeResponseStatus) => JSON.stringify({ EdgeResponseStatus }));
    writeFileSync(join(home, "sample.ndjson"), lines.join("\n"));
    const { stdout } = await run("sh", ["-e", "-c", commandsOf(blockWith("edgeguard filter")).join("\n")], {
      cwd: home,
      env: { PATH: `${home}:${process.env["PATH"] ?? ""}` },
    });
    expect(stdout).toMatch(/2 of 3 lines pass/);
  });

  it("the commands of both packages are committed files, so npm can link them before a build", async () => {
    const { stdout } = await run("git", ["ls-files", "provider/bin", "local/bin"], { cwd: REPOSITORY });
    expect(stdout).toBe("local/bin/edgeguard-local.js\nprovider/bin/edgeguard.js\n");
    for (const folder of ["provider", "local"]) {
      const { bin } = JSON.parse(readFileSync(join(REPOSITORY, folder, "package.json"), "utf8")) as {
        bin: Record<string, string>;
      };
      expect(stdout.split("\n")).toEqual(
        expect.arrayContaining(Object.values(bin).map((file) => `${folder}/${file}`)),
      );
    }
  });

  it('the stage "install and test" of .ci/run is exactly `npm cit`', () => {
    expect(readFileSync(join(REPOSITORY, ".ci/run"), "utf8")).toMatch(/^stage "install and test" npm cit$/m);
  });
});
