import type { EffectiveWaf, LocalApi } from "edgeguard-local";
import { letsThrough } from "../../logpush/independent-evaluator";
import { rawGet } from "../../support/operation";

/**
 * What a zone blocks, challenges and logs: runs sample requests, page loads and log lines through the local API's state,
 * without the provider's code.
 */

/** By resource and sample: a number that's smaller if less is blocked or logged. */
export interface Effect {
  readonly strengths: ReadonlyMap<string, { readonly strength: number; readonly objects: readonly string[] }>;
  /** The policies that block what the zone's pages load. Also those that log it, if Page Shield doesn't report it. */
  readonly blocked: ReadonlyMap<string, Blocking>;
  /** Every deployment, policy and job, whether it has an effect or not, as its kind and ID. */
  readonly objects: ReadonlySet<string>;
}

interface Blocking {
  readonly enforced: boolean;
  readonly objects: readonly string[];
}

export interface Loss {
  /** The kind of resource responsible for it. */
  readonly kind: string;
  readonly what: string;
  /** The IDs of the objects responsible for it. Undefined if any object of the kind in the zone may be. */
  readonly objects?: readonly string[];
}

/** Where `after` blocks or logs less than `before`, or blocks what the pages load. */
export function losses(before: Effect, after: Effect): Loss[] {
  const less = [...before.strengths].flatMap(([name, was]): Loss[] => {
    const is = after.strengths.get(name)?.strength ?? 0;
    const [kind = "", ...what] = name.split(" ");
    if (is >= was.strength) return [];
    const anyOf = kind === "ManagedRulesetOverride"; // An exception of one rule may skip what another runs.
    return [
      { kind, what: `${what.join(" ")}: ${was.strength} -> ${is}`, ...(anyOf ? {} : pickObjects(was)) },
    ];
  });
  const blocked = [...after.blocked].flatMap(([script, { enforced, objects }]): Loss[] =>
    before.blocked.has(script) || !enforced
      ? []
      : [{ kind: "PageShieldPolicy", what: `blocks ${script}`, objects }],
  );
  return [...less, ...blocked];
}

export const objectName = (kind: string, id: string): string => `${kind} ${id}`;

const pickObjects = ({ objects }: Pick<Loss, "objects">): Pick<Loss, "objects"> =>
  objects === undefined ? {} : { objects };

export async function effectOf(api: LocalApi, zones: readonly string[]): Promise<Effect> {
  const strengths = new Map<string, { strength: number; objects: readonly string[] }>();
  const atLeast: Found = (name, strength, object) => {
    const known = strengths.get(name) ?? { strength: 0, objects: [] };
    if (strength <= 0 || strength < known.strength) return;
    const objects = strength === known.strength ? [...known.objects, object] : [object];
    strengths.set(name, { strength, objects });
  };
  const blocked = new Map<string, Blocking>();
  const objects = new Set<string>();
  for (const zone of zones) {
    await managedRules(api, zone, atLeast, objects);
    await pageShield(api, zone, atLeast, blocked, objects);
    await logpush(api, zone, atLeast, objects);
  }
  return { strengths, blocked, objects };
}

/** A field of the API that this package doesn't know, so that any change of it may be a loss. */
export const EXTRA = "x_mode";

/** @param object the ID of the object that has the effect. */
type Found = (name: string, strength: number, object: string) => void;

// Managed rules

/** All challenges count the same. */
const STRENGTH: Readonly<Record<string, number>> = {
  block: 4,
  managed_challenge: 3,
  js_challenge: 3,
  challenge: 3,
  log: 1,
  rewrite: 1,
};

interface Request {
  readonly host: string;
  readonly path: string;
  readonly method: string;
  readonly country: string;
}

/** The last host is one that no expression names. */
const HOSTS = ["www.empty.example", "shop.empty.example", "other.empty.example"];

const REQUESTS: readonly Request[] = HOSTS.flatMap((host) =>
  ["/", "/checkout", "/api/orders"].flatMap((path) =>
    ["GET", "POST"].flatMap((method) =>
      ["DE", "US"].map((country): Request => ({ host, path, method, country })),
    ),
  ),
);

