import { z } from "zod";
import type { ApiRouter } from "./context";
import { ok } from "./envelope";
import { paginate } from "./paging";
import { readQuery } from "./request";
import { BASE_PATH, route } from "./route";
import { accounts } from "./seed";
import type { Services } from "./services";
import type { Zone } from "./state";
import { SET_UP_AT } from "./waf/entities";

/**
 * Registers the routes for zones, and for the list of accounts:
 * https://developers.cloudflare.com/api/resources/zones/methods/list,
 * https://developers.cloudflare.com/api/resources/accounts/methods/list
 */
export function zoneRoutes(app: ApiRouter, { state, settings: { limits } }: Services): void {
  const query = z.object({
    page: z.coerce.number().pipe(z.int().min(1)).optional(),
    per_page: z.coerce.number().pipe(z.int().min(5).max(limits.maxZonesPerPage)).optional(),
    name: z.string().optional(),
    "account.id": z.string().optional(),
  });

  route(app, `${BASE_PATH}/zones`, {
    GET: (c) => {
      const { name, ...paging } = readQuery(c, query);
      const account = paging["account.id"];
      const found = state
        .zones()
        .filter((each) => name === undefined || each.name === name)
        .filter(() => account === undefined || account === accounts.main)
        .sort((a, b) => (a.name < b.name ? -1 : 1));
      const { items, info } = paginate(found, paging, limits);
      return ok(c, items.map(toWire), info);
    },
  });
  route(app, `${BASE_PATH}/accounts`, {
    GET: (c) =>
      ok(
        c,
        Object.entries(accounts).map(([name, id]) => ({ id, name, type: "standard" })),
      ),
  });
  route(app, `${BASE_PATH}/zones/:zoneId`, { GET: (c) => ok(c, toWire(c.get("zone"))) });
}

function toWire({ id, name, plan }: Zone) {
  return {
    id,
    name,
    status: "active",
    paused: false,
    created_on: SET_UP_AT,
    activated_on: SET_UP_AT,
    modified_on: SET_UP_AT,
    type: "full",
    account: { id: accounts.main, name: "main" },
    plan: { legacy_id: plan },
  };
}
