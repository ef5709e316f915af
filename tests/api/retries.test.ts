import { type AddressInfo, createServer } from "node:net";
import type { Fault } from "edgeguard-local";
import { apiPerTest } from "../support/bench";
import { z } from "zod";
import { Connections } from "../../provider/api/connections";
import { mayHaveBeenApplied } from "../../provider/api/errors";
import { DOCUMENTED_RATE, RateBudget } from "../../provider/api/rate-budget";
import { backoffMs, outcomeOf, RETRY, shouldRetry } from "../../provider/api/retry";
import { clientOf, envelope, failureOf, serve, until } from "../support/edge-client";
import { virtualTime } from "../support/virtual-time";

const api = apiPerTest({ clock: () => new Date(Date.now()) });
const SETTINGS = `/zones/${api.zones.empty}/page_shield`;
const POLICIES = `${SETTINGS}/policies`;

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

const WHAT = "Trying";
const schema = z.unknown();
const newPolicy = {
  description: "d",
  action: "log",
  expression: "true",
  enabled: "true",
  value: "script-src 'self'",
};
const bodyOf = (method: string) => (method === "GET" || method === "DELETE" ? undefined : newPolicy);
/** Seeded in the zone, so every method has a target. */
const pathOf = (method: string) =>
  method === "POST" ? POLICIES : method === "DELETE" ? `${POLICIES}/${"0".repeat(32)}` : SETTINGS;
const put = { enabled: true };

const send = (method: "GET" | "PUT" | "DELETE" | "POST", maxRetries = 1) =>
  clientOf(api.url, { maxRetries }).client.send(method, pathOf(method), {
    what: WHAT,
    schema,
    body: method === "PUT" ? put : bodyOf(method),
  });

/** When each request arrived, counted from the first. */
const arrivals = () => {
  const times = api.requests.map(({ at }) => Date.parse(at));
  return times.map((time) => time - (times[0] ?? 0));
};

describe("a GET, PUT or DELETE", () => {
  const methods = ["GET", "PUT", "DELETE"] as const;
  const strike = (fault: DistributiveOmit<Fault, "match">) =>
    methods.forEach((method) => api.fault({ match: { method }, ...fault }));
  const statuses = (method: string) =>
    api.requests.filter((r) => r.method === method).map(({ status }) => status);
  const all = () => Promise.all(methods.map((method) => send(method)));
  let random: jest.SpyInstance;
  beforeEach(() => (random = jest.spyOn(Math, "random").mockReturnValue(0))); // So that no retry waits.
  afterEach(() => random.mockRestore());

  test("is retried after Cloudflare's own edge status codes", () => {
    expect(RETRY.statuses).toEqual(
      expect.arrayContaining([502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 530]),
    );
  });

  test.each(RETRY.statuses)("is retried after %i", async (status) => {
    strike({ kind: "status", status });
    await all();
    expect(methods.map(statuses)).toEqual([
      [status, 200],
      [status, 200],
      [status, 204],
    ]);
  });

  test.each(["dropBefore", "dropAfter"] as const)("is retried after a lost connection (%s)", async (kind) => {
    strike({ kind });
    await all();
    expect(methods.map(statuses)).toEqual([
      [null, 200],
      [null, 200],
      [null, 204],
    ]);
  });

  test("is retried after a response that was cut off", async () => {
    const cutOff = ["GET", "PUT"] as const; // The response to a DELETE has no body to cut.
    cutOff.forEach((method) => api.fault({ match: { method }, kind: "truncated" }));
    await Promise.all(cutOff.map((method) => send(method)));
    expect(api.requests.map(({ fault }) => fault ?? "none").sort()).toEqual([
      "none",
      "none",
      "truncated",
      "truncated",
    ]);
  });

  test.each([400, 401, 403, 404, 409, 413, 501])("isn't retried after %i", async (status) => {
    strike({ kind: "status", status });
    const failures = await Promise.all(methods.map((method) => failureOf(send(method))));
    expect(failures).toEqual(methods.map(() => expect.objectContaining({ status }) as unknown));
    expect(api.requests).toHaveLength(3);
  });
});

