import type { LocalApi, ZoneName } from "edgeguard-local";
import {
  sourcePath,
  textOf,
  type Args,
  type Declared,
  type Program,
  type TypeName,
  type Value,
} from "./program";
import type { Random } from "./random";
import type { Catalog, CatalogRuleset } from "./environment";

/** Makes random programs whose arguments are all valid. */

export interface GeneratorContext {
  readonly random: Random;
  readonly zones: LocalApi["zones"];
  readonly accounts: LocalApi["accounts"];
  readonly catalog: Catalog;
  /** IDs of other people's namespaces. */
  readonly othersNamespaces: readonly string[];
  /** Secrets that must not appear anywhere. */
  readonly canaries: string[];
  /** Contents of the files that the program reads. */
  readonly files: Record<string, Buffer>;
  /** Kinds of objects, by zone or namespace, that only one resource may declare. */
  readonly used: Set<string>;
  /** Numbers the resources' names. */
  count: number;
}

/** The zones whose plan and state allow each resource. */
const SETTINGS_ZONES = ["shop", "empty", "blog", "small", "migratePro"] as const;
const POLICY_ZONES = ["shop", "empty", "blog"] as const;
const RULE_ZONES = ["shop", "empty", "blog"] as const;
const JOB_ZONES = ["shop", "empty", "migrateEnterprise"] as const;
const ENTERPRISE: readonly ZoneName[] = ["shop", "empty", "migrateEnterprise"];

/** Zones to migrate, with their plan and possible targets. */
const MIGRATIONS: Readonly<Partial<Record<ZoneName, readonly [plan: string, ...targets: string[]]>>> = {
  migratePro: ["pro", "assessed", "finished"],
  migrateBusiness: ["business", "assessed", "finished"],
  migrateEnterprise: ["enterprise", "assessed", "validation", "finished"],
  migrateDeployed: ["enterprise", "assessed", "validation", "finished"],
  migratePageRule: ["pro", "assessed", "finished"],
  migrateOff: ["pro", "assessed", "finished"],
  migrateValidating: ["enterprise", "assessed", "validation", "finished"],
  migrateFinished: ["pro", "assessed", "finished"],
  migrateOverrides: ["business", "assessed"],
  migrateManyRules: ["enterprise", "assessed"],
};

/** One to eight resources. */
export function programFor(generator: GeneratorContext): Program {
  const { random } = generator;
  const resources: Declared[] = [];
  const wanted = random.int(1, 8);
  for (let tries = 0; resources.length < wanted && tries < 40; tries += 1) {
    const added = declare(generator, random.pick(WEIGHTED), resources);
    if (added !== undefined) resources.push(added);
  }
  return { resources, files: { ...generator.files } };
}

const WEIGHTED: readonly TypeName[] = [
  "PageShieldSettings",
  "PageShieldPolicy",
  "PageShieldPolicy",
  "ManagedRulesetOverride",
  "ManagedRulesetOverride",
  "WafMigration",
  "LogpushTransformer",
  "LogpushTransformer",
  "LogpushJob",
  "LogpushJob",
  "KvNamespace",
  "KvEntries",
  "KvEntries",
];

/** A new resource of the type; undefined if the program can't have another one. */
export function declare(
  generator: GeneratorContext,
  type: TypeName,
  others: readonly Declared[],
): Declared | undefined {
  const args = MAKERS[type](generator, others);
  if (args === undefined) return undefined;
  generator.count += 1;
  const opts = generator.random.chance(0.1) ? { opts: { deleteBeforeReplace: true } } : {};
  return { type, name: `${generator.random.word()}-${generator.count}`, args, ...opts };
}

type Maker = (generator: GeneratorContext, others: readonly Declared[]) => Args | undefined;

