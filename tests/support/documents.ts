import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "./engine";

/** The documents with commands that readers run: the README, the Registry's pages and the guides. */
export const DOCUMENTS: readonly string[] = [
  "README.md",
  "docs/_index.md",
  "docs/installation-configuration.md",
  ...readdirSync(join(REPOSITORY, "docs/guides"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/guides/${file}`),
];

export interface Block {
  readonly language: string;
  readonly text: string;
}

/** A document's fenced code blocks, in order. */
export function blocksOf(document: string): Block[] {
  const text = readFileSync(join(REPOSITORY, document), "utf8");
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = "", body = ""]) => ({
    language,
    text: body,
  }));
}

/** A document's shell blocks. */
export function shellOf(document: string): Block[] {
  return blocksOf(document).filter(({ language }) => language === "sh");
}

/** The commands in a shell block, without comments. */
export function commandsOf(block: Block): string[] {
  return block.text
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "");
}

/** The first shell block, README first, that contains a command. */
export function blockWith(command: string): Block {
  const found = DOCUMENTS.flatMap(shellOf).find(({ text }) => text.includes(command));
  if (found === undefined) throw new Error(`no shell block of ${DOCUMENTS.join(", ")} contains ${command}`);
  return found;
}

/** The TypeScript programs in a document. */
export function programsOf(document: string): Block[] {
  return blocksOf(document).filter(({ language }) => language === "ts");
}
