import { createHash } from "node:crypto";
import type { Account, Deployment, FirewallEvents, Head, Zone } from "../../provider/survey/model";
import { protectionIn } from "../../provider/survey/read-deployments";
import { tasksOf } from "../../provider/survey/tasks";
import { headOf } from "../../provider/survey/totals";

/** Zones of every kind, for developing and testing what's written about them. The same number gives the same zone. */
export function sampleZone(number: number): Zone {
  const read = number % 17 === 5 ? unreadable(number) : readable(number);
  const facts = { ...read, protection: protectionIn(read) };
  return { ...facts, tasks: tasksOf(facts) };
}

/** A zone that was changed, with what its changed deployments protect. */
export function judged(zone: Zone): Zone {
  return { ...zone, protection: protectionIn(zone) };
}

export async function* sampleZones(count: number): AsyncGenerator<Zone, void, undefined> {
  for (let number = 0; number < count; number += 1) {
    yield sampleZone(number);
    if (number % 100 === 0) await Promise.resolve();
  }
}

/** The head that belongs to `sampleZones(count)`. */
export async function sampleHead(count: number): Promise<Head> {
  const accounts: Account[] = [
    {
      id: ACCOUNT,
      name: "Shops & <b>Brands</b>",
      zones: count,
      rulesets: [
        {
          id: idOf("owasp"),
          name: "Cloudflare OWASP Core Ruleset",
          kind: "managed",
          phase: PHASE,
          version: "24",
        },
      ],
      deployments: [accountDeployment()],
      jobs: { notReadable: "right", what: "Account Logs Write" },
      namespaces: [
        { id: idOf("kv", 1), title: "redirects", keys: { count: 1_000, more: true }, stack: "edge/prod" },
        { id: idOf("kv", 2), title: "flags", keys: { count: 12, more: false }, stack: null },
      ],
    },
  ];
  return await headOf(
    {
      at: "2026-11-02T09:30:00.000Z",
      accounts,
      stacks: [{ name: "edge/prod", resources: 4 }],
      paymentPages: ["checkout.*"],
    },
    sampleZones(count),
  );
}

const ACCOUNT = idOf("account");
const PHASE = "http_request_firewall_managed";

/** Text that a page must never take for markup. */
export const HOSTILE = '</script><script>alert(1)</script><!--<img src=x onerror="alert(2)">\u2028&amp;\'"`';

/** Names that may break what's written about them: as an escape, UTF-8, a line, a formula, a template or markup. */
export const HOSTILE_NAMES = [
  HOSTILE,
  "100% %zz %",
  "half \ud800",
  "\udc00 half",
  "\u202egnp.exe\u202c\u200b\u2066",
  "a\u0000\u001b[2J\u007f\u009b\r\nb\tc",
  '=HYPERLINK("https://collect.example", "1,2")',
  "${pulumi.stack} $${x}",
  "``` ` | <!-- {{ name }}",
  "__proto__",
];

const FIXED = new Set(["id", "zoneId", "accountId", "kind", "state", "requests", "notReadable"]);

/** Replaces every text that Cloudflare or a colleague chooses. */
export function withText<T>(given: T, text: string): T {
  const json = JSON.stringify(given, (name, value: unknown) =>
    typeof value === "string" && !FIXED.has(name) && !/^\d+$/.test(name) ? text : value,
  );
  return JSON.parse(json) as T; // The same form, with other texts.
}

