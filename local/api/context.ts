import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import type { Fault } from "./faults";
import type { Zone } from "./state";

/** The variables that Hono attaches to a request. */
export interface ApiEnv {
  Bindings: HttpBindings;
  Variables: {
    /** The zone in the path. Set for routes below `/zones/:zoneId`. */
    zone: Zone;
    /** The fault that affects the request. */
    fault: Fault | undefined;
    /**
     * The response's status if a fault bypassed Hono. Null if the fault sent no response, undefined for all other
     * requests.
     */
    sentStatus: number | null | undefined;
  };
}

export type ApiContext = Context<ApiEnv>;
export type ApiRouter = Hono<ApiEnv>;
