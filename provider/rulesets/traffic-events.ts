import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { ApiError } from "../api/errors";
import { permissionFor, permissionName } from "../api/permissions";
import { parseJson } from "../basics/json";
import type { Context } from "../runtime/lifecycle";

/**
 * Reads what managed rules did in a zone, from the GraphQL Analytics API. Only a preview asks, and it goes on without an
 * answer.
 * https://developers.cloudflare.com/analytics/graphql-api/tutorials/querying-firewall-events/
 */

/** Events of one rule with one outcome that are alike. */
export interface RuleEvents {
  readonly ruleId: string;
  /** What the rule did, such as `log`. */
  readonly action: string;
  /** How many there were. If they're sampled, Cloudflare's estimate. */
  readonly count: number;
  readonly isSampled: boolean;
  /** Fields of the requests. Empty unless they were asked for. */
  readonly fields: Readonly<Record<string, string>>;
}

/** A zone's events, or why they aren't known. */
export type ZoneEvents =
  | {
      readonly hours: number;
      readonly events: readonly RuleEvents[];
      /** Whether there are more than one response contains. */
      readonly isCut: boolean;
    }
  | { readonly unknown: string };

/** Cloudflare's dimensions, by the fields of the Rules language that they contain. */
const FIELDS = {
  "http.host": "clientRequestHTTPHost",
  "http.request.uri.path": "clientRequestPath",
  "http.request.method": "clientRequestHTTPMethodName",
  "ip.src": "clientIP",
  "ip.src.country": "clientCountryName",
} as const;

/** https://developers.cloudflare.com/analytics/graphql-api/limits/ */
const MOST_ZONES = 10;

/** A preview of many zones asks for this many answers at most. Cloudflare allows 300 queries in 5 minutes. */
const MOST_QUERIES = 60;

/** A preview waits this long for an answer, in milliseconds. */
const PATIENCE_MS = 5_000;

/** Resources that are checked at the same time join one query within this time, in milliseconds. */
const GATHERING_MS = 50;

const HOUR_MS = 3_600_000;

/** Until Cloudflare has the query, its oldest event may have become too old. */
const MARGIN_MS = 60_000;

export async function zoneEvents(ctx: Context, zoneId: string, withFields: boolean): Promise<ZoneEvents> {
  const batchOf = <T>(key: string, load: Load<T>): Batches<T> =>
    ctx.once(`firewall events ${key}`, () => new Batches(load));
  try {
    const dataset = await batchOf("limits", (zones) => datasetsOf(ctx, zones)).read(zoneId);
    if (dataset === undefined) return { unknown: NOTHING };
    const key = JSON.stringify([dataset, withFields]);
    const events = await batchOf(key, (zones) => eventsOf(ctx, zones, dataset, withFields)).read(zoneId);
    return events ?? { unknown: NOTHING };
  } catch (error) {
    if (error instanceof UnansweredError) return { unknown: error.message };
    throw error;
  }
}

const NOTHING = "Cloudflare returned nothing about the zone";

type Load<T> = (zoneIds: readonly string[]) => Promise<ReadonlyMap<string, T>>;

/** Reads several zones at once if several resources are waiting. */
class Batches<T> {
  #batch: { readonly zoneIds: string[]; readonly found: Promise<ReadonlyMap<string, T>> } | undefined;
  readonly #read = new Map<string, Promise<T | undefined>>();

  constructor(readonly load: Load<T>) {}

  read(zoneId: string): Promise<T | undefined> {
    const read = this.#read.get(zoneId) ?? this.#join(zoneId);
    this.#read.set(zoneId, read);
    return read;
  }

  async #join(zoneId: string): Promise<T | undefined> {
    if (this.#batch === undefined || this.#batch.zoneIds.length >= MOST_ZONES) {
      const zoneIds: string[] = [];
      this.#batch = { zoneIds, found: this.#soon(zoneIds) };
    }
    const { zoneIds, found } = this.#batch;
    zoneIds.push(zoneId);
    return (await found).get(zoneId);
  }

  async #soon(zoneIds: readonly string[]): Promise<ReadonlyMap<string, T>> {
    await setTimeout(GATHERING_MS);
    if (this.#batch?.zoneIds === zoneIds) this.#batch = undefined;
    return await this.load(zoneIds);
  }
}

const limits = z.object({
  enabled: z.boolean(),
  maxDuration: z.number(),
  maxPageSize: z.number(),
  notOlderThan: z.number(),
});
const zoneLimits = z.object({
  zoneTag: z.string(),
  settings: z.object({
    firewallEventsAdaptiveGroups: limits.nullish(),
    firewallEventsAdaptive: limits.nullish(),
  }),
});

/** The dataset that a plan offers, with its limits. */
interface Dataset extends z.output<typeof limits> {
  readonly isGrouped: boolean;
}

/** Returns the dataset that each zone's plan offers: groups, or single events where it has no groups. */
async function datasetsOf(ctx: Context, zones: readonly string[]): Promise<ReadonlyMap<string, Dataset>> {
  const found = await ask(ctx, LIMITS, { zones }, zoneLimits);
  return new Map(
    found.flatMap(({ zoneTag, settings }): (readonly [string, Dataset])[] => {
      const { firewallEventsAdaptiveGroups: groups, firewallEventsAdaptive: single } = settings;
      if (groups?.enabled === true) return [[zoneTag, { ...groups, isGrouped: true }]];
      return single?.enabled === true ? [[zoneTag, { ...single, isGrouped: false }]] : [];
    }),
  );
}

