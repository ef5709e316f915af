import { managedRulesets, OWASP_SCORE_RULE } from "edgeguard-local";
import { HIDDEN } from "../../provider/runtime/hidden";
import { RulesetsBench, TYPE } from "./support";
import { OFFLINE, accounts } from "../support/bench";
import { UNKNOWN } from "../support/operation";

const bench = new RulesetsBench({ shared: true });

const RULE = "0123456789abcdef0123456789abcdef";
const UPPER = RULE.toUpperCase();

describe("a preview that has sent no request yet", () => {
  const cases: readonly [Record<string, unknown>, string][] = [
    [
      { ruleset: undefined },
      "ruleset: is required and must be the name of a managed ruleset, { name } or { id }",
    ],
    [{ ruleset: {} }, "ruleset: must set exactly one of id and name, but neither is set"],
    [
      { ruleset: { id: managedRulesets.owasp, name: "x" } },
      "ruleset: must set exactly one of id and name, but both are set",
    ],
    [{ ruleset: { id: "48" } }, 'ruleset.id: "48" is not a ruleset ID (32 hex digits): it has 2 characters'],
    [{ ruleset: { name: "x", title: "x" } }, 'ruleset: unknown option "title". Valid options: id, name.'],
    [
      { version: "newest" },
      'version: must be "latest" or a version number as a string, such as "37", not "newest"',
    ],
    [{ expression: " " }, "expression: is empty. Set it to an expression"],
    [
      { exceptions: [{ expression: "(ssl", skip: "all" }] },
      "exceptions[0].expression: column 1: ( is never closed. Add the missing )",
    ],
    [{ ref: "" }, "ref: is empty. Set it to a ref that identifies the rule in its entry point"],
    [{ enabled: "true" }, 'enabled: must be a boolean, not "true"'],
    [{ owasp: {} }, "owasp.paranoiaLevel: is required and must be a whole number from 1 to 4"],
    [
      { owasp: { paranoiaLevel: 1, scoreThreshold: 0 } },
      "owasp.scoreThreshold: must be low, medium, high or a whole number of at least 1, not 0",
    ],
    [
      { owasp: { paranoiaLevel: 1, action: "drop" } },
      'owasp.action: must be "block", "managed_challenge", "js_challenge", "challenge" or "log", not "drop"',
    ],
    [
      { owasp: { paranoiaLevel: 1, threshold: 40 } },
      'owasp: unknown option "threshold". Did you mean "scoreThreshold"?',
    ],
    [
      {
        categories: [
          { tag: "php", enabled: true },
          { tag: "php", action: "log" },
        ],
      },
      'categories[1].tag: "php" is already used in categories[0]. Merge the two entries',
    ],
    [{ position: { before: "a", after: "b" } }, "position: set either before or after"],
    [{ categories: [{ enabled: true }] }, "categories[0].tag: is required and must be a string"],
    [
      { rules: { [RULE]: {} } },
      `rules.${RULE}: overrides nothing. Set enabled, action or scoreThreshold, or remove the entry`,
    ],
    [
      { rules: { [RULE.slice(1)]: { enabled: false } } },
      `rules.${RULE.slice(1)}: is not a rule ID (32 hex digits): it has 31 characters. Find the ID with \`getManagedRuleset\``,
    ],
    [
      { rules: { " ?": { enabled: false } } },
      'rules[" ?"]: contains no words that identify a rule. Use the rule\'s ID, words from its description, or its OWASP or CVE number',
    ],
    [
      { rules: { [UPPER]: { enabled: false }, [UPPER.toLowerCase()]: { action: "log" } } },
      `rules.${UPPER.toLowerCase()}: appears twice, in uppercase and in lowercase. Merge the two entries`,
    ],
    [{ position: "top" }, 'position: must be "first", "last", { before: ref } or { after: ref }, not "top"'],
    [
      { position: { before: "edgeguard/site/dev/waf" } },
      'position.before: "edgeguard/site/dev/waf" is this rule\'s own ref. Use the ref of another rule',
    ],
    [
      { exceptions: [{ expression: "true", skip: { rulesets: [] } }] },
      "exceptions[0].skip.rulesets: is empty. List at least one ruleset",
    ],
    [
      { exceptions: [{ expression: "true", skip: { rules: { this: [RULE.slice(1)] } } }] },
      `"${RULE.slice(1)}" is not a rule ID (32 hex digits): it has 31 characters.`,
    ],
    [{ exceptions: [{ skip: "all" }] }, "exceptions[0].expression: is required and must be a string"],
    [
      { exceptions: [{ expression: "true", skip: "some" }] },
      'exceptions[0].skip: must be "all", "this", { rulesets: [names or IDs] } or { rules: { "<ruleset>": [rules] } }, not "some"',
    ],
    [
      { exceptions: [{ expression: "true", skip: [RULE] }] },
      'exceptions[0].skip: must be "all", "this", { rulesets: [names or IDs] } or { rules: { "<ruleset>": [rules] } }, not a list with 1 item',
    ],
    [{ exceptions: [{ expression: "true", skip: { rulesets: [RULE.slice(1)] } }] }, "(32 hex digits)"],
    [{ adopt: "always" }, 'adopt: must be "ifEqual", "never" or "takeOver", not "always"'],
    [{ onDestroy: "delete" }, 'onDestroy: must be "restore", "remove" or "keep", not "delete"'],
    [
      { owasp: { paranoiaLevel: 2 }, categories: [{ tag: "paranoia-level-1", enabled: false }] },
      'categories[0]: contradicts owasp.paranoiaLevel: level 2 needs the tag "paranoia-level-1", but this entry sets enabled: false',
    ],
    [
      { owasp: { paranoiaLevel: 1 }, categories: [{ tag: "paranoia-level-4", action: "log" }] },
      'categories[0]: contradicts owasp.paranoiaLevel: level 1 turns off the tag "paranoia-level-4", but this entry sets action: "log"',
    ],
  ];
  test.each(cases)("refuses %p", async (change, sentence) => {
    const refusals = await bench.refusals(bench.declare(change));
    expect(refusals).toEqual([expect.stringContaining(sentence)]);
    expect(bench.api.requests).toEqual([]);
  });

  test("refuses a missing account, and says where to set it", async () => {
    const refusals = await bench.refusals(bench.declare({ accountId: undefined }));
    expect(refusals).toEqual([expect.stringMatching(/^accountId: is required.*edgeguard:accountId/)]);
  });
});

