import { startLocalApi } from "edgeguard-local";
import { report } from "../../provider/report";
import { Operation, rawSend, UNKNOWN } from "../support/operation";
import {
  diagnostic,
  found,
  list,
  many,
  refreshedJson,
  stepOf,
  type MadeStep,
  created,
  dangersOf,
  sentencesOf,
} from "./plans";

/** What counts as a danger of namespaces and keys, and what doesn't. */

describe("the report on a namespace", () => {
  const data = { accountId: "a", title: "catalog" };
  test.each<[string, string[], MadeStep[]]>([
    ["is created", [], [created("KvNamespace", "n", { ...data, forceDestroy: true })]],
    [
      "is deleted, or stops the update if others wrote keys to it",
      ["irreversible n", "delete n"],
      [stepOf("delete", "KvNamespace", "n", { old: data })],
    ],
    [
      "is deleted with its keys",
      ["irreversible n", "delete n"],
      [stepOf("delete", "KvNamespace", "n", { old: { ...data, forceDestroy: true } })],
    ],
    [
      "is retained",
      [],
      [
        stepOf("delete", "KvNamespace", "n", {
          old: { ...data, forceDestroy: true },
          state: { retainOnDelete: true },
        }),
      ],
    ],
    [
      "is renamed",
      [],
      [
        stepOf("delete", "KvNamespace", "n", { old: { ...data, forceDestroy: true }, state: { id: "own" } }),
        created("KvNamespace", "m", {
          ...data,
          adopted: { object: "namespace own", onDestroy: "keeps it" },
        }),
      ],
    ],
    [
      "gives way to one with its title, which nobody proved to be the same",
      ["irreversible n", "delete n"],
      [
        stepOf("delete", "KvNamespace", "n", { old: { ...data, forceDestroy: true } }),
        created("KvNamespace", "m", data),
      ],
    ],
    ...[{ preview: true }, { jurisdiction: "eu" }].map((more): [string, string[], MadeStep[]] => [
      `gives way to one with ${JSON.stringify(more)}`,
      ["irreversible n", "delete n"],
      [
        stepOf("delete", "KvNamespace", "n", { old: data }),
        created("KvNamespace", "m", { ...data, ...more }),
      ],
    ]),
    [
      "is replaced",
      ["irreversible n", "replace n"],
      [stepOf("replace", "KvNamespace", "n", { old: data, new: { ...data, accountId: "b" } })],
    ],
    [
      "moves to an account that only the update knows",
      ["irreversible n", "replace n"],
      [stepOf("update", "KvNamespace", "n", { old: data, new: { ...data, accountId: UNKNOWN } })],
    ],
    [
      "an interrupted replacement left behind",
      ["irreversible n", "delete n"],
      [stepOf("delete-replaced", "KvNamespace", "n", { old: { ...data, forceDestroy: true } })],
    ],
  ])("lists the expected dangers of a namespace that %s", (_, dangers, steps) => {
    expect(dangersOf(...steps)).toEqual(dangers);
  });
});

