import { managedRulesets, seededRules } from "edgeguard-local";
import { REGISTER } from "../../provider/register";
import { RENAME_HINT } from "../../provider/runtime/adoption";
import { Bench, OWASP, REF, TYPE, type Declaration, type Rule } from "./support";

let bench: Bench;
afterEach(() => bench.close());

const HOOK = { expression: 'http.request.uri.path eq "/hook"', skip: "all" };

/** Two zones of every start: one with a rule for the OWASP ruleset as the dashboard makes it, one with overrides and a ref. */
const blog = async (): Promise<Declaration> => {
  bench = await Bench.start("blog");
  return bench.declare();
};
const shop = async (): Promise<Declaration> => {
  bench = await Bench.start("shop");
  return bench.declare({ ruleset: { id: managedRulesets.managed } });
};
const SHOP_CATEGORIES = [
  { tag: "wordpress", enabled: false },
  { tag: "anomaly", action: "log" },
];

/** The whole entry point, without what counts up with every write. */
const content = async (): Promise<unknown> =>
  (await bench.rules()).map((rule) => ({ ...rule, version: "", last_updated: "" }));

describe("an adopted rule with a skip rule in front of it that is declared as its exception", () => {
  const adopted = async (): Promise<{ declared: Declaration; skipId: string }> => {
    const declared = { ...(await shop()), categories: SHOP_CATEGORIES, exceptions: [HOOK] };
    const { id } = await bench.add({
      action: "skip",
      action_parameters: { ruleset: "current" },
      expression: HOOK.expression,
      position: { before: seededRules.shop.managed },
    });
    return { declared, skipId: id };
  };

  test.each(["first", "last"] as const)(
    "moved %s goes back with it on a destroy, to where both were",
    async (position) => {
      const { declared } = await adopted();
      const before = await bench.order();
      const recorded = await bench.up({ ...declared, position });
      expect(await bench.order()).not.toEqual(before);
      await bench.operation().destroy(TYPE, recorded);
      expect(await bench.order()).toEqual(before);
    },
  );

  test("is taken over as equal after a run that was killed before it was recorded, and is there after a destroy", async () => {
    const { declared, skipId } = await adopted();
    await bench.up(declared); // Nothing of it is recorded.
    const recorded = await bench.up(declared);
    await bench.settled(declared, recorded);
    await bench.operation().destroy(TYPE, recorded);
    expect((await bench.rules()).map(({ id }) => id)).toContain(skipId);
  });

  test("has no other rule put between the two by a position in front of it", async () => {
    const { declared, skipId } = await adopted();
    const recorded = await bench.up(declared);
    const other = bench.declare({
      ref: "edgeguard/site/dev/other",
      position: { before: String(recorded.outputs["ruleRef"]) },
    });
    await bench.up(other);
    const ids = (await bench.rules()).map(({ id }) => id);
    expect(ids[ids.indexOf(seededRules.shop.managed) - 1]).toBe(skipId);
    const seen = await bench.operation().refresh(TYPE, recorded);
    expect((await bench.operation().preview(TYPE, declared, seen)).step).toBe("same");
  });
});

test("an exception whose description is empty is as one without", async () => {
  bench = await Bench.start("shop");
  const declared = bench.declare({ exceptions: [{ ...HOOK, description: "" }] });
  await bench.settled(declared, await bench.up(declared));
});

