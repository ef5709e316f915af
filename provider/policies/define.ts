import {
  validateResourceOfType,
  type EnforcementLevel,
  type PolicyConfigSchema,
  type ResourceValidationArgs,
  type ResourceValidationPolicy,
  type StackValidationPolicy,
} from "@pulumi/policy";
import type { CustomResource, Unwrap } from "@pulumi/pulumi";
import type { Declared } from "./declared";

/** The options that every policy has. */
export interface PolicyOptions {
  /**
   * What a violation does: `"mandatory"` fails the preview and the update, `"advisory"` only warns, and `"disabled"` turns
   * the policy off. The configuration of the pack (`--policy-pack-config`) overrides it.
   *
   * @defaultValue `"mandatory"`
   */
  readonly enforcementLevel?: EnforcementLevel;
}

interface About {
  readonly name: string;
  /** What the policy requires, as a sentence. The CLI prints it above the violations. */
  readonly description: string;
  readonly enforcementLevel: EnforcementLevel | undefined;
}

/** The options that a policy pack's configuration may set. */
export interface Configurable<T extends object> {
  readonly schema: PolicyConfigSchema["properties"];
  /** The values to use if the configuration doesn't set any. */
  readonly values: T;
}

export const NOTHING: Configurable<object> = { schema: {}, values: {} };

/** A violation of a policy. */
export interface Violation {
  readonly urn: string;
  readonly message: string;
}

/**
 * Creates a policy for the resources of one class. If the policy reads an argument that isn't known yet, Pulumi ends
 * the check and names the argument.
 */
export function onResource<Args, T extends object>(
  about: About,
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as validateResourceOfType declares it
  resourceClass: new (name: string, args: Args, ...rest: any[]) => CustomResource,
  { schema, values }: Configurable<T>,
  rule: (args: Unwrap<NonNullable<Args>>, resource: ResourceValidationArgs, config: T) => string | undefined,
): ResourceValidationPolicy {
  return {
    ...policyOf(about, schema),
    validateResource: validateResourceOfType(resourceClass, (args, resource, report) => {
      const message = rule(args, resource, { ...values, ...resource.getConfig<Partial<T>>() });
      if (message !== undefined) report(message);
    }),
  };
}

/** Creates a policy that checks individual resources of several types. */
export function onEachResource<T extends object>(
  about: About,
  { schema, values }: Configurable<T>,
  rule: (resource: Declared, config: T) => readonly string[],
): ResourceValidationPolicy {
  return {
    ...policyOf(about, schema),
    validateResource: (resource, report) => {
      const found = rule(resource, { ...values, ...resource.getConfig<Partial<T>>() });
      for (const message of found) report(message);
    },
  };
}

/** Creates a policy that checks all resources in the stack together. */
export function onStack<T extends object>(
  about: About,
  { schema, values }: Configurable<T>,
  rule: (resources: readonly Declared[], config: T) => readonly Violation[],
): StackValidationPolicy {
  return {
    ...policyOf(about, schema),
    validateStack: (stack, report) => {
      const found = rule(stack.resources, { ...values, ...stack.getConfig<Partial<T>>() });
      for (const { message, urn } of found) report(message, urn);
    },
  };
}

function policyOf(
  { name, description, enforcementLevel = "mandatory" }: About,
  properties: PolicyConfigSchema["properties"],
): Pick<ResourceValidationPolicy, "name" | "description" | "enforcementLevel" | "configSchema"> {
  return { name, description, enforcementLevel, configSchema: { properties } };
}
