import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { managedRulesets, startLocalApi, type LocalApi } from "edgeguard-local";
import { stringsIn } from "../../provider/api/redact";
import { run } from "../../provider/cli/program";
import { REGISTER } from "../../provider/register";
import { HIDDEN } from "../../provider/runtime/hidden";
import { namesOfSecrets } from "../../provider/runtime/secrets";
import { isJsonObject, omit, type JsonObject } from "../../provider/basics/json";
import { serve } from "../support/edge-client";
import { LONG } from "../support/long";
import { Operation, rawGet, rawSend, type Recorded } from "../support/operation";
import { SAMPLES } from "../support/samples";

/** Whatever a response repeats, from the request or from other objects, no message shows it and no state records it. */

const TOKEN = "Zq7xKw2mVp9rTb4n";
const WORDS = "correct-horse-battery-staple";
/** In objects that the program doesn't declare. */
const OTHERS = { destination: "Ld8sYc3hGf6jQe0w", metadata: "Uo5iHt1zXv0kWn4b", text: "Bp6yRm8qDs2aEg7c" };
const CANARIES = [TOKEN, WORDS, ...Object.values(OTHERS)];
const SPELLINGS = CANARIES.flatMap((canary) => [
  canary,
  canary.toLowerCase(),
  Buffer.from(canary).toString("base64").slice(0, 20),
]);
const PIECES = SPELLINGS.flatMap((each) =>
  Array.from({ length: each.length - 7 }, (_, at) => each.slice(at, at + 8)),
);

const FOLDER = mkdtempSync(join(tmpdir(), "edgeguard-leaks-"));
const SOURCE = join(FOLDER, "entries.json");
let api: LocalApi;

beforeAll(async () => {
  writeFileSync(SOURCE, JSON.stringify([{ key: "inFile", value: `${TOKEN}!`, metadata: { key: WORDS } }]));
  api = await startLocalApi();
  const zone = `/zones/${api.zones.empty}`;
  const namespace = `/accounts/${api.accounts.main}/storage/kv/namespaces/${api.namespaces.existing}`;
  await rawSend(api, "POST", `${zone}/logpush/jobs`, {
    name: "others",
    dataset: "http_requests",
    destination_conf: `https://other.example/in?header_Authorization=${OTHERS.destination}`,
    enabled: true,
  });
  await rawSend(api, "PUT", `${namespace}/bulk`, [
    { key: "theirs", value: OTHERS.text, metadata: { owner: OTHERS.metadata } },
  ]);
  await rawSend(api, "POST", `${zone}/page_shield/policies`, {
    description: OTHERS.text,
    action: "allow",
    expression: 'http.host eq "b.example"',
    value: "script-src 'none'",
    enabled: true,
  });
});
afterAll(async () => {
  rmSync(FOLDER, { recursive: true });
  await api.close();
});

/** What a program declares, with canaries in its secret arguments. */
const SECRET_ARGS: Readonly<Record<string, JsonObject>> = {
  PageShieldSettings: {},
  PageShieldPolicy: { description: WORDS, value: { scriptSrc: [`https://${TOKEN}.example`] } },
  ManagedRulesetOverride: { description: `${TOKEN} ${WORDS}` },
  WafMigration: {},
  LogpushJob: {
    destinationConf: `https://user:${WORDS}@logs.example.com/in?header_Authorization=Bearer%20${TOKEN}`,
    outputOptions: { recordPrefix: WORDS },
  },
  KvNamespace: { title: `${WORDS} ${TOKEN}` },
  KvEntries: {
    entries: { a: { value: TOKEN, metadata: { key: WORDS } }, b: `{"password":"${WORDS}"}` },
  },
  "KvEntries of a file": { file: SOURCE },
};

