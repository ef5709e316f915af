import { setTimeout as delay } from "node:timers/promises";
import type { Fault, LocalApi } from "edgeguard-local";
import type { JsonObject } from "../../provider/basics/json";
import { Bench, OFFLINE } from "../support/bench";
import { withConfirmation, effectiveSteps, entryPoint, PUT, puts, rulesOf, TYPE } from "./support";
import { rawGet, rawSend, type Operation, type Recorded } from "../support/operation";

/** What others write to a zone's entry point around the PUT of a migration, which replaces it completely. */

const b = new Bench(TYPE);
let api: LocalApi;
beforeEach(() => void (api = b.api));

const SKIP = {
  action: "skip",
  expression: 'http.host eq "pay.example"',
  action_parameters: { ruleset: "current" },
  description: "added by a colleague",
};

/** An operation without live checks: only the writing verbs read the zone. */
const blind = (): Operation => b.operation(OFFLINE);

async function rulesPath(zoneId: string): Promise<string> {
  const { id } = (await rawGet(api, entryPoint(zoneId)))["result"] as { id: string };
  return `/zones/${zoneId}/rulesets/${id}/rules`;
}

async function change(method: string, path: string, body?: JsonObject): Promise<void> {
  const { success, errors } = await rawSend(api, method, path, body);
  if (!success) throw new Error(JSON.stringify(errors));
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await delay(2);
}

/** Runs an update, and the colleague's change while the matching request is on its way to the zone. */
async function around<T>(
  match: { method: string; path: string },
  running: () => Promise<T>,
  meanwhile: () => Promise<void>,
  nth = 1,
): Promise<T> {
  const matching = (): number =>
    api.requests.filter(({ method, path }) => method === match.method && path.endsWith(match.path)).length;
  const before = matching();
  const slow: Fault = { kind: "slow", delayMs: 0, match };
  if (nth > 1) api.fault({ ...slow, times: nth - 1 });
  api.fault({ ...slow, delayMs: 150, when: match.method === "GET" ? "after" : "before" });
  const run = running();
  await until(() => matching() === before + nth);
  await delay(20);
  await meanwhile();
  return await run;
}

const PUT_OF = (zoneId: string) => ({ method: "PUT", path: entryPoint(zoneId) });

describe("a step during which a colleague adds a rule", () => {
  test.each([false, true])(
    "names the rule and the version that still has it, if it was added just before the PUT (response lost: %s)",
    async (isLost) => {
      const zoneId = api.zones.migrateDeployed;
      const inputs = await withConfirmation(api, { zoneId, target: "finished" });
      const path = await rulesPath(zoneId);
      const op = blind();
      if (isLost) api.inDashboard(zoneId, { do: "failAfterPut", status: 500 });
      const recorded = await around(
        PUT_OF(zoneId),
        () => op.up(TYPE, inputs),
        () => change("POST", path, { ...SKIP, ref: "pay" }),
      );
      expect((await rulesOf(api, zoneId)).map(({ ref }) => ref)).not.toContain("pay");
      expect(op.warned.join("\n")).toMatch(
        /someone wrote a rule just before the PUT, which overwrote it: skip all remaining rules where .*pay\.example.* \("added by a colleague"\)\. Version \d+ of the entry point \([0-9a-f]{32}\) still has it\./,
      );
      const [found, ...more] = recorded.outputs["concurrentChanges"] as { version: number }[];
      expect(found).toMatchObject({ rule: { action: "skip", expression: SKIP.expression, ref: "pay" } });
      expect(more).toEqual([]);
      const version = path.replace(/\/rules$/, `/versions/${found?.version ?? 0}`);
      const { rules } = (await rawGet(api, version))["result"] as { rules: { ref: string }[] };
      expect(rules.map(({ ref }) => ref)).toContain("pay");
      expect((await blind().refresh(TYPE, recorded))?.outputs).toMatchObject({ concurrentChanges: [found] });
      expect((await blind().up(TYPE, { zoneId, target: "finished" }, recorded)).outputs).toMatchObject({
        concurrentChanges: [found],
      });
    },
  );

  test("reports that a rule was added just before the PUT, even if earlier versions can't be read", async () => {
    const zoneId = api.zones.migrateDeployed;
    const inputs = await withConfirmation(api, { zoneId, target: "finished" });
    const path = await rulesPath(zoneId);
    api.fault({ kind: "status", status: 403, times: 9, match: { method: "GET", path: "/versions/" } });
    const op = blind();
    const recorded = await around(
      PUT_OF(zoneId),
      () => op.up(TYPE, inputs),
      () => change("POST", path, SKIP),
    );
    expect(op.warned.join("\n")).toMatch(
      /couldn't check whether the PUT overwrote someone else's rule in zone .*\. Check the account's audit log/,
    );
    expect(recorded.outputs["concurrentChanges"]).toHaveLength(1);
  });

  test("sends nothing if the rule was added while the update read the zone, and shows what it would send now", async () => {
    const zoneId = api.zones.migrateDeployed;
    const inputs = await withConfirmation(api, { zoneId, target: "finished" });
    const path = await rulesPath(zoneId);
    const { message } = await around(
      { method: "GET", path: entryPoint(zoneId) },
      () => blind().failedUp(TYPE, inputs),
      () => change("POST", path, SKIP),
    );
    expect(message).toMatch(
      /confirm doesn't match[\s\S]*\d\. skip all remaining rules where .*pay\.example.* \[exists\]/,
    );
    expect(puts(api).filter((line) => line.startsWith("PUT"))).toEqual([]);
  });

  test("still accepts the confirmation if the colleague removes the rule again", async () => {
    const zoneId = api.zones.migrateDeployed;
    const inputs = await withConfirmation(api, { zoneId, target: "finished" });
    const path = await rulesPath(zoneId);
    const { outputs } = await around(
      { method: "GET", path: entryPoint(zoneId) },
      () => blind().up(TYPE, inputs),
      async () => {
        await change("POST", path, { ...SKIP, ref: "pay" });
        const made = (await rulesOf(api, zoneId)).find(({ ref }) => ref === "pay");
        await change("DELETE", `${path}/${made?.id ?? ""}`);
      },
    );
    expect(outputs).toMatchObject({ migrationState: "finished" });
    expect(outputs).not.toHaveProperty("concurrentChanges");
  });

  test("leaves the rule alone, without a message, if it was added right after the PUT", async () => {
    const zoneId = api.zones.migrateDeployed;
    const inputs = await withConfirmation(api, { zoneId, target: "finished" });
    const path = await rulesPath(zoneId);
    api.fault({ kind: "slow", delayMs: 150, when: "after", match: PUT_OF(zoneId) });
    const op = blind();
    const running = op.up(TYPE, inputs);
    await until(() => effectiveSteps(api, zoneId).length > 0);
    await change("POST", path, { ...SKIP, ref: "pay" });
    const { outputs } = await running;
    expect(outputs).not.toHaveProperty("concurrentChanges");
    expect(op.warned).toEqual([]);
    expect((await rulesOf(api, zoneId)).map(({ ref }) => ref)).toContain("pay");
  });
});

