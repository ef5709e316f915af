import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { run } from "../../provider/cli/program";
import { BIN, ended, type Ran } from "./support";

/** Runs commands that need no API, in their own directory, with piped input, and returns their output. */
export class Shell {
  readonly cwd = mkdtempSync(join(tmpdir(), "edgeguard-shell-"));

  constructor(readonly command: string) {
    afterAll(() => rmSync(this.cwd, { recursive: true, force: true }));
  }

  /** Runs the built command as a process, with `input` piped in. */
  readonly bin = async (args: readonly string[], input = ""): Promise<Ran> => {
    const { cwd, command } = this;
    const child = spawn(process.execPath, [BIN, command, ...args], { cwd, env: {}, stdio: "pipe" });
    child.stdin.end(input);
    return await ended(child);
  };

  /** Runs the same program in this process, for tests that don't need a separate one. */
  readonly here = async (
    args: readonly string[],
    { input = "", tty = false, env = {} } = {},
  ): Promise<Omit<Ran, "bytes">> => {
    const stdin = Object.assign(new PassThrough(), { isTTY: tty });
    stdin.end(input);
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const said = Promise.all([text(stdout), text(stderr)]);
    const { signal } = new AbortController();
    const io = { stdin, stdout, stderr, env, cwd: this.cwd, interrupted: () => signal };
    const code = await run([this.command, ...args], io);
    stdout.end();
    stderr.end();
    const [out, err] = await said;
    return { code, stdout: out, stderr: err };
  };
}
