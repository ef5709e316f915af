import type { Plan } from "../limits";
import type { Deployed, RuleDefinition, RulesetsSnapshot, ZoneRule } from "../rulesets/entities";
import { idFrom, managedRulesets } from "../rulesets/ids";
import type { Zone } from "../state";
import { owaspPackage, vendorPackage } from "./catalog";
import { equivalent, type ProposedRule } from "./conversion";
import { type Override, type Phase, SET_UP_AT, untouched, type WafZone } from "./entities";
import { firewallRule, pageRule } from "./short";

/** Zones for all cases of a migration. Their IDs never change, so programs and docs can use them. */
export const wafZones = {
  /** Ready: one group and one rule of Cloudflare's package are changed. */
  migratePro: "5a0c1e7f3b2d4968a7e1c0f2d3b4a601",
  /** Ready: a firewall rule bypasses the managed rules. */
  migrateBusiness: "5a0c1e7f3b2d4968a7e1c0f2d3b4a602",
  /** Ready: changed OWASP groups and rules, which will be lost, a bypass and a page rule. */
  migrateEnterprise: "5a0c1e7f3b2d4968a7e1c0f2d3b4a603",
  /** Ready: its entry point has rules, one of which is also proposed. */
  migrateDeployed: "5a0c1e7f3b2d4968a7e1c0f2d3b4a604",
  /** Blocked by two URI-based overrides. */
  migrateOverrides: "5a0c1e7f3b2d4968a7e1c0f2d3b4a605",
  /** Needs support: 201 firewall rules to migrate. */
  migrateManyRules: "5a0c1e7f3b2d4968a7e1c0f2d3b4a606",
  /** Needs support: an expression of 4,097 bytes, in fewer characters than 4,096. */
  migrateLongRule: "5a0c1e7f3b2d4968a7e1c0f2d3b4a607",
  /** Ready: 200 firewall rules to migrate, an expression of 4,096 bytes, and two firewall rules of other kinds. */
  migrateLimits: "5a0c1e7f3b2d4968a7e1c0f2d3b4a608",
  /** Ready: a page rule turns the managed rules off. */
  migratePageRule: "5a0c1e7f3b2d4968a7e1c0f2d3b4a609",
  /** Ready: the managed rules and the OWASP set are off. */
  migrateOff: "5a0c1e7f3b2d4968a7e1c0f2d3b4a60a",
  /** Both versions are running; the new rules have been adjusted. */
  migrateValidating: "5a0c1e7f3b2d4968a7e1c0f2d3b4a60b",
  /** Migrated by someone else. */
  migrateFinished: "5a0c1e7f3b2d4968a7e1c0f2d3b4a60c",
  /** Cloudflare has retired the previous rules: 410. */
  migrateRetired: "5a0c1e7f3b2d4968a7e1c0f2d3b4a60d",
} as const;

type WafZoneName = keyof typeof wafZones;

// The keys are those of an object that is written out above.
const names = Object.keys(wafZones) as WafZoneName[];

const at = new Date(SET_UP_AT);

const PLANS: Readonly<Record<WafZoneName, Plan>> = {
  migratePro: "pro",
  migrateBusiness: "business",
  migrateEnterprise: "enterprise",
  migrateDeployed: "enterprise",
  migrateOverrides: "business",
  migrateManyRules: "enterprise",
  migrateLongRule: "enterprise",
  migrateLimits: "business",
  migratePageRule: "pro",
  migrateOff: "pro",
  migrateValidating: "enterprise",
  migrateFinished: "pro",
  migrateRetired: "business",
};

/** Returns the zones. `migratePageRule`, for example, has the name migrate-page-rule.example. */
export function zoneRecords(): Zone[] {
  return names.map((name) => {
    const words = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return { id: wafZones[name], name: `${words}.example`, plan: PLANS[name] };
  });
}

/** How each zone differs from one that nobody changed. */
function zonesSeeded(): Readonly<Record<WafZoneName, Partial<WafZone>>> {
  const { owasp, migration } = untouched();
  return {
    migratePro: {
      vendor: { groups: { [groupId("Cloudflare WordPress")]: "off" }, rules: { "100100": "simulate" } },
    },
    migrateBusiness: {
      owasp: { ...owasp, sensitivity: "medium", action_mode: "simulate" },
      firewallRules: [bypass("business", 1, 'http.request.uri.path eq "/hooks/billing"')],
    },
    migrateEnterprise: enterprise(),
    migrateDeployed: { owasp: { ...owasp, sensitivity: "default" } },
    migrateOverrides: { overrides: [uriOverride("checkout", 1), uriOverride("blog", 2)] },
    migrateManyRules: { firewallRules: bypasses("many", 201) },
    migrateLongRule: { firewallRules: [bypass("long", 1, expressionOfBytes(4097)), ...bypasses("long", 1)] },
    migrateLimits: limits(),
    migratePageRule: {
      pageRules: [pageOf("page-rule", 1, "migrate-page-rule.example/webhooks/*", "waf", "off")],
    },
    migrateOff: {
      setting: { value: "off", modified_on: SET_UP_AT },
      owasp: { ...owasp, sensitivity: "off" },
    },
    migrateValidating: withStep(enterprise(), "validate", "validation"),
    migrateFinished: withStep(untouched(), "finish", "finished"),
    migrateRetired: { migration: { ...migration, retired: 410 } },
  };
}

export function seeded(): Record<string, WafZone> {
  const zones = zonesSeeded();
  return Object.fromEntries(names.map((name) => [wafZones[name], { ...untouched(), ...zones[name] }]));
}

