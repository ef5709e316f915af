import type { RequestOptions } from "../api/client";
import { ApiError, unlessAbsent } from "../api/errors";
import type { Context } from "../runtime/lifecycle";
import type { JsonObject } from "../basics/json";
import { entryPoint, PHASE, type EntryPoint, type ZoneRule } from "./wire";

/**
 * Reads and writes a zone's entry point ruleset. It's never replaced as a whole, because that could lose a rule that
 * someone else has just added.
 */

export const zoneRulesetsPath = (zone: string): string => `/zones/${zone}/rulesets`;

export const entryPointPath = (zone: string): string =>
  `${zoneRulesetsPath(zone)}/phases/${PHASE}/entrypoint`;

/**
 * The error code for "exceeded maximum number of zone rulesets for phase". It means that the entry point was just
 * created.
 */
const ENTRY_POINT_EXISTS = 20217;

/**
 * Reads the zone's entry point. Undefined if nothing was ever deployed in the zone.
 *
 * @param path another path of the same ruleset.
 */
export function readEntryPoint(
  ctx: Pick<Context, "api">,
  zone: string,
  path = entryPointPath(zone),
): Promise<EntryPoint | undefined> {
  const what = `Reading the managed rules of zone ${zone}`;
  return unlessAbsent(() => ctx.api.get(path, { what, schema: entryPoint }));
}

/** Reads the zone's entry point for a rule that it has to contain. Reads it again by its ID before saying that it doesn't. */
export async function readWithRule(
  ctx: Pick<Context, "api">,
  zone: string,
  id: string,
  find: (found: EntryPoint | undefined) => ZoneRule | undefined,
): Promise<{ readonly found: EntryPoint; readonly rule: ZoneRule } | undefined> {
  for (const path of [undefined, `${zoneRulesetsPath(zone)}/${id}`]) {
    const found = await readEntryPoint(ctx, zone, path);
    const rule = find(found);
    if (found !== undefined && rule !== undefined) return { found, rule };
  }
  return undefined;
}

const cacheKey = (zone: string): string => `managed rules of zone ${zone}`;

/** Returns the entry point for a preview. It's read once per operation, and again after a write. */
export function cachedEntryPoint(ctx: Context, zone: string): Promise<EntryPoint | undefined> {
  return ctx.once(cacheKey(zone), () => readEntryPoint(ctx, zone));
}

/** Returns the zone's entry point, creating it if necessary. Works even if someone else creates it at the same time. */
export async function ensureEntryPoint(ctx: Context, zone: string): Promise<EntryPoint> {
  const found = await readEntryPoint(ctx, zone);
  if (found !== undefined) return found;
  ctx.forget(cacheKey(zone));
  const path = zoneRulesetsPath(zone);
  try {
    return await ctx.createOnce({
      path,
      id: ({ id }: EntryPoint) => id,
      what: `the entry point ruleset for the managed rules of zone ${zone}`,
      send: () =>
        ctx.api.post(path, {
          what: `Creating the entry point ruleset for the managed rules of zone ${zone}`,
          schema: entryPoint,
          body: { name: "zone", kind: "zone", phase: PHASE, rules: [] },
          advice,
        }),
      list: async () => [await readEntryPoint(ctx, zone)].filter((found) => found !== undefined),
    });
  } catch (error) {
    if (!(error instanceof ApiError) || !error.hasCode(ENTRY_POINT_EXISTS)) throw error;
    const existing = await ctx.pollUntil(
      () => readEntryPoint(ctx, zone),
      (found) => found !== undefined,
      5,
    );
    if (existing === undefined) throw error;
    return existing;
  }
}

interface Added {
  readonly rule: ZoneRule;
  readonly entryPoint: EntryPoint;
}

/** Writes a zone's entry point rule by rule. */
export class RuleWriter {
  readonly ctx: Context;
  readonly zone: string;
  #now: EntryPoint;

  constructor(ctx: Context, zone: string, found: EntryPoint) {
    this.ctx = ctx;
    this.zone = zone;
    this.#now = found;
  }

  /** Returns the entry point from the last response. */
  get now(): EntryPoint {
    return this.#now;
  }

