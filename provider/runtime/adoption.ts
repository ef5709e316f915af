import { ApiError } from "../api/errors";
import type { Context } from "./lifecycle";

/** An object that exists may not be taken over as declared. */
export class AdoptionError extends Error {
  override readonly name = "AdoptionError";
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

/** Attempts at a creation whose answers get lost. */
const ATTEMPTS = 4;

/** When an object is looked for after a lost answer, in milliseconds from look to look: a list may lag behind a write. */
const LOOKS_MS = [0, 500, 1_500];

/**
 * Creates an object once, although an answer may get lost. A POST whose outcome nobody knows is looked for by what makes
 * the object itself, and sent again only when it is not there.
 */
export async function createOnce<T>(
  ctx: Context,
  request: {
    readonly what: string;
    readonly send: () => Promise<T>;
    readonly find: () => Promise<T | undefined>;
  },
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await request.send();
    } catch (error) {
      if (!(error instanceof ApiError) || error.outcome !== "unknown") throw error;
      for (const wait of LOOKS_MS) {
        await ctx.pause(wait);
        const found = await request.find();
        if (found === undefined) continue;
        ctx.say.info(`the answer to creating ${request.what} was lost; it had been made, and is used.`);
        return found;
      }
      if (attempt >= ATTEMPTS) throw error;
    }
  }
}
