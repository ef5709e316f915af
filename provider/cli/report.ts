import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { Argument, InvalidArgumentError, Option, type Command } from "commander";
import { whyUnreadable } from "../kv/source-error";
import type * as Reports from "../report";
import { CommandError, UsageError } from "./errors";
import { print, type Io } from "./io";

const FORMATS = ["markdown", "text", "json"] as const satisfies readonly Reports.Format[];

/** What a plan may hold that a pipeline should not pass by itself. */
const DANGERS: Readonly<Record<Reports.DangerKind, string>> = {
  irreversible: "cannot be undone: a step of a WAF migration, a namespace's data, keys that are pruned",
  unprotect: "drops protection: a zone without a managed ruleset, a policy that blocks no more",
  blocks: "an allow policy would block scripts that the zone's pages load",
  replace: "a resource, of any provider, is replaced",
  delete: "a resource, of any provider, is deleted",
};
const KINDS = Object.keys(DANGERS) as Reports.DangerKind[]; // The keys are those of an object that is written out above.

/** `edgeguard report`: a plan, told for the person who has to approve it. */
export function register(program: Command, io: Io): void {
  program
    .command("report")
    .description("turn the plan of `pulumi preview --json --show-sames` into a comment for a pull request")
    .addArgument(new Argument("[file]", "the plan; - is standard input").default("-"))
    .addOption(new Option("--format <format>", "how to write it").choices(FORMATS).default("markdown"))
    .addOption(
      new Option("--fail-on <kinds>", "end with 1 where the plan holds one of these, separated by commas")
        .argParser(kinds)
        .default([], "nothing"),
    )
    .addHelpText("after", HELP)
    .action((file: string, options: ReportOptions) => writeReport(io, file, options));
}

const HELP = `
Kinds of --fail-on:
${Object.entries(DANGERS)
  .map(([kind, meaning]) => `  ${kind.padEnd(13)} ${meaning}`)
  .join("\n")}

Ends with 1 also where the preview failed; the report is written all the same, and says why.

Example:
  $ pulumi preview --json --show-sames | edgeguard report --fail-on irreversible,unprotect > comment.md`;

interface ReportOptions {
  readonly format: Reports.Format;
  readonly failOn: readonly Reports.DangerKind[];
}

function kinds(text: string): Reports.DangerKind[] {
  return text.split(",").map((word) => {
    const kind = KINDS.find((known) => known === word.trim());
    if (kind !== undefined) return kind;
    throw new InvalidArgumentError(`${JSON.stringify(word)} is none of ${KINDS.join(", ")}.`);
  });
}

async function writeReport(io: Io, file: string, { format, failOn }: ReportOptions): Promise<void> {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use
  const { report } = require("../report") as typeof Reports;
  const { text, dangers, failed } = report(await readPlan(io, file), format);
  await print(io, text);
  if (failed) throw new CommandError("the preview failed; the report says why");
  const met = dangers.filter(({ kind }) => failOn.includes(kind));
  if (met.length > 0) throw new CommandError(`the plan holds what --fail-on names: ${named(met)}`);
}

const MOST_NAMED = 5;

function named(dangers: readonly Reports.Danger[]): string {
  const names = dangers.slice(0, MOST_NAMED).map(({ kind, type, name }) => `${kind} (${type} ${name})`);
  return `${names.join(", ")}${dangers.length > MOST_NAMED ? `, and ${dangers.length - MOST_NAMED} more` : ""}`;
}

async function readPlan(io: Io, file: string): Promise<string> {
  if (file === "-") {
    if (io.stdin.isTTY === true)
      throw new UsageError("which plan? Name a file, or pipe `pulumi preview --json --show-sames` in.");
    return await textOf(io.stdin);
  }
  const path = resolve(io.cwd, file);
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new CommandError(
      `the plan in ${file} cannot be read: ${whyUnreadable(error)} (looked for ${path}).`,
    );
  }
}
