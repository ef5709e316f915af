/** What an operation does, one resource at a time. */
import type { DetailedDiff } from "./diff";
import type { ResourceState } from "./state";
import type { Urn } from "./urn";

/** The names the CLI uses in a preview's JSON. */
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

/** What the program is told about a resource it registered. */
export interface Registered {
  readonly state: ResourceState;
  readonly result: "success" | "failed" | "skipped";
}

interface Common {
  readonly op: Op;
  /** Why a step changes or replaces: input keys, and paths where the engine itself compared. */
  readonly replaceKeys?: readonly string[];
  readonly changedKeys?: readonly string[];
  detailedDiff?: DetailedDiff | undefined;
}

/** Tells the program that its registration is served. */
type Answer = (registered: Registered) => void;

export interface SameStep extends Common {
  readonly op: "same";
  readonly old: ResourceState;
  readonly new: ResourceState;
  readonly answer?: Answer;
}

/** Left out by --target: the program is answered, and the state does not mention it. */
export interface SkipCreateStep extends Common {
  readonly op: "same";
  readonly old?: undefined;
  readonly new: ResourceState;
  readonly answer: Answer;
}

export interface CreateStep extends Common {
  readonly op: "create" | "create-replacement";
  readonly old?: ResourceState;
  readonly new: ResourceState;
  /** The replaced one is deleted later. */
  readonly deleteOldLater?: boolean;
  readonly answer: Answer;
}

export interface UpdateStep extends Common {
  readonly op: "update";
  readonly old: ResourceState;
  readonly new: ResourceState;
  readonly answer: Answer;
}

/** Shows a replacement as one thing; its creation and deletion are steps of their own. */
interface ReplaceStep extends Common {
  readonly op: "replace";
  readonly old: ResourceState;
  readonly new: ResourceState;
}

export interface DeleteStep extends Common {
  readonly op: "delete" | "delete-replaced";
  readonly old: ResourceState;
  readonly new?: undefined;
  /** Its replacement is created next, so the state keeps it as a reminder. */
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
  /** What was found; undefined where nothing was. */
  new: ResourceState | undefined;
  /** Would the next update change it back? */
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

/** A replacement counts once: as "replace", not as its parts. */
export const isLogical = ({ op }: Step): boolean =>
  op !== "create-replacement" &&
  op !== "delete-replaced" &&
  op !== "remove-pending-replace" &&
  op !== "refresh";
