import { isAbsent } from "../api/errors";
import { scopeName, type Scope } from "../runtime/composite-id";
import type { Context } from "../runtime/lifecycle";
import { omitAbsent, sameJson, type JsonObject } from "../basics/json";
import { readZoneDetails } from "../api/zone";
import { snapshotOf } from "./adoption";
import type { DeclaredOverrides } from "./arguments";
import { outputsOf, tagsOf } from "./deployment";
import { readEntryPoint, type EntryPointAddress } from "./entry-point";
import { ownExceptions } from "./exceptions";
import { findManagedRuleset, managedRulesetsOf, UnknownRulesetError } from "./managed";
import {
  compileOverrides,
  decompileOverrides,
  levelOf,
  readLevel,
  sameOverrides,
  scoreRuleOf,
  sharedTagsOf,
} from "./overrides";
import { REF_PREFIX } from "./refs";
import { namesIn, skipArgument, type DeclaredSkip } from "./skip";
import { validate } from "./validate";
import {
  PHASES,
  type EntryPoint,
  type ManagedRuleset,
  type ManagedRulesetInfo,
  type Overrides,
  type ZoneRule,
} from "./wire";

/** Converts existing deployments of managed rulesets to declarations. */

/** A rule that executes a managed ruleset, and what's needed to convert it to a declaration. */
export interface ExistingRule {
  readonly address: EntryPointAddress;
  /** The ID of the account that owns the rulesets. */
  readonly account: string;
  readonly found: EntryPoint;
  /** The account's managed rulesets. Two may have the same name. */
  readonly rulesets: readonly ManagedRulesetInfo[];
  readonly rule: ZoneRule;
  /** The ruleset that the rule executes. */
  readonly managed: ManagedRuleset;
}

/** No program has declared the rule yet. */
const NOTHING_SECRET = { isSecret: () => false, noteUnmanaged: () => undefined };

/** Returns the outputs that a create would record if it adopted the rule. A destroy restores such a rule. */
export function existingDeployment({ address, account, found, rulesets, rule, managed }: ExistingRule): {
  readonly outputs: JsonObject;
  /** The skip rules in front of the rule that can be declared as its exceptions. */
  readonly inFront: readonly ZoneRule[];
  /** Whether this package created the rule, so that a destroy would remove it. */
  readonly isOwn: boolean;
} {
  const { version, publicKey } = rule.deploys ?? {};
  const overrides = rule.deploys === undefined ? {} : overrideArguments(rule.deploys.overrides, managed);
  const isOwn = rule.ref.startsWith(REF_PREFIX);
  const inFront = exceptionsInFront(found, rule);
  const nameOf = (id: string): string => uniqueName(id, rulesets) ?? id;
  const name = uniqueName(managed.id, rulesets);
  const exceptions = inFront.flatMap((each) => exceptionArgument(each, managed.id, nameOf));
  const named = new Set(exceptions.flatMap(({ skip }) => namesIn(skip)));
  const outputs = {
    ...(address.kind === "zone" ? { zoneId: address.id } : {}),
    accountId: account,
    ...(address.phase === PHASES[0] ? {} : { phase: address.phase }),
    ruleset: name === undefined ? { id: managed.id } : { name },
    ...(exceptions.length === 0 ? {} : { exceptions }),
    expression: rule.expression,
    enabled: rule.enabled,
    ref: rule.ref,
    ...(version === undefined || version === "latest" ? {} : { version }),
    ...(rule.description === "" ? {} : { description: rule.description }),
    ...overrides,
    ...(publicKey === undefined ? {} : { matchedData: { publicKey } }),
    ...outputsOf(
      NOTHING_SECRET,
      found,
      rule,
      { matchedData: publicKey },
      {
        managed,
        sharedTags: sharedTagsOf(managed, tagsOf(overrides)),
        rulesetIds: Object.fromEntries(
          rulesets.map(({ id }) => [nameOf(id), id] as const).filter(([each]) => named.has(each)),
        ),
        ruleIds: {},
      },
    ),
    ...(isOwn ? {} : { previous: snapshotOf(found, rule, inFront) }),
  };
  return { outputs, inFront, isOwn };
}

/**
 * Reads a rule of a zone or account, in whichever phase it is, and returns it as outputs. Undefined if there's no such
 * rule.
 *
 * @throws Error if it doesn't execute a managed ruleset, or the zone's account is unknown.
 */
