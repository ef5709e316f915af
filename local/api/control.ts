import { z } from "zod";
import type { ApiContext, ApiRouter } from "./context";
import { faultSchema } from "./faults";
import { kvLagSchema } from "./kv/namespace";
import { logpushControlRoutes } from "./logpush/control";
import { detectionSchema, type DetectMode } from "./page-shield/detect";
import { CONTROL_PATH } from "./route";
import { readBody, readId } from "./request";
import { rulesetControlRoutes } from "./rulesets/routes";
import { accounts, seededState } from "./seed";
import { snapshotSchema } from "./state";
import { wafControlRoutes } from "./waf/dashboard";
import type { Services } from "./services";

/**
 * What is not the vendor's: for programs that know this API by its address only. Outside the API's own path, so that
 * no request of a client can meet it by accident; needs no credential, as the server listens on the loopback only.
 */
export function controlRoutes(app: ApiRouter, services: Services): void {
  const { settings, clock, state, faults, log } = services;
  rulesetControlRoutes(app, services);
  wafControlRoutes(app, services);
  logpushControlRoutes(app, services);

  app.get(`${CONTROL_PATH}/health`, (c) => c.json({ healthy: true }));

  app.get(`${CONTROL_PATH}/info`, (c) =>
    c.json({
      dialect: settings.dialect,
      accounts: Object.entries(accounts).map(([name, id]) => ({ id, name })),
      zones: state.zones(),
    }),
  );

  app.get(`${CONTROL_PATH}/clock`, (c) => c.json({ now: clock.now() }));
  app.post(`${CONTROL_PATH}/clock`, async (c) => {
    const { advanceMs } = await readBody(c, z.strictObject({ advanceMs: z.number().min(0) }));
    clock.advance(advanceMs);
    return c.json({ now: clock.now() });
  });

  app.put(`${CONTROL_PATH}/kv/:namespaceId/lag`, async (c) => {
    return c.json(state.kv.setLag(readId(c, "namespaceId"), await readBody(c, kvLagSchema)));
  });

  app.get(`${CONTROL_PATH}/requests`, (c) => c.json(log.entries));
  app.delete(`${CONTROL_PATH}/requests`, (c) => {
    log.clear();
    return c.body(null, 204);
  });

  app.get(`${CONTROL_PATH}/faults`, (c) => c.json(faults.list()));
  app.post(`${CONTROL_PATH}/faults`, async (c) => {
    faults.add(await readBody(c, faultSchema));
    return c.json(faults.list());
  });
  app.delete(`${CONTROL_PATH}/faults`, (c) => {
    faults.clear();
    return c.body(null, 204);
  });

  app.get(`${CONTROL_PATH}/state`, (c) => c.json(state.snapshot()));
  app.put(`${CONTROL_PATH}/state`, async (c) => {
    state.restore(await readBody(c, snapshotSchema));
    return c.body(null, 204);
  });
  app.delete(`${CONTROL_PATH}/state`, (c) => {
    state.restore(seededState());
    return c.body(null, 204);
  });

  for (const kind of ["scripts", "connections", "cookies"] as const) {
    const path = `${CONTROL_PATH}/zones/:zoneId/${kind}`;
    const found = (mode: DetectMode) => async (c: ApiContext) => {
      const zoneId = readId(c, "zoneId");
      state.detect(zoneId, { [kind]: await readBody(c, detectionSchema.shape[kind]) }, mode);
      return c.json(state.pageShieldDetected.latest(zoneId)[kind]);
    };
    app.patch(path, found("merge"));
    app.put(path, found("replace"));
  }
}
