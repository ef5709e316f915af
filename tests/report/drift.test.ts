import { report, reportDrift } from "../../provider/report/index";
import { entriesMessages, TOO_RECENT } from "../../provider/kv/impact";
import { JUDGES } from "../../provider/report/effects";
import type { JsonObject } from "../../provider/basics/json";
import { schemaProblems } from "../support/published";
import {
  driftIn,
  planJson,
  plansIn,
  read,
  recorded,
  shuffled,
  stepOf,
  type MadePlan,
  type MadeStep,
  created,
  diagnostic,
  found,
  list,
  wouldBlock,
} from "./plans";

/**
 * Plans that the Pulumi CLI wrote with `--refresh` after someone changed each resource manually, and their reviewed
 * reports. After an intended change, write the reports again
 *
 *     edgeguard report --drift tests/report/fixtures/drift/data.json > tests/report/fixtures/drift/data.md
 *
 * (and with `--format json` the `.report.json`), and review the difference.
 */

const FORMATS = ["markdown", "text", "json"] as const;

const FIXTURES = plansIn("drift");

const planOf = (name: string): string => read(`drift/${name}.json`);
const written = (text: string, format: (typeof FORMATS)[number]): string =>
  reportDrift([{ name: "plan", text }], format).text;

describe("the drift report on recorded plans", () => {
  test.each(FIXTURES)("equals the reviewed report for %s", (name) => {
    expect(written(planOf(name), "markdown")).toBe(read(`drift/${name}.md`));
    expect(written(planOf(name), "json")).toBe(read(`drift/${name}.report.json`));
  });

  test.each(FIXTURES)("follows its published schema for %s", (name) => {
    const document = JSON.parse(written(planOf(name), "json")) as JsonObject;
    expect(document["$schema"]).toBe("https://unpkg.com/pulumi-edgeguard/schemas/drift.v1.json");
    expect(schemaProblems("drift.v1", document)).toEqual([]);
    expect(schemaProblems("drift.v1", { ...document, more: 1 })).toHaveLength(1);
  });

  test.each(FIXTURES)("doesn't depend on the engine's order for %s", (name) => {
    const { steps, ...rest } = JSON.parse(planOf(name)) as MadePlan;
    const refreshes = steps.filter(({ op }) => op === "refresh");
    const others = steps.filter(({ op }) => op !== "refresh");
    const shuffledPlan = { ...rest, steps: [...shuffled(refreshes, 1), ...shuffled(others, 2)] };
    expect(written(JSON.stringify(shuffledPlan), "json")).toBe(read(`drift/${name}.report.json`));
  });

  test("includes a manual change to every type of resource", () => {
    const kinds = FIXTURES.flatMap((name) => driftIn(planOf(name)).resources.map(({ kind }) => kind));
    expect([...new Set(kinds)].sort()).toEqual(Object.keys(JUDGES).sort());
  });

  test("is a single sentence if nobody changed anything", () => {
    expect(written(planOf("none"), "text")).toBe(
      "edgeguard: edge/dev\n\nNothing that the program sets was changed manually: 17 resources match the state.\n",
    );
  });
});

test.each([
  [
    "update",
    "1 resource from other providers, changed or deleted manually:\n  ~ other:index:Ticket ticket: title\n",
  ],
  [
    "create",
    "1 resource from other providers, changed or deleted manually:\n  - other:index:Ticket ticket\n",
  ],
])("lists another provider's resource whose next step is %s", (op, list) => {
  const urn = "urn:pulumi:dev::edge::other:index:Ticket::ticket";
  const ticket = (title: string) => ({ custom: true, id: "7", inputs: { title } });
  const refresh = { op: "refresh", urn, oldState: ticket("a"), newState: ticket("a") };
  const next = { op, urn, ...(op === "update" && { oldState: ticket("b") }), newState: ticket("a") };
  expect(written(planJson(refresh, next), "text")).toContain(`\n${list}`);
});

