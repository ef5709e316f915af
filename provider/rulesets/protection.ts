import { hasUnknown } from "../runtime/engine-values";
import { isJsonObject, type JsonObject } from "../basics/json";
import { truncate } from "../basics/words";
import * as declared from "./arguments";
import { matchesZone, type KnownZone } from "./coverage";
import { expansionIn } from "./effective";

/** Determines what protects a zone. Report, survey and policies all use this. */

/** A deployment of a managed ruleset, in the zone or in its account. Members are undefined if they aren't known. */
export interface DeployedRuleset {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly enabled: boolean | undefined;
  readonly expression: string | undefined;
  /** Whether enough of its rules are on to act on a request. */
  readonly canAct: boolean | undefined;
  /** Whether all its rules only log. */
  readonly onlyLogs: boolean | undefined;
  /** The expressions of the exceptions before it that skip all of it. */
  readonly skippedFor: readonly string[] | undefined;
}

/** A deployment about which nothing is known. */
export const UNKNOWN_RULESET: DeployedRuleset = {
  id: undefined,
  name: undefined,
  enabled: undefined,
  expression: undefined,
  canAct: undefined,
  onlyLogs: undefined,
  skippedFor: undefined,
};

export interface Protection {
  /**
   * Which requests are protected. `unknown` if that depends on something that isn't known. Only `all` means that the
   * zone is protected.
   */
  readonly requests: "all" | "some" | "unknown" | "none";
  /** What is missing for `all`, one sentence for each deployment. */
  readonly lacking: readonly string[];
}

/** Determines whether managed rulesets protect all requests to a zone. */
export function protectionOf(
  deployments: readonly DeployedRuleset[],
  zone: KnownZone & { readonly isPaused?: boolean | undefined },
): Protection {
  if (zone.isPaused === true)
    return { requests: "none", lacking: ["the zone is paused, so Cloudflare checks none of its requests"] };
  if (deployments.length === 0) return { requests: "none", lacking: ["no managed ruleset is deployed"] };
  const found = deployments.map((each) => protectionBy(each, zone));
  const requests = RANKED.find((rank) => found.some((each) => each.requests === rank)) ?? "none";
  return { requests, lacking: requests === "all" ? [] : [...new Set(found.map(({ lack }) => lack))] };
}

const RANKED = ["all", "unknown", "some", "none"] as const;

interface Contribution {
  readonly requests: Protection["requests"];
  readonly lack: string;
}

function protectionBy(deployment: DeployedRuleset, zone: KnownZone): Contribution {
  const { id, name, enabled, expression, canAct, onlyLogs, skippedFor } = deployment;
  const label = name === undefined ? (id ?? "a managed ruleset") : JSON.stringify(name);
  const none = (why: string): Contribution => ({ requests: "none", lack: `${label} ${why}` });
  const matches = expression === undefined ? undefined : matchesZone(expression, zone);
  if (id === EXPOSED_CREDENTIALS.id || name?.includes(EXPOSED_CREDENTIALS.name) === true)
    return none("only checks for exposed credentials");
  if (enabled === false) return none("is disabled");
  if (matches === false) return none("runs for no request");
  if (skippedFor?.some((each) => matchesZone(each, zone) === true) === true)
    return none("is skipped for all requests by an exception");
  if (canAct === false) return none("has too few rules on to act");
  if (onlyLogs === true) return none("only logs");
  if ([enabled, expression, canAct, onlyLogs, skippedFor].includes(undefined))
    return { requests: "unknown", lack: `${label} isn't fully known` };
  return matches === true
    ? { requests: "all", lack: "" }
    : {
        requests: "some",
        lack: `${label} runs only for some requests: ${truncate(expression ?? "", MOST_CHARACTERS)}`,
      };
}

const MOST_CHARACTERS = 120;

/** The ruleset that only compares passwords with leaked ones. Cloudflare's pages differ in the rest of its name. */
const EXPOSED_CREDENTIALS = {
  id: "c2e184081120413c86c3ab7e14069605",
  name: "Exposed Credentials Check",
};

/**
 * Returns what the programs' deployments in one zone do, from the arguments of `ManagedRulesetOverride`. Their order isn't
 * known, so an exception that skips all managed rules counts for all of them.
 */
export function declaredRulesets(all: readonly JsonObject[]): DeployedRuleset[] {
  const exceptions = all.map(exceptionsIn);
  const others = exceptions.flatMap((each) => each ?? []).filter(({ skip }) => skip === "all");
  return all.map((inputs, index) => {
    const { ruleset, rules, action } = expansionIn(inputs);
    const choice = declared.ruleset.safeParse(inputs["ruleset"]).data ?? {};
    const [id, name] = [choice.id ?? ruleset?.id, ruleset?.name ?? choice.name];
    const own = exceptions[index]?.filter(
      ({ skip }) =>
        skip === "this" ||
        (typeof skip === "object" &&
          "rulesets" in skip &&
          skip.rulesets.some((each) => ["this", id, name].includes(each))),
    );
    const { enabled = true, expression = "true" } = inputs;
    return {
      id,
      name,
      enabled: typeof enabled === "boolean" ? enabled : undefined,
      expression: typeof expression === "string" && !hasUnknown(expression) ? expression : undefined,
      canAct: rules === undefined || rules.on > 0,
      onlyLogs: onlyLogs(inputs, action),
      skippedFor: own && [...own, ...others].map((each) => each.expression),
    };
  });
}

function exceptionsIn({ exceptions = [] }: JsonObject): declared.Exceptions | undefined {
  const { success, data } = declared.exceptions.safeParse(exceptions);
  return success ? (data ?? []) : undefined;
}

/** @param effective the action that the preview found, if any. */
function onlyLogs({ action, owasp, categories, rules }: JsonObject, effective: string | undefined): boolean {
  const members = (given: unknown): readonly unknown[] =>
    Array.isArray(given) || isJsonObject(given) ? Object.values(given) : [];
  const actionOf = (given: unknown): unknown => (isJsonObject(given) ? given["action"] : undefined);
  const overrides = [...members(categories), ...members(rules)].map(actionOf);
  const whole = effective ?? actionOf(owasp) ?? action;
  return whole === "log" && overrides.every((each) => each === undefined || each === "log");
}
