import { startLocalApi } from "edgeguard-local";
import { assessmentIn } from "../../provider/migration/assessment";
import { report, type DangerKind } from "../../provider/report";
import { Operation, rawSend, UNKNOWN } from "../support/operation";
import {
  diagnostic,
  driftOf,
  found,
  list,
  many,
  planJson,
  refreshedJson,
  stepOf,
  type MadeStep,
  created,
  kept,
  wouldBlock,
} from "./plans";

/** What counts as a danger, and what doesn't. */

const ZONE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const OTHER = "5a0c1e7f3b2d4968a7e1c0f2d3b4a502";

const dangersOf = (...steps: MadeStep[]): string[] =>
  report(refreshedJson(...steps), "json").dangers.map(({ kind, name }) => `${kind} ${name}`);
const sentences = (kind: DangerKind, ...steps: MadeStep[]): string[] =>
  report(refreshedJson(...steps), "json")
    .dangers.filter((danger) => danger.kind === kind)
    .map(({ sentence }) => sentence.toString());

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

describe("an update to a place that only the update knows", () => {
  const PLACES: Readonly<Record<string, Record<string, unknown>>> = {
    PageShieldPolicy: { zoneId: ZONE, action: "allow", expression: "true", value: "script-src 'self'" },
    PageShieldSettings: { zoneId: ZONE, enabled: true },
    ManagedRulesetOverride: { zoneId: ZONE, ruleset: { name: "OWASP" }, enabled: true },
    LogpushJob: { zoneId: ZONE, dataset: "http_requests", enabled: true, destinationShown: "r2://logs" },
    KvEntries: { namespaceId: ZONE, keys: 40 },
    KvNamespace: { accountId: ZONE, title: "sessions" },
  };
  const SOURCE = stepOf("create", "KvNamespace", "source", { new: { title: "source" } });
  const moving = (kind: string, before: string[], after: string[]): MadeStep => {
    const old = PLACES[kind] ?? {};
    const place = ["zoneId", "namespaceId", "accountId"].find((name) => name in old) ?? "";
    const step = stepOf("update", kind, "it", {
      old,
      new: { ...old, [place]: UNKNOWN, ...found() },
      outputs: kind === "PageShieldSettings" ? { previous: { enabled: false } } : {},
      state: { propertyDependencies: { [place]: before } },
    });
    return { ...step, newState: { ...step.newState, propertyDependencies: { [place]: after } } };
  };

  test.each(Object.keys(PLACES))("is a danger like a replacement of %s", (kind) => {
    const lost = `${{ KvEntries: "removes", KvNamespace: "irreversible" }[kind] ?? "unprotect"} it`;
    expect(dangersOf(SOURCE, moving(kind, [], [SOURCE.urn]))).toEqual([lost, "replace it"]);
    expect(dangersOf(SOURCE, moving(kind, [SOURCE.urn], [SOURCE.urn]))).toEqual([lost, "replace it"]);
    expect(dangersOf(moving(kind, [], []))).toEqual([lost, "replace it"]);
  });

  test.each(Object.keys(PLACES))("only may replace %s if the place comes from where it came from", (kind) => {
    const source = { ...SOURCE, op: "update", oldState: SOURCE.newState ?? {} };
    expect(dangersOf(source, moving(kind, [source.urn], [source.urn]))).toEqual(["replace it"]);
  });

  test("says that all keys may be deleted, and not what would change in the same namespace", () => {
    const changes = found({ added: list(), changed: list(), removed: list() });
    const step = moving("KvEntries", [], [SOURCE.urn]);
    const next = {
      ...step,
      newState: { ...step.newState, inputs: { ...PLACES["KvEntries"], namespaceId: UNKNOWN, ...changes } },
    };
    expect(sentences("removes", SOURCE, next)).toEqual(["all 40 keys that it wrote may be deleted"]);
    expect(report(refreshedJson(SOURCE, next), "markdown").text).toContain("<b>it</b>: 40 keys");
  });
});

describe("dangers of renaming a Page Shield resource:", () => {
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
      "the new policy keeps blocking",
      ["delete old"],
      [
        stepOf("delete", "PageShieldPolicy", "old", { old: policy }),
        created("PageShieldPolicy", "new", { ...policy, ...found() }),
      ],
    ],
    [
      "the new policy doesn't block",
      ["unprotect old", "delete old"],
      [
        stepOf("delete", "PageShieldPolicy", "old", { old: policy }),
        created("PageShieldPolicy", "new", { ...policy, action: "log" }),
      ],
    ],
    [
      "Page Shield stays on",
      ["delete old"],
      [
        stepOf("delete", "PageShieldSettings", "old", { old: settings, ...before }),
        created("PageShieldSettings", "new", { ...settings, useConnectionUrlPath: true }),
      ],
    ],
    [
      "the new resource disables Page Shield",
      ["unprotect old", "delete old"],
      [
        stepOf("delete", "PageShieldSettings", "old", { old: settings }),
        created("PageShieldSettings", "new", { ...settings, enabled: false }),
      ],
    ],
    [
      "Page Shield is disabled, and there's no new resource",
      ["unprotect old", "delete old"],
      [stepOf("delete", "PageShieldSettings", "old", { old: settings, ...before })],
    ],
  ])("%s", (_, dangers, steps) => {
    expect(dangersOf(...steps)).toEqual(dangers);
  });

  test("the report on a rename doesn't claim that settings are restored", () => {
    const renamed = created("PageShieldSettings", "new", settings);
    const deleted = stepOf("delete", "PageShieldSettings", "old", { old: settings, ...before });
    expect(report(refreshedJson(deleted), "markdown").text).toContain("| setting | before | after |");
    expect(report(refreshedJson(deleted, renamed), "markdown").text).not.toContain(
      "| setting | before | after |",
    );
  });
});

