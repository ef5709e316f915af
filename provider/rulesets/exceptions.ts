import { isSameExpression } from "../rules-language/argument";
import { normalizeNotation } from "../rules-language/equivalence";
import { isJsonObject, omit, sameJson, type JsonObject } from "../runtime/values";
import type { RuleWriter } from "./entry-point";
import { isForward, type Placement } from "./position";
import { definitionOf, toSkip, type EntryPoint, type Skip, type ZoneRule } from "./wire";

/** Exceptions: skip rules in front of a deployment, in order, each with a ref of its own. */

/** As Cloudflare takes it: what is skipped, by ID. */
export interface Exception {
  readonly expression: string;
  readonly description?: string | undefined;
  readonly skip: Skip;
}

export const exceptionRef = (ref: string, number: number): string => `${ref}/exception/${number}`;

/** By what the exceptions of a deployment are known. */
export interface ExceptionsOf {
  /** Of the deployment. */
  readonly ref: string;
  /** Ids of rules that were taken over as its exceptions, in order: they keep their own ref until they are written. */
  readonly adopted?: readonly string[];
}

export interface Deployment extends ExceptionsOf {
  /** Id of the rule that the exceptions belong to. */
  readonly ruleId: string;
}

/** The number of an exception of the deployment; undefined for every other rule. */
function numberOf(rule: ZoneRule, { ref, adopted = [] }: ExceptionsOf): number | undefined {
  const prefix = `${ref}/exception/`;
  const number = rule.ref.startsWith(prefix) ? rule.ref.slice(prefix.length) : "";
  if (/^[1-9]\d*$/.test(number)) return Number(number);
  const at = adopted.indexOf(rule.id);
  return at === -1 ? undefined : at + 1;
}

/** Its exceptions, wherever they stand, in the order in which they run. */
export function ownExceptions({ rules }: Pick<EntryPoint, "rules">, of: ExceptionsOf): ZoneRule[] {
  return rules.filter((rule) => numberOf(rule, of) !== undefined);
}

/** Whether a rule is this exception, but for its description. */
export function isSameSkip(rule: ZoneRule | undefined, { expression, skip }: Exception): rule is ZoneRule {
  if (rule?.skips === undefined) return false;
  return rule.enabled && isSameExpression(rule.expression, expression) && sameJson(rule.skips, skip);
}

/** Whether two lists, as they come from a state or a program, are the same but for the notation of their expressions. */
export function sameExceptions(before: unknown, after: unknown): boolean {
  const worded = (list: unknown): unknown =>
    Array.isArray(list)
      ? list.map((each: unknown) =>
          isJsonObject(each) ? { ...each, expression: worded(each["expression"]) } : each,
        )
      : typeof list === "string"
        ? normalizeNotation(list)
        : list;
  return sameJson(worded(before), worded(after));
}

function toRequest(
  { expression, description, skip }: Exception,
  ref: string,
  held: JsonObject = {},
): JsonObject {
  return {
    ...omit(held, ["description", "action_parameters"]), // The rest stays, such as `logging`, which Cloudflare fills in.
    action: "skip",
    action_parameters: toSkip(skip),
    expression,
    enabled: true,
    ref,
    ...(description === undefined ? {} : { description }),
  };
}

/** An exception as it is found: what no argument says is added, so that it shows as a difference. */
export interface FoundException {
  readonly expression: string;
  readonly description?: string;
  readonly skip: Skip | undefined;
  readonly enabled?: false;
}

/**
 * The exceptions that work: those in front of the rule, in the order in which they run. One behind it has no effect, and
 * is left out.
 */
export function readExceptions(
  found: EntryPoint,
  own: ZoneRule,
  of: ExceptionsOf,
): { readonly exceptions: readonly FoundException[]; readonly apart: boolean } {
  const at = found.rules.indexOf(own);
  const working = ownExceptions({ rules: found.rules.slice(0, at) }, of);
  const block = found.rules.slice(at - working.length, at);
  return {
    exceptions: working.map((rule) => ({
      expression: rule.expression,
      ...(rule.description === "" ? {} : { description: rule.description }),
      skip: rule.skips,
      ...(rule.enabled ? {} : { enabled: false }),
    })),
    apart: !working.every((rule) => block.includes(rule)),
  };
}

