import { startLocalApi } from "edgeguard-local";
import { report, type DangerKind } from "../../provider/report";
import { stateIn } from "../../provider/report/sections/waf-migration";
import { Operation, UNKNOWN } from "../support/operation";
import { own, planOf, said, type MadeStep } from "./plans";

/** What a reviewer must not miss, and what is no reason to wake them. */

const ZONE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const OTHER = "5a0c1e7f3b2d4968a7e1c0f2d3b4a502";

const judged = (...steps: MadeStep[]): string[] =>
  report(planOf(...steps), "json").dangers.map(({ kind, name }) => `${kind} ${name}`);
const sentences = (kind: DangerKind, ...steps: MadeStep[]): string[] =>
  report(planOf(...steps), "json")
    .dangers.filter((danger) => danger.kind === kind)
    .map(({ sentence }) => sentence.toString());

describe("a namespace", () => {
  const data = { accountId: "a", title: "catalog" };
  test.each<[string, string[], MadeStep[]]>([
    ["is new", [], [own("create", "KvNamespace", "n", { new: { ...data, forceDestroy: true } })]],
    ["is deleted, if empty", ["delete n"], [own("delete", "KvNamespace", "n", { old: data })]],
    [
      "is deleted with its keys",
      ["irreversible n", "delete n"],
      [own("delete", "KvNamespace", "n", { old: { ...data, forceDestroy: true } })],
    ],
    [
      "is left in place",
      [],
      [
        own("delete", "KvNamespace", "n", {
          old: { ...data, forceDestroy: true },
          state: { retainOnDelete: true },
        }),
      ],
    ],
    [
      "is taken over under another name",
      ["delete n"],
      [
        own("delete", "KvNamespace", "n", { old: { ...data, forceDestroy: true } }),
        own("create", "KvNamespace", "m", { new: data }),
      ],
    ],
    [
      "is replaced",
      ["irreversible n", "replace n"],
      [own("replace", "KvNamespace", "n", { old: data, new: { ...data, accountId: "b" } })],
    ],
    [
      "is what an interrupted replacement left",
      ["irreversible n", "delete n"],
      [own("delete-replaced", "KvNamespace", "n", { old: { ...data, forceDestroy: true } })],
    ],
  ])("that %s", (_, dangers, steps) => {
    expect(judged(...steps)).toEqual(dangers);
  });
});

describe("page security that another resource takes over under a new name", () => {
  const policy = {
    zoneId: ZONE,
    description: "p",
    action: "allow",
    expression: "true",
    value: "script-src 'self'",
  };
  const settings = { zoneId: ZONE, enabled: true };
  const before = { outputs: { previous: { enabled: false } } };
  test.each<[string, string[], MadeStep[]]>([
    [
      "goes on blocking",
      ["delete old"],
      [
        own("delete", "PageShieldPolicy", "old", { old: policy }),
        own("create", "PageShieldPolicy", "new", { new: policy }),
      ],
    ],
    [
      "no longer blocks as another policy",
      ["unprotect old", "delete old"],
      [
        own("delete", "PageShieldPolicy", "old", { old: policy }),
        own("create", "PageShieldPolicy", "new", { new: { ...policy, action: "log" } }),
      ],
    ],
    [
      "stays on",
      ["delete old"],
      [
        own("delete", "PageShieldSettings", "old", { old: settings, ...before }),
        own("create", "PageShieldSettings", "new", { new: { ...settings, useConnectionUrlPath: true } }),
      ],
    ],
    [
      "is switched off by its heir",
      ["unprotect old", "delete old"],
      [
        own("delete", "PageShieldSettings", "old", { old: settings }),
        own("create", "PageShieldSettings", "new", { new: { ...settings, enabled: false } }),
      ],
    ],
    [
      "is switched off without one",
      ["unprotect old", "delete old"],
      [own("delete", "PageShieldSettings", "old", { old: settings, ...before })],
    ],
  ])("%s", (_, dangers, steps) => {
    expect(judged(...steps)).toEqual(dangers);
  });

  test("puts nothing back, and says nothing of it", () => {
    const heir = own("create", "PageShieldSettings", "new", { new: settings });
    const gone = own("delete", "PageShieldSettings", "old", { old: settings, ...before });
    expect(report(planOf(gone), "markdown").text).toContain("| setting | now | then |");
    expect(report(planOf(gone, heir), "markdown").text).not.toContain("| setting | now | then |");
  });
});

