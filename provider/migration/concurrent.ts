import { z } from "zod";
import { ApiError } from "../api/errors";
import type { Context } from "../runtime/lifecycle";
import { pluralize } from "../basics/words";
import { readEntryPoint, readVersion, type EntryPoint } from "./api";
import { ruleText } from "./rule-text";
import { effectOf, fromWire, identityOf, type Sending, type MigrationRule, type WireRule } from "./rules";

/**
 * Finds what someone else wrote to the entry point while a migration's PUT was in transit. The PUT replaces the whole
 * list, and Cloudflare offers no conditional write, so a rule added after the last read is overwritten. It isn't put
 * back: every write adds a version of the entry point, and the message names the rule and the version that has it.
 */

/** A rule that someone else wrote or removed while a step of the migration was being sent. */
export interface ConcurrentChange {
  /** The affected rule. Absent if it can't be read. */
  readonly rule?: MigrationRule;
  /** The version of the entry point that still has the rule. Absent if none is known to have it. */
  readonly version?: number;
  /** A one-line description of what happened. */
  readonly text: string;
}

export const concurrentChange: z.ZodType<ConcurrentChange> = z.object({
  rule: z.custom<MigrationRule>((rule) => typeof rule === "object" && rule !== null).exactOptional(),
  version: z.number().exactOptional(),
  text: z.string(),
});

export interface SentStep {
  readonly zoneId: string;
  /** The entry point as last read before the PUT. */
  readonly before: EntryPoint | undefined;
  readonly sending: Sending;
}

/**
 * Compares the entry point after the PUT, and the versions in between, with what was sent. A rule that someone removed
 * in between is back without a message, because it's in the zone to see.
 */
export async function checkAfterPut(
  ctx: Context,
  { zoneId, before, sending }: SentStep,
): Promise<ConcurrentChange[]> {
  const { api } = ctx;
  const isWritten = (now: EntryPoint | undefined): now is EntryPoint =>
    now !== undefined && (now.id !== before?.id || now.version !== before?.version);
  const missing: ConcurrentChange[] = [];
  try {
    // A read may lag behind the write.
    const after = await ctx.pollUntil(() => readEntryPoint(api, zoneId), isWritten, 4);
    if (!isWritten(after))
      return [unchecked(`the entry point of zone ${zoneId} still shows the version from before the PUT`)];
    missing.push(...missingRules(sending, after));
    return [...(await overwrittenRules(api, { zoneId, before, sending }, after)), ...missing];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const why = `couldn't check whether the PUT overwrote someone else's rule in zone ${zoneId}: ${error.message}`;
    return [unchecked(why), ...missing];
  }
}

function unchecked(why: string): ConcurrentChange {
  return {
    text: `${why.replace(/\.$/, "")}. Check the account's audit log for other people's changes to the managed rules, and make sure that they're still in the zone.`,
  };
}

/** Names rules that only a version between the last read and the newest one has, because the PUT overwrote them. */
async function overwrittenRules(
  api: Context["api"],
  { zoneId, before, sending }: SentStep,
  { id, version: newest, rules }: EntryPoint,
): Promise<ConcurrentChange[]> {
  if (id === undefined || newest === undefined) return [];
  const base = before?.id === id ? (before.version ?? newest) : 0;
  const sent = sending.rules.map(({ rule }) => rule);
  const known = new Set([...(before?.rules ?? []), ...sent, ...rules].map(effectOf));
  const changes: ConcurrentChange[] = [];
  for (let version = newest - 1; version > base; version -= 1) {
    for (const rule of await readVersion(api, zoneId, id, version)) {
      if (known.has(effectOf(rule))) continue;
      known.add(effectOf(rule));
      const text = `someone wrote a rule just before the PUT, which overwrote it: ${ruleLabel(rule)}. Version ${version} of the entry point (${id}) still has it. If it's still needed, add it again.`;
      changes.push({ rule: fromWire(rule), version, text });
    }
  }
  return changes;
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
    rule: fromWire(rule),
    text: `the entry point (${pluralize(after.rules.length, "rule")}) is missing a rule that was sent: ${ruleLabel(rule)}. Someone removed it right after the PUT, or Cloudflare didn't accept it. If it's still needed, add it manually.`,
  }));
}
