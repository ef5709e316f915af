import { startLocalApi, type LocalApi } from "edgeguard-local";
import { report } from "../../provider/report/index";
import { omit, type JsonObject } from "../../provider/basics/json";
import { Operation, UNKNOWN, type Recorded } from "../support/operation";
import {
  EVERYTHING,
  found,
  list,
  many,
  planJson,
  stepOf,
  type MadeStep,
  created,
  deleted,
  wouldBlock,
} from "./plans";

/** What the preview didn't look at is a danger of its own, wherever something could be lost. */

const GATE = { failOn: ["irreversible", "unprotect", "removes", "unseen"] } as const;

const dangersIn = (...steps: MadeStep[]): string[] =>
  report(planJson(...steps), "json", GATE).dangers.map(
    ({ kind, name, sentence }) => `${kind} ${name}: ${sentence.toString()}`,
  );
const kindsIn = (...steps: MadeStep[]): string[] =>
  report(planJson(...steps), "json", GATE).dangers.map(({ kind, name }) => `${kind} ${name}`);

const FOREIGN = many(80, "product/");

let api: LocalApi;
let existing: { readonly accountId: string; readonly namespaceId: string };
beforeEach(async () => {
  api = await startLocalApi();
  existing = { accountId: api.accounts.main, namespaceId: api.namespaces.existing };
  const path = `/accounts/${existing.accountId}/storage/kv/namespaces/${existing.namespaceId}/bulk`;
  await fetch(api.url + path, {
    method: "PUT",
    headers: { authorization: "Bearer local-token", "content-type": "application/json" },
    body: JSON.stringify(FOREIGN.map((key) => ({ key, value: "theirs" }))),
  });
});
afterEach(() => api.close());

const OFF = { config: { "edgeguard:liveChecks": "false" } };

interface Declared {
  readonly recorded?: Recorded;
  readonly sources?: Readonly<Record<string, readonly string[]>>;
}

/** The step that a preview of one resource leads to. */
async function stepBy(
  operation: Operation,
  kind: string,
  name: string,
  args: JsonObject,
  { recorded, sources = {} }: Declared = {},
): Promise<MadeStep> {
  const { step, inputs } = await operation.preview(kind, { ...args, __resourceName: name }, recorded);
  const old =
    recorded === undefined
      ? {}
      : { old: recorded.inputs, outputs: recorded.outputs, state: { id: recorded.id } };
  const made = stepOf(step, kind, name, { ...old, new: inputs });
  return { ...made, newState: { ...made.newState, propertyDependencies: sources } };
}

const PRUNING = { entries: { "product/mine": "1" }, prune: { prefix: "product/" } };
const TAKING_OVER = { entries: { "product/1": "1" }, adopt: "takeOver" };
const YET = "; accepting this accepts any value of entries";
const PRUNED =
  "unseen own: may delete keys that others wrote under product/: prune wasn't compared with the namespace";
const TAKEN =
  'unseen own: may overwrite keys that others wrote: adopt: "takeOver" wasn\'t compared with the namespace';

