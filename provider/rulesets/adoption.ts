import { isSameExpression } from "../rules-language/argument";
import { adopt as adoptExisting, RENAME_HINT } from "../runtime/adoption";
import { asArguments, changesInWords, changesOf, type Changes } from "../runtime/changes";
import { scopeName, scopeOf } from "../runtime/composite-id";
import { PartialFailure, type Context, type Findings } from "../runtime/lifecycle";
import { omitAbsent, type JsonObject } from "../basics/json";
import {
  differences,
  outputsOf,
  sameVersion,
  desiredRule,
  type Computed,
  type Declared,
  type Prepared,
  type PreviousRule,
} from "./deployment";
import { rulesRunningTheSame } from "./duplicates";
import { findByRef, type RuleWriter } from "./entry-point";
import { isSameException, ownExceptions, sameExceptions } from "./exceptions";
import { readLiveRule, factsOf } from "./live-rule";
import { asDeclared } from "./skip";
import { isInPlace } from "./position";
import { areOfOneStack, exceptionRef, REF_PREFIX, RESERVED_REF, unfinishedRef } from "./refs";
import { reconcileRule, currentRule } from "./reconcile";
import { definitionOf, type EntryPoint, type ZoneRule } from "./wire";

/** Decides which existing rule a create adopts, and how. */

/** The rule that a create adopts. */
export interface Existing {
  readonly rule: ZoneRule;
  /**
   * Who created the rule:
   * - `others`: someone else.
   * - `own`: this resource, which is now being replaced.
   * - `left`: this resource, in an interrupted update or before it was moved.
   * - `predecessor`: a resource of this stack whose name the program no longer uses, probably this one.
   */
  readonly from: "others" | "own" | "left" | "predecessor";
}

/**
 * Finds the existing rule that a create should adopt. Undefined if it should create a new one. Looks for, in this
 * order:
 * 1. This resource's own rule, or the same one that an earlier run didn't finish creating.
 * 2. A rule that matches the program, has another default ref of this stack, and isn't owned by any resource.
 * 3. The rule with the declared ref, or someone else's that runs the same ruleset for the same requests. With `ifEqual`,
 *    it has to match, because another team's program may have the same default ref.
 *
 * @throws AdoptionError if `adopt` doesn't allow it, or several rules match. Lists the IDs of the rules.
 */
export async function chooseExisting(
  ctx: Context,
  declared: Declared,
  prepared: Prepared,
  found: EntryPoint | undefined,
): Promise<Existing | undefined> {
  const { adopt, ref } = declared;
  const named = findByRef(found, ref);
  const unfinished = findByRef(found, unfinishedRef(ref));
  const running = rulesRunningTheSame(declared, prepared, found);
  if (adopt !== "never") {
    // If this program holds the rule, it's this resource's own, in a replacement.
    if (named !== undefined && ctx.holding(named.id) !== undefined) return { rule: named, from: "own" };
    if (named === undefined && unfinished !== undefined && isStarted(declared, prepared, unfinished))
      return { rule: unfinished, from: "left" };
    const [rule, ...more] = running.filter((each) => isPredecessor(ctx, declared, prepared, found, each));
    if (named === undefined && rule !== undefined && more.length === 0) return { rule, from: "predecessor" };
  }
  const others = running.filter((each) => !each.ref.startsWith(REF_PREFIX) && ctx.isUnclaimed(each.id));
  const rule = await adoptOthers(ctx, declared, prepared, found, named ?? unfinished, others);
  if (rule === undefined) return undefined;
  const isOwn = rule === unfinished || (rule === named && ref.startsWith(REF_PREFIX));
  return { rule, from: isOwn ? "left" : "others" };
}

/** Whether the rule is the declared one before its exceptions exist. Another team's may have the same default ref. */
function isStarted(declared: Declared, prepared: Prepared, rule: ZoneRule): boolean {
  const wanted = { ...desiredRule(declared, prepared, rule), enabled: false, ref: rule.ref };
  return differences(rule, wanted, prepared.sharedTags).length === 0;
}

