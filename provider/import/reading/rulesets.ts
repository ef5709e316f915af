import { z } from "zod";
import { isJsonObject, sameJson, type JsonObject } from "../../basics/json";
import type { Scope } from "../../runtime/composite-id";
import type { Context } from "../../runtime/lifecycle";
import { OVERRIDING } from "../../rulesets/effective";
import { readEntryPoint, type EntryPointAddress } from "../../rulesets/entry-point";
import { existingDeployment } from "../../rulesets/existing";
import { findManagedRuleset, listManagedRulesets, UnknownRulesetError } from "../../rulesets/managed";
import { thresholdName } from "../../rulesets/overrides";
import { quoteRule } from "../../rulesets/rule-names";
import {
  PHASES,
  type EntryPoint,
  type ManagedRuleset,
  type ManagedRulesetInfo,
  type ZoneRule,
} from "../../rulesets/wire";
import { CommandError } from "../../terminal/errors";
import { listOf, objectOf, type Code } from "../code";
import { TYPES, type ExistingObject } from "../existing";
import { hostsIn } from "../names";
import type { Inventory } from "../inventory";

export const PASS_ACCOUNT =
  "Pass --account <id>, set CLOUDFLARE_ACCOUNT_ID, or give the token Zone Read, which shows the zone's account.";

/**
 * Reads the deployments of managed rulesets in a zone or account, each with the exceptions before it.
 *
 * @param owner how messages refer to the zone or account.
 * @param account the account that has the rulesets.
 * @throws CommandError if there are deployments and the account is unknown.
 */
export async function readRulesets(
  inventory: Inventory,
  scope: Scope,
  owner: string,
  account: string | undefined,
): Promise<void> {
  for (const phase of PHASES) await readEntryPointRules(inventory, { ...scope, phase }, owner, account);
}

async function readEntryPointRules(
  inventory: Inventory,
  address: EntryPointAddress,
  owner: string,
  account: string | undefined,
): Promise<void> {
  const which = address.phase === PHASES[0] ? "" : " for responses";
  await inventory.part(`managed rulesets${which} in ${owner}`, async () => {
    const ctx = inventory.host.context(TYPES.managedRulesetOverride.type);
    const found = await readEntryPoint(ctx, address);
    if (found === undefined) return; // Nothing was ever deployed.
    const resource = TYPES.managedRulesetOverride;
    if (!inventory.wants(resource, address, found.id)) return;
    if (account === undefined)
      throw new CommandError(
        `${owner} deploys managed rulesets from its account, and the token can't read the account's ID. ${PASS_ACCOUNT} Nothing was written.`,
      );
    const rulesets = await listManagedRulesets(ctx.api, account);
    const excepting = new Set<ZoneRule>();
    for (const rule of found.rules.filter((each) => each.deploys !== undefined)) {
      if (!inventory.wants(resource, address, rule.id)) {
        inventory.leaveOut(nameOf(rule, owner), "the old state doesn't have it");
        continue;
      }
      const deployment = await readDeployment(
        { inventory, ctx, address, owner, account, found, rulesets, excepting },
        rule,
      );
      if (deployment !== undefined) inventory.found.push(deployment);
    }
    for (const rule of found.rules) {
      if (rule.deploys !== undefined || excepting.has(rule)) continue;
      inventory.leaveOut(
        nameOf(rule, owner),
        rule.action === "skip"
          ? "it can't be declared as an exception for the deployment that follows it, so it's left unchanged"
          : `its action is ${JSON.stringify(rule.action)}, but only rules that execute a managed ruleset can be declared`,
      );
    }
  });
}

interface DeploymentContext {
  readonly inventory: Inventory;
  readonly ctx: Context;
  readonly address: EntryPointAddress;
  readonly owner: string;
  readonly account: string;
  readonly found: EntryPoint;
  /** The account's managed rulesets. Two may have the same name. */
  readonly rulesets: readonly ManagedRulesetInfo[];
  /** The rules that are declared as a deployment's exceptions. */
  readonly excepting: Set<ZoneRule>;
}