describe("a log-push job is told as it is", () => {
  const filter = (...groups: string[][]): string =>
    JSON.stringify({
      where: {
        or: groups.map((names) => ({ and: names.map((key) => ({ key, operator: "eq", value: "1" })) })),
      },
    });
  const job = (sides: Record<string, unknown>): Record<string, unknown> => ({
    dataset: "http_requests",
    ...sides,
  });
  const change = (old: Record<string, unknown>, next: Record<string, unknown>): string =>
    report(planOf(own("update", "LogpushJob", "j", { old: job(old), new: job(next) })), "markdown").text;

  test("where a condition goes that stays in another group", () => {
    const text = change({ filter: filter(["A", "X"], ["B", "X"]) }, { filter: filter(["A", "X"], ["B"]) });
    expect(text).not.toContain("the same conditions");
    expect(text).toMatch(/What changes in that:\n\n```diff\n- +X eq "1"\n```/);
  });

  test("where its options are not known yet, or a secret", () => {
    const old = { outputOptions: { fieldNames: ["ClientIP"], sampleRate: 0.5 } };
    for (const outputOptions of [UNKNOWN, "[secret]", { fieldNames: UNKNOWN }, { fieldNames: "[secret]" }]) {
      const text = change(old, { outputOptions });
      expect(text).not.toContain("No fields are named any more");
      expect(text).toMatch(/known after apply|\\\[secret\\\]/);
    }
  });
});

describe("a managed ruleset stops acting", () => {
  const rule = { zoneId: ZONE, ruleset: { name: "OWASP" }, enabled: true };
  const outputs = { ruleId: "r1", otherManagedRules: [] };
  const gone = own("delete", "ManagedRulesetOverride", "one", { old: rule, outputs });
  const owasp = { ...rule, ruleset: { name: "another" } };
  const executes = (id: string, overrides: object): object => ({
    id: "r1",
    action: "execute",
    action_parameters: { id, overrides },
    expression: "true",
  });
  const REMOVED = `OWASP of zone ${ZONE} is removed`;
  const LAST = "the zone is left without a managed ruleset";
  const found = { ruleId: "r9", rulesetId: "x", ref: "team/rule", description: "of the team" };

  test.each<[string, string[], MadeStep[]]>([
    ["when the only one is deleted", [`${REMOVED}; ${LAST}`], [gone]],
    [
      "when it is switched off",
      [`OWASP of zone ${ZONE} is switched off; ${LAST}`],
      [
        own("update", "ManagedRulesetOverride", "one", {
          old: rule,
          new: { ...rule, enabled: false },
          outputs,
        }),
      ],
    ],
    [
      "when it moves to another zone",
      [`${REMOVED}; ${LAST}`],
      [
        own("replace", "ManagedRulesetOverride", "one", {
          old: rule,
          new: { ...rule, zoneId: OTHER },
          outputs,
        }),
      ],
    ],
    [
      "although another ruleset stays",
      [`${REMOVED}; what else runs there doesn't replace it: another`],
      [gone, own("same", "ManagedRulesetOverride", "two", { old: owasp, new: owasp })],
    ],
    [
      "although another ruleset comes",
      [`${REMOVED}; what else runs there doesn't replace it: another`],
      [gone, own("create", "ManagedRulesetOverride", "two", { new: owasp })],
    ],
    [
      "not when it only gets another name",
      [],
      [gone, own("create", "ManagedRulesetOverride", "two", { new: rule })],
    ],
    [
      "when the other is off",
      [`${REMOVED}; ${LAST}`],
      [
        gone,
        own("same", "ManagedRulesetOverride", "two", {
          old: { ...rule, enabled: false },
          new: { ...rule, enabled: false },
        }),
      ],
    ],
    [
      "not when it was off before",
      [],
      [own("delete", "ManagedRulesetOverride", "one", { old: { ...rule, enabled: false }, outputs })],
    ],
    [
      "not when it is kept",
      [],
      [own("delete", "ManagedRulesetOverride", "one", { old: { ...rule, onDestroy: "keep" }, outputs })],
    ],
    [
      "not when it was taken over and is put back",
      [],
      [own("delete", "ManagedRulesetOverride", "one", { old: rule, outputs: { ...outputs, previous: {} } })],
    ],
    [
      "when it was taken over, and what is put back does less",
      ["OWASP protects less: all rules action block → log"],
      [
        own("delete", "ManagedRulesetOverride", "one", {
          old: { ...rule, action: "block" },
          outputs: { ...outputs, rulesetId: "o", previous: { rule: executes("o", { action: "log" }) } },
        }),
      ],
    ],
    [
      "when it is to be restored, and there is nothing to put back",
      [`${REMOVED}; ${LAST}`],
      [own("delete", "ManagedRulesetOverride", "one", { old: { ...rule, onDestroy: "restore" }, outputs })],
    ],
    [
      "when it was taken over and is removed",
      [`${REMOVED}; ${LAST}`],
      [
        own("delete", "ManagedRulesetOverride", "one", {
          old: { ...rule, onDestroy: "remove" },
          outputs: { ...outputs, previous: {} },
        }),
      ],
    ],
  ])("%s", (_, expected, steps) => {
    expect(sentences("unprotect", ...steps)).toEqual(expected);
  });

  test("what others have there is named, unless it leaves as well", () => {
    const second = own("delete", "ManagedRulesetOverride", "two", {
      old: owasp,
      outputs: { ...outputs, ruleId: "r9" },
    });
    const first = own("delete", "ManagedRulesetOverride", "one", {
      old: rule,
      outputs: { ...outputs, otherManagedRules: [found] },
    });
    expect(sentences("unprotect", first, second)).toEqual([
      `${REMOVED}; ${LAST}`,
      `another of zone ${ZONE} is removed; ${LAST}`,
    ]);
    expect(sentences("unprotect", first)).toEqual([
      `${REMOVED}; when the zone was last looked at, there were also "of the team"`,
    ]);
  });
});

