import { text } from "node:stream/consumers";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { isJsonObject, type JsonObject } from "../../provider/basics/json";
import { serve } from "../support/edge-client";
import { Operation, rawGet, rawSend } from "../support/operation";
import { SAMPLES } from "../support/samples";

/** A refresh doesn't forget an object because a list is empty, as long as reading the object itself finds it. */

let api: LocalApi;
let server: { readonly url: string };
let emptied: string[];
beforeAll(async () => {
  api = await startLocalApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  emptied = [];
  server = await serve(async (request, response) => {
    const path = (request.url ?? "").replace(/^\/v4/, "");
    const sent = await text(request);
    const headers = { authorization: "Bearer local-token", "content-type": "application/json" };
    const init = { method: request.method ?? "", headers };
    const answer = await fetch(api.url + path, sent === "" ? init : { ...init, body: sent });
    // The date is Cloudflare's clock.
    const date = answer.headers.get("date") ?? "";
    response.writeHead(answer.status, { "content-type": "application/json", date });
    response.end(JSON.stringify(withoutList(path, (await answer.json()) as JsonObject)));
  });
});

/** An answer whose list is empty. A zone's entry point is a list of rules. */
function withoutList(path: string, answer: JsonObject): JsonObject {
  const { result } = answer;
  const isEntryPoint = isJsonObject(result) && path.endsWith("/entrypoint");
  if (!Array.isArray(result) && !isEntryPoint) return answer;
  emptied.push(path);
  return { ...answer, result: isEntryPoint ? { ...result, rules: [] } : [], result_info: { count: 0 } };
}

const TYPES = [
  "KvEntries",
  "KvNamespace",
  "LogpushJob",
  "LogpushTransformer",
  "PageShieldPolicy",
  "ManagedRulesetOverride",
] as const;

test.each(TYPES)(
  "an empty list doesn't make a refresh forget a %s, whose deletion it notices",
  async (type) => {
    const { args } = SAMPLES[type](api);
    const recorded = await new Operation(api).up(type, args);
    api.advance(120_000);
    const refreshed = await new Operation(server).refresh(type, recorded);
    expect(refreshed?.outputs).toEqual(recorded.outputs);
    expect(emptied).toHaveLength({ KvEntries: 1, ManagedRulesetOverride: 1 }[type as string] ?? 0);
    expect((await new Operation(api).preview(type, args, refreshed)).step).toBe("same");

    await new Operation(api).destroy(type, recorded);
    api.advance(120_000);
    const after = await new Operation(server).refresh(type, recorded);
    if (type === "KvEntries") expect(after?.outputs["drift"]).toMatch(/^1 key missing/);
    else expect(after).toBeUndefined();
  },
);

test("each of many keys that a list lacks is read, even if the first thousand are gone", async () => {
  const { args } = SAMPLES.KvEntries(api);
  const keys = Array.from({ length: 1_200 }, (_, at) => `key-${at}`);
  const entries = Object.fromEntries(keys.map((key) => [key, "1"]));
  const recorded = await new Operation(api).up("KvEntries", { ...args, entries });
  const path = `/accounts/${api.accounts.main}/storage/kv/namespaces/${api.namespaces.existing}`;
  await rawSend(api, "POST", `${path}/bulk/delete`, keys.slice(0, 1_000));
  api.advance(120_000);
  const refreshed = await new Operation(server).refresh("KvEntries", recorded);
  expect(refreshed?.outputs["drift"]).toMatch(/^1,000 keys missing: key-0, /);
  await new Operation(api).destroy("KvEntries", refreshed ?? recorded);
  const { result } = await rawGet(api, `${path}/keys?prefix=key-`);
  expect(result).toEqual([]);
});
