import { z } from "zod";
import type { ApiContext, ApiRouter } from "../context";
import { ok } from "../envelope";
import { readBody } from "../request";
import { route } from "../route";
import { changeSetting } from "./changes";
import { onOff, type WafZone } from "./entities";
import { wafFailures } from "./failures";
import * as wire from "./formatters";
import { listed } from "./listing";
import { phaseAt } from "./machine";
import type { Services } from "../services";

/**
 * Registers routes for the zone's WAF setting, firewall rules and page rules, which aren't in the tested part of the
 * OpenAPI schema. Firewall rules and page rules remain after a migration.
 */
export function zoneRuleRoutes(app: ApiRouter, zoneRoot: string, { state, settings }: Services): void {
  const visible = (c: ApiContext) => state.waf.visible(c.get("zone").id);
  const isOver = ({ migration }: WafZone) => phaseAt(migration, settings.clock()) === "finished";
  const settingToWire = (waf: WafZone) => ({ id: "waf", ...waf.setting, editable: !isOver(waf) });

  route(app, `${zoneRoot}/settings/waf`, {
    GET: (c) => ok(c, settingToWire(visible(c))),
    PATCH: async (c) => {
      const { value } = await readBody(c, z.object({ value: onOff }));
      const old = state.waf.latest(c.get("zone").id);
      if (isOver(old)) throw wafFailures.migrated();
      const changed = changeSetting(old, value, settings.clock());
      state.waf.write(c.get("zone").id, changed);
      return ok(c, settingToWire(changed));
    },
  });

  route(app, `${zoneRoot}/firewall/rules`, {
    GET: (c) => listed(c, visible(c).firewallRules.map(wire.firewallRuleToWire), settings.limits),
  });

  // A single response, without pages.
  route(app, `${zoneRoot}/pagerules`, { GET: (c) => ok(c, visible(c).pageRules.map(wire.pageRuleToWire)) });
}
