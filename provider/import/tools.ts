import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type * as Prettier from "prettier";
import type * as TypeScript from "typescript";
import { foldersFrom } from "../terminal/files";

/** Loads an optional tool from the output directory, the working directory, or this package's own dependencies. */
function load(name: string, folders: readonly string[]): unknown {
  let path: string;
  try {
    path = require.resolve(name, { paths: [...folders, __dirname] });
  } catch {
    return undefined;
  }
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an optional peer, found where the user has it
  return require(path);
}

/**
 * Formats the text with prettier and the project's settings. If that fails, returns the text unchanged, with the
 * reason.
 */
export async function format(
  text: string,
  file: string,
  folders: readonly string[],
): Promise<{ readonly text: string; readonly unformatted?: string }> {
  const prettier = load("prettier", folders) as typeof Prettier | undefined;
  if (prettier === undefined) return { text, unformatted: "prettier is not installed here" };
  try {
    const options = await prettier.resolveConfig(file);
    return { text: await prettier.format(text, { ...options, parser: "typescript" }) };
  } catch (error) {
    // Invalid settings or an unknown version of prettier shouldn't fail the command.
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    return { text, unformatted: `prettier failed: ${reason ?? ""}` };
  }
}

/** Whether a program in the directory can import this package. */
export function isInstalled(folder: string): boolean {
  return [...foldersFrom(folder)].some((at) =>
    existsSync(join(at, "node_modules/pulumi-edgeguard/package.json")),
  );
}

const SHOWN_PROBLEMS = 5;

/**
 * Compiles the program in strict mode and returns the first errors. Undefined if TypeScript or this package isn't
 * installed for the program.
 */
export function compileProblems(file: string, folders: readonly string[]): readonly string[] | undefined {
  if (!isInstalled(dirname(file))) return undefined;
  const ts = load("typescript", folders) as typeof TypeScript | undefined;
  if (ts === undefined) return undefined;
  const options: TypeScript.CompilerOptions = {
    strict: true,
    // Nothing is written, but noEmit would skip the check for names that clash with those of a CommonJS module.
    noEmit: false,
    skipLibCheck: true,
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    target: ts.ScriptTarget.ES2022,
    types: [],
  };
  const program = ts.createProgram([file], options);
  return ts
    .getPreEmitDiagnostics(program)
    .slice(0, SHOWN_PROBLEMS)
    .map(({ messageText, start, file: where }) => {
      const line =
        where === undefined || start === undefined ? 0 : where.getLineAndCharacterOfPosition(start).line + 1;
      return `line ${line}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
    });
}
