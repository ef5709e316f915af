import { ApiError, CancelledError } from "../api/errors";
import { RETRY } from "../api/retry";
import type { Context } from "./lifecycle";

/** Creates an object exactly once, even if responses get lost and lists lag behind. */

/** Pauses, in milliseconds, before each read of a list that may lag behind a write. They add up to nine seconds. */
const POLL_PAUSES_MS = [0, 500, 1_000, 1_500, 2_500, 3_500];

/** Reads repeatedly, with these pauses, until the result is sufficient. Returns the last result either way. */
export async function pollUntil<T>(
  ctx: Pick<Context, "pause">,
  read: () => Promise<T>,
  isEnough: (seen: T) => boolean,
  maxReads = POLL_PAUSES_MS.length,
): Promise<T> {
  for (let reads = 0; ; reads += 1) {
    await ctx.pause(POLL_PAUSES_MS[reads] ?? 0);
    const seen = await read();
    if (isEnough(seen) || reads + 1 >= maxReads) return seen;
  }
}

/** The maximum number of attempts when responses to a create get lost. */
const MAX_ATTEMPTS = 4;

/** A message announces waits longer than this. */
const ANNOUNCE_WAIT_MS = 5_000;

interface Creation<T> {
  /** How messages refer to the object, such as `policy "checkout"`. */
  readonly what: string;
  /** The path of the collection that contains the object. */
  readonly path: string;
  /** Sends the create. Returns undefined if the response doesn't contain the object. */
  readonly send: () => Promise<T | undefined>;
  /**
   * Lists existing objects that the create's requests may have created. They match the program, appeared after the
   * first request, and don't belong to another resource.
   */
  readonly list: () => Promise<readonly T[]>;
  readonly id: (object: T) => string;
}

export interface Created<T> {
  readonly object: T;
  /**
   * The error message if other objects match the one created: their IDs and what to do. Undefined if there are none.
   */
  readonly doubled: string | undefined;
}

/**
 * Creates an object exactly once, even if a response gets lost. After a POST with an unknown outcome, looks for the
 * object and repeats the POST only if the object doesn't exist. If the list lagged so long that two objects now exist,
 * reports both and deletes neither: the ID in the lost response is unknown, so one of them may be someone else's.
 */
export async function createOnce<T>(ctx: Context, creation: Creation<T>): Promise<Created<T>> {
  const attempts = Math.min(MAX_ATTEMPTS, ctx.settings.maxRetries + 1);
  /** The number of requests that may have been applied. */
  let possible = 0;
  for (let attempt = 1; ; attempt += 1) {
    let answer: { readonly made: T | undefined } | { readonly lost: ApiError };
    try {
      answer = { made: await creation.send() };
    } catch (error) {
      if (!(error instanceof ApiError) || (error.outcome !== "unknown" && possible === 0)) throw error;
      answer = { lost: error };
    }
    if ("made" in answer) {
      const { made } = answer;
      if (made !== undefined && possible === 0) return { object: made, doubled: undefined };
      return await verifyAfterResponse(ctx, creation, made, possible);
    }
    const { lost } = answer;
    if (lost.outcome === "unknown") possible += 1;
    const lostAt = performance.now();
    const [object, ...twins] = await findAfterLoss(ctx, creation, lost, possible);
    if (object !== undefined) {
      ctx.say.info(
        `the response to creating ${creation.what} was lost, but Cloudflare created it, and this update uses it.`,
      );
      return { object, doubled: doubledBy(creation, object, twins) };
    }
    // A refusal of this request says nothing about the one before.
    if (lost.outcome !== "unknown") throw new ApiError({ ...lost.init, outcome: "unknown" });
    const { retryAfterMs: asked = 0 } = lost;
    if (attempt >= attempts || asked > RETRY.maxRetryAfterMs) throw lost;
    await pauseFor(ctx, creation.what, lostAt + asked - performance.now(), lost);
  }
}

/**
 * Looks for duplicates after a successful response. A list that shows the later object also shows the earlier one, if
 * it exists.
 */
async function verifyAfterResponse<T>(
  ctx: Context,
  creation: Creation<T>,
  made: T | undefined,
  lost: number,
): Promise<Created<T>> {
  let shown: readonly T[] = [];
  try {
    const enough = made === undefined ? lost + 1 : 1;
    shown = await pollUntil(ctx, creation.list, (each) => each.length >= enough);
    if (made !== undefined && shown.length === 0) {
      ctx.say.warn(
        `${creation.what} was created by a second request, after the response to the first was lost. Cloudflare doesn't list it yet. If Cloudflare also applied the first request, there are now two objects. Check ${creation.path} in a minute.`,
      );
    }
  } catch (error) {
    if (made === undefined || !(error instanceof ApiError || error instanceof CancelledError)) throw error;
    ctx.say.warn(`${creation.what} was created, but reading it again failed: ${error.message}`);
  }
  const object = made ?? shown[0];
  if (object === undefined) {
    throw new Error(
      `${creation.what} was created, but Cloudflare doesn't list it yet. Run \`pulumi up\` again in a minute to adopt it.`,
    );
  }
  const twins = shown.filter((each) => creation.id(each) !== creation.id(object));
  return { object, doubled: doubledBy(creation, object, twins) };
}

async function findAfterLoss<T>(
  ctx: Context,
  { list }: Creation<T>,
  lost: ApiError,
  possible: number,
): Promise<readonly T[]> {
  try {
    return await pollUntil(ctx, list, (shown) => shown.length >= possible);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const sentence = `The follow-up check failed: ${reason}`;
    const both = new ApiError({ ...lost.init, outcome: "unknown", advice: sentence });
    throw error instanceof CancelledError ? new CancelledError(both.message, "unknown") : both;
  }
}

function doubledBy<T>({ what, path, id }: Creation<T>, object: T, twins: readonly T[]): string | undefined {
  const ids = twins.map(id);
  if (ids.length === 0) return undefined;
  const them = ids.length === 1 ? "it" : "them";
  return (
    `${what}: a response was lost, and ${path} now has ${ids.length + 1} objects that match the program: ${[id(object), ...ids].join(", ")}. ` +
    `${id(object)} is recorded. ${ids.join(", ")} ${ids.length === 1 ? "was" : "were"} left alone, because someone else may have created ${them}. ` +
    `If not, delete ${them}: ${ids.map((each) => `DELETE ${path}/${each}`).join(", ")}. Then run \`pulumi up\` again.`
  );
}

/** Waits before the next attempt for as long as Cloudflare asked. */
async function pauseFor(ctx: Context, what: string, ms: number, lost: ApiError): Promise<void> {
  if (ms <= 0) return;
  if (ms >= ANNOUNCE_WAIT_MS)
    ctx.say.info(`waiting ${Math.ceil(ms / 1000)} s before trying to create ${what} again: ${lost.message}`);
  try {
    await ctx.pause(ms);
  } catch (error) {
    if (!(error instanceof CancelledError)) throw error;
    const both = new ApiError({ ...lost.init, advice: `It was not tried again: ${error.message}` });
    throw new CancelledError(both.message, "unknown");
  }
}
