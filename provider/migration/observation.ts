import type { EdgeApi } from "../api/client";
import { ApiError } from "../api/errors";
import { digestOf } from "../basics/digest";
import { omitAbsent, canonicalJson, pick } from "../basics/json";
import { readPreviousRules, type PreviousRules, type Listing } from "./previous-rules";
import { contentOf, deploys, rulesToSend, type Sending, type WireRule } from "./rules";
import {
  readCheck,
  readEntryPoint,
  readProposed,
  readStatus,
  RetiredError,
  type Configuration,
  type EntryPoint,
} from "./api";
import { decideState, RETIRED, type MigrationState, type Target } from "./state";

/** What a single read of a zone shows about its migration. */
export interface Observation {
  readonly zoneId: string;
  readonly state: MigrationState;
  /** Whether an enabled rule of the entry point executes a ruleset. Absent if the entry point wasn't read. */
  readonly deploys?: boolean;
  /** The data that the next step depends on. Absent once the migration is finished or retired. */
  readonly open?: {
    /** Whether Cloudflare's check reports the zone as compatible. Undefined if the check doesn't say. */
    readonly compatible: boolean | undefined;
    /** Cloudflare's proposal. Absent if the zone can't migrate, or if Cloudflare no longer proposes anything. */
    readonly proposed?: Configuration;
    /** The zone's entry point. Absent if the zone never had one. */
    readonly entryPoint?: EntryPoint;
    readonly previous: PreviousRules;
  };
}

export interface ObserveOptions {
  /**
   * Whether to read only what can block the migration, for a report on many zones. If so, there's no proposal, and no
   * step can be confirmed.
   */
  readonly onlyBlockers?: boolean;
  /** A function that returns the zone's entry point. Defaults to reading it. Set this if it was already read. */
  readonly entryPoint?: typeof readEntryPoint;
}

/**
 * Reads a zone without changing it. The check, the configuration and the entry point come last, so that a step is judged by
 * the latest data.
 */
export async function observe(
  api: EdgeApi,
  zoneId: string,
  options: ObserveOptions = {},
): Promise<Observation> {
  const { onlyBlockers = false, entryPoint: ownEntryPoint = readEntryPoint } = options;
  try {
    const status = await readStatus(api, zoneId);
    const early = decideState(status);
    if (early.phase === "finished")
      return { zoneId, state: early, deploys: isDeployed(await ownEntryPoint(api, zoneId)) };
    const previous = await readPreviousRules(api, zoneId, onlyBlockers);
    const verdict = await readCheck(api, zoneId);
    const state = decideState(status, verdict.state);
    const proposed =
      verdict.compatible === true && !onlyBlockers ? await proposal(api, zoneId, state) : undefined;
    const entryPoint = await ownEntryPoint(api, zoneId);
    return {
      zoneId,
      state,
      deploys: isDeployed(entryPoint),
      open: { compatible: verdict.compatible, previous, ...omitAbsent({ proposed, entryPoint }) },
    };
  } catch (error) {
    if (error instanceof RetiredError) return { zoneId, state: RETIRED };
    throw error;
  }
}

function isClientError(error: unknown): boolean {
  return error instanceof ApiError && error.status !== undefined && error.status < 500;
}

/**
 * Whether an enabled rule executes a managed ruleset. Otherwise, the zone has no active managed rules, whatever the
 * migration's status says.
 */
export function isDeployed(entryPoint: EntryPoint | undefined): boolean {
  return entryPoint?.rules.some(deploys) === true;
}

/** Reads Cloudflare's proposal. At start, it's required, because the step sends it. Later, it's only shown. */
async function proposal(
  api: EdgeApi,
  zoneId: string,
  { phase }: MigrationState,
): Promise<Configuration | undefined> {
  try {
    return await readProposed(api, zoneId);
  } catch (error) {
    if (phase === "start" || !isClientError(error)) throw error;
    return undefined;
  }
}

/** Returns the rules that the next step would send. Undefined if no step is left, or if the next step is unknown. */
export function rulesToSendNext(
  { state, open }: Observation,
  configured: readonly WireRule[] | undefined,
): Sending | undefined {
  if (open === undefined || (state.phase !== "start" && state.phase !== "validation")) return undefined;
  const proposed = open.proposed?.rules ?? [];
  if (state.phase === "start" && open.proposed === undefined) return undefined;
  return rulesToSend({ state, own: open.entryPoint?.rules ?? [], proposed, configured });
}

/** Returns the body of the PUT. An existing entry point keeps its name; a new one gets the proposed name. */
export function bodyOf({ open }: Observation, { rules }: Sending): Configuration {
  const name = open?.entryPoint?.name ?? open?.proposed?.name;
  return { ...omitAbsent({ name }), rules: rules.map(({ rule }) => rule) };
}

/**
 * Returns the digest that confirms a step. It covers the zone, the target, Cloudflare's proposal, the previous settings
 * and overrides, the rules to send, and the zone's rules that are removed or overwritten. It doesn't cover the IDs,
 * versions and times that Cloudflare assigns.
 */
export function confirmationDigest(
  observation: Observation,
  target: Target,
  { rules, dropped, overwritten }: Sending,
): string {
  const { zoneId, open } = observation;
  const lost = [...dropped, ...overwritten].map(contentOf);
  return digestOf({
    zoneId,
    target,
    proposed: open?.proposed
      ? { name: open.proposed.name ?? null, rules: open.proposed.rules.map(contentOf) }
      : null,
    previous: open === undefined ? null : previousSettings(open.previous),
    rules: rules.map(({ rule }) => contentOf(rule)),
    ...(lost.length === 0 ? {} : { lost }),
  });
}

/** Returns the settings and overrides of the previous rules, sorted so that their order doesn't matter. */
function previousSettings({ packages, owaspGroups, owaspRules, overrides }: PreviousRules): unknown {
  return {
    packages: sorted(packages, (one) => pick(one, ["id", "sensitivity", "action_mode"])),
    owaspGroups: sorted(owaspGroups, (one) => pick(one, ["id", "mode", "modified_rules_count"])),
    owaspRules: sorted(owaspRules, (one) => pick(one, ["id", "mode"])),
    overrides: sorted(overrides, (one) => one),
  };
}

function sorted<T>(list: Listing<T>, content: (item: T) => unknown): unknown {
  return "items" in list ? list.items.map((item) => canonicalJson(content(item))).sort() : list;
}
