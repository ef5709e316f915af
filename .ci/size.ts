import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, posix, resolve } from "node:path";
import ts from "typescript";

/**
 * `npm run size` prints what each folder weighs: its files, its lines of TypeScript without comments and blank lines, its
 * longest function, and how many names of provider/runtime it has to know. `npm run size -- <revision>` compares.
 */

const REPOSITORY = resolve(__dirname, "..");
/** The shared layer: every name that another folder imports from it is a concept to learn. */
const SHARED = "provider/runtime";

interface Folder {
  files: number;
  lines: number;
  /** The longest function that has a name. A function passed to `describe` is as long as its file, and says nothing. */
  longest: { readonly name: string; readonly file: string; readonly lines: number } | undefined;
  readonly concepts: Set<string>;
}

type Sizes = ReadonlyMap<string, Folder>;
type Texts = Iterable<readonly [path: string, text: string]>;

/** Measures files by folder, with a row for the sum of each workspace that has several folders. */
export function measure(texts: Texts): Sizes {
  const sizes = new Map<string, Folder>();
  for (const [path, text] of texts) {
    const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    const codeLines = codeLinesOf(source);
    const functions = functionsOf(source, codeLines);
    for (const name of rowsOf(path)) {
      const folder = sizes.get(name) ?? { files: 0, lines: 0, longest: undefined, concepts: new Set() };
      sizes.set(name, folder);
      folder.files += 1;
      folder.lines += codeLines.size;
      for (const each of functions) if (each.lines > (folder.longest?.lines ?? 0)) folder.longest = each;
      if (!path.startsWith(`${SHARED}/`))
        for (const concept of conceptsOf(source)) folder.concepts.add(concept);
    }
  }
  return new Map([...sizes].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The numbers as a table. With `before`, each number is followed by its difference. */
export function table(sizes: Sizes, before?: Sizes): string {
  const names = [...new Set([...sizes.keys(), ...(before?.keys() ?? [])])].sort();
  const rows = names.map((name) => {
    const numbers = (["lines", "files", "concepts"] as const).flatMap((column) => {
      const now = numberOf(sizes.get(name), column);
      if (before === undefined) return [String(now)];
      const old = numberOf(before.get(name), column);
      return [String(old), String(now), now === old ? "" : `${now > old ? "+" : ""}${now - old}`];
    });
    const longest = sizes.get(name)?.longest;
    return [
      name,
      ...numbers,
      longest === undefined ? "" : `${longest.lines} ${longest.name} (${longest.file})`,
    ];
  });
  const heads = ["lines", "files", "concepts"].flatMap((head) =>
    before === undefined ? [head] : [head, "now", "±"],
  );
  const all = [["folder", ...heads, "longest function"], ...rows];
  const widths = heads.map((_, index) => Math.max(...all.map((row) => row[index + 1]?.length ?? 0)));
  const first = Math.max(...names.map((name) => name.length));
  return all
    .map(([name = "", ...cells]) => {
      const numbers = widths.map((width, index) => (cells[index] ?? "").padStart(width));
      return [name.padEnd(first), ...numbers, cells.at(-1)].join("  ").trimEnd();
    })
    .join("\n");
}

function numberOf(folder: Folder | undefined, column: "lines" | "files" | "concepts"): number {
  return column === "concepts" ? (folder?.concepts.size ?? 0) : (folder?.[column] ?? 0);
}

function rowsOf(path: string): string[] {
  const [workspace = "", folder = ""] = path.split("/");
  if (workspace === "plugin" || workspace === "tests") return [workspace];
  return [workspace, `${workspace}/${folder.endsWith(".ts") ? "*.ts" : folder}`];
}

/** The lines that have a token: no comment, and no blank line of a template. */
function codeLinesOf(source: ts.SourceFile): Set<number> {
  const texts = source.text.split("\n");
  const lines = new Set<number>();
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(source);
    for (const child of children) visit(child);
    if (children.length > 0 || node.getWidth(source) === 0) return;
    const last = source.getLineAndCharacterOfPosition(node.end).line;
    for (let line = lineOf(node, source); line <= last; line += 1)
      if (texts[line]?.trim() !== "") lines.add(line);
  };
  visit(source);
  return lines;
}

function functionsOf(source: ts.SourceFile, codeLines: ReadonlySet<number>) {
  const found: NonNullable<Folder["longest"]>[] = [];
  const visit = (node: ts.Node): void => {
    const name = ts.isFunctionLike(node) ? nameOf(node) : undefined;
    if (name !== undefined) {
      const last = source.getLineAndCharacterOfPosition(node.end).line;
      let lines = 0;
      for (let line = lineOf(node, source); line <= last; line += 1) if (codeLines.has(line)) lines += 1;
      found.push({ name, file: source.fileName, lines });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function nameOf(node: ts.SignatureDeclaration): string | undefined {
  if (ts.isConstructorDeclaration(node)) return "constructor";
  const { parent } = node;
  const assigned = ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent);
  return (node.name ?? (assigned ? parent.name : undefined))?.getText();
}

/** The names that a file imports from the shared layer, each with its module: two modules may use the same name. */
function conceptsOf(source: ts.SourceFile): string[] {
  return source.statements.filter(ts.isImportDeclaration).flatMap(({ moduleSpecifier, importClause }) => {
    if (!ts.isStringLiteral(moduleSpecifier) || !moduleSpecifier.text.startsWith(".")) return [];
    const module = posix.join(posix.dirname(source.fileName), moduleSpecifier.text);
    if (!module.startsWith(`${SHARED}/`)) return [];
    const bindings = importClause?.namedBindings;
    if (bindings === undefined || !ts.isNamedImports(bindings)) return [`${module} *`];
    return bindings.elements.map(({ name, propertyName }) => `${module} ${(propertyName ?? name).text}`);
  });
}

function lineOf(node: ts.Node, source: ts.SourceFile): number {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line;
}

function isMeasured(path: string): boolean {
  return /^(provider|plugin|local|tests)\/.*\.ts$/.test(path) && !path.includes("/dist/");
}

function git(args: readonly string[], input?: string): Buffer {
  return execFileSync("git", args, { cwd: REPOSITORY, maxBuffer: 2 ** 30, ...(input && { input }) });
}

function* textsNow(): Texts & Generator<[string, string]> {
  const paths = git(["ls-files", "--cached", "--others", "--exclude-standard"]).toString().split("\n");
  for (const path of new Set(paths)) {
    const file = join(REPOSITORY, path);
    if (isMeasured(path) && existsSync(file)) yield [path, readFileSync(file, "utf8")];
  }
}

/** Reads a revision with one process: each blob follows a line with its ID, kind and size. */
function* textsAt(revision: string): Texts & Generator<[string, string]> {
  const paths = git(["ls-tree", "-r", "--name-only", revision]).toString().split("\n").filter(isMeasured);
  const blobs = git(["cat-file", "--batch"], paths.map((path) => `${revision}:${path}\n`).join(""));
  let start = 0;
  for (const path of paths) {
    const head = blobs.indexOf("\n", start);
    const end = head + 1 + Number(blobs.toString("utf8", start, head).split(" ")[2]);
    yield [path, blobs.toString("utf8", head + 1, end)];
    start = end + 1;
  }
}

if (require.main === module) {
  const [, , revision] = process.argv;
  const before = revision === undefined ? undefined : measure(textsAt(revision));
  process.stdout.write(`${table(measure(textsNow()), before)}\n`);
}
