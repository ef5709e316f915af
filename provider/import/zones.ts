import type { Host } from "../runtime/host";
import { readZoneDetails } from "../runtime/zone";
import { oneLine } from "./names";

/** An account to read, whose name isn't known. */
export interface Account {
  readonly id: string;
  /** The account's name in messages. */
  readonly what: string;
}

export function accountOf(id: string): Account {
  return { id, what: `account ${id}` };
}

/** A zone to read. */
export interface Zone {
  readonly id: string;
  /** The zone's name in messages: `zone shop.example`, or with its ID. */
  readonly what: string;
  /** The zone's name. Undefined if the token lacks Zone Read. */
  readonly name: string | undefined;
  /** The ID of the zone's account. Undefined if the token lacks Zone Read. */
  readonly accountId: string | undefined;
}

/** Reads a zone, which is named by its ID if the token lacks Zone Read. */
export async function readZone(host: Host, id: string): Promise<Zone> {
  const details = await readZoneDetails(host.api, id);
  const name = oneLine(details.name ?? "") || undefined;
  return { id, name, what: `zone ${name ?? id}`, accountId: details.accountId };
}
