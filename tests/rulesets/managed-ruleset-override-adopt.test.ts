import { managedRulesets, seededRules } from "edgeguard-local";
import { REGISTER } from "../../provider/register";
import { RENAME_HINT } from "../../provider/runtime/adoption";
import { RulesetsBench, OWASP, REF, TYPE, type Declaration, type Rule } from "./support";
import { driftOf } from "../report/plans";
import { OFFLINE, zones } from "../support/bench";
import { rawSend } from "../support/operation";

const bench = new RulesetsBench();

const HOOK = { expression: 'http.request.uri.path eq "/hook"', skip: "all" };

/** The local API's zones: `blog` has an OWASP deployment as the dashboard makes it, `shop` a deployment with overrides and a ref. */
const blog = (): Declaration => {
  bench.inZone("blog");
  return bench.declare();
};
const shop = (): Declaration => {
  return bench.declare({ ruleset: { id: managedRulesets.managed } });
};
const SHOP_CATEGORIES = [
  { tag: "wordpress", enabled: false },
  { tag: "anomaly", action: "log" },
];

/** The whole entry point, without what changes with every write. */
const content = async (): Promise<unknown> =>
  (await bench.rules()).map((rule) => ({ ...rule, version: "", last_updated: "" }));

describe("a skip rule that was adopted as an exception of an adopted rule", () => {
  const adopted = async (): Promise<{ declared: Declaration; skipId: string }> => {
    const declared = { ...shop(), categories: SHOP_CATEGORIES, exceptions: [HOOK] };
    const { id } = await bench.addRule({
      action: "skip",
      action_parameters: { ruleset: "current" },
      expression: HOOK.expression,
      position: { before: seededRules.shop.managed },
    });
    return { declared, skipId: id };
  };

  test.each(["first", "last"] as const)(
    "moves %s with its rule, and moves back on a destroy",
    async (position) => {
      const { declared } = await adopted();
      const before = await bench.refs();
      const recorded = await bench.up({ ...declared, position });
      expect(await bench.refs()).not.toEqual(before);
      await bench.destroy(recorded);
      expect(await bench.refs()).toEqual(before);
    },
  );

  test("is adopted again if the first run was killed before recording it, and survives a destroy", async () => {
    const { declared, skipId } = await adopted();
    await bench.up(declared); // This run isn't recorded.
    const recorded = await bench.up(declared);
    await bench.expectNoChanges(declared, recorded);
    await bench.destroy(recorded);
    expect((await bench.rules()).map(({ id }) => id)).toContain(skipId);
  });

  test("stays next to its rule when another rule is positioned before that rule", async () => {
    const { declared, skipId } = await adopted();
    const recorded = await bench.up(declared);
    const other = bench.declare({
      ref: "edgeguard/site/dev/other",
      position: { before: String(recorded.outputs["ruleRef"]) },
    });
    await bench.up(other);
    const ids = (await bench.rules()).map(({ id }) => id);
    expect(ids[ids.indexOf(seededRules.shop.managed) - 1]).toBe(skipId);
    const seen = await bench.refresh(recorded);
    expect((await bench.preview(declared, seen)).step).toBe("same");
  });
});

test("leaves an exception's description unset if it's empty", async () => {
  const declared = bench.declare({ exceptions: [{ ...HOOK, description: "" }] });
  await bench.expectNoChanges(declared, await bench.up(declared));
});

