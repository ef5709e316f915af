import { isSameExpression } from "../rules-language/argument";
import { normalizeNotation } from "../rules-language/equivalence";
import { isJsonObject, omit, sameJson, type JsonObject } from "../basics/json";
import type { RuleWriter } from "./entry-point";
import { isForward, type Placement } from "./position";
import { exceptionRef } from "./refs";
import { definitionOf, toSkip, type EntryPoint, type Skip, type ZoneRule } from "./wire";

/** A deployment's exceptions: skip rules immediately before it, in order, each with its own ref. */

/** An exception, with the IDs of the rulesets and rules that it skips. */
export interface Exception {
  readonly expression: string;
  readonly description?: string | undefined;
  readonly skip: Skip;
  readonly logging?: false | undefined;
}

/** What identifies the exceptions of a deployment. */
export interface ExceptionOwner {
  /** The deployment's ref. */
  readonly ref: string;
  /** IDs of skip rules that were adopted as exceptions, in order. Each keeps its own ref until it's written. */
  readonly adopted?: readonly string[];
}

export interface Deployment extends ExceptionOwner {
  /** The ID of the deployment's execute rule. */
  readonly ruleId: string;
}

/**
 * Returns which of the deployment's exceptions the rule is, counting from 1. Undefined if it isn't one. Only a skip rule
 * can be one, whatever its ref.
 */
function exceptionNumber(rule: ZoneRule, { ref, adopted = [] }: ExceptionOwner): number | undefined {
  if (rule.skips === undefined) return undefined;
  const prefix = `${ref}/exception/`;
  const number = rule.ref.startsWith(prefix) ? rule.ref.slice(prefix.length) : "";
  if (/^[1-9]\d*$/.test(number)) return Number(number);
  const at = adopted.indexOf(rule.id);
  return at === -1 ? undefined : at + 1;
}

/** Returns the deployment's exceptions, wherever they are in the list, in the order in which they run. */
export function ownExceptions({ rules }: Pick<EntryPoint, "rules">, of: ExceptionOwner): ZoneRule[] {
  return rules.filter((rule) => exceptionNumber(rule, of) !== undefined);
}

/** Whether a rule matches this exception, ignoring the description. */
export function isSameException(
  rule: ZoneRule | undefined,
  { expression, skip, logging }: Exception,
): rule is ZoneRule {
  if (rule?.skips === undefined || rule.logging !== logging) return false;
  return rule.enabled && isSameExpression(rule.expression, expression) && sameJson(rule.skips, skip);
}

/**
 * Whether two lists of exceptions, from the state or the program, are the same except for the notation of their
 * expressions.
 */
export function sameExceptions(before: unknown, after: unknown): boolean {
  const normalized = (list: unknown): unknown =>
    Array.isArray(list)
      ? list.map((each: unknown) =>
          isJsonObject(each) ? { ...each, expression: normalized(each["expression"]) } : each,
        )
      : typeof list === "string"
        ? normalizeNotation(list)
        : list;
  return sameJson(normalized(before), normalized(after));
}

function toRequest(
  { expression, description, skip, logging }: Exception,
  ref: string,
  held?: ZoneRule,
): JsonObject {
  return {
    // Everything else is kept.
    ...omit(held === undefined ? {} : definitionOf(held.raw), ["description", "action_parameters"]),
    action: "skip",
    action_parameters: toSkip(skip),
    expression,
    enabled: true,
    ref,
    ...(description === undefined ? {} : { description }),
    ...(logging === held?.logging ? {} : { logging: { enabled: logging !== false } }),
  };
}

/**
 * An exception as it exists in the zone. Also has what no argument can express, so that it shows up as a difference.
 */
export interface LiveException {
  readonly expression: string;
  readonly description?: string;
  readonly skip: Skip | undefined;
  readonly logging?: false;
  readonly enabled?: false;
}

/**
 * Returns the exceptions before the rule, in the order in which they run. An exception after the rule has no effect and
 * is left out.
 */
