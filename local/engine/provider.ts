/** Calls a dynamic provider. The engine handles secrets and previews, because the provider supports neither. */
import { type Metadata, status } from "@grpc/grpc-js";
import {
  CheckRequest,
  type CheckResponse,
  ConfigureRequest,
  type ConfigureResponse,
  CreateRequest,
  type CreateResponse,
  DeleteRequest,
  DiffRequest,
  DiffResponse,
  ErrorResourceInitFailed,
  ReadRequest,
  type ReadResponse,
  UpdateRequest,
  type UpdateResponse,
} from "@pulumi/pulumi/proto/provider_pb";
import { Status } from "@pulumi/pulumi/proto/status_pb";
import type { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";
import type { Empty } from "google-protobuf/google/protobuf/empty_pb";
import { fromStruct, send, toStruct } from "./grpc";
import type { ResourceState } from "./state";
import { nameOf, typeOf, type Urn } from "./urn";
import {
  containsUnknowns,
  mapFromWire,
  markSecretsLike,
  toPlainMap,
  toWireMap,
  Unknown,
  type ValueMap,
} from "./values";

export interface CheckFailure {
  readonly property: string;
  readonly reason: string;
}

export interface DiffResult {
  readonly changes: "none" | "some" | "unknown";
  readonly replaceKeys: readonly string[];
  readonly changedKeys: readonly string[];
  readonly deleteBeforeReplace: boolean;
}

export interface CreatedResource {
  readonly id: string;
  readonly outputs: ValueMap;
}

interface ReadResource extends CreatedResource {
  readonly inputs: ValueMap | undefined;
}

/** Thrown if the resource exists but isn't fully initialized. */
export class InitFailedError extends Error {
  override readonly name = "Unfinished";
  constructor(
    readonly created: CreatedResource,
    readonly reasons: readonly string[],
  ) {
    super(reasons.length === 0 ? "resource init failed" : listOf(reasons));
  }
}

function listOf(reasons: readonly string[]): string {
  const heading = reasons.length === 1 ? "1 error" : `${reasons.length} errors`;
  return `${heading} occurred:\n${reasons.map((reason) => `\t* ${reason}\n`).join("")}\n`;
}

/** The input with the provider's code, which isn't shown to users. */
export const PROVIDER_KEY = "__provider";

export class DynamicProvider {
  constructor(
    readonly client: ResourceProviderClient,
    readonly dryRun: boolean,
  ) {}

  async configure(urn: Urn, id: string, config: ValueMap): Promise<void> {
    const request = withResource(new ConfigureRequest(), urn)
      .setId(id)
      .setAcceptsecrets(true)
      .setAcceptresources(true)
      .setArgs(toStruct(toWireMap(config)));
    await send<ConfigureResponse>((done) => this.client.configure(request, done));
  }

  async check(
    urn: Urn,
    olds: ValueMap,
    news: ValueMap,
  ): Promise<{ inputs: ValueMap; failures: CheckFailure[] }> {
    const request = withResource(new CheckRequest(), urn)
      .setOlds(toStruct(toPlainMap(olds)))
      .setNews(toStruct(toPlainMap(news)));
    const response = await send<CheckResponse>((done) => this.client.check(request, done)).catch(rethrow);
    return {
      inputs: this.#received(response.getInputs(), news),
      failures: response.getFailuresList().map((failure) => ({
        property: failure.getProperty(),
        reason: failure.getReason(),
      })),
    };
  }

  async diff(
    state: ResourceState,
    oldInputs: ValueMap,
    oldOutputs: ValueMap,
    news: ValueMap,
  ): Promise<DiffResult> {
    const request = withResource(new DiffRequest(), state.urn)
      .setId(state.id)
      .setOldInputs(toStruct(toPlainMap(oldInputs)))
      .setOlds(toStruct(toPlainMap(oldOutputs)))
      .setNews(toStruct(toPlainMap(news)));
    const response = await send<DiffResponse>((done) => this.client.diff(request, done)).catch(rethrow);
    return {
      changes: CHANGES[response.getChanges()],
      replaceKeys: response.getReplacesList(),
      changedKeys: response.getDiffsList(),
      deleteBeforeReplace: response.getDeletebeforereplace(),
    };
  }

  /** Creates a resource. A preview only returns the inputs as outputs. */
  async create(state: ResourceState): Promise<CreatedResource> {
    if (this.dryRun) return { id: "", outputs: state.inputs };
    const request = withResource(new CreateRequest(), state.urn).setProperties(
      toStruct(toPlainMap(state.inputs)),
    );
    const response = await send<CreateResponse>((done) => this.client.create(request, done)).catch(
      (error: unknown) => this.#throwUnfinished(error, state.inputs),
    );
    if (response.getId() === "") throw new Error("provider did not return an ID from Create");
    return { id: response.getId(), outputs: this.#received(response.getProperties(), state.inputs) };
  }

  async update(old: ResourceState, state: ResourceState): Promise<ValueMap> {
    if (this.dryRun) return state.inputs;
    const request = withResource(new UpdateRequest(), state.urn)
      .setId(old.id)
      .setOldInputs(toStruct(toPlainMap(old.inputs)))
      .setOlds(toStruct(toPlainMap(old.outputs ?? {})))
      .setNews(toStruct(toPlainMap(state.inputs)));
    const response = await send<UpdateResponse>((done) => this.client.update(request, done)).catch(
      (error: unknown) => this.#throwUnfinished(error, state.inputs),
    );
    return this.#received(response.getProperties(), state.inputs);
  }

  /** Reads a resource. Undefined if it no longer exists, in which case the provider returns an empty ID. */
  async read(state: ResourceState): Promise<ReadResource | undefined> {
    const request = withResource(new ReadRequest(), state.urn)
      .setId(state.id)
      .setInputs(toStruct(toPlainMap(state.inputs)))
      .setProperties(toStruct(toPlainMap(state.outputs ?? {})));
    const response = await send<ReadResponse>((done) => this.client.read(request, done)).catch(rethrow);
    if (response.getId() === "") return undefined;
    const inputs = response.getInputs();
    return {
      id: response.getId(),
      outputs: this.#received(response.getProperties(), state.outputs ?? {}),
      inputs: inputs && this.#received(inputs, state.inputs),
    };
  }

  async delete(state: ResourceState): Promise<void> {
    const request = withResource(new DeleteRequest(), state.urn)
      .setId(state.id)
      .setOldInputs(toStruct(toPlainMap(state.inputs)))
      .setProperties(toStruct(toPlainMap(state.outputs ?? {})));
    await send<Empty>((done) => this.client.delete(request, done)).catch(rethrow);
  }

  /** Reads values, which are as secret as those that were sent. Throws if one is unknown outside a preview. */
  #received(struct: ReturnType<ReadResponse["getInputs"]>, sent: ValueMap): ValueMap {
    const map = mapFromWire(fromStruct(struct));
    if (!this.dryRun && containsUnknowns(map)) {
      const key = Object.keys(map).find((each) => containsUnknowns(map[each] ?? Unknown.value));
      throw new Error(`unexpected unknown property value for ${JSON.stringify(key)}`);
    }
    return markSecretsLike(map, sent);
  }

  #throwUnfinished(error: unknown, inputs: ValueMap): never {
    const detail = initFailure(error);
    if (detail === undefined) return rethrow(error);
    const outputs = this.#received(detail.getProperties(), inputs);
    throw new InitFailedError({ id: detail.getId(), outputs }, detail.getReasonsList());
  }
}

