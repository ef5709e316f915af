import type { ApiRouter } from "../context";
import { CONTROL_PATH } from "../paths";
import { readBody, readId } from "../request";
import { inDashboard, viewOf, wafAction } from "./dashboard";
import { changed, wafSettingsChange } from "./settings";
import type { Services } from "../services";

/** Ours: what a zone's migration has come to, who else works on it, and what nobody has documented. */
export function wafControlRoutes(app: ApiRouter, services: Services): void {
  const path = `${CONTROL_PATH}/zones/:zoneId/waf`;
  app.get(path, (c) => c.json(viewOf(services, readId(c, "zoneId"))));
  app.post(path, async (c) => {
    return c.json(inDashboard(services, readId(c, "zoneId"), await readBody(c, wafAction)));
  });

  const { settings } = services;
  app.get(`${CONTROL_PATH}/waf`, (c) => c.json(settings.waf));
  app.patch(`${CONTROL_PATH}/waf`, async (c) => {
    settings.waf = changed(settings.waf, await readBody(c, wafSettingsChange));
    return c.json(settings.waf);
  });
}
