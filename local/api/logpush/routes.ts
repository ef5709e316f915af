import type { ApiContext, ApiRouter } from "../context";
import { failures, ok } from "../envelope";
import { BASE_PATH, route } from "../route";
import { applied, readId } from "../request";
import { accounts } from "../seed";
import type { LogpushStore } from "./store";
import { attackDatasets, isDatasetOf, type ScopeKind } from "./datasets";
import { fingerprint, isRedacted, needsOwnership, parseDestination } from "./destination";
import { type Job, nothingSet, type Scope } from "./entities";
import { type Doing, logpushFailures } from "./failures";
import { valuesOf } from "./fields";
import { parseFilter } from "./filter";
import { requireTransformer, transformerRoutes } from "./transformers";
import { jobToWire } from "./wire";
import { mintToken, requireToken } from "./ownership";
import type { Change } from "./requests";
import * as requests from "./requests";
import type { Services } from "../services";

export function logpushRoutes(app: ApiRouter, services: Services): void {
  for (const kind of ["zones", "accounts"] as const) {
    const id = kind === "zones" ? "zoneId" : "accountId";
    const root = `${BASE_PATH}/${kind}/:${id}/logpush`;
    const scopeOf = (c: ApiContext): Scope => ({ kind, id: readId(c, id) });
    jobRoutes(app, root, scopeOf, services);
    datasetRoutes(app, root, scopeOf, services);
    destinationRoutes(app, root, scopeOf, services);
  }
  transformerRoutes(app, `${BASE_PATH}/accounts/:accountId/logpush/transformers`, services);
}

type ScopeOf = (c: ApiContext) => Scope;

function jobRoutes(app: ApiRouter, root: string, scopeOf: ScopeOf, services: Services) {
  const { state, settings } = services;
  const { logpush } = state;
  const { strict, limits } = settings;

  route(app, `${root}/jobs`, {
    GET: (c) => ok(c, shown(logpush.listed(scopeOf(c)), logpush)),

    POST: async (c) => {
      const scope = scopeOf(c);
      const sent = await requests.readNewJob(c, logpush.behavior, strict);
      const dataset = sent.dataset ?? "http_requests";
      const quota =
        scope.kind === "zones" ? limits.maxLogpushJobs[c.get("zone").plan] : limits.maxAccountLogpushJobs;
      requireDataset(dataset, scope.kind);
      if (logpush.latest(scope).length >= quota) throw logpushFailures.tooManyJobs();
      checkMembers(sent, { dataset, kind: sent.kind ?? "", scope }, "creating a new job", services);
      checkDestination(sent.destination_conf, sent.ownership_challenge, scope, services);

      const blank = { scope, dataset, kind: sent.kind ?? "", destination_conf: "", ...nothingSet };
      const created = logpush.create(changed(blank, sent));
      return ok(c, logpush.behavior.created === "job" ? jobToWire(created, logpush.behavior) : null);
    },
  });

  route(app, `${root}/jobs/:jobId`, {
    GET: (c) => ok(c, jobToWire(find(c, logpush.visible(scopeOf(c))), logpush.behavior)),

    PUT: async (c) => {
      const scope = scopeOf(c);
      const old = find(c, logpush.latest(scope));
      const sent = await requests.readChange(c, logpush.behavior, strict);
      for (const member of ["dataset", "kind"] as const) {
        const value = sent[member];
        if (value !== undefined && (strict || value !== old[member])) throw logpushFailures.immutable(member);
      }
      checkMembers(sent, old, "updating a job", services);
      const { destination_conf: destination = old.destination_conf } = sent;
      if (destination !== old.destination_conf) {
        const moved =
          fingerprint(parseDestination(destination)) !== fingerprint(parseDestination(old.destination_conf));
        checkDestination(destination, sent.ownership_challenge, scope, services, moved);
      }
      const job = { ...changed(old, sent), id: old.id };
      logpush.update(job);
      return ok(c, jobToWire(job, logpush.behavior));
    },

    DELETE: (c) => {
      const { id } = find(c, logpush.latest(scopeOf(c)));
      logpush.remove(id);
      return ok(c, { id });
    },
  });
}

function datasetRoutes(app: ApiRouter, root: string, scopeOf: ScopeOf, { state: { logpush } }: Services) {
  const datasetOf = (c: ApiContext): string => {
    const name = c.req.param("datasetId") ?? "";
    if (isDatasetOf(name, scopeOf(c).kind)) return name;
    throw logpushFailures.datasetUnknown(name);
  };

  route(app, `${root}/datasets/:datasetId/jobs`, {
    GET: (c) => {
      const dataset = datasetOf(c);
      const jobs = logpush.listed(scopeOf(c)).filter((job) => job.dataset === dataset);
      return ok(c, shown(jobs, logpush));
    },
  });

  route(app, `${root}/datasets/:datasetId/fields`, {
    GET: (c) => {
      const dataset = datasetOf(c);
      const fields = logpush.fieldsOf(dataset);
      if (fields === undefined) throw logpushFailures.fieldsUnknown(dataset);
      const described = [...fields].map(([name, type]) => {
        const values = type === "string" ? valuesOf(dataset, name) : undefined;
        return [name, values === undefined ? type : `${type}; ${values.join(" | ")}`];
      });
      return ok(c, Object.fromEntries(described));
    },
  });
}

