import type { Host } from "../runtime/host";
import { readZoneDetails } from "../api/zone";
import { ID } from "../runtime/fields";
import { zoneNamed } from "../terminal/zones";
import { oneLine } from "./names";

/** An account to read. */
export interface Account {
  readonly id: string;
  /** How messages refer to the account: by its ID, because its name isn't known. */
  readonly what: string;
}

export function accountOf(id: string): Account {
  return { id, what: `account ${id}` };
}

/** A zone to read. */
export interface Zone {
  readonly id: string;
  /** How messages refer to the zone: `zone shop.example`, or by its ID if the name is unknown. */
  readonly what: string;
  /** The zone's name. Undefined if the token lacks Zone Read. */
  readonly name: string | undefined;
  /** The ID of the zone's account. Undefined if the token lacks Zone Read. */
  readonly accountId: string | undefined;
  /** When the zone was last changed. Undefined also if it's paused or isn't active. */
  readonly activeSince: string | undefined;
}

/**
 * Reads a zone's name and account. If the token lacks Zone Read, messages use the zone's ID.
 *
 * @param given the zone's ID or name.
 */
export async function readZone(host: Host, given: string, account: string | undefined): Promise<Zone> {
  const id = ID.is(given)
    ? given.toLowerCase()
    : (await zoneNamed(host.api, given, { option: "--zone", account })).id;
  const { accountId, activeSince, ...details } = await readZoneDetails(host.api, id);
  const name = oneLine(details.name ?? "") || undefined;
  return { id, name, what: `zone ${name ?? id}`, accountId, activeSince };
}