describe("someone else's rule that runs the same ruleset for the same requests", () => {
  test("is adopted by default if it matches, without a write, and a destroy leaves it untouched", async () => {
    const declared = blog();
    const before = JSON.stringify(await bench.rules());
    const op = bench.operation();
    const recorded = await op.up(TYPE, declared);
    expect(recorded.id).toBe(seededRules.blog.owasp);
    const adopted = recorded.outputs["adopted"];
    expect(adopted).toEqual({
      object: expect.stringMatching(
        `^rule ${seededRules.blog.owasp} in zone ${bench.zone} \\(last changed 2`,
      ) as string,
      onDestroy: "restores its current settings",
    });
    expect(recorded.inputs["adopted"]).toEqual(adopted);
    expect(op.said.join()).toMatch(
      /" adopts the existing rule .*, which matches the program\. Destroying the resource restores its current settings\./,
    );
    expect(recorded.outputs).toMatchObject({ ref: REF, ruleRef: seededRules.blog.owasp });
    await bench.expectNoChanges(declared, recorded);
    await bench.destroy(recorded);
    expect(bench.writes()).toEqual([]);
    expect(JSON.stringify(await bench.rules())).toBe(before);
  });

  test("is adopted if its overrides have the same effect as the declared ones", async () => {
    const declared = { ...shop(), categories: [...SHOP_CATEGORIES].reverse(), version: "latest" };
    const recorded = await bench.up(declared);
    expect(recorded.id).toBe(seededRules.shop.managed);
    expect(bench.writes()).toEqual([]);
    await bench.expectNoChanges(declared, recorded);
  });

  const HAS = 'categories: [{ tag: "wordpress", enabled: false }, { tag: "anomaly", action: "log" }]';
  test.each([
    [
      'categories.anomaly.action: "log" → not set',
      { categories: [{ tag: "wordpress", enabled: false }] },
      `To keep the rule's current settings, declare: ${HAS}. `,
    ],
    [
      'description: "Baseline of the security team" → "mine"',
      { categories: SHOP_CATEGORIES, description: "mine" },
      'To keep the rule\'s current settings, declare: description: "Baseline of the security team". ',
    ],
    [
      "enabled: true → false",
      { categories: SHOP_CATEGORIES, enabled: false },
      "To keep the rule's current settings, declare: enabled: true. ",
    ],
    [
      'version: "latest" → "87"',
      { categories: SHOP_CATEGORIES, version: "87" },
      'To keep the rule\'s current settings, declare: version: "latest". ',
    ],
    [
      String.raw`exceptions: not set → [{ expression: "http.request.uri.path eq \"/hook\"", skip: "all" }]`,
      { categories: SHOP_CATEGORIES, exceptions: [HOOK] },
      "",
    ],
    [
      'categories.wordpress.enabled: false → not set; categories.anomaly.action: "log" → not set; action: not set → "log"',
      { action: "log" },
      `To keep the rule's current settings, declare: ${HAS}. `,
    ],
  ])("isn't adopted if it differs in %s, and the preview says what to do", async (differ, change, keep) => {
    const declared = { ...shop(), ...change };
    expect(await bench.refusals(declared)).toEqual([
      `adopt: Rule ${seededRules.shop.managed} ("Baseline of the security team") in zone ${bench.zone} already runs "Cloudflare Managed Ruleset" for the same requests, ` +
        `but differs in ${differ}. ${keep}Set adopt: "takeOver" to change that rule and manage it, or use a different expression. ${RENAME_HINT}`,
    ]);
    const unchecked = bench.operation(OFFLINE);
    expect((await unchecked.failedUp(TYPE, declared)).message).toContain(`differs in ${differ}`);
    expect(bench.writes()).toEqual([]);
  });

  test('isn\'t adopted with adopt: "never", and neither is a rule that an earlier run left behind', async () => {
    const declared = { ...blog(), adopt: "never" };
    expect(await bench.refusals(declared)).toEqual([
      expect.stringMatching(
        /^adopt: Rule 5a0c1e7f3b2d4968a7e1c0f2d3b4c121 in zone .* for the same requests, and adopt: "never" prevents adopting it\. .*old URN/,
      ),
    ]);
    const other = { ...declared, expression: 'http.host eq "a.example"' };
    await bench.up(other);
    expect(await bench.refusals(other)).toEqual([
      expect.stringMatching(
        /^adopt: .*already has the ref "edgeguard\/site\/dev\/waf", and adopt: "never" .*old URN/,
      ),
    ]);
  });

  test.each(["never", "takeOver"])("isn't another stack's with adopt: %j", async (adopt) => {
    bench.inZone("empty");
    await bench.up(bench.declare({ ref: "edgeguard/other/dev/waf" }));
    expect(await bench.warnings(bench.declare({ adopt }))).toEqual([
      expect.stringContaining("will run twice"),
    ]);
  });

  test("doesn't prevent adding a rule for other requests or another ruleset", async () => {
    const declared = blog();
    await bench.up({ ...declared, expression: 'http.host eq "a.example"', adopt: "never" });
    await bench.up({ ...declared, ref: `${REF}-2`, ruleset: { id: managedRulesets.free }, adopt: "never" });
    expect(bench.writes()).toEqual(["POST /{id}/rules", "POST /{id}/rules"]);
  });

  test("is found when a resource moves to its zone", async () => {
    const declared = blog();
    const recorded = await bench.up({ ...declared, zoneId: zones.empty });
    const moved = { ...declared, owasp: { paranoiaLevel: 2 } };
    const refused = await bench.refusals(moved, recorded);
    expect(refused).toEqual([expect.stringContaining("but differs in owasp.paranoiaLevel: 4 → 2")]);
    const op = bench.operation();
    const { step, inputs } = await op.preview(TYPE, { ...moved, adopt: "takeOver" }, recorded);
    expect(step).toBe("replace");
    expect(inputs).toMatchObject({ adopted: { changes: { owasp: { before: { paranoiaLevel: 4 } } } } });
    expect(op.said.join()).toContain(`adopts the existing rule ${seededRules.blog.owasp} in zone`);
  });

  test.each(["ifEqual", "takeOver"])("shows no value of a secret argument (adopt: %s)", async (adopt) => {
    const declared = blog();
    const [rule] = await bench.rules();
    const canary = "codename-quicksilver";
    await bench.editRule(rule as Rule, { description: canary });
    await bench.addRule({
      action: "execute",
      action_parameters: { id: managedRulesets.free },
      expression: "ssl",
      description: canary,
    });
    const secret = { ...declared, adopt, description: "other", __secrets: ["description"] };
    const op = bench.operation();
    if (adopt === "ifEqual") {
      expect((await op.refusals(TYPE, secret)).join()).toMatch(/differs in .*description/);
      expect((await bench.refusals(secret)).join()).not.toContain(canary);
      return;
    }
    const recorded = await op.up(TYPE, secret);
    const { adopted } = recorded.outputs;
    expect(recorded.inputs["adopted"]).toEqual(adopted);
    expect(JSON.stringify([adopted, op.said, op.warned])).not.toContain(canary);
  });

  test("isn't adopted if there are several, even with takeOver, and the preview lists their IDs", async () => {
    const declared = { ...blog(), adopt: "takeOver" };
    const [rule] = await bench.rules();
    const second = await bench.addRule({
      action: "execute",
      action_parameters: { id: managedRulesets.owasp },
      expression: "true",
    });
    expect(await bench.refusals(declared)).toEqual([
      `adopt: 2 rules in zone ${bench.zone} already run "Cloudflare OWASP Core Ruleset" for the same requests: ${rule?.id ?? ""}, ${second.id}. Delete all but one, or use a different expression. ${RENAME_HINT}`,
    ]);
  });

  test("is adopted even if another program created a rule that runs the same ruleset", async () => {
    const declared = blog();
    await bench.addRule({
      action: "execute",
      action_parameters: { id: managedRulesets.owasp },
      expression: "true",
      ref: "edgeguard/other/stack/waf",
    });
    expect((await bench.up(declared)).id).toBe(seededRules.blog.owasp);
  });
});

