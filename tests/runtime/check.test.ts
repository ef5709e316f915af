import { type LocalApi, startLocalApi } from "edgeguard-local";
import type { z } from "zod";
import { omit } from "../../provider/basics/json";
import { hasUnknown } from "../../provider/runtime/engine-values";
import { checkInputs } from "../../provider/runtime/inputs";
import { failureText } from "../../provider/runtime/resource-type";
import { Operation, sent, UNKNOWN } from "../support/operation";
import { LIFECYCLES } from "../support/lifecycles";

let api: LocalApi;
let settings: Record<string, unknown>;
let policy: Record<string, unknown>;

beforeEach(async () => {
  api = await startLocalApi();
  settings = {
    zoneId: api.zones.empty,
    enabled: true,
    useReportingEndpoint: true,
    useConnectionUrlPath: false,
    onDestroy: "keep",
  };
  policy = {
    zoneId: api.zones.empty,
    description: "Checkout",
    action: "allow",
    expression: 'http.host eq "www.empty.example"',
    enabled: true,
    value: "script-src 'self'",
    adopt: "ifEqual",
    extra: { tags: { owner: ["web"] } },
  };
});
afterEach(() => api.close());

const off = { config: { "edgeguard:liveChecks": "false" } };

test.each([
  "Calling [toString] on an [Output<T>] is not supported.",
  "Calling __str__ on an Output[T] is not supported.",
])("refuses the text of an output in place of its value: %s", async (text) => {
  for (const description of [text, `for ${text}`])
    expect(await new Operation(api, off).refusals("PageShieldPolicy", { ...policy, description })).toEqual([
      expect.stringMatching(/^description: contains Pulumi's error text instead of an output's value/),
    ]);
});

describe("the check of unknown values", () => {
  test.each(["zoneId", "enabled", "useReportingEndpoint", "useConnectionUrlPath", "onDestroy"])(
    "accepts an unknown PageShieldSettings %s",
    async (key) => {
      const checked = await new Operation(api, off).check("PageShieldSettings", {
        ...settings,
        [key]: UNKNOWN,
      });
      expect(checked.failures).toEqual([]);
      expect(checked.inputs[key]).toBe(UNKNOWN);
    },
  );

  test.each(["zoneId", "description", "action", "expression", "enabled", "value", "adopt", "extra"])(
    "accepts an unknown PageShieldPolicy %s",
    async (key) => {
      const checked = await new Operation(api).check("PageShieldPolicy", { ...policy, [key]: UNKNOWN });
      expect(checked.failures).toEqual([]);
      expect(checked.inputs[key]).toBe(UNKNOWN);
      expect(api.requests).toHaveLength(0);
    },
  );

  test.each([
    ["a directive", "value", { scriptSrc: UNKNOWN }],
    ["one source of many", "value", { scriptSrc: ["'self'", UNKNOWN], imgSrc: ["*"] }],
    ["a directive beside an empty one", "value", { scriptSrc: [], styleSrc: UNKNOWN }],
    ["a member of extra", "extra", { tags: UNKNOWN }],
    ["a value deep in extra", "extra", { tags: { owner: ["web", { id: UNKNOWN }] } }],
  ])("accepts %s that isn't known yet", async (_where, key, value) => {
    const checked = await new Operation(api).check("PageShieldPolicy", { ...policy, [key]: value });
    expect(checked.failures).toEqual([]);
    expect(checked.inputs[key]).toEqual(value);
    expect(api.requests).toHaveLength(0);
  });

  test("still checks the known arguments if another argument is unknown", async () => {
    expect(
      await new Operation(api).refusals("PageShieldPolicy", {
        ...policy,
        zoneId: UNKNOWN,
        action: "block",
        extra: { description: "x", tags: UNKNOWN },
      }),
    ).toEqual([
      expect.stringMatching(
        /^action: must be "log", "allow" or "add_reporting_directives", not "block"\. To block, /,
      ),
      "extra.description: has its own argument. Set that argument instead of extra",
    ]);
  });

  test("leads to an update, never to a replacement, if only an unknown value differs", async () => {
    const op = new Operation(api);
    const first = await op.up("PageShieldPolicy", policy);
    const second = await op.up("PageShieldSettings", settings);
    const preview = new Operation(api);
    expect(await preview.preview("PageShieldPolicy", { ...policy, zoneId: UNKNOWN }, first)).toMatchObject({
      step: "update",
      replaces: [],
    });
    expect(
      await preview.preview("PageShieldSettings", { ...settings, zoneId: UNKNOWN }, second),
    ).toMatchObject({ step: "update", replaces: [] });
  });
});

