import type { KvSnapshot } from "./kv/entities";
import type { Plan } from "./limits";
import { type Job, nothingSet } from "./logpush/entities";
import type { Configured, Detected } from "./page-shield/entities";
import { newScript, nothingDetected, untouched as pageShieldUntouched } from "./page-shield/seed";
import type { EntryPoint, ExecuteParameters, ZoneRule } from "./rulesets/entities";
import { idFrom, managedRulesets, OWASP_SCORE_RULE } from "./rulesets/ids";
import type { Snapshot, Zone } from "./state";
import { SET_UP_AT, untouched, type WafZone } from "./waf/entities";
import { firewallRule } from "./waf/short";

/**
 * Zones to try features for large accounts. A zone's number determines everything about it, so every start has the same
 * zones. Neighbors differ in plan, Page Shield, scripts, managed rulesets, migration and Logpush jobs.
 */

type Seed = Snapshot & { readonly kv: KvSnapshot };

const FIRST_JOB = 10_001;

export function withSimulatedZones(seed: Seed, count: number): Seed {
  const simulated = Array.from({ length: count }, (_, index) => zoneOf(index + 1));
  const by = <T>(of: (zone: Simulated) => T) =>
    Object.fromEntries(simulated.map((each) => [each.zone.id, of(each)]));
  const jobs = simulated.flatMap(jobsOf);
  return {
    ...seed,
    zones: [...seed.zones, ...simulated.map(({ zone }) => zone)],
    pageShield: { ...seed.pageShield, ...by(configuredIn) },
    pageShieldDetected: { ...seed.pageShieldDetected, ...by(detectedIn) },
    rulesets: { ...seed.rulesets, zones: { ...seed.rulesets.zones, ...by(deployedIn) } },
    waf: { ...seed.waf, ...by(wafOf) },
    logpush: { ...seed.logpush, nextId: FIRST_JOB + count, jobs: [...seed.logpush.jobs, ...jobs] },
  };
}

interface Simulated {
  readonly number: number;
  readonly zone: Zone;
}

function zoneOf(number: number): Simulated {
  const plans: readonly Plan[] = ["enterprise", "business", "pro", "free"];
  const plan = plans[number % plans.length] ?? "free";
  const name = `zone-${String(number).padStart(4, "0")}.example`;
  return { number, zone: { id: idFrom("simulated zone", number), name, plan } };
}

function configuredIn({ number, zone }: Simulated): Configured {
  const { settings } = pageShieldUntouched();
  const action = (["log", "allow"] as const)[number % 2] ?? "log";
  const isIncluded = zone.plan !== "free" && number % 3 !== 0;
  return {
    settings: { ...settings, enabled: number % 5 !== 0 },
    policies: isIncluded
      ? [
          {
            id: idFrom("simulated policy", number),
            description: number % 50 === 7 ? `<b>Checkout</b> ${number}` : `Checkout ${number}`,
            action,
            expression: `http.host eq "checkout.${zone.name}"`,
            enabled: number % 7 !== 0,
            value: "script-src 'self' https://js.payments.example/v3/pay.js",
            further: {},
          },
        ]
      : [],
  };
}

function detectedIn({ number, zone }: Simulated): Detected {
  const count = number % 40 === 20 ? 120 : number % 7; // Some zones need a second page.
  const ownScripts = Array.from({ length: count }, (_, index) => ({
    host: `www.${zone.name}`,
    url: `https://www.${zone.name}/assets/${index}.js`,
    score: 60 + ((number + index) % 40),
  }));
  const checkout = { host: `checkout.${zone.name}`, pages: ["/payment"] };
  const others = [
    { ...checkout, url: "https://js.payments.example/v3/pay.js", score: 96 },
    ...(number % 13 === 4
      ? [
          {
            ...checkout,
            url: "https://stats-collect.example.com/c.js",
            score: 4,
            threats: { url: ["Malware"] },
          },
        ]
      : []),
    ...(number % 6 === 1
      ? [
          {
            ...checkout,
            url: "https://tags.metrics.example/tag.js",
            score: null,
            status: "infrequent" as const,
          },
        ]
      : []),
  ];
  const scripts = [...ownScripts, ...others].map((facts) => newScript(zone.name, facts));
  return { ...nothingDetected(), scripts };
}