describe("page security", () => {
  const policy = {
    zoneId: ZONE,
    description: "www",
    action: "allow",
    enabled: true,
    value: "script-src 'self'",
  };
  const wouldBlock = { count: 7, scripts: ["https://a.example/a.js"] };
  const settings = { zoneId: ZONE, enabled: true };
  const previous = { previous: { enabled: false } };
  test.each<[string, string[], MadeStep]>([
    [
      "blocks what is loaded today",
      ["blocks p"],
      own("create", "PageShieldPolicy", "p", { new: { ...policy, wouldBlock } }),
    ],
    [
      "blocks nothing",
      [],
      own("create", "PageShieldPolicy", "p", { new: { ...policy, wouldBlock: { count: 0, scripts: [] } } }),
    ],
    [
      "would block, but is off",
      [],
      own("create", "PageShieldPolicy", "p", { new: { ...policy, enabled: false, wouldBlock } }),
    ],
    [
      "only reports",
      ["unprotect p"],
      own("update", "PageShieldPolicy", "p", { old: policy, new: { ...policy, action: "log", wouldBlock } }),
    ],
    [
      "is switched off",
      ["unprotect p"],
      own("update", "PageShieldPolicy", "p", { old: policy, new: { ...policy, enabled: false } }),
    ],
    ["is deleted", ["unprotect p", "delete p"], own("delete", "PageShieldPolicy", "p", { old: policy })],
    [
      "moves to another zone",
      ["unprotect p", "replace p"],
      own("replace", "PageShieldPolicy", "p", { old: policy, new: { ...policy, zoneId: OTHER } }),
    ],
    [
      "goes on blocking",
      [],
      own("update", "PageShieldPolicy", "p", { old: policy, new: { ...policy, description: "web" } }),
    ],
    [
      "that only reported is deleted",
      ["unprotect p", "delete p"],
      own("delete", "PageShieldPolicy", "p", { old: { ...policy, action: "log" } }),
    ],
    [
      "is not monitored any more",
      ["unprotect s"],
      own("update", "PageShieldSettings", "s", { old: settings, new: { ...settings, enabled: false } }),
    ],
    [
      "is switched off by a new resource, as far as anybody knows",
      ["unprotect s"],
      own("create", "PageShieldSettings", "s", { new: { ...settings, enabled: false } }),
    ],
    [
      "is switched off by a new resource that found it off",
      [],
      own("create", "PageShieldSettings", "s", {
        new: { ...settings, enabled: false, found: { enabled: false } },
      }),
    ],
    [
      "records less by a new resource that found it recording",
      ["unprotect s"],
      own("create", "PageShieldSettings", "s", {
        new: {
          ...settings,
          useConnectionUrlPath: false,
          found: { enabled: true, useConnectionUrlPath: true },
        },
      }),
    ],
    [
      "was off before, and is again after a destroy",
      ["unprotect s", "delete s"],
      own("delete", "PageShieldSettings", "s", { old: settings, outputs: previous }),
    ],
    [
      "stays on after a destroy",
      ["delete s"],
      own("delete", "PageShieldSettings", "s", {
        old: { ...settings, onDestroy: "keep" },
        outputs: previous,
      }),
    ],
  ])("that %s", (_, dangers, step) => {
    expect(judged(step)).toEqual(dangers);
  });

  test("shows what a destroy puts back, and a setting that is declared no more going back", () => {
    const old = { ...settings, useConnectionUrlPath: true };
    const outputs = { previous: { enabled: true, useConnectionUrlPath: false } };
    const gone = report(planOf(own("delete", "PageShieldSettings", "s", { old, outputs })), "markdown").text;
    expect(gone).toContain(
      "| setting | now | then |\n| --- | --- | --- |\n| `useConnectionUrlPath` | `true` | `false` |",
    );
    const less = report(
      planOf(own("update", "PageShieldSettings", "s", { old, new: settings, outputs })),
      "markdown",
    ).text;
    expect(less).toContain("| `useConnectionUrlPath` | `true` | back to `false` |");
  });
});

