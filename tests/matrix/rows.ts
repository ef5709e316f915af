/** What the product is tested with. `npm run test:matrix` plays every row; the reference's table is made of its result. */

export type Kind = "Package managers" | "Programs" | "Test runners" | "Node.js" | "Pulumi SDK" | "TypeScript";
export type Manager = "npm" | "pnpm" | "yarn" | "bun";

export interface Row {
  readonly kind: Kind;
  readonly name: string;
  /** What a project needs for it beyond the usual, in Markdown. */
  readonly needs?: string;
  /** The package manager that installs the project, and its version. */
  readonly manager?: readonly [Manager, version: string];
  readonly node?: string;
  /** Versions of the project's packages where they aren't those of `USUAL`; undefined leaves one out. */
  readonly packages?: Readonly<Record<string, string | undefined>>;
  /** Which of the programs it runs. */
  readonly program?: "typescript" | "module" | "commonjs" | "automation" | "component";
  /** `runtime` in Pulumi.yaml. */
  readonly runtime?: string | { readonly name: string; readonly options: Readonly<Record<string, unknown>> };
  /** Further lines of package.json. */
  readonly manifest?: Readonly<Record<string, unknown>>;
  /** Further files of the project. */
  readonly files?: Readonly<Record<string, string>>;
  /** Whether the packages stay in archives, which Node.js reads only with Yarn's loader. */
  readonly plugAndPlay?: true;
  /** Whether its types are checked, too: a right program compiles, a wrong one doesn't. */
  readonly compiles?: true;
  /** Instead of a program: the command that runs its unit test, and the module that the test gets `test` from. */
  readonly unitTest?: { readonly command: readonly string[]; readonly module: string };
  /** Why the local engine can't play it. */
  readonly onlyCli?: string;
}

export type Engine = "local" | "cli";

/** The engines that a row is played on. */
export function enginesOf({ onlyCli, unitTest }: Row): readonly Engine[] {
  if (unitTest !== undefined) return [];
  return onlyCli === undefined ? ["local", "cli"] : ["cli"];
}

/** What a row has if it doesn't say otherwise. */
export const USUAL = {
  node: "24.21.0",
  manager: ["npm", "11.19.1"],
  packages: {
    "@pulumi/pulumi": "3.270.0",
    "@types/node": "24.19.2",
    "ts-node": "10.9.2",
    typescript: "5.9.3",
  },
} as const;

const PNPM_FILES = { "pnpm-workspace.yaml": "allowBuilds:\n  protobufjs: false\n" };
const HOISTING_FILES = {
  "pnpm-workspace.yaml": `${PNPM_FILES["pnpm-workspace.yaml"]}publicHoistPattern: [pulumi-edgeguard]\n`,
};
const TSX = { name: "nodejs", options: { typescript: false, nodeargs: "--import tsx" } };

