import { ApiError, mayHaveBeenApplied } from "../api/errors";
import { backoffMs, RETRY } from "../api/retry";
import { MIGRATION } from "../limits";
import { PartialFailure, type Context } from "../runtime/lifecycle";
import { withMachineLock } from "../runtime/machine-lock";
import { pluralize, sameJson } from "../runtime/values";
import { assess, type Assessment, type MigrationRequest, type NextStep } from "./assessment";
import { checkAfterPut, differencesOf, type ConcurrentChange } from "./concurrent";
import { isUnderWay, recordOf, withArrival, withEvent, type Computed, type History } from "./record";
import { putConfiguration, readEntryPoint, readState, type EntryPoint } from "./api";
import { bodyOf, isDeployed, observe, type Observation } from "./observation";
import { isFurther, isReached, isSameState, stateText, type MigrationState, type Target } from "./state";
import { pollUntil } from "../runtime/creation";

/** Brings a zone to where it is to be, forward only. */

export interface MigrationRun {
  readonly ctx: Context;
  readonly zoneId: string;
  readonly request: MigrationRequest;
  /** The target that was reached before: what is recorded while nobody knows whether the step was taken. */
  readonly from: Target;
  /** How long Cloudflare may take to switch. */
  readonly waitSeconds: number;
  /** What is recorded; undefined for a resource that is new. */
  readonly before: Computed | undefined;
  /** What was read a moment ago; good enough where nothing is sent. */
  readonly seen?: Observation | undefined;
}

/** What a run has come to by now. */
interface RunState extends MigrationRun {
  readonly observation: Observation;
  readonly history: History;
  /** What others wrote while the step was sent. */
  readonly concurrent?: readonly ConcurrentChange[];
}

/**
 * Reads, judges, and sends at most one configuration that the confirmation fits. What was sent, or may have been, is
 * recorded whatever happens next: the next `up` looks where the zone is and goes on from there.
 *
 * @throws when nothing may be sent, before anything is; PartialFailure when the end is not reached.
 */
export async function advance(start: MigrationRun): Promise<Computed> {
  const { ctx, zoneId, request, before } = start;
  const history = before?.history ?? [];
  const first = start.seen ?? (await observe(ctx.api, zoneId));
  let observation = first;
  for (let attempt = 1; ; attempt += 1) {
    // Once finished is finished for ever: that Cloudflare takes the paths away afterwards changes nothing.
    if (observation.state.phase === "retired" && before?.migrationState === "finished") return before;
    const run: RunState = { ...start, observation, history };
    const { next, ...assessment } = assess(observation, request);
    if (next.kind === "record") return recordOnly(run, assessment);
    if (isUnderWay(history, request.target, MIGRATION.MAX_SWITCH_SECONDS))
      return await waitForTarget(run, "it was sent before, and is not sent again");
    if (next.kind === "wait") return await waitForTarget(run, `nothing is sent, as ${next.why}`);
    if (next.kind === "refuse") {
      // Where the zone went on between the first read and the last, what they say together is not so.
      if (attempt < MAX_ATTEMPTS && !isSameState(await readState(ctx.api, zoneId), observation.state)) {
        observation = await observe(ctx.api, zoneId);
        continue;
      }
      const reason = `${next.property} ${next.reason}${changesSince(first, observation)}`;
      throw new Error(`WafMigration of zone ${zoneId}: ${reason}`);
    }
    // The same rules fit the same confirmation: whoever has just sent them has sent this step.
    if (!isSameState(first.state, observation.state))
      return await waitForTarget(run, "somebody else has just taken the zone further, so nothing is sent");

    const lock = `${ctx.settings.baseUrl.replace(/\/+$/, "")}/zones/${zoneId}`;
    const sent = await withMachineLock(lock, ctx, () => send(run, next, attempt));
    if (typeof sent !== "number") return await waitForTarget(sent, "it was sent");
    if (attempt === MAX_ATTEMPTS) {
      throw new Error(
        `WafMigration of zone ${zoneId}: it keeps changing, and nothing is sent. Run again later.`,
      );
    }
    await ctx.pause(sent);
    observation = await observe(ctx.api, zoneId); // Everything is read and judged again first.
  }
}

