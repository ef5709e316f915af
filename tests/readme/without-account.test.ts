import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isolatedEnvironment } from "edgeguard-local";
import { z } from "zod";
import { REPOSITORY } from "../support/engine";
import { blockWith, commandsOf } from "../support/readme";

/** The README's section "Without an account", typed as it stands, on packed packages outside the repository. */

const run = promisify(execFile);

const requests = z.array(z.object({ method: z.string(), path: z.string(), fault: z.string().optional() }));

it("runs an example on the packed local API and engine, through the faults that it shows", async () => {
  const home = mkdtempSync(join(tmpdir(), "edgeguard-readme-"));
  const shop = join(home, "shop");
  const env = { ...isolatedEnvironment(home), PULUMI_NODEJS_TRANSPILE_ONLY: "true" };
  let server: ChildProcess | undefined;
  try {
    // The clone is this one, installed already; what the section puts beside it goes to a folder of the test's.
    const [, ...setUp] = commandsOf(blockWith("npm pack"));
    const serve = setUp.pop() ?? "";
    const inClone = setUp
      .map((line) => line.replace(/ \.\.$/, ` ${home}`).replaceAll(" ../shop", ` ${shop}`))
      // The registry's newest SDK and compiler may not run on the oldest Node.
      .map((line) => line.replace("@pulumi/pulumi typescript", "@pulumi/pulumi@3.248.0 typescript@5.9"))
      .map((line) => line.replace("npm install", "npm install --no-audit --no-fund --prefer-offline"));
    await run("sh", ["-e", "-c", inClone.join("\n")], { cwd: REPOSITORY, env });

    server = spawn("sh", ["-c", `exec ${serve.replace("8787", "0")}`], { cwd: shop, env, detached: true });
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
    const answer = await fetch(`${url}/zones/${zone}/page_shield/policies`, {
      headers: { authorization: "Bearer local-token" },
    });
    expect(await answer.json()).toMatchObject({
      result: expect.arrayContaining([
        expect.objectContaining({ description: "checkout", action: "allow" }) as object,
      ]) as object,
    });
  } finally {
    if (server?.pid !== undefined) {
      process.kill(-server.pid, "SIGINT"); // As a terminal does: to npx and to what it started.
      await once(server, "close");
    }
    rmSync(home, { recursive: true, force: true });
  }
}, 240_000);

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
