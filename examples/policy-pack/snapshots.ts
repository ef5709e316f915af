import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { readDetections } from "pulumi-edgeguard";

/** The zones of the reviewed snapshots. A snapshot that isn't committed hasn't been reviewed. */
export function reviewedZones(folder: string, files: readonly string[]): ReadonlySet<string> {
  const paths = files.map((file) => resolve(folder, file)).filter((path) => existsSync(path));
  return new Set(paths.filter(isCommitted).map((path) => readDetections(path).zoneId));
}

/** Whether git has the file as it is. Without git, every existing file counts as committed. */
function isCommitted(path: string): boolean {
  try {
    const status = ["status", "--porcelain", "--ignored", "--", path];
    return execFileSync("git", ["-C", resolve(path, ".."), ...status], { stdio: "pipe" }).length === 0;
  } catch {
    return true;
  }
}