describe("a POST", () => {
  test.each([408, 500, 502, 503, 504, 520, 525, 530])(
    "isn't retried after %i, because Cloudflare may have applied it",
    async (status) => {
      api.fault({ match: {}, kind: "status", status });
      const failure = await failureOf(send("POST", 5));
      expect(failure).toMatchObject({ status, outcome: "unknown" });
      expect(failure.message).toContain("Cloudflare may have applied the change.");
      expect(api.requests).toHaveLength(1);
    },
  );

  test.each(["dropBefore", "dropAfter", "truncated"] as const)("isn't retried after %s", async (kind) => {
    api.fault({ match: {}, kind });
    expect(await failureOf(send("POST", 5))).toMatchObject({ status: undefined, outcome: "unknown" });
    expect(api.requests).toHaveLength(1);
  });

  test("is retried after 429, because Cloudflare can't have applied it", async () => {
    api.fault({ match: {}, kind: "status", status: 429 });
    await send("POST");
    expect(api.requests.map(({ status }) => status)).toEqual([429, 200]);
  });

  test("is retried after a refused connection", async () => {
    const listener = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => listener.once("listening", resolve));
    const { port } = listener.address() as AddressInfo;
    await new Promise((resolve) => listener.close(resolve));
    const { client, debug } = clientOf(`http://127.0.0.1:${port}/v4`, { maxRetries: 2 });
    const failure = await failureOf(client.post("/x", { what: WHAT, schema, body: {} }));
    expect(failure).toMatchObject({ outcome: "notDone", status: undefined });
    expect(failure.message).toContain("ECONNREFUSED");
    expect(failure.message).toContain("after 3 attempts. Check edgeguard:baseUrl and the network.");
    expect(debug).toHaveLength(3);
  });

  test("is retried after a 500 if the caller says that repeating it is safe", async () => {
    api.fault({ match: {}, kind: "status", status: 500 });
    await clientOf(api.url).client.post(POLICIES, { what: WHAT, schema, body: newPolicy, repeatable: true });
    expect(api.requests.map(({ status }) => status)).toEqual([500, 200]);
  });
});

describe("the outcome of a request", () => {
  const lostThen = (method: "GET" | "PUT", ...statuses: number[]) => {
    api.fault({ match: { method }, kind: "dropAfter" });
    statuses.forEach((status) => api.fault({ match: { method }, kind: "status", status }));
  };

  test.each([400, 403, 429])(
    'is "unknown" for a PUT once a response was lost, even if the retry gets a %i',
    async (status) => {
      lostThen("PUT", status);
      const failure = await failureOf(send("PUT"));
      expect(failure).toMatchObject({ status, outcome: "unknown" });
      expect(failure.message).toContain("after 2 attempts");
      expect(failure.message).toContain("Cloudflare may have applied the change.");
      expect(mayHaveBeenApplied(failure)).toBe(true);
    },
  );

  test('is "notDone" for a failed GET, even if a response was lost', async () => {
    lostThen("GET", 400);
    expect(await failureOf(send("GET"))).toMatchObject({ status: 400, outcome: "notDone" });
  });

  test("doesn't depend on other requests", async () => {
    lostThen("PUT", 400, 400);
    const { client } = clientOf(api.url);
    await failureOf(client.put(SETTINGS, { what: WHAT, schema, body: put }));
    expect(await failureOf(client.put(SETTINGS, { what: WHAT, schema, body: put }))).toMatchObject({
      outcome: "notDone",
    });
  });
});

describe("a request to an unreachable host", () => {
  test.each(["EHOSTUNREACH", "ENETUNREACH"])(
    "counts as unsent only if it couldn't connect (%s)",
    (errorCode) => {
      const connecting = { method: "POST", errorCode, syscall: "connect" };
      const reading = { method: "POST", errorCode, syscall: "read" };
      expect([connecting, reading].map(outcomeOf)).toEqual(["notDone", "unknown"]);
      expect([connecting, reading].map((attempt) => shouldRetry(attempt, false))).toEqual([true, false]);
      expect(shouldRetry(reading, true)).toBe(true);
    },
  );
});

test.each([0, 2])("with maxRetries: %i, a request is retried that many times", async (maxRetries) => {
  api.fault({ match: {}, kind: "status", status: 503, times: 50 });
  const failure = await failureOf(send("GET", maxRetries));
  expect(api.requests).toHaveLength(maxRetries + 1);
  expect(failure.message.includes(`after ${maxRetries + 1} attempts`)).toBe(maxRetries > 0);
});

test("the backoff doubles up to its limit, with full jitter", () => {
  const longest = [2, 3, 4, 5, 20].map((next) => backoffMs(next, () => 1));
  expect(longest).toEqual([400, 800, 1600, 3200, 30_000]);
  expect(backoffMs(5, () => 0)).toBe(0);
});

