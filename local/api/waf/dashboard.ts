import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { failures } from "../envelope";
import type { RuleRequest } from "../rulesets/check";
import { putEntryPoint, withChangedRule } from "../rulesets/entry-point";
import { newId } from "../rulesets/ids";
import type { Zone } from "../state";
import { type Package, packages } from "./catalog";
import {
  changeGroup,
  changeOwasp,
  changeRule,
  changeSetting,
  withOverride,
  withoutOverride,
} from "./changes";
import { equivalent, type ProposedRule } from "./conversion";
import * as entities from "./entities";
import type { Migration, Phase, WafZone } from "./entities";
import { wafFailures } from "./failures";
import { completeSwitch, decide, phaseAt, type Trigger } from "./machine";
import { moveTo, requireMigratable } from "./migration";
import { firewallRule, pageRule, shortFirewallRule, shortPageRule } from "./short";
import type { Services } from "../services";
import type { ControlRoutes } from "../control-routes";
import { readBody, readId } from "../request";
import { wafSettingsChange, withChange } from "./settings";

/** A new override, with the defaults of Cloudflare's API. */
const newOverride = entities.override.omit({ id: true }).extend({
  description: entities.override.shape.description.default(null),
  paused: entities.override.shape.paused.default(false),
  priority: entities.override.shape.priority.default(1),
  groups: entities.override.shape.groups.default({}),
  rules: entities.override.shape.rules.default({}),
  rewrite_action: entities.override.shape.rewrite_action.default({}),
});

/** A change to a zone outside of any program, by a colleague in the dashboard or by Cloudflare. */
const wafAction = z.discriminatedUnion("do", [
  /**
   * Turns on both versions (Enterprise only). From start, adds the proposed configuration after the zone's own rules.
   */
  z.strictObject({ do: z.literal("validate") }),
  /** Turns the previous rules off immediately. From start, also adds the proposed configuration. */
  z.strictObject({ do: z.literal("finish") }),
  /** Completes a pending switch. */
  z.strictObject({ do: z.literal("completeSwitch") }),
  /** Makes the next switch hang. */
  z.strictObject({ do: z.literal("hang") }),
  /** Applies the next effective PUTs, but returns this status. */
  z.strictObject({
    do: z.literal("failAfterPut"),
    status: z.int().min(400).max(599),
    times: z.int().min(1).default(1),
  }),
  /** Retires the previous rules and the migration, with this status. Null brings them back. */
  z.strictObject({ do: z.literal("retire"), status: entities.migration.shape.retired }),

  z.strictObject({ do: z.literal("setting"), value: entities.onOff }),
  z.strictObject({
    do: z.literal("package"),
    sensitivity: entities.sensitivity.optional(),
    action_mode: entities.actionMode.optional(),
  }),
  z.strictObject({ do: z.literal("group"), id: z.string(), mode: entities.onOff }),
  z.strictObject({ do: z.literal("rule"), id: z.string(), mode: entities.ruleMode }),
  z.strictObject({ do: z.literal("addOverride"), override: newOverride }),
  z.strictObject({ do: z.literal("deleteOverride"), id: z.string() }),
  /** Replaces the firewall rules. */
  z.strictObject({ do: z.literal("firewallRules"), rules: z.array(shortFirewallRule) }),
  /** Replaces the page rules. The first one has the highest priority. */
  z.strictObject({ do: z.literal("pageRules"), rules: z.array(shortPageRule) }),
  /** Changes properties of a rule in the entry point. If no ID is given, that's the first rule. */
  z.strictObject({
    do: z.literal("adjust"),
    rule: z.string().optional(),
    change: z.strictObject({
      enabled: z.boolean().optional(),
      expression: z.string().optional(),
      description: z.string().optional(),
      action_parameters: z.record(z.string(), z.unknown()).optional(),
    }),
  }),
]);

export type WafAction = z.input<typeof wafAction>;

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
  const wanted = wafAction.parse(action);
  if (wanted.do === "validate") go(place, zone, "validate");
  else if (wanted.do === "finish") finish(place, zone);
  else if (wanted.do === "adjust") adjust(place, zone, wanted);
  else state.waf.write(zoneId, changed(state.waf.latest(zoneId), wanted, settings.clock()));
  return viewOf(place, zoneId);
}

