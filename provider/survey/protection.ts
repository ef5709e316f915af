import type { Cell, Deployment, Zone } from "./model";
import { isNotReadable, isReadable, valueOf } from "./readable";

/**
 * Determines whether managed rulesets protect a zone, from the states of its deployments. The page's script also uses
 * this module, so it doesn't import any libraries.
 */

type Protected = Pick<Zone, "accountDeployments" | "deployments">;

export function isOn({ state }: Pick<Deployment, "state">): boolean {
  return state === "on";
}

/**
 * Returns a zone's deployments: the account's, which run first, then its own. If some couldn't be read and none of the
 * others is on, returns the reason instead.
 */
export function deploymentsIn({ accountDeployments, deployments }: Protected): Cell<Deployment[]> {
  const lists = [accountDeployments, deployments];
  const all = lists.filter(isReadable).flat();
  const unknown = all.filter(({ state }) => state === "perhaps").map(({ effect }) => effect);
  return all.some(isOn) ? all : ([...lists, ...unknown].find(isNotReadable) ?? all);
}

/** Whether a managed ruleset protects a zone. `perhaps` if that depends on the request. */
export function protectionOf(zone: Protected): Cell<"on" | "perhaps" | "none"> {
  const found = deploymentsIn(zone);
  if (!isReadable(found)) return found;
  return found.some(isOn) ? "on" : found.some(({ state }) => state === "perhaps") ? "perhaps" : "none";
}

/** Whether every part of a zone that can result in a task could be read. */
export function isWhole(zone: Zone): boolean {
  const { pageShield, policies, scripts, owasp, migration, jobs } = zone;
  return [pageShield, policies, scripts, deploymentsIn(zone), owasp, migration, jobs].every(isReadable);
}

/** Of the deployments that are on, how many versions the most outdated one is behind. */
export function mostBehind(deployments: readonly Deployment[]): number {
  const on = deployments.filter(isOn);
  return Math.max(0, ...on.map(({ effect }) => valueOf(effect)?.versionsBehind ?? 0));
}

/** The number of exceptions in the deployments that are on. */
export function exceptionCount(deployments: readonly Deployment[]): number {
  return deployments.filter(isOn).reduce((sum, { exceptions }) => sum + exceptions.length, 0);
}