describe("the section on a Logpush job", () => {
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
    report(refreshedJson(stepOf("update", "LogpushJob", "j", { old: job(old), new: job(next) })), "markdown")
      .text;

  test("shows which of two groups in the filter loses a condition", () => {
    const text = change({ filter: filter(["A", "X"], ["B", "X"]) }, { filter: filter(["A", "X"], ["B"]) });
    expect(text).not.toContain("the same conditions");
    expect(text).toMatch(/Changed conditions:\n\n```diff\n- +X eq "1"\n```/);
  });

  test("shows unknown or secret output options as such, not as removed fields", () => {
    const old = { outputOptions: { fieldNames: ["ClientIP"], sampleRate: 0.5 } };
    for (const outputOptions of [UNKNOWN, "[secret]", { fieldNames: UNKNOWN }, { fieldNames: "[secret]" }]) {
      const text = change(old, { outputOptions });
      expect(text).not.toContain("No fields are listed anymore");
      expect(text).toMatch(/known after apply|\\\[secret\\\]/);
      expect(text).toContain(
        "some fields might stop being logged: 1 field → fields that the plan doesn't show",
      );
    }
  });
});

describe("a deleted Logpush job", () => {
  const FIELDS = ["ClientIP", "RayID"];
  const WHERE = '{"where":{"and":[{"key":"EdgeResponseStatus","operator":"geq","value":"500"}]}}';
  const job = (members: Record<string, unknown> = {}): Record<string, unknown> => ({
    zoneId: ZONE,
    dataset: "firewall_events",
    name: "security",
    enabled: true,
    destinationConf: "[secret]",
    destinationShown: "s3://logs/waf?region=eu-west-1",
    outputOptions: { fieldNames: FIELDS, sampleRate: 0.5 },
    ...members,
  });
  const lostWith = (
    other: Record<string, unknown> | undefined,
    gone: Record<string, unknown> = job(),
    op = "same",
  ): string[] =>
    sentences(
      "unprotect",
      stepOf("delete", "LogpushJob", "gone", { old: gone }),
      ...(other === undefined ? [] : [stepOf(op, "LogpushJob", "other", { old: other, new: other })]),
    ).filter((sentence) => sentence.includes("is deleted"));
  const LOST =
    "the Logpush job is deleted: firewall_events is no longer pushed to s3://logs/waf?region=eu-west-1";

  test.each<[string, Record<string, unknown>, Record<string, unknown>?]>([
    ["pushes the same lines to the same place", job({ name: "other" })],
    ["has more fields", job({ outputOptions: { fieldNames: [...FIELDS, "Action"], sampleRate: 0.5 } })],
    ["has a greater sample", job({ outputOptions: { fieldNames: FIELDS } })],
    ["has no filter", job(), job({ filter: WHERE })],
    ["has the same filter", job({ filter: WHERE }), job({ filter: WHERE.replace(":[", ": [") })],
  ])("is no danger if another job %s", (_, other, gone = job()) => {
    expect(lostWith(other, gone)).toEqual([]);
  });

  test.each<[string, Record<string, unknown>, Record<string, unknown>?]>([
    ["only has the same bucket", job({ destinationShown: "s3://logs/http?region=eu-west-1" })],
    ["has another region", job({ destinationShown: "s3://logs/waf?region=us-east-1" })],
    ["has an endpoint", job({ destinationShown: "s3://logs/waf?endpoint=x.com&region=eu-west-1" })],
    ["moves, although it shows the same location", job({ destinationMoved: true })],
    ["may move", job({ destinationMoved: UNKNOWN })],
    ["pushes to an unknown place", job({ destinationShown: UNKNOWN }), job({ destinationShown: UNKNOWN })],
    [
      "pushes to a secret place",
      job({ destinationShown: "[secret]" }),
      job({ destinationShown: "[secret]" }),
    ],
    ["has no known place", job({ destinationShown: undefined }), job({ destinationShown: undefined })],
    [
      "has a place that's partly hidden",
      job({ destinationShown: "https://logs.example.com/[secret]" }),
      job({ destinationShown: "https://logs.example.com/[secret]" }),
    ],
    [
      "has a hidden destination",
      job({ destinationShown: "a hidden destination" }),
      job({ destinationShown: "a hidden destination" }),
    ],
    ["has another dataset", job({ dataset: "http_requests" })],
    ["is in another zone", job({ zoneId: OTHER })],
    ["lacks a field", job({ outputOptions: { fieldNames: ["RayID"], sampleRate: 0.5 } })],
    ["has hidden options", job({ outputOptions: "[secret]" })],
    ["has a smaller sample", job({ outputOptions: { fieldNames: FIELDS, sampleRate: 0.1 } })],
    ["has a filter", job({ filter: WHERE })],
    ["has a wider filter", job({ filter: WHERE.replace("500", "400") }), job({ filter: WHERE })],
    ["has a secret filter", job({ filter: "[secret]" }), job({ filter: "[secret]" })],
    ["is disabled", job({ enabled: false })],
    ["may be disabled", job({ enabled: UNKNOWN })],
  ])("is a danger if the only other job %s", (_, other, gone = job()) => {
    expect(lostWith(other, gone)).toHaveLength(1);
  });

  test("is a danger without another job, and the sentence shows the whole location", () => {
    expect(lostWith(undefined)).toEqual([LOST]);
    const long = `https://logs.example.com/in?table=${"t".repeat(300)}`;
    expect(lostWith(undefined, job({ destinationShown: long })).join()).toContain(long);
  });

  test.each(["replace", "create-replacement"])("is a danger if a %s changes its dataset", (op) => {
    const lines = stepOf(op, "LogpushJob", "security", {
      old: job(),
      new: job({ dataset: "http_requests", ...found({}) }),
    });
    const alike = job({ destinationShown: "s3://logs/http?region=eu-west-1", name: "else" });
    const other = kept("LogpushJob", "else", alike);
    expect(sentences("unprotect", lines, other)).toEqual([LOST]);
  });
});

