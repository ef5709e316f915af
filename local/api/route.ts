import type { ApiContext, ApiRouter } from "./context";
import { failures } from "./envelope";

/** Every path of Cloudflare's API starts with it. */
export const BASE_PATH = "/client/v4";

/** What is ours: faults, the request log, the state. */
export const CONTROL_PATH = "/__local";

type Handler = (c: ApiContext) => Response | Promise<Response>;

/** One path with its methods; any other method on it is refused. */
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
