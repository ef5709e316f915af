import type { Cell, Deployment, Zone } from "./model";
import { isNotReadable, isReadable, valueOf } from "./readable";

/**
 * Counts what protects a zone. Which deployments are on was decided when they were read. The page's script also uses this
 * module, so it doesn't import any libraries.
 */

type Protected = Pick<Zone, "accountDeployments" | "deployments">;

export function isOn({ state }: Pick<Deployment, "state">): boolean {
  return state === "on";
}

/**
 * Returns a zone's deployments: the account's, which run first, and its own. If some couldn't be read, the others still
 * count where one is on.
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

/** Whether every part of a zone that may ask for a task could be read. */
export function isWhole(zone: Zone): boolean {
  const { pageShield, policies, scripts, owasp, migration, jobs } = zone;
  return [pageShield, policies, scripts, deploymentsIn(zone), owasp, migration, jobs].every(isReadable);
}

/** How many versions the furthest behind of those that are on is. */
export function mostBehind(deployments: readonly Deployment[]): number {
  const on = deployments.filter(isOn);
  return Math.max(0, ...on.map(({ effect }) => valueOf(effect)?.versionsBehind ?? 0));
}

/** How many exceptions those that are on have. */
export function exceptionCount(deployments: readonly Deployment[]): number {
  return deployments.filter(isOn).reduce((sum, { exceptions }) => sum + exceptions.length, 0);
}
