/** The two gRPC services that the program and the provider host call: the resource monitor and the engine. */
import { Server, status, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { EngineService, type IEngineServer } from "@pulumi/pulumi/proto/engine_grpc_pb";
import {
  GetRootResourceResponse,
  LogSeverity,
  RequirePulumiVersionResponse,
  SetRootResourceResponse,
  type LogRequest,
} from "@pulumi/pulumi/proto/engine_pb";
import { ResourceMonitorService, type IResourceMonitorServer } from "@pulumi/pulumi/proto/resource_grpc_pb";
import {
  RegisterResourceResponse,
  Result,
  SupportsFeatureResponse,
  type RegisterResourceOutputsRequest,
  type RegisterResourceRequest,
} from "@pulumi/pulumi/proto/resource_pb";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import { UnsupportedError } from "./errors";
import type { Events, Severity } from "./events";
import { goalOf, type Goal } from "./goal";
import { CHANNEL_OPTIONS, fromStruct, handle, listen, toStruct } from "./grpc";
import type { Registered } from "./steps";
import type { Urn } from "./urn";
import { mapFromWire, toWireMap, type ValueMap } from "./values";

/** Serves the program's requests. */
export interface Registrar {
  register(goal: Goal): Promise<Registered>;
  registerOutputs(urn: Urn, outputs: ValueMap): Promise<void>;
  /** Called when the program has registered all its resources. Resolves when the operation ends. */
  waitForEnd(): Promise<void>;
  /** Fails the operation because of a request that can't be served. */
  refuse(error: unknown): Promise<never>;
}

export interface EngineServer {
  readonly address: string;
  close(): void;
}

/** Serves both gRPC services on one port. An operation without a program has no registrar. */
export async function serveEngine(events: Events, registrar: Registrar | undefined): Promise<EngineServer> {
  const server = new Server(CHANNEL_OPTIONS);
  server.addService(EngineService, engineService(events));
  if (registrar !== undefined) server.addService(ResourceMonitorService, monitorService(registrar));
  const address = await listen(server);
  return { address, close: () => server.forceShutdown() };
}

const SEVERITIES: Readonly<Record<LogSeverity, Severity>> = {
  [LogSeverity.DEBUG]: "debug",
  [LogSeverity.INFO]: "info",
  [LogSeverity.WARNING]: "warning",
  [LogSeverity.ERROR]: "error",
};

function engineService(events: Events): IEngineServer {
  let root: Urn = "";
  const log = (request: LogRequest): Empty => {
    const severity = SEVERITIES[request.getSeverity()];
    if (severity !== "debug" && !request.getEphemeral()) {
      events.diagnostic({ urn: request.getUrn(), severity, message: request.getMessage() });
    }
    return new Empty();
  };
  return {
    log: handle(log),
    getRootResource: handle(() => new GetRootResourceResponse().setUrn(root)),
    setRootResource: handle((request) => {
      root = request.getUrn();
      return new SetRootResourceResponse();
    }),
    startDebugging: handle(() => new Empty()),
    requirePulumiVersion: handle(() => new RequirePulumiVersionResponse()),
  };
}

/**
 * Features that the monitor reports as unsupported. It claims to support all others, because the SDK would otherwise
 * report an outdated CLI. If a program uses one that this engine doesn't support, an error names the feature.
 */
const FEATURES_NOT_OFFERED = new Set(["resourceReferences", "outputValues"]);

function monitorService(registrar: Registrar): IResourceMonitorServer {
  const refusing = (feature: string) => handle(() => registrar.refuse(new UnsupportedError(feature)));
  const reading = async <T>(read: () => T): Promise<T> => {
    try {
      return read();
    } catch (error) {
      return registrar.refuse(error);
    }
  };
  const register = async (request: RegisterResourceRequest): Promise<RegisterResourceResponse> => {
    const goal = await reading(() => goalOf(request));
    return registeredResponse(await registrar.register(goal));
  };
  const registerOutputs = async (request: RegisterResourceOutputsRequest): Promise<Empty> => {
    const outputs = await reading(() => mapFromWire(fromStruct(request.getOutputs())));
    await registrar.registerOutputs(request.getUrn(), outputs);
    return new Empty();
  };
  const service: UntypedServiceImplementation & IResourceMonitorServer = {
    supportsFeature: handle((request) =>
      new SupportsFeatureResponse().setHassupport(!FEATURES_NOT_OFFERED.has(request.getId())),
    ),
    registerResource: handle(register),
    registerResourceOutputs: handle(registerOutputs),
    signalAndWaitForShutdown: handle(async () => {
      await registrar.waitForEnd();
      return new Empty();
    }),
    // Newer SDKs call this at every start, and fall back to supportsFeature as with an older engine.
    getDeploymentInfo: (_call, callback) =>
      callback({ code: status.UNIMPLEMENTED, details: "getDeploymentInfo is not implemented" }),
    readResource: refusing("reading resources that the stack does not manage (`Resource.get`)"),
    invoke: refusing("provider functions (`invoke`), stack references included"),
    call: refusing("methods of remote components (`call`)"),
    registerStackTransform: refusing("stack transforms"),
    registerStackInvokeTransform: refusing("invoke transforms"),
    registerResourceHook: refusing("resource hooks"),
    registerErrorHook: refusing("error hooks"),
    registerPackage: refusing("packages with parameters"),
  };
  return service;
}

const RESULTS: Readonly<Record<Registered["result"], Result>> = {
  success: Result.SUCCESS,
  failed: Result.FAIL,
  skipped: Result.SKIP,
};

/** Returns the response to a registration. For a component, it has no outputs, because they come from the program. */
function registeredResponse({ state, result }: Registered): RegisterResourceResponse {
  const outputs = state.custom ? (state.outputs ?? {}) : {};
  return new RegisterResourceResponse()
    .setUrn(state.urn)
    .setId(state.id)
    .setObject(toStruct(toWireMap(outputs)))
    .setResult(RESULTS[result]);
}
