import { isJsonObject } from "./values";

/** What is at a path is no file with bytes of its own. */
export class NotRegularError extends Error {
  override readonly name = "NotRegularError";
  constructor(readonly isDirectory: boolean) {
    super(isDirectory ? "it is a directory" : NOT_REGULAR);
  }
}

const NOT_REGULAR = "it is not a regular file but a pipe, socket or device";

/** What kept a file from being read, in words. */
export function readErrorReason(error: unknown): string {
  if (error instanceof NotRegularError) return error.message;
  const code = isJsonObject(error) && typeof error["code"] === "string" ? error["code"] : "";
  const words: Readonly<Record<string, string>> = {
    ENOENT: "it does not exist",
    EACCES: "this user may not read it",
    EPERM: "this user may not read it",
    EISDIR: "it is a directory",
    ENOTDIR: "it is not a directory",
    ELOOP: "its symbolic links go round in a circle",
    ENXIO: NOT_REGULAR,
  };
  return words[code] ?? (code === "" ? "reading failed" : `reading failed [${code}]`);
}