export async function readDeployment(
  ctx: Context,
  scope: Scope,
  id: string,
): Promise<JsonObject | undefined> {
  for (const phase of PHASES) {
    const address = { ...scope, phase };
    const found = await readEntryPoint(ctx, address);
    const rule = found?.rules.find((each) => each.id === id);
    if (found !== undefined && rule !== undefined) return await readRuleIn(ctx, address, found, rule);
  }
  return undefined;
}

async function readRuleIn(
  ctx: Context,
  address: EntryPointAddress,
  found: EntryPoint,
  rule: ZoneRule,
): Promise<JsonObject> {
  const { id, deploys, action } = rule;
  const where = scopeName(address);
  if (deploys === undefined)
    throw new Error(
      `Rule ${id} in ${where} has the action ${JSON.stringify(action)}, but only rules that execute a managed ruleset can be read. Use the ID of such a rule.`,
    );
  // The setting may name another of the user's accounts.
  const account =
    address.kind === "account"
      ? address.id
      : ((await readZoneDetails(ctx.api, address.id)).accountId ?? ctx.settings.accountId);
  if (account === undefined)
    throw new Error(
      `The managed rulesets in ${where} belong to the zone's account, and the token can't read the account's ID. Give the token Zone Read, or set edgeguard:accountId.`,
    );
  const ofAccount = async (): Promise<Pick<ExistingRule, "managed" | "rulesets">> => ({
    managed: await findManagedRuleset(ctx, account, { id: deploys.rulesetId }, deploys.version),
    rulesets: await managedRulesetsOf(ctx, account),
  });
  try {
    return existingDeployment({ address, account, found, rule, ...(await ofAccount()) }).outputs;
  } catch (error) {
    if (!isAbsent(error) && !(error instanceof UnknownRulesetError)) throw error;
    // The rule exists, so this isn't the answer for one that's missing.
    throw new Error(
      `Rule ${id} in ${where} executes the managed ruleset ${deploys.rulesetId}, which can't be read in account ${account}: ${error.message} If the zone belongs to another account, give the token Zone Read, or set edgeguard:accountId to that account.`,
      { cause: error },
    );
  }
}

/** Returns a ruleset's name if it's unique in the account. */
function uniqueName(id: string, rulesets: readonly ManagedRulesetInfo[]): string | undefined {
  const name = rulesets.find((each) => each.id === id)?.name;
  return name !== undefined && rulesets.filter((each) => each.name === name).length === 1 ? name : undefined;
}

function exceptionArgument(
  { expression, description, skips, logging }: ZoneRule,
  own: string,
  nameOf: (id: string) => string,
): (JsonObject & { readonly skip: DeclaredSkip })[] {
  if (skips === undefined || (typeof skips === "object" && "other" in skips)) return [];
  const skip = skipArgument(skips, own, nameOf);
  return [{ expression, ...(description === "" ? {} : { description }), skip, ...omitAbsent({ logging }) }];
}

/** Converts overrides to arguments: to `owasp` if that covers everything, otherwise to categories and rules. */
export function overrideArguments(live: Overrides, managed: ManagedRuleset): DeclaredOverrides {
  const scoreRule = scoreRuleOf(managed);
  const tags = live.categories.map(({ tag }) => tag);
  const shared = sharedTagsOf(managed, tags);
  const describeRule = (declared: DeclaredOverrides): DeclaredOverrides =>
    decompileOverrides(live, declared, scoreRule, shared).declared;

  const hasLevels = managed.rules.some((rule) => rule.tags.some((tag) => levelOf(tag) !== undefined));
  if (hasLevels) {
    const { paranoiaLevel } = readLevel(live.categories);
    const words = describeRule({ owasp: { paranoiaLevel } });
    const { owasp } = words;
    const saysNothing = owasp === undefined || sameJson(owasp, { paranoiaLevel: 4 });
    const isWhole = sameOverrides(compileOverrides(words, scoreRule), live, shared);
    if (!saysNothing && isWhole && validate(words, managed).length === 0) return words;
  }
  return describeRule({});
}

/**
 * Returns the skip rules immediately before a rule that can be declared as its exceptions. If some of them have refs
 * that this package gives to exceptions, returns only those, because the others belong to someone else.
 */
function exceptionsInFront(found: EntryPoint, rule: ZoneRule): readonly ZoneRule[] {
  const before = found.rules.slice(0, found.rules.indexOf(rule));
  const end = before.findLastIndex(
    ({ enabled, skips }) =>
      !enabled || skips === undefined || (typeof skips === "object" && "other" in skips),
  );
  const inFront = before.slice(end + 1);
  const own = ownExceptions(found, { ref: rule.ref });
  return own.length > 0 ? own : inFront;
}
