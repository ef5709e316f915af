import { z } from "zod";
import { omitAbsent, sameJson, type JsonObject } from "../basics/json";
import {
  differences,
  findOwnRule,
  toRequest,
  type Computed,
  type Declared,
  type Prepared,
  type DesiredRule,
} from "./deployment";
import type { RuleWriter } from "./entry-point";
import { closeGaps, moveExceptionsFirst, ownExceptions, syncExceptions, type Deployment } from "./exceptions";
import { isInPlace, placementOf, type Placement } from "./position";
import { definitionOf, type EntryPoint, type ZoneRule } from "./wire";

/** Writes a deployment to its zone. */

/** Options for reconciling an existing rule. */
export interface Reconciliation {
  readonly rule: ZoneRule;
  readonly wanted: DesiredRule;
  /** IDs of the adopted exceptions. */
  readonly adopted?: readonly string[];
  /** The previous ref of the exceptions, if it changed. */
  readonly formerRef?: string;
  /** Why to apply the declared position, or `none` not to apply it. */
  readonly placing: "new position" | "wrong side" | "none";
}

/** Changes an existing rule and its exceptions to match the declaration. Writes only what differs. */
export async function reconcileRule(
  rules: RuleWriter,
  { ref, position }: Pick<Declared, "ref" | "position">,
  { sharedTags, exceptions }: Prepared,
  { rule, wanted, adopted = [], formerRef = ref, placing }: Reconciliation,
): Promise<void> {
  const deployment = { ruleId: rule.id, ref, adopted };
  // 1. Exceptions first, so that the rule never blocks what they except.
  await syncExceptions(rules, deployment, exceptions, formerRef);
  // 2. The position.
  const front = ownExceptions(rules.now, deployment).map(({ id }) => id);
  const isInDeclaredPlace = isInPlace(position, rules.now, rule, {
    front,
    directly: placing === "new position",
  });
  const moves = placing !== "none" && !isInDeclaredPlace;
  const placement = moves ? placementOf(position, rules.now, rules.address) : undefined;
  // 3. The rule.
  await changeAndMove(rules, deployment, placement, () => {
    const held = currentRule(rules.now, rule);
    const differs = differences(held, wanted, sharedTags).length > 0;
    return { differs, body: toRequest(wanted, held) };
  });
}

/** Deletes the rule, or puts an adopted one back as it was found. */
export async function removeOrRestore(
  rules: RuleWriter,
  { previous, position }: Pick<Computed, "previous"> & Pick<Declared, "position">,
  rule: ZoneRule,
  mode: "restore" | "remove",
): Promise<void> {
  if (mode === "remove" || previous === undefined) {
    await rules.remove(rule);
    return;
  }
  const ids: string[] = [];
  for (const { id, rule: before } of previous.exceptions ?? []) {
    const exception = rules.now.rules.find((each) => each.id === id);
    if (exception === undefined) {
      // It was deleted once it was no longer declared.
      const ref = z.string().catch(id).parse(before["ref"]);
      const added = await rules.add(ref, { ...before, ref, position: { before: rule.id } });
      ids.push(added.id);
      continue;
    }
    ids.push(id);
    if (!sameJson(definitionOf(exception.raw), before)) await rules.change(exception, before);
  }
  // Its exceptions move with it.
  const deployment = { ruleId: rule.id, ref: "", adopted: ids };
  const back = position === undefined ? undefined : formerPlace(rules.now, rule, previous.next);
  await changeAndMove(rules, deployment, back, () => ({
    differs: !sameJson(definitionOf(rule.raw), previous.rule),
    body: previous.rule,
  }));
}

/**
 * Returns the rule's original position: before the rule that followed it. Undefined if it's already there, or the
 * following rule no longer exists.
 */
function formerPlace(
  { rules }: EntryPoint,
  { id }: ZoneRule,
  next: string | undefined,
): Placement | undefined {
  const behind = rules[rules.findIndex((rule) => rule.id === id) + 1]?.id;
  if (behind === next) return undefined;
  if (next === undefined) return { after: "" };
  return rules.some((rule) => rule.id === next) ? { before: next } : undefined;
}

/** Changes a rule that differs or has to move. Its exceptions move with it. */
async function changeAndMove(
  rules: RuleWriter,
  deployment: Deployment,
  placement: Placement | undefined,
  definition: () => { readonly differs: boolean; readonly body: JsonObject },
): Promise<void> {
  const position = await moveExceptionsFirst(rules, deployment, placement);
  const { differs, body } = definition();
  if (differs || position !== undefined)
    await rules.change({ id: deployment.ruleId }, { ...body, ...omitAbsent({ position }) });
  await closeGaps(rules, deployment);
}

/** Returns the rule as of the last response. */
export function currentRule(now: EntryPoint, { id, ref }: ZoneRule): ZoneRule {
  const rule = findOwnRule(now, { ruleId: id, ruleRef: ref });
  if (rule !== undefined) return rule;
  throw new Error(
    `Rule ${id} was deleted by someone else during this update. Run \`pulumi refresh\`, then \`pulumi up\`.`,
  );
}