async function readDeployment(where: DeploymentContext, rule: ZoneRule): Promise<ExistingObject | undefined> {
  const { inventory, ctx, address, owner, account, excepting } = where;
  const { deploys } = rule;
  if (deploys === undefined) return undefined;
  const resource = TYPES.managedRulesetOverride;
  const what = nameOf(rule, owner);
  let managed: ManagedRuleset;
  try {
    managed = await findManagedRuleset(ctx, account, { id: deploys.rulesetId }, deploys.version);
  } catch (error) {
    if (!(error instanceof UnknownRulesetError)) throw error;
    inventory.leaveOut(what, error.reason);
    return undefined;
  }
  const { isOwn, inFront, outputs: seed } = existingDeployment({ ...where, rule, managed });
  const outputs = await inventory.outputs(resource, rule.id, seed);
  if (outputs === undefined) return undefined;
  const { drift } = outputs;
  if (typeof drift === "string") {
    inventory.leaveOut(what, drift);
    return undefined;
  }
  for (const exception of inFront) excepting.add(exception);
  const descriptions = descriptionsOf(managed);
  if (isOwn)
    inventory.notes.push(
      `The ${what} was created by a program that uses this package. If that program's stack still exists, remove the deployment from one of the two programs.`,
    );
  return {
    resource,
    id: rule.id,
    what,
    labels: [rule.description, managed.name, ...hostsIn(rule.expression)],
    scope: address,
    outputs,
    args: (writing) => ({
      zoneId: address.kind === "zone" ? writing.scope(address) : undefined,
      accountId: writing.scope({ kind: "account", id: account }),
      ...declaredArguments(outputs),
      owasp: withNamedThreshold(outputs["owasp"]),
      rules: ruleOverrides(outputs["rules"], descriptions),
      exceptions: exceptionsOf(outputs["exceptions"], descriptions),
    }),
  };
}

/** The arguments, in the order in which the program lists them. */
const ARGUMENTS = new Set([
  ...["phase", "ruleset", "version", "description", "expression", "enabled", "ref"],
  ...[...OVERRIDING, "matchedData", "exceptions"],
]);

/** The default values, which the program leaves out. */
const DEFAULTS: JsonObject = { expression: "true", enabled: true };

function declaredArguments(outputs: JsonObject): JsonObject {
  return Object.fromEntries(
    [...ARGUMENTS]
      .filter((name) => outputs[name] !== undefined && !sameJson(outputs[name], DEFAULTS[name]))
      .map((name) => [name, outputs[name]]),
  );
}

/** Replaces the score threshold with its name, if it has one. */
function withNamedThreshold(entry: unknown): unknown {
  if (!isJsonObject(entry)) return undefined;
  const { scoreThreshold } = entry;
  const name = thresholdName(scoreThreshold);
  return name === undefined ? entry : { ...entry, scoreThreshold: name };
}

/** Writes rule overrides by ID, each with the rule's description as a comment. */
function ruleOverrides(rules: unknown, descriptions: Descriptions): Code | undefined {
  if (!isJsonObject(rules)) return undefined;
  const entries = Object.entries(rules).map(([id, entry]) => [id, withNamedThreshold(entry)]);
  return objectOf(Object.fromEntries(entries) as JsonObject, descriptions);
}

/** Writes exceptions. For the deployed ruleset's own rules, adds their descriptions as comments. */
function exceptionsOf(exceptions: unknown, descriptions: Descriptions): unknown {
  if (!Array.isArray(exceptions)) return undefined;
  return exceptions.map((exception: unknown): unknown => {
    if (!isJsonObject(exception)) return exception;
    const rules = isJsonObject(exception["skip"]) ? exception["skip"]["rules"] : undefined;
    const { data } = ruleLists.safeParse(rules);
    if (data === undefined) return exception;
    const own = Object.entries(data).map(([name, ids]) => [
      name,
      name === "this" ? listOf(ids, descriptions) : ids,
    ]);
    return { ...exception, skip: { rules: Object.fromEntries(own) as JsonObject } };
  });
}

const ruleLists = z.record(z.string(), z.array(z.string()));

/** The descriptions of a ruleset's rules, by ID. */
type Descriptions = Readonly<Record<string, string>>;

function descriptionsOf({ rules }: ManagedRuleset): Descriptions {
  const described = rules.filter(({ description }) => description !== "");
  return Object.fromEntries(described.map(({ id, description }) => [id, description]));
}

const nameOf = ({ id, description }: ZoneRule, owner: string): string =>
  `rule ${quoteRule(id, description)} in ${owner}`;
