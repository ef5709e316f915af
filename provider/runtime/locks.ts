/** Lock keys for what two verbs of a process must not change at the same time. */
export const LOCK = {
  /** A zone's settings and policies. */
  pageShield: (zoneId: string) => `zone ${zoneId}`,
  /** The lock for a zone's managed rules and its migration, whose steps replace the whole entry point ruleset. */
  managedRules: (zoneId: string) => `managed rules of zone ${zoneId}`,
  /** The jobs of a zone or account, because each job's name is checked against the others. */
  logpush: (scope: string) => `logpush ${scope}`,
  namespace: (accountId: string, title: string) => `namespace ${accountId} ${title}`,
  entries: (accountId: string, namespaceId: string) => `entries ${accountId} ${namespaceId}`,
} as const;

/** One holder per key at a time, in order of arrival, within this process. */
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
