import { isSameExpression } from "../rules-language/argument";
import { canonicalExpression } from "../rules-language/equivalence";
import { withTimestamp, type Adoption } from "../runtime/adopted";
import {
  adopt as adoptExisting,
  AdoptionError,
  RENAME_HINT,
  sharedIdHint,
  isUnclaimed,
} from "../runtime/adoption";
import { asArguments, changesInWords, changesOf, type Changes } from "../runtime/changes";
import { PartialFailure, type Context } from "../runtime/lifecycle";
import { omitAbsent } from "../runtime/members";
import type { JsonObject } from "../runtime/values";
import {
  differences,
  outputsOf,
  REF_PREFIX,
  sameVersion,
  wantedOf,
  type Computed,
  type Declared,
  type Prepared,
  type Previous,
} from "./deployment";
import { byRef, type RuleWriter } from "./entry-point";
import { exceptionRef, isSameSkip, ownExceptions, sameExceptions } from "./exceptions";
import { foundRule, knownRuleset } from "./found";
import { inDeclaredWords } from "./skip";
import { isInPlace } from "./position";
import { reconcileRule, stillThere } from "./reconcile";
import { definitionOf, type EntryPoint, type ZoneRule } from "./wire";

/** A create that goes on from a rule which exists: which one, and how it is taken over. */

/** The rule that a create goes on from. */
export interface Existing {
  readonly rule: ZoneRule;
  /**
   * Whose it is: somebody else's; this resource's own, in a replacement; what an interrupted update of this resource, or
   * the same resource before a move, `left`; or its `predecessor`'s, a resource of this stack with another name.
   */
  readonly from: "others" | "own" | "left" | "predecessor";
}

/**
 * The rule that a create takes over; undefined when it is to make a new one. A rule with this ref is what an earlier run
 * left, if it is a ref that only this package gives; one that equals the declaration under another ref of this stack is
 * its predecessor's, unless a resource of the program holds it. Else a rule with this ref, or one that executes the same ruleset for
 * the same requests and would run it twice, is somebody's: it is taken over or refused.
 *
 * @throws AdoptionError naming the ids.
 */
export async function chooseExisting(
  ctx: Context,
  declared: Declared,
  prepared: Prepared,
  found: EntryPoint | undefined,
): Promise<Existing | undefined> {
  const { zoneId, adopt = "ifEqual", ref } = declared;
  const named = byRef(found, ref);
  const hasRef = `Zone ${zoneId} has a rule with the ref ${JSON.stringify(ref)} already`;
  // What this program declares under the ref, too, can only be this resource's own, in a replacement.
  if (named !== undefined && (ref.startsWith(REF_PREFIX) || ctx.holding(named.id) !== undefined)) {
    if (adopt !== "never") return { rule: named, from: ctx.holding(named.id) === undefined ? "left" : "own" };
    throw new AdoptionError(
      `${hasRef} (${named.id}), and adopt: "never" prevents adopting it. ${RENAME_HINT} Otherwise set adopt: "ifEqual", delete it, or declare another ref.`,
    );
  }
  const running = runningToo(declared, prepared, found);
  if (named === undefined && adopt !== "never") {
    const [rule, ...more] = running.filter((each) => isPredecessor(ctx, declared, prepared, found, each));
    if (rule !== undefined && more.length === 0) return { rule, from: "predecessor" };
  }
  const others = running.filter((each) => !each.ref.startsWith(REF_PREFIX) && isUnclaimed(ctx, each.id));
  const rule = await adoptOthers(ctx, declared, prepared, found, named, others);
  return rule === undefined ? undefined : { rule, from: "others" };
}

/** Somebody else's rule: the one with the declared ref, or those that execute the same ruleset for the same requests. */
async function adoptOthers(
  ctx: Context,
  declared: Declared,
  prepared: Prepared,
  found: EntryPoint | undefined,
  named: ZoneRule | undefined,
  running: readonly ZoneRule[],
): Promise<ZoneRule | undefined> {
  const { zoneId, adopt, ref } = declared;
  const twice = `Zone ${zoneId} executes ${JSON.stringify(prepared.managed.name)} for the same requests already`;
  const already =
    named === undefined
      ? `${twice}, by`
      : `Zone ${zoneId} has a rule with the ref ${JSON.stringify(ref)} already,`;
  const which = ({ id, description }: ZoneRule): string =>
    `${already} rule ${id}${description === "" ? "" : ` (${JSON.stringify(description)})`}`;
  const another = `declare another ${named === undefined ? "expression" : "ref"}`;
  const differencesOf = (rule: ZoneRule): string[] => [
    ...differences(rule, { ...wantedOf(declared, prepared, rule), ref: rule.ref }, prepared.sharedTags),
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
        `${twice}, by ${alike.length} rules: ${alike.map(({ id }) => id).join(", ")}. Delete all but one, or declare another expression. ${RENAME_HINT}`,
      never: (found) =>
        `${found.map(which).join("; ")}, and adopt: "never" prevents adopting it. ${RENAME_HINT} Otherwise set adopt: "ifEqual" or "takeOver", delete that rule, or ${another}.`,
      different: (each) => {
        const seen = found ?? { id: "", version: "", rules: [] };
        const exists = argumentsOf(declared, prepared, seen, { rule: each, from: "others" });
        const changes = changesIn(ctx, declared, exists);
        return (
          `${which(each)}, which differs in ${changesInWords(changes)}. ${toKeep(changes)}` +
          `Set adopt: "takeOver" to change that rule and manage it, or ${another}. ${RENAME_HINT}`
        );
      },
    },
  });
}

