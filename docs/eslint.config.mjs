import root from "../eslint.config.mjs";

/** The rules of the repository, for files whose types need the packages of this folder. */
export default [
  { ignores: ["node_modules/**", ".vitepress/cache/**", ".vitepress/dist/**", "**/*.mjs"] },
  ...root.filter(({ ignores, files = ["**/*.ts"] }) => ignores === undefined && files.includes("**/*.ts")),
  {
    files: ["**/*.ts", "**/*.mts"],
    languageOptions: {
      parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname },
    },
    rules: { "no-console": "off" },
  },
];
