import type { EdgeApi } from "../api/client";
import { isAbsent } from "../api/errors";
import { byCursor } from "../api/pages";
import { MANAGED_RULES } from "../limits";
import type { Context } from "../runtime/lifecycle";
import { nearest } from "../runtime/nearest";
import {
  managedRule,
  managedRuleset,
  PHASE,
  rulesetInfo,
  type ManagedRuleset,
  type ManagedRulesetInfo,
} from "./wire";

const accountRulesetsPath = (account: string): string => `/accounts/${account}/rulesets`;

/** Which managed ruleset is meant: one of both. */
export interface RulesetChoice {
  readonly id?: string;
  readonly name?: string;
}

/** The declaration names a ruleset, or a version of one, that cannot be deployed. */
export class UnknownRulesetError extends Error {
  override readonly name = "UnknownRulesetError";
  constructor(
    readonly property: string,
    readonly reason: string,
  ) {
    super(`${property}: ${reason}`);
  }
}

/** The managed rulesets of an account that a zone may deploy; the list leaves their rules out. */
export async function listManagedRulesets(api: EdgeApi, account: string): Promise<ManagedRulesetInfo[]> {
  const found: ManagedRulesetInfo[] = [];
  const pages = byCursor(api, accountRulesetsPath(account), {
    what: `Listing the rulesets of account ${account}`,
    record: rulesetInfo,
    perPage: MANAGED_RULES.MAX_RULESETS_PER_PAGE,
    key: ({ id }) => id,
  });
  for await (const ruleset of pages) if (isDeployable(ruleset)) found.push(ruleset);
  return found;
}

/** One managed ruleset with its rules, as it is now or was in a version. */
export async function readManagedRuleset(
  api: EdgeApi,
  account: string,
  id: string,
  version = "latest",
): Promise<ManagedRuleset> {
  const path = `${accountRulesetsPath(account)}/${id}`;
  const what = `Reading ruleset ${id}${version === "latest" ? "" : ` in version ${version}`} of account ${account}`;
  const { info, rules } = await api.get(version === "latest" ? path : `${path}/versions/${version}`, {
    what,
    schema: managedRuleset,
  });
  return { ...info, rules: api.readRecords(path, rules, { what, record: managedRule }).records };
}

/** Answers that are shared by all resources of the operation; one that failed is asked for again. */
async function once<T>(ctx: Context, key: string, read: () => Promise<T>): Promise<T> {
  const answers = ctx.shared("managed rulesets", () => new Map<string, Promise<unknown>>());
  const known = answers.get(key) as Promise<T> | undefined; // One key is only ever read by one function.
  if (known !== undefined) return await known;
  const reading = read();
  answers.set(key, reading);
  try {
    return await reading;
  } catch (error) {
    answers.delete(key);
    throw error;
  }
}

function listOnce(ctx: Context, account: string): Promise<ManagedRulesetInfo[]> {
  return once(ctx, `list ${account}`, () => listManagedRulesets(ctx.api, account));
}

/**
 * IDs by name, from the list that is read once per operation, and not at all where no name is given.
 *
 * @param names each with the property that gives it.
 * @throws UnknownRulesetError when the account has no ruleset of such a name, or several.
 */
export async function findRulesetIds(
  ctx: Context,
  account: string,
  names: ReadonlyMap<string, string>,
): Promise<Record<string, string>> {
  if (names.size === 0) return {};
  const all = await listOnce(ctx, account);
  return Object.fromEntries([...names].map(([name, property]) => [name, idOf(name, property, all, account)]));
}

/**
 * Whether a ruleset that an exception gives by ID exists: by the list that is read once per operation, and where that leaves
 * it out, by itself.
 *
 * @throws UnknownRulesetError when the account has no such ruleset.
 */
export async function findSkipped(
  ctx: Context,
  account: string,
  id: string,
  property: string,
): Promise<void> {
  const all = await listOnce(ctx, account);
  if (all.some((ruleset) => ruleset.id === id)) return;
  try {
    await once(ctx, `${account} ${id} latest`, () => readManagedRuleset(ctx.api, account, id));
  } catch (error) {
    if (!isAbsent(error)) throw error;
    throw new UnknownRulesetError(property, unknownId(account, id, all));
  }
}

function unknownId(account: string, id: string, all: readonly ManagedRulesetInfo[]): string {
  const known = all.map((r) => `${JSON.stringify(r.name)} (${r.id})`).join(", ");
  return `account ${account} has no ruleset ${id}. It has: ${known || "no managed ruleset"}`;
}

/**
 * The ruleset that is meant, in the version that is deployed, read once per operation.
 *
 * @throws UnknownRulesetError when the account has no such ruleset or version.
 */
export async function findManagedRuleset(
  ctx: Context,
  account: string,
  choice: RulesetChoice,
  version = "latest",
): Promise<ManagedRuleset> {
  const list = (): Promise<ManagedRulesetInfo[]> => listOnce(ctx, account);
  const id = choice.id ?? idOf(choice.name ?? "", "ruleset.name", await list(), account);
  const read = (of: string): Promise<ManagedRuleset> =>
    once(ctx, `${account} ${id} ${of}`, () => readManagedRuleset(ctx.api, account, id, of));

  let found: ManagedRuleset;
  try {
    found = await read("latest");
  } catch (error) {
    if (!isAbsent(error)) throw error;
    throw new UnknownRulesetError("ruleset.id", unknownId(account, id, await list()));
  }
  if (!isDeployable(found)) {
    throw new UnknownRulesetError(
      "ruleset.id",
      `ruleset ${id} is of kind "${found.kind}" and phase "${found.phase}"; only managed rulesets of phase "${PHASE}" are deployed here`,
    );
  }
  if (version === "latest" || version === found.version) return found;
  try {
    return await read(version);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    throw new UnknownRulesetError(
      "version",
      `ruleset ${JSON.stringify(found.name)} has no version ${version}; the latest is ${found.version}`,
    );
  }
}

function idOf(name: string, property: string, all: readonly ManagedRulesetInfo[], account: string): string {
  const named = all.filter((ruleset) => ruleset.name === name);
  const [first, ...more] = named;
  if (first !== undefined && more.length === 0) return first.id;
  if (first !== undefined) {
    throw new UnknownRulesetError(
      property,
      `account ${account} has ${named.length} rulesets ${JSON.stringify(name)}: ${named.map(({ id }) => id).join(", ")}. Give the id of one`,
    );
  }
  const names = all.map((ruleset) => ruleset.name);
  const near = nearest(name, names);
  const hint =
    near === undefined
      ? `It has: ${names.map((each) => JSON.stringify(each)).join(", ") || "no managed ruleset"}`
      : `Did you mean ${JSON.stringify(near)}?`;
  throw new UnknownRulesetError(
    property,
    `account ${account} has no managed ruleset ${JSON.stringify(name)}. ${hint}`,
  );
}

/** An answer without kind or phase says nothing against it. */
function isDeployable({ kind, phase }: ManagedRulesetInfo): boolean {
  return (kind === "" || kind === "managed") && (phase === "" || phase === PHASE);
}
