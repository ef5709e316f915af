import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { stringsIn } from "../../provider/api/redact";
import { HIDDEN } from "../../provider/runtime/hidden";
import { isJsonObject, type JsonObject } from "../../provider/basics/json";
import { REGISTER } from "../../provider/register";
import { Operation } from "../support/operation";
import { LONG } from "../support/long";
import { LIFECYCLES } from "../support/lifecycles";

/** Any argument of any type may be a secret: no sentence shows it, whatever is wrong with it and whoever says so. */

const ID = "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1";
const CANARY = "Zq7xKw2mVp9rTb4nLd8sYc3hGf6jQe";
const LONG_CANARY = `${CANARY}.Uo5iHt1zXv0kWn/${"Bp6yRm8qDs2aEg7cJx4u".repeat(9)}`;
const SPELLED_CANARY = 'Zq7xKw2m "Vp9r\\Tb4n/Ld8s=Yc3h&Gf6j';
const NUMBER_CANARY = 98_765_432_101_234;

/** A valid value of each argument of each type. */
const EXAMPLES: Readonly<Record<string, JsonObject>> = {
  PageShieldSettings: {
    zoneId: ID,
    enabled: true,
    useReportingEndpoint: true,
    useConnectionUrlPath: true,
    onDestroy: "restore",
  },
  PageShieldPolicy: {
    zoneId: ID,
    description: "the checkout's scripts",
    action: "allow",
    expression: 'http.host eq "private.example.com"',
    enabled: true,
    value: { scriptSrc: ["'self'", "https://private.example.com"] },
    adopt: "takeOver",
    extra: { tags: { owner: ["private-team"] } },
  },
  KvNamespace: {
    accountId: ID,
    title: "private-title-of-the-sessions",
    preview: true,
    jurisdiction: "eu",
    adopt: "takeOver",
    forceDestroy: true,
  },
  KvEntries: {
    accountId: ID,
    namespaceId: ID,
    entries: {
      "db/login": {
        value: "private-database-password",
        metadata: { owner: "private-team" },
        expirationTtl: 600,
      },
      plain: "another-private-value",
    },
    file: "private/entries.json",
    directory: { path: "private/files", prefix: "private/", ignore: ["*.private"] },
    defaults: { metadata: { owner: "private-team" }, expirationTtl: 600 },
    adopt: "takeOver",
    prune: { prefix: "private/prefix/", maxDeletes: 10 },
    maxOwnDeletes: 10,
    verify: "values",
  },
  LogpushJob: {
    zoneId: ID,
    accountId: ID,
    name: "private-job-name",
    dataset: "http_requests",
    destinationConf: "https://logs.example.com/in?header_Authorization=Bearer%20first-secret-token",
    outputOptions: { fieldNames: ["ClientIP", "RayID"], recordPrefix: "private-prefix" },
    filter: '{"where":{"key":"ClientRequestHost","operator":"eq","value":"private.example.com"}}',
    filterChecks: "error",
    enabled: true,
    frequency: "high",
    maxUploadBytes: 5_000_000,
    maxUploadIntervalSeconds: 60,
    maxUploadRecords: 100_000,
    filterAttackTraffic: true,
    transformerId: 7_654_321,
    kind: "edge",
    ownershipChallenge: "private-ownership-token",
    adopt: "takeOver",
    extra: { tomorrow: { key: "private-member" } },
  },
  LogpushTransformer: {
    accountId: ID,
    name: "private-name-of-it",
    description: "private description of it",
    code: "SELECT RayID FROM http_requests WHERE ClientRequestHost = 'private.example.com'",
    adopt: "takeOver",
  },
  ManagedRulesetOverride: {
    zoneId: ID,
    accountId: ID,
    phase: "http_request_firewall_managed",
    ruleset: { name: "private-rules-of-the-account" },
    version: "private-version",
    expression: 'http.host eq "private.example.com"',
    description: "private description of it",
    enabled: true,
    ref: "private-reference",
    position: { before: "private-neighbor" },
    owasp: { paranoiaLevel: 2, scoreThreshold: 40, action: "block" },
    categories: [{ tag: "private-category", action: "managed_challenge" }],
    rules: { [ID]: { enabled: true, action: "managed_challenge" } },
    action: "managed_challenge",
    allRulesEnabled: true,
    matchedData: { publicKey: "private-public-key-of-the-team" },
    exceptions: [
      { expression: 'http.host eq "private.example.com"', description: "private reason", skip: "all" },
    ],
    adopt: "takeOver",
    onDestroy: "restore",
  },
  WafMigration: {
    zoneId: ID,
    plan: "enterprise",
    target: "finished",
    configuration: [
      { action: "skip", expression: "private.expression", actionParameters: { ruleset: "current" } },
    ],
    confirm: "c0ffee11".repeat(8),
    waitFor: { timeout: "30m" },
    quiet: true,
  },
};

