import { ApiError, CancelledError } from "../api/errors";
import { RETRY } from "../api/retry";
import type { Context } from "./lifecycle";

/** Creating an object once, and seeing what a list that lags behind does not show yet. */

/** When something that may lag behind a write is read, in milliseconds from read to read: nine seconds in all. */
const LOOKS_MS = [0, 500, 1_000, 1_500, 2_500, 3_500];

/** Reads until what is read is enough, by the one schedule; returns the last reading, enough or not. */
export async function pollUntil<T>(
  ctx: Pick<Context, "pause">,
  read: () => Promise<T>,
  isEnough: (seen: T) => boolean,
  looks = LOOKS_MS.length,
): Promise<T> {
  for (let look = 0; ; look += 1) {
    await ctx.pause(LOOKS_MS[look] ?? 0);
    const seen = await read();
    if (isEnough(seen) || look + 1 >= looks) return seen;
  }
}

/** The most attempts at a creation whose answers get lost. */
const MAX_ATTEMPTS = 4;

/** Waits longer than this are announced. */
const ANNOUNCE_WAIT_MS = 5_000;

interface Creation<T> {
  /** The object, as in `policy "checkout"`. */
  readonly what: string;
  /** The collection that the object is in. */
  readonly path: string;
  /** Undefined where the answer does not hold the object. */
  readonly send: () => Promise<T | undefined>;
  /** What exists that one of these requests may have made: as declared, absent before the first, no other resource's. */
  readonly list: () => Promise<readonly T[]>;
  readonly id: (object: T) => string;
}

export interface Created<T> {
  readonly object: T;
  /** Set where several objects may be this one: names them, and says what to do. */
  readonly doubled: string | undefined;
}

/**
 * Creates an object once, although an answer may get lost. A POST whose outcome nobody knows is looked for by what makes
 * the object itself, and sent again only when it is not there. Where a list was later than that, both objects are named
 * and none is deleted: the id of the lost answer is not known, so one of them may be somebody else's.
 */
export async function createOnce<T>(ctx: Context, creation: Creation<T>): Promise<Created<T>> {
  const attempts = Math.min(MAX_ATTEMPTS, ctx.settings.maxRetries + 1);
  /** Requests that may have been carried out. */
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
      return await lookAfterAnswer(ctx, creation, made, possible);
    }
    const { lost } = answer;
    if (lost.outcome === "unknown") possible += 1;
    const lostAt = performance.now();
    const [object, ...twins] = await lookAfterLoss(ctx, creation, lost, possible);
    if (object !== undefined) {
      ctx.say.info(`the answer to creating ${creation.what} was lost; it had been made, and is used.`);
      return { object, doubled: doubledBy(creation, object, twins) };
    }
    // What refuses this request tells nothing of the one before.
    if (lost.outcome !== "unknown") throw new ApiError({ ...lost.init, outcome: "unknown" });
    const { retryAfterMs: asked = 0 } = lost;
    if (attempt >= attempts || asked > RETRY.maxRetryAfterMs) throw lost;
    await pauseFor(ctx, creation.what, lostAt + asked - performance.now(), lost);
  }
}

/** A list that shows the later object shows the earlier one as well, if there is one. */
async function lookAfterAnswer<T>(
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
        `${creation.what} was created by a second request, after the answer to the first was lost. Cloudflare does not list it yet: if the first was carried out too, there are two. Check ${creation.path} in a minute.`,
      );
    }
  } catch (error) {
    if (made === undefined || !(error instanceof ApiError || error instanceof CancelledError)) throw error;
    ctx.say.warn(`${creation.what} was created, but could not be looked up again: ${error.message}`);
  }
  const object = made ?? shown[0];
  if (object === undefined) {
    throw new Error(
      `${creation.what} was created, but Cloudflare does not list it yet. Run \`pulumi up\` again in a minute: it is then adopted.`,
    );
  }
  const twins = shown.filter((each) => creation.id(each) !== creation.id(object));
  return { object, doubled: doubledBy(creation, object, twins) };
}

async function lookAfterLoss<T>(
  ctx: Context,
  { list }: Creation<T>,
  lost: ApiError,
  possible: number,
): Promise<readonly T[]> {
  try {
    return await pollUntil(ctx, list, (shown) => shown.length >= possible);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const sentence = `Whether it was could not be looked up: ${reason}`;
    const both = new ApiError({ ...lost.init, outcome: "unknown", advice: sentence });
    throw error instanceof CancelledError ? new CancelledError(both.message, "unknown") : both;
  }
}

function doubledBy<T>({ what, path, id }: Creation<T>, object: T, twins: readonly T[]): string | undefined {
  const ids = twins.map(id);
  if (ids.length === 0) return undefined;
  const them = ids.length === 1 ? "it" : "them";
  return (
    `${what}: an answer was lost, and ${path} now has ${ids.length + 1} that are as declared: ${[id(object), ...ids].join(", ")}. ` +
    `${id(object)} is recorded. ${ids.join(", ")} was left alone, for somebody else may have created ${them}. ` +
    `If nobody did, delete ${them}: ${ids.map((each) => `DELETE ${path}/${each}`).join(", ")}. Then run \`pulumi up\` again.`
  );
}

/** What the service asked for before it is asked again. */
async function pauseFor(ctx: Context, what: string, ms: number, lost: ApiError): Promise<void> {
  if (ms <= 0) return;
  if (ms >= ANNOUNCE_WAIT_MS)
    ctx.say.info(`waiting ${Math.ceil(ms / 1000)} s before creating ${what} is tried again: ${lost.message}`);
  try {
    await ctx.pause(ms);
  } catch (error) {
    if (!(error instanceof CancelledError)) throw error;
    const both = new ApiError({ ...lost.init, advice: `It was not tried again: ${error.message}` });
    throw new CancelledError(both.message, "unknown");
  }
}
