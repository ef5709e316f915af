import type { EdgeApi } from "../api/client";
import { isAbsent } from "../api/errors";
import { byCursor } from "../api/pages";
import { MANAGED_RULES } from "../limits/index";
import type { Context } from "../runtime/lifecycle";
import { nearest } from "../basics/nearest";
import { rulesetsPath } from "./entry-point";
import {
  managedRule,
  managedRuleset,
  PHASES,
  rulesetInfo,
  type ManagedRuleset,
  type ManagedRulesetInfo,
} from "./wire";

/** A managed ruleset, chosen by ID or by name. */
export interface RulesetChoice {
  readonly id?: string;
  readonly name?: string;
}

/** Thrown if the declaration names a ruleset or version that can't be deployed. */
export class UnknownRulesetError extends Error {
  override readonly name = "UnknownRulesetError";
  constructor(
    readonly property: string,
    readonly reason: string,
  ) {
    super(`${property}: ${reason}`);
  }
}

/** Returns the managed rulesets that can be deployed, without their rules. */
export async function listManagedRulesets(api: EdgeApi, account: string): Promise<ManagedRulesetInfo[]> {
  const found: ManagedRulesetInfo[] = [];
  for await (const ruleset of rulesetsOf(api, account)) if (isDeployable(ruleset)) found.push(ruleset);
  return found;
}

/**
 * Yields the rulesets of an account: those that its zones can deploy, and its own.
 *
 * @param complete whether to fail if a ruleset can't be read. By default, that ruleset is left out with a warning.
 */
export function rulesetsOf(
  api: EdgeApi,
  account: string,
  { complete = false }: { readonly complete?: boolean } = {},
): AsyncGenerator<ManagedRulesetInfo, void, undefined> {
  return byCursor(api, rulesetsPath({ kind: "account", id: account }), {
    what: `Listing the rulesets of account ${account}`,
    record: rulesetInfo,
    perPage: MANAGED_RULES.MAX_RULESETS_PER_PAGE,
    complete,
    key: ({ id }) => id,
  });
}

/** Reads a managed ruleset with its rules, in a given version. */
export async function readManagedRuleset(
  api: EdgeApi,
  account: string,
  id: string,
  version = "latest",
): Promise<ManagedRuleset> {
  const path = `${rulesetsPath({ kind: "account", id: account })}/${id}`;
  const what = `Reading ${version === "latest" ? "" : `version ${version} of `}ruleset ${id} in account ${account}`;
  const { info, rules } = await api.get(version === "latest" ? path : `${path}/versions/${version}`, {
    what,
    schema: managedRuleset,
  });
  const { records } = api.readRecords(path, rules, { what, record: managedRule });
  const ruleset = { ...info, rules: records };
  if (records.length < rules.length) incomplete.add(ruleset);
  return ruleset;
}

const incomplete = new WeakSet<ManagedRuleset>();

/** Whether some of the ruleset's rules couldn't be read. If so, a rule that isn't found may still exist. */
export function isIncomplete(ruleset: ManagedRuleset): boolean {
  return incomplete.has(ruleset);
}

/**
 * Shares a response among all resources in the operation. Failures aren't cached: the next caller sends the request
 * again.
 */
async function readOnce<T>(ctx: Context, key: string, read: () => Promise<T>): Promise<T> {
  try {
    return await ctx.once(key, read);
  } catch (error) {
    ctx.forget(key);
    throw error;
  }
}

/** Returns a version of a ruleset, by default the latest one. Reads it once per operation, or again after a failure. */
export function readVersion(
  ctx: Context,
  account: string,
  id: string,
  version = "latest",
): Promise<ManagedRuleset> {
  return readOnce(ctx, `managed ruleset ${account} ${id} ${version}`, () =>
    readManagedRuleset(ctx.api, account, id, version),
  );
}

/** Returns the account's managed rulesets, read once per operation. */
export function managedRulesetsOf(ctx: Context, account: string): Promise<ManagedRulesetInfo[]> {
  return readOnce(ctx, `managed rulesets of ${account}`, () => listManagedRulesets(ctx.api, account));
}

