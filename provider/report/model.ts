import { z } from "zod";
import { members, schemaUrl } from "../basics/published";
import { Phrase } from "./phrase";
import { OPERATIONS, type Operation } from "./plan";

interface OperationWords {
  /** The sign shown in front of a resource, such as `+`. */
  readonly sign: string;
  /** The words shown after a count, such as `to create` in `3 to create`. */
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

export const phrase = z.custom<Phrase>((given) => given instanceof Phrase).meta({ type: "string" });
const operation = z
  .enum(OPERATIONS)
  .describe("Pulumi's name for the operation, such as `create-replacement`.");

export const message = members({
  about: z
    .string()
    .optional()
    .describe("The resource, such as `KvEntries products`. Missing if the message isn't about one resource."),
  text: z.string().describe("One or more lines."),
}).describe("A message from the engine or a provider.");
export type Message = z.output<typeof message>;

export const named = members({ op: operation, type: z.string(), name: z.string() });
export type Named = z.output<typeof named>;

/** The kinds of danger that `--fail-on` accepts, worst first. */
export const DANGERS = [
  "irreversible",
  "unprotect",
  "blocks",
  "traffic",
  "removes",
  "unseen",
  "replace",
  "delete",
] as const;
export type DangerKind = (typeof DANGERS)[number];

const judgedDanger = members({
  kind: z.enum(DANGERS).describe("The kind of danger, as listed in `--fail-on`."),
  type: z
    .string()
    .describe("The class, such as `KvEntries`. For another provider's resource, its full type."),
  name: z.string(),
  sentence: phrase,
  compared: z
    .string()
    .optional()
    .describe("A digest of the compared values. Present if the sentence may shorten them."),
  digest: z.string().describe("The digest that accepts only this danger."),
  verdict: z
    .enum(["fails", "accepted", "passes"])
    .describe(
      "`fails` stops the pipeline, `accepted` means accepted with `--accept`, and `passes` means that `--fail-on` doesn't list the danger's kind.",
    ),
});
export type JudgedDanger = z.output<typeof judgedDanger>;
export type Danger = Omit<JudgedDanger, "digest" | "verdict">;
export type Verdict = JudgedDanger["verdict"];

export const block = z.discriminatedUnion("is", [
  members({ is: z.literal("text"), text: phrase }),
  members({ is: z.literal("list"), items: z.array(phrase).readonly() }),
  members({
    is: z.literal("table"),
    head: z.array(z.string()).readonly(),
    rows: z.array(z.array(phrase).readonly()).readonly(),
  }),
  members({
    is: z.literal("code"),
    language: z.enum(["diff", "text", "ts", "yaml"]),
    lines: z.array(z.string()).readonly(),
  }).describe("Lines to show verbatim."),
  members({
    is: z.literal("states"),
    edges: z
      .array(z.tuple([z.string(), z.string()]).readonly())
      .readonly()
      .describe("The possible transitions, each from one state to another."),
    now: z.string().optional(),
    next: z.string().optional(),
  }),
]);
export type Block = z.output<typeof block>;

const section = members({
  op: operation,
  kind: z.string().describe("The class, such as `KvEntries`."),
  name: z.string(),
  summary: phrase.describe("One line of text, shown after the name."),
  blocks: z.array(block).readonly(),
});
export type Section = z.output<typeof section>;

const scriptInventory = members({
  passed: z.boolean().describe("True if there are no findings."),
  summary: phrase,
  findings: z.array(phrase).readonly(),
}).describe("The result of a script inventory's check. Missing without `--inventory`.");
export type InventorySummary = z.output<typeof scriptInventory>;

/** The name of the document's schema. */
export const REPORT_SCHEMA = "report.v1";

/** The document that `--format json` writes. */
export const reportDocument = members({
  $schema: z.literal(schemaUrl(REPORT_SCHEMA)),
  title: z.string().describe("The stack's name: `project/stack`."),
  counts: z
    .record(z.string(), z.int().min(0))
    .readonly()
    .describe(
      'How many resources the plan creates, updates and so on: `{ "to create": 2, "unchanged": 7 }`.',
    ),
  notes: z.array(phrase).readonly().describe("Caveats about the plan as a whole."),
  errors: z.array(message).readonly().describe("Why the preview failed. Empty if it didn't."),
  dangers: z.array(judgedDanger).readonly(),
  digest: z
    .string()
    .optional()
    .describe(
      "The digest to pass to `--accept` to accept all dangers. Missing if there are none, or if the preview failed.",
    ),
  warnings: z.array(message).readonly(),
  newVersions: z
    .array(message)
    .readonly()
    .describe(
      "What new versions of managed rulesets mean for the stack's deployments, and what pinned versions lack. These messages are never dangers.",
    ),
  inventory: scriptInventory.optional(),
  sections: z.array(section).readonly(),
  others: z.array(named).readonly().describe("Other providers' resources, listed without details."),
});
/** A report before formatting: what Markdown, text and JSON share. */
export type Report = Omit<z.output<typeof reportDocument>, "$schema">;

/** How many of its own keys a KvEntries deletes before that's a danger: at least `keys`, and at least `share` of them. */
export interface RemovalGate {
  readonly keys: number;
  /** A fraction, from 0 to 1. */
  readonly share: number;
}
export const REMOVAL_GATE: RemovalGate = { keys: 10, share: 0.5 };

/** What the judges know about the gate. */
export interface JudgedGate extends RemovalGate {
  /** How many events that passed a change of managed rules may stop. Undefined if `traffic` isn't asked for. */
  readonly traffic?: number | undefined;
}

/** Which dangers stop a pipeline. */
export interface Gate {
  readonly removal: JudgedGate;
  readonly failOn: readonly DangerKind[];
  /** Accepted digests, for all dangers together or for individual ones. */
  readonly accepted: ReadonlySet<string>;
}
export const GATE: Gate = { removal: REMOVAL_GATE, failOn: [], accepted: new Set() };
