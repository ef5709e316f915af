import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { REPOSITORY } from "../support/repository";
import { complaints, memberDifferences, valueDifferences } from "./compare";
import { REVIEWED } from "./reviewed";
import { subjects, type Subject } from "./subjects";
import { Types } from "./types";

/**
 * `npm run check:contract` compares what we accept, send, read and simulate with the types of Cloudflare's official SDK.
 * With `--latest`, the newest SDK is compared instead of the one in the lockfile; with `--sdk <folder>`, that one.
 */
async function main(): Promise<void> {
  const [option, folder = ""] = process.argv.slice(2);
  const temporary = option === "--latest" ? mkdtempSync(join(tmpdir(), "edgeguard-sdk-")) : undefined;
  try {
    if (temporary !== undefined) install(temporary);
    const installed = temporary ?? join(REPOSITORY, "tests/official-sdk");
    const sdk = option === "--sdk" ? folder : join(installed, "node_modules", "cloudflare");
    const lines = check(sdk, await subjects());
    const { version } = JSON.parse(readFileSync(join(sdk, "package.json"), "utf8")) as { version: string };
    if (lines.length === 0) {
      console.log(`No difference from cloudflare ${version} that isn't reviewed (${REVIEWED.length} are).`);
      return;
    }
    console.error([`Differences from cloudflare ${version}:`, ...lines].join("\n"));
    console.error(
      "Change provider/ and local/api/, or add a row with a reason to tests/contract/reviewed.ts.",
    );
    process.exitCode = 1;
  } finally {
    if (temporary !== undefined) rmSync(temporary, { recursive: true });
  }
}

/** Returns one line for each difference that isn't reviewed. */
export function check(sdk: string, all: readonly Subject[]): readonly string[] {
  const types = new Types(
    sdk,
    all.map(({ theirs }) => theirs),
  );
  const found = all.flatMap(({ name, theirs, ours, accepted }) => {
    const paths = types.pathsOf(theirs);
    return [
      ...Object.entries(ours).flatMap(([side, own]) =>
        memberDifferences({ subject: name, side }, paths, own),
      ),
      ...(accepted === undefined ? [] : valueDifferences(name, paths, accepted)),
    ];
  });
  return complaints(found, REVIEWED);
}

function install(folder: string): void {
  const options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
  execFileSync("npm", ["install", "--prefix", folder, ...options, "cloudflare@latest"], { stdio: "inherit" });
}

if (require.main === module) void main();
