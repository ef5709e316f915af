import { managedRulesets, startLocalApi, type LocalApi } from "edgeguard-local";
import { report } from "../../provider/report/index";
import type { JsonObject } from "../../provider/basics/json";
import { Operation } from "../support/operation";
import { stepOf, refreshedJson, type MadeStep, created, deleted } from "./plans";

/** What a reviewer reads about rules that the program names in other words than their IDs. */

const TYPE = "ManagedRulesetOverride";
const { owasp } = managedRulesets;
const RULE = "0123456789abcdef0123456789abcdef";

const dangersOf = (step: MadeStep): string[] =>
  report(refreshedJson(step), "json").dangers.map(({ sentence }) => sentence.toString());

describe("the report on a plan with live checks", () => {
  let api: LocalApi;
  let declared: JsonObject;
  beforeAll(async () => {
    api = await startLocalApi();
    declared = { zoneId: api.zones.empty, accountId: api.accounts.main, ruleset: { id: owasp }, ref: "waf" };
  });
  afterAll(() => api.close());

  const named = () => ({
    ...declared,
    rules: { "920272": { enabled: false } },
    exceptions: [{ expression: 'http.host eq "a.example"', skip: { rules: { this: ["920100"] } } }],
  });

  test("shows once which rule each name stands for", async () => {
    const { inputs } = await new Operation(api).preview(TYPE, named());
    const markdown = report(refreshedJson(created(TYPE, "waf", inputs)), "markdown").text;
    expect(markdown).toContain("Rules by name:");
    expect(markdown).toMatch(
      /"920272" is rule [0-9a-f]{32} \("920272: Protocol enforcement in arguments"\): score, on by default/,
    );
    expect(markdown).toMatch(/"920100" is rule/);
    expect(markdown).not.toContain("ruleIds");
    const changed = { ...inputs, description: "mine" };
    const later = report(
      refreshedJson(stepOf("update", TYPE, "waf", { old: inputs, new: changed })),
      "markdown",
    ).text;
    expect(later).not.toContain("Rules by name:");
  });

  test("finds no danger if the program replaces a rule's ID with its name, or the reverse", async () => {
    const byName = (await new Operation(api).preview(TYPE, named())).inputs;
    const { [owasp]: ids = {} } = byName["ruleIds"] as Record<string, Record<string, string>>;
    const rules = { [ids["920272"] ?? ""]: { enabled: false } };
    const skip = { rules: { this: [ids["920100"] ?? ""] } };
    const exceptions = [{ expression: 'http.host eq "a.example"', skip }];
    const byId = (await new Operation(api).preview(TYPE, { ...declared, rules, exceptions })).inputs;
    expect(dangersOf(stepOf("update", TYPE, "waf", { old: byId, new: byName }))).toEqual([]);
    expect(dangersOf(stepOf("update", TYPE, "waf", { old: byName, new: byId }))).toEqual([]);
  });
});

describe("the report on a plan without live checks", () => {
  const rule = { zoneId: "z", accountId: "a", ruleset: { id: owasp }, expression: "true", enabled: true };
  const ruleIds = { [owasp]: { "920272": RULE } };
  const byName = { ...rule, rules: { "920272": { action: "block" } }, ruleIds };

  test("finds no danger if a rule's name is replaced with the ID that it stood for, or the reverse", () => {
    const byId = { ...rule, rules: { [RULE]: { action: "block" } } };
    expect(dangersOf(stepOf("update", TYPE, "waf", { old: byId, new: byName }))).toEqual([]);
    expect(dangersOf(stepOf("update", TYPE, "waf", { old: byName, new: byId }))).toEqual([]);
  });

  test("quotes the rule's name if its override gets weaker", () => {
    const next = { ...byName, rules: { "920272": { action: "log" } } };
    expect(dangersOf(stepOf("update", TYPE, "waf", { old: byName, new: next }))).toEqual([
      expect.stringContaining("protects less: rule 920272 action block → log"),
    ]);
  });

  test("treats an exception for another rule name as a new exception", () => {
    const excepting = (name: string): JsonObject => ({
      ...byName,
      exceptions: [{ expression: "true", skip: { rules: { this: [name] } } }],
    });
    const of = (old: string, next: string): string[] =>
      dangersOf(stepOf("update", TYPE, "waf", { old: excepting(old), new: excepting(next) }));
    expect(of("920272", RULE)).toEqual([]);
    expect(of("920272", "920100")).toEqual([
      expect.stringContaining('gets an exception: true skips "1 rule of this ruleset (920100)"'),
    ]);
  });
});

describe("a name that now stands for another rule", () => {
  const OTHER = "fedcba9876543210fedcba9876543210";
  const rule = { zoneId: "z", accountId: "a", ruleset: { id: owasp }, expression: "true", enabled: true };
  const named = (id: string): JsonObject => ({
    ...rule,
    rules: { "920272": { enabled: false } },
    ruleIds: { [owasp]: { "920272": id } },
  });
  const excepting = (id: string): JsonObject => ({
    ...rule,
    exceptions: [{ expression: "true", skip: { rules: { this: ["920272"] } } }],
    ruleIds: { [owasp]: { "920272": id } },
  });
  const renamed = (old: JsonObject, next: JsonObject): string[] =>
    report(refreshedJson(created(TYPE, "renamed", next), deleted(TYPE, "waf", old)), "json").dangers.map(
      ({ sentence }) => sentence.toString(),
    );

  test.each([
    ["override", named, `protects less: rule ${OTHER}`],
    ["exception", excepting, "gets an exception"],
  ])("is a danger, in an update and after a rename: %s", (_argument, of, danger) => {
    const expected = expect.arrayContaining([expect.stringContaining(danger)]) as unknown;
    expect(dangersOf(stepOf("update", TYPE, "waf", { old: of(RULE), new: of(OTHER) }))).toEqual(expected);
    expect(renamed(of(RULE), of(OTHER)).join()).toContain("is removed");
    expect(renamed(of(RULE), of(RULE)).join()).not.toContain("is removed");
    expect(dangersOf(stepOf("update", TYPE, "waf", { old: of(RULE), new: of(RULE) }))).toEqual([]);
  });
});
