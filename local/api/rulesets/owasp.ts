import { type ManagedRule, overrideActions } from "./entities";
import { managedRulesets, OWASP_SCORE_RULE } from "./ids";
import { identity } from "./managed";

interface Family {
  /** The first three digits of the group's rule numbers. */
  readonly number: number;
  readonly name: string;
  readonly tags: readonly string[];
  /** How many rules each paranoia level has. */
  readonly levels: readonly [number, number, number, number];
}

const families: readonly Family[] = [
  { number: 920, name: "Protocol enforcement", tags: ["protocol"], levels: [18, 6, 3, 3] },
  { number: 921, name: "Protocol attack", tags: ["protocol", "request-smuggling"], levels: [6, 2, 2, 0] },
  { number: 930, name: "File access", tags: ["lfi", "directory-traversal"], levels: [4, 1, 0, 0] },
  { number: 931, name: "Remote file", tags: ["rfi"], levels: [3, 1, 0, 0] },
  { number: 932, name: "Command execution", tags: ["rce", "unix"], levels: [13, 2, 3, 0] },
  { number: 933, name: "PHP injection", tags: ["rce", "php"], levels: [10, 1, 4, 0] },
  { number: 934, name: "Script injection", tags: ["rce", "nodejs"], levels: [3, 2, 0, 0] },
  { number: 941, name: "Cross-site scripting", tags: ["xss"], levels: [20, 5, 0, 0] },
  { number: 942, name: "SQL injection", tags: ["sqli"], levels: [15, 20, 5, 1] },
  { number: 943, name: "Session fixation", tags: ["session-fixation"], levels: [3, 0, 0, 0] },
  { number: 944, name: "Java injection", tags: ["rce", "java"], levels: [5, 4, 1, 0] },
];

const places = ["arguments", "cookies", "header values", "the path", "the body", "file names"] as const;
/** The rules' numbers: well-known numbers from the Core Rule Set, and generated numbers. */
const numbers: Readonly<Record<number, number>> = { 920_340: 920_272 };
/** The score increments for critical, error, warning and notice. */
const increments = [5, 4, 3, 2] as const;

/**
 * Returns the rules of the OWASP Core Ruleset. Each has one paranoia level and adds to a score, except the last rule,
 * which acts on the score.
 */
export function owaspRules(at: string): ManagedRule[] {
  return [...families.flatMap((family) => familyRules(family, at)), scoreRule(at)];
}

function familyRules({ number, name, tags, levels }: Family, at: string): ManagedRule[] {
  const levelOf = levels.flatMap((count, index) => Array.from({ length: count }, () => index + 1));
  return levelOf.map((level, index) => {
    const generated = number * 1000 + 100 + index * 10;
    const rule = numbers[generated] ?? generated;
    return {
      ...identity(managedRulesets.owasp, rule, at),
      description: `${rule}: ${name} in ${places[index % places.length] ?? places[0]}`,
      action: "score",
      increment: increments[index % 7 === 6 ? 2 : 0],
      categories: [...tags, ...(index % 5 === 4 ? ["evasion"] : []), `paranoia-level-${level}`],
      enabled: true,
      allowed_override_actions: [],
    };
  });
}

/** Returns the rule that acts on the score. Its default threshold is medium. */
function scoreRule(at: string): ManagedRule {
  return {
    ...identity(managedRulesets.owasp, 949_110, at),
    id: OWASP_SCORE_RULE,
    description: "949110: Inbound Anomaly Score Exceeded",
    action: "block",
    categories: [],
    enabled: true,
    allowed_override_actions: [...overrideActions],
    score_threshold: 40,
  };
}
