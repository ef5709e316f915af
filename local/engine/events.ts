/** What a run reports to its listeners. */
import type { Op, Step } from "./steps";
import type { Urn } from "./urn";

export type Severity = "debug" | "info" | "info#err" | "warning" | "error";

export interface Diagnostic {
  /** Empty for messages that belong to no resource. They're shown with the stack. */
  readonly urn: Urn;
  readonly severity: Severity;
  readonly message: string;
}

export interface Events {
  diagnostic(diagnostic: Diagnostic): void;
  /** A step is about to run. Its states are as planned. */
  before(step: Step): void;
  /** A step has run. For a refresh, `op` is what it found. */
  after(step: Step, op: Op, seconds: number): void;
  failed(step: Step): void;
}

export function broadcast(listeners: readonly Events[]): Events {
  return {
    diagnostic: (diagnostic) => listeners.forEach((each) => each.diagnostic(diagnostic)),
    before: (step) => listeners.forEach((each) => each.before(step)),
    after: (step, op, seconds) => listeners.forEach((each) => each.after(step, op, seconds)),
    failed: (step) => listeners.forEach((each) => each.failed(step)),
  };
}
