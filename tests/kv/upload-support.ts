import type { LocalApi } from "edgeguard-local";
import type { EntriesContext } from "../../provider/kv/address";
import { entryBytes } from "../../provider/kv/batches";
import type { Row } from "../../provider/kv/catalog";
import { recordOf, type Entry } from "../../provider/kv/entry";
import { upload, type UploadRequest } from "../../provider/kv/bulk";
import { Host } from "../../provider/runtime/host";

export interface TestContext {
  readonly ctx: EntriesContext;
  /** Everything that was printed. */
  readonly said: string[];
  /** Requested waits; none takes any time. */
  readonly pauses: number[];
}

interface Options {
  readonly config?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly closing?: AbortSignal;
}

/** The context that the runtime passes to a verb, without waits. Each test has its own address, and so its own rate budget. */
export function contextFor(
  api: { readonly url: string },
  { config = {}, env = {}, ...signals }: Options = {},
): TestContext {
  const settings: Readonly<Record<string, string>> = {
    baseUrl: api.url,
    apiToken: "local-token",
    ...config,
  };
  const said: string[] = [];
  const pauses: number[] = [];
  const host = new Host({
    config: (key) => settings[key.replace("edgeguard:", "")],
    env,
    out: { info: (line) => said.push(line), warn: (line) => said.push(line) },
    ...signals,
  });
  const pause = (ms: number): Promise<void> => {
    pauses.push(ms);
    return Promise.resolve();
  };
  return {
    ctx: { ...host.context("KvEntries"), pause },
    said,
    pauses,
  };
}

/** The namespace that the local API starts with, emptied. */
export function emptyNamespace(api: LocalApi): { readonly accountId: string; readonly namespaceId: string } {
  const snapshot = api.snapshot();
  const namespaces = (snapshot.kv?.namespaces ?? []).map((namespace) => ({ ...namespace, entries: [] }));
  api.restore({ ...snapshot, kv: { namespaces } });
  return { accountId: api.accounts.main, namespaceId: api.namespaces.existing };
}

export function textEntry(key: string, value: string): Entry {
  return { key, value, base64: false };
}

/** The arguments of an upload for these entries. @param onFill called with the keys of each body. */
export function uploadOf(
  given: Iterable<Entry>,
  onFill: (keys: readonly string[]) => void = () => undefined,
): Pick<UploadRequest, "entries" | "rows"> {
  const entries = new Map([...given].map((entry) => [rowOf(entry), entry]));
  return {
    rows: [...entries.keys()],
    entries: {
      fill: (body, rows) => {
        onFill(rows.map(({ key }) => key));
        for (const row of rows) body.add(entries.get(row) ?? textEntry("", ""));
        return Promise.resolve();
      },
    },
  };
}

function rowOf(entry: Entry): Row {
  const place = { position: undefined, line: undefined, start: undefined, end: undefined };
  const sending = { isAsIs: false, sentBytes: entryBytes(entry), isBinary: false };
  return { key: entry.key, ...recordOf(entry), ...place, ...sending };
}

/** Writes entries before a test. */
export async function fill(
  api: { readonly url: string },
  place: { readonly accountId: string; readonly namespaceId: string },
  entries: Iterable<Entry>,
): Promise<void> {
  const { ctx } = contextFor(api);
  const outcome = await upload({ ctx, ...place, ...uploadOf(entries), onDone: () => undefined });
  expect(outcome).toMatchObject({ failed: [] });
  expect(outcome.error).toBeUndefined();
}

/** Entries of about 130 bytes each. */
export function* manyEntries(count: number): Generator<Entry, void, undefined> {
  for (let i = 0; i < count; i += 1) yield textEntry(keyAt(i), `value ${i} `.padEnd(100, "."));
}

export function keyAt(i: number): string {
  return `catalog/item-${String(i).padStart(8, "0")}`;
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** All entries in the local API. */
export function stored(api: LocalApi) {
  return (api.snapshot().kv?.namespaces ?? []).flatMap(({ entries }) => entries);
}

export function storedKeys(api: LocalApi): string[] {
  return stored(api).map(({ key }) => key);
}

/** The method, the end of the path, and the number of entries or keys of each request. */
export function sentBatches(api: LocalApi): string[] {
  return api.requests.map(({ method, path, batch }) =>
    `${method} ${path.replace(/^.*\/namespaces\/[0-9a-f]+\//, "")} ${batch?.entries ?? ""}`.trimEnd(),
  );
}

/** The largest total weight of requests in flight. */
export function mostInFlight(
  api: LocalApi,
  weight: (request: LocalApi["requests"][number]) => number,
): number {
  const events = api.requests.flatMap((request) => [
    { at: request.startedAt, change: weight(request) },
    { at: request.endedAt ?? Infinity, change: -weight(request) },
  ]);
  events.sort((a, b) => a.at - b.at || a.change - b.change);
  let now = 0;
  let most = 0;
  for (const { change } of events) most = Math.max(most, (now += change));
  return most;
}
