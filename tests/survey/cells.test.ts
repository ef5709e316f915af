import { readFileSync } from "node:fs";
import { join } from "node:path";
import { managedRulesets } from "edgeguard-local";
import { z } from "zod";
import { controlOf, callerOf, idOf, result, type Call } from "../local-api/client";
import { digestOf } from "../../provider/basics/digest";
import { omit, omitAbsent } from "../../provider/basics/json";
import { madeTransformer } from "../support/operation";
import { Ground } from "./support";

/** Each cell is worked out again from plain requests, by rules written here and nowhere else. */

type Raw = Record<string, unknown>;

interface RawAnswer {
  readonly status: number;
  readonly result: unknown;
}

async function answer(call: Call, path: string): Promise<RawAnswer> {
  const { status, body } = await call("GET", path);
  return { status, result: z.looseObject({ result: z.unknown() }).parse(body).result };
}

const rows = (given: unknown): Raw[] => z.array(z.record(z.string(), z.unknown())).parse(given ?? []);
const row = (given: unknown): Raw => z.record(z.string(), z.unknown()).parse(given);

/** What raw requests can be compared with. */
interface Source {
  readonly call: Call;
  readonly control: Call;
  readonly account: string;
  /** The IDs that the stack manages. */
  readonly managed: ReadonlySet<unknown>;
  /** The latest versions of rulesets. */
  readonly latest: ReadonlyMap<unknown, number>;
}

const REFUSED = { notReadable: "failed", what: expect.any(String) as string };

const skipping = z.looseObject({
  enabled: z.boolean(),
  expression: z.string(),
  action: z.string(),
  description: z.string().optional(),
  action_parameters: z.looseObject({
    ruleset: z.string().optional(),
    rulesets: z.array(z.string()).optional(),
    rules: z.record(z.string(), z.array(z.string())).optional(),
  }),
});

function skippedOf(rule: Raw, ruleset: string): unknown[] {
  const skip = skipping.safeParse(rule).data;
  if (skip?.action !== "skip" || !skip.enabled) return [];
  const { ruleset: current, rulesets = [], rules = {} } = skip.action_parameters;
  const skips = current === "current" || rulesets.includes(ruleset) ? "all" : rules[ruleset]?.length;
  const { description = "", expression, logging } = skip;
  const isSilent = row(logging ?? {})["enabled"] === false;
  // No rule that an exception lists here is the one that compares the score.
  return skips === undefined
    ? []
    : [{ description, expression, skips, ...(isSilent ? { logging: false } : {}), stops: skips === "all" }];
}

const effective = z.looseObject({
  deployments: z.array(
    z.looseObject({
      id: z.string(),
      ref: z.string(),
      enabled: z.boolean(),
      expression: z.string(),
      ruleset: z.looseObject({ id: z.string(), name: z.string(), version: z.string() }),
      on: z.number(),
      off: z.number(),
      rules: z.array(
        z.looseObject({
          enabled: z.boolean(),
          action: z.string(),
          categories: z.array(z.string()),
          score_threshold: z.number().optional(),
        }),
      ),
    }),
  ),
});

