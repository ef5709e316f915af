import { randomUUID } from "node:crypto";
import { type Change, changeOf, type KvSnapshot, recordOf } from "./entities";
import { kvFailures } from "./failures";
import type { Journal } from "./journal";
import { type KvLag, Namespace } from "./namespace";
import { Shelf } from "../shelf";
import type { ValueStore } from "./value";

export interface ListedNamespace {
  readonly id: string;
  readonly title: string;
}

const NAMESPACES_KEY = "namespaces";

interface KvStoreOptions {
  readonly clock: () => Date;
  /** The lag of namespaces that don't have their own. */
  readonly lag: KvLag;
  /** How long the list of namespaces lags behind writes, in milliseconds. */
  readonly listLagMs: number;
  readonly values: ValueStore;
  /** Where KV is stored. Undefined if it's only in memory. */
  readonly journal: Journal | undefined;
}

/** The account's namespaces. */
export class KvStore {
  #namespaces = new Map<string, Namespace>();
  /** The titles of namespaces by ID. Lists show them with a lag. */
  readonly #titles: Shelf<readonly ListedNamespace[]>;

  readonly #options: KvStoreOptions;

  /** Starts with the journal's content if there is any, otherwise with `seed`. */
  constructor(seed: KvSnapshot, options: KvStoreOptions) {
    this.#options = options;
    const { journal, clock, listLagMs } = options;
    this.#titles = new Shelf({ clock, lagMs: listLagMs, onWrite: () => undefined });
    if (journal?.exists() === true) this.#load(journal);
    else this.#fill(seed);
    this.#titles.reset([[NAMESPACES_KEY, this.#titled()]]);
  }

  namespaces(): readonly Namespace[] {
    return [...this.#namespaces.values()];
  }

  /** Returns the namespaces that a list shows. */
  listed(): readonly ListedNamespace[] {
    return this.#titles.visible(NAMESPACES_KEY);
  }

  namespace(id: string): Namespace | undefined {
    return this.#namespaces.get(id);
  }

  create(title: string): Namespace {
    const id = randomUUID().replaceAll("-", "");
    const created = this.#add(id, title);
    this.#titles.write(NAMESPACES_KEY, this.#titled());
    this.#keep((journal) => journal.rename(this.namespaces()));
    return created;
  }

  rename(namespace: Namespace, title: string): void {
    namespace.title = title;
    this.#titles.write(NAMESPACES_KEY, this.#titled());
    this.#keep((journal) => journal.rename(this.namespaces()));
  }

  /** Deletes a namespace and its keys. */
  remove({ id }: Namespace): void {
    this.#namespaces.delete(id);
    this.#titles.write(NAMESPACES_KEY, this.#titled());
    this.#keep((journal) => journal.rename(this.namespaces()));
  }

  write(namespace: Namespace, changes: readonly Change[]): void {
    namespace.write(changes);
    this.#keep((journal) => journal.append(namespace.id, changes));
  }

  /** Sets a namespace's lag. Omitted properties stay as they are. */
  setLag(id: string, lag: Partial<KvLag>): KvLag {
    const namespace = this.namespace(id);
    if (namespace === undefined) throw kvFailures.namespaceNotFound("set lag");
    namespace.lag = { ...namespace.lag, ...lag };
    return namespace.lag;
  }

  snapshot(): KvSnapshot {
    return {
      namespaces: this.namespaces().map((namespace) => ({
        id: namespace.id,
        title: namespace.title,
        entries: Array.from(namespace.entries(), ([key, entry]) => recordOf(key, entry)),
      })),
    };
  }

  /** Replaces all namespaces. Lists and reads see them immediately. */
  restore(snapshot: KvSnapshot): void {
    this.#fill(snapshot);
    this.#titles.reset([[NAMESPACES_KEY, this.#titled()]]);
    this.#options.journal?.replace(this.namespaces());
  }

  #fill({ namespaces }: KvSnapshot): void {
    this.#namespaces = new Map();
    for (const { id, title, entries } of namespaces) {
      this.#add(
        id,
        title,
        entries.map((record) => changeOf(record, this.#options.values)),
      );
    }
  }

  #titled(): readonly ListedNamespace[] {
    return this.namespaces().map(({ id, title }) => ({ id, title }));
  }

  #load(journal: Journal): void {
    for (const { id, title } of journal.namespaces()) {
      let lines = 0;
      const counted = function* (changes: Iterable<Change>) {
        for (const change of changes) {
          lines += 1;
          yield change;
        }
      };
      const namespace = this.#add(id, title, counted(journal.changes(id)));
      if (lines > namespace.size * 2) journal.replaceEntries(namespace);
    }
  }

  #add(id: string, title: string, changes: Iterable<Change> = []): Namespace {
    const namespace = new Namespace(id, title, this.#options.clock);
    namespace.write(changes);
    namespace.lag = this.#options.lag;
    this.#namespaces.set(id, namespace);
    return namespace;
  }

  /** Stores a write in the journal. The first write also stores the seeded namespaces. */
  #keep(change: (journal: Journal) => void): void {
    const { journal } = this.#options;
    if (journal === undefined) return;
    if (journal.exists()) change(journal);
    else journal.replace(this.namespaces());
  }
}
