import { type ManagedRule, overrideActions } from "./entities";
import { EXAMPLE_MANAGED_RULE, idFrom, managedRulesets } from "./ids";

/** What the rules protect: a tag, a name, and the tags that it implies. */
const technologies = [
  ["wordpress", "WordPress", ["php"]],
  ["drupal", "Drupal", ["php"]],
  ["joomla", "Joomla", ["php"]],
  ["magento", "Magento", ["php"]],
  ["php", "PHP applications", []],
  ["java", "Java applications", []],
  ["spring", "Spring", ["java"]],
  ["apache-struts", "Apache Struts", ["java"]],
  ["atlassian-confluence", "Confluence", ["java"]],
  ["nodejs", "Node.js applications", []],
  ["python", "Python applications", []],
  ["dotnet", ".NET applications", []],
  ["microsoft-exchange", "Exchange", ["dotnet"]],
  ["anomaly", "Unusual requests", []],
] as const;

/** What the rules detect. */
const attacks = [
  ["sqli", "SQL injection"],
  ["xss", "cross-site scripting"],
  ["rce", "remote code execution"],
  ["file-inclusion", "file inclusion"],
  ["directory-traversal", "directory traversal"],
  ["ssrf", "server-side request forgery"],
  ["deserialization", "unsafe deserialization"],
  ["broken-access-control", "access without authorization"],
  ["file-upload", "upload of executable files"],
  ["information-disclosure", "disclosure of internals"],
] as const;

/** Rules for a single vulnerability, with its number as Cloudflare writes it. */
const vulnerabilities: Readonly<Record<number, string>> = {
  100_502: " - CVE:CVE-2021-44228",
  100_602: " - CVE:CVE-2022-22963, CVE:CVE-2022-22965",
};

const years = ["cve-2021", "cve-2022", "cve-2023", "cve-2024", "cve-2025"] as const;

/**
 * Returns the rules of the Cloudflare Managed Ruleset: one for each technology and attack, so that most of them have
 * several tags. Some are off by default. Rules about uploads accept fewer actions, because uploads can't be challenged.
 */
export function managedRules(at: string): ManagedRule[] {
  return technologies.flatMap(([technology, name, implied], row) =>
    attacks.map(([attack, threat], column): ManagedRule => {
      const number = 100_000 + row * 100 + column;
      const ofYear = (row + 2 * column) % 3 === 0 ? [years[(row + column) % years.length] ?? "cve-2021"] : [];
      return {
        ...identity(managedRulesets.managed, number, at),
        ...(number === 100_000 ? { id: EXAMPLE_MANAGED_RULE } : {}),
        description: `${name}: ${threat}${vulnerabilities[number] ?? ""} (${number})`,
        action:
          attack === "information-disclosure"
            ? "log"
            : technology === "anomaly" && attack !== "file-upload"
              ? "managed_challenge"
              : "block",
        categories: [technology, ...implied, attack, ...ofYear],
        enabled:
          technology !== "joomla" && attack !== "information-disclosure" && (row * 3 + column) % 7 !== 6,
        allowed_override_actions: attack === "file-upload" ? ["block", "log"] : [...overrideActions],
      };
    }),
  );
}

/**
 * Returns the rules of the Cloudflare Managed Free Ruleset, which every plan has: a few rules against widespread
 * attacks.
 */
export function freeRules(at: string): ManagedRule[] {
  const threats = [
    ["log4j", "log-message lookups of a remote object - CVE:CVE-2021-44228", "java"],
    ["shellshock", "functions in environment variables", "rce"],
    ["wordpress", "known vulnerable plugins", "php"],
    ["spring", "class-loader access by binding", "java"],
    ["microsoft-exchange", "back-end access by proxy", "dotnet"],
    ["atlassian-confluence", "template evaluation", "java"],
    ["apache-struts", "expressions in a content type", "java"],
    ["file-inclusion", "configuration files of the system", "anomaly"],
  ] as const;
  return threats.map(([tag, what, impliedTag], index) => ({
    ...identity(managedRulesets.free, 200_000 + index, at),
    description: `Widespread: ${what} (${200_000 + index})`,
    action: "block",
    categories: [tag, impliedTag],
    enabled: true,
    allowed_override_actions: [...overrideActions],
  }));
}

/**
 * Returns the rules of the exposed credentials check, which marks requests with stolen credentials, by default in a
 * header for the origin.
 */
export function exposedCredentialsRules(at: string): ManagedRule[] {
  const forms = ["WordPress", "Drupal", "Joomla", "Magento", "ASP.NET", "JSON body", "form fields"] as const;
  return forms.map((form, index) => ({
    ...identity(managedRulesets.exposedCredentials, 300_000 + index, at),
    description: `Exposed credentials in a login: ${form} (${300_000 + index})`,
    action: "rewrite",
    categories: ["exposed-credentials", ...(index < 4 ? ["cms"] : [])],
    enabled: true,
    allowed_override_actions: [...overrideActions],
  }));
}

/** Returns the rules of Cloudflare Sensitive Data Detection, which only log. Some are off by default. */
export function sensitiveDataRules(at: string): ManagedRule[] {
  const kinds = [
    ["Credit card numbers", "financial"],
    ["US social security numbers", "pii"],
    ["Passport numbers", "pii"],
    ["API keys", "secrets"],
  ] as const;
  return kinds.map(([name, tag], index) => ({
    ...identity(managedRulesets.sensitiveData, 400_000 + index, at),
    description: `Sensitive data: ${name} (${400_000 + index})`,
    action: "log",
    categories: [tag],
    enabled: index !== 2,
    allowed_override_actions: ["log"],
  }));
}

/** Returns the properties that identify a generated rule. */
export function identity(ruleset: string, number: number, at: string) {
  return {
    id: idFrom(ruleset, "rule", number),
    ref: idFrom(ruleset, "ref", number),
    version: 1,
    last_updated: at,
  };
}
