import type { Phrase } from "./phrase";
import type { Operation } from "./plan";

interface OperationWords {
  /** In front of a resource. */
  readonly sign: string;
  /** Behind a count: `3 to create`. */
  readonly words: string;
}

export const OPERATION: Readonly<Record<Operation, OperationWords>> = {
  create: { sign: "+", words: "to create" },
  import: { sign: "=", words: "to import" },
  "import-replacement": { sign: "=", words: "to import" },
  update: { sign: "~", words: "to update" },
  replace: { sign: "±", words: "to replace" },
  "create-replacement": { sign: "±", words: "to replace" },
  "delete-replaced": { sign: "-", words: "to delete" },
  delete: { sign: "-", words: "to delete" },
  discard: { sign: "-", words: "to forget" },
  "discard-replaced": { sign: "-", words: "to forget" },
  "remove-pending-replace": { sign: "-", words: "to forget" },
  read: { sign: ">", words: "to read" },
  "read-replacement": { sign: ">", words: "to read" },
  refresh: { sign: ">", words: "to read" },
  same: { sign: "=", words: "unchanged" },
};

/** The order of counts. */
export const COUNTED: readonly string[] = [...new Set(Object.values(OPERATION).map(({ words }) => words))];

/** A report before it is written down: what Markdown, text and JSON have in common. */
export interface Report {
  /** `project/stack` */
  readonly title: string;
  /** What the plan does to how many resources, in a fixed order: `{ "to create": 2, unchanged: 7 }`. */
  readonly counts: Readonly<Record<string, number>>;
  /** What to know of the plan as a whole before it is believed. */
  readonly notes: readonly Phrase[];
  readonly errors: readonly Message[];
  readonly dangers: readonly Judged[];
  /** Stands for all the dangers, so that they can be accepted; none where there are none, or where the preview failed. */
  readonly digest: string | undefined;
  readonly warnings: readonly Message[];
  readonly sections: readonly Section[];
  /** Resources of other providers: in the plan, but not explained here. */
  readonly others: readonly Named[];
}

/** What the engine or a provider said. */
export interface Message {
  /** `KvEntries products`, where it is about one resource. */
  readonly about: string | undefined;
  /** May have several lines. */
  readonly text: string;
}

export interface Named {
  readonly op: Operation;
  readonly type: string;
  readonly name: string;
}

/** What `--fail-on` can name, the gravest first. */
export const DANGERS = ["irreversible", "unprotect", "blocks", "removes", "replace", "delete"] as const;
export type DangerKind = (typeof DANGERS)[number];

/** How many of its own keys a KvEntries has to delete before it counts as a danger: so many, and such a share of them. */
export interface RemovalGate {
  readonly keys: number;
  /** 0 to 1 */
  readonly share: number;
}
export const REMOVAL_GATE: RemovalGate = { keys: 10, share: 0.5 };

export interface Danger {
  readonly kind: DangerKind;
  /** The class, such as `KvEntries`; of another provider the whole type. */
  readonly type: string;
  readonly name: string;
  readonly sentence: Phrase;
  /** Digest of what was compared in full, where the sentence may shorten it. */
  readonly compared?: string;
}

/** What becomes of a danger: `fails` stops the pipeline, `accepted` would if nobody had accepted it, `passes` is shown only. */
export type Verdict = "fails" | "accepted" | "passes";

export interface Judged extends Danger {
  /** Stands for this danger alone. */
  readonly digest: string;
  readonly verdict: Verdict;
}

/** What a pipeline makes of dangers. */
export interface Gate {
  readonly removal: RemovalGate;
  readonly failOn: readonly DangerKind[];
  /** Digests of what somebody accepted, of all dangers or of single ones. */
  readonly accepted: ReadonlySet<string>;
}
export const GATE: Gate = { removal: REMOVAL_GATE, failOn: [], accepted: new Set() };

export interface Section {
  readonly op: Operation;
  /** The class, such as `KvEntries`. */
  readonly kind: string;
  readonly name: string;
  /** Behind the name, in one line. */
  readonly summary: Phrase;
  readonly blocks: readonly Block[];
}

export type Block =
  | { readonly is: "text"; readonly text: Phrase }
  | { readonly is: "list"; readonly items: readonly Phrase[] }
  | {
      readonly is: "table";
      readonly head: readonly string[];
      readonly rows: readonly (readonly Phrase[])[];
    }
  /** Lines that are kept as they are. */
  | { readonly is: "code"; readonly language: "diff" | "text"; readonly lines: readonly string[] }
  | {
      readonly is: "states";
      readonly edges: readonly (readonly [from: string, to: string])[];
      readonly now: string | undefined;
      readonly next: string | undefined;
    };