/** Returns all zones' entry points, including those of the zones for migrations. */
export function withEntryPoints({ published, zones }: RulesetsSnapshot): RulesetsSnapshot {
  const office: RuleDefinition = {
    action: "skip",
    action_parameters: { ruleset: "current" },
    expression: "ip.src in {198.51.100.0/24}",
    description: "Office",
    enabled: true,
    logging: { enabled: true },
  };
  const vendor: RuleDefinition = {
    action: "execute",
    action_parameters: { id: managedRulesets.managed, version: "latest" },
    expression: "true",
    description: "Set up before the migration",
    enabled: true,
  };
  return {
    published,
    zones: {
      ...zones,
      [wafZones.migrateDeployed]: deployed("deployed", [office, vendor]),
      [wafZones.migrateValidating]: deployed(
        "validating",
        equivalent(enterprise()).map(asSaved).map(adjusted),
      ),
      [wafZones.migrateFinished]: deployed("finished", equivalent(untouched()).map(asSaved)),
    },
  };
}

function enterprise(): WafZone {
  return {
    ...untouched(),
    vendor: { groups: {}, rules: { "100000": "disable", "100201": "block" } },
    owasp: {
      groups: { [groupId("OWASP XSS Attacks")]: "off" },
      rules: { "960001": "off", "981002": "off" },
      sensitivity: "low",
      action_mode: "block",
    },
    firewallRules: [
      bypass("enterprise", 1, "ip.src in {203.0.113.0/28}"),
      firewallRule(
        {
          id: idFrom("firewall rule enterprise", 2),
          expression: 'ip.geoip.country eq "XX"',
          action: "block",
        },
        at,
      ),
    ],
    pageRules: [
      pageOf("enterprise", 1, "static.migrate-enterprise.example/*", "disable_security"),
      pageOf("enterprise", 2, "migrate-enterprise.example/old/*", "forwarding_url", { status_code: 301 }),
    ],
  };
}

function limits(): Pick<WafZone, "firewallRules"> {
  const id = (number: number) => idFrom("firewall rule limits other", number);
  const others = [
    firewallRule({ id: id(1), expression: "cf.threat_score gt 30", action: "challenge" }, at),
    firewallRule({ id: id(2), expression: "ssl", products: ["rateLimit"] }, at),
  ];
  const longest = bypass("limits", 200, expressionOfBytes(4096));
  return { firewallRules: [...others, ...bypasses("limits", 199), longest] };
}

/** Returns an expression with this many bytes in UTF-8, but about half as many characters. */
function expressionOfBytes(bytes: number): string {
  const [before, after] = ['http.request.uri.path eq "/', '"'];
  const room = bytes - before.length - after.length;
  return `${before}${room % 2 === 1 ? "x" : ""}${"ß".repeat(Math.floor(room / 2))}${after}`;
}

function bypasses(zone: string, count: number) {
  return Array.from({ length: count }, (_, index) =>
    bypass(zone, 1000 + index, `ip.src eq 192.0.2.${index + 1}`),
  );
}

function bypass(zone: string, number: number, expression: string) {
  const id = idFrom("firewall rule", zone, number);
  return firewallRule({ id, expression, description: `Not for the managed rules (${number})` }, at);
}

function pageOf(zone: string, number: number, url: string, action: string, value?: unknown) {
  const actions = [value === undefined ? { id: action } : { id: action, value }];
  return pageRule({ id: idFrom("page rule", zone, number), url, actions }, number, at);
}

function uriOverride(what: string, priority: number): Override {
  return {
    id: idFrom("override", what),
    description: `For ${what} only`,
    paused: false,
    priority,
    urls: [`migrate-overrides.example/${what}/*`],
    groups: { [groupId("Cloudflare Php")]: "disable" },
    rules: { "100401": "disable" },
    rewrite_action: {},
  };
}

function groupId(name: string): string {
  const group = [...vendorPackage.groups, ...owaspPackage.groups].find((each) => each.name === name);
  if (group === undefined) throw new Error(`no group of this name: ${name}`);
  return group.id;
}

function withStep(waf: WafZone, trigger: "validate" | "finish", phase: Phase): WafZone {
  const step = {
    at: SET_UP_AT,
    by: "dashboard",
    trigger,
    from: "start",
    to: phase,
    effective: true,
  } as const;
  const saved = { rules: equivalent(waf).length, entry_point_version: 1 };
  return { ...waf, migration: { ...waf.migration, phase, steps: [{ ...step, ...saved }] } };
}

function deployed(zone: string, rules: readonly RuleDefinition[]): Deployed {
  const kept = rules.map((rule, index): ZoneRule => {
    const id = idFrom("entry point rule", zone, index);
    return { ...rule, id, ref: id, version: 1, last_updated: SET_UP_AT };
  });
  const id = idFrom("entry point", zone);
  return {
    entryPoint: { id, name: "default", description: "", version: 1, last_updated: SET_UP_AT, rules: kept },
  };
}

/** Returns a rule as the API stores it. */
function asSaved(rule: ProposedRule): RuleDefinition {
  if (rule.action === "skip") return { ...rule, logging: { enabled: true } };
  return { ...rule, action_parameters: { version: "latest", ...rule.action_parameters } };
}

/** Returns the rules with a higher score threshold, as if adjusted after a review of security events. */
function adjusted(rule: RuleDefinition): RuleDefinition {
  if (rule.action !== "execute" || rule.action_parameters.id !== managedRulesets.owasp) return rule;
  const { overrides, ...rest } = rule.action_parameters;
  const rules = overrides?.rules?.map((each) => ({ ...each, score_threshold: 60 }));
  return { ...rule, action_parameters: { ...rest, overrides: { ...overrides, rules } } };
}
