import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LocalApi, managedRulesets, startLocalApi } from "edgeguard-local";
import { doubtfulConfig } from "../../provider/runtime/settings";
import { Operation, rawSend } from "../support/operation";

/**
 * The mistakes that people make, and what the preview says of each, as `mistakes.md` keeps it for review. Every message
 * says where, what was given, what is allowed, and what to do.
 */

const FOLDER = mkdtempSync(join(tmpdir(), "edgeguard-mistakes-"));
const TABLE = readFileSync(join(__dirname, "mistakes.md"), "utf8");

let api: LocalApi;
beforeAll(async () => {
  api = await startLocalApi();
});
afterAll(async () => {
  await api.close();
  rmSync(FOLDER, { recursive: true });
});
beforeEach(() => {
  api.reset();
  api.clearFaults();
});

type Args = Record<string, unknown>;

const settings = (more: Args = {}): [string, Args] => [
  "PageShieldSettings",
  { zoneId: api.zones.empty, enabled: true, ...more },
];
const policy = (more: Args): [string, Args] => [
  "PageShieldPolicy",
  {
    zoneId: api.zones.empty,
    description: "checkout",
    action: "log",
    expression: 'http.host eq "shop.example"',
    value: { scriptSrc: ["'self'"] },
    ...more,
  },
];
const rule = (more: Args): [string, Args] => [
  "ManagedRulesetOverride",
  {
    zoneId: api.zones.empty,
    accountId: api.accounts.main,
    ref: "waf",
    ruleset: { id: managedRulesets.managed },
    ...more,
  },
];
const job = (more: Args = {}): [string, Args] => [
  "LogpushJob",
  {
    zoneId: api.zones.empty,
    name: "requests",
    dataset: "http_requests",
    destinationConf: "https://logs.example.com/in",
    ...more,
  },
];
const entries = (file: string): [string, Args] => [
  "KvEntries",
  { accountId: api.accounts.main, namespaceId: api.namespaces.existing, file },
];

interface Mistake {
  readonly declared: () => [type: string, args: Args] | Promise<[string, Args]>;
  /** Where the API is not. */
  readonly baseUrl?: string;
  /** Said, not refused: it does not prove that the update would fail. */
  readonly warns?: true;
}

const MISTAKES: Readonly<Record<string, Mistake>> = {
  "zone name as ID": { declared: () => settings({ zoneId: "shop.example" }) },
  "31 digits": { declared: () => settings({ zoneId: "5a0c1e7f3b2d4968a7e1c0f2d3b4a5f" }) },
  "unknown zone": { declared: () => settings({ zoneId: "00000000000000000000000000000001" }) },
  "unknown account": {
    declared: () => ["KvNamespace", { accountId: "00000000000000000000000000000002", title: "catalog" }],
  },
  "refused token": {
    declared: () => {
      api.fault({ match: {}, kind: "status", status: 401, code: 1000, message: "Invalid API Token" });
      return settings();
    },
  },
  "token without the right": {
    declared: () => {
      api.fault({ match: {}, kind: "status", status: 403, code: 10000, message: "Authentication error" });
      return ["KvNamespace", { accountId: api.accounts.main, title: "catalog" }];
    },
  },
  offline: { declared: () => settings(), baseUrl: "http://127.0.0.1:9/v4", warns: true },
  "wrong enum": { declared: () => policy({ action: "block" }) },
  "misspelt argument": { declared: () => policy({ expresion: "true" }) },
  "misspelt directive": { declared: () => policy({ value: { scriptsrc: ["'self'"] } }) },
  "unquoted host": { declared: () => policy({ expression: "http.host eq www.shop.example" }) },
  "unquoted self": { declared: () => policy({ value: "script-src self" }) },
  "wrong tag": { declared: () => rule({ categories: [{ tag: "wordpres", enabled: false }] }) },
  "wrong ruleset": { declared: () => rule({ ruleset: { name: "Cloudflare OWASP Core Rules" } }) },
  "wrong field": { declared: () => job({ outputOptions: { fieldNames: ["ClientRequestHosts"] } }) },
  "broken JSON": {
    declared: () => {
      const path = join(FOLDER, "broken.json");
      writeFileSync(path, '[\n  { "key": "a", "value": "1" }\n  { "key": "b" }\n]\n');
      return entries(path);
    },
  },
  "missing file": { declared: () => entries(join(FOLDER, "catalogue.json")) },
  "too many jobs": {
    declared: async () => {
      for (const name of ["a", "b", "c", "d"]) {
        const made = { name, dataset: "http_requests", destination_conf: "https://logs.example.com/in" };
        await rawSend(api, "POST", `/zones/${api.zones.empty}/logpush/jobs`, made);
      }
      return job();
    },
  },
  "taken title": {
    declared: async () => {
      const path = `/accounts/${api.accounts.main}/storage/kv/namespaces`;
      const { id } = (await rawSend(api, "POST", path, { title: "catalog" }))["result"] as { id: string };
      await rawSend(api, "PUT", `${path}/${id}/bulk`, [{ key: "theirs", value: "1" }]);
      return ["KvNamespace", { accountId: api.accounts.main, title: "catalog" }];
    },
  },
  "skip shape": {
    declared: () => rule({ exceptions: [{ expression: "true", skip: { rules: ["0".repeat(32)] } }] }),
  },
};

test.each(Object.entries(MISTAKES))("%s", async (name, { declared, baseUrl, warns }) => {
  const op = new Operation({ url: baseUrl ?? api.url });
  const [type, args] = await declared();
  const refusals = await op.refusals(type, args);
  await op.host.close();
  expect(refusals.length > 0).toBe(warns !== true);
  expect(row(name, warns === true ? op.warned : refusals)).toBe(rowOf(name));
});

test("plain token", () => {
  const config = { "edgeguard:apiToken": "a-token" };
  const said = doubtfulConfig(config, { project: "shop", isSecret: () => false, env: {} });
  expect(row("plain token", said)).toBe(rowOf("plain token"));
});

test("the table has a row for each mistake, and no other", () => {
  const named = [...TABLE.matchAll(/^\| ([^|]*?) +\|/gm)].map(([, name]) => name).slice(1);
  expect(named.filter((name) => !/^-+$/.test(name ?? ""))).toEqual([...Object.keys(MISTAKES), "plain token"]);
});

/** One row of the table; to mend it, put what a test received in the place of what it expected. */
function row(name: string, said: readonly string[]): string {
  const words = said.join("<br>").replaceAll("|", "\\|").replaceAll("\n", "<br>");
  return `| ${name} | ${steady(words)} |`;
}

function rowOf(name: string): string | undefined {
  const line = TABLE.split("\n").find((each) => each.startsWith(`| ${name} `));
  return line?.replace(/ +\|/g, " |");
}

/** What differs from run to run, or by the place of the tests. */
function steady(text: string): string {
  return text
    .replace(/request id [0-9a-f]+-LOC/g, "request id {ray}")
    .replaceAll(FOLDER, "{folder}")
    .replace(/exists already \([0-9a-f]{32}\)/, "exists already ({ID})");
}
