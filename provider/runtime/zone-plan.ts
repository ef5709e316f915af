import { ApiError } from "../api/errors";
import { readZoneDetails } from "../api/zone";
import { inSeries } from "../basics/words";
import type { ZonePlan } from "../limits";
import type { CheckFailure } from "./inputs";
import type { Context } from "./lifecycle";

/**
 * Returns a failure if the zone's plan doesn't include a feature. Reads the zone once per operation. If the plan can't
 * be read, the update finds out.
 *
 * @param within the plans that include the feature.
 */
export async function notInPlan(
  ctx: Context,
  zone: string,
  feature: string,
  within: readonly ZonePlan[],
): Promise<readonly CheckFailure[]> {
  const { name = zone, plan } = await ctx.once(`zone ${zone}`, async () => {
    try {
      return await readZoneDetails(ctx.api, zone);
    } catch (error) {
      if (error instanceof ApiError) return {};
      throw error;
    }
  });
  if (plan === undefined || within.includes(plan)) return [];
  const reason = `the ${plan} plan of zone ${ctx.api.quote(name)} doesn't include ${feature}. Upgrade the zone to ${inSeries(within, "or")}, or remove this resource`;
  return [{ property: "zoneId", reason }];
}
