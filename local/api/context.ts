import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import type { MovableClock } from "./clock";
import type { Fault, Faults } from "./faults";
import type { Settings } from "./options";
import type { RequestLog } from "./request-log";
import type { State, Zone } from "./state";

/** What Hono carries along with a request. */
export interface ApiEnv {
  Bindings: HttpBindings;
  Variables: {
    /** Of the path; known to routes below `/zones/:zoneId`. */
    zone: Zone;
    /** Struck the request. */
    fault: Fault | undefined;
    /** Set by a fault that answers past Hono: the status that went out, or null when none did. */
    sentStatus: number | null | undefined;
  };
}

export type ApiContext = Context<ApiEnv>;
export type ApiRouter = Hono<ApiEnv>;

/** What routes are made of. */
export interface Services {
  readonly settings: Settings;
  /** Also `settings.clock`, by its reading alone. */
  readonly clock: MovableClock;
  readonly state: State;
  readonly faults: Faults;
  readonly log: RequestLog;
  /** Ends with an error when the server closes. */
  readonly wait: (ms: number) => Promise<void>;
}