describe("keys that others wrote that a preview didn't look for are a danger", () => {
  /** How a preview doesn't get to look. */
  const BLIND: readonly [string, (args: JsonObject) => Promise<MadeStep>, string?][] = [
    ["with edgeguard:liveChecks=false", (args) => stepBy(new Operation(api, OFF), "KvEntries", "own", args)],
    [
      "with an API that doesn't respond",
      async (args) => {
        api.fault({ kind: "status", status: 503, match: {}, times: 99 });
        return await stepBy(new Operation(api), "KvEntries", "own", args);
      },
    ],
    [
      "with an unknown argument",
      (args) => stepBy(new Operation(api), "KvEntries", "own", { ...args, verify: UNKNOWN }),
      "; accepting this accepts any value of verify",
    ],
    [
      "in a plan without what the engine's check adds",
      (args) => Promise.resolve(created("KvEntries", "own", args)),
      "; accepting this accepts any value of entries",
    ],
  ];
  test.each(BLIND)("%s", async (_, stepOfArgs, any = "") => {
    expect(dangersIn(await stepOfArgs({ ...existing, ...PRUNING }))).toEqual([`${PRUNED}${any}`]);
    expect(dangersIn(await stepOfArgs({ ...existing, ...TAKING_OVER }))).toEqual([`${TAKEN}${any}`]);
    const { failed } = report(planJson(await stepOfArgs({ ...existing, ...PRUNING })), "text", GATE);
    expect(failed).toBe(false);
    expect(
      report(planJson(await stepOfArgs({ ...existing, ...PRUNING })), "json", GATE).dangers.map(
        ({ verdict }) => verdict,
      ),
    ).toEqual(["fails"]);
  });

  test("although the engine checks a replacement twice in one preview", async () => {
    const recorded = await new Operation(api).up("KvEntries", {
      accountId: existing.accountId,
      namespaceId: (
        await new Operation(api).up("KvNamespace", { accountId: existing.accountId, title: "first" })
      ).id,
      entries: { "product/mine": "1" },
    });
    const operation = new Operation(api);
    const moved = { ...existing, ...PRUNING, __resourceName: "own" };
    expect((await operation.preview("KvEntries", moved, recorded)).step).toBe("replace");
    const { inputs } = await operation.check("KvEntries", moved);
    const step = stepOf("replace", "KvEntries", "own", { old: recorded.inputs, new: inputs });
    expect(dangersIn(step)).toContainEqual(
      expect.stringMatching(/^irreversible own: 80 keys that others wrote/),
    );
  });

  test("for an update, too, which may also delete the resource's own keys", async () => {
    const recorded = await new Operation(api).up("KvEntries", {
      ...existing,
      entries: { "product/mine": "1" },
    });
    const pruning = { ...existing, ...PRUNING };
    const seen = await stepBy(new Operation(api), "KvEntries", "own", pruning, { recorded });
    expect(dangersIn(seen)).toEqual([expect.stringMatching(/^irreversible own: 80 keys that others wrote/)]);
    const blind = await stepBy(new Operation(api, OFF), "KvEntries", "own", pruning, { recorded });
    expect(dangersIn(blind)).toEqual([PRUNED]);
    const unknown = { ...pruning, entries: { "product/mine": UNKNOWN } };
    expect(dangersIn(await stepBy(new Operation(api), "KvEntries", "own", unknown, { recorded }))).toEqual([
      `unseen own: may delete keys that it wrote: the preview couldn't compare them with the program${YET}`,
      `${PRUNED}${YET}`,
    ]);
  });
});

