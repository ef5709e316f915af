/** Errors that end a command: a message for the user and an exit code for scripts. */

/** The exit codes of the Pulumi CLI. */
export const EXIT = {
  ok: 0,
  failed: 1,
  badInvocation: 2,
  stackNotFound: 6,
  changesWereNotExpected: 7,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export class CommandError extends Error {
  override readonly name: string = "CommandError";
  constructor(
    message: string,
    readonly exitCode: ExitCode = EXIT.failed,
  ) {
    super(message);
  }
}

/** Thrown if the program or command uses a Pulumi feature that this engine doesn't support. */
export class UnsupportedError extends CommandError {
  override readonly name = "UnsupportedError";
  constructor(feature: string, instead = "use the Pulumi CLI") {
    super(`the local engine does not support ${feature}: ${instead}`);
  }
}

/** Thrown if the reason was already shown, so that only the exit code is left to report. */
export class AlreadyReported extends CommandError {
  override readonly name = "AlreadyReported";
}

/**
 * Returns an error's message. Checks the error's shape, because Node's errors aren't instances of a test sandbox's
 * `Error`.
 */
export function messageOf(error: unknown): string {
  return isObject(error) && typeof error["message"] === "string" ? error["message"] : String(error);
}

export const isMissing = (error: unknown): boolean => isObject(error) && error["code"] === "ENOENT";

/** Reads a file or directory, or returns a default value if it doesn't exist. */
export function unlessMissing<T, D>(reading: Promise<T>, missing: D): Promise<T | D> {
  return reading.catch((error: unknown) => {
    if (isMissing(error)) return missing;
    throw error;
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
