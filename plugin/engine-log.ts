import { credentials, Metadata } from "@grpc/grpc-js";
import { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb";
import { LogRequest, LogSeverity } from "@pulumi/pulumi/proto/engine_pb";
import type { HostOptions } from "pulumi-edgeguard/plugin";

/** An engine that doesn't take a message for this long must not keep the preview waiting. */
const DEADLINE_MS = 5_000;

/** Options of a client of the engine, which is on this machine, where a proxy of the environment can't reach it. */
export const LOCAL_CHANNEL = [credentials.createInsecure(), { "grpc.enable_http_proxy": 0 }] as const;

/** Shows messages through the engine, which hides what a plugin prints. */
export class EngineLog {
  readonly #address: () => string | undefined;
  #engine: EngineClient | undefined;
  #shown: Promise<void> = Promise.resolve();

  /** @param address the engine's, once it's known. */
  constructor(address: () => string | undefined) {
    this.#address = address;
  }

  /** Where a host's messages go. */
  readonly out: NonNullable<HostOptions["out"]> = {
    info: (line) => this.#show(LogSeverity.INFO, line),
    warn: (line) => this.#show(LogSeverity.WARNING, line),
  };

  /** Resolves once the engine has every message. Before that, no call may be answered: the engine may end the process. */
  async shown(): Promise<void> {
    await this.#shown;
  }

  /** One message after the other, because the engine doesn't keep the order of calls. */
  #show(severity: LogSeverity, line: string): void {
    this.#shown = this.#shown.then(() => this.#send(severity, line));
  }

  async #send(severity: LogSeverity, line: string): Promise<void> {
    const address = this.#address();
    if (address === undefined) return void process.stderr.write(`${line}\n`);
    this.#engine ??= new EngineClient(address, ...LOCAL_CHANNEL);
    const request = new LogRequest().setSeverity(severity).setMessage(line);
    const deadline = { deadline: Date.now() + DEADLINE_MS };
    const error = await new Promise<Error | null>((done) =>
      this.#engine?.log(request, new Metadata(), deadline, done),
    );
    // An engine that dumps the output of a plugin that failed shows it there.
    if (error !== null) process.stderr.write(`${line}\n`);
  }
}