describe("someone else's rule with the declared ref", () => {
  const byRef = { ref: "security-team/managed", expression: "ssl" };

  test("isn't adopted if it differs", async () => {
    const declared = { ...shop(), ...byRef };
    expect(await bench.refusals(declared)).toEqual([
      `adopt: Rule ${seededRules.shop.managed} ("Baseline of the security team") in zone ${bench.zone} already has the ref "security-team/managed", ` +
        'but differs in categories.wordpress.enabled: false → not set; categories.anomaly.action: "log" → not set; expression: "true" → "ssl". ' +
        'To keep the rule\'s current settings, declare: categories: [{ tag: "wordpress", enabled: false }, { tag: "anomaly", action: "log" }], expression: "true". ' +
        `Set adopt: "takeOver" to change that rule and manage it, or use a different ref. ${RENAME_HINT}`,
    ]);
  });

  test("is changed with takeOver, and put back by a destroy", async () => {
    const declared = { ...shop(), ...byRef, adopt: "takeOver" };
    const before = await content();
    const recorded = await bench.up(declared);
    expect(await bench.ownRule("security-team/managed")).toMatchObject({ expression: "ssl" });
    await bench.expectNoChanges(declared, recorded);
    await bench.destroy(recorded);
    expect(await content()).toEqual(before);
  });

  test("isn't confused with the resource's own rule in a forced replacement", async () => {
    const declared = bench.declare({ ref: "waf", exceptions: [HOOK] });
    const recorded = await bench.up(declared);
    bench.api.clearRequests();
    const op = bench.operation();
    const plan = await op.preview(TYPE, declared, recorded);
    const made = await REGISTER[TYPE]?.create(op.host, plan.inputs);
    expect(made?.id).toBe(recorded.id);
    expect(made?.outs).not.toHaveProperty("adopted");
    expect(made?.outs).not.toHaveProperty("previous");
    await op.destroy(TYPE, recorded);
    expect(bench.writes()).toEqual([]);
  });
});

test("warns if another program's rule runs the same ruleset for the same requests", async () => {
  const other = await bench.up(bench.declare({ ref: "edgeguard/other/dev/waf" }));
  const op = bench.operation();
  const recorded = await op.up(TYPE, bench.declare());
  expect(op.warned).toEqual([
    expect.stringContaining(
      `"Cloudflare OWASP Core Ruleset" will run twice for the same requests, because rule ${other.id} (edgeguard/other/dev/waf) in zone ${bench.zone} also executes it`,
    ),
  ]);
  expect(await bench.warnings(bench.declare({ ref: `${REF}-2`, expression: "ssl" }), recorded)).toEqual([]);
});

test("says that a ruleset doesn't run twice if the program also changes the other rule, as two rules that swap their rulesets", async () => {
  const free = { id: managedRulesets.free };
  const one = await bench.up(bench.declare({ ref: "edgeguard/site/dev/one" }));
  const other = await bench.up(bench.declare({ ref: "edgeguard/site/dev/other", ruleset: free }));
  const op = bench.operation();
  await op.preview(TYPE, bench.declare({ ref: "edgeguard/site/dev/one", ruleset: free }), one);
  await op.preview(TYPE, bench.declare({ ref: "edgeguard/site/dev/other" }), other);
  expect(op.warned).toEqual([
    expect.stringMatching(
      /other\) in zone \w+ also executes it, unless this update changes or deletes that rule\.$/,
    ),
  ]);
});

