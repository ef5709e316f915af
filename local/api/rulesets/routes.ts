import { z } from "zod";
import type { ApiContext, ApiRouter } from "../context";
import { failures, ok } from "../envelope";
import type { ControlRoutes } from "../control-routes";
import { BASE_PATH, route } from "../route";
import { readBody, readId, readQuery } from "../request";
import { ruleMembers, ruleRequest } from "./check";
import {
  type EntryPoint,
  type ManagedRuleset,
  nextVersion,
  type Phase,
  PHASE,
  phases,
  type ZoneRule,
} from "./entities";
import type { Place } from "./store";
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
  const inZone: PlaceOf = (c) => ({ id: c.get("zone").id, plan: c.get("zone").plan, kind: "zone" });
  const inAccount: PlaceOf = (c) => ({ id: readId(c, "accountId"), plan: "enterprise", kind: "root" });
  for (const [root, placeOf] of [
    [`${BASE_PATH}/zones/:zoneId/rulesets`, inZone],
    [`${BASE_PATH}/accounts/:accountId/rulesets`, inAccount],
  ] as const) {
    entryPointRoutes(app, `${root}/phases/:phase/entrypoint`, placeOf, services);
    listRoutes(app, root, placeOf, services);
    ruleRoutes(app, `${root}/:rulesetId/rules`, placeOf, services);
  }
}

/** Returns the zone or account in the path. */
type PlaceOf = (c: ApiContext) => Omit<Place, "phase">;

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

function entryPointRoutes(app: ApiRouter, path: string, placeOf: PlaceOf, services: Services) {
  const { rulesets: store } = services.state;
  route(app, path, {
    GET: (c) => {
      const wanted = c.req.param("phase") ?? "";
      const phase = phases.find((each) => each === wanted);
      const entryPoint = phase && store.visible(placeOf(c).id, phase);
      if (entryPoint === undefined) throw entryPointAbsent(wanted);
      return ok(c, wire.entryPointDetailToWire(entryPoint));
    },

    PUT: async (c) => {
      const place = entitled(placeOf(c), c.req.param("phase") ?? "", services);
      const sent = await readBody(c, replacement);
      const context = writeContext(place, services);
      return write(c, context, edit.replacedEntryPoint(context, sent));
    },
  });
}

function listRoutes(app: ApiRouter, root: string, placeOf: PlaceOf, services: Services) {
  const { state, settings } = services;
  const { rulesets: store } = state;
  const query = pageParameters(settings.limits);

  route(app, root, {
    GET: (c) => {
      const own = phases
        .flatMap((phase) => store.visible(placeOf(c).id, phase) ?? [])
        .map(wire.entryPointToWire);
      // Includes managed rulesets, so that clients have to look for the kind that they want.
      const all = [...own, ...store.catalog.all().map(wire.managedToWire)];
      return listResponse(c, all, readQuery(c, query), settings);
    },

    POST: async (c) => {
      const { kind, phase: wanted, ...sent } = await readBody(c, creation);
      const place = entitled(placeOf(c), wanted, services);
      if (kind !== place.kind) throw refused(problems.kindInvalid(kind, `it must be ${place.kind}`));
      const context = writeContext(place, services);
      if (store.latest(place.id, place.phase) !== undefined)
        throw refused(problems.entryPointExists(kind, wanted));
      return write(c, context, edit.createEntryPoint(context, sent));
    },
  });

  route(app, `${root}/:rulesetId`, {
    GET: (c) => {
      const id = readId(c, "rulesetId");
      const managed = store.catalog.latest(id);
      if (managed !== undefined) return ok(c, wire.managedDetailToWire(managed, settings.dialect));
      return ok(c, wire.entryPointDetailToWire(found(id, (phase) => store.visible(placeOf(c).id, phase))));
    },
  });
  const isManaged = (ruleset: ManagedRuleset | EntryPoint): ruleset is ManagedRuleset =>
    store.catalog.latest(ruleset.id) !== undefined;
  versionRoutes<ManagedRuleset | EntryPoint>(
    app,
    `${root}/:rulesetId/versions`,
    (c) => [
      ...store.catalog.versions(readId(c, "rulesetId")),
      ...phases
        .flatMap((phase) => store.versions(placeOf(c).id, phase))
        .filter(({ id }) => id === readId(c, "rulesetId")),
    ],
    (each) => (isManaged(each) ? wire.managedToWire(each) : wire.entryPointToWire(each)),
    (each) =>
      isManaged(each) ? wire.managedDetailToWire(each, settings.dialect) : wire.entryPointDetailToWire(each),
  );
}

