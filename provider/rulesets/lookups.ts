import type * as pulumi from "@pulumi/pulumi";
import { accountId, zoneId } from "../runtime/fields";
import * as declared from "./arguments";
import { readEntryPoint } from "./entry-point";
import { explain, type ZoneExplanation } from "./explain";
import { findManagedRuleset, listManagedRulesets, UnknownRulesetError } from "./managed";
import type { ManagedRule, ManagedRuleset, ManagedRulesetInfo, Overrides, Skip, ZoneRule } from "./wire";
import { omit } from "../runtime/values";
import { lookup, LookupError, type Inputs, type LookupOptions, type ZoneArgs } from "../runtime/lookup";

/** Managed rulesets of an account, and what a zone makes of them. */

/** How often a tag occurs in a ruleset, and what its rules do by default. */
export interface TagSummary {
  readonly tag: string;
  readonly rules: number;
  /** Rules that are on by default. */
  readonly on: number;
  /** Default actions, each with the number of its rules. */
  readonly actions: Readonly<Record<string, number>>;
}

/** A managed ruleset with its rules. */
export interface ManagedRulesetState extends ManagedRuleset {
  /** In alphabetical order. A rule counts for each of its tags. */
  readonly tags: readonly TagSummary[];
}

/** A rule of a zone's entry point. */
export interface ZoneRuleState {
  readonly id: string;
  readonly ref: string;
  /** `execute` for one that deploys a ruleset, `skip` for an exception. */
  readonly action: string;
  readonly expression: string;
  readonly description: string;
  readonly enabled: boolean;
  /** Of an execute rule: the managed ruleset and what is overridden of it. */
  readonly deploys?: {
    readonly rulesetId: string;
    readonly version?: string;
    readonly overrides: Overrides;
  };
  /** Of a skip rule: what it keeps from being looked at. */
  readonly skips?: Skip;
}

/** The ruleset that a zone starts from in the managed phase. */
export interface ZoneEntryPoint {
  readonly id: string;
  readonly version: string;
  /** In the order in which they run. */
  readonly rules: readonly ZoneRuleState[];
}

export interface ManagedRulesetsArgs {
  /** The account, 32 hexadecimal digits. Default: `edgeguard:accountId`, else CLOUDFLARE_ACCOUNT_ID. */
  readonly accountId?: string;
}

const rulesets = lookup<ManagedRulesetsArgs, readonly ManagedRulesetInfo[]>("getManagedRulesets", {
  ofAccount: true,
})({ accountId }, (host, { accountId }) => listManagedRulesets(host.api, accountId));

/**
 * The managed rulesets that a zone of the account may deploy, without their rules.
 *
 * @throws when the account is malformed or not given anywhere, or the token may not read its rulesets.
 */
export function getManagedRulesets(
  args: ManagedRulesetsArgs = {},
  opts?: LookupOptions,
): Promise<readonly ManagedRulesetInfo[]> {
  return rulesets.plain(args, opts);
}

/** `getManagedRulesets` for arguments that are outputs. Unknown in a preview without credentials. */
export function getManagedRulesetsOutput(
  args: Inputs<ManagedRulesetsArgs> = {},
  opts?: LookupOptions,
): pulumi.Output<readonly ManagedRulesetInfo[]> {
  return rulesets.output(args, opts);
}

export interface ManagedRulesetArgs extends ManagedRulesetsArgs {
  /** The ruleset, by its id or by its name. */
  readonly ruleset: { readonly id: string } | { readonly name: string };
  /** `"latest"` or a version's number as text. Default `"latest"`. */
  readonly version?: string;
}

const oneRuleset = lookup<ManagedRulesetArgs, ManagedRulesetState>("getManagedRuleset", { ofAccount: true })(
  { accountId, ruleset: declared.ruleset, version: declared.version.optional() },
  async (host, { accountId, ruleset, version }, form) => {
    try {
      const found = await findManagedRuleset(host.context(form), accountId, ruleset, version);
      return { ...found, tags: summarised(found.rules) };
    } catch (error) {
      if (error instanceof UnknownRulesetError) throw new LookupError(`${form}: ${error.message}.`);
      throw error;
    }
  },
);

/**
 * One managed ruleset with its rules, their tags, default states and actions, and a summary per tag.
 *
 * @throws LookupError when the account has no such ruleset or version, or an argument is wrong; else as
 * `getManagedRulesets`.
 */
export const getManagedRuleset = oneRuleset.plain;

/** `getManagedRuleset` for arguments that are outputs. Unknown in a preview without credentials. */
export const getManagedRulesetOutput = oneRuleset.output;

function summarised(rules: readonly ManagedRule[]): TagSummary[] {
  const tags = [...new Set(rules.flatMap((rule) => rule.tags))].sort();
  return tags.map((tag) => {
    const tagged = rules.filter((rule) => rule.tags.includes(tag));
    const counts = new Map<string, number>();
    for (const { action } of tagged) counts.set(action, (counts.get(action) ?? 0) + 1);
    const actions = Object.fromEntries(counts);
    return { tag, rules: tagged.length, on: tagged.filter(({ enabled }) => enabled).length, actions };
  });
}

const zoneRules = lookup<ZoneArgs, ZoneEntryPoint | undefined>("getZoneManagedRules")(
  { zoneId },
  async (host, { zoneId }) => {
    const found = await readEntryPoint(host, zoneId);
    // All but the rule as it came. `omit` keeps the members and not their types, so they are named again.
    const shown = (rule: ZoneRule): ZoneRuleState => omit({ ...rule }, ["raw"]) as unknown as ZoneRuleState;
    return found === undefined ? undefined : { ...found, rules: found.rules.map(shown) };
  },
);

/**
 * The managed rules of a zone in their order, whoever made them; undefined where it has none yet.
 *
 * @throws when the zone id is malformed, or the token lacks Zone WAF Read.
 */
export const getZoneManagedRules = zoneRules.plain;

/** `getZoneManagedRules` for arguments that are outputs. Unknown in a preview without credentials. */
export const getZoneManagedRulesOutput = zoneRules.output;

export interface ExplainZoneArgs extends ZoneArgs {
  /** The account that knows the rulesets. Default: `edgeguard:accountId`, else CLOUDFLARE_ACCOUNT_ID. */
  readonly accountId?: string;
}

const explanation = lookup<ExplainZoneArgs, ZoneExplanation>("explainZone", { ofAccount: true })(
  { zoneId, accountId },
  async (host, { zoneId, accountId }, form) => {
    const found = await readEntryPoint(host, zoneId);
    const known = new Map<ZoneRule, ManagedRuleset>();
    for (const rule of found?.rules ?? []) {
      if (rule.deploys === undefined) continue;
      const { rulesetId: id, version } = rule.deploys;
      try {
        known.set(rule, await findManagedRuleset(host.context(form), accountId, { id }, version));
      } catch (error) {
        // A ruleset of somebody's own is shown by its id.
        if (!(error instanceof UnknownRulesetError)) throw error;
      }
    }
    return explain(zoneId, found, (rule) => known.get(rule));
  },
);

/**
 * What of the managed rulesets works in a zone, whoever deployed them: ruleset, paranoia level, threshold, action, rules
 * that overrides switch on or off, exceptions; as data, and as Markdown for people and pull requests.
 *
 * @throws when an argument is wrong, or the token may not read the zone's rules or the account's rulesets.
 */
export const explainZone = explanation.plain;

/** `explainZone` for arguments that are outputs. Unknown in a preview without credentials. */
export const explainZoneOutput = explanation.output;
