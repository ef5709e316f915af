import { z } from "zod";
import type { ZonePlan } from "../limits";
import type { EdgeApi } from "./client";
import { ApiError } from "./errors";

/** A zone's name, account and plan. All are undefined if the token lacks Zone Read. */
export interface ZoneDetails {
  readonly name?: string | undefined;
  readonly accountId?: string | undefined;
  /** Undefined also for a plan that isn't documented. */
  readonly plan?: ZonePlan | undefined;
}

const answer = z.looseObject({
  name: z.string().nullish(),
  account: z.looseObject({ id: z.string().nullish() }).nullish(),
  plan: z
    .looseObject({ legacy_id: z.enum(["free", "pro", "business", "enterprise"]) })
    .nullish()
    .catch(undefined),
});

/** Reads the zone's name, account and plan (`GET /zones/{zone_id}`). Returns none of them if the token lacks Zone Read. */
export async function readZoneDetails(api: EdgeApi, id: string): Promise<ZoneDetails> {
  let details: z.infer<typeof answer> = {};
  try {
    details = await api.get(`/zones/${id}`, { what: `Reading zone ${id}`, schema: answer });
  } catch (error) {
    // A refusal is fine. If there's no response at all, later reads would also fail.
    if (!(error instanceof ApiError) || error.status === undefined || error.status >= 500) throw error;
  }
  const { name, account, plan } = details;
  return { name: name ?? undefined, accountId: account?.id ?? undefined, plan: plan?.legacy_id };
}
