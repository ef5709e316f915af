import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { startLocalApi, type LocalApi, type LocalApiOptions } from "edgeguard-local";
import { z } from "zod";
import { run } from "../../provider/cli/program";
import { kindOf } from "../../provider/runtime/type-tokens";
import { REPOSITORY } from "../support/engine";
import { rawSend, type Recorded } from "../support/operation";

const open: { stop: () => unknown }[] = [];
afterAll(async () => {
  for (const { stop } of open.splice(0)) await stop();
});

export interface Ran {
  readonly code: number;

  readonly stderr: string;
}

/** A local API, and a folder to import into. */
export class ImportDesk {
  readonly folder: string;
  readonly zone: string;
  readonly account: string;

  private constructor(readonly api: LocalApi) {
    const home = mkdtempSync(join(tmpdir(), "edgeguard-import-"));
    this.folder = join(home, "out");
    this.zone = api.zones.shop;
    this.account = api.accounts.main;
    open.push({ stop: () => rmSync(home, { recursive: true, force: true }) }, { stop: () => api.close() });
  }

  static async from(options: LocalApiOptions = {}): Promise<ImportDesk> {
    return new ImportDesk(await startLocalApi(options));
  }

  get env(): Record<string, string> {
    return {
      PATH: process.env["PATH"] ?? "",
      EDGEGUARD_BASE_URL: this.api.url,
      EDGEGUARD_MAX_RETRIES: "0",
      CLOUDFLARE_API_TOKEN: "local-token",
      EDGEGUARD_ACCOUNT_ID: this.account,
    };
  }

  /** Links node_modules for the compiler and the engine. */
  withPackages(): this {
    mkdirSync(this.folder, { recursive: true });
    symlinkSync(join(REPOSITORY, "node_modules"), join(this.folder, "node_modules"));
    return this;
  }

  /** Runs the command in this process, with the folder as its output. */
  async run(
    args: readonly string[],
    { env = this.env, tty = false, stopped = false, out = this.folder, input = "" } = {},
  ): Promise<Ran> {
    const stream = (): PassThrough & { isTTY: boolean } => Object.assign(new PassThrough(), { isTTY: tty });
    const [stdin, stdout, stderr] = [stream(), stream(), stream()];
    stdin.end(input);
    const written = text(stderr);
    const signal = stopped ? AbortSignal.abort() : new AbortController().signal;
    const io = { stdin, stdout, stderr, env, cwd: this.folder, interrupted: () => signal };
    const code = await run(["import", ...args, "--out", out], io);
    stderr.end();
    return { code, stderr: await written };
  }

  has(file: string): boolean {
    return existsSync(join(this.folder, file));
  }

  write(file: string, text: string): void {
    mkdirSync(this.folder, { recursive: true });
    writeFileSync(join(this.folder, file), text);
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), "utf8");
  }

  /** The resources of the import file, by type and name, with secrets in plain text. */
  recorded(): ReadonlyMap<string, Recorded & { readonly type: string }> {
    const { resources } = importFile.parse(JSON.parse(this.read("import.json")));
    return new Map(
      resources.map(({ type, name, id, inputs, outputs }) => {
        const own = kindOf(type) ?? type;
        return [
          `${own} ${name}`,
          { type: own, id, inputs: withoutSecretMarks(inputs), outputs: withoutSecretMarks(outputs) },
        ];
      }),
    );
  }

  /** Sends a plain request, as from the dashboard, and returns its result. */
  async send(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const where = path.replace("{zone}", this.zone).replace("{account}", this.account);
    const response = await rawSend(this.api, method, where, body);
    if (!response["success"]) throw new Error(`${method} ${where}: ${JSON.stringify(response)}`);
    return response["result"] as Record<string, unknown>;
  }

  async job(name: string, members: Record<string, unknown>, scope = "zones/{zone}"): Promise<void> {
    await this.send("POST", `/${scope}/logpush/jobs`, {
      name,
      dataset: "http_requests",
      enabled: true,
      ...members,
    });
  }
}

const bag = z.record(z.string(), z.unknown());
const importFile = z.object({
  resources: z.array(
    z.strictObject({ type: z.string(), name: z.string(), id: z.string(), inputs: bag, outputs: bag }),
  ),
});
const SIGNATURE = { "4dabf18193072939515e22adb298388d": z.literal("1b47061264138c4ac30d75fd1eb44270") };
const secret = z.union([
  z
    .strictObject({ ...SIGNATURE, plaintext: z.string() })
    .transform(({ plaintext }): unknown => JSON.parse(plaintext)),
  z.strictObject({ ...SIGNATURE, value: z.unknown() }).transform(({ value }) => value),
]);

/** Returns the plain values of a file's or a message's members. */
export function withoutSecretMarks(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).map(([key, value]) => {
      const marked = secret.safeParse(value);
      return [key, marked.success ? marked.data : value];
    }),
  );
}