describe("the report on a manual change", () => {
  const RULE = { zoneId: "z", ref: "x", ruleset: "efb7b8c949ac4650a09736fc376e9aee", expression: "true" };
  /** A rule that was changed manually, and that the program leaves as the state has it or changes to `program`. */
  const changedRule = (now: JsonObject, op = "update", program: JsonObject = RULE): string =>
    planJson(
      stepOf("refresh", "ManagedRulesetOverride", "a", { old: RULE, new: RULE }),
      stepOf(op, "ManagedRulesetOverride", "a", { old: { ...RULE, ...now }, new: program }),
    );

  test("says how to keep the changed arguments, even if no argument can declare the rest", () => {
    const drift = "the rule isn't first";
    const keep = (plan: string) => driftIn(plan).resources[0]?.keep;
    expect(keep(changedRule({ enabled: false, drift }))).toEqual({
      how: "To keep the changed arguments, put this in the program. No argument covers the rest",
      code: ["enabled: false,"],
    });
    expect(keep(changedRule({ enabled: false, drift }, "update", { ...RULE, enabled: false }))).toEqual({
      how: "To keep the changed arguments, do nothing. No argument covers the rest",
      code: [],
    });
  });

  test("says what the update leaves: another's skip rule, and what no argument sets", () => {
    const rule = {
      ruleId: "r",
      ref: "load-test",
      description: "load test",
      expression: "true",
      skips: "all",
    };
    const refreshed = (outputs: JsonObject): MadeStep =>
      stepOf("update", "ManagedRulesetOverride", "a", {
        old: { ...RULE, enabled: false },
        new: RULE,
        outputs,
      });
    const before = stepOf("refresh", "ManagedRulesetOverride", "a", {
      old: RULE,
      new: RULE,
      outputs: { otherSkipRules: [] },
    });
    const outcome = (outputs: JsonObject) =>
      driftIn(planJson(before, refreshed(outputs))).resources[0]?.update;
    expect(outcome({ otherSkipRules: [rule] })).toBe(
      "pulumi up --refresh leaves the rule that skips in place; it undoes whatever else was changed",
    );
    expect(outcome({ otherSkipRules: [], unmanaged: { logging: false } })).toBe(
      "pulumi up --refresh leaves what the program doesn't set; it undoes whatever else was changed",
    );
    expect(outcome({ otherSkipRules: [] })).toBe("pulumi up --refresh undoes the change");
  });

  test("says which argument an update of another one leaves as it is, and doesn't call Cloudflare's value the program's", () => {
    const job = (destinationShown: string, frequency: string): JsonObject => ({
      ...{ zoneId: "z", name: "a", dataset: "http_requests" },
      ...{ destinationConf: "[secret]", destinationShown, frequency },
    });
    const plan = planJson(
      stepOf("refresh", "LogpushJob", "a", {
        old: job("https://x.example/in", "low"),
        new: job("https://x.example/in", "low"),
      }),
      stepOf("update", "LogpushJob", "a", {
        old: job("https://thief.example/in", "high"),
        new: job("https://thief.example/in", "low"),
      }),
    );
    const [found] = driftIn(plan).resources;
    expect(found?.update).toBe(
      "pulumi up --refresh leaves destinationConf as it is, because the program now declares it this way or ignores the change (ignoreChanges); it undoes whatever else was changed",
    );
    expect(found?.changes).toContainEqual({
      property: "destinationConf",
      before: "https://x.example/in",
      now: "https://thief.example/in",
      planned: "as now, or ignored (ignoreChanges)",
    });
  });

  test("says that a deleted object isn't created again where the plan adopts another one", () => {
    const inputs = { title: "a" };
    const { urn } = stepOf("same", "KvNamespace", "a", {});
    const adopted = { object: "namespace n in account a", onDestroy: "deletes it" };
    const plan = planJson(
      { op: "refresh", urn, oldState: { custom: true, id: "id", inputs } },
      { op: "create", urn, newState: { custom: true, inputs: { ...inputs, adopted } } },
    );
    expect(driftIn(plan).resources).toMatchObject([
      { found: "gone", update: "pulumi up --refresh adopts an object that exists already" },
    ]);
  });

  test("comes first if it turned a rule off, however little another one allows more", () => {
    const policy = { zoneId: "z", description: "p", action: "log", enabled: true, expression: "true" };
    const [was, is] = ["script-src 'self'; img-src 'self'", "script-src a.example; img-src b.example"];
    const plan = planJson(
      stepOf("refresh", "PageShieldPolicy", "p", { old: { ...policy, value: was } }),
      stepOf("refresh", "ManagedRulesetOverride", "a", { old: RULE, new: RULE }),
      stepOf("update", "PageShieldPolicy", "p", {
        old: { ...policy, value: is },
        new: { ...policy, value: was },
      }),
      stepOf("update", "ManagedRulesetOverride", "a", { old: { ...RULE, enabled: false }, new: RULE }),
    );
    const lost = driftIn(plan).resources.map(({ name, lost }) => [name, lost.length]);
    expect(lost).toEqual([
      ["a", 1],
      ["p", 2],
    ]);
  });

  test("says what undoing it blocks, but not what a change of the program does", () => {
    const policy = { zoneId: "z", description: "p", action: "allow", expression: "true" };
    const [was, is] = ["script-src 'self'", "script-src 'self' pay.example"];
    const blocking = found({ wouldBlock: wouldBlock(1, ["https://pay.example/pay.js"]) });
    const plan = (recorded: string): string =>
      planJson(
        stepOf("refresh", "PageShieldPolicy", "p", { old: { ...policy, value: recorded } }),
        stepOf("update", "PageShieldPolicy", "p", {
          old: { ...policy, description: "by hand", value: is },
          new: { ...policy, value: was, ...blocking },
        }),
      );
    const sentence =
      "PageShieldPolicy p: putting it back means that it would newly block 1 active script or connection: https://pay.example/pay.js";
    expect(written(plan(was), "text")).toContain(sentence);
    expect(written(plan(is), "text")).not.toContain("newly block");
  });

  test("says what undoing it blocks, also of a policy that was written in another notation", () => {
    const policy = { zoneId: "z", description: "p", action: "allow", expression: 'http.host eq "a"' };
    const asWritten = { ...policy, expression: 'http.host == "a"' };
    const [was, is] = ["script-src 'self'", "script-src 'self' pay.example"];
    const blocking = found({ wouldBlock: wouldBlock(1, ["https://pay.example/pay.js"]) });
    const plan = planJson(
      stepOf("refresh", "PageShieldPolicy", "p", { old: { ...policy, value: was }, outputs: asWritten }),
      stepOf("update", "PageShieldPolicy", "p", {
        old: { ...asWritten, value: is },
        new: { ...policy, value: was, ...blocking },
      }),
    );
    expect(written(plan, "text")).toContain("putting it back means that it would newly block 1 active");
    expect(driftIn(plan).resources[0]?.changes.map(({ property }) => property)).toEqual(["value"]);
  });

  test("is judged also if what was written was a secret, and the program no longer makes it one", () => {
    const rule = { zoneId: "z", accountId: "a", ref: "r", ruleset: { name: "Cloudflare Managed Ruleset" } };
    const [declared, hidden] = [{ ...rule, expression: "true" }, { expression: "[secret]" }];
    const plan = planJson(
      stepOf("refresh", "ManagedRulesetOverride", "r", { old: declared, outputs: hidden }),
      stepOf("update", "ManagedRulesetOverride", "r", { old: { ...rule, ...hidden }, new: declared }),
    );
    expect(report(plan, "json").dangers.map(({ kind }) => kind)).toContain("unprotect");
  });

  test("isn't undone by a plan whose program declares it", () => {
    const [before, now] = [
      { zoneId: "z", enabled: true },
      { zoneId: "z", enabled: false },
    ];
    const plan = planJson(
      stepOf("refresh", "PageShieldSettings", "shield", { old: before }),
      stepOf("same", "PageShieldSettings", "shield", { old: now, new: now }),
    );
    expect(report(plan, "text").text).not.toContain("undoes manual changes");
  });

  test.each([true, false])("doesn't call an interrupted update one, applied or not: %j", (enabled) => {
    const plan = planJson(
      stepOf("refresh", "PageShieldSettings", "shield", {
        old: { zoneId: "z", enabled: false },
        outputs: { zoneId: "z", enabled: true },
        state: { initErrors: ["PUT returned 502"] },
      }),
      stepOf("update", "PageShieldSettings", "shield", {
        old: { zoneId: "z", enabled },
        new: { zoneId: "z", enabled: true },
      }),
    );
    expect(driftIn(plan)).toMatchObject({ drifted: false, resources: [], counts: { uncompared: 1 } });
    expect(report(plan, "text").text).not.toMatch(/Changed outside|undoes manual changes/);
    expect(written(plan, "text")).toContain(
      "PageShieldSettings shield: its last update was interrupted, so nobody knows what that left and what someone changed. Run `pulumi up` to finish it.",
    );
  });

  test.each([
    [{ onDestroy: "keep" }, {}],
    [{}, { retainOnDelete: true }],
  ])("says that what's destroyed with %j and the options %j is left in place", (args, options) => {
    const recorded = { ...args, enabled: true };
    const now = { ...args, enabled: false };
    const plan = planJson(
      stepOf("refresh", "PageShieldSettings", "own", { old: recorded, new: now, state: options }),
      stepOf("delete", "PageShieldSettings", "own", { old: now, state: options }),
    );
    expect(driftIn(plan).resources).toMatchObject([
      {
        update: "pulumi up --refresh removes the resource from the state and leaves the object in place",
      },
    ]);
  });

  test("says that the change stays if the program only reads the resource from now on", () => {
    const state = { custom: true, id: "id" };
    const title = (text: string): JsonObject => ({ ...state, inputs: { title: text } });
    const { urn } = stepOf("same", "KvNamespace", "a", {});
    const plan = planJson(
      { op: "refresh", urn, oldState: title("a"), newState: title("a") },
      { op: "replace", urn, oldState: title("b"), newState: { ...title("b"), external: true } },
    );
    expect(driftIn(plan).resources).toMatchObject([
      {
        update:
          "pulumi up --refresh leaves the object as it is, because the program only reads it from now on",
        keep: { how: "To keep the change, do nothing", code: [] },
      },
    ]);
  });
});

