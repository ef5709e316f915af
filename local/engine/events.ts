/** What a run reports to its listeners. */
import type { Op, Step } from "./steps";
import type { Urn } from "./urn";

export type Severity = "debug" | "info" | "info#err" | "warning" | "error";

export interface Diagnostic {
  /** The resource's URN. Empty for messages that don't belong to a resource, which are shown with the stack. */
  readonly urn: Urn;
  readonly severity: Severity;
  readonly message: string;
}

export interface Events {
  diagnostic(diagnostic: Diagnostic): void;
  /** Called before a step runs. Its states are as planned. */
  before(step: Step): void;
  /** Called after a step has run. For a refresh, `op` is what it found. */
  after(step: Step, op: Op, seconds: number): void;
  failed(step: Step): void;
}
