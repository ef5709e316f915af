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

/** What is sent, what it stands for and how it is told: without a service. */

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
/** As the service keeps a rule. */
const kept = (id: string, rule: WireRule): WireRule => ({
  ...rule,
  id,
  ref: id,
  version: "3",
  last_updated: "2026-01-02T03:04:05Z",
  description: "",
  enabled: true,
  ...(rule.action === "skip" ? { logging: { enabled: true } } : {}),
});
/** As `config` gives it. */
const offered = (rule: WireRule): WireRule => ({
  id: "",
  version: "",
  ref: "",
  description: "",
  enabled: true,
  ...rule,
});

const idsAndOrigins = (rules: readonly { rule: WireRule; origin: Origin }[]): unknown[] =>
  rules.map(({ rule, origin }) => [rule["id"] ?? null, origin]);

describe("what is sent", () => {
  const start = { phase: "start" } as const;
  const validation = { phase: "validation" } as const;

  test("from start: own rules first, then the proposed ones, stripped of what is empty", () => {
    const own = [kept("a".repeat(32), skip("ssl"))];
    const proposed = [offered(execute(CLOUDFLARE))];
    const { rules } = rulesToSend({ state: start, own, proposed, configured: undefined });
    expect(rules.map(({ rule }) => rule)).toEqual([
      { id: "a".repeat(32), ref: "a".repeat(32), enabled: true, logging: { enabled: true }, ...skip("ssl") },
      { enabled: true, ...execute(CLOUDFLARE) },
    ]);
  });

  test.each<[string, WireRule, WireRule, Origin]>([
    ["an equal one", execute(CLOUDFLARE), execute(CLOUDFLARE), "kept"],
    [
      "one at the version latest",
      execute(CLOUDFLARE, { action_parameters: { id: CLOUDFLARE, version: "latest" } }),
      execute(CLOUDFLARE),
      "kept",
    ],
    [
      "one with other overrides",
      execute(CLOUDFLARE, { action_parameters: { id: CLOUDFLARE, overrides: { action: "log" } } }),
      execute(CLOUDFLARE),
      "changed",
    ],
    ["one that is disabled", execute(CLOUDFLARE, { enabled: false }), execute(CLOUDFLARE), "changed"],
    ["an equal exception", skip("ssl"), skip("ssl"), "kept"],
  ])(
    "from start: of a proposed rule and %s only the existing one, with its id, ref and place",
    (_what, there, proposal, origin) => {
      const own = [
        { ...kept("a".repeat(32), there), ref: "mine", enabled: there["enabled"] ?? true },
        kept("b".repeat(32), skip("true")),
      ];
      const { rules } = rulesToSend({
        state: start,
        own,
        proposed: [offered(proposal)],
        configured: undefined,
      });
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
  ])("from start: %s makes another rule, which is added", (_what, there, proposal) => {
    const own = [kept("a".repeat(32), there)];
    const { rules } = rulesToSend({
      state: start,
      own,
      proposed: [offered(proposal)],
      configured: undefined,
    });
    expect(idsAndOrigins(rules)).toEqual([
      ["a".repeat(32), "kept"],
      [null, "new"],
    ]);
  });

  test("from start: a rule twice in the entry point is matched once", () => {
    const own = [
      kept("a".repeat(32), execute(CLOUDFLARE)),
      kept("b".repeat(32), execute(CLOUDFLARE, { enabled: false })),
    ];
    const { rules } = rulesToSend({
      state: start,
      own,
      proposed: [offered(execute(CLOUDFLARE))],
      configured: undefined,
    });
    expect(idsAndOrigins(rules)).toEqual([
      ["a".repeat(32), "kept"],
      ["b".repeat(32), "kept"],
    ]);
  });

  test("from validation: the entry point as it stands; the proposal is shown beside it", () => {
    const own = [
      kept(
        "a".repeat(32),
        execute(OWASP, { action_parameters: { id: OWASP, overrides: { action: "log" } } }),
      ),
    ];
    const { rules, passedOver } = rulesToSend({
      state: validation,
      own,
      proposed: [offered(execute(OWASP)), offered(execute(CLOUDFLARE))],
      configured: undefined,
    });
    expect(idsAndOrigins(rules)).toEqual([["a".repeat(32), "kept"]]);
    expect(passedOver).toHaveLength(2);
  });

  test("from validation: a configuration in its own order, existing rules with their id and ref, others dropped", () => {
    const own = [
      kept("a".repeat(32), execute(CLOUDFLARE)),
      kept("b".repeat(32), skip("ssl")),
      kept("c".repeat(32), execute(OWASP)),
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

test("a rule goes from one form to the other and back, with members nobody knows", () => {
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

describe("the digest", () => {
  const situation = (own: readonly WireRule[], phase: "start" | "validation" = "start"): Observation => ({
    zoneId: "a".repeat(32),
    state: { phase },
    open: {
      compatible: true,
      proposed: { name: "default", rules: [offered(execute(OWASP)), offered(skip("ssl"))] },
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

  test("is of what the rules do: ids, versions, times and what the service fills in do not matter", () => {
    const fresh = digest(situation([]));
    // As after a PUT that was carried out, and of which nothing is recorded.
    const stored = [
      kept("c".repeat(32), execute(OWASP, { action_parameters: { id: OWASP, version: "latest" } })),
      kept("d".repeat(32), skip("ssl")),
    ];
    expect(digest(situation(stored, "validation"))).toBe(fresh);
    expect(contentOf(stored[0] ?? execute(OWASP))).toEqual(contentOf(execute(OWASP)));
  });

  test("is another one where a rule that is sent, or goes, does something else", () => {
    const of = (rule: WireRule): string => digest(situation([{ ...kept("c".repeat(32), rule), ...rule }]));
    const fresh = digest(situation([]));
    const others = [
      // The same is sent for these, as they take the proposed content: what they did is lost, and part of what is confirmed.
      execute(OWASP, { enabled: false }),
      execute(OWASP, { action_parameters: { id: OWASP, version: "36" } }),
      skip("not ssl"),
      execute(CLOUDFLARE),
      { ...skip("ssl"), ref: "named" },
      skip("ssl", { logging: { enabled: false } }),
    ];
    expect(new Set([fresh, ...others.map(of)]).size).toBe(7);
  });
});

describe("in words", () => {
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
      "execute Cloudflare OWASP Core Ruleset: paranoia level 1, the ruleset's own score threshold",
      owasp(off(2, 3, 4)),
    ],
    [
      "execute Cloudflare OWASP Core Ruleset: paranoia level 3, score threshold 25 (high), action log",
      owasp({ ...off(4), rules: [{ id: SCORE_RULE, score_threshold: 25, action: "log" }] }),
    ],
    [
      "execute Cloudflare OWASP Core Ruleset: paranoia level 4 (no tag is off), score threshold 33",
      owasp({ rules: [{ id: SCORE_RULE, score_threshold: 33 }] }),
    ],
    [
      "execute Cloudflare OWASP Core Ruleset: a choice of paranoia levels of its own, the ruleset's own score threshold",
      owasp(off(2, 4)),
    ],
    [
      "execute Cloudflare OWASP Core Ruleset: a choice of paranoia levels of its own, the ruleset's own score threshold",
      owasp(off(1, 2, 3, 4)),
    ],
    [
      "execute Cloudflare Managed Ruleset: action log for all its rules, 2 tags changed (1 off, 1 block), 1 rule changed (1 on)",
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
      "execute Cloudflare Managed Ruleset: overrides that this version cannot read",
      execute(CLOUDFLARE, { action_parameters: { id: CLOUDFLARE, overrides: { rules: "all" } } }),
    ],
    ["skip all later rules where ssl", skip("ssl")],
    [
      "skip Cloudflare OWASP Core Ruleset where ssl",
      skip("ssl", { action_parameters: { rulesets: [OWASP] } }),
    ],
    [
      "skip 2 rules of Cloudflare Managed Ruleset",
      skip("true", { action_parameters: { rules: { [CLOUDFLARE]: ["a", "b"] } } }),
    ],
    ["skip what its parameters say", skip("true", { action_parameters: { phases: ["x"] } })],
    [`skip all later rules where ${"x".repeat(70)}…`, skip("x".repeat(71))],
    ["log where ssl", { action: "log", expression: "ssl" }],
  ])("%s", (words, rule) => {
    expect(ruleText(rule)).toBe(words);
  });

  test("the seed's table: what an old sensitivity and an old action become", () => {
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

describe("an assessment", () => {
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

  test("has at most 15 lines, whatever there is to say; the findings hold all of it", () => {
    const { lines, findings, next } = assess(many(300), { target: "finished" });
    expect(lines).toHaveLength(15);
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}… and 29\d more$/));
    expect(lines.join("\n")).toMatch(
      /medium -> paranoia level 1, score threshold 25 \(high\); action simulate -> log/,
    );
    expect(findings.filter(({ weight }) => weight === "blocks")).toHaveLength(300);
    expect(next).toMatchObject({ kind: "refuse", property: "target" });
  });

  test("without a verdict, or against one that nothing explains, sends nothing", () => {
    for (const [compatible, words] of [
      [undefined, "the check gave no verdict"],
      [false, "the check says that the zone is not compatible"],
    ] as const) {
      const { next } = assess(many(0, { compatible }), { target: "finished", confirm: "0".repeat(64) });
      expect(next).toMatchObject({
        kind: "refuse",
        property: "target",
        reason: expect.stringContaining(words) as string,
      });
    }
  });

  test("says where the service proposes otherwise than the documented mapping", () => {
    const rule = execute(OWASP, {
      action_parameters: { id: OWASP, overrides: { rules: [{ id: SCORE_RULE, score_threshold: 60 }] } },
    });
    const { lines } = assess(many(0, { compatible: true, proposed: { rules: [rule] } }), {
      target: "assessed",
    });
    expect(lines.join("\n")).toMatch(
      /proposes otherwise than the documented mapping: .*score threshold 60 \(low\)/,
    );
  });
});
