import { ApiError, mayHaveHappened } from "../api/errors";
import { backoffMs, RETRY } from "../api/retry";
import { MIGRATION } from "../limits";
import { PartialFailure, type Context } from "../runtime/lifecycle";
import { sameJson } from "../runtime/values";
import { assess, type Wish } from "./assessment";
import { isUnderWay, recordOf, withArrival, withEvent, type Computed, type History } from "./record";
import { putConfiguration, readState } from "./service";
import { bodyOf, observe, type Situation } from "./situation";
import { isFurther, isReached, stateText, type MigrationState } from "./state";
import { plural } from "./words";

/** Brings a zone to where it is to be, forward only. */

export interface Journey {
  readonly ctx: Context;
  readonly zoneId: string;
  readonly wish: Wish;
  /** How long the service may take to switch. */
  readonly waitSeconds: number;
  /** What is recorded; undefined for a resource that is new. */
  readonly before: Computed | undefined;
  /** What was read a moment ago; good enough where nothing is sent. */
  readonly seen?: Situation | undefined;
}

/** What the journey has come to by now. */
interface Here extends Journey {
  readonly situation: Situation;
  readonly history: History;
}

/**
 * Reads, judges, and sends at most one configuration that the confirmation fits. What was sent, or may have been, is
 * recorded whatever happens next: the next `up` looks where the zone is and goes on from there.
 *
 * @throws when nothing may be sent, before anything is; PartialFailure when the end is not reached.
 */
export async function advance(journey: Journey): Promise<Computed> {
  const { ctx, zoneId, wish, before } = journey;
  const history = before?.history ?? [];
  for (let attempt = 1; ; attempt += 1) {
    const situation = journey.seen ?? (await observe(ctx.api, zoneId));
    // Once finished is finished for ever: that the vendor takes the paths away afterwards changes nothing.
    if (situation.state.phase === "retired" && before?.migrationState === "finished") return before;
    const here: Here = { ...journey, situation, history };
    const { next, ...assessment } = assess(situation, wish);
    if (next.kind === "record") return recorded(here, assessment);
    if (isUnderWay(history, wish.target, MIGRATION.MAX_SWITCH_SECONDS))
      return await arrive(here, "it was sent before, and is not sent again");
    if (next.kind === "wait") return await arrive(here, `nothing is sent, as ${next.why}`);
    if (next.kind === "refuse")
      throw new Error(`WafMigration of zone ${zoneId}: ${next.property} ${next.reason}`);

    // Reading took a moment, in which a colleague may have been faster.
    const state = await readState(ctx.api, zoneId);
    if (state.phase !== situation.state.phase) {
      if (attempt < MAX_LOOKS) continue;
      throw new Error(
        `WafMigration of zone ${zoneId}: its state keeps changing, and nothing is sent. Run again later.`,
      );
    }
    try {
      await putConfiguration(ctx.api, zoneId, next.mode, bodyOf(situation, next.sending));
    } catch (error) {
      if (await mayBeSentLater(ctx, error, attempt)) continue; // Everything is read and judged again first.
      return await afterFailure({ ...here, situation: { ...situation, state } }, error);
    }
    ctx.say.info(
      `WafMigration of zone ${zoneId}: ${plural(next.sending.rules.length, "rule")} sent with waf_migration=${next.mode}, and taken.`,
    );
    return await arrive({ ...here, history: withEvent(history, wish.target, "sent") }, "it was sent");
  }
}

/** How often a zone that keeps changing is looked at again before its step. */
const MAX_LOOKS = 5;

/** Nothing is to be sent: the zone is where it is to be, or further, or is only looked at. */
function recorded(here: Here, assessment: Pick<ReturnType<typeof assess>, "findings" | "digest">): Computed {
  const { ctx, zoneId, wish, situation, before } = here;
  const looked = before === undefined ? withEvent(here.history, "assessed", "assessed") : here.history;
  const history = withArrival(looked, situation.state);
  const arrived = history.length > looked.length;
  if (arrived && isFurther(wish.target, situation.state))
    ctx.say.info(`WafMigration of zone ${zoneId}: ${arrivalWords(history, situation.state)}`);
  else if (arrived)
    ctx.say.info(`WafMigration of zone ${zoneId}: is ${shown(situation.state)} already; nothing was sent.`);
  return recordOf(situation, assessment, history, before);
}

/** How the zone has come to where it is, as the latest entry says. */
export function arrivalWords(history: History, state: MigrationState): string {
  return history.at(-1)?.event === "reached"
    ? `is ${shown(state)} now.`
    : `was brought to ${shown(state)} outside of this program; nothing was sent.`;
}

