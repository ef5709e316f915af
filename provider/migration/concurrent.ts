import { z } from "zod";
import { ApiError, CancelledError } from "../api/errors";
import { RuleWriter } from "../rulesets/entry-point";
import type { Context } from "../runtime/lifecycle";
import { pluralize, omit, sameJson } from "../runtime/values";
import {
  contentOf,
  effectOf,
  fromWire,
  identityOf,
  stripped,
  type MigrationRule,
  type Sending,
  type WireRule,
} from "./rules";
import { readEntryPoint, readVersion, type EntryPoint } from "./api";
import { ruleText } from "./rule-text";
import { pollUntil } from "../runtime/creation";

/**
 * Finds what someone else wrote to the entry point while a migration's PUT was in transit. The PUT replaces the whole
 * list, and Cloudflare offers no conditional write, so a rule added after the last read is overwritten. Every write
 * adds a version of the entry point that can be read later, so the overwritten rule is found there and restored.
 */

/** A rule that someone changed while a step of the migration was being sent. */
export interface ConcurrentChange {
  /**
   * `restored`: overwritten by the PUT and put back. `lost`: missing or changed, and not put back. `unknown`: someone
   * wrote a version that can't be read.
   */
  readonly outcome: "restored" | "lost" | "unknown";
  /** The affected rule, before it was overwritten or removed. Absent if it can't be read. */
  readonly rule?: MigrationRule;
  /** A one-line description of what happened. */
  readonly text: string;
}

export const concurrentChange: z.ZodType<ConcurrentChange> = z.object({
  outcome: z.enum(["restored", "lost", "unknown"]),
  rule: z.custom<MigrationRule>((rule) => typeof rule === "object" && rule !== null).exactOptional(),
  text: z.string(),
});

export interface SentStep {
  readonly zoneId: string;
  /** The entry point as last read before the PUT. */
  readonly before: EntryPoint | undefined;
  readonly sending: Sending;
  /** The entry point in the response to the PUT, if there was one. */
  readonly answered: EntryPoint | undefined;
}

/** Reads the entry point after the PUT, and restores other people's rules that the PUT overwrote. */
export async function checkAfterPut(ctx: Context, written: SentStep): Promise<ConcurrentChange[]> {
  const { zoneId, sending } = written;
  try {
    const after = await readAfter(ctx, written);
    if (after === undefined)
      return [unknownChange(`the entry point of zone ${zoneId} still shows the version from before the PUT`)];
    const overwritten = await writtenBetween(ctx, written, after);
    if (overwritten === undefined) return missingRules(sending, after);
    if (overwritten === "unreadable") {
      return [
        unknownChange(
          `someone wrote to the entry point of zone ${zoneId} just before the PUT (the version went from ${written.before?.version ?? 0} to ${after.version ?? "?"}), but what they wrote can't be read`,
        ),
        ...missingRules(sending, after),
      ];
    }
    return [...(await restore(ctx, written, after, overwritten)), ...missingRules(sending, after)];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [
      unknownChange(
        `couldn't check whether the PUT overwrote someone else's rule in zone ${zoneId}: ${error.message}`,
      ),
    ];
  }
}

function unknownChange(why: string): ConcurrentChange {
  return {
    outcome: "unknown",
    text: `${why.replace(/\.$/, "")}. Check the account's audit log for other people's changes to the managed rules, and make sure that they're still in the zone.`,
  };
}

/** Returns the entry point after the PUT. Undefined if reads keep returning the version from before the PUT. */
async function readAfter(
  ctx: Context,
  { zoneId, before, answered }: SentStep,
): Promise<EntryPoint | undefined> {
  const newest = (now: EntryPoint | undefined): EntryPoint | undefined => {
    if (now === undefined) return undefined;
    if (now.id !== before?.id && now.id !== answered?.id) return now;
    const known = answered?.version ?? (before?.version ?? 0) + 1;
    if (now.version === undefined || now.version >= known) return now;
    return answered; // The read lags behind, so the response is newer.
  };
  return await pollUntil(
    ctx,
    async () => newest(await readEntryPoint(ctx.api, zoneId)),
    (seen) => seen !== undefined,
    4,
  );
}

/** Returns the rules that someone else wrote between the last read and the PUT. Undefined if nobody wrote any. */
async function writtenBetween(
  { api }: Context,
  { zoneId, before, sending, answered }: SentStep,
  after: EntryPoint,
): Promise<readonly WireRule[] | "unreadable" | undefined> {
  const { id, version: latest } = after;
  const sameOne = before === undefined || before.id === id;
  const base = before === undefined || !sameOne ? 0 : before.version;
  if (id === undefined || latest === undefined || base === undefined) return undefined;
  const ours = answered?.id === id ? answered.version : undefined;
  if ((ours ?? latest) <= base + 1) return sameOne ? undefined : "unreadable";
  const asSent = [sending.rules.map(({ rule }) => rule), answered?.rules ?? []].map(effectsOf);
  const isOurs = (rules: readonly WireRule[]): boolean => asSent.includes(effectsOf(rules));
  const read = (version: number): Promise<readonly WireRule[]> => readVersion(api, zoneId, id, version);
  try {
    if (ours !== undefined) {
      // The migration may write more than once, and so may another run with the same rules.
      for (let version = ours - 1; version > base; version -= 1) {
        const rules = await read(version);
        if (!isOurs(rules)) return rules;
      }
      return undefined;
    }
    let last: readonly WireRule[] | undefined;
    for (let version = base + 1; version <= latest; version += 1) {
      const rules = version === latest ? after.rules : await read(version);
      if (isOurs(rules)) return last;
      last = rules;
    }
    return "unreadable"; // None of the versions is what was sent.
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return "unreadable";
  }
}

