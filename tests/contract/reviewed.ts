import type { Reviewed } from "./compare";

const OTHER_PHASE = "Only for DDoS, rate limiting or custom rules, which aren't managed rulesets.";
const SERVER = "Cloudflare sets it. A program can't.";
const EXTRA = "Our own member for what we don't know.";
const DOCUMENTED = "In Cloudflare's documentation, but not in the SDK.";

/** Differences between us and the official SDK that are meant to be, each with the reason. */
export const REVIEWED: readonly Reviewed[] = [
  ["Logpush job", "*", "lacks", "logpull_options", "Deprecated. output_options replaces it."],
  ["Logpush job", "*", "adds", "transformer_id", DOCUMENTED],
  ["Logpush job", "*", "adds", "output_options.stringify_object", DOCUMENTED],
  ["Logpush job, read", "simulates", "adds", "filter", "The SDK sends it, so a job has it."],
  [
    "Page Shield settings",
    "reads",
    "lacks",
    "use_cloudflare_reporting_endpoint",
    "Read as useReportingEndpoint.",
  ],
  [
    "Page Shield settings",
    "reads",
    "adds",
    "use_reporting_endpoint",
    "Cloudflare documents two names for it.",
  ],
  ["Page Shield", "reads", "adds", "extra", EXTRA],
  ["Page Shield script", "reads", "adds", "versions[].extra", EXTRA],
  ["Page Shield", "*", "adds", "status", DOCUMENTED],
  ["Page Shield cookie", "*", "adds", "first_page_url", DOCUMENTED],
  [
    "Page Shield connection",
    "simulates",
    "lacks",
    "malicious_url_categories",
    "No seeded connection has any. Tests add some.",
  ],
  ["execute rule", "*", "adds", "action_parameters.version", DOCUMENTED],
  ["execute rule", "*", "lacks", "action_parameters.overrides.sensitivity_level", OTHER_PHASE],
  ["execute rule", "*", "lacks", "action_parameters.overrides.categories[].sensitivity_level", OTHER_PHASE],
  ["execute rule", "*", "lacks", "action_parameters.overrides.rules[].sensitivity_level", OTHER_PHASE],
  ["execute rule", "*", "lacks", "exposed_credential_check", OTHER_PHASE],
  ["execute rule", "*", "lacks", "ratelimit", OTHER_PHASE],
  ["execute rule", "*", "lacks", "logging", "For skip rules. Managed rules log every match."],
  ["execute rule, sent", "sends", "lacks", "id", SERVER],
  [
    "execute rule, sent",
    "sends",
    "lacks",
    "position.index",
    "Counts other people's rules. A program names one.",
  ],
  ["execute rule, read", "simulates", "lacks", "categories", "Only rules of managed rulesets have tags."],
  ["skip rule", "*", "lacks", "action_parameters.phase", OTHER_PHASE],
  ["skip rule", "*", "lacks", "action_parameters.phases", OTHER_PHASE],
  ["skip rule", "*", "lacks", "action_parameters.products", OTHER_PHASE],
  ["skip rule", "*", "lacks", "exposed_credential_check", OTHER_PHASE],
  ["skip rule", "*", "lacks", "ratelimit", OTHER_PHASE],
  ["skip rule, sent", "sends", "lacks", "id", SERVER],
  ["skip rule, sent", "sends", "lacks", "position.after", "An exception stands before its deployment."],
  ["skip rule, sent", "sends", "lacks", "position.index", "An exception stands before its deployment."],
  ["skip rule, read", "simulates", "lacks", "categories", "Only rules of managed rulesets have tags."],
];
