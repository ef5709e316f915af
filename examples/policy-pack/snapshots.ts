import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { readDetections } from "pulumi-edgeguard";

/** Zones of the snapshots that were reviewed: a snapshot that is not committed has not been. */
export function reviewedZones(folder: string, files: readonly string[]): ReadonlySet<string> {
  const paths = files.map((file) => resolve(folder, file)).filter((path) => existsSync(path));
  return new Set(paths.filter(isCommitted).map((path) => readDetections(path).zoneId));
}

/** As git has it. Where there is no git, a file that is there counts: nothing tells more. */
function isCommitted(path: string): boolean {
  try {
    const status = ["status", "--porcelain", "--ignored", "--", path];
    return execFileSync("git", ["-C", resolve(path, ".."), ...status], { stdio: "pipe" }).length === 0;
  } catch {
    return true;
  }
}
