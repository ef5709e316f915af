import { z } from "zod";
import type { ApiContext, ApiRouter } from "../context";
import { failures, ok } from "../envelope";
import type { ControlRoutes } from "../control-routes";
import { BASE_PATH, route } from "../route";
import { readBody, readId, readQuery } from "../request";
import { ruleMembers, ruleRequest } from "./check";
import { type EntryPoint, type ManagedRuleset, nextVersion, PHASE, type ZoneRule } from "./entities";
import type { WriteContext } from "./entry-point";
import * as edit from "./entry-point";
import * as wire from "./formatters";
import { listResponse, pageParameters } from "./listing";
import { position } from "./position";
import { entryPointAbsent, problems, refused } from "./problems";
import type { Services } from "../services";
import { effectiveWaf } from "./effective";
import { managedToWire } from "./formatters";

export function rulesetRoutes(app: ApiRouter, services: Services): void {
  accountRoutes(app, `${BASE_PATH}/accounts/:accountId/rulesets`, services);
  const zoneRoot = `${BASE_PATH}/zones/:zoneId/rulesets`;
  entryPointRoutes(app, `${zoneRoot}/phases/:phase/entrypoint`, services);
  zoneRoutes(app, zoneRoot, services);
  ruleRoutes(app, `${zoneRoot}/:rulesetId/rules`, services);
}

/** Registers an account's routes. They only read, because the account has only managed rulesets. */
function accountRoutes(app: ApiRouter, root: string, { state: { rulesets }, settings }: Services) {
  const { dialect, limits } = settings;
  const query = pageParameters(limits);
  const detail = (ruleset: ManagedRuleset) => wire.managedDetailToWire(ruleset, dialect);

  route(app, root, {
    GET: (c) =>
      listResponse(c, rulesets.catalog.all().map(wire.managedToWire), readQuery(c, query), settings),
  });
  route(app, `${root}/phases/:phase/entrypoint`, {
    GET: (c) => {
      throw entryPointAbsent(readPhase(c));
    },
  });
  route(app, `${root}/:rulesetId`, {
    GET: (c) => ok(c, detail(known(rulesets.catalog.latest(readId(c, "rulesetId"))))),
  });
  const versions = (c: ApiContext) => rulesets.catalog.versions(readId(c, "rulesetId"));
  versionRoutes(app, `${root}/:rulesetId/versions`, versions, wire.managedToWire, detail);
}

/**
 * Registers the routes that list a ruleset's versions or return one version with its rules:
 * https://developers.cloudflare.com/ruleset-engine/rulesets-api/endpoints/. Our OpenAPI subset doesn't have them; their
 * form is that of the other routes.
 */
function versionRoutes<Version extends { readonly version: number }>(
  app: ApiRouter,
  root: string,
  versionsOf: (c: ApiContext) => readonly Version[],
  toWire: (version: Version) => object,
  detailToWire: (version: Version) => object,
) {
  route(app, root, {
    GET: (c) => {
      const versions = versionsOf(c);
      known(versions[0]);
      return ok(c, versions.map(toWire));
    },
  });
  route(app, `${root}/:version`, {
    GET: (c) => {
      const found = versionsOf(c).find(({ version }) => String(version) === c.req.param("version"));
      return ok(c, detailToWire(known(found)));
    },
  });
}

function known<T>(ruleset: T | undefined): T {
  if (ruleset === undefined) throw failures.notFound("ruleset");
  return ruleset;
}

const name = z.string().min(1);
const rules = z.array(ruleRequest).optional();
const replacement = z.strictObject({ name: name.optional(), description: z.string().optional(), rules });
const creation = z.strictObject({ ...replacement.shape, name, kind: z.string(), phase: z.string() });
const ruleBody = z.strictObject({ ...ruleMembers, position: position.optional() });

function entryPointRoutes(app: ApiRouter, path: string, services: Services) {
  const { rulesets: store } = services.state;
  route(app, path, {
    GET: (c) => {
      const wanted = readPhase(c);
      const entryPoint = wanted === PHASE ? store.visible(c.get("zone").id) : undefined;
      if (entryPoint === undefined) throw entryPointAbsent(wanted);
      return ok(c, wire.entryPointDetailToWire(entryPoint));
    },

    PUT: async (c) => {
      requirePhase(readPhase(c));
      const sent = await readBody(c, replacement);
      const context = writeContext(c, services);
      return write(c, context, edit.replacedEntryPoint(context, sent));
    },
  });
}

