import { PartialFailure, type Context } from "../runtime/lifecycle";
import { bring, stillThere, type Target } from "./bring";
import {
  asFound,
  claimed,
  exceptionsInFront,
  wantedOf,
  type Declared,
  type Existing,
  type Prepared,
  type Wanted,
} from "./deployment";
import { changeRule } from "./entry-point";
import { outputsOf, type Computed } from "./recorded";
import type { EntryPoint, ZoneRule } from "./wire";

/** A create that goes on from a rule that is there. */

export function inWords({ id, description }: ZoneRule): string {
  return `rule ${id}${description === "" ? "" : ` ${JSON.stringify(description)}`}`;
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
  ctx: Context,
  args: Declared & Target,
  prepared: Prepared,
  found: EntryPoint,
  { rule, isOwn }: Existing,
): Promise<{ id: string; computed: Computed }> {
  const { zoneId, ref } = args;
  ctx.say.info(
    `ManagedRulesetOverride ${JSON.stringify(ref)}: ${inWords(rule)} of zone ${zoneId} exists already and is taken over.`,
  );
  const wanted: Wanted = {
    ...wantedOf(args, prepared.managed.id, prepared.overrides, rule),
    ref: isOwn ? ref : rule.ref,
  };
  const inFront = isOwn ? [] : (exceptionsInFront(args, found, rule) ?? []);
  const before = asFound(found, rule, inFront);
  const outputs = (at: EntryPoint): Computed => ({
    ...outputsOf(at, stillThere(at, rule), prepared),
    ...(isOwn ? {} : { adopted: before }),
  });
  // How the rule was found must not get lost, whatever happens next.
  const now = await recordingHalf(rule.id, outputs(found), async () => {
    let at = found;
    for (const [index, exception] of inFront.entries()) {
      const body = claimed(exception, ref, index);
      if (body["ref"] === exception.ref) continue;
      at = await changeRule(ctx, { zone: zoneId, entryPointId: at.id, rule: exception, body });
    }
    return await bring(ctx, args, prepared, { found: at, rule, wanted, placing: "wrong side" });
  });
  return { id: rule.id, computed: outputs(now) };
}
