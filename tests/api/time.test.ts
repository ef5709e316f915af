import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { clientOf, envelope, failureOf, serve } from "../support/edge-client";
import { Operation } from "../support/operation";

/** One of this file's own: it reads the proxy from the environment that the tests below change. */
jest.mock("undici", () => jest.requireActual<object>("../../node_modules/undici"));

const schema = z.unknown();

describe("the time limit for one attempt", () => {
  test("cuts off a response that keeps trickling in, and retries the GET", async () => {
    let asked = 0;
    const server = await serve((_request, response) => {
      asked += 1;
      if (asked > 1) return void response.end(envelope("whole"));
      const drip = setInterval(() => response.write(" "), 10);
      response.once("close", () => clearInterval(drip));
    });
    const { client, debug } = clientOf(server.url, { attemptMs: 2_000 });
    expect(await client.get("/x", { what: "Reading", schema: z.string() })).toBe("whole");
    expect(debug[0]).toContain("-> ETIMEDOUT in ");
  });

  test("reports that the response was cut off if the last attempt reaches the time limit", async () => {
    const server = await serve((_request, response) => void response.write("{"));
    const { client } = clientOf(server.url, { attemptMs: 2_000, maxRetries: 0 });
    const failure = await failureOf(client.put("/x", { what: "Writing", schema, body: {} }));
    expect(failure.message).toContain("got no response: it was cut off midway (ETIMEDOUT)");
    expect(failure).toMatchObject({ outcome: "unknown" });
  });
});

describe("a client with patient: false", () => {
  test("sends nothing more after a request has timed out", async () => {
    const server = await serve(() => undefined);
    const { client } = clientOf(server.url, { attemptMs: 50, maxRetries: 0, patient: false, concurrency: 2 });
    const ask = () => failureOf(client.get("/x", { what: "Looking", schema }));
    const failures = await Promise.all(Array.from({ length: 6 }, ask));
    failures.push(await ask());
    const outcomes = failures.map(
      ({ message }) => /no complete response within|was not sent: an earlier/.exec(message)?.[0],
    );
    expect(outcomes.sort()).toEqual([
      ...Array.from({ length: 2 }, () => "no complete response within"),
      ...Array.from({ length: 5 }, () => "was not sent: an earlier"),
    ]);
    expect(server.seen.length).toBeLessThanOrEqual(2); // On a busy machine the time is over before a request has arrived.
  });

  test("keeps going after an error response", async () => {
    const server = await serve((_request, response) => void response.writeHead(503).end());
    const { client } = clientOf(server.url, { maxRetries: 0, patient: false });
    for (let asked = 0; asked < 2; asked += 1) await failureOf(client.get("/x", { what: "Looking", schema }));
    expect(server.seen).toHaveLength(2);
  });
});

test("a preview of twenty zones waits once for a server that doesn't respond, and warns once", async () => {
  const server = await serve(() => undefined);
  const real = setTimeout;
  const scaled = jest
    .spyOn(globalThis, "setTimeout")
    .mockImplementation((run: () => void, ms?: number) => real(run, ms === 10_000 ? 100 : ms));
  try {
    const operation = new Operation(server);
    const zones = Array.from({ length: 20 }, (_, index) => index.toString(16).padStart(32, "0"));
    const declared = { description: "d", action: "log", expression: "true", value: "script-src 'self'" };
    for (const { step } of await Promise.all(
      zones.map((zoneId) => operation.preview("PageShieldPolicy", { zoneId, ...declared })),
    ))
      expect(step).toBe("create");
    expect(operation.warned).toEqual([expect.stringContaining("live checks skipped: ")]);
    expect(server.seen.length).toBeLessThanOrEqual(8);
    expect(scaled.mock.calls.filter(([, ms]) => ms === 10_000).length).toBeGreaterThan(0);
  } finally {
    scaled.mockRestore();
  }
});

describe("a request with a proxy variable set", () => {
  const NAMES = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"];
  let proxy: Server;
  let at: string;
  let tunnels: string[];

  beforeEach(async () => {
    const others = Object.entries(process.env).filter(([name]) => !NAMES.includes(name));
    jest.replaceProperty(process, "env", Object.fromEntries(others));
    tunnels = [];
    proxy = createServer().on("connect", (request, socket) => {
      tunnels.push(request.url ?? "");
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    at = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await new Promise((resolve) => proxy.close(resolve));
  });

  const create = (url: string) =>
    failureOf(clientOf(url, { maxRetries: 3 }).client.post("/x", { what: "Creating", schema, body: {} }));

  test.each([
    ["HTTP_PROXY", "http"],
    ["https_proxy", "https"],
    ["http_proxy", "https"], // http_proxy also applies to https if https_proxy isn't set.
  ])(
    "fails unsent if the proxy refuses to connect, and names the proxy and its variable (%s for an %s URL)",
    async (name, scheme) => {
      process.env[name] = `http://user:pa%40ss@word@${at}`;
      const failure = await create(`${scheme}://api.example/v4`);
      expect(failure.message).toMatch(
        new RegExp(
          `^Creating failed: POST /x was not sent: the proxy "http://${at}" from ${name} refused to connect to api\\.example(:443)? \\(status 403\\)\\. Check ${name} and the proxy's access rules, or add api\\.example to NO_PROXY\\.$`,
        ),
      );
      expect(failure).toMatchObject({ outcome: "notDone" });
      expect(tunnels).toHaveLength(1);
    },
  );

  test.each([
    ["HTTPS_PROXY", "proxy:3128", "proxy:3128", "http://proxy:3128"],
    ["https_proxy", "user:pa/ss@proxy:3128", "proxy:3128", "http://proxy:3128"],
    ["HTTP_PROXY", "socks5://user:pass@proxy:1080", "proxy:1080", "http://proxy:1080"],
    ["HTTP_PROXY", "http://", "http://", "http://proxy.example:3128"],
    ["HTTPS_PROXY", "http://user:pass@proxy:port", "http://proxy:port", "http://proxy:port"],
  ])(
    "fails unsent with %s=%s, and says what to set instead without showing credentials",
    async (name, value, shown, better) => {
      process.env[name] = value;
      const failure = await create("https://api.example/v4");
      expect(failure.message).toBe(
        `Creating failed: POST /x was not sent: ${name}: ${JSON.stringify(shown)} is not a proxy URL. ` +
          `Set ${name} to a full URL, such as "${better}", or unset it.`,
      );
      expect(failure).toMatchObject({ outcome: "notDone" });
    },
  );

  test("goes directly to the API if the variable is empty", async () => {
    process.env["HTTP_PROXY"] = "";
    const server = await serve((_request, response) => void response.end(envelope("direct")));
    expect(await clientOf(server.url).client.get("/x", { what: "Reading", schema })).toBe("direct");
  });
});