describe("in a preview", () => {
  const zoneId = UNKNOWN;
  const plan = { __savedPlan: true };
  const open = (inputs: Record<string, unknown>, args: object): string[] =>
    Object.keys(inputs)
      .filter((key) => inputs[key] === UNKNOWN && !(key in args))
      .sort();

  test.each<[string, Record<string, unknown>, string[]]>([
    ["PageShieldSettings", { zoneId, enabled: true }, []],
    ["PageShieldPolicy", { zoneId, action: "allow" }, ["adopted", "logged"]],
    ["PageShieldPolicy", { zoneId, action: UNKNOWN, adopt: "never" }, ["logged"]],
    ["PageShieldPolicy", { zoneId, action: "allow", enabled: false }, ["adopted", "logged"]],
    ["ManagedRulesetOverride", { zoneId }, ["adopted", "expansion"]],
    ["WafMigration", { zoneId, target: "assessed" }, ["assessment", "assessmentDigest"]],
    ["LogpushJob", { zoneId }, ["adopted"]],
    ["LogpushJob", { zoneId, destinationConf: UNKNOWN }, ["adopted", "destinationShown"]],
    ["LogpushJob", { zoneId, outputOptions: UNKNOWN }, ["adopted", "allFields"]],
    ["LogpushJob", { zoneId, outputOptions: { fieldNames: "all" } }, ["adopted", "allFields"]],
    ["KvNamespace", { title: UNKNOWN }, ["adopted", "fullTitle"]],
    ["KvEntries", { file: UNKNOWN }, ["bytes", "digest", "fileHash", "index", "keys"]],
    ["KvEntries", { entries: { a: UNKNOWN } }, ["bytes", "digest", "index", "keys"]],
  ])("a computed input of %s %j is unknown if the update may add it", async (type, args, expected) => {
    const rest: Readonly<Record<string, object>> = {
      PageShieldPolicy: omit(policy, ["adopt"]),
      ManagedRulesetOverride: {
        accountId: api.accounts.main,
        ruleset: { name: "Cloudflare OWASP Core Ruleset" },
        ref: "owasp",
      },
      LogpushJob: { dataset: "http_requests", name: "errors", destinationConf: "https://logs.example/" },
      KvNamespace: { accountId: api.accounts.main },
      KvEntries: { accountId: api.accounts.main, namespaceId: UNKNOWN },
    };
    const given = { ...rest[type], ...args };
    const { inputs, failures } = await new Operation(api).check(type, given);
    expect(failures).toEqual([]);
    expect(open(inputs, given)).toEqual(expected);
    expect(inputs["impact"]).toEqual({
      operation: "check",
      revision: 1,
      seen: [],
      skipped: [
        expect.stringMatching(
          /^(zoneId|destinationConf|outputOptions|title|file|entries|namespaceId|action).*known yet$/,
        ),
      ],
      unknown: expect.arrayContaining(
        Object.keys(given).filter((name) => hasUnknown(given[name])),
      ) as string[],
      known: expect.stringMatching(/^[0-9a-f]+$/) as string,
    });
    const saved = await new Operation(api).check(type, { ...given, ...plan });
    expect(open(saved.inputs, given)).toEqual([...expected, "impact"].sort());
    expect(api.requests).toEqual([]);
  });

  test("a saved plan pins a computed input only if the update depends on it", async () => {
    const zone = { zoneId: api.zones.blog };
    const edited = { ...policy, ...zone, expression: "true" };
    const preview = await new Operation(api).check("PageShieldPolicy", edited);
    expect(preview.inputs["impact"]).toMatchObject({ wouldBlock: { scripts: { count: 3 } } });
    const saved = await new Operation(api).check("PageShieldPolicy", { ...edited, ...plan });
    expect(saved.inputs).toEqual({ ...preview.inputs, impact: UNKNOWN });

    const job = {
      zoneId: api.zones.empty,
      dataset: "http_requests",
      name: "errors",
      destinationConf: "https://logs.example/",
      outputOptions: { fieldNames: "all" },
    };
    const pinned = await new Operation(api).check("LogpushJob", { ...job, ...plan });
    expect(pinned.inputs["allFields"]).toContain("ClientIP");
    expect(open(pinned.inputs, job)).toEqual(["impact"]);
  });

  test("without live checks, a computed input is unknown for a saved plan, and otherwise absent", async () => {
    const declared = { zoneId: api.zones.blog, target: "assessed" };
    const skipped = await new Operation(api, off).check("WafMigration", declared);
    expect(skipped.inputs).not.toHaveProperty("assessment");
    const saved = await new Operation(api, off).check("WafMigration", { ...declared, ...plan });
    expect(open(saved.inputs, declared)).toEqual(["assessment", "assessmentDigest", "impact"]);
  });

  test("if the resource may turn out to be unchanged, a computed input is unknown, except what's determined already", async () => {
    const job = {
      zoneId: api.zones.shop,
      dataset: "http_requests",
      name: "errors",
      destinationConf: "https://logs.example/in",
      outputOptions: { fieldNames: "all" },
    };
    const first = await new Operation(api).up("LogpushJob", job);
    const declared = { ...job, destinationConf: "https://other.example/in" };
    const recorded = await new Operation(api).up("LogpushJob", declared, first);
    expect(recorded.inputs).toHaveProperty("destinationMoved");
    const check = (args: object): Promise<{ inputs: Record<string, unknown> }> =>
      new Operation(api).check("LogpushJob", { ...declared, ...args }, recorded);
    const { inputs } = await check({ enabled: UNKNOWN });
    expect(inputs["allFields"]).toBe(UNKNOWN);
    expect(inputs).not.toHaveProperty("destinationMoved");
  });

  test("a computed input of an unchanged resource stays as recorded, without a request", async () => {
    const recorded = await new Operation(api).up("PageShieldPolicy", policy);
    api.clearRequests();
    const preview = await new Operation(api).preview("PageShieldPolicy", { ...policy, ...plan }, recorded);
    expect(preview).toMatchObject({ step: "same", inputs: omit(recorded.inputs, ["__provider", "impact"]) });
    expect(preview.inputs).not.toHaveProperty("impact");
    expect(api.requests).toEqual([]);
  });
});

