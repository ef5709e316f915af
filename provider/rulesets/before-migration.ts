import { ApiError } from "../api/errors";
import { readState } from "../migration/api";
import { stepIn } from "../migration/state";
import type { Context } from "../runtime/lifecycle";
import type { Declared } from "./deployment";

/**
 * Warns about a new rule in a zone that can still migrate. The migration's rules come after those of the zone, so its
 * exceptions don't act on them.
 */
export async function warnBeforeMigration(ctx: Context, { zoneId, phase, ref }: Declared): Promise<void> {
  if (zoneId === undefined || phase !== undefined) return;
  // Both take the lock of the zone's rules, and the migration asks for it first.
  if (ctx.isClaimed("WafMigration", stepIn(zoneId))) return;
  const state = await ctx.once(`migration state of zone ${zoneId}`, async () => {
    try {
      return await readState(ctx.api, zoneId);
    } catch (error) {
      // Cloudflare has announced that it will retire the migration, but not which error it will return then.
      if (error instanceof ApiError) return undefined;
      throw error;
    }
  });
  if (state?.phase === "start")
    ctx.say.warn(
      `managed ruleset ${JSON.stringify(ref)}: zone ${zoneId} can still migrate from the previous WAF managed rules. The exceptions that the migration adds will come after this ruleset, so they will have no effect on it. Migrate the zone first, with a WafMigration. If this program migrates it, let this resource depend on the migration: their order isn't known.`,
    );
}