describe("a preview that has read the ruleset", () => {
  const owasp = { paranoiaLevel: 2 };
  const managed = { ruleset: { id: managedRulesets.managed }, expression: "ssl" };
  let firstRule = "";
  let lastRule = "";
  const cases: readonly [string, () => Record<string, unknown>, string][] = [
    [
      "an unknown ruleset name, suggesting the nearest",
      () => ({ ruleset: { name: "Cloudflare OWASP Core Rules" } }),
      'has no managed ruleset "Cloudflare OWASP Core Rules". Did you mean "Cloudflare OWASP Core Ruleset"?',
    ],
    [
      "an unknown ruleset name in an exception, suggesting the nearest",
      () => ({ exceptions: [{ expression: "ssl", skip: { rulesets: ["Cloudflare OWASP Core Rules"] } }] }),
      'exceptions[0].skip: account ACCOUNT has no managed ruleset "Cloudflare OWASP Core Rules". Did you mean "Cloudflare OWASP Core Ruleset"?',
    ],
    [
      "an unknown rule of its own ruleset in an exception",
      () => ({ exceptions: [{ expression: "ssl", skip: { rules: { this: [RULE] } } }] }),
      `exceptions[0].skip.rules["this"][0]: ${RULE}: "Cloudflare OWASP Core Ruleset" has no such rule`,
    ],
    [
      "an unknown ruleset ID in an exception",
      () => ({ exceptions: [{ expression: "ssl", skip: { rules: { [RULE]: [RULE] } } }] }),
      `exceptions[0].skip: account ACCOUNT has no ruleset ${RULE}. Its managed rulesets: "Cloudflare Managed Ruleset" (${managedRulesets.managed}), `,
    ],
    [
      "an unknown ruleset ID, listing the account's rulesets",
      () => ({ ruleset: { id: RULE } }),
      `has no ruleset ${RULE}. Its managed rulesets: "Cloudflare Managed Ruleset" (${managedRulesets.managed}), `,
    ],
    [
      "an unknown tag, suggesting the nearest",
      () => ({ categories: [{ tag: "evasions", enabled: false }] }),
      'categories[0].tag: "Cloudflare OWASP Core Ruleset" has no rule with the tag "evasions". Did you mean "evasion"?',
    ],
    [
      "an unknown rule ID, suggesting the nearest",
      () => ({ rules: { [`${OWASP_SCORE_RULE.slice(0, 31)}0`]: { enabled: false } } }),
      `rules["${OWASP_SCORE_RULE.slice(0, 31)}0"]: "Cloudflare OWASP Core Ruleset" has no such rule. Did you mean "${OWASP_SCORE_RULE}"?`,
    ],
    [
      "an unknown rule ID that is close to none",
      () => ({ rules: { [RULE]: { enabled: false } } }),
      `rules["${RULE}"]: "Cloudflare OWASP Core Ruleset" has no such rule. List its rules with \`getManagedRuleset\``,
    ],
    [
      "an action for rules that only add to the score",
      () => ({ categories: [{ tag: "sqli", action: "log" }] }),
      'categories[0].action: the rules tagged "sqli" don\'t accept the action "log". These rules only add to the score. Instead, set owasp.action, which applies to the rule that compares the score',
    ],
    [
      "an action that no rule of the tag accepts",
      () => ({ ...managed, categories: [{ tag: "file-upload", action: "challenge" }] }),
      'categories[0].action: the rules tagged "file-upload" don\'t accept the action "challenge". Allowed: block, log',
    ],
    [
      "a score threshold on a rule that doesn't compare the score",
      () => ({ rules: { [firstRule]: { scoreThreshold: 40 } } }),
      `"].scoreThreshold: only the rule that compares the score with the threshold (${OWASP_SCORE_RULE}) accepts scoreThreshold`,
    ],
    [
      "a score threshold on the last rule of a ruleset that doesn't score requests",
      () => ({ ...managed, rules: { [lastRule]: { scoreThreshold: 40 } } }),
      '"].scoreThreshold: only the rule that compares the score with the threshold accepts scoreThreshold',
    ],
    [
      "owasp for a ruleset without paranoia levels",
      () => ({ ruleset: { id: managedRulesets.free }, owasp }),
      'owasp: "Cloudflare Managed Free Ruleset" has no paranoia levels, and owasp works only with the OWASP Core Ruleset',
    ],
    [
      "an unknown rule ID in an exception",
      () => ({
        exceptions: [
          { expression: "ssl", skip: { rules: { [managedRulesets.owasp]: [OWASP_SCORE_RULE, RULE] } } },
        ],
      }),
      `exceptions[0].skip.rules["${managedRulesets.owasp}"][0]: ${RULE}: "Cloudflare OWASP Core Ruleset" has no such rule`,
    ],
    [
      "two different score thresholds",
      () => ({
        owasp: { ...owasp, scoreThreshold: 25 },
        rules: { [OWASP_SCORE_RULE]: { scoreThreshold: 60 } },
      }),
      `rules["${OWASP_SCORE_RULE}"].scoreThreshold: contradicts owasp.scoreThreshold: this rule compares the score, and this entry sets 60, but owasp sets 25. Remove one of the two settings`,
    ],
    [
      "two different actions",
      () => ({ owasp: { ...owasp, action: "log" }, rules: { [OWASP_SCORE_RULE]: { action: "block" } } }),
      `rules["${OWASP_SCORE_RULE}"].action: contradicts owasp.action`,
    ],
    [
      "turning off the rule that acts on the score",
      () => ({ owasp, rules: { [OWASP_SCORE_RULE]: { enabled: false } } }),
      `rules["${OWASP_SCORE_RULE}"].enabled: contradicts owasp: this rule compares the score, and without it the ruleset never acts`,
    ],
  ];
  beforeAll(async () => {
    firstRule = (await bench.managedRules(managedRulesets.owasp))[0]?.id ?? "";
    lastRule = (await bench.managedRules(managedRulesets.managed)).at(-1)?.id ?? "";
  });

  test.each(cases)("refuses %s", async (_name, change, template) => {
    const sentence = template.replace("ACCOUNT", accounts.main);
    const declared = bench.declare(change());
    expect(await bench.refusals(declared)).toEqual([expect.stringContaining(sentence)]);
    // Without live checks, the update refuses it before anything is written.
    const { message } = await bench.operation(OFFLINE).failedUp(TYPE, declared);
    expect(message).toContain(sentence);
    expect(message).toMatch(/^Managed ruleset "edgeguard\/site\/dev\/waf": .*Nothing was written\.$/);
    expect(bench.writes()).toEqual([]);
  });

  test("reports every mistake at once", async () => {
    const declared = bench.declare({
      categories: [
        { tag: "nonsense", enabled: false },
        { tag: "sqli", action: "log" },
      ],
      rules: { [RULE]: { enabled: false } },
    });
    expect(await bench.refusals(declared)).toHaveLength(3);
  });

  test("accepts overrides that repeat or refine a paranoia level", async () => {
    const rules = await bench.managedRules(managedRulesets.owasp);
    const third = rules.find(({ categories }) => categories.includes("paranoia-level-3"))?.id ?? "";
    const declared = bench.declare({
      owasp: { paranoiaLevel: 2, scoreThreshold: "high" },
      categories: [{ tag: "paranoia-level-3", enabled: false }],
      rules: { [OWASP_SCORE_RULE]: { scoreThreshold: 25, enabled: true }, [third]: { enabled: true } },
    });
    expect(await bench.refusals(declared)).toEqual([]);
  });
});