test("refuses a new ref that another rule has, in the preview", async () => {
  const recorded = await bench.up(bench.declare({ ref: "ours" }));
  expect(await bench.refusals(bench.declare({ ref: "security-team/managed" }), recorded)).toEqual([
    `ref: is already the ref of rule ${seededRules.shop.managed}. Use another one, or delete that rule`,
  ]);
});

test("says what's wrong with a new declaration before it advises to take over a rule", async () => {
  expect(await bench.refusals({ ...blog(), categories: [{ tag: "nonsense", enabled: false }] })).toEqual([
    expect.stringContaining("has no rule with the tag"),
  ]);
});

test("adopts a matching rule that has to move, and doesn't say that it takes it over", async () => {
  const declared = { ...shop(), categories: SHOP_CATEGORIES };
  const op = bench.operation();
  await op.preview(TYPE, { ...declared, position: "last" });
  expect(op.said.join()).toMatch(/adopts the existing rule .* and changes position: /);
});

test.each([
  ["another form of its name", { name: OWASP }],
  ["the same ID", { id: managedRulesets.owasp }],
])("finds duplicate resources if the other one refers to the ruleset by %s", async (_form, ruleset) => {
  const first = bench.declare({ ruleset, expression: "(ssl)", ref: `${REF}-first` });
  const recorded = await bench.up(first);
  const again = bench.operation();
  await again.preview(TYPE, first, recorded);
  await again.preview(TYPE, bench.declare({ expression: "ssl", enabled: false }));
  expect(again.warned).toEqual([
    `edgeguard: managed ruleset "${REF}": "${OWASP}" will run twice for the same requests, because "${REF}-first" of this program also executes it.`,
  ]);
  expect(await again.refusals(TYPE, bench.declare({ expression: "ssl" }))).toEqual([
    `ruleset: is already deployed by "${REF}-first" in zone ${bench.zone}, with identical arguments. Remove one of the two resources`,
  ]);
});

describe("a rule with the declared default ref that isn't recorded", () => {
  test("is adopted if it matches, because an interrupted create left it behind", async () => {
    const declared = bench.declare({ exceptions: [HOOK] });
    const left = await bench.up(declared); // This run isn't recorded.
    bench.api.clearRequests();
    const op = bench.operation();
    expect(await op.up(TYPE, declared)).toMatchObject({ id: left.id });
    expect(bench.writes()).toEqual([]);
    expect(op.said.join()).toMatch(
      /an interrupted update of this resource left it behind, the resource was moved/,
    );
  });

  test("isn't adopted if it differs: it may be the rule of another team's program with the same names", async () => {
    const theirs = await bench.up(bench.declare({ enabled: false }));
    const before = JSON.stringify(await bench.rules());
    for (const config of [{}, { "edgeguard:liveChecks": "false" }]) {
      const { message } = await bench
        .operation({ config: config })
        .failedUp(TYPE, bench.declare({ exceptions: [HOOK] }));
      expect(message).toMatch(
        `Rule ${theirs.id} in zone ${bench.zone} already has the ref "${REF}", but differs in`,
      );
      expect(message).toContain('Set adopt: "takeOver" to change that rule');
    }
    expect(JSON.stringify(await bench.rules())).toBe(before);
  });

  test("is finished if the create ended before its exceptions existed, unless it may be another team's", async () => {
    const isException = { method: "POST", path: "/rules" };
    bench.api.fault({ kind: "slow", delayMs: 0, match: isException });
    bench.api.fault({ kind: "status", status: 403, times: 9, match: isException });
    const { recorded: half } = await bench.failedUp(bench.declare({ exceptions: [HOOK] }));
    bench.api.clearFaults();
    expect(await bench.ownRule(`${REF}/unfinished`)).toMatchObject({ enabled: false });
    const declared = bench.declare({ exceptions: [HOOK] });
    const other = bench.declare({ exceptions: [HOOK], owasp: { paranoiaLevel: 2 } });
    expect(await bench.refusals(other)).toEqual([
      expect.stringMatching(`already has the ref "${REF}/unfinished", but differs in owasp.paranoiaLevel`),
    ]);
    expect(await bench.refusals({ ...declared, adopt: "never" })).toEqual([
      expect.stringContaining('adopt: "never" prevents adopting it'),
    ]);
    const recorded = await bench.up(declared);
    expect((await bench.refs()).slice(-2)).toEqual(["exception/1", "own"]);
    expect(await bench.ownRule()).toMatchObject({ id: recorded.id, enabled: true });
    await bench.expectNoChanges(declared, recorded);
    expect(half?.id).toBe(recorded.id);
  });

  test("is deleted by a destroy after the failed create", async () => {
    const before = JSON.stringify(await bench.rules());
    const isException = { method: "POST", path: "/rules" };
    bench.api.fault({ kind: "slow", delayMs: 0, match: isException });
    bench.api.fault({ kind: "status", status: 403, times: 9, match: isException });
    const { recorded } = await bench.failedUp(bench.declare({ exceptions: [HOOK] }));
    bench.api.clearFaults();
    if (recorded !== undefined) await bench.destroy(recorded);
    expect(JSON.stringify(await bench.rules())).toBe(before);
  });
});

