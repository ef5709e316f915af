import { type LocalApi, startLocalApi } from "edgeguard-local";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { CompositeId } from "../../provider/runtime/composite-id";
import { LISTED } from "../../provider/runtime/impact";
import type { Findings } from "../../provider/runtime/lifecycle";
import { omit, type JsonObject } from "../../provider/basics/json";
import { defineResource } from "../../provider/runtime/resource";
import { emptyNamespace } from "../kv/upload-support";
import { Operation, rawSend, UNKNOWN, type Recorded } from "../support/operation";
import { SAMPLES } from "../support/samples";
import { folderPerTest } from "../support/bench";

/** What a preview finds out about a resource, as data: the input `impact`. */

const DIGEST = expect.stringMatching(/^[0-9a-f]{32}$/) as string;
const list = LISTED.schema.optional();
const record = z.looseObject({
  operation: z.enum(["check", "refresh"]),
  revision: z.int().min(1),
  seen: z.array(z.string()),
  skipped: z.array(z.string()).exactOptional(),
  known: z.string().exactOptional(),
  ...{ keys: list, added: list, prunes: list },
});
type Impact = z.output<typeof record>;

let api: LocalApi;
const FOLDER = folderPerTest("impact");
beforeEach(async () => {
  api = await startLocalApi({ credentials: [{ token: "local-token" }, { token: "another-token" }] });
});
afterEach(() => api.close());

/** Arguments of each type with live checks. The second ones are a change. */
const TYPES: Readonly<Record<string, () => readonly [JsonObject, JsonObject]>> = {
  ...Object.fromEntries(
    (
      [
        "PageShieldSettings",
        "ManagedRulesetOverride",
        "LogpushJob",
        "LogpushTransformer",
        "KvNamespace",
      ] as const
    ).map((type) => [type, () => [SAMPLES[type](api).args, SAMPLES[type](api).changed] as const]),
  ),
  PageShieldPolicy: () => [policy(), { ...policy(), description: "Till" }],
  KvEntries: () => {
    const entries = { ...emptyNamespace(api), entries: { a: "1" } };
    return [entries, { ...entries, entries: { a: "2" } }];
  },
};

const policy = (): JsonObject => ({
  zoneId: api.zones.blog,
  description: "Checkout",
  action: "allow",
  expression: "true",
  value: "script-src 'self'",
});

async function impactOf(type: string, inputs: JsonObject, previous?: Recorded, config = {}): Promise<Impact> {
  const checked = await new Operation(api, { config }).check(type, inputs, previous);
  expect(checked.failures).toEqual([]);
  return record.parse(checked.inputs["impact"]);
}

describe.each(Object.entries(TYPES))("the impact of a %s", (type, args) => {
  test("is absent if nothing changed, and the preview sends no request", async () => {
    const [inputs] = args();
    const recorded = await new Operation(api).up(type, inputs);
    expect(recorded.inputs).toHaveProperty("impact");
    api.clearRequests();
    const again = await new Operation(api).up(type, inputs, recorded);
    expect(again).toEqual({ ...recorded, inputs: omit(recorded.inputs, ["impact"]) });
    expect(api.requests).toEqual([]);
  });

  test("has a revision that is one more than in the old inputs", async () => {
    const [inputs, others] = args();
    const first = await new Operation(api).up(type, inputs);
    const second = await new Operation(api).up(type, others, first);
    const third = await impactOf(type, inputs, second);
    const revisions = [first, second].map(({ inputs: { impact } }) => record.parse(impact).revision);
    expect([...revisions, third.revision]).toEqual([1, 2, 3]);
    const unchanged = await new Operation(api).up(type, others, second);
    expect((await impactOf(type, inputs, unchanged)).revision).toBe(1);
  });

  test("stays in the outputs in a refresh, but not in the inputs", async () => {
    const recorded = await new Operation(api).up(type, args()[0]);
    const refreshed = await new Operation(api).refresh(type, recorded);
    expect(refreshed?.inputs).not.toHaveProperty("impact");
    expect(refreshed?.outputs["impact"]).toEqual(recorded.inputs["impact"]);
    expect(record.parse(refreshed?.outputs["impact"]).operation).toBe("check");
  });
});

