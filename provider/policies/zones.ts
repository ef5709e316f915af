import type { StackValidationPolicy } from "@pulumi/policy";
import { text, type Declared } from "./declared";
import { onStack, type PolicyOptions } from "./define";

/** Options of the policies that check each zone. */
export interface ZonePolicyOptions extends PolicyOptions {
  /**
   * IDs of zones that the policy doesn't check, such as a zone that another stack protects. The pack's configuration
   * overrides it.
   *
   * @defaultValue `[]`
   */
  readonly exceptZones?: readonly string[];
}

/** What a zone lacks, in the words of its violation. */
interface Lack {
  /** What's said before "zone". */
  readonly lacks: string;
  readonly why?: string;
  readonly advice: string;
}

/** Creates a policy that checks each zone that the stack has resources for. */
export function onZones(
  about: { readonly name: string; readonly description: string },
  { enforcementLevel, exceptZones = [] }: ZonePolicyOptions,
  rule: (own: readonly Declared[], all: readonly Declared[]) => Lack | undefined,
): StackValidationPolicy {
  return onStack(
    { ...about, enforcementLevel },
    {
      schema: { exceptZones: { type: "array", items: { type: "string" }, default: [...exceptZones] } },
      values: { exceptZones },
    },
    (resources, config) => {
      const exempt = new Set(config.exceptZones.map((zone) => zone.toLowerCase()));
      return [...byZone(resources)].flatMap(([zone, own]) => {
        const [first] = own;
        const lack = exempt.has(zone) ? undefined : rule(own, resources);
        if (first === undefined || lack === undefined) return [];
        const why = lack.why === undefined ? "" : `: ${lack.why}`;
        const message = `${lack.lacks} zone ${zone}, which has resources in this stack${why}. ${lack.advice}, or list the zone in exceptZones if another stack protects it.`;
        return [{ urn: first.urn, message }];
      });
    },
  );
}

function byZone(resources: readonly Declared[]): ReadonlyMap<string, readonly Declared[]> {
  const found = new Map<string, Declared[]>();
  // Sorted, because the order of registration differs from run to run.
  for (const resource of [...resources].sort((one, other) => (one.urn < other.urn ? -1 : 1))) {
    const zone = zoneOf(resource);
    if (zone !== undefined) found.set(zone, [...(found.get(zone) ?? []), resource]);
  }
  return found;
}

/**
 * Returns the zone's ID in lower case. Undefined if it isn't known yet. A deployment in an unknown zone doesn't cover
 * any other zone.
 */
export function zoneOf({ props }: Declared): string | undefined {
  return text(props, "zoneId")?.toLowerCase();
}
