import type { LocalApi } from "edgeguard-local";

/** What the namespaces of an account hold, read from the local API's state, without the provider's code. */

/** By namespace ID: its title, and its values by key. */
export type Keys = ReadonlyMap<
  string,
  { readonly title: string; readonly values: ReadonlyMap<string, string> }
>;

export function keysIn(api: LocalApi): Keys {
  const { namespaces } = api.snapshot().kv ?? { namespaces: [] };
  return new Map(
    namespaces.map(({ id, title, entries }) => [
      id,
      { title, values: new Map(entries.map((entry) => [entry.key, JSON.stringify(entry)])) },
    ]),
  );
}

/** A `KvEntries` of the program, in a namespace. */
export interface Writer {
  readonly name: string;
  readonly namespace: string;
  readonly keys: ReadonlySet<string>;
  /** Undefined if it prunes nothing. */
  readonly prunes: string | undefined;
}

export interface KeyLoss {
  readonly by: readonly { readonly kind: string; readonly name: string }[];
  readonly what: string;
}

/** A resource's own deleted keys are a loss from this number and share on, as the report documents. */
const MANY = { keys: 10, share: 0.5 };

interface Sides {
  readonly before: Keys;
  readonly after: Keys;
  /** The program's entries before the update. */
  readonly were: readonly Writer[];
  /** The program's entries after the update. */
  readonly are: readonly Writer[];
  /** The names of the program's namespaces by ID. */
  readonly namespaces: ReadonlyMap<string, string>;
}

/** Keys that others wrote and that are deleted or overwritten, and the program's own keys if many are deleted. */
export function keyLosses({ before, after, were, are, namespaces }: Sides): KeyLoss[] {
  const lost: KeyLoss[] = [];
  const removed = new Map<Writer, number>();
  const entries = (writers: readonly Writer[]): KeyLoss["by"] =>
    writers.map(({ name }) => ({ kind: "KvEntries", name }));
  for (const [namespace, { title, values }] of before) {
    const left = after.get(namespace)?.values;
    const inIt = ({ namespace: its }: Writer): boolean => its === namespace;
    for (const [key, value] of values) {
      if (left?.get(key) === value) continue;
      const owners = were.filter((each) => inIt(each) && each.keys.has(key));
      if (left?.has(key) === true) {
        const by = are.filter((each) => inIt(each) && each.keys.has(key));
        if (owners.length === 0)
          lost.push({ by: entries(by), what: `${title}: key ${key} that others wrote is overwritten` });
        continue;
      }
      for (const owner of owners) removed.set(owner, (removed.get(owner) ?? 0) + 1);
      if (owners.length > 0) continue;
      const pruning = are.filter(
        (each) => inIt(each) && each.prunes !== undefined && key.startsWith(each.prunes),
      );
      const gone = left === undefined ? [{ kind: "KvNamespace", name: namespaces.get(namespace) ?? "" }] : [];
      lost.push({
        by: [...gone, ...entries(pruning)],
        what: `${title}: key ${key} that others wrote is deleted`,
      });
    }
  }
  for (const [owner, count] of removed) {
    const held = [...(before.get(owner.namespace)?.values.keys() ?? [])].filter((key) => owner.keys.has(key));
    if (count < MANY.keys || count < MANY.share * held.length) continue;
    // Whoever deletes the namespace deletes its keys, too.
    const name = after.has(owner.namespace) ? undefined : namespaces.get(owner.namespace);
    const gone = name === undefined ? [] : [{ kind: "KvNamespace", name }];
    lost.push({
      by: [...entries([owner]), ...gone],
      what: `${count} of ${held.length} own keys are deleted`,
    });
  }
  return lost;
}
