import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as jsonItems from "../../provider/kv/json-items";
import { Operation, rawSend, UNKNOWN, type Recorded } from "../support/operation";
import { EntriesSetup, TYPE } from "./entries-setup";

/** What a preview of entries says, and what it doesn't have to read. */

const setup = new EntriesSetup("preview");
const { up } = setup;
const FILE = join(setup.folder, "f.json");
const entries = Array.from({ length: 12 }, (_, i) => ({ key: `item-${i}`, value: `value ${i}` }));

beforeEach(() => {
  writeFileSync(FILE, JSON.stringify(entries));
});
afterEach(() => void jest.restoreAllMocks());

/** The step of a preview, and whether it parsed the file. */
async function preview(inputs: Record<string, unknown>, recorded: Recorded) {
  const scan = jest.spyOn(jsonItems, "readItems");
  const op = new Operation(setup.api);
  const { step, inputs: checked } = await op.preview(TYPE, { ...setup.address, ...inputs }, recorded);
  const isRead = scan.mock.calls.length > 0;
  scan.mockRestore();
  return { step, isRead, checked, said: op.said };
}

describe("KvEntries in a namespace that doesn't exist yet", () => {
  const unknown = { __resourceName: "items", accountId: "a".repeat(32), namespaceId: UNKNOWN };

  test.each([
    ["a file", () => ({ file: FILE })],
    ["the program", () => ({ entries: Object.fromEntries(entries.map(({ key, value }) => [key, value])) })],
  ])("shows how many entries from %s the update will write", async (_, declared) => {
    const op = new Operation(setup.api);
    const { inputs } = await op.preview(TYPE, { ...unknown, ...declared() });
    expect(op.said).toEqual([
      `edgeguard: KvEntries items: +12 ~0 -0 (${entries
        .slice(0, 10)
        .map(({ key }) => `+${key}`)
        .join(", ")} …)`,
    ]);
    expect(inputs).toMatchObject({ keys: 12, bytes: 86, namespaceId: UNKNOWN });
    expect(setup.api.requests).toEqual([]);
  });

  test("checks a file of 150,000 entries, more than a call can have arguments", async () => {
    const many = Array.from({ length: 150_000 }, (_, i) => ({ key: `item-${i}`, value: "v" }));
    writeFileSync(FILE, JSON.stringify(many));
    const { inputs } = await new Operation(setup.api).preview(TYPE, { ...unknown, file: FILE });
    expect(inputs).toMatchObject({ keys: 150_000, namespaceId: UNKNOWN });
  });

  test("refuses invalid entries whose keys and values are already known", async () => {
    writeFileSync(FILE, '[{"key":"a b","value":"v"}]');
    mkdirSync(join(setup.folder, "d/ "), { recursive: true });
    writeFileSync(join(setup.folder, "d/ /x"), "v");
    const refusals = async (inputs: object) =>
      await new Operation(setup.api).refusals(TYPE, { ...unknown, ...inputs });
    const rule = "use printable characters without whitespace";
    expect(await refusals({ file: FILE })).toEqual([
      `file: ${FILE}: entry 1 (line 1, key "a b"): key contains U+0020 at position 2; ${rule}`,
    ]);
    expect(await refusals({ directory: join(setup.folder, "d") })).toEqual([expect.stringContaining(rule)]);
    const some = { "a b": "v", c: UNKNOWN, d: { value: UNKNOWN, expirationTtl: 1 } };
    expect(await refusals({ entries: some })).toEqual([expect.stringContaining(rule)]);
    expect(await refusals({ entries: UNKNOWN })).toEqual([]);
    expect(await refusals({ file: FILE, defaults: { metadata: UNKNOWN } })).toEqual([]);
  });
});

test("previews the entries of a replacement only once", async () => {
  const recorded = await up({ file: FILE });
  const op = new Operation(setup.api);
  const { accountId } = setup.address;
  const path = `/accounts/${accountId}/storage/kv/namespaces`;
  const { result } = await rawSend(setup.api, "POST", path, { title: "another" });
  const moved = { ...setup.address, file: FILE, namespaceId: (result as { id: string }).id };
  expect(await op.preview(TYPE, moved, recorded)).toMatchObject({
    step: "replace",
    replaces: ["namespaceId"],
  });
  expect(op.said).toEqual([]);
  await op.preview(TYPE, moved); // The engine checks a replacement a second time.
  expect(op.said.join()).toContain(": +12 ~0 -0 (");
});

