import { z } from "zod";
import type { ApiContext } from "../context";
import type { ControlRoutes } from "../control-routes";
import { readBody, readQuery } from "../request";
import { behaviorSchema } from "./behavior";
import { isDataset } from "./datasets";
import { health } from "./entities";
import type { Line } from "./evaluate";
import { logpushFailures } from "./failures";
import type { Services } from "../services";

const count = z.coerce.number().pipe(z.int().min(1).max(100_000));
const seed = z.coerce.number().pipe(z.int()).optional();
const line = z.record(z.string(), z.unknown());
const pushed = z.union([
  z.strictObject({ count, seed }),
  z.strictObject({ lines: z.array(line).min(1).max(100_000) }),
]);

/**
 * Registers Logpush's control routes, which Cloudflare doesn't have. They push logs on demand, return the pushed files,
 * and change how responses look.
 */
export function logpushControlRoutes(controls: ControlRoutes, { state: { logpush } }: Services): void {
  controls.add(
    "GET",
    "/logpush/sink",
    "lists the files at all destinations: pushed logs and ownership tokens",
    (c) => c.json(logpush.files()),
  );
  controls.add(
    "GET",
    `${SINK}/*`,
    "returns a file at a destination, such as /logpush/sink/s3/bucket/path/file",
    (c) => c.text(logpush.read(decodeURIComponent(c.req.path.split(`${SINK}/`).slice(1).join(`${SINK}/`)))),
  );
  controls.add(
    "POST",
    "/logpush/jobs/:jobId/push",
    "pushes generated lines, or yours (as JSON or NDJSON), through a job's filter to its destination",
    async (c) => {
      const isNdjson = c.req.header("content-type")?.includes("ndjson") === true;
      const given = isNdjson ? { lines: ndjson(await c.req.text()) } : await readBody(c, pushed);
      return c.json(logpush.push(jobIdOf(c), "lines" in given ? given.lines : given));
    },
    { count: 100 },
    { lines: [{ EdgeResponseStatus: 503 }] },
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
  controls.add(
    "GET",
    "/logpush/lines/:dataset",
    "generates log lines of a dataset as NDJSON (?count=10)",
    (c) => {
      const dataset = c.req.param("dataset") ?? "";
      if (!isDataset(dataset)) throw logpushFailures.datasetUnknown(dataset);
      const query = readQuery(c, z.object({ count: count.default(10), seed }));
      const lines = logpush.lines(dataset, query);
      return c.text(lines.map((each) => `${JSON.stringify(each)}\n`).join(""), 200, {
        "Content-Type": "application/x-ndjson",
      });
    },
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

function ndjson(text: string): Line[] {
  const lines = text.split("\n").filter((each) => each.trim() !== "");
  return lines.map((each, index) => {
    try {
      return line.parse(JSON.parse(each));
    } catch {
      throw logpushFailures.linesInvalid(index + 1, "expected a JSON object");
    }
  });
}
