import { z } from "zod";
import type { EdgeApi } from "../../provider/api/client";
import { Host } from "../../provider/runtime/host";
import { envelope, failureOf, serve } from "../support/edge-client";
import { virtualTime } from "../support/virtual-time";

const asked = { what: "Looking", schema: z.unknown() };
const look = (api: EdgeApi) => api.get("/x", asked);

function hostOf(url: string, config: Record<string, string>, env: Record<string, string> = {}): Host {
  const all: Record<string, string> = { baseUrl: url, ...config };
  return new Host({
    config: (key) => all[key.replace("edgeguard:", "")],
    env,
    out: { info: () => undefined, warn: () => undefined },
  });
}

/** A service that refuses one token, with when it was asked. */
async function service() {
  const at: number[] = [];
  let open = 0;
  const most = { open: 0 };
  const server = await serve(async (request, response) => {
    at.push(performance.now());
    most.open = Math.max(most.open, (open += 1));
    await new Promise((resolve) => setTimeout(resolve, 50));
    open -= 1;
    const refused = request.headers.authorization === "Bearer stale-token";
    response.writeHead(refused ? 401 : 200);
    response.end(refused ? '{"success":false,"errors":[]}' : envelope(null));
  });
  return { server, most, span: () => (at[1] ?? 0) - (at[0] ?? 0) };
}

test("requests with the same credential share a rate budget, wherever it's set and however the base URL is written", async () => {
  virtualTime();
  const { server, span } = await service();
  await look(hostOf(server.url, { apiToken: "one-token", requestsPerSecond: "1" }).api);
  await look(hostOf(`${server.url}/`, {}, { CLOUDFLARE_API_TOKEN: "one-token" }).api);
  expect(span()).toBe(1000);
});

test("a different credential has its own rate budget", async () => {
  virtualTime();
  const { server, span } = await service();
  for (const apiToken of ["first-token", "other-token"])
    await look(hostOf(server.url, { apiToken, requestsPerSecond: "0.2" }).api);
  expect(span()).toBe(0);
});

test("live checks share their connections with all other requests", async () => {
  const { server, most } = await service();
  const { api, probe } = hostOf(server.url, { apiToken: "a-token", concurrency: "2" });
  await Promise.all([api, probe, api, probe, api, probe].map(look));
  expect(most.open).toBe(2);
});

test("live checks don't wait for the rate budget", async () => {
  const { waits } = virtualTime();
  const { server } = await service();
  const { probe } = hostOf(server.url, { apiToken: "a-token", requestsPerSecond: "0.1" });
  await look(probe);
  expect((await failureOf(look(probe))).message).toContain(
    "was not sent: the rate budget of 1 request in 10 seconds is used up",
  );
  expect(waits).toEqual([]);
});
