/** One resource as the program declares it. */
import type { RegisterResourceRequest } from "@pulumi/pulumi/proto/resource_pb";
import type { AliasSpec } from "./aliases";
import { UnsupportedError } from "./errors";
import { fromStruct } from "./grpc";
import { isProviderType, PROVIDER_PACKAGE, PROVIDER_TYPE, type Urn } from "./urn";
import { containsUnknowns, mapFromWire, mapValues, type ValueMap } from "./values";

export interface Goal {
  readonly type: string;
  readonly name: string;
  readonly custom: boolean;
  readonly inputs: ValueMap;
  readonly parent: Urn;
  readonly provider: string;
  readonly protect: boolean | undefined;
  readonly retainOnDelete: boolean | undefined;
  /** Whether to delete the resource before replacing it. If undefined, the provider decides. */
  readonly deleteBeforeReplace: boolean | undefined;
  readonly dependencies: readonly Urn[];
  readonly propertyDependencies: Readonly<Record<string, readonly Urn[]>>;
  readonly ignoreChanges: readonly string[];
  readonly additionalSecretOutputs: readonly string[];
  readonly aliases: readonly AliasSpec[];
}

export function goalOf(request: RegisterResourceRequest): Goal {
  const object = mapFromWire(fromStruct(request.getObject()));
  refuseUnsupported(request, object);
  const dependencies = [...request.getDependenciesList()].sort();
  return {
    type: request.getType(),
    name: request.getName(),
    custom: request.getCustom(),
    inputs: object,
    parent: request.getParent(),
    provider: request.getProvider(),
    protect: request.hasProtect() ? request.getProtect() : undefined,
    retainOnDelete: request.hasRetainondelete() ? request.getRetainondelete() : undefined,
    deleteBeforeReplace:
      request.getDeletebeforereplacedefined() || request.getDeletebeforereplace()
        ? request.getDeletebeforereplace()
        : undefined,
    dependencies,
    propertyDependencies: propertyDependenciesOf(request, object, dependencies),
    ignoreChanges: request.getIgnorechangesList(),
    additionalSecretOutputs: request.getAdditionalsecretoutputsList(),
    aliases: aliasesOf(request),
  };
}

/** Throws if a registration uses unsupported features. The error names each feature as programs write it. */
function refuseUnsupported(request: RegisterResourceRequest, object: ValueMap): void {
  const type = request.getType();
  const timeouts = request.getCustomtimeouts();
  const asked: Readonly<Record<string, boolean>> = {
    [`other providers (${type})`]: isProviderType(type) && type !== PROVIDER_TYPE,
    [`resources of other providers (${type})`]:
      request.getCustom() && !isProviderType(type) && type.split(":")[0] !== PROVIDER_PACKAGE,
    [`remote components (${type})`]: request.getRemote(),
    "explicit providers whose inputs are unknown in a preview":
      isProviderType(type) && containsUnknowns(object),
    "the resource option `import`": request.getImportid() !== "",
    "the resource option `deletedWith`": request.getDeletedwith() !== "",
    "the resource option `replaceOnChanges`": request.getReplaceonchangesList().length > 0,
    "the resource option `replaceWith`": request.getReplaceWithList().length > 0,
    "the resource option `replacementTrigger`": request.hasReplacementTrigger(),
    "the resource option `hideDiffs`": request.getHidediffsList().length > 0,
    "the resource option `transforms`": request.getTransformsList().length > 0,
    "the resource option `hooks`": hasHooks(request),
    "the resource option `customTimeouts`":
      // Not by their names: an older SDK has no `read` among them.
      Object.values(timeouts?.toObject() ?? {}).some((each) => each !== ""),
    "packages with parameters": request.getPackageref() !== "",
  };
  const [feature] = Object.entries(asked).find(([, isAsked]) => isAsked) ?? [];
  if (feature !== undefined) throw new UnsupportedError(feature);
}

function hasHooks(request: RegisterResourceRequest): boolean {
  const hooks = request.getHooks();
  return hooks !== undefined && Object.values(hooks.toObject()).some((names) => names.length > 0);
}

/** Returns the dependencies by property. Older SDKs don't send them, so every property depends on all dependencies. */
function propertyDependenciesOf(
  request: RegisterResourceRequest,
  inputs: ValueMap,
  dependencies: readonly Urn[],
): Record<string, readonly Urn[]> {
  const given = request.getPropertydependenciesMap();
  if (given.getLength() === 0) return mapValues(inputs, () => dependencies);
  const result: Record<string, readonly Urn[]> = {};
  given.forEach((value, key) => (result[key] = [...value.getUrnsList()].sort()));
  return result;
}

function aliasesOf(request: RegisterResourceRequest): AliasSpec[] {
  return [
    ...request.getAliasurnsList().map((urn): AliasSpec => ({ urn })),
    ...request.getAliasesList().map((alias): AliasSpec => {
      const spec = alias.getSpec();
      if (spec === undefined) return { urn: alias.getUrn() };
      return {
        name: spec.getName(),
        type: spec.getType(),
        stack: spec.getStack(),
        project: spec.getProject(),
        parent: spec.getParenturn(),
        hasNoParent: spec.getNoparent(),
      };
    }),
  ];
}