/** Existing objects that such a program adopts, or changes by hand that a refresh finds: other values of what's secret. */
const TWINS: Readonly<Record<string, { readonly args: JsonObject; make(adopted: boolean): Promise<void> }>> =
  {
    PageShieldPolicy: {
      args: { description: "twin", expression: 'http.host eq "a.example"', value: "script-src 'none'" },
      async make() {
        const path = `/zones/${api.zones.empty}/page_shield/policies`;
        const policies = (await rawGet(api, path))["result"] as { id: string; description: string }[];
        const own = policies.find(({ description }) => description === "twin");
        const body = {
          description: own === undefined ? "twin" : OTHERS.metadata,
          action: "log",
          expression: `http.host eq "${OTHERS.text}.example"`,
          value: `script-src https://${OTHERS.metadata}.example`,
          enabled: true,
        };
        if (own === undefined) await rawSend(api, "POST", path, body);
        else await rawSend(api, "PUT", `${path}/${own.id}`, body);
      },
    },
    ManagedRulesetOverride: {
      args: { description: "twin", expression: 'http.host eq "a.example"' },
      async make(adopted) {
        const rule = (id: string, description: string, expression: string): JsonObject => ({
          ref: `rule-${id}`,
          description,
          expression,
          action: "execute",
          action_parameters: { id },
          enabled: true,
        });
        const expression = adopted ? 'http.host eq "a.example"' : `http.host eq "${OTHERS.text}.example"`;
        const twin = rule(managedRulesets.managed, OTHERS.metadata, expression);
        await rawSend(
          api,
          "PUT",
          `/zones/${api.zones.empty}/rulesets/phases/http_request_firewall_managed/entrypoint`,
          {
            rules: [
              adopted ? twin : { ...twin, ref: "waf" },
              rule(managedRulesets.owasp, OTHERS.text, `http.host eq "${OTHERS.text}.example"`),
            ],
          },
        );
      },
    },
    LogpushJob: {
      args: {
        name: "twin",
        filter: '{"where":{"key":"ClientRequestHost","operator":"eq","value":"a.example"}}',
        outputOptions: { fieldNames: ["ClientIP"], recordPrefix: "twin" },
      },
      async make() {
        const path = `/zones/${api.zones.empty}/logpush/jobs`;
        const jobs = (await rawGet(api, path))["result"] as { id: number; name: string }[];
        const own = jobs.find(({ name }) => name === "twin");
        const body = {
          destination_conf: `https://other.example/in?header_Authorization=${OTHERS.destination}`,
          filter: `{"where":{"key":"ClientRequestHost","operator":"eq","value":"${OTHERS.text}.example"}}`,
          output_options: { field_names: ["ClientIP"], record_prefix: OTHERS.metadata },
          enabled: true,
        };
        if (own === undefined)
          await rawSend(api, "POST", path, { name: "twin", dataset: "http_requests", ...body });
        else await rawSend(api, "PUT", `${path}/${own.id}`, body);
      },
    },
    KvEntries: {
      args: { entries: { twin: { value: "here", metadata: { key: WORDS } } } },
      async make() {
        const path = `/accounts/${api.accounts.main}/storage/kv/namespaces/${api.namespaces.existing}/bulk`;
        await rawSend(api, "PUT", path, [
          { key: "twin", value: OTHERS.text, metadata: { key: OTHERS.metadata } },
        ]);
      },
    },
  };

/** A response that repeats the request and the API's answer. */
type Failure = (
  sent: string,
  answer: { readonly status: number; readonly text: string },
) => {
  readonly status: number;
  readonly type: string;
  readonly body: string;
};

function repeated(sent: string, answer: string): string[] {
  // Cloudflare can repeat only what it has.
  const found = CANARIES.filter((canary) => `${sent}${answer}`.includes(canary));
  return [
    `cannot use ${sent} beside ${answer}`,
    ...found.flatMap((canary) => [
      `cannot use "${canary}"`,
      `cannot use ${canary.slice(0, 12)}... here`,
      `not ${encodeURIComponent(canary)} or ${Buffer.from(canary).toString("base64")}`,
      `https://x.example/?key=${canary}`,
    ]),
  ];
}

const JSON_TYPE = "application/json";
const refusals = [400, 403, 500].flatMap((status): [string, Failure][] => [
  [
    `errors with ${status}`,
    (sent, { text }) => ({
      status,
      type: JSON_TYPE,
      body: JSON.stringify({
        success: false,
        errors: repeated(sent, text).map((message) => ({
          code: 1001,
          message,
          source: { pointer: `/${message}` },
        })),
      }),
    }),
  ],
  [
    `plain text with ${status}`,
    (sent, { text }) => ({ status, type: "text/plain", body: repeated(sent, text).join("\n") }),
  ],
]);
const FAILURES: readonly [string, Failure][] = [
  ...refusals,
  [
    "an HTML page",
    (sent, { text }) => ({
      status: 502,
      type: "text/html",
      body: `<html><title>No ${repeated(sent, text).at(-3) ?? ""}</title>${sent}${text}</html>`,
    }),
  ],
  ["cut JSON", (sent, { text }) => ({ status: 200, type: JSON_TYPE, body: `${text.slice(0, -9)}${sent}` })],
  [
    "another shape",
    (sent, { text }) => ({
      status: 200,
      type: JSON_TYPE,
      body: JSON.stringify({
        success: true,
        result: { [WORDS]: sent, [TOKEN]: text, result: repeated(sent, text) },
      }),
    }),
  ],
  [
    "messages",
    (sent, { status, text }) => ({
      status,
      type: JSON_TYPE,
      body: text.startsWith("{")
        ? JSON.stringify({ ...(JSON.parse(text) as object), messages: repeated(sent, text) })
        : text,
    }),
  ],
];

