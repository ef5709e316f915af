import tseslint from "typescript-eslint";

/** Modules one side may not reach, with the reason a developer sees. */
const forbid = (...patterns) => ({
  "no-restricted-imports": ["error", { patterns }],
});

/** One dialect in the provider, the stand-ins and their tests. */
const DIALECT = {
  "no-restricted-syntax": [
    "error",
    {
      selector:
        ":matches(PropertyDefinition, MethodDefinition[kind!='constructor'], TSParameterProperty)[accessibility='private']",
      message: "A private member is a #private one: it stays private at run time too.",
    },
  ],
  // One import per module: types inline beside values, `import type` where there are only types.
  "no-duplicate-imports": "error",
  "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
  "@typescript-eslint/no-import-type-side-effects": "error",
  "@typescript-eslint/naming-convention": [
    "error",
    {
      selector: "variable",
      modifiers: ["const", "global"],
      types: ["string", "number", "boolean"],
      format: ["UPPER_CASE"],
    },
    // A name taken from elsewhere stays as it is there.
    {
      selector: "variable",
      modifiers: ["const", "global", "destructured"],
      types: ["string", "number", "boolean"],
      format: null,
    },
  ],
};

/** A file that defines a resource reads in one order: arguments, lifecycle, class, helpers. */
const RESOURCE_ORDER = {
  meta: {
    type: "layout",
    schema: [],
    messages: {
      classFirst: "The class comes after the lifecycle: arguments, lifecycle, class, helpers.",
      helperLast: "Helpers come after the class: arguments, lifecycle, class, helpers.",
    },
  },
  create: (context) => ({
    Program({ body }) {
      const declared = body.map((node) => node.declaration ?? node);
      const isLifecycle = ({ declarations = [] }) =>
        declarations.some(({ init }) => init && /^defineLifecycle\b/.test(context.sourceCode.getText(init)));
      const lifecycle = declared.findIndex(isLifecycle);
      if (lifecycle < 0) return;
      const last = declared.findLastIndex(({ type }) => type === "ClassDeclaration");
      declared.forEach((node, index) => {
        if (node.type === "ClassDeclaration" && index < lifecycle)
          context.report({ node, messageId: "classFirst" });
        if (node.type === "FunctionDeclaration" && index < last)
          context.report({ node, messageId: "helperLast" });
      });
    },
  }),
};

export default tseslint.config(
  {
    ignores: [
      "**/dist/**",
      "**/node_modules/**",
      "coverage/**",
      "docs/**",
      "**/*.mjs",
      "**/*.cjs",
      "**/*.js",
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: ["./tsconfig.check.json", "./provider/survey/page/tsconfig.json"],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true },
      ],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-unnecessary-condition": ["error", { allowConstantLoopConditions: true }],
      "no-console": "error",
      eqeqeq: "error",
    },
  },
  { files: ["provider/**/*.ts", "local/**/*.ts", "tests/**/*.ts"], rules: DIALECT },
  {
    // Programs as users write them.
    files: ["tests/**/program*/**/*.ts"],
    rules: {
      "@typescript-eslint/naming-convention": "off",
      // It does not look through an intersection, which the base of a resource's class is.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      // A program that the Automation API runs is an async function.
      "@typescript-eslint/require-await": "off",
    },
  },
  {
    files: ["provider/**/*.ts", "local/**/*.ts"],
    plugins: { edgeguard: { rules: { "resource-order": RESOURCE_ORDER } } },
    rules: { "max-lines-per-function": ["error", 100], "edgeguard/resource-order": "error" },
  },
  {
    files: ["provider/**/*.ts"],
    rules: forbid({
      group: ["**/local/**", "edgeguard-local", "edgeguard-local/*", "**/tests/**", "**/examples/**"],
      message: "The provider is published alone: it may not know the local stand-ins, tests or examples.",
    }),
  },
  {
    files: ["provider/api/**/*.ts"],
    rules: forbid({
      group: ["@pulumi/*", "**/local/**"],
      message: "The API client knows HTTP and the envelope, nothing of Pulumi.",
    }),
  },
  {
    files: ["local/**/*.ts"],
    rules: forbid({
      group: ["**/provider/**", "pulumi-edgeguard", "pulumi-edgeguard/*", "**/tests/**"],
      message: "The stand-ins judge the provider by their own rules: they may not import it.",
    }),
  },
  {
    files: ["local/api/**/*.ts"],
    rules: forbid({
      group: ["**/provider/**", "pulumi-edgeguard", "pulumi-edgeguard/*", "**/engine/**", "@pulumi/*"],
      message: "The local API is a plain HTTP server: it may not import the provider or the engine.",
    }),
  },
  {
    files: [
      "local/demo/**/*.ts",
      "local/**/cli.ts",
      "local/engine/**/*.ts",
      "tests/**/*.ts",
      "examples/**/*.ts",
      "examples/**/*.mts",
    ],
    rules: { "no-console": "off" },
  },
);