async function managedRules(api: LocalApi, zone: string, found: Found, objects: Set<string>): Promise<void> {
  const root = api.url.replace(/\/client\/v4$/, "");
  const response = await fetch(`${root}/__local/zones/${zone}/effective-waf`);
  const { deployments, exceptions } = (await response.json()) as EffectiveWaf;
  const skipping = new Map(exceptions.map(({ id, expression }) => [id, parse(expression)]));
  for (const { id, ruleset, expression, enabled, rules } of deployments) {
    objects.add(objectName("ManagedRulesetOverride", id));
    if (!enabled) continue;
    const selects = parse(expression);
    const deciding = rules.find(({ score_threshold }) => score_threshold !== undefined);
    for (const request of REQUESTS.filter(selects)) {
      const isActive = (rule: (typeof rules)[number]): boolean =>
        rule.enabled && !rule.skippedBy.some((id) => skipping.get(id)?.(request) === true);
      const at = `ManagedRulesetOverride ${zone} ${request.method} ${request.country} ${request.host}${request.path} ${ruleset.name}`;
      if (deciding !== undefined) {
        if (!isActive(deciding)) continue; // Scores have no effect without the rule that compares them.
        const { action, score_threshold: threshold = 0 } = deciding;
        found(`${at}, score`, STRENGTH[action] ?? 0, id);
        found(`${at}, low threshold`, 1 / threshold, id);
      }
      for (const rule of rules.filter(isActive)) {
        const strength = rule.action === "score" ? 1 : STRENGTH[rule.action];
        if (strength === undefined) throw new Error(`no strength of ${rule.action}`);
        found(`${at}, ${rule.description}`, strength, id);
      }
    }
  }
}

type Selects = (request: Request) => boolean;

/** Reads the part of the Rules language that the generated programs use. */
function parse(expression: string): Selects {
  const tokens = expression.match(/"[^"]*"|[(){},]|&&|\|\||[^\s(){},"]+/g) ?? [];
  let at = 0;
  const next = (): string => tokens[at++] ?? "";
  const taken = (...words: string[]): boolean => words.includes(tokens[at] ?? "") && next() !== "";
  const text = (): string => next().slice(1, -1);

  function any(): Selects {
    let left = all();
    while (taken("or", "||")) [left] = [either(left, all())];
    return left;
  }
  function all(): Selects {
    let left = one();
    while (taken("and", "&&")) [left] = [both(left, one())];
    return left;
  }
  function one(): Selects {
    if (taken("not", "!")) return negated(one());
    if (taken("(")) {
      const inner = any();
      if (!taken(")")) throw new Error(`no closing parenthesis in ${expression}`);
      return inner;
    }
    if (taken("true")) return () => true;
    if (taken("false")) return () => false;
    if (taken("starts_with")) {
      const [, field, , start] = [next(), next(), next(), text(), next()];
      return (request) => valueOf(request, field).startsWith(start);
    }
    const field = next();
    if (taken("in")) {
      const set: string[] = [];
      next();
      while (!taken("}")) set.push(text());
      return (request) => set.includes(valueOf(request, field));
    }
    const operator = next();
    const wanted = text();
    if (operator === "eq" || operator === "==") return (request) => valueOf(request, field) === wanted;
    if (operator === "ne" || operator === "!=") return (request) => valueOf(request, field) !== wanted;
    throw new Error(`${operator} in ${expression}`);
  }
  const whole = any();
  if (at !== tokens.length) throw new Error(`${expression} goes on behind its end`);
  return whole;
}

const either =
  (a: Selects, b: Selects): Selects =>
  (request) =>
    a(request) || b(request);
const both =
  (a: Selects, b: Selects): Selects =>
  (request) =>
    a(request) && b(request);
const negated =
  (a: Selects): Selects =>
  (request) =>
    !a(request);

function valueOf({ host, path, method, country }: Request, field: string): string {
  const values: Readonly<Record<string, string>> = {
    "http.host": host,
    "http.request.uri.path": path,
    "http.request.method": method,
    "ip.src.country": country,
  };
  const value = values[field];
  if (value === undefined) throw new Error(`no value of ${field}`);
  return value;
}

