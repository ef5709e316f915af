import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import type * as Prettier from "prettier";
import { loadOptional } from "../basics/optional-package";
import { foldersFrom } from "../terminal/files";
import { PACKAGES, PLUGIN, type Target } from "./target";

/**
 * Formats the text with prettier and the project's settings. If that fails, returns the text unchanged, with the
 * reason.
 */
export async function format(
  text: string,
  file: string,
  folders: readonly string[],
): Promise<{ readonly text: string; readonly unformatted?: string }> {
  // An optional peer: the output directory's, the working directory's, or this package's own.
  const prettier = loadOptional("prettier", [...folders, __dirname]) as typeof Prettier | undefined;
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
function installed(folder: string, name: string): string | undefined {
  const found = [...foldersFrom(folder)]
    .map((at) => join(at, "node_modules", name))
    .find((path) => existsSync(join(path, "package.json")));
  return found === undefined ? undefined : relative(folder, found);
}

/** Returns the commands that install what a program in this directory needs. */
export function installCommands(folder: string, { surface, language }: Target): readonly string[] {
  const isMissing = (name: string): boolean => installed(folder, name) === undefined;
  const needsClasses = language === "typescript" && isMissing(PACKAGES[surface]);
  const isPlugin = surface === "plugin";
  const packages = [
    ...(isPlugin && isMissing(PLUGIN) ? [PLUGIN] : []),
    ...(!isPlugin && needsClasses ? [PACKAGES.dynamic] : []),
    ...(needsClasses ? ["@pulumi/pulumi", "typescript", "ts-node"] : []),
  ];
  // In a directory without a package.json, npm would install into a parent directory.
  const prefix = existsSync(join(folder, "package.json")) ? "" : "--prefix . ";
  return [
    ...(packages.length === 0 ? [] : [`npm install ${prefix}${packages.join(" ")}`]),
    ...(isPlugin && needsClasses ? [`pulumi package add ${withDot(pluginFolder(folder))}`] : []),
  ];
}

/** Pulumi looks for a path without a leading dot in its registry. */
const withDot = (path: string): string => (path.startsWith(".") ? path : `./${path}`);

/** Returns the directory in which the plugin is or will be installed, relative to the program's directory. */
export function pluginFolder(folder: string): string {
  return installed(folder, PLUGIN) ?? `node_modules/${PLUGIN}`;
}