describe("what a preview couldn't look at", () => {
  const SEEN: Readonly<Record<string, readonly string[]>> = {
    PageShieldSettings: ["settings"],
    PageShieldPolicy: ["existingPolicy", "wouldBlock"],
    KvNamespace: ["existingNamespace"],
    KvEntries: ["existingKeys", "prunedKeys"],
  };
  const declared = (type: string): JsonObject => ({
    ...TYPES[type]?.()[0],
    ...(type === "KvEntries" ? { prune: { prefix: "" }, adopt: "takeOver" } : {}),
  });
  const own = (type: string): readonly string[] => (type === "KvEntries" ? ["ownKeys"] : []);
  const CAUSES = {
    "an argument isn't known yet": { reason: /^\w+ isn't known yet$/ },
    "live checks are off": {
      reason: /^edgeguard:liveChecks is false$/,
      config: { "edgeguard:liveChecks": "false" },
    },
    "there's no credential": { reason: /^no credentials are set\./, config: { "edgeguard:apiToken": "" } },
    "the API doesn't answer": { reason: /returned 503/ },
  } as const;

  test.each(
    Object.keys(SEEN).flatMap((type) =>
      Object.entries(CAUSES).map(([why, how]) => [type, why, how] as const),
    ),
  )("isn't seen in a %s, and the record says why: %s", async (type, why, cause) => {
    const inputs = declared(type);
    expect((await impactOf(type, inputs)).seen).toEqual([...(SEEN[type] ?? []), ...own(type)].sort());
    expect(await impactOf(type, inputs)).not.toHaveProperty("skipped");
    if (why === "the API doesn't answer") api.fault({ match: {}, kind: "status", status: 503, times: 99 });
    const given =
      why === "an argument isn't known yet"
        ? {
            ...inputs,
            [type === "KvNamespace" ? "title" : type === "KvEntries" ? "namespaceId" : "zoneId"]: UNKNOWN,
          }
        : inputs;
    const { seen, skipped } = await impactOf(type, given, undefined, "config" in cause ? cause.config : {});
    expect(seen).toEqual(own(type));
    expect(skipped?.length).toBeGreaterThan(0);
    for (const reason of skipped ?? []) expect(reason).toMatch(cause.reason);
  });

  test("doesn't hide what the preview could look at", async () => {
    api.fault({ match: { path: "/policies$" }, kind: "status", status: 503 });
    expect(await impactOf("PageShieldPolicy", policy())).toMatchObject({
      seen: ["wouldBlock"],
      skipped: [expect.stringContaining("Listing the policies")],
    });
  });
});

describe("a secret argument", () => {
  const CANARY = "c4nary-0123456789";
  const other = { "edgeguard:apiToken": "another-token" };

  test("is in the record only as a digest that depends on its value and the credential", async () => {
    const of = async (host: string, config?: object): Promise<Impact> => {
      const value = `script-src https://${host}.example`;
      return await impactOf(
        "PageShieldPolicy",
        { ...policy(), value, __secrets: ["value"] },
        undefined,
        config,
      );
    };
    const impact = await of(CANARY);
    expect(JSON.stringify(impact)).not.toContain(CANARY);
    expect(impact.known).toEqual(DIGEST);
    expect(await of(CANARY)).toEqual(impact);
    expect((await of(`${CANARY}-2`)).known).not.toBe(impact.known);
    const elsewhere = await of(CANARY, other);
    expect(elsewhere.known).toEqual(DIGEST);
    expect(elsewhere.known).not.toBe(impact.known);
    expect(await of(CANARY, { "edgeguard:apiToken": "" })).not.toHaveProperty("known");
    expect(await impactOf("PageShieldPolicy", policy())).not.toHaveProperty("known");
  });

  test("hides the names that come from it, and their digest is keyed by the credential", async () => {
    const address = emptyNamespace(api);
    await rawSend(
      api,
      "PUT",
      `/accounts/${address.accountId}/storage/kv/namespaces/${address.namespaceId}/bulk`,
      ["theirs"].map((name) => ({ key: `${CANARY}/${name}`, value: "x" })),
    );
    const file = join(FOLDER, "entries.json");
    const inputs = { ...address, file, prune: { prefix: `${CANARY}/` }, __secrets: ["file", "prune"] };
    const of = async (key: string, more = {}, config?: object): Promise<Impact> => {
      writeFileSync(file, JSON.stringify([{ key: `${CANARY}-${key}`, value: "1" }]));
      return await impactOf("KvEntries", { ...inputs, ...more }, undefined, config);
    };
    const impact = await of("a");
    const hidden = { count: 1, names: [], digest: DIGEST };
    expect(impact).toMatchObject({ keys: hidden, added: hidden, prunes: hidden });
    expect(JSON.stringify(impact)).not.toContain(CANARY);
    expect((await of("b")).keys).not.toEqual(impact.keys);
    expect((await of("a", {}, other)).keys).not.toEqual(impact.keys);
    const shown = await of("a", { __secrets: [] });
    expect(shown).toMatchObject({
      keys: { count: 1, names: [`${CANARY}-a`], digest: DIGEST },
      prunes: { count: 1, names: [`${CANARY}/theirs`], digest: DIGEST },
    });
    expect(shown.keys?.digest).not.toBe(impact.keys?.digest);
    expect((await of("a", {}, { "edgeguard:apiToken": "" })).keys).toEqual({
      count: 1,
      names: [],
      digest: "",
    });
  });
});

describe("a list in the record", () => {
  test("has at most 20 names of at most 100 characters, and a digest of all of them", async () => {
    const of = async (last: string): Promise<Impact> => {
      const keys = [...Array.from({ length: 29 }, (_, i) => `${i}/${"k".repeat(300)}`), last];
      const entries = Object.fromEntries(keys.map((key) => [key, "1"]));
      return await impactOf("KvEntries", { ...emptyNamespace(api), entries });
    };
    const { keys } = await of("last");
    expect(keys).toMatchObject({ count: 30, digest: DIGEST });
    expect(keys?.names).toHaveLength(20);
    expect(Math.max(...(keys?.names ?? []).map((name) => name.length))).toBe(100);
    const other = (await of("other")).keys;
    expect(other?.names).toEqual(keys?.names);
    expect(other?.digest).not.toBe(keys?.digest);
  });

  test("doesn't split a character, and doesn't depend on the order", () => {
    expect(LISTED.of([`${"k".repeat(98)}🙂🙂`]).names).toEqual([`${"k".repeat(98)}…`]);
    expect(LISTED.of(["b", "a"]).digest).toBe(LISTED.of(["a", "b"]).digest);
  });

  test("adds less than 10 KB for 100,000 keys that prune deletes", async () => {
    const size = async (names: readonly string[]): Promise<number> => {
      const { inputs, outputs } = await withStandIn({ names }).up("Thing", { name: "a" });
      expect(inputs["impact"]).toMatchObject({ prunes: { count: names.length } });
      expect(outputs["impact"]).toEqual(inputs["impact"]);
      return JSON.stringify([inputs, outputs]).length;
    };
    const keys = Array.from({ length: 100_000 }, (_, i) => `${"a/long/prefix/".repeat(20)}${i}`);
    expect((await size(keys)) - (await size([]))).toBeLessThan(10_000);
  });
});

test("a refresh that reports something has a record of its own in the inputs, which the next preview follows", async () => {
  const prunes = LISTED.of(["found"]);
  const first = await withStandIn({ names: ["a"] }).up("Thing", { name: "a" });
  const refreshed = await withStandIn({ names: [], news: { prunes } }).refresh("Thing", first);
  expect(refreshed?.inputs["impact"]).toEqual({ operation: "refresh", revision: 2, seen: [], prunes });
  expect(refreshed?.outputs["impact"]).toEqual(first.outputs["impact"]);
  const next = await withStandIn({ names: ["b"] }).up("Thing", { name: "a", size: 2 }, refreshed);
  expect(next.inputs["impact"]).toMatchObject({ operation: "check", revision: 3, prunes: { names: ["b"] } });
});

/** An operation with a type that finds these names, and whose refresh reports these members. */
function withStandIn({ names, news }: { names: readonly string[]; news?: JsonObject }): Operation {
  const thing = defineResource({
    type: "Thing",
    compositeId: new CompositeId(["<ID>"]),
    schemaVersion: 1,
    upgrades: {},
    args: z.object({ name: z.string(), size: z.number().exactOptional() }),
    computed: z.object({}),
    record: { prunes: LISTED.schema },
    replaceOn: [],
    lock: ({ name }) => name,
    live: ({ ctx }): Promise<Findings> =>
      Promise.resolve({ seen: ["prunedKeys"], found: { prunes: ctx.list(names, []) } }),
    create: () => Promise.resolve({ id: "id", computed: {} }),
    read: ({ state }) => Promise.resolve({ ...state, ...(news === undefined ? {} : { impact: news }) }),
    existing: () => Promise.resolve(undefined),
    update: () => Promise.resolve({}),
    delete: () => Promise.resolve(),
  });
  return new Operation(api, { types: { Thing: thing.verbs } });
}
