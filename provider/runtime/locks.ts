/** Lock keys for objects that two calls must not change at the same time, in one process or in two. */
export const LOCK = {
  /** The lock for a zone's Page Shield settings and policies. */
  pageShield: (zoneId: string) => `zone ${zoneId}`,
  /**
   * The lock for the managed rules of a zone or account, and for a zone's migration, whose steps replace the whole entry
   * point ruleset.
   */
  managedRules: (scope: string) => `managed rules of ${scope}`,
  /** The lock for the Logpush jobs and transformers of a zone or account. Each name is checked against the others. */
  logpush: (scope: string) => `logpush ${scope}`,
  namespace: (accountId: string, title: string) => `namespace ${accountId} ${title}`,
  entries: (accountId: string, namespaceId: string) => `entries ${accountId} ${namespaceId}`,
} as const;

/** Locks within this process. Each key has one holder at a time, in order of arrival. */
export class Locks {
  readonly #tails = new Map<string, Promise<void>>();

  async with<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const mine = before.then(work);
    const tail = mine.then(
      () => undefined,
      () => undefined,
    );
    this.#tails.set(key, tail);
    try {
      return await mine;
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}
