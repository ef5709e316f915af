import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { resolve } from "node:path";

const RUNTIME = resolve("provider/dist/register");

export interface ProviderProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** Everything that it printed, on both streams. */
  output(): string;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
}

/**
 * Runs the built runtime in a separate process, like the engine's host: stdin is a pipe, and something else (in the host,
 * its gRPC server) keeps it alive. `script` can use `runtime`, `config` and `done`.
 */
export function providerProcess(
  config: Readonly<Record<string, string>>,
  script: string,
  env: Readonly<Record<string, string>> = {},
): ProviderProcess {
  const source = `
    const runtime = require(${JSON.stringify(RUNTIME)});
    const config = ${JSON.stringify(config)};
    runtime.configure("PageShieldSettings", { config: { get: (key) => config[key] } });
    setInterval(() => undefined, 1000);
    (async () => { ${script} })().catch((error) => { console.error("script:", error); process.exit(70); });`;
  const child = spawn(process.execPath, ["-e", source], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], ...env },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const ended = new Promise<number | null>((ended) => child.once("close", ended));
  return { child, output: () => output, ended };
}
