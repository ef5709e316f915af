import type { MovableClock } from "./clock";
import type { Faults } from "./faults";
import type { Settings } from "./options";
import type { RequestLog } from "./request-log";
import type { State } from "./state";

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