describe("what a preview didn't look at", () => {
  const ZONE = {
    PageShieldSettings: "shop",
    PageShieldPolicy: "shop",
    ManagedRulesetOverride: "shop",
    LogpushJob: "empty",
    LogpushTransformer: undefined,
  } as const;
  const ARGS: Readonly<Record<keyof typeof ZONE, JsonObject>> = {
    PageShieldSettings: { enabled: true, useConnectionUrlPath: false },
    PageShieldPolicy: {
      description: "own",
      action: "log",
      expression: "true",
      value: "script-src 'self'",
      adopt: "takeOver",
    },
    ManagedRulesetOverride: {
      accountId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
      ruleset: { name: "Cloudflare OWASP Core Ruleset" },
      ref: "edgeguard/site/dev/own",
      adopt: "takeOver",
    },
    LogpushJob: {
      name: "own",
      dataset: "http_requests",
      destinationConf: "https://logs.shop.example/",
      adopt: "takeOver",
    },
    LogpushTransformer: { name: "own", code: "SELECT RayID FROM http_requests", adopt: "takeOver" },
  };
  const scopeOf = (kind: keyof typeof ZONE): JsonObject => {
    const zone = ZONE[kind];
    return zone === undefined ? { accountId: api.accounts.main } : { zoneId: api.zones[zone] };
  };
  const kinds = Object.keys(ARGS) as (keyof typeof ZONE)[];

  test.each(kinds)("is a danger where a new %s could change something that exists", async (kind) => {
    const args = { ...scopeOf(kind), ...ARGS[kind] };
    const blind = await stepBy(new Operation(api, OFF), kind, "own", args);
    expect(kindsIn(blind)).toEqual(["unseen own"]);
    const seen = await stepBy(new Operation(api), kind, "own", args);
    expect(kindsIn(seen).filter((danger) => danger.startsWith("unseen"))).toEqual([]);
  });

  test("isn't a danger where a new resource can change nothing that exists", async () => {
    const plain: readonly [string, JsonObject][] = [
      ...kinds.map((kind): [string, JsonObject] => {
        const args = omit(ARGS[kind], ["adopt", "useConnectionUrlPath"]);
        return [kind, { ...scopeOf(kind), ...args }];
      }),
      ["KvNamespace", { accountId: existing.accountId, title: "plain" }],
      ["KvEntries", { ...existing, entries: { "own/a": "1" } }],
      ["WafMigration", { zoneId: api.zones.shop, target: "assessed" }],
    ];
    for (const [kind, args] of plain)
      expect(dangersIn(await stepBy(new Operation(api, OFF), kind, "own", args))).toEqual([]);
  });

  test("is a danger if an allow policy changes", async () => {
    const policy = { zoneId: api.zones.blog, ...ARGS.PageShieldPolicy, adopt: "ifEqual", action: "allow" };
    const recorded = await new Operation(api).up("PageShieldPolicy", policy);
    const changed = { ...policy, value: "script-src 'self' cdn.example" };
    const blind = await stepBy(new Operation(api, OFF), "PageShieldPolicy", "own", changed, { recorded });
    expect(kindsIn(blind)).toContain("unseen own");
    const seen = await stepBy(new Operation(api), "PageShieldPolicy", "own", changed, { recorded });
    expect(kindsIn(seen)).not.toContain("unseen own");
    const renamed = { ...policy, description: "renamed" };
    const harmless = await stepBy(new Operation(api, OFF), "PageShieldPolicy", "own", renamed, { recorded });
    expect(dangersIn(harmless)).toEqual([expect.stringMatching(/may take back what someone changed/)]);
  });
});

describe("entries of a namespace in the same plan", () => {
  const OF_ANY = [PRUNED, TAKEN].map(
    (danger) => `${danger}; accepting this accepts any value of namespaceId`,
  );
  /** The plan of a namespace and of entries that prune it and take over its keys. */
  async function inNamespace(args: JsonObject, options = {}): Promise<MadeStep[]> {
    const operation = new Operation(api, options);
    const namespace = { accountId: existing.accountId, ...args };
    const first = await stepBy(operation, "KvNamespace", "ns", namespace);
    const sources = { namespaceId: [first.urn] };
    const entries = { accountId: existing.accountId, namespaceId: UNKNOWN, ...PRUNING, adopt: "takeOver" };
    return [first, await stepBy(operation, "KvEntries", "own", entries, { sources })];
  }
  const title = async (): Promise<string> => {
    const { result } = (await (
      await fetch(`${api.url}/accounts/${existing.accountId}/storage/kv/namespaces/${existing.namespaceId}`, {
        headers: { authorization: "Bearer local-token" },
      })
    ).json()) as { result: { title: string } };
    return result.title;
  };

  test("are a danger if it exists and is taken over with 80 keys that others wrote", async () => {
    const steps = await inNamespace({ title: await title(), adopt: "takeOver" });
    expect(dangersIn(...steps)).toEqual(OF_ANY);
  });

  test("are a danger if it may exist, because the preview didn't look", async () => {
    expect(dangersIn(...(await inNamespace({ title: "new", adopt: "takeOver" }, OFF)))).toEqual(OF_ANY);
  });

  test("aren't a danger if it's new, or can't have keys that others wrote", async () => {
    expect(dangersIn(...(await inNamespace({ title: "new" })))).toEqual([]);
    expect(dangersIn(...(await inNamespace({ title: "new", adopt: "takeOver" })))).toEqual([]);
    expect(dangersIn(...(await inNamespace({ title: "new" }, OFF)))).toEqual([]);
  });

  test("are a danger if it's replaced under the same title, and so is found again with its keys", async () => {
    const [first, second] = await inNamespace({ title: "same" });
    const { inputs } = first?.newState ?? {};
    if (first === undefined || second === undefined) throw new Error("no steps");
    const replaced = { ...first, op: "replace", oldState: { custom: true, inputs: inputs as JsonObject } };
    expect(dangersIn(replaced, second).filter((danger) => danger.startsWith("unseen"))).toEqual(OF_ANY);
  });

  test("are a danger if their namespace comes from two resources, or from another class", async () => {
    const [first, second] = await inNamespace({ title: "new" });
    if (first === undefined || second === undefined) throw new Error("no steps");
    const other = { ...first, urn: `${first.urn}-2` };
    const from = (...urns: string[]): MadeStep => ({
      ...second,
      newState: { ...second.newState, propertyDependencies: { namespaceId: urns } },
    });
    expect(dangersIn(first, other, from(first.urn, other.urn))).toEqual(OF_ANY);
    expect(dangersIn(first, second, from(second.urn))).toContain(OF_ANY[0]);
    expect(dangersIn(first, from())).toEqual(OF_ANY);
  });
});