async function expectedDeployments({ call, control, managed, latest }: Source, id: string) {
  const path = `/zones/${id}/rulesets/phases/http_request_firewall_managed/entrypoint`;
  const entry = row((await answer(call, path)).result ?? {});
  const rules = rows(entry["rules"]);
  const { deployments } = effective.parse((await control("GET", `/zones/${id}/effective-waf`)).body);
  return deployments.map(({ id: ruleId, ref, enabled, expression, ruleset, on, off, rules: acting }) => {
    const at = rules.findIndex((each) => each["id"] === ruleId);
    const levels = acting.flatMap(({ categories, enabled }) =>
      categories.flatMap((tag) => {
        const level = /^paranoia-level-(\d)$/.exec(tag)?.[1];
        return level === undefined ? [] : [enabled ? Number(level) : 0];
      }),
    );
    const scoring = acting.find(({ score_threshold }) => score_threshold !== undefined);
    const parameters = row(rules[at]?.["action_parameters"]);
    const action = scoring?.action ?? row(parameters["overrides"] ?? {})["action"];
    return {
      ruleId,
      entryPointId: entry["id"],
      ref,
      description: rules[at]?.["description"] ?? "",
      enabled,
      state: enabled && on > 0 ? "on" : "off",
      expression,
      rulesetId: ruleset.id,
      ...(parameters["matched_data"] === undefined ? {} : { payloadLogging: true }),
      exceptions: rules.slice(0, at).flatMap((rule) => skippedOf(rule, ruleset.id)),
      effect: {
        name: ruleset.name,
        version: ruleset.version,
        versionsBehind: (latest.get(ruleset.id) ?? 0) - Number(ruleset.version),
        ...(levels.length === 0 ? {} : { paranoiaLevel: Math.max(...levels) }),
        ...(scoring === undefined ? {} : { scoreThreshold: scoring.score_threshold }),
        ...(action === undefined ? {} : { action }),
        rulesOn: on,
        rulesOff: off,
        rulesOnLog: acting.filter(({ enabled, action }) => enabled && action === "log").length,
        onlyLogs: acting.every(({ enabled, action }) => !enabled || ["log", "score"].includes(action)),
      },
      stack: managed.has(ruleId) ? STACK : null,
    };
  });
}

/** Every zone of the local API has either a deployment that protects all requests, or none at all. */
function expectedProtection(deployments: Awaited<ReturnType<typeof expectedDeployments>>) {
  if (deployments.length === 0) return { requests: "none", lacking: ["no managed ruleset is deployed"] };
  const protects = deployments.some(
    ({ state, expression, rulesetId, effect }) =>
      state === "on" &&
      expression === "true" &&
      !effect.onlyLogs &&
      rulesetId !== managedRulesets.exposedCredentials,
  );
  return protects ? { requests: "all", lacking: [] } : { requests: "some or none" };
}

function expectedJobs(found: readonly Raw[], managed: ReadonlySet<unknown>) {
  return found.map((each) => {
    const [complete, error, message] = ["last_complete", "last_error", "error_message"].map(
      (name) => each[name] ?? undefined,
    );
    const id = String(each["id"]);
    return {
      id,
      name: each["name"],
      dataset: each["dataset"],
      state:
        each["enabled"] !== true
          ? "off"
          : error !== undefined
            ? "failing"
            : complete === undefined
              ? "new"
              : "working",
      destination: String(each["destination_conf"]).replace(
        /[?&](access-key-id|secret-access-key)=[^&]*/g,
        "",
      ),
      ...linesOf(each),
      ...(each["filter_attack_traffic"] === true ? { filterAttackTraffic: true } : {}),
      ...(typeof each["transformer_id"] === "number" ? { transformerId: each["transformer_id"] } : {}),
      ...(complete === undefined ? {} : { lastComplete: complete }),
      ...(error === undefined ? {} : { lastError: error }),
      ...(message === undefined ? {} : { errorMessage: message }),
      stack: managed.has(id) ? STACK : null,
    };
  });
}

/** What the local API's jobs push. In nothing else do their options differ from the defaults. */
function linesOf({ filter, output_options }: Raw): object {
  const { field_names: fieldNames, sample_rate: rate, timestamp_format: format } = row(output_options ?? {});
  const [sampleRate, timestampFormat] = [
    rate === 1 ? undefined : rate,
    format === "unixnano" ? undefined : format,
  ];
  return {
    outputOptions: digestOf(omitAbsent({ fieldNames, sampleRate, timestampFormat })),
    ...omitAbsent({ sampleRate }),
    ...(Array.isArray(fieldNames) ? { fields: fieldNames.length } : {}),
    ...(typeof filter === "string" && filter !== "" ? { filter: digestOf(filter) } : {}),
  };
}

