import { managedRulesets, OWASP_SCORE_RULE } from "edgeguard-local";
import { hasUnknown } from "../../provider/runtime/engine-values";
import { UNKNOWN, type Recorded } from "../support/operation";
import { inputsAfter, RulesetsBench, MANAGED, TYPE, type Rule } from "./support";
import { OFFLINE } from "../support/bench";

const bench = new RulesetsBench({ shared: true });

const { managed, owasp, free } = managedRulesets;
const EXPRESSION = 'http.request.uri.path eq "/search"';
const JAVA = "Java applications: remote code execution - CVE:CVE-2021-44228 (100502)";

/** The rule of a ruleset whose description contains the text. */
async function ruleWith(ruleset: string, text: string): Promise<Rule> {
  const rule = (await bench.managedRules(ruleset)).find(({ description }) =>
    String(description).includes(text),
  );
  if (rule === undefined) throw new Error(`no rule has ${text} in its description`);
  return rule;
}

async function overridesSent(): Promise<unknown> {
  const { action_parameters } = await bench.ownRule();
  return (action_parameters as { overrides: { rules: unknown } }).overrides.rules;
}

const skipping = (rules: Record<string, readonly string[]>) => ({
  exceptions: [{ expression: EXPRESSION, skip: { rules } }],
});
const off = (...names: string[]) => ({
  rules: Object.fromEntries(names.map((name) => [name, { enabled: false }])),
});
const refusals = (declaration: Record<string, unknown>, recorded?: Recorded) =>
  bench.refusals(declaration, recorded);