function destinationRoutes(app: ApiRouter, root: string, scopeOf: ScopeOf, services: Services) {
  const { state, settings } = services;
  const { logpush } = state;

  route(app, `${root}/ownership`, {
    POST: async (c) => {
      const text = await requests.readDestination(c);
      const destination = parseDestination(text);
      if (!logpush.isWritable(text)) {
        return ok(c, { filename: "", message: "error writing object: access denied", valid: false });
      }
      const token = mintToken(scopeOf(c), text, destination, settings.clock());
      const { filename, path } = logpush.writeChallenge(destination, token);
      return ok(c, { filename, message: `this local API keeps it in ${path}`, valid: true });
    },
  });
}

/** Properties that are never stored as unknown properties of a job. */
const notFurther = ["id", "scope", "dataset", "kind", "ownership_challenge", ...Object.keys(nothingSet)];

/**
 * Applies a change. Omitted fields stay as they are, `output_options` are replaced as a whole, and null clears a field.
 */
function changed(old: Omit<Job, "id">, sent: Change): Omit<Job, "id"> {
  const { name, filter, frequency, destination_conf, enabled, logpull_options, output_options, ...rest } =
    sent;
  const { max_upload_bytes, max_upload_interval_seconds, max_upload_records, ...later } = rest;
  const { filter_attack_traffic, transformer_id, ...others } = later;
  const further = Object.entries(others).filter(([member]) => !notFurther.includes(member));
  const job = applied(old, {
    name: name === null ? "" : name,
    filter: filter === null ? "" : filter,
    frequency: frequency === null ? "high" : frequency,
    destination_conf,
    enabled,
    logpull_options,
    output_options,
    max_upload_bytes,
    max_upload_interval_seconds,
    max_upload_records,
    filter_attack_traffic,
    transformer_id,
    further: { ...old.further, ...Object.fromEntries(further) },
  });
  if (job.transformer_id !== null && job.output_options?.output_type === "csv") {
    throw logpushFailures.transformerNeedsNdjson();
  }
  return job;
}

function requireDataset(dataset: string, kind: ScopeKind): void {
  if (!isDatasetOf(dataset, kind)) {
    throw logpushFailures.datasetElsewhere(dataset, kind === "zones" ? "a zone" : "an account");
  }
}

/** Checks properties whose allowed values depend on the dataset. */
function checkMembers(
  sent: Change,
  { dataset, kind, scope }: Pick<Job, "dataset" | "kind" | "scope">,
  doing: Doing,
  { state: { logpush }, settings: { limits } }: Services,
): void {
  const { output_options: options, filter } = sent;
  if (kind === "edge" && dataset !== "http_requests") {
    throw logpushFailures.onlyHttpRequests("kind edge", "/kind");
  }
  if (options?.merge_subrequests === true && dataset !== "http_requests") {
    throw logpushFailures.onlyHttpRequests("merge_subrequests", "/output_options/merge_subrequests");
  }
  if (scope.kind === "accounts" && options?.merge_subrequests === true) {
    throw logpushFailures.onlyForZones("merge_subrequests", "/output_options/merge_subrequests");
  }
  if (sent.filter_attack_traffic === true && !attackDatasets.has(dataset)) {
    throw logpushFailures.attackTrafficNotAllowed(dataset);
  }
  if (typeof sent.transformer_id === "number")
    requireTransformer(logpush, sent.transformer_id, accountOf(scope), dataset);
  const fields = logpush.fieldsOf(dataset);
  options?.field_names?.forEach((name, index) => {
    if (fields?.has(name) === false) throw logpushFailures.fieldNotAllowed(doing, name, index);
  });
  if (typeof filter === "string" && filter !== "") parseFilter(filter, { dataset, fields, doing, limits });
}

/** All zones belong to one account. */
const accountOf = ({ kind, id }: Scope): string => (kind === "accounts" ? id : accounts.main);

/** Checks a destination. If `moved` is false, only its parameters changed, so ownership was already proven. */
function checkDestination(
  text: string,
  token: string | undefined,
  scope: Scope,
  { state: { logpush }, settings }: Services,
  moved = true,
): void {
  const destination = parseDestination(text);
  if (!logpush.isWritable(text) || isRedacted(destination, logpush.behavior.mask))
    throw logpushFailures.destinationUnwritable();
  if (!moved || !needsOwnership(destination, accounts.main)) return;
  if (token === undefined || token === "") throw logpushFailures.ownershipMissing();
  requireToken(token, scope, text, settings.clock());
}

function find(c: ApiContext, jobs: readonly Job[]): Job {
  const text = c.req.param("jobId") ?? "";
  if (!/^[1-9]\d{0,14}$/.test(text)) throw failures.notRouted(400, c.req.path);
  const job = jobs.find(({ id }) => id === Number(text));
  if (job === undefined) throw logpushFailures.jobNotFound(Number(text));
  return job;
}

function shown(jobs: readonly Job[], { behavior }: LogpushStore): Record<string, unknown>[] {
  return jobs.map((job) => jobToWire(job, behavior));
}
