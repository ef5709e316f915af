import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isolatedEnvironment, LOCAL_ENGINE, pulumiCli, startLocalApi } from "edgeguard-local";
import { z } from "zod";
import { REPOSITORY } from "../support/engine";
import { blockWith, commandsOf, programsOf } from "../support/documents";
import { rawSend } from "../support/operation";

/** Runs the commands of the README and the guides as a reader would. */

const run = promisify(execFile);

/** The clone is this one, installed and built already. */
const [, PACK = "", COPY = "", INSTALL = "", SERVE = ""] = commandsOf(blockWith("npm pack"));
const PROGRAM = commandsOf(blockWith("npm install pulumi-edgeguard"));

let home: string;
let project: string;
/** The oldest SDK that the package allows; the newest compiler may not run on the oldest Node. */
function installing(line: string): string {
  return line
    .replace("@pulumi/pulumi typescript", "@pulumi/pulumi@3.216.0 typescript@5.9")
    .replace("npm install", "npm install --ignore-scripts --no-audit --no-fund --prefer-offline");
}

const requests = z.array(z.object({ method: z.string(), path: z.string(), fault: z.string().optional() }));

describe("a first install", () => {
  // An installation takes longer than all that is run on it: the second project begins with what the first one has.
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "edgeguard-readme-"));
    project = join(home, "own-project");
    mkdirSync(project);
    await run("sh", ["-e", "-c", `${PACK.replace(/ \.\.$/, ` ${home}`)} --ignore-scripts`], {
      cwd: REPOSITORY,
    });
    const tarball = readdirSync(home).find((name) => name.startsWith("pulumi-edgeguard-")) ?? "";
    writeFileSync(join(project, "package.json"), '{ "name": "own-project", "private": true }\n');
    const [install = ""] = PROGRAM; // The registry has no build of this clone.
    const command = installing(install.replace("pulumi-edgeguard", join(home, tarball)));
    await run("sh", ["-e", "-c", command], { cwd: project, env: isolatedEnvironment(home) });
  }, 240_000);
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  it("works in an empty project outside the repository, and the first program compiles and runs there", async () => {
    const api = await startLocalApi();
    const bin = join(home, "bin");
    for (const folder of [bin, join(home, "state")]) mkdirSync(folder);
    const cli = pulumiCli();
    if (cli === undefined) {
      const shim = LOCAL_ENGINE.command.map((part) => `"${part}"`).join(" ");
      writeFileSync(join(bin, "pulumi"), `#!/bin/sh\nexec ${shim} "$@"\n`);
      chmodSync(join(bin, "pulumi"), 0o755);
    }
    writeFileSync(join(project, "Pulumi.yaml"), "name: own-project\nruntime: nodejs\n");
    writeFileSync(
      join(project, "index.ts"),
      (programsOf("README.md")[0]?.text ?? "")
        .replace("0da42c8d2132a9ddaf714f9e7c920711", api.zones.empty)
        .replace("5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1", api.accounts.main),
    );
    const [, ...commands] = PROGRAM;
    try {
      const env = {
        ...isolatedEnvironment(home),
        PATH: `${bin}:${process.env["PATH"] ?? ""}`,
        CLOUDFLARE_API_TOKEN: "local-token",
        EDGEGUARD_BASE_URL: api.url,
        PULUMI_NODEJS_TRANSPILE_ONLY: "true", // Types are compared below, once and not in each of five runs.
      };
      const { stdout } = await run("sh", ["-e", "-c", commands.join("\n")], { cwd: project, env });
      expect(stdout).toMatch(/\+ 4 created/);
      const settings = await rawSend(api, "GET", `/zones/${api.zones.empty}/page_shield`);
      expect(settings.result).toMatchObject({ enabled: true });

      // The plan of what is applied, as a comment for a pull request.
      const report = commandsOf(blockWith("edgeguard report")).join("\n");
      const withBin = { ...env, PATH: `${join(project, "node_modules/.bin")}:${env.PATH}` };
      await run("sh", ["-e", "-c", report], { cwd: project, env: withBin });
      expect(readFileSync(join(project, "comment.md"), "utf8")).toMatch(
        /^<!-- edgeguard report own-project\/dev -->\n/,
      );

      // An empty directory becomes a project with what a zone has already; nothing is left to do.
      const brought = join(home, "brought-in");
      mkdirSync(brought);
      symlinkSync(join(project, "node_modules"), join(brought, "node_modules"));
      const bringIn = commandsOf(blockWith("edgeguard import"))
        .join("\n")
        .replace("TOKEN=…", "TOKEN=local-token")
        .replace("0da42c8d2132a9ddaf714f9e7c920711", api.zones.empty);
      const withAccount = {
        ...withBin,
        CLOUDFLARE_API_TOKEN: undefined,
        CLOUDFLARE_ACCOUNT_ID: api.accounts.main,
      };
      await run("sh", ["-e", "-c", bringIn], { cwd: brought, env: withAccount });
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

  it("runs an example on the packed local API and engine, including its simulated faults", async () => {
    const shop = join(home, "shop");
    const env = { ...isolatedEnvironment(join(home, "local")), PULUMI_NODEJS_TRANSPILE_ONLY: "true" };
    let server: ChildProcess | undefined;
    try {
      await run("sh", ["-e", "-c", COPY.replaceAll(" ../shop", ` ${shop}`)], { cwd: REPOSITORY });
      renameSync(join(project, "node_modules"), join(shop, "node_modules"));
      await run("sh", ["-e", "-c", installing(INSTALL)], { cwd: shop, env });

      server = spawn("sh", ["-c", `exec ${SERVE.replace("8787", "0")}`], { cwd: shop, env, detached: true });
      const url = await addressIn(server);
      const { host, origin } = new URL(url);
      const typed = ["npx edgeguard-local stack init", "curl"].flatMap((command) =>
        commandsOf(blockWith(command)),
      );
      const script = typed.join("\n").replaceAll("127.0.0.1:8787", host);
      const { stdout } = await run("sh", ["-e", "-c", script], { cwd: shop, env });
      expect(stdout).toMatch(/\+ 2 created/);
      expect(stdout).toMatch(/~ 1 updated/);
      expect(stdout).toContain('"POST /__local/faults"');

      const arrived = requests.parse(await (await fetch(`${origin}/__local/requests`)).json());
      expect(
        arrived.flatMap(({ method, fault }) => (fault === undefined ? [] : [`${method} ${fault}`])),
      ).toEqual(["GET status", "GET status", "PUT dropAfter"]);
      const zone = /zoneId (\w+)/.exec(script)?.[1] ?? "";
      const response = await fetch(`${url}/zones/${zone}/page_shield/policies`, {
        headers: { authorization: "Bearer local-token" },
      });
      expect(await response.json()).toMatchObject({
        result: expect.arrayContaining([
          expect.objectContaining({ description: "checkout", action: "allow" }) as object,
        ]) as object,
      });
    } finally {
      if (server?.pid !== undefined) {
        process.kill(-server.pid, "SIGINT"); // As a terminal does: to npx and to what it started.
        await once(server, "close");
      }
    }
  }, 240_000);
});

/** Where the local API says it is, once it has said everything. */
async function addressIn({ stdout }: ChildProcess): Promise<string> {
  let text = "";
  while (!text.includes("Ctrl-C")) {
    if (stdout === null) break;
    const [part] = (await once(stdout, "data")) as [Buffer];
    text += part.toString();
  }
  return /at (http:\S+)/.exec(text)?.[1] ?? "";
}