describe("a Logpush job's destination", () => {
  const job = (destinationShown: unknown, members: object = {}): Record<string, unknown> => ({
    dataset: "http_requests",
    enabled: true,
    destinationConf: "[secret]",
    destinationShown,
    ...members,
  });
  const change = (was: Record<string, unknown>, is: Record<string, unknown>): string[] =>
    sentences("unprotect", stepOf("update", "LogpushJob", "j", { old: was, new: { ...is, ...found({}) } }));
  const HERE = "r2://logs?account-id=1";

  const ELSEWHERE = `log lines go to another destination: ${HERE}`;
  const HIDDEN = `log lines may go to another recipient: a hidden part of ${HERE} changes, such as a credential or tenant`;
  test.each<[string, Record<string, unknown>, string]>([
    ["has another account ID", job("r2://logs?account-id=2"), `${ELSEWHERE} → r2://logs?account-id=2`],
    ["differs in what's hidden", job(HERE, { destinationMoved: "0123" }), HIDDEN],
    [
      "differs in what's hidden and easy to guess",
      job(HERE, { destinationMoved: true }),
      `${HIDDEN}; accepting this accepts any value of destinationConf`,
    ],
    [
      "isn't known yet",
      job(UNKNOWN, { destinationMoved: UNKNOWN }),
      `log lines may no longer go to ${HERE}: where they go is known after apply`,
    ],
  ])("is a danger if it %s", (_, is, sentence) => {
    expect(change(job(HERE), is)).toEqual([sentence]);
  });

  test("isn't weakened by a transformer's deletion, which Cloudflare refuses while a job uses it", () => {
    const transformer = { accountId: "a", name: "t", code: "[secret]", codeDigest: "1" };
    expect(dangersOf(stepOf("delete", "LogpushTransformer", "t", { old: transformer }))).toEqual([
      "delete t",
    ]);
  });

  test("calls no argument changed that isn't, if the output options are secret", () => {
    const options = { fieldNames: ["RayID"], sampleRate: 0.5 };
    const said = change(job(HERE, { outputOptions: options }), job(HERE, { outputOptions: "[secret]" }));
    expect(said).toContain(
      "the plan doesn't show whether a smaller share of the log lines is pushed: sampleRate 0.5 → [secret]",
    );
    expect(said.join()).not.toMatch(/attack traffic|transformer/);
  });

  test("has a digest that tells one hidden change from another", () => {
    const digest = (destinationMoved: string): unknown => {
      const step = stepOf("update", "LogpushJob", "j", {
        old: job(HERE),
        new: job(HERE, { destinationMoved }),
      });
      return report(refreshedJson(step), "json").digest;
    };
    expect(digest("0123")).not.toEqual(digest("4567"));
  });

  test("is no danger if only its credentials change", () => {
    expect(change(job(HERE), job(HERE))).toEqual([]);
  });
});