describe("a change that costs more than it shows", () => {
  const keys = { namespaceId: "n", file: "flags.json", keys: 2, bytes: 9, prune: { prefix: "flag/" } };
  /** A program without changes, and keys that others wrote under its pruned prefix. */
  const pruning = (recorded: JsonObject, drift?: string, ...more: readonly JsonObject[]): string => {
    const impact = {
      impact: { operation: "check", revision: 2, seen: ["prunedKeys"], prunes: list("flag/theirs") },
    };
    const now = drift === undefined ? recorded : { ...recorded, drift };
    const steps = [
      stepOf("refresh", "KvEntries", "flags", { old: recorded, new: recorded }),
      stepOf("update", "KvEntries", "flags", { old: now, new: { ...keys, ...impact } }),
    ];
    return JSON.stringify({ steps, diagnostics: more });
  };

  test("names the keys that undoing it deletes although others wrote them", () => {
    const { warnings } = entriesMessages({ prunes: list("flag/theirs") }, "KvEntries flags");
    const warning = diagnostic(`edgeguard: ${warnings.join()}`, "info#err");
    const report = driftIn(pruning(keys, undefined, warning));
    expect(report).toMatchObject({
      drifted: true,
      counts: { changed: 1, asRecorded: 0 },
      pending: [],
      warnings: [],
    });
    expect(report.resources).toMatchObject([
      {
        changes: [{ property: "file", before: "2 keys as written" }],
        gained: [],
        lost: ["1 key that others wrote under flag/ will be deleted: flag/theirs"],
        update: "pulumi up --refresh deletes the keys that others wrote",
        keep: {
          how: "To keep the keys, put them in the program's file, or set a prune.prefix that leaves them out, before any pulumi up",
          code: [],
        },
      },
    ]);
    expect(driftIn(pruning(keys, "1 key missing: flag/a")).resources).toMatchObject([
      { update: "pulumi up --refresh writes these keys again, and deletes the keys that others wrote" },
    ]);
    const gone = stepOf("refresh", "KvNamespace", "gone", { old: { title: "gone" } });
    const back = created("KvNamespace", "gone", { title: "gone" });
    const { steps } = JSON.parse(pruning(keys)) as MadePlan;
    expect(driftIn(planJson(gone, ...steps, back, gone)).resources.map(({ name }) => name)).toEqual([
      "gone",
      "flags",
    ]);
  });

  test("leaves keys that only the program's new `prune` deletes to the report on the plan", () => {
    const report = driftIn(pruning({ ...keys, prune: { prefix: "flag/old/" } }));
    expect(report).toMatchObject({ drifted: false, pending: [{ name: "flags" }] });
  });

  test("doesn't count keys that were written too recently as compared", () => {
    const same = ["refresh", "same"].map((op) => stepOf(op, "KvEntries", "flags", { old: keys, new: keys }));
    const text = `KvEntries flags: ${TOO_RECENT}.`;
    const plan = JSON.stringify({ steps: same, diagnostics: [diagnostic(`edgeguard: ${text}`, "info#err")] });
    expect(driftIn(plan)).toMatchObject({
      counts: { asRecorded: 0, uncompared: 1 },
      notes: [text],
      warnings: [],
    });
    expect(written(plan, "text")).toContain(
      "\nNo manual change was found in what the program sets, 1 compared only in part.\n",
    );
    expect(driftIn(planJson(...same)).counts).toMatchObject({ asRecorded: 1, uncompared: 0 });
  });

  test("names where a disabled job pushes to once it's enabled again", () => {
    const job = (enabled: boolean, destinationShown: string): JsonObject => ({
      zoneId: "z",
      dataset: "http_requests",
      enabled,
      destinationConf: "[secret]",
      destinationShown,
    });
    const [old, now] = [job(true, "https://a.example"), job(false, "https://b.example")];
    const refresh = stepOf("refresh", "LogpushJob", "a", { old, new: old });
    const next = stepOf("update", "LogpushJob", "a", { old: now, new: old });
    expect(driftIn(planJson(refresh, next)).resources[0]?.lost).toEqual([
      "the Logpush job is disabled: http_requests is no longer pushed to https://a.example",
      "log lines go to another destination: https://a.example → https://b.example",
    ]);
  });

  test("is written as YAML for a resource of the plugin", () => {
    const old = {
      title: "flags",
      zoneId: "z",
      enabled: true,
      destinationConf: "[secret]",
      destinationShown: "https://a",
    };
    const { title, ...rest } = old;
    const now = { ...rest, enabled: false, filter: '{"where":"${a}"}', destinationShown: "https://b" };
    const plan = planJson(
      stepOf("refresh", "LogpushJob", "a", { old: { ...rest, name: title }, new: rest }),
      stepOf("update", "LogpushJob", "a", { old: now, new: { ...rest, name: title } }),
    ).replaceAll("pulumi-nodejs:dynamic/edgeguard:", "edgeguard:index:");
    const lines = [
      "# Without name",
      'destinationConf: "…" # The current value, which the plan hides.',
      "enabled: false",
      'filter: \'{"where":"$${a}"}\'',
    ];
    const found = driftIn(plan).resources[0];
    expect(found).toMatchObject({ language: "yaml" });
    expect([...(found?.keep.code ?? [])].sort()).toEqual(lines);
    expect(written(plan, "markdown")).toContain("```yaml\n");
  });
});

