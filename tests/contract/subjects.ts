import { join } from "node:path";
import { type LocalApi, managedRulesets, startLocalApi } from "edgeguard-local";
import { EXAMPLE_MANAGED_RULE } from "../../local/api/rulesets/ids";
import type { JsonObject } from "../../provider/basics/json";
import { toRequest } from "../../provider/kv/batches";
import { Operation, rawGet, rawSend } from "../support/operation";
import { REPOSITORY } from "../support/repository";
import { pathsInJson, Types, type TypeRef } from "./types";

/**
 * What we do on each side of the contract. What's sent is observed: each resource is created with every argument, on a
 * strict local API, and read back.
 */

/** An object of the API, as a type of the official SDK has it. */
export interface Subject {
  readonly name: string;
  readonly theirs: TypeRef;
  /** The members that we know, by what we do with them, in the words of the API. */
  readonly ours: Readonly<Record<string, ReadonlySet<string>>>;
  /** The values that our types list for arguments. */
  readonly accepted?: ReadonlySet<string>;
}

const sdk = (file: string, type: string): TypeRef => ({ file: `resources/${file}.d.ts`, type });
const args = (file: string, type: string): TypeRef => ({ file: `${file}.ts`, type });

const RECORDS = "page-shield/records";
const OUR_TYPES = {
  job: args("logpush/logpush-job", "LogpushJobArgs"),
  policy: args("page-shield/policy", "PageShieldPolicyArgs"),
  transformer: args("logpush/logpush-transformer", "LogpushTransformerArgs"),
  namespace: args("kv/kv-namespace", "KvNamespaceArgs"),
  settings: args(RECORDS, "PageShieldSettingsState"),
  policyState: args(RECORDS, "PageShieldPolicyState"),
  script: args(RECORDS, "Script"),
  connection: args(RECORDS, "Connection"),
  cookie: args(RECORDS, "Cookie"),
} as const;

/** What the SDK's types are compared with. Reads no type of the SDK, so that no change of it goes unnoticed. */
export async function subjects(): Promise<readonly Subject[]> {
  const types = new Types(join(REPOSITORY, "provider"), Object.values(OUR_TYPES));
  const declared = (name: keyof typeof OUR_TYPES): ReadonlySet<string> =>
    new Set([...types.pathsOf(OUR_TYPES[name])].map(asSent));
  const api = await startLocalApi({ dialect: "openapi", strict: true });
  try {
    const seen = await exchange(api);
    /** An object that we send and read, by the two types in one of the SDK's files. */
    const both = (
      name: string,
      kind: Kind,
      [file, create, answer]: readonly [file: string, create: string, answer: string],
      {
        reads,
        accepted,
      }: { readonly reads?: keyof typeof OUR_TYPES; readonly accepted?: keyof typeof OUR_TYPES } = {},
    ): readonly Subject[] => [
      {
        name: `${name}, sent`,
        theirs: sdk(file, create),
        ours: { sends: seen[kind].sent },
        ...(accepted && { accepted: declared(accepted) }),
      },
      {
        name: `${name}, read`,
        theirs: sdk(file, answer),
        ours: { ...(reads && { reads: declared(reads) }), simulates: seen[kind].read },
      },
    ];
    const transformers = "logpush/transformers/transformers";
    return [
      ...both("Logpush job", "job", ["logpush/jobs", "JobCreateParams", "LogpushJob"], { accepted: "job" }),
      ...both(
        "Logpush transformer",
        "transformer",
        [transformers, "TransformerCreateParams", "TransformerGetResponse"],
        { accepted: "transformer" },
      ),
      ...both(
        "Page Shield settings",
        "settings",
        ["page-shield/page-shield", "PageShieldUpdateParams", "PageShieldGetResponse"],
        { reads: "settings" },
      ),
      ...both(
        "Page Shield policy",
        "policy",
        ["page-shield/policies", "PolicyCreateParams", "PolicyGetResponse"],
        { accepted: "policy", reads: "policyState" },
      ),
      ...(["script", "connection", "cookie"] as const).map((kind) => ({
        name: `Page Shield ${kind}`,
        theirs: sdk(
          `page-shield/${kind}s`,
          `${kind.replace(/^./, (first) => first.toUpperCase())}GetResponse`,
        ),
        ours: { reads: declared(kind), simulates: seen[kind] },
      })),
      ...both("execute rule", "execute", ["rulesets/rules", "RuleCreateParams.ExecuteRule", "ExecuteRule"]),
      ...both("skip rule", "skip", ["rulesets/rules", "RuleCreateParams.SkipRule", "SkipRule"]),
      ...both(
        "KV namespace",
        "namespace",
        ["kv/namespaces/namespaces", "NamespaceCreateParams", "Namespace"],
        { accepted: "namespace" },
      ),
      {
        name: "KV pair, sent",
        theirs: sdk("kv/namespaces/namespaces", "NamespaceBulkUpdateParams.Body"),
        ours: { sends: seen.pair.sent },
      },
      { name: "KV key, read", theirs: sdk("kv/namespaces/keys", "Key"), ours: { simulates: seen.pair.read } },
    ];
  } finally {
    await api.close();
  }
}

