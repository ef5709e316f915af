import type { Adopt } from "./fields";

/** Thrown if an existing object may not be adopted with this `adopt` mode. */
export class AdoptionError extends Error {
  override readonly name = "AdoptionError";
}

/** What each `adopt` mode does with an existing object that matches the program, and with an object that differs. */
const DECISIONS = {
  ifEqual: { equal: "adopt", different: "refuse: different" },
  never: { equal: "refuse: never", different: "refuse: never" },
  takeOver: { equal: "adopt", different: "adopt" },
} as const;

const DEFAULT_MODE = "ifEqual";

/** Whether an `adopt` mode adopts a matching or a differing object. */
export function mayAdopt(mode: Adopt = DEFAULT_MODE, found: "equal" | "different"): boolean {
  return DECISIONS[mode][found] === "adopt";
}

interface AdoptionQuestion<T> {
  readonly adopt: Adopt | undefined;
  /** Existing objects with the declared name. */
  readonly alike: readonly T[];
  /**
   * Returns existing objects that match the program completely, such as those left behind by an interrupted run. Called
   * only if needed.
   */
  readonly equal: () => readonly T[] | Promise<readonly T[]>;
  /** Error messages for objects that can't be adopted. */
  readonly refusals: {
    never(found: readonly T[]): string;
    several(found: readonly T[], are: "equal" | "alike"): string;
    /**
     * The message if the existing object differs. Set only if names are unique, because a second object can't be
     * created then.
     */
    different?(found: T): string;
  };
}

/**
 * Chooses the existing object for a create to adopt. Undefined if the create should make a new one.
 *
 * @throws AdoptionError if the object may not be adopted, or several could be.
 */
export async function adopt<T>({
  adopt: mode = DEFAULT_MODE,
  alike,
  equal,
  refusals,
}: AdoptionQuestion<T>): Promise<T | undefined> {
  // 1. The candidates: objects with a unique name; otherwise only those that match, or may be taken over.
  const isUnique = refusals.different !== undefined;
  const needsEqual = !isUnique || (mode === "ifEqual" && alike.length === 1);
  const same = needsEqual ? await equal() : [];
  const candidates = same.length > 0 ? same : isUnique || mode === "takeOver" ? alike : [];
  const [first, ...more] = candidates;
  if (first === undefined) return undefined;
  // 2. No mode can choose between several. With non-unique names, `never` refuses any.
  const found = same.includes(first) ? "equal" : "different";
  if (mode === "never" && !isUnique) throw new AdoptionError(refusals.never(candidates));
  if (more.length > 0)
    throw new AdoptionError(refusals.several(candidates, found === "equal" ? "equal" : "alike"));
  // 3. One candidate: the mode decides.
  const decision = DECISIONS[mode][found];
  if (decision === "refuse: never") throw new AdoptionError(refusals.never(candidates));
  if (decision === "refuse: different" && refusals.different !== undefined)
    throw new AdoptionError(refusals.different(first));
  return first;
}

/** Ends every error about adoption, because the existing object may belong to a resource that was renamed. */
export const RENAME_HINT =
  "If you renamed or moved this resource, add its old URN to its options, under `aliases`; `pulumi stack --show-urns` lists it.";