describe("a rule's name", () => {
  it("can be its OWASP number, and the request contains the rule's ID", async () => {
    const { id } = await ruleWith(owasp, "920272:");
    const declaration = bench.declare(off("920272"));
    const recorded = await bench.up(declaration);
    expect(await overridesSent()).toEqual([{ id, enabled: false }]);
    expect(recorded.outputs).toMatchObject({
      rules: { "920272": { enabled: false } },
      ruleIds: { [owasp]: { "920272": id } },
    });
    await bench.expectNoChanges(declaration, recorded);
  });

  it.each([
    ["its CVE number", "CVE-2021-44228"],
    ["its CVE number as Cloudflare writes it", "CVE:CVE-2021-44228"],
    ["its CVE number in another notation", "cve:2021-44228"],
    ["its CVE number without CVE", "2021-44228"],
    ["its CVE number with underscores", "CVE_2021_44228"],
    ["its CVE number with non-breaking hyphens", "CVE\u20112021\u201144228"],
    ["words of its description, in any order and case", "Execution JAVA remote"],
    ["its whole description", JAVA],
  ])("can be %s", async (_how, name) => {
    const { id } = await ruleWith(managed, JAVA);
    const { inputs } = await bench.preview(bench.declareManaged(off(name)));
    expect(inputs["ruleIds"]).toEqual({ [managed]: { [name]: id } });
  });

  it("works in an exception for the resource's ruleset or another one", async () => {
    const [own, other] = [await ruleWith(owasp, "920272:"), await ruleWith(free, "CVE-2021-44228")];
    const names = {
      this: ["920272", OWASP_SCORE_RULE],
      "Cloudflare Managed Free Ruleset": ["CVE-2021-44228"],
    };
    const declaration = bench.declare(skipping(names));
    const recorded = await bench.up(declaration);
    const [exception] = (await bench.rules()).filter(({ ref }) => ref.endsWith("/exception/1"));
    expect(exception?.["action_parameters"]).toEqual({
      rules: { [owasp]: [own.id, OWASP_SCORE_RULE].sort(), [free]: [other.id] },
    });
    expect(recorded.inputs["ruleIds"]).toEqual({
      [owasp]: { "920272": own.id },
      [free]: { "CVE-2021-44228": other.id },
    });
    await bench.expectNoChanges(declaration, recorded);
  });

  it("appears in the preview with the rule's ID, description and default", async () => {
    const [number, cve] = [await ruleWith(owasp, "920272:"), await ruleWith(free, "CVE-2021-44228")];
    const names = { this: ["920272"], [free]: ["CVE-2021-44228"] };
    const declaration = bench.declare({ ...off("920272"), ...skipping(names) });
    const { inputs } = await bench.preview(declaration);
    expect(inputs["expansion"]).toMatchObject({
      rulesByName: [
        `"920272" is rule ${number.id} ("920272: Protocol enforcement in arguments"): score, on by default`,
        `"CVE-2021-44228" is rule ${cve.id} ("Widespread: log-message lookups of a remote object - CVE:CVE-2021-44228 (200000)") of "Cloudflare Managed Free Ruleset": block, on by default`,
      ],
    });
  });

  it("can be combined with rule IDs, even for the rule that compares the score", async () => {
    const { id } = await ruleWith(owasp, "920100:");
    const declaration = bench.declare({
      owasp: { paranoiaLevel: 4, scoreThreshold: "high" },
      rules: { [id]: { enabled: false }, "949110": { action: "log" } },
    });
    const recorded = await bench.up(declaration);
    expect(await overridesSent()).toEqual(
      [
        { id, enabled: false },
        { id: OWASP_SCORE_RULE, action: "log", score_threshold: 25 },
      ].sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
    await bench.expectNoChanges(declaration, recorded);
  });

  it("can be all words of its description, even if other descriptions also contain them", async () => {
    const add = ["Generic XXE Attack", "Generic XXE Attack 2"].map((description) => ({ description }));
    await bench.publishVersion(managed, { add });
    const { id } = await ruleWith(managed, "Generic XXE Attack");
    await bench.up(bench.declareManaged(off("generic xxe attack")));
    expect(await overridesSent()).toEqual([{ id, enabled: false }]);
  });

  it("is looked up in the pinned version of the ruleset", async () => {
    const { id } = await ruleWith(owasp, "934200:");
    await bench.up(bench.declare({ ...off("934200"), version: "37" }));
    expect(await overridesSent()).toEqual([{ id, enabled: false }]);
    const [refusal] = await refusals(bench.declare({ ...off("934200"), version: "36" }));
    expect(refusal).toContain('"934200" matches no rule of "Cloudflare OWASP Core Ruleset" in version 36');
  });

  it("can replace the rule's ID without a write", async () => {
    const { id } = await ruleWith(owasp, "920272:");
    const byId = await bench.up(bench.declare(off(id)));
    bench.api.clearRequests();
    const byName = await bench.up(bench.declare(off("920272")), byId);
    expect(bench.writes()).toEqual([]);
    await bench.expectNoChanges(bench.declare(off("920272")), byName);
  });
});

it("every name in the documented example matches exactly one rule", async () => {
  expect(await refusals(bench.declare({ ...off("920272"), ...skipping({ this: ["942100"] }) }))).toEqual([]);
});

describe("the preview", () => {
  it("refuses a name that matches several rules, with five of them and the total", async () => {
    const matching = (await bench.managedRules(managed)).filter(({ description }) =>
      /SQL injection/.test(String(description)),
    );
    const five = matching.slice(0, 5).map(({ id, description }) => `${id} (${JSON.stringify(description)})`);
    expect(await refusals(bench.declareManaged(off("sql injection")))).toEqual([
      `rules["sql injection"]: "sql injection" matches ${matching.length} rules of "${MANAGED}" in version 88: ${five.join(", ")}, and ${matching.length - 5} more. Add more words from the rule's description, or use its ID`,
    ]);
  });

  it("refuses a name that matches no rule, and lists the nearest rules", async () => {
    const { id } = await ruleWith(owasp, "920272:");
    const [refusal] = await refusals(bench.declare(off("920372")));
    expect(refusal).toContain(
      'rules["920372"]: "920372" matches no rule of "Cloudflare OWASP Core Ruleset" in version 37: no description has all of these words. Nearest: ',
    );
    expect(refusal).toContain(`${id} ("920272: Protocol enforcement in arguments")`);
    const [misspelled] = await refusals(bench.declareManaged(off("Strutz deserialisation")));
    expect(misspelled).toMatch(
      /Nearest: [0-9a-f]{32} \("Apache Struts: unsafe deserialization \(100706\)"\)/,
    );
  });

  it.each(["92027", "9202720", "20272"])("refuses an incomplete or wrong rule number: %s", async (name) => {
    const [refusal] = await refusals(bench.declare(off(name)));
    expect(refusal).toContain(`"${name}" matches no rule`);
  });

  it("refuses a name unlike any rule, and says where to find the rules", async () => {
    expect(await refusals(bench.declare(off("Blorple")))).toEqual([
      'rules["Blorple"]: "Blorple" matches no rule of "Cloudflare OWASP Core Ruleset" in version 37: no description has all of these words. List its rules with `getManagedRuleset`',
    ]);
  });

  it("lists the nearest rules for only five names, even if a hundred are wrong", async () => {
    await bench.publishVersion(managed, {
      add: Array.from({ length: 400 }, (_, index) => ({
        description: `Vendor product ${index}: remote code execution in component alpha - CVE:CVE-2024-${10000 + index}`,
      })),
    });
    const names = Array.from({ length: 100 }, (_, index) => `vendors products ${index} remote executions`);
    const found = await refusals(bench.declareManaged(off(...names)));
    const nearest = found.map((reason) => reason.includes("Nearest: "));
    expect(nearest).toEqual(names.map((_, index) => index < 5));
    expect(found[99]).toContain("List its rules with `getManagedRuleset`");
  });

  it("refuses names in exceptions, and reports all of them at once", async () => {
    const found = await refusals(bench.declare(skipping({ this: ["1"], [free]: ["Widespread"] })));
    expect(found).toEqual([
      expect.stringContaining('exceptions[0].skip.rules["this"][0]: "1" matches no rule of'),
      expect.stringContaining(`exceptions[0].skip.rules["${free}"][0]: "Widespread" matches 8 rules of`),
    ]);
  });

  it("refuses two overrides for the same rule", async () => {
    const { id } = await ruleWith(owasp, "920272:");
    const reason = `is rule ${id} ("920272: Protocol enforcement in arguments"), which rules["920272"] also overrides. Merge the two entries`;
    expect(await refusals(bench.declare(off("920272", "protocol 920272")))).toEqual([
      `rules["protocol 920272"]: ${reason}`,
    ]);
    const [found] = await refusals(bench.declare(off(id, "920272")));
    expect(found).toContain(`is rule ${id}`);
  });

  it("refuses an override by name that contradicts owasp", async () => {
    const declaration = bench.declare({ owasp: { paranoiaLevel: 2 }, ...off("949110") });
    expect(await refusals(declaration)).toEqual([
      expect.stringContaining('rules["949110"].enabled: contradicts owasp: this rule compares the score'),
    ]);
  });

  it("refuses `constructor` and other names of inherited members", async () => {
    const [refusal] = await refusals(bench.declare(off("constructor")));
    expect(refusal).toContain('"constructor" matches no rule');
  });
});

describe("when Cloudflare renames rules,", () => {
  const declaration = () => bench.declareManaged(off("CVE-2021-44228"));
  const changed = () => ({ ...declaration(), description: "mine" });
  let recorded: Recorded;
  let id: string;

  beforeEach(async () => {
    ({ id } = await ruleWith(managed, JAVA));
    recorded = await bench.up(declaration());
  });

  it("the override stays on its rule, even if the name matches another one", async () => {
    await bench.publishVersion(managed, {
      change: [{ id, description: "Log4j headers" }],
      add: [{ description: "Log4j body - CVE:CVE-2021-44228" }],
    });
    const refresh = bench.operation();
    const refreshed = await refresh.refresh(TYPE, recorded);
    const versions = [expect.stringMatching(/^Cloudflare Managed Ruleset 88 → 89: /)];
    expect(refreshed?.inputs).toEqual(inputsAfter(recorded, { versions }));
    expect(await bench.step(declaration(), refreshed)).toBe("same");
    const updated = await bench.up(changed(), refreshed);
    expect(await overridesSent()).toEqual([{ id, enabled: false }]);
    expect(updated.inputs["ruleIds"]).toEqual(recorded.inputs["ruleIds"]);
  });

  it("replacing the name with the ID writes nothing", async () => {
    await bench.publishVersion(managed, { change: [{ id, description: "Log4j headers" }] });
    bench.api.clearRequests();
    const update = bench.operation();
    const updated = await update.up(TYPE, bench.declareManaged(off(id)), recorded);
    expect([bench.writes(), update.warned]).toEqual([[], []]);
    expect(updated.outputs).not.toHaveProperty("ruleIds");
    await bench.expectNoChanges(bench.declareManaged(off(id)), updated);
  });

  it("a refresh warns if the named rule was removed, and a refused change says which rule the name matches now", async () => {
    await bench.publishVersion(managed, {
      remove: [id],
      add: [{ description: "Log4j body - CVE:CVE-2021-44228" }],
    });
    const refresh = bench.operation();
    const refreshed = await refresh.refresh(TYPE, recorded);
    const gone = `rules["CVE-2021-44228"]: was resolved to rule ${id}, which version 89 of "${MANAGED}" doesn't have. The name now matches `;
    expect(refresh.warned).toEqual([expect.stringContaining(gone)]);
    const [refusal] = await refusals(changed(), refreshed);
    expect(refusal).toContain(gone);
    expect(refusal).toContain(
      '("Log4j body - CVE:CVE-2021-44228"). Declare the ID of the rule that you mean, or remove the entry',
    );
  });
});

describe("a refresh of a named rule whose override was changed manually", () => {
  it.each([
    ["removed", undefined, undefined],
    ["changed", [{ enabled: true }], { "920272": { enabled: true } }],
  ])("shows drift under the rule's name, and the next update repairs it: %s", async (_how, rules, shown) => {
    const { id } = await ruleWith(owasp, "920272:");
    const declaration = bench.declare(off("920272"));
    const recorded = await bench.up(declaration);
    const rule = await bench.ownRule();
    const overrides = rules === undefined ? undefined : { rules: rules.map((entry) => ({ id, ...entry })) };
    await bench.editRule(rule, { action_parameters: { id: owasp, ...(overrides && { overrides }) } });
    const refreshed = await bench.refresh(recorded);
    expect(refreshed.inputs["rules"]).toEqual(shown);
    expect(refreshed.inputs["ruleIds"]).toEqual({ [owasp]: { "920272": id } });
    const repaired = await bench.up(declaration, refreshed);
    expect(await overridesSent()).toEqual([{ id, enabled: false }]);
    await bench.expectNoChanges(declaration, repaired);
  });
});

describe("without live checks", () => {
  const offline = { "edgeguard:liveChecks": "false" };

  it("the preview resolves no names, but the update does", async () => {
    const { id } = await ruleWith(owasp, "920272:");
    const anonymous = bench.operation({ config: { "edgeguard:apiToken": "" } });
    const preview = await anonymous.preview(TYPE, bench.declare(off("920272")));
    expect(preview.inputs).not.toHaveProperty("ruleIds");
    expect(anonymous.warned).toEqual([expect.stringContaining("live checks skipped: no credentials")]);
    const created = await bench.operation({ config: offline }).up(TYPE, bench.declare(off("920272")));
    expect(created.outputs["ruleIds"]).toEqual({ [owasp]: { "920272": id } });
  });

  it("in a saved plan, only names that the update still has to resolve are unknown", async () => {
    const anonymous = bench.operation({ config: { "edgeguard:apiToken": "" } });
    const declaration = { ...bench.declare(off("920272")), __savedPlan: true };
    const plan = await anonymous.preview(TYPE, declaration);
    expect(plan.inputs["ruleIds"]).toBe(UNKNOWN);
    const { id } = await ruleWith(owasp, "920272:");
    expect((await bench.preview(declaration)).inputs["ruleIds"]).toEqual({
      [owasp]: { "920272": id },
    });
    const { inputs } = await anonymous.preview(TYPE, { ...bench.declare(off(id)), __savedPlan: true });
    expect(inputs).not.toHaveProperty("ruleIds");
    const recorded = await bench.up(bench.declare(off("920272")));
    const change = { ...declaration, description: "mine" };
    expect((await anonymous.preview(TYPE, change, recorded)).inputs["ruleIds"]).toEqual({
      [owasp]: { "920272": id },
    });
    const unknown = { ...bench.declare({ exceptions: UNKNOWN }), __savedPlan: true };
    expect(hasUnknown((await bench.preview(unknown)).inputs["ruleIds"])).toBe(true);
  });

  it("an update keeps the rule that the create found by name, even if the name matches another rule by then", async () => {
    const { id } = await ruleWith(managed, JAVA);
    const created = await bench
      .operation({ config: offline })
      .up(TYPE, bench.declareManaged(off("CVE-2021-44228")));
    await bench.publishVersion(managed, {
      change: [{ id, description: "Log4j headers" }],
      add: [{ description: "Log4j body - CVE:CVE-2021-44228" }],
    });
    const change = { ...bench.declareManaged(off("CVE-2021-44228")), description: "mine" };
    await bench.operation({ config: offline }).up(TYPE, change, created);
    expect(await overridesSent()).toEqual([{ id, enabled: false }]);

    const live = await bench.failedUp({ ...change, description: "ours" }, created);
    expect(live.message).toContain("some names now match different rules");
    expect(live.message).toContain("run `pulumi refresh` to record the rules");
    expect(await overridesSent()).toEqual([{ id, enabled: false }]);
    const refreshed = await bench.refresh(created);
    const updated = await bench.up({ ...change, description: "ours" }, refreshed);
    expect(updated.inputs["ruleIds"]).toEqual({ [managed]: { "CVE-2021-44228": id } });
    expect(updated.inputs["ruleIds"]).toEqual(updated.outputs["ruleIds"]);
    expect(await overridesSent()).toEqual([{ id, enabled: false }]);
  });
});

it("doesn't show the names or rules in secret arguments", async () => {
  const secret = { __secrets: ["exceptions", "rules"] };
  const named = {
    ...bench.declareManaged({ ...off("CVE-2021-44228"), ...skipping({ this: ["Spring forgery"] }) }),
    ...secret,
  };
  const operation = bench.operation();
  const { inputs } = await operation.preview(TYPE, named);
  expect(inputs["expansion"]).not.toHaveProperty("rulesByName");
  expect(inputs["ruleIds"]).toBeDefined(); // The class makes it a secret.
  const wrong = {
    ...bench.declareManaged({ ...off("canary words"), ...skipping({ this: ["canary 1"] }) }),
    ...secret,
  };
  const refused = await refusals(wrong);
  expect(refused).toHaveLength(2);
  expect([...operation.warned, ...refused].join()).not.toMatch(/canary|Spring|CVE|[0-9a-f]{32}/);
});

it("refuses a name that has become ambiguous since the last update resolved it, and says what to do", async () => {
  const declaration = bench.declare(off("920272"));
  const created = await bench.operation(OFFLINE).up(TYPE, declaration);
  await bench.publishVersion(owasp, { add: [{ description: "920272: another" }] });
  const changed = { ...declaration, description: "mine" };
  const [refusal] = await refusals(changed, created);
  expect(refusal).toMatch(
    /matches 2 rules.*If the last update resolved this name without live checks, run `pulumi refresh`/,
  );
  expect((await refusals(declaration))[0]).not.toContain("pulumi refresh");
  expect(await refusals(changed, await bench.refresh(created))).toEqual([]);
});

it("the recorded IDs stay if another name is added without live checks", async () => {
  const recorded = await bench.up(bench.declare(off("920272")));
  const more = bench.declare(off("920272", "920100"));
  const updated = await bench.operation(OFFLINE).up(TYPE, more, recorded);
  expect(updated.inputs["ruleIds"]).toEqual(recorded.inputs["ruleIds"]);
  expect(updated.outputs["ruleIds"]).toMatchObject({
    [owasp]: { "920272": expect.anything() as unknown, "920100": expect.anything() as unknown },
  });
  const anonymous = { config: { "edgeguard:apiToken": "" } };
  const plan = await bench.preview({ ...more, __savedPlan: true }, recorded, anonymous);
  expect(plan.inputs["ruleIds"]).toBe(UNKNOWN);
});

it("two exceptions that refer to the same rule by name and by ID both stay as declared", async () => {
  const { id } = await ruleWith(owasp, "920272:");
  const exceptions = ["920272", id].map((rule, index) => ({
    expression: `http.request.uri.path eq "/${index}"`,
    skip: { rules: { this: [rule] } },
  }));
  const declaration = bench.declare({ exceptions });
  const recorded = await bench.up(declaration);
  const refreshed = await bench.refresh(recorded);
  expect(refreshed.inputs["exceptions"]).toEqual(recorded.inputs["exceptions"]);
  await bench.expectNoChanges(declaration, recorded);
});

it.each([false, true])(
  "a change is refused if another ruleset no longer has the rule of an exception (secret: %s)",
  async (isSecret) => {
    const names = skipping({ "Cloudflare Managed Free Ruleset": ["CVE-2021-44228"] });
    const declaration = { ...bench.declareManaged(names), ...(isSecret && { __secrets: ["exceptions"] }) };
    const recorded = await bench.up(declaration);
    const { id } = await ruleWith(free, "CVE-2021-44228");
    await bench.publishVersion(free, { remove: [id] });
    const refused = await refusals({ ...declaration, description: "mine" }, recorded);
    const gone = `exceptions[0].skip.rules["Cloudflare Managed Free Ruleset"][0]: "CVE-2021-44228" was resolved to rule ${id}, which no longer exists in "Cloudflare Managed Free Ruleset", so this entry skips nothing. Name another rule, or remove the entry`;
    if (!isSecret) expect(refused).toEqual([gone]);
    else expect(refused).toEqual([expect.not.stringMatching(/CVE|[0-9a-f]{32}/)]);
  },
);

describe("names in secret rules aren't shown", () => {
  const secret = (changes: Record<string, unknown>) => ({
    ...bench.declareManaged(changes),
    __secrets: ["rules"],
  });
  const CANARY = /canary|wombat|920272|protocol|[0-9a-f]{32}/i;

  it("when a new version removes or changes their rules", async () => {
    const id = "a".repeat(32);
    const add = [{ id, description: "Canary wombat attack", action: "block" }];
    await bench.publishVersion(managed, { add });
    const declaration = secret(off("Canary wombat"));
    const recorded = await bench.up(declaration);
    await bench.publishVersion(managed, { remove: [id] });
    const refresh = bench.operation();
    await refresh.refresh(TYPE, recorded);
    const change = bench.operation();
    const refused = await change.refusals(TYPE, { ...declaration, description: "mine" }, recorded);
    expect(refused).toEqual([
      expect.stringContaining("rules: has a setting that this ruleset doesn't accept"),
    ]);
    const said = [refresh, change].flatMap((operation) => [...operation.said, ...operation.warned]);
    expect(said.length).toBeGreaterThan(1);
    expect([...said, ...refused].join("\n")).not.toMatch(CANARY);
    expect(said.join()).not.toMatch(/override/);
  });

  it.each([
    ["an action that the rule doesn't accept", { "920272": { action: "log" } }],
    ["two names of a rule", { "920272": { enabled: false }, "920272 protocol": { enabled: false } }],
  ])("when the preview refuses %s", async (_what, rules) => {
    const refused = await refusals({ ...secret({ rules }), ruleset: { id: owasp } });
    expect(refused).toEqual([expect.stringContaining("It isn't shown, because the argument is secret")]);
    expect(refused.join()).not.toMatch(CANARY);
  });
});

it("an imported rule is declared by ID", async () => {
  const { id } = await ruleWith(owasp, "920272:");
  await bench.up(bench.declare(off("920272")));
  const rule = await bench.ownRule();
  const found = await bench.operation().get(TYPE, `${bench.zone}/${rule.id}`);
  expect(found.outputs["rules"]).toEqual({ [id]: { enabled: false } });
  expect(found.outputs).not.toHaveProperty("ruleIds");
});

it("handles rules that have no description, or control characters in the description", async () => {
  await bench.publishVersion(managed, {
    add: [{ description: "" }, { description: "Evil \u001b[2J\u202e payload" }],
  });
  const { inputs } = await bench.preview(bench.declareManaged(off("evil payload")));
  const { rulesByName } = inputs["expansion"] as { rulesByName: string[] };
  expect(rulesByName[0]).toContain("Evil \\\\u001b[2J\\\\u202e payload");
});