/** What the default refs of one stack begin with; undefined for any other ref. */
function stackOf(ref: string): string | undefined {
  return /^edgeguard\/[^/]+\/[^/]+\//.exec(ref)?.[0];
}

/**
 * Whether a rule of this stack is held by no resource of the program so far, and as declared in all but its ref. Two
 * resources of one program never declare the same rule: the class refuses that.
 */
function isPredecessor(
  ctx: Context,
  declared: Declared,
  prepared: Prepared,
  found: EntryPoint | undefined,
  rule: ZoneRule,
): boolean {
  const stack = stackOf(declared.ref);
  if (stack === undefined || stackOf(rule.ref) !== stack || ctx.holding(rule.id) !== undefined) return false;
  const { exceptions } = prepared;
  const wanted = { ...wantedOf(declared, prepared), ref: rule.ref };
  return (
    differences(rule, wanted, prepared.sharedTags).length === 0 &&
    ownExceptions(found ?? { rules: [] }, rule).length === exceptions.length &&
    exceptionsInFront({ exceptions, ref: rule.ref }, found, rule) !== undefined
  );
}

/** Rules that execute this ruleset for these requests: what another one would run twice. */
function runningToo(
  { expression }: Declared,
  { managed }: Prepared,
  found: EntryPoint | undefined,
): ZoneRule[] {
  const meaning = (text: string): string => canonicalExpression(text) ?? text;
  const wanted = meaning(expression);
  return (found?.rules ?? []).filter(
    (rule) => rule.deploys?.rulesetId === managed.id && meaning(rule.expression) === wanted,
  );
}

/** Rules of another program of this package that run the same ruleset for the same requests. */
export function twins(declared: Declared, prepared: Prepared, found: EntryPoint | undefined): ZoneRule[] {
  return runningToo(declared, prepared, found).filter(
    ({ ref }) => ref.startsWith(REF_PREFIX) && ref !== declared.ref,
  );
}

/** Skip rules directly in front of a rule that are what is declared, in that order; undefined where they are not. */
function exceptionsInFront(
  { exceptions, ref }: Pick<Prepared, "exceptions"> & Pick<Declared, "ref">,
  found: EntryPoint | undefined,
  rule: ZoneRule,
): readonly ZoneRule[] | undefined {
  const at = found?.rules.indexOf(rule) ?? -1;
  const block = found?.rules.slice(Math.max(0, at - exceptions.length), at) ?? [];
  const isSame = exceptions.every((exception, index) => {
    const there = block[index];
    const { description } = exception;
    return (
      isSameSkip(there, exception) &&
      (description === undefined || there.description === description) &&
      (!there.ref.startsWith(REF_PREFIX) || there.ref === exceptionRef(ref, index + 1))
    );
  });
  return isSame && block.length === exceptions.length ? block : undefined;
}

