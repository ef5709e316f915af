import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import {
  credentials,
  Server,
  ServerCredentials,
  status,
  type Client,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceError,
} from "@grpc/grpc-js";
import { EngineService } from "@pulumi/pulumi/proto/engine_grpc_pb";
import { LogSeverity, type LogRequest } from "@pulumi/pulumi/proto/engine_pb";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as rpc from "@pulumi/pulumi/proto/provider_pb";
import { Status } from "@pulumi/pulumi/proto/status_pb";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import { Struct, type JavaScriptValue } from "google-protobuf/google/protobuf/struct_pb";
import type { JsonObject } from "../../provider/basics/json";
import { PLUGIN } from "./project";

/** The provider plugin in a process of its own, and an engine's side of its protocol. */

const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

const EXECUTABLE = join(PLUGIN, "pulumi-resource-edgeguard");

/** A value as the engine sends a secret. */
export const secret = (value: unknown): JsonObject => ({ [SIGNATURE]: SECRET, value });

export const urn = (type: string, name: string): string =>
  `urn:pulumi:dev::shop::edgeguard:index:${type}::${name}`;

export const struct = (values: JsonObject): Struct =>
  Struct.fromJavaScript(values as Record<string, JavaScriptValue>); // Plain values.

export const plain = (values: Struct | undefined): JsonObject => values?.toJavaScript() ?? {};

/** What the engine records of an object that was created or changed only in part. */
export const halfOf = (error: ServiceError): rpc.ErrorResourceInitFailed.AsObject | undefined =>
  partOf(error)?.toObject();

export function partOf(error: ServiceError): rpc.ErrorResourceInitFailed | undefined {
  const [whole] = error.metadata.get("grpc-status-details-bin");
  if (!Buffer.isBuffer(whole)) return undefined;
  const [detail] = Status.deserializeBinary(toBytes(whole.toString("base64"))).getDetailsList();
  if (detail?.getTypeName() !== "pulumirpc.ErrorResourceInitFailed") return undefined;
  return rpc.ErrorResourceInitFailed.deserializeBinary(toBytes(detail.getValue_asB64()));
}

/** The library accepts base64, although its types don't say so. It refuses the byte arrays of a test. */
const toBytes = (base64: string): Uint8Array => base64 as unknown as Uint8Array;

type Methods = Omit<ResourceProviderClient, keyof Client>;

interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly name?: string;
  /** Another provider's, which speaks the same protocol. */
  readonly command?: readonly [string, ...string[]];
  /** The engine that starts it. Default: one of its own. */
  readonly engine?: FakeEngine;
}

/** What an engine shows, and its address. */
export class FakeEngine {
  readonly #server: Server;
  #shown = "";

  private constructor(
    server: Server,
    readonly address: string,
  ) {
    this.#server = server;
  }

  static async start(): Promise<FakeEngine> {
    const server = new Server();
    const log = (call: ServerUnaryCall<LogRequest, Empty>, done: sendUnaryData<Empty>): void => {
      const warning = call.request.getSeverity() === LogSeverity.WARNING ? "warning: " : "";
      engine.#shown += `${warning}${call.request.getMessage()}\n`;
      done(null, new Empty());
    };
    server.addService(EngineService, { log });
    const port = await new Promise<number>((done, fail) =>
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
        error === null ? done(port) : fail(error),
      ),
    );
    const engine = new FakeEngine(server, `127.0.0.1:${port}`);
    return engine;
  }

  /** Every message, on lines of their own. */
  get shown(): string {
    return this.#shown;
  }

  stop(): void {
    this.#server.forceShutdown();
  }
}

export class PluginClient {
  readonly #child: ChildProcess;
  readonly #client: ResourceProviderClient;
  readonly #engine: FakeEngine;
  readonly #ownEngine: FakeEngine | undefined;
  #printed = "";

  private constructor(child: ChildProcess, port: string, engine: FakeEngine, isOwn: boolean) {
    this.#child = child;
    this.#engine = engine;
    this.#ownEngine = isOwn ? engine : undefined;
    this.#client = new ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure());
  }