describe("the check of arguments", () => {
  const refusals = (type: string, inputs: object) => new Operation(api, off).refusals(type, { ...inputs });

  test("refuses an argument that doesn't exist, and suggests the closest one", async () => {
    expect(await refusals("PageShieldSettings", { ...settings, useConectionUrlPath: true })).toEqual([
      'useConectionUrlPath: unknown argument "useConectionUrlPath". Did you mean "useConnectionUrlPath"?',
    ]);
    expect(await refusals("PageShieldPolicy", { ...policy, mode: null })).toEqual([
      'mode: unknown argument "mode". Valid arguments: zoneId, description, action, expression, enabled, value, adopt, extra.',
    ]);
  });

  test.each(["constructor", "toString", "hasOwnProperty"])(
    "refuses an argument named %s, like any other unknown one",
    async (key) => {
      expect(await refusals("PageShieldSettings", { ...settings, [key]: true })).toHaveLength(1);
    },
  );

  test("refuses a missing or null required argument", async () => {
    expect(await refusals("PageShieldSettings", { zoneId: api.zones.empty, enabled: null })).toEqual([
      "enabled: is required and must be a boolean",
    ]);
    expect((await refusals("PageShieldPolicy", {})).map((text) => text.split(":")[0])).toEqual([
      "zoneId",
      "description",
      "action",
      "expression",
      "value",
    ]);
  });

  test.each([
    [
      "zoneId",
      "5a0c",
      /^zoneId: "5a0c" is not a zone ID \(32 hex digits\): it has 4 characters\. Find it on the zone's/,
    ],
    ["zoneId", "z".repeat(32), /it has 32 characters, not all of them hex digits/],
    ["zoneId", "", /^zoneId: "" is .* it's empty/],
    ["zoneId", 7, /^zoneId: must be a string, not 7\. Put it in quotes$/],
    ["enabled", "true", /^enabled: must be a boolean, not "true"$/],
    ["enabled", ["x"], /^enabled: must be a boolean, not a list with 1 item$/],
    ["description", "", /^description: is empty/],
    ["description", { a: 1 }, /^description: must be a string, not an object$/],
    ["expression", "  ", /^expression: is empty\. Set it to an expression/],
    ["adopt", "always", /^adopt: must be "ifEqual", "never" or "takeOver", not "always"$/],
    [
      "value",
      5,
      /^value: .* CSP text or an object of directives, each with a list of sources or true, not 5$/,
    ],
    ["value", { scriptSrc: [1] }, /^value\.scriptSrc\[0\]: .* a string.* 1$/],
    [
      "value",
      { scriptSrc: "'self'" },
      /^value\.scriptSrc: .* a list of sources, or true for a directive without sources.* "'self'"$/,
    ],
    ["extra", [], /^extra: must be an object, not an empty list$/],
  ])("refuses %s = %j", async (key, value, sentence) => {
    const found = await refusals("PageShieldPolicy", { ...policy, [key]: value });
    expect(found).toEqual([expect.stringMatching(sentence)]);
  });

  test("reports every problem at once, each at its property", async () => {
    const wrong = { zoneId: "1", description: "", action: "deny", expression: "x", value: "", other: 1 };
    const found = await refusals("PageShieldPolicy", wrong);
    expect(found.map((text) => text.split(":")[0])).toEqual([
      "other",
      "zoneId",
      "description",
      "action",
      "expression",
      "value",
    ]);
  });

  test("reports conflicts between arguments along with problems in single arguments", async () => {
    const found = await refusals("LogpushJob", {
      name: "",
      dataset: "http_requests",
      destinationConf: "s3://b",
    });
    expect(found.map((text) => text.split(":")[0])).toEqual(["name", "destinationConf", "zoneId"]);
  });

  test("reports only a misspelled argument or option, not the errors that follow from it", async () => {
    const { enabled, ...rest } = settings;
    expect(await refusals("PageShieldSettings", { ...rest, enabeld: enabled })).toEqual([
      'enabeld: unknown argument "enabeld". Did you mean "enabled"?',
    ]);
    const deployment = {
      zoneId: api.zones.shop,
      accountId: api.accounts.main,
      ref: "a",
      ruleset: { nam: "x" },
    };
    const owasp = { paranoiaLevl: 2, threshold: 40, action: "deny" };
    expect(await refusals("ManagedRulesetOverride", { ...deployment, owasp })).toEqual([
      'ruleset: unknown option "nam". Did you mean "name"?',
      'owasp: unknown option "paranoiaLevl". Did you mean "paranoiaLevel"? Unknown option "threshold". Did you mean "scoreThreshold"?',
      expect.stringContaining('owasp.action: must be "block"'),
    ]);
    const rules = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, id) => [String(id).padStart(32, "0"), { enabld: false }]),
    );
    const each = await refusals("ManagedRulesetOverride", { ...deployment, ruleset: "x", rules });
    expect(each).toHaveLength(3_000); // No follow-up errors, and no delay.
    const skip = { rule: { this: ["a".repeat(32)] } };
    const exceptions = [{ expression: "true", skip }];
    expect(await refusals("ManagedRulesetOverride", { ...deployment, ruleset: "x", exceptions })).toEqual([
      'exceptions[0].skip: unknown option "rule". Did you mean "rules"?',
    ]);
  });

  test("reports a misspelled secret without showing it", async () => {
    const found = await refusals("PageShieldPolicy", {
      ...policy,
      value: null,
      valu: 4711,
      __secrets: ["valu"],
    });
    expect(found).toHaveLength(2);
    expect(found.join()).not.toContain("4711");
  });

  test("refuses a misspelled option of KV arguments, which would let more be deleted", async () => {
    const entries = { accountId: api.accounts.main, namespaceId: api.namespaces.existing, entries: {} };
    expect(await refusals("KvEntries", { ...entries, prune: { prefix: "", maxDelete: 5 } })).toEqual([
      'prune: unknown option "maxDelete". Did you mean "maxDeletes"?',
    ]);
  });

  test("reports each problem in one sentence with the given value once, without the schema library's wording", () => {
    const wrong = [
      5,
      -1,
      0.5,
      "",
      "x",
      true,
      [],
      ["x"],
      [5],
      {},
      { odd: 5 },
      [{ odd: 1 }],
      { id: 1, name: 1 },
    ];
    const sentences = LIFECYCLES.flatMap(({ args: { shape } }) =>
      Object.entries(shape).flatMap(([name, schema]) =>
        wrong.flatMap((value) =>
          checkInputs({ [name]: schema as z.ZodType }, { [name]: value }).failures.map(failureText),
        ),
      ),
    );
    expect(sentences.length).toBeGreaterThan(400);
    for (const each of sentences) {
      expect(each).not.toMatch(/(, not |; it is ).*(, not |; it is )/);
      expect(each).not.toMatch(/Invalid input|Too (small|big)|expected (string|number|object)/);
    }
  });

  test("reports invalid configuration on each resource, before anything else", async () => {
    const op = new Operation(api, { config: { "edgeguard:maxRetries": "many" } });
    const [first] = await op.refusals("PageShieldSettings", settings);
    expect(first).toContain('Invalid configuration: edgeguard:maxRetries is "many"');
    expect(await op.refusals("PageShieldPolicy", policy)).toEqual([first]);
    expect(api.requests).toHaveLength(0);
  });

  test("refuses a token pasted into an argument, without showing it", async () => {
    const token = "c4nary".repeat(6);
    const op = new Operation(api, {
      config: { "edgeguard:apiToken": token, "edgeguard:liveChecks": "false" },
    });
    const found = await op.refusals("PageShieldPolicy", {
      ...policy,
      zoneId: token,
      action: token,
      adopt: token,
    });
    expect(found).toHaveLength(3);
    expect(found.join()).not.toContain("c4nary");
  });
});

