import { z } from "zod";
import type { ApiContext, ApiRouter } from "./context";
import { ControlRoutes } from "./control-routes";
import { failures } from "./envelope";
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
 * Registers the control routes, which Cloudflare doesn't have. They're outside the API's own path, so that no client
 * calls them by accident. They need no credentials, because the server listens only on the loopback interface.
 */
export function controlRoutes(app: ApiRouter, services: Services): void {
  const controls = new ControlRoutes(app);
  const { settings, clock, state, faults, log } = services;
  const empty = (c: ApiContext): Response => c.body(null, 204);

  controls.add("GET", "", "lists these routes", (c) => {
    const about =
      "Control routes of the local API. They need no credentials. Bodies are JSON, sent with Content-Type: application/json.";
    return c.body(`${JSON.stringify({ about, controls: controls.list }, undefined, 2)}\n`, 200, {
      "Content-Type": "application/json",
    });
  });
  controls.add("GET", "/health", "responds once the API is running", (c) => c.json({ healthy: true }));
  controls.add("GET", "/info", "shows accounts and zones, with their plans", (c) =>
    c.json({
      dialect: settings.dialect,
      accounts: Object.entries(accounts).map(([name, id]) => ({ id, name })),
      zones: state.zones(),
    }),
  );

  controls.add("GET", "/faults", "lists the faults that haven't hit a request yet", (c) =>
    c.json(faults.list()),
  );
  controls.add(
    "POST",
    "/faults",
    "makes requests fail: `kind` says how, `match` selects by method and path (a part or a regular expression), `times` says how many (default: 1)",
    async (c) => {
      faults.add(await readBody(c, faultSchema));
      return c.json(faults.list());
    },
    ...FAULTS,
  );
  controls.add("DELETE", "/faults", "removes the faults that haven't hit a request yet", (c) => {
    faults.clear();
    return empty(c);
  });

  controls.add("GET", "/requests", "lists the requests that arrived, oldest first", (c) =>
    c.json(log.entries),
  );
  controls.add("DELETE", "/requests", "clears the request log", (c) => {
    log.clear();
    return empty(c);
  });

  controls.add("GET", "/state", "returns the API's entire state as one JSON value", (c) =>
    c.json(state.snapshot()),
  );
  controls.add("PUT", "/state", "restores a saved state", async (c) => {
    state.restore(await readBody(c, snapshotSchema));
    return empty(c);
  });
  controls.add("DELETE", "/state", "resets everything to the initial state", (c) => {
    state.restore(seededState());
    return empty(c);
  });

  controls.add("GET", "/clock", "shows the API's time", (c) => c.json({ now: clock.now() }));
  controls.add(
    "POST",
    "/clock",
    "advances the API's clock, for example to expire tokens and keys",
    async (c) => {
      const { advanceMs } = await readBody(c, z.strictObject({ advanceMs: z.number().min(0) }));
      clock.advance(advanceMs);
      return c.json({ now: clock.now() });
    },
    { advanceMs: 60_000 },
  );

  pageShieldControlRoutes(controls, services);
  controls.add(
    "PUT",
    "/kv/:namespaceId/lag",
    "sets how many milliseconds pass until a namespace's listings and reads show a write",
    async (c) => c.json(state.kv.setLag(readId(c, "namespaceId"), await readBody(c, kvLagSchema))),
    { listing: 5_000, reads: 1_000 },
  );
  rulesetControlRoutes(controls, services);
  wafControlRoutes(controls, services);
  logpushControlRoutes(controls, services);

  app.all(`${CONTROL_PATH}/*`, (c) => {
    throw failures.noControl(`${c.req.method} ${c.req.path}`, CONTROL_PATH);
  });
}

/** An example of each kind of fault. */
const FAULTS: readonly z.input<typeof faultSchema>[] = [
  { kind: "status", status: 503, times: 2, match: { path: "/page_shield/policies" } },
  { kind: "status", status: 429, retryAfter: 1, match: { method: "GET" } },
  { kind: "dropBefore", match: { method: "PUT" } },
  { kind: "dropAfter", match: { method: "POST", path: "/page_shield/policies$" } },
  { kind: "slow", delayMs: 3_000, when: "after", match: { path: "/rulesets" } },
  { kind: "truncated", match: { path: "/logpush/jobs" } },
  { kind: "raw", status: 502, body: "<h1>Bad gateway</h1>", contentType: "text/html", match: {} },
  { kind: "unsuccessful", count: 3, match: { path: "/bulk" } },
  { kind: "emptyPage", match: { path: "/keys" } },
];

function pageShieldControlRoutes(controls: ControlRoutes, { state }: Services): void {
  const examples = {
    scripts: [{ url: "https://cdn.shop.example/new.js" }],
    connections: [{ url: "https://api.shop.example/v1" }],
    cookies: [{ name: "session" }],
  };
  for (const kind of ["scripts", "connections", "cookies"] as const) {
    const found = (mode: DetectMode) => async (c: ApiContext) => {
      const zoneId = readId(c, "zoneId");
      state.detect(zoneId, { [kind]: await readBody(c, detectionSchema.shape[kind]) }, mode);
      return c.json(state.pageShieldDetected.latest(zoneId)[kind]);
    };
    const path = `/zones/:zoneId/${kind}`;
    controls.add(
      "PATCH",
      path,
      `adds ${kind} to the ones that Page Shield detected in a zone`,
      found("merge"),
      examples[kind],
    );
    controls.add(
      "PUT",
      path,
      `replaces the ${kind} that Page Shield detected in a zone`,
      found("replace"),
      examples[kind],
    );
  }
}
