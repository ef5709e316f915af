import { assess } from "../../provider/migration/assessment";
import {
  contentOf,
  fromWire,
  rulesToSend,
  toWire,
  type Origin,
  type WireRule,
} from "../../provider/migration/rules";
import { confirmationDigest, rulesToSendNext, type Observation } from "../../provider/migration/observation";
import { mappedAction, mappedSensitivity, ruleText } from "../../provider/migration/rule-text";
import { OWASP, SCORE_RULE, CLOUDFLARE } from "./support";

/** Which rules a step sends, what its digest covers, and how rules read as text. Needs no API. */

const execute = (id: string, more: object = {}): WireRule => ({
  action: "execute",
  expression: "true",
  action_parameters: { id },
  ...more,
});
const skip = (expression: string, more: object = {}): WireRule => ({
  action: "skip",
  expression,
  action_parameters: { ruleset: "current" },
  ...more,
});
/** A rule as Cloudflare stores it. */
const stored = (id: string, rule: WireRule): WireRule => ({
  ...rule,
  id,
  ref: id,
  version: "3",
  last_updated: "2026-01-02T03:04:05Z",
  description: "",
  enabled: true,
  ...(rule.action === "skip" ? { logging: { enabled: true } } : {}),
});
/** A rule as `GET /zones/{zone_id}/waf_migration/config` proposes it. */
const proposedRule = (rule: WireRule): WireRule => ({
  id: "",
  version: "",
  ref: "",
  description: "",
  enabled: true,
  ...rule,
});

const idsAndOrigins = (rules: readonly { rule: WireRule; origin: Origin }[]): unknown[] =>
  rules.map(({ rule, origin }) => [rule["id"] ?? null, origin]);