describe("reports that a managed ruleset stops acting:", () => {
  const rule = { zoneId: ZONE, ruleset: { name: "OWASP" }, enabled: true };
  const outputs = { ruleId: "r1" };
  const gone = stepOf("delete", "ManagedRulesetOverride", "one", { old: rule, outputs });
  const owasp = { ...rule, ruleset: { name: "another" } };
  const executes = (id: string, overrides: object): object => ({
    id: "r1",
    action: "execute",
    action_parameters: { id, overrides },
    expression: "true",
  });
  const REMOVED = `OWASP in zone ${ZONE} is removed`;

  test.each<[string, string[], MadeStep[]]>([
    ["when the only one is deleted", [REMOVED], [gone]],
    [
      "when it's disabled",
      [`OWASP in zone ${ZONE} is disabled`],
      [
        stepOf("update", "ManagedRulesetOverride", "one", {
          old: rule,
          new: { ...rule, enabled: false },
          outputs,
        }),
      ],
    ],
    [
      "when it moves to another zone",
      [REMOVED],
      [
        stepOf("replace", "ManagedRulesetOverride", "one", {
          old: rule,
          new: { ...rule, zoneId: OTHER },
          outputs,
        }),
      ],
    ],
    ["although another ruleset stays", [REMOVED], [gone, kept("ManagedRulesetOverride", "two", owasp)]],
    ["although another ruleset is added", [REMOVED], [gone, created("ManagedRulesetOverride", "two", owasp)]],
    [
      "when it may be disabled",
      [`OWASP in zone ${ZONE} may be disabled; accepting this accepts any value of enabled`],
      [
        stepOf("update", "ManagedRulesetOverride", "one", {
          old: rule,
          new: { ...rule, enabled: UNKNOWN },
          outputs,
        }),
      ],
    ],
    [
      "and so does another team's rule that the plan takes over and disables",
      [REMOVED, `another in zone ${ZONE} is disabled`],
      [
        stepOf("delete", "ManagedRulesetOverride", "one", {
          old: rule,
          outputs,
        }),
        created("ManagedRulesetOverride", "two", {
          ...owasp,
          enabled: false,
          adopted: {
            object: 'rule r9 "of the team" in zone x',
            changes: { enabled: { before: true, after: false } },
          },
        }),
      ],
    ],
    [
      "but not when it's only renamed",
      [],
      [gone, created("ManagedRulesetOverride", "two", { ...rule, ...found({ inFront: [] }) })],
    ],
    [
      "also when nobody looked where the one is that replaces it",
      ["OWASP replaces a rule in another place, so exceptions may apply to more rules"],
      [gone, created("ManagedRulesetOverride", "two", rule)],
    ],
    [
      "when the other is disabled",
      [REMOVED],
      [gone, kept("ManagedRulesetOverride", "two", { ...rule, enabled: false })],
    ],
    [
      "but not when it was disabled before",
      [],
      [stepOf("delete", "ManagedRulesetOverride", "one", { old: { ...rule, enabled: false }, outputs })],
    ],
    [
      "but not when it's kept",
      [],
      [stepOf("delete", "ManagedRulesetOverride", "one", { old: { ...rule, onDestroy: "keep" }, outputs })],
    ],
    [
      "but not when it was adopted and is restored",
      [],
      [
        stepOf("delete", "ManagedRulesetOverride", "one", {
          old: rule,
          outputs: { ...outputs, previous: {} },
        }),
      ],
    ],
    [
      "when it was adopted, and the restored rule does less",
      ["OWASP protects less: all rules action block → log"],
      [
        stepOf("delete", "ManagedRulesetOverride", "one", {
          old: { ...rule, action: "block" },
          outputs: { ...outputs, rulesetId: "o", previous: { rule: executes("o", { action: "log" }) } },
        }),
      ],
    ],
    [
      "when onDestroy is restore, and there's nothing to restore",
      [REMOVED],
      [
        stepOf("delete", "ManagedRulesetOverride", "one", {
          old: { ...rule, onDestroy: "restore" },
          outputs,
        }),
      ],
    ],
    [
      "when it was adopted and is removed",
      [REMOVED],
      [
        stepOf("delete", "ManagedRulesetOverride", "one", {
          old: { ...rule, onDestroy: "remove" },
          outputs: { ...outputs, previous: {} },
        }),
      ],
    ],
  ])("%s", (_, expected, steps) => {
    expect(sentences("unprotect", ...steps)).toEqual(expected);
  });

  test("shows neither an unknown tag nor a paranoia level that rises as a loss", () => {
    const old = { ...rule, owasp: { paranoiaLevel: 1, scoreThreshold: 25 } };
    const update = (change: object): MadeStep =>
      stepOf("update", "ManagedRulesetOverride", "one", { old, new: { ...old, ...change } });
    expect(sentences("unprotect", update({ categories: [{ tag: UNKNOWN, action: "log" }] }))).toEqual([
      "OWASP protects less: overrides that the plan doesn't show; accepting this accepts any value of categories",
    ]);
    expect(sentences("unprotect", update({ owasp: UNKNOWN }))).toEqual([
      "OWASP protects less: overrides that the plan doesn't show, paranoia level 1 → known after apply; accepting this accepts any value of owasp",
    ]);
    expect(sentences("unprotect", update({ owasp: { paranoiaLevel: 2, scoreThreshold: 60 } }))).toEqual([
      "OWASP protects less: rule that compares the score score threshold 25 (high) → 60 (low)",
    ]);
  });

  test("compares a removed score threshold with the default, if the refresh has read that", () => {
    const side = (owasp: object, scoreThreshold?: number) => ({
      inputs: { ...rule, owasp: { paranoiaLevel: 1, ...owasp }, expansion: { scoreThreshold } },
      outputs: { ...outputs, known: { scoreRule: "last" } },
    });
    const drift = (now: number | undefined) =>
      driftOf("ManagedRulesetOverride", side({ scoreThreshold: 25 }, 25), side({}, now));
    const LESS = "OWASP protects less: rule last score threshold";
    expect(drift(40)).toMatchObject({ lost: [`${LESS} 25 (high) → 40 (medium)`], gained: [] });
    expect(drift(20)).toMatchObject({ lost: [], gained: [`${LESS} 20 → 25 (high)`] });
    expect(drift(undefined)).toMatchObject({
      lost: [`${LESS} 25 (high) → the ruleset's default`],
      gained: [], // What can't be judged is shown once.
    });
  });

  test("doesn't take what the program declares for the score threshold of a rule that it adopts or restores", () => {
    const declared = { ...rule, owasp: { paranoiaLevel: 1, scoreThreshold: 60 } };
    const inputs = { ...declared, expansion: { scoreThreshold: 60, ruleset: { id: "x" } } };
    const adopting = created("ManagedRulesetOverride", "one", {
      ...inputs,
      adopted: {
        object: "rule r1 in zone x",
        changes: { owasp: { before: { paranoiaLevel: 1 }, after: declared.owasp } },
      },
    });
    const restoring = stepOf("delete", "ManagedRulesetOverride", "one", {
      old: inputs,
      outputs: {
        ...outputs,
        rulesetId: "x",
        known: { scoreRule: "last" },
        previous: {
          rule: executes("x", {
            categories: [2, 3, 4].map((level) => ({ category: `paranoia-level-${level}`, enabled: false })),
          }),
        },
      },
    });
    expect(sentences("unprotect", adopting)).toEqual([
      expect.stringContaining("score threshold the ruleset's default → 60 (low)"),
    ]);
    expect(sentences("unprotect", restoring)).toEqual([
      expect.stringContaining("rule last score threshold 60 (low) → the ruleset's default"),
    ]);
  });

  test("finds exceptions that apply again, because someone disabled them in the dashboard", () => {
    const exception = { expression: "ssl", skip: "this" };
    const whole = { ...exception, expression: "true" };
    const update = (one: object): MadeStep =>
      stepOf("update", "ManagedRulesetOverride", "one", {
        old: { ...rule, exceptions: [{ ...one, enabled: false }] },
        new: { ...rule, exceptions: [one] },
      });
    for (const one of [exception, whole])
      expect(sentences("unprotect", update(one))).toContain(
        `OWASP gets an exception: ${one.expression} skips "this ruleset"`,
      );
    const known = (enabled: object) => ({
      inputs: { ...rule, exceptions: [{ ...exception, ...enabled }] },
      outputs,
    });
    const drift = driftOf("ManagedRulesetOverride", known({}), known({ enabled: false }));
    expect(drift?.gained).toEqual(['OWASP gets an exception: ssl skips "this ruleset"']);
    expect(drift?.keep.code).toEqual(["exceptions: [],"]);
  });

  test("says from what to what an exception is widened", () => {
    const one = { expression: 'http.host eq "a.example"', skip: "this" };
    const lost = (...exceptions: object[]): string[] =>
      sentences(
        "unprotect",
        stepOf("update", "ManagedRulesetOverride", "one", {
          old: { ...rule, exceptions: [one] },
          new: { ...rule, exceptions },
        }),
      );
    const hosts = { ...one, expression: 'http.host in {"a.example" "b.example"}' };
    const was = '"http.host eq \\"a.example\\"" skips "this ruleset"';
    const both = '"http.host in {\\"a.example\\" \\"b.example\\"}" skips "this ruleset"';
    expect(lost(hosts)).toEqual([`OWASP widens an exception: ${was} → ${both}`]);
    expect(lost({ ...one, skip: "all" })).toEqual([
      `OWASP widens an exception: ${was} → ${was.replace("this ruleset", "all managed rules after it")}`,
    ]);
    expect(lost({ ...one, expression: "ssl" })).toEqual([
      'OWASP gets an exception: ssl skips "this ruleset"',
    ]);
    expect(lost({ ...one, expression: 'ends_with(http.host, "b.example")' })).toHaveLength(1);
  });

  test("doesn't report that several exceptions become one", () => {
    const one = (...hosts: string[]): object => ({
      expression: `http.host in {${hosts.map((host) => JSON.stringify(host)).join(" ")}}`,
      skip: "this",
    });
    const lost = (next: object): string[] =>
      sentences(
        "unprotect",
        stepOf("update", "ManagedRulesetOverride", "one", {
          old: { ...rule, exceptions: [one("a"), one("b")] },
          new: { ...rule, exceptions: [next] },
        }),
      );
    expect(lost(one("a", "b"))).toEqual([]);
    expect(lost(one("a", "b", "c"))).toHaveLength(1);
  });
});

