import type { Operation } from "./plan";

interface Told {
  /** In front of a resource. */
  readonly sign: string;
  /** Behind a count: `3 to create`. */
  readonly words: string;
}

export const OPERATION: Readonly<Record<Operation, Told>> = {
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
