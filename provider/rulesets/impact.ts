import { z } from "zod";
import type { ImpactRecord, RecordShape } from "../runtime/impact";
import type { JsonObject } from "../basics/json";
import { members } from "../basics/published";
import { applying, pluralize } from "../basics/words";
import { formatNumber } from "../limits/workers";
import { quoteRule } from "./rule-names";

/** What an operation finds out about a deployment of a managed ruleset, and the messages about it. */

/** The path of a rule's key for payload logging, which a program may leave to others. */
export const PAYLOAD_KEY = "action_parameters.matched_data";

const lines = z.array(z.string()).readonly();

/** What an update changes, compared with what runs now. */
export interface ComparedRules {
  /** Changes that protect less, or may protect less, such as `12 rules block → log`. */
  readonly weaker: readonly string[];
  /** Changes that protect more. */
  readonly stronger: readonly string[];
  /**
   * What moving the deployment changes: skip rules that will now apply to it, and other deployments that its exceptions
   * will now apply to. For an existing rule without a declared position, what creating it again at the end changes.
   * Absent if unknown.
   */
  readonly moved?: readonly string[];
  /** A digest of the changes to each rule. */
  readonly digest: string;
}

const compared = members({
  weaker: lines,
  stronger: lines,
  moved: lines.exactOptional(),
  digest: z.string(),
}) satisfies z.ZodType<ComparedRules>;

/** Events of the rules whose action an update changes from one to another. They're counted as events: one request may have several. */
export interface RuleTraffic {
  /** The action before the update, such as `log`. */
  readonly from: string;
  /** The action after it, or `off`. */
  readonly to: string;
  /** How many. If they're sampled, at most so many, with a certainty of 95%. */
  readonly events: number;
  /** If they're sampled, at least so many. */
  readonly least?: number;
  /** How many rules change so. */
  readonly rules: number;
  /** The rule with the most events. Absent without any. */
  readonly top?: { readonly id: string; readonly description: string; readonly events: number };
}

/** Events of the rules that a new exception skips. */
export interface ExceptionTraffic {
  /** The exception's index. */
  readonly index: number;
  readonly events: number;
  /** How many of them the exception's expression matches. */
  readonly matching: number;
  /** About how many of them the events don't tell. */
  readonly undecided: number;
}

/** What an update would have meant for the requests of the last hours. Holds counts and rules, and nothing of a request. */
export interface Traffic {
  /** How many hours were counted. Absent if nothing was. */
  readonly hours?: number;
  /** Whether Cloudflare estimates the counts from a sample. */
  readonly isSampled?: boolean;
  /** Whether there are more events than Cloudflare returned. */
  readonly isCut?: boolean;
  readonly changes: readonly RuleTraffic[];
  readonly exceptions: readonly ExceptionTraffic[];
  /** How many of the changed rules were off. They have no events. */
  readonly off?: number;
  /** Whether scores change, about which events tell nothing. */
  readonly scored?: boolean;
  /** Why no events were counted. */
  readonly notAsked?: string;
}

export const trafficShape = members({
  hours: z.number().exactOptional(),
  isSampled: z.boolean().exactOptional(),
  isCut: z.boolean().exactOptional(),
  changes: z
    .array(
      members({
        from: z.string(),
        to: z.string(),
        events: z.number(),
        least: z.number().exactOptional(),
        rules: z.number(),
        top: members({ id: z.string(), description: z.string(), events: z.number() }).exactOptional(),
      }),
    )
    .readonly(),
  exceptions: z
    .array(members({ index: z.number(), events: z.number(), matching: z.number(), undecided: z.number() }))
    .readonly(),
  off: z.number().exactOptional(),
  scored: z.boolean().exactOptional(),
  notAsked: z.string().exactOptional(),
}) satisfies z.ZodType<Traffic>;

/** A rule that deploys a managed ruleset, or a skip rule that applies, in front of a new rule. */
export interface RuleInFront {
  readonly ruleId: string;
  readonly ref: string;
  /** For a skip rule, says that it will apply. */
  readonly skip?: string;
}

export const rulesInFront = z
  .array(members({ ruleId: z.string(), ref: z.string(), skip: z.string().exactOptional() }))
  .readonly() satisfies z.ZodType<readonly RuleInFront[]>;