const MAKERS: Readonly<Record<TypeName, Maker>> = {
  PageShieldSettings: (generator) => {
    const zone = free(generator, "settings", SETTINGS_ZONES);
    return zone === undefined ? undefined : settingsArgs(generator, generator.zones[zone]);
  },
  PageShieldPolicy: (generator) =>
    policyArgs(generator, generator.zones[generator.random.pick(POLICY_ZONES)]),
  ManagedRulesetOverride: (generator) => {
    const zone = generator.random.pick(RULE_ZONES);
    return overrideArgs(generator, generator.zones[zone]);
  },
  WafMigration: (generator) => {
    const zone = free(generator, "migration", Object.keys(MIGRATIONS) as ZoneName[]);
    return zone === undefined ? undefined : migrationArgs(generator, zone);
  },
  LogpushTransformer: (generator) => transformerArgs(generator),
  LogpushJob: (generator, others) => jobArgs(generator, others),
  KvNamespace: (generator) => namespaceArgs(generator),
  KvEntries: (generator, others) => entriesArgs(generator, others),
};

/** Claims a zone that no other resource of this kind uses. */
function free(generator: GeneratorContext, kind: string, zones: readonly ZoneName[]): ZoneName | undefined {
  const left = zones.filter((zone) => !generator.used.has(`${kind} ${zone}`));
  if (left.length === 0) return undefined;
  const zone = generator.random.pick(left);
  generator.used.add(`${kind} ${zone}`);
  return zone;
}

function unique(generator: GeneratorContext, kind: string): string {
  generator.count += 1;
  const name = `${generator.random.word()}-${kind}-${generator.count}`;
  return name;
}

/** A new secret. */
function canary(generator: GeneratorContext): string {
  const text = `canary${generator.random.hex(12)}`;
  generator.canaries.push(text);
  return text;
}

function account(generator: GeneratorContext): Args {
  return generator.random.maybe("accountId", () => generator.accounts.main);
}

export function settingsArgs({ random, zones }: GeneratorContext, zoneId: string): Args {
  const entitled = ENTERPRISE.some((zone) => zones[zone] === zoneId);
  return {
    zoneId,
    enabled: random.chance(0.6),
    ...random.maybe("useReportingEndpoint", () => !entitled || random.chance(0.5)),
    ...random.maybe("useConnectionUrlPath", () => entitled && random.chance(0.5)),
    ...random.maybe("onDestroy", () => random.pick(["restore", "keep"])),
  };
}

export function policyArgs(generator: GeneratorContext, zoneId: string): Args {
  const { random } = generator;
  const value = cspValue(generator);
  return {
    zoneId,
    description: unique(generator, "policy"),
    action: random.pick(["log", "allow", "allow", "add_reporting_directives"]),
    expression: random.pick([
      "true",
      `http.host eq "${random.word()}.example"`,
      " ssl and ip.src in {192.0.2.0/24} ",
    ]),
    value: random.chance(0.15) ? { $secret: `${cspText(generator)} ${canary(generator)}.example` } : value,
    ...random.maybe("enabled", () => random.chance(0.6)),
    ...random.maybe("adopt", () => random.pick(["ifEqual", "never", "takeOver"])),
    ...random.maybe("extra", () => ({ [`x_${random.word()}`]: random.int(1, 99) }), 0.2),
  };
}

const SOURCES = [
  "'self'",
  "'unsafe-inline'",
  "js.payments.example",
  "CDN.example.com",
  "https:",
  "*.media.example",
  "data:",
];
const DIRECTIVES = ["script-src", "connect-src", "frame-src", "style-src", "img-src"];

function cspText({ random }: GeneratorContext): string {
  const lines = random
    .some(DIRECTIVES, 1, 3)
    .map((directive) => `${directive} ${random.some(SOURCES, 1, 4).join(" ")}`);
  return `upgrade-insecure-requests; ${lines.join("; ")}`;
}

function cspValue(generator: GeneratorContext): Value {
  const { random } = generator;
  if (random.chance(0.5)) return cspText(generator);
  const camel = (name: string): string => name.replace(/-(.)/g, (_, c: string) => c.toUpperCase());
  const typed = random
    .some(DIRECTIVES, 1, 3)
    .map((name): [string, Value] => [camel(name), random.some(SOURCES, 1, 4)]);
  return { ...Object.fromEntries(typed), ...random.maybe("upgradeInsecureRequests", () => true) };
}

