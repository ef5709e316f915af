import type { handleServerStreamingCall, handleUnaryCall, UntypedServiceImplementation } from "@grpc/grpc-js";
import { PluginInfo } from "@pulumi/pulumi/proto/plugin_pb";
import type { IResourceProviderServer } from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as rpc from "@pulumi/pulumi/proto/provider_pb";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import { VERSION } from "pulumi-edgeguard/plugin";
import { construct } from "./component";
import { SCHEMA, type Provider } from "./provider";

/**
 * Returns the protocol of Pulumi's engine. The library refuses the methods that aren't here, by name: the plugin has no
 * parameters or methods of resources.
 */
export function methodsOf(provider: Provider): UntypedServiceImplementation {
  const answer =
    <Request, Response>(
      work: (request: Request) => Promise<Response> | Response,
    ): handleUnaryCall<Request, Response> =>
    ({ request }, done) => {
      provider
        .answering(() => work(request))
        .then(
          (response) => done(null, response),
          (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
        );
    };
  const listing: handleServerStreamingCall<rpc.ListRequest, rpc.ListResponse> = (call) => {
    provider
      .answering(async () => {
        for (const each of await provider.list(call.request)) call.write(each);
      })
      .then(
        () => call.end(),
        (error: unknown) => call.emit("error", error),
      );
  };
  return {
    handshake: answer((request: rpc.ProviderHandshakeRequest) => {
      provider.connect(request.getEngineAddress());
      return new rpc.ProviderHandshakeResponse().setAcceptSecrets(true);
    }),
    attach: answer((request) => {
      provider.connect(request.getAddress());
      return new Empty();
    }),
    // As the protocol asks of a provider without a mapping.
    getMapping: answer(() => new rpc.GetMappingResponse()),
    getMappings: answer(() => new rpc.GetMappingsResponse()),
    getPluginInfo: answer(() => new PluginInfo().setVersion(VERSION)),
    getSchema: answer(() => new rpc.GetSchemaResponse().setSchema(SCHEMA)),
    checkConfig: answer((request) => provider.checkConfig(request)),
    diffConfig: answer((request) => provider.diffConfig(request)),
    configure: answer((request) => {
      provider.configure(request);
      return new rpc.ConfigureResponse().setAcceptsecrets(true).setSupportspreview(true);
    }),
    check: answer((request) => provider.check(request)),
    diff: answer((request) => provider.diff(request)),
    construct: answer((request) => construct(request)),
    create: answer((request) => provider.create(request)),
    read: answer((request) => provider.read(request)),
    update: answer((request) => provider.update(request)),
    delete: answer(async (request) => {
      await provider.delete(request);
      return new Empty();
    }),
    invoke: answer((request) => provider.invoke(request)),
    list: listing,
    cancel: answer(() => {
      provider.cancel();
      return new Empty();
    }),
  } satisfies Partial<IResourceProviderServer>;
}