function deployedIn({ number }: Simulated): { readonly entryPoint?: EntryPoint } {
  if (number % 5 === 0) return {};
  const execute = (order: number, parameters: ExecuteParameters, enabled = true): ZoneRule => ({
    ...ruleOf(number, order),
    action: "execute",
    action_parameters: parameters,
    expression: "true",
    description: "",
    enabled,
  });
  const level = (number % 4) + 1;
  const levels = [2, 3, 4].filter((each) => each > level);
  const owasp = execute(
    3,
    {
      id: managedRulesets.owasp,
      version: "latest",
      overrides: {
        categories: levels.map((each) => ({ category: `paranoia-level-${each}`, enabled: false })),
        rules: [
          {
            id: OWASP_SCORE_RULE,
            action: number % 2 === 0 ? "log" : "block",
            score_threshold: [25, 40, 60][number % 3] ?? 40,
          },
        ],
      },
    },
    number % 8 !== 2,
  );
  const rules: ZoneRule[] = [
    ...(number % 9 === 3
      ? [
          {
            ...ruleOf(number, 1),
            action: "skip" as const,
            action_parameters: { ruleset: "current" },
            expression: 'http.request.uri.path eq "/health"',
            description: "Monitoring",
            enabled: true,
          },
        ]
      : []),
    execute(2, { id: managedRulesets.managed, version: number % 10 === 6 ? "87" : "latest" }),
    ...(number % 3 === 0 ? [] : [owasp]),
  ];
  const id = idFrom("simulated entry point", number);
  return {
    entryPoint: { id, name: "default", description: "", version: 1, last_updated: SET_UP_AT, rules },
  };
}

function ruleOf(number: number, order: number) {
  const id = idFrom("simulated rule", number, order);
  return { id, version: 1, last_updated: SET_UP_AT, ref: id };
}

/** Returns a zone's WAF migration. Most zones have already finished it. */
function wafOf({ number, zone }: Simulated): WafZone {
  const at = new Date(SET_UP_AT);
  switch (number % 12) {
    case 3:
      return untouched();
    case 7:
      return {
        ...untouched(),
        overrides: [
          {
            id: idFrom("simulated override", number),
            description: null,
            paused: false,
            priority: 1,
            urls: [`${zone.name}/checkout/*`],
            groups: {},
            rules: { "100401": "disable" },
            rewrite_action: {},
          },
        ],
      };
    case 11: {
      const id = idFrom("simulated firewall rule", number);
      return { ...untouched(), firewallRules: [firewallRule({ id, expression: "ip.src eq 192.0.2.1" }, at)] };
    }
    default:
      return untouched("finished");
  }
}

function jobsOf({ number, zone }: Simulated): Job[] {
  if (zone.plan !== "enterprise") return [];
  const at = "2026-08-31T23:58:00Z";
  const failed = {
    last_error: "2026-08-31T23:59:00Z",
    error_message: `Error from destination s3://logs-${number}/http: 403 Forbidden`,
  };
  const health = number % 16 === 0 ? {} : { last_complete: at, ...(number % 20 === 0 ? failed : {}) };
  return [
    {
      ...nothingSet,
      ...health,
      id: FIRST_JOB + number - 1,
      scope: { kind: "zones", id: zone.id },
      name: `logs-${number}`,
      dataset: "http_requests",
      destination_conf: `s3://logs-${number}/http?region=eu-west-1&access-key-id=AKIA${number}&secret-access-key=simulated-secret-${number}`,
      enabled: number % 12 !== 0,
      kind: "",
    },
  ];
}
