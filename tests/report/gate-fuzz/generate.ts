import { managedRulesets } from "edgeguard-local";
import type { Random } from "../../soak/random";
import type { JsonObject } from "../../../provider/basics/json";

/** Generates programs that protect a zone, and changes that a pull request might make. */

export interface Declared {
  readonly type: "ManagedRulesetOverride" | "PageShieldPolicy" | "PageShieldSettings" | "LogpushJob";
  readonly name: string;
  readonly inputs: JsonObject;
}

export interface World {
  readonly random: Random;
  readonly zone: string;
  readonly otherZone: string;
  readonly account: string;
}

/** IDs of rules in the managed ruleset and the OWASP ruleset. */
export interface KnownRules {
  readonly managed: readonly string[];
  readonly owasp: readonly string[];
  readonly score: string;
}

export function program(world: World, rules: KnownRules): Declared[] {
  const { random } = world;
  const made: Declared[] = [];
  if (random.chance(0.6)) made.push(declared("ManagedRulesetOverride", "owasp", owasp(world, rules)));
  if (random.chance(0.6)) made.push(declared("ManagedRulesetOverride", "managed", managed(world, rules)));
  if (random.chance(0.6)) made.push(declared("PageShieldPolicy", "policy", policy(world, "checkout")));
  if (random.chance(0.2)) made.push(declared("PageShieldPolicy", "second", policy(world, "second")));
  if (random.chance(0.3)) made.push(declared("PageShieldSettings", "settings", settings(world)));
  if (random.chance(0.4)) made.push(declared("LogpushJob", "job", job(world)));
  return made.length === 0 ? program(world, rules) : made;
}

const declared = (type: Declared["type"], name: string, inputs: JsonObject): Declared => ({
  type,
  name,
  inputs,
});

export const fresh = (world: World, rules: KnownRules, { type, name }: Declared): JsonObject => {
  if (type === "LogpushJob") return job(world);
  if (type === "PageShieldSettings") return settings(world);
  if (type === "PageShieldPolicy") return policy(world, name === "second" ? "second" : "checkout");
  return name === "owasp" ? owasp(world, rules) : managed(world, rules);
};

/** A change, with the names of what it changes: an argument, a deleted resource, an adopted object. */
export interface Change {
  readonly after: readonly Declared[];
  readonly names: readonly string[];
  /** Resources that aren't in state: the program adopts their objects, as if someone else had made them. */
  readonly notInState: readonly string[];
}

export function changed(world: World, rules: KnownRules, before: readonly Declared[]): Change {
  const { random } = world;
  const names: string[] = [];
  const notInState: string[] = [];
  // Half of all changes affect a single resource, so that another's danger can't hide a missing one.
  const only = random.chance(0.5) ? random.pick(before).name : undefined;
  const after = before.flatMap((each): Declared[] => {
    if (only !== undefined && each.name !== only) return [each];
    const change = random.pick(["same", "one", "one", "one", "some", "deleted"] as const);
    if (change === "same") return [each];
    if (change === "deleted") {
      names.push(`${each.type} deleted`);
      return [];
    }
    const other = fresh(world, rules, each);
    const differing = [...new Set([...Object.keys(each.inputs), ...Object.keys(other)])].filter(
      (name) => JSON.stringify(each.inputs[name]) !== JSON.stringify(other[name]),
    );
    const taken =
      change === "one" ? random.some(differing, 1, 1) : random.some(differing, 1, differing.length);
    names.push(...taken.map((name) => `${each.type}.${name}`));
    const inputs = Object.fromEntries(
      [...new Set([...Object.keys(each.inputs), ...taken])].flatMap((name) => {
        const value = (taken.includes(name) ? other : each.inputs)[name];
        return value === undefined ? [] : [[name, value]];
      }),
    );
    const isTakenOver = each.type !== "PageShieldSettings" && random.chance(0.15);
    if (!isTakenOver) return [{ ...each, inputs }];
    names.push(`${each.type} taken over`);
    notInState.push(each.name);
    return [{ ...each, inputs: { ...inputs, adopt: "takeOver" } }];
  });
  return names.length === 0 ? changed(world, rules, before) : { after, names, notInState };
}

// Managed rulesets

const ACTIONS = ["block", "managed_challenge", "js_challenge", "challenge", "log"];