/** Refused for now, and surely not carried out. */
async function mayBeSentLater(ctx: Context, error: unknown, attempt: number): Promise<boolean> {
  if (!(error instanceof ApiError) || error.outcome !== "notDone") return false;
  const busy = error.status === 429 || error.status === undefined;
  const asked = error.retryAfterMs ?? 0;
  if (!busy || attempt > ctx.settings.maxRetries || asked > RETRY.maxRetryAfterMs) return false;
  await ctx.pause(asked === 0 ? backoffMs(attempt + 1) : asked);
  return true;
}

/** When the zone is looked at after an answer that says nothing, in milliseconds from look to look. */
const LOOKS_MS = [0, 500, 1_500];

/** An error is no proof that nothing happened: the zone is. */
async function afterFailure(here: Here, error: unknown): Promise<Computed> {
  if (!(error instanceof Error)) throw error;
  const { ctx, zoneId, wish, situation } = here;
  const unclear = mayHaveHappened(error);
  try {
    for (const wait of unclear ? LOOKS_MS : [0]) {
      await ctx.pause(wait);
      const state = await readState(ctx.api, zoneId);
      if (state.phase === "retired" || sameJson(state, situation.state)) continue;
      ctx.say.info(
        `WafMigration of zone ${zoneId}: the zone has gone on to ${shown(state)}, although the answer was another. ${error.message}`,
      );
      const history = withEvent(here.history, wish.target, unclear ? "sent" : "unclear");
      return await arrive({ ...here, history }, "it was sent");
    }
  } catch (second) {
    if (second instanceof PartialFailure) throw second;
    if (!unclear) throw error;
    const reason = second instanceof Error ? second.message : String(second);
    throw unfinished(
      here,
      situation.state,
      `${error.message} Where the zone is now is not known: ${reason}`,
      "unclear",
    );
  }
  if (!unclear) throw new Error(`${error.message} The zone is as it was.`, { cause: error });
  throw unfinished(
    here,
    situation.state,
    `${error.message} The zone still is at ${shown(situation.state)}. The next up looks again, and sends only what the confirmation fits.`,
    "unclear",
  );
}

const FIRST_LOOK_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** Waits until the zone is where it is to be, or the time is up. */
async function arrive(here: Here, why: string): Promise<Computed> {
  const { ctx, zoneId, wish, waitSeconds, situation } = here;
  const end = performance.now() + waitSeconds * 1000;
  let state = situation.state;
  let announced = false;
  try {
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      state = await readState(ctx.api, zoneId);
      if (isReached(wish.target, state)) break;
      const left = end - performance.now();
      if (left <= 0 || state.phase === "retired") break;
      if (!announced) {
        ctx.say.info(
          `WafMigration of zone ${zoneId}: ${why}; waiting up to ${waitSeconds} s for ${wish.target}. The switch may take minutes, up to an hour.`,
        );
        announced = true;
      }
      await ctx.pause(Math.min(pause, left));
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw unfinished(here, state, `where the zone is now is not known. ${reason}`);
  }
  if (isReached(wish.target, state)) {
    const arrived: Situation = { zoneId, state };
    const history = withArrival(here.history, state);
    ctx.say.info(`WafMigration of zone ${zoneId}: is ${shown(state)}. ${AFTERWARDS[wish.target]}`);
    const kept = recordOf(situation, assess(situation, wish), history, here.before);
    return recordOf(arrived, { findings: assess(arrived, wish).findings }, history, kept);
  }
  throw unfinished(
    here,
    state,
    state.phase === "retired"
      ? `the vendor has retired the migration before it was ${wish.target}: look in the dashboard how far the zone has come.`
      : `after ${waitSeconds} s its state is ${shown(state)}, not ${wish.target}. What was sent stays sent: the next up waits on, and waitFor.timeout says how long.`,
  );
}

const AFTERWARDS = {
  assessed: "",
  validation:
    'Both versions act now, the new one first: look at the security events, adjust the new rules, then set target: "finished".',
  finished: "It cannot be undone. Adopt the new rules with ManagedRulesetOverride.",
};

function unfinished(
  here: Here,
  state: MigrationState,
  reason: string,
  event?: "unclear",
): PartialFailure<Computed> {
  const { zoneId, wish, situation } = here;
  const history = event === undefined ? here.history : withEvent(here.history, wish.target, event);
  const now = { ...situation, state };
  return new PartialFailure(
    zoneId,
    recordOf(now, assess(situation, wish), history, here.before),
    `WafMigration of zone ${zoneId}: ${reason}`,
  );
}

function shown(state: MigrationState): string {
  return state.phase === "other" ? JSON.stringify(stateText(state)) : stateText(state);
}
