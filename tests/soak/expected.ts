import { isDeepStrictEqual } from "node:util";
import type { LocalApi, ZoneName } from "edgeguard-local";
import { dependency } from "./derive";
import type { Allowance } from "./remedies";
import { PRUNED, zoneOf } from "./generate";
import {
  isObject,
  plain,
  textOf,
  type Args,
  type Declared,
  type Program,
  type TypeName,
  type Value,
} from "./program";
import {
  entriesOf,
  inventory,
  namespacesOf,
  result,
  rulesOf,
  WATCHED,
  type Catalog,
  type StoredEntry,
  type ZoneRule,
} from "./environment";

export interface InitialState {
  /** Other people's objects. */
  readonly objects: ReadonlyMap<string, string>;
  readonly settings: Readonly<Record<string, Args>>;
  readonly phases: Readonly<Record<string, string>>;
  readonly migrationRules: Readonly<Record<string, readonly ZoneRule[]>>;
  readonly startedAt: number;
}

export interface CheckContext {
  readonly api: LocalApi;
  readonly catalog: Catalog;
  readonly before: InitialState;
  readonly program: Program;
  /** The program before it, if any. */
  readonly previous: Program | undefined;
  /** Whether a process was killed, which may lose a zone's original settings. */
  readonly killed: boolean;
  /** Counts a difference by design. */
  readonly allow: (what: Allowance) => void;
}

export async function stateBefore(api: LocalApi, migrationZones: readonly string[]): Promise<InitialState> {
  const settings: Record<string, Args> = {};
  for (const zone of WATCHED.settings) settings[api.zones[zone]] = await settingsOf(api, api.zones[zone]);
  const migrationRules: Record<string, readonly ZoneRule[]> = {};
  for (const zone of migrationZones) migrationRules[zone] = await rulesOf(api, zone);
  return {
    objects: await inventory(api),
    settings,
    phases: Object.fromEntries(Object.values(api.zones).map((zone) => [zone, phaseOf(api, zone)])),
    migrationRules,
    startedAt: Math.floor(Date.now() / 1000),
  };
}

/** Compares the API's state with the program, without the provider's code. One sentence per difference. */
export async function findProblems(context: CheckContext): Promise<string[]> {
  const claimed = new Set<string>();
  const found: string[] = [];
  for (const check of [settings, policies, overrides, transformers, jobs, namespaces, entries, migrations])
    found.push(...(await check(context, claimed)));
  const { api, before } = context;
  const now = await inventory(api);
  for (const [what, content] of before.objects) {
    if (claimed.has(what)) continue;
    if (now.get(what) !== content)
      found.push(`other people's ${what} was ${content} and is ${now.get(what) ?? "gone"}`);
  }
  for (const [what, content] of now) {
    if (!before.objects.has(what) && !claimed.has(what))
      found.push(`no program declares ${what}: ${content}`);
  }
  return found;
}

type Check = (context: CheckContext, claimed: Set<string>) => Promise<string[]>;

function all(program: Program | undefined, type: TypeName): readonly Declared[] {
  return (program?.resources ?? []).filter((each) => each.type === type);
}

function differs(what: string, actual: unknown, expected: unknown): string[] {
  return isDeepStrictEqual(actual, expected)
    ? []
    : [`${what} is ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`];
}

// Page Shield

const SETTINGS = {
  enabled: "enabled",
  useReportingEndpoint: "use_cloudflare_reporting_endpoint",
  useConnectionUrlPath: "use_connection_url_path",
} as const;

async function settingsOf(api: LocalApi, zone: string): Promise<Args> {
  return await result<Args>(api, `/zones/${zone}/page_shield`);
}

