import { readFileSync } from "node:fs";
import { apiPerTest } from "../support/bench";
import { z } from "zod";
import { VERSION } from "../../provider/version";
import { clientOf, envelope, failureOf, serve, type Throwaway } from "../support/edge-client";

const api = apiPerTest();
const SETTINGS = `/zones/${api.zones.empty}/page_shield`;
const POLICIES = `${SETTINGS}/policies`;

const any = z.unknown();
const WHAT = "Looking";
const newPolicy = {
  description: "d",
  action: "log",
  expression: "true",
  enabled: "true",
  value: "script-src 'self'",
};

test.each([
  ["token", { kind: "token", token: "local-token", origin: "edgeguard:apiToken" }],
  ["key", { kind: "key", email: "local@example.com", key: "local-key", origin: "edgeguard:apiEmail" }],
] as const)("sends a %s only in the matching headers, with every method", async (kind, credential) => {
  const { client } = clientOf(api.url, { credential });
  await client.get(SETTINGS, { what: WHAT, schema: any });
  await client.put(SETTINGS, { what: WHAT, schema: any, body: { enabled: true } });
  const { id } = await client.post(POLICIES, {
    what: WHAT,
    schema: z.looseObject({ id: z.string() }),
    body: newPolicy,
  });
  await client.delete(`${POLICIES}/${id}`, { what: WHAT, schema: any });
  expect(api.requests.map(({ status }) => status)).toEqual([200, 200, 200, 204]);
  expect(new Set(api.requests.map(({ credential }) => credential))).toEqual(new Set([kind]));
});

test("sends Content-Type only with a body", async () => {
  const { client } = clientOf(api.url);
  await client.get(SETTINGS, { what: WHAT, schema: any });
  await client.put(SETTINGS, { what: WHAT, schema: any, body: { enabled: true } });
  await client.delete(`${POLICIES}/${"0".repeat(32)}`, { what: WHAT, schema: any });
  expect(api.requests.map(({ contentType }) => contentType)).toEqual([
    undefined,
    "application/json",
    undefined,
  ]);
});

test("sends the package's name and version as User-Agent", async () => {
  await clientOf(api.url).client.get(SETTINGS, { what: WHAT, schema: any });
  expect(api.requests[0]?.userAgent).toBe(`pulumi-edgeguard/${VERSION} node/${process.versions.node}`);
  const manifest: unknown = JSON.parse(readFileSync("provider/package.json", "utf8"));
  expect(manifest).toMatchObject({ version: VERSION });
});

test("keeps the path prefix of a base URL, and doesn't double its trailing slash", async () => {
  await clientOf(`${api.url}/`).client.get(SETTINGS, {
    what: WHAT,
    schema: any,
    query: { page: 1, cursor: undefined },
  });
  expect(api.requests[0]).toMatchObject({ path: SETTINGS, query: { page: "1" }, status: 200 });
});

test("an error is one sentence with the attempt, request, status, message, code, pointer, request ID and next step", async () => {
  const { client } = clientOf(api.url, { maxRetries: 0 });
  const failure = await failureOf(
    client.put(SETTINGS, { what: "Changing Page Shield settings", schema: any, body: { enabled: "yes" } }),
  );
  expect(failure.message).toMatch(
    /^Changing Page Shield settings failed: PUT \/zones\/\w+\/page_shield returned 400 Bad Request: invalid body: .* \[code 10001\] at \/enabled, request ID [0-9a-f]{16}-LOC\.$/,
  );
  api.fault({ match: {}, kind: "status", status: 503, message: "Down for repair." });
  const trouble = await failureOf(client.put(SETTINGS, { what: WHAT, schema: any, body: { enabled: true } }));
  expect(trouble.message).toContain(
    "returned 503 Service Unavailable: Down for repair [code 10503], request ID ",
  );
  expect(trouble.message).toMatch(
    / Cloudflare may have applied the change\. The problem is on Cloudflare's side.*Run the command again\.$/,
  );
});

test("an error ends with the caller's own advice, which may depend on the status and error codes", async () => {
  api.fault({ match: {}, kind: "status", status: 409, code: 1234 });
  const failure = await failureOf(
    clientOf(api.url).client.get(SETTINGS, {
      what: WHAT,
      schema: any,
      advice: ({ status, errors }) => `Seen ${status} and ${String(errors[0]?.code)}.`,
    }),
  );
  expect(failure.message).toMatch(/ Seen 409 and 1234\.$/);
});

test("an error says what to check if Cloudflare can't route an ID", async () => {
  const failure = await failureOf(
    clientOf(api.url).client.get("/zones/zzz/page_shield", { what: WHAT, schema: any }),
  );
  expect(failure.message).toContain(
    "The zone or account does not exist, or edgeguard:baseUrl is wrong: check both.",
  );
});