/** What an operation found out about a deployment. */
export interface RulesetImpact extends ImpactRecord {
  /** What changes compared with the current deployment. Absent if there is none. */
  readonly compared?: ComparedRules;
  /** Firewall events of the last hours that the update concerns. */
  readonly traffic?: Traffic;
  /** For a new rule: the rules in front of it that matter, in their order. Absent if its place isn't known. */
  readonly inFront?: readonly RuleInFront[];
  /**
   * The IDs of the rulesets that other rules deploy behind this deployment, to which its exceptions apply, too. For a new
   * rule, all that others deploy. Absent if unknown.
   */
  readonly behind?: readonly string[];
  /** What new versions of the ruleset change for the deployment, and what a pinned version lacks. */
  readonly versions?: readonly string[];
}

export const rulesetRecord = {
  compared: compared.exactOptional(),
  traffic: trafficShape.exactOptional(),
  inFront: rulesInFront.exactOptional(),
  behind: lines.exactOptional(),
  versions: lines.exactOptional(),
} as const satisfies RecordShape<RulesetImpact>;

/** What the report needs to have been looked at before it rules out a loss. */
export const SEEN = { existingRule: "existingRule" } as const;

export function versionMessages(versions: unknown, ref: unknown): { readonly infos: string[] } {
  const label = `managed ruleset ${JSON.stringify(ref)}: `;
  return { infos: (lines.safeParse(versions).data ?? []).map((line) => label + line) };
}

/** Returns the messages about a check. */
export function checkMessages(found: JsonObject, ref: unknown): { readonly infos: string[] } {
  const { traffic, versions } = z.object(rulesetRecord).parse(found);
  return versionMessages([...(traffic === undefined ? [] : trafficLines(traffic)), ...(versions ?? [])], ref);
}

/** Words what was counted: a line for each group of rules, and for each new exception. */
export function trafficLines(traffic: Traffic): readonly string[] {
  const { hours = 0, isSampled, isCut, changes, exceptions, off = 0, scored, notAsked } = traffic;
  const time = `the last ${hours} h`;
  const about = (count: number): string => `${isSampled === true ? "about " : ""}${formatNumber(count)}`;
  const few = ({ events, least }: RuleTraffic): string => {
    if (isCut === true) return `at least ${pluralize(least ?? events, "event")}`;
    if (least === undefined) return `at most ${pluralize(events, "event")}`;
    return `${formatNumber(least)} to ${pluralize(events, "event")}`;
  };
  return applying(
    ...changes.map((change) => {
      const { from, to, events } = change;
      const isNone = events === 0 && isCut !== true;
      const what = isNone ? `no event of ${time}` : `${few(change)} of ${time} ${meaning(from, to)}`;
      return `${from} → ${to}: ${what}${rulesText(change, about)}`;
    }),
    ...exceptions.map(({ index, events, matching, undecided }) => {
      const of = `of the rules that it skips`;
      if (events === 0) return `exception ${index + 1}: no event of ${time} ${of}`;
      const open = undecided === 0 ? "" : `; ${about(undecided)} more can't be decided from events`;
      return `exception ${index + 1}: matches ${about(matching)} of ${about(events)} ${events === 1 ? "event" : "events"} of ${time} ${of}${open}`;
    }),
    off > 0 &&
      `${pluralize(off, "rule")} that ${off === 1 ? "was" : "were"} off: events aren't known; log first to find out`,
    scored === true && "scores and paranoia levels: not known from events",
    isSampled === true &&
      "Cloudflare samples these events: a range contains the true number 95 times out of 100",
    notAsked !== undefined && `events weren't counted: ${notAsked}`,
  );
}

/** Names the rule, or counts the rules and names the one with the most events. */
function rulesText({ rules, top }: RuleTraffic, about: (count: number) => string): string {
  if (top === undefined) return rules === 0 ? "" : ` (${pluralize(rules, "rule")})`;
  const name = `rule ${quoteRule(top.id, top.description)}`;
  return rules === 1 ? ` (${name})` : ` (${pluralize(rules, "rule")}; ${about(top.events)} of ${name})`;
}

/** What the change would have meant for requests. */
function meaning(from: string, to: string): string {
  if (to === "block") return "would have been blocked";
  if (to.includes("challenge")) return "would have been challenged";
  return from === "log" ? "would not have been logged" : "would have passed";
}
