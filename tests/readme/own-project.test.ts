import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isolatedEnvironment, LOCAL_ENGINE, pulumiCli, startLocalApi } from "edgeguard-local";
import { REPOSITORY } from "../support/engine";
import { blockWith, commandsOf, programs } from "../support/readme";
import { raw } from "../support/scenario";

/** The README is a promise: its programs compile, and each of its commands is run here as a reader would. */

const run = promisify(execFile);
describe("the README in a project of one's own", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "edgeguard-readme-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it("installs in an empty project outside the repository and runs its first program there, with types", async () => {
    const api = await startLocalApi();
    const project = join(home, "own-project");
    const bin = join(home, "bin");
    for (const folder of [project, bin, join(home, "state")]) mkdirSync(folder);
    const cli = pulumiCli();
    if (cli === undefined) {
      const shim = LOCAL_ENGINE.command.map((part) => `"${part}"`).join(" ");
      writeFileSync(join(bin, "pulumi"), `#!/bin/sh\nexec ${shim} "$@"\n`);
      chmodSync(join(bin, "pulumi"), 0o755);
    }
    const packed = await run(
      "npm",
      ["pack", "--workspace", "provider", "--pack-destination", home, "--json", "--silent"],
      { cwd: REPOSITORY },
    );
    const tarball = join(home, filenameOf(packed.stdout));

    writeFileSync(join(project, "package.json"), '{ "name": "own-project", "private": true }\n');
    writeFileSync(join(project, "Pulumi.yaml"), "name: own-project\nruntime: nodejs\n");
    writeFileSync(
      join(project, "index.ts"),
      (programs[0]?.text ?? "").replace("0da42c8d2132a9ddaf714f9e7c920711", api.zones.empty),
    );
    const block = blockWith("npm install");
    const script = commandsOf(block)
      // The registry has neither this build nor, for the oldest Node, a newest SDK that runs on it.
      .map((line) =>
        line.replace(
          "npm install pulumi-edgeguard @pulumi/pulumi typescript",
          `npm install --no-audit --no-fund --prefer-offline "${tarball}" @pulumi/pulumi@3.248.0 typescript@5.9`,
        ),
      )
      .join("\n");
    try {
      const env = {
        ...isolatedEnvironment(home),
        PATH: `${bin}:${process.env["PATH"] ?? ""}`,
        CLOUDFLARE_API_TOKEN: "local-token",
        EDGEGUARD_BASE_URL: api.url,
        PULUMI_NODEJS_TRANSPILE_ONLY: "true", // Types are compared below, once and not in each of five runs.
      };
      const { stdout } = await run("sh", ["-e", "-c", script], { cwd: project, env });
      expect(stdout).toMatch(/\+ 3 created/);
      const settings = await raw(api, "GET", `/zones/${api.zones.empty}/page_shield`);
      expect(settings.result).toMatchObject({ enabled: true });

      // The plan of what is applied, as a comment for a pull request.
      const report = commandsOf(blockWith("edgeguard report")).join("\n");
      const withBin = { ...env, PATH: `${join(project, "node_modules/.bin")}:${env.PATH}` };
      await run("sh", ["-e", "-c", report], { cwd: project, env: withBin });
      expect(readFileSync(join(project, "comment.md"), "utf8")).toMatch(
        /^<!-- edgeguard report own-project\/dev -->\n/,
      );

      // Another stack is given what a zone has already; nothing is left to do.
      const brought = join(home, "brought-in");
      mkdirSync(brought);
      writeFileSync(join(brought, "package.json"), '{ "name": "brought-in", "private": true }\n');
      writeFileSync(join(brought, "Pulumi.yaml"), "name: brought-in\nruntime: nodejs\n");
      symlinkSync(join(project, "node_modules"), join(brought, "node_modules"));
      const bringIn = commandsOf(blockWith("edgeguard import"))
        .join("\n")
        .replace("0da42c8d2132a9ddaf714f9e7c920711", api.zones.empty);
      const withAccount = { ...withBin, CLOUDFLARE_ACCOUNT_ID: api.accounts.main };
      await run("sh", ["-e", "-c", `pulumi stack init dev\n${bringIn}`], { cwd: brought, env: withAccount });
      expect(readFileSync(join(brought, "index.ts"), "utf8")).toContain("new PageShieldPolicy(");

      // Types: a right program compiles, a wrong one beside it does not.
      writeFileSync(
        join(project, "wrong.ts"),
        readFileSync(join(project, "index.ts"), "utf8").replace('action: "log"', "action: true"),
      );
      const tsc = join(project, "node_modules/.bin/tsc");
      const flags = ["--noEmit", "--strict", "--module", "node16", "--target", "es2022", "--skipLibCheck"];
      const compiling = run(tsc, [...flags, "index.ts", "wrong.ts"], { cwd: project });
      await expect(compiling).rejects.toMatchObject({
        stdout: expect.stringMatching(/^(wrong\.ts\(\d+,\d+\): error TS2322: .*\n( .*\n)*)+$/) as string,
      });
    } finally {
      await api.close();
    }
  }, 240_000);
});

/** The file's name in what npm pack prints. */
function filenameOf(json: string): string {
  const [first] = JSON.parse(json) as { filename: string }[];
  return first?.filename ?? "";
}
