import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { UsageError } from "../terminal/errors";
import { foldersFrom } from "../terminal/files";

export const PROJECT = "Pulumi.yaml";
const PROJECT_FILES = [PROJECT, "Pulumi.yml", "Pulumi.json"];

/**
 * Returns the text of a new project file for the output directory. Undefined if the directory's program already has a
 * project. Pulumi looks for the file in the directory, then in its parents.
 *
 * @param folder the absolute path of the output directory.
 * @param name the new project's name, if given.
 * @throws UsageError if Pulumi would run a program in another directory, or import into another project's stack.
 */
export function newProject(cwd: string, folder: string, name: string | undefined): string | undefined {
  const file = projectFileFor(folder);
  const isOwn = file !== undefined && dirname(file) === folder;
  if (isOwn && name !== undefined)
    throw new UsageError(
      `--project ${name}: ${file} already defines that directory's project. Leave out --project.`,
    );
  if (file === undefined || (name !== undefined && !isOwn))
    return `name: ${name ?? projectName(basename(folder))}\nruntime: nodejs\n`;
  const program = programFolder(file);
  if (program === folder) return undefined;
  const out = (path: string): string => `--out ${relative(cwd, path) || "."}`;
  if (isOwn) throw new UsageError(`the program of ${file} is in ${program}. Pass ${out(program)}.`);
  throw new UsageError(
    `${folder} has no ${PROJECT}, so Pulumi would import into the project that ${file} defines. ` +
      `Pass --project ${projectName(basename(folder))} to create a project there, or ${out(program)} to import into that one.`,
  );
}

/** Finds the project file that Pulumi uses when it runs in a directory. */
function projectFileFor(folder: string): string | undefined {
  return [...foldersFrom(folder)]
    .flatMap((at) => PROJECT_FILES.map((name) => join(at, name)))
    .find((path) => existsSync(path));
}

/** Returns the directory of the project's program: the one with the project file, or the one that `main` names. */
function programFolder(file: string): string {
  const [, main = "."] =
    /^(?:\s*"main"|main)\s*:\s*["']?([^"'#\n]*[^"'#\s,])/m.exec(readFileSync(file, "utf8")) ?? [];
  const target = resolve(dirname(file), main);
  if (/\.[cm]?js$/.test(target)) return dirname(file); // Compiled from sources next to the project file.
  return /\.[cm]?ts$/.test(target) ? dirname(target) : target;
}

/** Reduces a directory's name to the characters that Pulumi allows. */
function projectName(folder: string): string {
  return folder.replace(/[^\w.-]+/g, "-") || "imported";
}