function ruleRoutes(app: ApiRouter, root: string, placeOf: PlaceOf, services: Services) {
  route(app, root, {
    POST: async (c) => {
      const { position, ...sent } = await readBody(c, ruleBody);
      const place = placeOf(c);
      const old = ownRuleset(c, place, services);
      const context = writeContext({ ...place, phase: old.phase ?? PHASE }, services);
      return write(c, context, edit.withRule(context, old, sent, position));
    },
  });

  route(app, `${root}/:ruleId`, {
    PATCH: async (c) => {
      const { position, ...sent } = await readBody(c, ruleBody);
      const place = placeOf(c);
      const old = ownRuleset(c, place, services);
      const context = writeContext({ ...place, phase: old.phase ?? PHASE }, services);
      return write(c, context, edit.withChangedRule(context, old, ruleOf(c, old), sent, position));
    },

    DELETE: (c) => {
      const place = placeOf(c);
      const old = ownRuleset(c, place, services);
      const context = writeContext({ ...place, phase: old.phase ?? PHASE }, services);
      return write(c, context, edit.withoutRule(context, old, ruleOf(c, old)));
    },
  });
}

function writeContext(place: Place, { state, settings }: Services): WriteContext {
  return { store: state.rulesets, place, limits: settings.limits };
}

/**
 * Writes an entry point. Callers don't await anything between reading the old entry point and this call, so that
 * requests can't overwrite each other's changes.
 */
function write(c: ApiContext, { store, place }: WriteContext, entryPoint: EntryPoint): Response {
  if (c.req.query("dry_run") !== undefined)
    throw failures.queryInvalid("dry_run: the local API has no dry runs");
  store.write(place.id, entryPoint);
  return ok(c, wire.entryPointDetailToWire(entryPoint));
}

/** Returns the entry point whose ID is in the path. Throws for managed rulesets, which only Cloudflare changes. */
function ownRuleset(
  c: ApiContext,
  { id: owner }: Pick<Place, "id">,
  { state: { rulesets } }: Services,
): EntryPoint {
  const id = readId(c, "rulesetId");
  if (rulesets.catalog.latest(id) !== undefined) throw refused(problems.readOnly());
  return found(id, (phase) => rulesets.latest(owner, phase));
}

/** Returns the entry point with the ID, in whichever phase it is. */
function found(id: string, read: (phase: Phase) => EntryPoint | undefined): EntryPoint {
  return known(phases.map(read).find((each) => each?.id === id));
}

function ruleOf(c: ApiContext, { rules }: EntryPoint): ZoneRule {
  const id = readId(c, "ruleId");
  const rule = rules.find((each) => each.id === id);
  if (rule === undefined) throw failures.notFound("rule");
  return rule;
}

/** Rejects other phases, which a zone on Cloudflare may be entitled to, and an account without an Enterprise plan. */
function entitled(place: Omit<Place, "phase">, wanted: string, { settings: { limits } }: Services): Place {
  const phase = phases.find((each) => each === wanted);
  if (phase === undefined || (place.kind === "root" && limits.maxAccountRules === 0))
    throw refused(problems.notEntitledPhase(wanted));
  return { ...place, phase };
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