test.each([
  [
    "a score threshold that Cloudflare doesn't document",
    { owasp: { paranoiaLevel: 1, scoreThreshold: 30 } },
    "the score threshold 30 will be sent as is, but Cloudflare documents only 25 (high), 40 (medium) and 60 (low)",
  ],
  [
    "fields that Cloudflare doesn't document",
    {
      expression: 'http.hots eq "warned.example"',
      exceptions: [{ expression: "cf.tomorrow.is_safe", skip: "all" }],
    },
    "expression: column 1: field http.hots is not known to this version. Did you mean http.host? exceptions[0].expression: column 1: field cf.tomorrow.is_safe is not known to this version. If the field is new, ignore this warning.",
  ],
  [
    "a paranoia level of a disabled deployment",
    { enabled: false, owasp: { paranoiaLevel: 3 } },
    "paranoia level 3 will have no effect, because enabled is false",
  ],
])("warns about %s only in the run that introduces it", async (name, change, sentence) => {
  const declared = bench.declare({
    expression: `http.host eq "${name.length}.example"`,
    ref: name,
    ...change,
  });
  const op = bench.operation();
  const recorded = await op.up(TYPE, declared);
  expect(op.warned).toEqual([expect.stringContaining(sentence)]);
  expect(await bench.warnings(declared, recorded)).toEqual([]);
  await bench.destroy(recorded);
});