test("a policy that falls back to another directive names the one that decided before", () => {
  const policy = { zoneId: ZONE, description: "www", action: "allow", expression: "true", enabled: true };
  const change = own("update", "PageShieldPolicy", "p", {
    old: { ...policy, value: "script-src 'self'; img-src *" },
    new: { ...policy, value: "default-src 'self' cdn.example; img-src *" },
  });
  expect(sentences("unprotect", change)).toEqual([
    `policy www newly allows cdn.example in default-src: "script-src 'self'" → "default-src 'self' cdn.example"`,
  ]);
});

describe("entries", () => {
  const NAMESPACE = "5a0c1e7f3b2d4968a7e1c0f2d3b4b601";
  const of = (name: string, keys: number, more: object = {}): MadeStep =>
    own("update", "KvEntries", name, {
      old: { namespaceId: NAMESPACE, keys: 5 },
      new: { namespaceId: NAMESPACE, keys, ...more },
    });
  const told = (lines: readonly string[], ...steps: MadeStep[]): string =>
    report(
      JSON.stringify({ steps, diagnostics: lines.map((line) => said(`edgeguard: KvEntries ${line}`)) }),
      "markdown",
    ).text;

  test("have their own line, also where the number of keys does not tell", () => {
    const text = told(["one: +1 ~0 -3 (+a, -b, -c, -d)"], of("one", 9));
    expect(text).toContain(
      "<b>one</b>: +1 ~0 -3 (<code>+a</code>, <code>-b</code>, <code>-c</code>, <code>-d</code>)",
    );
  });

  test.each<[string, string[], number, number, string[]]>([
    ["all of its keys", ["all 900 keys it has written are deleted"], 900, 0, ["+0 ~0 -900 (a …)"]],
    ["half of them, ten at least", ["10 of 20 keys it has written are deleted"], 20, 10, ["+0 ~0 -10 (a …)"]],
    ["as many as come new", ["10 of 20 keys it has written are deleted"], 20, 20, ["+10 ~0 -10 (a …)"]],
    ["keys of which no line tells", ["12 of 20 keys it has written are deleted"], 20, 8, []],
    ["nine keys", [], 9, 0, ["+0 ~0 -9 (a …)"]],
    ["less than half", [], 21, 11, ["+0 ~0 -10 (a …)"]],
  ])("that delete %s", (_, dangers, before, after, lines) => {
    const step = own("update", "KvEntries", "one", {
      old: { namespaceId: NAMESPACE, keys: before },
      new: { namespaceId: NAMESPACE, keys: after },
    });
    const diagnostics = lines.map((line) => said(`edgeguard: KvEntries one: ${line}`));
    const plan = JSON.stringify({ steps: [step], diagnostics });
    const found = report(plan, "json").dangers.map(({ kind, sentence }) => `${kind} ${sentence.toString()}`);
    expect(found).toEqual(dangers.map((sentence) => `removes ${sentence}`));
    expect(report(plan, "json", { keys: 1000 }).dangers).toEqual([]);
    expect(report(plan, "json", { keys: 1, share: 0.01 }).dangers).toHaveLength(1);
  });

  test("that share a namespace are told apart by their names", () => {
    const lines = ["one: +1 ~0 -0 (+a)", "two: eu: +1 ~1 -1 (+b, ~c, -d)"];
    const text = told(lines, of("one", 6), of("two: eu", 6));
    expect(text).toContain("<b>one</b>: +1 ~0 -0 (");
    expect(text).toContain("<b>two: eu</b>: +1 ~1 -1 (");
  });

  test("of one name, in two components, have all lines of that name", () => {
    const text = told(["one: +1 ~0 -0 (+a)", "one: +1 ~2 -0 (+b, ~c …)"], of("one", 6));
    expect(text).toContain("<b>one</b>: 5 → 6 keys");
    expect(text).toContain(
      "One of these changes, as several resources have this name:\n\n- \\+1 \\~0 -0 (`+a`)\n- \\+1 \\~2 -0 (`+b`, `~c` …)",
    );
  });

  test("say which keys of others they delete, each under its own prefix", () => {
    const lines = [
      `one: prune deletes 1 key that others wrote: "a/x"`,
      `two: prune deletes 1,200 keys that others wrote: "b/1", "b/2", …`,
    ];
    const steps = [
      of("one", 5, { prune: { prefix: "a/" } }),
      of("two", 5, { prune: { prefix: "b/" } }),
      of("none", 5),
    ];
    const { dangers, text } = report(
      JSON.stringify({
        steps,
        diagnostics: lines.map((line) => said(`edgeguard: KvEntries ${line}`, "info#err")),
      }),
      "markdown",
    );
    expect(dangers.map(({ kind, name, sentence }) => `${kind} ${name}: ${sentence.toString()}`)).toEqual([
      `irreversible one: 1 key that others wrote under a/ will be deleted: "a/x"`,
      `irreversible two: 1,200 keys that others wrote under b/ will be deleted: "b/1", "b/2", …`,
    ]);
    expect(text).not.toContain("warning");
  });

  test("are told in the words that the resource says today", async () => {
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
      const diagnostics = [
        ...operation.said.map((line) => said(line)),
        ...operation.warned.map((line) => said(line, "info#err")),
      ];
      const step = own("update", "KvEntries", "own", { old: recorded.inputs, new: inputs });
      const { dangers, text } = report(JSON.stringify({ steps: [step], diagnostics }), "markdown");
      expect(text).toContain(
        "<b>own</b>: +2 ~1 -1 (<code>+config/c</code>, <code>+config/d</code>, <code>~config/a</code>, <code>-plain/b</code>)",
      );
      expect(dangers.map(({ sentence }) => sentence.toString())).toEqual([
        `1 key that others wrote under config/ will be deleted: "config/checkout"`,
      ]);
    } finally {
      await api.close();
    }
  });

  test("say which keys of others a takeover overwrites, and ask for an approval", async () => {
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
      const diagnostics = operation.warned.map((line) => said(line, "info#err"));
      const step = own("create", "KvEntries", "own", { new: inputs });
      const { dangers, text } = report(JSON.stringify({ steps: [step], diagnostics }), "markdown");
      expect(dangers.map(({ kind, sentence }) => `${kind}: ${sentence.toString()}`)).toEqual([
        `irreversible: 1 key that exists already will be overwritten: "config/checkout"`,
      ]);
      expect(text).not.toContain("warning");
    } finally {
      await api.close();
    }
  });

  test("say which keys they adopt, and that a destroy deletes those", () => {
    const line = `one: 2 declared keys exist already as declared ("a", "b") and are adopted: destroying the resource deletes them.`;
    const text = told([line], of("one", 5));
    expect(text).toContain(
      '2 keys that exist already as declared will be adopted: `"a"`, `"b"`. Destroying the resource deletes what it adopted.',
    );
  });

  test("that nobody claims are at least a warning", () => {
    const diagnostics = [
      said('edgeguard: KvEntries other: prune deletes 1 key that others wrote: "a/x"', "info#err"),
    ];
    expect(report(JSON.stringify({ steps: [of("one", 5)], diagnostics }), "markdown").text).toContain(
      "prune deletes 1 key",
    );
  });
});

