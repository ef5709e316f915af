import { z } from "zod";
import type { Context } from "../runtime/lifecycle";
import { sameJson } from "../runtime/values";
import type { Exceptions, Position } from "./declared";
import { differences, findOwn, toRequest, type Adopted, type Prepared, type Wanted } from "./deployment";
import { addRule, changeRule, removeRule } from "./entry-point";
import { closeUp, leadExceptions, ownExceptions, syncExceptions } from "./exceptions";
import { isInPlace, placementOf, type Placement } from "./position";
import { definitionOf, type EntryPoint, type ZoneRule } from "./wire";

/** The writes of one deployment: to what is declared, and away again. */

export interface Target {
  readonly zoneId: string;
  readonly ref: string;
  readonly position?: Position | undefined;
  readonly exceptions?: Exceptions | undefined;
  /** Ids of the exceptions that were taken over. */
  readonly adopted?: readonly string[];
}

export interface Bringing {
  readonly found: EntryPoint;
  readonly rule: ZoneRule;
  readonly wanted: Wanted;
  /** Of the exceptions, where it has changed. */
  readonly formerRef?: string;
  /** How the declared position is applied: as newly asked for, where the rule is on the wrong side, or not at all. */
  readonly placing: "asked" | "wrong side" | "none";
}

/** Brings a rule that is there to what is wanted, and its exceptions with it. Nothing that differs not is written. */
export async function bring(
  ctx: Context,
  { zoneId, ref, position, exceptions = [], adopted = [] }: Target,
  prepared: Prepared,
  { found, rule, wanted, formerRef = ref, placing }: Bringing,
): Promise<EntryPoint> {
  const deployment = { zone: zoneId, ruleId: rule.id, ref, adopted };
  // 1. Exceptions first: nothing is blocked meanwhile that is to be excepted.
  let now = await syncExceptions(ctx, found, { ...deployment, formerRef }, exceptions);
  // 2. To its place.
  const front = ownExceptions(now, deployment).map(({ id }) => id);
  const isThere = isInPlace(position, now, rule, { front, directly: placing === "asked" });
  const moves = placing !== "none" && !isThere;
  const placement = moves ? placementOf(position, now, zoneId) : undefined;
  const led = await leadExceptions(ctx, now, deployment, placement);
  now = led.entryPoint;
  // 3. The rule itself.
  const held = stillThere(now, rule);
  const differ = differences(held, wanted, prepared.sharedTags);
  if (differ.length > 0 || led.placement !== undefined) {
    const at = led.placement === undefined ? {} : { position: led.placement };
    const body = { ...toRequest(wanted, held), ...at };
    now = await changeRule(ctx, { zone: zoneId, entryPointId: now.id, rule: held, body });
  }
  return await closeUp(ctx, now, deployment);
}

export interface Withdrawn {
  readonly zoneId: string;
  readonly adopted?: Adopted;
  readonly position?: Position | undefined;
}

/** Removes the rule, or puts one that was taken over back as it was found. */
export async function withdraw(
  ctx: Context,
  { zoneId, adopted, position }: Withdrawn,
  found: EntryPoint,
  rule: ZoneRule | undefined,
  mode: "restore" | "remove",
): Promise<EntryPoint> {
  if (rule === undefined) return found;
  if (mode === "remove" || adopted === undefined) {
    const left = await removeRule(ctx, { zone: zoneId, entryPointId: found.id, id: rule.id });
    return left ?? { ...found, rules: found.rules.filter(({ id }) => id !== rule.id) };
  }
  let now = found;
  const ids: string[] = [];
  for (const { id, rule: before } of adopted.exceptions ?? []) {
    const exception = now.rules.find((each) => each.id === id);
    if (exception === undefined) {
      // One that was declared no more is made anew.
      const ref = z.string().catch(id).parse(before["ref"]);
      const body = { ...before, ref, position: { before: rule.id } };
      const made = await addRule(ctx, { zone: zoneId, entryPointId: now.id, ref, body });
      now = made.entryPoint;
      ids.push(made.rule.id);
      continue;
    }
    ids.push(id);
    if (!sameJson(definitionOf(exception.raw), before)) {
      now = await changeRule(ctx, { zone: zoneId, entryPointId: now.id, rule: exception, body: before });
    }
  }
  const at = now.rules.findIndex(({ id }) => id === rule.id);
  const { next } = adopted;
  const isMoved = position !== undefined && now.rules[at + 1]?.id !== next;
  const canGoBack = next === undefined || now.rules.some(({ id }) => id === next);
  const back: Placement | undefined =
    !isMoved || !canGoBack ? undefined : next === undefined ? { after: "" } : { before: next };
  // Its exceptions go with it, as on the way here.
  const block = { zone: zoneId, ruleId: rule.id, ref: "", adopted: ids };
  const led = await leadExceptions(ctx, now, block, back);
  now = led.entryPoint;
  if (!sameJson(definitionOf(rule.raw), adopted.rule) || led.placement !== undefined) {
    const at = led.placement === undefined ? {} : { position: led.placement };
    now = await changeRule(ctx, {
      zone: zoneId,
      entryPointId: now.id,
      rule,
      body: { ...adopted.rule, ...at },
    });
  }
  return await closeUp(ctx, now, block);
}

/** The rule as it is now. */
export function stillThere(now: EntryPoint, { id, ref }: ZoneRule): ZoneRule {
  const rule = findOwn(now, { ruleId: id, ruleRef: ref });
  if (rule !== undefined) return rule;
  throw new Error(
    `Rule ${id} was removed by somebody else while it was being written. Run \`pulumi refresh\`, then \`pulumi up\`.`,
  );
}
