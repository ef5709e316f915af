import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { foldersFrom } from "../terminal/files";
import { CLASSES, PLUGIN, type Language } from "./target";

/** Returns where a package is installed, relative to the program's directory. Undefined if it isn't installed. */
function installed(folder: string, name: string): string | undefined {
  const found = [...foldersFrom(folder)]
    .map((at) => join(at, "node_modules", name))
    .find((path) => existsSync(join(path, "package.json")));
  return found === undefined ? undefined : relative(folder, found);
}

/** Returns the command that installs what a program in this directory needs. Undefined if it needs nothing. */
export function installCommand(folder: string, language: Language): string | undefined {
  const [name, ...others] =
    language === "yaml" ? [PLUGIN] : [CLASSES, "@pulumi/pulumi", "typescript", "ts-node"];
  if (installed(folder, name) !== undefined) return undefined;
  // In a directory without a package.json, npm would install into a parent directory.
  const prefix = existsSync(join(folder, "package.json")) ? "" : "--prefix . ";
  return `npm install ${prefix}${[name, ...others].join(" ")}`;
}

/** Returns the directory in which the plugin is or will be installed, relative to the program's directory. */
export function pluginFolder(folder: string): string {
  return installed(folder, PLUGIN) ?? `node_modules/${PLUGIN}`;
}
