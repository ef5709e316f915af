/** A run's readable output: the changed resources, messages, outputs and counts. */
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
  readonly write: (text: string) => void;
}

interface Row {
  readonly urn: Urn;
  op: Op;
  failed: boolean;
  lines: string[];
}

/** How an operation is shown: its symbol, and its label in a preview and for a finished step. */
const SHOWN: Readonly<Record<Op, readonly [symbol: string, planned: string, done: string]>> = {
  same: ["  ", "", ""],
  create: ["+ ", "create", "created"],
  update: ["~ ", "update", "updated"],
  delete: ["- ", "delete", "deleted"],
  replace: ["+-", "replace", "replaced"],
  "create-replacement": ["++", "create replacement", "created replacement"],
  "delete-replaced": ["--", "delete original", "deleted original"],
  "remove-pending-replace": ["- ", "complete replacement", "completed replacement"],
  refresh: ["~ ", "refresh", "refreshed"],
  import: ["= ", "import", "imported"],
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

  constructor(readonly options: DisplayOptions) {
    const [planned, running] = TITLES[options.command];
    options.write(`${options.dryRun ? planned : running} (${options.stack}):\n\n`);
  }

  diagnostic(diagnostic: Diagnostic): void {
    if (diagnostic.severity !== "debug") this.#diagnostics.push(diagnostic);
  }

  before(step: Step): void {
    if (isInternal(step)) return;
    const { urn } = subjectOf(step);
    const row = this.#rows.get(urn) ?? { urn, op: step.op, failed: false, lines: [] };
    this.#rows.set(urn, row);
    const lines = this.#linesOf(step, step.op);
    if (lines.length > 0) row.lines = lines;
    row.op = combinedOp(row.op, step.op);
  }

  after(step: Step, op: Op, seconds: number): void {
    const row = this.#rows.get(subjectOf(step).urn);
    if (row === undefined || isInternal(step)) return;
    if (step.op === "refresh") {
      row.op = op === "refresh" && step.new !== undefined ? "same" : op;
      row.lines = this.#linesOf(step, op);
    }
    if (!this.options.dryRun && row.op !== "same" && op !== "replace" && op !== "same")
      this.options.write(`${title(op, row.urn, SHOWN[op][2])} (${seconds.toFixed(1)}s)\n`);
  }

  failed(step: Step): void {
    const row = this.#rows.get(subjectOf(step).urn);
    if (row === undefined) return;
    row.failed = true;
    if (!this.options.dryRun) this.options.write(`${this.#titleOf(row)}\n`);
  }

  finish(outcome: Outcome, seconds: number): void {
    const { command, dryRun, write } = this.options;
    if (!dryRun) write("\n");
    this.#writeRows();
    this.#writeDiagnostics();
    if (command !== "destroy") this.#writeOutputs(outcome);
    this.#writeCounts(outcome.counts);
    if (!dryRun) write(`Duration: ${Math.max(1, Math.round(seconds))}s\n`);
    write("\n");
  }

  #linesOf(step: Step, op: Op): string[] {
    const { isDetailed } = this.options;
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

  #writeRows(): void {
    const { showSames, write } = this.options;
    const shown = [...this.#rows.values()].filter(
      (row) => row.op !== "same" || row.failed || isRootStack(row.urn) || showSames,
    );
    for (const row of shown) {
      write(`${this.#titleOf(row)}\n`);
      for (const line of row.lines) write(`        ${line}\n`);
    }
    if (shown.length > 0) write("\n");
  }

  #titleOf({ op, urn, failed }: Row): string {
    const [, planned, done] = SHOWN[op];
    return title(op, urn, failed ? `${planned} failed`.trim() : this.options.dryRun ? planned : done);
  }

  #writeDiagnostics(): void {
    if (this.#diagnostics.length === 0) return;
    const { write } = this.options;
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
    const { dryRun, write } = this.options;
    const lines = dryRun ? outputDiff(oldOutputs ?? {}, outputs ?? {}) : valueLines(outputs ?? {});
    if (lines.length === 0) return;
    write(`Outputs:\n${lines.map((line) => `    ${line}\n`).join("")}\n`);
  }

  #writeCounts(counts: Counts): void {
    const { dryRun, write } = this.options;
    const changes = [...counts].filter(([op]) => op !== "same");
    const unchanged = counts.get("same") ?? 0;
    if (changes.length === 0 && unchanged === 0) return;
    write("Resources:\n");
    for (const [op, count] of changes) {
      const [symbol, planned, done] = SHOWN[op];
      write(`    ${symbol.trim()} ${count} ${dryRun ? `to ${planned}` : done}\n`);
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
  return ` ${SHOWN[op][0]} ${typeOf(urn)}  ${nameOf(urn)}  ${word}`.trimEnd();
}

const prefixOf = (severity: Severity): string =>
  severity === "error" || severity === "warning" ? `${severity}: ` : "";
