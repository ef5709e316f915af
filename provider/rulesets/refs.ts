import { createHash } from "node:crypto";
import { MANAGED_RULES } from "../limits";

/** The refs of rules that this package creates. A ref identifies a rule in a zone. */

/** The prefix of default refs. */
export const REF_PREFIX = "edgeguard/";

/** Endings that only this package uses: for exceptions, and for deployments that it hasn't finished creating. */
export const RESERVED_REF = /\/(?:exception\/[1-9]\d*|unfinished)$/;

export const exceptionRef = (ref: string, number: number): string => `${ref}/exception/${number}`;

/** The ref of a new deployment whose exceptions don't exist yet. Until they do, it's disabled. */
export const unfinishedRef = (ref: string): string => `${ref}/unfinished`;

/** Returns the default ref. A long one, or one with a reserved ending, is replaced with a digest. */
export function defaultRef({ project, stack, name }: Record<"project" | "stack" | "name", string>): string {
  const full = `${REF_PREFIX}${project}/${stack}/${name}`;
  if (full.length <= MANAGED_RULES.MAX_DEFAULT_REF_CHARACTERS && !RESERVED_REF.test(full)) return full;
  return `${REF_PREFIX}${createHash("sha256").update(full).digest("hex").slice(0, 40)}`;
}

/** Whether both are default refs of one stack, or of the exceptions beside such rules. */
export function areOfOneStack(one: string, other: string): boolean {
  const [stack, itsStack] = [one, other].map((ref) => /^edgeguard\/[^/]+\/[^/]+\//.exec(ref)?.[0]);
  return stack !== undefined && stack === itsStack;
}
