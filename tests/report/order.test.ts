import { startLocalApi, type LocalApi } from "edgeguard-local";
import { report } from "../../provider/report/index";
import { entryPointOf, readEntryPoint } from "../../provider/rulesets/entry-point";
import type { JsonObject } from "../../provider/basics/json";
import { mustSend, Operation, UNKNOWN, type Recorded } from "../support/operation";
import { found, planJson, stepOf, type MadeStep, created, deleted, changed } from "./plans";

/** The order of a zone's managed rules that several steps of one plan result in. */

const TYPE = "ManagedRulesetOverride";
const ZONE = "5a0c1e7f3b2d4968a7e1c0f2d3b4a501";
const API_PATH = 'starts_with(http.request.uri.path, "/api/")';

const dangersOf = (...steps: readonly MadeStep[]): string[] =>
  report(planJson(...steps), "json")
    .dangers.filter(({ kind }) => kind === "unprotect")
    .map(({ name, sentence }) => `${name}: ${sentence.toString()}`);

/** What the preview of an update records if it finds nothing that changes. */
const compared = found({ compared: { weaker: [], stronger: [], moved: [], digest: "" } });
const owasp: JsonObject = { zoneId: ZONE, ref: "owasp", ruleset: { name: "OWASP" }, enabled: true };
const managed: JsonObject = { zoneId: ZONE, ref: "managed", ruleset: { name: "Managed" }, enabled: true };
const skipsAll: JsonObject = { ...managed, exceptions: [{ expression: API_PATH, skip: "all" }] };

const added = (inputs: JsonObject): MadeStep => created(TYPE, "added", inputs);
const kept = (inputs: JsonObject, name = "kept"): MadeStep =>
  stepOf("same", TYPE, name, { old: inputs, new: inputs });
/** A step that gives a rule another position. Alone, the preview finds nothing that it changes. */
const moved = (inputs: JsonObject, position: unknown, was?: unknown, name = "moved"): MadeStep =>
  stepOf("update", TYPE, name, {
    old: was === undefined ? inputs : { ...inputs, position: was },
    new: { ...inputs, position, ...compared },
  });

const EXCEPTION = `${JSON.stringify(API_PATH)} skips "all managed rules after it"`;
const SKIPPED = `moved: OWASP may come after an exception of Managed: ${EXCEPTION}`;
const ANY = "; accepting this accepts any value of position";

