import { isJsonObject, sameJson, type JsonObject } from "../../runtime/values";
import type { Context } from "../../runtime/lifecycle";
import type { DeclaredOverrides } from "../../rulesets/arguments";
import { asFound } from "../../rulesets/adoption";
import { outputsOf, REF_PREFIX, tagsOf } from "../../rulesets/deployment";
import { readEntryPoint } from "../../rulesets/entry-point";
import { ownExceptions } from "../../rulesets/exceptions";
import { judge } from "../../rulesets/judge";
import { findManagedRuleset, listManagedRulesets, UnknownRulesetError } from "../../rulesets/managed";
import {
  compileOverrides,
  decompileOverrides,
  levelOf,
  readLevel,
  sameOverrides,
  scoreRuleOf,
  sharedTagsOf,
  thresholdName,
} from "../../rulesets/overrides";

import { inWords as skipInWords, namesIn, type DeclaredSkip } from "../../rulesets/skip";
import type {
  EntryPoint,
  ManagedRuleset,
  ManagedRulesetInfo,
  Overrides,
  ZoneRule,
} from "../../rulesets/wire";
import { CommandError } from "../../terminal/errors";
import { objectOf, type Code } from "../code";
import { TYPES, type Found } from "../found";
import { hostsIn } from "../names";
import type { Reading } from "../reading";
import type { Zone } from "../zones";

export const GIVE_ACCOUNT =
  "Pass --account <id>, set CLOUDFLARE_ACCOUNT_ID, or give the token the right Zone Read: then the zone names its account.";

/**
 * Deployments of managed rulesets in a zone, each with the exceptions in front of it.
 *
 * @param account where the rulesets are looked up.
 * @throws CommandError where there are deployments and no account is known.
 */
export async function readRulesets(reading: Reading, zone: Zone, account: string | undefined): Promise<void> {
  await reading.part(`managed rulesets of ${zone.what}`, async () => {
    const ctx = reading.host.context(TYPES.managedRulesetOverride.type);
    const found = await readEntryPoint(ctx, zone.id);
    if (found === undefined) return; // Nothing has ever been deployed.
    if (account === undefined)
      throw new CommandError(
        `${zone.what} deploys managed rulesets, which belong to its account, and that could not be read. ${GIVE_ACCOUNT} Nothing was written.`,
      );
    const rulesets = await listManagedRulesets(ctx.api, account);
    const excepting = new Set<ZoneRule>();
    for (const rule of found.rules.filter((each) => each.deploys !== undefined)) {
      const deployment = await readDeployment(
        { reading, ctx, zone, account, found, rulesets, excepting },
        rule,
      );
      if (deployment !== undefined) reading.found.push(deployment);
    }
    for (const rule of found.rules) {
      if (rule.deploys !== undefined || excepting.has(rule)) continue;
      reading.leave(
        `rule ${inWords(rule)} of ${zone.what}`,
        rule.action === "skip"
          ? "it is no exception of the deployment behind it in a form that can be declared, and stays as it is"
          : `its action is ${JSON.stringify(rule.action)}, and only rules that execute a managed ruleset are declared`,
      );
    }
  });
}

interface Where {
  readonly reading: Reading;
  readonly ctx: Context;
  readonly zone: Zone;
  readonly account: string;
  readonly found: EntryPoint;
  /** The account's managed rulesets; a name may stand twice. */
  readonly rulesets: readonly ManagedRulesetInfo[];
  /** Rules that were found to be exceptions. */
  readonly excepting: Set<ZoneRule>;
}

async function readDeployment(where: Where, rule: ZoneRule): Promise<Found | undefined> {
  const { reading, ctx, zone, account, found, rulesets, excepting } = where;
  const { deploys } = rule;
  if (deploys === undefined) return undefined;
  const resource = TYPES.managedRulesetOverride;
  const what = `rule ${inWords(rule)} of ${zone.what}`;
  let managed: ManagedRuleset;
  try {
    managed = await findManagedRuleset(ctx, account, { id: deploys.rulesetId }, deploys.version);
  } catch (error) {
    if (!(error instanceof UnknownRulesetError)) throw error;
    reading.leave(what, error.reason);
    return undefined;
  }
  const overrides = inArguments(deploys.overrides, managed);
  const isOwn = rule.ref.startsWith(REF_PREFIX);
  const inFront = exceptionsInFront(found, rule);
  const nameOf = (id: string): string => uniqueName(id, rulesets) ?? id;
  const name = uniqueName(managed.id, rulesets);
  const exceptions = inFront.flatMap((each) => asArgument(each, managed.id, nameOf));
  const named = new Set(exceptions.flatMap(({ skip }) => namesIn(skip)));
  const outputs = await reading.outputs(resource, rule.id, {
    zoneId: zone.id,
    accountId: account,
    ruleset: name === undefined ? { id: managed.id } : { name },
    ...(exceptions.length === 0 ? {} : { exceptions }),
    expression: rule.expression,
    enabled: rule.enabled,
    ref: rule.ref,
    ...(deploys.version === undefined || deploys.version === "latest" ? {} : { version: deploys.version }),
    ...(rule.description === "" ? {} : { description: rule.description }),
    ...overrides,
    ...outputsOf(found, rule, {
      managed,
      sharedTags: sharedTagsOf(managed, tagsOf(overrides)),
      rulesetIds: Object.fromEntries(
        rulesets.map(({ id }) => [nameOf(id), id] as const).filter(([each]) => named.has(each)),
      ),
    }),
    // As a rule that a create has taken over: a destroy puts it back as it is now. One of our own making it removes.
    ...(isOwn ? {} : { previous: asFound(found, rule, inFront) }),
  });
  if (outputs === undefined) return undefined;
  const { drift } = outputs;
  if (typeof drift === "string") {
    reading.leave(what, drift);
    return undefined;
  }
  for (const exception of inFront) excepting.add(exception);
  if (isOwn)
    reading.notes.push(
      `The ${what} was made by a program of this package: where its stack still exists, take one of the two declarations away.`,
    );
  return {
    resource,
    id: rule.id,
    what,
    labels: [rule.description, managed.name, ...hostsIn(rule.expression)],
    scope: { kind: "zone", id: zone.id },
    outputs,
    args: (writing) => ({
      zoneId: writing.scope({ kind: "zone", id: zone.id }),
      accountId: writing.scope({ kind: "account", id: account }),
      ...declaredOf(outputs),
      owasp: withNamedThreshold(outputs["owasp"]),
      rules: ruleOverrides(outputs["rules"], managed),
    }),
  };
}

