import { ApiError, mayHaveBeenApplied } from "../api/errors";
import { backoffMs, RETRY } from "../api/retry";
import { MIGRATION } from "../limits/index";
import { PartialFailure, type Context } from "../runtime/lifecycle";
import { pluralize } from "../basics/words";
import { sameJson } from "../basics/json";
import { assess, type Assessment, type MigrationRequest, type NextStep } from "./assessment";
import { checkAfterPut, type ConcurrentChange } from "./concurrent";
import { isUnderWay, recordOf, withArrival, withEvent, type Computed, type History } from "./record";
import { putConfiguration, readEntryPoint, readState } from "./api";
import { bodyOf, isDeployed, observe, type Observation } from "./observation";
import { isFurther, isReached, isSameState, stateText, type MigrationState, type Target } from "./state";

/** Moves a zone forward to its target. */

export interface MigrationRun {
  readonly ctx: Context;
  readonly zoneId: string;
  readonly request: MigrationRequest;
  /** The target in the state. It stays there until it's clear that Cloudflare accepted the new step. */
  readonly from: Target;
  /** How many seconds to wait for Cloudflare to complete the switch. */
  readonly waitSeconds: number;
  /** The recorded outputs. Undefined for a new resource. */
  readonly before: Computed | undefined;
  /** The zone as the live check read it. Set only if the target is `assessed`, because nothing is sent then. */
  readonly seen?: Observation | undefined;
}

/** A run in progress. */
interface RunState extends MigrationRun {
  readonly observation: Observation;
  readonly history: History;
  /** What others wrote to the entry point while the step was being sent. */
  readonly concurrent?: readonly ConcurrentChange[];
}

/**
 * Reads the zone, decides what to do, and sends at most one configuration, which has to match the confirmation. Always
 * records a configuration that was sent or may have been sent, so that the next `up` continues from there.
 *
 * @throws before anything is sent, if the step is refused. Throws PartialFailure if the zone doesn't reach the target.
 */
export async function advance(start: MigrationRun): Promise<Computed> {
  const { ctx, zoneId, request, before } = start;
  const history = before?.history ?? [];
  const first = start.seen ?? (await observe(ctx.api, zoneId));
  let observation = first;
  for (let attempt = 1; ; attempt += 1) {
    // Finished stays finished, even after Cloudflare has removed the migration's paths.
    if (observation.state.phase === "retired" && before?.migrationState === "finished") return before;
    const run: RunState = { ...start, observation, history };
    const { next, ...assessment } = assess(observation, request);
    if (next.kind === "record") return recordOnly(run, assessment);
    if (isUnderWay(history, request.target, MIGRATION.MAX_SWITCH_SECONDS))
      return await waitForTarget(run, "the step was already sent and won't be sent again");
    if (next.kind === "wait")
      return await waitForTarget(run, `this update won't send anything, because ${next.why}`);
    if (next.kind === "refuse") {
      // If the zone moved on between the first read and the last, the results can't be combined.
      if (attempt < MAX_ATTEMPTS && !isSameState(await readState(ctx.api, zoneId), observation.state)) {
        observation = await observe(ctx.api, zoneId);
        continue;
      }
      throw new Error(`WafMigration of zone ${zoneId}: ${next.property} ${next.reason}`);
    }
    // Whoever moved the zone on sent this same step, so the same confirmation still matches.
    if (!isSameState(first.state, observation.state))
      return await waitForTarget(
        run,
        "someone else just advanced the zone's migration, so this update won't send anything",
      );

    const sent = await send(run, next, attempt);
    if (typeof sent !== "number") return await waitForTarget(sent, "the step was sent");
    if (attempt === MAX_ATTEMPTS) {
      throw new Error(
        `WafMigration of zone ${zoneId}: the zone keeps changing, so this update sent nothing. Run \`pulumi up\` again later.`,
      );
    }
    await ctx.pause(sent);
    observation = await observe(ctx.api, zoneId); // Start over: read and decide again before anything is sent.
  }
}

/**
 * Sends the step with a PUT, if the zone hasn't changed since it was assessed. Others can still write to the entry
 * point while the PUT is in transit; `checkAfterPut` names what they wrote. If nothing was sent, returns how many
 * milliseconds to wait before the next attempt.
 */
async function send(
  run: RunState,
  { mode, sending }: Extract<NextStep, { kind: "send" }>,
  attempt: number,
): Promise<RunState | number> {
  const { ctx, zoneId, request, observation } = run;
  const state = await readState(ctx.api, zoneId);
  const entryPoint = await readEntryPoint(ctx.api, zoneId);
  if (!isSameState(state, observation.state) || !sameJson(entryPoint, observation.open?.entryPoint)) return 0;
  let history: History;
  try {
    await putConfiguration(ctx.api, zoneId, mode, bodyOf(observation, sending));
    history = withEvent(run.history, request.target, "sent");
    report(
      run,
      `sent ${pluralize(sending.rules.length, "rule")} with waf_migration=${mode}; Cloudflare accepted the request.`,
    );
  } catch (error) {
    const wait = waitAfter(ctx, error, attempt);
    if (wait !== undefined) return wait;
    history = await afterFailure({ ...run, observation: { ...observation, state } }, error);
  }
  let concurrent: readonly ConcurrentChange[];
  try {
    concurrent = await checkAfterPut(ctx, { zoneId, before: entryPoint, sending });
  } catch (error) {
    const reason = `sent the step, but couldn't check whether it overwrote someone else's rule. ${messageOf(error)}`;
    throw partialFailure({ ...run, history }, state, reason);
  }
  for (const { text } of concurrent) ctx.say.warn(`WafMigration of zone ${zoneId}: ${text}`);
  return { ...run, history, concurrent };
}

