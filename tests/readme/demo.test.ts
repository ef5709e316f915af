import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { pulumiCli } from "edgeguard-local";
import { REPOSITORY } from "../support/engine";

/** The README is a promise: its programs compile, and each of its commands is run here as a reader would. */

const run = promisify(execFile);
describe("the demo of the README", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "edgeguard-readme-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

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
  });

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
  });
});