test("a rule whose ref looks like an exception of another one stays, and a program can't declare such a ref", async () => {
  const recorded = await bench.up(bench.declare({ ref: "waf", exceptions: [HOOK] }));
  const theirs = await bench.addRule({
    action: "execute",
    action_parameters: { id: managedRulesets.managed },
    expression: "ssl",
    ref: "waf/exception/2",
  });
  const changed = bench.declare({ ref: "waf", owasp: { paranoiaLevel: 2 } });
  const updated = await bench.up(changed, recorded);
  await bench.destroy(updated);
  expect(await bench.ownRule("waf/exception/2")).toEqual(theirs);
  for (const ref of ["waf/exception/1", "waf/unfinished"])
    expect(await bench.refusals(bench.declare({ ref }))).toEqual([
      expect.stringContaining(`ref: ${JSON.stringify(ref)} ends like a ref that this package gives`),
    ]);
});

describe('adopt: "takeOver"', () => {
  const changed = (declared: Declaration): Declaration => ({
    ...declared,
    adopt: "takeOver",
    description: "ours",
    categories: [{ tag: "php", enabled: true }],
    exceptions: [HOOK],
    position: "first",
  });

  test("changes the rule, which keeps its ref and ID, and a destroy puts everything back", async () => {
    const declared = changed(shop());
    const before = await content();
    const preview = bench.operation();
    const { adopted } = (await preview.preview(TYPE, declared)).inputs;
    expect(adopted).toMatchObject({
      changes: {
        categories: { before: SHOP_CATEGORIES, after: [{ tag: "php", enabled: true }] },
        description: { before: "Baseline of the security team", after: "ours" },
        exceptions: { after: [HOOK] },
        position: { after: "first" },
      },
    });
    expect(preview.said.filter((line) => !/of the last 24 h|events aren't known/.test(line))).toEqual([
      expect.stringMatching(
        'adopts the existing rule .* and changes categories\\.wordpress\\.enabled: false → not set; categories\\.anomaly\\.action: "log" → not set; .*' +
          'Destroying the resource restores its current settings\\. To keep the rule\'s current settings, declare: categories: \\[\\{ tag: "wordpress"',
      ),
    ]);
    const recorded = await bench.up(declared);
    expect(recorded.outputs["adopted"]).toEqual(adopted);
    expect(recorded.id).toBe(seededRules.shop.managed);
    expect(await bench.refs()).toEqual(["exception/1", "managed", "monitoring", "credentials"]);
    expect(await bench.ownRule("security-team/managed")).toMatchObject({ description: "ours" });
    await bench.expectNoChanges(declared, recorded);
    const op = bench.operation();
    await op.destroy(TYPE, recorded);
    expect(await content()).toEqual(before);
    expect(op.warned).toEqual([]);
  });

  test("keeps the record of the original rule through changes and refreshes", async () => {
    const declared = changed(shop());
    const before = await content();
    let recorded = await bench.up(declared);
    recorded = await bench.up({ ...declared, enabled: false, exceptions: undefined }, recorded);
    recorded = await bench.refresh(recorded);
    await bench.destroy(recorded);
    expect(await content()).toEqual(before);
  });

  test("restores the adopted rule's original value when an argument is removed", async () => {
    const declared = { ...shop(), adopt: "takeOver", categories: SHOP_CATEGORIES };
    const recorded = await bench.up({ ...declared, description: "ours", version: "87" });
    await bench.up(declared, recorded);
    expect(await bench.ownRule("security-team/managed")).toMatchObject({
      description: "Baseline of the security team",
      action_parameters: { version: "latest" },
    });
  });

  test("adopts matching skip rules in front of the rule as exceptions, and a destroy restores them", async () => {
    const declared = shop();
    const given = {
      action: "skip",
      action_parameters: { ruleset: "current" },
      expression: HOOK.expression,
      position: { before: seededRules.shop.managed },
    };
    const skip = await bench.addRule(given);
    const before = await content();
    const with_ = { ...declared, categories: SHOP_CATEGORIES, exceptions: [HOOK] };
    bench.api.clearRequests();
    const recorded = await bench.up(with_);
    expect(bench.writes()).toEqual(["PATCH /{id}/rules/{id}"]);
    expect(await bench.ownRule(`${REF}/exception/1`)).toMatchObject({ id: skip.id });
    await bench.expectNoChanges(with_, recorded);
    await bench.destroy(recorded);
    expect(await content()).toEqual(before);

    // One that was removed from the program is created again.
    const again = await bench.up(with_);
    const without = await bench.up({ ...with_, exceptions: undefined }, again);
    expect(await bench.refs()).toEqual(["monitoring", "managed", "credentials"]);
    await bench.destroy(without);
    const sameBut = (rules: unknown): unknown => (rules as object[]).map((rule) => ({ ...rule, id: "" }));
    expect(sameBut(await content())).toEqual(sameBut(before));
  });

  test("records the original rule even if the response to the change is lost", async () => {
    const declared = changed(shop());
    const before = await content();
    bench.api.fault({ match: { method: "PATCH" }, times: 2, kind: "dropAfter" });
    const { recorded } = await bench.failedUp(declared);
    expect(recorded).toMatchObject({ id: seededRules.shop.managed });
    const repaired = await bench.update(recorded?.inputs ?? {}, recorded ?? never());
    await bench.expectNoChanges(declared, repaired);
    await bench.destroy(repaired);
    expect(await content()).toEqual(before);
  });
});