describe("when a response has a Retry-After header", () => {
  test("waits two full seconds if the value is 2", async () => {
    virtualTime();
    api.fault({ match: {}, kind: "status", status: 429, retryAfter: 2 });
    await send("GET");
    expect(arrivals()).toEqual([0, 2000]);
  });

  test("waits until the given time if the value is an HTTP date", async () => {
    virtualTime();
    const date = new Date(Math.ceil((Date.now() + 500) / 1000) * 1000);
    api.fault({ match: {}, kind: "status", status: 503, retryAfter: date.toUTCString() });
    await send("GET");
    expect(api.requests[1]?.at).toBe(date.toISOString());
  });

  test.each([429, 503])("fails at once if the value is beyond the limit (%i)", async (status) => {
    const { waits } = virtualTime();
    api.fault({ match: {}, kind: "status", status, retryAfter: 3600 });
    const failure = await failureOf(send("GET", 5));
    expect(failure.message).toContain("Cloudflare asks you to wait 3600 s.");
    expect(waits).toEqual([]);
    expect(api.requests).toHaveLength(1);
  });

  test("fails every waiting caller in its turn if the value is beyond the limit, and sends nothing", async () => {
    api.fault({ match: {}, kind: "status", status: 429, retryAfter: 3600 });
    const budget = new RateBudget([{ requests: 1, ms: 2000 }]);
    const { client } = clientOf(api.url, { budget });
    const first = failureOf(client.get(SETTINGS, { what: WHAT, schema }));
    const queued = failureOf(client.get(SETTINGS, { what: WHAT, schema })); // Already waits when the response comes.
    await first;
    const later = failureOf(client.put(SETTINGS, { what: "Setting", schema, body: put }));
    const refused =
      /^Trying failed: GET \S+ was not sent: Cloudflare asked to pause for another 359\d s\. Run the command again after that\.$/;
    expect((await queued).message).toMatch(refused);
    expect(await later).toMatchObject({ outcome: "notDone", status: undefined });
    expect(api.requests).toHaveLength(1);
  });

  test.each(["0", "Thu, 01 Jan 1970 00:00:00 GMT", "-1", "soon"])(
    "still backs off, without a burst of requests, if the value is %j",
    async (retryAfter) => {
      const { waits } = virtualTime();
      api.fault({ match: {}, kind: "status", status: 503, retryAfter, times: 2 });
      // Full jitter may be short by chance, so the test checks that the random number was used.
      jest.spyOn(Math, "random").mockReturnValue(0.1);
      await send("GET", 2);
      expect(waits).toEqual([backoffMs(2, () => 0.1), backoffMs(3, () => 0.1)]);
      expect(api.requests).toHaveLength(3);
    },
  );

  test("announces a wait of more than five seconds", async () => {
    api.fault({ match: {}, kind: "status", status: 429, retryAfter: 60 });
    const controller = new AbortController();
    const { client, info } = clientOf(api.url, { signal: controller.signal });
    const asked = failureOf(client.get(SETTINGS, { what: WHAT, schema }));
    await until(() => info.length > 0);
    expect(info[0]).toContain("waiting 60 s before the next attempt: Trying failed: ");
    controller.abort();
    expect((await asked).name).toBe("CancelledError");
    expect(api.requests).toHaveLength(1);
  });

  test("makes only the callers with the same rate budget wait after a 429", async () => {
    const time = virtualTime();
    time.stop();
    api.fault({ match: {}, kind: "status", status: 429, retryAfter: 1 });
    const budget = new RateBudget([]);
    const asked = [clientOf(api.url, { budget }).client.get(SETTINGS, { what: WHAT, schema })];
    await until(() => time.waits.length === 1);
    await clientOf(api.url).client.get(POLICIES, { what: WHAT, schema });
    asked.push(clientOf(api.url, { budget }).client.get(POLICIES, { what: WHAT, schema }));
    await until(() => time.waits.length === 2);
    expect(arrivals()).toEqual([0, 0]);
    time.go();
    await Promise.all(asked);
    expect(arrivals()).toEqual([0, 0, 1000, 1000]);
  });
});

