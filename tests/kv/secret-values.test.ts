import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiPerTest, folderPerFile } from "../support/bench";
import { omit } from "../../provider/basics/json";
import { Operation, rawSend, type Recorded } from "../support/operation";
import { emptyNamespace } from "./upload-support";

/** A value appears in no message, and for a file or directory not in the state either. */

const TYPE = "KvEntries";
const CANARY = "c4nary-value-aaaaaaaaaaaaaaaa";
const BASE64 = Buffer.from(CANARY).toString("base64");

const FOLDER = folderPerFile("canary");
const FILE = join(FOLDER, "entries.json");
const DIRECTORY = join(FOLDER, "values");
/** Files that are refused, each containing the value. */
const BAD_DIRECTORY = join(FOLDER, "bad");
const source = (value: string): Record<string, Record<string, unknown>> => {
  writeFileSync(
    FILE,
    JSON.stringify([
      { key: "a", value },
      { key: "b", value: Buffer.from(value).toString("base64"), base64: true },
    ]),
  );
  writeFileSync(join(DIRECTORY, "a"), value);
  return {
    entries: { entries: { a: value, b: { value: Buffer.from(value).toString("base64"), base64: true } } },
    file: { file: FILE },
    directory: { directory: DIRECTORY },
  };
};

const api = apiPerTest();
/** Every message and error. */
let messages: string[];

beforeAll(() => {
  mkdirSync(DIRECTORY);
  mkdirSync(BAD_DIRECTORY);
  writeFileSync(join(BAD_DIRECTORY, "with space"), CANARY);
  writeFileSync(join(BAD_DIRECTORY, "large"), CANARY);
  truncateSync(join(BAD_DIRECTORY, "large"), 26_214_401);
  symlinkSync(join(BAD_DIRECTORY, "large"), join(BAD_DIRECTORY, "link"));
});
beforeEach(() => {
  messages = [];
});

async function within<T>(work: (op: Operation) => Promise<T>): Promise<T> {
  const op = new Operation(api, { env: { EDGEGUARD_DEBUG: "1" }, config: { "edgeguard:maxRetries": "0" } });
  try {
    return await work(op);
  } finally {
    messages.push(...op.said, ...op.warned);
  }
}

async function failing(inputs: Record<string, unknown>, previous?: Recorded): Promise<Recorded | undefined> {
  const { error, recorded } = await within((op) => op.failedUp(TYPE, inputs, previous));
  messages.push(error.message, error.stack ?? "", JSON.stringify(Reflect.get(error, "reasons") ?? ""));
  return recorded;
}

test.each(["entries", "file", "directory"])("no message or state contains a value from %s", async (kind) => {
  const address = emptyNamespace(api);
  const inputs = { ...address, ...source(CANARY)[kind], verify: "values" };
  const states: unknown[] = [];

  // 1. Every kind of failure, then a success.
  for (const fault of [
    { kind: "status", status: 400, code: 10012, message: "broken" },
    { kind: "raw", status: 500, body: "<html>no</html>" },
    { kind: "dropAfter" },
    { kind: "truncated" },
  ] as const) {
    api.fault({ ...fault, match: { method: "PUT", path: "/bulk$" } });
    states.push(await failing({ ...inputs, adopt: "takeOver" }));
  }
  const recorded = await within((op) => op.up(TYPE, { ...inputs, adopt: "takeOver" }));
  const later = { ...recorded, outputs: { ...recorded.outputs, writtenAt: 1 } };
  states.push(recorded, await within((op) => op.refresh(TYPE, later)));

  // 2. A change, an adoption of different content, and invalid input with the value.
  const other = source(`${CANARY}-2`)[kind];
  states.push(await within((op) => op.up(TYPE, { ...address, ...other }, recorded)));
  await failing({ ...address, ...source(`${CANARY}-3`)[kind] });
  writeFileSync(FILE, `[{ "key": "a", "value": "${CANARY}" "metadata": 1 }]`);
  const bad = {
    entries: { entries: { a: { value: { inner: CANARY } }, b: { value: `${CANARY}!`, base64: true } } },
    file: { file: FILE },
    directory: { directory: BAD_DIRECTORY },
  }[kind];
  const refusals = await within((op) => op.refusals(TYPE, { ...address, ...bad }));
  expect(refusals).toHaveLength({ entries: 2, file: 1, directory: 3 }[kind] ?? 0);
  messages.push(...refusals);

  expect(messages.length).toBeGreaterThan(5);
  for (const text of [CANARY, BASE64.slice(0, 24)]) {
    expect(messages.join("\n")).not.toContain(text);
    if (kind !== "entries") expect(JSON.stringify(states)).not.toContain(text);
  }
});