export function readExceptions(
  found: EntryPoint,
  own: ZoneRule,
  of: ExceptionOwner,
): { readonly exceptions: readonly LiveException[]; readonly hasGap: boolean } {
  const at = found.rules.indexOf(own);
  const effective = ownExceptions({ rules: found.rules.slice(0, at) }, of);
  const block = found.rules.slice(at - effective.length, at);
  return {
    exceptions: effective.map((rule) => ({
      expression: rule.expression,
      ...(rule.description === "" ? {} : { description: rule.description }),
      skip: rule.skips,
      ...(rule.logging === undefined ? {} : { logging: rule.logging }),
      ...(rule.enabled ? {} : { enabled: false }),
    })),
    hasGap: !effective.every((rule) => block.includes(rule)),
  };
}

/**
 * Writes the exceptions as declared, immediately before their rule. The writes are ordered so that requests that are
 * exempt both before and after the update also stay exempt in between.
 *
 * @param formerRef the deployment's previous ref, if it changed.
 */
export async function syncExceptions(
  rules: RuleWriter,
  deployment: Deployment,
  wanted: readonly Exception[],
  formerRef: string,
): Promise<void> {
  const { ruleId, ref } = deployment;
  // 1. By number: the same index in the list is the same rule.
  const byNumber = new Map<number, ZoneRule>();
  for (const of of [{ ...deployment, ref: formerRef }, deployment])
    for (const rule of ownExceptions(rules.now, of)) byNumber.set(exceptionNumber(rule, of) ?? 0, rule);
  const surplus = [...byNumber].filter(([number]) => number > wanted.length);
  const numbered = wanted.map((exception, index) => [index + 1, exception] as const);
  const grows = numbered.some(([number]) => !byNumber.has(number));
  // 2. A growing list is written from the end, a shrinking one from the start: each exception is written to its new
  // rule before its old one is overwritten.
  for (const [number, exception] of grows ? numbered.reverse() : numbered) {
    const known = byNumber.get(number);
    const name = exceptionRef(ref, number);
    if (known === undefined) {
      const next = [...byNumber].filter(([n]) => n > number).sort(([a], [b]) => a - b)[0];
      const position = { before: next?.[1].id ?? ruleId };
      byNumber.set(number, await rules.add(name, { ...toRequest(exception, name), position }));
      continue;
    }
    const isSame = isSameException(known, exception) && known.description === (exception.description ?? "");
    if (known.ref !== name || !isSame) await rules.change(known, toRequest(exception, name, known));
  }
  for (const [, rule] of surplus) await rules.remove(rule);
  await closeGaps(rules, deployment);
}

/** Moves every exception that isn't where it belongs, starting with the last. */
export async function closeGaps(rules: RuleWriter, deployment: Deployment): Promise<void> {
  const number = (rule: ZoneRule): number => exceptionNumber(rule, deployment) ?? 0;
  const lastFirst = ownExceptions(rules.now, deployment).sort((a, b) => number(b) - number(a));
  let next = deployment.ruleId;
  for (const { id } of lastFirst) {
    const at = rules.now.rules.findIndex((rule) => rule.id === id);
    if (rules.now.rules[at + 1]?.id !== next) await move(rules, id, { before: next });
    next = id;
  }
}

/**
 * Moves the exceptions first if their rule moves forward, so that the rule is never without them. If the rule moves
 * back, it's moved first, and `closeGaps` moves the exceptions later. Returns the rule's own placement.
 */
export async function moveExceptionsFirst(
  rules: RuleWriter,
  deployment: Deployment,
  placement: Placement | undefined,
): Promise<Placement | undefined> {
  const { now } = rules;
  const rule = now.rules.find(({ id }) => id === deployment.ruleId);
  if (placement === undefined || rule === undefined || !isForward(placement, now, rule)) return placement;
  let next = placement;
  for (const { id } of ownExceptions(now, deployment)) {
    await move(rules, id, next);
    next = { after: id };
  }
  return next;
}

async function move(rules: RuleWriter, id: string, position: Placement): Promise<void> {
  const rule = rules.now.rules.find((each) => each.id === id);
  if (rule !== undefined) await rules.change(rule, { ...definitionOf(rule.raw), position });
}

/** Deletes the exceptions of a deployment. @param kept the IDs of those that stay. */
export async function removeExceptions(
  rules: RuleWriter,
  of: ExceptionOwner,
  kept: readonly string[],
): Promise<void> {
  for (const rule of ownExceptions(rules.now, of)) if (!kept.includes(rule.id)) await rules.remove(rule);
}
