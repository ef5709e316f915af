/** A stack's state: Pulumi's deployment, version 3, as the engine holds it. */
import type { Urn } from "./urn";
import type { ValueMap } from "./values";

/** One resource. The engine changes it in place, and compares by identity: two states may share a URN. */
export interface ResourceState {
  urn: Urn;
  type: string;
  custom: boolean;
  id: string;
  inputs: ValueMap;
  outputs: ValueMap | undefined;
  parent: Urn;
  provider: string;
  protect: boolean;
  retainOnDelete: boolean;
  /** Replaced already, and waiting to be deleted. */
  delete: boolean;
  /** Deleted already, and waiting for its replacement. */
  pendingReplacement: boolean;
  dependencies: readonly Urn[];
  propertyDependencies: Readonly<Record<string, readonly Urn[]>>;
  additionalSecretOutputs: readonly string[];
  ignoreChanges: readonly string[];
  replaceOnChanges: readonly string[];
  /** Why a resource that exists is not finished. */
  initErrors: readonly string[];
  /** URNs this resource had before; they are known during an operation and never written. */
  aliases: readonly Urn[];
  importId: string;
  created: string | undefined;
  modified: string | undefined;
  sourcePosition: string;
  stackTrace: readonly { sourcePosition?: string | undefined }[];
}

export type OperationType = "creating" | "updating" | "deleting" | "reading" | "importing";

/** A step that was begun and of which the end was never recorded. */
export interface PendingOperation {
  readonly type: OperationType;
  readonly resource: ResourceState;
}

export interface Deployment {
  resources: ResourceState[];
  pendingOperations: PendingOperation[];
}

export const emptyDeployment = (): Deployment => ({ resources: [], pendingOperations: [] });

/** What a new state starts from. */
export function newState(
  given: Pick<ResourceState, "urn" | "type" | "custom"> & Partial<ResourceState>,
): ResourceState {
  return {
    id: "",
    inputs: {},
    outputs: undefined,
    parent: "",
    provider: "",
    protect: false,
    retainOnDelete: false,
    delete: false,
    pendingReplacement: false,
    dependencies: [],
    propertyDependencies: {},
    additionalSecretOutputs: [],
    ignoreChanges: [],
    replaceOnChanges: [],
    initErrors: [],
    aliases: [],
    importId: "",
    created: undefined,
    modified: undefined,
    sourcePosition: "",
    stackTrace: [],
    ...given,
  };
}