/**
 * Brings the exceptions to what is declared, and directly in front of their rule. What is written is ordered so that
 * whatever is excepted before and after stays so in between.
 *
 * @param formerRef of the deployment, where it has changed.
 */
export async function syncExceptions(
  rules: RuleWriter,
  deployment: Deployment,
  wanted: readonly Exception[],
  formerRef: string,
): Promise<void> {
  const { ruleId, ref } = deployment;
  // 1. By number: the same place in the list is the same rule.
  const byNumber = new Map<number, ZoneRule>();
  for (const of of [{ ...deployment, ref: formerRef }, deployment])
    for (const rule of ownExceptions(rules.now, of)) byNumber.set(numberOf(rule, of) ?? 0, rule);
  const surplus = [...byNumber].filter(([number]) => number > wanted.length);
  const numbered = wanted.map((exception, index) => [index + 1, exception] as const);
  const grows = numbered.some(([number]) => !byNumber.has(number));
  // 2. Growing from the end and shrinking from the start, each content is written anew before it is overwritten.
  for (const [number, exception] of grows ? numbered.reverse() : numbered) {
    const known = byNumber.get(number);
    const name = exceptionRef(ref, number);
    if (known === undefined) {
      const next = [...byNumber].filter(([n]) => n > number).sort(([a], [b]) => a - b)[0];
      const position = { before: next?.[1].id ?? ruleId };
      byNumber.set(number, await rules.add(name, { ...toRequest(exception, name), position }));
      continue;
    }
    const isSame = isSameSkip(known, exception) && known.description === (exception.description ?? "");
    if (known.ref !== name || !isSame)
      await rules.change(known, toRequest(exception, name, definitionOf(known.raw)));
  }
  for (const [, rule] of surplus) await rules.remove(rule);
  await closeUp(rules, deployment);
}

/** Moves every exception that does not stand where it belongs, from the last one to the first. */
export async function closeUp(rules: RuleWriter, deployment: Deployment): Promise<void> {
  const number = (rule: ZoneRule): number => numberOf(rule, deployment) ?? 0;
  const lastFirst = ownExceptions(rules.now, deployment).sort((a, b) => number(b) - number(a));
  let next = deployment.ruleId;
  for (const { id } of lastFirst) {
    const at = rules.now.rules.findIndex((rule) => rule.id === id);
    if (rules.now.rules[at + 1]?.id !== next) await move(rules, id, { before: next });
    next = id;
  }
}

/**
 * Where a rule is to move forward, its exceptions go first, so that it is never without them; where it is to move back
 * it goes first, and `closeUp` follows. Gives the place that is left for the rule.
 */
export async function leadExceptions(
  rules: RuleWriter,
  deployment: Deployment,
  placement: Placement | undefined,
): Promise<Placement | undefined> {
  const { now } = rules;
  const rule = now.rules.find(({ id }) => id === deployment.ruleId);
  if (placement === undefined || rule === undefined || !isForward(placement, now, rule)) return placement;
  let place = placement;
  for (const { id } of ownExceptions(now, deployment)) {
    await move(rules, id, place);
    place = { after: id };
  }
  return place;
}

async function move(rules: RuleWriter, id: string, position: Placement): Promise<void> {
  const rule = rules.now.rules.find((each) => each.id === id);
  if (rule !== undefined) await rules.change(rule, { ...definitionOf(rule.raw), position });
}

/** Takes the exceptions of a deployment away. @param kept ids of those that stay. */
export async function removeExceptions(
  rules: RuleWriter,
  of: ExceptionsOf,
  kept: readonly string[],
): Promise<void> {
  for (const rule of ownExceptions(rules.now, of)) if (!kept.includes(rule.id)) await rules.remove(rule);
}