const isBelow = (each: Raw, limit: number): boolean =>
  (typeof each["js_integrity_score"] === "number" && each["js_integrity_score"] < limit) ||
  each["domain_reported_malicious"] === true ||
  each["url_reported_malicious"] === true;
const isBad = (each: Raw): boolean => isBelow(each, 50);
const isMalicious = (each: Raw): boolean => isBelow(each, 10);
const isOnPaymentPage = (each: Raw): boolean => String(each["host"]).startsWith("checkout.");

/** @param enforced the enforced policies. */
function expectedScripts(seen: readonly Raw[], enforced: readonly Raw[]) {
  const threats = (each: Raw): unknown[] => [
    ...z.array(z.string()).parse(each["malicious_domain_categories"] ?? []),
    ...z.array(z.string()).parse(each["malicious_url_categories"] ?? []),
  ];
  return {
    seen: seen.length,
    malicious: seen.filter(isMalicious).length,
    suspicious: seen.filter((each) => isBad(each) && !isMalicious(each)).length,
    maliciousBlocked: seen
      .filter(isBad)
      .filter((each) => enforced.some((policy) => expectedBlock(policy, [each]).count > 0)).length,
    notScored: seen.filter((each) => !isBad(each) && (each["js_integrity_score"] ?? null) === null).length,
    unapproved: seen.filter(({ url }) => !String(url).startsWith(`https://${APPROVED}/`)).length,
    onPaymentPages: seen.filter(isOnPaymentPage).length,
    worst: seen
      .filter(isBad)
      .map((each) => ({
        url: String(each["url"]),
        host: each["host"],
        ...(each["first_page_url"] === undefined ? {} : { firstPageUrl: each["first_page_url"] }),
        ...(typeof each["js_integrity_score"] === "number" ? { score: each["js_integrity_score"] } : {}),
        ...(threats(each).length === 0 ? {} : { threats: [...new Set(threats(each))].sort() }),
        isMalicious: isMalicious(each),
        onPaymentPage: isOnPaymentPage(each),
      }))
      .sort((a, b) => (a.url < b.url ? -1 : 1)),
  };
}

/** Policies of the local API's zones cover hosts by name, and allow their own host, URLs and origins. */
function expectedBlock(policy: Raw, seen: readonly Raw[]) {
  const expression = String(policy["expression"]);
  const sources = String(policy["value"]).split(/[\s;]+/);
  const covered = seen.filter(
    (each) =>
      each["status"] === "active" &&
      (!/host/.test(expression) || expression.includes(`"${String(each["host"])}"`)),
  );
  const urls = (all: readonly Raw[]): string[] => [...new Set(all.map(({ url }) => String(url)))];
  const blocked = covered.filter(({ url, host }) => {
    const { origin, host: own } = new URL(String(url));
    return (
      !(own === host && sources.includes("'self'")) &&
      ![String(url), origin, own].some((each) => sources.includes(each))
    );
  });
  const harmless = urls(blocked.filter((each) => !isBad(each)));
  const all = urls(blocked);
  return {
    count: all.length,
    malicious: all.length - harmless.length,
    seen: urls(covered).length,
    scripts: (harmless.length > 0 ? harmless : all).slice(0, 5),
  };
}