/** The local API, which answers one request with the failure. */
async function failing(
  at: number,
  failure: Failure,
): Promise<{ readonly url: string; readonly seen: string[] }> {
  return await serve(async (request, response) => {
    const number = counter.next++;
    const sent = await text(request);
    const answer = await fetch(api.url + (request.url ?? "").replace(/^\/v4/, ""), {
      method: request.method ?? "",
      headers: {
        authorization: "Bearer local-token",
        ...(sent === "" ? {} : { "content-type": JSON_TYPE }),
      },
      ...(sent === "" ? {} : { body: sent }),
    });
    const given = { status: answer.status, text: await answer.text() };
    const { status, type, body } =
      number === at ? failure(sent, given) : { ...given, type: JSON_TYPE, body: given.text };
    response.writeHead(status, { "content-type": type, "cf-ray": "8f1-FRA" });
    response.end(status === 204 ? undefined : body);
  });
}
const counter = { next: 0 };

/** Runs an action whose request number `at` fails. Returns all that it says and records. */
async function spoken(
  at: number,
  failure: Failure,
  act: (url: string) => Promise<readonly string[]>,
): Promise<{ readonly lines: readonly string[]; readonly requests: number }> {
  counter.next = 0;
  const before = api.snapshot();
  try {
    const { url } = await failing(at, failure);
    return { lines: await act(url), requests: counter.next };
  } finally {
    api.restore(before);
  }
}

const unfailing: Failure = (_sent, answer) => ({ ...answer, type: JSON_TYPE, body: answer.text });

/** What may not be recorded of the outputs: all but secret ones. */
function recordedText(type: string, args: JsonObject, properties: unknown): string {
  if (!isJsonObject(properties)) return "";
  const { secret = {}, secretOutputs = [], derivedFrom = {} } = REGISTER[type]?.facts ?? {};
  const names = [...Object.keys(secret), ...namesOfSecrets(args)];
  const derived = Object.entries(derivedFrom).filter(([, from]) => from.some((each) => names.includes(each)));
  return JSON.stringify(omit(properties, [...names, ...secretOutputs, ...derived.map(([name]) => name)]));
}

const OPTIONS = () => ({ config: { "edgeguard:maxRetries": "0" }, inNoTime: api });

/** Returns an action that works in one operation, and returns all that the operation says and records. */
function within(
  type: string,
  args: JsonObject,
  work: (operation: Operation) => Promise<unknown>,
): (url: string) => Promise<readonly string[]> {
  return async (url) => {
    const operation = new Operation({ url }, OPTIONS());
    const lines: string[] = [];
    try {
      const made = await work(operation);
      if (isJsonObject(made))
        lines.push(recordedText(type, args, made["outputs"]), recordedText(type, args, made["inputs"]));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const properties: unknown = Reflect.get(error, "properties");
      const reasons: unknown = Reflect.get(error, "reasons");
      lines.push(
        error.message,
        error.stack ?? "",
        ...stringsIn(reasons),
        recordedText(type, args, properties),
      );
    }
    await operation.host.close();
    return [...lines, ...operation.said, ...operation.warned];
  };
}

function operationActs(
  type: string,
  name: string,
): Readonly<Record<string, (url: string) => Promise<readonly string[]>>> {
  const sample = SAMPLES[type as keyof typeof SAMPLES](api);
  const secretArgs = SECRET_ARGS[name] ?? {};
  const others = omit(sample.args, ["entries"]);
  const base = name === type ? sample.args : others;
  const marked = { [HIDDEN.secrets]: Object.keys(secretArgs) };
  const args = { ...base, ...secretArgs, adopt: undefined, ...marked };
  const changed = { ...(name === type ? sample.changed : base), ...secretArgs, ...marked };
  const made = async (): Promise<Recorded> => await new Operation(api, OPTIONS()).up(type, args);
  return {
    create: within(type, args, (operation) => operation.up(type, args)),
    update: within(type, args, async (operation) => {
      const recorded = await made();
      // Also what differs only in its secrets is written.
      return await operation.update(type, (await operation.check(type, changed)).inputs, recorded);
    }),
    check: within(type, args, async (operation) => {
      await operation.preview(type, args);
    }),
    refresh: within(type, args, async (operation) => operation.refresh(type, await made())),
    destroy: within(type, args, async (operation) => operation.destroy(type, await made())),
  };
}

