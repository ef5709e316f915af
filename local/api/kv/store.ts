import { randomUUID } from "node:crypto";
import { type Change, fromRecord, type KvSnapshot, toRecord } from "./entities";
import { kvFailures } from "./failures";
import type { Journal } from "./journal";
import { type KvLag, Namespace } from "./namespace";
import { Shelf } from "../shelf";
import type { ValueStore } from "./value";

/** What a listing tells of a namespace. */
export interface Titled {
  readonly id: string;
  readonly title: string;
}

const EVERYTHING = "namespaces";

interface KvStoreOptions {
  readonly clock: () => Date;
  /** Of every namespace, until it is given its own. */
  readonly lag: KvLag;
  /** How long the listing of namespaces lags behind. */
  readonly listLagMs: number;
  readonly values: ValueStore;
  /** Where it is kept; undefined keeps it nowhere. */
  readonly journal: Journal | undefined;
}

/** The namespaces of the account. */
export class KvStore {
  #namespaces = new Map<string, Namespace>();
  /** Ids and titles, as the listing of namespaces shows them in time. */
  readonly #titles: Shelf<readonly Titled[]>;

  readonly #options: KvStoreOptions;

  /** What the journal holds, else `seed`. */
  constructor(seed: KvSnapshot, options: KvStoreOptions) {
    this.#options = options;
    const { journal, clock, listLagMs } = options;
    this.#titles = new Shelf({ clock, lagMs: listLagMs, onWrite: () => undefined });
    if (journal?.exists() === true) this.#load(journal);
    else this.#fill(seed);
    this.#titles.reset([[EVERYTHING, this.#titled()]]);
  }

  namespaces(): readonly Namespace[] {
    return [...this.#namespaces.values()];
  }

  /** What a listing of namespaces is shown. */
  listed(): readonly Titled[] {
    return this.#titles.visible(EVERYTHING);
  }

  namespace(id: string): Namespace | undefined {
    return this.#namespaces.get(id);
  }

  create(title: string): Namespace {
    const id = randomUUID().replaceAll("-", "");
    const created = this.#add(id, title);
    this.#titles.write(EVERYTHING, this.#titled());
    this.#keep((journal) => journal.rename(this.namespaces()));
    return created;
  }

  rename(namespace: Namespace, title: string): void {
    namespace.title = title;
    this.#titles.write(EVERYTHING, this.#titled());
    this.#keep((journal) => journal.rename(this.namespaces()));
  }

  /** Its keys go too. */
  remove({ id }: Namespace): void {
    this.#namespaces.delete(id);
    this.#titles.write(EVERYTHING, this.#titled());
    this.#keep((journal) => journal.rename(this.namespaces()));
  }

  write(namespace: Namespace, changes: readonly Change[]): void {
    namespace.write(changes);
    this.#keep((journal) => journal.append(namespace.id, changes));
  }

  /** What is not given stays. */
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
        entries: Array.from(namespace.entries(), ([key, entry]) => toRecord(key, entry)),
      })),
    };
  }

  /** Puts other namespaces in place of these; listings and reads see them at once. */
  restore(snapshot: KvSnapshot): void {
    this.#fill(snapshot);
    this.#titles.reset([[EVERYTHING, this.#titled()]]);
    this.#options.journal?.replace(this.namespaces());
  }

  #fill({ namespaces }: KvSnapshot): void {
    this.#namespaces = new Map();
    for (const { id, title, entries } of namespaces) {
      this.#add(
        id,
        title,
        entries.map((record) => fromRecord(record, this.#options.values)),
      );
    }
  }

  #titled(): readonly Titled[] {
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

  /** The first write keeps all that the seed put there as well. */
  #keep(change: (journal: Journal) => void): void {
    const { journal } = this.#options;
    if (journal === undefined) return;
    if (journal.exists()) change(journal);
    else journal.replace(this.namespaces());
  }
}