export function overrideArgs(generator: GeneratorContext, zoneId: string, before?: Args): Args | undefined {
  const { random, catalog } = generator;
  const ruleset =
    catalog.rulesets.find(({ id, name }) => isChoice(before?.["ruleset"], id, name)) ??
    random.pick(catalog.rulesets);
  const expression = before?.["expression"] ?? `http.host eq "${unique(generator, "host")}.example"`;
  const isOwasp = ruleset.scoreRule !== undefined;
  const position = (): Value => {
    const anchors = catalog.refs[zoneId] ?? [];
    const anchor = anchors.length === 0 ? undefined : random.pick(anchors);
    return random.pick<Value>([
      "first",
      "last",
      ...(anchor === undefined ? [] : [{ before: anchor }, { after: anchor }]),
    ]);
  };
  return {
    zoneId,
    ...account(generator),
    ...(generator.count % 3 === 0 ? { phase: "http_request_firewall_managed" } : {}),
    ruleset: random.chance(0.5) ? { id: ruleset.id } : { name: ruleset.name },
    expression,
    ...random.maybe("version", () => random.pick(["latest", ruleset.version])),
    ...random.maybe("description", () => `Set up for ${random.word()}`),
    ...random.maybe("enabled", () => random.chance(0.7)),
    ...random.maybe("ref", () => unique(generator, "ref")),
    ...random.maybe("position", position),
    ...(isOwasp ? random.maybe("owasp", () => owasp(random), 0.7) : {}),
    ...random.maybe("categories", () => categories(random, ruleset)),
    ...random.maybe("rules", () => ruleOverrides(random, ruleset)),
    ...(isOwasp ? {} : random.maybe("action", () => random.pick(ruleset.actions), 0.3)),
    ...random.maybe("allRulesEnabled", () => random.chance(0.5), 0.3),
    ...random.maybe("matchedData", () => ({ publicKey: `${random.pick(["A", "B"]).repeat(43)}=` }), 0.3),
    ...random.maybe("exceptions", () => exceptions(random, ruleset, catalog)),
    ...random.maybe("adopt", () => random.pick(["ifEqual", "never", "takeOver"]), 0.3),
    ...random.maybe("onDestroy", () => random.pick(["remove", "restore", "keep"]), 0.3),
  };
}

function isChoice(choice: Value | undefined, id: string, name: string): boolean {
  return (
    JSON.stringify(choice) === JSON.stringify({ id }) || JSON.stringify(choice) === JSON.stringify({ name })
  );
}

function owasp(random: Random): Value {
  return {
    paranoiaLevel: random.int(1, 4),
    ...random.maybe("scoreThreshold", () => random.pick<Value>(["low", "medium", "high", 30])),
    ...random.maybe("action", () => random.pick(["block", "log", "managed_challenge"])),
  };
}

function categories(random: Random, ruleset: CatalogRuleset): Value {
  return random.some(ruleset.tags, 0, 4).map(({ tag, actions }) => {
    const action = actions.length > 0 && random.chance(0.5) ? { action: random.pick(actions) } : {};
    return {
      tag,
      ...(Object.keys(action).length === 0 || random.chance(0.5) ? { enabled: random.chance(0.5) } : {}),
      ...action,
    };
  });
}

function ruleOverrides(random: Random, ruleset: CatalogRuleset): Value {
  return Object.fromEntries(
    random.some(ruleset.rules, 0, 4).map((rule) => {
      const { actions } = rule;
      const action = actions.length > 0 && random.chance(0.5) ? { action: random.pick(actions) } : {};
      return [
        nameOf(random, rule),
        {
          ...action,
          ...(Object.keys(action).length === 0 || random.chance(0.5) ? { enabled: random.chance(0.5) } : {}),
        },
      ];
    }),
  );
}

/** Names a rule by its ID or by its number. */
function nameOf(random: Random, { id, number }: CatalogRuleset["rules"][number]): string {
  return random.chance(0.5) ? id : number;
}

function exceptions(random: Random, ruleset: CatalogRuleset, { rulesets }: Catalog): Value {
  return Array.from({ length: random.int(0, 3) }, () => ({
    expression: `http.request.uri.path eq "/${random.word()}/${random.int(1, 9)}"`,
    ...random.maybe("description", () => `Not for ${random.word()}`),
    ...random.maybe("logging", () => random.chance(0.5), 0.3),
    skip: random.pick<() => Value>([
      () => "all",
      () => "this",
      () => ({ rulesets: random.some(rulesets, 1, 2).map(({ id }) => id) }),
      () => ({ rulesets: ["this", ...random.some(rulesets, 0, 1).map(({ name }) => name)] }),
      () => ({
        rules: { [ruleset.id]: random.some(ruleset.rules, 1, 3).map((rule) => nameOf(random, rule)) },
      }),
    ])(),
  }));
}

