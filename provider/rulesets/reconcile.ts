import { z } from "zod";
import { omitAbsent } from "../runtime/members";
import { sameJson, type JsonObject } from "../runtime/values";
import {
  differences,
  findOwn,
  toRequest,
  type Computed,
  type Declared,
  type Prepared,
  type Wanted,
} from "./deployment";
import type { RuleWriter } from "./entry-point";
import { closeUp, leadExceptions, ownExceptions, syncExceptions, type Deployment } from "./exceptions";
import { isInPlace, placementOf, type Placement } from "./position";
import { definitionOf, type EntryPoint, type ZoneRule } from "./wire";

/** The writes of one deployment: to what is declared, and away again. */

/** What is to be done with a rule that exists. */
export interface Reconciliation {
  readonly rule: ZoneRule;
  readonly wanted: Wanted;
  /** Ids of the exceptions that were taken over. */
  readonly adopted?: readonly string[];
  /** Of the exceptions, where it has changed. */
  readonly formerRef?: string;
  /** How the declared position is applied: as newly asked for, where the rule is on the wrong side, or not at all. */
  readonly placing: "asked" | "wrong side" | "none";
}

/** Brings a rule that exists to what is wanted, and its exceptions with it. Writes only what differs. */
export async function reconcileRule(
  rules: RuleWriter,
  { ref, position }: Pick<Declared, "ref" | "position">,
  { sharedTags, exceptions }: Prepared,
  { rule, wanted, adopted = [], formerRef = ref, placing }: Reconciliation,
): Promise<void> {
  const deployment = { ruleId: rule.id, ref, adopted };
  // 1. Exceptions first: nothing is blocked meanwhile that is to be excepted.
  await syncExceptions(rules, deployment, exceptions, formerRef);
  // 2. To its place.
  const front = ownExceptions(rules.now, deployment).map(({ id }) => id);
  const isThere = isInPlace(position, rules.now, rule, { front, directly: placing === "asked" });
  const moves = placing !== "none" && !isThere;
  const placement = moves ? placementOf(position, rules.now, rules.zone) : undefined;
  // 3. The rule itself.
  await changeInPlace(rules, deployment, placement, () => {
    const held = stillThere(rules.now, rule);
    const differs = differences(held, wanted, sharedTags).length > 0;
    return { differs, body: toRequest(wanted, held) };
  });
}

/** Removes the rule, or puts one that was taken over back as it was found. */
export async function withdraw(
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
      // One that was declared no more is made anew.
      const ref = z.string().catch(id).parse(before["ref"]);
      const made = await rules.add(ref, { ...before, ref, position: { before: rule.id } });
      ids.push(made.id);
      continue;
    }
    ids.push(id);
    if (!sameJson(definitionOf(exception.raw), before)) await rules.change(exception, before);
  }
  // Its exceptions go with it, as on the way here.
  const deployment = { ruleId: rule.id, ref: "", adopted: ids };
  const back = position === undefined ? undefined : formerPlace(rules.now, rule, previous.next);
  await changeInPlace(rules, deployment, back, () => ({
    differs: !sameJson(definitionOf(rule.raw), previous.rule),
    body: previous.rule,
  }));
}

/** The place in front of the rule that was behind it; undefined where it stands there, or that rule is gone. */
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

/** Changes a rule where it differs or has to move; its exceptions move with it. */
async function changeInPlace(
  rules: RuleWriter,
  deployment: Deployment,
  placement: Placement | undefined,
  definition: () => { readonly differs: boolean; readonly body: JsonObject },
): Promise<void> {
  const position = await leadExceptions(rules, deployment, placement);
  const { differs, body } = definition();
  if (differs || position !== undefined)
    await rules.change({ id: deployment.ruleId }, { ...body, ...omitAbsent({ position }) });
  await closeUp(rules, deployment);
}

/** The rule as it is now. */
export function stillThere(now: EntryPoint, { id, ref }: ZoneRule): ZoneRule {
  const rule = findOwn(now, { ruleId: id, ruleRef: ref });
  if (rule !== undefined) return rule;
  throw new Error(
    `Rule ${id} was removed by somebody else while it was being written. Run \`pulumi refresh\`, then \`pulumi up\`.`,
  );
}
