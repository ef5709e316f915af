import type { LocalApi, WafSettingsChange } from "edgeguard-local";
import { omit, pick, type JsonObject } from "../../provider/basics/json";
import { rawGet, rawSend, refreshedInputs, type Recorded } from "../support/operation";
import { Bench, OFFLINE } from "../support/bench";
import { failureOf } from "../support/edge-client";
import {
  migrated,
  withConfirmation,
  digestFor,
  effectiveSteps,
  entryPoint,
  OWASP,
  PUT,
  puts,
  rulesOf,
  TYPE,
  CLOUDFLARE,
} from "./support";

/** Switches that take time, lost responses, colleagues in the dashboard, and attempts to go back. */

/** Waits are this many times shorter: what they wait for has happened already, or never happens. */
const MOCK_HURRY = 20;
jest.mock("node:timers/promises", () => {
  const actual = jest.requireActual<{ setTimeout(ms: number, ...rest: unknown[]): Promise<unknown> }>(
    "node:timers/promises",
  );
  return {
    ...actual,
    setTimeout: (ms: number, ...rest: unknown[]) => actual.setTimeout(ms / MOCK_HURRY, ...rest),
  };
});

const b = new Bench(TYPE);
let api: LocalApi;
beforeEach(() => void (api = b.api));

const zone = (name: keyof LocalApi["zones"]): string => api.zones[name];

describe("a confirmation", () => {
  const addBeside = async (zoneId: string, rule: JsonObject): Promise<void> => {
    const found = (await rawGet(api, entryPoint(zoneId)))["result"] as { id: string };
    const { success } = await rawSend(api, "POST", `/zones/${zoneId}/rulesets/${found.id}/rules`, rule);
    expect(success).toBe(true);
  };
  const SKIP = {
    action: "skip",
    expression: 'http.host eq "pay.example"',
    action_parameters: { ruleset: "current" },
    description: "added by a colleague",
  };

  test("covers rules that the step removes, so a rule that a colleague adds after the review isn't deleted", async () => {
    const zoneId = zone("migrateEnterprise");
    const validated = await migrated(api, { zoneId, target: "validation" });
    const args = { zoneId, target: "finished", configuration: validated.outputs["proposedConfiguration"] };
    const confirm = await digestFor(api, args, validated);
    await addBeside(zoneId, SKIP);
    expect(await digestFor(api, args, validated)).not.toBe(confirm);
    const sent = puts(api).length;
    await expect(b.up({ ...args, confirm }, validated)).rejects.toThrow(/confirm/);
    expect(puts(api)).toHaveLength(sent);
    expect((await rulesOf(api, zoneId)).map(({ description }) => description)).toContain(SKIP.description);
  });

  test("covers rules that the step overwrites, so a colleague's change isn't silently lost", async () => {
    const zoneId = zone("migrateEnterprise");
    const validated = await migrated(api, { zoneId, target: "validation" });
    const args = { zoneId, target: "finished", configuration: validated.outputs["proposedConfiguration"] };
    const confirm = await digestFor(api, args, validated);
    const found = (await rawGet(api, entryPoint(zoneId)))["result"] as { id: string };
    const owasp = (await rulesOf(api, zoneId)).find(
      ({ action_parameters: parameters }) => parameters["id"] === OWASP,
    );
    const path = `/zones/${zoneId}/rulesets/${found.id}/rules/${String(owasp?.id)}`;
    await rawSend(api, "PATCH", path, { ...owasp, action_parameters: { id: OWASP } });
    expect(await digestFor(api, args, validated)).not.toBe(confirm);
  });
});

describe("a finished migration that Cloudflare has retired", () => {
  test.each<[string, (inputs: JsonObject) => JsonObject]>([
    ["confirm removed", (inputs) => omit(inputs, ["confirm"])],
    ["waitFor added", (inputs) => ({ ...inputs, waitFor: { timeout: 60 } })],
    ["plan added", (inputs) => ({ ...inputs, plan: "pro" })],
  ])("still accepts changed arguments: %s", async (_, edited) => {
    const zoneId = zone("migratePro");
    const done = await migrated(api, { zoneId, target: "finished" });
    api.inDashboard(zoneId, { do: "retire", status: 410 });
    const inputs = pick(done.inputs, ["zoneId", "target", "confirm"]);
    const after = await b.up(edited(inputs), done);
    expect(after.outputs).toMatchObject({ migrationState: "finished" });
    expect(puts(api)).toEqual([PUT.pending]);
  });
});