export function migrationArgs(
  { random, zones, catalog }: GeneratorContext,
  zone: ZoneName,
  atLeast = "assessed",
): Args {
  const [plan, ...targets] = MIGRATIONS[zone] ?? [];
  const target = random.pick(targets.slice(Math.max(0, targets.indexOf(atLeast))));
  const [first] = catalog.rulesets;
  return {
    zoneId: zones[zone],
    target,
    ...(plan === undefined ? {} : random.maybe("plan", () => plan, 0.6)),
    ...(target === "assessed" || first === undefined
      ? {}
      : random.maybe("configuration", () => configuration(random, first), 0.25)),
    ...random.maybe("waitFor", () => ({ timeout: random.pick<Value>([60, 150]) }), 0.5),
    ...random.maybe("quiet", () => random.pick<Value>([true, false]), 0.3),
  };
}

/** The name of the zone with this ID. */
export function zoneOf(zones: GeneratorContext["zones"], id: Value | undefined): ZoneName {
  const found = (Object.keys(zones) as ZoneName[]).find((name) => zones[name] === id);
  if (found === undefined) throw new Error(`no zone has the ID ${JSON.stringify(id)}`);
  return found;
}

function configuration(random: Random, { id }: CatalogRuleset): Value {
  return [
    {
      action: "skip",
      expression: `http.host eq "${random.word()}.example"`,
      actionParameters: { ruleset: "current" },
      description: "Kept out",
    },
    {
      action: "execute",
      expression: "true",
      actionParameters: { id, overrides: { action: "log" } },
      enabled: true,
    },
  ];
}

const ZONE_DATASETS = ["http_requests", "http_requests", "firewall_events", "dns_logs"];
const ACCOUNT_DATASETS = ["audit_logs", "workers_trace_events"];
/** Fields of each dataset, and valid comparisons of them. */
const FIELDS: Readonly<Record<string, readonly [fields: readonly string[], comparisons: readonly Value[]]>> =
  {
    http_requests: [
      [
        "ClientIP",
        "ClientRequestHost",
        "EdgeResponseStatus",
        "RayID",
        "EdgeStartTimestamp",
        "ClientRequestURI",
      ],
      [
        { key: "ClientRequestHost", operator: "eq", value: "shop.example" },
        { key: "EdgeResponseStatus", operator: "geq", value: 500 },
        { key: "ClientRequestPath", operator: "startsWith", value: "/checkout" },
        { key: "ClientRequestMethod", operator: "in", value: ["POST", "PUT"] },
        { key: "WorkerSubrequest", operator: "eq", value: false },
      ],
    ],
    firewall_events: [
      ["Datetime", "ClientIP", "Action", "RuleID", "Source"],
      [
        { key: "ClientRequestHost", operator: "!eq", value: "shop.example" },
        { key: "ClientRequestPath", operator: "contains", value: "admin" },
      ],
    ],
    dns_logs: [
      ["QueryName", "QueryType", "Timestamp", "ColoCode"],
      [{ key: "QueryName", operator: "endsWith", value: ".example" }],
    ],
    audit_logs: [
      ["ActionType", "ActorEmail", "When", "ResourceID"],
      [{ key: "ActionType", operator: "eq", value: "delete" }],
    ],
    workers_trace_events: [
      ["ScriptName", "Outcome", "EventTimestampMs", "Logs"],
      [{ key: "Outcome", operator: "!eq", value: "ok" }],
    ],
  };

export function transformerArgs(generator: GeneratorContext, before?: Args): Args {
  const { random } = generator;
  // Jobs may use it.
  const dataset =
    before === undefined ? random.pick([...ZONE_DATASETS, ...ACCOUNT_DATASETS]) : datasetOf(before["code"]);
  const [fields] = FIELDS[dataset] ?? [[]];
  return {
    ...account(generator),
    code: `SELECT ${random.some(fields, 1, 3).join(", ")}, '${canary(generator)}' AS tag\nFROM ${dataset}`,
    ...random.maybe("name", () => unique(generator, "transformer"), 0.5),
    ...random.maybe("description", () => `Set up for ${random.word()}`),
    ...random.maybe("adopt", () => random.pick(["ifEqual", "never", "takeOver"]), 0.3),
  };
}

