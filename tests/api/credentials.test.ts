import { type LocalApi, startLocalApi } from "edgeguard-local";
import { z } from "zod";
import { Seen } from "../../provider/api/quote";
import { RateBudget } from "../../provider/api/rate-budget";
import { Redactor } from "../../provider/api/redact";
import { clientOf, failureOf, serve } from "../support/edge-client";
import type { Credential } from "../../provider/api/credential";

let api: LocalApi;
let settings: string;

beforeEach(async () => {
  api = await startLocalApi({
    credentials: [{ token: "fresh-token" }, { token: "reader-token", readOnly: true }],
  });
  settings = `/zones/${api.zones.empty}/page_shield`;
});
afterEach(() => api.close());

const WHAT = "Reading";
const refreshing = () => ({
  purpose: { isRecorded: true, savedConfig: true },
  secrets: new Redactor(),
  seen: new Seen(),
  shown: () => "",
});
const schema = z.unknown();
const saved: Credential = { kind: "token", token: "stale-token", origin: "edgeguard:apiToken" };
const fresh: Credential = { kind: "token", token: "fresh-token", origin: "CLOUDFLARE_API_TOKEN" };

describe("when a credential is refused", () => {
  test("the error says that a refresh uses the token saved by the last `up`, if the token is from stack config", async () => {
    const { client } = clientOf(api.url, { credential: saved, call: refreshing });
    const failure = await failureOf(client.get(settings, { what: WHAT, schema }));
    expect(failure.message).toContain("returned 403 Forbidden: Authentication error [code 10000]");
    expect(failure.message).toContain("The token from edgeguard:apiToken lacks ");
    expect(failure.message).toContain("uses the token saved by the last `pulumi up`");
    expect(api.requests).toHaveLength(1);
  });

  test("the error doesn't mention the last `up` if the token is from the environment", async () => {
    const { client } = clientOf(api.url, {
      credential: { ...saved, origin: "CLOUDFLARE_API_TOKEN" },
      call: refreshing,
    });
    const failure = await failureOf(client.get(settings, { what: WHAT, schema }));
    expect(failure.message).toContain("The token from CLOUDFLARE_API_TOKEN lacks ");
    expect(failure.message).not.toContain("last up");
  });

  test("falls back to the environment's token for this and all later requests, with one message", async () => {
    const { client, warnings } = clientOf(api.url, {
      credential: saved,
      fallback: fresh,
      call: refreshing,
    });
    await client.get(settings, { what: WHAT, schema });
    await client.put(settings, { what: WHAT, schema, body: { enabled: true } });
    expect(api.requests.map(({ status }) => status)).toEqual([403, 200, 200]);
    expect(warnings).toEqual([
      expect.stringContaining("edgeguard:apiToken was refused; using CLOUDFLARE_API_TOKEN instead."),
    ]);
    expect(warnings[0]).toContain("token saved by the last `pulumi up`");
  });

  test("retries all requests that were refused at the same time with the environment's token", async () => {
    const { client, warnings } = clientOf(api.url, { credential: saved, fallback: fresh, concurrency: 8 });
    await Promise.all(Array.from({ length: 8 }, () => client.get(settings, { what: WHAT, schema })));
    expect(api.requests.filter(({ status }) => status === 200)).toHaveLength(8);
    expect(warnings).toHaveLength(1);
  });

  test("tries the fallback only once; if both tokens are refused, the error is about the first one", async () => {
    const other: Credential = { ...fresh, token: "other-stale-token" };
    const { client, warnings } = clientOf(api.url, { credential: saved, fallback: other });
    expect((await failureOf(client.get(settings, { what: WHAT, schema }))).message).toContain(
      "edgeguard:apiToken",
    );
    expect((await failureOf(client.get(settings, { what: WHAT, schema }))).message).toContain(
      "edgeguard:apiToken",
    );
    expect(api.requests).toHaveLength(3);
    expect(warnings).toEqual([]);
  });

  test.each([
    ["a 401", 401, 1],
    ["the error code for a malformed token", 400, 6003],
    ["the error code for a wrong email and key", 400, 9106],
  ])("tries the fallback token after %s", async (_name, status, code) => {
    api.fault({ match: {}, kind: "status", status, code });
    const { client } = clientOf(api.url, { credential: saved, fallback: fresh });
    await client.get(settings, { what: WHAT, schema });
    expect(api.requests.map((r) => r.status)).toEqual([status, 200]);
  });

  test("reports the failure of the request with the fallback token if that request fails for another reason", async () => {
    api.fault({ match: {}, kind: "status", status: 403 });
    api.fault({ match: {}, kind: "status", status: 409, message: "in conflict" });
    const { client } = clientOf(api.url, { credential: saved, fallback: fresh });
    expect((await failureOf(client.get(settings, { what: WHAT, schema }))).message).toContain("in conflict");
  });

  test("uses the fallback for a single request if the 403 is for a missing permission", async () => {
    api.fault({ match: { method: "PUT" }, kind: "status", status: 403, code: 10010 });
    const reader: Credential = { kind: "token", token: "reader-token", origin: "edgeguard:apiToken" };
    const { client, warnings } = clientOf(api.url, { credential: reader, fallback: fresh });
    await client.put(settings, { what: WHAT, schema, body: { enabled: true } });
    expect(warnings).toEqual([
      "edgeguard:apiToken lacks a permission for some requests; using CLOUDFLARE_API_TOKEN for those.",
    ]);
    // Still sent first: its own refusal is the first response.
    api.fault({ match: {}, kind: "status", status: 403, code: 10010, message: "not yours" });
    await client.get(settings, { what: WHAT, schema });
    expect(api.requests.map(({ status }) => status)).toEqual([403, 200, 403, 200]);
    expect(warnings).toHaveLength(1);
  });

  test("doesn't try the refused token again if the fallback is valid but lacks the permission", async () => {
    const reader: Credential = { ...fresh, token: "reader-token" };
    const { client, warnings } = clientOf(api.url, { credential: saved, fallback: reader });
    api.fault({ match: {}, kind: "status", status: 401 });
    api.fault({ match: {}, kind: "status", status: 403, code: 10010, message: "not yours" });
    const failure = await failureOf(client.put(settings, { what: WHAT, schema, body: { enabled: true } }));
    expect(failure.message).toContain("not yours");
    expect(failure.message).toContain("The token from CLOUDFLARE_API_TOKEN lacks ");
    expect(warnings).toHaveLength(1);
    await client.get(settings, { what: WHAT, schema });
    expect(api.requests.map(({ status }) => status)).toEqual([401, 403, 200]);
  });

  test("keeps using the token after a 403 if the fallback also lacks the permission", async () => {
    const { client } = clientOf(api.url, { credential: saved, fallback: fresh });
    api.fault({ match: {}, kind: "status", status: 403, code: 10010, message: "first" });
    api.fault({ match: {}, kind: "status", status: 403, code: 10010, message: "second" });
    const failure = await failureOf(client.get(settings, { what: WHAT, schema }));
    expect(failure.message).toContain("first");
    expect(failure.message).toContain("The token from edgeguard:apiToken lacks ");
    await client.get(settings, { what: WHAT, schema });
  });

  test("counts the refused token and the fallback against separate rate budgets", async () => {
    const [budget, fallbackBudget] = [1, 2].map(() => new RateBudget([{ requests: 1, ms: 60_000 }]));
    const { client } = clientOf(api.url, {
      credential: saved,
      fallback: fresh,
      budget: budget ?? new RateBudget([]),
      ...(fallbackBudget === undefined ? {} : { fallbackBudget }),
    });
    await client.get(settings, { what: WHAT, schema });
    expect(api.requests.map(({ status }) => status)).toEqual([403, 200]);
  });

  test("says that the token lacks a permission if the status is 403", async () => {
    api.fault({ match: {}, kind: "status", status: 403, code: 10010, message: "not entitled" });
    const failure = await failureOf(
      clientOf(api.url, { credential: fresh }).client.get(settings, { what: WHAT, schema }),
    );
    expect(failure.message).toContain("The token from CLOUDFLARE_API_TOKEN lacks ");
  });
});

