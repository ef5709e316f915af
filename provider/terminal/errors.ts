/** The command line is wrong: nothing was tried. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command did not do what it was asked to. Exit code 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/** Ended by Ctrl-C after it has said how far it came. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
}
