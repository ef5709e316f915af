import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { REPOSITORY } from "../support/engine";
import { ADVICE } from "./advice";
import { COMMON, MISTAKES } from "./mistakes";

/** What tells people to do something in these folders is done by a test, see `advice.ts`. */

const FOLDERS = ["provider/survey", "provider/report"];

const VERBS =
  "accept|add|approve|ask|check|choose|consider|create|declare|delete|deploy|edit|fix|give|grant|import|keep|lower|make|migrate|move|pass|pin|pipe|put|read|remove|repair|replace|resolve|review|run|save|set|turn|update|upgrade|use|wait|write";
/** A sentence that begins with a verb, or with a purpose or condition before it; a command or option anywhere. */
const TELLS = [
  new RegExp(`^(?:${VERBS})\\b`, "i"),
  new RegExp(`^(?:to|if|otherwise|before|until) .*?\\b(?:${VERBS})\\b`, "i"),
  /\b(?:run|pass|set|add) (?:`|--)/,
];

/** The text of a literal, with … for what is filled in. */
function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (ts.isTaggedTemplateExpression(node)) return textOf(node.template);
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join("");
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined;
  const parts = [textOf(node.left), textOf(node.right)];
  return parts.every((each) => each === undefined) ? undefined : parts.map((each) => each ?? "…").join("");
}

function sentencesIn(file: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const text = textOf(node);
    if (text?.includes(" ") === true && !ts.isImportDeclaration(node.parent)) {
      found.push(...text.split(/(?<=[.!?:;]["`]?)\s+|\n/));
      if (ts.isBinaryExpression(node)) return;
    }
    ts.forEachChild(node, visit);
  };
  visit(
    ts.createSourceFile(file, readFileSync(join(REPOSITORY, file), "utf8"), ts.ScriptTarget.Latest, true),
  );
  // Neither a label nor a line of code.
  const isLabel = (text: string): boolean =>
    /^[a-z]/.test(text) && (text.split(" ").length < 4 || text.startsWith("import {"));
  return found.filter(
    (each) => TELLS.some((tells) => tells.test(each)) && (!isLabel(each) || each.includes("--")),
  );
}

const FIXES = [...COMMON, ...Object.values(MISTAKES).flat()].flatMap(({ title, fix, instead }) =>
  fix === undefined || instead !== undefined ? [] : [[title, fix] as const],
);
const WRITTEN = FOLDERS.flatMap((folder) =>
  readdirSync(join(REPOSITORY, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) =>
      sentencesIn(join(folder, path)).map((sentence) => [`${folder}/${path}`, sentence] as const),
    ),
);
const SENTENCES = [...WRITTEN, ...FIXES];

test("every sentence that tells people to do something has a row in advice.ts", () => {
  const without = SENTENCES.filter(([, sentence]) => !ADVICE.some(([says]) => sentence.includes(says)));
  expect(without).toEqual([]);
});

test.each(ADVICE)("the advice “%s” is still given, and its test exists", (says, doing) => {
  expect(SENTENCES.some(([, sentence]) => sentence.includes(says))).toBe(true);
  if ("untested" in doing) return;
  const [file, title] = doing;
  expect(readFileSync(join(REPOSITORY, file), "utf8")).toContain(title);
});