test("fails the preview if the namespace doesn't exist", async () => {
  const nowhere = { ...setup.address, file: FILE, namespaceId: "0".repeat(32) };
  expect(await new Operation(setup.api).refusals(TYPE, nowhere)).toEqual([
    expect.stringMatching(/namespace 0{32} failed: .* 404 /),
  ]);
});

describe("an unchanged file", () => {
  test("isn't parsed, and the preview sends no request", async () => {
    const recorded = await up({ file: FILE });
    setup.api.clearRequests();
    expect(await preview({ file: FILE }, recorded)).toMatchObject({ step: "same", isRead: false });
    const elsewhere = join(setup.folder, "elsewhere.json");
    writeFileSync(elsewhere, JSON.stringify(entries));
    const { step, isRead, checked } = await preview({ file: elsewhere }, recorded);
    expect([step, isRead]).toEqual(["same", false]);
    const { keys, bytes, digest, fileHash } = recorded.inputs;
    expect(checked).toMatchObject({ keys, bytes, digest, fileHash });
    expect(setup.api.requests).toEqual([]);
  });

  test("is parsed if the defaults changed", async () => {
    const recorded = await up({ file: FILE });
    const defaults = { expirationTtl: 600 };
    expect(await preview({ file: FILE, defaults }, recorded)).toMatchObject({ step: "update", isRead: true });
  });

  test("is parsed after a partial failure, even after a refresh", async () => {
    setup.api.fault({ kind: "status", status: 400, match: { method: "PUT" } });
    const { recorded } = await new Operation(setup.api).failedUp(TYPE, { ...setup.address, file: FILE });
    const refreshed = recorded && (await new Operation(setup.api).refresh(TYPE, recorded));
    if (refreshed === undefined) throw new Error("nothing was recorded");
    const { step, isRead, said } = await preview({ file: FILE }, refreshed);
    expect([step, isRead]).toEqual(["update", true]);
    expect(said.join()).toContain(": +12 ~0 -0 (");
  });
});

describe("a changed file", () => {
  test("records which keys lose their values", async () => {
    writeFileSync(FILE, JSON.stringify([...entries.slice(1), { key: "item-0", value: "" }]));
    const recorded = await up({ file: FILE });
    const emptied = entries.map(({ key }, at) => ({ key, value: at < 3 ? "" : "another" }));
    writeFileSync(FILE, JSON.stringify([...emptied, { key: "new", value: "" }]));
    const op = new Operation(setup.api);
    const { inputs } = await op.preview(TYPE, { ...setup.address, file: FILE }, recorded);
    expect(inputs).toMatchObject({ impact: { emptied: { count: 2, names: ["item-1", "item-2"] } } });
  });

  test("causes no change if it declares the same entries, but its new hash is recorded", async () => {
    const recorded = await up({ file: FILE });
    writeFileSync(FILE, JSON.stringify([...entries].reverse(), null, 2));
    const reformatted = await preview({ file: FILE }, recorded);
    expect(reformatted).toMatchObject({ step: "same", isRead: true });
    expect(reformatted.checked["fileHash"]).not.toBe(recorded.inputs["fileHash"]);
    const later = { ...recorded, inputs: reformatted.checked };
    expect(await preview({ file: FILE }, later)).toMatchObject({ step: "same", isRead: false });
  });

  test("causes no change if an earlier version didn't record its hash", async () => {
    const { id, inputs, outputs } = await up({ file: FILE });
    const without = ({ fileHash, ...rest }: Record<string, unknown>) => (
      expect(fileHash).toBeDefined(),
      rest
    );
    const older = { id, inputs: without({ ...inputs }), outputs: without({ ...outputs }) };
    const { step, isRead, checked } = await preview({ file: FILE }, older);
    expect([step, isRead]).toEqual(["same", true]);
    expect(checked["fileHash"]).toBe(inputs["fileHash"]);
  });

  test("causes a change if an entry differs, and the preview names the entry", async () => {
    const recorded = await up({ file: FILE });
    writeFileSync(FILE, JSON.stringify([...entries.slice(1), { key: "item-11b", value: "" }]));
    const { step, said } = await preview({ file: FILE }, recorded);
    expect(step).toBe("update");
    expect(said).toEqual([
      `edgeguard: KvEntries ${setup.address.namespaceId}: +1 ~0 -1 (+item-11b, -item-0)`,
    ]);
  });
});
