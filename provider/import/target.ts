import type { Surface } from "../runtime/type-tokens";

/** Languages of generated programs. */
export const LANGUAGES = ["typescript", "yaml"] as const;
export type Language = (typeof LANGUAGES)[number];

export const SURFACES = ["dynamic", "plugin"] as const satisfies readonly Surface[];

/** How a generated program declares its resources, and in which language. */
export interface Target {
  readonly surface: Surface;
  readonly language: Language;
}

/** The generated program's file. */
export const PROGRAM_FILES: Readonly<Record<Language, string>> = {
  typescript: "index.ts",
  yaml: "Main.yaml",
};

/**
 * The package that a TypeScript program imports. Pulumi generates the plugin's package, and the plugin's schema names
 * it.
 */
export const PACKAGES: Readonly<Record<Surface, string>> = {
  dynamic: "pulumi-edgeguard",
  plugin: "pulumi-edgeguard-sdk",
};

export const PLUGIN = "pulumi-resource-edgeguard";

/** Why a program in YAML can't use the resource classes, as the second half of an error message. */
export const CLASSES = "this package's classes only work in TypeScript.";
