import { report } from "../../provider/report/index";
import type { JsonObject } from "../../provider/basics/json";
import { accounts, apiPerTest } from "../support/bench";
import { Operation, rawSend } from "../support/operation";
import { planJson, stepOf, type MadeStep } from "./plans";

/** Keys that others wrote that an update prunes, where the plan alone doesn't show it. */

const api = apiPerTest();

const dangersIn = (step: MadeStep): string[] =>
  report(planJson(step), "json").dangers.map(({ kind, sentence }) => `${kind}: ${sentence.toString()}`);

async function namespace(title: string, ...keys: string[]): Promise<string> {
  const root = `/accounts/${accounts.main}/storage/kv/namespaces`;
  const { id } = (await rawSend(api, "POST", root, { title }))["result"] as { id: string };
  const entries = keys.map((key) => ({ key, value: "theirs" }));
  if (keys.length > 0) await rawSend(api, "PUT", `${root}/${id}/bulk`, entries);
  return id;
}

const entriesIn = (namespaceId: string): JsonObject => ({
  accountId: accounts.main,
  namespaceId,
  entries: { "a/mine": "1", "a/second": "2" },
  prune: { prefix: "a/" },
});

test("a preview that can't look says that an unchanged resource may prune keys that others wrote", async () => {
  const inputs = entriesIn(await namespace("first"));
  const recorded = await new Operation(api).up("KvEntries", inputs);
  const planned = async (config: Record<string, string>): Promise<string[]> => {
    const { step, inputs: news } = await new Operation(api, { config }).preview(
      "KvEntries",
      inputs,
      recorded,
    );
    expect(step).toBe("same");
    return dangersIn(stepOf(step, "KvEntries", "mine", { old: recorded.inputs, new: news }));
  };
  expect(await planned({})).toEqual([]);
  expect(await planned({ "edgeguard:liveChecks": "false" })).toEqual([
    "unseen: may delete keys that others wrote under a/: prune wasn't compared with the namespace",
  ]);
});

test("entries that move to another namespace name the keys that others wrote there and that they prune", async () => {
  const [first, second] = [await namespace("first"), await namespace("second", "a/theirs")];
  const recorded = await new Operation(api).up("KvEntries", entriesIn(first));
  const preview = new Operation(api);
  const { step } = await preview.preview("KvEntries", entriesIn(second), recorded);
  // The engine checks a replacement once more, without the old inputs.
  const { inputs: news } = await preview.check("KvEntries", entriesIn(second));
  const dangers = dangersIn(stepOf(step, "KvEntries", "mine", { old: recorded.inputs, new: news }));
  expect(dangers).toContainEqual(expect.stringMatching(/^irreversible: 1 key that others wrote under a\//));
});