function owasp(world: World, rules: KnownRules): JsonObject {
  const { random } = world;
  const byWords = random.chance(0.8);
  return {
    ...deployment(world, "edgeguard/site/prod/owasp", managedRulesets.owasp),
    ...(byWords
      ? {
          owasp: {
            paranoiaLevel: random.int(1, 4),
            ...random.maybe("scoreThreshold", () => random.pick(["low", "medium", "high", 15, 60]), 0.6),
            ...random.maybe("action", () => random.pick(ACTIONS), 0.5),
          },
        }
      : random.maybe("rules", () => ({
          [rules.score]: {
            ...random.maybe("action", () => random.pick(ACTIONS)),
            enabled: random.chance(0.8),
            scoreThreshold: random.pick([25, 40, 60]),
          },
        }))),
    ...random.maybe("categories", () => categories(random, ["sqli", "xss", "rce", "protocol"], false), 0.3),
    ...random.maybe("exceptions", () => exceptions(world, rules, managedRulesets.owasp, rules.owasp), 0.3),
  };
}

function managed(world: World, rules: KnownRules): JsonObject {
  const { random } = world;
  return {
    ...deployment(world, "edgeguard/site/prod/managed", managedRulesets.managed),
    ...random.maybe("action", () => random.pick(["block", "log"]), 0.3),
    ...random.maybe("categories", () => categories(random, ["wordpress", "php", "java", "sqli"], true), 0.4),
    ...random.maybe("version", () => random.pick(["latest", "87", "88"]), 0.2),
    ...random.maybe(
      "rules",
      () =>
        Object.fromEntries(
          random
            .some(rules.managed, 1, 3)
            .map((id) => [
              id,
              random.pick<JsonObject>([
                { enabled: false },
                { enabled: true },
                { action: "log" },
                { action: "block" },
              ]),
            ]),
        ),
      0.4,
    ),
    ...random.maybe(
      "exceptions",
      () => exceptions(world, rules, managedRulesets.managed, rules.managed),
      0.3,
    ),
  };
}

const deployment = ({ random, zone, otherZone, account }: World, ref: string, id: string): JsonObject => ({
  zoneId: random.chance(0.95) ? zone : otherZone,
  accountId: account,
  ref,
  ruleset: { id },
  ...random.maybe("expression", () => expression(random), 0.5),
  ...random.maybe("enabled", () => random.chance(0.7), 0.3),
  ...random.maybe("description", () => random.word()),
});

const categories = (random: Random, tags: readonly string[], withAction: boolean): JsonObject[] =>
  random.some(tags, 1, 2).map((tag) => ({
    tag,
    ...(withAction && random.chance(0.5)
      ? { action: random.pick(["block", "log"]) }
      : { enabled: random.chance(0.5) }),
  }));

const exceptions = (
  { random }: World,
  all: KnownRules,
  own: string,
  ofOwn: readonly string[],
): JsonObject[] =>
  Array.from({ length: random.int(1, 2) }, () => ({
    expression: expression(random),
    skip: random.pick<unknown>([
      "all",
      { rulesets: [own] },
      { rules: { [own]: random.some(ofOwn, 1, 3) } },
      { rulesets: [managedRulesets.exposedCredentials] },
      { rules: { [managedRulesets.owasp]: [all.score] } },
    ]),
    ...random.maybe("description", () => random.word()),
  }));

/** Some of these are equivalent, others match more or fewer requests. */
function expression(random: Random): string {
  const atom = (): string =>
    random.pick([
      'http.host eq "www.empty.example"',
      'http.host == "www.empty.example"',
      'http.host   eq   "shop.empty.example"',
      'http.host in {"www.empty.example" "shop.empty.example"}',
      'http.request.uri.path eq "/checkout"',
      'starts_with(http.request.uri.path, "/api")',
      'http.request.method eq "POST"',
      'ip.src.country ne "DE"',
      "true",
      "false",
    ]);
  const wrapped = (text: string): string => (random.chance(0.2) ? `(${text})` : text);
  return random.pick([
    () => "true",
    () => "false",
    () => wrapped(atom()),
    () => `(${atom()}) or (${atom()})`,
    () => `${atom()} and ${atom()}`,
    () => `${atom()} && not ${atom()}`,
    () => `(${atom()} or ${atom()}) and ${atom()}`,
    () => `not (${atom()} || ${atom()})`,
  ])();
}

