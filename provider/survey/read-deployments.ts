import { isAbsent } from "../api/errors";
import { explain, type ExecutedRuleset } from "../rulesets/explain";
import { readVersion } from "../rulesets/managed";
import { isPinned } from "../rulesets/deployment";
import type { EntryPoint, ManagedRuleset, ZoneRule } from "../rulesets/wire";
import { omitAbsent } from "../runtime/members";
import { matchesZone } from "./coverage";
import type { Account, Cell, Deployment, ListedZone, NotReadable, Zone } from "./model";
import { isOn } from "./protection";
import type { Reader } from "./cells";
import { isNotReadable, isReadable, mapCell, valueOf } from "./readable";

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
  const effects = new Map<string, Cell<Effect>>();
  for (const rule of found?.rules ?? [])
    if (rule.deploys !== undefined)
      effects.set(rule.id, await readEffect(reading, account, rule.deploys.rulesetId, rule.deploys.version));
  const effectOf = (ruleId: string): Cell<Effect> => effects.get(ruleId) ?? NO_ACCOUNT;
  const rulesetOf = ({ id }: ZoneRule): ExecutedRuleset | undefined => {
    const deployed = valueOf(effectOf(id))?.deployed;
    return deployed === undefined ? undefined : { managed: deployed };
  };
  return explain(holder, found, rulesetOf).deployments.map(
    ({ ruleId, ref, description, enabled, expression, ruleset, exceptions, ...each }) => ({
      ruleId,
      entryPointId: found?.id ?? "",
      ref,
      description,
      enabled,
      expression,
      rulesetId: ruleset.id,
      exceptions: exceptions.map(({ description, expression, skips }) => ({
        description,
        expression,
        skips,
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
      })),
    }),
  );
}

interface Effect {
  readonly deployed: ManagedRuleset;
  /** The latest version's number. */
  readonly latest: string;
}

/**
 * Reads a deployment's effect. Only the deployed version is read, because the account's list contains the number of the
 * latest one.
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
  return await cells.read(`/accounts/${id}/rulesets`, id, async (): Promise<Cell<Effect>> => {
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

/**
 * Returns the account's deployments that may act on a zone, without exceptions for other zones. An account's rules
 * apply only to its Enterprise zones: https://developers.cloudflare.com/waf/account/.
 */
export function coveringDeployments(
  account: Pick<Account, "deployments"> | undefined,
  zone: ListedZone,
): Zone["accountDeployments"] {
  if (["free", "pro", "business"].includes(valueOf(zone.plan) ?? "")) return [];
  if (account === undefined) return NO_ACCOUNT;
  return mapCell(account.deployments, (all) =>
    all
      .filter(({ expression }) => matchesZone(expression, zone) !== false)
      .map((each) => ({
        ...each,
        exceptions: each.exceptions.filter(({ expression }) => matchesZone(expression, zone) !== false),
      }))
      .filter(
        ({ exceptions }) =>
          !exceptions.some(
            ({ skips, expression }) => skips === "all" && matchesZone(expression, zone) === true,
          ),
      ),
  );
}

/** Returns the first active deployment with paranoia levels. */
export function owaspOf(lists: readonly Cell<Deployment[]>[]): Zone["owasp"] {
  let unread: NotReadable | undefined = lists.find(isNotReadable);
  for (const { effect } of lists.flatMap((each) => valueOf(each) ?? []).filter(isOn)) {
    if (!isReadable(effect)) unread ??= effect;
    else if (effect.paranoiaLevel !== undefined) {
      const { paranoiaLevel, scoreThreshold, action } = effect;
      return { state: "on", paranoiaLevel, ...omitAbsent({ scoreThreshold, action }) };
    }
  }
  return unread ?? { state: "off" };
}
