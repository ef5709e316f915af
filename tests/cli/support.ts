import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { run } from "../../provider/cli/program";
import { callerOf } from "../local-api/client";

/** The built command, as users run it. */
export const BIN = resolve(__dirname, "../../provider/bin/edgeguard.js");

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  /** The same output as bytes. */
  readonly bytes: Buffer;
  readonly stderr: string;
}

export interface Place {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

const open: { stop: () => unknown }[] = [];
afterAll(async () => {
  for (const { stop } of open.splice(0)) await stop();
});

/** A local API, and a project directory configured for it, with the namespace `existing` bound as EXISTING. */
export class Desk {
  readonly cwd = mkdtempSync(join(tmpdir(), "edgeguard-cli-"));

  /** @param api an API that the caller closes. */
  constructor(readonly api: LocalApi) {
    open.push({ stop: () => rmSync(this.cwd, { recursive: true, force: true }) });
    this.write(
      "wrangler.toml",
      `account_id = "${api.accounts.main}"\n[[kv_namespaces]]\nbinding = "EXISTING"\nid = "${api.namespaces.existing}"\n`,
    );
  }

  static async set(): Promise<Desk> {
    const api = await startLocalApi();
    open.push({ stop: () => api.close() });
    return new Desk(api);
  }

  get env(): Record<string, string> {
    return {
      PATH: process.env["PATH"] ?? "",
      EDGEGUARD_BASE_URL: this.api.url,
      EDGEGUARD_MAX_RETRIES: "0",
      CLOUDFLARE_API_TOKEN: "local-token",
    };
  }

  write(name: string, content: string | Buffer): string {
    const path = join(this.cwd, name);
    writeFileSync(path, content);
    return path;
  }

  start(args: readonly string[], { env = this.env, cwd = this.cwd }: Place = {}): ChildProcess {
    return spawn(process.execPath, [BIN, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  }

  /** Runs the command as a process, without a terminal. */
  async bin(...args: string[]): Promise<Ran> {
    return await ended(this.start(args));
  }

  /** Runs the same program in this process, for tests that don't need a separate one. */
  async here(...args: string[]): Promise<Ran> {
    return await this.at({}, ...args);
  }

  /** The same with a terminal on which `typed` is the answer, with `input` for standard input, or in another place. */
  async at(
    where: Place & { readonly typed?: string; readonly input?: string; readonly tty?: boolean },
    ...args: string[]
  ): Promise<Ran> {
    const { env = this.env, cwd = this.cwd, typed, input, tty = typed !== undefined } = where;
    const stream = (): PassThrough & { isTTY: boolean } => Object.assign(new PassThrough(), { isTTY: tty });
    const [stdin, stdout, stderr] = [stream(), stream(), stream()];
    const said = Promise.all([buffer(stdout), buffer(stderr)]);
    if (typed !== undefined) stdin.write(typed);
    if (input !== undefined) stdin.end(input);
    const never = new AbortController().signal;
    const code = await run(args, { stdin, stdout, stderr, env, cwd, interrupted: () => never });
    stdout.end();
    stderr.end();
    const [out, err] = await said;
    return { code, stdout: out.toString(), bytes: out, stderr: err.toString() };
  }

  /** Sends a plain request, without the code under test. */
  async raw(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await callerOf(this.api)(method, `${this.namespaces}${path}`, body);
    return (response.body as { result?: unknown } | undefined)?.result;
  }

  get namespaces(): string {
    return `/accounts/${this.api.accounts.main}/storage/kv/namespaces`;
  }

  /** The value of a key as bytes, or undefined. */
  async value(key: string, namespace: string = this.api.namespaces.existing): Promise<Buffer | undefined> {
    const url = `${this.api.url}${this.namespaces}/${namespace}/values/${encodeURIComponent(key)}`;
    const response = await fetch(url, { headers: { authorization: "Bearer local-token" } });
    return response.status === 404 ? undefined : Buffer.from(await response.arrayBuffer());
  }

  /** Keys of a namespace as the API lists them. */
  async keys(namespace: string = this.api.namespaces.existing): Promise<Record<string, unknown>[]> {
    return (await this.raw("GET", `/${namespace}/keys`)) as Record<string, unknown>[];
  }
}

export async function ended(child: ChildProcess): Promise<Ran> {
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  const empty = new PassThrough().end();
  const [bytes, err] = await Promise.all([buffer(child.stdout ?? empty), buffer(child.stderr ?? empty)]);
  return { code: await closed, stdout: bytes.toString(), bytes, stderr: err.toString() };
}
