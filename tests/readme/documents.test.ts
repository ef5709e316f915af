import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startLocalApi } from "edgeguard-local";
import { REPOSITORY } from "../support/engine";
import { blockWith, commandsOf, DOCUMENTS, shellOf } from "../support/documents";

/** The README and the guides are promises: each command runs in a test as a reader would type it. tests/docs compiles their programs. */

const run = promisify(execFile);

const DEMO = ["npm ci && npm run demo"];
const REPORT = [
  "pulumi preview --json --show-sames > plan.json",
  "edgeguard report plan.json --fail-on irreversible,unprotect,removes > comment.md",
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
      "edgeguard import --zone 0da42c8d2132a9ddaf714f9e7c920711",
      "pulumi import --file import.json --yes --protect=false --generate-code=false",
      "pulumi preview --expect-no-changes",
    ],
    REPORT,
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
  "docs/guides/pipelines.md": [REPORT],
  "docs/guides/policy-from-detections.md": [[expect.stringMatching(/^edgeguard detections save /)]],
  "docs/guides/rules-logs-kv.md": [
    [expect.stringMatching(/^edgeguard filter '/)],
    Array.from({ length: 8 }, () => expect.stringMatching(/^edgeguard kv /) as string),
  ],
};

describe("the README and the guides", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "edgeguard-readme-"));
    const bin = join(REPOSITORY, "provider/dist/cli/main.js");
    writeFileSync(join(home, "edgeguard"), `#!/bin/sh\nexec node "${bin}" "$@"\n`, { mode: 0o755 });
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it.each(DOCUMENTS)("%s only has commands that a test runs", (document) => {
    expect(shellOf(document).map(commandsOf)).toEqual(COMMANDS[document] ?? []);
  });

  it("keeps the README within 200 lines", () => {
    expect(readFileSync(join(REPOSITORY, "README.md"), "utf8").split("\n").length).toBeLessThanOrEqual(200);
  });

  it("edits KV data with the commands that the guide shows", async () => {
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
      expect(readFileSync(join(home, ".edgeguard/local-api/kv", `${made?.id ?? ""}.jsonl`), "utf8")).toMatch(
        /"hello"/,
      );
    } finally {
      await api.close();
    }
  });

  it("saves detections with the command that the guide shows", async () => {
    const api = await startLocalApi();
    try {
      const script = commandsOf(blockWith("edgeguard detections")).join("\n");
      const env = {
        PATH: `${home}:${process.env["PATH"] ?? ""}`,
        CLOUDFLARE_API_TOKEN: "local-token",
        EDGEGUARD_BASE_URL: api.url,
      };
      const ofShop = script.replace("0da42c8d2132a9ddaf714f9e7c920711", api.zones.shop);
      await run("sh", ["-e", "-c", ofShop], { cwd: home, env });
      expect(readFileSync(join(home, "detections.json"), "utf8")).toContain(
        "https://try.experiments.example/ab.js",
      );
    } finally {
      await api.close();
    }
  });

  it("tests log lines with the filter command that the guide shows", async () => {
    const lines = [200, 500, 503].map((EdgeResponseStatus) => JSON.stringify({ EdgeResponseStatus }));
    writeFileSync(join(home, "sample.ndjson"), lines.join("\n"));
    const { stdout } = await run("sh", ["-e", "-c", commandsOf(blockWith("edgeguard filter")).join("\n")], {
      cwd: home,
      env: { PATH: `${home}:${process.env["PATH"] ?? ""}` },
    });
    expect(stdout).toMatch(/2 of 3 lines pass/);
  });

  it("uses only commands that npm can link before anything is built", async () => {
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

  it("runs npm cit with .ci/run, word for word", () => {
    expect(readFileSync(join(REPOSITORY, ".ci/run"), "utf8")).toMatch(/^stage "install and test" npm cit$/m);
  });
});
