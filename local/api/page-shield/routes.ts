import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { ApiContext, ApiRouter } from "../context";
import { failures, ok } from "../envelope";
import { complaint } from "../expression";
import { type Plan, rank } from "../limits";
import { paginate, type Paging } from "../paging";
import { BASE_PATH, route } from "../route";
import { applied, readBody, readId, readQuery } from "../request";
import { type Policy, policyAction } from "./entities";
import * as filters from "./filters";
import * as wire from "./formatters";
import { microseconds } from "./seed";
import type { Services } from "../services";

export function pageShieldRoutes(app: ApiRouter, services: Services): void {
  const root = `${BASE_PATH}/zones/:zoneId/page_shield`;
  settingsRoutes(app, root, services);
  policyRoutes(app, root, services);
  detectedRoutes(app, root, services);
}

function settingsRoutes(
  app: ApiRouter,
  path: string,
  { state, settings: { dialect, strict, clock } }: Services,
) {
  const reporting = wire.reportingMember(dialect);
  const members = {
    enabled: z.boolean().optional(),
    [reporting]: z.boolean().optional(),
    use_connection_url_path: z.boolean().optional(),
  };
  const body = strict ? z.strictObject(members) : z.object(members);

  route(app, path, {
    GET: (c) => {
      requirePlan(c, "pro", "page_shield");
      const { settings } = state.pageShield.visible(c.get("zone").id);
      return ok(c, wire.settingsToWire(settings, dialect));
    },

    PUT: async (c) => {
      requirePlan(c, "pro", "page_shield");
      const sent = await readBody(c, body);
      if (sent[reporting] === false) requirePlan(c, "enterprise", reporting);
      if (sent["use_connection_url_path"] === true) requirePlan(c, "enterprise", "use_connection_url_path");

      const zoneId = c.get("zone").id;
      const { settings, policies } = state.pageShield.latest(zoneId);
      const changed = applied(settings, {
        enabled: sent["enabled"],
        use_reporting_endpoint: sent[reporting],
        use_connection_url_path: sent["use_connection_url_path"],
        updated_at: microseconds(clock()),
      });
      state.pageShield.write(zoneId, { settings: changed, policies });
      return ok(c, wire.updatedSettingsToWire(changed, dialect));
    },
  });
}

function policyRoutes(app: ApiRouter, root: string, { state, settings }: Services) {
  const { dialect, strict, limits } = settings;
  const created = policyMembers(strict ? dialect : undefined);
  const updated = created.partial();

  const visible = (c: ApiContext) => state.pageShield.visible(c.get("zone").id).policies;
  const listed = (c: ApiContext) => state.pageShield.listed(c.get("zone").id).policies;
  const latest = (c: ApiContext) => state.pageShield.latest(c.get("zone").id).policies;
  const store = (c: ApiContext, policies: Policy[]) => {
    const zoneId = c.get("zone").id;
    state.pageShield.write(zoneId, { ...state.pageShield.latest(zoneId), policies });
  };

  route(app, `${root}/policies`, {
    GET: (c) => {
      const { items, info } = paginate(listed(c), { page: "all" }, limits);
      const result = items.map((policy) => wire.policyToWire(policy, dialect));
      return dialect === "documented" ? ok(c, result) : ok(c, result, info);
    },

    POST: async (c) => {
      const { description, action, expression, enabled, value, ...further } = await readBody(c, created);
      const policies = latest(c);
      const quota = limits.maxPolicies[c.get("zone").plan];
      if (policies.length >= quota) throw failures.tooManyPolicies(policies.length + 1, quota);

      const id = randomUUID().replaceAll("-", "");
      const policy = { id, description, action, expression, enabled, value, further: withoutId(further) };
      store(c, [...policies, policy]);
      return ok(c, wire.policyToWire(policy, dialect));
    },
  });

  route(app, `${root}/policies/:policyId`, {
    GET: (c) => ok(c, wire.policyToWire(find(visible(c), readId(c, "policyId"), "policy"), dialect)),

    PUT: async (c) => {
      const id = readId(c, "policyId");
      const { description, action, expression, enabled, value, ...further } = await readBody(c, updated);
      const policies = latest(c);
      const old = find(policies, id, "policy");
      const sent = { description, action, expression, enabled, value };
      const policy = applied(old, { ...sent, further: { ...old.further, ...withoutId(further) } });
      const changed = policies.map((each) => (each.id === id ? policy : each));
      store(c, changed);
      return ok(c, wire.policyToWire(policy, dialect));
    },

    DELETE: (c) => {
      const id = readId(c, "policyId");
      const policies = latest(c);
      const left = policies.filter((policy) => policy.id !== id);
      // By the OpenAPI schema, deleting a policy that never existed returns the same 204.
      if (dialect === "documented") find(policies, id, "policy");
      if (left.length < policies.length) store(c, left);
      return dialect === "documented" ? ok(c, { id }) : c.body(null, 204);
    },
  });
}

