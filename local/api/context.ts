import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import type { Fault } from "./faults";
import type { Zone } from "./state";

/** What Hono attaches to a request. */
export interface ApiEnv {
  Bindings: HttpBindings;
  Variables: {
    /** The zone in the path; set for routes below `/zones/:zoneId`. */
    zone: Zone;
    /** The fault that hit the request. */
    fault: Fault | undefined;
    /** Set by a fault that responds without Hono: the status that was sent, or null if none was. */
    sentStatus: number | null | undefined;
  };
}

export type ApiContext = Context<ApiEnv>;
export type ApiRouter = Hono<ApiEnv>;
