import { z } from "zod";
import { adopt as adoptExisting, AdoptionError, isFree } from "../runtime/adoption";
import type { Context } from "../runtime/lifecycle";
import { isBag, omit, sameJson, type Bag } from "../runtime/values";
import type { DeclaredOverrides, Exception, Exceptions } from "./declared";
import { byRef } from "./entry-point";
import { exceptionRef, ownExceptions } from "./exceptions";
import { judge } from "./judge";
import { findManagedRuleset, UnknownRulesetError, type RulesetChoice } from "./managed";
import { levelsOff, scoreRuleOf } from "./owasp";
import { compileOverrides, sameOverrides, sharedTagsOf, type SharedTags } from "./overrides";
import {
  definitionOf,
  toOverrides,
  type EntryPoint,
  type ManagedRuleset,
  type Overrides,
  type ZoneRule,
} from "./wire";
import type { Adopt } from "../runtime/fields";

/** One rule that executes a managed ruleset: what is meant, whether it is so already, and which rule to take over. */

/** Refs of rules that this package made. */
export const REF_PREFIX = "edgeguard/";

export interface Declared extends DeclaredOverrides {
  readonly zoneId: string;
  readonly accountId: string;
  readonly ruleset: RulesetChoice;
  readonly version?: string | undefined;
  readonly expression: string;
  readonly description?: string | undefined;
  readonly enabled: boolean;
  readonly ref: string;
  readonly exceptions?: Exceptions | undefined;
  readonly adopt?: Adopt | undefined;
}

/** A declaration held against the live ruleset. */
export interface Prepared {
  readonly managed: ManagedRuleset;
  readonly overrides: Overrides;
  readonly sharedTags: SharedTags;
}

export async function prepare(ctx: Context, declared: Declared): Promise<Prepared> {
  const { accountId, ruleset, version } = declared;
  const managed = await findManagedRuleset(ctx, accountId, ruleset, version);
  return {
    managed,
    overrides: compileOverrides(declared, scoreRuleOf(managed)),
    sharedTags: sharedTagsOf(managed, tagsOf(declared)),
  };
}

/**
 * The same before a write.
 *
 * @throws Error with the first sentence that the preview would have shown.
 */
export async function prepareStrictly(ctx: Context, declared: Declared): Promise<Prepared> {
  let problem;
  try {
    const prepared = await prepare(ctx, declared);
    [problem] = judge(declared, prepared.managed);
    if (problem === undefined) return prepared;
  } catch (error) {
    if (!(error instanceof UnknownRulesetError)) throw error;
    problem = error;
  }
  throw new Error(
    `Managed ruleset ${JSON.stringify(declared.ref)}: ${problem.property}: ${problem.reason}. Nothing was written.`,
  );
}

/** Tags whose order may matter. */
export function tagsOf({ categories = [], owasp }: DeclaredOverrides): string[] {
  return [...categories, ...(owasp === undefined ? [] : levelsOff(owasp))].map(({ tag }) => tag);
}

/** The rule as it is to be. */
export interface Wanted {
  readonly rulesetId: string;
  readonly version: string | undefined;
  readonly overrides: Overrides;
  readonly expression: string;
  readonly description: string | undefined;
  readonly enabled: boolean;
  readonly ref: string;
}

/**
 * The full definition, as a change replaces all of it (facts 5.2): the seed's four members, description and ref, and
 * what else the rule held.
 */
export function toRequest(wanted: Wanted, held?: ZoneRule): Bag {
  const definition = held?.deploys === undefined ? {} : definitionOf(held.raw);
  const parameters = isBag(definition["action_parameters"]) ? definition["action_parameters"] : {};
  const overrides = toOverrides(wanted.overrides);
  return {
    ...omit(definition, ["description"]),
    action: "execute",
    action_parameters: {
      ...omit(parameters, ["version", "overrides"]),
      id: wanted.rulesetId,
      ...(wanted.version === undefined ? {} : { version: wanted.version }),
      ...(overrides === undefined ? {} : { overrides }),
    },
    expression: wanted.expression,
    enabled: wanted.enabled,
    ref: wanted.ref,
    ...(wanted.description === undefined ? {} : { description: wanted.description }),
  };
}

