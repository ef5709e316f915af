import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { startLocalApi, type LocalApi } from "edgeguard-local";
import { stringsIn } from "../../provider/api/redact";
import { run } from "../../provider/cli/program";
import { REGISTER } from "../../provider/register";
import { namesOfSecrets, SECRETS } from "../../provider/runtime/secrets";
import { isJsonObject, omit, type JsonObject } from "../../provider/runtime/values";
import { serve } from "../support/edge-client";
import { LONG } from "../support/long";
import { Operation, rawSend, type Recorded } from "../support/operation";
import { SAMPLES } from "../support/samples";

/** Whatever a response repeats, from the request or from other objects, no message shows it and no state records it. */

const TOKEN = "Zq7xKw2mVp9rTb4n";
const WORDS = "correct-horse-battery-staple";
/** In objects that the program doesn't declare. */
const OTHERS = { destination: "Ld8sYc3hGf6jQe0w", metadata: "Uo5iHt1zXv0kWn4b", text: "Bp6yRm8qDs2aEg7c" };
const CANARIES = [TOKEN, WORDS, ...Object.values(OTHERS)];
const SPELLINGS = CANARIES.flatMap((canary) => [canary, Buffer.from(canary).toString("base64").slice(0, 20)]);
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
    action: "log",
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

function operationActs(
  type: string,
  name: string,
): Readonly<Record<string, (url: string) => Promise<readonly string[]>>> {
  const sample = SAMPLES[type as keyof typeof SAMPLES](api);
  const secretArgs = SECRET_ARGS[name] ?? {};
  const others = omit(sample.args, ["entries"]);
  const base = name === type ? sample.args : others;
  const marked = { [SECRETS]: Object.keys(secretArgs) };
  const args = { ...base, ...secretArgs, adopt: undefined, ...marked };
  const changed = { ...(name === type ? sample.changed : base), ...secretArgs, ...marked };
  const OPTIONS = { config: { "edgeguard:maxRetries": "0" }, inNoTime: api };
  const within =
    (work: (operation: Operation, recorded: Recorded) => Promise<unknown>, isMade: boolean) =>
    async (url: string): Promise<readonly string[]> => {
      const operation = new Operation({ url }, OPTIONS);
      const recorded = isMade
        ? await new Operation(api, OPTIONS).up(type, args)
        : { id: "", inputs: {}, outputs: {} };
      const lines: string[] = [];
      try {
        const made = await work(operation, recorded);
        if (isJsonObject(made)) lines.push(recordedText(type, args, made["outputs"]));
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
  return {
    create: within((operation) => operation.up(type, args), false),
    update: within(async (operation, { outputs, ...recorded }) => {
      // Also what differs only in its secrets is written.
      return await operation.update(type, (await operation.check(type, changed)).inputs, {
        ...recorded,
        outputs,
      });
    }, true),
    refresh: within((operation, recorded) => operation.refresh(type, recorded), true),
    destroy: within((operation, recorded) => operation.destroy(type, recorded), true),
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
  test.each(["create", "update", "refresh", "destroy"])(
    "shows and records none of it in a %s",
    async (action) => {
      const act = operationActs(type, name)[action];
      if (act === undefined) throw new Error(`no action ${action}`);
      const requests = await expectNothing(act);
      if (action === "create") expect(requests).toBeGreaterThan(0); // Not every deletion takes a request.
    },
  );
});

test("whatever a response repeats, an import shows none of it", async () => {
  expect(await expectNothing(importing)).toBeGreaterThan(0);
});
