import type { ResourceValidationPolicy } from "@pulumi/policy";
import { KvEntries } from "../kv/kv-entries";
import { KvNamespace } from "../kv/kv-namespace";
import { DEFAULT_MAX_PRUNED } from "../kv/prune";
import { stackOf, text } from "./declared";
import { onResource, type PolicyOptions } from "./define";

/** Options of {@link pruneStaysUnderLimit}. */
export interface PrunePolicyOptions extends PolicyOptions {
  /**
   * The maximum number of keys written by others that one update may delete. The pack's configuration overrides it.
   *
   * @defaultValue `100`, the same as the default of `maxDeletes`
   */
  readonly maxPruned?: number;
}

/**
 * Rejects a `KvEntries` whose `prune` may delete more keys written by others than `maxPruned` allows. If `maxDeletes`
 * isn't set, its default of 100 counts. The policy checks only the arguments, not which keys the namespace currently
 * contains.
 *
 * @example Lower the limit to 20 keys
 * ```ts
 * import { PolicyPack } from "@pulumi/policy";
 * import { pruneStaysUnderLimit } from "pulumi-edgeguard/policies";
 *
 * new PolicyPack("edge", { policies: [pruneStaysUnderLimit({ maxPruned: 20 })] });
 * ```
 */
export function pruneStaysUnderLimit({
  enforcementLevel,
  maxPruned = DEFAULT_MAX_PRUNED,
}: PrunePolicyOptions = {}): ResourceValidationPolicy {
  return onResource(
    {
      name: "prune-stays-under-limit",
      description: "Pruning KV entries deletes only a limited number of keys that others wrote.",
      enforcementLevel,
    },
    KvEntries,
    { schema: { maxPruned: { type: "integer", minimum: 0, default: maxPruned } }, values: { maxPruned } },
    ({ prune }, _resource, { maxPruned }) => {
      if (prune === undefined) return undefined;
      const { prefix, maxDeletes } = prune;
      if ((maxDeletes ?? DEFAULT_MAX_PRUNED) <= maxPruned) return undefined;
      const given = maxDeletes ?? `${DEFAULT_MAX_PRUNED} (the default)`;
      return `prune.maxDeletes is ${given} for the prefix ${JSON.stringify(prefix)}; this stack's policy allows at most ${maxPruned}. Set prune.maxDeletes to ${maxPruned} or less.`;
    },
  );
}

/** Options of {@link noForceDestroyInProduction}. */
export interface ForceDestroyPolicyOptions extends PolicyOptions {
  /**
   * A regular expression that matches the names of production stacks. The pack's configuration overrides it.
   *
   * @defaultValue `"^(prod|production|live)"`
   */
  readonly production?: string;
}

/**
 * Rejects a `KvNamespace` with `forceDestroy` in production stacks. That option deletes keys that others wrote, so it
 * should be turned on only deliberately, right before a destroy.
 *
 * @example Production stacks that end in -live
 * ```ts
 * import { PolicyPack } from "@pulumi/policy";
 * import { noForceDestroyInProduction } from "pulumi-edgeguard/policies";
 *
 * new PolicyPack("edge", { policies: [noForceDestroyInProduction({ production: "-live$" })] });
 * ```
 */
export function noForceDestroyInProduction({
  enforcementLevel,
  production = "^(prod|production|live)",
}: ForceDestroyPolicyOptions = {}): ResourceValidationPolicy {
  return onResource(
    {
      name: "no-force-destroy-in-production",
      description: "Destroying a production stack never deletes a KV namespace that has keys.",
      enforcementLevel,
    },
    KvNamespace,
    { schema: { production: { type: "string", default: production } }, values: { production } },
    ({ forceDestroy }, resource, { production }) => {
      const stack = stackOf(resource);
      if (forceDestroy !== true || !new RegExp(production).test(stack)) return undefined;
      const title = text(resource.props, "title") ?? resource.name;
      return `With forceDestroy, \`pulumi destroy\` on the production stack ${JSON.stringify(stack)} deletes every key in namespace ${JSON.stringify(title)}. Remove forceDestroy.`;
    },
  );
}
