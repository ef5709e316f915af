import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { parseDocument } from "yaml";
import { z } from "zod";
import { isJsonObject, ownMember } from "../basics/json";
import { UsageError } from "../terminal/errors";
import { foldersFrom } from "../terminal/files";
import type { ImportOptions } from "./options";
import { CLASSES, PROGRAM_FILES, type Language, type Target } from "./target";
import { pluginFolder } from "./tools";

export const PROJECT = "Pulumi.yaml";
const PROJECT_FILES = [PROJECT, "Pulumi.yml", "Pulumi.json"];

/** The Pulumi project that the generated program is for. */
export interface Project {
  readonly language: Language;
  /** The text of a new project file. Undefined if the program already has a project. */
  readonly text: string | undefined;
  /** The plugin's directory, relative to the project, if the project file should name it but doesn't. */
  readonly lacksPlugin: string | undefined;
}

/**
 * Finds the Pulumi project that the output directory belongs to, or generates the text of a new project file. Pulumi
 * looks for the project file in the directory, then in its parents.
 *
 * @param folder the absolute path of the output directory.
 * @throws UsageError if Pulumi would run a program in another directory or language, or import into another project's stack.
 */
export function projectFor(cwd: string, folder: string, options: ProjectOptions): Project {
  const { project: name, for: surface } = options;
  const file = projectFileFor(folder);
  const isOwn = file !== undefined && dirname(file) === folder;
  if (isOwn && name !== undefined)
    throw new UsageError(
      `--project ${name}: ${file} already defines the output directory's project. Leave out --project.`,
    );
  if (file === undefined || (name !== undefined && !isOwn)) {
    const language = options.language ?? "typescript";
    const text = newProject(folder, name ?? projectName(basename(folder)), { surface, language });
    return { language, text, lacksPlugin: undefined };
  }
  const settings = settingsOf(file);
  const program = programFolder(file, settings);
  if (program === folder) {
    const language = languageOf(file, settings, options);
    const hasPlugin = surface === "dynamic" || settings.plugins?.providers?.some(isPlugin) === true;
    return { language, text: undefined, lacksPlugin: hasPlugin ? undefined : pluginFolder(folder) };
  }
  const out = (path: string): string => `--out ${relative(cwd, path) || "."}`;
  if (isOwn)
    throw new UsageError(
      `${file} sets the program's directory to ${program}. To write the program there, pass ${out(program)}.`,
    );
  throw new UsageError(
    `${folder} has no ${PROJECT}, so Pulumi would import into the project that ${file} defines. ` +
      `Pass --project ${projectName(basename(folder))} to create a project there, or ${out(program)} to import into the existing project.`,
  );
}

type ProjectOptions = Pick<ImportOptions, "project" | "for" | "language">;

function newProject(folder: string, name: string, { surface, language }: Target): string {
  const runtime = language === "yaml" ? "yaml" : "nodejs";
  const plugins =
    surface === "dynamic"
      ? ""
      : `plugins:\n  providers:\n    - name: edgeguard\n      path: ${pluginFolder(folder)}\n`;
  return `name: ${name}\nruntime: ${runtime}\n${plugins}`;
}

const isPlugin = ({ name }: { readonly name?: string | undefined }): boolean => name === "edgeguard";

/**
 * The project file's properties that the import reads. A malformed property counts as missing, because Pulumi itself
 * refuses it.
 */
const projectFile = z.object({
  runtime: z
    .union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)])
    .default("nodejs")
    .catch("nodejs"),
  main: z.string().default(".").catch("."),
  resources: z.unknown().optional(),
  plugins: z
    .object({ providers: z.array(z.object({ name: z.string().optional() })).optional() })
    .optional()
    .catch(undefined),
});
type Settings = z.output<typeof projectFile>;

function settingsOf(file: string): Settings {
  const content: unknown = parseDocument(readFileSync(file, "utf8")).toJS();
  return projectFile.parse(isJsonObject(content) ? content : {});
}

/** The languages of Pulumi's runtimes. */
const LANGUAGE_OF: Readonly<Record<string, Language>> = {
  nodejs: "typescript",
  bun: "typescript",
  yaml: "yaml",
};

/**
 * @throws UsageError if the program can't be written in the project's language, or the project file itself declares
 * resources.
 */
function languageOf(file: string, { runtime, resources }: Settings, options: ProjectOptions): Language {
  const language = ownMember(LANGUAGE_OF, runtime);
  const another = "Pass another directory with --out";
  if (language === undefined)
    throw new UsageError(
      `${file} sets runtime: ${runtime}, but this command only writes TypeScript and YAML. ${another}, or import by ID: \`pulumi import\` writes programs in any Pulumi language.`,
    );
  if (options.language !== undefined && options.language !== language)
    throw new UsageError(
      `--language ${options.language}: ${file} sets runtime: ${runtime}. Leave out --language, or pass another directory with --out.`,
    );
  if (language === "yaml" && options.for === "dynamic")
    throw new UsageError(`${file} sets runtime: yaml, but ${CLASSES} ${another}, or --for plugin.`);
  if (language === "yaml" && resources !== undefined)
    throw new UsageError(
      `${file} declares resources, and Pulumi would ignore them beside ${PROGRAM_FILES.yaml}. ${another}.`,
    );
  return language;
}

/** Finds the project file that Pulumi uses when it runs in a directory. */
function projectFileFor(folder: string): string | undefined {
  return [...foldersFrom(folder)]
    .flatMap((at) => PROJECT_FILES.map((name) => join(at, name)))
    .find((path) => existsSync(path));
}

/** Returns the directory of the project's program: the project file's directory, or the one that its `main` names. */
function programFolder(file: string, { main }: Settings): string {
  const target = resolve(dirname(file), main);
  if (/\.[cm]?js$/.test(target)) return dirname(file); // Compiled from sources next to the project file.
  return /\.[cm]?ts$/.test(target) ? dirname(target) : target;
}

/** Reduces a directory's name to the characters that Pulumi allows. */
function projectName(folder: string): string {
  return folder.replace(/[^\w.-]+/g, "-") || "imported";
}