describe("when the rate budget is used up", () => {
  test("never exceeds the limit in any window, and serves callers in order", async () => {
    virtualTime();
    const started = performance.now();
    const budget = new RateBudget([
      { requests: 3, ms: 200 },
      { requests: 100, ms: 10_000 },
    ]);
    const times: number[] = [];
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 8 }, async (_, i) => {
        await budget.take();
        times.push(performance.now() - started);
        order.push(i);
      }),
    );
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(times).toEqual([0, 0, 0, 200, 200, 200, 400, 400]);
  });

  test("delays requests, including retries", async () => {
    virtualTime();
    jest.spyOn(Math, "random").mockReturnValue(0);
    api.fault({ match: {}, kind: "status", status: 503 });
    const { client } = clientOf(api.url, { budget: new RateBudget([{ requests: 1, ms: 150 }]) });
    await client.get(SETTINGS, { what: WHAT, schema });
    await client.get(SETTINGS, { what: WHAT, schema });
    expect(arrivals()).toEqual([0, 150, 300]);
  });

  test("announces a long wait", async () => {
    const budget = new RateBudget([DOCUMENTED_RATE]);
    await Promise.all(Array.from({ length: 1200 }, () => budget.take()));
    const controller = new AbortController();
    const { client, info } = clientOf(api.url, { budget, signal: controller.signal });
    const asked = [1, 2, 3].map(() => failureOf(client.get(SETTINGS, { what: WHAT, schema })));
    await until(() => info.length > 0);
    controller.abort();
    await Promise.all(asked);
    expect(info).toEqual([
      expect.stringMatching(/^waiting \d+ s: the rate budget of 1,200 requests in 5 minutes is used up$/),
    ]);
    expect(api.requests).toHaveLength(0);
  });

  test("a client with patient: false never waits, not even behind callers that do", async () => {
    const time = virtualTime();
    time.stop();
    const budget = new RateBudget([{ requests: 1, ms: 60_000 }]);
    const controller = new AbortController();
    const { client } = clientOf(api.url, { budget, signal: controller.signal });
    await client.get(SETTINGS, { what: WHAT, schema });
    const patient = failureOf(client.get(SETTINGS, { what: WHAT, schema }));
    await until(() => time.waits.length === 1);
    const hasty = clientOf(api.url, { budget, patient: false, maxRetries: 0 });
    const failure = await failureOf(hasty.client.get(SETTINGS, { what: WHAT, schema }));
    expect(time.waits).toEqual([60_000]);
    expect(failure.message).toContain(
      "was not sent: the rate budget of 1 request in 1 minute is used up for another ",
    );
    controller.abort();
    await patient;
  });

  test("a caller with maxWaitMs gives up if a pause makes its wait longer", async () => {
    const budget = new RateBudget([{ requests: 1, ms: 100 }]);
    await budget.take();
    const hasty = failureOf(budget.take({ maxWaitMs: 2000 }));
    budget.pause(60_000);
    expect((await hasty).name).toBe("NotSentError");
  });

  test("stays within every configured rate", async () => {
    const { waits } = virtualTime();
    const budget = new RateBudget([{ requests: 9, ms: 150 }]);
    budget.limit([
      { requests: 9, ms: 150 },
      { requests: 1, ms: 100 },
    ]);
    await Promise.all([budget.take(), budget.take()]);
    expect(waits).toEqual([100]);
  });

  test("a caller that gives up leaves the queue and doesn't affect the others", async () => {
    const budget = new RateBudget([{ requests: 1, ms: 120 }]);
    await budget.take();
    const controller = new AbortController();
    const given = failureOf(budget.take({ signal: controller.signal }));
    const next = budget.take();
    controller.abort();
    expect((await given).name).toBe("AbortError");
    await next;
  });
});

test("keeps requests in flight within the concurrency limit, even across several clients", async () => {
  let open = 0;
  let most = 0;
  const server = await serve(async (_request, response) => {
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setTimeout(resolve, 30));
    open -= 1;
    response.end(envelope(null));
  });
  const connections = new Connections({ concurrency: 3 });
  const clients = [1, 2].map(() => clientOf(server.url, { connections }).client);
  await Promise.all(
    clients.flatMap((client) => Array.from({ length: 6 }, () => client.get("/x", { what: WHAT, schema }))),
  );
  expect(server.seen).toHaveLength(12);
  expect(most).toBe(3);
});

describe("a response that exceeds a time limit", () => {
  const timeouts = { connectMs: 10_000, headersMs: 1000, bodyMs: 1000 };

  test("counts as lost if it doesn't start in time: a GET is retried, but a POST isn't", async () => {
    api.fault({ match: {}, kind: "slow", delayMs: 60_000 });
    const { client } = clientOf(api.url, { timeouts });
    await client.get(SETTINGS, { what: WHAT, schema });
    expect(api.requests).toHaveLength(2);
    api.fault({ match: {}, kind: "slow", delayMs: 60_000 });
    const failure = await failureOf(client.post(POLICIES, { what: WHAT, schema, body: newPolicy }));
    expect(failure.message).toContain("UND_ERR_HEADERS_TIMEOUT");
    expect(failure).toMatchObject({ outcome: "unknown" });
    expect(api.requests).toHaveLength(3);
  });

  test("counts as cut off if it stops halfway", async () => {
    const server = await serve((_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write('{"success":');
    });
    const { client } = clientOf(server.url, { timeouts, maxRetries: 0 });
    const failure = await failureOf(client.get("/x", { what: WHAT, schema }));
    expect(failure.message).toContain("got no response: it was cut off midway (UND_ERR_BODY_TIMEOUT)");
  });
});

