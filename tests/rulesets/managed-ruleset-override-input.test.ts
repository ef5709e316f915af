import { managedRulesets, OWASP_SCORE_RULE } from "edgeguard-local";
import { SECRETS } from "../../provider/runtime/secrets";
import { Bench, TYPE } from "./support";
import { UNKNOWN } from "../support/operation";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench.close());
beforeEach(() => bench.api.clearRequests());

const RULE = "0123456789abcdef0123456789abcdef";

describe("refused before anything is asked: ", () => {
  const cases: readonly [string, Record<string, unknown>, string][] = [
    ["no ruleset", { ruleset: undefined }, "ruleset: is required and "],
    [
      "a ruleset without either",
      { ruleset: {} },
      "ruleset: has to give exactly one of id and name; neither is set",
    ],
    [
      "a ruleset with both",
      { ruleset: { id: managedRulesets.owasp, name: "x" } },
      "ruleset: has to give exactly one of id and name; both are set",
    ],
    [
      "a short id",
      { ruleset: { id: "48" } },
      'ruleset.id: "48" is not a ruleset ID (32 hex digits): it has 2 characters',
    ],
    [
      "an unknown member",
      { ruleset: { name: "x", title: "x" } },
      'ruleset: unknown option "title". Valid options: id, name.',
    ],
    [
      "a version",
      { version: "newest" },
      'version: has to be "latest" or a version\'s number as text, for example "37"; it is "newest"',
    ],
    ["an empty expression", { expression: " " }, "expression: is empty. Write which requests"],
    [
      "an unquoted host",
      { expression: "http.host eq www.shop.example" },
      'expression: column 14: www.shop.example needs quotes. Write "www.shop.example"',
    ],
    [
      "an open parenthesis in an exception",
      { exceptions: [{ expression: "(ssl", skip: "all" }] },
      "exceptions[0].expression: column 1: ( is never closed. Add the missing )",
    ],
    ["an empty ref", { ref: "" }, "ref: has to tell this rule from all others of the zone; it is empty"],
    ["enabled as text", { enabled: "true" }, 'enabled: must be a boolean, not "true"'],
    ["no level", { owasp: {} }, "owasp.paranoiaLevel: is required and "],
    [
      "level 5",
      { owasp: { paranoiaLevel: 5 } },
      "owasp.paranoiaLevel: has to be a whole number from 1 to 4, not 5",
    ],
    [
      "a threshold's name",
      { owasp: { paranoiaLevel: 1, scoreThreshold: "hard" } },
      'owasp.scoreThreshold: has to be low, medium, high or a whole number from 1, not "hard"',
    ],
    [
      "a threshold of nothing",
      { owasp: { paranoiaLevel: 1, scoreThreshold: 0 } },
      "owasp.scoreThreshold: has to be low, medium, high or a whole number from 1; it is 0",
    ],
    [
      "an action",
      { owasp: { paranoiaLevel: 1, action: "drop" } },
      'owasp.action: must be "block", "managed_challenge", "js_challenge", "challenge" or "log", not "drop"',
    ],
    [
      "a wrong word in owasp",
      { owasp: { paranoiaLevel: 1, threshold: 40 } },
      'owasp: unknown option "threshold". Did you mean "scoreThreshold"?',
    ],
    [
      "an empty category override",
      { categories: [{ tag: "php" }] },
      "categories[0]: overrides nothing: set enabled, action or both, or leave the entry out",
    ],
    [
      "a tag twice",
      {
        categories: [
          { tag: "php", enabled: true },
          { tag: "php", action: "log" },
        ],
      },
      'categories[1].tag: is "php", as categories[0] is already: give a tag one entry with all it is to change',
    ],
    [
      "a category without a tag",
      { categories: [{ enabled: true }] },
      "categories[0].tag: is required and must be a string",
    ],
    [
      "an empty rule override",
      { rules: { [RULE]: {} } },
      `rules.${RULE}: overrides nothing: set enabled, action or scoreThreshold, or leave the entry out`,
    ],
    [
      "a rule id",
      { rules: { "949110": { enabled: false } } },
      "rules.949110: is not a rule ID (32 hexadecimal digits); it is 6 characters. Find it with `getManagedRuleset`",
    ],
    [
      "a position",
      { position: "top" },
      'position: has to be "first", "last", { before: ref } or { after: ref }, not "top"',
    ],
    [
      "a position before itself",
      { position: { before: "edgeguard/site/dev/waf" } },
      'position.before: names the rule itself, "edgeguard/site/dev/waf"',
    ],
    [
      "an exception that skips nothing",
      { exceptions: [{ expression: "true", skip: { rulesets: [] } }] },
      "exceptions[0].skip.rulesets: has to hold at least one ruleset; it is empty",
    ],
    [
      "an exception for a rule id",
      { exceptions: [{ expression: "true", skip: { rules: { [managedRulesets.owasp]: ["1"] } } }] },
      '"1" is not a rule ID (32 hex digits): it has 1 character.',
    ],
    [
      "an exception without an expression",
      { exceptions: [{ skip: "all" }] },
      "exceptions[0].expression: is required and must be a string",
    ],
    [
      "an exception's skip",
      { exceptions: [{ expression: "true", skip: "some" }] },
      'exceptions[0].skip: has to be "all", "this", { rulesets: [names or IDs] } or { rules: { "<ruleset>": [ruleIds] } }, not "some"',
    ],
    [
      "an exception's skip that is a list",
      { exceptions: [{ expression: "true", skip: [RULE] }] },
      'exceptions[0].skip: has to be "all", "this", { rulesets: [names or IDs] } or { rules: { "<ruleset>": [ruleIds] } }, not a list of 1',
    ],
    [
      "an exception for rules without their ruleset",
      { exceptions: [{ expression: "true", skip: { rules: [RULE] } }] },
      'exceptions[0].skip.rules: lists rules without their ruleset. Write { this: [ruleIds] } for rules of this resource\'s ruleset, or the name or ID of theirs in place of "this"',
    ],
    [
      "an exception for a ruleset's id that is too short",
      { exceptions: [{ expression: "true", skip: { rulesets: [RULE.slice(1)] } }] },
      "(32 hex digits)",
    ],
    ["adopt", { adopt: "always" }, 'adopt: must be "ifEqual", "never" or "takeOver", not "always"'],
    ["onDestroy", { onDestroy: "delete" }, 'onDestroy: must be "restore", "remove" or "keep", not "delete"'],
    [
      "a level on that owasp switches off",
      { owasp: { paranoiaLevel: 2 }, categories: [{ tag: "paranoia-level-3", enabled: true }] },
      'categories[0]: contradicts owasp.paranoiaLevel: level 2 switches off the tag "paranoia-level-3", and this entry says enabled: true. Change the level, or take the entry out',
    ],
    [
      "a level off that owasp needs",
      { owasp: { paranoiaLevel: 2 }, categories: [{ tag: "paranoia-level-1", enabled: false }] },
      'categories[0]: contradicts owasp.paranoiaLevel: level 2 needs the tag "paranoia-level-1", and this entry says enabled: false',
    ],
    [
      "an action for a level that owasp switches off",
      { owasp: { paranoiaLevel: 1 }, categories: [{ tag: "paranoia-level-4", action: "log" }] },
      'categories[0]: contradicts owasp.paranoiaLevel: level 1 switches off the tag "paranoia-level-4", and this entry says action: "log"',
    ],
  ];
  test.each(cases)("%s", async (_name, change, sentence) => {
    const refusals = await bench.operation().refusals(TYPE, bench.declare(change));
    expect(refusals).toEqual([expect.stringContaining(sentence)]);
    expect(bench.api.requests).toEqual([]);
  });

  test("a missing account, with where it may be set", async () => {
    const refusals = await bench.operation().refusals(TYPE, bench.declare({ accountId: undefined }));
    expect(refusals).toEqual([expect.stringMatching(/^accountId: is required.*edgeguard:accountId/)]);
  });
});

