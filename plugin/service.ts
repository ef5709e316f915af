import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Metadata, status, type handleUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import { PluginInfo } from "@pulumi/pulumi/proto/plugin_pb";
import type { IResourceProviderServer } from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as rpc from "@pulumi/pulumi/proto/provider_pb";
import { Status } from "@pulumi/pulumi/proto/status_pb";
import { Any } from "google-protobuf/google/protobuf/any_pb";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import type * as ProviderModule from "./provider";
import type { Provider } from "./provider";

/**
 * Implements the protocol of Pulumi's engine. The calls' behavior is in provider.ts, which is loaded after the engine
 * has received the port.
 */

/** Methods that the engine may call but this plugin doesn't support. */
const REFUSED = {
  parameterize: "has no parameters",
  construct: "has no component resources",
  call: "has no methods",
} as const;

export class Service {
  #engine: string | undefined;
  #provider: Promise<Provider> | undefined;

  constructor(engine: string | undefined) {
    this.#engine = engine;
  }

  /** Starts loading the provider. The engine has received the port but hasn't connected yet. */
  start(): void {
    setImmediate(() => void this.#loaded().catch(() => undefined)); // The first call reports it.
  }

  methods(): IResourceProviderServer {
    const work = <Request, Response>(
      run: (provider: Provider, request: Request) => Promise<Response> | Response,
    ): handleUnaryCall<Request, Response> =>
      this.#answer(async (request) => {
        const provider = await this.#loaded();
        return await provider.answering(() => run(provider, request));
      });
    const refused = Object.fromEntries(
      Object.entries(REFUSED).map(([method, why]) => [
        method,
        (_call: unknown, done: sendUnaryData<never>) => done(unimplemented(method, why)),
      ]),
    ) as Record<keyof typeof REFUSED, (call: unknown, done: sendUnaryData<never>) => void>; // The same keys.
    return {
      ...refused,
      list: (call) =>
        call.emit("error", unimplemented("list", "can't list objects; use edgeguard import --for plugin")),
      handshake: this.#answer((request) => {
        this.#engine = request.getEngineAddress();
        return new rpc.ProviderHandshakeResponse().setAcceptSecrets(true);
      }),
      attach: this.#answer((request) => {
        this.#engine = request.getAddress();
        return new Empty();
      }),
      // As the protocol asks of a provider without a mapping.
      getMapping: this.#answer(() => new rpc.GetMappingResponse()),
      getMappings: this.#answer(() => new rpc.GetMappingsResponse()),
      getPluginInfo: this.#answer(() => new PluginInfo().setVersion(packageVersion())),
      getSchema: this.#answer(() => new rpc.GetSchemaResponse().setSchema(textOf("schema.json"))),
      configure: work((provider, request: rpc.ConfigureRequest) => {
        provider.configure(request);
        return new rpc.ConfigureResponse().setAcceptsecrets(true).setSupportspreview(true);
      }),
      checkConfig: work((provider, request: rpc.CheckRequest) => provider.checkConfig(request)),
      diffConfig: work((provider, request: rpc.DiffRequest) => provider.diffConfig(request)),
      check: work((provider, request: rpc.CheckRequest) => provider.check(request)),
      diff: work((provider, request: rpc.DiffRequest) => provider.diff(request)),
      create: work((provider, request: rpc.CreateRequest) => provider.create(request)),
      read: work((provider, request: rpc.ReadRequest) => provider.read(request)),
      update: work((provider, request: rpc.UpdateRequest) => provider.update(request)),
      cancel: work((provider) => {
        provider.cancel();
        return new Empty();
      }),
      delete: work(async (provider, request: rpc.DeleteRequest) => {
        await provider.delete(request);
        return new Empty();
      }),
      invoke: work((provider, request: rpc.InvokeRequest) => provider.invoke(request)),
    };
  }

  async #loaded(): Promise<Provider> {
    this.#provider ??= Promise.resolve().then(() => {
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded while the engine connects
      const { Provider } = require("./provider") as typeof ProviderModule;
      return new Provider(() => this.#engine);
    });
    return await this.#provider;
  }

  #answer<Request, Response>(
    work: (request: Request) => Promise<Response> | Response,
  ): handleUnaryCall<Request, Response> {
    return (call, done) => {
      void (async () => await work(call.request))().then(
        (response) => done(null, response),
        (error: unknown) => done(rpcError(error)),
      );
    };
  }
}

/** Reads a file of this package. */
export function textOf(file: string): string {
  return readFileSync(join(__dirname, "..", file), "utf8");
}

function packageVersion(): string {
  return (JSON.parse(textOf("package.json")) as { version: string }).version; // Our own file.
}

function unimplemented(method: string, why: string) {
  return { code: status.UNIMPLEMENTED, details: `edgeguard: the provider plugin ${why} (${method})` };
}

/** Thrown if an object was only partly created or changed. Contains what the engine records. */
export class PartialError extends Error {
  constructor(
    message: string,
    readonly detail: rpc.ErrorResourceInitFailed,
  ) {
    super(message);
  }
}

function rpcError(error: unknown) {
  const message = error instanceof Error ? error.message : String(error);
  const metadata = new Metadata();
  if (error instanceof PartialError) {
    const detail = new Any();
    detail.pack(error.detail.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
    const whole = new Status().setCode(status.UNKNOWN).setMessage(message).setDetailsList([detail]);
    metadata.add("grpc-status-details-bin", Buffer.from(whole.serializeBinary()));
  }
  return { code: status.UNKNOWN, details: message, metadata };
}
