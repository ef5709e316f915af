import { join } from "node:path";
import { type LocalApi, type LocalApiOptions, startLocalApi } from "edgeguard-local";
import { folderPerFile } from "../support/bench";
import { RETRY } from "../../provider/api/retry";
import { RESEND } from "../../provider/kv/bulk";
import { KV } from "../../provider/limits";
import { Operation, type Recorded } from "../support/operation";
import { bulkWrites, confirmed, difference, storedValues, sum, writeBulkFile } from "./namespace-values";
import { emptyNamespace } from "./upload-support";

/** Whatever fails, the next `up` makes the namespace match the program. */

const TYPE = "KvEntries";
/** Three small bulk writes and short waits; with 10,000 entries each, the outcome is the same. */
const COUNT = 300;
const BATCH = 100;
const BULK = { method: "PUT", path: "/bulk$" };

const FOLDER = folderPerFile("faults");
const FILE = join(FOLDER, "entries.json");
const CHANGED_FILE = join(FOLDER, "changed.json");
const declaration = (value: string) =>
  new Map(Array.from({ length: COUNT }, (_, i) => [`item-${i}`, `${value} ${i}`]));
const declared = declaration("value");
const changed = declaration("changed");

let api: LocalApi;
let inputs: Record<string, unknown>;

async function start(options: LocalApiOptions = {}): Promise<void> {
  api = await startLocalApi(options);
  inputs = { ...emptyNamespace(api), file: FILE };
}

beforeAll(() => {
  jest.replaceProperty(KV, "MAX_BULK_ENTRIES", BATCH as never);
  jest.replaceProperty(RETRY, "baseDelayMs", 5 as never);
  jest.replaceProperty(RESEND, "afterMs", [1, 2, 4] as never);
  writeBulkFile(FILE, declared);
  writeBulkFile(CHANGED_FILE, changed);
});
afterEach(() => api.close());

/** Two bulk writes succeed; the third and its only retry fail. */
function onTheThird(kind: "dropBefore" | "dropAfter" | "status"): void {
  api.fault({ kind: "slow", delayMs: 0, times: 2, match: BULK });
  api.fault(
    kind === "status" ? { kind, status: 500, times: 2, match: BULK } : { kind, times: 2, match: BULK },
  );
}

const up = (previous?: Recorded, more: Record<string, string> = {}): Promise<Recorded> =>
  new Operation(api, { config: more }).up(TYPE, inputs, previous);

async function failed(previous?: Recorded): Promise<Recorded> {
  const { recorded, message } = await new Operation(api).failedUp(TYPE, inputs, previous);
  if (recorded === undefined) throw new Error(`nothing was recorded: ${message}`);
  expect(message).toMatch(
    /200 entries were written and recorded before that\. Run `pulumi up` again to continue\./,
  );
  return recorded;
}

test("waits out many 429 responses and writes every entry once", async () => {
  await start();
  api.fault({ kind: "status", status: 429, retryAfter: 0.05, times: 10, match: { path: "/storage/kv/" } });
  await up(undefined, { "edgeguard:maxRetries": "12" });
  expect(difference(storedValues(api), declared)).toEqual([]);
  expect(confirmed(api)).toBe(COUNT);
});

test("fails if Cloudflare still returns 429 after the retries, and the next update continues", async () => {
  await start();
  api.fault({ kind: "slow", delayMs: 0, times: 2, match: BULK });
  api.fault({ kind: "status", status: 429, retryAfter: 0.05, times: 2, match: BULK });
  const recorded = await failed();
  await up(recorded);
  expect(difference(storedValues(api), declared)).toEqual([]);
  expect(confirmed(api)).toBe(COUNT);
});