/** In what a rule differs from what is wanted, by the names of the arguments. */
export function differences(rule: ZoneRule, wanted: Wanted, shared: SharedTags): string[] {
  const { deploys } = rule;
  const same = {
    ruleset: deploys?.rulesetId === wanted.rulesetId,
    version: sameVersion(deploys?.version, wanted.version),
    overrides: deploys !== undefined && sameOverrides(deploys.overrides, wanted.overrides, shared),
    expression: rule.expression === wanted.expression,
    description: rule.description === (wanted.description ?? ""),
    enabled: rule.enabled === wanted.enabled,
    ref: rule.ref === wanted.ref,
  };
  return Object.entries(same).flatMap(([name, isSame]) => (isSame ? [] : [name]));
}

/** The service fills in the latest version where none is named. */
export function sameVersion(a: string | undefined, b: string | undefined): boolean {
  return (a ?? "latest") === (b ?? "latest");
}

export function findOwn(
  found: EntryPoint | undefined,
  { ruleId, ruleRef }: { readonly ruleId: string; readonly ruleRef: string },
): ZoneRule | undefined {
  return found?.rules.find((rule) => rule.id === ruleId) ?? byRef(found, ruleRef);
}

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
  { managed, overrides, sharedTags }: Prepared,
  found: EntryPoint | undefined,
): Promise<Existing | undefined> {
  const { zoneId, adopt = "ifEqual", ref } = declared;
  const named = byRef(found, ref);
  const hasRef = `Zone ${zoneId} has a rule with the ref ${JSON.stringify(ref)} already`;
  // What this program declares under the ref, too, can only be this resource's own, in a replacement.
  if (named !== undefined && (ref.startsWith(REF_PREFIX) || ctx.holding(named.id) !== undefined)) {
    if (adopt !== "never") return { rule: named, from: ctx.holding(named.id) === undefined ? "left" : "own" };
    throw new AdoptionError(
      `${hasRef} (${named.id}), and adopt: "never" forbids to take it over. Set adopt: "ifEqual", delete it, or declare another ref. ` +
        "If the resource was only renamed or moved, add an alias.",
    );
  }
  if (named === undefined && adopt !== "never") {
    const [rule, ...more] = ofPredecessor(ctx, declared, { managed, overrides, sharedTags }, found);
    if (rule !== undefined && more.length === 0) return { rule, from: "predecessor" };
  }
  const twice = `Zone ${zoneId} executes ${JSON.stringify(managed.name)} for the same requests already`;
  const other = named === undefined ? "expression" : "ref";
  const which = ({ id, description }: ZoneRule): string =>
    `${named === undefined ? `${twice}, by` : `${hasRef},`} rule ${id}${description === "" ? "" : ` (${JSON.stringify(description)})`}`;
  const differencesOf = (rule: ZoneRule): string[] => [
    ...differences(rule, { ...wantedOf(declared, managed.id, overrides, rule), ref: rule.ref }, sharedTags),
    ...(exceptionsInFront(declared, found, rule) === undefined ? ["exceptions"] : []),
  ];
  const candidates = named === undefined ? alike(declared, managed, found, ctx) : [named];
  const rule = await adoptExisting({
    adopt,
    alike: candidates,
    equal: () => candidates.filter((each) => differencesOf(each).length === 0),
    refusals: {
      several: () =>
        `${twice}, by ${candidates.length} rules: ${candidates.map(({ id }) => id).join(", ")}. Delete all but one, or declare another expression.`,
      never: (each) =>
        `${which(each)}, and adopt: "never" forbids to take it over. Set adopt: "ifEqual" or "takeOver", delete that rule, or declare another ${other}.`,
      different: (each) =>
        `${which(each)}, which differs in ${differencesOf(each).join(", ")}. Set adopt: "takeOver" to change that rule and manage it, or declare another ${other}.`,
    },
  });
  return rule === undefined ? undefined : { rule, from: "others" };
}

/** What the default refs of one stack begin with; undefined for any other ref. */
function stackOf(ref: string): string | undefined {
  return /^edgeguard\/[^/]+\/[^/]+\//.exec(ref)?.[0];
}

/**
 * Rules of this stack, held by no resource of the program so far, that are as declared in all but their ref. Two resources
 * of one program never declare the same rule: the class refuses that.
 */
