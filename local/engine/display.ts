/** A run's readable output: the changed resources as a tree, messages, outputs and counts. */
import { inputDiff, outputDiff, valueLines } from "./diff-text";
import type { Diagnostic, Events, Severity } from "./events";
import { isInternal, type Counts } from "./execute";
import type { Outcome } from "./run-context";
import { subjectOf, type Op, type Step } from "./steps";
import { isRootStack, nameOf, typeOf, type Urn } from "./urn";

export type Command = "update" | "refresh" | "destroy" | "import";

interface DisplayOptions {
  readonly command: Command;
  readonly stack: string;
  readonly dryRun: boolean;
  /** Whether to show the inputs of created and deleted resources as well. */
  readonly isDetailed: boolean;
  readonly showSames: boolean;
  readonly showOutputs: boolean;
  readonly write: (text: string) => void;
}

interface Row {
  readonly urn: Urn;
  readonly parent: Urn;
  op: Op;
  done: boolean;
  failed: boolean;
  lines: string[];
}

const SYMBOLS: Readonly<Record<Op, string>> = {
  same: "  ",
  create: "+ ",
  update: "~ ",
  delete: "- ",
  replace: "+-",
  "create-replacement": "++",
  "delete-replaced": "--",
  "remove-pending-replace": "- ",
  refresh: "~ ",
  import: "= ",
};

/** The labels of operations, for a preview and for a finished step. */
const LABELS: Readonly<Record<Op, readonly [string, string]>> = {
  same: ["", ""],
  create: ["create", "created"],
  update: ["update", "updated"],
  delete: ["delete", "deleted"],
  replace: ["replace", "replaced"],
  "create-replacement": ["create replacement", "created replacement"],
  "delete-replaced": ["delete original", "deleted original"],
  "remove-pending-replace": ["complete replacement", "completed replacement"],
  refresh: ["refresh", "refreshed"],
  import: ["import", "imported"],
};

const TITLES: Readonly<Record<Command, readonly [string, string]>> = {
  update: ["Previewing update", "Updating"],
  refresh: ["Previewing refresh", "Refreshing"],
  destroy: ["Previewing destroy", "Destroying"],
  import: ["Previewing import", "Importing"],
};

export class Display implements Events {
  readonly #rows = new Map<Urn, Row>();
  readonly #diagnostics: Diagnostic[] = [];
  readonly #options: DisplayOptions;

  constructor(options: DisplayOptions) {
    this.#options = options;
    const [planned, running] = TITLES[options.command];
    options.write(`${options.dryRun ? planned : running} (${options.stack}):\n\n`);
  }

  diagnostic(diagnostic: Diagnostic): void {
    if (diagnostic.severity !== "debug") this.#diagnostics.push(diagnostic);
  }

  before(step: Step): void {
    if (isInternal(step)) return;
    const { urn, parent } = subjectOf(step);
    const row = this.#rows.get(urn) ?? { urn, parent, op: step.op, done: false, failed: false, lines: [] };
    this.#rows.set(urn, row);
    const lines = this.#linesOf(step, step.op);
    if (lines.length > 0) row.lines = lines;
    row.op = combinedOp(row.op, step.op);
    row.done = false;
  }

  after(step: Step, op: Op, seconds: number): void {
    const row = this.#rows.get(subjectOf(step).urn);
    if (row === undefined || isInternal(step)) return;
    row.done = true;
    if (step.op === "refresh") {
      row.op = op === "refresh" && step.new !== undefined ? "same" : op;
      row.lines = this.#linesOf(step, op);
    }
    if (!this.#options.dryRun && row.op !== "same" && op !== "replace" && op !== "same") {
      this.#options.write(`${title(op, row.urn, LABELS[op][1])} (${seconds.toFixed(1)}s)\n`);
    }
  }

  failed(step: Step): void {
    const row = this.#rows.get(subjectOf(step).urn);
    if (row === undefined) return;
    row.failed = true;
    if (!this.#options.dryRun) {
      this.#options.write(`${title(row.op, row.urn, `${LABELS[row.op][0]} failed`)}\n`);
    }
  }

  finish(outcome: Outcome, seconds: number): void {
    const { dryRun, showOutputs, write } = this.#options;
    if (!dryRun) write("\n");
    this.#writeTree();
    this.#writeDiagnostics();
    if (showOutputs) this.#writeOutputs(outcome);
    this.#writeCounts(outcome.counts);
    if (!dryRun) write(`Duration: ${Math.max(1, Math.round(seconds))}s\n`);
    write("\n");
  }

