import { EXAMPLE_MANAGED_RULE, idFrom, managedRulesets } from "../rulesets/ids";
import type { OnOff, RuleMode } from "./entities";

/*
 * The previous rules as Cloudflare shipped them: two packages with groups and rules, the same for every zone. A zone's
 * record holds its changes. The IDs of the packages and the numbering are Cloudflare's; the rest is made up.
 */

export interface Group {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly mode: OnOff;
  /** The tag of the group's rules in the new managed ruleset. */
  readonly category?: string;
}

export interface Rule {
  readonly id: string;
  readonly description: string;
  readonly priority: string;
  readonly group: Group;
  /** The mode that `default` stands for. Undefined for a rule that adds to a score. */
  readonly defaultMode?: Exclude<RuleMode, "on" | "off" | "default">;
  /** The rule's successor in the new managed ruleset. */
  readonly successor?: string;
}

export interface Package {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly detection_mode: "traditional" | "anomaly";
  readonly groups: readonly Group[];
  readonly rules: readonly Rule[];
}

export const scoringModes = ["on", "off"] as const satisfies readonly RuleMode[];
export const actingModes = [
  "default",
  "disable",
  "simulate",
  "block",
  "challenge",
] as const satisfies readonly RuleMode[];

/** The technologies, in the order of the new ruleset, so that a rule's successor has the same number. */
const technologies = [
  { row: 0, name: "Cloudflare WordPress", category: "wordpress", mode: "on" },
  { row: 1, name: "Cloudflare Drupal", category: "drupal", mode: "on" },
  { row: 2, name: "Cloudflare Joomla", category: "joomla", mode: "off" },
  { row: 3, name: "Cloudflare Magento", category: "magento", mode: "on" },
  { row: 4, name: "Cloudflare Php", category: "php", mode: "on" },
  { row: 13, name: "Cloudflare Specials", category: "anomaly", mode: "on" },
] as const;
const threats = ["SQL injection", "Cross-site scripting", "Remote code execution", "File inclusion"] as const;

const families = [
  { number: 960_000, name: "OWASP Protocol Violations", checks: ["Missing host", "Invalid length"] },
  { number: 981_000, name: "OWASP SQL Injection Attacks", checks: ["Tautology", "Union select", "Comment"] },
  { number: 973_000, name: "OWASP XSS Attacks", checks: ["Event handler", "Script tag"] },
  { number: 950_000, name: "OWASP Generic Attacks", checks: ["Session fixation", "Command injection"] },
] as const;

export const vendorPackage: Package = {
  id: "a25a9a7e9c00afc1fb2e0245519d725b",
  name: "CloudFlare",
  description: "Rules of Cloudflare's security team",
  detection_mode: "traditional",
  ...vendorRules(),
};

export const owaspPackage: Package = {
  id: "c504870194831cd12c3fc0284f294abb",
  name: "OWASP ModSecurity Core Rule Set",
  description: "Covers OWASP Top 10 vulnerabilities and more.",
  detection_mode: "anomaly",
  ...owaspRules(),
};

export const packages: readonly Package[] = [vendorPackage, owaspPackage];

function vendorRules(): Pick<Package, "groups" | "rules"> {
  const groups = technologies.map(({ name, category, mode, row }) => ({
    row,
    group: { id: idFrom("legacy group", name), name, description: `Rules for ${category}`, mode, category },
  }));
  return {
    groups: groups.map(({ group }) => group),
    rules: groups.flatMap(({ group, row }) =>
      threats.map((threat, column): Rule => {
        const number = 100_000 + row * 100 + column;
        return {
          id: String(number),
          description: `${threat} (${group.name})`,
          priority: String(column + 1),
          group,
          defaultMode: column === 1 ? "challenge" : "block",
          successor:
            number === 100_000 ? EXAMPLE_MANAGED_RULE : idFrom(managedRulesets.managed, "rule", number),
        };
      }),
    ),
  };
}

function owaspRules(): Pick<Package, "groups" | "rules"> {
  const groups = families.map(({ name, ...family }) => ({
    ...family,
    group: {
      id: idFrom("legacy group", name),
      name,
      description: `${name} (core rule set 2.x)`,
      mode: "on" as const,
    },
  }));
  return {
    groups: groups.map(({ group }) => group),
    rules: groups.flatMap(({ group, number, checks }) =>
      checks.map((check, index): Rule => {
        const id = String(number + 1 + index);
        return { id, description: `${check} (${id})`, priority: String(index + 1), group };
      }),
    ),
  };
}
