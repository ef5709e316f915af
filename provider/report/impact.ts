import { entriesRecord } from "../kv/impact";
import { migrationRecord } from "../migration/impact";
import { policyRecord, settingsRecord } from "../page-shield/impact";
import { rulesetRecord } from "../rulesets/impact";
import { readRecord, type RecordShape } from "../runtime/impact";
import { ownMember, type JsonObject } from "../basics/json";
import type { Changes } from "../runtime/changes";
import type { Sides, Step } from "./plan";

/** Reads the record of what a preview or refresh found out about a resource. */

const SHAPES: Readonly<Record<string, RecordShape>> = {
  PageShieldSettings: settingsRecord,
  PageShieldPolicy: policyRecord,
  ManagedRulesetOverride: rulesetRecord,
  WafMigration: migrationRecord,
  KvEntries: entriesRecord,
};

/** A record made by the operation that the plan is about. */
export interface Impact {
  /** What the operation looked at. */
  readonly seen: ReadonlySet<string>;
  /** Why it didn't look at the rest. */
  readonly skipped: readonly string[];
  /** The arguments that aren't known yet, at least in part. Undefined if the engine couldn't check the resource. */
  readonly unknown?: readonly string[];
  /** If the plan hides some, or the preview didn't look everywhere: a keyed digest of what is known. Undefined without a credential. */
  readonly known?: string | undefined;
  /** Whether it compared the object that the update writes with what's recorded. */
  readonly isCompared: boolean;
  /** What someone changed in that object since it was recorded. */
  readonly changes?: Changes | undefined;
  /** Members of the existing object that no argument sets. */
  readonly unmanaged?: JsonObject | undefined;
  /** The members of the resource's type, all of them valid. */
  readonly members: JsonObject;
}

const NONE: Impact = { seen: new Set(), skipped: [], isCompared: false, members: {} };

/**
 * Returns what this plan's preview found out about a resource. A record that an earlier operation made, or that this
 * version can't read, counts as not seen.
 */
export function impactOf({ kind, op, old, new: next }: Step): Impact {
  if (old?.isUnfinished === true) return NONE; // The check doesn't know what an interrupted update left to do.
  const record = recordIn(kind, next);
  // For a replacement, the engine checks as for a new resource.
  const isReplaced = op === "replace" || op === "create-replacement";
  const before = isReplaced ? 0 : (recordIn(kind, old)?.revision ?? 0);
  if (record?.operation !== "check" || record.revision <= before) return NONE;
  const { seen, skipped = [], unknown = [], known, own, unmanaged, members } = record;
  // A rule's ref identifies it, even if its ID has changed.
  const isSame = kind === "ManagedRulesetOverride" || own === lastOfId(old?.id);
  const isCompared = own !== undefined && isSame;
  const changes = isCompared ? record.changes : undefined;
  return { seen: new Set(seen), skipped, unknown, known, isCompared, changes, unmanaged, members };
}

/** Returns Cloudflare's ID of an object, without the place in front of it. */
export const lastOfId = (id: string | undefined): string => String(id).replace(/^.*\//, "");

/** Returns the members of the record that the last update left in the state. */
export function recordedImpact(kind: string | undefined, side: Sides | undefined): JsonObject {
  return readRecord(side?.outputs, ownMember(SHAPES, kind ?? ""))?.members ?? {};
}

/** Returns the keyed digest of what a plan hides that the last update left in the state. */
export function recordedKnown(side: Sides): string | undefined {
  return readRecord(side.outputs)?.known;
}

/** Returns what a refresh found out, besides drift. */
export function refreshImpact(kind: string | undefined, side: Sides | undefined): JsonObject {
  const record = recordIn(kind, side);
  return record?.operation === "refresh" ? record.members : {};
}

/** Returns the names of what a refresh found changed and the plan may hide. */
export function driftedUnseen(kind: string | undefined, side: Sides | undefined): readonly string[] {
  const record = recordIn(kind, side);
  return record?.operation === "refresh" ? (record.drifted ?? []) : [];
}

function recordIn(kind: string | undefined, side: Sides | undefined): ReturnType<typeof readRecord> {
  return readRecord(side?.inputs, ownMember(SHAPES, kind ?? ""));
}