/** What a refusal adds where the zone was another when this update began: what has changed since. */
function changesSince(first: Observation, now: Observation): string {
  const changes = differencesOf(first.open?.entryPoint?.rules ?? [], now.open?.entryPoint?.rules ?? []);
  return changes.length === 0 ? "" : ["", "since this update began:", ...changes].join("\n  ");
}

/**
 * The one write. The entry point is read as the last thing before it and compared, so that between what was confirmed and
 * the PUT lies no more than one round trip; `afterWrite` then repairs what was written within it. Other processes on this
 * machine are locked out meanwhile. Returns how long to wait before the next look where it was not sent.
 */
async function send(
  run: RunState,
  { mode, sending }: Extract<NextStep, { kind: "send" }>,
  attempt: number,
): Promise<RunState | number> {
  const { ctx, zoneId, request, observation, history } = run;
  const state = await readState(ctx.api, zoneId);
  const entryPoint = await readEntryPoint(ctx.api, zoneId);
  if (!isSameState(state, observation.state) || !sameJson(entryPoint, observation.open?.entryPoint)) return 0;
  let answered: EntryPoint | undefined;
  let taken: History;
  try {
    answered = await putConfiguration(ctx.api, zoneId, mode, bodyOf(observation, sending));
    taken = withEvent(history, request.target, "sent");
    report(run, `${pluralize(sending.rules.length, "rule")} sent with waf_migration=${mode}, and taken.`);
  } catch (error) {
    const wait = waitAfter(ctx, error, attempt);
    if (wait !== undefined) return wait;
    taken = await afterFailure({ ...run, observation: { ...observation, state } }, error);
  }
  let concurrent: readonly ConcurrentChange[];
  try {
    concurrent = await checkAfterPut(ctx, { zoneId, before: entryPoint, sending, answered });
  } catch (error) {
    const reason = `the step was sent; whether it overwrote somebody's rule was not looked at. ${messageOf(error)}`;
    throw partialFailure({ ...run, history: taken }, state, reason);
  }
  for (const { text } of concurrent) ctx.say.warn(`WafMigration of zone ${zoneId}: ${text}`);
  return { ...run, history: taken, concurrent };
}

/** How often a zone that keeps changing is looked at again before its step. */
const MAX_ATTEMPTS = 5;

/** Nothing is to be sent: the zone is where it is to be, or further, or is only looked at. */
function recordOnly(run: RunState, assessment: Pick<Assessment, "findings" | "digest">): Computed {
  const { request, observation, before } = run;
  const { state } = observation;
  const looked = before === undefined ? withEvent(run.history, "assessed", "assessed") : run.history;
  const history = withArrival(looked, state);
  if (history.length > looked.length) {
    const isAhead = isFurther(request.target, state);
    report(run, isAhead ? arrivalText(history, state) : `is ${stateLabel(state)} already; nothing was sent.`);
  }
  return recordOf(observation, assessment, history, before);
}

/** How the zone has come to where it is, as the latest entry says. */
export function arrivalText(history: History, state: MigrationState): string {
  return history.at(-1)?.event === "reached"
    ? `is ${stateLabel(state)} now.`
    : `was brought to ${stateLabel(state)} outside of this program; nothing was sent.`;
}

/** How long to wait after a refusal for now, which was surely not carried out; undefined after any other error. */
function waitAfter({ settings }: Context, error: unknown, attempt: number): number | undefined {
  if (!(error instanceof ApiError) || error.outcome !== "notDone") return undefined;
  const busy = error.status === 429 || error.status === undefined;
  const asked = error.retryAfterMs ?? 0;
  if (!busy || attempt > settings.maxRetries || attempt >= MAX_ATTEMPTS || asked > RETRY.maxRetryAfterMs)
    return undefined;
  return asked === 0 ? backoffMs(attempt + 1) : asked;
}

/**
 * An error is no proof that nothing happened: the zone is. Returns the history with the step where the zone has gone on.
 *
 * @throws where it has not, or nobody knows.
 */