describe.each([
  ["a 500 on the third batch", "status"],
  ["a connection dropped before the third write", "dropBefore"],
  ["a connection dropped after the third write", "dropAfter"],
] as const)("after %s,", (_, kind) => {
  beforeEach(() => start());

  test("the update fails, and the next one sends only the failed batch", async () => {
    onTheThird(kind);
    const recorded = await failed();
    api.clearRequests();
    const again = await up(recorded);
    expect(bulkWrites(api)).toEqual([BATCH]);
    expect(difference(storedValues(api), declared)).toEqual([]);
    api.clearRequests();
    expect((await new Operation(api).preview(TYPE, inputs, again)).step).toBe("same");
    expect(api.requests).toEqual([]);
  });

  test("the failed batch is still pending after a refresh", async () => {
    onTheThird(kind);
    const refreshed = await new Operation(api).refresh(TYPE, await failed());
    await up(refreshed);
    expect(difference(storedValues(api), declared)).toEqual([]);
    expect(sum(bulkWrites(api).slice(4))).toBe(BATCH);
  });

  test("a failed change is no longer pending once it's reverted", async () => {
    const before = await up();
    inputs = { ...inputs, file: CHANGED_FILE };
    onTheThird(kind);
    const recorded = await failed(before);
    inputs = { ...inputs, file: FILE };
    await up(recorded);
    expect(difference(storedValues(api), declared)).toEqual([]);
  });

  test("keys whose deletion failed are written again if they're declared again", async () => {
    const before = await up();
    const fewer = join(FOLDER, "fewer.json");
    writeBulkFile(fewer, new Map([...declared].slice(0, 10)));
    const match = { path: "/bulk/delete$" };
    api.fault(kind === "status" ? { kind, status: 500, times: 20, match } : { kind, times: 20, match });
    const { recorded } = await new Operation(api).failedUp(TYPE, { ...inputs, file: fewer }, before);
    api.clearFaults();
    await up(recorded);
    expect(difference(storedValues(api), declared)).toEqual([]);
  });
});

test("a destroy deletes keys whose write has an unknown outcome", async () => {
  await start();
  onTheThird("dropAfter");
  const recorded = await failed();
  await new Operation(api).destroy(TYPE, recorded);
  expect(storedValues(api).size).toBe(0);
});

test("splits a body refused with 413 in half until it's accepted, and sends no half twice", async () => {
  await start({ limits: { maxBodyBytes: 2_000 } });
  await up();
  expect(difference(storedValues(api), declared)).toEqual([]);
  expect(confirmed(api)).toBe(COUNT);
  expect(api.requests.filter(({ status }) => status === 413).length).toBeGreaterThan(0);
});

test("resends only the keys that Cloudflare reports as unsuccessful", async () => {
  await start();
  api.fault({ kind: "unsuccessful", fraction: 0.5, times: 3, match: BULK });
  await up();
  expect(difference(storedValues(api), declared)).toEqual([]);
  expect(sum(bulkWrites(api))).toBe(COUNT + COUNT / 2);
});

test("names keys that keep failing, and the next update sends only those", async () => {
  await start();
  api.fault({ kind: "unsuccessful", fraction: 0.5, times: 12, match: BULK });
  const { recorded, message } = await new Operation(api).failedUp(TYPE, inputs);
  const left = declared.size - storedValues(api).size;
  expect(left).toBeGreaterThan(0);
  expect(message).toMatch(new RegExp(`couldn't write ${left} entries \\("item-\\d+", .*, …\\)`));
  api.clearRequests();
  await up(recorded);
  expect(sum(bulkWrites(api))).toBe(left);
  expect(difference(storedValues(api), declared)).toEqual([]);
});

test("writes leftover entries despite ignoreChanges, but fails the preview if their source changed", async () => {
  await start();
  onTheThird("status");
  const recorded = await failed();
  // As the engine restores it with ignoreChanges: ["file"].
  const ignoring = { ...inputs, digest: recorded.inputs["digest"] };
  writeBulkFile(FILE, changed);
  try {
    await expect(new Operation(api).preview(TYPE, ignoring, recorded)).rejects.toThrow(
      /didn't write all entries\. .* Restore the source, or remove ignoreChanges for one update\.$/,
    );
  } finally {
    writeBulkFile(FILE, declared);
  }
  await new Operation(api).up(TYPE, ignoring, recorded);
  expect(difference(storedValues(api), declared)).toEqual([]);
});
