import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";

/** Whether git has the file as it is: otherwise, nobody has reviewed it. Without git, every existing file counts. */
export function isCommitted(path: string): boolean {
  if (!existsSync(path)) return false;
  try {
    const status = ["status", "--porcelain", "--ignored", "--", path];
    return execFileSync("git", ["-C", dirname(path), ...status], { stdio: "pipe" }).length === 0;
  } catch {
    return true;
  }
}
