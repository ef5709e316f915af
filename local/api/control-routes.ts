import type { ApiContext, ApiRouter } from "./context";
import { CONTROL_PATH } from "./route";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One of the control routes, as listed by `GET /__local`. */
interface Control {
  /** The method and path, such as `POST /__local/faults`. */
  readonly request: string;
  readonly does: string;
  /** Examples of bodies that the route accepts. */
  readonly examples?: readonly object[];
}

/** Registers routes below `/__local`. Each needs a description, so `GET /__local` lists all of them. */
export class ControlRoutes {
  readonly list: Control[] = [];

  constructor(readonly app: ApiRouter) {}

  /** @param does what the route does, starting with a verb: `lists the faults that haven't hit a request yet`. */
  add(
    method: Method,
    path: string,
    does: string,
    handler: (c: ApiContext) => Response | Promise<Response>,
    ...examples: readonly object[]
  ): void {
    const full = `${CONTROL_PATH}${path}`;
    this.app.on(method, full, handler);
    const shown = full.replace(/:(\w+)/g, "{$1}");
    this.list.push({
      request: `${method} ${shown}`,
      does,
      ...(examples.length === 0 ? {} : { examples }),
    });
  }
}