// Page Shield

/** Sample loads, with the directive that decides each and its fallbacks. */
const LOADS: readonly { readonly what: string; readonly directives: readonly string[] }[] = [
  ...["https://cdn.example.com/lib.js", "https://cdn.example.com/v2/lib.js", "http://cdn.example.com/lib.js"],
  ...["https://a.cdn.example.com/x.js", "https://evil.example/x.js", "data:text/javascript,1"],
  ...["self", "inline"],
]
  .map((what) => ({ what, directives: ["script-src-elem", "script-src", "default-src"] }))
  .concat([
    { what: "eval", directives: ["script-src", "default-src"] },
    { what: "https://api.example.com/v1", directives: ["connect-src", "default-src"] },
    { what: "https://img.example.com/a.png", directives: ["img-src", "default-src"] },
    { what: "self", directives: ["img-src", "default-src"] },
    { what: "data:image/png,1", directives: ["img-src", "default-src"] },
    { what: "data:text/plain,1", directives: ["connect-src", "default-src"] },
    { what: "inline", directives: ["style-src-elem", "style-src", "default-src"] },
    { what: "https://cdn.example.com/a.css", directives: ["style-src-elem", "style-src", "default-src"] },
    ...["font-src", "object-src", "media-src", "manifest-src"].map((name) => ({
      what: "https://cdn.example.com/asset",
      directives: [name, "default-src"],
    })),
    { what: "https://cdn.example.com/frame", directives: ["frame-src", "child-src", "default-src"] },
    {
      what: "https://cdn.example.com/worker.js",
      directives: ["worker-src", "child-src", "script-src", "default-src"],
    },
    ...["form-action", "base-uri", "frame-ancestors"].map((name) => ({
      what: "https://api.example.com/",
      directives: [name],
    })),
  ]);

/** What Page Shield reports, by the first of the directives that decide. The pages load all of the rest, too. */
const REPORTED = ["script-src-elem", "script-src", "connect-src"];

/** Scripts that the pages of the first host load. */
export const ACTIVE_SCRIPTS: readonly string[] = [
  "https://cdn.example.com/lib.js",
  "https://evil.example/x.js",
];

/** Connections that the pages of the first host make. */
export const ACTIVE_CONNECTIONS: readonly string[] = ["https://api.example.com/v1"];

const ACTIVE = [...ACTIVE_SCRIPTS, ...ACTIVE_CONNECTIONS];

interface StoredPolicy {
  readonly id: string;
  readonly action: string;
  readonly enabled: boolean | string;
  readonly expression: string;
  readonly value: string;
  readonly [EXTRA]?: unknown;
}

async function pageShield(
  api: LocalApi,
  zone: string,
  found: Found,
  blocked: Map<string, Blocking>,
  objects: Set<string>,
): Promise<void> {
  const settings = (await rawGet(api, `/zones/${zone}/page_shield`))["result"] as Record<string, unknown>;
  if (settings["enabled"] === true) {
    found(`PageShieldSettings ${zone} is watched`, 1, zone);
    if (settings["use_cloudflare_reporting_endpoint"] === true)
      found(`PageShieldSettings ${zone} reports to Cloudflare`, 1, zone);
    if (settings["use_connection_url_path"] === true)
      found(`PageShieldSettings ${zone} records paths`, 1, zone);
  }
  const policies = (await rawGet(api, `/zones/${zone}/page_shield/policies`))["result"] as StoredPolicy[];
  for (const { id, action, enabled, expression, value, [EXTRA]: extra } of policies) {
    objects.add(objectName("PageShieldPolicy", id));
    if (String(enabled) !== "true") continue;
    if (extra !== undefined) found(`PageShieldPolicy ${zone} ${EXTRA} ${JSON.stringify(extra)}`, 1, id);
    const selects = parse(expression);
    const sources = directivesOf(value);
    for (const { what, directives } of LOADS) {
      const applied = directives.map((name) => sources.get(name)).find((list) => list !== undefined);
      if (applied === undefined || applied.some((source) => covers(source, what))) continue;
      for (const page of REQUESTS.filter(selects)) {
        const at = `PageShieldPolicy ${zone} ${page.method} ${page.country} ${page.host}${page.path}, ${directives[0] ?? ""} ${what}`;
        found(at, action === "allow" ? 2 : 1, id);
        const [first = ""] = directives;
        const isReported = REPORTED.includes(first);
        if (page.host !== HOSTS[0] || (isReported && !ACTIVE.includes(what))) continue;
        // Logging tells nobody but the policy's violations what an unreported directive would block.
        if (action !== "allow" && isReported) continue;
        const load = `${first} ${what} in ${zone}`;
        const known = blocked.get(load) ?? { enforced: false, objects: [] };
        const enforced = known.enforced || action === "allow";
        blocked.set(load, { enforced, objects: [...known.objects, id] });
      }
    }
  }
}

