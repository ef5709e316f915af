import type { ApiRouter } from "./context";
import { ok } from "./envelope";
import { BASE_PATH, route } from "./route";
import { accounts } from "./seed";

/** https://developers.cloudflare.com/api/resources/zones/methods/get: of a zone, who owns it and what it is called. */
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