/** Finds someone else's rule to adopt: the one with the declared ref (`named`), or one that runs the same ruleset. */
async function adoptOthers(
  ctx: Context,
  declared: Declared,
  prepared: Prepared,
  found: EntryPoint | undefined,
  named: ZoneRule | undefined,
  running: readonly ZoneRule[],
): Promise<ZoneRule | undefined> {
  const { adopt } = declared;
  const where = scopeName(scopeOf(declared));
  const conflictWith = (rule: ZoneRule): string =>
    `Rule ${rule.id}${rule.description === "" || ctx.isSecret("description") ? "" : ` (${JSON.stringify(rule.description)})`} in ${where} already ${
      named === undefined
        ? `runs ${JSON.stringify(prepared.managed.name)} for the same requests`
        : `has the ref ${JSON.stringify(rule.ref)}`
    }`;
  const alternative = `use a different ${named === undefined ? "expression" : "ref"}`;
  const differencesOf = (rule: ZoneRule): string[] => [
    ...differences(rule, { ...desiredRule(declared, prepared, rule), ref: rule.ref }, prepared.sharedTags),
    ...(exceptionsInFront({ ...prepared, ref: declared.ref }, found, rule) === undefined
      ? ["exceptions"]
      : []),
  ];
  const alike = named === undefined ? running : [named];
  return await adoptExisting({
    adopt,
    alike,
    equal: () => alike.filter((each) => differencesOf(each).length === 0),
    refusals: {
      several: () =>
        `${alike.length} rules in ${where} already run ${JSON.stringify(prepared.managed.name)} for the same requests: ${alike.map(({ id }) => id).join(", ")}. Delete all but one, or use a different expression. ${RENAME_HINT}`,
      never: (found) =>
        `${found.map(conflictWith).join("; ")}, and adopt: "never" prevents adopting it. ${RENAME_HINT} Otherwise set adopt: "ifEqual" or "takeOver", delete that rule, or ${alternative}.`,
      different: (each) => {
        const seen = found ?? { id: "", version: "", rules: [] };
        const exists = argumentsOf(declared, prepared, seen, { rule: each, from: "others" });
        const changes = changesIn(ctx, declared, exists);
        return `${conflictWith(each)}, but differs in ${changesInWords(changes) || "exceptions"}. ${keepHint(changes)}Set adopt: "takeOver" to change that rule and manage it, or ${alternative}. ${RENAME_HINT}`;
      },
    },
  });
}

/**
 * Whether a rule of this stack matches the declaration except for its ref, and no resource in the program owns it yet.
 * No other resource can declare the same rule, because `ManagedRulesetOverride` rejects identical resources.
 */
function isPredecessor(
  ctx: Context,
  declared: Declared,
  prepared: Prepared,
  found: EntryPoint | undefined,
  rule: ZoneRule,
): boolean {
  if (!areOfOneStack(declared.ref, rule.ref) || ctx.holding(rule.id) !== undefined) return false;
  const { exceptions } = prepared;
  const wanted = { ...desiredRule(declared, prepared), ref: rule.ref };
  return (
    differences(rule, wanted, prepared.sharedTags).length === 0 &&
    ownExceptions(found ?? { rules: [] }, rule).length === exceptions.length &&
    exceptionsInFront({ exceptions, ref: rule.ref }, found, rule) !== undefined
  );
}

/** Returns the exceptions that this stack wrote immediately before a rule, under whatever name its resource had. */
function exceptionsOfStack(found: EntryPoint | undefined, rule: ZoneRule, ref: string): readonly ZoneRule[] {
  const before = found?.rules.slice(0, found.rules.indexOf(rule)) ?? [];
  const isHeld = ({ ref: own }: ZoneRule): boolean =>
    found?.rules.some((each) => each !== rule && own.startsWith(`${each.ref}/exception/`)) === true;
  const isOther = (each: ZoneRule): boolean =>
    !areOfOneStack(ref, each.ref) || !RESERVED_REF.test(each.ref) || each.skips === undefined || isHeld(each);
  return before.slice(before.findLastIndex(isOther) + 1);
}

