import type { Next } from "hono";
import type { ApiContext, ApiRouter } from "../context";
import { BASE_PATH } from "../route";
import { wafFailures } from "./failures";
import { phaseAt } from "./machine";
import { migrateOnPut, migrationRoutes, requireNotRetired } from "./migration";
import { previousRuleRoutes } from "./previous-rules";
import type { Services } from "../services";

/**
 * Registers the migration's routes. Must be called before the routes for rulesets are registered, because it wraps the
 * PUT of the entry point.
 */
export function wafRoutes(app: ApiRouter, services: Services): void {
  const { state, settings } = services;
  const zoneRoot = `${BASE_PATH}/zones/:zoneId`;

  app.use(`${zoneRoot}/firewall/rules`, async (c: ApiContext, next: Next) => {
    requireNotRetired(state.waf.latest(c.get("zone").id));
    await next();
  });
  app.use(`${zoneRoot}/firewall/waf/*`, async (c: ApiContext, next: Next) => {
    const waf = state.waf.latest(c.get("zone").id);
    requireNotRetired(waf);
    if (phaseAt(waf.migration, settings.clock()) === "finished") throw wafFailures.migrated();
    await next();
  });
  previousRuleRoutes(app, zoneRoot, services);

  app.use(`${zoneRoot}/waf_migration/*`, async (c: ApiContext, next: Next) => {
    requireNotRetired(state.waf.latest(c.get("zone").id));
    await next();
  });
  migrationRoutes(app, `${zoneRoot}/waf_migration`, services);
  app.put(`${zoneRoot}/rulesets/phases/http_request_firewall_managed/entrypoint`, migrateOnPut(services));
}
