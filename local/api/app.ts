import { randomBytes } from "node:crypto";
import { type Context, Hono, type Next } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import { analyticsRoutes } from "./analytics/routes";
import type { ApiContext, ApiEnv, ApiRouter } from "./context";
import { controlRoutes } from "./control";
import { ApiFailure, fail, failures } from "./envelope";
import { strike } from "./strike";
import { kvRoutes } from "./kv/routes";
import { logpushRoutes } from "./logpush/routes";
import { pageShieldRoutes } from "./page-shield/routes";
import { BASE_PATH } from "./route";
import { RateLimiter } from "./rate-limit";
import { realTime } from "./request-log";
import { bodyBytes, readId } from "./request";
import { rulesetRoutes } from "./rulesets/routes";
import { accounts } from "./seed";
import { answerSparsely } from "./sparse";
import { wafRoutes } from "./waf/routes";
import { zoneRoutes } from "./zones";
import type { Services } from "./services";
import type { Credential } from "./options";

/** Creates the app with all routes. A request passes through this file from top to bottom. */
export function createApp(services: Services): ApiRouter {
  const { settings, state, faults, log, wait } = services;
  const limiter = new RateLimiter(settings);
  // The default router matches quickly but is slow to build, and these servers often live for only one test.
  const app = new Hono<ApiEnv>({ strict: false, router: new TrieRouter() });

  app.onError((error, c) => fail(c, error instanceof ApiFailure ? error : failures.internal(error)));
  app.notFound((c) => fail(c, failures.notRouted(404, c.req.path)));
  controlRoutes(app, services);

  app.use(`${BASE_PATH}/*`, async (c: ApiContext, next: Next) => {
    c.header("cf-ray", `${randomBytes(8).toString("hex")}-LOC`);
    c.header("date", settings.clock().toUTCString());
    const entry = await log.record(c, pathOf(c), settings.clock());
    await next();
    entry.endedAt = realTime();
    const fault = c.get("fault");
    if (fault !== undefined) entry.fault = fault.kind;
    const sent = c.get("sentStatus");
    entry.status = sent === undefined ? c.res.status : sent;
  });

  if (settings.sparse) app.use(`${BASE_PATH}/*`, answerSparsely);

  app.use(`${BASE_PATH}/*`, async (c: ApiContext, next: Next) => {
    await wait(settings.latencyMs);
    const fault = faults.take(c.req.method, pathOf(c));
    return fault === undefined ? next() : strike(fault, c, next, wait);
  });

  app.use(`${BASE_PATH}/*`, async (c: ApiContext, next: Next) => {
    limiter.check(c);
    authorize(c, settings.credentials);
    const most = settings.limits.maxBodyBytes;
    if (settings.largeBodies === "close" && Number(c.req.header("content-length")) > most)
      throw failures.bodyTooLarge({ connection: "close" });
    if ((await bodyBytes(c)).length > most) throw failures.bodyTooLarge();
    await next();
  });

  app.use(`${BASE_PATH}/zones/:zoneId/*`, async (c: ApiContext, next: Next) => {
    const zone = state.zone(readId(c, "zoneId"));
    if (zone === undefined) throw failures.notRouted(404, c.req.path);
    c.set("zone", zone);
    await next();
  });

  app.use(`${BASE_PATH}/accounts/:accountId/*`, async (c: ApiContext, next: Next) => {
    const known: readonly string[] = Object.values(accounts);
    if (!known.includes(readId(c, "accountId"))) throw failures.notRouted(404, c.req.path);
    await next();
  });

  zoneRoutes(app, services);
  analyticsRoutes(app, services);
  pageShieldRoutes(app, services);
  kvRoutes(app, services);
  logpushRoutes(app, services);
  wafRoutes(app, services);
  rulesetRoutes(app, services);
  return app;
}

function pathOf(c: ApiContext): string {
  return c.req.path.slice(BASE_PATH.length);
}

/** Rejects the request unless its headers contain an accepted credential with the necessary permission. */
function authorize(c: ApiContext, accepted: readonly Credential[]): void {
  const credential = identify(c, accepted);
  const writes = !["GET", "HEAD"].includes(c.req.method) && pathOf(c) !== "/graphql";
  if (writes && credential.readOnly === true) throw failures.credentialsRefused();
  if (credential.paths?.test(pathOf(c)) === false) throw failures.credentialsRefused();
}

function identify(c: Context, accepted: readonly Credential[]): Credential {
  const authorization = c.req.header("authorization");
  if (authorization !== undefined) {
    const token = /^Bearer ([\w-]+)$/.exec(authorization)?.[1];
    if (token === undefined) throw failures.credentialsMalformed();
    const known = accepted.find((credential) => credential.token === token);
    if (known === undefined) throw failures.credentialsRefused();
    return known;
  }

  const email = c.req.header("x-auth-email");
  const key = c.req.header("x-auth-key");
  if (email === undefined || key === undefined) throw failures.credentialsMissing();
  const known = accepted.find((credential) => credential.email === email && credential.key === key);
  if (known === undefined) throw failures.credentialsMissing();
  return known;
}