describe("when a response isn't a plain success", () => {
  let server: Throwaway;
  let reply: { status: number; body: string };

  beforeEach(async () => {
    server = await serve((_request, response) => {
      response.writeHead(reply.status, { "cf-ray": "7d1", "content-type": "application/json" });
      response.end(reply.status === 204 ? undefined : reply.body);
    });
  });

  const get = () =>
    clientOf(server.url, { maxRetries: 0 }).client.get("/x", { what: WHAT, schema: z.string() });

  test("treats success: false with a 200 as a refusal that changed nothing", async () => {
    reply = {
      status: 200,
      body: '{"success":false,"result":null,"errors":[{"code":1004,"message":"no more"}]}',
    };
    const failure = await failureOf(get());
    expect(failure).toMatchObject({ status: 200, outcome: "notDone", requestId: "7d1" });
    expect(failure.message).toContain("no more [code 1004]");
  });

  test("treats success: false without any error as a failure", async () => {
    reply = { status: 200, body: '{"success":false,"result":null}' };
    expect((await failureOf(get())).message).toContain("Cloudflare gave no reason");
  });

  test("treats success: true with a failing status as a failure", async () => {
    reply = { status: 400, body: envelope("fine") };
    expect(await failureOf(get())).toMatchObject({ status: 400 });
  });

  test.each([
    ["a proxy's sign-in page", 200, "<html><h1>Sign in</h1></html>", "application/json, 29 bytes"],
    [
      "an error page",
      502,
      "<html>\n<title>Bad\ngateway</title></html>",
      'application/json, 40 bytes, titled "Bad gateway"',
    ],
    ["JSON without Cloudflare's envelope", 200, '{"ok":true}', "application/json, 11 bytes"],
    ["an empty body", 200, "", "empty"],
  ])("describes %s and says that the outcome is unknown", async (_name, status, body, description) => {
    reply = { status, body };
    const failure = await failureOf(get());
    expect(failure).toMatchObject({ status, outcome: "unknown" });
    expect(failure.message).toContain(`the body is not an API response: ${description}, request ID 7d1.`);
    expect(failure.message.includes("whether a proxy answers")).toBe(status === 200);
  });

  test("truncates a long page in the error", async () => {
    reply = { status: 500, body: "x".repeat(100_000) };
    expect((await failureOf(get())).message.length).toBeLessThan(500);
  });

  test("says which member of a result has the wrong type", async () => {
    reply = { status: 200, body: envelope({ list: [1] }) };
    const { client } = clientOf(server.url);
    const failure = await failureOf(
      client.get("/x", { what: WHAT, schema: z.object({ list: z.array(z.string()) }) }),
    );
    expect(failure.message).toContain("result.list.0: ");
    expect(failure.message).toContain("check for a newer version");
  });

  test("accepts a 204 as a success without a result", async () => {
    reply = { status: 204, body: "" };
    expect(await clientOf(server.url).client.delete("/x", { what: WHAT, schema: z.null() })).toBeNull();
  });

  test("reports each message in a response once, even if the request failed", async () => {
    reply = {
      status: 200,
      body: envelope("r", { messages: ["Heed this", { code: 1, message: "and this" }, ""] }),
    };
    const { client, info } = clientOf(server.url);
    expect(await client.get("/x", { what: WHAT, schema: z.string() })).toBe("r");
    await client.get("/x", { what: WHAT, schema: z.string() });
    reply = {
      status: 400,
      body: '{"success":false,"result":null,"messages":["Heed this","and a failure\'s"]}',
    };
    await failureOf(client.get("/x", { what: WHAT, schema: z.string() }));
    expect(info).toEqual([
      "message from the API: Heed this",
      "message from the API: and this",
      "message from the API: and a failure's",
    ]);
  });

  test("shows 300 characters of an error, and as much of three messages of a response", async () => {
    const long = "word ".repeat(100);
    const messages = [1, 2, 3, 4].map((number) => `${number} ${long}`);
    reply = {
      status: 400,
      body: JSON.stringify({ success: false, result: null, errors: [{ code: 1, message: long }], messages }),
    };
    const { client, info } = clientOf(server.url);
    const failure = await failureOf(client.get("/x", { what: WHAT, schema: z.string() }));
    expect(failure.message).toContain(long.slice(0, 290));
    expect(failure.message).not.toContain(long.slice(0, 310));
    expect(info.map((line) => line.slice(22, 23))).toEqual(["1", "2", "3"]);
    for (const line of info) expect(line.length).toBeLessThan(330);
  });

  test("still shows the rest of an error if one of its members is malformed", async () => {
    const odd = [{ code: "E1", message: "first", source: null }, { code: null, message: null }, { code: 7 }];
    reply = {
      status: 400,
      body: JSON.stringify({ success: false, result: null, errors: odd, messages: null }),
    };
    expect(await failureOf(get())).toMatchObject({
      errors: [
        { code: undefined, message: "first" },
        { code: undefined, message: "" },
        { code: 7, message: "" },
      ],
    });
  });
});