/** The dataset of a transformer. */
export function datasetOf(code: Value | undefined): string {
  return /FROM (\w+)/.exec(textOf(code))?.[1] ?? "";
}

export function jobArgs(generator: GeneratorContext, others: readonly Declared[], before?: Args): Args {
  const { random } = generator;
  const keepsScope = before !== undefined && random.chance(0.8);
  const zoneId = keepsScope
    ? before["zoneId"]
    : random.chance(0.7)
      ? generator.zones[random.pick(JOB_ZONES)]
      : undefined;
  const dataset = keepsScope
    ? textOf(before["dataset"])
    : random.pick(zoneId === undefined ? ACCOUNT_DATASETS : ZONE_DATASETS);
  const [fields, comparisons] = FIELDS[dataset] ?? [[], []];
  const isHttp = dataset === "http_requests";
  const transformers = others.filter(
    ({ type, args }) => type === "LogpushTransformer" && datasetOf(args["code"]) === dataset,
  );
  const transformer: Args = // Needs NDJSON.
    transformers.length === 0
      ? {}
      : random.maybe("transformerId", () => ({ $id: random.pick(transformers).name }), 0.7);
  return {
    ...(zoneId === undefined ? { accountId: generator.accounts.main } : { zoneId }),
    dataset,
    ...destination(generator),
    ...random.maybe("name", () => unique(generator, "job"), 0.5),
    ...random.maybe(
      "outputOptions",
      () => outputOptions(random, fields, isHttp, "transformerId" in transformer),
      0.6,
    ),
    ...random.maybe("filter", () => filterOf(random, comparisons), 0.5),
    ...random.maybe("filterChecks", () => random.pick(["error", "warn"]), 0.3),
    ...random.maybe("enabled", () => random.chance(0.7)),
    ...random.maybe("frequency", () => random.pick(["high", "low"])),
    ...random.maybe("maxUploadBytes", () => random.pick([0, 5_000_000, 123_456_789])),
    ...random.maybe("maxUploadIntervalSeconds", () => random.pick([0, 30, 300])),
    ...random.maybe("maxUploadRecords", () => random.pick([0, 1000, 54_321])),
    ...transformer,
    ...(isHttp ? random.maybe("filterAttackTraffic", () => random.chance(0.5), 0.3) : {}),
    ...(isHttp ? random.maybe("kind", () => random.pick(["", "edge"]), 0.3) : {}),
    ...random.maybe("adopt", () => random.pick(["ifEqual", "never", "takeOver"]), 0.3),
    ...random.maybe(
      "extra",
      () => ({ [`x_${random.word()}`]: random.pick<Value>([true, 7, "a text"]) }),
      0.2,
    ),
  };
}

/** Placeholder for the ownership token, which is created when the program is written. */
export const CHALLENGE = "{the token at the destination}";

function destination(generator: GeneratorContext): Args {
  const { random } = generator;
  const bucket = unique(generator, "logs");
  const secret = (): string => canary(generator);
  return random.pick<() => Args>([
    () => ({
      destination: {
        scheme: "s3",
        bucket,
        region: "eu-west-1",
        accessKeyId: secret(),
        secretAccessKey: secret(),
        ...random.maybe("path", () => `http/{DATE}`),
        ...random.maybe("sse", () => "AES256"),
      },
    }),
    () => ({
      destination: {
        scheme: "r2",
        bucket,
        accountId: generator.accounts.main,
        accessKeyId: secret(),
        secretAccessKey: secret(),
      },
    }),
    () => ({
      destination: {
        scheme: "splunk",
        endpoint: `${bucket}.example:8088/services/collector/raw`,
        channel: "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        token: secret(),
        ...random.maybe("sourcetype", () => "cloudflare"),
      },
    }),
    () => ({
      destination: {
        scheme: "datadog",
        endpoint: `http-intake.${bucket}.example/api/v2/logs`,
        apiKey: secret(),
        ...random.maybe("ddtags", () => "env:prod"),
      },
    }),
    () => ({
      destination: {
        scheme: "https",
        url: `https://${bucket}.example/intake`,
        headers: { Authorization: `Bearer ${secret()}` },
      },
    }),
    () => ({
      destinationConf: `https://collector:${secret()}@${bucket}.example/intake?header_X-Key=${secret()}`,
    }),
    () => ({
      destinationConf: `s3://${bucket}/dns?region=us-east-1&access-key-id=${secret()}&secret-access-key=${secret()}`,
    }),
    () => ({ destinationConf: `gs://${bucket}/logs`, ownershipChallenge: CHALLENGE }),
    () => ({
      destinationConf: `sumo://${bucket}.example/receiver/v1/http/${secret()}`,
      ownershipChallenge: CHALLENGE,
    }),
    () => ({
      destinationConf: { $secret: `azure://${bucket}.blob.example/container?sv=2026&sig=${secret()}` },
      ownershipChallenge: CHALLENGE,
    }),
  ])();
}

