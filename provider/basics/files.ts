import { z } from "zod";
import { isJsonObject } from "./json";

/** Thrown if the path is a directory, pipe, socket or device. */
export class NotRegularError extends Error {
  override readonly name = "NotRegularError";
  constructor(readonly isDirectory: boolean) {
    super(isDirectory ? "it is a directory" : NOT_REGULAR);
  }
}

const NOT_REGULAR = "it is a pipe, socket or device, not a regular file";

/** Returns why a file can't be read. */
export function readErrorReason(error: unknown): string {
  if (error instanceof NotRegularError) return error.message;
  const code = isJsonObject(error) && typeof error["code"] === "string" ? error["code"] : "";
  const words: Readonly<Record<string, string>> = {
    ENOENT: "it does not exist",
    EACCES: "permission denied",
    EPERM: "permission denied",
    EISDIR: "it is a directory",
    ENOTDIR: "it is not a directory",
    ELOOP: "its symbolic links form a loop",
    ENXIO: NOT_REGULAR,
  };
  return words[code] ?? (code === "" ? "reading failed" : `reading failed [${code}]`);
}

/** Returns the code of a Node.js error. */
export function codeOf(error: unknown): string | undefined {
  const { data } = z.object({ code: z.string(), syscall: z.string() }).safeParse(error);
  return data?.code;
}
