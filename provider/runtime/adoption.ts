import { ApiError, CancelledError } from "../api/errors";
import { RETRY } from "../api/retry";
import type { Adopt } from "./fields";
import type { Context } from "./lifecycle";

/** An object that exists may not be adopted as declared. */
export class AdoptionError extends Error {
  override readonly name = "AdoptionError";
}

/** What each mode does with an object that exists. */
const DECISIONS = {
  ifEqual: { equal: "adopt", different: "refuse" },
  never: { equal: "refuse", different: "refuse" },
  takeOver: { equal: "adopt", different: "adopt" },
} as const;

/** Whether an object that is, or isn't, as declared may be adopted. The default mode is `ifEqual`. */
export function mayAdopt(mode: Adopt | undefined, found: "equal" | "different"): boolean {
  return DECISIONS[mode ?? "ifEqual"][found] === "adopt";
}

interface AdoptionQuestion<T> {
  readonly adopt: Adopt | undefined;
  /** What exists under the declared name. */
  readonly alike: readonly T[];
  /** What exists and is as declared: what an interrupted run leaves behind. Asked only where it decides. */
  readonly equal: () => readonly T[] | Promise<readonly T[]>;
  /** The sentences of the refusals. */
  readonly refusals: {
    never(found: T): string;
    several(found: readonly T[], are: "equal" | "alike"): string;
    /** Set where a name is given once, so that a new object can't stand beside one that differs. */
    different?(found: T): string;
  };
}

/**
 * Which existing object a create adopts; undefined when it creates a new one.
 *
 * @throws AdoptionError where the one that exists may not be adopted, or several could be.
 */
export async function adopt<T>({
  adopt: mode,
  alike,
  equal,
  refusals,
}: AdoptionQuestion<T>): Promise<T | undefined> {
  const isUnique = refusals.different !== undefined;
  const decides = !isUnique || (alike.length === 1 && (mode ?? "ifEqual") === "ifEqual");
  const same = decides ? await equal() : [];
  const others = isUnique || mayAdopt(mode, "different") ? alike : [];
  const candidates = same.length > 0 ? same : others;
  const [first, ...more] = candidates;
  if (first === undefined) return undefined;
  const found = same.includes(first) ? "equal" : "different";
  if (more.length > 0)
    throw new AdoptionError(refusals.several(candidates, found === "equal" ? "equal" : "alike"));
  if (mode === "never") throw new AdoptionError(refusals.never(first));
  if (!mayAdopt(mode, found)) throw new AdoptionError(refusals.different?.(first) ?? "");
  return first;
}

/**
 * Whether a create may have an object: no other resource of this program holds it. One that is held unchanged is the
 * resource's own, in a replacement: no two may be declared alike.
 */
export function isFree(ctx: Pick<Context, "holding">, id: string): boolean {
  return [undefined, "unchanged"].includes(ctx.holding(id));
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

/** When something that may lag behind a write is read, in milliseconds from read to read: nine seconds in all. */
const LOOKS_MS = [0, 500, 1_000, 1_500, 2_500, 3_500];

/** Reads until what is read is enough, by the one schedule; returns the last reading, enough or not. */
export async function lookUntil<T>(
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
    shown = await lookUntil(ctx, creation.list, (each) => each.length >= enough);
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
    return await lookUntil(ctx, list, (shown) => shown.length >= possible);
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