test("reports previous OWASP overrides as notCounted if they can't be read", async () => {
  api.fault({ kind: "status", status: 403, times: 50, match: { method: "GET", path: "/groups" } });
  const { outputs } = await b.up({
    zoneId: zone("migrateEnterprise"),
    target: "assessed",
  });
  expect(outputs["findings"]).toContainEqual(
    expect.objectContaining({
      weight: "notCounted",
      text: expect.stringMatching(/OWASP group overrides/) as string,
    }),
  );
});

describe("an update whose switch takes time", () => {
  test("waits until Cloudflare has completed the switch", async () => {
    api.changeWaf({ pendingMs: 300 });
    const recorded = await migrated(api, { zoneId: zone("migratePro"), target: "finished" });
    expect(recorded.outputs).toMatchObject({ migrationState: "finished" });
    expect(puts(api)).toEqual([PUT.pending]);
  });

  test.each(["previous", "both"] as const)(
    "records a switch that exceeds the timeout, and the next update waits without a second PUT (versions reported as on: %s)",
    async (pendingShows) => {
      api.changeWaf({ pendingShows });
      const zoneId = zone("migratePro");
      api.inDashboard(zoneId, { do: "hang" });
      const inputs = await withConfirmation(api, { zoneId, target: "finished", waitFor: { timeout: 0 } });
      const { message, recorded } = await b.failedUp(inputs);
      expect(message).toMatch(
        /after 0 s the zone is at .*, not finished\. Any step that was already sent stays in effect\. Run `pulumi up` again/,
      );
      expect(recorded?.outputs).toMatchObject({
        migrationState: pendingShows === "both" ? "validation" : "pending",
        history: [{ step: "finished", event: "sent" }],
      });
      if (recorded === undefined) throw new Error("nothing was recorded");
      // Even if a refresh cleared the failure, a preview says that the update waits.
      const preview = b.operation();
      expect(await preview.preview(TYPE, inputs, recorded)).toMatchObject({ step: "update" });
      expect(preview.warned).toEqual([
        expect.stringMatching(/the step to finished was sent at .*\. The update waits for that step/),
      ]);
      // The engine calls update for what is half done, although nothing differs; still no second PUT, and what was
      // confirmed is not judged again by what has come since.
      api.inDashboard(zoneId, { do: "adjust", change: { description: "meanwhile" } });
      await expect(b.update(inputs, recorded)).rejects.toThrow(/not finished/);
      api.inDashboard(zoneId, { do: "completeSwitch" });
      const refresh = b.operation();
      expect(await refresh.refresh(TYPE, recorded)).toMatchObject({
        outputs: { migrationState: "finished" },
      });
      expect(refresh.said).toEqual([expect.stringContaining("reached finished")]);
      const done = await b.update(inputs, recorded);
      expect(done.outputs).toMatchObject({
        migrationState: "finished",
        history: [
          { step: "finished", event: "sent" },
          { step: "finished", event: "reached" },
        ],
      });
      expect(puts(api)).toEqual([PUT.pending]);
    },
  );

  test.each([
    ["previous", undefined],
    ["both", "pro"],
    ["both", undefined],
  ] as const)(
    "continues a switch that wasn't recorded, with one effective PUT (versions reported as on: %s, plan: %s)",
    async (pendingShows, plan) => {
      api.changeWaf({ pendingShows });
      const zoneId = zone("migratePro");
      api.inDashboard(zoneId, { do: "hang" });
      const args = {
        zoneId,
        target: "finished",
        waitFor: { timeout: 0 },
        ...(plan === undefined ? {} : { plan }),
      };
      const inputs = await withConfirmation(api, args);
      await b.failedUp(inputs); // As if its process had been killed before the record.
      const rules = await rulesOf(api, zoneId);
      await b.failedUp(inputs);
      api.inDashboard(zoneId, { do: "completeSwitch" });
      expect((await b.up(inputs)).outputs).toMatchObject({
        migrationState: "finished",
      });
      expect(effectiveSteps(api, zoneId)).toEqual(["start > pending"]);
      expect(await rulesOf(api, zoneId)).toEqual(rules);
    },
  );

  const names = { start: "start", validation: "stage-7", pending: "stage-8", finished: "stage-9" };
  test.each<[string, WafSettingsChange]>([
    ["statuses in words", { stateNames: names, statusValues: "words" }],
    ["statuses on and off", { stateNames: names, statusValues: "onOff" }],
    ["boolean statuses", { stateNames: names, statusValues: "boolean" }],
    [
      "renamed fields",
      {
        stateNames: names,
        statusMembers: { state: "state", previous: "previousRules", next: "new_rules_enabled" },
      },
    ],
  ])(
    "recognizes the switch if its states have unknown names and the API reports %s",
    async (_how, change) => {
      api.changeWaf({ ...change, pendingMs: 100 });
      const zoneId = zone("migrateEnterprise");
      const validating = await migrated(api, { zoneId, target: "validation" });
      expect(validating.outputs).toMatchObject({ migrationState: "validation" });
      const recorded = await migrated(api, { zoneId, target: "finished" }, validating);
      expect(recorded.outputs).toMatchObject({ migrationState: "finished" });
      expect(effectiveSteps(api, zoneId)).toEqual(["start > validation", "validation > pending"]);
      expect(puts(api)).toEqual([PUT.validation, PUT.pending]);
    },
  );

  test("fails at once if Cloudflare retires the migration during the switch", async () => {
    const zoneId = zone("migratePro");
    api.inDashboard(zoneId, { do: "hang" });
    const inputs = await withConfirmation(api, { zoneId, target: "finished" });
    const running = b.failedUp(inputs);
    while (puts(api).length === 0) await new Promise((done) => setTimeout(done, 5));
    api.inDashboard(zoneId, { do: "retire", status: 404 });
    const { message, recorded } = await running;
    expect(message).toContain("Cloudflare retired the migration before the zone reached finished");
    expect(recorded?.outputs).toMatchObject({
      migrationState: "retired",
      history: [{ step: "finished", event: "sent" }],
    });
  });

  test("never sends a PUT if Cloudflare reports the initial state under an unknown name", async () => {
    api.changeWaf({ stateNames: { start: "phase-two-ready" } });
    const inputs = { zoneId: zone("migratePro"), target: "finished", waitFor: { timeout: 0 } };
    const op = b.operation();
    const { message } = await op.failedUp(TYPE, inputs);
    expect(op.said[0]).toContain('state "phase-two-ready"');
    expect(message).toContain('the zone is at "phase-two-ready", not finished');
    expect(puts(api)).toEqual([]);
  });

  test("never sends a PUT if the status contradicts itself", async () => {
    const zoneId = zone("migrateValidating");
    api.changeWaf({ stateNames: { validation: "start" } });
    expect(await b.refusals({ zoneId, target: "finished" })).toEqual([
      expect.stringMatching(/both versions as enabled, but reports the state "start"/),
    ]);
    expect(puts(api)).toEqual([]);
  });
});