test("names a colleague's change to a rule if the PUT overwrote it", async () => {
  const zoneId = api.zones.migrateDeployed;
  const inputs = await withConfirmation(api, { zoneId, target: "finished" });
  const [skip] = await rulesOf(api, zoneId);
  const { action, action_parameters, ref, expression, id = "" } = skip ?? {};
  const theirs = { action, action_parameters, ref, expression: "ssl", description: "theirs" };
  const path = `${await rulesPath(zoneId)}/${id}`;
  const recorded = await around(
    PUT_OF(zoneId),
    () => blind().up(TYPE, inputs),
    () => change("PATCH", path, theirs),
  );
  expect((await rulesOf(api, zoneId))[0]).toMatchObject({ id, expression });
  expect(recorded.outputs["concurrentChanges"]).toMatchObject([
    { rule: { expression: "ssl", description: "theirs" } },
  ]);
});

test("reports a sent rule that someone removed right after the PUT", async () => {
  const zoneId = api.zones.migrateDeployed;
  const inputs = await withConfirmation(api, { zoneId, target: "finished" });
  const [skip] = await rulesOf(api, zoneId);
  const path = `${await rulesPath(zoneId)}/${skip?.id ?? ""}`;
  api.fault({ kind: "slow", delayMs: 150, when: "after", match: PUT_OF(zoneId) });
  const op = blind();
  const running = op.up(TYPE, inputs);
  await until(() => effectiveSteps(api, zoneId).length > 0);
  await change("DELETE", path);
  expect((await running).outputs["concurrentChanges"]).toMatchObject([
    { rule: { expression: skip?.expression } },
  ]);
  expect(op.warned.join("\n")).toMatch(/the entry point \(2 rules\) is missing a rule that was sent: skip/);
});

describe("two updates of one zone at the same time", () => {
  test.each([
    ["validation", "migrateEnterprise", "previous"],
    ["finished", "migrateDeployed", "previous"],
    ["finished", "migrateDeployed", "both"],
    ["finished", "migrateValidating", "previous"],
    ["finished", "migrateValidating", "both"],
  ] as const)(
    "send only one PUT (target %s, zone %s, versions reported as on during the switch: %s)",
    async (target, name, pendingShows) => {
      const zoneId = api.zones[name];
      api.changeWaf({ pendingShows, pendingMs: 300 });
      const inputs = await withConfirmation(api, { zoneId, target });
      const both: Recorded[] = await Promise.all([blind().up(TYPE, inputs), blind().up(TYPE, inputs)]);
      expect(both.map(({ outputs }) => outputs["migrationState"])).toEqual([target, target]);
      expect(puts(api)).toEqual([target === "validation" ? PUT.validation : PUT.pending]);
    },
  );
});