/**
 * Finds the IDs of rulesets by name. The list of rulesets is read once per operation, or not at all if there are no
 * names.
 *
 * @param names each name with the argument that contains it.
 * @throws UnknownRulesetError if the account has no ruleset with the name, or several.
 */
export async function findRulesetIds(
  ctx: Context,
  account: string,
  names: ReadonlyMap<string, string>,
): Promise<Record<string, string>> {
  if (names.size === 0) return {};
  const all = await managedRulesetsOf(ctx, account);
  return Object.fromEntries(
    [...names].map(([name, property]) => [name, idByName(name, property, all, account)]),
  );
}

/**
 * Checks that a ruleset exists: in the list of rulesets, or by requesting its ID if the list doesn't have it.
 *
 * @throws UnknownRulesetError if the account has no such ruleset.
 */
export async function checkRulesetExists(
  ctx: Context,
  account: string,
  id: string,
  property: string,
): Promise<void> {
  const all = await managedRulesetsOf(ctx, account);
  if (all.some((ruleset) => ruleset.id === id)) return;
  try {
    await readVersion(ctx, account, id);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    throw new UnknownRulesetError(property, unknownId(account, id, all));
  }
}

export function rulesetLabel({ name, id }: ManagedRulesetInfo): string {
  return name === "" ? `ruleset ${id}` : JSON.stringify(name);
}

function unknownId(account: string, id: string, all: readonly ManagedRulesetInfo[]): string {
  const known = all.map((r) => `${JSON.stringify(r.name)} (${r.id})`).join(", ");
  return `account ${account} has no ruleset ${id}. Its managed rulesets: ${known || "none"}`;
}

/**
 * Returns the chosen ruleset in the given version. Reads it once per operation.
 *
 * @throws UnknownRulesetError if the account has no such ruleset or version.
 */
export async function findManagedRuleset(
  ctx: Context,
  account: string,
  choice: RulesetChoice,
  version = "latest",
): Promise<ManagedRuleset> {
  const list = (): Promise<ManagedRulesetInfo[]> => managedRulesetsOf(ctx, account);
  const id = choice.id ?? idByName(choice.name ?? "", "ruleset.name", await list(), account);

  let found: ManagedRuleset;
  try {
    found = await readVersion(ctx, account, id);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    throw new UnknownRulesetError("ruleset.id", unknownId(account, id, await list()));
  }
  if (!isDeployable(found)) {
    throw new UnknownRulesetError(
      "ruleset.id",
      `ruleset ${id} has the kind "${found.kind}" and the phase "${found.phase}"; only managed rulesets in the phases ${PHASES.map((phase) => JSON.stringify(phase)).join(" and ")} can be deployed`,
    );
  }
  if (version === "latest" || version === found.version) return found;
  try {
    return await readVersion(ctx, account, id, version);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    throw new UnknownRulesetError(
      "version",
      `ruleset ${JSON.stringify(found.name)} has no version ${version}; the latest is ${found.version}`,
    );
  }
}

function idByName(
  name: string,
  property: string,
  all: readonly ManagedRulesetInfo[],
  account: string,
): string {
  const named = all.filter((ruleset) => ruleset.name === name);
  const [first, ...more] = named;
  if (first !== undefined && more.length === 0) return first.id;
  if (first !== undefined) {
    throw new UnknownRulesetError(
      property,
      `account ${account} has ${named.length} rulesets named ${JSON.stringify(name)}: ${named.map(({ id }) => id).join(", ")}. Use one of these IDs`,
    );
  }
  const names = all.map((ruleset) => ruleset.name);
  const near = nearest(name, names);
  const hint =
    near === undefined
      ? `Its managed rulesets: ${names.map((each) => JSON.stringify(each)).join(", ") || "none"}`
      : `Did you mean ${JSON.stringify(near)}?`;
  throw new UnknownRulesetError(
    property,
    `account ${account} has no managed ruleset ${JSON.stringify(name)}. ${hint}`,
  );
}

/** Whether a ruleset can be deployed. The response may leave out kind and phase. */
function isDeployable({ kind, phase }: ManagedRulesetInfo): boolean {
  return (kind === "" || kind === "managed") && (phase === "" || PHASES.some((each) => each === phase));
}
