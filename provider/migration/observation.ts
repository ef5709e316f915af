import type { EdgeApi } from "../api/client";
import { ApiError } from "../api/errors";
import { digestOf } from "../runtime/digest";
import { omitAbsent } from "../runtime/members";
import { canonicalJson, pick } from "../runtime/values";
import { readPreviousRules, type PreviousRules, type Listing } from "./previous-rules";
import { contentOf, deploys, rulesToSend, type Sending, type WireRule } from "./rules";
import {
  readCheck,
  readEntryPoint,
  readProposed,
  readState,
  readStatus,
  RetiredError,
  type Configuration,
  type EntryPoint,
} from "./api";
import { decideState, isSameState, RETIRED, type MigrationState, type Target } from "./state";

/** All that is known of a zone's migration at one moment. */
export interface Observation {
  readonly zoneId: string;
  readonly state: MigrationState;
  /** Whether an enabled rule of the entry point executes a ruleset; absent where nobody looked. */
  readonly deploys?: boolean;
  /** What is read only while there is something left to migrate. */
  readonly open?: {
    /** Undefined where the check gave no verdict. */
    readonly compatible: boolean | undefined;
    /** Absent where the zone cannot migrate, or Cloudflare proposes nothing any more. */
    readonly proposed?: Configuration;
    /** Absent where the zone never had one. */
    readonly entryPoint?: EntryPoint;
    readonly previous: PreviousRules;
  };
}

/**
 * Reads a zone, without a change; once more where the zone has gone on between two of the requests, as while another
 * process finishes it. The check and the configuration come last but for the entry point: what a step is
 * judged by is then as fresh as it can be.
 */
export async function observe(api: EdgeApi, zoneId: string, again = true): Promise<Observation> {
  let seen: MigrationState | undefined;
  try {
    const status = await readStatus(api, zoneId);
    const early = decideState(status);
    if (early.phase === "finished")
      return { zoneId, state: early, deploys: isDeployed(await readEntryPoint(api, zoneId)) };
    const previous = await readPreviousRules(api, zoneId);
    const verdict = await readCheck(api, zoneId);
    const state = decideState(status, verdict.state);
    seen = state;
    const proposed = verdict.compatible === true ? await proposal(api, zoneId, state) : undefined;
    const entryPoint = await readEntryPoint(api, zoneId);
    return {
      zoneId,
      state,
      deploys: isDeployed(entryPoint),
      open: { compatible: verdict.compatible, previous, ...omitAbsent({ proposed, entryPoint }) },
    };
  } catch (error) {
    if (error instanceof RetiredError) return { zoneId, state: RETIRED };
    const isRefused = error instanceof ApiError && error.status === 400;
    if (!again || !isRefused || seen === undefined) throw error;
    if (isSameState(await readState(api, zoneId), seen)) throw error;
    return await observe(api, zoneId, false);
  }
}

function isClientError(error: unknown): boolean {
  return error instanceof ApiError && error.status !== undefined && error.status < 500;
}

/** Without such a rule no managed rule acts on the zone, whatever the migration's status says. */
export function isDeployed(entryPoint: EntryPoint | undefined): boolean {
  return entryPoint?.rules.some(deploys) === true;
}

/** From start it is what is sent, so it is needed; later it is only shown. */
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

/** What the next step would send; undefined where no step is left or known. */
export function rulesToSendNext(
  { state, open }: Observation,
  configured: readonly WireRule[] | undefined,
): Sending | undefined {
  if (open === undefined || (state.phase !== "start" && state.phase !== "validation")) return undefined;
  const proposed = open.proposed?.rules ?? [];
  if (state.phase === "start" && open.proposed === undefined) return undefined;
  return rulesToSend({ state, own: open.entryPoint?.rules ?? [], proposed, configured });
}

/** The body's name: that of the entry point, which never changes, else the proposed one. */
export function bodyOf({ open }: Observation, { rules }: Sending): Configuration {
  const name = open?.entryPoint?.name ?? open?.proposed?.name;
  return { ...omitAbsent({ name }), rules: rules.map(({ rule }) => rule) };
}

/**
 * What a confirmation stands for: zone and target, what Cloudflare proposes, the previous settings and overrides, and
 * the rules to be sent, and those of the zone that go or are overwritten; no IDs, versions and times that Cloudflare
 * gives. It stops fitting when any of them changes.
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

/** Settings and overrides of the previous rules, in an order of their own. */
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