describe("a rule of somebody else that executes the same ruleset for the same requests", () => {
  test("and is as declared is taken over by default, without a write, and put back as it was: untouched", async () => {
    const declared = await blog();
    const before = JSON.stringify(await bench.rules());
    const op = bench.operation();
    const recorded = await op.up(TYPE, declared);
    expect(recorded.id).toBe(seededRules.blog.owasp);
    const adopted = recorded.outputs["adopted"];
    expect(adopted).toEqual({
      object: expect.stringMatching(
        `^rule ${seededRules.blog.owasp} of zone ${bench.zone} \\(last changed 2`,
      ) as string,
      onDestroy: "puts it back as it is now",
    });
    expect(recorded.inputs["adopted"]).toEqual(adopted);
    expect(op.said.join()).toMatch(
      /" adopts the existing rule .*, which matches the program\. Destroying the resource puts it back as it is now\./,
    );
    expect(recorded.outputs).toMatchObject({ ref: REF, ruleRef: seededRules.blog.owasp });
    await bench.settled(declared, recorded);
    await bench.operation().destroy(TYPE, recorded);
    expect(bench.writes()).toEqual([]);
    expect(JSON.stringify(await bench.rules())).toBe(before);
  });

  test("and has overrides, is taken over where they are declared in any words that mean the same", async () => {
    const declared = { ...(await shop()), categories: [...SHOP_CATEGORIES].reverse(), version: "latest" };
    const recorded = await bench.up(declared);
    expect(recorded.id).toBe(seededRules.shop.managed);
    expect(bench.writes()).toEqual([]);
    await bench.settled(declared, recorded);
  });

  const HAS = 'categories: [{ tag: "wordpress", enabled: false }, { tag: "anomaly", action: "log" }]';
  test.each([
    [
      'categories.anomaly.action: "log" → not set',
      { categories: [{ tag: "wordpress", enabled: false }] },
      `To keep what the rule has, declare: ${HAS}. `,
    ],
    [
      'description: "Baseline of the security team" → "mine"',
      { categories: SHOP_CATEGORIES, description: "mine" },
      'To keep what the rule has, declare: description: "Baseline of the security team". ',
    ],
    [
      "enabled: true → false",
      { categories: SHOP_CATEGORIES, enabled: false },
      "To keep what the rule has, declare: enabled: true. ",
    ],
    [
      'version: "latest" → "87"',
      { categories: SHOP_CATEGORIES, version: "87" },
      'To keep what the rule has, declare: version: "latest". ',
    ],
    [
      String.raw`exceptions: not set → [{ expression: "http.request.uri.path eq \"/hook\"", skip: "all" }]`,
      { categories: SHOP_CATEGORIES, exceptions: [HOOK] },
      "",
    ],
    [
      'categories.wordpress.enabled: false → not set; categories.anomaly.action: "log" → not set; action: not set → "log"',
      { action: "log" },
      `To keep what the rule has, declare: ${HAS}. `,
    ],
  ])(
    "and differs in %s is refused in the preview, with its id and what to do",
    async (differ, change, keep) => {
      const declared = { ...(await shop()), ...change };
      expect(await bench.operation().refusals(TYPE, declared)).toEqual([
        `adopt: Zone ${bench.zone} executes "Cloudflare Managed Ruleset" for the same requests already, by rule ${seededRules.shop.managed} ("Baseline of the security team"), ` +
          `which differs in ${differ}. ${keep}Set adopt: "takeOver" to change that rule and manage it, or declare another expression. ${RENAME_HINT}`,
      ]);
      const unchecked = bench.operation({ "edgeguard:liveChecks": "false" });
      expect((await unchecked.failedUp(TYPE, declared)).message).toContain(`differs in ${differ}`);
      expect(bench.writes()).toEqual([]);
    },
  );

  test("is refused with adopt never, and so is what an earlier run left", async () => {
    const declared = { ...(await blog()), adopt: "never" };
    expect(await bench.operation().refusals(TYPE, declared)).toEqual([
      expect.stringMatching(
        /^adopt: .*by rule 5a0c1e7f3b2d4968a7e1c0f2d3b4c121, and adopt: "never" prevents adopting it\. .*aliases: \[/,
      ),
    ]);
    const other = { ...declared, expression: 'http.host eq "a.example"' };
    await bench.up(other);
    expect(await bench.operation().refusals(TYPE, other)).toEqual([
      expect.stringMatching(
        /^adopt: .*has a rule with the ref "edgeguard\/site\/dev\/waf" already .*aliases: \[/,
      ),
    ]);
  });

  test("is none where the requests are others, or the ruleset is: a second rule is made", async () => {
    const declared = await blog();
    await bench.up({ ...declared, expression: 'http.host eq "a.example"', adopt: "never" });
    await bench.up({ ...declared, ref: `${REF}-2`, ruleset: { id: managedRulesets.free }, adopt: "never" });
    expect(bench.writes()).toEqual(["POST /{id}/rules", "POST /{id}/rules"]);
  });

  test("is found in the preview of a resource that moves to its zone, as in that of a new one", async () => {
    const declared = await blog();
    const recorded = await bench.up({ ...declared, zoneId: bench.api.zones.empty });
    const moved = { ...declared, owasp: { paranoiaLevel: 2 } };
    const refused = await bench.operation().refusals(TYPE, moved, recorded);
    expect(refused).toEqual([expect.stringContaining("which differs in owasp.paranoiaLevel: 4 → 2")]);
    const op = bench.operation();
    const { step, inputs } = await op.preview(TYPE, { ...moved, adopt: "takeOver" }, recorded);
    expect(step).toBe("replace");
    expect(inputs).toMatchObject({ adopted: { changes: { owasp: { before: { paranoiaLevel: 4 } } } } });
    expect(op.said.join()).toContain(`takes over the existing rule ${seededRules.blog.owasp} of zone`);
  });

  test("is recorded as adopted without showing a secret of the program", async () => {
    const declared = await blog();
    const [rule] = await bench.rules();
    const description = "codename-quicksilver";
    await bench.edit(rule as Rule, { description });
    const secret = { ...declared, description, __secrets: ["description"] };
    const { inputs, outputs } = await bench.up(secret);
    expect(outputs["adopted"]).toMatchObject({ object: expect.stringContaining("[secret]") as string });
    expect(inputs["adopted"]).toEqual(outputs["adopted"]);
    expect(JSON.stringify(outputs["adopted"])).not.toContain(description);
  });

  test("is one of several: an error with their ids, also with takeOver", async () => {
    const declared = { ...(await blog()), adopt: "takeOver" };
    const [rule] = await bench.rules();
    const second = await bench.add({
      action: "execute",
      action_parameters: { id: managedRulesets.owasp },
      expression: "true",
    });
    expect(await bench.operation().refusals(TYPE, declared)).toEqual([
      `adopt: Zone ${bench.zone} executes "Cloudflare OWASP Core Ruleset" for the same requests already, by 2 rules: ${rule?.id ?? ""}, ${second.id}. Delete all but one, or declare another expression. ${RENAME_HINT}`,
    ]);
  });

  test("that another resource of a program made is left to it", async () => {
    const declared = await blog();
    await bench.add({
      action: "execute",
      action_parameters: { id: managedRulesets.owasp },
      expression: "true",
      ref: "edgeguard/other/stack/waf",
    });
    expect((await bench.up(declared)).id).toBe(seededRules.blog.owasp);
  });
});

describe("a rule of somebody else with the ref that is declared", () => {
  const byRef = { ref: "security-team/managed", expression: "ssl" };

  test("is not taken for one's own: it is refused where it differs", async () => {
    const declared = { ...(await shop()), ...byRef };
    expect(await bench.operation().refusals(TYPE, declared)).toEqual([
      `adopt: Zone ${bench.zone} has a rule with the ref "security-team/managed" already, rule ${seededRules.shop.managed} ("Baseline of the security team"), ` +
        'which differs in categories.wordpress.enabled: false → not set; categories.anomaly.action: "log" → not set; expression: "true" → "ssl". ' +
        'To keep what the rule has, declare: categories: [{ tag: "wordpress", enabled: false }, { tag: "anomaly", action: "log" }], expression: "true". ' +
        `Set adopt: "takeOver" to change that rule and manage it, or declare another ref. ${RENAME_HINT}`,
    ]);
  });

  test("is changed when that is said, and put back", async () => {
    const declared = { ...(await shop()), ...byRef, adopt: "takeOver" };
    const before = await content();
    const recorded = await bench.up(declared);
    expect(await bench.own("security-team/managed")).toMatchObject({ expression: "ssl" });
    await bench.settled(declared, recorded);
    await bench.operation().destroy(TYPE, recorded);
    expect(await content()).toEqual(before);
  });

  test("is one's own in a replacement that is forced", async () => {
    bench = await Bench.start("shop");
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

test("another program of this package that runs the same ruleset for the same requests is warned of", async () => {
  bench = await Bench.start("shop");
  const other = await bench.up(bench.declare({ ref: "edgeguard/other/dev/waf" }));
  const op = bench.operation();
  const recorded = await op.up(TYPE, bench.declare());
  expect(op.warned).toEqual([
    expect.stringContaining(
      `rule ${other.id} (edgeguard/other/dev/waf) of zone ${bench.zone} executes "Cloudflare OWASP Core Ruleset" for the same requests: it runs twice`,
    ),
  ]);
  const again = bench.operation();
  await again.preview(TYPE, bench.declare({ ref: `${REF}-2`, expression: "ssl" }), recorded);
  expect(again.warned).toEqual([]);
});

test("a ruleset that two resources name otherwise, and deploy for the same requests, is found once the name is resolved", async () => {
  bench = await Bench.start("shop");
  const byName = bench.declare({ ruleset: { name: OWASP }, expression: "(ssl)", ref: `${REF}-name` });
  const op = bench.operation();
  const recorded = await op.up(TYPE, byName);
  const again = bench.operation();
  await again.preview(TYPE, byName, recorded);
  await again.preview(TYPE, bench.declare({ expression: "ssl", enabled: false }));
  expect(again.warned).toEqual([
    `edgeguard: managed ruleset "${REF}": "${REF}-name" of this program executes "${OWASP}" for the same requests: it runs twice.`,
  ]);
  expect(await again.refusals(TYPE, bench.declare({ expression: "ssl" }))).toEqual([
    `ruleset: names the ruleset that "${REF}-name" deploys, and both declare the same rule of zone ${bench.zone}, equal in every argument: keep one of them`,
  ]);
});

test("a rule that an interrupted create of an older declaration left is told as that, and brought to the new one", async () => {
  bench = await Bench.start("shop");
  const left = await bench.up(bench.declare({ enabled: false })); // Nothing of it is recorded.
  const op = bench.operation();
  const recorded = await op.up(TYPE, bench.declare());
  expect(recorded).toMatchObject({
    id: left.id,
    outputs: { adopted: { changes: { enabled: { before: false, after: true } } } },
  });
  expect(op.said).toEqual([
    expect.stringMatching(
      `^edgeguard: ManagedRulesetOverride "${REF}" takes over the existing rule ${left.id} of zone ${bench.zone} .* and changes enabled: false → true\\. ` +
        "Destroying the resource deletes it\\. The rule already has this ref: an interrupted update of this resource left it, or the resource was moved without an alias\\.",
    ),
  ]);
});

describe("takeOver", () => {
  const changed = (declared: Declaration): Declaration => ({
    ...declared,
    adopt: "takeOver",
    description: "ours",
    categories: [{ tag: "php", enabled: true }],
    exceptions: [HOOK],
    position: "first",
  });

  test("changes the rule, which keeps its ref and id; a destroy puts everything back where and as it was", async () => {
    const declared = changed(await shop());
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
    expect(preview.said).toEqual([
      expect.stringMatching(
        'takes over the existing rule .* and changes categories\\.wordpress\\.enabled: false → not set; categories\\.anomaly\\.action: "log" → not set; .*' +
          'Destroying the resource puts it back as it is now\\. To keep what the rule has, declare: categories: \\[\\{ tag: "wordpress"',
      ),
    ]);
    const recorded = await bench.up(declared);
    expect(recorded.outputs["adopted"]).toEqual(adopted);
    expect(recorded.id).toBe(seededRules.shop.managed);
    expect(await bench.order()).toEqual(["exception/1", "managed", "monitoring", "credentials"]);
    expect(await bench.own("security-team/managed")).toMatchObject({ description: "ours" });
    await bench.settled(declared, recorded);
    const op = bench.operation();
    await op.destroy(TYPE, recorded);
    expect(await content()).toEqual(before);
    expect(op.warned).toEqual([]);
  });

  test("remembers through changes and refreshes how the rule was found", async () => {
    const declared = changed(await shop());
    const before = await content();
    let recorded = await bench.up(declared);
    recorded = await bench.up({ ...declared, enabled: false, exceptions: undefined }, recorded);
    recorded = (await bench.operation().refresh(TYPE, recorded)) ?? recorded;
    await bench.operation().destroy(TYPE, recorded);
    expect(await content()).toEqual(before);
  });

  test("an argument that is removed goes back to what the rule had", async () => {
    const declared = { ...(await shop()), adopt: "takeOver", categories: SHOP_CATEGORIES };
    const recorded = await bench.up({ ...declared, description: "ours", version: "87" });
    await bench.up(declared, recorded);
    expect(await bench.own("security-team/managed")).toMatchObject({
      description: "Baseline of the security team",
      action_parameters: { version: "latest" },
    });
  });

  test("takes skip rules in front of it over too, where they are what is declared, and gives them back", async () => {
    const declared = await shop();
    const given = {
      action: "skip",
      action_parameters: { ruleset: "current" },
      expression: HOOK.expression,
      position: { before: seededRules.shop.managed },
    };
    const skip = await bench.add(given);
    const before = await content();
    const with_ = { ...declared, categories: SHOP_CATEGORIES, exceptions: [HOOK] };
    bench.api.clearRequests();
    const recorded = await bench.up(with_);
    expect(bench.writes()).toEqual(["PATCH /{id}/rules/{id}"]);
    expect(await bench.own(`${REF}/exception/1`)).toMatchObject({ id: skip.id });
    await bench.settled(with_, recorded);
    await bench.operation().destroy(TYPE, recorded);
    expect(await content()).toEqual(before);

    // Also one that was given up meanwhile: then it is a rule anew.
    const again = await bench.up(with_);
    const without = await bench.up({ ...with_, exceptions: undefined }, again);
    expect(await bench.order()).toEqual(["monitoring", "managed", "credentials"]);
    await bench.operation().destroy(TYPE, without);
    const sameBut = (rules: unknown): unknown => (rules as object[]).map((rule) => ({ ...rule, id: "" }));
    expect(sameBut(await content())).toEqual(sameBut(before));
  });

  test("of a rule whose change gets lost is recorded with how it was found", async () => {
    const declared = changed(await shop());
    const before = await content();
    bench.api.fault({ match: { method: "PATCH" }, times: 2, kind: "dropAfter" });
    const { recorded } = await bench.operation().failedUp(TYPE, declared);
    expect(recorded).toMatchObject({ id: seededRules.shop.managed });
    const repaired = await bench.operation().update(TYPE, recorded?.inputs ?? {}, recorded ?? never());
    await bench.settled(declared, repaired);
    await bench.operation().destroy(TYPE, repaired);
    expect(await content()).toEqual(before);
  });
});

describe("a destroy", () => {
  test.each([
    [undefined, "deletes what it made, exceptions first behind the rule", []],
    ["remove", "deletes it", []],
    ["restore", "deletes it too: there was nothing before", []],
    ["keep", "leaves rule and exceptions, and sends nothing", ["exception/1", "own"]],
  ] as const)("with onDestroy %p of a rule that was made %s", async (onDestroy, _what, left) => {
    bench = await Bench.start("shop");
    const recorded = await bench.up(bench.declare({ onDestroy, exceptions: [HOOK] }));
    bench.api.clearRequests();
    await bench.operation().destroy(TYPE, recorded);
    expect((await bench.order()).slice(3)).toEqual(left);
    expect(bench.writes()).toEqual(
      left.length === 0 ? ["DELETE /{id}/rules/{id}", "DELETE /{id}/rules/{id}"] : [],
    );
    if (left.length === 0)
      expect(bench.api.requests.find(({ method }) => method === "DELETE")?.path).toContain(recorded.id);
  });

  test.each([
    ["remove", []],
    ["keep", [expect.objectContaining({ id: seededRules.blog.owasp, enabled: false })]],
    [undefined, [expect.objectContaining({ id: seededRules.blog.owasp, enabled: true })]],
  ] as const)("with onDestroy %p of a rule that was taken over", async (onDestroy, left) => {
    const declared = { ...(await blog()), adopt: "takeOver", enabled: false, onDestroy };
    const recorded = await bench.up(declared);
    await bench.operation().destroy(TYPE, recorded);
    expect(await bench.rules()).toEqual(left);
  });

  test("says in one line that the zone is left without a managed ruleset, and only then", async () => {
    bench = await Bench.start("empty");
    const one = await bench.up(bench.declare());
    const two = await bench.up(bench.declare({ ref: `${REF}-2`, ruleset: { id: managedRulesets.free } }));
    const first = bench.operation();
    await first.destroy(TYPE, one);
    expect(first.warned).toEqual([]);
    const second = bench.operation();
    await second.destroy(TYPE, two);
    expect(second.warned).toEqual([
      `edgeguard: zone ${bench.zone} is left without a managed ruleset: no enabled rule executes one any more.`,
    ]);
  });

  test("removes the exceptions that are left where the rule is gone already", async () => {
    bench = await Bench.start("shop");
    const recorded = await bench.up(bench.declare({ exceptions: [HOOK] }));
    await bench.remove(await bench.own());
    await bench.operation().destroy(TYPE, recorded);
    expect(await bench.order()).toEqual(["monitoring", "managed", "credentials"]);
  });

  test("goes on where it was interrupted", async () => {
    bench = await Bench.start("shop");
    const recorded = await bench.up(bench.declare({ exceptions: [HOOK, { ...HOOK, description: "x" }] }));
    bench.api.fault({ match: { method: "DELETE", path: "/rules/" }, kind: "dropAfter" });
    await bench.operation().destroy(TYPE, recorded); // The lost answer is asked for again: gone is gone.
    expect(await bench.order()).toEqual(["monitoring", "managed", "credentials"]);
  });
});

describe("a rename without an alias", () => {
  test("of a rule that was taken over hands it over: the delete of the old name sends nothing", async () => {
    const declared = await blog();
    const recorded = await bench.up(declared);
    const op = bench.operation();
    const renamed = await op.up(TYPE, { ...declared, ref: `${REF}-renamed` });
    expect(renamed.id).toBe(recorded.id);
    await op.destroy(TYPE, recorded);
    expect(bench.writes()).toEqual([]);
    expect(op.said.join("\n")).toMatch(/is kept: another resource of this operation has taken it over/);
  });

  const before = () => bench.declare({ exceptions: [HOOK] });
  const after = (more: object = {}) => bench.declare({ ref: `${REF}-renamed`, exceptions: [HOOK], ...more });
  const made = async () => {
    bench = await Bench.start("shop");
    return await bench.up(before());
  };

  test("keeps the rule that was made and its exceptions: they get the new ref, nothing is added or deleted", async () => {
    const recorded = await made();
    const ids = (await bench.rules()).map(({ id }) => id);
    bench.api.clearRequests();

    const preview = bench.operation();
    await preview.preview(TYPE, after());
    expect(preview.said).toEqual([
      expect.stringMatching(
        `adopts the existing rule ${recorded.id} .* The rule has the ref "${REF}", which no resource of this program holds\\. It keeps its ID and gets the new ref\\.`,
      ),
    ]);
    expect(preview.warned).toEqual([]);
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
    await bench.settled(after(), renamed);
  });

  test("keeps the rule where the old name is destroyed alone, after a run that was killed in between", async () => {
    const recorded = await made();
    await bench.up(after());
    const refreshed = (await bench.operation().refresh(TYPE, recorded)) ?? recorded;
    bench.api.clearRequests();
    const op = bench.operation();
    await op.destroy(TYPE, refreshed);
    expect(bench.writes()).toEqual([]);
    expect(op.said).toEqual([
      `edgeguard: Rule ${recorded.id} of zone ${bench.zone} is kept: its ref is "${REF}-renamed", so another resource has taken it over. If none has, delete the rule in the dashboard.`,
    ]);
  });

  test.each<[string, () => object]>([
    ["its content changes as well", () => ({ enabled: false })],
    ["its exceptions change as well", () => ({ exceptions: undefined })],
    ["it gets a description", () => ({ description: "ours" })],
    ['adopt is "never"', () => ({ adopt: "never" })],
    ["it moves to another stack", () => ({ ref: "edgeguard/site/prod/waf" })],
  ])("makes another rule and removes the first where %s", async (_why, more) => {
    const recorded = await made();
    bench.api.clearRequests();
    const op = bench.operation();
    const renamed = await op.up(TYPE, after(more()));
    await op.destroy(TYPE, recorded);
    expect(renamed.id).not.toBe(recorded.id);
    expect((await bench.rules()).map(({ id }) => id)).toContain(renamed.id);
    expect((await bench.rules()).map(({ id }) => id)).not.toContain(recorded.id);
  });

  test("never takes the rule that the program still declares", async () => {
    const recorded = await made();
    const op = bench.operation();
    expect((await op.preview(TYPE, before(), recorded)).step).toBe("same");
    expect((await op.up(TYPE, after())).id).not.toBe(recorded.id);
    expect((await bench.own()).id).toBe(recorded.id);
  });

  test("with a ref of one's own goes on with the same rule", async () => {
    bench = await Bench.start("shop");
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
