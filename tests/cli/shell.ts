import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { run } from "../../provider/cli/program";
import { BIN, ended, type Ran } from "./support";

/** Commands that need no service: a folder of their own, something piped in, and what comes out. */
export class Shell {
  readonly cwd = mkdtempSync(join(tmpdir(), "edgeguard-shell-"));

  constructor(readonly command: string) {
    afterAll(() => rmSync(this.cwd, { recursive: true, force: true }));
  }

  /** The built bin, as a process; `input` is piped in. */
  readonly bin = async (args: readonly string[], input = ""): Promise<Ran> => {
    const { cwd, command } = this;
    const child = spawn(process.execPath, [BIN, command, ...args], { cwd, env: {}, stdio: "pipe" });
    child.stdin.end(input);
    return await ended(child);
  };

  /** The same program here, where a process would show nothing more. */
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