describe("the report on KV entries", () => {
  const NAMESPACE = "5a0c1e7f3b2d4968a7e1c0f2d3b4b601";
  const of = (name: string, keys: number, more: object = found()): MadeStep =>
    stepOf("update", "KvEntries", name, {
      old: { namespaceId: NAMESPACE, keys: 5 },
      new: { namespaceId: NAMESPACE, keys, ...more },
    });
  const changes = (added: string[], changed: string[], removed: string[]): object =>
    found({ added: list(...added), changed: list(...changed), removed: list(...removed) });
  const reportOn = (...steps: MadeStep[]): string => report(refreshedJson(...steps), "markdown").text;

  test("shows which keys change, even if keys were both added and deleted", () => {
    expect(reportOn(of("one", 9, changes(["a"], [], ["b", "c", "d"])))).toContain(
      "<b>one</b>: +1 ~0 -3 (<code>+a</code>, <code>-b</code>, <code>-c</code>, <code>-d</code>)",
    );
  });

  test("says that removed keys may stay, if another resource in the plan may declare them", () => {
    const sentence = "all 10 keys that it wrote are deleted";
    const before = { namespaceId: NAMESPACE, keys: 10 };
    const cut = stepOf("update", "KvEntries", "one", {
      old: before,
      new: { ...before, keys: 0, ...changes([], [], many(10)) },
    });
    const beside = (step: MadeStep): string => reportOn(cut, step);
    const unless = " unless another resource in the plan declares them";
    expect(beside(created("KvEntries", "two", before))).toContain(sentence + unless);
    expect(beside(of("two", 6, changes(["a"], [], [])))).toContain(sentence + unless);
    expect(beside(of("two", 4, changes([], [], ["a"])))).not.toContain(unless);
    expect(beside(created("KvEntries", "two", { ...before, namespaceId: "0".repeat(32) }))).not.toContain(
      unless,
    );
  });

  test.each<[string, string[], number, number, object]>([
    ["all of their keys", ["all 900 keys that it wrote are deleted"], 900, 0, changes([], [], many(900))],
    [
      "ten keys, half of theirs",
      ["10 of 20 keys that it wrote are deleted"],
      20,
      10,
      changes([], [], many(10)),
    ],
    [
      "as many keys as they add",
      ["10 of 20 keys that it wrote are deleted"],
      20,
      20,
      changes(many(10, "new/"), [], many(10)),
    ],
    ["nine keys", [], 9, 0, changes([], [], many(9))],
    ["less than half of their keys", [], 21, 11, changes([], [], many(10))],
  ])("lists the expected dangers of entries that delete %s", (_, dangers, before, after, more) => {
    const step = stepOf("update", "KvEntries", "one", {
      old: { namespaceId: NAMESPACE, keys: before },
      new: { namespaceId: NAMESPACE, keys: after, ...more },
    });
    const plan = refreshedJson(step);
    const said = report(plan, "json").dangers.map(({ kind, sentence }) => `${kind} ${sentence.toString()}`);
    expect(said).toEqual(dangers.map((sentence) => `removes ${sentence}`));
    expect(report(plan, "json", { keys: 1000 }).dangers).toEqual([]);
    expect(report(plan, "json", { keys: 1, share: 0.01 }).dangers).toHaveLength(1);
  });

  test("counts keys that lose their values, together with those that are deleted", () => {
    const step = (emptied: number): MadeStep =>
      stepOf("update", "KvEntries", "one", {
        old: { namespaceId: NAMESPACE, keys: 20 },
        new: {
          namespaceId: NAMESPACE,
          ...found({ removed: list(...many(4)), emptied: list(...many(emptied)) }),
        },
      });
    expect(sentencesOf("removes", step(5))).toEqual([]);
    expect(sentencesOf("removes", step(12))).toEqual([
      "12 of 20 keys that it wrote lose their values",
      "4 of 20 keys that it wrote are deleted",
    ]);
  });

  test("says that entries delete their only key", () => {
    const step = stepOf("update", "KvEntries", "one", {
      old: { namespaceId: NAMESPACE, keys: 1 },
      new: { namespaceId: NAMESPACE, keys: 0, ...changes([], [], ["a"]) },
    });
    const [danger] = report(refreshedJson(step), "json", { keys: 1 }).dangers;
    expect(danger?.sentence.toString()).toBe("the only key that it wrote is deleted");
  });

  test("shows each resource's own keys, even if resources in two components share a name", () => {
    const [first, second] = [
      of("one", 6, changes(["a"], [], [])),
      of("one", 6, changes(["b"], ["c", "d"], [])),
    ];
    const urn = second.urn.replace("::pulumi", "::team:Site$pulumi");
    const text = reportOn(first, of("two: eu", 6, changes(["e"], [], [])), { ...second, urn });
    expect(text).toContain("<b>one</b>: +1 ~0 -0 (<code>+a</code>)");
    expect(text).toContain("<b>one</b>: +1 ~2 -0 (<code>+b</code>, <code>~c</code>, <code>~d</code>)");
    expect(text).toContain("<b>two: eu</b>: +1 ~0 -0 (<code>+e</code>)");
  });

  test("shows which keys written by others are pruned, each under its own prefix", () => {
    const prunes = (prefix: string, ...keys: string[]): object => ({
      prune: { prefix },
      ...found({ prunes: list(...keys) }),
    });
    const steps = [
      of("one", 5, prunes("a/", "a/x")),
      of("two", 5, prunes("b/", ...many(1200, "b/"))),
      of("none", 5),
    ];
    const warning = diagnostic(
      'edgeguard: KvEntries one: prune deletes 1 key that others wrote: "a/x"',
      "info#err",
    );
    const { dangers, text } = report(JSON.stringify({ steps, diagnostics: [warning] }), "markdown");
    expect(dangers.map(({ kind, name, sentence }) => `${kind} ${name}: ${sentence.toString()}`)).toEqual([
      `irreversible one: 1 key that others wrote under a/ will be deleted: a/x`,
      `irreversible two: 1,200 keys that others wrote under b/ will be deleted: ${many(10, "b/").join(", ")}, …`,
    ]);
    expect(text).not.toContain("warning");
  });

  test.each(["products: prune deletes nothing", "one\ntwo", "x: +0 ~0 -0", "KvEntries one"])(
    "shows the pruned keys of a resource with the name %j",
    (name) => {
      const step = of(name, 5, { prune: { prefix: "a/" }, ...found({ prunes: list("a/x") }) });
      const { dangers } = report(refreshedJson(step), "json");
      expect(dangers.map(({ kind, sentence }) => `${kind}: ${sentence.toString()}`)).toEqual([
        `irreversible: 1 key that others wrote under a/ will be deleted: a/x`,
      ]);
    },
  );

  test("finds the danger in what a preview finds out today", async () => {
    const api = await startLocalApi();
    try {
      const address = { accountId: api.accounts.main, namespaceId: api.namespaces.existing };
      const args = { ...address, __resourceName: "own" };
      const first = { ...args, entries: { "config/a": "1", "plain/b": "2" } };
      const recorded = await new Operation(api).up("KvEntries", first);
      const operation = new Operation(api);
      const changed = {
        ...args,
        entries: { "config/a": "0", "config/c": "3", "config/d": "4" },
        prune: { prefix: "config/" },
      };
      const { inputs } = await operation.preview("KvEntries", changed, recorded);
      const { inputs: old, outputs } = recorded;
      const step = stepOf("update", "KvEntries", "own", { old, outputs, new: inputs });
      const { dangers, text } = report(refreshedJson(step), "markdown");
      expect(text).toContain(
        "<b>own</b>: +2 ~1 -1 (<code>+config/c</code>, <code>+config/d</code>, <code>~config/a</code>, <code>-plain/b</code>)",
      );
      expect(dangers.map(({ sentence }) => sentence.toString())).toEqual([
        `1 key that others wrote under config/ will be deleted: config/checkout`,
      ]);
      // The warning says the same, so the report doesn't repeat it.
      const diagnostics = operation.warned.map((line) => diagnostic(line, "info#err"));
      expect(operation.warned.join()).toContain("prune deletes 1 key");
      expect(report(JSON.stringify({ steps: [step], diagnostics }), "markdown").text).toBe(text);
    } finally {
      await api.close();
    }
  });

  describe("with a TTL or an expiration", () => {
    const later = Math.floor(Date.now() / 1000) + 86_400;
    const text = Object.fromEntries(many(12, "own/").map((key) => [key, "v"]));
    const each = (more: object): object =>
      Object.fromEntries(Object.keys(text).map((key) => [key, { value: "v", ...more }]));
    const dangersAfter = async (before: object, after: object, drift: boolean): Promise<string[]> => {
      const api = await startLocalApi();
      try {
        const path = `/accounts/${api.accounts.main}/storage/kv/namespaces/${api.namespaces.existing}`;
        const args = {
          accountId: api.accounts.main,
          namespaceId: api.namespaces.existing,
          __resourceName: "own",
        };
        let recorded = await new Operation(api).up("KvEntries", { ...args, ...before });
        if (drift) {
          await rawSend(
            api,
            "PUT",
            `${path}/bulk`,
            Object.keys(text).map((key) => ({ key, value: "theirs" })),
          );
          api.advance(100_000);
          recorded = (await new Operation(api).refresh("KvEntries", recorded)) ?? recorded;
          expect(recorded.inputs).toHaveProperty("drift");
        }
        const { inputs } = await new Operation(api).preview("KvEntries", { ...args, ...after }, recorded);
        const { inputs: old, outputs } = recorded;
        return sentencesOf("removes", stepOf("update", "KvEntries", "own", { old, outputs, new: inputs }));
      } finally {
        await api.close();
      }
    };
    const ALL = "all 12 keys that it wrote will expire, the first";

    test.each<[string, object, object, string]>([
      [
        "a new default TTL",
        { entries: text },
        { entries: text, defaults: { expirationTtl: 60 } },
        "60 s after the update",
      ],
      ["new TTLs", { entries: text }, { entries: each({ expirationTtl: 3600 }) }, "3,600 s after the update"],
      [
        "shorter TTLs",
        { entries: each({ expirationTtl: 7200 }) },
        { entries: each({ expirationTtl: 3600 }) },
        "3,600 s after the update",
      ],
      [
        "new expirations",
        { entries: text },
        { entries: each({ expiration: later }) },
        `at ${new Date(later * 1000).toISOString()}`,
      ],
    ])("are a danger because of %s", async (_, before, after, when) => {
      expect(await dangersAfter(before, after, false)).toEqual([`${ALL} ${when}`]);
    });

    test.each<[string, object, object]>([
      ["longer TTLs", { entries: each({ expirationTtl: 3600 }) }, { entries: each({ expirationTtl: 7200 }) }],
      ["no TTLs anymore", { entries: each({ expirationTtl: 3600 }) }, { entries: text }],
      [
        "later expirations",
        { entries: each({ expiration: later }) },
        { entries: each({ expiration: later + 60 }) },
      ],
      [
        "the TTLs that they had",
        { entries: each({ expirationTtl: 3600 }) },
        { entries: each({ value: "w", expirationTtl: 3600 }) },
      ],
      [
        "the TTLs that someone else removed",
        { entries: each({ expirationTtl: 3600 }) },
        { entries: each({ expirationTtl: 3600 }) },
      ],
    ])("are no danger with %s", async (what, before, after) => {
      expect(await dangersAfter(before, after, what.includes("someone else"))).toEqual([]);
    });

    test("are a danger if they have already expired, because the update deletes them", async () => {
      expect(await dangersAfter({ entries: text }, { entries: each({ expiration: 1 }) }, false)).toEqual([
        "all 12 keys that it wrote are deleted",
      ]);
    });
  });

  test("shows overwritten keys of another program as a danger", async () => {
    const api = await startLocalApi();
    try {
      const operation = new Operation(api);
      const { inputs } = await operation.preview("KvEntries", {
        accountId: api.accounts.main,
        namespaceId: api.namespaces.existing,
        __resourceName: "own",
        entries: { "config/checkout": "mine", "config/new": "mine" },
        adopt: "takeOver",
      });
      const diagnostics = operation.warned.map((line) => diagnostic(line, "info#err"));
      const step = created("KvEntries", "own", inputs);
      const { dangers, text } = report(JSON.stringify({ steps: [step], diagnostics }), "markdown");
      expect(dangers.map(({ kind, sentence }) => `${kind}: ${sentence.toString()}`)).toEqual([
        `irreversible: 1 existing key will be overwritten: config/checkout`,
      ]);
      expect(text).not.toContain("warning");
    } finally {
      await api.close();
    }
  });

  test("shows which keys are adopted, and that a destroy deletes them", () => {
    expect(reportOn(of("one", 5, found({ adopts: list("a", "b") })))).toContain(
      "2 existing keys will be adopted unchanged: `a`, `b`. Destroying the resource deletes the keys that it adopted.",
    );
  });

  test("keeps the prune warning of a resource that isn't in the plan", () => {
    const diagnostics = [
      diagnostic('edgeguard: KvEntries other: prune deletes 1 key that others wrote: "a/x"', "info#err"),
    ];
    expect(report(JSON.stringify({ steps: [of("one", 5)], diagnostics }), "markdown").text).toContain(
      "prune deletes 1 key",
    );
  });
});
