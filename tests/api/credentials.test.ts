import { apiPerTest } from "../support/bench";
import { z } from "zod";
import { Seen } from "../../provider/api/quote";
import { Redactor } from "../../provider/api/redact";
import { clientOf, failureOf, serve } from "../support/edge-client";
import { secretsOf, type Credential } from "../../provider/api/credential";

const api = apiPerTest({
  credentials: [{ token: "fresh-token" }, { token: "reader-token", readOnly: true }],
});
const SETTINGS = `/zones/${api.zones.empty}/page_shield`;

const WHAT = "Reading";
const refreshing = () => ({
  purpose: { isRecorded: true, savedConfig: true },
  secrets: new Redactor(),
  seen: new Seen(),
  hideTwins: () => undefined,
  shown: () => "",
});
const schema = z.unknown();
const saved: Credential = { kind: "token", token: "stale-token", origin: "edgeguard:apiToken" };
const fresh: Credential = { kind: "token", token: "fresh-token", origin: "CLOUDFLARE_API_TOKEN" };

describe("when a credential is refused", () => {
  test("the error says that a refresh uses the token saved by the last `up`, if the token is from stack config", async () => {
    const { client } = clientOf(api.url, { credential: saved, call: refreshing });
    const failure = await failureOf(client.get(SETTINGS, { what: WHAT, schema }));
    expect(failure.message).toContain("returned 403 Forbidden: Authentication error [code 10000]");
    expect(failure.message).toContain("The token from edgeguard:apiToken lacks ");
    expect(failure.message).toContain(
      "run `pulumi up` to save the new token, or add `--run-program` to `pulumi refresh` or `pulumi destroy`.",
    );
    expect(api.requests).toHaveLength(1);
  });

  test("the error doesn't mention the last `up` if the token is from the environment", async () => {
    const { client } = clientOf(api.url, {
      credential: { ...saved, origin: "CLOUDFLARE_API_TOKEN" },
      call: refreshing,
    });
    const failure = await failureOf(client.get(SETTINGS, { what: WHAT, schema }));
    expect(failure.message).toContain("The token from CLOUDFLARE_API_TOKEN lacks ");
    expect(failure.message).not.toContain("pulumi up");
  });

  test.each([
    ["a 401", 401, 1],
    ["the error code for a malformed token", 400, 6003],
    ["the error code for a wrong email and key", 400, 9106],
  ])("the error says the same after %s", async (_name, status, code) => {
    api.fault({ match: {}, kind: "status", status, code });
    const { client } = clientOf(api.url, { credential: { ...fresh, origin: "x" }, call: refreshing });
    const failure = await failureOf(client.get(SETTINGS, { what: WHAT, schema }));
    expect(failure.message).toContain("run `pulumi up` to save the new token");
    expect(api.requests).toHaveLength(1);
  });

  test("says that the plan or a permission is missing if the status is 403", async () => {
    api.fault({ match: {}, kind: "status", status: 403, code: 10010, message: "not entitled" });
    const failure = await failureOf(
      clientOf(api.url, { credential: fresh }).client.get(SETTINGS, { what: WHAT, schema }),
    );
    expect(failure.message).toContain(
      "The plan doesn't include the feature, or the token from CLOUDFLARE_API_TOKEN lacks ",
    );
  });
});

test("without credentials, nothing is sent, and the error says where to set them", async () => {
  const { client } = clientOf(api.url, { credential: undefined });
  const failure = await failureOf(client.get(SETTINGS, { what: "Reading zone x", schema }));
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
    const { client, info, warnings, debug } = clientOf(server.url, {
      credential: token,
      redactor: new Redactor((each) => each.add(...secretsOf(pair))),
    });
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
    ["cut at its end", 'no Bearer c4n"ary/T0k', "no Bearer [hidden] [code 77]"],
    ["cut at its start", "no ary/T0ken+x", "no [hidden] [code 77]"],
    [
      "cut with a mark",
      "no c4n...",
      "Cloudflare's message isn't shown, because it may quote a secret [code 77]",
    ],
  ])("shows nothing of a secret that Cloudflare has %s", async (_where, message, words) => {
    const text = await shown(400, JSON.stringify({ success: false, errors: [{ code: 77, message }] }));
    expect(text).toContain(words);
    expect(text).not.toMatch(/c4n|ary/);
  });

  test("hides each credential inside a value, as it is and encoded", () => {
    const redactor = new Redactor();
    redactor.addValue([
      "https://shop:hunter2@logs.example.com/in?header_Authorization=Bearer%20c4n%2Fary-key&index=main",
      "Authorization: Bearer T0ken/value",
    ]);
    expect(redactor.redact("hunter2, Bearer c4n/ary-key, Bearer+c4n%2fary-key, T0ken%2Fvalue, main")).toBe(
      "[secret], [secret], [secret], [secret], main",
    );
  });

  test("hides a secret that contains another secret, but not strings that are too short to be secrets", () => {
    const redactor = new Redactor();
    redactor.add("abcd", "abcdefgh", "x", undefined);
    expect(redactor.redact("abcdefgh abcd x")).toBe("[secret] [secret] x");
  });
});