describe("an object that an interrupted replacement left behind", () => {
  const data = { accountId: "a", title: "sessions" };
  const step = (op: string, id: string, more: object = {}): MadeStep =>
    stepOf(op, "KvNamespace", "n", { old: data, new: data, state: { id, ...more } });
  const left = (op: string): MadeStep => step(op, "left", { delete: true });
  const dangers = (...steps: MadeStep[]): string[] =>
    report(planJson(...steps), "json").dangers.map(({ kind }) => kind);

  test.each<[string, MadeStep[]]>([
    ["beside the one that stays", [step("same", "now"), left("delete-replaced")]],
    ["in a refreshed plan", [step("refresh", "now"), left("refresh"), step("same", "now")]],
    [
      "once, if a refreshed plan has both of its steps",
      [step("refresh", "now"), left("refresh"), step("same", "now"), left("delete-replaced")],
    ],
  ])("is judged %s", (_, steps) => {
    expect(dangers(...steps)).toEqual(["irreversible", "delete"]);
  });

  test("is judged if the one that replaced it is replaced, too", () => {
    const replacing = ["create-replacement", "replace", "delete-replaced"].map((op) =>
      step(op, "now", { delete: true }),
    );
    expect(dangers(...replacing)).toEqual(["irreversible", "replace"]);
    expect(dangers(...replacing, left("delete-replaced"))).toEqual([
      "irreversible",
      "irreversible",
      "replace",
      "delete",
    ]);
  });

  test("stays if the program adopts it again", () => {
    const object = { object: "namespace left", onDestroy: "keeps it" };
    const again = stepOf("create", "KvNamespace", "n", { new: { ...data, adopted: object } });
    expect(dangers(again, left("delete"))).toEqual([]);
  });

  test("may have been changed manually, also if the plan refreshed the one that stays", () => {
    const rule = { zoneId: ZONE, ruleset: { name: "OWASP" }, enabled: false };
    const of = (op: string, id: string, more: object = {}): MadeStep =>
      stepOf(op, "ManagedRulesetOverride", "r", { old: rule, new: rule, state: { id, ...more } });
    expect(dangers(of("refresh", "now"), of("refresh", "left", { delete: true }), of("same", "now"))).toEqual(
      ["unseen", "delete"],
    );
  });
});

test("settings that were gone and are created again are judged, although another resource of the zone is deleted", () => {
  const settings = (enabled: boolean): Record<string, unknown> => ({
    zoneId: ZONE,
    enabled,
    onDestroy: "keep",
  });
  const step = (op: string, name: string, enabled: boolean): MadeStep =>
    stepOf(op, "PageShieldSettings", name, { old: settings(enabled), new: settings(enabled) });
  const plan = planJson(
    stepOf("refresh", "PageShieldSettings", "own", { old: settings(true) }),
    created("PageShieldSettings", "own", settings(false)),
    step("refresh", "b", true),
    stepOf("delete", "PageShieldSettings", "b", { old: settings(true) }),
  );
  expect(report(plan, "json").dangers.map(({ kind, name }) => `${kind} ${name}`)).toContain("unprotect own");
});

test("a job makes up for a deleted one only if the program declares the fields of both", () => {
  const job = (more: object): Record<string, unknown> => ({
    zoneId: ZONE,
    dataset: "http_requests",
    enabled: true,
    destinationShown: "r2://logs",
    ...more,
  });
  const lost = (more: object): number =>
    sentences(
      "unprotect",
      stepOf("delete", "LogpushJob", "twin", { old: job(more) }),
      kept("LogpushJob", "own", job(more)),
    ).length;
  expect(lost({ outputOptions: { fieldNames: ["RayID"] } })).toBe(0);
  expect(lost({})).toBe(1);
  expect(lost({ outputOptions: { timestampFormat: "rfc3339" } })).toBe(1);
});