describe("a rule that moves in the same plan as another rule with an exception", () => {
  test.each<[string, string[], MadeStep[]]>([
    ["behind a new rule, which goes last", [SKIPPED], [added(skipsAll), moved(owasp, "last")]],
    [
      "behind a new rule that its position names",
      [
        SKIPPED,
        'moved: OWASP may move, because the rule that its position names moves or gets another ref, so exceptions may apply to more rules: position {"after":"managed"}',
      ],
      [added(skipsAll), moved(owasp, { after: "managed" })],
    ],
    [
      "behind a new rule whose ref isn't known yet",
      [
        `${SKIPPED}${ANY}`,
        `moved: OWASP may move, so exceptions may apply to more rules: position – → ${JSON.stringify('{"after":"known after apply"}')}${ANY}`,
      ],
      [added(skipsAll), changed(TYPE, "moved", owasp, { ...owasp, position: { after: UNKNOWN } })],
    ],
    [
      "between two rules, and the other one to before the first of them",
      [SKIPPED],
      [
        moved(owasp, { after: "team/rule" }, { before: "team/rule" }),
        moved(skipsAll, { before: "team/rule" }, "last", "other"),
      ],
    ],
    [
      "to last, and so does the other one",
      [SKIPPED],
      [moved(owasp, "last", "first"), moved(skipsAll, "last", "first", "other")],
    ],
    [
      "behind a rule whose zone isn't known yet",
      [SKIPPED],
      [added({ ...skipsAll, zoneId: UNKNOWN }), moved(owasp, "last")],
    ],
    [
      "behind a new rule with exceptions that the plan doesn't show",
      ["moved: OWASP may come after exceptions of Managed that the plan doesn't show"],
      [added({ ...managed, exceptions: UNKNOWN }), moved(owasp, "last")],
    ],
  ])("is reported if it moves %s", (_, dangers, steps) => {
    expect(dangersOf(...steps).filter((text) => text.startsWith("moved"))).toEqual(dangers);
  });

  test.each<[string, MadeStep[]]>([
    ["is the first rule afterward", [added(skipsAll), moved(owasp, "first")]],
    ["goes before a rule that stays", [added(skipsAll), moved(owasp, { before: "team/rule" })]],
    [
      "goes before a rule that the other one goes after",
      [moved(owasp, { before: "team/rule" }), moved(skipsAll, { after: "team/rule" }, "first", "other")],
    ],
    [
      "isn't reached by the exception",
      [added({ ...managed, exceptions: [{ expression: API_PATH, skip: "this" }] }), moved(owasp, "last")],
    ],
    ["is in another zone", [added({ ...skipsAll, zoneId: ZONE.replace(/1$/, "2") }), moved(owasp, "last")]],
    ["was disabled before", [added(skipsAll), moved({ ...owasp, enabled: false }, "last")]],
    [
      "was after the exception before",
      [moved(owasp, "last", { after: "managed" }), moved(skipsAll, "first", "last", "other")],
    ],
  ])("is no danger if it %s", (_, steps) => {
    expect(dangersOf(...steps)).toEqual([]);
  });

  test("is reported if the rule that its position names moves, too", () => {
    const steps = [moved(owasp, { after: "managed" }, "first"), moved(managed, "last", undefined, "other")];
    expect(dangersOf(...steps)).toEqual([
      'moved: OWASP may move, because the rule that its position names moves or gets another ref, so exceptions may apply to more rules: position {"after":"managed"}',
    ]);
  });

  test("is reported if it's deleted and created again behind an exception", () => {
    const gone = deleted(TYPE, "gone", owasp);
    const again = created(TYPE, "again", { ...owasp, ref: "again", ...found({ inFront: [] }) });
    expect(dangersOf(gone, again, kept(skipsAll))).toEqual([SKIPPED.replace("moved", "gone")]);
    expect(dangersOf(gone, again, kept(managed))).toEqual([]);
  });
});

test("a rule whose position names a ref that another rule takes over in the same plan may move", () => {
  const free = { ...managed, ref: "a", ruleset: { name: "Free" } };
  const leaks = { ...managed, ref: "c", ruleset: { name: "Leaks" } };
  const holder = { ...owasp, ref: "o", exceptions: [{ expression: API_PATH, skip: "all" }] };
  const dangers = dangersOf(
    changed(TYPE, "free", free, { ref: "a2", ...compared }),
    changed(TYPE, "leaks", leaks, { ref: "a", ...compared }),
    kept(holder, "holder"),
    moved({ ...managed, ref: "m" }, { before: "a" }, { before: "o" }),
  );
  expect(dangers).toEqual([
    'moved: Managed may move, because the rule that its position names moves or gets another ref, so exceptions may apply to more rules: position {"before":"a"}',
  ]);
});

describe("a rule whose neighbor gets another ref", () => {
  const before = { ...owasp, position: { before: "managed" } };
  const after = { ...owasp, position: { before: "renamed" } };
  const follows = stepOf("update", TYPE, "owasp", { old: before, new: after });

  test("doesn't move", () => {
    const renamed = changed(TYPE, "managed", managed, { ref: "renamed", ...compared });
    expect(dangersOf(follows, renamed)).toEqual([]);
  });

  test("doesn't move if the neighbor is renamed without an alias, and adopted", () => {
    const gone = deleted(TYPE, "managed", managed);
    const adopted = { object: "rule r1 in zone z", onDestroy: "deletes it" };
    const renamed = added({ ...managed, ref: "renamed", adopted, ...found({ inFront: [] }) });
    expect(dangersOf(follows, { ...gone, oldState: { ...gone.oldState, id: "r1" } }, renamed)).toEqual([]);
  });

  test("is reported if the new ref belongs to another rule", () => {
    expect(dangersOf(follows, kept(managed), added({ ...managed, ref: "renamed" }))).toEqual([
      'owasp: OWASP moves, so exceptions may apply to more rules: position {"before":"managed"} → {"before":"renamed"}',
    ]);
  });
});