describe("a cancelled operation", () => {
  test("aborts requests in flight, and sends nothing afterwards", async () => {
    api.fault({ match: {}, kind: "slow", delayMs: 60_000 });
    const controller = new AbortController();
    const { client } = clientOf(api.url, { signal: controller.signal, maxRetries: 5 });
    const asked = failureOf(client.get(SETTINGS, { what: "Reading", schema }));
    await until(() => api.requests.length === 1);
    expect(client.inFlight).toBe(1);
    controller.abort();
    expect(await asked).toMatchObject({
      name: "CancelledError",
      message: "Reading was not sent: the operation was cancelled, or the Pulumi engine exited.",
    });
    expect(api.requests[0]?.endedAt).toBeNull(); // The operation didn't wait for the response.
    expect(client.inFlight).toBe(0);
    expect((await failureOf(client.put(SETTINGS, { what: WHAT, schema, body: put }))).name).toBe(
      "CancelledError",
    );
    expect(api.requests).toHaveLength(1);
  });

  test("doesn't send requests that are waiting for a free connection", async () => {
    api.fault({ match: {}, kind: "slow", delayMs: 5000, times: 20 });
    const controller = new AbortController();
    const { client } = clientOf(api.url, { signal: controller.signal, concurrency: 2 });
    const all = Array.from({ length: 20 }, () => failureOf(client.get(SETTINGS, { what: WHAT, schema })));
    await until(() => api.requests.length === 2);
    controller.abort();
    expect(new Set((await Promise.all(all)).map(({ name }) => name))).toEqual(new Set(["CancelledError"]));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(api.requests).toHaveLength(2);
  });

  test("doesn't send requests that are still waiting for a free connection once the client is closing", async () => {
    api.fault({ match: {}, kind: "slow", delayMs: 200, times: 20 });
    const controller = new AbortController();
    const { client } = clientOf(api.url, { closing: controller.signal, concurrency: 2 });
    const all = Array.from({ length: 20 }, () =>
      client.put(SETTINGS, { what: WHAT, schema, body: put }).then(
        () => "done",
        (error: unknown) => [(error as Error).name, mayHaveBeenApplied(error)].join(),
      ),
    );
    await until(() => api.requests.length === 2);
    expect(client.inFlight).toBe(2);
    controller.abort();
    expect((await Promise.all(all)).sort()).toEqual([
      ...Array.from({ length: 18 }, () => "CancelledError,false"),
      "done",
      "done",
    ]);
    expect(api.requests).toHaveLength(2);
  });

  test("fails with an error that says that an aborted change may have been applied", async () => {
    api.fault({ match: { method: "PUT" }, kind: "slow", delayMs: 5000 });
    const controller = new AbortController();
    const { client } = clientOf(api.url, { signal: controller.signal });
    const asked = failureOf(client.put(SETTINGS, { what: "Setting", schema, body: put }));
    await until(() => api.requests.length === 1);
    controller.abort();
    expect(await asked).toMatchObject({
      name: "CancelledError",
      outcome: "unknown",
      message:
        "Setting was interrupted: the operation was cancelled, or the Pulumi engine exited. Cloudflare may have applied the change.",
    });
  });

  test.each([
    [503, "unknown"],
    [429, "notDone"],
  ])("doesn't retry a change after %i, and reports its outcome as %s", async (status, outcome) => {
    api.fault({ match: { method: "PUT" }, kind: "status", status, retryAfter: 60 });
    const controller = new AbortController();
    const { client, info } = clientOf(api.url, { closing: controller.signal });
    const asked = failureOf(client.put(SETTINGS, { what: "Setting", schema, body: put }));
    await until(() => info.length > 0);
    controller.abort();
    expect(await asked).toMatchObject({ name: "CancelledError", outcome });
  });

  test("stops waiting for the rate budget at once", async () => {
    const controller = new AbortController();
    const budget = new RateBudget([{ requests: 1, ms: 60_000 }]);
    const { client } = clientOf(api.url, { signal: controller.signal, budget });
    await client.get(SETTINGS, { what: WHAT, schema });
    const asked = failureOf(client.get(SETTINGS, { what: WHAT, schema }));
    setTimeout(() => controller.abort(), 20);
    expect((await asked).name).toBe("CancelledError");
    expect(api.requests).toHaveLength(1);
  });
});