async function expectedMigration({ call }: Source, id: string) {
  const status = await answer(call, `/zones/${id}/waf_migration/status`);
  if (status.status >= 400) return { readiness: "retired", state: "retired", because: [] };
  const state = row(status.result)["migration_state"];
  if (state === "finished") return { readiness: "done", state, because: [] };
  const overrides = rows((await answer(call, `/zones/${id}/firewall/waf/overrides`)).result);
  const because = overrides.map((each) => {
    const [url, ...more] = z.array(z.string()).parse(each["urls"]);
    const urls = [url, ...more.slice(0, 1), ...(more.length > 1 ? ["…"] : [])].join(", ");
    const path = `/zones/${id}/firewall/waf/overrides/${String(each["id"])}`;
    return `URI-based override ${String(each["id"])} (${urls}) must be deleted first: DELETE ${path}`;
  });
  const all: Raw[] = [];
  for (const page of [1, 2, 3])
    all.push(...rows((await answer(call, `/zones/${id}/firewall/rules?per_page=100&page=${page}`)).result));
  const bypass = all.filter(
    ({ action, products = ["waf"] }) => action === "bypass" && String(products).includes("waf"),
  );
  const advice = "Contact Cloudflare Support";
  if (bypass.length > 200)
    because.push(
      `${bypass.length} of ${all.length} firewall rules bypass the managed rules and would be migrated; the limit is 200. ${advice}`,
    );
  for (const rule of bypass) {
    const bytes = Buffer.byteLength(String(row(rule["filter"])["expression"]));
    if (bytes > 4_096)
      because.push(
        `the expression of firewall rule ${String(rule["id"])} is ${bytes} bytes; the limit is 4096. ${advice}`,
      );
  }
  return { readiness: because.length > 0 ? "blocked" : "ready", state, because };
}

async function expectedZone(source: Source, id: string): Promise<Record<string, unknown>> {
  const { call, managed } = source;
  const stack = (of: unknown) => (managed.has(of) ? STACK : null);
  const zone = row((await answer(call, `/zones/${id}`)).result);
  const settings = await answer(call, `/zones/${id}/page_shield`);
  const { enabled, updated_at, use_cloudflare_reporting_endpoint, use_connection_url_path } = row(
    settings.result ?? {},
  );
  const listed = await answer(call, `/zones/${id}/page_shield/policies`);
  const query = "status=active,infrequent&exclude_cdn_cgi=false&exclude_duplicates=false&page=all";
  const scripts = await answer(call, `/zones/${id}/page_shield/scripts?${query}`);
  const seen = rows(scripts.result);
  const policies = rows(listed.result).map((each) => {
    const isEnabled = String(each["enabled"]) === "true";
    const isEnforced = isEnabled && each["action"] === "allow";
    return {
      id: String(each["id"]),
      description: String(each["description"]),
      effect: isEnforced ? "enforced" : isEnabled ? "logging" : "off",
      expression: each["expression"],
      value: each["value"],
      ...(isEnforced ? { wouldBlock: expectedBlock(each, seen) } : {}),
      stack: stack(each["id"]),
    };
  });
  const deployments = await expectedDeployments(source, id);
  const owasp = deployments.find(
    (each) => each.enabled && each.effect.rulesOn > 0 && each.effect.paranoiaLevel !== undefined,
  )?.effect;
  const jobs = expectedJobs(rows((await answer(call, `/zones/${id}/logpush/jobs`)).result), managed);
  const objects = [
    ...(enabled === true && stack(id) === null ? [["PageShieldSettings", id, "", "page-shield"]] : []),
    ...policies
      .filter((each) => each.stack === null)
      .map((each) => ["PageShieldPolicy", each.id, each.description, "page-shield"]),
    ...deployments
      .filter((each) => each.stack === null)
      .map((each) => ["ManagedRulesetOverride", each.ruleId, each.description, "rulesets"]),
    ...jobs
      .filter((each) => each.stack === null)
      .map((each) => ["LogpushJob", each.id, each.name, "logpush"]),
  ];
  const only = [...new Set(objects.map(([, , , product]) => product))].join(",");
  const out = String(zone["name"]).replace(/[^a-z0-9]+/g, "-");
  return {
    id,
    name: zone["name"],
    plan: row(zone["plan"])["legacy_id"],
    status: zone["status"],
    accountId: row(zone["account"])["id"],
    hasPaymentPages:
      policies.some(({ expression }) => String(expression).includes('"checkout.')) ||
      (scripts.status === 200 ? seen.some(isOnPaymentPage) : REFUSED),
    pageShield:
      settings.status === 200
        ? {
            enabled,
            ...defined({
              updatedAt: updated_at,
              useReportingEndpoint: use_cloudflare_reporting_endpoint,
              useConnectionUrlPath: use_connection_url_path,
            }),
            stack: stack(id),
          }
        : { notReadable: "plan", what: "Page Shield" },
    policies: listed.status === 200 ? policies : REFUSED,
    scripts:
      scripts.status === 200
        ? expectedScripts(
            seen,
            policies.filter(({ effect }) => effect === "enforced"),
          )
        : REFUSED,
    deployments,
    responseDeployments: [],
    accountDeployments: [],
    protection: expectedProtection(deployments),
    owasp:
      owasp === undefined
        ? { state: "off" }
        : {
            state: "on",
            ...defined({
              paranoiaLevel: owasp.paranoiaLevel,
              scoreThreshold: owasp.scoreThreshold,
              action: owasp.action,
            }),
          },
    migration: await expectedMigration(source, id),
    jobs,
    unmanaged: {
      objects: objects.map(([type, id, name]) => ({ type, id, name })),
      unread: Object.entries({ pageShield: settings, policies: listed })
        .filter(([, { status }]) => status !== 200)
        .map(([part]) => part),
      command: objects.length === 0 ? "" : `edgeguard import --zone ${id} --only ${only} --out ${out}`,
    },
  };
}