describe("a KvEntries that goes as a whole", () => {
  const NAMES = many(40);
  const keys = found({ keys: list(...NAMES) });
  const args = { accountId: "a", namespaceId: "n" };
  const old = { ...args, keys: 40 };
  const gone = (kind = "delete", next?: JsonObject): MadeStep =>
    stepOf(kind, "KvEntries", "old", {
      old,
      outputs: { ...old, ...keys },
      ...(next === undefined ? {} : { new: next }),
    });
  const REMOVES = "removes old: all 40 keys that it wrote are deleted";

  test("is as much a danger as deleting each of its keys", () => {
    expect(dangersIn(gone())).toEqual(
      [REMOVES, "delete old: "].map((each) => expect.stringContaining(each) as string),
    );
    expect(dangersIn(gone("replace", { ...args, namespaceId: "m", keys: 40, ...keys }))).toEqual([
      REMOVES,
      expect.stringMatching(/^replace old/),
    ]);
    expect(kindsIn(stepOf("delete", "KvEntries", "old", { old, state: { retainOnDelete: true } }))).toEqual(
      [],
    );
  });

  test("is a danger if the state doesn't say how many keys it wrote, or says it of before an interrupted update", () => {
    expect(kindsIn(deleted("KvEntries", "old", args))).toEqual(["unseen old", "delete old"]);
    const interrupted = { old: { ...args, keys: 1 }, state: { initErrors: ["the update was interrupted"] } };
    expect(kindsIn(stepOf("delete", "KvEntries", "old", interrupted))).toEqual(["unseen old", "delete old"]);
  });

  test("isn't a danger if another resource declares the same keys in the same namespace", () => {
    const renamed = (...names: string[]): MadeStep =>
      created("KvEntries", "new", { ...args, keys: 40, ...found({ keys: list(...names) }) });
    expect(kindsIn(gone(), renamed(...NAMES))).toEqual(["delete old"]);
    expect(kindsIn(gone(), renamed(...many(39)))).toEqual(["removes old", "delete old"]);
    expect(kindsIn(gone(), renamed(...many(40, "other/")))).toEqual(["removes old", "delete old"]);
    const elsewhere = renamed(...NAMES);
    const inputs = { ...(elsewhere.newState?.["inputs"] as JsonObject), namespaceId: "m" };
    expect(kindsIn(gone(), { ...elsewhere, newState: { custom: true, inputs } })).toEqual([
      "removes old",
      "delete old",
    ]);
  });
});