/** Returns the skip rules immediately before a rule, if they're the declared exceptions in the declared order. */
function exceptionsInFront(
  { exceptions, ref }: Pick<Prepared, "exceptions"> & Pick<Declared, "ref">,
  found: EntryPoint | undefined,
  rule: ZoneRule,
): readonly ZoneRule[] | undefined {
  const at = found?.rules.indexOf(rule) ?? -1;
  const block = found?.rules.slice(Math.max(0, at - exceptions.length), at) ?? [];
  const own = exceptionsOfStack(found, rule, ref);
  const isSame = exceptions.every((exception, index) => {
    const there = block[index];
    const { description } = exception;
    return (
      isSameException(there, exception) &&
      (description === undefined || there.description === description) &&
      (!there.ref.startsWith(REF_PREFIX) || there.ref === exceptionRef(ref, index + 1) || own.includes(there))
    );
  });
  const isWhole = block.length === exceptions.length && own.every((each) => block.includes(each));
  return isSame && isWhole ? block : undefined;
}

/** Records the rule as it was found, so that a destroy can put it back. */
export function snapshotOf(found: EntryPoint, rule: ZoneRule, exceptions: readonly ZoneRule[]): PreviousRule {
  const inFront = exceptions.map(({ id, ref, raw }) => ({
    id,
    rule: { ...definitionOf(raw), ...(ref.startsWith(REF_PREFIX) ? { ref: id } : {}) },
  }));
  return omitAbsent({
    rule: definitionOf(rule.raw),
    next: found.rules[found.rules.indexOf(rule) + 1]?.id,
    exceptions: inFront.length === 0 ? undefined : inFront,
  });
}

/** Describes an adoption for the preview. Empty if a replacement finds the resource's own rule. */
export function adoptionOf(
  ctx: Context,
  declared: Declared,
  prepared: Prepared,
  seen: EntryPoint | undefined,
  existing: Existing,
): Pick<Findings, "adopts"> {
  const { rule, from } = existing;
  if (from === "own" || seen === undefined) return {};
  const { id, ref, description, raw } = rule;
  const found = argumentsOf(declared, prepared, seen, existing);
  const title = description === "" || ctx.isSecret("description") ? "" : ` ${JSON.stringify(description)}`;
  const object = `rule ${id}${title} in ${scopeName(scopeOf(declared))}`;
  const kept = keepHint(changesIn(ctx, declared, found)).trimEnd();
  const more = {
    left: "The rule already has the declared ref: an interrupted update of this resource left it behind, the resource was moved without an alias, or it's being replaced. A replacement with deleteBeforeReplace deletes the rule first.",
    predecessor: `The rule has the ref ${JSON.stringify(ref)}, which no resource of this program uses. It keeps its ID and gets the new ref.`,
    others: kept,
  }[from];
  return {
    adopts: {
      what: `ManagedRulesetOverride ${JSON.stringify(declared.ref)}`,
      object,
      raw,
      found,
      onDestroy: onDestroyText(declared.onDestroy ?? (from === "others" ? "restore" : "remove"), from),
      ...(more === "" ? {} : { more }),
    },
  };
}

function onDestroyText(mode: "restore" | "remove" | "keep", from: Existing["from"]): string {
  if (mode === "keep") return "leaves it as it is";
  return mode === "restore" && from === "others" ? "restores its current settings" : "deletes it";
}

/**
 * Converts the existing rule to arguments. Uses the declared form of every argument that the adoption wouldn't change.
 */
