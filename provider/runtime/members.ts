import { z } from "zod";
import { omit, type Bag } from "./values";

/** Members of an answer that a plan may lack (seed 000, "Some fields may be absent depending on the account plan"). */
export const text = z.string().nullish();
export const texts = z.array(z.string()).nullish();
export const flag = z.boolean().nullish();
export const amount = z.number().nullish();

/** Members that have a value; optional where the value may be missing. */
export type Present<T> = {
  readonly [K in keyof T as [Extract<T[K], Missing>] extends [never] ? K : never]: T[K];
} & {
  readonly [K in keyof T as [Extract<T[K], Missing>] extends [never] ? never : K]?: NonNullable<T[K]>;
};
type Missing = null | undefined;

/** Leaves out what the service did not give: a member that is null or missing is absent. */
export function present<T extends object>(members: T): Present<T> {
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(given) as Present<T>; // Exactly the filter above, which the compiler cannot follow.
}

/** What the service gave and this version does not know by name, as it came; nothing where it knows everything. */
export function furtherMembers(raw: Bag, known: z.ZodRawShape): { readonly extra?: Bag } {
  const extra = omit(raw, Object.keys(known));
  return Object.keys(extra).length === 0 ? {} : { extra };
}