async function expectedAccount({ call, account, managed }: Source, zones: number) {
  const root = `/accounts/${account}`;
  const jobs = expectedJobs(rows((await answer(call, `${root}/logpush/jobs`)).result), managed);
  const namespaces: unknown[] = [];
  const objects = jobs.map(({ id, name }) => ({ type: "LogpushJob", id, name }));
  for (const { id, title, jurisdiction } of rows(
    (await answer(call, `${root}/storage/kv/namespaces?per_page=100&order=title`)).result,
  )) {
    const keys = rows(
      (await answer(call, `${root}/storage/kv/namespaces/${String(id)}/keys?limit=1000`)).result,
    );
    const isManaged = managed.has(id);
    namespaces.push({
      id,
      title,
      ...(jurisdiction === undefined ? {} : { jurisdiction }),
      keys: { count: keys.length, more: keys.length === 1_000 },
      stack: isManaged ? STACK : null,
    });
    if (!isManaged) objects.push({ type: "KvNamespace", id: String(id), name: title });
  }
  return {
    id: account,
    name: "main",
    zones,
    rulesets: rows((await answer(call, `${root}/rulesets`)).result).map(
      ({ id, name, kind, phase, version }) => ({
        id,
        name,
        kind,
        phase,
        version: String(version),
      }),
    ),
    deployments: [],
    jobs,
    namespaces,
    unmanaged: {
      objects,
      unread: [],
      command: `edgeguard import --account ${account} --only logpush,kv --out account-${account.slice(0, 8)}`,
    },
  };
}

const defined = (given: Raw): Raw =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

/** A host whose scripts the inventory approves. */
const APPROVED = "js.payments.example";
const STACK = "shop/prod";

/** Members of survey.json that aren't compared here, each with the reason. */
const NOT_COMPARED: Readonly<Record<string, string>> = {
  $schema: "the same in each survey",
  version: "the same in each survey",
  at: "when the survey began",
  tool: "the same in each survey",
  missingRights: "this token lacks none: survey.test.ts has one that does",
  stacks: "what was passed",
  paymentPages: "what was passed",
  totals: "counted from the zones: survey.test.ts",
  first: "the zones' tasks, ranked",
  taskCounts: "the zones' tasks, counted",
  "zones[].tasks": "follow from the zone's other cells, without a request",
  "zones[].firewallEvents.isCut": "the local API has no 10,000 events: rulesets/traffic.test.ts",
  "zones[].migration.missingRight": "this token lacks none: survey.test.ts has one that does",
  "zones[].responseDeployments[]": "the local API's zones have none: rulesets/account.test.ts",
  "zones[].accountDeployments[]": "the local API's accounts deploy nothing: odd-answers.test.ts",
  "accounts[].deployments[]": "as above",
};

const node = z.looseObject({
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
});

