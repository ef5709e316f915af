import type { Adopt } from "./fields";
import type { Context } from "./lifecycle";

/** An object that exists may not be adopted as declared. */
export class AdoptionError extends Error {
  override readonly name = "AdoptionError";
}

/** What each mode does with the one object there is, by whether it is as declared. */
const DECISIONS = {
  ifEqual: { equal: "adopt", different: "refuse: different" },
  never: { equal: "refuse: never", different: "refuse: never" },
  takeOver: { equal: "adopt", different: "adopt" },
} as const;

const DEFAULT_MODE = "ifEqual";

/** Whether a mode adopts an object that is, or isn't, as declared. */
export function mayAdopt(mode: Adopt = DEFAULT_MODE, found: "equal" | "different"): boolean {
  return DECISIONS[mode][found] === "adopt";
}

interface AdoptionQuestion<T> {
  readonly adopt: Adopt | undefined;
  /** What exists under the declared name. */
  readonly alike: readonly T[];
  /** What exists and is as declared: what an interrupted run leaves behind. Asked only where it decides. */
  readonly equal: () => readonly T[] | Promise<readonly T[]>;
  /** The sentences of the refusals. */
  readonly refusals: {
    never(found: readonly T[]): string;
    several(found: readonly T[], are: "equal" | "alike"): string;
    /** Set where a name is unique, so that a new object can't stand beside one that differs. */
    different?(found: T): string;
  };
}

/**
 * Which existing object a create adopts; undefined when it creates a new one.
 *
 * @throws AdoptionError where the one that exists may not be adopted, or several could be.
 */
export async function adopt<T>({
  adopt: mode = DEFAULT_MODE,
  alike,
  equal,
  refusals,
}: AdoptionQuestion<T>): Promise<T | undefined> {
  // 1. What is in question. A unique name is; without one, only what is equal, or what may be taken over.
  const isUnique = refusals.different !== undefined;
  const needsEqual = !isUnique || (mode === "ifEqual" && alike.length === 1);
  const same = needsEqual ? await equal() : [];
  const candidates = same.length > 0 ? same : isUnique || mode === "takeOver" ? alike : [];
  const [first, ...more] = candidates;
  if (first === undefined) return undefined;
  // 2. Which of several is meant, no mode says. Where another may stand beside them, `never` does not ask.
  const found = same.includes(first) ? "equal" : "different";
  if (mode === "never" && !isUnique) throw new AdoptionError(refusals.never(candidates));
  if (more.length > 0)
    throw new AdoptionError(refusals.several(candidates, found === "equal" ? "equal" : "alike"));
  // 3. The table.
  const decision = DECISIONS[mode][found];
  if (decision === "refuse: never") throw new AdoptionError(refusals.never(candidates));
  if (decision === "refuse: different" && refusals.different !== undefined)
    throw new AdoptionError(refusals.different(first));
  return first;
}

/**
 * Whether a create may have an object: no other resource of this program holds it. One that is held unchanged is the
 * resource's own, in a replacement: no two may be declared alike.
 */
export function isUnclaimed(ctx: Pick<Context, "holding">, id: string): boolean {
  return [undefined, "unchanged"].includes(ctx.holding(id));
}

/** Ends every refusal: a resource that was renamed finds its own object in its way. */
export const RENAME_HINT =
  'If you renamed or moved this resource, add its old name to its options: aliases: [{ name: "old-name" }].';

/**
 * Said after an adoption. A rename without an alias adopts the object and then forgets it under the old name; killed in
 * between, it leaves two resources with one ID in the state, and a `destroy --target` of the old one, of which the provider
 * is told no more than its ID, looks like any other delete.
 */
export function sharedIdHint(id: string): string {
  return (
    `If \`pulumi stack --show-ids --show-urns\` lists ${id} twice after this update, an interrupted rename left the older one: ` +
    "run `pulumi up` again, or `pulumi state delete '<its URN>'`. Destroying it alone would delete what both share."
  );
}
