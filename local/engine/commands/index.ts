/** The command line: the part of the Pulumi CLI's that this engine has. Anything else is refused by name. */
import path from "node:path";
import { Command, CommanderError, Option } from "commander";
import { AlreadyReported, CommandError, EXIT, messageOf } from "../errors";
import { addConfigCommands } from "./config";
import { wholeNumber, type Io } from "./io";
import { addRunCommands } from "./runs";
import { addStackCommands } from "./stack";

const VERSION = "v3.248.0-edgeguard-local";

/** Runs one command and tells its exit code; nothing is thrown. */
export async function runCommand(argv: readonly string[], io: Io): Promise<number> {
  try {
    await buildCommand(argv, io).parseAsync([...argv], { from: "user" });
    return EXIT.ok;
  } catch (error) {
    return report(error, io);
  }
}

function report(error: unknown, io: Io): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.failed;
  if (!(error instanceof AlreadyReported)) {
    const details = error instanceof CommandError ? messageOf(error) : unexpected(error);
    io.stderr.write(`error: ${details}\n`);
  }
  return error instanceof CommandError ? error.exitCode : EXIT.failed;
}

const unexpected = (error: unknown): string =>
  error instanceof Error && error.stack !== undefined ? error.stack : messageOf(error);

function buildCommand(argv: readonly string[], io: Io): Command {
  const at = { ...io, cwd: path.resolve(io.cwd, directoryFlag(argv) ?? ".") };
  const program = new Command("edgeguard-local")
    .description(
      "A small stand-in for the Pulumi engine, for trying and testing without the Pulumi CLI. Use the CLI for real work.",
    )
    .option("-C, --cwd <dir>", "run as if started there")
    .option("-s, --stack <name>", "the stack; else PULUMI_STACK, else the one selected")
    .option("-p, --parallel <n>", "steps at the same time", wholeNumber)
    .option("--non-interactive", "accepted: this engine never asks")
    .addOption(
      new Option("--color <when>", "colors").choices(["always", "auto", "never", "raw"]).default("auto"),
    )
    .addHelpText("after", "\nThe local API, to run programs against:\n  $ edgeguard-local api --help")
    .showHelpAfterError("(see --help for what the local engine supports)");
  program
    .command("version")
    .description("print the version")
    .action(() => {
      io.stdout.write(`${VERSION}\n`);
    });
  addStackCommands(program, at);
  addConfigCommands(program, at);
  addRunCommands(program, at);
  configure(program, io);
  return program;
}

/** The directory is needed before the rest is parsed. */
function directoryFlag(argv: readonly string[]): string | undefined {
  const index = argv.findIndex((arg) => arg === "-C" || arg === "--cwd");
  if (index >= 0) return argv[index + 1];
  return argv.find((arg) => arg.startsWith("--cwd="))?.slice("--cwd=".length);
}

function configure(command: Command, io: Io): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => io.stdout.write(text),
    writeErr: (text) => io.stderr.write(text),
  });
  for (const child of command.commands) configure(child, io);
}
