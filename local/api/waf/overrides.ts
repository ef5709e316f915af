import { z } from "zod";
import type { ApiContext, ApiRouter } from "../context";
import { failures, ok } from "../envelope";
import { readBody, readId } from "../request";
import { route } from "../route";
import { newId } from "../rulesets/ids";
import { withOverride, withoutOverride } from "./changes";
import { type Override, override, type WafZone } from "./entities";
import { listed } from "./listing";
import type { Services } from "../services";

const { urls, rules, groups, rewrite_action, description, paused, priority } = override.shape;

/** The optional properties of a new override. */
const optional = {
  description: description.default(null),
  paused: paused.default(false),
  priority: priority.default(1),
};

export const newOverride = z
  .object({
    ...optional,
    urls,
    groups: groups.default({}),
    rules: rules.default({}),
    rewrite_action: rewrite_action.default({}),
  })
  .refine((sent) => Object.keys({ ...sent.groups, ...sent.rules }).length > 0, {
    message: "groups or rules are required",
    path: ["rules"],
  });

/** The body that replaces a whole override. The ID is in the path and in the body. */
const replacement = z.object({
  ...optional,
  id: z.string(),
  urls,
  rules,
  rewrite_action,
  groups: groups.default({}),
});

/** Registers `firewall/waf/overrides`, for URI-based overrides. */
export function overrideRoutes(app: ApiRouter, root: string, { state, settings }: Services): void {
  const visible = (c: ApiContext) => state.waf.visible(c.get("zone").id);
  const latest = (c: ApiContext) => state.waf.latest(c.get("zone").id);
  const write = (c: ApiContext, changed: WafZone) => state.waf.write(c.get("zone").id, changed);

  route(app, root, {
    GET: (c) => listed(c, visible(c).overrides, settings.limits),
    POST: async (c) => {
      const created = { id: newId(), ...(await readBody(c, newOverride)) };
      write(c, withOverride(latest(c), created));
      return ok(c, created);
    },
  });

  route(app, `${root}/:overrideId`, {
    GET: (c) => ok(c, find(c, visible(c))),

    PUT: async (c) => {
      const sent = await readBody(c, replacement);
      const { id } = find(c, latest(c));
      if (sent.id !== id) {
        throw failures.bodyInvalid([{ pointer: "/id", message: "not the override of the path" }]);
      }
      write(c, withOverride(latest(c), sent));
      return ok(c, sent);
    },

    DELETE: (c) => {
      const { id } = find(c, latest(c));
      write(c, withoutOverride(latest(c), id));
      return ok(c, { id });
    },
  });
}

function find(c: ApiContext, { overrides }: WafZone): Override {
  const id = readId(c, "overrideId");
  const found = overrides.find((each) => each.id === id);
  if (found === undefined) throw failures.notFound("WAF override");
  return found;
}
