import { execFile, execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isolatedEnvironment, LOCAL_ENGINE, pulumiCli, startLocalApi } from "edgeguard-local";
import { REPOSITORY } from "./support/engine";
import { blocksOf, commandsOf, type Block } from "./support/readme";
import { raw } from "./support/scenario";

/** The README is a promise: its programs compile, and each of its commands is run here as a reader would. */

const run = promisify(execFile);
const blocks = blocksOf("README.md");
const programs = blocks.filter((b) => b.language === "ts");
const shell = blocks.filter((b) => b.language === "sh");

const blockWith = (command: string): Block => {
  const found = shell.find((b) => b.text.includes(command));
  if (found === undefined) throw new Error(`the README has no block with ${command}`);
  return found;
};

describe("the README", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "edgeguard-readme-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it("has no command that is not run by a test", () => {
    expect(shell.map(commandsOf)).toEqual([
      ["npm ci && npm run demo", "npm cit"],
      [
        expect.stringMatching(/^npm install pulumi-edgeguard /),
        "pulumi stack init dev",
        expect.stringMatching(/^pulumi config set --secret edgeguard:apiToken /),
        "pulumi preview",
        "pulumi up --yes",
      ],
      [
        "pulumi preview --json --show-sames > plan.json",
        "edgeguard report plan.json --fail-on irreversible,unprotect > comment.md",
      ],
      [
        "edgeguard import --zone 0da42c8d2132a9ddaf714f9e7c920711",
        "pulumi import --file import.json --yes --protect=false --generate-code=false",
        "pulumi preview --expect-no-changes",
      ],
      Array.from({ length: 8 }, () => expect.stringMatching(/^edgeguard kv /) as string),
      ["npm run local-api -- --port 8787"],
    ]);
  });

  it("works on key-value data with the commands it shows", async () => {
    const api = await startLocalApi();
    const bin = join(REPOSITORY, "provider/dist/cli/main.js");
    writeFileSync(join(home, "edgeguard"), `#!/bin/sh\nexec node "${bin}" "$@"\n`, { mode: 0o755 });
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
  }, 60_000);

  it("tells the whole story with npm run demo, and leaves nothing behind", async () => {
    const temporary = join(home, "tmp");
    mkdirSync(temporary);
    const { stdout } = await run("npm", ["run", "demo"], {
      cwd: REPOSITORY,
      env: { ...process.env, TMPDIR: temporary },
    });
    expect(stdout).toMatch(
      pulumiCli() === undefined
        ? /engine\s+the local engine \(no pulumi on PATH\)/
        : /engine\s+the Pulumi CLI/,
    );
    for (const point of [
      "A preview only reads",
      "only the migration that is assessed was looked at again",
      "Both edits are found",
      "One request wrote the two entries",
      "One sentence says what is wrong",
      "wouldBlock",
      "log lines through the filter",
      "what they were before",
    ]) {
      expect(stdout).toContain(point);
    }
    expect(
      execFileSync("find", [temporary, "-mindepth", "1", "-name", "edgeguard-*"], { encoding: "utf8" }),
    ).toBe("");
  }, 120_000);

  it("ends the demo cleanly on Ctrl-C", async () => {
    const demo = spawn(process.execPath, ["local/dist/demo/main.js", "--local-engine"], {
      cwd: REPOSITORY,
      env: { ...process.env, TMPDIR: home },
    });
    let text = "";
    await new Promise<void>((seen) =>
      demo.stdout.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes("$ pulumi preview")) seen();
      }),
    );
    demo.kill("SIGINT");
    const code = await new Promise((done) => demo.on("close", done));
    expect(code).toBe(130);
    expect(execFileSync("find", [home, "-mindepth", "1", "-name", "edgeguard-*"], { encoding: "utf8" })).toBe(
      "",
    );
  }, 60_000);

  it("has npm cit run by .ci/run, as it stands", () => {
    expect(readFileSync(join(REPOSITORY, ".ci/run"), "utf8")).toMatch(/^stage "install and test" npm cit$/m);
  });

  it("starts the local API, which prints how to point a program at it", async () => {
    const [command = ""] = commandsOf(blockWith("local-api"));
    const api = spawn("sh", ["-c", `exec ${command.replace("8787", "0")}`], {
      cwd: REPOSITORY,
      detached: true,
    });
    let text = "";
    const printed = new Promise<void>((seen) =>
      api.stdout.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes("Ctrl-C")) seen();
      }),
    );
    await printed;
    expect(text).toMatch(/pulumi config set edgeguard:baseUrl http:\/\/127\.0\.0\.1:\d+\/client\/v4/);
    expect(text).toMatch(/pulumi config set --secret edgeguard:apiToken/);
    process.kill(-(api.pid ?? 0), "SIGINT"); // As a terminal does: to npm and to what it started.
    await new Promise((done) => api.on("close", done));
  }, 30_000);

  it("has programs that compile in strict mode", async () => {
    symlinkSync(join(REPOSITORY, "node_modules"), join(home, "node_modules"));
    for (const [index, { text }] of programs.entries())
      writeFileSync(join(home, `program-${index}.ts`), text);
    writeFileSync(
      join(home, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          noEmit: true,
          module: "node16",
          target: "es2022",
          exactOptionalPropertyTypes: true,
          skipLibCheck: true,
          types: ["node"],
        },
        include: ["*.ts"],
      }),
    );
    await run(join(REPOSITORY, "node_modules/.bin/tsc"), ["--project", home]);
    expect(programs.length).toBeGreaterThanOrEqual(2);
  }, 60_000);

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

      // Types: a right program compiles, a wrong one does not.
      const tsc = join(project, "node_modules/.bin/tsc");
      const flags = ["--noEmit", "--strict", "--module", "node16", "--target", "es2022", "--skipLibCheck"];
      await run(tsc, [...flags, "index.ts"], { cwd: project });
      writeFileSync(
        join(project, "wrong.ts"),
        readFileSync(join(project, "index.ts"), "utf8").replace('action: "log"', 'action: "block"'),
      );
      await expect(run(tsc, [...flags, "wrong.ts"], { cwd: project })).rejects.toThrow(/Command failed/);
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