test("without credentials, nothing is sent, and the error says where to set them", async () => {
  const { client } = clientOf(api.url, { credential: undefined });
  const failure = await failureOf(client.get(settings, { what: "Reading zone x", schema }));
  expect(failure.message).toMatch(/^Reading zone x needs credentials, and none are set\./);
  expect(failure.message).toContain("pulumi config set --secret edgeguard:apiToken");
  expect(failure.message).toContain("CLOUDFLARE_EMAIL and CLOUDFLARE_API_KEY");
  expect(api.requests).toHaveLength(0);
});

describe("secrets in Cloudflare's responses", () => {
  const token = { kind: "token", token: 'c4n"ary/T0ken+x', origin: "t" } as const;
  const pair = { kind: "key", email: "canary+1@example.com", key: "c4naryK3y&", origin: "p" } as const;
  const forms = (secret: string) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  const secrets = [...forms(token.token), ...forms(pair.email), ...forms(pair.key)];

  async function shown(status: number, body: string, headers: Record<string, string> = {}): Promise<string> {
    const server = await serve((_request, response) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(body);
    });
    const { client, info, warnings, debug } = clientOf(server.url, { credential: token, fallback: pair });
    const outcome = await client
      .get(`/x`, { what: WHAT, schema: z.strictObject({}), query: { q: pair.email, t: token.token } })
      .then(JSON.stringify, (error: unknown) =>
        error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : "",
      );
    expect(debug.length).toBeGreaterThan(0);
    return [outcome, ...info, ...warnings, ...debug].join("\n");
  }

  test.each([
    [
      "an error's message and pointer",
      403,
      {
        success: false,
        errors: secrets.map((s) => ({ code: 1, message: `no ${s}`, source: { pointer: `/${s}` } })),
      },
    ],
    [
      "the envelope's messages",
      200,
      { success: true, result: {}, messages: secrets.map((s) => `hello ${s}`) },
    ],
    [
      "a result of an unexpected shape",
      200,
      { success: true, result: Object.fromEntries(secrets.map((s) => [s, s])) },
    ],
  ])("hides a secret that Cloudflare returns in %s", async (_where, status, body) => {
    const text = await shown(status, JSON.stringify(body));
    expect(text).toContain("[secret]");
    for (const secret of secrets) expect(text).not.toContain(secret);
  });

  test("shows nothing of an HTML page but its title, without secrets", async () => {
    const text = await shown(502, `<title>No ${pair.key}</title><p>${token.token}${pair.email}`);
    expect(text).toContain('titled "No [secret]"');
    expect(text).not.toMatch(/c4n|canary/);
  });

  test.each([
    ["starts", 'Bearer c4n"ary/T0k'],
    ["ends", "ary/T0ken+x"],
  ])("shows only the code of an error that %s in the middle of a secret", async (_where, piece) => {
    const text = await shown(
      400,
      JSON.stringify({ success: false, errors: [{ code: 77, message: `no ${piece}` }] }),
    );
    expect(text).toContain("Cloudflare's message isn't shown, because it may quote a secret [code 77]");
    expect(text).not.toContain("ary");
  });

  test("hides a secret that contains another secret, but not strings that are too short to be secrets", () => {
    const redactor = new Redactor();
    redactor.add("abcd", "abcdefgh", "x", undefined);
    expect(redactor.redact("abcdefgh abcd x")).toBe("[secret] [secret] x");
  });
});
