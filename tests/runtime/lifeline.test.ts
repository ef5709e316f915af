import { type LocalApi, startLocalApi } from "edgeguard-local";
import { until } from "../support/edge-client";
import { providerProcess, type ProviderProcess } from "../support/provider-process";

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
  running = providerProcess(config, script);
  return running;
}

const create = () =>
  start(
    `console.log("made", await runtime.create("PageShieldSettings", { zoneId: "${api.zones.empty}", enabled: true }));`,
  );

/** Milliseconds until the process has ended. */
async function ends({ ended }: ProviderProcess): Promise<{ code: number | null; ms: number }> {
  const started = Date.now();
  const code = await ended;
  return { code, ms: Date.now() - started };
}

const writes = () => api.requests.filter(({ method }) => method !== "GET");

test("when the engine has gone, the process ends within a second and sends nothing more", async () => {
  api.fault({ match: { method: "GET" }, kind: "slow", delayMs: 700 });
  const provider = create();
  await until(() => api.requests.length === 1);
  provider.child.stdin.end();
  expect((await ends(provider)).ms).toBeLessThan(1000);
  await new Promise((resolve) => setTimeout(resolve, 900));
  expect(api.requests).toHaveLength(1);
  expect(provider.output()).not.toContain("made");
});

test("when the engine has gone while a retry is waited for, the retry is not sent", async () => {
  api.fault({ match: {}, kind: "status", status: 429, retryAfter: 1 });
  const provider = create();
  await until(() => api.requests.length === 1);
  provider.child.stdin.destroy();
  expect((await ends(provider)).ms).toBeLessThan(900);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  expect(api.requests).toHaveLength(1);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s ends an idle process at once", async (signal, code) => {
  const provider = start('console.log("ready");');
  await until(() => provider.output().includes("ready"));
  provider.child.kill(signal);
  const { code: exit, ms } = await ends(provider);
  expect(exit).toBe(code);
  expect(ms).toBeLessThan(500);
});

test("SIGINT between an answer and the reply to the engine lets the reply go out", async () => {
  // The signal arrives between the two turns of the event loop that the engine's host may need for its reply.
  const provider = start(
    `await runtime.check("PageShieldSettings", {}, { zoneId: "${api.zones.empty}", enabled: true });
     process.kill(process.pid, "SIGINT");
     setImmediate(() => setImmediate(() => console.log("replied")));`,
  );
  expect((await ends(provider)).code).toBe(130);
  expect(provider.output()).toContain("replied");
});

test("SIGINT does not wait longer than the engine does", async () => {
  api.fault({ match: { method: "PUT" }, kind: "slow", delayMs: 20_000 });
  const provider = create();
  await until(() => writes().length === 1);
  provider.child.kill("SIGINT");
  const { code, ms } = await ends(provider);
  expect(code).toBe(130);
  expect(ms).toBeGreaterThan(4_000);
  expect(ms).toBeLessThan(4_950);
});

test("SIGINT lets a write that is under way come to its end, and begins nothing more", async () => {
  api.fault({ match: { method: "PUT" }, kind: "slow", delayMs: 500, when: "before" });
  const provider = create();
  await until(() => writes().length === 1);
  provider.child.kill("SIGINT");
  const { code, ms } = await ends(provider);
  expect(code).not.toBe(0); // The process's own end, or that of the operation that was cut short.
  expect(ms).toBeGreaterThan(400);
  expect(writes()[0]?.status).toBe(200);
  expect(api.requests.at(-1)?.method).toBe("PUT");
});
