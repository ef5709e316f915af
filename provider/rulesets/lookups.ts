import type * as pulumi from "@pulumi/pulumi";
import { ID } from "../runtime/fields";
import * as declared from "./arguments";
import { entryPointOf, readEntryPoint } from "./entry-point";
import { explain, type ExecutedRuleset, type ZoneExplanation } from "./explain";
import { findManagedRuleset, listManagedRulesets, UnknownRulesetError } from "./managed";
import { versionToCompare } from "./version-changes";
import type {
  ManagedRule,
  ManagedRuleset,
  ManagedRulesetInfo,
  ZoneEntryPoint,
  ZoneRule,
  ZoneRuleState,
} from "./wire";
import { omit } from "../basics/json";
import { lookup, LookupError, type Inputs, type LookupOptions, type ZoneArgs } from "../runtime/lookup";

/** Lookups for an account's managed rulesets and a zone's managed rules. */

export type { ZoneEntryPoint, ZoneRuleState } from "./wire";

/** A summary of the rules in a managed ruleset that have a given tag. */
export interface TagSummary {
  readonly tag: string;
  /** How many rules have the tag. */
  readonly rules: number;
  /** How many of these rules are on by default. */
  readonly on: number;
  /** How many of these rules have each default action. */
  readonly actions: Readonly<Record<string, number>>;
}

/** A managed ruleset with its rules and a summary of its tags. */
export interface ManagedRulesetState extends ManagedRuleset {
  /** The tags in alphabetical order. A rule counts toward each of its tags. */
  readonly tags: readonly TagSummary[];
}

/** The arguments of `getManagedRulesets`. */
export interface ManagedRulesetsArgs {
  /** The account's ID (32 hex digits). By default, the setting `edgeguard:accountId`, or `CLOUDFLARE_ACCOUNT_ID`. */
  readonly accountId?: string;
}

const rulesets = lookup<ManagedRulesetsArgs, readonly ManagedRulesetInfo[]>("getManagedRulesets", {
  ofAccount: true,
})({ accountId: ID.account }, (host, { accountId }) => listManagedRulesets(host.api, accountId));

/**
 * Returns the managed rulesets that zones of an account can deploy, without their rules.
 *
 * @throws If the account ID is malformed or isn't set anywhere.
 * @throws If the token lacks Account Rulesets Read.
 * @example
 * The names of all managed rulesets
 * ```ts
 * import { getManagedRulesets } from "pulumi-edgeguard";
 *
 * export const names = getManagedRulesets({ accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1" }).then((rulesets) =>
 *   rulesets.map(({ name }) => name),
 * );
 * ```
 * @see `GET /accounts/{account_id}/rulesets`
 */
export function getManagedRulesets(
  args: ManagedRulesetsArgs = {},
  opts?: LookupOptions,
): Promise<readonly ManagedRulesetInfo[]> {
  return rulesets.plain(args, opts);
}

/**
 * The same as `getManagedRulesets`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export function getManagedRulesetsOutput(
  args: Inputs<ManagedRulesetsArgs> = {},
  opts?: LookupOptions,
): pulumi.Output<readonly ManagedRulesetInfo[]> {
  return rulesets.output(args, opts);
}

/** The arguments of `getManagedRuleset`. */
export interface ManagedRulesetArgs extends ManagedRulesetsArgs {
  /** The ruleset, by ID or by name. */
  readonly ruleset: { readonly id: string } | { readonly name: string };
  /**
   * `"latest"` or a version number as a string.
   * @defaultValue `"latest"`
   */
  readonly version?: string;
}

const oneRuleset = lookup<ManagedRulesetArgs, ManagedRulesetState>("getManagedRuleset", { ofAccount: true })(
  { accountId: ID.account, ruleset: declared.ruleset, version: declared.version.optional() },
  async (host, { accountId, ruleset, version }, form) => {
    try {
      const found = await findManagedRuleset(host.context(form), accountId, ruleset, version);
      return { ...found, tags: summarizeTags(found.rules) };
    } catch (error) {
      if (error instanceof UnknownRulesetError) throw new LookupError(`${form}: ${error.message}.`);
      throw error;
    }
  },
);

/**
 * Returns a managed ruleset with its rules, their tags, default states and actions, and a summary of each tag.
 *
 * @throws LookupError if the account doesn't have the ruleset or the version, or an argument is invalid.
 * @throws If the token lacks Account Rulesets Read.
 * @example
 * The tags of the Cloudflare Managed Ruleset
 * ```ts
 * import { getManagedRuleset } from "pulumi-edgeguard";
 *
 * export const tags = getManagedRuleset({
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 *   ruleset: { name: "Cloudflare Managed Ruleset" },
 * }).then(({ tags }) => tags.map(({ tag, rules, on }) => `${tag}: ${on} of ${rules} rules are on`));
 * ```
 * @see https://developers.cloudflare.com/waf/managed-rules/reference/cloudflare-managed-ruleset/
 * @see `GET /accounts/{account_id}/rulesets/{ruleset_id}`
 */
