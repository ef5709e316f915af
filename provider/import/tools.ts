import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type * as Prettier from "prettier";
import type * as TypeScript from "typescript";
import { foldersFrom } from "../terminal/files";
import { PACKAGES, PLUGIN, type Target } from "./target";

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

/** Returns where a package is installed, relative to the program's directory. Undefined if it isn't installed. */
export function installed(folder: string, name: string): string | undefined {
  const found = [...foldersFrom(folder)]
    .map((at) => join(at, "node_modules", name))
    .find((path) => existsSync(join(path, "package.json")));
  return found === undefined ? undefined : relative(folder, found);
}

/** Returns the commands that install what a program in this directory needs. */
export function installCommands(folder: string, { surface, language }: Target): readonly string[] {
  const isMissing = (name: string): boolean => installed(folder, name) === undefined;
  const needsClasses = language === "typescript" && isMissing(PACKAGES[surface]);
  const tools = needsClasses ? ["@pulumi/pulumi", "typescript", "ts-node"] : [];
  if (surface === "dynamic")
    return needsClasses ? [`npm install ${[PACKAGES.dynamic, ...tools].join(" ")}`] : [];
  const packages = [...(isMissing(PLUGIN) ? [PLUGIN] : []), ...tools];
  // In a directory without a package.json, npm would install into a parent directory.
  const prefix = existsSync(join(folder, "package.json")) ? "" : "--prefix . ";
  return [
    ...(packages.length === 0 ? [] : [`npm install ${prefix}${packages.join(" ")}`]),
    ...(needsClasses ? [`pulumi package add ${pluginFolder(folder)}/${PLUGIN}`] : []),
  ];
}

/** Returns the directory in which the plugin is or will be installed, relative to the program's directory. */
export function pluginFolder(folder: string): string {
  return installed(folder, PLUGIN) ?? `node_modules/${PLUGIN}`;
}

const SHOWN_PROBLEMS = 5;

/**
 * Compiles the program in strict mode and returns the first errors. Undefined if TypeScript or a package that the
 * program imports isn't installed.
 */
export function compileProblems(
  file: string,
  imports: string,
  folders: readonly string[],
): readonly string[] | undefined {
  if (installed(dirname(file), imports) === undefined) return undefined;
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
