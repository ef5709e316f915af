/** The dynamic provider host: one process per operation, started as the CLI starts it. */
import { once } from "node:events";
import { createInterface } from "node:readline";
import { credentials } from "@grpc/grpc-js";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";
import { terminate, forwardLines, type LineHandlers, type NodeProcess, spawnNode } from "./children";
import { CommandError } from "./errors";
import { CHANNEL_OPTIONS } from "./grpc";
import { resolveSdk } from "./program";
import type { Project } from "./project";

export interface HostRun {
  readonly project: Project;
  readonly engineAddress: string;
  readonly env: NodeJS.ProcessEnv;
  readonly lines: LineHandlers;
}

export class Host {
  readonly client: Promise<ResourceProviderClient>;
  readonly #child: NodeProcess;
  readonly #ended: Promise<unknown>;

  constructor(run: HostRun) {
    this.#child = spawnNode([resolveSdk(run.project, "dynamic-provider"), run.engineAddress], {
      cwd: run.project.programDirectory,
      env: { ...run.env, PULUMI_NODEJS_PROJECT: run.project.name, PULUMI_PROJECT: run.project.name },
    });
    const errors = forwardLines(this.#child.stderr, (line) => run.lines.error(line));
    this.#ended = Promise.all([once(this.#child, "close"), errors]);
    this.client = readPort(this.#child, (line) => run.lines.out(line)).then(
      (port) =>
        new ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure(), CHANNEL_OPTIONS),
    );
    // A run may fail before anything awaits the client. That mustn't become an unhandled rejection.
    this.client.catch(() => undefined);
  }

  /** Ends the host with SIGINT, as the CLI does. */
  async stop(): Promise<void> {
    await this.client.then(
      (client) => client.close(),
      () => undefined,
    );
    terminate(this.#child);
    await this.#ended;
  }
}

/** Reads the host's port from its first line. Other lines are messages. */
async function readPort(child: NodeProcess, message: (line: string) => void): Promise<number> {
  const lines = createInterface({ input: child.stdout, crlfDelay: Infinity });
  return new Promise((resolve, reject) => {
    let port: number | undefined;
    lines.on("line", (line) => {
      if (port !== undefined) {
        if (line.trim() !== "") message(line);
        return;
      }
      port = Number(line);
      if (Number.isInteger(port)) resolve(port);
      else reject(new CommandError(`the dynamic provider host wrote an invalid port: ${line}`));
    });
    child.on("error", reject);
    child.on("close", (code) => {
      const ended = `the dynamic provider host ended before it was ready (exit code ${String(code)})`;
      reject(new CommandError(ended));
    });
  });
}
