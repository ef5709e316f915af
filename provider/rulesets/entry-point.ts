import type { RequestOptions } from "../api/client";
import { ApiError, isAbsent } from "../api/errors";
import type { Context } from "../runtime/lifecycle";
import type { JsonObject } from "../runtime/values";
import { entryPoint, PHASE, type EntryPoint, type ZoneRule } from "./wire";
import { createOnce, pollUntil } from "../runtime/creation";

/**
 * Access to the ruleset that a zone starts from in the managed phase. It is never written as a whole: that is the one
 * call that can lose a rule which somebody else has added meanwhile.
 */

export const zoneRulesetsPath = (zone: string): string => `/zones/${zone}/rulesets`;

export const entryPointPath = (zone: string): string =>
  `${zoneRulesetsPath(zone)}/phases/${PHASE}/entrypoint`;

/** "exceeded maximum number of zone rulesets for phase": somebody has made the entry point meanwhile. */
const EXISTS = 20217;

/** What a request gives; undefined where the object does not exist. */
export async function unlessAbsent<T>(request: () => Promise<T>): Promise<T | undefined> {
  try {
    return await request();
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** The zone's entry point; undefined where it has none, as nothing was ever deployed. */
export function readEntryPoint(ctx: Pick<Context, "api">, zone: string): Promise<EntryPoint | undefined> {
  const what = `Reading the managed rules of zone ${zone}`;
  return unlessAbsent(() => ctx.api.get(entryPointPath(zone), { what, schema: entryPoint }));
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
  seen(ctx).delete(zone);
  const path = zoneRulesetsPath(zone);
  try {
    const { object } = await createOnce(ctx, {
      path,
      id: ({ id }: EntryPoint) => id,
      what: `the entry point of the managed rules of zone ${zone}`,
      send: () =>
        ctx.api.post(path, {
          what: `Making the entry point of the managed rules of zone ${zone}`,
          schema: entryPoint,
          body: { name: "zone", kind: "zone", phase: PHASE, rules: [] },
          advice,
        }),
      list: async () => [await readEntryPoint(ctx, zone)].filter((found) => found !== undefined),
    });
    return object;
  } catch (error) {
    if (!(error instanceof ApiError) || !error.hasCode(EXISTS)) throw error;
    const made = await pollUntil(
      ctx,
      () => readEntryPoint(ctx, zone),
      (seen) => seen !== undefined,
      5,
    );
    if (made === undefined) throw error;
    return made;
  }
}

interface Added {
  readonly rule: ZoneRule;
  readonly entryPoint: EntryPoint;
}

/** A zone's entry point while it is written, rule by rule. */
export class RuleWriter {
  readonly ctx: Context;
  readonly zone: string;
  #now: EntryPoint;

  constructor(ctx: Context, zone: string, found: EntryPoint) {
    this.ctx = ctx;
    this.zone = zone;
    this.#now = found;
  }

  /** The entry point as the last answer showed it. */
  get now(): EntryPoint {
    return this.#now;
  }

  get #path(): string {
    return `${zoneRulesetsPath(this.zone)}/${this.#now.id}/rules`;
  }

  /** Adds one rule; found again by its ref where the answer gets lost. */
  async add(ref: string, body: JsonObject): Promise<ZoneRule> {
    const { ctx, zone } = this;
    seen(ctx).delete(zone);
    const path = this.#path;
    const added = (found: EntryPoint | undefined): Added[] =>
      (found?.rules ?? []).flatMap((rule) =>
        found && rule.ref === ref ? [{ rule, entryPoint: found }] : [],
      );
    const { object, doubled } = await createOnce(ctx, {
      what: `the rule ${JSON.stringify(ref)}`,
      path,
      id: ({ rule }) => rule.id,
      send: async () => {
        const what = `Adding the rule ${JSON.stringify(ref)} to the managed rules of zone ${zone}`;
        return added(await ctx.api.post(path, { what, schema: entryPoint, body, advice }))[0];
      },
      list: async () => added(await readEntryPoint(ctx, zone)),
    });
    if (doubled !== undefined) ctx.say.warn(doubled);
    this.#now = object.entryPoint;
    return object.rule;
  }

  /** Replaces the definition of one rule, and its place where the body says so. A second execution does no harm. */
  async change({ id }: Pick<ZoneRule, "id">, body: JsonObject): Promise<void> {
    const { ctx, zone } = this;
    seen(ctx).delete(zone);
    const what = `Changing the rule ${id} of zone ${zone}`;
    const manner = { schema: entryPoint, repeatable: true, advice };
    const { result } = await ctx.api.send("PATCH", `${this.#path}/${id}`, { what, body, ...manner });
    this.#now = result;
  }

  /** Takes one rule away; that it is gone already is fine. */
  async remove({ id }: Pick<ZoneRule, "id">): Promise<void> {
    const { ctx, zone } = this;
    seen(ctx).delete(zone);
    const what = `Removing the rule ${id} from zone ${zone}`;
    const schema = entryPoint.nullable().catch(null);
    const left = await unlessAbsent(() => ctx.api.delete(`${this.#path}/${id}`, { what, schema }));
    this.#now = left ?? { ...this.#now, rules: this.#now.rules.filter((rule) => rule.id !== id) };
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

const advice: NonNullable<RequestOptions<unknown>["advice"]> = ({ status, errors }) => {
  if (status === 404)
    return "If the rule was deleted elsewhere, run `pulumi refresh`; the next `pulumi up` makes it anew.";
  if (status !== 400) return undefined;
  return errors.some(({ pointer }) => pointer?.endsWith("/expression") === true)
    ? "Check the expression in the dashboard's editor."
    : "The plan may lack this ruleset, or the ruleset may have changed: run `pulumi preview`, which checks tags, rules and actions.";
};
