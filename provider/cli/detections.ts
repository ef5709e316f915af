import { Option, type Command } from "commander";
import type { Io } from "../terminal/io";
import type * as Save from "./detections/save";
import { hexId, wordsAmong } from "./option-values";

const STATES = ["active", "infrequent", "inactive"] as const;
const KINDS = ["scripts", "connections", "cookies"] as const;

/** `edgeguard detections`: what Page Shield has seen a zone load. */
export function register(program: Command, io: Io): void {
  program
    .command("detections")
    .description("what Page Shield has seen the pages of a zone load")
    .command("save")
    .description(
      "write it to a file to commit, which readDetections and scriptSources make a policy from; only reads",
    )
    .addOption(new Option("--zone <id>", "the zone").argParser(hexId).makeOptionMandatory())
    .option("--out <file>", "the file to write", "detections.json")
    .addOption(
      new Option(
        "--include <kinds>",
        `separated by commas: ${KINDS.join(", ")}; the last two need the Business plan`,
      )
        .argParser(wordsAmong(KINDS))
        .default(["scripts"], "scripts"),
    )
    .addOption(
      new Option("--status <states>", `separated by commas: ${STATES.join(", ")}`)
        .argParser(wordsAmong(STATES))
        .default(["active"], "active"),
    )
    .option(
      "--hosts <hosts>",
      "only what was seen on pages of these hosts, separated by commas; default: all",
    )
    .option("--force", "overwrite a file that is no snapshot of this zone", false)
    .addHelpText("after", HELP)
    .action((options: Save.SaveOptions) => save().saveSnapshot(io, options));
}

const HELP = `
The same findings give the same bytes, so that the file changes only when the zone does. It is replaced as a whole: whatever
goes wrong, the old file stays. A policy enforced on active scripts alone blocks infrequent ones too: --status active,infrequent.

Exit codes: 0 written, or up to date already; 1 failed, and the file is as it was; 2 wrong usage; 130 ended by Ctrl-C, and
the file is as it was.

Example:
  $ edgeguard detections save --zone 0da42c8d2132a9ddaf714f9e7c920711 --status active,infrequent
  $ git diff detections.json`;

// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: --version and --help need none of it
const save = (): typeof Save => require("./detections/save") as typeof Save;