const settings: Check = async ({ api, before, program, previous, killed, allow }) => {
  const found: string[] = [];
  for (const [zone, were] of Object.entries(before.settings)) {
    const actual = await settingsOf(api, zone);
    const ofZone = (of: Program | undefined): Declared | undefined =>
      all(of, "PageShieldSettings").find(({ args }) => args["zoneId"] === zone);
    const [now, then] = [ofZone(program), ofZone(previous)];
    for (const [ours, theirs] of Object.entries(SETTINGS)) {
      const expected = now?.args[ours];
      const isForgotten = then !== undefined && (killed || now?.name !== then.name);
      const allowed =
        expected === undefined
          ? [were[theirs], ...(isForgotten && then.args[ours] !== undefined ? [then.args[ours]] : [])]
          : [expected];
      if (killed && allowed.indexOf(actual[theirs] ?? null) > 0) allow("settings");
      if (!allowed.includes(actual[theirs] ?? null))
        found.push(
          `${theirs} of zone ${zone} is ${textOf(actual[theirs])} instead of ${allowed.map(textOf).join(" or ")}`,
        );
    }
  }
  return found;
};

interface WirePolicy extends Args {
  readonly id: string;
}

const policies: Check = async ({ api, before, program }, claimed) => {
  const found: string[] = [];
  for (const zone of WATCHED.policies) {
    const existing = (
      await result<WirePolicy[]>(api, `/zones/${api.zones[zone]}/page_shield/policies`)
    ).filter(({ id }) => !before.objects.has(`policy of ${zone} ${id}`));
    for (const { name, args } of all(program, "PageShieldPolicy")) {
      if (args["zoneId"] !== api.zones[zone]) continue;
      const matching = existing.filter(({ description }) => description === textOf(args["description"]));
      matching.forEach(({ id }) => claimed.add(`policy of ${zone} ${id}`));
      const [policy, ...more] = matching;
      if (policy === undefined || more.length > 0) {
        found.push(`policy ${name} exists ${matching.length} times`);
        continue;
      }
      const actual = {
        action: policy["action"],
        expression: policy["expression"],
        enabled: textOf(policy["enabled"]),
      };
      const expected = {
        action: args["action"],
        expression: textOf(args["expression"]).trim(),
        enabled: textOf(args["enabled"] ?? true),
      };
      found.push(
        ...differs(`policy ${name}`, actual, expected),
        ...differs(
          `the value of policy ${name}`,
          directives(textOf(policy["value"])),
          declaredDirectives(args["value"]),
        ),
      );
      for (const [member, value] of Object.entries(objectOf(args["extra"])))
        found.push(...differs(`${member} of policy ${name}`, policy[member], value));
    }
  }
  return found;
};

