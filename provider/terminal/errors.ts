/** The command line is invalid; nothing was done. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command failed. Exit code 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/** Another error ended the command, which adds a sentence. Exit code 1. */
export class UnfinishedError extends Error {
  override readonly name = "UnfinishedError";

  constructor(
    override readonly cause: unknown,
    /** How far it got, or what to do next. */
    readonly more: string,
  ) {
    super(more);
  }
}

/** Ended by Ctrl-C, with a report of how far it got. Exit code 130. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
}
