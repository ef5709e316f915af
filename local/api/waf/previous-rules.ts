import { z } from "zod";
import type { ApiContext, ApiRouter } from "../context";
import { failures, ok } from "../envelope";
import { paginate } from "../paging";
import { readId, readQuery } from "../request";
import { route } from "../route";
import type { Services } from "../services";
import { type Package, packages } from "./catalog";
import { ruleId } from "./entities";
import { inDashboard } from "./dashboard";
import * as wire from "./formatters";

interface Identified {
  readonly id: string;
}

/**
 * Registers the routes that read a zone's previous rules, and the one that deletes an override. Tests change the rest as
 * someone in the dashboard would, through `inDashboard`. Firewall rules and page rules remain after a migration; firewall
 * rules go when Cloudflare retires the previous WAF.
 */
export function previousRuleRoutes(app: ApiRouter, zoneRoot: string, services: Services): void {
  const { state, settings } = services;
  const { limits } = settings;
  const { minWafPerPage: least, maxPerPage: most } = limits;
  const paging = z.object({
    page: z.coerce.number().pipe(z.int().min(1)).optional(),
    per_page: z.coerce.number().pipe(z.int().min(least).max(most)).optional(),
  });
  const visible = (c: ApiContext) => state.waf.visible(c.get("zone").id);
  const listed = (c: ApiContext, records: readonly Identified[]) => {
    const paged = paginate(records, readQuery(c, paging), {
      ...limits,
      defaultPerPage: limits.defaultWafPerPage,
    });
    return ok(c, paged.items, paged.info);
  };
  const collection = (
    path: string,
    what: string,
    recordsOf: (c: ApiContext) => readonly Identified[],
    remove?: (c: ApiContext, id: string) => void,
  ) => {
    const recordOf = (c: ApiContext): Identified => {
      const id = ruleId.safeParse(c.req.param("recordId"));
      if (!id.success) throw failures.notRouted(400, c.req.path);
      const found = recordsOf(c).find((each) => each.id === id.data);
      if (found === undefined) throw failures.notFound(what);
      return found;
    };
    route(app, path, { GET: (c) => listed(c, recordsOf(c)) });
    route(app, `${path}/:recordId`, {
      GET: (c) => ok(c, recordOf(c)),
      ...(remove && {
        DELETE: (c) => {
          const { id } = recordOf(c);
          remove(c, id);
          return ok(c, { id });
        },
      }),
    });
  };

  const root = `${zoneRoot}/firewall/waf`;
  collection(`${root}/packages`, "WAF package", (c) =>
    packages.map((each) => wire.packageToWire(each, c.get("zone"), visible(c))),
  );
  collection(`${root}/packages/:packageId/groups`, "WAF rule group", (c) => {
    const of = packageOf(c);
    return of.groups.map((group) => wire.groupToWire(group, of, visible(c)));
  });
  collection(`${root}/packages/:packageId/rules`, "WAF rule", (c) => {
    const of = packageOf(c);
    return of.rules.map((rule) => wire.ruleToWire(rule, of, visible(c)));
  });
  collection(
    `${root}/overrides`,
    "WAF override",
    (c) => visible(c).overrides,
    (c, id) => void inDashboard(services, c.get("zone").id, { do: "deleteOverride", id }),
  );

  route(app, `${zoneRoot}/firewall/rules`, {
    GET: (c) => listed(c, visible(c).firewallRules.map(wire.firewallRuleToWire)),
  });
  // A single response, without pages.
  route(app, `${zoneRoot}/pagerules`, { GET: (c) => ok(c, visible(c).pageRules.map(wire.pageRuleToWire)) });
}

function packageOf(c: ApiContext): Package {
  const id = readId(c, "packageId");
  const found = packages.find((each) => each.id === id);
  if (found === undefined) throw failures.notFound("WAF package");
  return found;
}