  get #path(): string {
    return `${zoneRulesetsPath(this.zone)}/${this.#now.id}/rules`;
  }

  /** Adds a rule. If the response doesn't arrive, the rule is found by its ref. */
  async add(ref: string, body: JsonObject): Promise<ZoneRule> {
    const { ctx, zone } = this;
    ctx.forget(cacheKey(zone));
    const path = this.#path;
    const added = (found: EntryPoint | undefined): Added[] =>
      (found?.rules ?? []).flatMap((rule) =>
        found && rule.ref === ref ? [{ rule, entryPoint: found }] : [],
      );
    const object = await ctx.createOnce({
      what: `the rule ${JSON.stringify(ref)}`,
      path,
      id: ({ rule }) => rule.id,
      send: async () => {
        const what = `Adding rule ${JSON.stringify(ref)} to the managed rules of zone ${zone}`;
        return added(await ctx.api.post(path, { what, schema: entryPoint, body, advice }))[0];
      },
      list: async () => added(await readEntryPoint(ctx, zone)),
    });
    this.#now = object.entryPoint;
    return object.rule;
  }

  /** Replaces a rule's definition, and its position if the body has one. Repeating it is safe. */
  async change({ id }: Pick<ZoneRule, "id">, body: JsonObject): Promise<void> {
    const { ctx, zone } = this;
    ctx.forget(cacheKey(zone));
    const what = `Changing rule ${id} in zone ${zone}`;
    const options = { what, body, schema: entryPoint, repeatable: true, advice };
    const { result } = await ctx.api.send("PATCH", `${this.#path}/${id}`, options);
    this.#now = result;
  }

  /** Deletes a rule, unless it no longer exists. */
  async remove({ id }: Pick<ZoneRule, "id">): Promise<void> {
    const { ctx, zone } = this;
    ctx.forget(cacheKey(zone));
    const what = `Deleting rule ${id} in zone ${zone}`;
    const schema = entryPoint.nullable().catch(null);
    const answer = await unlessAbsent(() => ctx.api.delete(`${this.#path}/${id}`, { what, schema }));
    this.#now = answer ?? { ...this.#now, rules: this.#now.rules.filter((rule) => rule.id !== id) };
  }
}

export function findByRef(found: EntryPoint | undefined, ref: string): ZoneRule | undefined {
  return found?.rules.find((rule) => rule.ref === ref);
}

/** An enabled rule of a zone that executes a managed ruleset. */
export interface OtherManagedRule {
  /** The rule's ID. */
  readonly ruleId: string;
  /** The ID of the managed ruleset that it executes. */
  readonly rulesetId: string;
  /** Empty if the resource's own ref or position is secret. */
  readonly ref: string;
  /** Empty if the resource's own description is secret. */
  readonly description: string;
}

/** Finds the zone's enabled rules that execute a managed ruleset, except the rule with the ID `own`. */
export function otherManagedRules(
  { isSecret }: Pick<Context, "isSecret">,
  found: EntryPoint | undefined,
  own?: string,
): OtherManagedRule[] {
  return (found?.rules ?? []).flatMap(({ id, ref, description, enabled, deploys }) =>
    deploys === undefined || !enabled || id === own
      ? []
      : [
          {
            ruleId: id,
            rulesetId: deploys.rulesetId,
            ref: isSecret("ref") || isSecret("position") ? "" : ref,
            description: isSecret("description") ? "" : description,
          },
        ],
  );
}

const advice: NonNullable<RequestOptions<unknown>["advice"]> = ({ status, errors }) => {
  if (status === 404)
    return "If the rule was deleted outside this program, run `pulumi refresh`; the next `pulumi up` creates it again.";
  if (status !== 400) return undefined;
  if (errors.some(({ pointer }) => pointer?.endsWith("/ref") === true))
    return "Another rule in the zone has this ref. Change the resource's ref, or delete that rule.";
  return errors.some(({ pointer }) => pointer?.endsWith("/expression") === true)
    ? "Check the expression in the dashboard's expression editor."
    : "Your Cloudflare plan may not include this ruleset, or the ruleset may have changed. Run `pulumi preview`, which checks tags, rules and actions.";
};