/** The paths of all members that the published schema allows. What couldn't be read is a cell's reason, and no cell. */
function membersOf(schema: unknown, path = ""): string[] {
  const { properties = {}, items, anyOf = [] } = node.parse(schema ?? {});
  if ("notReadable" in properties) return [];
  return [
    ...Object.entries(properties).flatMap(([name, each]) => {
      const member = path === "" ? name : `${path}.${name}`;
      return [member, ...membersOf(each, member)];
    }),
    ...(items === undefined ? [] : membersOf(items, `${path}[]`)),
    ...anyOf.flatMap((each) => membersOf(each, path)),
  ];
}

/** The paths of all members that a document has. */
function pathsIn(document: unknown, path = ""): string[] {
  if (Array.isArray(document)) return document.flatMap((each) => pathsIn(each, `${path}[]`));
  if (typeof document !== "object" || document === null) return [];
  return Object.entries(document).flatMap(([name, each]) => {
    const member = path === "" ? name : `${path}.${name}`;
    return [member, ...pathsIn(each, member)];
  });
}

describe("the cells of a survey", () => {
  it("match what direct API requests return for the same zones, and cover every field of the schema", async () => {
    const ground = await Ground.with({ zones: 8 });
    const { api } = ground;
    const [call, control] = [callerOf(api), controlOf(api)];
    const root = `/accounts/${api.accounts.main}`;
    const many = idOf(await call("POST", `${root}/storage/kv/namespaces`, { title: "many" }));
    const entries = Array.from({ length: 1_001 }, (_, index) => ({ key: `key-${index}`, value: "v" }));
    await call("PUT", `${root}/storage/kv/namespaces/${many}/bulk`, entries);
    await call("POST", `${root}/storage/kv/namespaces`, { title: "=none", jurisdiction: "eu" });
    const transformed = async (dataset: string, key: string) => ({
      filter_attack_traffic: true,
      filter: JSON.stringify({ where: { key, operator: "eq", value: "drop" } }),
      output_options: { field_names: ["Datetime", key], sample_rate: 0.5 },
      transformer_id: await madeTransformer(api, dataset),
    });
    const audit = await call("POST", `${root}/logpush/jobs`, {
      name: "audit",
      dataset: "network_analytics_logs",
      destination_conf:
        "s3://audit/logs?region=eu-west-1&access-key-id=AKIA1&secret-access-key=simulated-secret",
      enabled: false,
      ...(await transformed("network_analytics_logs", "Outcome")),
    });
    await call(
      "PUT",
      `/zones/${api.zones.shop}/logpush/jobs/101`,
      await transformed("firewall_events", "ClientRequestHost"),
    );
    const phase = `/zones/${api.zones.shop}/rulesets/phases/http_request_firewall_managed/entrypoint`;
    const deployed = row((await answer(call, phase)).result);
    const changes: Readonly<Record<string, (rule: Raw) => object>> = {
      skip: () => ({ logging: { enabled: false } }),
      execute: ({ action_parameters: parameters }) => ({
        action_parameters: { ...row(parameters), matched_data: { public_key: "key" } },
      }),
    };
    for (const rule of rows(deployed["rules"])) {
      const { id, action, expression, action_parameters } = rule;
      const change = { action, expression, action_parameters, ...changes[String(action)]?.(rule) };
      await call(
        "PATCH",
        `/zones/${api.zones.shop}/rulesets/${String(deployed["id"])}/rules/${String(id)}`,
        change,
      );
    }
    for (const job of [101, Number(result(audit)["id"])])
      api.logpush.setHealth(job, {
        last_complete: "2026-08-31T23:58:00Z",
        last_error: "2026-08-31T23:59:00Z",
        error_message: "Error from the destination: 403 Forbidden",
      });
    const checks = row((await answer(call, `${root}/rulesets/${managedRulesets.exposedCredentials}`)).result);
    const [{ id: ruleId, description } = {}] = rows(checks["rules"]).filter(
      ({ enabled }) => enabled === true,
    );
    const happened = [
      { ruleId: String(ruleId), action: "log", sampleInterval: 3 },
      ...Array.from({ length: 3 }, () => ({ ruleId: String(ruleId), action: "log" })),
      { ruleId: "of another ruleset", action: "block" },
      { ruleId: "of another ruleset", action: "managed_challenge_bypassed" },
    ];
    api.addFirewallEvents(api.zones.shop, happened);
    const top = { ruleId, description, events: 6 };
    const counted = { blocked: 1, challenged: 1, logged: 6, isSampled: true };
    const events = { ...counted, top, onLog: { rules: 1, events: 6, top } };
    const before = api.snapshot();
    const entryPoint = before.rulesets.zones[api.zones.shop]?.entryPoint;
    const resources = [
      ["PageShieldSettings", api.zones.shop],
      ["PageShieldPolicy", before.pageShield[api.zones.shop]?.policies[0]?.id],
      ["ManagedRulesetOverride", entryPoint?.rules.find(({ action }) => action === "execute")?.id],
      ["LogpushJob", "101"],
      ["KvNamespace", many],
    ].map(([name, id]) => {
      const type = `edgeguard:index:${name}`;
      return { urn: `urn:pulumi:prod::shop::${type}::${id}`, type, id };
    });
    ground.write("state.json", JSON.stringify({ version: 3, deployment: { resources } }));
    ground.write(
      "inventory.yaml",
      `version: 1\nscripts:\n  - script: ${APPROVED}\n    justification: takes the payment\n    owner: payments\n    approval: { by: ada, on: 2026-01-01 }\n`,
    );
    const options = [
      "--stack",
      "state.json",
      "--inventory",
      "inventory.yaml",
      "--payment-pages",
      "checkout.*",
    ];
    const { code, stderr } = await ground.survey("--budget", "100", ...options);
    expect([code, stderr]).toEqual([0, expect.stringContaining("survey.csv")]);

    const latest = new Map(
      rows((await answer(call, `${root}/rulesets`)).result).map(({ id, version }) => [id, Number(version)]),
    );
    const managed = new Set<unknown>(resources.map(({ id }) => id));
    const source = { call, control, account: api.accounts.main, managed, latest };
    const ids = before.zones.map(({ id }) => id);
    const { zones, accounts, zoneCount } = ground.result();
    const found = zones.map((zone) => sortedWorst(omit(zone, ["tasks"]))).sort(byId);
    const zonesExpected: Raw[] = [];
    for (const id of ids) {
      const firewallEvents = id === api.zones.shop ? events : { blocked: 0, challenged: 0, logged: 0 };
      zonesExpected.push({
        ...(await expectedZone(source, id)),
        firewallEvents: { hours: 24, ...firewallEvents },
      });
    }
    const expected = {
      zones: zonesExpected.sort(byId),
      accounts: [await expectedAccount(source, ids.length)],
      zoneCount: ids.length,
    };
    expect({ zones: found, accounts, zoneCount }).toEqual(expected);

    const schema: unknown = JSON.parse(
      readFileSync(join(__dirname, "../../provider/schemas/survey.v1.json"), "utf8"),
    );
    const compared = new Set(pathsIn(expected));
    const isListed = (path: string): boolean =>
      Object.keys(NOT_COMPARED).some(
        (each) => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each}[`),
      );
    expect([...new Set(membersOf(schema))].filter((path) => !compared.has(path) && !isListed(path))).toEqual(
      [],
    );
  });
});

const byId = (a: { readonly id?: unknown }, b: { readonly id?: unknown }): number =>
  String(a.id) < String(b.id) ? -1 : 1;

/** The order of the worst scripts is a ranking. */
function sortedWorst(zone: Raw): Raw {
  const scripts = z
    .looseObject({ worst: z.array(z.looseObject({ url: z.string() })) })
    .safeParse(zone["scripts"]).data;
  if (scripts === undefined) return zone;
  const worst = [...scripts.worst].sort((a, b) => (a.url < b.url ? -1 : 1));
  return { ...zone, scripts: { ...scripts, worst } };
}