function outputOptions(
  random: Random,
  fields: readonly string[],
  isHttp: boolean,
  hasTransformer: boolean,
): Value {
  return {
    ...random.maybe("fieldNames", () => (random.chance(0.2) ? "all" : random.some(fields, 1, 5)), 0.6),
    ...random.maybe("sampleRate", () => random.pick([1, 0.5, 0.01])),
    ...random.maybe("timestampFormat", () => random.pick(["unixnano", "unix", "rfc3339", "rfc3339ms"])),
    ...(hasTransformer ? {} : random.maybe("outputType", () => random.pick(["ndjson", "csv"]), 0.3)),
    ...random.maybe("batchPrefix", () => "[", 0.2),
    ...random.maybe("batchSuffix", () => "]", 0.2),
    ...random.maybe("recordPrefix", () => '{"tag":1,', 0.2),
    ...random.maybe("recordSuffix", () => "}", 0.2),
    ...random.maybe("recordTemplate", () => "{{.RayID}}", 0.1),
    ...random.maybe("recordDelimiter", () => ",", 0.2),
    ...random.maybe("fieldDelimiter", () => "|", 0.2),
    ...(isHttp ? random.maybe("mergeSubrequests", () => random.chance(0.5), 0.3) : {}),
    ...random.maybe("cve202144228", () => random.chance(0.5), 0.3),
    ...random.maybe("stringifyObject", () => random.chance(0.5), 0.3),
    ...random.maybe("extra", () => ({ x_option: random.int(1, 9) }), 0.1),
  };
}

function filterOf(random: Random, comparisons: readonly Value[]): Value {
  const picked = random.some(comparisons, 1, 3);
  const [only] = picked;
  const where = picked.length === 1 && only !== undefined ? only : { [random.pick(["and", "or"])]: picked };
  return random.chance(0.5) ? { where } : JSON.stringify({ where }, null, 1);
}

export function namespaceArgs(generator: GeneratorContext, before?: Args): Args {
  const { random } = generator;
  const title = unique(generator, "namespace");
  const { jurisdiction = random.chance(0.7) ? undefined : random.pick(["eu", "us", "fedramp"]) } =
    before ?? {};
  return {
    title: random.chance(0.15) ? { $secret: `${title}-${canary(generator)}` } : title,
    ...account(generator),
    ...random.maybe("preview", () => random.chance(0.5)),
    // Another one would replace the namespace, which must be empty.
    ...(jurisdiction === undefined || (before !== undefined && before["jurisdiction"] === undefined)
      ? {}
      : { jurisdiction }),
    ...random.maybe("adopt", () => random.pick(["ifEqual", "never", "takeOver"]), 0.3),
    ...random.maybe("forceDestroy", () => random.chance(0.5)),
    ...(before === undefined || random.chance(0.3) ? {} : { title: before["title"] ?? title }),
  };
}

/** A prefix whose undeclared keys are deleted. */
export const PRUNED = "stale/";

