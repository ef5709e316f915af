import { z } from "zod";
import type { ApiContext, ApiRouter } from "../context";
import { CONTROL_PATH } from "../route";
import { readBody, readQuery } from "../request";
import { behaviourSchema } from "./behaviour";
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

/** What is not the vendor's: pushes on demand, what they left in the sink, and how answers look. */
export function logpushControlRoutes(app: ApiRouter, { state: { logpush } }: Services): void {
  const root = `${CONTROL_PATH}/logpush`;

  app.get(`${root}/behaviour`, (c) => c.json(logpush.behaviour));
  app.patch(`${root}/behaviour`, async (c) =>
    c.json(logpush.configure(await readBody(c, behaviourSchema.partial()))),
  );

  app.patch(`${root}/jobs/:jobId/health`, async (c) => {
    logpush.setHealth(jobIdOf(c), await readBody(c, health.partial()));
    return c.body(null, 204);
  });
  app.post(`${root}/jobs/:jobId/push`, async (c) => {
    const isNdjson = c.req.header("content-type")?.includes("ndjson") === true;
    const given = isNdjson ? { lines: ndjson(await c.req.text()) } : await readBody(c, pushed);
    return c.json(logpush.push(jobIdOf(c), "lines" in given ? given.lines : given));
  });

  app.get(`${root}/lines/:dataset`, (c) => {
    const dataset = c.req.param("dataset");
    if (!isDataset(dataset)) throw logpushFailures.datasetUnknown(dataset);
    const query = readQuery(c, z.object({ count: count.default(10), seed }));
    const lines = logpush.lines(dataset, query);
    return c.text(lines.map((each) => `${JSON.stringify(each)}\n`).join(""), 200, {
      "Content-Type": "application/x-ndjson",
    });
  });

  app.get(`${root}/sink`, (c) => c.json(logpush.files()));
  app.get(`${root}/sink/*`, (c) => {
    return c.text(logpush.read(decodeURIComponent(c.req.path.slice(`${root}/sink/`.length))));
  });
}

function jobIdOf(c: ApiContext): number {
  return Number(c.req.param("jobId"));
}

function ndjson(text: string): Line[] {
  const lines = text.split("\n").filter((each) => each.trim() !== "");
  return lines.map((each, index) => {
    try {
      return line.parse(JSON.parse(each));
    } catch {
      throw logpushFailures.linesInvalid(index + 1, "a JSON object is expected");
    }
  });
}
