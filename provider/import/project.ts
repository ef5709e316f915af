import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { UsageError } from "../terminal/errors";
import { foldersFrom } from "../terminal/files";

/** The Pulumi project that runs the generated program. Pulumi looks for its file in a folder and then upward. */

export const PROJECT = "Pulumi.yaml";
const PROJECT_FILES = [PROJECT, "Pulumi.yml", "Pulumi.json"];

/**
 * The text of a new project file for the output folder; undefined where the folder's program has its project already.
 *
 * @param folder absolute path of the output folder.
 * @param name of a new project, where one was given.
 * @throws UsageError where Pulumi would run another program than the one in the folder, or import into another's stack.
 */
export function newProject(cwd: string, folder: string, name: string | undefined): string | undefined {
  const file = projectFileFor(folder);
  const isOwn = file !== undefined && dirname(file) === folder;
  if (isOwn && name !== undefined)
    throw new UsageError(`--project ${name}: ${file} names the project of that folder. Leave --project out.`);
  if (file === undefined || (name !== undefined && !isOwn))
    return `name: ${name ?? projectName(basename(folder))}\nruntime: nodejs\n`;
  const program = programFolder(file);
  if (program === folder) return undefined;
  const out = (path: string): string => `--out ${relative(cwd, path) || "."}`;
  if (isOwn) throw new UsageError(`the program of ${file} is in ${program}. Pass ${out(program)}.`);
  throw new UsageError(
    `${folder} has no ${PROJECT}, and Pulumi would import into the stack of ${file}. ` +
      `Pass --project ${projectName(basename(folder))} for a project of its own, or ${out(program)} to import into that one.`,
  );
}

/** The project file that Pulumi finds from a folder. */
function projectFileFor(folder: string): string | undefined {
  return [...foldersFrom(folder)]
    .flatMap((at) => PROJECT_FILES.map((name) => join(at, name)))
    .find((path) => existsSync(path));
}

/** Where the sources of the project's program are: beside its file, or where `main` says. */
function programFolder(file: string): string {
  const [, main = "."] =
    /^(?:\s*"main"|main)\s*:\s*["']?([^"'#\n]*[^"'#\s,])/m.exec(readFileSync(file, "utf8")) ?? [];
  const target = resolve(dirname(file), main);
  if (/\.[cm]?js$/.test(target)) return dirname(file); // Compiled, from sources that lie beside the file.
  return /\.[cm]?ts$/.test(target) ? dirname(target) : target;
}

/** Letters, digits, `.`, `-` and `_`, as Pulumi takes them. */
function projectName(folder: string): string {
  return folder.replace(/[^\w.-]+/g, "-") || "imported";
}
