import { omit, sameJson, type Bag } from "../runtime/values";
import type { Context } from "../runtime/lifecycle";
import type { Exception } from "./declared";
import { addRule, changeRule, removeRule } from "./entry-point";
import { isForward, type Placement } from "./position";
import { definitionOf, toSkip, type EntryPoint, type Skip, type ZoneRule } from "./wire";

/** Exceptions: skip rules in front of a deployment, in order, each with a ref of its own (seed 001: "use exceptions"). */

export const exceptionRef = (ref: string, number: number): string => `${ref}/exception/${number}`;

/** By what the exceptions of a deployment are known. */
export interface ExceptionsOf {
  /** Of the deployment. */
  readonly ref: string;
  /** Ids of rules that were taken over as its exceptions, in order: they keep their own ref until they are written. */
  readonly adopted?: readonly string[];
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
export function ownExceptions(found: EntryPoint, of: ExceptionsOf): ZoneRule[] {
  return found.rules.filter((rule) => numberOf(rule, of) !== undefined);
}

function body(exception: Exception, ref: string, held?: Bag): Bag {
  const { expression, description, skip } = exception;
  return {
    ...omit(held ?? {}, ["description"]), // Such as `logging`, which the service fills in.
    action: "skip",
    action_parameters: toSkip(skip),
    expression,
    enabled: true,
    ref,
    ...(description === undefined ? {} : { description }),
  };
}

function isAsDeclared(rule: ZoneRule, { expression, description = "", skip }: Exception): boolean {
  return (
    rule.enabled &&
    rule.expression === expression &&
    rule.description === description &&
    sameJson(rule.skips, skip)
  );
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
  const working = found.rules.slice(0, at).filter((rule) => numberOf(rule, of) !== undefined);
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

export interface Deployment extends ExceptionsOf {
  readonly zone: string;
  /** Id of the rule that the exceptions belong to. */
  readonly ruleId: string;
}

/**
 * Brings the exceptions to what is declared, and directly in front of their rule. What is written is ordered so that
 * whatever is excepted before and after stays so in between.
 */
export async function syncExceptions(
  ctx: Context,
  start: EntryPoint,
  deployment: Deployment & { readonly formerRef?: string },
  wanted: readonly Exception[],
): Promise<EntryPoint> {
  const { zone, ruleId, ref, formerRef = ref } = deployment;
  let now = start;
  // 1. By number: the same place in the list is the same rule.
  const byNumber = new Map<number, ZoneRule>();
  for (const of of [{ ...deployment, ref: formerRef }, deployment])
    for (const rule of ownExceptions(now, of)) byNumber.set(numberOf(rule, of) ?? 0, rule);
  const numbers = wanted.map((_, index) => index + 1);
  const surplus = [...byNumber.keys()].filter((number) => number > wanted.length);
  const grows = numbers.some((number) => !byNumber.has(number));
  // Growing from the end and shrinking from the start, each content is written anew before it is overwritten.
  for (const number of grows ? numbers.reverse() : numbers) {
    const exception = wanted[number - 1];
    if (exception === undefined) continue;
    const known = byNumber.get(number);
    const name = exceptionRef(ref, number);
    if (known === undefined) {
      const next = [...byNumber.entries()].filter(([n]) => n > number).sort(([a], [b]) => a - b)[0];
      const before = next?.[1].id ?? ruleId;
      const request = { ...body(exception, name), position: { before } };
      const added = await addRule(ctx, { zone, entryPointId: now.id, ref: name, body: request });
      now = added.entryPoint;
      byNumber.set(number, added.rule);
    } else if (known.ref !== name || !isAsDeclared(known, exception)) {
      const held = omit(definitionOf(known.raw), ["action_parameters"]);
      const request = body(exception, name, held);
      now = await changeRule(ctx, { zone, entryPointId: now.id, rule: known, body: request });
    }
  }
  for (const number of surplus) now = await without(ctx, now, zone, byNumber.get(number));
  return await closeUp(ctx, now, deployment);
}

/** Moves every exception that does not stand where it belongs, from the last one to the first. */
export async function closeUp(ctx: Context, start: EntryPoint, deployment: Deployment): Promise<EntryPoint> {
  const { zone, ruleId } = deployment;
  const number = (rule: ZoneRule): number => numberOf(rule, deployment) ?? 0;
  let now = start;
  let next = ruleId;
  const lastFirst = ownExceptions(now, deployment).sort((a, b) => number(b) - number(a));
  for (const { id } of lastFirst) {
    const at = now.rules.findIndex((rule) => rule.id === id);
    if (now.rules[at + 1]?.id !== next) now = await move(ctx, now, zone, id, { before: next });
    next = id;
  }
  return now;
}

/**
 * Where a rule is to move forward, its exceptions go first, so that it is never without them; where it is to move back
 * it goes first, and `closeUp` follows. Gives the place that is left for the rule.
 */
export async function leadExceptions(
  ctx: Context,
  start: EntryPoint,
  deployment: Deployment,
  placement: Placement | undefined,
): Promise<{ readonly entryPoint: EntryPoint; readonly placement: Placement | undefined }> {
  const { zone, ruleId } = deployment;
  const rule = start.rules.find(({ id }) => id === ruleId);
  if (placement === undefined || rule === undefined || !isForward(placement, start, rule))
    return { entryPoint: start, placement };
  let now = start;
  let place = placement;
  for (const { id } of ownExceptions(now, deployment)) {
    now = await move(ctx, now, zone, id, place);
    place = { after: id };
  }
  return { entryPoint: now, placement: place };
}

async function move(
  ctx: Context,
  now: EntryPoint,
  zone: string,
  id: string,
  position: Placement,
): Promise<EntryPoint> {
  const rule = now.rules.find((each) => each.id === id);
  if (rule === undefined) return now;
  const body = { ...definitionOf(rule.raw), position };
  return await changeRule(ctx, { zone, entryPointId: now.id, rule, body });
}

/** Takes the exceptions of a deployment away. @param kept ids of those that stay. */
export async function removeExceptions(
  ctx: Context,
  start: EntryPoint,
  { zone, ...of }: ExceptionsOf & Pick<Deployment, "zone">,
  kept: readonly string[] = [],
): Promise<EntryPoint> {
  let now = start;
  for (const rule of ownExceptions(now, of)) {
    if (!kept.includes(rule.id)) now = await without(ctx, now, zone, rule);
  }
  return now;
}

async function without(
  ctx: Context,
  now: EntryPoint,
  zone: string,
  rule: ZoneRule | undefined,
): Promise<EntryPoint> {
  if (rule === undefined) return now;
  const left = await removeRule(ctx, { zone, entryPointId: now.id, id: rule.id });
  return left ?? { ...now, rules: now.rules.filter(({ id }) => id !== rule.id) };
}
