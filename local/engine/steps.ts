/** The steps of an operation, each for one resource. */
import type { ResourceState } from "./state";
import type { Urn } from "./urn";

/** The operations, with the CLI's names in `preview --json`. */
export type Op =
  | "same"
  | "create"
  | "update"
  | "delete"
  | "replace"
  | "create-replacement"
  | "delete-replaced"
  | "remove-pending-replace"
  | "refresh"
  | "import";

/** The result of a registration, for the program. */
export interface Registered {
  readonly state: ResourceState;
  readonly result: "success" | "failed" | "skipped";
}

interface Common {
  readonly op: Op;
  /** The keys of the inputs because of which the resource is replaced. */
  readonly replaceKeys?: readonly string[];
  readonly changedKeys?: readonly string[];
}

/** Sends the program the result of its registration. */
type Respond = (registered: Registered) => void;

export interface SameStep extends Common {
  readonly op: "same";
  readonly old: ResourceState;
  readonly new: ResourceState;
  readonly respond?: Respond;
}

/** Skips a resource that --target excludes. The program gets a response, and the state doesn't change. */
export interface SkipCreateStep extends Common {
  readonly op: "same";
  readonly old?: undefined;
  readonly new: ResourceState;
  readonly respond: Respond;
}

export interface CreateStep extends Common {
  readonly op: "create" | "create-replacement";
  readonly old?: ResourceState;
  readonly new: ResourceState;
  /** Whether the old resource is deleted later. */
  readonly deleteOldLater?: boolean;
  readonly respond: Respond;
}

export interface UpdateStep extends Common {
  readonly op: "update";
  readonly old: ResourceState;
  readonly new: ResourceState;
  readonly respond: Respond;
}

/** A step that shows a replacement as a whole. The create and the delete are separate steps. */
interface ReplaceStep extends Common {
  readonly op: "replace";
  readonly old: ResourceState;
  readonly new: ResourceState;
}

export interface DeleteStep extends Common {
  readonly op: "delete" | "delete-replaced";
  readonly old: ResourceState;
  readonly new?: undefined;
  /** Whether the replacement is created next. Until then, the old resource stays in the state. */
  readonly replacementFollows?: boolean;
}

export interface ForgetStep extends Common {
  readonly op: "remove-pending-replace";
  readonly old: ResourceState;
  readonly new?: undefined;
}

export interface RefreshStep extends Common {
  readonly op: "refresh";
  readonly old: ResourceState;
  /** The refreshed state. Undefined if the resource no longer exists. */
  new: ResourceState | undefined;
  /** Whether the next update would change it back. */
  hasDrifted: boolean;
}

interface ImportStep extends Common {
  readonly op: "import";
  readonly old?: undefined;
  readonly new: ResourceState;
}

export type Step =
  | SameStep
  | SkipCreateStep
  | CreateStep
  | UpdateStep
  | ReplaceStep
  | DeleteStep
  | ForgetStep
  | RefreshStep
  | ImportStep;

export const subjectOf = (step: Step): ResourceState => step.new ?? step.old;

export const urnOf = (step: Step): Urn => subjectOf(step).urn;

/** Whether a step is counted. A replacement is counted once, as "replace". */
export const isLogical = ({ op }: Step): boolean =>
  op !== "create-replacement" &&
  op !== "delete-replaced" &&
  op !== "remove-pending-replace" &&
  op !== "refresh";