describe("held against the live ruleset, in the preview: ", () => {
  const owasp = { paranoiaLevel: 2 };
  let firstRule = "";
  const cases: readonly [string, () => Record<string, unknown>, string][] = [
    [
      "a ruleset's name, with the nearest",
      () => ({ ruleset: { name: "Cloudflare OWASP Core Rules" } }),
      'has no managed ruleset "Cloudflare OWASP Core Rules". Did you mean "Cloudflare OWASP Core Ruleset"?',
    ],
    [
      "a ruleset that an exception names, with the nearest",
      () => ({ exceptions: [{ expression: "ssl", skip: { rulesets: ["Cloudflare OWASP Core Rules"] } }] }),
      'exceptions[0].skip: account ACCOUNT has no managed ruleset "Cloudflare OWASP Core Rules". Did you mean "Cloudflare OWASP Core Ruleset"?',
    ],
    [
      "a rule of its own ruleset that an exception names",
      () => ({ exceptions: [{ expression: "ssl", skip: { rules: { this: [RULE] } } }] }),
      `exceptions[0].skip.rules["this"][0]: ${RULE}: "Cloudflare OWASP Core Ruleset" has no such rule`,
    ],
    [
      "a ruleset that an exception gives by ID",
      () => ({ exceptions: [{ expression: "ssl", skip: { rules: { [RULE]: [RULE] } } }] }),
      `exceptions[0].skip: account ACCOUNT has no ruleset ${RULE}. It has: "Cloudflare Managed Ruleset" (${managedRulesets.managed}), `,
    ],
    [
      "a ruleset's id, with those there are",
      () => ({ ruleset: { id: RULE } }),
      `has no ruleset ${RULE}. It has: "Cloudflare Managed Ruleset" (${managedRulesets.managed}), `,
    ],
    [
      "a tag, with the nearest",
      () => ({ categories: [{ tag: "evasions", enabled: false }] }),
      'categories[0].tag: no rule of "Cloudflare OWASP Core Ruleset" has the tag "evasions". Did you mean "evasion"?',
    ],
    [
      "a rule, with the nearest",
      () => ({ rules: { [`${OWASP_SCORE_RULE.slice(0, 31)}0`]: { enabled: false } } }),
      `rules["${OWASP_SCORE_RULE.slice(0, 31)}0"]: "Cloudflare OWASP Core Ruleset" has no such rule. Did you mean "${OWASP_SCORE_RULE}"?`,
    ],
    [
      "a rule of nowhere",
      () => ({ rules: { [RULE]: { enabled: false } } }),
      `rules["${RULE}"]: "Cloudflare OWASP Core Ruleset" has no such rule. \`getManagedRuleset\` lists its rules`,
    ],
    [
      "an action for rules that only score",
      () => ({ categories: [{ tag: "sqli", action: "log" }] }),
      'categories[0].action: rules tagged "sqli" do not take the action "log". They only add to the score: set owasp.action',
    ],
    [
      "an action that the rules of a tag do not take",
      () => ({
        ruleset: { id: managedRulesets.managed },
        expression: "ssl",
        categories: [{ tag: "file-upload", action: "challenge" }],
      }),
      'categories[0].action: rules tagged "file-upload" do not take the action "challenge". What can be set: block, log',
    ],
    [
      "a threshold of a rule that does not compare",
      () => ({ rules: { [firstRule]: { scoreThreshold: 40 } } }),
      `"].scoreThreshold: only the rule that compares the score takes a threshold, here ${OWASP_SCORE_RULE}`,
    ],
    [
      "paranoia levels of a ruleset without",
      () => ({ ruleset: { id: managedRulesets.free }, owasp }),
      'owasp: "Cloudflare Managed Free Ruleset" has no paranoia levels: owasp is for the OWASP core ruleset',
    ],
    [
      "a rule that an exception names",
      () => ({
        exceptions: [
          { expression: "ssl", skip: { rules: { [managedRulesets.owasp]: [OWASP_SCORE_RULE, RULE] } } },
        ],
      }),
      `exceptions[0].skip.rules["${managedRulesets.owasp}"][0]: ${RULE}: "Cloudflare OWASP Core Ruleset" has no such rule`,
    ],
    [
      "two thresholds",
      () => ({
        owasp: { ...owasp, scoreThreshold: 25 },
        rules: { [OWASP_SCORE_RULE]: { scoreThreshold: 60 } },
      }),
      `rules["${OWASP_SCORE_RULE}"].scoreThreshold: contradicts owasp.scoreThreshold: this is the rule that compares the score, one says 60, the other 25. Keep one`,
    ],
    [
      "two actions",
      () => ({ owasp: { ...owasp, action: "log" }, rules: { [OWASP_SCORE_RULE]: { action: "block" } } }),
      `rules["${OWASP_SCORE_RULE}"].action: contradicts owasp.action`,
    ],
    [
      "the rule that acts switched off",
      () => ({ owasp, rules: { [OWASP_SCORE_RULE]: { enabled: false } } }),
      `rules["${OWASP_SCORE_RULE}"].enabled: contradicts owasp: this is the rule that compares the score, and without it the ruleset never acts`,
    ],
  ];
  beforeAll(async () => {
    firstRule = (await bench.managedRules(managedRulesets.owasp))[0]?.id ?? "";
  });

  test.each(cases)("%s", async (_name, change, template) => {
    const sentence = template.replace("ACCOUNT", bench.api.accounts.main);
    const declared = bench.declare(change());
    expect(await bench.operation().refusals(TYPE, declared)).toEqual([expect.stringContaining(sentence)]);
    // And where previews do not ask: by the up, before anything is written.
    const { message } = await bench.operation({ "edgeguard:liveChecks": "false" }).failedUp(TYPE, declared);
    expect(message).toContain(sentence);
    expect(message).toMatch(/^Managed ruleset "edgeguard\/site\/dev\/waf": .*Nothing was written\.$/);
    expect(bench.writes()).toEqual([]);
  });

  test("all that is wrong is said at once", async () => {
    const declared = bench.declare({
      categories: [
        { tag: "nonsense", enabled: false },
        { tag: "sqli", action: "log" },
      ],
      rules: { [RULE]: { enabled: false } },
    });
    expect(await bench.operation().refusals(TYPE, declared)).toHaveLength(3);
  });

  test("what says the same twice is accepted, and what refines a level too", async () => {
    const rules = await bench.managedRules(managedRulesets.owasp);
    const third = rules.find(({ categories }) => categories.includes("paranoia-level-3"))?.id ?? "";
    const declared = bench.declare({
      owasp: { paranoiaLevel: 2, scoreThreshold: "high" },
      categories: [{ tag: "paranoia-level-3", enabled: false }],
      rules: { [OWASP_SCORE_RULE]: { scoreThreshold: 25, enabled: true }, [third]: { enabled: true } },
    });
    expect(await bench.operation().refusals(TYPE, declared)).toEqual([]);
  });
});

