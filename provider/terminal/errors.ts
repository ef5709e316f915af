/** The command line is wrong: nothing was tried. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command did not do what it was asked to. Exit code 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/** Another error ended the command, which has a sentence to add. Exit code 1. */
export class UnfinishedError extends Error {
  override readonly name = "UnfinishedError";

  constructor(
    override readonly cause: unknown,
    /** How far it came, or what to do next. */
    readonly more: string,
  ) {
    super(more);
  }
}

/** Ended by Ctrl-C after it has said how far it came. Exit code 130. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
}