function readable(number: number): Omit<Zone, "tasks" | "protection"> {
  const id = idOf("zone", number);
  const name = number === 3 ? HOSTILE : `zone-${number}.example`;
  const isOn = number % 4 !== 0;
  const malicious = number % 11 === 7 ? (number % 3) + 1 : 0;
  const level = (number % 4) + 1;
  const isDeployed = number % 5 !== 0;
  const hasOwasp = isDeployed && number % 3 !== 0;
  const readiness = ["done", "ready", "blocked", "done", "notCounted", "retired"][number % 6] ?? "done";
  const state = (["working", "failing", "off", "new"] as const)[number % 4] ?? "working";
  const onPaymentPage = number % 22 === 7;
  const owasp = { paranoiaLevel: level, scoreThreshold: 40, action: number % 2 === 0 ? "block" : "log" };
  return {
    id,
    name,
    plan: ["enterprise", "business", "pro", "free"][number % 4] ?? "free",
    status: number % 40 === 1 ? "paused" : "active",
    accountId: ACCOUNT,
    hasPaymentPages: onPaymentPage,
    pageShield: { enabled: isOn, updatedAt: "2026-06-03T08:00:00.000000Z", stack: isOn ? "edge/prod" : null },
    policies: [
      {
        id: idOf("policy", number, 1),
        description: `Checkout ${number === 3 ? HOSTILE : ""}`,
        effect: ["enforced", "logging", "off"][number % 3] ?? "off",
        expression: `http.host eq "checkout.zone-${number}.example"`,
        value: "script-src 'self' https://js.payments.example",
        ...(number % 3 === 0
          ? {
              wouldBlock: {
                count: number % 9,
                malicious: 0,
                seen: 20,
                scripts: ["https://tags.metrics.example/tag.js"],
              },
            }
          : {}),
        stack: number % 2 === 0 ? "edge/prod" : null,
      },
    ],
    scripts: {
      seen: number % 60,
      malicious,
      suspicious: 0,
      maliciousBlocked: 0,
      notScored: number % 3,
      unapproved: number % 2 === 0 ? null : number % 5,
      onPaymentPages: onPaymentPage ? 4 : 0,
      worst: Array.from({ length: malicious }, (_, index) => ({
        url: number === 3 ? HOSTILE : `https://stats-${index}.collect.example/c.js?a=1&b=2`,
        host: `checkout.zone-${number}.example`,
        firstPageUrl: `https://checkout.zone-${number}.example/payment`,
        score: 4 + index,
        threats: ["Malware"],
        isMalicious: true,
        onPaymentPage,
      })),
    },
    responseDeployments: [],
    deployments: isDeployed
      ? [
          {
            ruleId: idOf("rule", number, 1),
            entryPointId: idOf("entry point", number),
            ref: "security-team/managed",
            description: "Baseline of the security team",
            enabled: true,
            state: "on" as const,
            expression: "true",
            rulesetId: idOf("managed"),
            exceptions: [
              {
                description: "Monitoring",
                expression: 'http.request.uri.path eq "/health"',
                skips: "all",
                stops: true,
              },
            ],
            effect: {
              name: "Cloudflare Managed Ruleset",
              version: "87",
              versionsBehind: number % 7 === 0 ? 3 : 0,
              rulesOn: 290,
              rulesOff: 14,
              rulesOnLog: 0,
              onlyLogs: false,
            },
            stack: number % 2 === 0 ? "edge/prod" : null,
          },
          ...(hasOwasp
            ? [
                {
                  ruleId: idOf("rule", number, 2),
                  entryPointId: idOf("entry point", number),
                  ref: "owasp",
                  description: "",
                  enabled: true,
                  state: "on" as const,
                  expression: "true",
                  rulesetId: idOf("owasp"),
                  exceptions: [],
                  effect: {
                    name: "Cloudflare OWASP Core Ruleset",
                    version: "24",
                    versionsBehind: 0,
                    ...owasp,
                    rulesOn: 160,
                    rulesOff: 40,
                    rulesOnLog: 0,
                    onlyLogs: false,
                  },
                  stack: null,
                },
              ]
            : []),
        ]
      : [],
    accountDeployments: number % 8 === 0 ? [accountDeployment()] : [],
    owasp: hasOwasp ? { state: "on", ...owasp } : { state: "off" },
    migration: {
      readiness,
      state: readiness === "done" ? "finished" : readiness === "retired" ? "retired" : "start",
      because:
        readiness === "blocked"
          ? ["URI-based override 5a0c (shop.example/checkout/*) must be deleted first"]
          : [],
    },
    firewallEvents: eventsOf(number),
    jobs: [
      {
        id: String(100 + number),
        name: "logs",
        dataset: "http_requests",
        state,
        destination: "s3://logs-of-shops/http",
        fields: 5,
        outputOptions: "0f3a",
        ...(state === "new" ? {} : { lastComplete: "2026-11-02T09:29:00Z" }),
        ...(state === "failing"
          ? { lastError: "2026-11-02T09:29:30Z", errorMessage: "Error from the destination: 403" }
          : {}),
        stack: null,
      },
    ],
    unmanaged: {
      objects: [{ type: "LogpushJob", id: String(100 + number), name: "logs" }],
      unread: [],
      command: `edgeguard import --zone ${id} --only logpush --out zone-${number}`,
    },
  };
}

/** Some zones have rules on log that requests matched. */
function eventsOf(number: number): FirewallEvents {
  const counts = { hours: 24, blocked: number * 3, challenged: number % 4, logged: 0 };
  if (number % 13 !== 3) return counts;
  const description = number === 3 ? HOSTILE : "WordPress: SQL injection (100000)";
  const top = { ruleId: idOf("managed rule"), description, events: 7 * number };
  return { ...counts, logged: 8 * number, top, onLog: { rules: 2, events: 8 * number, top } };
}

function unreadable(number: number): Omit<Zone, "tasks" | "protection"> {
  const right = (what: string) => ({ notReadable: "right", what }) as const;
  return {
    ...readable(number),
    plan: right("Zone Read"),
    pageShield: right("Page Shield Read"),
    policies: { notReadable: "plan", what: "Page Shield policies" },
    scripts: right("Page Shield Read"),
    deployments: right("Zone WAF Read"),
    responseDeployments: right("Zone WAF Read"),
    owasp: right("Zone WAF Read"),
    firewallEvents: right("Analytics Read"),
    migration: { notReadable: "failed", what: "GET /waf_migration/status returned 500" },
    jobs: right("Logs Write"),
    unmanaged: {
      objects: [],
      unread: ["pageShield", "policies", "deployments", "responseDeployments", "jobs"],
      command: "",
    },
  };
}

/** What the account deploys in some of its Enterprise zones. */
function accountDeployment(): Deployment {
  return {
    ruleId: idOf("account rule"),
    entryPointId: idOf("account entry point"),
    ref: "everywhere",
    description: "Baseline of the account",
    enabled: true,
    state: "on",
    expression: '(cf.zone.plan eq "ENT")',
    rulesetId: idOf("managed"),
    exceptions: [],
    effect: {
      name: "Cloudflare Managed Ruleset",
      version: "87",
      versionsBehind: 0,
      rulesOn: 290,
      rulesOff: 14,
      rulesOnLog: 0,
      onlyLogs: false,
    },
    stack: null,
  };
}

function idOf(...parts: readonly (string | number)[]): string {
  return createHash("sha256").update(parts.join(" ")).digest("hex").slice(0, 32);
}
