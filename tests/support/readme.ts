import { readFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "./engine";

export interface Block {
  readonly language: string;
  readonly text: string;
}

/** The fenced blocks of a document, in order. */
export function blocksOf(document: string): Block[] {
  const text = readFileSync(join(REPOSITORY, document), "utf8");
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = "", body = ""]) => ({
    language,
    text: body,
  }));
}

/** The commands of a shell block, without comments. */
export function commandsOf(block: Block): string[] {
  return block.text
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "");
}

export const blocks = blocksOf("README.md");
export const programs = blocks.filter((b) => b.language === "ts");
export const shell = blocks.filter((b) => b.language === "sh");

/** The README's shell block with a command. */
export function blockWith(command: string): Block {
  const found = shell.find((b) => b.text.includes(command));
  if (found === undefined) throw new Error(`the README has no block with ${command}`);
  return found;
}
