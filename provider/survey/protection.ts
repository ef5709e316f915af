import type { Cell, Deployment, Zone } from "./model";
import { isNotReadable, isReadable } from "./readable";

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

/**
 * What acts on a zone: the account's deployments, which run first, and its own. If some couldn't be read, the others still
 * count where one is on.
 */
export function deploymentsIn({
  accountDeployments,
  deployments,
}: Pick<Zone, "accountDeployments" | "deployments">): Cell<Deployment[]> {
  const lists = [accountDeployments, deployments];
  const all = lists.filter(isReadable).flat();
  return all.some(isOn) ? all : (lists.find(isNotReadable) ?? all);
}

/** How many versions the furthest behind of those that are on is. */
export function mostBehind(deployments: readonly Acting[]): number {
  const on = deployments.filter(isOn);
  return Math.max(0, ...on.map(({ effect }) => ("versionsBehind" in effect ? effect.versionsBehind : 0)));
}

/** How many exceptions those that are on have. */
export function exceptionCount(deployments: readonly Acting[]): number {
  return deployments.filter(isOn).reduce((sum, { exceptions }) => sum + exceptions.length, 0);
}

/** Whether an expression is `true`, with or without parentheses. */
function isAlways(expression: string): boolean {
  return expression.replace(/[()\s]/g, "") === "true";
}