  /** @param settings those of the stack's configuration, or of the provider with this name. */
  static async start(
    settings: JsonObject,
    { env = {}, name = "default", command = [EXECUTABLE], engine: given }: StartOptions = {},
  ): Promise<PluginClient> {
    const engine = given ?? (await FakeEngine.start());
    const [executable, ...args] = command;
    const child = spawn(executable, [...args, engine.address], {
      env: { PATH: process.env["PATH"], ...env },
    });
    const client = await new Promise<PluginClient>((done) => {
      let client: PluginClient | undefined;
      let first = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        first += text;
        const [port, ...more] = first.split("\n");
        if (more.length === 0) return;
        if (client === undefined)
          done((client = new PluginClient(child, port ?? "", engine, given === undefined)));
        else client.#printed += text;
      });
      child.stderr
        .setEncoding("utf8")
        .on("data", (text: string) =>
          first.includes("\n") && client ? (client.#printed += text) : undefined,
        );
    });
    const handshake = new rpc.ProviderHandshakeRequest().setEngineAddress(engine.address);
    await client.call("handshake", handshake).catch((error: unknown) => {
      if ((error as ServiceError).code !== status.UNIMPLEMENTED) throw error; // Older providers have none.
    });
    await client.call("configure", new rpc.ConfigureRequest().setArgs(struct(settings)).setName(name));
    return client;
  }

  /** Everything it printed after its port, which an engine hides. */
  get printed(): string {
    return this.#printed;
  }

  /** Everything that it had the engine show. */
  get shown(): string {
    return this.#engine.shown;
  }

  async call<Response>(method: Exclude<keyof Methods, "list">, request: unknown): Promise<Response> {
    const calls = this.#client as unknown as Record<
      string,
      (request: unknown, done: (error: ServiceError | null, response: Response) => void) => void
    >; // One signature for all.
    return await new Promise((done, fail) => {
      calls[method]?.call(this.#client, request, (error, response) =>
        error === null ? done(response) : fail(error),
      );
    });
  }

  async check(
    type: string,
    name: string,
    news: JsonObject,
    olds: JsonObject = {},
  ): Promise<{ inputs: JsonObject; failures: string[] }> {
    const request = new rpc.CheckRequest()
      .setUrn(urn(type, name))
      .setNews(struct(news))
      .setOlds(struct(olds));
    const response: rpc.CheckResponse = await this.call("check", request);
    return {
      inputs: plain(response.getInputs()),
      failures: response.getFailuresList().map((each) => each.getReason()),
    };
  }

  /** Checks and creates, as an update does. */
  async create(
    type: string,
    name: string,
    news: JsonObject,
    preview = false,
  ): Promise<{ id: string; inputs: JsonObject; outputs: JsonObject }> {
    const { inputs, failures } = await this.check(type, name, news);
    if (failures.length > 0) throw new Error(failures.join("\n"));
    const request = new rpc.CreateRequest()
      .setUrn(urn(type, name))
      .setProperties(struct(inputs))
      .setPreview(preview);
    const response: rpc.CreateResponse = await this.call("create", request);
    return { id: response.getId(), inputs, outputs: plain(response.getProperties()) };
  }

  /** Checks and compares: each path with what happens to it. */
  async diff(
    type: string,
    name: string,
    made: { id: string; inputs: JsonObject; outputs: JsonObject },
    news: JsonObject,
  ): Promise<{
    inputs: JsonObject;
    changes: boolean;
    details: Record<string, string>;
    replaces: string[];
  }> {
    const { inputs, failures } = await this.check(type, name, news, made.inputs);
    if (failures.length > 0) throw new Error(failures.join("\n"));
    const request = new rpc.DiffRequest()
      .setUrn(urn(type, name))
      .setId(made.id)
      .setOlds(struct(made.outputs))
      .setNews(struct(inputs));
    const response: rpc.DiffResponse = await this.call("diff", request);
    const kinds = Object.entries(rpc.PropertyDiff.Kind);
    const details = response.getDetaileddiffMap().toObject(true, (_, diff) => diff.toObject());
    return {
      inputs,
      changes: response.getChanges() !== rpc.DiffResponse.DiffChanges.DIFF_NONE,
      replaces: response.getReplacesList(),
      details: Object.fromEntries(
        details.map(([path, { kind }]) => [path, kinds.find(([, number]) => number === kind)?.[0] ?? ""]),
      ),
    };
  }

  /** Lists existing objects, in one page or several. */
  async list(
    type: string,
    query: JsonObject,
    { limit = 0, pageSize = 0 }: { readonly limit?: number; readonly pageSize?: number } = {},
  ): Promise<{ pages: [id: string, name: string][][]; isComputed: boolean }> {
    const request = new rpc.ListRequest()
      .setToken(`edgeguard:index:${type}`)
      .setQuery(struct(query))
      .setLimit(limit)
      .setPageSize(pageSize);
    const pages: [id: string, name: string][][] = [];
    let isComputed = false;
    do {
      const page: [id: string, name: string][] = [];
      for await (const each of this.#client.list(request)) {
        const response = each as rpc.ListResponse;
        const result = response.getResult();
        if (result !== undefined) page.push([result.getId(), result.getName()]);
        isComputed ||= response.hasComputed();
        request.setContinuationToken(response.getContinuation()?.getContinuationToken() ?? "");
      }
      pages.push(page);
    } while (request.getContinuationToken() !== "");
    return { pages, isComputed };
  }

  stop(): void {
    this.#client.close();
    this.#child.kill("SIGKILL");
    this.#ownEngine?.stop();
  }
}