describe("in the drift report on unusual plans", () => {
  test("an older engine's plan gives the same report, although it has update and delete steps instead of refresh steps", () => {
    const { steps, ...rest } = JSON.parse(planOf("and-plan")) as MadePlan;
    const next = new Map(steps.filter(({ op }) => op !== "refresh").map((step) => [step.urn, step]));
    const older = steps.map((step) => {
      const following = next.get(step.urn);
      if (step.op !== "refresh" || following === undefined) return step;
      if (following.op === "create") return { ...step, op: "delete" };
      const now = following.oldState;
      const isSame = JSON.stringify(step.oldState?.["inputs"]) === JSON.stringify(now?.["inputs"]);
      return isSame ? step : { ...step, op: "update", newState: now };
    });
    expect(older.filter(({ op }) => op === "update").length).toBeGreaterThan(11);
    expect(written(JSON.stringify({ ...rest, steps: older }), "json")).toBe(
      read("drift/and-plan.report.json"),
    );
  });

  test("the plans of several stacks give one report", () => {
    const staging = planOf("data").replaceAll("urn:pulumi:dev", "urn:pulumi:staging");
    const { counts, resources } = driftIn(planOf("none"), staging);
    expect(counts).toEqual({ changed: 6, gone: 2, asRecorded: 18, uncompared: 0 });
    expect(resources.map(({ name }) => name)).toContain("missing (staging)");
    expect(() => driftIn(planOf("none"), "{}")).toThrow(/^plan 2: .*empty object/);
  });

  test("a resource that a failed preview didn't reach isn't reported as gone", () => {
    const { steps } = JSON.parse(planOf("page-shield")) as MadePlan;
    const failed = JSON.stringify({
      steps: steps.filter(({ op }) => op === "refresh"),
      diagnostics: [{ message: "error: boom", severity: "error" }],
    });
    const found = driftIn(failed);
    expect(found.resources).toEqual([]);
    expect(found.errors).toEqual([{ text: "boom" }]);
    expect(reportDrift([{ name: "plan", text: failed }], "text")).toMatchObject({
      failed: true,
      text: expect.stringContaining("The preview failed before it found any drift.") as string,
    });
  });

  test("a YAML program that can't run is a failed preview, and nothing counts as deleted", () => {
    const stack = { op: "same", urn: "urn:pulumi:dev::edge::pulumi:pulumi:Stack::edge-dev" };
    const old = { title: "catalog" };
    const refresh = stepOf("refresh", "KvNamespace", "a", { old, new: old });
    const line = (message: string): JsonObject => ({ message: `${message}\n\n`, severity: "info#err" });
    const printed = [
      line("\u001b[31mError\u001b[0m: edgeguard:index:KvNamespace is not assignable from {titel: string}"),
      line("  titel: Property does not exist"),
    ];
    const failed = JSON.stringify({ steps: [stack, refresh], diagnostics: printed });
    const text =
      "edgeguard:index:KvNamespace is not assignable from {titel: string}\ntitel: Property does not exist";
    expect(driftIn(failed)).toMatchObject({ resources: [], errors: [{ text }] });
    const plan = JSON.stringify({ steps: [stack], diagnostics: printed });
    expect(report(plan, "text")).toMatchObject({ failed: true });
    // A program that prints the like, but runs.
    const ran = JSON.stringify({
      steps: [stack, stepOf("same", "KvNamespace", "a", { old, new: old })],
      diagnostics: printed,
    });
    expect(report(ran, "text")).toMatchObject({ failed: false });
  });

  test("an object that the program only reads isn't reported", () => {
    const zone = { zoneId: "z" };
    const read = stepOf("read", "PageShieldSettings", "a", { old: { ...zone, enabled: false }, new: zone });
    const refresh = stepOf("refresh", "PageShieldSettings", "a", {
      old: { ...zone, enabled: true },
      new: zone,
    });
    expect(driftIn(planJson(refresh, read)).drifted).toBe(false);
  });

  const policy = (enabled: boolean): JsonObject => ({
    zoneId: "z",
    enabled,
    action: "allow",
    value: "'self'",
  });
  /** What a replacement left behind when its delete failed. The state has it with the URN of its replacement. */
  const leftBehind = (op: string) =>
    stepOf(op, "PageShieldPolicy", "a", { old: { ...policy(true), zoneId: "y" }, state: { delete: true } });

  test.each(["same", "update"])(
    "an object left behind by a replacement isn't mistaken for the new one, whose step is %s",
    (op) => {
      const old = policy(true);
      const refresh = stepOf("refresh", "PageShieldPolicy", "a", { old, new: old });
      const now = stepOf(op, "PageShieldPolicy", "a", { old: policy(op === "same"), new: old });
      for (const plan of [
        [refresh, leftBehind("refresh"), now],
        [leftBehind("refresh"), refresh, now, leftBehind("delete")],
        [leftBehind("refresh"), refresh, leftBehind("delete"), now],
      ]) {
        const { counts, resources } = driftIn(planJson(...plan));
        expect(resources.map(({ found, changes }) => [found, changes[0]?.property])).toEqual(
          op === "same" ? [] : [["changed", "enabled"]],
        );
        expect(Object.values(counts).reduce((sum, count) => sum + count)).toBe(1);
      }
    },
  );

  test("an object left behind by a replacement that created nothing yet isn't reported as gone", () => {
    const create = created("PageShieldPolicy", "a", policy(true));
    const other = (op: string) =>
      stepOf(op, "KvNamespace", "b", { old: { title: "b" }, new: { title: "b" } });
    const plan = [other("refresh"), leftBehind("refresh"), other("same"), create, leftBehind("delete")];
    const found = driftIn(planJson(...plan));
    expect(found.drifted).toBe(false);
    expect(found.pending).toMatchObject([{ op: "create" }, { op: "delete" }]);
  });

  test("a migration that has reached the program's target isn't drift", () => {
    const args = { zoneId: "z", target: "finished" };
    const step = (op: string, migrationState: string) =>
      stepOf(op, "WafMigration", "a", { old: args, new: args, outputs: { migrationState } });
    expect(driftIn(planJson(step("refresh", "validation"), step("same", "finished"))).drifted).toBe(false);
    expect(driftIn(planJson(step("refresh", "start"), step("same", "validation"))).drifted).toBe(true);
  });

  const withoutSames = (...more: readonly MadeStep[]): string => {
    const { steps } = JSON.parse(planOf("none")) as MadePlan;
    const listed = steps.filter(({ op, urn }) => op !== "same" || urn.includes("pulumi:pulumi:Stack"));
    return JSON.stringify({ steps: [...listed, ...more], changeSummary: { same: 18 } });
  };

  test.each<[string, string, RegExp]>([
    [
      "a plan without --refresh",
      read("changed.json"),
      /made without --refresh.*--refresh --json --show-sames/,
    ],
    [
      "a plan without --show-sames",
      JSON.stringify({
        steps: (JSON.parse(planOf("none")) as MadePlan).steps.filter(({ op }) => op !== "same"),
        changeSummary: { same: 18 },
      }),
      /was made without --show-sames, so it doesn't show what the refresh found/,
    ],
    [
      "a current engine's plan without --show-sames in which the stack itself is unchanged",
      withoutSames(),
      /was made without --show-sames, so it doesn't show whether.*--refresh --json --show-sames/,
    ],
    [
      "a plan without --show-sames that also imports",
      withoutSames(stepOf("import", "PageShieldPolicy", "imported", { new: { zoneId: "z" } })),
      /was made without --show-sames/,
    ],
    ["the plan of a refresh", read("refreshed.json"), /plan of a `pulumi refresh`/],
  ])("%s is refused", (_, text, sentence) => {
    expect(() => written(text, "text")).toThrow(sentence);
  });
});

