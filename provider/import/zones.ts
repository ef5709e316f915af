import { z } from "zod";
import { ApiError } from "../api/errors";
import type { Host } from "../runtime/host";
import { oneLine } from "./names";

/** An account to read. Its name isn't known. */
export interface Account {
  readonly id: string;
  /** How messages name it. */
  readonly what: string;
}

export function accountOf(id: string): Account {
  return { id, what: `account ${id}` };
}

/** A zone to read. */
export interface Zone {
  readonly id: string;
  /** How messages name it: `zone shop.example`, or by its ID. */
  readonly what: string;
  /** Undefined if the token lacks Zone Read. */
  readonly name: string | undefined;
  /** Undefined if the token lacks Zone Read. */
  readonly accountId: string | undefined;
}

const answer = z.looseObject({
  name: z.string().nullish(),
  account: z.looseObject({ id: z.string().nullish() }).nullish(),
});

/**
 * Reads the zone's name and account (`GET /zones/{zone_id}`). A token for the imported products may lack Zone Read; then the
 * zone is named by its ID.
 */
export async function readZone(host: Host, id: string): Promise<Zone> {
  let details: z.infer<typeof answer> = {};
  try {
    details = await host.api.get(`/zones/${id}`, { what: `Reading zone ${id}`, schema: answer });
  } catch (error) {
    // A refusal is fine. Without any response, later reads would fail, too.
    if (!(error instanceof ApiError) || error.status === undefined || error.status >= 500) throw error;
  }
  const name = oneLine(details.name ?? "") || undefined;
  return { id, name, what: `zone ${name ?? id}`, accountId: details.account?.id ?? undefined };
}
