/** What ends a command: a sentence for the person and an exit code for the script. */

/** The exit codes of the Pulumi CLI. */
export const EXIT = {
  ok: 0,
  failed: 1,
  badInvocation: 2,
  stackNotFound: 6,
  changesWereNotExpected: 7,
  cancelled: 8,
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

/** A feature of Pulumi that this engine does not have. */
export class Refused extends CommandError {
  override readonly name = "Refused";
  constructor(feature: string, instead = "use the Pulumi CLI for it") {
    super(`the local engine does not support ${feature}: ${instead}`);
  }
}

/** The reason was already shown to the person; only the exit code is left to report. */
export class AlreadyReported extends CommandError {
  override readonly name = "AlreadyReported";
}

/** By its shape: where modules run in a sandbox, Node's own errors are no instances of the sandbox's Error. */
export function messageOf(error: unknown): string {
  return isObject(error) && typeof error["message"] === "string" ? error["message"] : String(error);
}

export function isMissing(error: unknown): boolean {
  return isObject(error) && error["code"] === "ENOENT";
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