/** A policy as sets of sources by directive. */
function directives(csp: string): Readonly<Record<string, readonly string[]>> {
  const parts = csp.split(";").map((part) => part.trim().split(/\s+/));
  return Object.fromEntries(
    parts
      .map(([name = "", ...sources]): [string, string[]] => [
        name.toLowerCase(),
        [...new Set(sources.map((source) => source.toLowerCase()))].sort(),
      ])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function declaredDirectives(value: Value | undefined): unknown {
  const given = plain(value ?? "");
  if (!isObject(given)) return directives(textOf(given));
  const lines = Object.entries(given).map(([name, sources]) =>
    [
      name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`),
      ...(Array.isArray(sources) ? sources.map(String) : []),
    ].join(" "),
  );
  return directives(lines.join("; "));
}

function objectOf(value: Value | undefined): Args {
  const given = plain(value ?? null);
  return isObject(given) ? given : {};
}

function listOf(value: Value | undefined): readonly Value[] {
  const given = plain(value ?? null);
  return Array.isArray(given) ? (given as readonly Value[]) : [];
}

// Managed rulesets

const overrides: Check = async (context, claimed) => {
  const { api, catalog, before, program, previous, killed, allow } = context;
  const found: string[] = [];
  for (const zone of WATCHED.rules) {
    const rules = await rulesOf(api, api.zones[zone]);
    for (const { name, args } of all(program, "ManagedRulesetOverride")) {
      if (args["zoneId"] !== api.zones[zone]) continue;
      const ref = textOf(args["ref"] ?? `edgeguard/soak/dev/${name}`);
      const formerRef = killed ? chosenRef(previous, name) : undefined;
      const own = rules.filter((rule) => rule.ref === ref || rule.ref === formerRef);
      if (own[0]?.ref !== ref && own.length > 0) allow("ref");
      own.forEach(({ id }) => claimed.add(`rule of ${zone} ${id}`));
      const [rule, ...more] = own;
      if (rule === undefined || more.length > 0) {
        found.push(`the rule of ${name} exists ${own.length} times`);
        continue;
      }
      found.push(...ruleProblems(name, rule, args, catalog));
      const excepted = listOf(args["exceptions"]).map((each) => objectOf(each));
      const at = rules.indexOf(rule);
      const front = rules.slice(Math.max(0, at - excepted.length), at);
      front.forEach(({ id }) => claimed.add(`rule of ${zone} ${id}`));
      found.push(
        ...differs(
          `exceptions of ${name}`,
          front.map(asException),
          excepted.map((each, index) =>
            declaredException(each, `${ref}/exception/${index + 1}`, catalog, (name) =>
              rulesetIdOf(name === "this" ? args["ruleset"] : name, catalog),
            ),
          ),
        ),
        ...placeProblems(name, args["position"], rules, at, at - excepted.length),
      );
    }
    for (const { name, args } of killed ? all(previous, "ManagedRulesetOverride") : []) {
      const left = rules.find(
        (rule) => rule.ref === args["ref"] && args["ref"] === chosenRef(previous, name),
      );
      if (left === undefined || claimed.has(`rule of ${zone} ${left.id}`)) continue;
      allow("ref");
      claimed.add(`rule of ${zone} ${left.id}`);
    }
    const theirs = [...before.objects.keys()].filter((what) => what.startsWith(`rule of ${zone} `));
    const order = rules.map(({ id }) => `rule of ${zone} ${id}`).filter((what) => before.objects.has(what));
    found.push(...differs(`the order of other people's rules in ${zone}`, order, theirs));
  }
  return found;
};

/** No two rulesets have a rule with the same number. */
function ruleIdOf(name: string, { rulesets }: Catalog): string {
  const rules = rulesets.flatMap((ruleset) => ruleset.rules);
  return rules.find(({ number }) => number === name)?.id ?? name;
}

/** A rule's custom ref. */
function chosenRef(program: Program | undefined, name: string): string | undefined {
  const ref = all(program, "ManagedRulesetOverride").find((each) => each.name === name)?.args["ref"];
  return ref === undefined ? undefined : textOf(ref);
}

function ruleProblems(name: string, rule: ZoneRule, args: Args, catalog: Catalog): string[] {
  const choice = objectOf(args["ruleset"]);
  const ruleset = catalog.rulesets.find(
    ({ id, name: title }) => id === choice["id"] || title === choice["name"],
  );
  const {
    id,
    version,
    matched_data: logged,
    overrides: sent = {},
  } = rule.action_parameters as {
    id?: string;
    version?: string;
    matched_data?: { public_key: string };
    overrides?: {
      action?: string;
      enabled?: boolean;
      categories?: { category: string }[];
      rules?: { id: string }[];
    };
  };
  const owasp = objectOf(args["owasp"]);
  const level = Number(owasp["paranoiaLevel"] ?? 4);
  const levels = [1, 2, 3, 4]
    .filter((each) => each > level)
    .map((each) => ({ category: `paranoia-level-${each}`, enabled: false }));
  const thresholds: Readonly<Record<string, number>> = { low: 60, medium: 40, high: 25 };
  const threshold = owasp["scoreThreshold"];
  const score = {
    ...(owasp["action"] === undefined ? {} : { action: owasp["action"] }),
    ...(threshold === undefined ? {} : { score_threshold: thresholds[textOf(threshold)] ?? threshold }),
  };
  const scored =
    Object.keys(score).length === 0 || ruleset?.scoreRule === undefined
      ? []
      : [{ id: ruleset.scoreRule, ...score }];
  const expected = {
    action: "execute",
    id: ruleset?.id,
    version: args["version"] ?? "latest",
    expression: textOf(args["expression"]),
    enabled: args["enabled"] ?? true,
    ...(args["description"] === undefined ? {} : { description: args["description"] }),
    ...(args["matchedData"] === undefined ? {} : { key: objectOf(args["matchedData"])["publicKey"] }),
    all: [args["action"], args["allRulesEnabled"]],
    categories: [
      ...listOf(args["categories"]).map((each) => {
        const { tag, ...rest } = objectOf(each);
        return { category: textOf(tag), ...rest };
      }),
      ...levels,
    ],
    rules: sortedBy(
      [
        ...Object.entries(objectOf(args["rules"])).map(([rule, each]) => ({
          id: ruleIdOf(rule, catalog),
          ...objectOf(each),
        })),
        ...scored,
      ],
      "id",
    ),
  };
  const actual = {
    action: rule.action,
    id,
    version: version ?? "latest",
    expression: rule.expression,
    enabled: rule.enabled,
    ...(args["description"] === undefined ? {} : { description: rule.description }),
    ...(args["matchedData"] === undefined ? {} : { key: logged?.public_key }),
    all: [sent.action, sent.enabled],
    categories: sent.categories ?? [],
    rules: sortedBy(sent.rules ?? [], "id"),
  };
  // Sorted, as the order of categories doesn't matter here.
  const unordered = (each: typeof actual | typeof expected): object => ({
    ...each,
    categories: sortedBy(each.categories, "category"),
  });
  return differs(`the rule of ${name}`, unordered(actual), unordered(expected));
}

function sortedBy<K extends string, T extends Readonly<Record<K, string>>>(list: readonly T[], key: K): T[] {
  return [...list].sort((a, b) => (a[key] < b[key] ? -1 : 1));
}

function asException({
  ref,
  action,
  expression,
  description = "",
  enabled,
  action_parameters,
  logging,
}: ZoneRule): object {
  return { ref, action, expression, description, enabled, action_parameters, logged: logging?.enabled };
}

/** By its name or its ID. */
function rulesetIdOf(ruleset: Value | undefined, { rulesets }: Catalog): string | undefined {
  const { id, name } = objectOf(ruleset);
  const given = plain(id ?? name ?? ruleset ?? null);
  return rulesets.find((each) => each.id === given || each.name === given)?.id;
}

function declaredException(
  { expression, description, skip, logging = true }: Args,
  ref: string,
  catalog: Catalog,
  idOf: (name: Value) => string | undefined,
): object {
  const { rulesets = plain(skip ?? null) === "this" ? ["this"] : undefined, rules } = objectOf(skip);
  const action_parameters =
    rulesets !== undefined
      ? { rulesets: [...new Set(listOf(rulesets).map(idOf))].sort() }
      : rules !== undefined
        ? {
            rules: Object.fromEntries(
              Object.entries(objectOf(rules)).map(([id, names]) => [
                id,
                [...new Set(listOf(names).map((each) => ruleIdOf(textOf(each), catalog)))].sort(),
              ]),
            ),
          }
        : { ruleset: "current" };
  return {
    ref,
    action: "skip",
    expression: textOf(expression),
    description: textOf(description),
    enabled: true,
    action_parameters,
    logged: logging,
  };
}

/** Checks a rule's position. Other rules may have been added first or last since. */
function placeProblems(
  name: string,
  position: Value | undefined,
  rules: readonly ZoneRule[],
  at: number,
  head: number,
): string[] {
  const { before, after } = objectOf(position);
  const other = rules.findIndex(({ ref }) => ref === (before ?? after));
  if (other < 0) return [];
  const isInPlace = before === undefined ? other < head : at < other;
  return isInPlace ? [] : [`the rule of ${name} is at ${at}, but ${textOf(before ?? after)} at ${other}`];
}

// Logpush

interface WireJob extends Args {
  readonly id: number;
}

const OPTIONS: Readonly<Record<string, readonly [wire: string, usual: Value, csv?: Value]>> = {
  sampleRate: ["sample_rate", 1],
  timestampFormat: ["timestamp_format", "unixnano"],
  outputType: ["output_type", "ndjson"],
  batchPrefix: ["batch_prefix", ""],
  batchSuffix: ["batch_suffix", ""],
  recordPrefix: ["record_prefix", "{", ""],
  recordSuffix: ["record_suffix", "}\n", "\n"],
  recordTemplate: ["record_template", ""],
  recordDelimiter: ["record_delimiter", ""],
  fieldDelimiter: ["field_delimiter", ","],
  mergeSubrequests: ["merge_subrequests", false],
  cve202144228: ["CVE-2021-44228", false],
  stringifyObject: ["stringify_object", false],
};

const transformersPath = (api: LocalApi): string => `/accounts/${api.accounts.main}/logpush/transformers`;

/** The transformer that the program calls so. */
async function transformersNamed(api: LocalApi, { name, args }: Declared): Promise<readonly WireJob[]> {
  const title = textOf(args["name"] ?? `soak-dev-${name}`);
  return (await result<WireJob[]>(api, transformersPath(api))).filter((each) => each["name"] === title);
}

const transformers: Check = async ({ api, program }, claimed) => {
  const found: string[] = [];
  for (const declared of all(program, "LogpushTransformer")) {
    const { name, args } = declared;
    const matching = await transformersNamed(api, declared);
    matching.forEach(({ id }) => claimed.add(`transformer ${id}`));
    const [only, ...more] = matching;
    if (only === undefined || more.length > 0) {
      found.push(`transformer ${name} exists ${matching.length} times`);
      continue;
    }
    const { content } = await result<{ content: string }>(api, `${transformersPath(api)}/${only.id}/content`);
    found.push(
      ...differs(`code of transformer ${name}`, content, textOf(args["code"])),
      ...differs(`description of transformer ${name}`, only["description"], args["description"] ?? ""),
    );
  }
  return found;
};

const jobs: Check = async ({ api, before, program }, claimed) => {
  const found: string[] = [];
  const scopes: (readonly [what: string, path: string, id: string])[] = [
    ...WATCHED.jobs.map((zone) => [`job of ${zone}`, `/zones/${api.zones[zone]}`, api.zones[zone]] as const),
    ["job of the account", `/accounts/${api.accounts.main}`, api.accounts.main],
  ];
  for (const [what, path, scope] of scopes) {
    const existing = (await result<WireJob[]>(api, `${path}/logpush/jobs`)).filter(
      ({ id }) => !before.objects.has(`${what} ${id}`),
    );
    for (const { name, args } of all(program, "LogpushJob")) {
      if ((args["zoneId"] ?? args["accountId"]) !== scope) continue;
      const title = textOf(args["name"] ?? `soak-dev-${name}`);
      const matching = existing.filter((job) => job["name"] === title && job["dataset"] === args["dataset"]);
      matching.forEach(({ id }) => claimed.add(`${what} ${id}`));
      const [job, ...more] = matching;
      if (job === undefined || more.length > 0) found.push(`job ${name} exists ${matching.length} times`);
      else
        found.push(...(await jobProblems(api, path, name, job, await withTransformer(api, program, args))));
    }
  }
  return found;
};

/** The arguments with the ID of the transformer that they refer to. */
async function withTransformer(api: LocalApi, program: Program, args: Args): Promise<Args> {
  const on = dependency(args);
  const declared = all(program, "LogpushTransformer").find(({ name }) => name === on);
  const [found] = declared === undefined ? [] : await transformersNamed(api, declared);
  return found === undefined ? args : { ...args, transformerId: found.id };
}

/** An unset limit: absent, or Cloudflare's documented default. */
const USUAL_LIMITS: readonly Value[] = [null, 0, 30, 100_000];

async function jobProblems(
  api: LocalApi,
  path: string,
  name: string,
  job: WireJob,
  args: Args,
): Promise<string[]> {
  const members = {
    enabled: args["enabled"] ?? true,
    kind: args["kind"] ?? "",
    frequency: args["frequency"] ?? "high",
    filter_attack_traffic: args["filterAttackTraffic"] ?? false,
    transformer_id: args["transformerId"] ?? null,
    // 0 means no limit, like an absent value.
    max_upload_bytes: args["maxUploadBytes"] ?? 0,
    max_upload_interval_seconds: args["maxUploadIntervalSeconds"] ?? 0,
    max_upload_records: args["maxUploadRecords"] ?? 0,
  };
  const actual = Object.fromEntries(
    Object.entries(members).map(([member, expected]) => {
      const isUsual = expected === 0 && USUAL_LIMITS.includes(job[member] ?? null);
      return [member, isUsual ? 0 : (job[member] ?? null)];
    }),
  );
  const options = objectOf(args["outputOptions"]);
  const existing = objectOf(job["output_options"]);
  const isCsv = options["outputType"] === "csv";
  const expected = Object.entries(OPTIONS).map(
    ([ours, [, usual, csv]]) => options[ours] ?? (isCsv ? (csv ?? usual) : usual),
  );
  const shown = Object.values(OPTIONS).map(
    ([wire, usual, csv]) => existing[wire] ?? (isCsv ? (csv ?? usual) : usual),
  );
  const fields = options["fieldNames"];
  const every =
    fields === "all"
      ? Object.keys(await result<object>(api, `${path}/logpush/datasets/${textOf(args["dataset"])}/fields`))
      : undefined;
  return [
    ...differs(`job ${name}`, actual, members),
    ...differs(`output options of job ${name}`, shown, expected),
    ...differs(`fields of job ${name}`, sorted(existing["field_names"]), sorted(every ?? fields)),
    ...differs(
      `destination of job ${name}`,
      parsedDestination(textOf(job["destination_conf"])),
      declaredDestination(args),
    ),
    ...differs(`filter of job ${name}`, parsedFilter(job["filter"]), parsedFilter(args["filter"])),
    ...Object.entries(objectOf(args["extra"])).flatMap(([member, value]) =>
      differs(`${member} of job ${name}`, job[member], value),
    ),
  ];
}

function sorted(value: Value | undefined): readonly string[] {
  return listOf(value).map(String).sort();
}

function parsedDestination(conf: string): object {
  const [address = "", query = ""] = conf.split("?");
  const parameters = [...new URLSearchParams(query)].map(([name, value]) => `${name}=${value}`).sort();
  return { address, parameters };
}

function declaredDestination(args: Args): object {
  if (args["destinationConf"] !== undefined) return parsedDestination(textOf(args["destinationConf"]));
  const { scheme, bucket, path, endpoint, url, headers, ...rest } = objectOf(args["destination"]);
  const address =
    bucket !== undefined
      ? `${textOf(scheme)}://${textOf(bucket)}${path === undefined ? "" : `/${textOf(path)}`}`
      : url !== undefined
        ? textOf(url)
        : `${textOf(scheme)}://${textOf(endpoint)}`;
  const names: Readonly<Record<string, string>> = {
    accessKeyId: "access-key-id",
    secretAccessKey: "secret-access-key",
    accountId: "account-id",
    token: "header_Authorization",
    apiKey: "header_DD-API-KEY",
  };
  const usual: Args =
    scheme === "splunk"
      ? { "insecure-skip-verify": "false" }
      : scheme === "datadog"
        ? { ddsource: "cloudflare" }
        : {};
  const given = [
    ...Object.entries({ ...usual, ...rest }).map(
      ([name, value]) => `${names[name] ?? name}=${name === "token" ? "Splunk " : ""}${textOf(value)}`,
    ),
    ...Object.entries(objectOf(headers)).map(([name, value]) => `header_${name}=${textOf(value)}`),
  ];
  return { address, parameters: given.sort() };
}

/** Normalizes a filter: values as text, group members sorted, and a group of one replaced by its member. */
function parsedFilter(filter: Value | undefined): unknown {
  const given = plain(filter ?? "");
  if (given === "") return "";
  return normal(typeof given === "string" ? (JSON.parse(given) as Value) : given);
}

function normal(node: Value): unknown {
  if (!isObject(node)) return textOf(node);
  const { where, and, or, key, operator, value } = node;
  if (where !== undefined) return normal(where);
  const group = and ?? or;
  if (group !== undefined) {
    const members = listOf(group)
      .map((each) => JSON.stringify(normal(each)))
      .sort();
    if (members.length === 1) return normal(listOf(group)[0] ?? null);
    return { [and === undefined ? "or" : "and"]: members };
  }
  return { key, operator, value: Array.isArray(value) ? listOf(value).map(textOf).sort() : textOf(value) };
}

// Workers KV

function titleOf(args: Args): string {
  return `${textOf(args["title"])}${args["preview"] === true ? "_preview" : ""}`;
}

const namespaces: Check = async ({ api, program }, claimed) => {
  const existing = await namespacesOf(api);
  return all(program, "KvNamespace").flatMap(({ name, args }) => {
    const own = existing.filter(({ title }) => title === titleOf(args));
    own.forEach(({ id }) => claimed.add(`namespace ${id}`));
    if (own.length !== 1) return [`namespace ${name} exists ${own.length} times`];
    return differs(`the jurisdiction of ${name}`, own[0]?.jurisdiction, args["jurisdiction"]);
  });
};

const entries: Check = async (context, claimed) => {
  const { api, program, previous, before } = context;
  const found: string[] = [];
  const titles = await namespacesOf(api);
  const idOf = (of: Program, args: Args): string | undefined => {
    const on = dependency(args);
    if (on === undefined) return textOf(args["namespaceId"]);
    const owner = of.resources.find(({ name }) => name === on);
    return titles.find(({ title }) => owner !== undefined && title === titleOf(owner.args))?.id;
  };
  for (const { name, args } of all(program, "KvEntries")) {
    const id = idOf(program, args);
    if (id === undefined) {
      found.push(`the namespace of ${name} is missing`);
      continue;
    }
    const existing = await entriesOf(api, id);
    for (const [key, expected] of declaredEntries(program, args)) {
      claimed.add(`key of ${id} ${key}`);
      found.push(...entryProblems(`key ${key} of ${name}`, existing.get(key), expected, before.startedAt));
    }
    if (args["prune"] === undefined) continue;
    const theirs = `key of ${id} ${PRUNED}theirs`;
    claimed.add(theirs);
    if (existing.has(`${PRUNED}theirs`)) found.push(`${name} didn't prune ${theirs}`);
  }
  for (const { args } of all(previous, "KvEntries")) {
    const id = previous === undefined ? undefined : idOf(previous, args);
    if (args["prune"] !== undefined && id !== undefined) claimed.add(`key of ${id} ${PRUNED}theirs`);
  }
  return found;
};

interface DeclaredEntry {
  readonly value: Buffer;
  readonly metadata: unknown;
  readonly expiration: number | undefined;
  readonly ttl: number | undefined;
}

function declaredEntries({ files }: Program, args: Args): ReadonlyMap<string, DeclaredEntry> {
  const defaults = objectOf(args["defaults"]);
  const made = new Map<string, DeclaredEntry>();
  const add = (key: string, given: Args): void => {
    const { value, base64, metadata, expiration, expirationTtl, expiration_ttl } = given;
    const own = expirationTtl ?? expiration_ttl;
    const ttl = own ?? (expiration === undefined ? defaults["expirationTtl"] : undefined);
    made.set(key, {
      value: Buffer.from(textOf(value), base64 === true ? "base64" : "utf8"),
      metadata: metadata ?? defaults["metadata"] ?? null,
      expiration: ttl === undefined && expiration !== undefined ? Number(expiration) : undefined,
      ttl: ttl === undefined ? undefined : Number(ttl),
    });
  };
  for (const [key, given] of Object.entries(objectOf(args["entries"])))
    add(key, isObject(given) ? given : { value: given });
  const path = (given: Value | undefined): string => textOf(given).replace("../sources/", "");
  if (args["file"] !== undefined) {
    const content = files[path(args["file"])] ?? Buffer.from("[]");
    for (const each of JSON.parse(content.toString()) as Args[]) add(textOf(each["key"]), each);
  }
  const { path: folder, prefix } = objectOf(args["directory"]);
  for (const [file, content] of Object.entries(files)) {
    const isIn = folder !== undefined && file.startsWith(`${path(folder)}/`) && !file.endsWith("/.ignored");
    if (isIn)
      add(`${textOf(prefix)}${file.slice(path(folder).length + 1)}`, {
        value: content.toString("base64"),
        base64: true,
      });
  }
  return made;
}

/** Compares expirations with some tolerance: the time of the write isn't known to the second. */
function entryProblems(
  what: string,
  actual: StoredEntry | undefined,
  expected: DeclaredEntry,
  startedAt: number,
): string[] {
  if (actual === undefined) return [`${what} is missing`];
  const now = Math.ceil(Date.now() / 1000);
  const found = [
    ...differs(`the value of ${what}`, actual.value, expected.value.toString("base64")),
    ...differs(`the metadata of ${what}`, actual.metadata, expected.metadata),
  ];
  const { expiration } = actual;
  if (expected.ttl === undefined)
    return [...found, ...differs(`the expiration of ${what}`, expiration, expected.expiration ?? null)];
  const isWithin =
    expiration !== null &&
    expiration >= startedAt + expected.ttl - 60 &&
    expiration <= now + expected.ttl + 60;
  return isWithin
    ? found
    : [...found, `${what} expires at ${String(expiration)}, with a TTL of ${expected.ttl} s`];
}

// The WAF migration

export function phaseOf(api: LocalApi, zone: string): string {
  return api.waf(zone).phase;
}

const PHASES = ["start", "validation", "finished"];

const migrations: Check = async ({ api, before, program, previous }) => {
  const found: string[] = [];
  for (const [zone, was] of Object.entries(before.phases)) {
    const declared = [previous, program]
      .flatMap((each) => all(each, "WafMigration"))
      .filter(({ args }) => args["zoneId"] === zone);
    const targets = declared
      .map(({ args }) => textOf(args["target"]))
      .map((target) => (target === "assessed" ? "start" : target));
    const expected = [was, ...targets].reduce((a, b) => (PHASES.indexOf(b) > PHASES.indexOf(a) ? b : a));
    found.push(...differs(`the phase of ${nameOf(api, zone)}`, phaseOf(api, zone), expected));
    const steps = api
      .waf(zone)
      .migration.steps.filter(({ by, effective }) => by !== "dashboard" && effective);
    if (steps.length > new Set(targets.filter((target) => target !== "start")).size)
      found.push(`the migration of ${nameOf(api, zone)} was sent ${steps.length} times`);
    const rules = await rulesOf(api, zone);
    const configured = declared.flatMap(({ args }) =>
      listOf(args["configuration"]).map((each) => objectOf(each)),
    );
    if (configured.length === 0) {
      for (const rule of before.migrationRules[zone] ?? []) {
        const kept = rules.find(({ id }) => id === rule.id);
        found.push(
          ...differs(`rule ${rule.id} of ${nameOf(api, zone)}`, kept && content(kept), content(rule)),
        );
      }
    }
    if (expected !== was && !rules.some(({ action }) => action === "execute"))
      found.push(`no rule of ${nameOf(api, zone)} executes anything`);
  }
  return found;
};

function content({ action, expression, enabled, action_parameters }: ZoneRule): object {
  return { action, expression, enabled, action_parameters };
}

function nameOf(api: LocalApi, zone: string): ZoneName {
  return zoneOf(api.zones, zone);
}
