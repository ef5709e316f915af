import { z } from "zod";
import { omitAbsent } from "../basics/json";
import type { ZonePlan } from "../limits";
import type { EdgeApi } from "./client";
import { ApiError } from "./errors";

/** What Cloudflare says about a zone. All members are undefined if the token lacks Zone Read. */
export interface ZoneDetails {
  readonly name?: string | undefined;
  readonly accountId?: string | undefined;
  /** Undefined also for a plan that isn't documented. */
  readonly plan?: ZonePlan | undefined;
  /** When the zone was last changed. Undefined also if it's paused or isn't active. */
  readonly activeSince?: string | undefined;
}

const answer = z.looseObject({
  name: z.string().nullish(),
  account: z.looseObject({ id: z.string().nullish() }).nullish(),
  plan: z
    .looseObject({ legacy_id: z.enum(["free", "pro", "business", "enterprise"]) })
    .nullish()
    .catch(undefined),
  modified_on: z.string().nullish().catch(undefined),
});

/** Reads a zone (`GET /zones/{zone_id}`). Returns nothing about it if the token lacks Zone Read. */
export async function readZoneDetails(api: EdgeApi, id: string): Promise<ZoneDetails> {
  let details: z.infer<typeof answer> = {};
  try {
    details = await api.get(`/zones/${id}`, { what: `Reading zone ${id}`, schema: answer });
  } catch (error) {
    // A refusal is fine. If there's no response at all, later reads would also fail.
    if (!(error instanceof ApiError) || error.status === undefined || error.status >= 500) throw error;
  }
  const { name, account, plan, status, paused, modified_on: modifiedOn } = details;
  const activeSince = status === "active" && paused === false ? modifiedOn : undefined;
  return omitAbsent({ name, accountId: account?.id, plan: plan?.legacy_id, activeSince });
}
