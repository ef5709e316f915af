import type { ApiRouter } from "./context";
import { ok } from "./envelope";
import { BASE_PATH, route } from "./route";
import { accounts } from "./seed";

/** Returns a zone's name and owner: https://developers.cloudflare.com/api/resources/zones/methods/get */
export function zoneRoutes(app: ApiRouter): void {
  route(app, `${BASE_PATH}/zones/:zoneId`, {
    GET: (c) => {
      const { id, name, plan } = c.get("zone");
      return ok(c, {
        id,
        name,
        status: "active",
        paused: false,
        type: "full",
        account: { id: accounts.main, name: "main" },
        plan: { legacy_id: plan },
      });
    },
  });
}