test.each([
  [
    "a threshold without a name",
    { owasp: { paranoiaLevel: 1, scoreThreshold: 30 } },
    "the threshold 30 is none of those that have a name: 25 (high), 40 (medium), 60 (low)",
  ],
  [
    "fields that Cloudflare does not document",
    {
      expression: 'http.hots eq "warned.example"',
      exceptions: [{ expression: "cf.tomorrow.is_safe", skip: "all" }],
    },
    "expression: column 1: Cloudflare doesn't document a field http.hots. Did you mean http.host? exceptions[0].expression: column 1: Cloudflare doesn't document a field cf.tomorrow.is_safe. If the field is new, ignore this warning.",
  ],
  [
    "a paranoia level that has no effect",
    { enabled: false, owasp: { paranoiaLevel: 3 } },
    "enabled is false, so paranoia level 3 has no effect",
  ],
])("%s is warned of, by the run that brings it", async (_name, change, sentence) => {
  const declared = bench.declare({
    expression: `http.host eq "${String(_name.length)}.example"`,
    ref: _name,
    ...change,
  });
  const op = bench.operation();
  const recorded = await op.up(TYPE, declared);
  expect(op.warned).toEqual([expect.stringContaining(sentence)]);
  const again = bench.operation();
  await again.preview(TYPE, declared, recorded);
  expect(again.warned).toEqual([]);
  await bench.operation().destroy(TYPE, recorded);
});

