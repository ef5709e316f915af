/** Languages of generated programs. TypeScript uses this package's classes, and YAML the provider plugin. */
export const LANGUAGES = ["typescript", "yaml"] as const;
export type Language = (typeof LANGUAGES)[number];

/** The generated program's file. */
export const PROGRAM_FILES: Readonly<Record<Language, string>> = {
  typescript: "index.ts",
  yaml: "Main.yaml",
};

/** The package that a TypeScript program imports. */
export const CLASSES = "pulumi-edgeguard";

export const PLUGIN = "pulumi-resource-edgeguard";
