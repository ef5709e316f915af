import type { Bytes } from "./value";
import type { Change, Entry, NamespaceRecord } from "./entities";

/** How long a write stays invisible, in milliseconds. Writes always see each other. */
export interface KvLag {
  readonly listing: number;
  readonly reads: number;
}

export const noLag: KvLag = { listing: 0, reads: 0 };

/** A key's entry as of a point in time. */
interface Version {
  readonly entry: Entry | undefined;
  readonly since: number;
}

interface ListRequest {
  readonly prefix: Bytes;
  /** Lists only keys after this one. */
  readonly after: Bytes;
  readonly limit: number;
}

/** The keys of one namespace. */
export class Namespace {
  lag = noLag;
  readonly #entries = new Map<Bytes, Entry>();
  /** The versions of each key that was written during a lag, oldest first. The first version has no start time. */
  readonly #history = new Map<Bytes, readonly Version[]>();
  /** All keys, sorted for listings. Deleted keys are removed only once there are many. */
  #sorted: Bytes[] = [];
  /** Keys added since the last sort. */
  #added: Bytes[] = [];
  #gone = 0;

  constructor(
    readonly id: string,
    public title: string,
    readonly clock: () => Date,
    readonly jurisdiction?: NamespaceRecord["jurisdiction"],
  ) {}

  /** The number of stored keys, including expired ones. */
  get size(): number {
    return this.#entries.size;
  }

  write(changes: Iterable<Change>): void {
    const now = this.clock().getTime();
    for (const [key, entry] of changes) {
      const old = this.#entries.get(key);
      this.#remember(key, old, entry, now);
      if (entry !== undefined) {
        this.#entries.set(key, entry);
        if (old === undefined) this.#added.push(key);
      } else if (this.#entries.delete(key)) this.#gone += 1;
    }
  }

  /** Returns the entry that a read sees. */
  read(key: Bytes): Entry | undefined {
    return this.#visible(key, this.lag.reads, this.clock().getTime());
  }

  /** Returns one page of keys in byte order, and whether more keys follow. Reads only that page's keys. */
  list({ prefix, after, limit }: ListRequest): {
    readonly page: readonly (readonly [Bytes, Entry])[];
    readonly more: boolean;
  } {
    const now = this.clock().getTime();
    this.#forget(now);
    this.#sort();

    const page: (readonly [Bytes, Entry])[] = [];
    const start =
      after < prefix ? this.#firstIndex((key) => key >= prefix) : this.#firstIndex((key) => key > after);
    for (let index = start; index < this.#sorted.length; index++) {
      const key = this.#sorted[index];
      if (key?.startsWith(prefix) !== true) break;
      const entry = this.#visible(key, this.lag.listing, now);
      if (entry === undefined) continue;
      if (page.length === limit) return { page, more: true };
      page.push([key, entry]);
    }
    return { page, more: false };
  }

  /** Yields the current entries, regardless of the lag. */
  *entries(): Iterable<readonly [Bytes, Entry]> {
    const now = this.clock().getTime();
    for (const [key, entry] of this.#entries) if (!hasExpired(entry, now)) yield [key, entry];
  }

  #visible(key: Bytes, lagMs: number, now: number): Entry | undefined {
    const versions = this.#history.get(key);
    const entry =
      versions === undefined
        ? this.#entries.get(key)
        : versions.findLast(({ since }) => since <= now - lagMs)?.entry;
    return entry === undefined || hasExpired(entry, now) ? undefined : entry;
  }

  #remember(key: Bytes, old: Entry | undefined, entry: Entry | undefined, now: number): void {
    const longest = this.#longestLag();
    if (longest === 0) {
      this.#history.delete(key);
      return;
    }
    const versions = this.#history.get(key) ?? [{ entry: old, since: -Infinity }];
    const settled = versions.findLastIndex(({ since }) => since <= now - longest);
    this.#history.delete(key);
    this.#history.set(key, [
      { entry: versions[settled]?.entry, since: -Infinity },
      ...versions.slice(settled + 1),
      { entry, since: now },
    ]);
  }

  /** Drops the history of keys whose last write is already visible. */
  #forget(now: number): void {
    const longest = this.#longestLag();
    for (const [key, versions] of this.#history) {
      if ((versions.at(-1)?.since ?? 0) > now - longest) return;
      this.#history.delete(key);
    }
  }

  #longestLag(): number {
    return Math.max(this.lag.listing, this.lag.reads);
  }

  #sort(): void {
    if (this.#added.length === 0 && this.#gone * 2 <= this.#sorted.length) return;
    const merged: Bytes[] = [];
    const append = (key: Bytes) => {
      if (merged.at(-1) !== key && (this.#entries.has(key) || this.#history.has(key))) merged.push(key);
    };

    let next = 0;
    for (const added of this.#added.sort()) {
      for (let key = this.#sorted[next]; key !== undefined && key <= added; key = this.#sorted[++next])
        append(key);
      append(added);
    }
    for (; next < this.#sorted.length; next++) append(this.#sorted[next] as Bytes);
    this.#sorted = merged;
    this.#added = [];
    this.#gone = 0;
  }

  #firstIndex(reached: (key: Bytes) => boolean): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (reached(this.#sorted[middle] as Bytes)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function hasExpired({ expiration }: Entry, now: number): boolean {
  return expiration !== undefined && now >= expiration * 1000;
}