describe("destroying a managed ruleset override", () => {
  test.each([
    [undefined, "deletes it, then its exceptions", []],
    ["remove", "deletes it and its exceptions", []],
    ["restore", "deletes it, because there was nothing before", []],
    ["keep", "keeps it and its exceptions, without a write", ["exception/1", "own"]],
  ] as const)("with onDestroy %p and a created rule %s", async (onDestroy, _what, left) => {
    const recorded = await bench.up(bench.declare({ onDestroy, exceptions: [HOOK] }));
    bench.api.clearRequests();
    await bench.destroy(recorded);
    expect((await bench.refs()).slice(3)).toEqual(left);
    expect(bench.writes()).toEqual(
      left.length === 0 ? ["DELETE /{id}/rules/{id}", "DELETE /{id}/rules/{id}"] : [],
    );
    if (left.length === 0)
      expect(bench.api.requests.find(({ method }) => method === "DELETE")?.path).toContain(recorded.id);
  });

  test.each([
    ["remove", "deletes it", []],
    [
      "keep",
      "leaves it as the program changed it",
      [expect.objectContaining({ id: seededRules.blog.owasp, enabled: false })],
    ],
    [undefined, "restores it", [expect.objectContaining({ id: seededRules.blog.owasp, enabled: true })]],
  ] as const)("with onDestroy %p and an adopted rule %s", async (onDestroy, _what, left) => {
    const declared = { ...blog(), adopt: "takeOver", enabled: false, onDestroy };
    const recorded = await bench.up(declared);
    await bench.destroy(recorded);
    expect(await bench.rules()).toEqual(left);
  });

  test("warns if the zone no longer runs a managed ruleset", async () => {
    bench.inZone("empty");
    const one = await bench.up(bench.declare());
    const two = await bench.up(bench.declare({ ref: `${REF}-2`, ruleset: { id: managedRulesets.free } }));
    const first = bench.operation();
    await first.destroy(TYPE, one);
    expect(first.warned).toEqual([]);
    const second = bench.operation();
    await second.destroy(TYPE, two);
    expect(second.warned).toEqual([
      `edgeguard: zone ${bench.zone} now runs no managed ruleset: none of its enabled rules executes one.`,
    ]);
  });

  test("deletes the remaining exceptions if the rule is already gone", async () => {
    const recorded = await bench.up(bench.declare({ exceptions: [HOOK] }));
    await bench.deleteRule(await bench.ownRule());
    await bench.destroy(recorded);
    expect(await bench.refs()).toEqual(["monitoring", "managed", "credentials"]);
  });

  test("continues an interrupted destroy", async () => {
    const recorded = await bench.up(bench.declare({ exceptions: [HOOK, { ...HOOK, description: "x" }] }));
    bench.api.fault({ match: { method: "DELETE", path: "/rules/" }, kind: "dropAfter" });
    await bench.destroy(recorded); // The request is repeated; the rule is already gone.
    expect(await bench.refs()).toEqual(["monitoring", "managed", "credentials"]);
  });
});