describe("secrets in the drift report", () => {
  const job = {
    zoneId: "z",
    dataset: "http_requests",
    destinationConf: "[secret]",
    destinationShown: "s3://b",
  };
  const refresh = stepOf("refresh", "LogpushJob", "a", { old: job, new: job });

  test("aren't drift if only the program changes them", () => {
    const found = driftIn(planJson(refresh, stepOf("update", "LogpushJob", "a", { old: job, new: job })));
    expect(found.drifted).toBe(false);
    expect(found.pending).toEqual([{ op: "update", type: "LogpushJob", name: "a" }]);
  });

  test.each(["update", "same"])(
    "are drift if the refresh found them changed and the program's step is %s",
    (op) => {
      const outputs = { drift: "the destination differs in a part that isn't shown" };
      const found = driftIn(
        planJson(refresh, stepOf(op, "LogpushJob", "a", { old: job, new: job, outputs })),
      );
      expect(found.resources).toMatchObject([
        {
          changes: [{ property: "destinationConf", now: "[secret], which has changed" }],
          lost: ["destinationConf has changed; the plan hides it"],
        },
      ]);
    },
  );

  test("are drift beside a change that the plan shows", () => {
    const outputs = { drift: "the destination differs in a part that isn't shown" };
    const now = { ...job, enabled: false };
    const found = driftIn(
      planJson(
        stepOf("refresh", "LogpushJob", "a", { old: job, new: now }),
        stepOf("update", "LogpushJob", "a", { old: now, new: job, outputs }),
      ),
    );
    expect(found.resources[0]?.changes.map(({ property }) => property)).toEqual([
      "enabled",
      "destinationConf",
    ]);
    expect(found.resources[0]?.lost).toContain("destinationConf has changed; the plan hides it");
  });

  test.each(FIXTURES)("are hidden in the report on plan %s", (name) => {
    for (const format of FORMATS) expect(written(planOf(name), format)).not.toMatch(/canary/i);
  });

  /** A canary wherever a plan made with --show-secrets may hold one. */
  test("are hidden anywhere in a plan", () => {
    const marked = {
      "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
      plaintext: '"CANARY-m"',
    };
    const job = (path: string, destinationShown: string) => ({
      zoneId: "z",
      dataset: "http_requests",
      destinationConf: `https://logs.example.com/${path}?header_Authorization=CANARY%20token`,
      destinationShown,
      ownershipChallenge: "CANARY-challenge",
    });
    const entries = {
      namespaceId: "n",
      entries: { a: "CANARY-value", b: { value: "CANARY-more" } },
      keys: 2,
    };
    const drifted = (kind: string, name: string, old: JsonObject, now: JsonObject) => [
      stepOf("refresh", kind, name, { old, new: old, outputs: { manifest: "CANARY-manifest" } }),
      stepOf("update", kind, name, { old: now, new: old, outputs: { manifest: "CANARY-manifest" } }),
    ];
    const ticket = (title: string) => ({
      custom: true,
      id: "7",
      inputs: { title },
      outputs: { title, owner: "CANARY" },
    });
    const urn = "urn:pulumi:dev::edge::other:index:Ticket::ticket";
    const plan = JSON.stringify({
      config: { "edgeguard:apiToken": "CANARY-api-token" },
      steps: [
        ...drifted("LogpushJob", "moved", job("a", "https://a"), job("b", "https://b")),
        ...drifted("LogpushJob", "rotated", job("a", "https://a"), job("b", "https://a")),
        stepOf("refresh", "LogpushJob", "gone", { old: job("a", "https://a") }),
        created("LogpushJob", "gone", job("a", "https://a")),
        ...drifted("KvEntries", "keys", entries, { ...entries, drift: "1 key missing: a" }),
        stepOf("refresh", "KvEntries", "lost", { old: entries }),
        ...drifted(
          "KvNamespace",
          "marked",
          { title: marked },
          { title: { ...marked, plaintext: '"CANARY-n"' } },
        ),
        ...drifted(
          "PageShieldPolicy",
          "p",
          { zoneId: "z", value: marked },
          { zoneId: "z", value: "script-src *" },
        ),
        { op: "refresh", urn, oldState: ticket("CANARY-old") },
        { op: "update", urn, oldState: ticket("CANARY-new"), newState: ticket("CANARY-old") },
      ],
      diagnostics: [
        "CANARY-api-token refused",
        "destination CANARY token refused",
        "challenge CANARY-challenge refused",
        "value CANARY-value and CANARY-more refused",
        "title CANARY-n and CANARY-m refused",
      ].flatMap((text) => [
        { message: `edgeguard: ${text}\n`, severity: "info#err" },
        { message: `edgeguard: ${text} (info)\n`, severity: "info" },
        { message: `warning: ${text} again\n`, severity: "warning" },
      ]),
    });
    for (const format of FORMATS) {
      const text = written(plan, format);
      expect(text).not.toContain("CANARY");
      expect(text).toMatch(/challenge \\*\[secret\\*\] refused/);
      for (const name of ["moved", "rotated", "gone", "keys", "lost", "p", "ticket"])
        expect(text).toContain(name);
    }
  });

  test("exist in a recorded plan, so that these tests can look for them", () => {
    expect(JSON.stringify(recorded("drift/data"))).toContain("canary-title");
  });
});
