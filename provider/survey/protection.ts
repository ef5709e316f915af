import type { Deployment } from "./model";

/** Decides which deployments act. The page's script also uses this module, so it doesn't import any libraries. */

type Acting = Pick<Deployment, "enabled" | "effect" | "exceptions">;

/**
 * Whether a deployment acts on any request: at least one of its rules is on, and no exception skips it for all
 * requests.
 */
export function isOn({ enabled, effect, exceptions }: Acting): boolean {
  const hasNoRule = "rulesOn" in effect && effect.rulesOn === 0;
  return (
    enabled &&
    !hasNoRule &&
    !exceptions.some(({ skips, expression }) => skips === "all" && isAlways(expression))
  );
}

/** Whether an expression is `true`, with or without parentheses. */
function isAlways(expression: string): boolean {
  return expression.replace(/[()\s]/g, "") === "true";
}