test("an adopted exception that someone widens is drift of its own deployment alone", async () => {
  bench.inZone("empty");
  const execute = (id: string) => ({ action: "execute", expression: "true", action_parameters: { id } });
  const office = { expression: "ip.src eq 192.0.2.1", skip: "all" };
  await rawSend(bench.api, "PUT", `${bench.path}/phases/http_request_firewall_managed/entrypoint`, {
    rules: [
      { action: "skip", expression: office.expression, action_parameters: { ruleset: "current" } },
      execute(managedRulesets.managed),
      execute(managedRulesets.owasp),
    ],
  });
  const [skip] = await bench.rules();
  if (skip === undefined) throw new Error("the zone has no rules");
  const ruleset = { id: managedRulesets.managed };
  const holder = await bench.up(bench.declare({ ref: "managed", ruleset, exceptions: [office] }));
  const behind = await bench.up(bench.declare({ ref: "owasp" }));
  await bench.editRule(skip, { expression: "ip.src in {192.0.2.1 203.0.113.7}" });
  const op = bench.operation();
  const [one, other] = await Promise.all([op.refresh(TYPE, behind), op.refresh(TYPE, holder)]);
  expect(op.warned.join()).not.toContain("someone else's");
  expect(driftOf(TYPE, behind, one)).toBeUndefined();
  expect(driftOf(TYPE, holder, other)?.lost).toHaveLength(1);
});