test("a repair that only a refresh brings about doesn't make up for a deletion", () => {
  const job = (enabled: boolean): Record<string, unknown> => ({
    zoneId: ZONE,
    dataset: "http_requests",
    enabled,
    destinationShown: "r2://logs",
    outputOptions: { fieldNames: ["RayID"] },
  });
  const twin = stepOf("delete", "LogpushJob", "twin", { old: job(true) });
  const stays = kept("LogpushJob", "own", job(true));
  const refreshed = (found: boolean): string[] =>
    report(
      planJson(
        stepOf("refresh", "LogpushJob", "own", { old: job(true), new: job(found) }),
        stepOf("refresh", "LogpushJob", "twin", { old: job(true), new: job(true) }),
        found ? stays : stepOf("update", "LogpushJob", "own", { old: job(found), new: job(true) }),
        twin,
      ),
      "json",
    ).dangers.flatMap(({ kind, name }) => (kind === "unprotect" ? [name] : []));
  expect(refreshed(true)).toEqual([]);
  expect(refreshed(false)).toEqual(["twin"]);
});

test("the report says that a policy's directives aren't known, instead of showing them as removed", () => {
  const policy = { zoneId: ZONE, description: "www", action: "log", value: "script-src 'self'" };
  const text = (value: unknown): string =>
    report(
      refreshedJson(stepOf("update", "PageShieldPolicy", "p", { old: policy, new: { ...policy, value } })),
      "markdown",
    ).text;
  for (const value of [UNKNOWN, { scriptSrc: ["'self'", UNKNOWN] }]) {
    expect(text(value)).toContain("Its directives are known after apply.");
    expect(text(value)).not.toContain("- script-src");
  }
  expect(text("default-src 'self'")).toContain("- script-src 'self'");
});

describe("the report on Page Shield", () => {
  const policy = {
    zoneId: ZONE,
    description: "www",
    action: "allow",
    enabled: true,
    value: "script-src 'self'",
  };
  const blocked = (count: number): object =>
    found({
      wouldBlock: wouldBlock(count, ["https://a.example/a.js"].slice(0, count)),
    });
  const settings = { zoneId: ZONE, enabled: true };
  const previous = { previous: { enabled: false } };
  test.each<[string, string[], MadeStep]>([
    [
      "a policy blocks scripts that the zone loads",
      ["blocks p"],
      created("PageShieldPolicy", "p", { ...policy, ...blocked(7) }),
    ],
    ["a policy blocks nothing", [], created("PageShieldPolicy", "p", { ...policy, ...blocked(0) })],
    [
      "a new policy is disabled",
      [],
      created("PageShieldPolicy", "p", { ...policy, enabled: false, ...found() }),
    ],
    [
      "a policy now only reports",
      ["unprotect p"],
      stepOf("update", "PageShieldPolicy", "p", {
        old: policy,
        new: { ...policy, action: "log", ...found() },
      }),
    ],
    [
      "a policy is disabled",
      ["unprotect p"],
      stepOf("update", "PageShieldPolicy", "p", { old: policy, new: { ...policy, enabled: false } }),
    ],
    [
      "a policy is deleted",
      ["unprotect p", "delete p"],
      stepOf("delete", "PageShieldPolicy", "p", { old: policy }),
    ],
    [
      "a policy moves to another zone",
      ["unprotect p", "replace p"],
      stepOf("replace", "PageShieldPolicy", "p", {
        old: policy,
        new: { ...policy, zoneId: OTHER, ...found() },
      }),
    ],
    [
      "a policy keeps blocking",
      [],
      stepOf("update", "PageShieldPolicy", "p", { old: policy, new: { ...policy, description: "web" } }),
    ],
    [
      "a policy that only reported is deleted",
      ["unprotect p", "delete p"],
      stepOf("delete", "PageShieldPolicy", "p", { old: { ...policy, action: "log" } }),
    ],
    [
      "Page Shield is disabled for the zone",
      ["unprotect s"],
      stepOf("update", "PageShieldSettings", "s", { old: settings, new: { ...settings, enabled: false } }),
    ],
    [
      "a new resource disables Page Shield without live checks",
      ["unprotect s"],
      created("PageShieldSettings", "s", { ...settings, enabled: false }),
    ],
    [
      "a new resource disables Page Shield, which was already off",
      [],
      created("PageShieldSettings", "s", {
        ...settings,
        enabled: false,
        ...found({ settings: { enabled: false } }),
      }),
    ],
    [
      "Page Shield records less with a new resource",
      ["unprotect s"],
      created("PageShieldSettings", "s", {
        ...settings,
        useConnectionUrlPath: false,
        ...found({ settings: { enabled: true, useConnectionUrlPath: true } }),
      }),
    ],
    [
      "a destroy disables Page Shield, as it was before",
      ["unprotect s", "delete s"],
      stepOf("delete", "PageShieldSettings", "s", { old: settings, outputs: previous }),
    ],
    [
      "Page Shield stays enabled after a destroy",
      ["delete s"],
      stepOf("delete", "PageShieldSettings", "s", {
        old: { ...settings, onDestroy: "keep" },
        outputs: previous,
      }),
    ],
  ])("lists the expected dangers if %s", (_, dangers, step) => {
    expect(dangersOf(step)).toEqual(dangers);
  });

  test("shows the settings that a destroy restores, and a setting that's no longer declared", () => {
    const old = { ...settings, useConnectionUrlPath: true };
    const outputs = { previous: { enabled: true, useConnectionUrlPath: false } };
    const destroyed = report(
      refreshedJson(stepOf("delete", "PageShieldSettings", "s", { old, outputs })),
      "markdown",
    ).text;
    expect(destroyed).toContain(
      "| setting | before | after |\n| --- | --- | --- |\n| `useConnectionUrlPath` | `true` | `false` |",
    );
    const less = report(
      refreshedJson(stepOf("update", "PageShieldSettings", "s", { old, new: settings, outputs })),
      "markdown",
    ).text;
    expect(less).toContain("| `useConnectionUrlPath` | `true` | back to `false` |");
  });
});