export const getManagedRuleset = oneRuleset.plain;

/**
 * The same as `getManagedRuleset`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export const getManagedRulesetOutput = oneRuleset.output;

function summarizeTags(rules: readonly ManagedRule[]): TagSummary[] {
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
  { zoneId: ID.zone },
  async (host, { zoneId }) => {
    const found = await readEntryPoint(host, entryPointOf({ zoneId }));
    const stateOf = (rule: ZoneRule): ZoneRuleState => omit({ ...rule }, ["raw"]) as unknown as ZoneRuleState; // `omit` loses the types.
    return found && { id: found.id, version: found.version, rules: found.rules.map(stateOf) };
  },
);

/**
 * Returns the entry point ruleset for a zone's managed rules, with all its rules in order, no matter who created them.
 * Undefined if the zone has none yet.
 *
 * @throws If the zone ID is malformed.
 * @throws If the token lacks Zone WAF Read.
 * @example
 * The refs of a zone's managed rules, for use in `position`
 * ```ts
 * import { getZoneManagedRules } from "pulumi-edgeguard";
 *
 * export const refs = getZoneManagedRules({ zoneId: "0da42c8d2132a9ddaf714f9e7c920711" }).then((entryPoint) =>
 *   (entryPoint?.rules ?? []).map(({ ref, action, description }) => `${ref} (${action}) ${description}`),
 * );
 * ```
 * @see `GET /zones/{zone_id}/rulesets/phases/{ruleset_phase}/entrypoint`
 */
export const getZoneManagedRules = zoneRules.plain;

/**
 * The same as `getZoneManagedRules`, but its arguments may be outputs. The result is unknown in a preview without
 * credentials.
 */
export const getZoneManagedRulesOutput = zoneRules.output;

/** The arguments of `explainZone`. */
export interface ExplainZoneArgs extends ZoneArgs {
  /**
   * The ID of the account that owns the managed rulesets (32 hex digits). By default, the setting `edgeguard:accountId`,
   * or `CLOUDFLARE_ACCOUNT_ID`.
   */
  readonly accountId?: string;
}

const zoneExplanation = lookup<ExplainZoneArgs, ZoneExplanation>("explainZone", { ofAccount: true })(
  { zoneId: ID.zone, accountId: ID.account },
  async (host, { zoneId, accountId }, form) => {
    const found = await readEntryPoint(host, entryPointOf({ zoneId }));
    const ctx = host.context(form);
    const known = new Map<ZoneRule, ExecutedRuleset>();
    for (const rule of found?.rules ?? []) {
      if (rule.deploys === undefined) continue;
      const { rulesetId: id, version } = rule.deploys;
      try {
        const managed = await findManagedRuleset(ctx, accountId, { id }, version);
        const other = await versionToCompare(ctx, accountId, managed, version);
        known.set(rule, { managed, other });
      } catch (error) {
        // A custom ruleset is shown by its ID.
        if (!(error instanceof UnknownRulesetError)) throw error;
      }
    }
    return explain(zoneId, found, (rule) => known.get(rule));
  },
);

/**
 * Explains what a zone's managed rulesets do, no matter who deployed them. For each deployment, returns the ruleset,
 * paranoia level, score threshold, action, exceptions and the rules that overrides turn on or off. Also returns what
 * the ruleset's latest version changed for the deployment, and what a pinned version lacks. WAF custom rules that skip
 * all managed rules aren't read.
 *
 * @throws If an argument is invalid.
 * @throws If the token lacks Zone WAF Read or Account Rulesets Read.
 * @example
 * What a zone's managed rulesets do, as a stack output
 * ```ts
 * import { explainZone } from "pulumi-edgeguard";
 *
 * export const waf = explainZone({
 *   zoneId: "0da42c8d2132a9ddaf714f9e7c920711",
 *   accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
 * }).then(({ deployments }) => deployments);
 * ```
 * @see https://developers.cloudflare.com/waf/managed-rules/
 * @see `GET /zones/{zone_id}/rulesets/phases/{ruleset_phase}/entrypoint`
 * @see `GET /accounts/{account_id}/rulesets/{ruleset_id}`
 * @see `GET /accounts/{account_id}/rulesets/{ruleset_id}/versions/{ruleset_version}`
 */
export const explainZone = zoneExplanation.plain;

/**
 * The same as `explainZone`, but its arguments may be outputs. The result is unknown in a preview without credentials.
 */
export const explainZoneOutput = zoneExplanation.output;
