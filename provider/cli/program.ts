import { Command, CommanderError } from "commander";
import { VERSION } from "../version";
import { printToStderr, type Io } from "../terminal/io";
import * as existing from "./import";
import * as filter from "./filter";
import * as inventory from "./inventory";
import * as kv from "./kv";
import * as report from "./report";
import * as rollout from "./rollout";
import * as survey from "./survey";
import type * as Failures from "../terminal/failure";

/**
 * Registers the names, options and help of a group of commands. Their code is loaded only when one of them runs, so
 * that a group doesn't slow down the others.
 */
type Register = (program: Command, io: Io) => void;

const GROUPS: readonly Register[] = [
  kv.register,
  report.register,
  existing.register,
  inventory.register,
  filter.register,
  rollout.register,
  survey.register,
];

/** Runs one command and returns its exit code: 0 for success, 1 for failure, 2 for a usage error, 130 after Ctrl-C. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  const program = new Command("edgeguard")
    .description(
      "Commands for Cloudflare Page Shield, managed rulesets, Logpush and Workers KV, for use alongside the Pulumi resources.",
    )
    .version(VERSION)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
    })
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 failed, 2 usage error, 130 interrupted (Ctrl-C).\n\nExample:\n  $ edgeguard kv namespace list",
    );
  for (const register of GROUPS) register(program, io);
  const words = kv.modernized(args, io);
  try {
    await program.parseAsync(words, { from: "user" });
    return 0;
  } catch (error) {
    // Commander has already printed the error or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: few commands fail
    const { failureOf } = require("../terminal/failure") as typeof Failures;
    const { message, exitCode } = failureOf(error, words[0], io.env);
    printToStderr(io, `edgeguard: ${message}`);
    return exitCode;
  }
}
