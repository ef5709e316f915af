import {
  DEFAULT_BASE_URL,
  readSettings,
  secretsIn,
  unknownConfigKeys,
} from "../../provider/runtime/settings";

type Texts = Record<string, string>;
const settings = (config: Texts, env: Texts = {}) => readSettings((key) => config[key], env);
const problem = (config: Texts, env: Texts = {}): string => {
  try {
    settings(config, env);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("these settings were to be refused");
};

test("uses defaults and no credential, without an error, if nothing is set", () => {
  expect(settings({})).toEqual({
    provider: undefined,
    baseUrl: DEFAULT_BASE_URL,
    accountId: undefined,
    maxRetries: 5,
    rates: [{ requests: 1200, ms: 300_000 }],
    concurrency: 8,
    liveChecks: true,
    trafficHours: 24,
    credential: undefined,
    emptyCredentials: [],
  });
});

describe("resolving credentials", () => {
  /** From the strongest to the weakest. */
  const sources: [string, Texts, Texts][] = [
    ["edgeguard:apiToken", { "edgeguard:apiToken": "t1" }, {}],
    [
      "edgeguard:apiEmail and edgeguard:apiKey",
      { "edgeguard:apiEmail": "e@x.y", "edgeguard:apiKey": "k1" },
      {},
    ],
    ["cloudflare:apiToken", { "cloudflare:apiToken": "t2" }, {}],
    ["CLOUDFLARE_API_TOKEN", {}, { CLOUDFLARE_API_TOKEN: "t3" }],
    ["CLOUDFLARE_EMAIL and CLOUDFLARE_API_KEY", {}, { CLOUDFLARE_EMAIL: "e@x.y", CLOUDFLARE_API_KEY: "k2" }],
  ];

  test.each(sources)("uses %s if no credential with precedence over it is set", (origin) => {
    const rank = sources.findIndex(([name]) => name === origin);
    // A token and a pair in one namespace are refused; the pair is left out below its token.
    const weaker = sources.slice(rank).filter((_, i) => rank !== 0 || i !== 1);
    const config = Object.assign({}, ...weaker.map(([, c]) => c)) as Texts;
    const env = Object.assign({}, ...weaker.map(([, , e]) => e)) as Texts;
    expect(settings(config, env).credential?.origin).toBe(origin);
  });

  test("uses only an explicit provider's own credential and settings", () => {
    const env = {
      CLOUDFLARE_API_TOKEN: "t3",
      CLOUDFLARE_ACCOUNT_ID: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1",
      EDGEGUARD_BASE_URL: "https://elsewhere.example/v4",
      EDGEGUARD_MAX_RETRIES: "9",
    };
    const own = { "edgeguard:provider": "eu", "edgeguard:apiToken": "t1" };
    expect(settings(own, env)).toEqual({
      ...settings({}),
      provider: "eu",
      credential: { kind: "token", token: "t1", origin: 'apiToken of Provider "eu"' },
    });
    expect(settings({ ...own, "edgeguard:apiToken": " " }, env)).toMatchObject({
      credential: undefined,
      emptyCredentials: ['apiToken of Provider "eu"'],
    });
  });

  test("trims whitespace around credentials, and treats blank credentials as unset", () => {
    expect(settings({ "edgeguard:apiToken": " " }, { CLOUDFLARE_API_TOKEN: "" }).credential).toBeUndefined();
    expect(settings({ "edgeguard:apiToken": " t1\n" }).credential).toMatchObject({ token: "t1" });
  });

  test.each([
    [{ "edgeguard:apiEmail": "canary@x.y" }, {}, "edgeguard:apiEmail is set without edgeguard:apiKey"],
    [{ "edgeguard:apiKey": "canary" }, {}, "edgeguard:apiKey is set without edgeguard:apiEmail"],
    [{}, { CLOUDFLARE_EMAIL: "canary@x.y" }, "CLOUDFLARE_EMAIL is set without CLOUDFLARE_API_KEY"],
    [{}, { CLOUDFLARE_API_KEY: "canary" }, "CLOUDFLARE_API_KEY is set without CLOUDFLARE_EMAIL"],
    [
      { "edgeguard:apiToken": "canary1", "edgeguard:apiKey": "canary2" },
      {},
      "edgeguard:apiToken is set along with edgeguard:apiEmail or edgeguard:apiKey",
    ],
    [{ "edgeguard:apiToken": "canary canary" }, {}, "edgeguard:apiToken contains a space"],
    [{ "cloudflare:apiToken": "canary\u00e9" }, {}, "cloudflare:apiToken contains a space"],
    [
      { "edgeguard:apiEmail": "canary@x.y", "edgeguard:apiKey": "can\nary" },
      {},
      "edgeguard:apiEmail or edgeguard:apiKey contains a space",
    ],
  ])("refuses %j and %j, and doesn't show them", (config, env, sentence) => {
    const message = problem(config, env);
    expect(message).toContain(sentence);
    expect(message).not.toContain("canary");
  });

  test("accepts an email without a key in the environment if another credential takes precedence", () => {
    const env = { CLOUDFLARE_EMAIL: "e@x.y" };
    expect(settings({ "edgeguard:apiToken": "t1" }, env).credential?.origin).toBe("edgeguard:apiToken");
    expect(settings({}, { ...env, CLOUDFLARE_API_TOKEN: "t3" }).credential?.origin).toBe(
      "CLOUDFLARE_API_TOKEN",
    );
  });

  test("registers all credentials as secrets, used or not, valid or not", () => {
    const config: Texts = {
      "edgeguard:apiToken": " t1",
      "edgeguard:apiKey": "k1",
      "cloudflare:apiToken": "t2",
    };
    const env = { CLOUDFLARE_API_TOKEN: "t3", CLOUDFLARE_EMAIL: "e1", CLOUDFLARE_API_KEY: "k2" };
    expect(new Set(secretsIn((key) => config[key], env))).toEqual(
      new Set([" t1", "t1", "k1", "t2", "t3", "e1", "k2"]),
    );
  });
});

describe("resolving other settings", () => {
  test("uses config first, then the environment", () => {
    const env = {
      EDGEGUARD_BASE_URL: "https://env/v4",
      CLOUDFLARE_BASE_URL: "https://vendor/v4",
      CLOUDFLARE_ACCOUNT_ID: "A".repeat(32),
      EDGEGUARD_MAX_RETRIES: "0",
      EDGEGUARD_REQUESTS_PER_SECOND: "0.5",
      EDGEGUARD_CONCURRENCY: "1",
      EDGEGUARD_LIVE_CHECKS: "false",
    };
    expect(settings({}, env)).toMatchObject({
      baseUrl: "https://env/v4",
      accountId: "a".repeat(32),
      maxRetries: 0,
      rates: [{ requests: 1200 }, { requests: 1, ms: 2000 }],
      concurrency: 1,
      liveChecks: false,
      trafficHours: 24,
    });
    const config = {
      "edgeguard:baseUrl": "https://config/v4",
      "edgeguard:liveChecks": "true",
      "edgeguard:maxRetries": "20",
    };
    expect(settings(config, env)).toMatchObject({
      baseUrl: "https://config/v4",
      liveChecks: true,
      trafficHours: 24,
      maxRetries: 20,
    });
    expect(settings({}, { CLOUDFLARE_BASE_URL: "https://vendor/v4" }).baseUrl).toBe("https://vendor/v4");
  });

  test.each([
    ["baseUrl", "https://api.example.com/client", "must end in an API version, for example"],
    ["baseUrl", "https://api.example.com/v4/zones", "must end in an API version, for example"],
    ["baseUrl", "http://api.cloudflare.com/client/v4", "would send the credential unencrypted. Use https"],
    ["baseUrl", "http://127.0.0.1.example.com/v4", "would send the credential unencrypted. Use https"],
    ["baseUrl", "http://localhost.example/v4", "would send the credential unencrypted. Use https"],
    ["baseUrl", "ftp://api.example.com/v4", "must be an https URL"],
    ["baseUrl", "api.example.com/v4", "must be an https URL"],
    ["baseUrl", "https://api.example.com/v4?x=1", "must not have a query or fragment"],
    ["accountId", "123", "must be an account ID (32 hex digits)"],
    ["maxRetries", "-1", "must be a whole number from 0 to 20"],
    ["maxRetries", "21", "must be a whole number from 0 to 20"],
    ["maxRetries", "1.5", "must be a whole number from 0 to 20"],
    ["requestsPerSecond", "0", "must be above 0"],
    ["requestsPerSecond", "fast", "must be a number above 0"],
    ["requestsPerSecond", "201", "at most 200"],
    ["concurrency", "0", "must be a whole number from 1 to 64"],
    ["concurrency", "65", "must be a whole number from 1 to 64"],
    ["liveChecks", "yes", "must be true or false"],
    ["traffic", "721", "must be a whole number from 0 to 720"],
  ])("refuses edgeguard:%s = %j, and names the setting", (key, text, sentence) => {
    const message = problem({ [`edgeguard:${key}`]: text });
    expect(message).toContain(`edgeguard:${key} is `);
    expect(message).toContain(sentence);
  });

  test.each([
    "http://127.0.0.1:8787/client/v4/",
    "http://127.1.2.3/v4",
    "http://[::1]:8787/v4",
    "http://localhost:8787/v4",
    "https://gateway.example.com/v4",
  ])("accepts the base URL %s", (baseUrl) => {
    expect(settings({ "edgeguard:baseUrl": baseUrl })).toMatchObject({ baseUrl });
  });

  test.each([
    "https://me:canary@api.example.com/v4",
    "https://me:can/canary@api.example.com/v4",
    "https://me:can?canary@api.example.com/v4",
    "https://canary@api.example.com/v4",
    "me:canary@api.example.com/v4",
    "https://api.example.com/v4?token=canary",
    "https://api.example.com/v4#canary",
  ])("refuses a secret in the base URL %s and doesn't show it", (text) => {
    const message = problem({ "edgeguard:baseUrl": text });
    expect(message).toContain("edgeguard:baseUrl is ");
    expect(message).not.toContain("canary");
  });

  test("names the variable of an invalid value from the environment", () => {
    expect(problem({}, { EDGEGUARD_CONCURRENCY: "many" })).toContain('EDGEGUARD_CONCURRENCY is "many"');
  });

  test("reports all problems at once", () => {
    const message = problem({
      "edgeguard:maxRetries": "x",
      "edgeguard:liveChecks": "x",
      "edgeguard:apiEmail": "e@x.y",
    });
    expect(message).toContain("edgeguard:maxRetries");
    expect(message).toContain("edgeguard:liveChecks");
    expect(message).toContain("edgeguard:apiEmail");
  });
});

describe("an unknown configuration key", () => {
  test("is reported with the closest known key", () => {
    expect(unknownConfigKeys(["edgeguard:apitoken", "aws:region", "edgeguard:apiToken"])).toEqual([
      expect.stringContaining(
        '"edgeguard:apitoken" in the stack\'s configuration is not a setting. Did you mean "edgeguard:apiToken"?',
      ),
    ]);
  });

  test("is reported with all known keys if none is close", () => {
    const [sentence] = unknownConfigKeys(["edgeguard:colorOfTheSky"]);
    expect(sentence).toContain("Valid keys: edgeguard:apiToken, edgeguard:apiEmail");
    expect(sentence).toContain("pulumi config rm edgeguard:colorOfTheSky");
  });
});
