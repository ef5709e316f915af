import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "../support/engine";

/** Checks part of the writing rules automatically. docs/glossary.md lists the words to use. */

/** The files that people read. This file is left out, because it contains the unwanted words. */
const FILES = execFileSync("git", ["ls-files", "*.ts", "*.mts", "*.md", "*.sh", "*.yml"], {
  cwd: REPOSITORY,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && file !== "tests/docs/voice.test.ts");
const LINES = FILES.flatMap((file) =>
  readFileSync(join(REPOSITORY, file), "utf8")
    .split("\n")
    .map((line, index) => [`${file}:${index + 1}`, line.trim()] as const),
);

const UNWANTED: Readonly<Record<string, RegExp>> = {
  "references to documents outside the repository": /seed 00\d|facts \d|\bD\d{2}\b/,
  "other names for Cloudflare": /\bthe vendor\b|\bthe service\b/i,
  "other names for Cloudflare's products":
    /\blog-push\b|\bpage security\b|\bkey-value data\b|\bedge functions?\b/i,
};

it.each(Object.entries(UNWANTED))("no file in the repository contains %s", (_what, unwanted) => {
  expect(LINES.filter(([, line]) => unwanted.test(line))).toEqual([]);
});