function zoneRoutes(app: ApiRouter, root: string, services: Services) {
  const { state, settings } = services;
  const { rulesets: store } = state;
  const query = pageParameters(settings.limits);

  route(app, root, {
    GET: (c) => {
      const entryPoint = store.visible(c.get("zone").id);
      const own = entryPoint === undefined ? [] : [wire.entryPointToWire(entryPoint)];
      // Includes managed rulesets, so that clients have to look for the kind that they want.
      const all = [...own, ...store.catalog.all().map(wire.managedToWire)];
      return listResponse(c, all, readQuery(c, query), settings);
    },

    POST: async (c) => {
      const { kind, phase: wanted, ...sent } = await readBody(c, creation);
      requirePhase(wanted);
      if (kind !== "zone") throw refused(problems.kindInvalid(kind, "it must be zone"));
      const context = writeContext(c, services);
      if (store.latest(context.zone.id) !== undefined) throw refused(problems.entryPointExists(wanted));
      return write(c, context, edit.createEntryPoint(context, sent));
    },
  });

  route(app, `${root}/:rulesetId`, {
    GET: (c) => {
      const id = readId(c, "rulesetId");
      const managed = store.catalog.latest(id);
      if (managed !== undefined) return ok(c, wire.managedDetailToWire(managed, settings.dialect));
      return ok(c, wire.entryPointDetailToWire(own(id, store.visible(c.get("zone").id))));
    },
  });
  const versions = (c: ApiContext) =>
    store.versions(c.get("zone").id).filter(({ id }) => id === readId(c, "rulesetId"));
  versionRoutes(
    app,
    `${root}/:rulesetId/versions`,
    versions,
    wire.entryPointToWire,
    wire.entryPointDetailToWire,
  );
}

function ruleRoutes(app: ApiRouter, root: string, services: Services) {
  route(app, root, {
    POST: async (c) => {
      const { position, ...sent } = await readBody(c, ruleBody);
      const old = ownRuleset(c, services);
      const context = writeContext(c, services);
      return write(c, context, edit.withRule(context, old, sent, position));
    },
  });

  route(app, `${root}/:ruleId`, {
    PATCH: async (c) => {
      const { position, ...sent } = await readBody(c, ruleBody);
      const old = ownRuleset(c, services);
      const context = writeContext(c, services);
      return write(c, context, edit.withChangedRule(context, old, ruleOf(c, old), sent, position));
    },

    DELETE: (c) => {
      const old = ownRuleset(c, services);
      const context = writeContext(c, services);
      return write(c, context, edit.withoutRule(context, old, ruleOf(c, old)));
    },
  });
}

function writeContext(c: ApiContext, { state, settings }: Services): WriteContext {
  return { store: state.rulesets, zone: c.get("zone"), limits: settings.limits };
}

/**
 * Writes an entry point. Callers don't await anything between reading the old entry point and this call, so that
 * requests can't overwrite each other's changes.
 */
function write(c: ApiContext, { store, zone }: WriteContext, entryPoint: EntryPoint): Response {
  if (c.req.query("dry_run") !== undefined)
    throw failures.queryInvalid("dry_run: the local API has no dry runs");
  store.write(zone.id, entryPoint);
  return ok(c, wire.entryPointDetailToWire(entryPoint));
}

/** Returns the entry point whose ID is in the path. Throws for managed rulesets, which zones can't change. */
function ownRuleset(c: ApiContext, { state: { rulesets } }: Services): EntryPoint {
  const id = readId(c, "rulesetId");
  if (rulesets.catalog.latest(id) !== undefined) throw refused(problems.readOnly());
  return own(id, rulesets.latest(c.get("zone").id));
}

function own(id: string, entryPoint: EntryPoint | undefined): EntryPoint {
  return known(entryPoint?.id === id ? entryPoint : undefined);
}

function ruleOf(c: ApiContext, { rules }: EntryPoint): ZoneRule {
  const id = readId(c, "ruleId");
  const rule = rules.find((each) => each.id === id);
  if (rule === undefined) throw failures.notFound("rule");
  return rule;
}

function readPhase(c: ApiContext): string {
  return c.req.param("phase") ?? "";
}

/** Rejects other phases. The local API has only one, while a zone on Cloudflare may be entitled to more. */
function requirePhase(wanted: string): void {
  if (wanted !== PHASE) throw refused(problems.notEntitledPhase(wanted));
}

/**
 * Registers control routes, which Cloudflare doesn't have. They publish a version of a managed ruleset, and show which
 * rules act in a zone.
 */
export function rulesetControlRoutes(controls: ControlRoutes, { state }: Services): void {
  controls.add(
    "GET",
    "/zones/:zoneId/effective-waf",
    "shows which managed rules are on in a zone, with their actions",
    (c) => {
      const zoneId = readId(c, "zoneId");
      if (state.zone(zoneId) === undefined) throw failures.notFound(`zone ${zoneId}`);
      const { rulesets } = state;
      return c.json(effectiveWaf(rulesets.latest(zoneId), rulesets.catalog));
    },
  );

  controls.add(
    "POST",
    "/rulesets/:rulesetId/versions",
    "publishes a new version of a managed ruleset, which adds, removes or changes rules",
    async (c) => {
      const next = await readBody(c, nextVersion);
      return c.json(managedToWire(state.rulesets.publish(readId(c, "rulesetId"), next)));
    },
    { add: [{ description: "A rule of the next version" }] },
  );
}