function detectedRoutes(app: ApiRouter, root: string, { state, settings: { dialect, limits } }: Services) {
  const detected = (c: ApiContext) => state.pageShieldDetected.visible(c.get("zone").id);
  const view = (c: ApiContext): wire.View => ({ dialect, zone: c.get("zone") });
  /** Registers the routes for one kind of detection: the list and a single record. */
  const kind = <T extends { readonly id: string }, Q extends Paging>(
    name: string,
    from: {
      readonly plan: Plan;
      readonly records: (c: ApiContext) => readonly T[];
      readonly query: z.ZodType<Q>;
      readonly select: (records: readonly T[], query: Q) => readonly T[];
      readonly toWire: (record: T, view: wire.View) => wire.Wire;
      readonly detailToWire: (record: T, view: wire.View) => wire.Wire;
    },
  ) => {
    route(app, `${root}/${name}s`, {
      GET: (c) => {
        requirePlan(c, from.plan, `${name}s`);
        const query = readQuery(c, from.query);
        const { items, info } = paginate(from.select(from.records(c), query), query, limits);
        const shown = items.map((record) => from.toWire(record, view(c)));
        return ok(c, shown, info);
      },
    });
    route(app, `${root}/${name}s/:recordId`, {
      GET: (c) => {
        requirePlan(c, from.plan, `${name}s`);
        return ok(c, from.detailToWire(find(from.records(c), readId(c, "recordId"), name), view(c)));
      },
    });
  };

  kind("script", {
    plan: "pro",
    records: (c) => detected(c).scripts,
    query: filters.scriptParameters(limits),
    select: (scripts, query) => filters.selectScripts(scripts, query, limits.maliciousBelow),
    toWire: wire.scriptToWire,
    detailToWire: wire.scriptDetailToWire,
  });
  kind("connection", {
    plan: "business",
    records: (c) => detected(c).connections,
    query: filters.connectionParameters(limits),
    select: filters.selectConnections,
    toWire: wire.connectionToWire,
    detailToWire: wire.connectionDetailToWire,
  });
  kind("cookie", {
    plan: "business",
    records: (c) => detected(c).cookies,
    query: filters.cookieParameters(limits),
    select: filters.selectCookies,
    toWire: wire.cookieToWire,
    detailToWire: wire.cookieToWire,
  });
}

/**
 * Returns the schema of a policy. `enabled` is a string in Cloudflare's guides and a boolean in the OpenAPI schema.
 * Only a strict API rejects the other type.
 */
function policyMembers(only: "documented" | "openapi" | undefined) {
  const text = z.enum(["true", "false"]).transform((value) => value === "true");
  const either = z.union([z.boolean(), text], { error: 'expected a boolean, "true" or "false"' });
  return z.looseObject({
    description: z.string(),
    action: policyAction,
    expression: z.string().superRefine((text, ctx) => {
      const why = complaint(text);
      if (why !== undefined) ctx.addIssue({ code: "custom", message: why });
    }),
    enabled: only === "documented" ? text : only === "openapi" ? z.boolean() : either,
    value: z.string().refine(isContentSecurityPolicy, "not a content security policy"),
  });
}

/**
 * Whether a text consists of directives separated by semicolons, each a name followed by visible ASCII (CSP Level 3,
 * section 2.2.1).
 */
function isContentSecurityPolicy(text: string): boolean {
  const directives = text.split(";").map((directive) => directive.trim());
  const isDirective = (directive: string) => /^[A-Za-z0-9-]+(?:\s+[!-~\s]*)?$/.test(directive);
  const written = directives.filter((directive) => directive !== "");
  return written.length > 0 && written.every(isDirective);
}

/** Removes the ID, because the API assigns it. */
function withoutId(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([name]) => name !== "id"));
}

function requirePlan(c: ApiContext, needed: Plan, what: string): void {
  if (rank(c.get("zone").plan) < rank(needed)) throw failures.notEntitled(what);
}

function find<T extends { readonly id: string }>(records: readonly T[], id: string, what: string): T {
  const found = records.find((record) => record.id === id);
  if (found === undefined) throw failures.notFound(what);
  return found;
}