describe("a migration step", () => {
  const start = { phase: "start" } as const;
  const rulesAtStart = (own: readonly WireRule[], proposal: WireRule) =>
    rulesToSend({ state: start, own, proposed: [proposedRule(proposal)], configured: undefined }).rules;
  const validation = { phase: "validation" } as const;

  test("at start, sends the zone's own rules, then the proposed ones, without empty fields", () => {
    const own = [stored("a".repeat(32), skip("ssl"))];
    const proposed = [proposedRule(execute(CLOUDFLARE))];
    const { rules } = rulesToSend({ state: start, own, proposed, configured: undefined });
    expect(rules.map(({ rule }) => rule)).toEqual([
      { id: "a".repeat(32), ref: "a".repeat(32), enabled: true, logging: { enabled: true }, ...skip("ssl") },
      { enabled: true, ...execute(CLOUDFLARE) },
    ]);
  });

  test.each<[string, WireRule, WireRule, Origin]>([
    ["an equal existing rule", execute(CLOUDFLARE), execute(CLOUDFLARE), "kept"],
    [
      "a rule with the version latest",
      execute(CLOUDFLARE, { action_parameters: { id: CLOUDFLARE, version: "latest" } }),
      execute(CLOUDFLARE),
      "kept",
    ],
    [
      "a rule with other overrides",
      execute(CLOUDFLARE, { action_parameters: { id: CLOUDFLARE, overrides: { action: "log" } } }),
      execute(CLOUDFLARE),
      "changed",
    ],
    ["a disabled rule", execute(CLOUDFLARE, { enabled: false }), execute(CLOUDFLARE), "changed"],
    ["an equal exception", skip("ssl"), skip("ssl"), "kept"],
  ])(
    "at start, merges a proposed rule into %s, which keeps its ID, ref and place",
    (_what, existing, proposal, origin) => {
      const own = [
        { ...stored("a".repeat(32), existing), ref: "mine", enabled: existing["enabled"] ?? true },
        stored("b".repeat(32), skip("true")),
      ];
      const rules = rulesAtStart(own, proposal);
      expect(idsAndOrigins(rules)).toEqual([
        ["a".repeat(32), origin],
        ["b".repeat(32), "kept"],
      ]);
      expect(rules[0]?.rule).toMatchObject({ ref: "mine", enabled: true });
    },
  );

  test.each<[string, WireRule, WireRule]>([
    ["another ruleset", execute(OWASP), execute(CLOUDFLARE)],
    ["another expression", execute(CLOUDFLARE, { expression: "ssl" }), execute(CLOUDFLARE)],
    ["another action", skip("true"), execute(CLOUDFLARE)],
    [
      "other parameters of an exception",
      skip("ssl", { action_parameters: { rulesets: [CLOUDFLARE] } }),
      skip("ssl"),
    ],
  ])(
    "at start, adds the proposed rule as a new one if the existing rule has %s",
    (_what, existing, proposal) => {
      const own = [stored("a".repeat(32), existing)];
      const rules = rulesAtStart(own, proposal);
      expect(idsAndOrigins(rules)).toEqual([
        ["a".repeat(32), "kept"],
        [null, "new"],
      ]);
    },
  );

  test("at start, sends both of two identical existing rules, even if a proposed rule matches them", () => {
    const own = [
      stored("a".repeat(32), execute(CLOUDFLARE)),
      stored("b".repeat(32), execute(CLOUDFLARE, { enabled: false })),
    ];
    const rules = rulesAtStart(own, execute(CLOUDFLARE));
    expect(idsAndOrigins(rules)).toEqual([
      ["a".repeat(32), "kept"],
      ["b".repeat(32), "kept"],
    ]);
  });

  test("in validation, sends the entry point unchanged, and only shows Cloudflare's proposal", () => {
    const own = [
      stored(
        "a".repeat(32),
        execute(OWASP, { action_parameters: { id: OWASP, overrides: { action: "log" } } }),
      ),
    ];
    const { rules, passedOver } = rulesToSend({
      state: validation,
      own,
      proposed: [proposedRule(execute(OWASP)), proposedRule(execute(CLOUDFLARE))],
      configured: undefined,
    });
    expect(idsAndOrigins(rules)).toEqual([["a".repeat(32), "kept"]]);
    expect(passedOver).toHaveLength(2);
  });

  test("in validation, sends the configured rules in order, keeps the ID and ref of existing rules, and removes the others", () => {
    const own = [
      stored("a".repeat(32), execute(CLOUDFLARE)),
      stored("b".repeat(32), skip("ssl")),
      stored("c".repeat(32), execute(OWASP)),
    ];
    const configured = [skip("not ssl"), execute(OWASP, { enabled: false }), execute(CLOUDFLARE)];
    const { rules, dropped } = rulesToSend({ state: validation, own, proposed: [], configured });
    expect(idsAndOrigins(rules)).toEqual([
      [null, "new"],
      ["c".repeat(32), "changed"],
      ["a".repeat(32), "kept"],
    ]);
    expect(dropped.map(({ id }) => id)).toEqual(["b".repeat(32)]);
  });
});

test("converts an API rule to the format of the configuration argument and back, and keeps unknown fields", () => {
  const wire = execute(OWASP, {
    description: "own",
    enabled: false,
    logging: { enabled: true },
    ratelimit: { period: 60 },
    action_parameters: {
      id: OWASP,
      version: "36",
      matched_data: { public_key: "k" },
      overrides: {
        sensitivity_level: "low",
        rules: [{ id: SCORE_RULE, score_threshold: 25, action: "log" }],
        categories: [{ category: "paranoia-level-4", enabled: false }],
      },
    },
  });
  const rule = fromWire({ ...wire, id: "a".repeat(32), version: "2", last_updated: "2026-01-02T03:04:05Z" });
  expect(rule).toMatchObject({
    actionParameters: {
      matchedData: { publicKey: "k" },
      overrides: { sensitivityLevel: "low", rules: [{ scoreThreshold: 25 }] },
    },
    extra: { ratelimit: { period: 60 } },
  });
  expect(rule).not.toHaveProperty("id");
  expect(toWire(rule)).toEqual(wire);
});

