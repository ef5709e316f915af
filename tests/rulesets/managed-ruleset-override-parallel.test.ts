import type { ZoneName } from "edgeguard-local";
import { REF, RulesetsBench, TYPE, type Declaration } from "./support";
import { OFFLINE } from "../support/bench";
import type { Recorded } from "../support/operation";
import { LONG } from "../support/long";

const bench = new RulesetsBench();
const RUNS = LONG ? 20 : 1;
const RUNS_NOTE = LONG ? "" : " (1 of 20 runs; EDGEGUARD_TEST_LONG=1 makes all of them)";
const TEN = Array.from({ length: 10 }, (_, index) => index + 1);
const HOOK = { expression: 'http.request.uri.path eq "/hook"', skip: "all" };

const declaration = (number: number, more: Record<string, unknown> = {}): Declaration =>
  bench.declare({
    ref: `${REF}-${number}`,
    expression: `http.host eq "${number}.example"`,
    owasp: { paranoiaLevel: (number % 4) + 1 },
    ...more,
  });

/** Delays each response differently, so that requests overlap. */
async function start(zone: ZoneName): Promise<void> {
  await bench.restart();
  bench.inZone(zone);
  for (let index = 0; index < 60; index += 1) {
    for (const method of ["POST", "GET"] as const)
      bench.api.fault({ match: { method }, kind: "slow", delayMs: (index * 7) % 10, when: "after" });
  }
}

async function expectAll(recorded: readonly Recorded[]): Promise<void> {
  const refs = (await bench.rules()).map(({ ref }) => ref).filter((ref) => ref.startsWith("edgeguard/"));
  expect([...refs].sort()).toEqual(recorded.map(({ outputs }) => String(outputs["ruleRef"])).sort());
  for (const { id, outputs } of recorded)
    expect((await bench.ownRule(String(outputs["ruleRef"]))).id).toBe(id);
}

describe.each(["shop", "empty"] as const)("concurrent operations in zone %s", (zone) => {
  test(`create and delete ten deployments of one program${RUNS_NOTE}`, async () => {
    for (let run = 1; run <= RUNS; run += 1) {
      await start(zone);
      const othersBefore = await bench.othersRules();
      const op = bench.operation();
      const recorded = await Promise.all(TEN.map((number) => op.up(TYPE, declaration(number))));
      await expectAll(recorded);
      expect(await bench.othersRules()).toBe(othersBefore);
      expect(bench.api.requests.filter(({ method }) => method === "PUT")).toEqual([]);
      if (zone === "empty" && run === 1)
        expect(bench.writes().filter((each) => each === "POST ")).toHaveLength(1);
      const destroying = bench.operation();
      await Promise.all(recorded.map((one) => destroying.destroy(TYPE, one)));
      expect(await bench.othersRules()).toBe(othersBefore);
      expect((await bench.rules()).filter(({ ref }) => ref.startsWith("edgeguard/"))).toEqual([]);
    }
  });

  test(`create and delete the deployments of two programs${RUNS_NOTE}`, async () => {
    for (let run = 1; run <= RUNS; run += 1) {
      await start(zone);
      const othersBefore = await bench.othersRules();
      // Like two processes, each has its own lock and its own ledger.
      const [one, other] = [bench.operation(), bench.operation()];
      const recorded = await Promise.all(
        TEN.map((number) =>
          (number % 2 === 0 ? one : other).up(
            TYPE,
            declaration(number, number < 5 ? { exceptions: [HOOK], position: "first" } : {}),
          ),
        ),
      );
      await expectAll([...recorded, ...(await exceptionsOf([1, 2, 3, 4]))]);
      expect(await bench.othersRules()).toBe(othersBefore);
      for (const number of [1, 2, 3, 4]) await expectDirectlyInFront(number);
      const destroying = [bench.operation(), bench.operation()];
      await Promise.all(recorded.map((each, index) => (destroying[index % 2] ?? one).destroy(TYPE, each)));
      expect(await bench.othersRules()).toBe(othersBefore);
      expect((await bench.rules()).filter(({ ref }) => ref.startsWith("edgeguard/"))).toEqual([]);
    }
  });
});

/** Exceptions as recorded rules. */
async function exceptionsOf(numbers: readonly number[]): Promise<Recorded[]> {
  const refs = numbers.map((number) => `${REF}-${number}/exception/1`);
  const rules = await Promise.all(refs.map((ref) => bench.ownRule(ref)));
  return rules.map(({ id, ref }) => ({ id, inputs: {}, outputs: { ruleRef: ref } }));
}

async function expectDirectlyInFront(number: number): Promise<void> {
  const refs = (await bench.rules()).map(({ ref }) => ref);
  expect(refs[refs.indexOf(`${REF}-${number}`) - 1]).toBe(`${REF}-${number}/exception/1`);
}

