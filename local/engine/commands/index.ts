/**
 * The command line: the part of the Pulumi CLI's command line that this engine supports. Errors name anything it
 * doesn't support.
 */
import path from "node:path";
import { Command, CommanderError } from "commander";
import { AlreadyReported, CommandError, EXIT, messageOf } from "../errors";
import { addConfigCommands } from "./config";
import { parseWholeNumber, type Io } from "./io";
import { addRunCommands } from "./runs";
import { addStackCommands } from "./stack";

/** Runs one command and resolves to its exit code. Never throws. */
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
      "A small stand-in for the Pulumi CLI, for trying things out and for tests. Use the Pulumi CLI for real work.",
    )
    .option("-C, --cwd <dir>", "run as if started in this directory")
    .option("-s, --stack <name>", "the stack (default: PULUMI_STACK, then the selected stack)")
    .option("-p, --parallel <n>", "how many steps to run at the same time", parseWholeNumber)
    .option("--non-interactive", "accepted for compatibility: the local engine never prompts")
    .addHelpText("after", "\nTo start the local API:\n  $ edgeguard-local api --help")
    .showHelpAfterError("(run with --help to see what the local engine supports)");
  addStackCommands(program, at);
  addConfigCommands(program, at);
  addRunCommands(program, at);
  configure(program, io);
  return program;
}

/** Returns the value of --cwd. Other options resolve their paths against it, so it's needed before they're parsed. */
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
