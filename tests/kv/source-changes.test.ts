import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiPerFile, folderPerTest } from "../support/bench";
import { KV } from "../../provider/limits";
import { REGISTER } from "../../provider/register";
import { failureOf, until } from "../support/edge-client";
import { Operation } from "../support/operation";
import { bulkWrites, difference, storedValues } from "./namespace-values";
import { emptyNamespace } from "./upload-support";

/** Only what was checked is sent: a source that changes in between isn't sent, or the rest of it isn't. */

const TYPE = "KvEntries";
const COUNT = 300;
const declared = new Map(
  Array.from({ length: COUNT }, (_, i) => [`item-${String(i).padStart(3, "0")}`, `value ${i}`]),
);

const FOLDER = folderPerTest("changed");
const api = apiPerFile();
const address = { accountId: api.accounts.main, namespaceId: api.namespaces.existing };
beforeAll(() => void jest.replaceProperty(KV, "MAX_BULK_ENTRIES", (COUNT / 3) as never));
beforeEach(() => {
  emptyNamespace(api);
  api.clearRequests();
  api.clearFaults();
  mkdirSync(join(FOLDER, "d"));
  for (const [key, value] of declared) writeFileSync(join(FOLDER, "d", key), value);
  const entries = Array.from(declared, ([key, value]) => ({ key, value }));
  writeFileSync(join(FOLDER, "f.json"), JSON.stringify(entries, null, 1));
});

const SOURCES: [string, () => Record<string, unknown>, string][] = [
  ["a file", () => ({ file: join(FOLDER, "f.json") }), "f.json"],
  ["a directory", () => ({ directory: join(FOLDER, "d") }), "d/item-299"],
];

describe.each(SOURCES)("%s", (_, source, path) => {
  test("isn't sent if it changed after the check", async () => {
    const op = new Operation(api);
    const { inputs } = await op.preview(TYPE, { ...address, ...source() });
    writeFileSync(join(FOLDER, path), '[{"key":"other","value":"1"}]');
    api.clearRequests();
    const { message } = await failureOf(Promise.resolve(REGISTER[TYPE]?.create(op.host, inputs)));
    expect(message).toMatch(/ has changed since it was checked\. Nothing was sent\. Run the command again/);
    expect(api.requests).toEqual([]);
  });

  test("is sent if it was rewritten with the same content", async () => {
    const op = new Operation(api);
    const { inputs } = await op.preview(TYPE, { ...address, ...source() });
    const entries = Array.from(declared, ([key, value]) => ({ key, value })).reverse();
    writeFileSync(join(FOLDER, "f.json"), JSON.stringify(entries));
    await REGISTER[TYPE]?.create(op.host, inputs);
    expect(difference(storedValues(api), declared)).toEqual([]);
  });

  test("stops the update if it changes partway, and the next update resumes", async () => {
    const op = new Operation(api, { config: { "edgeguard:concurrency": "1" } });
    const inputs = { ...address, ...source() };
    api.fault({ kind: "slow", delayMs: 100, times: 2, match: { method: "PUT" } });
    const failing = op.failedUp(TYPE, inputs);
    await until(() => bulkWrites(api).length === 1);
    appendFileSync(join(FOLDER, path), " ");
    const { message, recorded } = await failing;
    expect(message).toMatch(
      / has changed since it was checked\. The remaining entries were not sent\. \d00 entries were written and recorded/,
    );
    const sent = bulkWrites(api);
    api.clearRequests();
    await new Operation(api).up(TYPE, inputs, recorded);
    expect([...sent, ...bulkWrites(api)]).toEqual([100, 100, 100]);
    const now = path.startsWith("d/") ? new Map(declared).set("item-299", "value 299 ") : declared;
    expect(difference(storedValues(api), now)).toEqual([]);
  });
});

test("sends a file as it was checked even if it's replaced during the update", async () => {
  const file = join(FOLDER, "f.json");
  const op = new Operation(api, { config: { "edgeguard:concurrency": "1" } });
  api.fault({ kind: "slow", delayMs: 100, times: 2, match: { method: "PUT" } });
  const running = op.up(TYPE, { ...address, file });
  await until(() => bulkWrites(api).length === 1);
  rmSync(file);
  writeFileSync(file, "[]");
  await running;
  expect(difference(storedValues(api), declared)).toEqual([]);
});