describe("a record that isn't from this plan's preview counts as not seen:", () => {
  const old = { namespaceId: "n", keys: 5 };
  const update = (next: JsonObject, before: JsonObject = {}, state: JsonObject = {}): MadeStep =>
    stepOf("update", "KvEntries", "own", { old: { ...old, ...before }, new: { ...old, ...next }, state });
  const UNSEEN = ["unseen own"];
  test.each<[string, string[], MadeStep]>([
    ["none", UNSEEN, update({})],
    ["this one's", [], update(found())],
    ["an earlier operation's", UNSEEN, update(found(), found())],
    ["the next one's", [], update(found({ revision: 2 }), found())],
    ["a refresh's", UNSEEN, update(found({ operation: "refresh" }))],
    ["a broken one", UNSEEN, update(found({ removed: "none" }))],
    ["an unknown one", UNSEEN, update({ impact: UNKNOWN })],
    ["one after an interrupted update", UNSEEN, update(found(), {}, { initErrors: ["boom"] })],
    [
      "one that didn't look at its own keys",
      UNSEEN,
      update(found({ seen: EVERYTHING.filter((each) => each !== "ownKeys") })),
    ],
  ])("%s", (_, dangers, step) => {
    expect(kindsIn(step)).toEqual(dangers);
  });

  test("a replacement is checked like a new resource, so its record may equal the last one", () => {
    const inputs = { ...old, prune: { prefix: "" }, ...found() };
    const step = stepOf("replace", "KvEntries", "own", { old: inputs, new: { ...inputs, namespaceId: "m" } });
    expect(kindsIn(step)).toEqual(["replace own"]);
  });
});

describe("two different losses never share a digest:", () => {
  const digestOf = (step: MadeStep): string | undefined => report(planJson(step), "json").digest;
  const entries = (members: JsonObject, more: JsonObject = {}): MadeStep =>
    stepOf("update", "KvEntries", "own", {
      old: { namespaceId: "n", keys: 60 },
      new: { namespaceId: "n", keys: 20, ...more, ...found(members) },
    });
  const policy = (url: string): MadeStep =>
    created("PageShieldPolicy", "own", {
      zoneId: "z",
      action: "allow",
      ...found({ wouldBlock: wouldBlock(6, many(5, "https://a.example/"), url) }),
    });
  const long = (end: string): string => `http.request.uri.path in {"${"/long".repeat(80)}" "${end}"}`;
  const rule = (end: string): MadeStep =>
    stepOf("update", "ManagedRulesetOverride", "own", {
      old: { zoneId: "z", ruleset: { name: "OWASP" }, expression: "true" },
      new: { zoneId: "z", ruleset: { name: "OWASP" }, expression: long(end), ...found() },
    });
  const whole = (last: string): MadeStep => {
    const old = { namespaceId: "n", keys: 41, ...found({ keys: list(...many(40), last) }) };
    return deleted("KvEntries", "own", old);
  };
  test.each<[string, (end: string) => MadeStep]>([
    ["pruned keys after the twentieth", (end) => entries({ prunes: list(...many(40), end) })],
    ["pruned keys with the same beginning", (end) => entries({ prunes: list("k".repeat(400) + end) })],
    ["overwritten keys", (end) => entries({ overwrites: list(...many(40), end) }, { adopt: "takeOver" })],
    ["the resource's own keys", (end) => entries({ removed: list(...many(40), end) })],
    ["the keys of a deleted resource", whole],
    ["the end of a long expression", rule],
    ["scripts after the fifth", policy],
  ])("%s", (_, step) => {
    expect(digestOf(step("a"))).toMatch(/^[0-9a-f]{64}$/);
    expect(digestOf(step("a"))).toBe(digestOf(step("a")));
    expect(digestOf(step("a"))).not.toBe(digestOf(step("b")));
  });
});
