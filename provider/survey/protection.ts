import type { Cell, Deployment, Zone } from "./model";
import { isNotReadable, isReadable, mapCell, valueOf } from "./readable";

/**
 * Answers questions about a zone's deployments from what was read. The page's script also uses
 * this module, so it doesn't import any libraries.
 */

type Deployed = Pick<Zone, "accountDeployments" | "deployments">;

export function isOn({ state }: Pick<Deployment, "state">): boolean {
  return state === "on";
}

/**
 * Returns a zone's deployments: the account's, which run first, then its own. If some couldn't be read and none of the
 * others is on, returns the reason instead.
 */
export function deploymentsIn({ accountDeployments, deployments }: Deployed): Cell<Deployment[]> {
  const lists = [accountDeployments, deployments];
  const all = lists.filter(isReadable).flat();
  const unknown = all.filter(({ state }) => state === "perhaps").map(({ effect }) => effect);
  return all.some(isOn) ? all : ([...lists, ...unknown].find(isNotReadable) ?? all);
}

/** Whether managed rulesets protect a zone. `perhaps` if that depends on the request. */
export function protectionOf({ protection }: Pick<Zone, "protection">): Cell<"on" | "perhaps" | "none"> {
  return mapCell(protection, ({ requests }) => PROTECTION[requests]);
}

const PROTECTION = { all: "on", some: "perhaps", none: "none" } as const;

/** Whether every part of a zone that can result in a task could be read. */
export function isWhole(zone: Zone): boolean {
  const { pageShield, policies, scripts, owasp, migration, jobs, firewallEvents = [] } = zone;
  return [
    ...[pageShield, policies, scripts, deploymentsIn(zone)],
    ...[owasp, migration, jobs, firewallEvents],
  ].every(isReadable);
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
