import { z } from "zod";
import type { MiddlewareHandler } from "hono";
import type { ApiContext, ApiEnv, ApiRouter } from "../context";
import { type ApiFailure, ok } from "../envelope";
import { bodyJson } from "../request";
import { route } from "../route";
import { bypassing, equivalent } from "./conversion";
import type { Phase, WafZone } from "./entities";
import { wafFailures } from "./failures";
import { statusToWire } from "./formatters";
import { advance, decide, phaseAt, type Trigger } from "./machine";
import type { Services } from "../services";
import type { Limits } from "../limits";

/** Registers `/zones/{zone_id}/waf_migration`: the check, the proposed configuration and the status. */
export function migrationRoutes(app: ApiRouter, root: string, { state, settings }: Services): void {
  const now = () => settings.clock();
  const visible = (c: ApiContext) => state.waf.visible(c.get("zone").id);

  route(app, `${root}/check`, {
    GET: (c) => {
      requirePhaseTwo(c);
      const waf = visible(c);
      const phase = phaseAt(waf.migration, now());
      const { stateNames } = settings.waf;
      // As documented, only URI-based overrides count. The PUT rejects whatever else blocks a migration.
      const compatible = phase !== "finished" && waf.overrides.length === 0;
      // Observed: the state can be missing if there is nothing to migrate.
      return ok(c, {
        compatible,
        ...(compatible || phase !== "start" ? { migration_state: stateNames[phase] } : {}),
      });
    },
  });

  route(app, `${root}/config`, {
    GET: (c) => {
      requirePhaseTwo(c);
      const waf = visible(c);
      if (phaseAt(waf.migration, now()) === "finished") throw wafFailures.nothingToMigrate();
      // As in Cloudflare's guide, members that are filled in later are empty strings.
      const rules = equivalent(waf).map((rule) => ({ id: "", version: "", ref: "", ...rule }));
      return ok(c, { name: "default", rules });
    },
  });

  route(app, `${root}/status`, {
    GET: (c) => ok(c, statusToWire(phaseAt(visible(c).migration, now()), settings.waf)),
  });
}

/**
 * Wraps the PUT of a zone's entry point, and migrates the zone when the PUT succeeds. Nothing in between waits for the
 * network, so two migrations of a zone can't interleave.
 */
export function migrateOnPut({ state, settings }: Services): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const trigger = triggerOf(c);
    const zone = c.get("zone");
    const waf = state.waf.latest(zone.id);
    const phase = phaseAt(waf.migration, settings.clock());
    if (trigger === undefined) {
      const prepares = phase === "start" && waf.migration.retired === null && zone.plan !== "enterprise";
      if (prepares) await requireDisabled(c);
      return next();
    }

    requireNotRetired(waf);
    const decision = decide(phase, trigger, zone.plan);
    if ("refused" in decision) throw wafFailures[decision.refused]();
    if (phase === "start" || phase === "validation") requireMigratable(waf, settings.limits);
    await next();
    if (!c.res.ok) return;

    const moved = moveTo(decision.to, { state, settings }, zone.id, { from: phase, trigger, by: "put" });
    const [status, ...later] = moved.migration.failsAfterPut;
    if (status === undefined || decision.to === phase) return;
    state.waf.write(zone.id, { ...moved, migration: { ...moved.migration, failsAfterPut: later } });
    throw wafFailures.afterPut(status);
  };
}

/** Records the step once the rules are saved. */
export function moveTo(
  to: Phase,
  { state, settings }: Pick<Services, "state" | "settings">,
  zoneId: string,
  step: { from: Phase; trigger: Trigger; by: "put" | "dashboard" },
): WafZone {
  const waf = state.waf.latest(zoneId);
  const saved = state.rulesets.latest(zoneId);
  const taken = {
    ...step,
    to,
    at: settings.clock().toISOString(),
    rules: saved?.rules.length ?? 0,
    entry_point_version: saved?.version ?? 0,
  };
  const moved = { ...waf, migration: advance(waf.migration, taken, settings.waf.pendingMs) };
  state.waf.write(zoneId, moved);
  return moved;
}

/** Throws if the zone is blocked. */
export function requireMigratable(waf: WafZone, limits: Services["settings"]["limits"]): void {
  const [first] = [...overridesLeft(waf), ...supportNeeded(waf, limits)];
  if (first !== undefined) throw first;
}

/** Throws if the API is retired. The previous rules and the migration then return the same error. */
export function requireNotRetired({ migration: { retired } }: WafZone): void {
  if (retired !== null) throw wafFailures.retired(retired);
}

function triggerOf(c: ApiContext): Trigger | undefined {
  const mode = c.req.query("waf_migration");
  if (mode === undefined) return undefined;
  requirePhaseTwo(c);
  if (mode === "pending" || mode === "1") return "finish";
  if (mode === "validation" || mode === "2") return "validate";
  throw wafFailures.modeUnknown(mode);
}

function requirePhaseTwo(c: ApiContext): void {
  if (c.req.query("phase_two") !== "1") throw wafFailures.phaseTwoMissing();
}

/**
 * Throws if a zone would run new rules before its migration, which only Enterprise zones may. The route itself rejects
 * an invalid body.
 */
async function requireDisabled(c: ApiContext): Promise<void> {
  const parsed = plainRules.safeParse((await bodyJson(c))?.value);
  const index = parsed.data?.rules.findIndex(({ enabled }) => enabled !== false) ?? -1;
  if (index >= 0) throw wafFailures.enabledTooEarly(index);
}

const plainRules = z.object({ rules: z.array(z.object({ enabled: z.unknown().optional() })) });

/** Returns why the zone can't migrate. */
function overridesLeft({ overrides }: WafZone): ApiFailure[] {
  return overrides.length === 0 ? [] : [wafFailures.overridesLeft(overrides.length)];
}

/** Returns why Cloudflare Support has to migrate the zone. Counts only firewall rules that are migrated. */
function supportNeeded(zone: WafZone, limits: Limits): ApiFailure[] {
  const { maxMigratableRules: mostRules, maxMigratableExpressionBytes: mostBytes } = limits;
  const rules = bypassing(zone);
  const tooMany = rules.length > mostRules ? [wafFailures.tooManyRules(rules.length, mostRules)] : [];
  const tooLong = rules.flatMap(({ id, expression }) => {
    const bytes = Buffer.byteLength(expression);
    return bytes > mostBytes ? [wafFailures.expressionTooLong(id, bytes, mostBytes)] : [];
  });
  return [...tooMany, ...tooLong];
}