/** Arguments and outputs are named as in the API, but in camelCase. */
function asSent(path: string): string {
  const [member = "", ...value] = path.split("=");
  return [member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), ...value].join("=");
}

interface Exchanged {
  readonly sent: ReadonlySet<string>;
  readonly read: ReadonlySet<string>;
}

type Kind = "job" | "transformer" | "settings" | "policy" | "execute" | "skip" | "namespace" | "pair";
type Detection = "script" | "connection" | "cookie";

/** Creates everything, and returns what was sent and what the local API then answers. */
async function exchange(
  api: LocalApi,
): Promise<Readonly<Record<Kind, Exchanged>> & Readonly<Record<Detection, ReadonlySet<string>>>> {
  const destination_conf = "gs://logs/http";
  await rawSend(api, "POST", `/zones/${api.zones.empty}/logpush/ownership`, { destination_conf });
  const ownershipChallenge = api.logpush.read(api.logpush.files()[0]?.path ?? "");
  for (const [type, inputs] of samples(api, { destinationConf: destination_conf, ownershipChallenge }))
    await new Operation(api, OFFLINE).up(type, inputs);
  const sent = (path: RegExp, isWanted: (body: JsonObject) => boolean = () => true): ReadonlySet<string> =>
    new Set(
      api.requests
        .filter((each) => ["POST", "PUT"].includes(each.method) && path.test(each.path))
        .flatMap(({ body }) => (Array.isArray(body) ? body : [body]) as readonly JsonObject[])
        .filter(isWanted)
        .flatMap((body) => pathsInJson(body)),
    );
  const answers = async (path: string): Promise<readonly JsonObject[]> => {
    const { result } = await rawGet(api, path);
    return (Array.isArray(result) ? result : [result]) as readonly JsonObject[];
  };
  const read = async (path: string, isWanted?: (each: JsonObject) => boolean): Promise<ReadonlySet<string>> =>
    new Set((await answers(path)).filter(isWanted ?? (() => true)).flatMap((each) => pathsInJson(each)));
  const one = async (path: string): Promise<ReadonlySet<string>> => {
    const all = await answers(path);
    const details = await Promise.all(all.map(({ id }) => answers(`${path}/${String(id)}`)));
    return new Set(details.flat().flatMap((each) => pathsInJson(each)));
  };
  const { shop, empty } = api.zones;
  const transformers = `/accounts/${api.accounts.main}/logpush/transformers`;
  const kv = `/accounts/${api.accounts.main}/storage/kv/namespaces`;
  const [{ rules = [] } = {}] = (await answers(
    `/zones/${empty}/rulesets/phases/http_request_firewall_managed/entrypoint`,
  )) as readonly { rules?: readonly JsonObject[] }[];
  const rule = (action: string): Exchanged => ({
    sent: sent(/\/rules(\/[^/]+)?$/, (body) => body["action"] === action),
    read: new Set(rules.filter((each) => each["action"] === action).flatMap((each) => pathsInJson(each))),
  });
  return {
    job: { sent: sent(/\/logpush\/jobs$/), read: await read(`/zones/${empty}/logpush/jobs`) },
    transformer: { sent: sent(/\/logpush\/transformers$/), read: await read(transformers) },
    settings: { sent: sent(/\/page_shield$/), read: await read(`/zones/${empty}/page_shield`) },
    policy: { sent: sent(/\/policies$/), read: await read(`/zones/${empty}/page_shield/policies`) },
    script: await one(`/zones/${shop}/page_shield/scripts`),
    connection: await one(`/zones/${shop}/page_shield/connections`),
    cookie: await one(`/zones/${shop}/page_shield/cookies`),
    execute: rule("execute"),
    skip: rule("skip"),
    namespace: { sent: sent(/\/kv\/namespaces$/), read: await read(kv) },
    // The log of requests has no values.
    pair: {
      sent: new Set(pathsInJson(toRequest({ key: "a", expiration: 4_000_000_000, ...PAIR }))),
      read: await read(`${kv}/${api.namespaces.existing}/keys`),
    },
  };
}

