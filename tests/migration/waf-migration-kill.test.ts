import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { forwarder } from "../../provider/runtime/forwarder";
import type { JsonObject } from "../../provider/basics/json";
import { LONG } from "../support/long";
import { withConfirmation, effectiveSteps, PUT, puts, rulesOf, TYPE } from "./support";
import { Operation, type Recorded } from "../support/operation";
import { providerProcess, type ProviderProcess } from "../support/provider-process";
import { folderPerFile } from "../support/bench";

/**
 * kill -9 at every point of a step: at each request before the PUT, in it, and at each after it. A zone for every point,
 * all in one process, held where they are; then the process dies, once for all of them.
 */

/** Longer than the test needs: a request that is kept so long is never answered to the process that dies. */
const KEPT_MS = 20_000;
/** A PUT that is kept so long, and then carried out although its sender has died. */
const LATE_MS = 1_500;

const ENTRY_POINT = "rulesets/phases/http_request_firewall_managed/entrypoint";
const STATUS = "GET waf_migration/status";

/** A request of a step; `nth` of those alike. */
interface Asked {
  readonly at: string;
  readonly nth?: number;
  readonly when?: "before" | "after";
}

/** What a step asks, in its order (the previous settings side by side), and where else it may be met. */
const POINTS: readonly Asked[] = [
  { at: STATUS },
  { at: "GET firewall/waf/packages" },
  { at: "GET firewall/waf/packages/[0-9a-f]{32}/groups" },
  { at: "GET firewall/waf/packages/[0-9a-f]{32}/rules" },
  { at: "GET firewall/waf/overrides" },
  { at: "GET firewall/rules" },
  { at: "GET pagerules" },
  { at: "GET waf_migration/check" },
  { at: "GET waf_migration/config" },
  { at: `GET ${ENTRY_POINT}` },
  { at: STATUS, nth: 2 },
  { at: `GET ${ENTRY_POINT}`, nth: 2 },
  { at: `PUT ${ENTRY_POINT}`, when: "before" },
  { at: `PUT ${ENTRY_POINT}`, when: "after" },
  { at: `GET ${ENTRY_POINT}`, nth: 3 },
  { at: STATUS, nth: 3 },
  { at: "a switch that hangs" },
  { at: "the end, before it is recorded" },
];
const PUT_AT = POINTS.findIndex(({ at }) => at.startsWith("PUT"));

/** In the normal run, the points take turns in the two steps; the PUT's own two are met in both. */
const STOPS = (["validation", "finished"] as const).flatMap((step) =>
  POINTS.map((point, index) => ({ step, point, index }))
    .filter(({ point: { at } }) => step === "finished" || at !== "a switch that hangs")
    .filter(
      ({ point: { at }, index }) =>
        LONG || at.startsWith("PUT") || index % 2 === (step === "finished" ? 0 : 1),
    ),
);

interface Case {
  readonly step: "validation" | "finished";
  readonly point: Asked;
  readonly zone: string;
  inputs: JsonObject;
  recorded: Recorded | undefined;
}

let api: LocalApi;
let host: ProviderProcess | undefined;
const FOLDER = folderPerFile("migration");
const tokens = Array.from({ length: STOPS.length }, (_, i) => `token-${i}`);

beforeAll(async () => {
  api = await startLocalApi({ credentials: ["local-token", ...tokens].map((token) => ({ token })) });
});
afterAll(async () => {
  host?.child.kill("SIGKILL");
  await api.close();
});

/** As many zones alike as there are points. */
function clones(): Case[] {
  const snapshot = api.snapshot();
  const like = api.zones.migrateEnterprise;
  const record = snapshot.waf[like];
  const zone = snapshot.zones.find(({ id }) => id === like);
  if (record === undefined || zone === undefined) throw new Error("the zone is not seeded");
  return STOPS.map(({ step, point }, index): Case => {
    const id = `5a0c1e7f3b2d4968a7e1c0f2d3b4b${String(index).padStart(3, "0")}`;
    snapshot.zones.push({ ...zone, id });
    snapshot.waf[id] = structuredClone(record);
    api.restore(snapshot);
    return { step, point, zone: id, inputs: { zoneId: id, target: step }, recorded: undefined };
  });
}

/** A zone that is to be finished has been validated before. */
function stepsBefore(step: Case["step"]): number {
  return step === "finished" ? 1 : 0;
}

function arrived({ zone, step, point: { at, nth = 1, when } }: Case): boolean {
  if (at === "the end, before it is recorded") return host?.output().includes(`DONE ${zone}`) === true;
  if (at === "a switch that hangs") return api.waf(zone).phase === "pending";
  const [method = "", path = ""] = at.split(" ");
  const wanted = new RegExp(`^/zones/${zone}/${path}$`);
  const asked = api.requests.filter((r) => r.method === method && wanted.test(r.path))[nth - 1];
  const carriedOut = when !== "after" || effectiveSteps(api, zone).length > stepsBefore(step);
  return asked?.endedAt === null && carriedOut;
}

