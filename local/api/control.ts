import type { z } from "zod";
import type { ApiContext, ApiRouter } from "./context";
import { ControlRoutes } from "./control-routes";
import { failures } from "./envelope";
import { faultSchema } from "./faults";
import { CONTROL_PATH } from "./route";
import { readBody } from "./request";
import { rulesetControlRoutes } from "./rulesets/routes";
import { seededState } from "./seed";
import { snapshotSchema } from "./state";
import type { Services } from "./services";

/**
 * Registers the control routes, which Cloudflare doesn't have. They're outside the API's own path, so that no client
 * calls them by accident. They need no credentials, because the server listens only on the loopback interface. Whatever
 * has no route of its own is in the state, which can be read, edited and put back.
 */
export function controlRoutes(app: ApiRouter, services: Services): void {
  const controls = new ControlRoutes(app);
  const { state, faults, log } = services;
  const empty = (c: ApiContext): Response => c.body(null, 204);

  controls.add("GET", "", "lists these routes", (c) => {
    const about =
      "Control routes of the local API. They need no credentials. Bodies are JSON, sent with Content-Type: application/json.";
    return c.body(`${JSON.stringify({ about, controls: controls.list }, undefined, 2)}\n`, 200, {
      "Content-Type": "application/json",
    });
  });
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
  controls.add("PUT", "/state", "replaces the state, for example with an edited one", async (c) => {
    state.restore(await readBody(c, snapshotSchema));
    return empty(c);
  });
  controls.add("DELETE", "/state", "resets everything to the initial state", (c) => {
    state.restore(seededState(services.settings.zones));
    return empty(c);
  });

  rulesetControlRoutes(controls, services);

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
