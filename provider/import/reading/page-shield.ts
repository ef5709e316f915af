import { z } from "zod";
import { canonicalCsp, CspError, parseCsp, type TypedDirectives } from "../../page-shield/csp";
import { readSettings } from "../../page-shield/settings";
import { TYPES, type Found } from "../found";
import { hostsIn } from "../names";
import type { Reading } from "../reading";
import type { Zone } from "../zones";

/** Page Shield of a zone: its settings and its policies. */
export async function readPageShield(reading: Reading, zone: Zone): Promise<void> {
  const scope = { kind: "zone", id: zone.id } as const;
  await reading.part(`Page Shield settings of ${zone.what}`, async () => {
    const resource = TYPES.pageShieldSettings;
    const { values, updatedAt } = await readSettings(reading.host.context(resource.type), zone.id);
    // What is there now is what a destroy puts back.
    const seed = {
      zoneId: zone.id,
      ...values,
      previous: values,
      ...(updatedAt === undefined ? {} : { updatedAt }),
    };
    const outputs = await reading.outputs(resource, zone.id, seed);
    if (outputs === undefined) return;
    reading.found.push({
      resource,
      id: zone.id,
      what: `Page Shield settings of ${zone.what}`,
      labels: [], // One of a zone: it goes by the zone's name.
      scope,
      args: (writing) => ({ zoneId: writing.scope(scope), ...values }),
      outputs,
    });
  });

  await reading.part(`Page Shield policies of ${zone.what}`, async () => {
    const { records } = await reading.host.api.list(`/zones/${zone.id}/page_shield/policies`, {
      what: `Listing the policies of zone ${zone.id}`,
      record: z.looseObject({ id: z.string() }),
    });
    const policies = await Promise.all(records.map(({ id }) => readPolicy(reading, zone, id)));
    reading.found.push(...policies.filter((policy) => policy !== undefined));
  });
}

async function readPolicy(reading: Reading, zone: Zone, id: string): Promise<Found | undefined> {
  const resource = TYPES.pageShieldPolicy;
  const scope = { kind: "zone", id: zone.id } as const;
  const outputs = await reading.outputs(resource, id, { zoneId: zone.id });
  if (outputs === undefined) return undefined;
  const description = typeof outputs["description"] === "string" ? outputs["description"] : "";
  return {
    resource,
    id,
    what: `policy ${id} ${JSON.stringify(description)} of ${zone.what}`,
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

/** By name where that says the same, as it nearly always does. */
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
    if (error instanceof CspError) return value; // Typed in the dashboard: the check of the declaration has more to say.
    throw error;
  }
}
