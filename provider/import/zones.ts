import type { Host } from "../runtime/host";
import { readZoneDetails } from "../runtime/zone";
import { oneLine } from "./names";

/** An account to read. Its name isn't known. */
export interface Account {
  readonly id: string;
  /** What messages call the account. */
  readonly what: string;
}

export function accountOf(id: string): Account {
  return { id, what: `account ${id}` };
}

/** A zone to read. */
export interface Zone {
  readonly id: string;
  /** What messages call the zone: `zone shop.example`, or the same with its ID. */
  readonly what: string;
  /** The zone's name. Undefined if the token lacks Zone Read. */
  readonly name: string | undefined;
  /** The ID of the zone's account. Undefined if the token lacks Zone Read. */
  readonly accountId: string | undefined;
}

/** Reads a zone. If the token lacks Zone Read, messages call it by its ID. */
export async function readZone(host: Host, id: string): Promise<Zone> {
  const details = await readZoneDetails(host.api, id);
  const name = oneLine(details.name ?? "") || undefined;
  return { id, name, what: `zone ${name ?? id}`, accountId: details.accountId };
}
