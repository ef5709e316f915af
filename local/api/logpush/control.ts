import type { ApiContext } from "../context";
import type { ControlRoutes } from "../control-routes";
import { readBody } from "../request";
import { behaviorSchema } from "./behavior";
import { health } from "./entities";
import type { Services } from "../services";

/**
 * Registers Logpush's control routes, which Cloudflare doesn't have. They return the files at destinations, and change
 * how responses look.
 */
export function logpushControlRoutes(controls: ControlRoutes, { state: { logpush } }: Services): void {
  controls.add("GET", "/logpush/sink", "lists the files at all destinations, such as ownership tokens", (c) =>
    c.json(logpush.files()),
  );
  controls.add(
    "GET",
    `${SINK}/*`,
    "returns a file at a destination, such as /logpush/sink/s3/bucket/path/file",
    (c) => c.text(logpush.read(decodeURIComponent(c.req.path.split(`${SINK}/`).slice(1).join(`${SINK}/`)))),
  );
  controls.add(
    "PATCH",
    "/logpush/jobs/:jobId/health",
    "sets when a job last pushed or failed, and its error message",
    async (c) => {
      logpush.setHealth(jobIdOf(c), await readBody(c, health.partial()));
      return c.body(null, 204);
    },
    { last_error: "2025-01-31T00:00:00Z", error_message: "error writing object: access denied" },
  );
  controls.add("GET", "/logpush/behavior", "shows the settings for undocumented Logpush behavior", (c) =>
    c.json(logpush.behavior),
  );
  controls.add(
    "PATCH",
    "/logpush/behavior",
    "changes the settings for undocumented Logpush behavior, for example to hide filters in responses",
    async (c) => c.json(logpush.configure(await readBody(c, behaviorSchema.partial()))),
    { destination: "redacted", filter: "hidden", unwritable: ["s3://closed"] },
  );
}

const SINK = "/logpush/sink";

function jobIdOf(c: ApiContext): number {
  return Number(c.req.param("jobId"));
}