export function entriesArgs(
  generator: GeneratorContext,
  others: readonly Declared[],
  before?: Args,
): Args | undefined {
  const { random, othersNamespaces, used } = generator;
  const own = others.filter(({ type }) => type === "KvNamespace").map(({ name }): Value => ({ $id: name }));
  const namespaceId = before?.["namespaceId"] ?? random.pick<Value>([...own, ...own, ...othersNamespaces]);
  const prefix = before === undefined ? `${unique(generator, "set")}/` : prefixOf(before);
  const pruneKey = `prune ${JSON.stringify(namespaceId)}`;
  const mayPrune = before?.["prune"] !== undefined || !used.has(pruneKey);
  const prunes = mayPrune && random.chance(0.25);
  if (prunes) used.add(pruneKey);
  return {
    namespaceId,
    ...account(generator),
    ...source(generator, prefix),
    ...random.maybe(
      "defaults",
      () => ({
        ...random.maybe("metadata", () => ({ team: random.word() }), 0.6),
        ...random.maybe("expirationTtl", () => random.int(2, 9) * 10_000, 0.6),
      }),
      0.3,
    ),
    ...random.maybe("adopt", () => random.pick(["ifEqual", "never", "takeOver"]), 0.3),
    ...(prunes ? { prune: { prefix: PRUNED, ...random.maybe("maxDeletes", () => random.int(5, 200)) } } : {}),
    // More than any of its sources has: other tests cover the refusal.
    ...random.maybe("maxOwnDeletes", () => random.int(20, 50), 0.3),
    ...random.maybe("verify", () => random.pick(["keys", "values", "none"])),
  };
}

/** Each resource's keys have their own prefix, so that no two resources declare the same key. */
function prefixOf(args: Args): string {
  const { entries, file, directory } = args;
  const known = JSON.stringify([entries ?? null, file ?? null, directory ?? null]);
  const prefix = /[a-z]+-set-\d+/.exec(known)?.[0];
  if (prefix === undefined) throw new Error(`no prefix in ${known}`);
  return `${prefix}/`;
}

const KEYS = [
  "a",
  "b",
  "config/checkout",
  "straße",
  "k?&%20",
  "price:eur",
  "__proto__",
  "constructor",
  "x".repeat(60),
  "logo.ico",
];

function source(generator: GeneratorContext, prefix: string): Args {
  const { random, files } = generator;
  const keys = random.some(KEYS, 0, KEYS.length).map((key) => prefix + key);
  const folder = `${prefix.slice(0, -1)}-${random.hex(6)}`;
  return random.pick<() => Args>([
    () => ({
      entries: {
        [`${prefix}first`]: canary(generator),
        ...Object.fromEntries(keys.map((key) => [key, entry(generator)])),
      },
    }),
    () => {
      const list = [`${prefix}first`, ...keys].map((key) => ({ key, ...fileEntry(entry(generator)) }));
      files[`${folder}.json`] = Buffer.from(JSON.stringify(list, null, 1));
      return { file: sourcePath(`${folder}.json`) };
    },
    () => {
      for (let index = random.int(0, 5); index >= 0; index -= 1) {
        files[`${folder}/${random.word()}/${index}.txt`] = random.chance(0.3)
          ? Buffer.from([0xff, 0xfe, index, ...Buffer.from(canary(generator))])
          : Buffer.from(canary(generator));
      }
      files[`${folder}/.ignored`] = Buffer.from(canary(generator));
      return {
        directory: { path: sourcePath(folder), prefix, ignore: [".ignored"] },
      };
    },
  ])();
}

/** An entry in a program. */
function entry(generator: GeneratorContext): Value {
  const { random } = generator;
  const text = canary(generator);
  if (random.chance(0.3)) return text;
  const isBinary = random.chance(0.3);
  const value = isBinary ? Buffer.from([0, 255, ...Buffer.from(text)]).toString("base64") : text;
  if (isBinary) generator.canaries.push(value);
  return {
    value,
    ...(isBinary ? { base64: true } : {}),
    ...random.maybe("metadata", () => ({ owner: canary(generator), revision: random.int(1, 9) }), 0.3),
    ...random.pick<Args>([
      {},
      {},
      { expiration: 4_102_444_800 },
      { expirationTtl: random.int(2, 9) * 10_000 },
    ]),
  };
}

function fileEntry(value: Value): Args {
  if (typeof value === "string") return { value };
  const { expirationTtl, ...rest } = value as Args;
  return { ...rest, ...(expirationTtl === undefined ? {} : { expiration_ttl: expirationTtl }) };
}
