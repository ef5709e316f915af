import { ApiError, CancelledError } from "../api/errors";
import { RETRY } from "../api/retry";

/** What creating an object needs from its context. */
interface Context {
  readonly settings: { readonly maxRetries: number };
  readonly say: { info(line: string): void; warn(line: string): void };
  readonly pause: (ms: number) => Promise<void>;
}

/** Creates an object exactly once, even if responses get lost and lists lag behind. */

/** Pauses, in milliseconds, before each read of a list that may lag behind a write. They add up to nine seconds. */
const POLL_PAUSES_MS = [0, 500, 1_000, 1_500, 2_500, 3_500];

/** Reads repeatedly, with these pauses, until the result is sufficient. Returns the last result either way. */
export async function pollUntil<T>(
  { pause }: Pick<Context, "pause">,
  read: () => Promise<T>,
  isEnough: (seen: T) => boolean,
  maxReads = POLL_PAUSES_MS.length,
): Promise<T> {
  for (let reads = 0; ; reads += 1) {
    await pause(POLL_PAUSES_MS[reads] ?? 0);
    const seen = await read();
    if (isEnough(seen) || reads + 1 >= maxReads) return seen;
  }
}

/** The maximum number of attempts when responses to a create get lost. */
const MAX_ATTEMPTS = 4;

/** A message announces waits longer than this. */
const ANNOUNCE_WAIT_MS = 5_000;

export interface Creation<T> {
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

/**
 * Creates an object exactly once, even if a response gets lost. After a POST with an unknown outcome, looks for the
 * object and repeats the POST only if the object doesn't exist. If the list shows two, warns about both and deletes
 * neither: the ID in the lost response is unknown, so one of them may be someone else's.
 */
export async function createOnce<T>(ctx: Context, creation: Creation<T>): Promise<T> {
  const attempts = Math.min(MAX_ATTEMPTS, ctx.settings.maxRetries + 1);
  let mayExist = false;
  for (let attempt = 1; ; attempt += 1) {
    let answer: { readonly made: T | undefined } | { readonly lost: ApiError };
    try {
      answer = { made: await creation.send() };
    } catch (error) {
      if (!(error instanceof ApiError) || (error.outcome !== "unknown" && !mayExist)) throw error;
      answer = { lost: error };
    }
    if ("made" in answer) {
      if (answer.made === undefined) return await findMade(ctx, creation);
      if (mayExist)
        ctx.say.warn(
          `${creation.what} was created by a second request, after the response to the first was lost. If Cloudflare applied both, ${creation.path} has two: delete the other one.`,
        );
      return answer.made;
    }
    const { lost } = answer;
    mayExist = true;
    const lostAt = performance.now();
    const object = await findAfterLoss(ctx, creation, lost);
    if (object !== undefined) {
      ctx.say.info(
        `the response to creating ${creation.what} was lost, but Cloudflare created it, and this update uses it.`,
      );
      return object;
    }
    // A refusal of this request says nothing about the one before.
    if (lost.outcome !== "unknown") throw new ApiError({ ...lost.init, outcome: "unknown" });
    const { retryAfterMs: asked = 0 } = lost;
    if (attempt >= attempts || asked > RETRY.maxRetryAfterMs) throw lost;
    await pauseFor(ctx, creation.what, lostAt + asked - performance.now(), lost);
  }
}

/** Returns the created object from the list. Undefined if the list doesn't show it in time. */
async function findListed<T>(ctx: Context, { what, path, id, list }: Creation<T>): Promise<T | undefined> {
  const shown = await pollUntil(ctx, list, (each) => each.length > 0);
  if (shown.length > 1)
    ctx.say.warn(
      `${what}: ${path} has ${shown.length} objects that match the program: ${shown.map(id).join(", ")}. The first will be managed. Delete the others if nobody else needs them.`,
    );
  return shown[0];
}

/** Finds the object if a successful response doesn't contain it. */
async function findMade<T>(ctx: Context, creation: Creation<T>): Promise<T> {
  const object = await findListed(ctx, creation);
  if (object !== undefined) return object;
  throw new Error(
    `${creation.what} was created, but Cloudflare doesn't list it yet. Run \`pulumi up\` again in a minute to adopt it.`,
  );
}

async function findAfterLoss<T>(ctx: Context, creation: Creation<T>, lost: ApiError): Promise<T | undefined> {
  try {
    return await findListed(ctx, creation);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const sentence = `The follow-up check failed: ${reason}`;
    const both = new ApiError({ ...lost.init, outcome: "unknown", advice: sentence });
    throw error instanceof CancelledError ? new CancelledError(both.message, "unknown") : both;
  }
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
