import type * as pulumi from "@pulumi/pulumi";
import type { Facts } from "./lifecycle";
import { refusal } from "./program";

/** Checks how a program refers to existing objects: the ID that it passes to `get`, and the option `import`. */

/** Throws if an ID isn't a composite ID of the type. If the ID isn't known yet, the provider checks it later. */
export function checkCompositeId(
  { type, compositeId }: Facts,
  name: string,
  id: pulumi.Input<pulumi.ID>,
): void {
  if (typeof id !== "string") return;
  try {
    compositeId.parse(id);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw refusal(`edgeguard: ${type}.get("${name}"): ${error.message}`);
  }
}

/** Returns the resource's ID as recorded in the state. The SDK would keep the composite ID. */
export function ownId({ compositeId }: Facts, id: pulumi.Output<pulumi.ID>): pulumi.Output<pulumi.ID> {
  return id.apply((given) => compositeId.parse(given).id);
}

/**
 * Throws if the resource option `import` is set. For a dynamic resource, the engine doesn't pass the provider to an
 * import, which would fail without giving a reason.
 */
export function refuseImport({ type, importedWith }: Facts, name: string): never {
  const instead =
    importedWith === undefined
      ? "remove the option, and set target to the zone's current step, so that the update records the zone without sending anything"
      : `run \`edgeguard import ${importedWith}\` with --zone or --account, which writes the program and the file for \`pulumi import\``;
  throw refusal(
    `edgeguard: ${type} "${name}": the import option can't import a dynamic resource: ${instead}.`,
  );
}