/** Begun last, when all other zones are at their points. */
function isLate({ point }: Pick<Case, "point">): boolean {
  return point.when === "before";
}

/** Keeps the zone at its point. */
function hold({ zone, point }: Case): void {
  const { at, nth = 1, when = "before" } = point;
  if (at === "a switch that hangs") return void api.inDashboard(zone, { do: "hang" });
  if (at === "the end, before it is recorded") return;
  const [method = "", path = ""] = at.split(" ");
  const slow = { kind: "slow", when, match: { method, path: `^/zones/${zone}/${path}$` } } as const;
  if (nth > 1) api.fault({ ...slow, delayMs: 0, times: nth - 1 });
  api.fault({ ...slow, delayMs: isLate({ point }) ? LATE_MS : KEPT_MS });
}

async function until(holds: () => boolean): Promise<void> {
  for (let waited = 0; !holds(); waited += 10) {
    if (waited > 20_000) throw new Error(`waited for 20 s\n${host?.output() ?? ""}`);
    await delay(10);
  }
}

test(`after a kill at any of ${STOPS.length}${LONG ? "" : ` of ${2 * POINTS.length - 1}`} points, the next up completes the step, with one effective PUT in all`, async () => {
  const cases = clones();
  // The second step begins in validation, which is recorded.
  await Promise.all(
    cases.map(async (one, index) => {
      const operation = (): Operation =>
        new Operation(api, { config: { "edgeguard:apiToken": tokens[index] ?? "" } });
      if (one.step === "finished") {
        api.inDashboard(one.zone, { do: "validate" });
        one.recorded = await operation().up(TYPE, { zoneId: one.zone, target: "validation" });
      }
      one.inputs = await withConfirmation(api, one.inputs, one.recorded, operation());
    }),
  );
  api.clearRequests();
  cases.forEach(hold);

  const jobs = cases.map(({ zone, point, inputs, recorded }) => ({
    zone,
    late: isLate({ point }),
    olds: recorded ?? { inputs: {}, outputs: null },
    news: { ...inputs, __provider: forwarder(TYPE) },
  }));
  const file = join(FOLDER, "jobs.json"); // Longer than a command line may be.
  writeFileSync(file, JSON.stringify(jobs));
  host = providerProcess(
    {
      "edgeguard:baseUrl": api.url,
      "edgeguard:apiToken": "local-token",
      "edgeguard:concurrency": "64",
      "edgeguard:liveChecks": "false",
    },
    `await Promise.all(require(${JSON.stringify(file)}).map(async ({ zone, late, olds, news }) => {
         if (late) await new Promise((go) => process.stdin.once("data", go));
         const { inputs, failures } = await runtime.check("${TYPE}", olds.inputs, news);
         if (failures.length > 0) throw new Error(JSON.stringify(failures));
         if (olds.outputs === null) await runtime.create("${TYPE}", inputs);
         else await runtime.update("${TYPE}", olds.id, olds.outputs, inputs);
         console.log("DONE " + zone);
       }));`,
  );
  await until(() => cases.every((one) => isLate(one) || arrived(one)));
  host.child.stdin.write("go\n");
  await until(() => cases.every(arrived));
  host.child.kill("SIGKILL");
  await host.ended;
  // What has arrived whole is carried out, although nobody waits for the response.
  await until(() =>
    cases.filter(isLate).every(({ zone, step }) => effectiveSteps(api, zone).length > stepsBefore(step)),
  );
  api.clearFaults();

  const outcomes = await Promise.all(
    cases.map(async ({ step, point, zone, inputs, recorded }, index) => {
      if (point.at === "a switch that hangs") api.inDashboard(zone, { do: "completeSwitch" });
      const before = api.requests.filter(
        ({ method, path }) => method === "PUT" && path.includes(zone),
      ).length;
      const op = new Operation(api, { config: { "edgeguard:apiToken": tokens[index] ?? "" } });
      const { outputs } = await op.up(TYPE, inputs, recorded);
      const sent = puts({ ...api, requests: api.requests.filter(({ path }) => path.includes(zone)) });
      return {
        step,
        point: POINTS.indexOf(point),
        at: `${point.at}, ${point.when ?? point.nth ?? ""}`,
        state: outputs["migrationState"],
        effective: effectiveSteps(api, zone).slice(stepsBefore(step)),
        before,
        sent,
        rules: (await rulesOf(api, zone)).length,
      };
    }),
  );
  for (const { step, point, at, before, ...outcome } of outcomes) {
    const one = step === "finished" ? PUT.pending : PUT.validation;
    expect({ step, at, ...outcome }).toEqual({
      step,
      at,
      state: step,
      effective: [step === "finished" ? "validation > pending" : "start > validation"],
      // Sent once in all: by the process that died where it had come to it, else by the next up.
      sent: [one],
      rules: 4,
    });
    expect({ step, at, before }).toEqual({ step, at, before: point < PUT_AT ? 0 : 1 });
  }
});