export const ROWS: readonly Row[] = [
  { kind: "Package managers", name: "npm 12.2.0", manager: ["npm", "12.2.0"] },
  {
    kind: "Package managers",
    name: "pnpm 12.21.0",
    needs:
      "`allowBuilds: { protobufjs: false }` in `pnpm-workspace.yaml`: Pulumi's SDK works without that script",
    manager: ["pnpm", "12.21.0"],
    files: PNPM_FILES,
  },
  {
    kind: "Package managers",
    name: "pnpm 12.21.0, only in the dependencies of a component package",
    needs:
      "as above, and `publicHoistPattern: [pulumi-edgeguard]` there or pulumi-edgeguard in the program's own dependencies",
    manager: ["pnpm", "12.21.0"],
    program: "component",
    packages: { typescript: undefined, "ts-node": undefined },
    files: HOISTING_FILES,
  },
  {
    kind: "Package managers",
    name: "Yarn 4.18.1, `node_modules`",
    needs: "`nodeLinker: node-modules` in `.yarnrc.yml`",
    manager: ["yarn", "4.18.1"],
    files: { ".yarnrc.yml": "nodeLinker: node-modules\n", "yarn.lock": "" },
  },
  {
    kind: "Package managers",
    name: "Yarn 4.18.1, Plug'n'Play",
    needs: '`export NODE_OPTIONS="--require $PWD/.pnp.cjs"` before `pulumi`',
    manager: ["yarn", "4.18.1"],
    files: { ".yarnrc.yml": "nodeLinker: pnp\n", "yarn.lock": "" },
    plugAndPlay: true,
  },
  { kind: "Package managers", name: "bun 1.4.5", manager: ["bun", "1.4.5"] },

  { kind: "Programs", name: "TypeScript, CommonJS" },
  {
    kind: "Programs",
    name: "TypeScript, ES module",
    needs: '`"type": "module"`',
    manifest: { type: "module" },
  },
  {
    kind: "Programs",
    name: "TypeScript with tsx 4.23.15",
    needs: "`runtime.options`: `typescript: false`, `nodeargs: --import tsx`",
    packages: { tsx: "4.23.15", "ts-node": undefined },
    runtime: TSX,
  },
  {
    kind: "Programs",
    name: "JavaScript, ES module",
    needs: '`"type": "module"`',
    program: "module",
    packages: { typescript: undefined, "ts-node": undefined },
    manifest: { type: "module" },
  },
  {
    kind: "Programs",
    name: "JavaScript, CommonJS",
    program: "commonjs",
    packages: { typescript: undefined, "ts-node": undefined },
  },
  {
    kind: "Programs",
    name: "`runtime: bun`, 1.4.5",
    needs: "Node.js on PATH: Pulumi runs the provider in it",
    manager: ["bun", "1.4.5"],
    packages: { typescript: undefined, "ts-node": undefined },
    runtime: "bun",
    onlyCli: "runs Node.js only",
  },
  {
    kind: "Programs",
    name: "Automation API, inline program",
    needs: "`workDir`: a folder from which the packages are found",
    program: "automation",
    packages: { typescript: undefined, "ts-node": undefined },
    onlyCli: "the Automation API starts the CLI",
  },

  {
    kind: "Test runners",
    name: "vitest 5.1.1",
    packages: { vitest: "5.1.1" },
    unitTest: { command: ["vitest", "run"], module: "vitest" },
  },
  {
    kind: "Test runners",
    name: "jest 30.5.2",
    packages: { jest: "30.5.2", "@jest/globals": "30.5.2" },
    unitTest: { command: ["jest"], module: "@jest/globals" },
  },
  {
    kind: "Test runners",
    name: "`node --test`",
    unitTest: { command: ["node", "--test"], module: "node:test" },
  },

  ...["20.18.1", "22.23.3", "24.21.0", "25.9.0", "26.10.0"].map((node): Row => ({
    kind: "Node.js",
    name: node,
    node,
    ...(node.startsWith("20.") && {
      needs: "an SDK for it, such as 3.248.0: the newest asks for Node.js 22",
      packages: { "@pulumi/pulumi": "3.248.0" },
    }),
    files: { ".npmrc": "engine-strict=true\n" },
  })),

  ...["3.216.0", "3.217.0", "3.269.0", "3.270.0"].map((version): Row => ({
    kind: "Pulumi SDK",
    name: version,
    packages: { "@pulumi/pulumi": version },
  })),

  ...["5.9.3", "6.0.3"].map((typescript): Row => ({
    kind: "TypeScript",
    name: typescript,
    packages: { typescript },
    compiles: true,
  })),
  {
    kind: "TypeScript",
    name: "7.0.2",
    needs:
      'tsx instead of ts-node; `"overrides": { "@pulumi/pulumi": { "typescript": "$typescript" } }` in package.json for npm',
    manifest: { overrides: { "@pulumi/pulumi": { typescript: "$typescript" } } },
    packages: { typescript: "7.0.2", tsx: "4.23.15", "ts-node": undefined },
    runtime: TSX,
    compiles: true,
  },
];
