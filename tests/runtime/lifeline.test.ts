import { type LocalApi, startLocalApi } from "edgeguard-local";
import { until } from "../support/edge-client";
import { providerProcess, type ProviderProcess } from "../support/provider-process";
import { isWrite } from "../support/is-write";

let api: LocalApi;
let running: ProviderProcess | undefined;

beforeEach(async () => {
  api = await startLocalApi();
});
afterEach(async () => {
  running?.child.kill("SIGKILL");
  await running?.ended;
  await api.close();
});

function start(script: string): ProviderProcess {
  const config = { "edgeguard:baseUrl": api.url, "edgeguard:apiToken": "local-token" };
  running = providerProcess(config, script, { EDGEGUARD_DEBUG: "1" });
  return running;
}

const create = (before = "") =>
  start(
    `${before}
     console.log("made", await runtime.create("PageShieldSettings", { zoneId: "${api.zones.empty}", enabled: true }));`,
  );

const writes = () => api.requests.filter(isWrite);

test("if the engine exits during a request, the process ends without waiting for the response and sends nothing more", async () => {
  api.fault({ match: { method: "GET" }, kind: "slow", delayMs: 60_000 });
  const provider = create();
  await until(() => api.requests.length === 1);
  provider.child.stdin.end();
  await provider.ended;
  expect(api.requests).toMatchObject([{ endedAt: null }]);
  expect(provider.output()).not.toContain("made");
});

test("if the engine exits while a retry is pending, the retry isn't sent", async () => {
  api.fault({ match: {}, kind: "status", status: 429, retryAfter: 60 });
  const provider = create();
  await until(() => provider.output().includes("waiting 60 s"));
  provider.child.stdin.destroy();
  await provider.ended;
  expect(api.requests).toHaveLength(1);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s ends an idle process at once", async (signal, code) => {
  const provider = start(
    `process.on("${signal}", () => setImmediate(() => console.log("lingered")));
     console.log("ready");`,
  );
  await until(() => provider.output().includes("ready"));
  provider.child.kill(signal);
  expect(await provider.ended).toBe(code);
  expect(provider.output()).not.toContain("lingered");
});

test("after a SIGINT between a response and the reply to the engine, the reply is still sent", async () => {
  // The signal arrives between the two turns of the event loop that the engine's host may need for its reply.
  const provider = start(
    `await runtime.check("PageShieldSettings", {}, { zoneId: "${api.zones.empty}", enabled: true });
     process.kill(process.pid, "SIGINT");
     setImmediate(() => setImmediate(() => console.log("replied")));`,
  );
  expect(await provider.ended).toBe(130);
  expect(provider.output()).toContain("replied");
});

test("after SIGINT, the process gives up waiting before the engine kills it", async () => {
  api.fault({ match: { method: "PUT" }, kind: "slow", delayMs: 60_000 });
  const provider = create(
    `process.prependListener("SIGINT", () => {
       let now = 0; // Of a clock that only moves when it is looked at.
       performance.now = () => (now += 100);
       process.on("exit", () => console.log("gave up after", now - 100, "ms"));
     });`,
  );
  await until(() => writes().length === 1);
  provider.child.kill("SIGINT");
  expect(await provider.ended).toBe(130);
  expect(provider.output()).toContain("gave up after 4500 ms"); // The engine waits for five seconds.
  expect(writes()).toMatchObject([{ endedAt: null }]);
});

test("after SIGINT, a write in flight finishes, and nothing more is sent", async () => {
  api.fault({ match: { method: "PUT" }, kind: "slow", delayMs: 500, when: "before" });
  const provider = create();
  await until(() => writes().length === 1);
  provider.child.kill("SIGINT");
  expect(await provider.ended).not.toBe(0); // The process's own end, or that of the operation that was cut short.
  expect(provider.output()).toMatch(/PUT \S+ -> 200/);
  expect(writes()[0]?.status).toBe(200);
  expect(api.requests.at(-1)?.method).toBe("PUT");
});