// Page Shield

const SOURCES = [
  "'self'",
  "'none'",
  "'unsafe-inline'",
  "'unsafe-eval'",
  "*",
  "https:",
  "http:",
  "data:",
  "cdn.example.com",
  "https://cdn.example.com",
  "*.example.com",
  "cdn.example.com/v2/",
  "img.example.com",
  "api.example.com",
];

/** All directives that Page Shield documents. Those in front are more frequent. */
const DIRECTIVES = [
  ...["script-src", "default-src", "connect-src", "img-src", "style-src", "script-src-elem"],
  ...["script-src", "default-src", "connect-src", "font-src", "object-src", "media-src", "frame-src"],
  ...["child-src", "worker-src", "manifest-src", "form-action", "base-uri", "frame-ancestors"],
];

function policy({ random, zone, otherZone }: World, description: string): JsonObject {
  const directives = random.some(DIRECTIVES, 1, 3);
  const list = (): string => {
    const sources = random.some(SOURCES, 1, 4);
    return sources.length > 1 ? sources.filter((each) => each !== "'none'").join(" ") : sources.join(" ");
  };
  return {
    zoneId: random.chance(0.95) ? zone : otherZone,
    description,
    action: random.chance(0.7) ? "allow" : "log",
    expression: expression(random),
    value: [...new Set(directives)].map((name) => `${name} ${sourcesFor(name, list())}`).join("; "),
    ...random.maybe("enabled", () => random.chance(0.7), 0.3),
  };
}

/** These directives take no keywords but two. */
function sourcesFor(name: string, list: string): string {
  if (!["frame-ancestors", "base-uri", "form-action"].includes(name)) return list;
  const plain = list.split(" ").filter((source) => !source.startsWith("'unsafe"));
  return plain.length === 0 ? "'none'" : plain.join(" ");
}

const settings = ({ random, zone, otherZone }: World): JsonObject => ({
  zoneId: random.chance(0.95) ? zone : otherZone,
  enabled: random.chance(0.7),
  ...random.maybe("useReportingEndpoint", () => random.chance(0.5)),
  ...random.maybe("onDestroy", () => random.pick(["keep", "restore"]), 0.2),
});

// Logpush

function job({ random, zone, otherZone }: World): JsonObject {
  return {
    zoneId: random.chance(0.95) ? zone : otherZone,
    name: "requests",
    dataset: random.chance(0.9) ? "http_requests" : "firewall_events",
    destinationConf: destination(random),
    outputOptions: {
      fieldNames: ["RayID", ...random.some(["ClientIP", "ClientRequestHost"], 0, 2)],
      ...random.maybe("sampleRate", () => random.pick([0.1, 0.5, 1])),
    },
    ...random.maybe("filter", () => JSON.stringify({ where: filter(random) }), 0.6),
    ...random.maybe("enabled", () => random.chance(0.6)),
    ...random.maybe("frequency", () => random.pick(["low", "high"]), 0.2),
  };
}

/** The same place in most cases, but not always the same recipient there. */
function destination(random: Random): string {
  const [key, tenant] = [random.pick(["a", "b"]).repeat(32), random.pick(["acme", "evil"])];
  return random.pick([
    `https://${random.pick(["logs", "other"])}.example.com/in`,
    `https://logs.example.com/in?header_Authorization=Bearer%20${key}`,
    `https://logs.example.com/in?header_X-Tenant=${tenant}&header_Authorization=Bearer%20${key}`,
    `https://logs.example.com/in?token=${key}`,
    `https://${tenant}:${key}@logs.example.com/in`,
    `datadog://http-intake.logs.datadoghq.com/v1/input?header_DD-API-KEY=${key}&ddsource=cloudflare`,
  ]);
}

function filter(random: Random): JsonObject {
  const condition = (): JsonObject =>
    random.pick<JsonObject>([
      { key: "ClientRequestHost", operator: "eq", value: "a.example" },
      { key: "ClientRequestHost", operator: "!eq", value: "a.example" },
      { key: "ClientRequestURI", operator: "startsWith", value: "/api" },
    ]);
  return random.pick([
    condition,
    () => ({ and: [condition(), condition()] }),
    () => ({ or: [condition(), condition()] }),
  ])();
}