describe("a create", () => {
  const entryPoint = "http_request_firewall_managed/entrypoint";

  test("uses the entry point if someone else created it in the meantime", async () => {
    bench.inZone("empty");
    // The read misses the entry point, as if it came a moment too early.
    await bench.up(declaration(1));
    bench.api.fault({
      match: { method: "GET", path: entryPoint },
      times: 2,
      kind: "status",
      status: 404,
      code: 10003,
    });
    const recorded = await bench.operation(OFFLINE).up(TYPE, declaration(2));
    await expectAll([
      { ...recorded, outputs: { ruleRef: `${REF}-1` }, id: (await bench.ownRule(`${REF}-1`)).id },
      recorded,
    ]);
    expect(bench.api.requests.filter(({ status }) => status === 400)).toHaveLength(1); // 20217 only.
  });

  test("waits until it can read an entry point that someone else just created", async () => {
    await bench.restart({ readLagMs: 400 });
    bench.inZone("empty");
    const [one, other] = [bench.operation(), bench.operation()];
    const recorded = await Promise.all([one.up(TYPE, declaration(1)), other.up(TYPE, declaration(2))]);
    await new Promise((resolve) => setTimeout(resolve, 450));
    await expectAll(recorded);
  });
});

describe("when responses are lost", () => {
  test.each([
    ["to creating the entry point", "empty", { method: "POST", path: "/rulesets$" }],
    ["to adding the rule", "shop", { method: "POST", path: "/rules$" }],
    ["to adding an exception", "shop", { method: "POST", path: "/rules$" }],
    ["to enabling the rule", "shop", { method: "PATCH" }],
  ] as const)("nothing is created twice if the response %s is lost", async (what, zone, match) => {
    bench.inZone(zone);
    const othersBefore = await bench.othersRules();
    if (what.includes("exception")) bench.api.fault({ match, kind: "slow", delayMs: 0 });
    bench.api.fault({ match, kind: "dropAfter" });
    const declared = declaration(1, { exceptions: [HOOK] });
    const recorded = await bench.up(declared);
    expect((await bench.rules()).filter(({ ref }) => ref.startsWith("edgeguard/"))).toHaveLength(2);
    expect(await bench.othersRules()).toBe(othersBefore);
    await bench.expectNoChanges(declared, recorded);
  });

  test("the next update finds the rule by its ref, even if nothing was recorded", async () => {
    const declared = declaration(1, { exceptions: [HOOK] });
    bench.api.fault({ match: { method: "POST", path: "/rules$" }, times: 9, kind: "dropAfter" });
    bench.api.fault({
      match: { method: "GET", path: "/entrypoint" },
      times: 40,
      kind: "status",
      status: 503,
    });
    const config = { "edgeguard:liveChecks": "false", "edgeguard:maxRetries": "0" };
    const { recorded } = await bench.operation({ config: config }).failedUp(TYPE, declared);
    expect(recorded).toBeUndefined();
    bench.api.clearFaults();
    const again = await bench.up(declared);
    expect((await bench.rules()).filter(({ ref }) => ref.startsWith("edgeguard/"))).toHaveLength(2);
    await bench.expectNoChanges(declared, again);
  });
});

test("records the rule if the create fails after adding it, and the next update continues from there", async () => {
  const declared = declaration(1, { exceptions: [HOOK] });
  bench.api.fault({ match: { method: "POST", path: "/rules$" }, kind: "slow", delayMs: 0 });
  bench.api.fault({ match: { method: "POST", path: "/rules$" }, kind: "status", status: 400, message: "no" });
  const { message, recorded } = await bench.failedUp(declared);
  expect(message).toContain('Adding rule "edgeguard/site/dev/waf-1/exception/1"');
  expect(await bench.ownRule(`${REF}-1/unfinished`)).toMatchObject({ id: recorded?.id, enabled: false }); // It doesn't act without its exception.
  if (recorded === undefined) throw new Error("nothing was recorded");
  const refreshed = await bench.operation().refresh(TYPE, recorded);
  expect(await bench.warnings(declared, refreshed)).toEqual([]);
  const repaired = await bench.update(recorded.inputs, recorded);
  expect(await bench.ownRule(`${REF}-1`)).toMatchObject({ id: recorded.id, enabled: true });
  await bench.expectNoChanges(declared, repaired);
});

test("an error about a missing ruleset or permission says how to fix it", async () => {
  bench.api.fault({
    match: { method: "POST" },
    kind: "status",
    status: 400,
    code: 50002,
    message: "not entitled",
  });
  expect((await bench.failedUp(declaration(1))).message).toMatch(
    /not entitled .*Your Cloudflare plan may not include this ruleset/,
  );
  bench.api.fault({ match: { method: "POST" }, kind: "status", status: 403, message: "no" });
  expect((await bench.failedUp(declaration(1))).message).toMatch(
    /lacks the Zone WAF Write permission for this zone \(in the dashboard: Zone > Zone WAF > Edit\)/,
  );
  bench.api.clearFaults();
  const error = { code: 20127, message: "no", source: { pointer: "/expression" } };
  const body = JSON.stringify({ success: false, errors: [error], messages: [], result: null });
  bench.api.fault({
    match: { method: "POST" },
    kind: "raw",
    status: 400,
    body,
    contentType: "application/json",
  });
  expect((await bench.failedUp(declaration(1))).message).toMatch(
    /Check the expression in the dashboard's expression editor/,
  );
});