function directivesOf(value: string): Map<string, readonly string[]> {
  const directives = value
    .split(";")
    .map((each) => each.trim().split(/ +/))
    .map(([name = "", ...sources]) => [name.toLowerCase(), sources] as const);
  return new Map(directives);
}

function covers(source: string, what: string): boolean {
  if (what === "inline") return source === "'unsafe-inline'";
  if (what === "eval") return source === "'unsafe-eval'";
  if (what === "self") return ["'self'", "*", "https:", "http:"].includes(source);
  const { protocol, hostname, pathname } = new URL(what);
  if (source === "*") return protocol !== "data:";
  if (source.endsWith(":")) return source === protocol || (source === "http:" && protocol === "https:");
  const [, scheme, host = "", path = ""] = /^(?:(\w+):\/\/)?([^/']+)(\/.*)?$/.exec(source) ?? [];
  if (protocol === "data:" || (scheme !== undefined && `${scheme}:` !== protocol)) return false;
  const isHost = host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host;
  return isHost && (path === "" || (path.endsWith("/") ? pathname.startsWith(path) : pathname === path));
}

// Logpush

const LINES: readonly Readonly<Record<string, unknown>>[] = ["a.example", "b.example"].flatMap((host) =>
  [200, 404, 500].flatMap((status) =>
    ["/", "/api/x"].map((uri) => ({
      ClientRequestHost: host,
      EdgeResponseStatus: status,
      ClientRequestURI: uri,
    })),
  ),
);

interface StoredJob {
  readonly id: number;
  readonly destination_conf: string;
  readonly dataset: string;
  readonly enabled: boolean;
  readonly filter?: string | null;
  readonly output_options?: {
    readonly field_names?: readonly string[];
    readonly sample_rate?: number;
    readonly merge_subrequests?: boolean;
    readonly "CVE-2021-44228"?: boolean | string;
  } | null;
  readonly [EXTRA]?: unknown;
}

async function logpush(api: LocalApi, zone: string, found: Found, objects: Set<string>): Promise<void> {
  const jobs = (await rawGet(api, `/zones/${zone}/logpush/jobs`))["result"] as StoredJob[];
  for (const job of jobs) {
    const { id, dataset, destination_conf: destination, enabled, filter, output_options: output } = job;
    objects.add(objectName("LogpushJob", String(id)));
    if (!enabled) continue;
    const at = `LogpushJob ${zone} ${dataset} to ${destination}`; // Each part of these may name the recipient.
    const extra = job[EXTRA];
    if (extra !== undefined) found(`${at}, ${EXTRA} ${JSON.stringify(extra)}`, 1, String(id));
    if (output?.merge_subrequests !== true) found(`${at}, subrequests`, 1, String(id));
    if (String(output?.["CVE-2021-44228"]) === "true") found(`${at}, defused`, 1, String(id));
    for (const line of LINES) {
      if (typeof filter === "string" && filter !== "" && !letsThrough(filter, line)) continue;
      for (const field of output?.field_names ?? [])
        found(`${at} of ${JSON.stringify(line)}, ${field}`, output?.sample_rate ?? 1, String(id));
    }
  }
}
