import type { ApiContext, ApiRouter } from "./context";
import { failures } from "./envelope";

/** The prefix of every path in Cloudflare's API. */
export const BASE_PATH = "/client/v4";

/** The prefix of our own routes: faults, the request log, the state. */
export const CONTROL_PATH = "/__local";

type Handler = (c: ApiContext) => Response | Promise<Response>;

/** Registers a path with its methods. Requests with any other method are rejected. */
export function route(
  app: ApiRouter,
  path: string,
  methods: Partial<Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE", Handler>>,
): void {
  for (const [method, handler] of Object.entries(methods)) app.on(method, path, handler);
  app.all(path, (c) => {
    throw failures.methodNotAllowed(c.req.method);
  });
}