async function afterFailure(run: RunState, error: unknown): Promise<History> {
  if (!(error instanceof Error)) throw error;
  const { ctx, zoneId, request, observation } = run;
  const unclear = mayHaveBeenApplied(error);
  const hasGoneOn = (state: MigrationState): boolean =>
    state.phase !== "retired" && !sameJson(state, observation.state);
  let state: MigrationState;
  try {
    state = await pollUntil(ctx, () => readState(ctx.api, zoneId), hasGoneOn, unclear ? 4 : 1);
  } catch (second) {
    if (!unclear) throw error;
    const reason = `${error.message} Where the zone is now is not known: ${messageOf(second)}`;
    throw partialFailure(run, observation.state, reason, "unclear");
  }
  if (hasGoneOn(state)) {
    report(
      run,
      `the zone has gone on to ${stateLabel(state)}, although the answer was another. ${error.message}`,
    );
    return withEvent(run.history, request.target, unclear ? "sent" : "unclear");
  }
  if (!unclear) throw new Error(`${error.message} The zone is as it was.`, { cause: error });
  const still = `The zone still is at ${stateLabel(observation.state)}. The next up looks again, and sends only what the confirmation fits.`;
  throw partialFailure(run, observation.state, `${error.message} ${still}`, "unclear");
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** Waits until the zone is where it is to be, or the time is up. */
async function waitForTarget(run: RunState, why: string): Promise<Computed> {
  const { ctx, zoneId, request, waitSeconds, observation } = run;
  const end = performance.now() + waitSeconds * 1000;
  let state = observation.state;
  let deploys: boolean | undefined;
  let announced = false;
  try {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      state = await readState(ctx.api, zoneId);
      if (isReached(request.target, state)) {
        deploys = isDeployed(await readEntryPoint(ctx.api, zoneId));
        break;
      }
      const left = end - performance.now();
      if (left <= 0 || state.phase === "retired") break;
      if (!announced) {
        report(
          run,
          `${why}; waiting up to ${waitSeconds} s for ${request.target}. The switch may take minutes, up to an hour.`,
        );
        announced = true;
      }
      await ctx.pause(Math.min(pause, left));
    }
  } catch (error) {
    throw partialFailure(run, state, `where the zone is now is not known. ${messageOf(error)}`);
  }
  if (isReached(request.target, state)) {
    const arrived: Observation = { zoneId, state, ...(deploys === undefined ? {} : { deploys }) };
    const history = withArrival(run.history, state);
    report(run, `is ${stateLabel(state)}. ${deploys === false ? NOTHING_ACTS : AFTERWARDS[request.target]}`);
    const kept = recordOf(observation, assess(observation, request), history, run.before, run.concurrent);
    return recordOf(arrived, { findings: assess(arrived, request).findings }, history, kept);
  }
  throw partialFailure(
    run,
    state,
    state.phase === "retired"
      ? `the vendor has retired the migration before it was ${request.target}: look in the dashboard how far the zone has come.`
      : `after ${waitSeconds} s its state is ${stateLabel(state)}, not ${request.target}. What was sent stays sent: the next up waits on, and waitFor.timeout says how long.`,
  );
}

const AFTERWARDS = {
  assessed: "",
  validation:
    'Both versions act now, the new one first: look at the security events, adjust the new rules, then set target: "finished".',
  finished: "It cannot be undone. Adopt the new rules with ManagedRulesetOverride.",
};

const NOTHING_ACTS =
  "No enabled rule executes a managed ruleset, so no managed rule acts on the zone: deploy one with ManagedRulesetOverride.";

function partialFailure(
  run: RunState,
  state: MigrationState,
  reason: string,
  event?: "unclear",
): PartialFailure<Computed> {
  const { zoneId, request, observation } = run;
  const history = event === undefined ? run.history : withEvent(run.history, request.target, event);
  const now = { ...observation, state };
  const isSent = history.filter(({ step }) => step === request.target).at(-1)?.event === "sent";
  return new PartialFailure(
    zoneId,
    recordOf(now, assess(observation, request), history, run.before, run.concurrent),
    `WafMigration of zone ${zoneId}: ${reason}`,
    isSent ? undefined : { target: run.from },
  );
}

function report({ ctx, zoneId }: RunState, text: string): void {
  ctx.say.info(`WafMigration of zone ${zoneId}: ${text}`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function stateLabel(state: MigrationState): string {
  return state.phase === "other" ? JSON.stringify(stateText(state)) : stateText(state);
}