/** The name of a ruleset, where only one of the account has it. */
function uniqueName(id: string, rulesets: readonly ManagedRulesetInfo[]): string | undefined {
  const name = rulesets.find((each) => each.id === id)?.name;
  return name !== undefined && rulesets.filter((each) => each.name === name).length === 1 ? name : undefined;
}

function asArgument(
  { expression, description, skips }: ZoneRule,
  own: string,
  nameOf: (id: string) => string,
): (JsonObject & { readonly skip: DeclaredSkip })[] {
  if (skips === undefined || (typeof skips === "object" && "other" in skips)) return [];
  const skip = skipInWords(skips, own, nameOf);
  return [{ expression, ...(description === "" ? {} : { description }), skip }];
}

/** In the order in which people read them. */
const ARGUMENTS = [
  "ruleset",
  "version",
  "description",
  "expression",
  "enabled",
  "ref",
  "owasp",
  "categories",
  "rules",
  "action",
  "exceptions",
];

/** What says nothing but the default is left out. */
const DEFAULTS: JsonObject = { expression: "true", enabled: true };

function declaredOf(outputs: JsonObject): JsonObject {
  return Object.fromEntries(
    ARGUMENTS.filter((name) => outputs[name] !== undefined && !sameJson(outputs[name], DEFAULTS[name])).map(
      (name) => [name, outputs[name]],
    ),
  );
}

/** The score by its name, where it has one. */
function withNamedThreshold(entry: unknown): unknown {
  if (!isJsonObject(entry)) return undefined;
  const { scoreThreshold } = entry;
  const name = thresholdName(scoreThreshold);
  return name === undefined ? entry : { ...entry, scoreThreshold: name };
}

/** An id says nothing to a reader: what the rule is for stands above it. */
function ruleOverrides(rules: unknown, managed: ManagedRuleset): Code | undefined {
  if (!isJsonObject(rules)) return undefined;
  const entries = Object.entries(rules).map(([id, entry]) => [id, withNamedThreshold(entry)]);
  const described = managed.rules.filter(({ description }) => description !== "");
  return objectOf(
    Object.fromEntries(entries) as JsonObject,
    Object.fromEntries(described.map(({ id, description }) => [id, description])),
  );
}

/** In the OWASP ruleset's own words where they say it all, else tag by tag and rule by rule. */
function inArguments(live: Overrides, managed: ManagedRuleset): DeclaredOverrides {
  const scoreRule = scoreRuleOf(managed);
  const tags = live.categories.map(({ tag }) => tag);
  const shared = sharedTagsOf(managed, tags);
  const inWords = (declared: DeclaredOverrides): DeclaredOverrides =>
    decompileOverrides(live, declared, scoreRule, shared).declared;

  const hasLevels = managed.rules.some((rule) => rule.tags.some((tag) => levelOf(tag) !== undefined));
  if (hasLevels) {
    const { paranoiaLevel } = readLevel(live.categories);
    const words = inWords({ owasp: { paranoiaLevel } });
    const { owasp } = words;
    const saysNothing = owasp === undefined || sameJson(owasp, { paranoiaLevel: 4 });
    const isWhole = sameOverrides(compileOverrides(words, scoreRule), live, shared);
    if (!saysNothing && isWhole && judge(words, managed).length === 0) return words;
  }
  return inWords({});
}

/**
 * Skip rules that stand directly in front of a rule and say nothing that no argument can. Where some bear the refs of
 * exceptions, only these are: the others are somebody else's.
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

function inWords({ id, description }: ZoneRule): string {
  return `${id}${description === "" ? "" : ` ${JSON.stringify(description)}`}`;
}
