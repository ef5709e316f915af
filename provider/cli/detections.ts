import { Option, type Command } from "commander";
import type { Io } from "../terminal/io";
import type * as Save from "./detections/save";
import { hexId, wordsAmong } from "./option-values";

const STATES = ["active", "infrequent", "inactive"] as const;
const KINDS = ["scripts", "connections", "cookies"] as const;

/** Registers `edgeguard detections`, for the scripts, connections and cookies that Page Shield has seen. */
export function register(program: Command, io: Io): void {
  program
    .command("detections")
    .description("save what Page Shield has seen on a zone's pages")
    .command("save")
    .description(
      "write a zone's detections to a file that you can commit and build a policy from (readDetections, scriptSources); only reads from the API",
    )
    .addOption(new Option("--zone <id>", "the zone").argParser(hexId).makeOptionMandatory())
    .option("--out <file>", "the file to write", "detections.json")
    .addOption(
      new Option(
        "--include <kinds>",
        `comma-separated: ${KINDS.join(", ")}; connections and cookies need the Business plan`,
      )
        .argParser(wordsAmong(KINDS))
        .default(["scripts"], "scripts"),
    )
    .addOption(
      new Option("--status <states>", `comma-separated: ${STATES.join(", ")}`)
        .argParser(wordsAmong(STATES))
        .default(["active"], "active"),
    )
    .option("--hosts <hosts>", "only detections on these hosts, comma-separated; default: all")
    .option("--force", "overwrite the file even if it isn't a snapshot of this zone", false)
    .addHelpText("after", HELP)
    .action((options: Save.SaveOptions) => save().saveSnapshot(io, options));
}

const HELP = `
The same detections always produce the same bytes, so the file changes only when the detections do. The file is replaced in one step: if anything fails, the old file stays. A policy made from active scripts alone blocks infrequent ones. To include those, pass --status active,infrequent.

Exit codes: 0 written or already up to date; 1 failed, the file is unchanged; 2 usage error; 130 interrupted (Ctrl-C), the file is
unchanged.

Examples:
  $ edgeguard detections save --zone 0da42c8d2132a9ddaf714f9e7c920711 --status active,infrequent
  $ git diff detections.json`;

// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: --version and --help need none of it
const save = (): typeof Save => require("./detections/save") as typeof Save;
