/** Some members of a value; what is undefined is as if it were not there. */
export type Changes<T> = { readonly [Member in keyof T]?: T[Member] | undefined };

export function applied<T extends object>(old: T, changes: Changes<T>): T {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...old, ...(Object.fromEntries(given) as Partial<T>) };
}
