import { ApiError, CancelledError } from "../api/errors";
import { RETRY } from "../api/retry";
import type { Context } from "./lifecycle";

/** An object that exists may not be taken over as declared. */
export class AdoptionError extends Error {
  override readonly name = "AdoptionError";
}

/**
 * Said with an adoption. A rename without an alias adopts the object and then forgets it under the old name; killed in
 * between, it leaves two resources with one ID in the state, and a `destroy --target` of the old one, of which the provider
 * is told no more than its ID, looks like any other delete.
 *
 * @returns nothing for what the resource itself gives up, in a replacement.
 */
export function sharedId(ctx: Pick<Context, "holding">, id: string): string {
  if (ctx.holding(id) !== undefined) return "";
  return (
    ` If \`pulumi stack --show-ids --show-urns\` lists ${id} twice after this update, an interrupted rename left the older one: ` +
    "run `pulumi up` again, or `pulumi state delete '<its URN>'`. Destroying it alone would delete what both share."
  );
}

export interface AdoptionQuestion<T> {
  /** Unset means "ifEqual". */
  readonly adopt: "ifEqual" | "never" | "takeOver" | undefined;
  /** What is looked for, as in `a policy of zone 0d…`. */
  readonly object: string;
  /** What exists and already is as declared. */
  readonly equal: readonly T[];
  /** What exists and bears the same name. */
  readonly alike: readonly T[];
  /** That name, as in `the description "checkout"`. */
  readonly likeness: string;
}

/**
 * Which existing object a create takes over; undefined when it is to make a new one. An object that is as declared is
 * what a killed run leaves behind, so by default it is picked up again.
 *
 * @throws AdoptionError naming the ids.
 */
export function decideAdoption<T extends { readonly id: string }>(
  question: AdoptionQuestion<T>,
): T | undefined {
  const { adopt = "ifEqual", object, equal, alike, likeness } = question;
  const [first, ...more] = adopt === "takeOver" && equal.length === 0 ? alike : equal;
  if (first === undefined) return undefined;
  const ids = [first, ...more].map(({ id }) => id).join(", ");
  if (adopt === "never") {
    throw new AdoptionError(
      `There is ${object} equal to this one already (${ids}), and adopt: "never" forbids to take it over. Set adopt: "ifEqual", delete it in the dashboard, or declare something else. ` +
        "If the resource was only renamed or moved, add an alias.",
    );
  }
  if (more.length > 0) {
    const how = equal.length > 0 ? "equal to this one" : `with ${likeness}`;
    throw new AdoptionError(
      `There are ${more.length + 1} objects that could be taken over, each ${object} ${how}: ${ids}. Delete all but one, then run again.`,
    );
  }
  return first;
}

/** The most attempts at a creation whose answers get lost. */
const MAX_ATTEMPTS = 4;

/** Waits longer than this are announced. */
const ANNOUNCE_WAIT_MS = 5_000;

/** When an object is looked for, in milliseconds from look to look: a list may show a write seconds later. */
const LOOKS_MS = [0, 500, 1_000, 1_500, 2_500, 3_500];

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
    shown = await look(ctx, creation, made === undefined ? lost + 1 : 1);
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
  creation: Creation<T>,
  lost: ApiError,
  possible: number,
): Promise<readonly T[]> {
  try {
    return await look(ctx, creation, possible);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const sentence = `Whether it was could not be looked up: ${reason}`;
    const both = new ApiError({ ...lost.init, outcome: "unknown", advice: sentence });
    throw error instanceof CancelledError ? new CancelledError(both.message, "unknown") : both;
  }
}

/** What the list shows, as soon as that is `enough`, else at the last look. */
async function look<T>(ctx: Context, { list }: Creation<T>, enough: number): Promise<readonly T[]> {
  let shown: readonly T[] = [];
  for (const wait of LOOKS_MS) {
    await ctx.pause(wait);
    shown = await list();
    if (shown.length >= enough) break;
  }
  return shown;
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