const permission = permissionFor("POST", "/graphql");
const NEEDS = `the token needs ${permission === undefined ? "a permission" : permissionName(permission)}`;

/** Why there's no answer. */
class UnansweredError extends Error {}

const LIMITS = `query ($zones: [string!]) {
  viewer { zones(filter: { zoneTag_in: $zones }) {
    zoneTag
    settings {
      firewallEventsAdaptiveGroups { enabled maxDuration maxPageSize notOlderThan }
      firewallEventsAdaptive { enabled maxDuration maxPageSize notOlderThan }
    }
  } }
}`;

/** Writes the query for a dataset. Both return the same members, at different places. */
function eventsQuery(isGrouped: boolean, withFields: boolean): string {
  const members = ["action", "ruleId", ...(withFields ? Object.values(FIELDS) : [])].join(" ");
  const [dataset, order, selected] = isGrouped
    ? ["firewallEventsAdaptiveGroups", "count_DESC", `count avg { sampleInterval } dimensions { ${members} }`]
    : ["firewallEventsAdaptive", "datetime_DESC", `sampleInterval ${members}`];
  return `query ($zones: [string!], $from: Time!, $to: Time!, $limit: Int!) {
  viewer { zones(filter: { zoneTag_in: $zones }) {
    zoneTag
    events: ${dataset}(
      filter: { datetime_geq: $from, datetime_leq: $to, source: "firewallManaged" }
      limit: $limit
      orderBy: [${order}]
    ) { ${selected} }
  } }
}`;
}

const named = z.looseObject({ ruleId: z.string(), action: z.string() });
const group = z
  .object({ count: z.number(), avg: z.object({ sampleInterval: z.number() }), dimensions: named })
  .transform(({ count, avg, dimensions }) => ({ count, interval: avg.sampleInterval, members: dimensions }));
const single = named.extend({ sampleInterval: z.number() }).transform(({ sampleInterval, ...members }) => ({
  count: sampleInterval,
  interval: sampleInterval,
  members,
}));
const zoneEventsShape = z.object({ zoneTag: z.string(), events: z.array(z.union([group, single])) });

async function eventsOf(
  ctx: Context,
  zones: readonly string[],
  { isGrouped, maxDuration, notOlderThan, maxPageSize }: Dataset,
  withFields: boolean,
): Promise<ReadonlyMap<string, ZoneEvents>> {
  const wanted = ctx.settings.trafficHours * HOUR_MS;
  const span = Math.min(wanted, maxDuration * 1_000, notOlderThan * 1_000 - MARGIN_MS);
  const now = ctx.api.now();
  const [from, to] = [now - span, now].map((at) => new Date(at).toISOString());
  const variables = { zones, from, to, limit: maxPageSize };
  const found = await ask(ctx, eventsQuery(isGrouped, withFields), variables, zoneEventsShape);
  return new Map(
    found.map(({ zoneTag, events }) => [
      zoneTag,
      {
        hours: Math.max(1, Math.round(span / HOUR_MS)),
        isCut: events.length >= maxPageSize,
        events: events.map(({ count, interval, members }) => ({
          ruleId: members.ruleId,
          action: members.action,
          count: Math.round(count),
          isSampled: interval > 1,
          fields: withFields ? fieldsIn(members) : {},
        })),
      },
    ]),
  );
}

function fieldsIn(members: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(FIELDS).flatMap(([field, dimension]) => {
      const value = members[dimension];
      return typeof value === "string" ? [[field, value] as const] : [];
    }),
  );
}

const answer = <T>(zone: z.ZodType<T>): z.ZodType<T[]> =>
  z
    .object({ data: z.object({ viewer: z.object({ zones: z.array(zone) }) }) })
    .transform(({ data }) => data.viewer.zones);
const refusal = z.object({
  errors: z
    .array(z.object({ extensions: z.object({ code: z.string() }).optional().catch(undefined) }))
    .min(1),
});

/** Sends one query, and returns what it says about each zone. What Cloudflare says about an error isn't printed. */
async function ask<T>(ctx: Context, query: string, variables: object, zone: z.ZodType<T>): Promise<T[]> {
  const sent = ctx.once("firewall events queries", () => ({ count: 0 }));
  sent.count += 1;
  if (sent.count > MOST_QUERIES) throw new UnansweredError("this operation has asked about enough zones");
  const given = await Promise.race([inTime(), sending()]);
  const refused = refusal.safeParse(given).data?.errors[0];
  if (refused !== undefined)
    throw new UnansweredError(refused.extensions?.code === "authz" ? NEEDS : "Cloudflare refused the query");
  const { data } = answer(zone).safeParse(given);
  if (data === undefined) throw new UnansweredError("Cloudflare's answer can't be read");
  return data;

  async function inTime(): Promise<never> {
    await setTimeout(PATIENCE_MS, undefined, { ref: false });
    throw new UnansweredError(`Cloudflare didn't answer within ${PATIENCE_MS / 1_000} s`);
  }
  async function sending(): Promise<unknown> {
    try {
      return parseJson(await ctx.api.query({ query, variables }));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw new UnansweredError(
        error.status === 401 || error.status === 403 ? NEEDS : "Cloudflare didn't answer",
      );
    }
  }
}
