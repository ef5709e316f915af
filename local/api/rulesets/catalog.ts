import { failures } from "../envelope";
import {
  PHASE,
  RESPONSES,
  type ManagedRule,
  type ManagedRuleset,
  type NextVersion,
  type Phase,
  type Publication,
} from "./entities";
import { managedRulesets } from "./ids";
import { exposedCredentialsRules, freeRules, identity, managedRules, sensitiveDataRules } from "./managed";
import { owaspRules } from "./owasp";

const FIRST_AT = "2026-06-02T09:00:00.000000Z";
const SECOND_AT = "2026-08-18T09:30:00.000000Z";

interface SeededRuleset {
  readonly name: string;
  readonly description: string;
  /** The oldest version that can still be read. */
  readonly version: number;
  readonly phase?: Phase;
  readonly rules: (at: string) => ManagedRule[];
}

const seededRulesets: Readonly<Record<string, SeededRuleset>> = {
  [managedRulesets.managed]: {
    name: "Cloudflare Managed Ruleset",
    description: "Cloudflare's own rules against known attacks",
    version: 87,
    rules: managedRules,
  },
  [managedRulesets.owasp]: {
    name: "Cloudflare OWASP Core Ruleset",
    description: "The OWASP core rules: each adds to a score, except the last one, which acts on the score",
    version: 36,
    rules: owaspRules,
  },
  [managedRulesets.exposedCredentials]: {
    name: "Cloudflare Exposed Credentials Check Managed Ruleset",
    description: "Rules for logins with stolen credentials",
    version: 5,
    rules: exposedCredentialsRules,
  },
  [managedRulesets.free]: {
    name: "Cloudflare Managed Free Ruleset",
    description: "Rules against widespread attacks, available on every plan",
    version: 21,
    rules: freeRules,
  },
  [managedRulesets.sensitiveData]: {
    name: "Cloudflare Sensitive Data Detection",
    description: "Rules that look for personal data and secrets in responses",
    version: 9,
    phase: RESPONSES,
    rules: sensitiveDataRules,
  },
};

/** The account's managed rulesets, in all their versions. */
export class Catalog {
  /** The versions of each ruleset, oldest first. */
  readonly #versions = new Map<string, readonly ManagedRuleset[]>();

  constructor(public publications: readonly Publication[] = []) {}

  /** Returns the latest version of each ruleset. */
  all(): ManagedRuleset[] {
    return Object.keys(seededRulesets).flatMap((id) => this.latest(id) ?? []);
  }

  latest(id: string): ManagedRuleset | undefined {
    return this.versions(id).at(-1);
  }

  /** Returns the version of a ruleset that `action_parameters.version` selects, or the latest by default. */
  resolve(id: string, version = "latest"): ManagedRuleset | undefined {
    if (version === "latest") return this.latest(id);
    return this.versions(id).find((each) => String(each.version) === version);
  }

  /** Returns the versions of a ruleset, oldest first. Empty for an unknown ruleset. */
  versions(id: string): readonly ManagedRuleset[] {
    const known = this.#versions.get(id);
    if (known !== undefined) return known;
    const versions = this.publications
      .filter(({ ruleset }) => ruleset === id)
      .reduce(withVersion, seededVersions(id));
    this.#versions.set(id, versions);
    return versions;
  }

  /** Publishes a new latest version. Deployments that pin an older version keep it. */
  publish(id: string, changes: NextVersion, at: string): ManagedRuleset {
    const last = this.latest(id);
    if (last === undefined) throw failures.notFound(`managed ruleset ${id}`);
    this.publications = [...this.publications, publicationOf(last, changes, at)];
    this.#versions.delete(id);
    return this.latest(id) ?? last;
  }
}

function publicationOf(
  last: ManagedRuleset,
  { add, remove, change, ...renamed }: NextVersion,
  at: string,
): Publication {
  const { id } = last;
  const named = (rule: string) =>
    last.rules.find((each) => each.id === rule) ?? notFound(`rule ${rule} of ruleset ${id}`);
  return {
    ...renamed,
    ruleset: id,
    at,
    remove: remove.map((rule) => named(rule).id),
    change: change.map((rule) => {
      const old = named(rule.id);
      return { ...old, ...rule, version: old.version + 1, last_updated: at };
    }),
    add: add.map((rule, index) => {
      if (last.rules.some((each) => each.id === rule.id))
        throw failures.bodyInvalid("the ruleset already has a rule with this ID", `/add/${index}/id`);
      const number = (last.version + 1) * 1_000_000 + index;
      const like = last.rules[0] ?? notFound(`a rule of ruleset ${id}`);
      return { ...like, ...identity(id, number, at), categories: [], enabled: true, ...rule };
    }),
  };
}

const seeded = new Map<string, readonly ManagedRuleset[]>();

/** Returns the versions that exist at every start. They're generated on first use. */
function seededVersions(id: string): readonly ManagedRuleset[] {
  const known = seeded.get(id);
  if (known !== undefined) return known;
  const edition = Object.hasOwn(seededRulesets, id) ? seededRulesets[id] : undefined;
  if (edition === undefined) return [];
  const first: ManagedRuleset = {
    phase: PHASE,
    ...edition,
    id,
    last_updated: FIRST_AT,
    rules: edition.rules(FIRST_AT),
  };
  const versions = secondVersion(first)
    .map((changes) => publicationOf(first, changes, SECOND_AT))
    .reduce(withVersion, [first]);
  seeded.set(id, versions);
  return versions;
}

function withVersion(versions: readonly ManagedRuleset[], change: Publication): readonly ManagedRuleset[] {
  const last = versions.at(-1);
  return last === undefined ? [] : [...versions, apply(last, change)];
}

/**
 * Applies a publication to a ruleset. New rules are added before the last one, which acts on the score in the OWASP
 * Core Ruleset.
 */
function apply(last: ManagedRuleset, publication: Publication): ManagedRuleset {
  const { at, add, remove, change, name = last.name } = publication;
  const kept = last.rules
    .filter(({ id }) => !remove.includes(id))
    .map((rule) => change.find(({ id }) => id === rule.id) ?? rule);
  const acting = kept.at(-1)?.score_threshold === undefined ? [] : kept.slice(-1);
  const others = acting.length === 0 ? kept : kept.slice(0, -1);
  return {
    ...last,
    name,
    version: last.version + 1,
    last_updated: at,
    rules: [...others, ...add, ...acting],
  };
}

/**
 * Returns the changes that create a second version of two rulesets. Both add a rule, and one also removes a rule and
 * changes another's tags.
 */
function secondVersion({ id, rules }: ManagedRuleset): NextVersion[] {
  const [, , retagged] = rules;
  const retired = rules.at(-1);
  if (retagged === undefined || retired === undefined) return [];
  const rule = (number: number, description: string, ...categories: string[]) => ({
    id: identity(id, number, SECOND_AT).id,
    description,
    categories,
  });
  if (id === managedRulesets.managed) {
    const description = "Next.js: authorization bypass in middleware (101500)";
    const added = rule(101_500, description, "nodejs", "broken-access-control", "cve-2025");
    const changed = { id: retagged.id, categories: [...retagged.categories, "cve-2025"] };
    return [{ remove: [retired.id], change: [changed], add: [added] }];
  }
  if (id !== managedRulesets.owasp) return [];
  const description = "934200: Script injection in prototype chains";
  return [{ remove: [], change: [], add: [rule(934_200, description, "rce", "nodejs", "paranoia-level-2")] }];
}

function notFound(what: string): never {
  throw failures.notFound(what);
}
