import type { Context } from "../runtime/lifecycle";
import type { DeclaredOverrides } from "./arguments";
import { acceptsAction, effectiveRules } from "./effective";
import { readEntryPoint } from "./entry-point";
import { overrideArguments } from "./existing";
import { findManagedRuleset } from "./managed";
import { scoreRuleOf } from "./overrides";
import { skippedBy } from "./skip-rules";
import { skippedRulesOf } from "./skip";
import { expressionFor, fits, kindsOf, type RequestKind } from "./spare";
import { total } from "./traffic";
import type { DaysOfEvents, RuleEvents } from "./traffic-events";
import { PHASES, type ManagedRule, type ManagedRuleset, type ZoneRule } from "./wire";

/** Finds out which rules on log can block, from the events of whole days. */

/** What the events say about a rule on log. It can block if it had none but blocked ones. */
export interface Verdict {
  /** The rule's events, without the blocked ones. */
  readonly events: number;
  /** How many addresses they came from. */
  readonly addresses: number;
  /** Its events from addresses that other rules blocked. */
  readonly blocked: number;
  /** The most frequent requests, which the exception spares. */
  readonly shown: readonly RequestKind[];
  readonly exception: string;
}

/** A rule on log, with what the events say about it, or why they don't. */
export interface JudgedRule extends Pick<ManagedRule, "id" | "description"> {
  readonly verdict: Verdict | string;
}

/** The next step for a deployment. */
export interface Proposal {
  readonly rule: ZoneRule;
  readonly managed: ManagedRuleset;
  /** Its rules on log that an override can let block. */
  readonly judged: readonly JudgedRule[];
  /** The arguments that decide what its rules do, now and with the rules that can block. */
  readonly declared: readonly [before: DeclaredOverrides, after: DeclaredOverrides];
}

/** A zone, and since when it's active and unchanged. */
type ZoneToJudge = Readonly<Record<"id" | "accountId" | "activeSince", string>>;

/** Returns the next step for each deployment in a zone that has rules on log. */
export async function proposals(ctx: Context, zone: ZoneToJudge, events: DaysOfEvents): Promise<Proposal[]> {
  const proposed: Proposal[] = [];
  for (const phase of PHASES) {
    const found = await readEntryPoint(ctx, { kind: "zone", id: zone.id, phase });
    for (const [at, rule] of found?.rules.entries() ?? []) {
      if (rule.deploys === undefined) continue;
      const { rulesetId, version, overrides } = rule.deploys;
      const managed = await findManagedRuleset(ctx, zone.accountId, { id: rulesetId }, version);
      const changes = {
        "the zone": zone.activeSince,
        "the list of the zone's managed rules": found?.lastUpdated,
        "the managed ruleset": managed.lastUpdated,
      };
      const unsettled = rule.enabled ? recentChange(changes, events.from) : "its deployment is off";
      const inFront = found?.rules.slice(0, at) ?? [];
      const judged = effectiveRules(managed, overrides).flatMap(
        ({ id, description, enabled, action }, index) => {
          const own = managed.rules[index];
          if (own === undefined || !enabled || action !== "log" || !acceptsAction(own, "block")) return [];
          const isSkipped = inFront.some((each) => skipsAlways(each, rulesetId, id));
          const skipped = isSkipped ? "a skip rule before it skips it for all requests" : undefined;
          return [{ id, description, verdict: unsettled ?? skipped ?? verdictOf(id, events) }];
        },
      );
      const before = overrideArguments(overrides, managed);
      const after = judged
        .filter(({ verdict }) => typeof verdict !== "string" && verdict.events === 0)
        .reduce((declared, { id }) => blocking(declared, id, scoreRuleOf(managed)), before);
      if (judged.length > 0) proposed.push({ rule, managed, judged, declared: [before, after] });
    }
  }
  return proposed;
}

/** Lets a rule block, where the arguments say what it does. */
function blocking(declared: DeclaredOverrides, id: string, scoreRule: string | undefined): DeclaredOverrides {
  const { owasp, rules = {} } = declared;
  return owasp?.action !== undefined && id === scoreRule
    ? { ...declared, owasp: { ...owasp, action: "block" } }
    : { ...declared, rules: { ...rules, [id]: { ...rules[id], action: "block" } } };
}

/** Why the events of some days may not show what the rules do now. @param changes when each was last changed. */
function recentChange(changes: Record<string, string | undefined>, since: number): string | undefined {
  const recent = Object.entries(changes).find(([, at = ""]) => !(Date.parse(at) <= since));
  return recent && `${recent[0]} changed on ${recent[1]?.slice(0, 10) ?? "an unknown day"}`;
}

function skipsAlways({ enabled, expression, skips }: ZoneRule, rulesetId: string, id: string): boolean {
  if (!enabled || expression !== "true" || skips === undefined) return false;
  return skippedBy(skips, rulesetId) === "all" || skippedRulesOf(skips, rulesetId)?.includes(id) === true;
}

/** How many kinds of requests are shown for a rule. */
const SHOWN = 10;

/** Returns what the events say about a rule that was on log all the time. */
export function verdictOf(id: string, { byRule, byRequest }: Omit<DaysOfEvents, "from">): Verdict | string {
  const isLogged = ({ ruleId, action }: RuleEvents): boolean => ruleId === id && action === "log";
  const isBlocking = ({ ruleId, action }: RuleEvents): boolean => ruleId !== id && action === "block";
  const addressOf = ({ fields }: RuleEvents): string => fields["ip.src"] ?? "";
  const blockers = new Set(byRequest.events.filter(isBlocking).map(addressOf));
  const logged = byRequest.events.filter(isLogged);
  const others = logged.filter((event) => addressOf(event) === "" || !blockers.has(addressOf(event)));
  if (others.length === 0) {
    if ([...byRule.events, ...byRequest.events].some(({ interval }) => interval > 1))
      return "the zone's events are a sample, which may leave out events of this rule";
    if (byRule.isCut || total(byRule.events.filter(isLogged)) > total(logged))
      return "the zone has more events than Cloudflare returns at once. Pass fewer --days";
    if (byRule.events.length === 0)
      return "no managed rule had an event, so nothing shows that the zone had traffic";
  }
  let shown = kindsOf(others).slice(0, SHOWN);
  while (!fits(shown)) shown = shown.slice(0, -1);
  const [events, addresses] = [total(others), new Set(others.map(addressOf)).size];
  return { events, addresses, blocked: total(logged) - events, shown, exception: expressionFor(shown) };
}