const PAIR = { value: "YQ==", base64: true, metadata: { b: 1 }, expirationTtl: 3_600 };

const OFFLINE = { config: { "edgeguard:liveChecks": "false" } };

/** One of each resource, or several if one can't have all arguments at once. */
function samples(
  { accounts, zones, namespaces }: LocalApi,
  destination: JsonObject,
): readonly (readonly [string, JsonObject])[] {
  const zoneId = zones.empty;
  const accountId = accounts.main;
  return [
    [
      "LogpushTransformer",
      { accountId, name: "all", description: "a", code: "SELECT QueryName FROM dns_logs" },
    ],
    ["LogpushJob", { zoneId, name: "transformed", dataset: "dns_logs", ...destination, transformerId: "1" }],
    [
      "LogpushJob",
      {
        zoneId,
        name: "all",
        dataset: "http_requests",
        ...destination,
        enabled: true,
        filter: '{"where":{"key":"ClientCountry","operator":"eq","value":"ca"}}',
        frequency: "high",
        kind: "edge",
        filterAttackTraffic: true,
        maxUploadBytes: 5_000_000,
        maxUploadIntervalSeconds: 30,
        maxUploadRecords: 1_000,
        outputOptions: {
          fieldNames: ["ClientIP"],
          sampleRate: 0.5,
          timestampFormat: "rfc3339",
          outputType: "csv",
          batchPrefix: "a",
          batchSuffix: "b",
          recordPrefix: "c",
          recordSuffix: "d",
          recordTemplate: "{{.ClientIP}}",
          recordDelimiter: "e",
          fieldDelimiter: "f",
          mergeSubrequests: true,
          stringifyObject: true,
          cve202144228: true,
        },
      },
    ],
    [
      "PageShieldSettings",
      { zoneId, enabled: true, useReportingEndpoint: false, useConnectionUrlPath: true },
    ],
    [
      "PageShieldPolicy",
      {
        zoneId,
        description: "a",
        action: "log",
        expression: "true",
        enabled: false,
        value: "script-src 'self'",
      },
    ],
    [
      "ManagedRulesetOverride",
      {
        zoneId,
        accountId,
        ref: "waf",
        ruleset: { id: managedRulesets.managed },
        version: "latest",
        expression: "true",
        description: "a",
        enabled: true,
        position: "first",
        action: "log",
        allRulesEnabled: true,
        matchedData: { publicKey: `${"A".repeat(43)}=` },
        categories: [{ tag: "wordpress", enabled: false, action: "log" }],
        exceptions: [
          { expression: "false", description: "a", skip: "all", logging: false },
          { expression: "false", skip: "this" },
          { expression: "false", skip: { rules: { this: [EXAMPLE_MANAGED_RULE] } } },
        ],
      },
    ],
    [
      "ManagedRulesetOverride",
      {
        zoneId,
        accountId,
        ref: "owasp",
        ruleset: { id: managedRulesets.owasp },
        position: { after: "waf" },
        owasp: { paranoiaLevel: 2, scoreThreshold: "low", action: "log" },
        rules: { "920272": { enabled: false } },
      },
    ],
    ["KvNamespace", { accountId, title: "all", jurisdiction: "eu" }],
    ["KvEntries", { accountId, namespaceId: namespaces.existing, entries: { a: PAIR } }],
  ];
}