test("a secret expression is refused, and not warned of, without a piece of it", async () => {
  const secret = (expression: string) => bench.declare({ expression, [SECRETS]: ["expression"] });
  const op = bench.operation();
  expect(await op.refusals(TYPE, secret("http.host eq private.example"))).toEqual([
    "expression: is not a valid expression",
  ]);
  await op.preview(TYPE, secret("ssl and cf.private.field"));
  expect(op.warned).toEqual([]);
});

test("what is not known yet waits, and is no replacement", async () => {
  const declared = bench.declare({
    owasp: { paranoiaLevel: UNKNOWN },
    categories: [{ tag: UNKNOWN, enabled: true }],
    rules: { [RULE]: { enabled: UNKNOWN } },
    exceptions: [{ expression: UNKNOWN, skip: "all" }],
    position: { after: UNKNOWN },
    ruleset: { id: UNKNOWN },
  });
  expect(await bench.operation().refusals(TYPE, declared)).toEqual([]);
  expect(bench.api.requests).toEqual([]);
  const recorded = await bench.up(bench.declare());
  const waiting = { ...bench.declare({ categories: [{ tag: UNKNOWN, enabled: true }] }) };
  expect(await bench.operation().preview(TYPE, waiting, recorded)).toMatchObject({ step: "update" });
  await bench.operation().destroy(TYPE, recorded);
});