describe("what matched no request before can't lose anything:", () => {
  const NEVER = 'http.request.uri.path eq "/a" and not http.request.uri.path eq "/a"';
  const policy = { zoneId: ZONE, description: "p", action: "allow", value: "script-src 'self'" };
  const rule = { zoneId: ZONE, ruleset: { name: "OWASP" }, enabled: true };
  const exceptions = [{ expression: "true", skip: "all" }];
  const changed = (kind: string, old: object, next: object): MadeStep =>
    stepOf("update", kind, "a", { old: { ...old }, new: { ...old, ...next } });
  const outputs = { ruleId: "r1" };

  test.each<[string, (expression: string) => MadeStep]>([
    [
      "a deleted policy",
      (expression) => stepOf("delete", "PageShieldPolicy", "a", { old: { ...policy, expression } }),
    ],
    [
      "a policy that only logs and allows more",
      (expression) =>
        changed("PageShieldPolicy", { ...policy, expression }, { action: "log", value: "script-src *" }),
    ],
    [
      "a policy that blocks something else, whose preview didn't look",
      (expression) => changed("PageShieldPolicy", { ...policy, expression }, { value: "script-src 'none'" }),
    ],
    [
      "a deleted rule",
      (expression) =>
        stepOf("delete", "ManagedRulesetOverride", "a", { old: { ...rule, expression }, outputs }),
    ],
    [
      "a rule that's disabled",
      (expression) => changed("ManagedRulesetOverride", { ...rule, expression }, { enabled: false }),
    ],
    [
      "an exception",
      (expression) =>
        changed("ManagedRulesetOverride", rule, { exceptions: [{ ...exceptions[0], expression }] }),
    ],
  ])("%s", (title, stepWith) => {
    const kinds = (expression: string): string[] =>
      dangersOf(stepWith(expression)).filter((danger) => danger !== "delete a");
    for (const never of ["false", NEVER]) expect(kinds(never)).toEqual([]);
    expect(kinds("true")).toContain(title.includes("look") ? "unseen a" : "unprotect a");
  });

  test("a deleted rule that its own exception skips, unless an update of it was interrupted", () => {
    const skipping = (skip: unknown, more: object = {}): string[] => {
      const old = {
        ...rule,
        expression: "ssl",
        exceptions: [{ expression: 'ssl or http.host eq "a"', skip }],
      };
      const step = stepOf("delete", "ManagedRulesetOverride", "a", { old, outputs });
      return dangersOf({ ...step, oldState: { ...step.oldState, ...more } });
    };
    for (const skip of ["all", "this"]) expect(skipping(skip)).toEqual(["delete a"]);
    const kept = ["unprotect a", "delete a"];
    expect(skipping({ rules: { this: ["920272"] } })).toEqual(kept);
    expect(skipping({ rulesets: ["another"] })).toEqual(kept);
    expect(skipping("all", { initErrors: ["the update was interrupted"] })).toEqual(kept);
  });

  test("but fields that this version doesn't know may still have an effect", () => {
    const old = { ...policy, expression: "false", extra: { mode: 1 } };
    expect(dangersOf(changed("PageShieldPolicy", old, { extra: { mode: 2 } }))).toEqual(["unprotect a"]);
  });
});

test("names the directive that applied before, if a policy falls back to another one", () => {
  const policy = { zoneId: ZONE, description: "www", action: "allow", expression: "true", enabled: true };
  const change = stepOf("update", "PageShieldPolicy", "p", {
    old: { ...policy, value: "script-src 'self'; img-src *" },
    new: { ...policy, value: "default-src 'self' cdn.example; img-src *" },
  });
  expect(sentences("unprotect", change)).toEqual([
    `policy www newly allows cdn.example in default-src: "script-src 'self'" → "default-src 'self' cdn.example"`,
  ]);
});