/** Adopts, refuses to adopt, or refreshes an object whose values of secret arguments aren't the program's. */
function twinActs(type: string): Readonly<Record<string, (url: string) => Promise<readonly string[]>>> {
  const twin = TWINS[type];
  if (twin === undefined) throw new Error(`no twin of ${type}`);
  const { args: base } = SAMPLES[type as keyof typeof SAMPLES](api);
  const args = { ...base, ...twin.args, [HIDDEN.secrets]: Object.keys(twin.args) };
  const adopting = (adopt: string) =>
    within(type, args, async (operation) => {
      await twin.make(true);
      return await operation.up(type, { ...args, adopt });
    });
  return {
    "adopting it": adopting("takeOver"),
    "refusing to adopt it": adopting("never"),
    "adopting it if it's equal": adopting("ifEqual"),
    "refreshing it": within(type, args, async (operation) => {
      const recorded = await new Operation(api, OPTIONS()).up(type, args);
      await twin.make(false);
      const refreshed = await operation.refresh(type, recorded);
      if (refreshed !== undefined) await operation.preview(type, args, refreshed);
      return refreshed;
    }),
  };
}

/** The listings of an import. */
async function importing(url: string): Promise<readonly string[]> {
  const stream = (): PassThrough & { isTTY: boolean } => Object.assign(new PassThrough(), { isTTY: false });
  const [stdin, stdout, stderr] = [stream(), stream(), stream()];
  const written = Promise.all([text(stdout), text(stderr)]);
  const env = {
    EDGEGUARD_BASE_URL: url,
    EDGEGUARD_MAX_RETRIES: "0",
    CLOUDFLARE_API_TOKEN: "local-token",
    EDGEGUARD_ACCOUNT_ID: api.accounts.main,
  };
  const io = { stdin, stdout, stderr, env, cwd: FOLDER, interrupted: () => new AbortController().signal };
  const out = mkdtempSync(join(FOLDER, "import-"));
  await run(
    ["import", "--zone", api.zones.empty, "--account", api.accounts.main, "--out", join(out, "new")],
    io,
  );
  stdout.end();
  stderr.end();
  return await written;
}

jest.setTimeout(LONG ? 900_000 : 60_000);

const USUAL = ["LogpushJob", "KvNamespace", "KvEntries of a file"];
const NAMES = Object.keys(SECRET_ARGS).filter((name) => LONG || USUAL.includes(name));

/** Searches everything that an action says while each of its requests fails in turn. */
async function expectNothing(act: (url: string) => Promise<readonly string[]>): Promise<number> {
  const { requests } = await spoken(-1, unfailing, act);
  const leaks: string[] = [];
  for (let at = 0; at < requests; at += 1) {
    for (const [kind, failure] of FAILURES) {
      // The normal run takes every kind once in a while.
      if (!LONG && (at + FAILURES.findIndex(([each]) => each === kind)) % 7 !== 0) continue;
      const { lines } = await spoken(at, failure, act);
      const said = lines.join("\n");
      const piece = PIECES.find((each) => said.includes(each));
      if (piece !== undefined)
        leaks.push(
          `${kind} to request ${at}: ${piece} in ${lines.find((line) => line.includes(piece))?.slice(0, 500) ?? ""}`,
        );
    }
  }
  expect(leaks).toEqual([]);
  return requests;
}

describe.each(NAMES)("whatever a response repeats, %s", (name) => {
  const [type = ""] = name.split(" ");
  test.each(["check", "create", "update", "refresh", "destroy"])(
    "shows and records none of it in a %s",
    async (action) => {
      const act = operationActs(type, name)[action];
      if (act === undefined) throw new Error(`no action ${action}`);
      const requests = await expectNothing(act);
      if (action === "create") expect(requests).toBeGreaterThan(0); // Not every deletion takes a request.
    },
  );
});

describe.each(Object.keys(TWINS))("what's secret in the program is secret in an existing %s", (type) => {
  test.each(["adopting it", "refusing to adopt it", "adopting it if it's equal", "refreshing it"])(
    "when %s",
    async (action) => {
      const act = twinActs(type)[action];
      if (act === undefined) throw new Error(`no action ${action}`);
      const { lines } = await spoken(-1, unfailing, act);
      const piece = PIECES.find((each) => lines.some((line) => line.includes(each))) ?? "";
      const leak = lines.find((line) => line.includes(piece)) ?? "";
      expect(piece === "" ? "" : leak.slice(Math.max(0, leak.indexOf(piece) - 200))).toBe("");
      await expectNothing(act);
    },
  );
});

test("whatever a response repeats, an import shows none of it", async () => {
  expect(await expectNothing(importing)).toBeGreaterThan(0);
});