test("no message or state names a key of a file that the program made secret", async () => {
  const address = emptyNamespace(api);
  const path = `/accounts/${address.accountId}/storage/kv/namespaces/${address.namespaceId}`;
  const write = (...entries: object[]): void => writeFileSync(FILE, JSON.stringify(entries));
  const keys = [`${CANARY}-1`, `${CANARY}-2`, "c4"];
  const declare = (...named: string[]) => write(...named.map((key) => ({ key, value: "1" })));
  const inputs = { ...address, file: FILE, __secrets: ["file"] };
  const states: unknown[] = [];

  // 1. Mistakes, also after a resource that may name them, and another resource with the same key.
  write({ key: keys[0], value: 1 }, { key: `${CANARY} `, value: "1" }, { key: keys[2], value: 1 });
  messages.push(...(await within((op) => op.refusals(TYPE, inputs))));
  expect(messages.join("\n")).toContain("entry 1 (line 1, key [secret])");
  await within(async (op) => {
    await op.check(TYPE, { ...address, file: FILE, __resourceName: "same file, not secret" });
    messages.push(...(await op.refusals(TYPE, inputs)));
  });
  declare(...keys);
  await within(async (op) => {
    const other = { ...address, entries: { c4: "1" }, __resourceName: "other" };
    await op.check(TYPE, other);
    messages.push(...(await op.refusals(TYPE, { ...inputs, __resourceName: "secret" })));
  });
  expect(messages.join("\n")).toContain("both declare the key [secret]");

  // 2. Keys that others wrote, failed writes, drift and deletes.
  await rawSend(api, "PUT", `${path}/bulk`, [{ key: "c4", value: "theirs" }]);
  states.push(await failing(inputs));
  await rawSend(api, "POST", `${path}/bulk/delete`, ["c4"]);
  declare("c4");
  api.fault({ kind: "status", status: 403, match: { path: "/bulk$" } });
  await failing(inputs);
  declare(...keys);
  api.fault({ kind: "unsuccessful", keys: ["c4"], times: 9, match: { path: "/bulk$" } });
  const partly = await within((op) => op.failedUp(TYPE, inputs));
  messages.push(partly.message);
  states.push(partly.recorded);
  api.clearFaults();
  const recorded = await within((op) => op.up(TYPE, inputs, partly.recorded));
  await rawSend(api, "PUT", `${path}/bulk`, [{ key: "c4", value: "theirs", metadata: {} }]);
  api.advance(120_000);
  const refreshed = await within((op) => op.refresh(TYPE, recorded));
  expect(refreshed?.outputs["drift"]).toBe("1 key changed");
  declare(keys[0] ?? "");
  await failing({ ...inputs, maxOwnDeletes: 0 }, recorded);
  await within((op) => op.destroy(TYPE, recorded));
  expect(messages.join("\n")).toContain("keeping 1 key ([secret])");
  states.push(recorded, refreshed);

  const shown = [...messages, JSON.stringify(states.map((state) => omitManifest(state)))].join("\n");
  expect(shown).not.toContain(CANARY);
  expect(shown).not.toMatch(/"c4\\?"/);
});

/** Leaves out what the state marks as a secret. */
function omitManifest(state: unknown): unknown {
  if (typeof state !== "object" || state === null) return state;
  const { outputs = {}, inputs = {} } = state as Partial<Recorded>;
  return [omit(outputs, ["manifest", "index"]), omit(inputs, ["index"])];
}
