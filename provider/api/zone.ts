import { z } from "zod";
import type { EdgeApi } from "./client";
import { ApiError } from "./errors";

/** A zone's name and account. Both are undefined if the token lacks Zone Read. */
export interface ZoneDetails {
  readonly name: string | undefined;
  readonly accountId: string | undefined;
}

const answer = z.looseObject({
  name: z.string().nullish(),
  account: z.looseObject({ id: z.string().nullish() }).nullish(),
});

/** Reads the zone's name and account (`GET /zones/{zone_id}`). Returns neither if the token lacks Zone Read. */
export async function readZoneDetails(api: EdgeApi, id: string): Promise<ZoneDetails> {
  let details: z.infer<typeof answer> = {};
  try {
    details = await api.get(`/zones/${id}`, { what: `Reading zone ${id}`, schema: answer });
  } catch (error) {
    // A refusal is fine. If there's no response at all, later reads would also fail.
    if (!(error instanceof ApiError) || error.status === undefined || error.status >= 500) throw error;
  }
  return { name: details.name ?? undefined, accountId: details.account?.id ?? undefined };
}