describe("a check", () => {
  test.each([
    ["as text", "Script-Src https://CDN.example.com/Lib.js 'SELF'  ; default-src 'none'"],
    [
      "as directives",
      { defaultSrc: ["'none'"], scriptSrc: ["'self'", "https://cdn.example.com/Lib.js", "'self'"] },
    ],
  ])("makes a policy %s canonical, and changes nothing the second time", async (_how, value) => {
    const op = new Operation(api, off);
    const zoneId = api.zones.empty.toUpperCase();
    const unset = omit(policy, ["enabled"]);
    const once = await op.check("PageShieldPolicy", { ...unset, zoneId, value, expression: " true " });
    expect(once.failures).toEqual([]);
    expect(once.inputs).toMatchObject({
      zoneId: api.zones.empty,
      enabled: true,
      expression: "true",
      value: "default-src 'none'; script-src 'self' https://cdn.example.com/Lib.js",
    });
    expect((await op.check("PageShieldPolicy", once.inputs)).inputs).toEqual(once.inputs);
  });

  test("keeps an unset argument unset", async () => {
    const { inputs } = await new Operation(api, off).check("PageShieldSettings", {
      zoneId: api.zones.empty,
      enabled: false,
    });
    expect(Object.keys(inputs).sort()).toEqual(["__provider", "enabled", "impact", "zoneId"]);
  });
});

