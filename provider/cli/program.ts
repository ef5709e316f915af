import { Command, CommanderError } from "commander";
import { VERSION } from "../version";
import { CommandError, InterruptedError, UsageError } from "../terminal/errors";
import { INTERRUPTED_EXIT_CODE, tell, type Io } from "../terminal/io";
import * as existing from "./import";
import * as filter from "./filter";
import * as kv from "./kv";
import * as report from "./report";
import type * as Redaction from "../terminal/redaction";

/**
 * A group of commands registers its names, options and help, and loads what carries them out when it is called: what
 * one group needs does not slow down another.
 */
type Register = (program: Command, io: Io) => void;

const GROUPS: readonly Register[] = [kv.register, report.register, existing.register, filter.register];

/** Runs one command. Gives the exit code: 0 done, 1 failed, 2 wrong usage, 130 ended by Ctrl-C. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  const program = new Command("edgeguard")
    .description("Edge security as code: the command line beside the Pulumi resources.")
    .version(VERSION)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
    })
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 failed, 2 wrong usage.\n\nExample:\n  $ edgeguard kv namespace list",
    );
  for (const register of GROUPS) register(program, io);
  try {
    await program.parseAsync(kv.modernized(args, io), { from: "user" });
    return 0;
  } catch (error) {
    return exitCodeOf(error, io);
  }
}

function exitCodeOf(error: unknown, io: Io): number {
  // The parser has said what is wrong, or shown the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  tell(io, `edgeguard: ${redacted(messageOf(error, io), io)}`);
  if (error instanceof UsageError) return 2;
  return error instanceof InterruptedError ? INTERRUPTED_EXIT_CODE : 1;
}

function messageOf(error: unknown, io: Io): string {
  if (!(error instanceof Error)) return String(error);
  const trace = io.env["EDGEGUARD_DEBUG"] === "1" && !(error instanceof CommandError);
  return trace ? (error.stack ?? error.message) : error.message;
}

/** No secret of the environment may be printed, whatever brought it into a message. */
function redacted(text: string, io: Io): string {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: few commands fail
  const { redactorFor } = require("../terminal/redaction") as typeof Redaction;
  return redactorFor(io.env).redact(text);
}