describe("the response to the PUT", () => {
  test.each([
    ["is lost after the PUT was carried out", { kind: "dropAfter" }, true],
    ["is cut off", { kind: "truncated" }, true],
    ["never comes because the PUT was not carried out", { kind: "dropBefore" }, false],
    ["is a 503 because the PUT was not carried out", { kind: "status", status: 503 }, false],
    ["is a proxy's error page", { kind: "raw", status: 502, body: "<html>" }, false],
  ] as const)(
    "doesn't decide whether the step was applied if it %s: the zone's state does",
    async (_what, fault, carriedOut) => {
      const zoneId = zone("migratePro");
      const inputs = await withConfirmation(api, { zoneId, target: "finished" });
      api.fault({ ...fault, match: { method: "PUT" } });
      if (carriedOut) {
        const op = b.operation();
        const { outputs } = await op.up(TYPE, inputs);
        expect(outputs).toMatchObject({ migrationState: "finished" });
        expect(op.said.join("\n")).toContain("moved on to finished despite this error");
        expect(puts(api)).toEqual([PUT.pending]);
      } else {
        const { message, recorded } = await b.failedUp(inputs);
        expect(message).toMatch(
          /Cloudflare may have applied the change\. .*The zone is still at start\. Run `pulumi up` again/,
        );
        expect(recorded?.outputs["history"]).toMatchObject([{ step: "finished", event: "unclear" }]);
        expect(puts(api)).toEqual([PUT.pending]); // Not sent again by a timer: by a person's next up.
        if (recorded === undefined) throw new Error("nothing was recorded");
        const done = await b.update(inputs, recorded);
        expect(done.outputs).toMatchObject({ migrationState: "finished" });
      }
      expect(effectiveSteps(api, zoneId)).toEqual(["start > pending"]);
    },
    15_000,
  );

  describe("that leaves open whether Cloudflare accepted the step", () => {
    const failed = async (target: "validation" | "finished", previous?: Recorded): Promise<Recorded> => {
      const zoneId = zone("migrateEnterprise");
      const inputs = await withConfirmation(api, { zoneId, target }, previous);
      api.fault({ kind: "dropBefore", match: { method: "PUT" } });
      const { recorded } = await b.failedUp(inputs, previous);
      if (recorded === undefined) throw new Error("nothing was recorded");
      return recorded;
    };

    test("leaves the target pending: previews show an update and why, and the next update completes it", async () => {
      const recorded = await failed("finished");
      expect(recorded.outputs).toMatchObject({ target: "assessed", migrationState: "start" });
      const preview = b.operation();
      expect(await preview.preview(TYPE, recorded.inputs, recorded)).toMatchObject({ step: "update" });
      expect(preview.warned).toEqual([
        expect.stringMatching(
          /it's unclear whether Cloudflare accepted the step to finished, because the response was lost; the zone was last seen at start\. The update reads the zone first, and sends the step only if the zone hasn't moved on/,
        ),
      ]);
      const done = await b.up(recorded.inputs, recorded);
      expect(done.outputs).toMatchObject({ target: "finished", migrationState: "finished" });
      const after = b.operation();
      expect(await after.preview(TYPE, done.inputs, done)).toMatchObject({ step: "same" });
      expect(after.warned).toEqual([]);
    });

    test("is followed by a preview that still shows the step, even after a refresh clears the failure", async () => {
      const recorded = await failed("finished");
      const refreshed = await b.refresh(recorded);
      expect(refreshed.inputs).toMatchObject({ target: "assessed" });
      const op = b.operation();
      expect(await op.preview(TYPE, recorded.inputs, refreshed)).toMatchObject({ step: "update" });
      expect(op.said.join("\n")).toContain('confirmed: the next update sends this step (target "finished")');
      const withdrawn = { zoneId: zone("migrateEnterprise"), target: "assessed" };
      expect(await b.refusals(withdrawn, refreshed)).toEqual([]);
    });

    test("leaves the previous step recorded as reached", async () => {
      const validated = await migrated(api, { zoneId: zone("migrateEnterprise"), target: "validation" });
      const recorded = await failed("finished", validated);
      expect(recorded.outputs).toMatchObject({ target: "validation", migrationState: "validation" });
    });
  });

  test.each([500, 400, 403])(
    "doesn't fail the update if it's a %i although Cloudflare applied the configuration",
    async (status) => {
      const zoneId = zone("migrateEnterprise");
      api.inDashboard(zoneId, { do: "failAfterPut", status, times: 2 });
      const validating = await migrated(api, { zoneId, target: "validation" });
      const recorded = await migrated(api, { zoneId, target: "finished" }, validating);
      expect(recorded.outputs).toMatchObject({ migrationState: "finished" });
      expect(puts(api)).toEqual([PUT.validation, PUT.pending]);
    },
  );

  test("makes the update read and check everything again before the next PUT if it's a 429", async () => {
    const zoneId = zone("migratePro");
    const inputs = await withConfirmation(api, { zoneId, target: "finished" });
    api.fault({ kind: "status", status: 429, retryAfter: 1, match: { method: "PUT" } });
    const op = b.operation();
    const running = op.up(TYPE, inputs);
    while (!api.requests.some(({ status }) => status === 429))
      await new Promise((done) => setTimeout(done, 5));
    api.inDashboard(zoneId, { do: "package", sensitivity: "low" });
    await expect(running).rejects.toThrow(/confirm doesn't match/);
    expect(puts(api)).toHaveLength(1);
    expect(effectiveSteps(api, zoneId)).toEqual([]);
  });

  test("is quoted in the error if it's still a 429 after the retries", async () => {
    const zoneId = zone("migratePro");
    const inputs = await withConfirmation(api, { zoneId, target: "finished" });
    api.fault({ kind: "status", status: 429, times: 20, match: { method: "PUT" } });
    const patient = { config: { "edgeguard:maxRetries": "5" } };
    const { message } = await b.operation(patient).failedUp(TYPE, inputs);
    expect(message).toMatch(/returned 429 Too Many Requests.*The zone is unchanged\./);
    expect(message).not.toContain("keeps changing");
    expect(puts(api)).toHaveLength(5);
  });

  test("fails the update if it's a refusal: the error says what to do, and nothing is recorded", async () => {
    const zoneId = zone("migratePro");
    const inputs = await withConfirmation(api, { zoneId, target: "validation" });
    const { message, recorded } = await b.failedUp(inputs);
    expect(message).toMatch(
      /validation is available to Enterprise zones only \[code 12023\].*Validation requires an Enterprise zone/,
    );
    expect(recorded).toBeUndefined();
    expect(effectiveSteps(api, zoneId)).toEqual([]);
  });
});

describe("when someone else moves the zone forward,", () => {
  test.each([
    ["assessed", "finish"],
    ["assessed", "validate"],
    ["validation", "finish"],
  ] as const)(
    "a refresh records the move from %s (dashboard: %s) and reports it once; the next preview shows no change",
    async (target, action) => {
      const zoneId = zone("migrateEnterprise");
      const inputs = { zoneId, target };
      const recorded = target === "assessed" ? await b.up(inputs) : await migrated(api, inputs);
      api.inDashboard(zoneId, { do: action });
      api.clearRequests();
      const op = b.operation();
      const refreshed = await op.refresh(TYPE, recorded);
      const state = action === "finish" ? "finished" : "validation";
      expect(op.said).toEqual([
        expect.stringContaining(
          `someone moved the zone's WAF migration to the state "${state}" outside this program`,
        ),
      ]);
      if (refreshed === undefined) throw new Error("the resource is gone");
      expect(refreshed.inputs).toMatchObject({ target });
      expect(refreshed.outputs).toMatchObject({ target, migrationState: state });
      expect(refreshed.outputs["history"]).toContainEqual(
        expect.objectContaining({ step: state, event: "found" }),
      );
      expect(await b.step(recorded.inputs, refreshed)).toBe("same");
      const again = b.operation();
      expect(await again.refresh(TYPE, refreshed)).toEqual(refreshed);
      expect(again.said).toEqual([]);
      expect(puts(api)).toEqual([]);
    },
  );

  test("a preview without a refresh shows an update that only records the move", async () => {
    const inputs = { zoneId: zone("migratePro"), target: "assessed" };
    const recorded = await b.up(inputs);
    api.inDashboard(inputs.zoneId, { do: "finish" });
    expect(await b.step(inputs, recorded)).toBe("update");
    const updated = await b.up(inputs, recorded);
    expect(updated.outputs).toMatchObject({ target: "assessed", migrationState: "finished" });
    expect(await b.step(inputs, updated)).toBe("same");
    expect(puts(api)).toEqual([]);
  });

  test("the update records a move since the review, and sends nothing", async () => {
    const zoneId = zone("migratePro");
    const inputs = await withConfirmation(api, { zoneId, target: "finished" });
    const assessed = await b.up({ zoneId, target: "assessed" });
    const op = b.operation();
    const plan = await op.preview(TYPE, inputs, assessed);
    api.inDashboard(zoneId, { do: "finish" });
    const recorded = await op.update(TYPE, plan.inputs, assessed);
    expect(recorded.outputs).toMatchObject({ migrationState: "finished" });
    expect(op.said.at(-1)).toContain("already at finished; this update sent nothing");
    expect(puts(api)).toEqual([]);
  });

  test("the update records a move between its last read and the PUT, and sends nothing", async () => {
    const zoneId = zone("migratePro");
    const inputs = await withConfirmation(api, { zoneId, target: "finished" });
    api.clearRequests();
    const path = "phases/http_request_firewall_managed/entrypoint";
    api.fault({ kind: "slow", delayMs: 300, when: "after", match: { method: "GET", path } });
    const blind = b.operation(OFFLINE);
    const running = blind.up(TYPE, inputs);
    while (!api.requests.some((r) => r.path.endsWith("/entrypoint")))
      await new Promise((done) => setTimeout(done, 5));
    api.inDashboard(zoneId, { do: "finish" });
    expect((await running).outputs).toMatchObject({ migrationState: "finished" });
    expect(puts(api)).toEqual([]);
  });

  test("the update fails and sends nothing if the zone moves during its first read, and the next one records it", async () => {
    const zoneId = zone("migratePro");
    const inputs = await withConfirmation(api, { zoneId, target: "finished" });
    api.clearRequests();
    const path = "/waf_migration/config";
    api.fault({ kind: "slow", delayMs: 300, when: "before", match: { method: "GET", path } });
    const ended = failureOf(b.operation(OFFLINE).up(TYPE, inputs));
    while (!api.requests.some((r) => r.path.endsWith(path))) await new Promise((done) => setTimeout(done, 5));
    api.inDashboard(zoneId, { do: "finish" });
    expect((await ended).message).toContain("waf_migration/config");
    expect((await b.up(inputs)).outputs).toMatchObject({ migrationState: "finished" });
    expect(puts(api)).toEqual([]);
  });

  test("a new stack records the finished zone with four requests, and leaves it alone", async () => {
    const zoneId = zone("migrateFinished");
    const rules = await rulesOf(api, zoneId);
    api.clearRequests();
    const op = b.operation();
    const recorded = await op.up(TYPE, { zoneId, target: "finished" });
    expect(api.requests.map(({ method, path }) => `${method} ${path.split("/").at(-1) ?? ""}`)).toEqual([
      "GET status", // The check
      "GET entrypoint",
      "GET status", // and the create.
      "GET entrypoint",
    ]);
    expect(recorded.outputs).toMatchObject({ migrationState: "finished" });
    expect(recorded.outputs["history"]).toMatchObject([
      { step: "assessed" },
      { step: "finished", event: "found" },
    ]);
    expect(await rulesOf(api, zoneId)).toEqual(rules);
  });
});

test("a finished zone stays recorded as finished once Cloudflare retires the migration", async () => {
  const zoneId = zone("migratePro");
  const finished = await migrated(api, { zoneId, target: "finished" });
  api.inDashboard(zoneId, { do: "retire", status: 410 });
  const op = b.operation();
  expect(await op.refresh(TYPE, finished)).toEqual({ ...finished, inputs: refreshedInputs(finished) });
  expect(op.said).toEqual([expect.stringContaining("Cloudflare has retired the migration")]);
  expect(await b.step(finished.inputs, finished)).toBe("same");
});

describe("because a migration can't be undone,", () => {
  test.each([
    ["validation", "assessed", /Keep target: "validation", or continue with target: "finished"/],
    ["finished", "validation", /Keep target: "finished", which no longer sends anything/],
    ["finished", "assessed", /Or remove the resource, which leaves the zone as it is/],
  ] as const)("a preview refuses to go from %s to %s, without a request", async (from, to, instead) => {
    const zoneId = zone("migrateEnterprise");
    const recorded = await migrated(api, { zoneId, target: from });
    api.clearRequests();
    const refused = await b.refusals({ zoneId, target: to }, recorded);
    expect(refused).toEqual([
      expect.stringContaining(`target: can't go back from "${from}" to "${to}" for zone ${zoneId}`),
    ]);
    expect(refused[0]).toMatch(instead);
    expect(api.requests).toEqual([]);
  });

  test("changing zoneId starts the new zone's migration, and leaves the old zone as it is", async () => {
    const finished = await migrated(api, { zoneId: zone("migratePro"), target: "finished" });
    const inputs = { zoneId: zone("migrateBusiness"), target: "assessed" };
    const op = b.operation();
    expect(await op.preview(TYPE, inputs, finished)).toMatchObject({ replaces: ["zoneId"] });
    api.clearRequests();
    const moved = await op.up(TYPE, inputs, finished);
    expect(moved.id).toBe(zone("migrateBusiness"));
    expect(op.warned).toEqual([
      expect.stringMatching(
        /zone .*601: removed from the state\. A migration can't be undone, so the zone stays as it is \(last seen at finished\)/,
      ),
    ]);
    expect(puts(api)).toEqual([]);
    expect(api.waf(zone("migratePro")).phase).toBe("finished");
    // The other zone needs its own confirmation.
    expect(await b.refusals({ ...finished.inputs, zoneId: zone("migrateBusiness") }, finished)).toEqual([
      expect.stringMatching(/^confirm: doesn't match/),
    ]);
  });

  test.each([
    ["assessed", []],
    [
      "validation",
      [
        expect.stringMatching(
          /removed from the state\. A migration can't be undone, so the zone stays as it is \(last seen at validation\)/,
        ),
      ],
    ],
    [
      "finished",
      [
        expect.stringMatching(
          /removed from the state\. A migration can't be undone, so the zone stays as it is \(last seen at finished\)/,
        ),
      ],
    ],
  ] as const)("destroying a migration at %s sends nothing", async (target, warnings) => {
    const inputs = { zoneId: zone("migrateEnterprise"), target };
    const recorded = target === "assessed" ? await b.up(inputs) : await migrated(api, inputs);
    api.clearRequests();
    const op = b.operation({ config: { "edgeguard:apiToken": "" } }); // Not even a credential is needed.
    await op.destroy(TYPE, recorded);
    expect(op.warned).toEqual(warnings);
    const stays =
      "removed from the state. Nothing was sent, so the zone stays as it is (last seen at start).";
    expect(op.said.join()).toContain(target === "assessed" ? stays : "");
    expect(api.requests).toEqual([]);
  });

  test("a rename without an alias sends no PUT", async () => {
    const recorded = await migrated(api, { zoneId: zone("migratePro"), target: "finished" });
    api.clearRequests();
    const op = b.operation();
    await op.up(TYPE, recorded.inputs);
    await op.destroy(TYPE, recorded);
    expect(puts(api)).toEqual([]);
    expect(op.said.at(-1)).toContain("is kept: another resource in this program adopted it");
  });
});

describe("arguments", () => {
  const execute = { action: "execute", expression: "true", actionParameters: { id: CLOUDFLARE } };
  test.each<[JsonObject, RegExp]>([
    [{ zoneId: undefined }, /^zoneId: is required/],
    [{ confrim: "0".repeat(64) }, /^confrim: unknown argument "confrim"\. Did you mean "confirm"\?/],
    [{ waitFor: { timeout: 172_800 } }, /^waitFor\.timeout: must be at most 86400, not 172800/],
    [{ configuration: [execute, execute] }, /^configuration\[1\]: is the same rule as configuration\[0\]/],
    [
      { configuration: [{ ...execute, action_parameters: {} }] },
      /^configuration\[0\]: unknown option "action_parameters". Did you mean "actionParameters"/,
    ],
    [
      { configuration: [{ action: "execute", expression: "true" }] },
      /^configuration\[0\]\.actionParameters: has no id/,
    ],
    [
      { configuration: [{ ...execute, expression: " " }] },
      /^configuration\[0\]\.expression: is empty\. Use an expression/,
    ],
  ])("are refused with one sentence, before any request: %p", async (change, sentence) => {
    const inputs = { zoneId: zone("migratePro"), target: "assessed", ...change };
    expect(await b.refusals(inputs)).toEqual([expect.stringMatching(sentence)]);
    expect(api.requests).toEqual([]);
  });
});

test("keeps existing rules that aren't in the proposal, with all their fields", async () => {
  const zoneId = zone("migrateDeployed");
  const before = await rulesOf(api, zoneId);
  await rawSend(api, "PUT", entryPoint(zoneId), {
    rules: [
      { ...before[0], ref: "security-team/office", logging: { enabled: false } },
      before[1],
      { action: "skip", expression: "not ssl", action_parameters: { rulesets: [OWASP] }, enabled: false },
    ],
  });
  const kept = await rulesOf(api, zoneId);
  await migrated(api, { zoneId, target: "finished" });
  const after = await rulesOf(api, zoneId);
  expect([after[0], after[2]]).toEqual([kept[0], kept[2]]);
  expect(await digestFor(api, { zoneId: zone("migratePro"), target: "finished" })).toMatch(/^[0-9a-f]{64}$/);
});
