import { writeFileSync } from "node:fs";
import type { LocalApi } from "edgeguard-local";
import { z } from "zod";
import { rawGet, rawSend } from "../support/operation";

/** Values by key. */
export type Values = ReadonlyMap<string, string>;

export function writeBulkFile(path: string, declared: Values): void {
  writeFileSync(path, JSON.stringify(Array.from(declared, ([key, value]) => ({ key, value }))));
}

/** The values in the namespace that the local API starts with. */
export function storedValues(api: LocalApi): Values {
  const { namespaces } = api.snapshot().kv ?? { namespaces: [] };
  const entries = namespaces.find(({ id }) => id === api.namespaces.existing)?.entries ?? [];
  return new Map(entries.map((entry) => [entry.key, "value" in entry ? entry.value : entry.sha256]));
}

const listing = z.object({ result: z.array(z.object({ name: z.string() })) });
const reading = z.object({ result: z.object({ values: z.record(z.string(), z.string()) }) });

/** The values in a namespace, read with plain requests. */
export async function readValues(api: LocalApi, path: string): Promise<Record<string, string>> {
  const keys = listing.parse(await rawGet(api, `${path}/keys`)).result.map(({ name }) => name);
  if (keys.length === 0) return {};
  return reading.parse(await rawSend(api, "POST", `${path}/bulk/get`, { keys })).result.values;
}

/** The method of each request to a namespace, and the path inside it. */
export function requestsIn(api: LocalApi, namespaceId: string): string[] {
  return api.requests.map(({ method, path }) => `${method} ${path.split(namespaceId)[1] ?? ""}`);
}

/** Compares two maps. Jest would take minutes to report 30,000 differences. */
export function difference(found: Values, declared: Values): string[] {
  const wrong = [...declared]
    .filter(([key, value]) => found.get(key) !== value)
    .map(([key]) => `not as declared: ${key}`);
  const strange = [...found.keys()].filter((key) => !declared.has(key)).map((key) => `not declared: ${key}`);
  return [...wrong, ...strange].slice(0, 10);
}

/** How many entries each bulk write had, in the order of arrival. */
export function bulkWrites(api: LocalApi): number[] {
  return api.requests.filter(({ method }) => method === "PUT").map(({ batch }) => batch?.entries ?? 0);
}

/** How many entries were in confirmed bulk writes. */
export function confirmed(api: LocalApi): number {
  return api.requests
    .filter(({ method, status, fault }) => method === "PUT" && status === 200 && fault !== "unsuccessful")
    .reduce((sum, { batch }) => sum + (batch?.entries ?? 0), 0);
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