export function argumentsOf(
  declared: Declared,
  prepared: Prepared,
  seen: EntryPoint,
  { rule, from }: Existing,
): JsonObject {
  const { managed, rulesetIds, ruleIds } = prepared;
  const { deploys } = rule;
  const inFront = exceptionsInFront({ ...prepared, ref: declared.ref }, seen, rule);
  const before = seen.rules.slice(0, seen.rules.indexOf(rule));
  const skips = before.slice(before.findLastIndex((each) => each.skips === undefined) + 1);
  const named = [...ownExceptions(seen, rule), ...ownExceptions(seen, declared)];
  // An imported rule's exceptions have other refs until an update writes them.
  const isWhole = skips.length === prepared.exceptions.length;
  const inPlace = skips.filter(
    (each) => isWhole || prepared.exceptions.some((one) => isSameException(each, one)),
  );
  const adopted = from === "others" ? [] : (named.length > 0 ? named : inPlace).map(({ id }) => id);
  const live = { ref: rule.ref, adopted };
  const own = readLiveRule({ ...declared, ruleIds }, factsOf(managed), seen, rule, live);
  const skipped = (declared.exceptions ?? []).map(({ skip }) => skip);
  const front = [...(inFront ?? []), ...ownExceptions(seen, { ref: rule.ref })].map(({ id }) => id);
  const isInDeclaredPlace = isInPlace(declared.position, seen, rule, { front, directly: false });
  const hasVersion =
    sameVersion(deploys?.version, declared.version) || (declared.version === undefined && from !== "others");
  return {
    ...own,
    exceptions:
      inFront !== undefined
        ? declared.exceptions
        : own.exceptions?.map((each, index) => ({
            ...each,
            skip: asDeclared(each.skip, [skipped[index], ...skipped], {
              own: managed.id,
              rulesets: rulesetIds,
              rules: ruleIds,
            }),
          })),
    position: isInDeclaredPlace || own.position !== declared.position ? own.position : undefined,
    ruleset:
      deploys === undefined || deploys.rulesetId === managed.id
        ? declared.ruleset
        : { id: deploys.rulesetId },
    version: hasVersion ? declared.version : (deploys?.version ?? "latest"),
  };
}

function changesIn(ctx: Context, declared: Declared, found: JsonObject): Changes {
  const isSame = (name: string, before: unknown, after: unknown): boolean =>
    (name === "expression" && isSameExpression(before, after)) ||
    (name === "exceptions" && sameExceptions(before, after));
  return changesOf(found, { ...declared }, { isSecret: (name) => ctx.isSecret(name), isSame });
}

/** Returns a hint with the code that makes the program keep the rule's current settings. */
function keepHint(changes: Changes): string {
  const code = asArguments(Object.fromEntries(Object.entries(changes).filter(([name]) => name !== "drift")));
  return code === undefined ? "" : `To keep the rule's current settings, declare: ${code}. `;
}

/** Runs `work`. If it fails, records the rule's outputs, so that the next update continues from there. */
export async function recordOnFailure<T>(id: string, outputs: Computed, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new PartialFailure(id, outputs, error.message);
  }
}

export async function takeOver(
  rules: RuleWriter,
  args: Declared,
  prepared: Prepared,
  existing: Existing,
): Promise<{ id: string; computed: Computed } & Pick<Findings, "adopts">> {
  const { ctx, now: found } = rules;
  const { ref } = args;
  const { rule, from } = existing;
  const isOwn = from !== "others";
  const adoption = adoptionOf(ctx, args, prepared, found, existing);
  const wanted = { ...desiredRule(args, prepared, rule), ref: isOwn ? ref : rule.ref };
  const same = isOwn ? [] : exceptionsInFront({ ...prepared, ref }, found, rule);
  const inFront = same ?? exceptionsOfStack(found, rule, ref);
  const previous = isOwn ? {} : { previous: snapshotOf(found, rule, same ?? []) };
  const outputs = (): Computed => ({
    ...outputsOf(ctx, rules.now, currentRule(rules.now, rule), args, prepared),
    ...previous,
  });
  // Whatever happens next, `previous` has to be recorded.
  await recordOnFailure(rule.id, outputs(), async () => {
    for (const [index, exception] of inFront.entries()) {
      const own = exceptionRef(ref, index + 1);
      if (!exception.ref.startsWith(`${ref}/exception/`))
        await rules.change(exception, { ...definitionOf(exception.raw), ref: own });
    }
    const formerRef = from === "predecessor" ? rule.ref : ref;
    await reconcileRule(rules, args, prepared, { rule, wanted, formerRef, placing: "wrong side" });
  });
  return { id: rule.id, computed: outputs(), ...adoption };
}
