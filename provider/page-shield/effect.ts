/** What a policy does with scripts that it doesn't allow: blocks them, reports them or nothing. */
export type PolicyEffect = "enforced" | "logging" | "off";

const EFFECTS: ReadonlyMap<unknown, PolicyEffect> = new Map([
  ["allow", "enforced"],
  ["log", "logging"],
]);

/** Returns a policy's effect. Undefined for an enabled policy with an action that isn't documented. */
export function policyEffect({
  enabled,
  action,
}: {
  readonly enabled?: unknown;
  readonly action?: unknown;
}): PolicyEffect | undefined {
  return enabled === true ? EFFECTS.get(action) : "off";
}