/** What a program of each type cannot do without. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  PageShieldSettings: ["zoneId", "enabled"],
  PageShieldPolicy: ["zoneId", "description", "action", "expression", "value"],
  KvNamespace: ["accountId", "title"],
  KvEntries: ["accountId", "namespaceId", "entries"],
  LogpushJob: ["zoneId", "name", "dataset", "destinationConf"],
  LogpushTransformer: ["accountId", "name", "code"],
  ManagedRulesetOverride: ["zoneId", "accountId", "ruleset", "ref"],
  WafMigration: ["zoneId", "target"],
};

/** The value, each time with another of its texts and numbers replaced. */
function* replaced(value: unknown, by: unknown): Generator {
  if (typeof value !== "object" || value === null) yield by;
  else if (Array.isArray(value)) {
    for (const [index, member] of value.entries())
      for (const other of replaced(member, by)) yield value.with(index, other);
  } else if (isJsonObject(value)) {
    for (const [key, member] of Object.entries(value))
      for (const other of replaced(member, by)) yield { ...value, [key]: other };
  }
}

const CANARIES = LONG ? [CANARY, LONG_CANARY, SPELLED_CANARY, NUMBER_CANARY] : [LONG_CANARY, NUMBER_CANARY];

/** At the top, at depth, in a type that is wrong, and in a place that is right. */
function variants(example: unknown): unknown[] {
  return CANARIES.flatMap((canary) => [canary, { deep: [canary] }, ...replaced(example, canary)]);
}

let server: Server;
let echo: { readonly url: string };

/** An API that refuses everything and says all it was sent. */
beforeAll(async () => {
  server = createServer((request, response) => {
    void text(request).then((body) => {
      const message = `cannot ${request.method ?? ""} ${request.url ?? ""} with ${body}`;
      response.writeHead(400, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ success: false, result: null, errors: [{ code: 1, message }], messages: [message] }),
      );
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  echo = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4` };
});
afterAll(() => server.close());

const NO_RETRIES = { config: { "edgeguard:maxRetries": "0" } };

/** All that a create, update, refresh and destroy of this resource say. */
async function spokenOf(type: string, inputs: JsonObject): Promise<{ refused: boolean; lines: string[] }> {
  const [operation, later] = [new Operation(echo, NO_RETRIES), new Operation(echo, NO_RETRIES)];
  const lines: string[] = [];
  const say = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      lines.push(error instanceof Error ? `${error.message} ${error.stack ?? ""}` : String(error));
    }
  };
  const checked = await operation.check(type, inputs);
  lines.push(...checked.failures.map(({ property, reason }) => `${property}|${reason}`));
  const refused = checked.failures.length > 0;
  if (!refused) {
    const recorded = {
      id: ID,
      inputs: checked.inputs,
      outputs: { ...checked.inputs, ...COMPUTED[type], schemaVersion: 1 },
    };
    await say(() => operation.up(type, inputs));
    await say(() => operation.preview(type, inputs, recorded));
    await say(() => operation.update(type, checked.inputs, recorded));
    await say(() => later.refresh(type, recorded));
    await say(() => later.destroy(type, recorded));
  }
  for (const { host, said, warned } of [operation, later]) {
    lines.push(...said, ...warned);
    await host.close();
  }
  return { refused, lines };
}

const COMPUTED: Readonly<Record<string, JsonObject>> = {
  PageShieldSettings: { previous: { enabled: false } },
  KvNamespace: { fullTitle: "private-title-of-the-sessions" },
};

function piecesOf(secret: string): string[] {
  return secret.length < 8
    ? []
    : Array.from({ length: secret.length - 7 }, (_, at) => secret.slice(at, at + 8));
}

/** A piece of a secret that is in one of the lines, or undefined. */
function leak(lines: readonly string[], value: unknown): string | undefined {
  const spoken = lines.join("\n");
  const piece = [...stringsIn(value)].flatMap(piecesOf).find((each) => spoken.includes(each));
  return piece === undefined ? undefined : `${piece} in ${lines.find((line) => line.includes(piece)) ?? ""}`;
}

test("the examples cover every argument of every type", () => {
  expect(LIFECYCLES.map(({ type }) => type)).toEqual(Object.keys(REGISTER));
  for (const { type, args } of LIFECYCLES)
    expect({ type, args: Object.keys(EXAMPLES[type] ?? {}) }).toEqual({
      type,
      args: Object.keys(args.shape),
    });
});

const ARGUMENTS = LIFECYCLES.flatMap(({ type, args, secret }) =>
  Object.keys(args.shape).map((argument) => {
    return [
      type,
      argument,
      Object.hasOwn(secret ?? {}, argument) ? {} : { [HIDDEN.secrets]: [argument] },
    ] as const;
  }),
);

test.each(ARGUMENTS)(
  "%s doesn't show its secret %s, whether the check or the API refuses it",
  async (type, argument, marked) => {
    const examples = EXAMPLES[type] ?? {};
    const required = Object.fromEntries((REQUIRED[type] ?? []).map((key) => [key, examples[key]]));
    let refused = 0;
    const values = variants(examples[argument]);
    if (HIDDEN.secrets in marked) values.push(examples[argument]); // Of what is always secret, parts may be shown.
    for (const value of values) {
      const spoken = await spokenOf(type, { ...required, [argument]: value, ...marked });
      expect(leak(spoken.lines, value)).toBeUndefined();
      if (spoken.refused) refused += 1;
    }
    expect(refused).toBeGreaterThan(0);
  },
);
