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

/** When an object is looked for after a lost answer, in milliseconds from look to look: a list may lag behind a write. */
const LOOKS_MS = [0, 500, 1_500];

interface Creation<T> {
  /** The object, as in `policy "checkout"`. */
  readonly what: string;
  readonly send: () => Promise<T>;
  readonly find: () => Promise<T | undefined>;
}

/**
 * Creates an object once, although an answer may get lost. A POST whose outcome nobody knows is looked for by what makes
 * the object itself, and sent again only when it is not there.
 */
export async function createOnce<T>(ctx: Context, request: Creation<T>): Promise<T> {
  const attempts = Math.min(MAX_ATTEMPTS, ctx.settings.maxRetries + 1);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await request.send();
    } catch (error) {
      if (!(error instanceof ApiError) || error.outcome !== "unknown") throw error;
      const lostAt = performance.now();
      const found = await lookFor(ctx, request, error);
      if (found !== undefined) {
        ctx.say.info(`the answer to creating ${request.what} was lost; it had been made, and is used.`);
        return found;
      }
      const { retryAfterMs: asked = 0 } = error;
      if (attempt >= attempts || asked > RETRY.maxRetryAfterMs) throw error;
      await pauseFor(ctx, request.what, lostAt + asked - performance.now(), error);
    }
  }
}

async function lookFor<T>(ctx: Context, request: Creation<T>, lost: ApiError): Promise<T | undefined> {
  try {
    for (const wait of LOOKS_MS) {
      await ctx.pause(wait);
      const found = await request.find();
      if (found !== undefined) return found;
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const sentence = `Whether it was could not be looked up: ${reason}`;
    const both = new ApiError({ ...lost.init, advice: sentence });
    throw error instanceof CancelledError ? new CancelledError(both.message, "unknown") : both;
  }
  return undefined;
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
