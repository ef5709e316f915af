import type { Deployment } from "./model";

/** Which deployments act. The page's script uses this, too, so nothing here needs a library. */

type Acting = Pick<Deployment, "enabled" | "effect" | "exceptions">;

/** Whether a deployment acts on any request: a rule of it is on, and no exception skips it for all requests. */
export function isOn({ enabled, effect, exceptions }: Acting): boolean {
  const hasNoRule = "rulesOn" in effect && effect.rulesOn === 0;
  return (
    enabled &&
    !hasNoRule &&
    !exceptions.some(({ skips, expression }) => skips === "all" && isAlways(expression))
  );
}

/** `true`, in parentheses or not. */
function isAlways(expression: string): boolean {
  return expression.replace(/[()\s]/g, "") === "true";
}
