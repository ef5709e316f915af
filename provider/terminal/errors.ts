/** Thrown if the command line is invalid, before anything is done. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Thrown if the command fails. Exit code 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/** Thrown if a command finds drift. Exit code 3, which lets a pipeline distinguish drift from a failure. */
export class DriftError extends Error {
  override readonly name = "DriftError";
}

/** Wraps the error that ended a command, and adds the command's own sentence. Exit code 1. */
export class UnfinishedError extends Error {
  override readonly name = "UnfinishedError";

  constructor(
    override readonly cause: unknown,
    /** The added sentence: how far the command got, or what to do next. */
    readonly more: string,
  ) {
    super(more);
  }
}

/** Thrown when Ctrl-C ends the command, with a report of how far it got. Exit code 130. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
}