function ofPredecessor(
  ctx: Context,
  declared: Declared,
  { managed, overrides, sharedTags }: Prepared,
  found: EntryPoint | undefined,
): ZoneRule[] {
  const stack = stackOf(declared.ref);
  if (stack === undefined) return [];
  return runsToo(found, managed, declared.expression).filter((rule) => {
    if (stackOf(rule.ref) !== stack || ctx.holding(rule.id) !== undefined) return false;
    const wanted = { ...wantedOf(declared, managed.id, overrides), ref: rule.ref };
    const { exceptions } = declared;
    return (
      differences(rule, wanted, sharedTags).length === 0 &&
      found !== undefined &&
      ownExceptions(found, rule).length === (exceptions ?? []).length &&
      exceptionsInFront({ exceptions, ref: rule.ref }, found, rule) !== undefined
    );
  });
}

/** Rules of others that execute this ruleset for these requests. */
function alike(
  { expression }: Declared,
  managed: ManagedRuleset,
  found: EntryPoint | undefined,
  ctx: Context,
): ZoneRule[] {
  return runsToo(found, managed, expression).filter(
    ({ id, ref }) => !ref.startsWith(REF_PREFIX) && isFree(ctx, id),
  );
}

function runsToo(found: EntryPoint | undefined, managed: ManagedRuleset, expression: string): ZoneRule[] {
  return (found?.rules ?? []).filter(
    (rule) => rule.deploys?.rulesetId === managed.id && rule.expression === expression,
  );
}

/** Rules of another program of this package that run the same ruleset for the same requests. */
export function twins(
  { expression, ref }: Declared,
  managed: ManagedRuleset,
  found: EntryPoint | undefined,
): readonly ZoneRule[] {
  return runsToo(found, managed, expression).filter(
    (rule) => rule.ref.startsWith(REF_PREFIX) && rule.ref !== ref,
  );
}

/** What is wanted of a rule that is taken over: members that are not declared stay as they are. */
export function wantedOf(
  { expression, enabled, description, version, ref }: Declared,
  rulesetId: string,
  overrides: Overrides,
  held?: ZoneRule,
): Wanted {
  return {
    rulesetId,
    version: version ?? held?.deploys?.version,
    overrides,
    expression,
    description: description ?? (held?.description === "" ? undefined : held?.description),
    enabled,
    ref,
  };
}

/** Skip rules directly in front of a rule that are what is declared, in that order; undefined where they are not. */
export function exceptionsInFront(
  { exceptions, ref }: Pick<Declared, "exceptions" | "ref">,
  found: EntryPoint | undefined,
  rule: ZoneRule,
): readonly ZoneRule[] | undefined {
  const wanted: readonly Exception[] = exceptions ?? [];
  const at = found?.rules.indexOf(rule) ?? -1;
  const block = found?.rules.slice(Math.max(0, at - wanted.length), at) ?? [];
  const isSame =
    block.length === wanted.length &&
    wanted.every(({ expression, description, skip }, index) => {
      const there = block[index];
      return (
        there?.skips !== undefined &&
        there.enabled &&
        (!there.ref.startsWith(REF_PREFIX) || there.ref === exceptionRef(ref, index + 1)) &&
        there.expression === expression &&
        (description === undefined || there.description === description) &&
        sameJson(there.skips, skip)
      );
    });
  return isSame ? block : undefined;
}

const definition = z.record(z.string(), z.unknown());

export const adopted = z.object({
  rule: definition,
  next: z.string().exactOptional(),
  exceptions: z.array(z.object({ id: z.string(), rule: definition })).exactOptional(),
});

/**
 * A rule that was taken over, as it was found: `rule` in the API's own form, `next` the id of the rule behind it (absent
 * where it was the last), `exceptions` the skip rules in front of it that were taken over with it.
 */
export type Adopted = z.infer<typeof adopted>;

export function asFound(found: EntryPoint, rule: ZoneRule, exceptions: readonly ZoneRule[]): Adopted {
  const next = found.rules[found.rules.indexOf(rule) + 1];
  return {
    rule: definitionOf(rule.raw),
    ...(next === undefined ? {} : { next: next.id }),
    ...(exceptions.length === 0
      ? {}
      : {
          exceptions: exceptions.map(({ id, ref, raw }) => ({
            id,
            rule: { ...definitionOf(raw), ...(ref.startsWith(REF_PREFIX) ? { ref: id } : {}) },
          })),
        }),
  };
}

/** A skip rule under the ref of an exception. */
export function claimed(rule: ZoneRule, ref: string, index: number): Bag {
  return { ...definitionOf(rule.raw), ref: exceptionRef(ref, index + 1) };
}