type Parsed = z.output<typeof wafAction>;
type Change = Exclude<Parsed, { do: "validate" | "finish" | "adjust" }>;

function changed(waf: WafZone, action: Change, now: Date): WafZone {
  const migrating = (change: Partial<Migration>) => ({ ...waf, migration: { ...waf.migration, ...change } });
  switch (action.do) {
    case "completeSwitch":
      return migrating(completeSwitch(waf.migration, now));
    case "hang":
      return migrating({ hangs: true });
    case "failAfterPut":
      return migrating({ failsAfterPut: Array.from({ length: action.times }, () => action.status) });
    case "retire":
      return migrating({ retired: action.status });
    case "setting":
      return changeSetting(waf, action.value, now);
    case "package":
      return changeOwasp(waf, action);
    case "group": {
      const { of, found } = inPackages(({ groups }) => groups, action.id, "WAF rule group");
      return changeGroup(waf, of, found, action.mode);
    }
    case "rule": {
      const { of, found } = inPackages(({ rules }) => rules, action.id, "WAF rule");
      return changeRule(waf, of, found, action.mode);
    }
    case "addOverride":
      return withOverride(waf, { id: newId(), ...action.override });
    case "deleteOverride":
      return withoutOverride(waf, action.id);
    case "firewallRules":
      return { ...waf, firewallRules: action.rules.map((rule) => firewallRule(rule, now)) };
    case "pageRules":
      return {
        ...waf,
        pageRules: action.rules.map((rule, index) => pageRule(rule, index, now)),
      };
  }
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
    putEntryPoint({ store: state.rulesets, zone, limits: settings.limits }, { name: "default", rules });
  }
  moveTo(decision.to, place, zone.id, { from, trigger, by: "dashboard" });
}

/** Whether an existing rule is the same as a proposed one. */
function isSame(own: RuleRequest, proposed: ProposedRule): boolean {
  if (own.action !== proposed.action || own.expression !== proposed.expression) return false;
  if (proposed.action === "skip") return isDeepStrictEqual(own.action_parameters, proposed.action_parameters);
  return own.action_parameters?.["id"] === proposed.action_parameters.id;
}

function adjust(
  { state, settings }: Place,
  zone: Zone,
  { rule: id, change }: Extract<Parsed, { do: "adjust" }>,
): void {
  const place = { store: state.rulesets, zone, limits: settings.limits };
  const old = state.rulesets.latest(zone.id);
  const rule = old?.rules.find((each) => id === undefined || each.id === id);
  if (old === undefined || rule === undefined) throw failures.notFound("rule");
  state.rulesets.write(zone.id, withChangedRule(place, old, rule, { ...rule, ...change }));
}

function inPackages<T extends { readonly id: string }>(
  list: (of: Package) => readonly T[],
  id: string,
  what: string,
): { of: Package; found: T } {
  for (const of of packages) {
    const found = list(of).find((each) => each.id === id);
    if (found !== undefined) return { of, found };
  }
  throw failures.notFound(what);
}

/**
 * Registers control routes, which Cloudflare doesn't have. They show and change a migration's internal state, act as a
 * colleague, and configure undocumented responses.
 */
export function wafControlRoutes(controls: ControlRoutes, services: Services): void {
  const path = "/zones/:zoneId/waf";
  controls.add("GET", path, "shows a zone's previous WAF rules and its migration", (c) =>
    c.json(viewOf(services, readId(c, "zoneId"))),
  );
  controls.add(
    "POST",
    path,
    "changes a zone's previous WAF rules or its migration, as someone in the dashboard or Cloudflare could",
    async (c) => c.json(inDashboard(services, readId(c, "zoneId"), await readBody(c, wafAction))),
    { do: "setting", value: "off" },
    { do: "finish" },
  );

  const { settings } = services;
  controls.add("GET", "/waf", "shows how migrations behave where Cloudflare doesn't document it", (c) =>
    c.json(settings.waf),
  );
  controls.add(
    "PATCH",
    "/waf",
    "changes how migrations behave where Cloudflare doesn't document it",
    async (c) => {
      settings.waf = withChange(settings.waf, await readBody(c, wafSettingsChange));
      return c.json(settings.waf);
    },
    { pendingMs: 10_000 },
  );
}