describe("the confirmation digest", () => {
  const observation = (own: readonly WireRule[], phase: "start" | "validation" = "start"): Observation => ({
    zoneId: "a".repeat(32),
    state: { phase },
    open: {
      compatible: true,
      proposed: { name: "default", rules: [proposedRule(execute(OWASP)), proposedRule(skip("ssl"))] },
      entryPoint: { name: "zone", rules: own },
      previous: {
        packages: { items: [{ id: "p", sensitivity: "high" }] },
        owaspGroups: { items: [] },
        owaspRules: { items: [] },
        overrides: { items: [] },
        firewallRules: { items: [] },
        pageRules: { items: [] },
      },
    },
  });
  const digest = (one: Observation): string => {
    const sending = rulesToSendNext(one, undefined);
    if (sending === undefined) throw new Error("nothing would be sent");
    return confirmationDigest(one, "finished", sending);
  };

  test("covers what the rules do, but not IDs, versions, times or values that Cloudflare fills in", () => {
    const original = digest(observation([]));
    // As after a PUT of which nothing is recorded.
    const rules = [
      stored("c".repeat(32), execute(OWASP, { action_parameters: { id: OWASP, version: "latest" } })),
      stored("d".repeat(32), skip("ssl")),
    ];
    expect(digest(observation(rules, "validation"))).toBe(original);
    expect(contentOf(rules[0] ?? execute(OWASP))).toEqual(contentOf(execute(OWASP)));
  });

  test("changes if a rule to send, overwrite or remove does something else", () => {
    const of = (rule: WireRule): string =>
      digest(observation([{ ...stored("c".repeat(32), rule), ...rule }]));
    const original = digest(observation([]));
    const others = [
      // The step sends the same for these, but overwrites what they did.
      execute(OWASP, { enabled: false }),
      execute(OWASP, { action_parameters: { id: OWASP, version: "36" } }),
      skip("not ssl"),
      execute(CLOUDFLARE),
      { ...skip("ssl"), ref: "named" },
      skip("ssl", { logging: { enabled: false } }),
    ];
    expect(new Set([original, ...others.map(of)]).size).toBe(7);
  });
});

describe("the assessment's text", () => {
  const owasp = (overrides: object): WireRule =>
    execute(OWASP, { action_parameters: { id: OWASP, overrides } });
  const off = (...levels: number[]) => ({
    categories: levels.map((n) => ({ category: `paranoia-level-${n}`, enabled: false })),
  });

  test.each<[string, WireRule]>([
    ["execute Cloudflare Managed Ruleset", execute(CLOUDFLARE)],
    [
      "execute Cloudflare Managed Ruleset where ssl (disabled)",
      execute(CLOUDFLARE, { expression: "ssl", enabled: false }),
    ],
    [`execute ruleset ${"e".repeat(32)}`, execute("e".repeat(32))],
    [
      "execute Cloudflare OWASP Core Ruleset: paranoia level 1, the ruleset's default score threshold",
      owasp(off(2, 3, 4)),
    ],
    [
      "execute Cloudflare OWASP Core Ruleset: paranoia level 3, score threshold 25 (high), action log",
      owasp({ ...off(4), rules: [{ id: SCORE_RULE, score_threshold: 25, action: "log" }] }),
    ],
    [
      "execute Cloudflare OWASP Core Ruleset: paranoia level 4 (no level turned off), score threshold 33",
      owasp({ rules: [{ id: SCORE_RULE, score_threshold: 33 }] }),
    ],
    [
      "execute Cloudflare OWASP Core Ruleset: custom paranoia levels, the ruleset's default score threshold",
      owasp(off(2, 4)),
    ],
    [
      "execute Cloudflare OWASP Core Ruleset: custom paranoia levels, the ruleset's default score threshold",
      owasp(off(1, 2, 3, 4)),
    ],
    [
      "execute Cloudflare Managed Ruleset: action log for all rules, 2 tags changed (1 off, 1 block), 1 rule changed (1 on)",
      execute(CLOUDFLARE, {
        action_parameters: {
          id: CLOUDFLARE,
          overrides: {
            action: "log",
            categories: [
              { category: "php", enabled: false },
              { category: "joomla", action: "block" },
            ],
            rules: [{ id: "a", enabled: true }],
          },
        },
      }),
    ],
    [
      "execute Cloudflare Managed Ruleset: overrides that this version can't read",
      execute(CLOUDFLARE, { action_parameters: { id: CLOUDFLARE, overrides: { rules: "all" } } }),
    ],
    ["skip all remaining rules where ssl", skip("ssl")],
    [
      "skip Cloudflare OWASP Core Ruleset where ssl",
      skip("ssl", { action_parameters: { rulesets: [OWASP] } }),
    ],
    [
      "skip 2 rules of Cloudflare Managed Ruleset",
      skip("true", { action_parameters: { rules: { [CLOUDFLARE]: ["a", "b"] } } }),
    ],
    ["skip as specified by its parameters", skip("true", { action_parameters: { phases: ["x"] } })],
    [`skip all remaining rules where ${"x".repeat(70)}…`, skip("x".repeat(71))],
    ["log where ssl", { action: "log", expression: "ssl" }],
  ])("describes a rule in one line: %s", (text, rule) => {
    expect(ruleText(rule)).toBe(text);
  });

  test("maps the previous package's sensitivity and action as Cloudflare documents", () => {
    const table = ["High", "Medium", "Low", "Default", undefined, "tomorrow's", "off"].map((sensitivity) => {
      const to = mappedSensitivity(sensitivity);
      return [sensitivity, to === undefined ? "not deployed" : `PL${to.paranoiaLevel} ${to.scoreThreshold}`];
    });
    expect(table).toEqual([
      ["High", "PL2 40"],
      ["Medium", "PL1 25"],
      ["Low", "PL1 40"],
      ["Default", "PL2 40"],
      [undefined, "PL2 40"],
      ["tomorrow's", "PL2 40"],
      ["off", "not deployed"],
    ]);
    expect(["block", "challenge", "simulate", "Simulate"].map(mappedAction)).toEqual([
      "block",
      "challenge",
      "log",
      "log",
    ]);
  });
});

