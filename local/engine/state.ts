/** A stack's state in memory: Pulumi's deployment, version 3. */
import type { Urn } from "./urn";
import type { ValueMap } from "./values";

/**
 * A resource's state. The engine changes it in place and compares by identity, because two states may have the same
 * URN.
 */
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
  /** Whether the resource was replaced but not deleted yet. */
  delete: boolean;
  /** Whether the resource was deleted but not replaced yet. */
  pendingReplacement: boolean;
  dependencies: readonly Urn[];
  propertyDependencies: Readonly<Record<string, readonly Urn[]>>;
  additionalSecretOutputs: readonly string[];
  ignoreChanges: readonly string[];
  /** Why the resource isn't fully initialized, if it isn't. */
  initErrors: readonly string[];
  /** The resource's earlier URNs. They're set only during an operation and never written. */
  aliases: readonly Urn[];
  created: string | undefined;
  modified: string | undefined;
}

export type OperationType = "creating" | "updating" | "deleting" | "reading" | "importing";

/** A step that started but whose result was never recorded. */
export interface PendingOperation {
  readonly type: OperationType;
  readonly resource: ResourceState;
}

export interface Deployment {
  resources: ResourceState[];
  pendingOperations: PendingOperation[];
}

export const emptyDeployment = (): Deployment => ({ resources: [], pendingOperations: [] });

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
    initErrors: [],
    aliases: [],
    created: undefined,
    modified: undefined,
    ...given,
  };
}
