import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LocalApi, startLocalApi } from "edgeguard-local";
import { Operation, type Recorded } from "../support/operation";
import { emptyNamespace } from "./upload-support";

/** A value appears in no message, and for a file or directory not in the state either. */

const TYPE = "KvEntries";
const CANARY = "c4nary-value-aaaaaaaaaaaaaaaa";
const BASE64 = Buffer.from(CANARY).toString("base64");

const FOLDER = mkdtempSync(join(tmpdir(), "edgeguard-canary-"));
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

let api: LocalApi;
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
afterAll(() => rmSync(FOLDER, { recursive: true }));
beforeEach(async () => {
  api = await startLocalApi();
  messages = [];
});
afterEach(() => api.close());

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
