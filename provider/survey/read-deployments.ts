import { isAbsent } from "../api/errors";
import { matchesZone, type KnownZone } from "../rulesets/coverage";
import { canAct, effectiveRules, type EffectiveRule } from "../rulesets/effective";
import { explain, type ExecutedRuleset } from "../rulesets/explain";
import { readVersion } from "../rulesets/managed";
import { isPinned } from "../rulesets/deployment";
import { protectionOf, type DeployedRuleset } from "../rulesets/protection";
import { skippedRulesOf } from "../rulesets/skip";
import type { EntryPoint, ManagedRuleset, ZoneRule } from "../rulesets/wire";
import { omitAbsent } from "../basics/json";
import type { Account, Cell, Deployment, ListedZone, Zone } from "./model";
import type { Reader } from "./cells";
import { isNotReadable, mapCell, valueOf } from "./readable";

/** Reads the rules that execute managed rulesets, with their effect. */

/** The account's rulesets, without their rules. */
type Rulesets = Pick<Account, "id" | "rulesets">;

const NO_ACCOUNT = {
  notReadable: "account",
  what: "the zone's account isn't known: pass --account",
} as const;

/**
 * Reads the effect of an entry point's deployments. Each version of a ruleset is read only once for all zones in an
 * account.
 *
 * @param holder the zone or account that has the entry point.
 */
export async function deploymentsOf(
  reading: Reader,
  holder: string,
  account: Rulesets | undefined,
  found: EntryPoint | undefined,
): Promise<Deployment[]> {
  const rules = new Map(found?.rules.map((rule) => [rule.id, rule]));
  const effects = new Map<string, Cell<Effect>>();
  for (const rule of rules.values())
    if (rule.deploys !== undefined)
      effects.set(rule.id, await readEffect(reading, account, rule.deploys.rulesetId, rule.deploys.version));
  const effectOf = (ruleId: string): Cell<Effect> => effects.get(ruleId) ?? NO_ACCOUNT;
  const rulesetOf = ({ id }: ZoneRule): ExecutedRuleset | undefined => {
    const deployed = valueOf(effectOf(id))?.deployed;
    return deployed === undefined ? undefined : { managed: deployed };
  };
  /**
   * Whether a deployment can act on requests or, with `exceptionId`, on requests to which that exception applies.
   * Undefined if its ruleset couldn't be read.
   */
  const acts = (ruleId: string, exceptionId?: string): boolean | undefined => {
    const managed = valueOf(effectOf(ruleId))?.deployed;
    const deploys = rules.get(ruleId)?.deploys;
    if (managed === undefined || deploys === undefined) return undefined;
    const skips = rules.get(exceptionId ?? "")?.skips;
    const skipped = skips === undefined ? [] : skippedRulesOf(skips, deploys.rulesetId);
    return canAct(effectiveRules(managed, deploys.overrides), skipped);
  };
  return explain(holder, found, rulesetOf).deployments.map(
    ({ ruleId, ref, description, enabled, expression, ruleset, exceptions, ...each }) => ({
      ruleId,
      entryPointId: found?.id ?? "",
      ref,
      description,
      enabled,
      state: stateOf(enabled && acts(ruleId)),
      expression,
      rulesetId: ruleset.id,
      ...omitAbsent({ payloadLogging: each.payloadLogging }),
      exceptions: exceptions.map(({ ruleId: id, description, expression, skips, logging }) => ({
        description,
        expression,
        skips,
        ...omitAbsent({ logging }),
        stops: skips === "all" || acts(ruleId, id) === false,
      })),
      effect: mapCell(effectOf(ruleId), ({ deployed, latest }) => ({
        name: deployed.name,
        version: deployed.version,
        versionsBehind: Math.max(0, Number(latest) - Number(deployed.version)) || 0,
        ...omitAbsent({
          paranoiaLevel: each.paranoiaLevel,
          scoreThreshold: each.scoreThreshold,
          action: each.action,
        }),
        rulesOn: each.rules?.on ?? 0,
        rulesOff: each.rules?.off ?? 0,
        ...loggingOf(deployed, rules.get(ruleId)),
      })),
    }),
  );
}

/** Returns the rules that are on in the enabled deployments, by ID. Those of a ruleset that couldn't be read are missing. */
export async function rulesOn(
  reading: Reader,
  account: Rulesets | undefined,
  found: EntryPoint | undefined,
): Promise<ReadonlyMap<string, EffectiveRule>> {
  const rules = new Map<string, EffectiveRule>();
  for (const { enabled, deploys } of found?.rules ?? []) {
    if (!enabled || deploys === undefined) continue;
    const effect = valueOf(await readEffect(reading, account, deploys.rulesetId, deploys.version));
    if (effect === undefined) continue;
    for (const rule of effectiveRules(effect.deployed, deploys.overrides))
      if (rule.enabled) rules.set(rule.id, rule);
  }
  return rules;
}

function loggingOf(
  managed: ManagedRuleset,
  rule: ZoneRule | undefined,
): { readonly rulesOnLog: number; readonly onlyLogs: boolean } {
  const rules = effectiveRules(managed, rule?.deploys?.overrides ?? { categories: [], rules: {} });
  const actions = rules.filter(({ enabled }) => enabled).map(({ action }) => action);
  return {
    rulesOnLog: actions.filter((action) => action === "log").length,
    onlyLogs: actions.every((action) => action === "log" || action === "score"),
  };
}

interface Effect {
  readonly deployed: ManagedRuleset;
  /** The latest version's number. */
  readonly latest: string;
}

