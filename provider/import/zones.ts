import { z } from "zod";
import { ApiError } from "../api/errors";
import type { Host } from "../runtime/host";
import { oneLine } from "./names";

/** An account that is read; nothing tells its name. */
export interface Account {
  readonly id: string;
  /** As messages call it. */
  readonly what: string;
}

export function accountOf(id: string): Account {
  return { id, what: `account ${id}` };
}

/** A zone that is read. */
export interface Zone {
  readonly id: string;
  /** As messages call it: `zone shop.example`, or its ID. */
  readonly what: string;
  /** Undefined where the token may not read the zone itself. */
  readonly name: string | undefined;
  /** The account it belongs to; undefined as the name is. */
  readonly accountId: string | undefined;
}

const answer = z.looseObject({
  name: z.string().nullish(),
  account: z.looseObject({ id: z.string().nullish() }).nullish(),
});

/**
 * The zone's name and account (`GET /zones/{zone_id}`). A token with the rights of what is imported may lack Zone Read:
 * where the request is refused, the zone goes by its ID.
 */
export async function readZone(host: Host, id: string): Promise<Zone> {
  let details: z.infer<typeof answer> = {};
  try {
    details = await host.api.get(`/zones/${id}`, { what: `Reading zone ${id}`, schema: answer });
  } catch (error) {
    // An answer, even a refusal; without one the reading would go no further either.
    if (!(error instanceof ApiError) || error.status === undefined || error.status >= 500) throw error;
  }
  const name = oneLine(details.name ?? "") || undefined;
  return { id, name, what: `zone ${name ?? id}`, accountId: details.account?.id ?? undefined };
}
