import { startLocalApi } from "edgeguard-local";
import { assessmentIn } from "../../provider/migration/assessment";
import { report } from "../../provider/report";
import { Operation, UNKNOWN } from "../support/operation";
import {
  driftOf,
  found,
  list,
  planJson,
  refreshedJson,
  stepOf,
  type MadeStep,
  created,
  kept,
  dangersOf,
  sentencesOf,
} from "./plans";

/** What counts as a danger, and what doesn't. */

const ZONE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const OTHER = "5a0c1e7f3b2d4968a7e1c0f2d3b4a502";

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
    expect(sentencesOf("removes", SOURCE, next)).toEqual(["all 40 keys that it wrote may be deleted"]);
    expect(report(refreshedJson(SOURCE, next), "markdown").text).toContain("<b>it</b>: 40 keys");
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
  const skips = (ruleset: string, expression: string): object => ({
    action: "skip",
    action_parameters: { rulesets: [ruleset] },
    expression,
    enabled: true,
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
      "but not when the restored exception names the deployment's ruleset by its ID",
      [],
      [
        stepOf("delete", "ManagedRulesetOverride", "one", {
          old: { ...rule, exceptions: [{ expression: 'http.host eq "a"', skip: "this" }] },
          outputs: {
            ...outputs,
            rulesetId: "o",
            previous: { rule: executes("o", {}), exceptions: [{ rule: skips("o", 'http.host eq "a"') }] },
          },
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
    expect(sentencesOf("unprotect", ...steps)).toEqual(expected);
  });

  test("shows neither an unknown tag nor a paranoia level that rises as a loss", () => {
    const old = { ...rule, owasp: { paranoiaLevel: 1, scoreThreshold: 25 } };
    const update = (change: object): MadeStep =>
      stepOf("update", "ManagedRulesetOverride", "one", { old, new: { ...old, ...change } });
    expect(sentencesOf("unprotect", update({ categories: [{ tag: UNKNOWN, action: "log" }] }))).toEqual([
      "OWASP protects less: overrides that the plan doesn't show; accepting this accepts any value of categories",
    ]);
    expect(sentencesOf("unprotect", update({ owasp: UNKNOWN }))).toEqual([
      "OWASP protects less: overrides that the plan doesn't show, paranoia level 1 → known after apply; accepting this accepts any value of owasp",
    ]);
    expect(sentencesOf("unprotect", update({ owasp: { paranoiaLevel: 2, scoreThreshold: 60 } }))).toEqual([
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
    expect(sentencesOf("unprotect", adopting)).toEqual([
      expect.stringContaining("score threshold the ruleset's default → 60 (low)"),
    ]);
    expect(sentencesOf("unprotect", restoring)).toEqual([
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
      expect(sentencesOf("unprotect", update(one))).toContain(
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
      sentencesOf(
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
      sentencesOf(
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
