import { Argument, InvalidArgumentError, Option, type Command } from "commander";
import type * as Actions from "./filter/actions";
import type { Io } from "../terminal/io";

const FORMATS = ["text", "json"] as const;

/** `edgeguard filter`: which log lines the filter of a log-push job lets through, before it is deployed. */
export function register(program: Command, io: Io): void {
  program
    .command("filter")
    .description("run the filter of a log-push job over sample log lines, and count what passes")
    .argument("<filter>", "the filter as JSON, or @ and the name of a file that holds it")
    .addArgument(
      new Argument("[lines]", "log lines, a JSON object each (NDJSON), .gz too; - is standard input").default(
        "-",
      ),
    )
    .option("--dataset <name>", "also check operators against the documented types of this dataset's fields")
    .addOption(new Option("--format <format>", "how to write the result").choices(FORMATS).default("text"))
    .addOption(
      new Option("--examples <count>", "lines of each kind that are shown").argParser(count).default(3),
    )
    .addOption(
      new Option(
        "--print",
        "write the lines that pass to stdout, as they are; the counts go to stderr",
      ).conflicts(["format", "examples"]),
    )
    .addHelpText("after", HELP)
    .action((filter: string, lines: string, options: Actions.FilterOptions) =>
      actions().testFilterOn(io, filter, lines, options),
    );
}

const HELP = `
Ends with 0 where at least one line could be judged, however many pass; with 1 where none could be read; with 2 where the
filter itself is wrong.

Example:
  $ edgeguard filter '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}' sample.ndjson`;

function count(text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Write a number from 0 to 9999.");
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: --version and --help need none of it
const actions = (): typeof Actions => require("./filter/actions") as typeof Actions;
