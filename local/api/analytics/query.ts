import { graphql, GraphQLError, Kind, type GraphQLResolveInfo } from "graphql";
import { z } from "zod";
import type { Services } from "../services";
import type { Zone } from "../state";
import { limitsOf, type DatasetLimits, type FirewallEvent } from "./events";
import { schema } from "./schema";

const MOST_ZONES = 10;

const queried = z.object({
  filter: z.object({
    datetime_geq: z.iso.datetime().optional(),
    datetime_leq: z.iso.datetime().optional(),
    source: z.string().optional(),
  }),
  limit: z.int().min(1),
});

/** Answers a query. */
export async function answer(
  services: Services,
  source: string,
  variableValues: Readonly<Record<string, unknown>>,
) {
  const rootValue = { viewer: { zones: (args: ZonesArgs) => zonesOf(args, services) } };
  const { data = null, errors = null } = await graphql({ schema, source, rootValue, variableValues });
  return { data, errors };
}

interface ZonesArgs {
  readonly filter: { readonly zoneTag?: string; readonly zoneTag_in?: readonly string[] };
}

function zonesOf({ filter: { zoneTag, zoneTag_in: several } }: ZonesArgs, services: Services) {
  const tags = several ?? (zoneTag === undefined ? [] : [zoneTag]);
  if (tags.length === 0 || tags.length > MOST_ZONES)
    throw refused(`number of zones must be from 1 to ${MOST_ZONES}`, "budget");
  return tags.map((tag) => {
    const zone = services.state.zone(tag);
    if (zone === undefined) throw refused(`not authorized for that zone`, "authz");
    return resolversOf(zone, services);
  });
}

function resolversOf(zone: Zone, { state, settings }: Services) {
  const [groups, raw] = [limitsOf(zone.plan, "groups"), limitsOf(zone.plan, "raw")];
  const found = (args: unknown, limits: DatasetLimits): { events: FirewallEvent[]; limit: number } => {
    const { filter, limit } = queried.parse(args);
    checkLimits(filter, limit, limits, settings.clock());
    const { datetime_geq: from, datetime_leq: to, source } = filter;
    const events = state
      .firewallEvents(zone.id)
      .filter(({ datetime }) => from === undefined || Date.parse(datetime) >= Date.parse(from))
      .filter(({ datetime }) => to === undefined || Date.parse(datetime) <= Date.parse(to))
      .filter((event) => source === undefined || event.source === source);
    return { events, limit };
  };
  return {
    zoneTag: zone.id,
    settings: { firewallEventsAdaptive: raw, firewallEventsAdaptiveGroups: groups },
    firewallEventsAdaptive: (args: unknown) => {
      const { events, limit } = found(args, raw);
      return events.slice(0, limit);
    },
    firewallEventsAdaptiveGroups: (args: unknown, _context: unknown, info: GraphQLResolveInfo) => {
      const { events, limit } = found(args, groups);
      return grouped(events, dimensionsIn(info)).slice(0, limit);
    },
  };
}

function checkLimits(
  { datetime_geq: from, datetime_leq: to }: z.output<typeof queried>["filter"],
  limit: number,
  limits: DatasetLimits,
  now: Date,
): void {
  if (!limits.enabled) throw refused("zone does not have access to the path", "authz");
  const start = from === undefined ? 0 : Date.parse(from);
  const end = to === undefined ? now.getTime() : Date.parse(to);
  if (end - start > limits.maxDuration * 1_000)
    throw refused(`cannot request a time range wider than ${limits.maxDuration}s`, "quota");
  if (now.getTime() - start > limits.notOlderThan * 1_000)
    throw refused(`cannot request data older than ${limits.notOlderThan}s`, "quota");
  if (limit > limits.maxPageSize) throw refused(`limit must be at most ${limits.maxPageSize}`, "quota");
}

const refused = (message: string, code: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code } });

type Dimension = keyof FirewallEvent;

/** Returns the dimensions that the query selects, which the groups are made by. */
function dimensionsIn({ fieldNodes }: GraphQLResolveInfo): Dimension[] {
  const selected = fieldNodes.flatMap(({ selectionSet }) => selectionSet?.selections ?? []);
  return selected.flatMap((node) =>
    node.kind === Kind.FIELD && node.name.value === "dimensions"
      ? (node.selectionSet?.selections ?? []).flatMap((each) =>
          each.kind === Kind.FIELD ? [each.name.value as Dimension] : [],
        )
      : [],
  );
}

/** Groups events by dimensions, the most frequent first. A count includes the events that sampling left out. */
function grouped(events: readonly FirewallEvent[], dimensions: readonly Dimension[]) {
  const groups = new Map<string, FirewallEvent[]>();
  for (const event of events) {
    const key = JSON.stringify(dimensions.map((name) => event[name]));
    groups.set(key, [...(groups.get(key) ?? []), event]);
  }
  return [...groups.values()]
    .map((some) => {
      const count = some.reduce((sum, { sampleInterval }) => sum + sampleInterval, 0);
      return { count, avg: { sampleInterval: count / some.length }, dimensions: some[0] };
    })
    .sort((a, b) => b.count - a.count);
}
