import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { ApiError } from "../api/errors";
import { permissionFor, permissionName } from "../api/permissions";
import { parseJson } from "../basics/json";
import { pluralize } from "../basics/words";
import type { Context } from "../runtime/lifecycle";

/**
 * Reads what managed rules did in a zone, from the GraphQL Analytics API: for a preview and a survey, which go on without
 * an answer, and for `edgeguard rollout`.
 * https://developers.cloudflare.com/analytics/graphql-api/tutorials/querying-firewall-events/
 */

/** Events of one rule with one outcome that are alike. */
export interface RuleEvents {
  /** Empty if the event has none. */
  readonly ruleId: string;
  /** What the rule did, such as `log`. */
  readonly action: string;
  /** How many there were. If they're sampled, Cloudflare's estimate. */
  readonly count: number;
  /** How many events a stored one stands for: 1 unless they're sampled. */
  readonly interval: number;
  /** Fields of the requests. Empty unless they were asked for. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface Events {
  readonly events: readonly RuleEvents[];
  /** Whether there are more than one response contains. */
  readonly isCut: boolean;
}

/** Why events aren't known. */
interface Unknown {
  readonly unknown: string;
  /** Present if the token lacks the permission. */
  readonly isForbidden?: true;
}

/** A zone's events of the last hours. */
export type ZoneEvents = (Events & { readonly hours: number }) | Unknown;

/** A zone's events of whole days, until now. */
export interface DaysOfEvents {
  /** When the first day begins, in milliseconds since 1970. */
  readonly from: number;
  /** Each rule's events, without their requests. */
  readonly byRule: Events;
  readonly byRequest: Events;
}

/** Cloudflare's dimensions, by the fields of the Rules language that they contain. */
const FIELDS = {
  "http.host": "clientRequestHTTPHost",
  "http.request.uri.path": "clientRequestPath",
  "http.request.method": "clientRequestHTTPMethodName",
  "ip.src": "clientIP",
  "ip.src.country": "clientCountryName",
} as const;

/** https://developers.cloudflare.com/analytics/graphql-api/limits/ */
export const MOST_ZONES = 10;

/** How much an operation asks for: Cloudflare allows 300 queries in 5 minutes. */
interface Effort {
  readonly queries: number;
  /** How long it waits for an answer, in milliseconds. */
  readonly patienceMs: number;
}
const OF_PREVIEW: Effort = { queries: 60, patienceMs: 5_000 };
/** A survey's own pace keeps it below what Cloudflare allows, and a rollout has one zone. A query waits for its turn, too. */
const OF_COMMAND: Effort = { queries: Infinity, patienceMs: 3_600_000 };

/** Resources that are checked at the same time join one query within this time, in milliseconds. */
const GATHERING_MS = 50;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Until Cloudflare has the query, its oldest event may have become too old. */
const MARGIN_MS = 60_000;

/** What Cloudflare calls the managed rules that had an event. */
export type EventSource = "firewallManaged" | "waf";

/** Reads the events of managed rules or, with the source `waf`, of the previous ones. */
export async function zoneEvents(
  ctx: Context,
  zoneId: string,
  withFields: boolean,
  source?: EventSource,
): Promise<ZoneEvents> {
  const batchOf = <T>(key: string, load: Load<T>): Batches<T> =>
    ctx.once(
      `firewall events ${key}`,
      () => new Batches(load, () => sentBy(ctx).count >= OF_PREVIEW.queries),
    );
  try {
    const dataset = await batchOf("limits", (zones) => datasetsOf(ctx, OF_PREVIEW, zones)).read(zoneId);
    if (dataset === undefined) return { unknown: NOTHING };
    const wanted = { dataset, withFields, source };
    const events = await batchOf(JSON.stringify(wanted), (zones) =>
      eventsOf(ctx, OF_PREVIEW, zones, wanted),
    ).read(zoneId);
    return events ?? { unknown: NOTHING };
  } catch (error) {
    return unanswered(error);
  }
}

