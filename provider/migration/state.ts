import { omitAbsent, isJsonObject } from "../basics/json";

/** How far a zone has migrated. */
export type Phase =
  /** The previous rules are active. */
  | "start"
  /** Both versions are on; the new one runs first. Enterprise only. */
  | "validation"
  /** The new rules are on, the previous ones off. This can't be undone. */
  | "finished"
  /** Cloudflare has removed the migration's API endpoints. */
  | "retired"
  /** Anything undocumented: a switch in progress, or a state added later. In such a state, nothing is ever sent. */
  | "other";

export interface MigrationState {
  readonly phase: Phase;
  /** The state as Cloudflare reports it. */
  readonly raw?: string;
  readonly previousRulesEnabled?: boolean;
  readonly newRulesEnabled?: boolean;
}

/** The targets of a migration. Each is a minimum: a zone may be past it. */
export const TARGETS = ["assessed", "validation", "finished"] as const;
export type Target = (typeof TARGETS)[number];

/** What a `WafMigration` claims if its target is more than an assessment. Other resources look for this claim. */
export const stepIn = (zoneId: string): string => `step in ${zoneId}`;

export const RETIRED: MigrationState = { phase: "retired" };

/**
 * Determines the zone's state. No other code does that. Cloudflare doesn't document the fields of the status, so
 * they're interpreted by name. Of the possible states, Cloudflare documents only `start`. If the status doesn't contain
 * a state, the state from Cloudflare's check is used.
 */
export function decideState(status: unknown, checkState?: string): MigrationState {
  const leaves = leavesOf(status);
  const previous = switchNamed(leaves, PREVIOUS, NEW);
  const next = switchNamed(leaves, NEW, PREVIOUS);
  const raw = stateWord(leaves) ?? (checkState?.trim() === "" ? undefined : checkState);
  const phase = phaseOf(previous, next, raw);
  return omitAbsent({ phase, raw, previousRulesEnabled: previous, newRulesEnabled: next });
}

function phaseOf(previous: boolean | undefined, next: boolean | undefined, raw: string | undefined): Phase {
  if (previous === false && next === true) return "finished";
  if (previous === true && next === true) return "validation";
  return raw?.trim().toLowerCase() === "start" ? "start" : "other";
}

/** Whether two reads found the same state. A field that only one of them contains doesn't count as a difference. */
export function isSameState(a: MigrationState, b: MigrationState): boolean {
  const same = (x: unknown, y: unknown): boolean => x === undefined || y === undefined || x === y;
  return (
    a.phase === b.phase &&
    same(a.raw, b.raw) &&
    same(a.previousRulesEnabled, b.previousRulesEnabled) &&
    same(a.newRulesEnabled, b.newRulesEnabled)
  );
}

/** Whether the zone has reached the target. */
export function isReached(target: Target, { phase }: MigrationState): boolean {
  if (target === "assessed" || phase === "finished") return true;
  return target === "validation" && phase === "validation";
}

/** Whether the zone is past the program's target. */
export function isFurther(target: Target, { phase }: MigrationState): boolean {
  if (phase === "finished") return target !== "finished";
  return phase === "validation" && target === "assessed";
}

/** Returns the state as an output: one of the phases, or Cloudflare's own word for any other state. */
export function stateText({ phase, raw }: MigrationState): string {
  if (phase !== "other") return phase;
  // A phase name would be misleading if the rest of the status contradicts it.
  const misleading =
    raw === undefined || ["start", "validation", "finished", "retired", "other"].includes(raw);
  return misleading ? "unknown" : raw;
}

const PREVIOUS = ["old", "previous", "prev", "legacy", "former"];
const NEW = ["new", "next"];

interface Leaf {
  readonly words: readonly string[];
  readonly name: string;
  readonly value: unknown;
}

/**
 * Lists every plain value in the response, with the words in its path: for `rules.oldWaf`, these are rules, old and
 * waf.
 */
function leavesOf(value: unknown, words: readonly string[] = [], name = ""): Leaf[] {
  if (!isJsonObject(value)) return [{ words, name, value }];
  return Object.entries(value).flatMap(([key, member]) => leavesOf(member, [...words, ...wordsOf(key)], key));
}

function wordsOf(key: string): string[] {
  return key
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}

/**
 * Whether the rules are on, according to the fields whose path contains one of `names` and none of `others`. Undefined
 * if there's no such field, or if two fields contradict each other.
 */
function switchNamed(
  leaves: readonly Leaf[],
  names: readonly string[],
  others: readonly string[],
): boolean | undefined {
  const values = leaves
    .filter(({ words }) => words.some((w) => names.includes(w)) && !words.some((w) => others.includes(w)))
    .map(({ value }) => switchOf(value))
    .filter((value) => value !== undefined);
  return new Set(values).size === 1 ? values[0] : undefined;
}

function switchOf(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  const word = typeof value === "string" ? value.trim().toLowerCase() : "";
  if (word === "on" || word === "enabled") return true;
  return word === "off" || word === "disabled" ? false : undefined;
}

/** Returns `migration_state` or, if it's missing, the only field whose name ends in `state`. */
function stateWord(leaves: readonly Leaf[]): string | undefined {
  const states = leaves.filter(
    ({ name, value }) =>
      /state$/i.test(name) &&
      typeof value === "string" &&
      value.trim() !== "" &&
      switchOf(value) === undefined,
  );
  const named = states.find(({ name }) => name === "migration_state");
  const found = named ?? (states.length === 1 ? states[0] : undefined);
  return typeof found?.value === "string" ? found.value : undefined;
}