describe("other providers", () => {
  const bucket = (op: string): MadeStep => ({
    op,
    urn: "urn:pulumi:dev::edge::aws:s3/bucket:Bucket::logs",
    oldState: { custom: true, id: "b" },
    ...(op === "delete" ? {} : { newState: { custom: true } }),
  });
  test.each([
    ["delete", ["delete logs"]],
    ["replace", ["replace logs"]],
    ["update", []],
  ])("count for %s", (op, dangers) => {
    expect(judged(bucket(op))).toEqual(dangers);
  });
  test("but a component is nothing that could be lost", () => {
    expect(
      judged({ op: "delete", urn: "urn:pulumi:dev::edge::team:Group::g", oldState: { custom: false } }),
    ).toEqual([]);
  });
});

describe("a migration", () => {
  const look = (verdict: string): string[] => [
    `WafMigration of zone ${ZONE}: ${verdict}.`,
    "no step can be undone",
  ];
  const START = look("eligible; the previous rules are active");
  const step = (target: string, migrationState: string, assessment?: readonly string[]): MadeStep =>
    own("update", "WafMigration", "m", {
      old: { zoneId: ZONE, target: "assessed", assessment: START },
      new: { zoneId: ZONE, target, assessment: assessment ?? START },
      outputs: { migrationState },
    });
  test.each<[string, string[], MadeStep]>([
    ["only looks", [], step("assessed", "start", look("blocked; the previous rules are active"))],
    ["goes on", ["irreversible m"], step("finished", "start", look("eligible; in validation"))],
    [
      "finds the zone there already",
      [],
      step("finished", "start", look("finished: the previous rules are off and the new ones on")),
    ],
    ["waits for a switch", [], step("finished", "start", look('state "switching"'))],
    [
      "was not looked at, and is not there by what is recorded",
      ["irreversible m"],
      step("finished", "validation"),
    ],
    ["was not looked at, and is there by what is recorded", [], step("validation", "finished")],
    [
      "nobody knows anything of",
      ["irreversible m"],
      own("create", "WafMigration", "m", { new: { zoneId: ZONE, target: "finished" } }),
    ],
    [
      "is forgotten",
      ["delete m"],
      own("delete", "WafMigration", "m", {
        old: { zoneId: ZONE, target: "finished" },
        outputs: { migrationState: "finished" },
      }),
    ],
    [
      "begins in another zone",
      ["irreversible m", "replace m"],
      own("replace", "WafMigration", "m", {
        old: { zoneId: ZONE, target: "finished" },
        new: { zoneId: OTHER, target: "finished", assessment: START },
        outputs: { migrationState: "finished" },
      }),
    ],
  ])("that %s", (_, dangers, given) => {
    expect(judged(given)).toEqual(dangers);
  });

  test("is told as somewhere else where the service has a word of its own, which stays out of the diagram", () => {
    const { text } = report(planOf(step("finished", "start", look('state "--> evil"'))), "markdown");
    expect(/```mermaid[^`]*```/.exec(text)?.[0]).not.toMatch(/evil|now\)|next\)/);
    expect(text).toContain('<b>m</b>: state "--&gt; evil"');
  });

  test("says where the zone is in words that the report can read, for every zone of the local API", async () => {
    const api = await startLocalApi();
    try {
      const states: Record<string, string | undefined> = {};
      for (const [name, zoneId] of Object.entries(api.zones).filter(([name]) => name.startsWith("migrate"))) {
        const { inputs } = await new Operation(api).preview("WafMigration", { zoneId, target: "assessed" });
        const [head = ""] = inputs["assessment"] as string[];
        states[name] = stateIn(head.replace(/^WafMigration of zone \S+: /, "").replace(/\.$/, ""));
        expect(api.waf(zoneId).migration.retired === null ? api.waf(zoneId).phase : "retired").toBe(
          states[name],
        );
      }
      expect(new Set(Object.values(states))).toEqual(new Set(["start", "validation", "finished", "retired"]));
    } finally {
      await api.close();
    }
  });
});
