import type { ApiNote } from "../api/envelope";
import { ApiError, isNotFound, isUnroutable } from "../api/errors";
import { createOnce, lookUntil } from "../runtime/adoption";
import type { Context } from "../runtime/lifecycle";
import type { Bag } from "../runtime/values";
import { entryPointPath, PHASE, rulesPath, zoneRulesetsPath } from "./address";
import { entryPoint, type EntryPoint, type ZoneRule } from "./wire";

/**
 * Access to the ruleset that a zone starts from in the managed phase. It is never written as a whole: that is the one
 * call that can lose a rule which somebody else has added meanwhile.
 */

/** "exceeded maximum number of zone rulesets for phase": somebody has made the entry point meanwhile (facts 1.5). */
const EXISTS = 20217;

/** The zone's entry point; undefined where it has none (404, 10003: nothing deployed, facts 5.2). */
export async function readEntryPoint(
  ctx: Pick<Context, "api">,
  zone: string,
): Promise<EntryPoint | undefined> {
  try {
    return await ctx.api.get(entryPointPath(zone), {
      what: `Reading the managed rules of zone ${zone}`,
      schema: entryPoint,
    });
  } catch (error) {
    if (!isNotFound(error) || isUnroutable(error)) throw error;
    return undefined;
  }
}

/** What a preview has read of a zone, until something is written there. */
type Seen = Map<string, Promise<EntryPoint | undefined>>;

const seen = (ctx: Context): Seen => ctx.shared("entry points of managed rules", () => new Map() as Seen);

/** The entry point for a look that decides nothing: read once per operation and state of the zone. */
export function seenEntryPoint(ctx: Context, zone: string): Promise<EntryPoint | undefined> {
  const known = seen(ctx).get(zone);
  if (known !== undefined) return known;
  const reading = readEntryPoint(ctx, zone);
  seen(ctx).set(zone, reading);
  return reading;
}

/** The zone's entry point, made where there is none. Whoever else makes it at the same time is as welcome. */
export async function ensureEntryPoint(ctx: Context, zone: string): Promise<EntryPoint> {
  const found = await readEntryPoint(ctx, zone);
  if (found !== undefined) return found;
  const what = `Making the entry point of the managed rules of zone ${zone}`;
  seen(ctx).delete(zone);
  try {
    const { object } = await createOnce(ctx, {
      path: zoneRulesetsPath(zone),
      id: ({ id }: EntryPoint) => id,
      what: `the entry point of the managed rules of zone ${zone}`,
      send: () =>
        ctx.api.post(zoneRulesetsPath(zone), {
          what,
          schema: entryPoint,
          body: { name: "zone", kind: "zone", phase: PHASE, rules: [] },
          advice,
        }),
      list: async () => [await readEntryPoint(ctx, zone)].filter((found) => found !== undefined),
    });
    return object;
  } catch (error) {
    if (!(error instanceof ApiError) || !error.hasCode(EXISTS)) throw error;
    const made = await lookUntil(
      ctx,
      () => readEntryPoint(ctx, zone),
      (seen) => seen !== undefined,
      4,
    );
    if (made === undefined) throw error;
    return made;
  }
}

/** Adds one rule; found again by its ref where the answer gets lost. */
export async function addRule(
  ctx: Context,
  { zone, entryPointId, ref, body }: { zone: string; entryPointId: string; ref: string; body: Bag },
): Promise<Added> {
  seen(ctx).delete(zone);
  const path = rulesPath(zone, entryPointId);
  const added = (entryPoint: EntryPoint | undefined): Added[] =>
    entryPoint === undefined
      ? []
      : entryPoint.rules.filter((rule) => rule.ref === ref).map((rule) => ({ rule, entryPoint }));
  const { object, doubled } = await createOnce(ctx, {
    what: `the rule ${JSON.stringify(ref)}`,
    path,
    id: ({ rule }) => rule.id,
    send: async () => {
      const answer = await ctx.api.post(path, {
        what: `Adding the rule ${JSON.stringify(ref)} to the managed rules of zone ${zone}`,
        schema: entryPoint,
        body,
        advice,
      });
      return added(answer)[0];
    },
    list: async () => added(await readEntryPoint(ctx, zone)),
  });
  if (doubled !== undefined) ctx.say.warn(doubled);
  return object;
}

interface Added {
  readonly rule: ZoneRule;
  readonly entryPoint: EntryPoint;
}

/** Replaces the definition of one rule, and its place where the body says so. A second execution does no harm. */
export async function changeRule(
  ctx: Context,
  {
    zone,
    entryPointId,
    rule,
    body,
  }: { zone: string; entryPointId: string; rule: Pick<ZoneRule, "id">; body: Bag },
): Promise<EntryPoint> {
  seen(ctx).delete(zone);
  const { result } = await ctx.api.send("PATCH", `${rulesPath(zone, entryPointId)}/${rule.id}`, {
    what: `Changing the rule ${rule.id} of zone ${zone}`,
    schema: entryPoint,
    body,
    repeatable: true,
    advice,
  });
  return result;
}

/** Takes one rule away; that it is gone already is fine. Undefined where the answer does not say what is left. */
export async function removeRule(
  ctx: Context,
  { zone, entryPointId, id }: { zone: string; entryPointId: string; id: string },
): Promise<EntryPoint | undefined> {
  seen(ctx).delete(zone);
  try {
    const left = await ctx.api.delete(`${rulesPath(zone, entryPointId)}/${id}`, {
      what: `Removing the rule ${id} from zone ${zone}`,
      schema: entryPoint.nullable().catch(null),
    });
    return left ?? undefined;
  } catch (error) {
    if (!isNotFound(error) || isUnroutable(error)) throw error;
    return undefined;
  }
}

export function byRef(found: EntryPoint | undefined, ref: string): ZoneRule | undefined {
  return found?.rules.find((rule) => rule.ref === ref);
}

/** An enabled rule that executes a managed ruleset, as it is kept in outputs. */
export interface OtherManagedRule {
  /** Id of the zone's rule. */
  readonly ruleId: string;
  /** The managed ruleset that it executes. */
  readonly rulesetId: string;
  readonly ref: string;
  readonly description: string;
}

/** Enabled rules, besides this one, that execute a managed ruleset. */
export function otherManagedRules(found: EntryPoint | undefined, own?: string): OtherManagedRule[] {
  return (found?.rules ?? []).flatMap(({ id, ref, description, enabled, deploys }) =>
    deploys === undefined || !enabled || id === own
      ? []
      : [{ ruleId: id, rulesetId: deploys.rulesetId, ref, description }],
  );
}

function advice({
  status,
  errors,
}: {
  readonly status: number;
  readonly errors: readonly ApiNote[];
}): string | undefined {
  if (status === 404)
    return "If the rule was deleted elsewhere, run `pulumi refresh`; the next `pulumi up` makes it anew.";
  if (status === 403) return "Managed rules need a token with Zone WAF Write.";
  if (status !== 400) return undefined;
  return errors.some(({ pointer }) => pointer?.endsWith("/expression") === true)
    ? "Check the expression in the dashboard's editor."
    : "The plan may lack this ruleset, or the ruleset may have changed: run `pulumi preview`, which checks tags, rules and actions.";
}
