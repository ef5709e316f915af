import type { Phrase } from "./phrase";
import type { Operation } from "./plan";

interface OperationWords {
  /** The sign in front of a resource. */
  readonly sign: string;
  /** The words after a count: `3 to create`. */
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

/** The labels of counts, in display order. */
export const COUNTED: readonly string[] = [...new Set(Object.values(OPERATION).map(({ words }) => words))];

/** A report before formatting: what Markdown, text and JSON share. */
export interface Report {
  /** `project/stack` */
  readonly title: string;
  /** How many resources the plan creates, updates and so on, in a fixed order: `{ "to create": 2, unchanged: 7 }`. */
  readonly counts: Readonly<Record<string, number>>;
  /** Caveats about the plan as a whole. */
  readonly notes: readonly Phrase[];
  readonly errors: readonly Message[];
  readonly dangers: readonly JudgedDanger[];
  /** The digest that accepts all dangers. Undefined when there are none, or when the preview failed. */
  readonly digest: string | undefined;
  readonly warnings: readonly Message[];
  readonly sections: readonly Section[];
  /** Other providers' resources, listed without details. */
  readonly others: readonly Named[];
}

/** A message from the engine or a provider. */
export interface Message {
  /** `KvEntries products`; undefined if it isn't about one resource. */
  readonly about: string | undefined;
  /** One or more lines. */
  readonly text: string;
}

export interface Named {
  readonly op: Operation;
  readonly type: string;
  readonly name: string;
}

/** The kinds that `--fail-on` takes, worst first. */
export const DANGERS = ["irreversible", "unprotect", "blocks", "removes", "replace", "delete"] as const;
export type DangerKind = (typeof DANGERS)[number];

/** How many of its own keys a KvEntries deletes before that's a danger: at least `keys`, and at least `share` of them. */
export interface RemovalGate {
  readonly keys: number;
  /** 0 to 1 */
  readonly share: number;
}
export const REMOVAL_GATE: RemovalGate = { keys: 10, share: 0.5 };

export interface Danger {
  readonly kind: DangerKind;
  /** The class, such as `KvEntries`. For another provider, the full type. */
  readonly type: string;
  readonly name: string;
  readonly sentence: Phrase;
  /** Digest of the compared values, if the sentence may shorten them. */
  readonly compared?: string;
}

/** What happens to a danger: `fails` stops the pipeline, `accepted` means accepted with `--accept`, and `passes` means
 * that `--fail-on` doesn't list it.
 */
export type Verdict = "fails" | "accepted" | "passes";

export interface JudgedDanger extends Danger {
  /** The digest that accepts only this danger. */
  readonly digest: string;
  readonly verdict: Verdict;
}

/** Which dangers stop a pipeline. */
export interface Gate {
  readonly removal: RemovalGate;
  readonly failOn: readonly DangerKind[];
  /** Accepted digests, for all dangers together or for individual ones. */
  readonly accepted: ReadonlySet<string>;
}
export const GATE: Gate = { removal: REMOVAL_GATE, failOn: [], accepted: new Set() };

export interface Section {
  readonly op: Operation;
  /** The class, such as `KvEntries`. */
  readonly kind: string;
  readonly name: string;
  /** One line after the name. */
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
  /** Verbatim lines. */
  | { readonly is: "code"; readonly language: "diff" | "text"; readonly lines: readonly string[] }
  | {
      readonly is: "states";
      readonly edges: readonly (readonly [from: string, to: string])[];
      readonly now: string | undefined;
      readonly next: string | undefined;
    };
