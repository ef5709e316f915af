import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { foldersFrom } from "../terminal/files";
import { PACKAGES, PLUGIN, type Target } from "./target";

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