/**
 * Reads a deployment's effect. Only the deployed version is read: the account's list of rulesets contains the latest
 * version's number.
 */
async function readEffect(
  { host, cells }: Reader,
  account: Rulesets | undefined,
  rulesetId: string,
  version: string | undefined,
): Promise<Cell<Effect>> {
  if (account === undefined) return NO_ACCOUNT;
  const { id, rulesets } = account;
  if (isNotReadable(rulesets)) return rulesets;
  const latest = rulesets.find((each) => each.id === rulesetId)?.version;
  const pinned = isPinned(version) && version !== latest ? version : undefined;
  return await cells.read(`/accounts/${id}/rulesets`, async (): Promise<Cell<Effect>> => {
    try {
      const deployed = await readVersion(host.context("survey"), id, rulesetId, pinned);
      return { deployed, latest: latest ?? deployed.version };
    } catch (error) {
      if (!isAbsent(error)) throw error;
      const which = pinned === undefined ? rulesetId : `${rulesetId} in version ${pinned}`;
      return { notReadable: "failed", what: `account ${id} has no ruleset ${which}` };
    }
  });
}

function stateOf(acts: boolean | undefined): State {
  return acts === undefined ? "perhaps" : acts ? "on" : "off";
}
type State = Deployment["state"];

/** Returns a deployment's state in a zone. It's off if its expression or an exception rules out all requests there. */
function stateIn(zone: ListedZone, { state, expression, exceptions }: Deployment): State {
  const known = knownOf(zone);
  const isStopped = exceptions.some((each) => each.stops && matchesZone(each.expression, known) === true);
  return isStopped || matchesZone(expression, known) === false ? "off" : state;
}

function knownOf({ name, plan }: Pick<ListedZone, "name" | "plan">): KnownZone {
  return { name: valueOf(name), plan: valueOf(plan) };
}

/**
 * Determines whether the deployments of the zone and its account protect it. Something that couldn't be read matters only
 * if nothing else protects it.
 */
export function protectionIn(
  zone: ListedZone & Pick<Zone, "accountDeployments" | "deployments">,
): Zone["protection"] {
  const lists = [zone.accountDeployments, zone.deployments];
  const all = lists.flatMap((each) => valueOf(each) ?? []);
  const isPaused = valueOf(zone.status) === "paused";
  const { requests, lacking } = protectionOf(all.map(asDeployed), { ...knownOf(zone), isPaused });
  const effects = all.filter(({ state }) => state === "perhaps").map(({ effect }) => effect);
  const unread = isPaused || requests === "all" ? undefined : [...lists, ...effects].find(isNotReadable);
  return unread ?? { requests: requests === "unknown" ? "none" : requests, lacking: [...lacking] };
}

function asDeployed({
  rulesetId,
  enabled,
  expression,
  state,
  exceptions,
  effect,
}: Deployment): DeployedRuleset {
  const known = valueOf(effect);
  return {
    id: rulesetId,
    name: known?.name,
    enabled,
    expression,
    canAct: known && state !== "off",
    onlyLogs: known?.onlyLogs,
    skippedFor: exceptions.filter(({ stops }) => stops).map((each) => each.expression),
  };
}

/** Sets the state of a zone's own deployments, which also depends on the zone's name and plan. */
export function inZone(zone: ListedZone, own: readonly Deployment[]): Deployment[] {
  return own.map((each) => ({ ...each, state: stateIn(zone, each) }));
}

/**
 * Returns the account's deployments that may apply to a zone, without exceptions for other zones. An account's rules
 * apply only to its Enterprise zones: https://developers.cloudflare.com/waf/account/.
 */
export function coveringDeployments(
  account: Pick<Account, "deployments"> | undefined,
  zone: ListedZone,
): Zone["accountDeployments"] {
  if (!mayHaveEnterpriseRules(zone)) return [];
  const known = knownOf(zone);
  if (account === undefined) return NO_ACCOUNT;
  return mapCell(account.deployments, (all) =>
    all
      .filter(({ expression }) => matchesZone(expression, known) !== false)
      .map((each) => {
        const state = stateIn(zone, each);
        const mayMiss = matchesZone(each.expression, known) === undefined;
        return {
          ...each,
          state: state === "on" && mayMiss ? "perhaps" : state,
          exceptions: each.exceptions.filter(({ expression }) => matchesZone(expression, known) !== false),
        };
      }),
  );
}

const ENTERPRISE = ["enterprise", "partners_enterprise"];

/** Whether rules that need an Enterprise plan may apply to the zone. */
export const mayHaveEnterpriseRules = ({ plan }: Pick<ListedZone, "plan">): boolean =>
  ENTERPRISE.includes(valueOf(plan) ?? "enterprise");

/**
 * Returns the settings of the first deployment that's on and has paranoia levels. If there's none, of the first that's
 * perhaps on.
 */
export function owaspOf(lists: readonly Cell<Deployment[]>[]): Zone["owasp"] {
  const all = lists.flatMap((each) => valueOf(each) ?? []);
  for (const wanted of ["on", "perhaps"] as const) {
    for (const { state, effect } of all) {
      const { paranoiaLevel, scoreThreshold, action } = valueOf(effect) ?? {};
      if (state === wanted && paranoiaLevel !== undefined)
        return { state, paranoiaLevel, ...omitAbsent({ scoreThreshold, action }) };
    }
    const effects = all.filter(({ state }) => state === "perhaps").map(({ effect }) => effect);
    const unread = [...lists, ...effects].find(isNotReadable);
    if (unread !== undefined) return unread;
  }
  return { state: "off" };
}
