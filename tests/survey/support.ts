import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { startLocalApi, type LocalApi, type LocalApiOptions } from "edgeguard-local";
import { z } from "zod";
import { run } from "../../provider/cli/program";
import { survey, type Survey, type Zone } from "../../provider/survey/model";

export interface Surveyed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a command runs. */
interface Setting {
  readonly env?: Record<string, string>;
  readonly interrupted?: AbortSignal;
  readonly isTerminal?: boolean;
}

/** Returns what a response says instead of its result. Undefined to leave it as it is. */
export type Change = (path: string, result: unknown) => unknown;

const SUCCESS = { success: true, errors: [] };
const envelope = z.looseObject({ result: z.unknown().optional() }); // GraphQL has none.

const open: (() => unknown)[] = [];
afterAll(async () => {
  for (const stop of open.splice(0).reverse()) await stop();
});

/** A local API, and a folder in which its zones are surveyed. */
export class Ground {
  readonly cwd = mkdtempSync(join(tmpdir(), "edgeguard-survey-"));

  private constructor(readonly api: LocalApi) {
    open.push(() => rmSync(this.cwd, { recursive: true, force: true }));
    open.push(() => api.close());
    this.write("few.txt", "# The zones that have something of everything.\nshop.example\nblog.example\n");
  }

  static async with(options: LocalApiOptions = {}): Promise<Ground> {
    return new Ground(await startLocalApi(options));
  }

  /** Runs the command here. */
  survey(...args: readonly string[]): Promise<Surveyed> {
    return this.run({}, ...args);
  }

  run(setting: Setting, ...args: readonly string[]): Promise<Surveyed> {
    return this.command(setting, "survey", ...args);
  }

  /** Runs any command of edgeguard here. */
  async command(
    { env = {}, interrupted, isTerminal = false }: Setting,
    ...args: readonly string[]
  ): Promise<Surveyed> {
    const stream = (): PassThrough => Object.assign(new PassThrough(), { isTTY: isTerminal });
    const [stdin, stdout, stderr] = [stream(), stream(), stream()];
    const said = Promise.all([text(stdout), text(stderr)]);
    const signal = interrupted ?? new AbortController().signal;
    const code = await run(args, {
      stdin,
      stdout,
      stderr,
      env: {
        PATH: process.env["PATH"] ?? "",
        EDGEGUARD_BASE_URL: this.api.url,
        EDGEGUARD_MAX_RETRIES: "0",
        CLOUDFLARE_API_TOKEN: "local-token",
        ...env,
      },
      cwd: this.cwd,
      interrupted: () => signal,
    });
    stdout.end();
    stderr.end();
    const [out, err] = await said;
    return { code, stdout: out, stderr: err };
  }

  /**
   * Surveys through a proxy that changes the `result` of responses, for what the local API would never send. A changed
   * response is a success. Without a change, the response is passed on as it is.
   */
  async surveyChanged(change: Change, ...args: readonly string[]): Promise<Surveyed> {
    const { origin, pathname } = new URL(this.api.url);
    const proxy = createServer((request, response) => {
      const path = request.url ?? "";
      void (async () => {
        const { method = "GET", headers: given } = request;
        const headers = {
          authorization: given.authorization ?? "",
          ...(given["content-type"] && { "content-type": given["content-type"] }),
        };
        const sent = method === "GET" ? {} : { body: await text(request) };
        const real = await fetch(origin + path, { method, headers, ...sent });
        const body = envelope.parse(await real.json());
        const changed = change(path, body.result);
        const isChanged = changed !== undefined;
        response.writeHead(isChanged ? 200 : real.status, { "content-type": "application/json" });
        response.end(JSON.stringify(isChanged ? { ...body, ...SUCCESS, result: changed } : body));
      })();
    });
    await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
    const { port } = proxy.address() as AddressInfo;
    try {
      return await this.run({ env: { EDGEGUARD_BASE_URL: `http://127.0.0.1:${port}${pathname}` } }, ...args);
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  }

  write(name: string, content: string): string {
    writeFileSync(join(this.cwd, name), content);
    return name;
  }

  read(name: string): string {
    return readFileSync(join(this.cwd, name), "utf8");
  }

  /** The survey in a folder, as its schema reads it. */
  result(folder = "survey"): Survey {
    return survey.parse(JSON.parse(this.read(`${folder}/survey.json`)));
  }

  /** A zone's line of survey.csv. */
  row(id: string): string | undefined {
    return this.read("survey/survey.csv")
      .split("\n")
      .find((line) => line.startsWith(id));
  }

  zone(id: string, folder?: string): Zone {
    const found = this.result(folder).zones.find((each) => each.id === id);
    if (found === undefined) throw new Error(`the survey has no zone ${id}`);
    return found;
  }
}