/** Reads the events of managed rules in several zones, at most as many as a query may name, for a survey. */
export async function eventsOfZones(
  ctx: Context,
  zones: readonly string[],
): Promise<ReadonlyMap<string, ZoneEvents>> {
  try {
    const datasets = await datasetsOf(ctx, OF_COMMAND, zones);
    const alike = new Map<string, { readonly dataset: Dataset; readonly zones: string[] }>();
    for (const [zone, dataset] of datasets) {
      const key = JSON.stringify(dataset);
      const group = alike.get(key) ?? { dataset, zones: [] };
      alike.set(key, group);
      group.zones.push(zone);
    }
    const found = new Map<string, ZoneEvents>(zones.map((zone) => [zone, { unknown: NOTHING }]));
    for (const { dataset, zones: some } of alike.values()) {
      const wanted = { dataset, withFields: false };
      for (const [zone, events] of await eventsOf(ctx, OF_COMMAND, some, wanted)) found.set(zone, events);
    }
    return found;
  } catch (error) {
    const none = unanswered(error);
    return new Map(zones.map((zone) => [zone, none]));
  }
}

/** Returns all events of the last days, with as many queries as the plan needs. */
export async function eventsOfDays(
  ctx: Context,
  zoneId: string,
  days: number,
): Promise<DaysOfEvents | Unknown> {
  try {
    const dataset = (await datasetsOf(ctx, OF_COMMAND, [zoneId], days * 24)).get(zoneId);
    if (dataset === undefined || dataset.span < HOUR_MS) return { unknown: NOTHING };
    const kept = Math.floor(dataset.reach / DAY_MS);
    if (kept < days)
      return {
        unknown: `Cloudflare keeps them for ${pluralize(kept, "whole day")}, not for ${days}${kept > 0 ? `. Pass --days ${kept}` : ""}`,
      };
    const now = ctx.api.now();
    const from = now - days * DAY_MS;
    const read = async (withFields: boolean): Promise<Events> => {
      const parts: Events[] = [];
      // The oldest first, because they expire.
      for (let start = from; start < now; start += dataset.span) {
        const end = Math.min(now, start + dataset.span - 1);
        const wanted = { dataset: { ...dataset, span: end - start }, withFields };
        const part = (await eventsOf(ctx, OF_COMMAND, [zoneId], wanted, end)).get(zoneId);
        if (part === undefined) throw new UnansweredError(NOTHING);
        parts.push(part);
      }
      return { events: parts.flatMap(({ events }) => events), isCut: parts.some(({ isCut }) => isCut) };
    };
    return { from, byRule: await read(false), byRequest: await read(true) };
  } catch (error) {
    return unanswered(error);
  }
}

function unanswered(error: unknown): Unknown {
  if (!(error instanceof UnansweredError)) throw error;
  const { message: unknown } = error;
  return unknown === NEEDS ? { unknown, isForbidden: true } : { unknown };
}

const NOTHING = "Cloudflare offers none for the zone";

type Load<T> = (zoneIds: readonly string[]) => Promise<ReadonlyMap<string, T>>;

/** Reads several zones at once if several resources are waiting. */
class Batches<T> {
  #batch: { readonly zoneIds: string[]; readonly found: Promise<ReadonlyMap<string, T>> } | undefined;
  readonly #read = new Map<string, Promise<T | undefined>>();