/** How a rule is found, for a destroy that puts it back. */
export function asFound(found: EntryPoint, rule: ZoneRule, exceptions: readonly ZoneRule[]): Previous {
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

/** How the rule that a create goes on from is adopted; nothing of the resource's own, in a replacement. */
export function adoptionOf(
  ctx: Context,
  declared: Declared,
  prepared: Prepared,
  seen: EntryPoint | undefined,
  existing: Existing,
): { readonly adopts?: Adoption } {
  const { rule, from } = existing;
  if (from === "own" || seen === undefined) return {};
  const { id, ref, description, raw } = rule;
  const found = argumentsOf(declared, prepared, seen, existing);
  const title = description === "" ? "" : ` ${JSON.stringify(description)}`;
  const object = withTimestamp(`rule ${id}${title} of zone ${declared.zoneId}`, raw);
  const kept = toKeep(changesIn(ctx, declared, found)).trimEnd();
  const more = {
    left: "The rule already has this ref: an interrupted update of this resource left it, or the resource was moved without an alias.",
    predecessor: `The rule has the ref ${JSON.stringify(ref)}, which no resource of this program holds. It keeps its ID and gets the new ref.`,
    others: kept,
  }[from];
  return {
    adopts: {
      what: `ManagedRulesetOverride ${JSON.stringify(declared.ref)}`,
      object,
      found,
      onDestroy: destroyed(declared.onDestroy ?? (from === "others" ? "restore" : "remove"), from),
      ...(more === "" ? {} : { more }),
      ...(from === "others" && ctx.holding(id) === undefined ? { afterwards: sharedIdHint(id) } : {}),
    },
  };
}

function destroyed(mode: "restore" | "remove" | "keep", from: Existing["from"]): string {
  if (mode === "keep") return "leaves it as it is then";
  return mode === "restore" && from === "others" ? "puts it back as it is now" : "deletes it";
}

/** The rule in arguments, where taking it over changes them. */
function argumentsOf(
  declared: Declared,
  prepared: Prepared,
  seen: EntryPoint,
  { rule, from }: Existing,
): JsonObject {
  const { managed, rulesetIds } = prepared;
  const { deploys } = rule;
  const own = foundRule(declared, knownRuleset(managed), seen, rule, { ref: rule.ref });
  const inFront = exceptionsInFront({ ...prepared, ref: declared.ref }, seen, rule);
  const exceptions = inFront === undefined ? undefined : declared.exceptions;
  const skipped = (declared.exceptions ?? []).map(({ skip }) => skip);
  const front = [...(inFront ?? []), ...ownExceptions(seen, { ref: rule.ref })].map(({ id }) => id);
  const isThere = isInPlace(declared.position, seen, rule, { front, directly: false });
  const hasVersion = sameVersion(deploys?.version, declared.version);
  return {
    ...own,
    exceptions:
      from === "others"
        ? exceptions
        : own.exceptions?.map((each) => ({
            ...each,
            skip: inDeclaredWords(each.skip, skipped, managed.id, rulesetIds),
          })),
    position: isThere || own.position !== declared.position ? own.position : undefined,
    ruleset:
      deploys === undefined || deploys.rulesetId === managed.id
        ? declared.ruleset
        : { id: deploys.rulesetId },
    version: declared.version === undefined || hasVersion ? declared.version : (deploys?.version ?? "latest"),
  };
}

function changesIn(ctx: Context, declared: Declared, found: JsonObject): Changes {
  const isSame = (name: string, before: unknown, after: unknown): boolean =>
    (name === "expression" && isSameExpression(before, after)) ||
    (name === "exceptions" && sameExceptions(before, after));
  return changesOf(found, { ...declared }, { isSecret: (name) => ctx.isSecret(name), isSame });
}

/** What the program lacks of the rule, as code to paste. */
function toKeep(changes: Changes): string {
  const code = asArguments(Object.fromEntries(Object.entries(changes).filter(([name]) => name !== "drift")));
  return code === undefined ? "" : `To keep what the rule has, declare: ${code}. `;
}

/** From the first write on, what went wrong is recorded with the rule, so that the next `up` goes on from there. */
export async function recordingHalf<T>(id: string, half: Computed, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new PartialFailure(id, half, error.message);
  }
}

export async function takeOver(
  rules: RuleWriter,
  args: Declared,
  prepared: Prepared,
  existing: Existing,
): Promise<{ id: string; computed: Computed; adopts?: Adoption }> {
  const { ctx, now: found } = rules;
  const { ref } = args;
  const { rule, from } = existing;
  const isOwn = from !== "others";
  const adoption = adoptionOf(ctx, args, prepared, found, existing);
  const wanted = { ...wantedOf(args, prepared, rule), ref: isOwn ? ref : rule.ref };
  const inFront = isOwn ? [] : (exceptionsInFront({ ...prepared, ref }, found, rule) ?? []);
  const previous = isOwn ? {} : { previous: asFound(found, rule, inFront) };
  const outputs = (): Computed => ({
    ...outputsOf(rules.now, stillThere(rules.now, rule), prepared),
    ...previous,
  });
  // How the rule was found must not get lost, whatever happens next.
  await recordingHalf(rule.id, outputs(), async () => {
    for (const [index, exception] of inFront.entries()) {
      const own = exceptionRef(ref, index + 1);
      if (own !== exception.ref) await rules.change(exception, { ...definitionOf(exception.raw), ref: own });
    }
    const formerRef = from === "predecessor" ? rule.ref : ref;
    await reconcileRule(rules, args, prepared, { rule, wanted, formerRef, placing: "wrong side" });
  });
  return { id: rule.id, computed: outputs(), ...adoption };
}