describe("the report compares by meaning:", () => {
  const policy = { zoneId: ZONE, description: "www", action: "allow", enabled: true };
  const value = "script-src 'self'";
  const [joined, factored] = [
    '(http.host eq "a" and ssl) or (http.host eq "b" and ssl)',
    '(http.host eq "a" or http.host eq "b") and ssl',
  ];
  const job = { zoneId: ZONE, dataset: "http_requests", destinationShown: "s3://logs" };
  const rule = { zoneId: ZONE, ruleset: { id: "4814384a9e5d4991b9815dcfc25d2f1f" } };
  const exceptions = [{ expression: "ssl", skip: "this" }];
  const until = (time: string): string =>
    JSON.stringify({ where: { key: "EdgeEndTimestamp", operator: "lt", value: time } });

  test.each<[string, string, object, object, string[]]>([
    [
      "a policy whose condition is factored out covers no fewer requests",
      "PageShieldPolicy",
      { ...policy, value, expression: joined },
      { ...policy, value, expression: factored },
      [],
    ],
    [
      "a policy whose condition is repeated covers no fewer requests",
      "PageShieldPolicy",
      { ...policy, value, expression: factored },
      { ...policy, value, expression: joined },
      [],
    ],
    [
      "a template isn't a nonce, so 'unsafe-inline' next to it allows inline scripts",
      "PageShieldPolicy",
      { ...policy, expression: "true", value: "script-src 'self' 'nonce-{{x}}'" },
      { ...policy, expression: "true", value: "script-src 'self' 'nonce-{{x}}' 'unsafe-inline'" },
      ["unprotect it"],
    ],
    [
      "a time in seconds and one in milliseconds don't compare",
      "LogpushJob",
      { ...job, filter: until("1704067200") },
      { ...job, filter: until("1600000000000") },
      ["unprotect it"],
    ],
    [
      "settings for reports change nothing while Page Shield is disabled",
      "PageShieldSettings",
      { zoneId: ZONE, enabled: false, useReportingEndpoint: true },
      { zoneId: ZONE, enabled: false, useReportingEndpoint: false },
      [],
    ],
    [
      "a rule that matches no request may move behind any exception",
      "ManagedRulesetOverride",
      { ...rule, expression: 'ssl and http.host eq "a" and not ssl', position: "first", exceptions },
      { ...rule, expression: 'ssl and http.host eq "a" and not ssl', position: "last", exceptions },
      [],
    ],
    [
      "exceptions that move to the front may skip the rules of another program",
      "ManagedRulesetOverride",
      { ...rule, exceptions },
      { ...rule, exceptions, position: "first" },
      ["unprotect it"],
    ],
  ])("%s", (_, kind, old, next, dangers) => {
    expect(
      dangersOf(stepOf("update", kind, "it", { old: { ...old }, new: { ...next, ...found() } })),
    ).toEqual(dangers);
  });

  test.each<[string, object, string[]]>([
    ["latest", {}, []],
    ["pinned", { version: "88" }, ["unprotect it"]],
  ])('declaring version: "latest" on a rule that runs the %s version', (_, known, dangers) => {
    const old = { ...rule, exceptions };
    const next = { ...old, version: "latest", ...found() };
    const step = stepOf("update", "ManagedRulesetOverride", "it", { old, new: next, outputs: { known } });
    expect(dangersOf(step)).toEqual(dangers);
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
    expect(sentences("removes", step(5))).toEqual([]);
    expect(sentences("removes", step(12))).toEqual([
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
        return sentences("removes", stepOf("update", "KvEntries", "own", { old, outputs, new: inputs }));
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

describe("resources of other providers", () => {
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
  ])("are judged by the operation alone: %s", (op, dangers) => {
    expect(dangersOf(bucket(op))).toEqual(dangers);
  });
  test("aren't a danger if only a component is deleted", () => {
    expect(
      dangersOf({ op: "delete", urn: "urn:pulumi:dev::edge::team:Group::g", oldState: { custom: false } }),
    ).toEqual([]);
  });
});

describe("the report on a migration", () => {
  const assessed = (state: string, verdict: string) => ({
    state,
    verdict,
    lines: [verdict, "no step can be undone"],
    steps: [],
  });
  const START = assessed("start", "eligible; the previous rules are active");
  const step = (target: string, migrationState: string, assessment?: typeof START): MadeStep =>
    stepOf("update", "WafMigration", "m", {
      old: { zoneId: ZONE, target: "assessed", assessment: START },
      new: { zoneId: ZONE, target, assessment: assessment ?? START },
      outputs: { migrationState },
    });
  test.each<[string, string[], MadeStep]>([
    [
      "is only assessed",
      [],
      step("assessed", "start", assessed("start", "blocked; the previous rules are active")),
    ],
    [
      "the update finishes",
      ["irreversible m"],
      step("finished", "start", assessed("validation", "eligible; in validation")),
    ],
    ["is already finished", [], step("finished", "start", assessed("finished", "finished"))],
    ["is in an unknown state", [], step("finished", "start", assessed("switching", 'state "switching"'))],
    ["isn't finished in state and has no assessment", ["irreversible m"], step("finished", "validation")],
    ["is finished in state and has no assessment", [], step("validation", "finished")],
    [
      "is new and was never assessed",
      ["irreversible m"],
      created("WafMigration", "m", { zoneId: ZONE, target: "finished" }),
    ],
    [
      "is removed from the program",
      ["delete m"],
      stepOf("delete", "WafMigration", "m", {
        old: { zoneId: ZONE, target: "finished" },
        outputs: { migrationState: "finished" },
      }),
    ],
    [
      "moves to another zone",
      ["irreversible m", "replace m"],
      stepOf("replace", "WafMigration", "m", {
        old: { zoneId: ZONE, target: "finished" },
        new: { zoneId: OTHER, target: "finished", assessment: START },
        outputs: { migrationState: "finished" },
      }),
    ],
  ])("lists the expected dangers of a migration that %s", (_, dangers, given) => {
    expect(dangersOf(given)).toEqual(dangers);
  });

  test("shows an unknown state, but not in the diagram", () => {
    const { text } = report(
      refreshedJson(step("finished", "start", assessed("--> evil", 'state "--> evil"'))),
      "markdown",
    );
    expect(/```mermaid[^`]*```/.exec(text)?.[0]).not.toMatch(/evil|now\)|next\)/);
    expect(text).toContain('<b>m</b>: state "--&gt; evil"');
  });

  test("reads each zone's state from the assessment that a preview writes", async () => {
    const api = await startLocalApi();
    try {
      const states: Record<string, string | undefined> = {};
      for (const [name, zoneId] of Object.entries(api.zones).filter(([name]) => name.startsWith("migrate"))) {
        if (api.waf(zoneId).migration.retired !== null) continue; // The preview fails.
        const { inputs } = await new Operation(api).preview("WafMigration", { zoneId, target: "assessed" });
        states[name] = assessmentIn(inputs)?.state;
        expect(api.waf(zoneId).phase).toBe(states[name]);
      }
      expect(new Set(Object.values(states))).toEqual(new Set(["start", "validation", "finished"]));
    } finally {
      await api.close();
    }
  });
});
