import type { ApiContext, ApiRouter } from "../context";
import { failures, ok } from "../envelope";
import { route } from "../route";
import { readId } from "../request";
import type { Services } from "../services";
import type { Transformer } from "./entities";
import { logpushFailures } from "./failures";
import * as requests from "./requests";
import type { LogpushStore } from "./store";

/**
 * Transformers: https://developers.cloudflare.com/logs/logpush/transformers/. The local API doesn't run SQL: it serves no
 * preview, and of a query it checks only that it names a dataset and nothing unsupported.
 */
export function transformerRoutes(
  app: ApiRouter,
  root: string,
  { state: { logpush }, settings: { strict, limits, clock } }: Services,
): void {
  const checked = (code: string): string => {
    // Cloudflare's guide gives the status, but not the error.
    if (Buffer.byteLength(code) > limits.maxTransformerBytes) throw failures.bodyTooLarge();
    requireSupported(code);
    return code;
  };
  const find = (c: ApiContext, as?: "visible"): Transformer => {
    const text = c.req.param("transformerId") ?? "";
    if (!/^[1-9]\d{0,14}$/.test(text)) throw failures.notRouted(400, c.req.path);
    const found = logpush.transformers(readId(c, "accountId"), as).find(({ id }) => id === Number(text));
    if (found === undefined) throw logpushFailures.transformerNotFound(Number(text), 404);
    return found;
  };
  const shown = (transformer: Transformer) => toWire(logpush, transformer);

  route(app, root, {
    GET: (c) => ok(c, logpush.transformers(readId(c, "accountId"), "listed").map(shown)),

    POST: async (c) => {
      const accountId = readId(c, "accountId");
      const {
        name = "",
        description = "",
        code = "",
        ...further
      } = await requests.readTransformer(c, strict);
      if (name === "") throw logpushFailures.transformerLacks("name");
      if (code === "") throw logpushFailures.transformerLacks("code");
      const at = clock().toISOString();
      const versions = [{ id: 1, version: 1, created_at: at, code: checked(code) }];
      const members = { accountId, name, description, created_at: at, updated_at: at, versions, further };
      return ok(c, shown(logpush.createTransformer(members)));
    },
  });

  route(app, `${root}/:transformerId`, {
    GET: (c) => ok(c, shown(find(c, "visible"))),

    // A description that isn't sent is cleared. Code that isn't sent is kept.
    PUT: async (c) => {
      const old = find(c);
      const { name = "", description = "", code, ...further } = await requests.readTransformer(c, strict);
      if (name === "") throw logpushFailures.transformerLacks("name");
      const at = clock().toISOString();
      const next = old.versions.length + 1;
      const added =
        code === undefined ? [] : [{ id: next, version: next, created_at: at, code: checked(code) }];
      const versions = [...old.versions, ...added];
      const changed = { ...old, name, description, updated_at: at, versions, further };
      logpush.updateTransformer(changed);
      return ok(c, shown(changed));
    },

    DELETE: (c) => {
      const { id } = find(c);
      if (jobsWith(logpush, id).length > 0) throw logpushFailures.transformerInUse(id);
      logpush.removeTransformer(id);
      return ok(c, { id });
    },
  });

  route(app, `${root}/:transformerId/content`, {
    GET: (c) => {
      const { versions } = find(c, "visible");
      const wanted = c.req.query("version_id") ?? String(versions.length);
      const version = versions.find(({ id }) => String(id) === wanted);
      if (version === undefined) throw failures.notFound(`version ${wanted}`);
      return ok(c, { content: version.code });
    },
  });

  route(app, `${root}/:transformerId/versions`, {
    GET: (c) => {
      const newest = find(c, "visible").versions.toReversed();
      const shownVersions = newest.map(({ id, version, created_at }) => ({ id, version, created_at }));
      return ok(c, shownVersions.slice(0, Number(c.req.query("limit") ?? newest.length)));
    },
  });
}

/** Checks that a job for the dataset may use the transformer. */
export function requireTransformer(
  logpush: LogpushStore,
  id: number,
  accountId: string,
  dataset: string,
): void {
  const found = logpush.transformers(accountId).find((each) => each.id === id);
  if (found === undefined) throw logpushFailures.transformerNotFound(id, 400, "/transformer_id");
  const its = datasetIn(found.versions.at(-1)?.code ?? "") ?? "";
  if (its !== dataset) throw logpushFailures.transformerOfOther(id, its, dataset);
}

function jobsWith(logpush: LogpushStore, id: number) {
  return logpush.snapshot().jobs.filter(({ transformer_id }) => transformer_id === id);
}

function toWire(logpush: LogpushStore, transformer: Transformer): Record<string, unknown> {
  const { id, name, description, created_at, updated_at, versions, further } = transformer;
  const jobs = jobsWith(logpush, id).map((job) => ({
    id: job.id,
    name: job.name,
    object_tag: job.scope.id,
    object_type: job.scope.kind === "zones" ? "zone" : "account",
  }));
  const dataset = datasetIn(versions.at(-1)?.code ?? "") ?? null;
  return { ...further, id, name, description, dataset, associated_jobs: jobs, created_at, updated_at };
}

/** Returns the code without texts, comments and the FROM of functions such as `extract(epoch FROM …)`. */
function plain(code: string): string {
  const withoutTexts = code.replace(/'(?:[^']|'')*'/g, "''").replace(/--.*|\/\*[^]*?\*\//g, "");
  return withoutTexts.replace(/\b(extract|trim|substring)\s*\([^()]*\bfrom\b/gi, "$1(");
}

/** Returns the dataset that a FROM clause names: the first source that isn't a CTE. Only Cloudflare knows all datasets. */
function datasetIn(code: string): string | undefined {
  const sources = [...plain(code).matchAll(/\bfrom\s+["`]?(\w+)/gi)].map(([, name = ""]) => name);
  const expressions = [...plain(code).matchAll(/\b(\w+)\s+as\s*\(/gi)].map(([, name]) => name);
  return sources.find((name) => !expressions.includes(name));
}

const UNSUPPORTED = [
  /\bjoin\b/i,
  /\bgroup\s+by\b/i,
  /\bhaving\b/i,
  /\border\s+by\b/i,
  /\bover\s*\(/i,
  /;\s*\S/,
];

function requireSupported(code: string): void {
  const text = plain(code);
  if (!/^\s*(select|with)\b/i.test(text)) throw logpushFailures.transformerInvalid("expected SELECT or WITH");
  if (datasetIn(code) === undefined) throw logpushFailures.transformerInvalid("no FROM clause");
  const found = UNSUPPORTED.map((pattern) => pattern.exec(text)?.[0]).find((each) => each !== undefined);
  if (found !== undefined) throw logpushFailures.transformerInvalid(`unsupported: ${found}`);
}
