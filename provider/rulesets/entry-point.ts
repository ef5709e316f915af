import type { RequestOptions } from "../api/client";
import { ApiError, isAbsent, unlessAbsent } from "../api/errors";
import { scopeName, scopeOf, scopePath, type Scope } from "../runtime/composite-id";
import type { Context } from "../runtime/lifecycle";
import type { JsonObject } from "../basics/json";
import { entryPoint, PHASES, type EntryPoint, type Phase, type ZoneRule } from "./wire";

/**
 * Reads and writes an entry point ruleset. It's never replaced as a whole, because that could lose a rule that someone
 * else has just added.
 */

/** Where an entry point ruleset is: a zone or an account has one for each phase. */
export interface EntryPointAddress extends Scope {
  readonly phase: Phase;
}

/** Returns the entry point that arguments name: the zone's or, without a zone, the account's. */
export function entryPointOf({
  phase = PHASES[0],
  ...scope
}: Parameters<typeof scopeOf>[0] & { readonly phase?: Phase | undefined }): EntryPointAddress {
  return { ...scopeOf(scope), phase };
}

export const rulesetsPath = (scope: Scope): string => `${scopePath(scope)}/rulesets`;

export const entryPointPath = (address: EntryPointAddress): string =>
  `${rulesetsPath(address)}/phases/${address.phase}/entrypoint`;

/** Whether arguments name the same entry point. */
export const isSameEntryPoint = (...args: readonly Parameters<typeof entryPointOf>[0][]): boolean =>
  new Set(args.map((each) => entryPointPath(entryPointOf(each)))).size === 1;

/**
 * The error code for "exceeded maximum number of zone rulesets for phase". It means that the entry point was just
 * created.
 */
const ENTRY_POINT_EXISTS = 20217;

/**
 * Reads an entry point. Undefined if nothing was ever deployed there.
 *
 * @param path another path of the same ruleset.
 */
export function readEntryPoint(
  ctx: Pick<Context, "api">,
  address: EntryPointAddress,
  path = entryPointPath(address),
): Promise<EntryPoint | undefined> {
  const what = `Reading the managed rules of ${scopeName(address)}`;
  return ctx.api.get(path, { what, schema: entryPoint, ...entitledTo(address) }).catch((error: unknown) => {
    if (isAbsent(error) && (error.hasCode(...NO_ENTRY_POINT) || path !== entryPointPath(address)))
      return undefined;
    throw error;
  });
}

/** Cloudflare's codes for a phase without rules, now and earlier. Any other 404 doesn't say that there are none. */
const NO_ENTRY_POINT = [10003, 10001] as const;

/** Reads an entry point for a rule that it has to contain. Reads it again by its ID before saying that it doesn't. */
export async function readWithRule(
  ctx: Pick<Context, "api">,
  address: EntryPointAddress,
  id: string,
  find: (found: EntryPoint | undefined) => ZoneRule | undefined,
): Promise<{ readonly found: EntryPoint; readonly rule: ZoneRule } | undefined> {
  for (const path of [undefined, `${rulesetsPath(address)}/${id}`]) {
    const found = await readEntryPoint(ctx, address, path);
    const rule = find(found);
    if (found !== undefined && rule !== undefined) return { found, rule };
  }
  return undefined;
}

/** Returns the entry point for a preview. It's read once per operation, and again after a write. */
export function cachedEntryPoint(ctx: Context, address: EntryPointAddress): Promise<EntryPoint | undefined> {
  return ctx.once(entryPointPath(address), () => readEntryPoint(ctx, address));
}