describe("on a zone,", () => {
  let api: LocalApi;
  beforeEach(async () => {
    api = await startLocalApi();
  });
  afterEach(() => api.close());

  const declare = (ref: string, more: JsonObject): JsonObject => ({
    zoneId: api.zones.empty,
    accountId: api.accounts.main,
    ref,
    ...more,
  });
  const OWASP = { ruleset: "Cloudflare OWASP Core Ruleset" };
  const MANAGED = { ruleset: "Cloudflare Managed Ruleset" };
  const order = async (): Promise<string[]> => {
    const found = await readEntryPoint(new Operation(api).host, entryPointOf({ zoneId: api.zones.empty }));
    return (found?.rules ?? []).map(({ ref }) => ref);
  };

  test("a new rule with an exception and a rule that moves behind it are reported, and the update does that", async () => {
    const first = new Operation(api);
    const owasp = await first.up(TYPE, declare("owasp", OWASP));
    const fresh = declare("managed", { ...MANAGED, exceptions: [{ expression: API_PATH, skip: "all" }] });
    const last = declare("owasp", { ...OWASP, position: "last" });
    const op = new Operation(api);
    const steps = [
      created(TYPE, "managed", (await op.preview(TYPE, fresh)).inputs),
      stepOf("update", TYPE, "owasp", {
        old: owasp.inputs,
        outputs: owasp.outputs,
        new: (await op.preview(TYPE, last, owasp)).inputs,
      }),
    ];
    expect(dangersOf(...steps)).toEqual([
      `owasp: "Cloudflare OWASP Core Ruleset" may come after an exception of "Cloudflare Managed Ruleset": ${EXCEPTION}`,
    ]);
    await new Operation(api).up(TYPE, fresh);
    await new Operation(api).up(TYPE, last, owasp);
    expect(await order()).toEqual(["managed/exception/1", "managed", "owasp"]);
  });

  test("a new exception is reported if it skips what another rule behind it runs", async () => {
    const off = declare("managed", { ...MANAGED, enabled: false });
    const recorded = await new Operation(api).up(TYPE, off);
    const dangers = async (skip: unknown, more: JsonObject = {}): Promise<string[]> => {
      const next = { ...off, exceptions: [{ expression: API_PATH, skip }], ...more };
      const { inputs } = await new Operation(api).preview(TYPE, next, recorded);
      const sides = { old: recorded.inputs, outputs: recorded.outputs, new: inputs };
      return dangersOf(stepOf("update", TYPE, "managed", sides));
    };
    expect(await dangers("all")).toEqual([]);
    await new Operation(api).up(TYPE, declare("owasp", OWASP));
    expect(await dangers("all")).toEqual([
      `managed: "Cloudflare Managed Ruleset" gets an exception: ${EXCEPTION}`,
    ]);
    expect(await dangers("this")).toEqual([]);
    expect(await dangers("all", { position: "last" })).toEqual([]);
    await new Operation(api).up(TYPE, declare("another", { ...MANAGED, expression: "ssl" }));
    expect(await dangers("this")).toEqual([
      'managed: "Cloudflare Managed Ruleset" gets an exception: "starts_with(http.request.uri.path, \\"/api/\\")" skips "this ruleset"',
    ]);
  });

  /** A step as its preview shows it, also as a replacement, which the engine checks as a new resource. */
  const stepTo = async (
    name: string,
    next: JsonObject,
    recorded: Recorded,
    op: "update" | "same" | "replace" = "update",
  ): Promise<MadeStep> => {
    const { inputs } = await new Operation(api).preview(TYPE, next, op === "replace" ? undefined : recorded);
    const state = { id: `${api.zones.empty}/${String(recorded.outputs["ruleId"])}` };
    return stepOf(op, TYPE, name, { old: recorded.inputs, outputs: recorded.outputs, new: inputs, state });
  };

  test.each<[string, unknown, unknown]>([
    ["to last, behind its whole ruleset's exception", "last", { rulesets: [MANAGED.ruleset] }],
    ["to last, behind an exception for one rule", "last", { rules: { [MANAGED.ruleset]: ["100502"] } }],
    ["to after the exception's rule", { after: "owasp" }, "all"],
  ])(
    "an exception is reported if what it newly skips moves in the same plan %s",
    async (_, position, skip) => {
      const managed = await new Operation(api).up(TYPE, declare("managed", MANAGED));
      const health = { expression: 'http.request.uri.path eq "/health"', skip: "this" };
      const owasp = declare("owasp", { ...OWASP, exceptions: [health] });
      const recorded = await new Operation(api).up(TYPE, owasp);
      const moves = await stepTo("managed", declare("managed", { ...MANAGED, position }), managed);
      const skips = { ...owasp, exceptions: [health, { expression: "true", skip }] };
      expect(dangersOf(moves, await stepTo("owasp", owasp, recorded, "same"))).toEqual([]);
      expect(dangersOf(moves, await stepTo("owasp", { ...owasp, description: "d" }, recorded))).toEqual([]);
      const dangers = dangersOf(moves, await stepTo("owasp", skips, recorded));
      expect(dangers.filter((text) => text.startsWith("managed:"))).toEqual([
        expect.stringContaining(
          'managed: "Cloudflare Managed Ruleset" may come after an exception of "Cloudflare OWASP Core Ruleset": true skips ',
        ),
      ]);
    },
  );

  test("an unchanged exception that already skips a ruleset by name isn't reported if that moves again", async () => {
    const skip = { rulesets: [MANAGED.ruleset] };
    const owasp = declare("owasp", { ...OWASP, exceptions: [{ expression: API_PATH, skip }] });
    const recorded = await new Operation(api).up(TYPE, owasp);
    const managed = await new Operation(api).up(TYPE, declare("managed", MANAGED));
    const last = declare("managed", { ...MANAGED, position: "last" });
    const described = await stepTo("owasp", { ...owasp, description: "d" }, recorded);
    expect(dangersOf(await stepTo("managed", last, managed), described)).toEqual([]);
  });

  describe("a rule that's replaced in place", () => {
    const replaced = async (
      exceptions: readonly JsonObject[],
      more: JsonObject = {},
    ): Promise<{ steps: MadeStep[]; managed: Recorded; declared: JsonObject }> => {
      const declared = declare("edgeguard/site/dev/managed", { ...MANAGED, ...more });
      const managed = await new Operation(api).up(TYPE, declared);
      const owasp = declare("owasp", { ...OWASP, exceptions });
      const recorded = await new Operation(api).up(TYPE, owasp);
      const kept = await stepTo("owasp", owasp, recorded, "same");
      return { steps: [await stepTo("managed", declared, managed, "replace"), kept], managed, declared };
    };
    const skipsManaged = { expression: "true", skip: { rulesets: [MANAGED.ruleset] } };
    const adoptions = (...steps: readonly MadeStep[]): string[] =>
      report(planJson(...steps), "markdown").text.match(/^Adopts .*$/gm) ?? [];
    const AGAIN =
      'managed: "Cloudflare Managed Ruleset" may be deleted and created again: skip rule "owasp/exception/1" will apply to this rule';

    test("is reported if it's created again behind an exception", async () => {
      const { steps } = await replaced([skipsManaged]);
      expect(dangersOf(...steps)).toEqual([AGAIN]);
      expect(adoptions(...steps)).toEqual([
        expect.stringMatching(/which matches the program, unless deleteBeforeReplace deletes it first\.$/),
      ]);
    });

    test.each<[string, JsonObject[], JsonObject]>([
      ["no exception reaches it", [{ expression: "true", skip: "this" }], {}],
      ["it's the first rule again", [skipsManaged], { position: "first" }],
    ])("is no danger if %s", async (_, exceptions, more) => {
      expect(dangersOf(...(await replaced(exceptions, more)).steps)).toEqual([]);
    });

    test("doesn't come after its own exceptions", async () => {
      const exceptions = [{ expression: API_PATH, skip: "all" }];
      const { steps, managed } = await replaced([], { exceptions });
      const [step, kept] = steps;
      if (step === undefined || kept === undefined) throw new Error("no steps");
      const created = { ...step, op: "create-replacement" };
      const gone = { ...deleted(TYPE, "managed", managed.inputs, managed.outputs), op: "delete-replaced" };
      expect(dangersOf(gone, step, created, kept).filter((text) => text.includes("may come after"))).toEqual(
        [],
      );
    });

    test("is reported unless the plan shows that the new rule is created first", async () => {
      const { steps, managed } = await replaced([skipsManaged]);
      const [step, kept] = steps;
      if (step === undefined || kept === undefined) throw new Error("no steps");
      const created = { ...step, op: "create-replacement" };
      const gone = { ...deleted(TYPE, "managed", managed.inputs, managed.outputs), op: "delete-replaced" };
      expect(dangersOf(created, step, gone, kept)).toEqual([]);
      expect(adoptions(created, step, gone, kept)).toEqual([
        expect.stringMatching(/which matches the program\.$/),
      ]);
      expect(dangersOf(gone, step, created, kept)).toEqual([AGAIN]);
      expect(adoptions(gone, step, created, kept)).toEqual([]);
    });

    test.each([
      ["stays where it is if it's created first", false, ["managed", "owasp/exception/1", "owasp"]],
      ["goes last if it's deleted first", true, ["owasp/exception/1", "owasp", "managed"]],
    ])("%s", async (_, deleteFirst, refs) => {
      const { managed, declared } = await replaced([skipsManaged]);
      const op = new Operation(api);
      const { inputs } = await op.preview(TYPE, declared);
      if (deleteFirst) await op.destroy(TYPE, managed);
      await op.create(TYPE, inputs);
      if (!deleteFirst) await op.destroy(TYPE, managed);
      expect((await order()).map((ref) => ref.replace("edgeguard/site/dev/", ""))).toEqual(refs);
    });
  });

  describe("a deleted rule whose requests a new one covers", () => {
    const HOST = 'http.host eq "www.shop.example"';
    const BOTH = 'http.host in {"www.shop.example" "api.shop.example"}';
    /** Someone else's skip rule runs behind the deleted rule, unless `isInFront`. */
    const renamed = async ({ isInFront = false, isOn = true } = {}): Promise<string[]> => {
      const old = declare("edgeguard/site/dev/www", { ...OWASP, expression: HOST });
      const recorded = await new Operation(api).up(TYPE, old);
      const address = entryPointOf({ zoneId: api.zones.empty });
      const { id } = (await readEntryPoint(new Operation(api).host, address)) ?? {};
      await mustSend(api, "POST", `/zones/${api.zones.empty}/rulesets/${id}/rules`, {
        ref: "legacy",
        action: "skip",
        action_parameters: { ruleset: "current" },
        expression: API_PATH,
        enabled: isOn,
        ...(isInFront && { position: { before: "" } }),
      });
      const whole = declare("edgeguard/site/dev/whole", { ...OWASP, expression: BOTH });
      const { inputs } = await new Operation(api).preview(TYPE, whole);
      return dangersOf(
        deleted(TYPE, "www", recorded.inputs, recorded.outputs),
        created(TYPE, "whole", inputs),
      );
    };

    test("is reported if the new one comes after a skip rule that it didn't", async () => {
      expect(await renamed()).toEqual([
        `www: "Cloudflare OWASP Core Ruleset" replaces a rule in another place, so skip rule "legacy" (${API_PATH}) will apply to this rule`,
      ]);
    });

    test.each([
      ["both come after it", { isInFront: true }],
      ["the skip rule is off", { isOn: false }],
    ])("is no danger if %s", async (_, where) => {
      expect(await renamed(where)).toEqual([]);
    });
  });

  test("a rule stays where it is if its neighbor only gets another ref", async () => {
    const up = (declared: JsonObject, recorded?: Recorded): Promise<Recorded> =>
      new Operation(api).up(TYPE, declared, recorded);
    const managed = await up(declare("managed", MANAGED));
    const owasp = await up(declare("owasp", { ...OWASP, position: { before: "managed" } }));
    await up(declare("between", { ...OWASP, expression: API_PATH, position: { before: "managed" } }));
    expect(await order()).toEqual(["owasp", "between", "managed"]);
    await up(declare("renamed", MANAGED), managed);
    await up(declare("owasp", { ...OWASP, position: { before: "renamed" } }), owasp);
    expect(await order()).toEqual(["owasp", "between", "renamed"]);
  });
});
