import type { ApiContext, ApiRouter } from "./context";
import { CONTROL_PATH } from "./route";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One of the control routes, as listed by `GET /__local`. */
interface Control {
  /** The request, such as `POST /__local/faults`. */
  readonly request: string;
  readonly does: string;
  /** Examples of bodies that the route accepts. */
  readonly examples?: readonly object[];
}

/** Routes below `/__local`, each with a description, so that no route can be added without appearing in the list. */
export class ControlRoutes {
  readonly #app: ApiRouter;
  readonly #list: Control[] = [];

  constructor(app: ApiRouter) {
    this.#app = app;
  }

  /**
   * @param does the rest of a sentence that starts with the request: `lists the faults that wait for their request`.
   */
  add(
    method: Method,
    path: string,
    does: string,
    handler: (c: ApiContext) => Response | Promise<Response>,
    ...examples: readonly object[]
  ): void {
    const full = `${CONTROL_PATH}${path}`;
    this.#app.on(method, full, handler);
    const shown = full.replace(/:(\w+)/g, "{$1}");
    this.#list.push({
      request: `${method} ${shown}`,
      does,
      ...(examples.length === 0 ? {} : { examples }),
    });
  }

  get list(): readonly Control[] {
    return this.#list;
  }
}
