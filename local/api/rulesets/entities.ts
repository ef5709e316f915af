import { z } from "zod";
import { identifier } from "../request";

/*
 * What is stored about rulesets, with Cloudflare's names. The rules of managed rulesets are generated (managed.ts,
 * owasp.ts); only later versions are stored.
 */

/** The phase of most managed rulesets. */
export const PHASE = "http_request_firewall_managed";
/** The phase of the ruleset that looks at responses. */
export const RESPONSES = "http_response_firewall_managed";
export const phases = [PHASE, RESPONSES] as const;
export type Phase = (typeof phases)[number];

const timestamp = z.iso.datetime({ offset: true });

/** The actions that an override can set. */
export const overrideActions = ["block", "challenge", "js_challenge", "log", "managed_challenge"] as const;
const overrideAction = z.enum(overrideActions);

/** A rule of a managed ruleset, which only Cloudflare changes. */
const managedRule = z.strictObject({
  id: identifier,
  version: z.int().min(1),
  last_updated: timestamp,
  ref: z.string(),
  description: z.string(),
  /** The default action. `score` adds to the anomaly score; `rewrite` marks the request. */
  action: z.enum([...overrideActions, "score", "rewrite"]),
  /** How much `score` adds to the anomaly score. */
  increment: z.int().optional(),
  categories: z.array(z.string().min(1)),
  enabled: z.boolean(),
  allowed_override_actions: z.array(overrideAction),
  score_threshold: z.int().optional(),
});

/** A new version of a managed ruleset, as differences from the last one. */
const publication = z.strictObject({
  ruleset: identifier,
  at: timestamp,
  add: z.array(managedRule),
  remove: z.array(identifier),
  change: z.array(managedRule),
  /** The ruleset's new name. */
  name: z.string().min(1).exactOptional(),
});

const shape = managedRule.shape;
const optionalMembers = {
  action: shape.action.exactOptional(),
  categories: shape.categories.exactOptional(),
  enabled: shape.enabled.exactOptional(),
  allowed_override_actions: shape.allowed_override_actions.exactOptional(),
  score_threshold: z.int().exactOptional(),
};

/** The body of the control route that publishes a version: the differences from the last one. */
export const nextVersion = z.strictObject({
  name: publication.shape.name,
  /** The rules to add. Omitted properties are taken from the ruleset's first rule, except for its categories. */
  add: z
    .array(
      z.strictObject({ id: identifier.exactOptional(), description: shape.description, ...optionalMembers }),
    )
    .default([]),
  /** The IDs of the rules to remove. */
  remove: z.array(identifier).default([]),
  change: z
    .array(
      z.strictObject({ id: identifier, description: shape.description.exactOptional(), ...optionalMembers }),
    )
    .default([]),
});

const override = {
  action: z.string().optional(),
  enabled: z.boolean().optional(),
  sensitivity_level: z.string().optional(),
};

export const executeParameters = z.strictObject({
  id: z.string(),
  version: z.string().optional(),
  matched_data: z.strictObject({ public_key: z.string().min(1) }).optional(),
  overrides: z
    .strictObject({
      ...override,
      categories: z.array(z.strictObject({ category: z.string(), ...override })).optional(),
      rules: z
        .array(z.strictObject({ id: z.string(), ...override, score_threshold: z.int().optional() }))
        .optional(),
    })
    .optional(),
});

export const skipParameters = z.strictObject({
  ruleset: z.string().optional(),
  rulesets: z.array(z.string()).optional(),
  /** Rule IDs by ruleset ID. */
  rules: z.record(z.string(), z.array(z.string())).optional(),
  phases: z.array(z.string()).optional(),
  products: z.array(z.string()).optional(),
});

const definition = {
  expression: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  logging: z.strictObject({ enabled: z.boolean() }).optional(),
};

const storedMembers = {
  id: identifier,
  version: z.int().min(1),
  last_updated: timestamp,
  ref: z.string().min(1),
};

const execute = { ...definition, action: z.literal("execute"), action_parameters: executeParameters };
const skip = { ...definition, action: z.literal("skip"), action_parameters: skipParameters };

export const ruleDefinition = z.discriminatedUnion("action", [z.strictObject(execute), z.strictObject(skip)]);

const zoneRule = z.discriminatedUnion("action", [
  z.strictObject({ ...storedMembers, ...execute }),
  z.strictObject({ ...storedMembers, ...skip }),
]);

/** An entry point ruleset, with its execute and skip rules in order. */
const entryPoint = z.strictObject({
  id: identifier,
  /** An account's entry point. If absent, it's a zone's. */
  kind: z.literal("root").exactOptional(),
  /** If absent, it's the phase of requests. */
  phase: z.enum(phases).exactOptional(),
  name: z.string().min(1),
  description: z.string(),
  version: z.int().min(1),
  last_updated: timestamp,
  rules: z.array(zoneRule),
});

/** The data stored for a zone or account, in one phase. Without an entry point, there is none. */
const deployed = z.strictObject({ entryPoint: entryPoint.optional() });

export const rulesetsSnapshot = z.strictObject({
  published: z.array(publication),
  /** By the ID of the zone or account and, for responses, the phase. */
  zones: z.record(z.string(), deployed),
});

export type ManagedRule = z.infer<typeof managedRule>;
export type Publication = z.infer<typeof publication>;
export type NextVersion = z.infer<typeof nextVersion>;
export type ExecuteParameters = z.infer<typeof executeParameters>;
export type Overrides = NonNullable<ExecuteParameters["overrides"]>;
export type SkipParameters = z.infer<typeof skipParameters>;
/** A rule as a client sends it. Cloudflare adds the ID, version and time, and a missing ref. */
export type RuleDefinition = z.infer<typeof ruleDefinition>;
export type ZoneRule = z.infer<typeof zoneRule>;
export type EntryPoint = z.infer<typeof entryPoint>;
export type Deployed = z.infer<typeof deployed>;
export type RulesetsSnapshot = z.infer<typeof rulesetsSnapshot>;

/** One version of a managed ruleset. */
export interface ManagedRuleset {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly phase: Phase;
  readonly version: number;
  readonly last_updated: string;
  readonly rules: readonly ManagedRule[];
}