  /** @param isSpent whether loading will fail, so that nothing waits for more zones. */
  constructor(
    readonly load: Load<T>,
    readonly isSpent: () => boolean,
  ) {}

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
    if (!this.isSpent()) await setTimeout(GATHERING_MS);
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
type Limits = z.output<typeof limits>;
const zoneLimits = z.object({
  zoneTag: z.string(),
  settings: z.object({
    firewallEventsAdaptiveGroups: limits.nullish(),
    firewallEventsAdaptive: limits.nullish(),
  }),
});

/** The dataset that a plan offers. Zones with the same one are read together, whatever else their plans allow. */
interface Dataset {
  readonly isGrouped: boolean;
  /** How much of the wanted hours it contains, in milliseconds. */
  readonly reach: number;
  /** How much of that one query may ask for, in milliseconds. */
  readonly span: number;
  readonly maxPageSize: number;
}

/** Returns the dataset that each zone's plan offers: groups, or single events where it has no groups. */
async function datasetsOf(
  ctx: Context,
  effort: Effort,
  zones: readonly string[],
  hours = ctx.settings.trafficHours,
): Promise<ReadonlyMap<string, Dataset>> {
  const found = await ask(ctx, effort, LIMITS, { zones }, zoneLimits);
  const datasetOf = (isGrouped: boolean, { maxDuration, notOlderThan, maxPageSize }: Limits): Dataset => {
    const reach = Math.min(hours * HOUR_MS, notOlderThan * 1_000 - MARGIN_MS);
    return { isGrouped, reach, span: Math.min(reach, maxDuration * 1_000), maxPageSize };
  };
  return new Map(
    found.flatMap(({ zoneTag, settings }): (readonly [string, Dataset])[] => {
      const { firewallEventsAdaptiveGroups: groups, firewallEventsAdaptive: single } = settings;
      if (groups?.enabled === true) return [[zoneTag, datasetOf(true, groups)]];
      return single?.enabled === true ? [[zoneTag, datasetOf(false, single)]] : [];
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

/** Which events a query asks for. */
interface Wanted {
  readonly dataset: Dataset;
  readonly withFields: boolean;
  /** Managed rules by default. */
  readonly source?: EventSource | undefined;
}

/**
 * Writes the query for a dataset. Both return the same members, at different places. The limit is written into it, because
 * Cloudflare's type for it isn't documented.
 */
function eventsQuery({ dataset: { isGrouped, maxPageSize }, withFields, source }: Wanted): string {
  const members = ["action", "ruleId", ...(withFields ? Object.values(FIELDS) : [])].join(" ");
  const [dataset, order, selected] = isGrouped
    ? ["firewallEventsAdaptiveGroups", "count_DESC", `count avg { sampleInterval } dimensions { ${members} }`]
    : ["firewallEventsAdaptive", "datetime_DESC", `sampleInterval ${members}`];
  return `query ($zones: [string!], $from: Time!, $to: Time!) {
  viewer { zones(filter: { zoneTag_in: $zones }) {
    zoneTag
    events: ${dataset}(
      filter: { datetime_geq: $from, datetime_leq: $to, source: "${source ?? "firewallManaged"}" }
      limit: ${maxPageSize}
      orderBy: [${order}]
    ) { ${selected} }
  } }
}`;
}

const named = z.looseObject({ ruleId: z.string().nullish(), action: z.string() });
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
  effort: Effort,
  zones: readonly string[],
  wanted: Wanted,
  end = ctx.api.now(),
): Promise<ReadonlyMap<string, Extract<ZoneEvents, Events>>> {
  const { span, maxPageSize } = wanted.dataset;
  const [from, to] = [end - span, end].map((at) => new Date(at).toISOString());
  const found = await ask(ctx, effort, eventsQuery(wanted), { zones, from, to }, zoneEventsShape);
  return new Map(
    found.map(({ zoneTag, events }) => [
      zoneTag,
      {
        hours: Math.max(1, Math.round(span / HOUR_MS)),
        isCut: events.length >= maxPageSize,
        events: events.map(({ count, interval, members }) => ({
          ruleId: members.ruleId ?? "",
          action: members.action,
          count: Math.round(count),
          interval,
          fields: wanted.withFields ? fieldsIn(members) : {},
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

/** Counts the queries of this operation. */
const sentBy = (ctx: Context): { count: number } => ctx.once("firewall events queries", () => ({ count: 0 }));

/** Sends one query, and returns what it says about each zone. What Cloudflare says about an error isn't printed. */
async function ask<T>(
  ctx: Context,
  { queries, patienceMs }: Effort,
  query: string,
  variables: object,
  zone: z.ZodType<T>,
): Promise<T[]> {
  const sent = sentBy(ctx);
  sent.count += 1;
  if (sent.count > queries) throw new UnansweredError("this operation has asked about enough zones");
  const given = await Promise.race([inTime(), sending()]);
  const refused = refusal.safeParse(given).data?.errors[0];
  if (refused !== undefined)
    throw new UnansweredError(refused.extensions?.code === "authz" ? NEEDS : "Cloudflare refused the query");
  const { data } = answer(zone).safeParse(given);
  if (data === undefined) throw new UnansweredError("Cloudflare's answer can't be read");
  return data;

  async function inTime(): Promise<never> {
    await setTimeout(patienceMs, undefined, { ref: false });
    throw new UnansweredError(`Cloudflare didn't answer within ${patienceMs / 1_000} s`);
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
