import { Argument, type Command } from "commander";
import type * as Actions from "./filter/actions";
import type { Io } from "../terminal/io";

/** Registers `edgeguard filter`, which tests a Logpush filter on log lines before you deploy it. */
export function register(program: Command, io: Io): void {
  program
    .command("filter")
    .description("test a Logpush filter against sample log lines, and count what passes")
    .argument("<filter>", "the filter as JSON, or @<file>")
    .addArgument(
      new Argument(
        "[lines]",
        "log lines, one JSON object each (NDJSON), plain or .gz; - reads standard input",
      ).default("-"),
    )
    .option(
      "--dataset <name>",
      "check the filter against the fields of this dataset (default: the documented dataset that fits best)",
    )
    .addHelpText("after", HELP)
    .action((filter: string, lines: string, options: Actions.FilterOptions) =>
      actions().testFilterOn(io, filter, lines, options),
    );
}

const HELP = `
Checks the filter's fields, operators and values the way the preview of a LogpushJob does, with the fields that this version knows.

Exit codes: 0 at least one line was tested, even if none passed; 1 no line could be read; 2 invalid filter or other usage error.

Example:
  $ edgeguard filter '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}' sample.ndjson`;

// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: --version and --help need none of it
const actions = (): typeof Actions => require("./filter/actions") as typeof Actions;
