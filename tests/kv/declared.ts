import { writeFileSync } from "node:fs";
import type { LocalApi } from "edgeguard-local";

/** What a bulk file declares, by key. */
export type Declared = ReadonlyMap<string, string>;

export function writeBulkFile(path: string, declared: Declared): void {
  writeFileSync(path, JSON.stringify(Array.from(declared, ([key, value]) => ({ key, value }))));
}

/** What the namespace holds that the API starts with, by its own account. */
export function held(api: LocalApi): Declared {
  const { namespaces } = api.snapshot().kv ?? { namespaces: [] };
  const entries = namespaces.find(({ id }) => id === api.namespaces.existing)?.entries ?? [];
  return new Map(entries.map((entry) => [entry.key, "value" in entry ? entry.value : entry.sha256]));
}

/** In place of an equality of two maps, whose report of 30,000 differences takes minutes. */
export function difference(found: Declared, declared: Declared): string[] {
  const wrong = [...declared]
    .filter(([key, value]) => found.get(key) !== value)
    .map(([key]) => `not as declared: ${key}`);
  const strange = [...found.keys()].filter((key) => !declared.has(key)).map((key) => `not declared: ${key}`);
  return [...wrong, ...strange].slice(0, 10);
}

/** How many entries each bulk write carried, in the order of arrival. */
export function bulkWrites(api: LocalApi): number[] {
  return api.requests.filter(({ method }) => method === "PUT").map(({ batch }) => batch?.entries ?? 0);
}

/** Entries in bulk writes that the service confirmed. */
export function confirmed(api: LocalApi): number {
  return api.requests
    .filter(({ method, status, fault }) => method === "PUT" && status === 200 && fault !== "unsuccessful")
    .reduce((sum, { batch }) => sum + (batch?.entries ?? 0), 0);
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
