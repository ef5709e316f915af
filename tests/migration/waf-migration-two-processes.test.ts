import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { forwarder } from "../../provider/runtime/forwarder";
import { withConfirmation, entryPoint, PUT, puts, rulesOf, TYPE } from "./support";
import { Operation, rawGet, rawSend } from "../support/operation";
import { providerProcess, type ProviderProcess } from "../support/provider-process";
import { LONG } from "../support/long";

/** Two provider processes finish one zone at the same moment, while a colleague adds rules to it. */
const ALL_ROUNDS = 50;
const ROUNDS = LONG ? ALL_ROUNDS : 3;
/** A colleague's rule comes after so many requests of the two updates: around the PUT, which is about the 27th. */
const MOMENTS = [20, 36] as const;
const LONGEST_PUT_MS = 40;

const HOSTS = 2;
const tokens = Array.from({ length: ROUNDS }, (_, round) => `token-${round}`); // A budget of requests for each round.

let api: LocalApi;
let hosts: ProviderProcess[] = [];

beforeAll(async () => {
  api = await startLocalApi({ credentials: ["local-token", ...tokens].map((token) => ({ token })) });
});
afterAll(async () => {
  for (const { child } of hosts) child.kill("SIGKILL");
  await api.close();
});

/** The same number from 0 to 1 for the same name, so that a failure can be played again. */
function random(name: string): number {
  return createHash("sha256").update(name).digest().readUInt32BE() / 2 ** 32;
}

/** Copies of seeded zones: some at start, some in validation. */
function clones(): string[] {
  const snapshot = api.snapshot();
  const ids = Array.from({ length: ROUNDS }, (_, round) => {
    const like = round % 2 === 0 ? api.zones.migrateDeployed : api.zones.migrateValidating;
    const id = `5a0c1e7f3b2d4968a7e1c0f2d3b4c${String(round).padStart(3, "0")}`;
    const zone = snapshot.zones.find((each) => each.id === like);
    const record = snapshot.waf[like];
    const deployed = snapshot.rulesets.zones[like];
    if (zone === undefined || record === undefined || deployed === undefined) throw new Error("not seeded");
    snapshot.zones.push({ ...zone, id });
    snapshot.waf[id] = structuredClone(record);
    snapshot.rulesets.zones[id] = structuredClone(deployed);
    return id;
  });
  api.restore(snapshot);
  return ids;
}

/** A process that runs one update for each line that it is given. */
function host(): ProviderProcess {
  return providerProcess(
    {},
    `const { Host } = require(${JSON.stringify(resolve("provider/dist/runtime/host"))});
     const verbs = runtime.REGISTER["${TYPE}"];
     let text = "";
     process.stdin.setEncoding("utf8").on("data", async (part) => {
       text += part;
       const lines = text.split("\\n");
       text = lines.pop();
       for (const line of lines) {
         const { round, settings, inputs } = JSON.parse(line);
         const host = new Host({ config: (key) => settings[key] });
         try {
           const checked = await verbs.check(host, {}, inputs);
           if (checked.failures.length > 0) throw new Error(JSON.stringify(checked.failures));
           const { outs } = await verbs.create(host, checked.inputs);
           const texts = (outs.concurrentChanges ?? []).map(({ text }) => text);
           console.log("ROUND " + round + " " + [outs.migrationState, ...texts].join(" | "));
         } catch (error) {
           console.log("ROUND " + round + " failed: " + error.message.split("\\n")[0]);
         }
         await host.close();
       }
     });
     console.log("READY");`,
  );
}

async function until(holds: () => boolean): Promise<void> {
  for (let waited = 0; !holds(); waited += 1) {
    if (waited > 20_000) throw new Error(`waited for 20 s\n${hosts.map((each) => each.output()).join("\n")}`);
    await delay(1);
  }
}

const outcomes = (round: number): string[] =>
  hosts.flatMap((each) => new RegExp(`^ROUND ${round} (.*)$`, "m").exec(each.output())?.[1] ?? []);

test(
  `two processes that finish one zone at the same time send at most one PUT, and name each rule that it overwrote (${ROUNDS} rounds${LONG ? "" : `; ${ALL_ROUNDS} in the long run`})`,
  async () => {
    const zones = clones();
    hosts = Array.from({ length: HOSTS }, host);
    await until(() => hosts.every((each) => each.output().includes("READY")));
    const ends = new Map<string, number>();
    let overwritten = 0;
    for (const [round, zoneId] of zones.entries()) {
      const op = new Operation(api, { config: { "edgeguard:apiToken": tokens[round] ?? "" } });
      const inputs = await withConfirmation(api, { zoneId, target: "finished" }, undefined, op);
      const before = await rulesOf(api, zoneId);
      const { id } = (await rawGet(api, entryPoint(zoneId)))["result"] as { id: string };
      api.clearRequests();
      // Wide enough for a colleague to come in between.
      const delayMs = Math.round(random(`put ${round}`) * LONGEST_PUT_MS);
      api.fault({ kind: "slow", delayMs, match: { method: "PUT", path: zoneId } });

      const settings = {
        "edgeguard:baseUrl": api.url,
        "edgeguard:apiToken": tokens[round],
        "edgeguard:liveChecks": "false",
      };
      const line = `${JSON.stringify({ round, settings, inputs: { ...inputs, __provider: forwarder(TYPE) } })}\n`;
      for (const each of hosts) each.child.stdin.write(line);
      const refs = ["one", "two"];
      const colleague = async (ref: string): Promise<void> => {
        const moment = MOMENTS[0] + Math.floor(random(`${ref} ${round}`) * (MOMENTS[1] - MOMENTS[0]));
        await until(() => api.requests.length >= moment || outcomes(round).length === HOSTS);
        const rule = { action: "skip", expression: `http.host eq "${ref}.example"`, ref };
        const body = { ...rule, action_parameters: { ruleset: "current" } };
        const { success } = await rawSend(api, "POST", `/zones/${zoneId}/rulesets/${id}/rules`, body);
        if (!success) throw new Error("the colleague's rule was refused");
      };
      await Promise.all(refs.map(colleague));
      await until(() => outcomes(round).length === HOSTS);
      api.clearFaults();

      const after = await rulesOf(api, zoneId);
      const sent = puts(api).filter((each) => each.startsWith("PUT"));
      const ended = outcomes(round).sort();
      for (const each of ended) {
        expect(each).toMatch(/^(finished( \| |$)|failed: .*confirm doesn't match)/);
        const kind = each.replace(/:.*| \|.*/, "");
        ends.set(kind, (ends.get(kind) ?? 0) + 1);
      }
      // Sent by one of the two, unless a colleague's rule had come before.
      expect({ round, sent }).toEqual({
        round,
        sent: ended.some((each) => each.startsWith("finished")) ? [PUT.pending] : [],
      });
      const left = after.map(({ ref }) => ref);
      expect(left).toEqual(expect.arrayContaining(before.map(({ ref }) => ref)));
      for (const ref of refs.filter((each) => !left.includes(each))) {
        const named = `someone wrote a rule just before the PUT, which overwrote it: skip all remaining rules where http.host eq "${ref}.example"`;
        expect({ round, ended: ended.join("\n") }).toEqual({
          round,
          ended: expect.stringContaining(named) as string,
        });
        overwritten += 1;
      }
    }
    process.stdout.write(
      `${ROUNDS} rounds of two processes: ${JSON.stringify(Object.fromEntries(ends))}; ${overwritten} rules overwritten and named\n`,
    );
  },
  LONG ? 300_000 : 60_000,
);