describe("a rename without an alias", () => {
  test("hands an adopted rule over to the new name, and deleting the old name writes nothing", async () => {
    const declared = blog();
    const recorded = await bench.up(declared);
    const op = bench.operation();
    const renamed = await op.up(TYPE, { ...declared, ref: `${REF}-renamed` });
    expect(renamed.id).toBe(recorded.id);
    await op.destroy(TYPE, recorded);
    expect(bench.writes()).toEqual([]);
    expect(op.said.join("\n")).toMatch(/is kept: another resource in this program adopted it/);
  });

  const before = () => bench.declare({ exceptions: [HOOK] });
  const after = (more: object = {}) => bench.declare({ ref: `${REF}-renamed`, exceptions: [HOOK], ...more });
  const made = async () => {
    return await bench.up(before());
  };

  test("keeps the rule and its exceptions, which get the new ref", async () => {
    const recorded = await made();
    const ids = (await bench.rules()).map(({ id }) => id);
    bench.api.clearRequests();

    const preview = bench.operation();
    await preview.preview(TYPE, after());
    expect(preview.said).toEqual([
      expect.stringMatching(
        `adopts the existing rule ${recorded.id} .* The rule has the ref "${REF}", which no resource of this program uses\\. It keeps its ID and gets the new ref\\.`,
      ),
    ]);
    // The new resource has no record of someone else's skip rule, so the preview names it.
    expect(preview.warned).toEqual([
      expect.stringMatching(/rule "The monitoring system .* Unless that's intended, delete that rule/),
    ]);
    expect(bench.writes()).toEqual([]);

    const op = bench.operation();
    const renamed = await op.up(TYPE, after());
    await op.destroy(TYPE, recorded);
    expect(renamed.id).toBe(recorded.id);
    expect(bench.writes()).toEqual(["PATCH /{id}/rules/{id}", "PATCH /{id}/rules/{id}"]);
    expect((await bench.rules()).map(({ id }) => id)).toEqual(ids);
    expect((await bench.rules()).slice(3).map(({ ref }) => ref)).toEqual([
      `${REF}-renamed/exception/1`,
      `${REF}-renamed`,
    ]);
    expect(renamed.outputs).not.toHaveProperty("previous");
    await bench.expectNoChanges(after(), renamed);
  });

  test("keeps the rule if the run is killed halfway and the old name is then destroyed", async () => {
    const recorded = await made();
    await bench.up(after());
    const refreshed = await bench.refresh(recorded);
    bench.api.clearRequests();
    const op = bench.operation();
    await op.destroy(TYPE, refreshed);
    expect(bench.writes()).toEqual([]);
    expect(op.said).toEqual([
      `edgeguard: Rule ${recorded.id} in zone ${bench.zone} is kept: its ref is "${REF}-renamed", so another resource has probably adopted it. If not, delete the rule in the dashboard.`,
    ]);
  });

  test.each<[string, () => object]>([
    ["its content changes as well", () => ({ enabled: false })],
    ["its exceptions change as well", () => ({ exceptions: undefined })],
    ["it gets a description", () => ({ description: "ours" })],
    ['adopt is "never"', () => ({ adopt: "never" })],
    ["it moves to another stack", () => ({ ref: "edgeguard/site/prod/waf" })],
  ])("creates another rule and deletes the first one if %s", async (_why, more) => {
    const recorded = await made();
    bench.api.clearRequests();
    const op = bench.operation();
    const renamed = await op.up(TYPE, after(more()));
    await op.destroy(TYPE, recorded);
    expect(renamed.id).not.toBe(recorded.id);
    expect((await bench.rules()).map(({ id }) => id)).toContain(renamed.id);
    expect((await bench.rules()).map(({ id }) => id)).not.toContain(recorded.id);
  });

  test("never adopts a rule that the program still declares", async () => {
    const recorded = await made();
    const op = bench.operation();
    expect((await op.preview(TYPE, before(), recorded)).step).toBe("same");
    expect(await op.refusals(TYPE, after())).toEqual([expect.stringContaining("with identical arguments")]);
  });

  test("continues with the same rule if the ref is explicit", async () => {
    const declared = bench.declare({ ref: "waf", exceptions: [HOOK] });
    const recorded = await bench.up(declared);
    bench.api.clearRequests();
    const op = bench.operation();
    const renamed = await op.up(TYPE, declared);
    await op.destroy(TYPE, recorded);
    expect(renamed.id).toBe(recorded.id);
    expect(bench.writes()).toEqual([]);
  });
});

function never(): never {
  throw new Error("nothing was recorded");
}

describe("a rule that someone pinned to a version, which the program doesn't declare,", () => {
  const pinned = async (version: string): Promise<Declaration> => {
    const [rule] = await rulesWith();
    if (rule === undefined) throw new Error("there is no deployment");
    const parameters = rule.action_parameters as Record<string, unknown>;
    await bench.editRule(rule, { action_parameters: { ...parameters, version } });
    return { ...shop(), categories: SHOP_CATEGORIES };
  };
  const rulesWith = async (): Promise<readonly Rule[]> =>
    (await bench.rules()).filter(({ id }) => id === seededRules.shop.managed);

  test.each(["87", "88"])(
    "%s, isn't adopted, and the refusal says how to keep the version",
    async (version) => {
      expect(await bench.refusals(await pinned(version))).toEqual([
        expect.stringMatching(`but differs in version: .*declare: version: "${version}"`),
      ]);
    },
  );

  test("runs the latest version after a takeover", async () => {
    const { outputs } = await bench.up({ ...(await pinned("87")), adopt: "takeOver" });
    expect(outputs["ruleId"]).toBe(seededRules.shop.managed);
    const [rule] = await rulesWith();
    expect(rule?.action_parameters).toMatchObject({ version: "latest" });
  });
});

describe("an adopted rule with exceptions, whose resource is renamed without an alias,", () => {
  const STACK = "edgeguard/site/dev/";
  const declared = (name: string, more: Record<string, unknown> = {}): Declaration => ({
    ...shop(),
    ref: `${STACK}${name}`,
    categories: SHOP_CATEGORIES,
    exceptions: [HOOK],
    ...more,
  });
  const adopted = async () => {
    await bench.addRule({
      action: "skip",
      action_parameters: { ruleset: "current" },
      expression: HOOK.expression,
      position: { before: seededRules.shop.managed },
    });
    return await bench.up(declared("old"));
  };
  const exceptions = async (): Promise<readonly string[]> =>
    (await bench.rules()).map(({ ref }) => ref).filter((ref) => ref.startsWith(STACK));

  test("takes them along, and nothing is left when the program no longer declares them", async () => {
    const old = await adopted();
    const operation = bench.operation();
    const renamed = await operation.up(TYPE, declared("new"));
    await operation.destroy(TYPE, old);
    expect(await exceptions()).toEqual([`${STACK}new/exception/1`]);
    await bench.up(declared("new", { exceptions: undefined }), renamed);
    expect(await exceptions()).toEqual([]);
  });

  test("isn't adopted if the program declares fewer at the same time, so that none is forgotten", async () => {
    await adopted();
    expect(await bench.refusals(declared("new", { exceptions: undefined }))).toEqual([
      expect.stringContaining("but differs in exceptions"),
    ]);
    await bench.up(declared("new", { exceptions: undefined, adopt: "takeOver" }));
    expect(await exceptions()).toEqual([]);
  });

  test("leaves the exceptions of another deployment that someone dragged behind it", async () => {
    const { managed } = seededRules.shop;
    const ruleset = { id: managedRulesets.owasp };
    const position = { before: managed };
    await bench.up({ ...bench.declare(), ref: `${STACK}other`, ruleset, exceptions: [HOOK], position });
    await bench.editRule(await bench.ownRule(`${STACK}other`), { position: { after: managed } });
    await bench.up(declared("new", { exceptions: undefined, adopt: "takeOver" }));
    expect(await exceptions()).toEqual([`${STACK}other/exception/1`, `${STACK}other`]);
  });

  test("is taken over with its exceptions in another order, behind an unfinished rule of the stack", async () => {
    const more = { adopt: "takeOver", exceptions: [HOOK, { ...HOOK, expression: 'http.host eq "b"' }] };
    await bench.up(declared("new", more));
    const { managed } = seededRules.shop;
    await bench.editRule(await bench.ownRule(`${STACK}new/exception/1`), { position: { before: managed } });
    const second = await bench.ownRule(`${STACK}new/exception/2`);
    const unfinished = {
      action: "execute",
      action_parameters: { id: managedRulesets.owasp },
      enabled: false,
    };
    const ref = `${STACK}x/unfinished`;
    await bench.addRule({ ...unfinished, ref, expression: "false", position: { before: second.id } });
    await bench.up(declared("new", more));
    expect(await exceptions()).toEqual([ref, `${STACK}new/exception/1`, `${STACK}new/exception/2`]);
  });
});
