import { randomUUID } from "node:crypto";
import { type Change, changeOf, type KvSnapshot, type NamespaceRecord, recordOf } from "./entities";
import { kvFailures } from "./failures";
import { type KvLag, Namespace } from "./namespace";
import { Shelf } from "../shelf";
import type { ValueStore } from "./value";

const NAMESPACES_KEY = "namespaces";

interface KvStoreOptions {
  readonly clock: () => Date;
  /** The lag of namespaces that don't have their own. */
  readonly lag: KvLag;
  /** How long the list of namespaces lags behind writes, in milliseconds. */
  readonly listLagMs: number;
  readonly values: ValueStore;
}

/** The account's namespaces. */
export class KvStore {
  #namespaces = new Map<string, Namespace>();
  /** The titles of namespaces by ID. Lists show them with a lag. */
  readonly #titles: Shelf<readonly NamespaceRecord[]>;

  constructor(
    seed: KvSnapshot,
    readonly options: KvStoreOptions,
  ) {
    this.#titles = new Shelf({ clock: options.clock, lagMs: options.listLagMs });
    this.restore(seed);
  }

  namespaces(): readonly Namespace[] {
    return [...this.#namespaces.values()];
  }

  /** Returns the namespaces that a list shows. */
  listed(): readonly NamespaceRecord[] {
    return this.#titles.visible(NAMESPACES_KEY);
  }

  namespace(id: string): Namespace | undefined {
    return this.#namespaces.get(id);
  }

  create(members: Omit<NamespaceRecord, "id">): Namespace {
    const created = this.#add({ id: randomUUID().replaceAll("-", ""), ...members });
    this.#titles.write(NAMESPACES_KEY, this.#titled());
    return created;
  }

  rename(namespace: Namespace, title: string): void {
    namespace.title = title;
    this.#titles.write(NAMESPACES_KEY, this.#titled());
  }

  /** Deletes a namespace and its keys. */
  remove({ id }: Namespace): void {
    this.#namespaces.delete(id);
    this.#titles.write(NAMESPACES_KEY, this.#titled());
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
        ...recordOfNamespace(namespace),
        entries: Array.from(namespace.entries(), ([key, entry]) => recordOf(key, entry)),
      })),
    };
  }

  /** Replaces all namespaces. Lists and reads see them immediately. */
  restore({ namespaces }: KvSnapshot): void {
    this.#namespaces = new Map();
    for (const { entries, ...record } of namespaces) {
      this.#add(
        record,
        entries.map((record) => changeOf(record, this.options.values)),
      );
    }
    this.#titles.reset([[NAMESPACES_KEY, this.#titled()]]);
  }

  #titled(): readonly NamespaceRecord[] {
    return this.namespaces().map(recordOfNamespace);
  }

  #add({ id, title, jurisdiction }: NamespaceRecord, changes: Iterable<Change> = []): Namespace {
    const namespace = new Namespace(id, title, this.options.clock, jurisdiction);
    namespace.write(changes);
    namespace.lag = this.options.lag;
    this.#namespaces.set(id, namespace);
    return namespace;
  }
}

function recordOfNamespace({ id, title, jurisdiction }: Namespace): NamespaceRecord {
  return { id, title, ...(jurisdiction === undefined ? {} : { jurisdiction }) };
}
