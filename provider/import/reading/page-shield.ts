import { z } from "zod";
import { canonicalCsp, CspError, parseCsp, type TypedDirectives } from "../../page-shield/csp";
import { existingSettings } from "../../page-shield/settings";
import { TYPES, type ExistingObject } from "../existing";
import { hostsIn } from "../names";
import type { Inventory } from "../inventory";
import type { Zone } from "../zones";

/** Reads a zone's Page Shield settings and policies. */
export async function readPageShield(inventory: Inventory, zone: Zone): Promise<void> {
  const scope = { kind: "zone", id: zone.id } as const;
  if (inventory.wants(TYPES.pageShieldSettings, scope, zone.id)) await readSettings(inventory, zone);

  await inventory.part(`Page Shield policies in ${zone.what}`, async () => {
    const { records } = await inventory.host.api.list(`/zones/${zone.id}/page_shield/policies`, {
      what: `Listing the policies in zone ${zone.id}`,
      record: z.looseObject({ id: z.string() }),
    });
    const wanted = records.filter(({ id }) => inventory.wants(TYPES.pageShieldPolicy, scope, id));
    const policies = await Promise.all(wanted.map(({ id }) => readPolicy(inventory, zone, id)));
    inventory.found.push(...policies.filter((policy) => policy !== undefined));
  });
}

async function readSettings(inventory: Inventory, zone: Zone): Promise<void> {
  const scope = { kind: "zone", id: zone.id } as const;
  await inventory.part(`Page Shield settings of ${zone.what}`, async () => {
    const resource = TYPES.pageShieldSettings;
    const seed = await existingSettings(inventory.host.context(resource.type), zone.id);
    const outputs = await inventory.outputs(resource, zone.id, seed);
    if (outputs === undefined) return;
    inventory.found.push({
      resource,
      id: zone.id,
      what: `Page Shield settings of ${zone.what}`,
      labels: [], // A zone has only one, so the zone's name is enough.
      scope,
      args: (writing) => ({ zoneId: writing.scope(scope), ...seed.previous }),
      outputs,
    });
  });
}

async function readPolicy(inventory: Inventory, zone: Zone, id: string): Promise<ExistingObject | undefined> {
  const resource = TYPES.pageShieldPolicy;
  const scope = { kind: "zone", id: zone.id } as const;
  const outputs = await inventory.outputs(resource, id, { zoneId: zone.id });
  if (outputs === undefined) return undefined;
  const description = typeof outputs["description"] === "string" ? outputs["description"] : "";
  return {
    resource,
    id,
    what: `policy ${id} ${JSON.stringify(description)} in ${zone.what}`,
    labels: [description, ...hostsIn(outputs["expression"])],
    scope,
    args: (writing) => ({
      zoneId: writing.scope(scope),
      description,
      action: outputs["action"],
      expression: outputs["expression"],
      ...(outputs["enabled"] === true ? {} : { enabled: outputs["enabled"] }),
      value: directives(outputs["value"]),
    }),
    outputs,
  };
}

/** Converts a policy's text to an object of directives if the two are equivalent, which is nearly always the case. */
function directives(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    const typed: TypedDirectives = Object.fromEntries(
      [...parseCsp(value)].map(([name, sources]) => [
        name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()),
        sources.length === 0 ? true : sources,
      ]),
    );
    return canonicalCsp(typed) === value ? typed : value;
  } catch (error) {
    if (error instanceof CspError) return value; // The check of its declaration explains the problem.
    throw error;
  }
}