describe("a preview with or without live checks", () => {
  test("reads a zone's policies and scripts once for all policies of an operation", async () => {
    const op = new Operation(api);
    const zoneId = api.zones.shop;
    await Promise.all(
      ["one", "two", "three"].map((description) =>
        op.preview("PageShieldPolicy", { ...policy, zoneId, description }),
      ),
    );
    expect(sent(api).sort()).toEqual(["GET /policies", "GET /scripts"]);
    await op.preview("PageShieldPolicy", { ...policy, zoneId: api.zones.blog });
    expect(api.requests).toHaveLength(5); // A zone's first policy also depends on the zone's plan.
  });

  test("without credentials, sends nothing and warns once, however many resources there are", async () => {
    const op = new Operation(api, { config: { "edgeguard:apiToken": "" } });
    for (const description of ["a", "b", "c"])
      await op.preview("PageShieldPolicy", { ...policy, description });
    expect(op.warned).toEqual([
      "edgeguard: live checks skipped: no credentials are set. pulumi up, refresh and destroy need credentials",
    ]);
    expect(api.requests).toHaveLength(0);
  });

  test("sends nothing and warns about nothing if live checks are turned off", async () => {
    const op = new Operation(api, off);
    await op.preview("PageShieldPolicy", policy);
    expect(op.warned).toEqual([]);
    expect(api.requests).toHaveLength(0);
  });

  test.each([401, 403, 404])(
    "fails on a %i from Cloudflare, because the update would fail as well",
    async (status) => {
      api.fault({ match: {}, kind: "status", status, times: 9 });
      const op = new Operation(api, { config: { "edgeguard:maxRetries": "5" } });
      for (const description of ["a", "b"]) {
        expect(await op.refusals("PageShieldPolicy", { ...policy, description })).toEqual([
          expect.stringMatching(`^Listing the policies .* returned ${status} `),
        ]);
      }
      expect(op.warned).toEqual([]);
      expect(api.requests).toHaveLength(1);
    },
  );

  test.each([
    ["a malformed token", 6003, "The credential from edgeguard:apiToken was refused"],
    ["an ID that no zone has", 7003, "The zone or account does not exist"],
  ])("also fails on a 400 for %s", async (_, code, advice) => {
    api.fault({ match: {}, kind: "status", status: 400, code, message: "Invalid request" });
    expect(await new Operation(api).refusals("PageShieldPolicy", policy)).toEqual([
      expect.stringContaining(advice),
    ]);
  });

  test.each([401, 403, 404])(
    "only warns about a %i if the response is a proxy's error page",
    async (status) => {
      api.fault({ match: {}, kind: "raw", status, body: "<html>Sign in</html>", times: 9 });
      const op = new Operation(api);
      expect(await op.preview("PageShieldPolicy", policy)).toMatchObject({ step: "create" });
      expect(op.warned).toEqual([expect.stringContaining("live checks skipped: ")]);
    },
  );

  test.each([429, 500, 503, 400])("warns once about a %i, and doesn't retry", async (status) => {
    api.fault({ match: {}, kind: "status", status, times: 9, retryAfter: 1 });
    const op = new Operation(api, { config: { "edgeguard:maxRetries": "5" } });
    for (const description of ["a", "b"]) {
      expect(await op.preview("PageShieldPolicy", { ...policy, description })).toMatchObject({
        step: "create",
      });
    }
    expect(op.warned).toEqual([
      expect.stringMatching(`live checks skipped: Listing the policies .* returned ${status} `),
    ]);
    expect(sent(api)).toEqual(["GET /policies", "GET /scripts"]);
  });

  test("warns if something other than the API responds", async () => {
    api.fault({ match: {}, kind: "raw", status: 200, body: "<html>Sign in</html>", times: 9 });
    const op = new Operation(api);
    await op.preview("PageShieldPolicy", policy);
    expect(op.warned).toEqual([expect.stringContaining("live checks skipped: ")]);
  });

  test("warns once if Cloudflare can't be reached", async () => {
    const { url } = api;
    await api.close();
    const op = new Operation({ url });
    await op.preview("PageShieldPolicy", policy);
    await op.preview("PageShieldPolicy", { ...policy, description: "other" });
    expect(op.warned).toEqual([expect.stringContaining("live checks skipped: Listing the policies")]);
  });

  test("makes live checks only for the changed one of two policies", async () => {
    const up = new Operation(api);
    const first = await up.up("PageShieldPolicy", policy);
    const other = { ...policy, description: "Other", action: "log" };
    const second = await up.up("PageShieldPolicy", other);
    api.clearRequests();
    const op = new Operation(api);
    await op.preview("PageShieldPolicy", policy, first);
    await op.preview("PageShieldPolicy", { ...other, description: "New name" }, second);
    expect(sent(api)).toEqual(["GET /policies"]);
  });
});

test("the messages of an explicit provider's resources name its arguments, not the stack's configuration", async () => {
  const config = { "edgeguard:provider": "eu", "edgeguard:maxRetries": "0" };
  const refused = await new Operation(api, { config }).refusals("KvNamespace", { title: "flags" });
  expect(refused).toEqual([
    'accountId: is required. Find it on the Overview page of any zone in the account, or set it as accountId of Provider "eu".',
  ]);
  const op = new Operation({ url: "http://localhost:1/client/v4" }, { config });
  await op.preview("PageShieldSettings", settings);
  expect(op.warned.join()).toContain('Check baseUrl of Provider "eu" and the network');
});
