import { ApiError } from "../api/errors";
import { escapeInvisible } from "../basics/printable";
import type { Context } from "../runtime/lifecycle";
import {
  changedRuleLines,
  changeSince,
  headline,
  lackOf,
  rulesNow,
  type Deployment,
  type VersionChange,
} from "./compare-versions";
import { isPinned, type Declared, type Prepared } from "./deployment";
import { OVERRIDING } from "./effective";
import { findManagedRuleset, isIncomplete, readVersion } from "./managed";
import type { RuleIds } from "./rule-names";
import { skippedRulesOf } from "./skip";
import { validate, withoutSecrets } from "./validate";
import type { ManagedRuleset, Skip, ZoneRule } from "./wire";

/**
 * Messages about new versions of a managed ruleset: what Cloudflare changed for a deployment, what a pinned version
 * lacks, and which settings no longer have any effect.
 */

interface Recorded extends Declared {
  readonly rulesetId: string;
  readonly rulesetVersion: string;
  readonly known: { readonly version?: string | undefined };
  readonly ruleIds?: RuleIds | undefined;
}

/** A deployment, as it is in the zone or as declared, with the ruleset that it executes. */
export interface DeployedVersion {
  readonly managed: ManagedRuleset;
  /** The version that the deployment pins. If it's `latest` or undefined, no version is pinned. */
  readonly version: string | undefined;
  readonly deployment: Deployment;
}

/**
 * Describes how a rule of the zone deploys its ruleset.
 *
 * @param before the rules that run before this rule. Some may be its exceptions.
 */
export function deploymentIn(before: readonly ZoneRule[], { enabled, deploys }: ZoneRule): Deployment {
  const { rulesetId = "", overrides = { categories: [], rules: {} } } = deploys ?? {};
  const skips = before.filter((rule) => rule.enabled).map((rule) => rule.skips);
  return { enabled, overrides, skipped: skippedRules(skips, rulesetId) };
}

/** Describes how a declaration deploys its ruleset. */
export function declaredVersion(
  { version, enabled }: Pick<Declared, "version" | "enabled">,
  { managed, overrides, exceptions }: Prepared,
): DeployedVersion {
  const skips = exceptions.map(({ skip }) => skip);
  return { managed, version, deployment: { enabled, overrides, skipped: skippedRules(skips, managed.id) } };
}

/** Lists a ruleset's rules that exceptions skip individually. */
function skippedRules(skips: readonly (Skip | undefined)[], rulesetId: string): string[] {
  return skips
    .flatMap((skip) => (skip === undefined ? [] : (skippedRulesOf(skip, rulesetId) ?? [])))
    .filter((id) => typeof id === "string");
}

/**
 * Returns what the ruleset's new version changes for a deployment that doesn't pin one. Reads the previous version only
 * if the latest one differs from the recorded one. A version is reported once, even if the previous one can't be read.
 */
export async function newsOfVersion(
  ctx: Context,
  { accountId, rulesetId, rulesetVersion: former, version: recorded, known }: Recorded,
  { managed, version, deployment }: DeployedVersion,
): Promise<string[]> {
  const isNew = ![former, managed.version].includes("") && former !== managed.version;
  if (!isNew || rulesetId !== managed.id || isPinned(version) || isPinned(recorded ?? known.version))
    return [];
  const unknown = (why: string): string[] => {
    const count = incomparable(managed) === undefined ? `${rulesNow(managed, deployment)}. ` : "";
    return [
      versionMessage(
        `${headline({ version: former }, managed)}: ${count}${why}, so what changed isn't known`,
      ),
    ];
  };
  try {
    const earlier = await readVersion(ctx, accountId, rulesetId, former);
    const why = incomparable(earlier, former) ?? incomparable(managed);
    if (why !== undefined) return unknown(why);
    const change = changeSince(earlier, managed, shownOf(ctx, deployment));
    return [versionMessage(change.summary, change)];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return unknown(
      `Version ${former} couldn't be read (${error.status === undefined ? "no response" : `HTTP ${error.status}`})`,
    );
  }
}

/** Marks the deployment as secret if an argument is, so that the comparison leaves out single rules. */
function shownOf(ctx: Context, deployment: Deployment): Deployment {
  const isSecret = [...OVERRIDING, "exceptions"].some((name) => ctx.isSecret(name));
  return { ...deployment, isSecret };
}

/** Returns why a response can't be used to compare versions. Undefined if it can. */
export function incomparable(managed: ManagedRuleset, asked = managed.version): string | undefined {
  const { version, rules } = managed;
  if (isIncomplete(managed)) return `Some rules of version ${version || asked} couldn't be read`;
  if (rules.length === 0) return `Cloudflare lists no rules of version ${version || asked}`;
  return version === "" || version === asked
    ? undefined
    : `Cloudflare returned version ${version} instead of ${asked}`;
}

/**
 * Returns what a pinned version lacks. Sends no requests, because the latest version was read to find the pinned one.
 */
export async function newsOfPinned(
  ctx: Context,
  declared: Pick<Declared, "accountId" | "ref">,
  { managed, version, deployment }: DeployedVersion,
): Promise<string[]> {
  const latest = isPinned(version)
    ? await versionToCompare(ctx, declared.accountId, managed, version)
    : undefined;
  if (latest === undefined) return [];
  const lack = lackOf(managed, latest, shownOf(ctx, deployment));
  return [versionMessage(lack.summary, lack)];
}

/**
 * Returns the version to compare a deployment's version with. If the deployment pins a version, that's the latest one;
 * otherwise the one before the latest. Undefined if there is none or it can't be read.
 */
export async function versionToCompare(
  ctx: Context,
  account: string,
  managed: ManagedRuleset,
  version: string | undefined,
): Promise<ManagedRuleset | undefined> {
  if (incomparable(managed) !== undefined) return undefined;
  if (isPinned(version)) {
    const latest = await findManagedRuleset(ctx, account, { id: managed.id });
    return latest.version === managed.version || incomparable(latest) !== undefined ? undefined : latest;
  }
  const before = Number(managed.version) - 1;
  if (!(before >= 1)) return undefined;
  try {
    const found = await readVersion(ctx, account, managed.id, String(before));
    return incomparable(found, String(before)) === undefined ? found : undefined;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** Warns about settings for tags or rules that this version of the ruleset doesn't have. */
export function missingInVersion(ctx: Context, managed: ManagedRuleset, recorded: Recorded): string[] {
  if (incomparable(managed) !== undefined) return [];
  const findings = withoutSecrets(ctx, validate(recorded, managed)).map(
    ({ property, reason }) => `${property}: ${reason}`,
  );
  if (findings.length === 0) return [];
  return [
    `${label(recorded)}: these settings don't apply to version ${managed.version} of ${JSON.stringify(managed.name)} and have no effect: ${findings.join("; ")}. Change the program, then run \`pulumi up\`.`,
  ];
}

function versionMessage(summary: string, change: Pick<VersionChange, "rules"> = { rules: [] }): string {
  const lines = [`${summary}.`, ...changedRuleLines(change)];
  return lines.map(escapeInvisible).join("\n  ");
}

const label = ({ ref }: Pick<Declared, "ref">): string => `managed ruleset ${JSON.stringify(ref)}`;
