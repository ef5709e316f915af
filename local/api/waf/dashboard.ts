import { isDeepStrictEqual } from "node:util";
import { failures } from "../envelope";
import type { RuleRequest } from "../rulesets/check";
import { replacedEntryPoint, requestsOf, withChangedRule } from "../rulesets/entry-point";
import { newId } from "../rulesets/ids";
import type { Zone } from "../state";
import { packages, vendorPackage } from "./catalog";
import { equivalent, type ProposedRule } from "./conversion";
import type {
  ActionMode,
  Migration,
  OnOff,
  Override,
  Phase,
  RuleMode,
  Sensitivity,
  WafZone,
} from "./entities";
import { wafFailures } from "./failures";
import { completeSwitch, decide, phaseAt, type Trigger } from "./machine";
import { moveTo, requireMigratable } from "./migration";
import { firewallRule, pageRule, type ShortFirewallRule, type ShortPageRule } from "./short";
import type { Services } from "../services";

/** A change to a zone outside of any program, by a colleague in the dashboard or by Cloudflare. */
export type WafAction =
  /**
   * Turns on both versions (Enterprise only). From start, adds the proposed configuration after the zone's own rules.
   */
  | { readonly do: "validate" }
  /** Turns the previous rules off immediately. From start, also adds the proposed configuration. */
  | { readonly do: "finish" }
  | Change
  | Adjustment;

type Change =
  /** Completes a pending switch. */
  | { readonly do: "completeSwitch" }
  /** Makes the next switch hang. */
  | { readonly do: "hang" }
  /** Applies the next effective PUTs, once by default, but returns this status. */
  | { readonly do: "failAfterPut"; readonly status: number; readonly times?: number }
  /** Retires the previous rules and the migration, with this status. Null brings them back. */
  | { readonly do: "retire"; readonly status: Migration["retired"] }
  | { readonly do: "setting"; readonly value: OnOff }
  | { readonly do: "package"; readonly sensitivity?: Sensitivity; readonly action_mode?: ActionMode }
  | { readonly do: "rule"; readonly id: string; readonly mode: RuleMode }
  | { readonly do: "addOverride"; readonly override: Partial<Override> & Pick<Override, "urls"> }
  | { readonly do: "deleteOverride"; readonly id: string }
  /** Replaces the firewall rules. */
  | { readonly do: "firewallRules"; readonly rules: readonly ShortFirewallRule[] }
  /** Replaces the page rules. The first one has the highest priority. */
  | { readonly do: "pageRules"; readonly rules: readonly ShortPageRule[] };

/** Changes properties of a rule in the entry point. If no ID is given, that's the first rule. */
interface Adjustment {
  readonly do: "adjust";
  readonly rule?: string;
  readonly change: Pick<RuleRequest, "enabled" | "expression" | "description" | "action_parameters">;
}

/** The defaults of a new override in Cloudflare's API. */
const NEW_OVERRIDE = {
  description: null,
  paused: false,
  priority: 1,
  groups: {},
  rules: {},
  rewrite_action: {},
};

/** A zone's record with the current phase of its migration. */
export type WafView = WafZone & { readonly phase: Phase };

type Place = Pick<Services, "state" | "settings">;

export function viewOf({ state, settings }: Place, zoneId: string): WafView {
  if (state.zone(zoneId) === undefined) throw failures.notFound(`zone ${zoneId}`);
  const waf = state.waf.latest(zoneId);
  return { ...waf, phase: phaseAt(waf.migration, settings.clock()) };
}

/** Carries out the action. If Cloudflare wouldn't allow it, throws the API's error. */
export function inDashboard(place: Place, zoneId: string, action: WafAction): WafView {
  const { state, settings } = place;
  const zone = state.zone(zoneId);
  if (zone === undefined) throw failures.notFound(`zone ${zoneId}`);
  if (action.do === "validate") go(place, zone, "validate");
  else if (action.do === "finish") finish(place, zone);
  else if (action.do === "adjust") adjust(place, zone, action);
  else state.waf.write(zoneId, changed(state.waf.latest(zoneId), action, settings.clock()));
  return viewOf(place, zoneId);
}