/** How many times to read a zone that keeps changing. */
const MAX_ATTEMPTS = 5;

/**
 * Records the zone without sending anything, because the zone has reached its target, is past it, or is only assessed.
 */
function recordOnly(run: RunState, assessment: Pick<Assessment, "findings" | "digest">): Computed {
  const { request, observation, before } = run;
  const { state } = observation;
  const looked = before === undefined ? withEvent(run.history, "assessed", "assessed") : run.history;
  const history = withArrival(looked, state);
  if (history.length > looked.length) {
    const isAhead = before !== undefined && isFurther(request.target, state);
    report(
      run,
      isAhead ? arrivalText(history, state) : `already at ${stateLabel(state)}; this update sent nothing.`,
    );
  }
  return recordOf(observation, assessment, history, before);
}

/** Returns how the zone reached its state, according to the latest entry in its history. */
export function arrivalText(history: History, state: MigrationState): string {
  return history.at(-1)?.event === "reached"
    ? `reached ${stateLabel(state)}.`
    : `someone moved the zone's WAF migration to the state ${JSON.stringify(stateText(state))} outside this program; pulumi-edgeguard sent nothing.`;
}

/** Returns how many milliseconds to wait before a retry, if the error is temporary and nothing was changed. */
function waitAfter({ settings }: Context, error: unknown, attempt: number): number | undefined {
  if (!(error instanceof ApiError) || error.outcome !== "notDone") return undefined;
  const busy = error.status === 429 || error.status === undefined;
  const asked = error.retryAfterMs ?? 0;
  if (!busy || attempt > settings.maxRetries || attempt >= MAX_ATTEMPTS || asked > RETRY.maxRetryAfterMs)
    return undefined;
  return asked === 0 ? backoffMs(attempt + 1) : asked;
}

/**
 * Reads the zone after the PUT failed, because Cloudflare may have applied it anyway. If the zone has moved on, returns
 * the history including the step.
 *
 * @throws if the zone hasn't moved on, or if its state can't be read.
 */
async function afterFailure(run: RunState, error: unknown): Promise<History> {
  if (!(error instanceof Error)) throw error;
  const { ctx, zoneId, request, observation } = run;
  const unclear = mayHaveBeenApplied(error);
  const hasGoneOn = (state: MigrationState): boolean =>
    state.phase !== "retired" && !sameJson(state, observation.state);
  let state: MigrationState;
  try {
    state = await ctx.pollUntil(() => readState(ctx.api, zoneId), hasGoneOn, unclear ? 4 : 1);
  } catch (second) {
    if (!unclear) throw error;
    const reason = `${error.message} The zone's current state is unknown: ${messageOf(second)}`;
    throw partialFailure(run, observation.state, reason, "unclear");
  }
  if (hasGoneOn(state)) {
    report(run, `the zone moved on to ${stateLabel(state)} despite this error: ${error.message}`);
    return withEvent(run.history, request.target, unclear ? "sent" : "unclear");
  }
  if (!unclear) throw new Error(`${error.message} The zone is unchanged.`, { cause: error });
  const still = `The zone is still at ${stateLabel(observation.state)}. Run \`pulumi up\` again: it reads the zone first, and sends the step only if your confirmation still matches.`;
  throw partialFailure(run, observation.state, `${error.message} ${still}`, "unclear");
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** Waits until the zone reaches its target or the time is up. */
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
          `${why}; waiting up to ${waitSeconds} s for the zone to reach "${request.target}". The switch can take up to an hour.`,
        );
        announced = true;
      }
      await ctx.pause(Math.min(pause, left));
    }
  } catch (error) {
    throw partialFailure(run, state, `the zone's current state is unknown. ${messageOf(error)}`);
  }
  if (isReached(request.target, state)) {
    const arrived: Observation = { zoneId, state, ...(deploys === undefined ? {} : { deploys }) };
    const history = withArrival(run.history, state);
    report(
      run,
      `reached ${stateLabel(state)}. ${deploys === false ? NOTHING_ACTS : AFTERWARDS[request.target]}`,
    );
    const kept = recordOf(observation, assess(observation, request), history, run.before, run.concurrent);
    return recordOf(arrived, { findings: assess(arrived, request).findings }, history, kept);
  }
  throw partialFailure(
    run,
    state,
    state.phase === "retired"
      ? `Cloudflare retired the migration before the zone reached ${request.target}. Check the dashboard to see how far it got.`
      : `after ${waitSeconds} s the zone is at ${stateLabel(state)}, not ${request.target}. Any step that was already sent stays in effect. Run \`pulumi up\` again to keep waiting; waitFor.timeout sets how long.`,
  );
}

const AFTERWARDS = {
  assessed: "",
  validation:
    'Both versions of the managed rules are running now, the new one first. Check the security events, adjust the new rules, then set target: "finished".',
  finished: "This can't be undone. Adopt the new rules with ManagedRulesetOverride.",
};

const NOTHING_ACTS =
  "No enabled rule executes a managed ruleset, so the zone has no active managed rules. Deploy a ruleset with ManagedRulesetOverride.";

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
