import { managedRulesets, OWASP_SCORE_RULE } from "edgeguard-local";
import type { JsonObject } from "../../provider/basics/json";
import { driftOf } from "../report/plans";
import { rawGet, refreshedInputs, type Recorded } from "../support/operation";
import { inputsAfter, RulesetsBench, MANAGED, REF, TYPE, type Declaration, type Rule } from "./support";
import { accounts, zones } from "../support/bench";

const bench = new RulesetsBench({ shared: true });

/** What a refresh says about new versions: the first line of each message, without the deployment's ref. */
interface Refreshed {
  readonly said: readonly string[];
  readonly warned: readonly string[];
  readonly recorded: Recorded;
  /** The GET requests, without IDs. */
  readonly requests: readonly string[];
}

async function refresh(recorded: Recorded, config: Record<string, string> = {}): Promise<Refreshed> {
  bench.api.clearRequests();
  const operation = bench.operation({ config: config });
  const found = await operation.refresh(TYPE, recorded);
  if (found === undefined) throw new Error("the rule is gone");
  // The report reads them from the record.
  const { versions = [] } = (found.inputs["impact"] ?? {}) as { readonly versions?: readonly string[] };
  for (const message of operation.said)
    expect(versions).toContain(message.replace(/^edgeguard: managed ruleset "[^"]*": /, ""));
  return {
    said: operation.said.map(withoutRef),
    warned: operation.warned.map(withoutRef),
    recorded: found,
    requests: sent(),
  };
}

const withoutRef = (message: string): string =>
  message.replace(`edgeguard: managed ruleset ${JSON.stringify(REF)}: `, "");
const firstLine = (message = ""): string => message.split("\n")[0] ?? "";
const sent = (): string[] =>
  bench.api.requests.map(({ path }) =>
    path.replace(/^.*(?=entrypoint)/, "").replace(/^.*\/rulesets\/(?=[0-9a-f]{32})/, ""),
  );

/** The preview of an unchanged program finds nothing to do, and sends no request. */
async function expectUnchanged(declaration: Declaration, recorded: Recorded): Promise<void> {
  bench.api.clearRequests();
  const operation = bench.operation();
  expect(await operation.preview(TYPE, declaration, recorded)).toMatchObject({ step: "same" });
  expect([operation.said, operation.warned, bench.api.requests]).toEqual([[], [], []]);
}

async function rulesOf(
  ruleset: string,
): Promise<readonly (Rule & { readonly categories: readonly string[] })[]> {
  return bench.managedRules(ruleset);
}

const rule = async (part: string, ruleset: string = managedRulesets.managed): Promise<Rule> => {
  const found = (await rulesOf(ruleset)).find(({ description }) => String(description).includes(part));
  if (found === undefined) throw new Error(`no rule ${part}`);
  return found;
};

describe("a refresh or a preview after Cloudflare published a version", () => {
  test("says what the version changes in the zone, and previews of the unchanged program send no requests before or after it", async () => {
    const overridden = await rule("100000");
    const declaration = bench.declareManaged({
      categories: [{ tag: "wordpress", enabled: false }],
      rules: { [overridden.id]: { enabled: true, action: "log" } },
    });
    const recorded = await bench.up(declaration);
    await bench.publishVersion(managedRulesets.managed, {
      add: [
        { id: "a".repeat(32), description: "First", action: "block" },
        { id: "b".repeat(32), description: "Second", action: "log" },
        { id: "c".repeat(32), description: "Third", action: "block", categories: ["wordpress"] },
      ],
      remove: [overridden.id],
    });
    await expectUnchanged(declaration, recorded);

    const found = await refresh(recorded);
    expect(found.requests).toEqual([
      "entrypoint",
      managedRulesets.managed,
      `${managedRulesets.managed}/versions/88`,
    ]);
    expect(found.said).toEqual([
      [
        "Cloudflare Managed Ruleset 88 → 89: 3 new rules, 2 on in this deployment (1 block, 1 log), 1 rule you override was removed.",
        `${String(overridden["description"])} (${overridden.id}): log → gone; an override refers to it`,
        `First (${"a".repeat(32)}): new → block`,
        `Second (${"b".repeat(32)}): new → log`,
        `Third (${"c".repeat(32)}): new → off`,
      ].join("\n  "),
    ]);
    // The settings that have no effect are a warning, because the program has to change.
    expect(found.warned).toEqual([
      expect.stringMatching(/^these settings don.t apply to version 89 of .* and have no effect: rules/),
    ]);
    const inputs = inputsAfter(recorded, { versions: found.said });
    expect(found.recorded).toEqual({
      ...recorded,
      inputs,
      outputs: { ...recorded.outputs, rulesetVersion: "89", expansion: inputs["expansion"] },
    });
    // What the refresh reports isn't drift.
    expect(driftOf(TYPE, recorded, found.recorded)).toBeUndefined();
    await expectUnchanged(declaration, found.recorded);
    // Nor does the preview of a change report the version again.
    const changing = bench.operation();
    await changing.preview(TYPE, { ...declaration, description: "mine", rules: undefined }, found.recorded);
    expect(changing.said).toHaveLength(1);
    expect(await refresh(found.recorded)).toMatchObject({
      said: [],
      requests: ["entrypoint", managedRulesets.managed],
    });
  });

  test("describes changed defaults by their effect in the zone, and leaves out those without an effect", async () => {
    const [block, log, off, hidden] = await Promise.all(
      ["100001", "100009", "100200", "100002"].map((n) => rule(n)),
    );
    if (!block || !log || !off || !hidden) throw new Error("rules");
    const declaration = bench.declareManaged({ rules: { [hidden.id]: { action: "managed_challenge" } } });
    const recorded = await bench.up(declaration);
    await bench.publishVersion(managedRulesets.managed, {
      change: [
        { id: block.id, action: "log" },
        { id: log.id, enabled: true },
        { id: off.id, action: "log" },
        { id: hidden.id, action: "log" },
      ],
    });
    const { said, warned } = await refresh(recorded);
    expect(firstLine(said[0])).toBe(
      "Cloudflare Managed Ruleset 88 → 89: 1 rule block → log, 1 rule off → log.",
    );
    expect(warned).toEqual([]);
  });

  test("names a removed rule that an exception still skips", async () => {
    const skipped = await rule("100001");
    const exception = {
      expression: 'http.request.uri.path eq "/upload"',
      skip: { rules: { this: [skipped.id] } },
    };
    const recorded = await bench.up(bench.declareManaged({ exceptions: [exception] }));
    await bench.publishVersion(managedRulesets.managed, { remove: [skipped.id] });
    const { said } = await refresh(recorded);
    expect(firstLine(said[0])).toBe(
      "Cloudflare Managed Ruleset 88 → 89: 1 rule your exceptions skip was removed.",
    );
  });

  test("says that no rules act while the deployment is disabled", async () => {
    const recorded = await bench.up(bench.declareManaged({ enabled: false }));
    await bench.publishVersion(managedRulesets.managed, {
      add: [{ description: "New" }],
      change: [{ id: (await rule("100001")).id, action: "log" }],
    });
    const { said } = await refresh(recorded);
    expect(firstLine(said[0])).toBe(
      "Cloudflare Managed Ruleset 88 → 89: 1 new rule, none on in this deployment (the deployment is disabled).",
    );
  });

  test("says that no rule does something else, if only descriptions changed", async () => {
    const recorded = await bench.up(bench.declareManaged());
    const { id } = await rule("100001");
    await bench.publishVersion(managedRulesets.managed, { change: [{ id, description: "Better words" }] });
    expect((await refresh(recorded)).said).toEqual([
      "Cloudflare Managed Ruleset 88 → 89: no rule was added or removed, or does something else.",
    ]);
  });

  test("reads the previous version once for all deployments of the ruleset, and says what changed for each", async () => {
    const declarations = [
      bench.declareManaged({ ref: "edgeguard/a", categories: [{ tag: "php", action: "log" }] }),
      bench.declareManaged({ ref: "edgeguard/b", expression: 'http.host eq "b.example"' }),
      bench.declareManaged({ ref: "edgeguard/c", zoneId: zones.blog }),
    ];
    const up = bench.operation();
    const recorded = [];
    for (const each of declarations) recorded.push(await up.up(TYPE, each));
    await bench.publishVersion(managedRulesets.managed, {
      add: [{ description: "New", action: "block", categories: ["php"] }],
    });
    bench.api.clearRequests();
    const operation = bench.operation();
    for (const each of recorded) await operation.refresh(TYPE, each);
    expect(operation.said.map(firstLine)).toEqual([
      'edgeguard: managed ruleset "edgeguard/a": Cloudflare Managed Ruleset 88 → 89: 1 new rule, 1 on in this deployment (1 log).',
      'edgeguard: managed ruleset "edgeguard/b": Cloudflare Managed Ruleset 88 → 89: 1 new rule, 1 on in this deployment (1 block).',
      'edgeguard: managed ruleset "edgeguard/c": Cloudflare Managed Ruleset 88 → 89: 1 new rule, 1 on in this deployment (1 block).',
    ]);
    expect(sent().filter((path) => path.includes("/versions/"))).toHaveLength(1);
  });

  test("shows the first changed rules, and counts the others", async () => {
    const recorded = await bench.up(bench.declareManaged());
    await bench.publishVersion(managedRulesets.managed, {
      add: Array.from({ length: 7 }, (_, index) => ({ description: `New ${index}` })),
    });
    const lines = (await refresh(recorded)).said[0]?.split("\n  ") ?? [];
    expect(lines).toHaveLength(7);
    expect(lines.at(-1)).toBe("and 2 more rules");
  });

  test("says in a preview that changes overrides what the version changes with the new overrides", async () => {
    const recorded = await bench.up(bench.declareManaged());
    await bench.publishVersion(managedRulesets.managed, {
      add: [{ description: "New", action: "block", categories: ["php"] }],
    });
    const operation = bench.operation();
    const changed = bench.declareManaged({ categories: [{ tag: "php", action: "log" }] });
    await operation.preview(TYPE, changed, recorded);
    expect(operation.said.map(withoutRef).map(firstLine)).toEqual([
      "block → log: no event of the last 24 h (32 rules)",
      "Cloudflare Managed Ruleset 88 → 89: 1 new rule, 1 on in this deployment (1 log).",
    ]);
    const updated = await bench.up(changed, recorded);
    expect(updated.outputs["rulesetVersion"]).toBe("89");
    expect((await refresh(updated)).said).toEqual([]);
  });
});

test("agrees with the local API on how many rules act before and after a new version", async () => {
  const declaration = bench.declareManaged({
    action: "log",
    categories: [
      { tag: "php", action: "block" },
      { tag: "sqli", enabled: false },
      { tag: "wordpress", enabled: true },
    ],
    rules: { [(await rule("100104")).id]: { enabled: false } },
  });
  const effects = async (): Promise<Map<string, string>> =>
    new Map(
      (await bench.effectiveDeployment()).rules.map(({ id, enabled, action }) => [
        id,
        enabled ? action : "off",
      ]),
    );
  let recorded = await bench.up(declaration);
  const tags = ["php", "sqli", "wordpress", "java", "file-upload"];
  // Every fifth rule changes, each version in another way, and every eleventh goes.
  for (const turn of [0, 1]) {
    const rules = await rulesOf(managedRulesets.managed);
    const before = await effects();
    await bench.publishVersion(managedRulesets.managed, {
      remove: rules.filter((_, index) => index % 11 === turn).map(({ id }) => id),
      change: rules
        .filter((_, index) => index % 5 === turn && index % 11 !== turn)
        .map(({ id, enabled, action }, index) =>
          index % 3 === 0
            ? { id, enabled: enabled !== true }
            : index % 3 === 1
              ? { id, action: action === "block" ? "managed_challenge" : "block" }
              : { id, categories: [tags[index % tags.length], tags[(index + turn) % tags.length]] },
        ),
      add: tags.map((tag, index) => ({ description: tag, enabled: index !== turn, categories: [tag] })),
    });
    const after = await effects();
    const added = [...after].flatMap(([id, effect]) => (before.has(id) ? [] : [effect]));
    const gone = [...before.keys()].filter((id) => !after.has(id)).length;
    const changed = [...after].filter(([id, effect]) => before.has(id) && before.get(id) !== effect).length;

    const found = await refresh(recorded);
    recorded = found.recorded;
    const [summary, on] = [firstLine(found.said[0]), added.filter((effect) => effect !== "off").length];
    expect(summary).toContain(`: ${added.length} new rules, ${on === 0 ? "none" : on} on in this deployment`);
    expect(sumOf(summary, /(\d+) rules?(?: you override)? (?:was|were) removed/g)).toBe(gone);
    expect(sumOf(summary, /(\d+) rules? [\w]+ → /g)).toBe(changed);
    expect(changed).toBeGreaterThan(5);
  }
});

const sumOf = (text: string, form: RegExp): number =>
  [...text.matchAll(form)].reduce((sum, [, count]) => sum + Number(count), 0);

describe("a refresh after a new version of the OWASP Core Ruleset", () => {
  test("says which new rules the paranoia level leaves on, and which rules it turns off now", async () => {
    const moved = await rule("942100", managedRulesets.owasp);
    const recorded = await bench.up(bench.declare({ owasp: { paranoiaLevel: 2 } }));
    await bench.publishVersion(managedRulesets.owasp, {
      add: [
        { description: "One", categories: ["paranoia-level-1"] },
        { description: "Three", categories: ["paranoia-level-3"] },
      ],
      change: [{ id: moved.id, categories: ["sqli", "paranoia-level-3"] }],
    });
    const { said } = await refresh(recorded);
    expect(firstLine(said[0])).toBe(
      "Cloudflare OWASP Core Ruleset 37 → 38: 2 new rules, 1 on in this deployment (1 score), 1 rule score → off.",
    );
  });

  test("says that the ruleset's own score threshold and action changed, unless the deployment sets them", async () => {
    const own = await bench.up(bench.declare());
    const set = await bench.up(
      bench.declare({
        ref: "edgeguard/set",
        expression: 'http.host eq "b.example"',
        owasp: { paranoiaLevel: 4, scoreThreshold: "high", action: "log" },
      }),
    );
    await bench.publishVersion(managedRulesets.owasp, {
      change: [{ id: OWASP_SCORE_RULE, score_threshold: 60, action: "managed_challenge" }],
    });
    expect(firstLine((await refresh(own)).said[0])).toBe(
      "Cloudflare OWASP Core Ruleset 37 → 38: 1 rule block → managed_challenge, score threshold 40 (medium) → 60 (low).",
    );
    expect((await refresh(set)).said).toEqual([
      expect.stringContaining("37 → 38: no rule was added or removed, or does something else."),
    ]);
  });

  test("says that the score threshold and action fall back to the defaults if another rule compares the score", async () => {
    const declaration = bench.declare({ owasp: { paranoiaLevel: 4, scoreThreshold: "high", action: "log" } });
    const recorded = await bench.up(declaration);
    await bench.publishVersion(managedRulesets.owasp, {
      remove: [OWASP_SCORE_RULE],
      add: [
        {
          id: "d".repeat(32),
          description: "Score",
          action: "block",
          score_threshold: 40,
          allowed_override_actions: ["block", "log"],
        },
      ],
    });
    const { said } = await refresh(recorded);
    expect(firstLine(said[0])).toBe(
      "Cloudflare OWASP Core Ruleset 37 → 38: 1 new rule, 1 on in this deployment (1 block), 1 rule you override was removed, score threshold 25 (high) → 40 (medium).",
    );
  });
});

test("a preview compares no versions if someone made the deployment run another ruleset", async () => {
  const declaration = bench.declareManaged();
  const recorded = await bench.up(declaration);
  const own = await bench.ownRule();
  const parameters = { ...(own["action_parameters"] as object), id: managedRulesets.free };
  await bench.editRule(own, { action_parameters: parameters });
  const { recorded: found } = await refresh(recorded);
  expect(found.inputs["ruleset"]).toEqual({ id: managedRulesets.free });
  const operation = bench.operation();
  expect(await operation.preview(TYPE, declaration, found)).toMatchObject({ step: "update" });
  expect(operation.said).toEqual([]);
});

describe("for a deployment that pins a version,", () => {
  const news = {
    add: [{ id: "a".repeat(32), description: "New", action: "log" }],
  };

  test("a refresh says what the latest version is and what the pinned one lacks, without extra requests", async () => {
    const declaration = bench.declareManaged({ version: "87" });
    const recorded = await bench.up(declaration);
    await bench.publishVersion(managedRulesets.managed, news);
    await expectUnchanged(declaration, recorded);
    const found = await refresh(recorded);
    expect(found.said.map(firstLine)).toEqual([
      "Cloudflare Managed Ruleset is pinned to 87 (the latest is 89): lacks 2 new rules, 2 would be on (1 block, 1 log), still has 1 rule that version 89 no longer has (1 off).",
    ]);
    expect(found.requests).toEqual([
      "entrypoint",
      managedRulesets.managed,
      `${managedRulesets.managed}/versions/87`,
    ]);
    expect(found.recorded).toEqual({ ...recorded, inputs: inputsAfter(recorded, { versions: found.said }) });
    expect(driftOf(TYPE, recorded, found.recorded)).toBeUndefined();
    await expectUnchanged(declaration, found.recorded);
  });

  test("a preview of a new or changed deployment says what the pinned version lacks", async () => {
    const operation = bench.operation();
    const recorded = await operation.up(TYPE, bench.declareManaged({ version: "87" }));
    const changed = bench.declareManaged({ version: "87", categories: [{ tag: "nodejs", action: "log" }] });
    await operation.preview(TYPE, changed, recorded);
    expect(operation.said.map(withoutRef).map(firstLine)).toEqual([
      "Cloudflare Managed Ruleset is pinned to 87 (the latest is 88): lacks 1 new rule, 1 would be on (1 block), still has 1 rule that version 88 no longer has (1 off).",
      "block → log: no event of the last 24 h (7 rules)",
      "Cloudflare Managed Ruleset is pinned to 87 (the latest is 88): lacks 1 new rule, 1 would be on (1 log), still has 1 rule that version 88 no longer has (1 off).",
    ]);
  });

  test("a refresh says nothing if it pins the latest version, or if someone unpinned it", async () => {
    const declaration = bench.declareManaged({ version: "88" });
    const recorded = await bench.up(declaration);
    expect((await refresh(recorded)).said).toEqual([]);
    const own = await bench.ownRule();
    const parameters = { ...(own["action_parameters"] as object), version: "87" };
    await bench.editRule(own, { action_parameters: parameters });
    const byHand = await refresh(recorded);
    expect(byHand.said.map(firstLine)).toEqual([
      expect.stringContaining("is pinned to 87 (the latest is 88): "),
    ]);
    expect(byHand.recorded.inputs["version"]).toBe("87");
    await bench.editRule(own, { action_parameters: { ...parameters, version: "latest" } });
    expect((await refresh(byHand.recorded)).said).toEqual([]);
  });

  test("a refresh says what the latest version would change", async () => {
    const recorded = await bench.up(bench.declareManaged({ version: "88" }));
    for (const number of [1, 2, 3])
      await bench.publishVersion(managedRulesets.managed, {
        change: [{ id: (await rule("100001")).id, action: number === 3 ? "log" : "block" }],
      });
    expect((await refresh(recorded)).said.map(firstLine)).toEqual([
      "Cloudflare Managed Ruleset is pinned to 88 (the latest is 91): 1 rule would go block → log.",
    ]);
  });

  test("a preview that pins a newer version lists what will protect less", async () => {
    const recorded = await bench.up(bench.declareManaged({ version: "88" }));
    await bench.publishVersion(managedRulesets.managed, {
      change: [{ id: (await rule("100001")).id, action: "log" }],
    });
    const moved = bench.declareManaged({ version: "89" });
    expect(await bench.preview(moved, recorded)).toMatchObject({
      step: "update",
      inputs: { impact: { compared: { weaker: ["1 rule block → log"], stronger: [] } } },
    });
  });
});

describe("when versions can't be compared,", () => {
  const former = { method: "GET", path: "/versions/88" };
  let recorded: Recorded;
  let rulesNow: string;
  beforeEach(async () => {
    recorded = await bench.up(bench.declareManaged());
    await bench.publishVersion(managedRulesets.managed, { add: [{ description: "New" }] });
    const { on, off } = await bench.effectiveDeployment();
    rulesNow = `Cloudflare Managed Ruleset 88 → 89: ${on + off} rules now, ${on} on in this deployment.`;
  });

  test("a refresh only counts the rules if the previous version is gone, and says so once", async () => {
    bench.api.fault({ match: former, kind: "status", status: 404 });
    const found = await refresh(recorded);
    expect(found.said).toEqual([
      `${rulesNow} Version 88 couldn't be read (HTTP 404), so what changed isn't known.`,
    ]);
    expect(found.recorded.outputs["rulesetVersion"]).toBe("89");
    expect((await refresh(found.recorded)).said).toEqual([]);
  });

  test.each([400, 503])(
    "a version is requested and mentioned only once if the response is HTTP %d",
    async (status) => {
      bench.api.fault({ match: former, times: 9, kind: "status", status });
      const found = await refresh(recorded, { "edgeguard:maxRetries": "0" });
      expect(found.said).toEqual([
        `${rulesNow} Version 88 couldn't be read (HTTP ${status}), so what changed isn't known.`,
      ]);
      expect(found.recorded.outputs["known"]).toEqual(recorded.outputs["known"]);
      expect(await refresh(found.recorded)).toMatchObject({
        said: [],
        requests: ["entrypoint", managedRulesets.managed],
      });
    },
  );

  test("the next refresh still says what changed if the response had no version", async () => {
    const path = `/accounts/${accounts.main}/rulesets/${managedRulesets.managed}`;
    const { result } = await rawGet(bench.api, path);
    const unversioned = { ...(result as JsonObject), version: undefined };
    const body = JSON.stringify({ success: true, errors: [], messages: [], result: unversioned });
    const latest = { method: "GET", path: `${managedRulesets.managed}$` };
    bench.api.fault({ match: latest, kind: "raw", status: 200, body, contentType: "application/json" });
    const first = await refresh(recorded);
    expect(first.said).toEqual([]);
    expect(first.recorded.outputs["rulesetVersion"]).toBe("88");
    expect((await refresh(first.recorded)).said.map(firstLine)).toEqual([
      "Cloudflare Managed Ruleset 88 → 89: 1 new rule, 1 on in this deployment (1 block).",
    ]);
  });

  const odd: readonly [string, (version: JsonObject) => unknown, string][] = [
    [
      "another version",
      (version) => ({ ...version, version: "87" }),
      "Cloudflare returned version 87 instead of 88",
    ],
    ["no rules", (version) => ({ ...version, rules: null }), "Cloudflare lists no rules of version 88"],
  ];
  test.each(odd)("a response with %s isn't compared", async (_what, change, why) => {
    const path = `/accounts/${accounts.main}/rulesets/${managedRulesets.managed}/versions/88`;
    const { result } = await rawGet(bench.api, path);
    const body = { success: true, errors: [], messages: [], result: change(result as JsonObject) };
    bench.api.fault({
      match: former,
      kind: "raw",
      status: 200,
      body: JSON.stringify(body),
      contentType: "application/json",
    });
    expect((await refresh(recorded)).said).toEqual([`${rulesNow} ${why}, so what changed isn't known.`]);
  });

  describe("and the latest version arrives incomplete,", () => {
    /** Cloudflare's next response with the latest version of a ruleset, changed. */
    async function distort(
      ruleset: string,
      change: (result: { readonly rules: JsonObject[] }) => object,
    ): Promise<void> {
      const path = `/accounts/${accounts.main}/rulesets/${ruleset}`;
      const { result } = await rawGet(bench.api, path);
      const body = {
        success: true,
        errors: [],
        messages: [],
        result: change(result as { rules: JsonObject[] }),
      };
      bench.api.fault({
        match: { method: "GET", path: `${ruleset}$` },
        kind: "raw",
        status: 200,
        body: JSON.stringify(body),
        contentType: "application/json",
      });
    }
    const withoutIdOf = (index: number) => (result: { readonly rules: JsonObject[] }) => ({
      ...result,
      rules: result.rules.map((each, at) => (at === index ? { ...each, id: null } : each)),
    });

    test("an unreadable rule isn't reported as removed, nor its override as ineffective", async () => {
      const [first] = await rulesOf(managedRulesets.managed);
      const declaration = bench.declareManaged({ rules: { [first?.id ?? ""]: { action: "log" } } });
      const overriding = await bench.up(declaration, recorded);
      await bench.publishVersion(managedRulesets.managed, { add: [{ description: "Newer" }] });
      await distort(managedRulesets.managed, withoutIdOf(0));
      const { said, warned } = await refresh(overriding);
      expect(said).toEqual([
        "Cloudflare Managed Ruleset 89 → 90: Some rules of version 90 couldn't be read, so what changed isn't known.",
      ]);
      expect(warned).toEqual([expect.stringContaining("skipped a record")]);
    });

    test.each([
      ["unreadable rules", withoutIdOf(0)],
      ["an empty list of rules", (result: object) => ({ ...result, rules: [] })],
      ["null as a rule", (result: object) => ({ ...result, rules: [null] })],
    ])("no changed settings are reported for a version with %s", async (_what, change) => {
      const declaration = bench.declare({
        owasp: { paranoiaLevel: 2, scoreThreshold: "high" },
        rules: { "920270": { enabled: false } },
      });
      const scored = await bench.up(declaration, recorded);
      await distort(managedRulesets.owasp, change);
      const { said, warned, recorded: found } = await refresh(scored);
      expect([said, warned.filter((line) => !line.includes("skipped a record"))]).toEqual([[], []]);
      expect(found).toEqual({ ...scored, inputs: refreshedInputs(scored) });
    });
  });

  test("an error about a response that isn't JSON shows no credential", async () => {
    bench.api.fault({
      match: former,
      times: 9,
      kind: "raw",
      status: 502,
      body: "<p>Bearer local-token</p>",
      contentType: "text/html",
    });
    const { said, warned } = await refresh(recorded, { "edgeguard:maxRetries": "0" });
    expect(said).toEqual([expect.stringContaining("couldn't be read")]);
    expect(JSON.stringify([said, warned])).not.toContain("local-token");
  });

  test("a refresh says nothing if no version is recorded", async () => {
    const unversioned = { ...recorded, outputs: { ...recorded.outputs, rulesetVersion: "" } };
    const found = await refresh(unversioned);
    expect([found.said, found.requests.length]).toEqual([[], 2]);
    expect(found.recorded.outputs["rulesetVersion"]).toBe("89");
  });
});

test("a refresh reports what changed when a ruleset goes back to an earlier version", async () => {
  const recorded = await bench.up(bench.declareManaged());
  await bench.publishVersion(managedRulesets.managed, { add: [{ description: "New" }] });
  const { recorded: newer } = await refresh(recorded);
  const path = `/accounts/${accounts.main}/rulesets/${managedRulesets.managed}`;
  const { result } = await rawGet(bench.api, `${path}/versions/88`);
  const body = JSON.stringify({ success: true, errors: [], messages: [], result });
  const latest = { method: "GET", path: `${managedRulesets.managed}$` };
  bench.api.fault({ match: latest, kind: "raw", status: 200, body, contentType: "application/json" });
  expect((await refresh(newer)).said.map(firstLine)).toEqual([
    "Cloudflare Managed Ruleset 89 → 88: 1 rule was removed (1 block).",
  ]);
});

describe("the message about a new version", () => {
  test("shows both names of a renamed ruleset", async () => {
    const declaration = bench.declareManaged({ ruleset: { name: MANAGED } });
    const recorded = await bench.up(declaration);
    await bench.publishVersion(managedRulesets.managed, { name: "Cloudflare Core Ruleset" });
    const found = await refresh(recorded);
    expect(found.said).toEqual([
      'Cloudflare Core Ruleset 88 → 89 (renamed from "Cloudflare Managed Ruleset"): no rule was added or removed, or does something else.',
    ]);
    await expectUnchanged(declaration, found.recorded);
  });

  test("keeps a description on its own line, even if it imitates other output", async () => {
    const recorded = await bench.up(bench.declareManaged());
    await bench.publishVersion(managedRulesets.managed, {
      add: [{ description: "New\n::error::broken\u001b[31m\nedgeguard: all is well" }],
    });
    const lines = (await refresh(recorded)).said[0]?.split("\n") ?? [];
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(
      /^ {2}New\\n::error::broken\\u001b\[31m\\nedgeguard: all is well \([0-9a-f]{32}\): new → block$/,
    );
  });
});