describe("the assessment of a migration", () => {
  const many = (count: number, more: object = {}): Observation => ({
    zoneId: "a".repeat(32),
    state: { phase: "start" },
    open: {
      compatible: false,
      previous: {
        packages: { items: [{ id: "p", name: "OWASP", sensitivity: "medium", action_mode: "simulate" }] },
        owaspGroups: { items: Array.from({ length: count }, (_, i) => ({ id: `g${i}`, mode: "off" })) },
        owaspRules: { items: Array.from({ length: count }, (_, i) => ({ id: `r${i}`, mode: "off" })) },
        overrides: {
          items: Array.from({ length: count }, (_, i) => ({ id: `o${i}`, urls: [`a.example/${i}`] })),
        },
        firewallRules: { unread: "returned 403" },
        pageRules: { items: [{ id: "x", actions: [{ id: "waf", value: "off" }] }] },
      },
      ...more,
    },
  });

  test("is at most 15 lines long if there's nothing to send, while the findings list everything", () => {
    const { shown, findings, next } = assess(many(300), { target: "finished" });
    const { lines } = shown;
    expect(lines).toHaveLength(15);
    expect(lines).toContainEqual(expect.stringMatching(/^… and 29\d more$/));
    expect(lines.join("\n")).toMatch(
      /medium -> paranoia level 1, score threshold 25 \(high\); action simulate -> log/,
    );
    expect(findings.filter(({ weight }) => weight === "blocks")).toHaveLength(300);
    expect(next).toMatchObject({ kind: "refuse", property: "target" });
  });

  test("refuses the target if Cloudflare's check doesn't say whether the zone is eligible, or why it isn't", () => {
    for (const [compatible, words] of [
      [undefined, "check gave no verdict"],
      [false, "check reports the zone as incompatible"],
    ] as const) {
      const { next } = assess(many(0, { compatible }), { target: "finished", confirm: "0".repeat(64) });
      expect(next).toMatchObject({
        kind: "refuse",
        property: "target",
        reason: expect.stringContaining(words) as string,
      });
    }
  });

  test("says that Cloudflare's proposal differs from the documented mapping", () => {
    const rule = execute(OWASP, {
      action_parameters: { id: OWASP, overrides: { rules: [{ id: SCORE_RULE, score_threshold: 60 }] } },
    });
    const { shown } = assess(many(0, { compatible: true, proposed: { rules: [rule] } }), {
      target: "assessed",
    });
    expect(shown.lines.join("\n")).toMatch(
      /proposal differs from the documented mapping: .*score threshold 60 \(low\)/,
    );
  });
});