/** Returns an entry point, creating it if necessary. Works even if someone else creates it at the same time. */
export async function ensureEntryPoint(ctx: Context, address: EntryPointAddress): Promise<EntryPoint> {
  const found = await readEntryPoint(ctx, address);
  if (found !== undefined) return found;
  ctx.forget(entryPointPath(address));
  const path = rulesetsPath(address);
  const kind = address.kind === "zone" ? "zone" : "root"; // Cloudflare's kind for an account's entry point.
  try {
    return await ctx.createOnce({
      path,
      id: ({ id }: EntryPoint) => id,
      what: `the entry point ruleset for the managed rules of ${scopeName(address)}`,
      send: () =>
        ctx.api.post(path, {
          what: `Creating the entry point ruleset for the managed rules of ${scopeName(address)}`,
          schema: entryPoint,
          body: { name: kind, kind, phase: address.phase, rules: [] },
          advice,
          ...entitledTo(address),
        }),
      list: async () => [await readEntryPoint(ctx, address)].filter((found) => found !== undefined),
    });
  } catch (error) {
    if (!(error instanceof ApiError) || !error.hasCode(ENTRY_POINT_EXISTS)) throw error;
    const existing = await ctx.pollUntil(
      () => readEntryPoint(ctx, address),
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

/** Writes an entry point rule by rule. */
export class RuleWriter {
  readonly ctx: Context;
  readonly address: EntryPointAddress;
  #now: EntryPoint;

  constructor(ctx: Context, address: EntryPointAddress, found: EntryPoint) {
    this.ctx = ctx;
    this.address = address;
    this.#now = found;
  }

  /** Returns the entry point from the last response. */
  get now(): EntryPoint {
    return this.#now;
  }

  get #path(): string {
    return `${rulesetsPath(this.address)}/${this.#now.id}/rules`;
  }

  /** Adds a rule. If the response doesn't arrive, the rule is found by its ref. */
  async add(ref: string, body: JsonObject): Promise<ZoneRule> {
    const { ctx, address } = this;
    ctx.forget(entryPointPath(address));
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
        const what = `Adding rule ${JSON.stringify(ref)} to the managed rules of ${scopeName(address)}`;
        return added(await ctx.api.post(path, { what, schema: entryPoint, body, advice }))[0];
      },
      list: async () => added(await readEntryPoint(ctx, address)),
    });
    this.#now = object.entryPoint;
    return object.rule;
  }

  /** Replaces a rule's definition, and its position if the body has one. Repeating it is safe. */
  async change({ id }: Pick<ZoneRule, "id">, body: JsonObject): Promise<void> {
    const { ctx, address } = this;
    ctx.forget(entryPointPath(address));
    const what = `Changing rule ${id} in ${scopeName(address)}`;
    const options = { what, body, schema: entryPoint, repeatable: true, advice };
    const { result } = await ctx.api.send("PATCH", `${this.#path}/${id}`, options);
    this.#now = result;
  }

  /** Deletes a rule, unless it no longer exists. */
  async remove({ id }: Pick<ZoneRule, "id">): Promise<void> {
    const { ctx, address } = this;
    ctx.forget(entryPointPath(address));
    const what = `Deleting rule ${id} in ${scopeName(address)}`;
    const schema = entryPoint.nullable().catch(null);
    const answer = await unlessAbsent(() => ctx.api.delete(`${this.#path}/${id}`, { what, schema }));
    this.#now = answer ?? { ...this.#now, rules: this.#now.rules.filter((rule) => rule.id !== id) };
  }
}

export function findByRef(found: EntryPoint | undefined, ref: string): ZoneRule | undefined {
  return found?.rules.find((rule) => rule.ref === ref);
}

/** The option of a request that says what a plan may lack. */
const entitledTo = ({ kind }: Scope): Pick<RequestOptions<unknown>, "entitlement"> =>
  kind === "zone" ? {} : { entitlement: "managed rules of an account, which need an Enterprise plan" };

/** The error code for "not entitled". Cloudflare documents a phase, and returns it for a ruleset, too. */
const NOT_ENTITLED = 50002;

const advice: NonNullable<RequestOptions<unknown>["advice"]> = ({ status, errors }) => {
  if (errors.some(({ code }) => code === NOT_ENTITLED))
    return "Your Cloudflare plan may not include this ruleset. An account's rules need an Enterprise plan, and sensitive data detection an add-on.";
  if (status === 404)
    return "If the rule was deleted outside this program, run `pulumi refresh`; the next `pulumi up` creates it again.";
  if (status !== 400) return undefined;
  if (errors.some(({ pointer }) => pointer?.endsWith("/ref") === true))
    return "Another rule has this ref. Change the resource's ref, or delete that rule.";
  return errors.some(({ pointer }) => pointer?.endsWith("/expression") === true)
    ? "Check the expression in the dashboard's expression editor."
    : "Your Cloudflare plan may not include this ruleset, or the ruleset may have changed. Run `pulumi preview`, which checks tags, rules and actions.";
};