  #linesOf(step: Step, op: Op): string[] {
    const { isDetailed } = this.#options;
    const [old, current] = [step.old?.inputs ?? {}, step.new?.inputs ?? {}];
    switch (op) {
      case "update":
      case "replace":
      case "create-replacement":
        return inputDiff(old, current);
      case "create":
      case "import":
        return isDetailed ? inputDiff({}, current) : [];
      case "delete":
        return isDetailed ? inputDiff(old, {}) : [];
      case "same":
      case "refresh":
      case "delete-replaced":
      case "remove-pending-replace":
        return [];
    }
  }

  #writeTree(): void {
    const shown = this.#shownRows();
    const children = new Map<Urn, Row[]>();
    for (const row of shown) {
      const parent = shown.some(({ urn }) => urn === row.parent) ? row.parent : "";
      children.set(parent, [...(children.get(parent) ?? []), row]);
    }
    const writeRow = (row: Row, depth: number): void => {
      const indentation = "   ".repeat(depth);
      const [planned, done] = LABELS[row.op];
      const word = row.failed ? `${planned} failed`.trim() : this.#options.dryRun ? planned : done;
      this.#options.write(`${indentation}${title(row.op, row.urn, word)}\n`);
      for (const line of row.lines) this.#options.write(`${indentation}        ${line}\n`);
      for (const child of children.get(row.urn) ?? []) writeRow(child, depth + 1);
    };
    for (const row of children.get("") ?? []) writeRow(row, 0);
    if (shown.length > 0) this.#options.write("\n");
  }

  /** Returns the rows of changed resources and their parents. */
  #shownRows(): Row[] {
    const wanted = new Set<Urn>();
    for (const row of this.#rows.values()) {
      const isShown = row.op !== "same" || row.failed || isRootStack(row.urn) || this.#options.showSames;
      for (
        let each: Row | undefined = isShown ? row : undefined;
        each !== undefined;
        each = this.#rows.get(each.parent)
      ) {
        wanted.add(each.urn);
      }
    }
    return [...this.#rows.values()].filter(({ urn }) => wanted.has(urn));
  }

  #writeDiagnostics(): void {
    if (this.#diagnostics.length === 0) return;
    const { write } = this.#options;
    const stackRow = [...this.#rows.keys()].find(isRootStack) ?? "";
    const byUrn = new Map<Urn, Diagnostic[]>();
    for (const diagnostic of this.#diagnostics) {
      const urn = diagnostic.urn === "" ? stackRow : diagnostic.urn;
      byUrn.set(urn, [...(byUrn.get(urn) ?? []), diagnostic]);
    }
    write("Diagnostics:\n");
    for (const [urn, diagnostics] of byUrn) {
      if (urn !== "") write(`  ${typeOf(urn)} (${nameOf(urn)}):\n`);
      for (const { severity, message } of diagnostics) {
        write(`${`${prefixOf(severity)}${message}`.trimEnd().replace(/^/gm, "    ")}\n`);
      }
      write("\n");
    }
  }

  #writeOutputs({ outputs, oldOutputs }: Outcome): void {
    const { dryRun, write } = this.#options;
    const lines = dryRun ? outputDiff(oldOutputs ?? {}, outputs ?? {}) : valueLines(outputs ?? {});
    if (lines.length === 0) return;
    write(`Outputs:\n${lines.map((line) => `    ${line}\n`).join("")}\n`);
  }

  #writeCounts(counts: Counts): void {
    const { dryRun, write } = this.#options;
    const changes = [...counts].filter(([op]) => op !== "same");
    const unchanged = counts.get("same") ?? 0;
    if (changes.length === 0 && unchanged === 0) return;
    write("Resources:\n");
    for (const [op, count] of changes) {
      write(`    ${SYMBOLS[op].trim()} ${count} ${dryRun ? `to ${LABELS[op][0]}` : LABELS[op][1]}\n`);
    }
    if (unchanged > 0) write(`    ${unchanged} unchanged\n`);
    write("\n");
  }
}

/** Combines a resource's steps. A replacement is shown as one row, even if it consists of several steps. */
function combinedOp(before: Op, now: Op): Op {
  const isPart = now === "create-replacement" || now === "delete-replaced";
  if (before === "replace" || (isPart && before !== "same" && before !== "delete-replaced")) return before;
  return now;
}

function title(op: Op, urn: Urn, word: string): string {
  return ` ${SYMBOLS[op]} ${typeOf(urn)}  ${nameOf(urn)}  ${word}`.trimEnd();
}

const prefixOf = (severity: Severity): string =>
  severity === "error" || severity === "warning" ? `${severity}: ` : "";