function effectsOf(rules: readonly WireRule[]): string {
  return rules.map(effectOf).join("\n");
}

/** Restores rules that others added or changed. A rule that the confirmed step also changes is only reported. */
async function restore(
  ctx: Context,
  { zoneId: zone, before, sending }: SentStep,
  after: EntryPoint,
  theirs: readonly WireRule[],
): Promise<ConcurrentChange[]> {
  const known = new Map(before?.rules.map((rule) => [rule["id"], rule]));
  const kept = sending.rules.filter(({ origin }) => origin === "kept").map(({ rule }) => rule["id"]);
  const there = new Set(after.rules.map((rule) => rule["id"]));
  const changes: ConcurrentChange[] = [];
  const writer = new RuleWriter(ctx, zone, { id: after.id ?? "", version: "", rules: [] });
  /** The ID of the nearest preceding rule that still exists. */
  let front: string | undefined;
  const putBack = async (rule: WireRule): Promise<Pick<ConcurrentChange, "outcome" | "text">> => {
    const id = String(rule["id"]);
    const ref = typeof rule["ref"] === "string" ? rule["ref"] : id;
    const body = { ...omit(stripped(rule), ["id"]), ref };
    if (!known.has(id)) {
      const position = front === undefined ? { index: 1 } : { after: front };
      front = (await writer.add(ref, { ...body, position })).id;
      return { outcome: "restored", text: `The rule was added back with ID ${front}.` };
    }
    if (!kept.includes(id)) {
      const text = "The confirmed step also changes that rule, so reapply their change manually.";
      return { outcome: "lost", text };
    }
    await writer.change({ id }, body);
    return { outcome: "restored", text: "Their change was reapplied." };
  };
  for (const rule of theirs) {
    const id = String(rule["id"]);
    const old = known.get(id);
    const isTheirs = old === undefined || !sameJson(contentOf(old), contentOf(rule));
    if (isTheirs && !containsRule(after, rule)) {
      const did = old === undefined ? "added" : "changed";
      const begin = `someone ${did} a rule just before the PUT, which overwrote it: ${ruleLabel(rule)}.`;
      const { outcome, text } = await putBack(rule).catch((error: unknown) => {
        if (!(error instanceof Error) || error instanceof CancelledError) throw error;
        return { outcome: "lost" as const, text: `Restore it manually: ${error.message}` };
      });
      changes.push({ outcome, rule: fromWire(rule), text: `${begin} ${text}` });
    }
    if (there.has(id)) front = id;
  }
  const left = new Set(theirs.map((rule) => rule["id"]));
  const back = before?.id === after.id ? (before?.rules ?? []) : [];
  for (const rule of back.filter(({ id }) => there.has(id) && !left.has(id))) {
    const text = `someone removed a rule just before the PUT, which put it back: ${ruleLabel(rule)}. If you still want it gone, remove it again.`;
    changes.push({ outcome: "lost", rule: fromWire(rule), text });
  }
  return changes;
}

/** Lists the differences between two versions of the entry point, one line per rule. */
export function differencesOf(before: readonly WireRule[], after: readonly WireRule[]): string[] {
  const known = new Map(before.map((rule) => [rule["id"], rule]));
  const left = new Set(after.map((rule) => rule["id"]));
  return [
    ...before.filter(({ id }) => !left.has(id)).map((rule) => `removed: ${ruleLabel(rule)}`),
    ...after.flatMap((rule) => {
      const old = known.get(rule["id"]);
      if (old === undefined) return [`added: ${ruleLabel(rule)}`];
      const isSame = sameJson(contentOf(old), contentOf(rule));
      return isSame ? [] : [`changed: ${ruleLabel(rule)}, before: ${ruleText(old)}`];
    }),
  ];
}

/** Whether the entry point contains the rule unchanged. */
function containsRule({ rules }: EntryPoint, rule: WireRule): boolean {
  return rules.some((each) =>
    each["id"] === rule["id"]
      ? sameJson(contentOf(each), contentOf(rule))
      : effectOf(each) === effectOf(rule),
  );
}

/** Describes what a rule does, with its description or ref. */
function ruleLabel(rule: WireRule): string {
  const { description, ref } = rule;
  const name = typeof description === "string" && description !== "" ? description : ref;
  return `${ruleText(rule)}${typeof name === "string" ? ` (${JSON.stringify(name)})` : ""}`;
}

/** Finds rules that were sent but aren't in the entry point. */
function missingRules({ rules }: Sending, after: EntryPoint): ConcurrentChange[] {
  const ids = new Set(after.rules.map((rule) => rule["id"]));
  const identities = new Set(after.rules.map(identityOf));
  const missing = rules
    .map(({ rule }) => rule)
    .filter((rule) => !ids.has(rule["id"]) && !identities.has(identityOf(rule)));
  return missing.map((rule) => ({
    outcome: "lost",
    rule: fromWire(rule),
    text: `the entry point (${pluralize(after.rules.length, "rule")}) is missing a rule that was sent: ${ruleLabel(rule)}. Someone removed it right after the PUT, or Cloudflare didn't accept it. If it's still needed, add it manually.`,
  }));
}
