import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { pulumiCli } from "edgeguard-local";
import { folderPerTest } from "../support/bench";
import { REPOSITORY } from "../support/engine";

/** Runs the demo as the README tells its reader to. */

const run = promisify(execFile);
describe("npm run demo", () => {
  const home = folderPerTest("readme");

  it("runs every step, and leaves no files behind", async () => {
    const temporary = join(home, "tmp");
    mkdirSync(temporary);
    const { stdout } = await run("npm", ["run", "demo"], {
      cwd: REPOSITORY,
      env: { ...process.env, TMPDIR: temporary },
    });
    expect(stdout).toMatch(
      pulumiCli() === undefined
        ? /engine\s+the local engine \(no Pulumi CLI on PATH\)/
        : /engine\s+the Pulumi CLI/,
    );
    for (const summary of [
      "A preview only reads",
      "only assessed the old zone's migration again",
      "found both edits",
      "One request wrote both entries",
      "The error says what's wrong and how to fix it",
      "managed_challenge → block: at most 12 events of the last 24 h would have been blocked (rule 6179",
      "wouldBlock",
      "what they were before",
    ]) {
      expect(stdout).toContain(summary);
    }
    expect(
      execFileSync("find", [temporary, "-mindepth", "1", "-name", "edgeguard-*"], { encoding: "utf8" }),
    ).toBe("");
  });

  it("stops on Ctrl-C, and leaves no files behind", async () => {
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
  });
});
