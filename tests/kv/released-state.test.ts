import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalApi } from "edgeguard-local";
import { forwarder } from "../../provider/runtime/forwarder";
import { Operation, rawSend, type Recorded } from "../support/operation";
import { storedValues } from "./namespace-values";
import { emptyNamespace, sentBatches } from "./upload-support";

/** State written by released versions, which must stay readable: add to it, never change it. */

const TYPE = "KvEntries";
const ENTRIES = [
  { key: "a", value: "1" },
  { key: "b/é", value: "AAH/", base64: true, metadata: { owner: "shop" } },
  { key: "c", value: "3", expiration: 4_102_444_800 },
];

test("refreshes, previews, updates and deletes entries in a state that version 0.1 wrote", async () => {
  const folder = mkdtempSync(join(tmpdir(), "edgeguard-recorded-"));
  const file = join(folder, "entries.json");
  const api = await startLocalApi();
  try {
    const address = emptyNamespace(api);
    const bulk = `/accounts/${address.accountId}/storage/kv/namespaces/${address.namespaceId}/bulk`;
    const defaults = { metadata: { d: 1 } };
    const inputs = {
      ...address,
      file,
      defaults,
      keys: 3,
      bytes: 5,
      digest: "5f68eef407933779157239ecf29e4901ed624ed099eda6601a7499bf106bda15",
      __provider: forwarder(TYPE),
    };
    const state: Recorded = {
      id: `${address.namespaceId}/4bb93cb4-74b4-473d-9ecb-8619273f3c9e`,
      inputs,
      outputs: {
        ...inputs,
        manifest:
          "AQAAAIAbsgAAxJ/OT/mnSdYfFKbsUtHSYswyKc7og2YcsPcWpt1EBqQD0nmMja+UQ54hL9w54X4wQVjX/weCYxBWG8xcxP+i2ZFaZPJk7U1jSVbl5MeES90ZBAnnHM23S0xWC9Oq08+OVXs/CwSzI7WI0gzC2zHiUNxPyABu/bBb05TGB2uGsnP/NPzhnWuATv9aP1cmpmsGHo9I85knwxLyUpOVTgdAhWK+24tgzgXB3s/jrShGScFOHfvG",
        writtenAt: 1_795_264_097,
        schemaVersion: 1,
      },
    };
    const later = { ...state, outputs: { ...state.outputs, writtenAt: 1 } };
    await rawSend(
      api,
      "PUT",
      bulk,
      ENTRIES.map((entry) => ({ metadata: defaults.metadata, ...entry })),
    );

    const refreshed = await new Operation(api).refresh(TYPE, later);
    expect(refreshed?.inputs).toEqual({ ...inputs, index: expect.any(String) as string });
    writeFileSync(file, JSON.stringify(ENTRIES));
    api.clearRequests();
    expect((await new Operation(api).preview(TYPE, { ...address, file, defaults }, state)).step).toBe("same");
    expect(api.requests).toEqual([]);

    // The state doesn't list the keys. Those that are still declared aren't taken for keys that others wrote.
    const prune = { prefix: "", maxDeletes: 0 };
    const unchanged = await new Operation(api).preview(TYPE, { ...address, file, defaults, prune }, state);
    expect(unchanged.inputs["impact"]).toMatchObject({
      seen: ["existingKeys", "ownKeys", "prunedKeys"],
      removed: { count: 0 },
    });
    const [first] = ENTRIES;
    writeFileSync(file, JSON.stringify([first]));
    const pruning = new Operation(api);
    const fewer = await pruning.preview(
      TYPE,
      { ...address, file, defaults, prune, adopt: "takeOver" },
      state,
    );
    expect(fewer).toMatchObject({ step: "update", inputs: { impact: { seen: [], keys: { names: ["a"] } } } });
    expect(fewer.inputs["impact"]).toHaveProperty("skipped", [
      expect.stringMatching(
        /^the state of KvEntries .* doesn't list its keys yet\. Run pulumi refresh to add them$/,
      ),
    ]);
    expect(pruning.warned).toEqual([expect.stringContaining("live check skipped: the state of KvEntries ")]);

    api.clearRequests();
    writeFileSync(file, JSON.stringify(ENTRIES.slice(1).map((entry) => ({ ...entry, value: "AAAA" }))));
    const changed = await new Operation(api).up(TYPE, { ...address, file, defaults }, state);
    expect(sentBatches(api)).toEqual(["PUT bulk 2", "POST bulk/get 1", "POST bulk/delete 1"]);
    expect([...storedValues(api).keys()]).toEqual(["b/é", "c"]);
    await new Operation(api).destroy(TYPE, changed);
    expect(storedValues(api).size).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
    await api.close();
  }
});
