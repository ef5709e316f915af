import { omitAbsent } from "../basics/json";
import type { EffectiveRule } from "../rulesets/effective";
import { total } from "../rulesets/traffic";
import { eventsOfZones, MOST_ZONES, type RuleEvents, type ZoneEvents } from "../rulesets/traffic-events";
import type { Host } from "../runtime/host";
import { rightFor } from "./cells";
import type { Cell, FirewallEvents } from "./model";

/** Counts what the managed rules of zones did. */

export type EventsOf = (zoneId: string) => Promise<ZoneEvents>;

/** Returns a function that reads a zone's events, each time for as many zones as a query may name. */
export function eventReader(host: Host, zoneIds: readonly string[]): EventsOf {
  const waiting = new Map<string, Promise<ReadonlyMap<string, ZoneEvents>>>();
  return async (zoneId) => {
    if (!waiting.has(zoneId)) {
      const at = Math.floor(zoneIds.indexOf(zoneId) / MOST_ZONES) * MOST_ZONES;
      const zones = zoneIds.slice(at, at + MOST_ZONES);
      const read = eventsOfZones(host.context("survey"), zones);
      for (const each of zones) waiting.set(each, read);
    }
    const read = waiting.get(zoneId);
    waiting.delete(zoneId); // Thousands of zones don't fit into memory.
    return (await read)?.get(zoneId) ?? { unknown: "the zone wasn't asked about" };
  };
}

/** @param rules the effect of the zone's rules, by ID. */
export function eventsCell(
  found: ZoneEvents,
  rules: ReadonlyMap<string, EffectiveRule>,
): Cell<FirewallEvents> {
  if ("unknown" in found)
    return found.isForbidden === true
      ? { notReadable: "right", what: rightFor("/graphql") }
      : { notReadable: "failed", what: `firewall events: ${found.unknown}` };
  const { hours, isCut, events } = found;
  const counted = (wanted: (event: RuleEvents) => boolean): number => total(events.filter(wanted));
  const logged = events.filter(({ ruleId, action }) => [action, rules.get(ruleId)?.action].every(isLog));
  const [[top], onLog] = [byRule(events, rules), byRule(logged, rules)];
  return omitAbsent({
    hours,
    blocked: counted(({ action }) => action === "block"),
    challenged: counted(({ action }) => action.includes("challenge")),
    logged: counted(({ action }) => action === "log"),
    isSampled: events.some(({ interval }) => interval > 1) ? (true as const) : undefined,
    isCut: isCut ? (true as const) : undefined,
    top,
    onLog: onLog[0] && { rules: onLog.length, events: total(logged), top: onLog[0] },
  });
}

type OfRule = NonNullable<FirewallEvents["top"]>;

/** Adds up events by rule, the most first. */
function byRule(events: readonly RuleEvents[], rules: ReadonlyMap<string, EffectiveRule>): OfRule[] {
  const ids = [...new Set(events.map(({ ruleId }) => ruleId))].filter((id) => id !== "");
  return ids
    .map((ruleId) => {
      const own = events.filter((event) => event.ruleId === ruleId);
      return omitAbsent({ ruleId, description: rules.get(ruleId)?.description, events: total(own) });
    })
    .sort((a, b) => b.events - a.events || (a.ruleId < b.ruleId ? -1 : 1));
}

const isLog = (action: string | undefined): boolean => action === "log";
