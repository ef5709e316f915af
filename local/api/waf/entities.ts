import { z } from "zod";
import { identifier } from "../request";

/*
 * The stored state of a zone's previous rules and its migration, with Cloudflare's names where they exist. Only changed
 * packages, groups and rules are stored; the rest is in catalog.ts.
 */

const timestamp = z.iso.datetime({ offset: true });

export const onOff = z.enum(["on", "off"]);
/** The mode of a rule that acts by itself. */
const actingMode = z.enum(["default", "disable", "simulate", "block", "challenge"]);
export const ruleMode = z.enum([...onOff.options, ...actingMode.options]);

/**
 * The OWASP package's sensitivity. Cloudflare's migration guide has `default`; the OpenAPI schema has the other four.
 */
export const sensitivity = z.enum(["high", "medium", "low", "off", "default"]);
export const actionMode = z.enum(["simulate", "block", "challenge"]);

/** The ID of a previous rule, which is a number. */
export const ruleId = z.string().regex(/^[0-9a-f]{1,32}$/);

const packageChanges = {
  /** Modes by group ID. Other groups are in their default mode. */
  groups: z.record(identifier, onOff),
  /** Modes by rule ID. Other rules are in their default mode. */
  rules: z.record(ruleId, ruleMode),
};

/** A URI-based override, available only in the API. A zone that has one can't migrate. */
export const override = z.strictObject({
  id: identifier,
  description: z.string().max(1024).nullable(),
  paused: z.boolean(),
  priority: z.number().min(-1e9).max(1e9),
  urls: z.array(z.string().min(1)).min(1),
  groups: z.record(z.string(), z.string()),
  rules: z.record(z.string(), actingMode),
  rewrite_action: z.partialRecord(actingMode, actingMode),
});

/** A firewall rule. Migrated only if it bypasses the product `waf`. */
export const firewallRule = z.strictObject({
  id: identifier,
  paused: z.boolean(),
  description: z.string(),
  action: z.enum(["block", "challenge", "js_challenge", "managed_challenge", "allow", "log", "bypass"]),
  /** The products that the action `bypass` bypasses. */
  products: z.array(z.string()).optional(),
  priority: z.int().nullable(),
  /** The expression of the rule's filter. */
  expression: z.string(),
  created_on: timestamp,
});

/** A page rule for a URL pattern. Of several matching rules, the one with the highest priority applies. */
export const pageRule = z.strictObject({
  id: identifier,
  url: z.string(),
  actions: z.array(z.strictObject({ id: z.string(), value: z.unknown().optional() })),
  priority: z.int(),
  status: z.enum(["active", "disabled"]),
  created_on: timestamp,
});

const phase = z.enum(["start", "validation", "pending", "finished"]);

/** A step in a zone's migration. Recorded even if it changed nothing. */
const step = z.strictObject({
  at: timestamp,
  by: z.enum(["put", "dashboard"]),
  trigger: z.enum(["validate", "finish"]),
  from: phase,
  to: phase,
  /** Whether the migration moved on. */
  effective: z.boolean(),
  /** The number of rules in the entry point that the step saved. */
  rules: z.int(),
  entry_point_version: z.int(),
});

export const migration = z.strictObject({
  phase,
  /** When the switch completes, in the phase `pending`. Null if it hangs. */
  until: timestamp.nullable(),
  /** Whether the next switch hangs. */
  hangs: z.boolean(),
  /** The statuses with which the next effective PUTs fail although they're applied. */
  failsAfterPut: z.array(z.int().min(400).max(599)),
  /** The status that the endpoints of the previous rules and the migration return once Cloudflare has retired them. */
  retired: z.union([z.literal(404), z.literal(410)]).nullable(),
  steps: z.array(step),
});

export const wafZone = z.strictObject({
  /** The zone's setting that turns the previous rules on and off. */
  setting: z.strictObject({ value: onOff, modified_on: timestamp }),
  vendor: z.strictObject(packageChanges),
  owasp: z.strictObject({ ...packageChanges, sensitivity, action_mode: actionMode }),
  overrides: z.array(override),
  firewallRules: z.array(firewallRule),
  pageRules: z.array(pageRule),
  migration,
});

export type OnOff = z.infer<typeof onOff>;
export type RuleMode = z.infer<typeof ruleMode>;
export type Sensitivity = z.infer<typeof sensitivity>;
export type ActionMode = z.infer<typeof actionMode>;
export type Override = z.infer<typeof override>;
export type FirewallRule = z.infer<typeof firewallRule>;
export type PageRule = z.infer<typeof pageRule>;
export type Phase = z.infer<typeof phase>;
export type Step = z.infer<typeof step>;
export type Migration = z.infer<typeof migration>;
export type WafZone = z.infer<typeof wafZone>;

export const SET_UP_AT = "2026-03-14T10:20:30.000Z";

/** Returns the state of a zone that nobody changed: both packages have Cloudflare's defaults. */
export function untouched(phase: Phase = "start"): WafZone {
  return {
    setting: { value: "on", modified_on: SET_UP_AT },
    vendor: { groups: {}, rules: {} },
    owasp: { groups: {}, rules: {}, sensitivity: "high", action_mode: "challenge" },
    overrides: [],
    firewallRules: [],
    pageRules: [],
    migration: { phase, until: null, hangs: false, failsAfterPut: [], retired: null, steps: [] },
  };
}
