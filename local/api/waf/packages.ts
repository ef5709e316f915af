import { z } from "zod";
import type { ApiContext, ApiRouter } from "../context";
import { failures, ok } from "../envelope";
import { readBody, readId } from "../request";
import { route } from "../route";
import { type Group, type Package, packages, type Rule } from "./catalog";
import { changeGroup, changeOwasp, changeRule } from "./changes";
import { actionMode, onOff, ruleId, ruleMode, sensitivity, type WafZone } from "./entities";
import * as wire from "./formatters";
import { listed } from "./listing";
import type { Services } from "../services";

/** Registers `firewall/waf/packages`, with groups and rules. */
export function packageRoutes(app: ApiRouter, root: string, { state, settings: { limits } }: Services): void {
  const visible = (c: ApiContext) => state.waf.visible(c.get("zone").id);
  const change = (c: ApiContext, to: (latest: WafZone) => WafZone) => {
    const changed = to(state.waf.latest(c.get("zone").id));
    state.waf.write(c.get("zone").id, changed);
    return changed;
  };
  const shownPackage = (c: ApiContext, of: Package) => wire.packageToWire(of, c.get("zone"), visible(c));

  route(app, root, {
    GET: (c) =>
      listed(
        c,
        packages.map((each) => shownPackage(c, each)),
        limits,
        {
          filters: { name: ({ name }, wanted) => name === wanted },
          orders: { name: ({ name }) => name },
        },
      ),
  });

  const packageBody = z.object({ sensitivity: sensitivity.optional(), action_mode: actionMode.optional() });
  route(app, `${root}/:packageId`, {
    GET: (c) => ok(c, shownPackage(c, packageOf(c))),
    PATCH: async (c) => {
      const of = packageOf(c);
      const sent = await readBody(c, packageBody);
      if (of.detection_mode !== "anomaly") throw failures.bodyInvalid(notScoring(sent));
      const waf = change(c, (latest) => changeOwasp(latest, sent));
      return ok(c, wire.packageToWire(of, c.get("zone"), waf));
    },
  });

  const groupBody = z.object({ mode: onOff });
  route(app, `${root}/:packageId/groups`, {
    GET: (c) => {
      const of = packageOf(c);
      const shown = of.groups.map((group) => wire.groupToWire(group, of, visible(c)));
      return listed(c, shown, limits, {
        filters: {
          mode: ({ mode }, wanted) => mode === wanted,
          name: ({ name }, wanted) => name === wanted,
          rules_count: ({ rules_count }, wanted) => rules_count === Number(wanted),
        },
        orders: { mode: ({ mode }) => mode, rules_count: ({ rules_count }) => rules_count },
      });
    },
  });
  route(app, `${root}/:packageId/groups/:groupId`, {
    GET: (c) => ok(c, wire.groupToWire(groupOf(c), packageOf(c), visible(c))),
    PATCH: async (c) => {
      const group = groupOf(c);
      const { mode } = await readBody(c, groupBody);
      const waf = change(c, (latest) => changeGroup(latest, packageOf(c), group, mode));
      return ok(c, wire.groupToWire(group, packageOf(c), waf));
    },
  });

  const ruleBody = z.object({ mode: ruleMode });
  route(app, `${root}/:packageId/rules`, {
    GET: (c) => {
      const of = packageOf(c);
      const shown = of.rules.map((rule) => wire.ruleToWire(rule, of, visible(c)));
      return listed(c, shown, limits, {
        filters: {
          mode: ({ mode }, wanted) => mode === modesByCode[wanted],
          group_id: ({ group }, wanted) => group.id === wanted,
          description: ({ description }, wanted) => description === wanted,
          priority: ({ priority }, wanted) => priority === wanted,
        },
        orders: {
          priority: ({ priority }) => Number(priority),
          group_id: ({ group }) => group.id,
          description: ({ description }) => description,
        },
      });
    },
  });
  route(app, `${root}/:packageId/rules/:ruleId`, {
    GET: (c) => ok(c, wire.ruleToWire(ruleOf(c), packageOf(c), visible(c))),
    PATCH: async (c) => {
      const rule = ruleOf(c);
      const { mode } = await readBody(c, ruleBody);
      if (!wire.modesOf(rule).includes(mode)) throw failures.bodyInvalid([notAllowed(rule)]);
      const waf = change(c, (latest) => changeRule(latest, packageOf(c), rule, mode));
      return ok(c, wire.ruleToWire(rule, packageOf(c), waf));
    },
  });
}

const modesByCode: Readonly<Record<string, string>> = {
  DIS: "disable",
  CHL: "challenge",
  BLK: "block",
  SIM: "simulate",
};

function packageOf(c: ApiContext): Package {
  const id = readId(c, "packageId");
  const found = packages.find((each) => each.id === id);
  if (found === undefined) throw failures.notFound("WAF package");
  return found;
}

function groupOf(c: ApiContext): Group {
  const of = packageOf(c);
  const id = readId(c, "groupId");
  const found = of.groups.find((each) => each.id === id);
  if (found === undefined) throw failures.notFound("WAF rule group");
  return found;
}

function ruleOf(c: ApiContext): Rule {
  const of = packageOf(c);
  const id = ruleId.safeParse(c.req.param("ruleId"));
  if (!id.success) throw failures.notRouted(400, c.req.path);
  const found = of.rules.find((each) => each.id === id.data);
  if (found === undefined) throw failures.notFound("WAF rule");
  return found;
}

function notScoring(sent: Readonly<Record<string, unknown>>) {
  return Object.keys(sent).map((name) => ({ pointer: `/${name}`, message: "only of a package that scores" }));
}

function notAllowed(rule: Rule) {
  return { pointer: "/mode", message: `one of ${wire.modesOf(rule).join(", ")}` };
}