interface Request {
  setUrn(urn: string): unknown;
  setName(name: string): unknown;
  setType(type: string): unknown;
}

function withResource<R extends Request>(request: R, urn: Urn): R {
  request.setUrn(urn);
  request.setName(nameOf(urn));
  request.setType(typeOf(urn));
  return request;
}

const CHANGES: Readonly<Record<DiffResponse.DiffChanges, DiffResult["changes"]>> = {
  [DiffResponse.DiffChanges.DIFF_UNKNOWN]: "unknown",
  [DiffResponse.DiffChanges.DIFF_NONE]: "none",
  [DiffResponse.DiffChanges.DIFF_SOME]: "some",
};

const UNAVAILABLE: number = status.UNAVAILABLE;

/** Rethrows an error without the status that gRPC adds to the provider's message. */
function rethrow(error: unknown): never {
  if (!isServiceError(error)) throw error;
  if (error.code === UNAVAILABLE) {
    throw new Error(`the dynamic provider host ended unexpectedly: ${error.details}`);
  }
  throw new Error(error.details);
}

interface ServiceFailure {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

function isServiceError(error: unknown): error is ServiceFailure {
  return error instanceof Error && "details" in error && "code" in error && "metadata" in error;
}

function initFailure(error: unknown): ErrorResourceInitFailed | undefined {
  if (!isServiceError(error)) return undefined;
  const [details] = error.metadata.get("grpc-status-details-bin");
  if (!(details instanceof Buffer)) return undefined;
  for (const any of Status.deserializeBinary(new Uint8Array(details)).getDetailsList()) {
    if (any.getTypeName() === "pulumirpc.ErrorResourceInitFailed") {
      return ErrorResourceInitFailed.deserializeBinary(any.getValue_asU8());
    }
  }
  return undefined;
}