test("an exception that is logged, or whose description is empty, has no undefined member, which Pulumi refuses", async () => {
  const exceptions = [{ expression: "true", description: "", skip: "this", logging: true }];
  const { inputs } = await bench.operation().check(TYPE, bench.declare({ exceptions }));
  expect(inputs["exceptions"]).toEqual([{ expression: "true", skip: "this" }]);
});

test("errors about a secret expression don't quote it, and there are no warnings about it", async () => {
  const secret = (expression: string) => bench.declare({ expression, [HIDDEN.secrets]: ["expression"] });
  const op = bench.operation();
  expect(await op.refusals(TYPE, secret("http.host eq private.example"))).toEqual([
    "expression: is not a valid expression",
  ]);
  await op.preview(TYPE, secret("ssl and cf.private.field"));
  expect(op.warned).toEqual([]);
});

test("doesn't check unknown arguments yet, and doesn't replace the rule because of them", async () => {
  const declared = bench.declare({
    owasp: { paranoiaLevel: UNKNOWN },
    categories: [{ tag: UNKNOWN, enabled: true }],
    rules: { [RULE]: { enabled: UNKNOWN } },
    exceptions: [{ expression: UNKNOWN, skip: "all" }],
    position: { after: UNKNOWN },
    ruleset: { id: UNKNOWN },
  });
  expect(await bench.refusals(declared)).toEqual([]);
  expect(bench.api.requests).toEqual([]);
  const recorded = await bench.up(bench.declare());
  const waiting = { ...bench.declare({ categories: [{ tag: UNKNOWN, enabled: true }] }) };
  expect(await bench.step(waiting, recorded)).toBe("update");
  await bench.destroy(recorded);
});