function changed(waf: WafZone, action: Change, now: Date): WafZone {
  const migrating = (change: Partial<Migration>) => ({ ...waf, migration: { ...waf.migration, ...change } });
  switch (action.do) {
    case "completeSwitch":
      return migrating(completeSwitch(waf.migration, now));
    case "hang":
      return migrating({ hangs: true });
    case "failAfterPut":
      return migrating({ failsAfterPut: Array.from({ length: action.times ?? 1 }, () => action.status) });
    case "retire":
      return migrating({ retired: action.status });
    case "setting":
      return { ...waf, setting: { value: action.value, modified_on: now.toISOString() } };
    case "package": {
      const { sensitivity = waf.owasp.sensitivity, action_mode = waf.owasp.action_mode } = action;
      return { ...waf, owasp: { ...waf.owasp, sensitivity, action_mode } };
    }
    case "rule":
      return withRuleMode(waf, action.id, action.mode);
    case "addOverride":
      return { ...waf, overrides: [...waf.overrides, { id: newId(), ...NEW_OVERRIDE, ...action.override }] };
    case "deleteOverride":
      return { ...waf, overrides: waf.overrides.filter(({ id }) => id !== action.id) };
    case "firewallRules":
      return { ...waf, firewallRules: action.rules.map((rule) => firewallRule(rule, now)) };
    case "pageRules":
      return { ...waf, pageRules: action.rules.map((rule, index) => pageRule(rule, index, now)) };
  }
}

/** Changes a rule's mode. A rule with its default mode counts as unchanged. */
function withRuleMode(waf: WafZone, id: string, mode: RuleMode): WafZone {
  const of = packages.find(({ rules }) => rules.some((rule) => rule.id === id));
  if (of === undefined) throw failures.notFound("WAF rule");
  const name = of.id === vendorPackage.id ? "vendor" : "owasp";
  const others = Object.fromEntries(Object.entries(waf[name].rules).filter(([each]) => each !== id));
  const usual = of.id === vendorPackage.id ? "default" : "on";
  const rules = mode === usual ? others : { ...others, [id]: mode };
  return { ...waf, [name]: { ...waf[name], rules } };
}

function finish(place: Place, zone: Zone): void {
  go(place, zone, "finish");
  const { state, settings } = place;
  const waf = state.waf.latest(zone.id);
  state.waf.write(zone.id, { ...waf, migration: completeSwitch(waf.migration, settings.clock()) });
}

function go(place: Place, zone: Zone, trigger: Trigger): void {
  const { state, settings } = place;
  const { phase: from, ...waf } = viewOf(place, zone.id);
  const decision = decide(from, trigger, zone.plan);
  if ("refused" in decision) throw wafFailures[decision.refused]();
  if (decision.to === from) return;
  if (from === "start" || from === "validation") requireMigratable(waf, settings.limits);
  if (from === "start") {
    const own: readonly RuleRequest[] = state.rulesets.latest(zone.id)?.rules ?? [];
    const rules = [...own, ...equivalent(waf).filter((rule) => !own.some((each) => isSame(each, rule)))];
    const place = { store: state.rulesets, place: requestsOf(zone), limits: settings.limits };
    state.rulesets.write(zone.id, replacedEntryPoint(place, { name: "default", rules }));
  }
  moveTo(decision.to, place, zone.id, { from, trigger, by: "dashboard" });
}

/** Whether an existing rule is the same as a proposed one. */
function isSame(own: RuleRequest, proposed: ProposedRule): boolean {
  if (own.action !== proposed.action || own.expression !== proposed.expression) return false;
  if (proposed.action === "skip") return isDeepStrictEqual(own.action_parameters, proposed.action_parameters);
  return own.action_parameters?.["id"] === proposed.action_parameters.id;
}

function adjust({ state, settings }: Place, zone: Zone, { rule: id, change }: Adjustment): void {
  const place = { store: state.rulesets, place: requestsOf(zone), limits: settings.limits };
  const old = state.rulesets.latest(zone.id);
  const rule = old?.rules.find((each) => id === undefined || each.id === id);
  if (old === undefined || rule === undefined) throw failures.notFound("rule");
  state.rulesets.write(zone.id, withChangedRule(place, old, rule, { ...rule, ...change }));
}
