import { sharedId } from "../runtime/adoption";
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
import type { EntryPoint } from "./wire";

/** A create that goes on from a rule that is there. */

/** The rule that a create goes on from, for the reviewer of the preview. */
export function inWords({ rule: { id, ref, description }, from }: Existing): string {
  const rule = `rule ${id}${description === "" ? "" : ` ${JSON.stringify(description)}`}`;
  if (from === "left") return `${rule}, which already has this ref`;
  return from === "predecessor" ? `${rule}, which has the ref ${JSON.stringify(ref)}` : rule;
}

function taken(ctx: Context, zone: string, existing: Existing): string {
  const { rule, from } = existing;
  if (from === "left")
    return `rule ${rule.id} of zone ${zone} already has this ref: an interrupted update of this resource left it, or the resource was moved without an alias. It is adopted and changed to the declaration.`;
  if (from === "predecessor")
    return `rule ${rule.id} of zone ${zone} is taken over from ${JSON.stringify(rule.ref)}, which no resource of this update holds. It keeps its ID and gets the new ref.`;
  return `${inWords(existing)} of zone ${zone} exists already and is taken over.${from === "others" ? sharedId(ctx, rule.id) : ""}`;
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
  existing: Existing,
): Promise<{ id: string; computed: Computed }> {
  const { zoneId, ref } = args;
  const { rule, from } = existing;
  const isOwn = from !== "others";
  ctx.say.info(`ManagedRulesetOverride ${JSON.stringify(ref)}: ${taken(ctx, zoneId, existing)}`);
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
    const formerRef = from === "predecessor" ? rule.ref : ref;
    return await bring(ctx, args, prepared, { found: at, rule, wanted, formerRef, placing: "wrong side" });
  });
  return { id: rule.id, computed: outputs(now) };
}
