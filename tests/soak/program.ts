import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { REPOSITORY } from "../support/engine";

export const TYPES = [
  "PageShieldSettings",
  "PageShieldPolicy",
  "ManagedRulesetOverride",
  "WafMigration",
  "LogpushTransformer",
  "LogpushJob",
  "KvNamespace",
  "KvEntries",
] as const;
export type TypeName = (typeof TYPES)[number];

export type Value =
  | string
  | number
  | boolean
  | null
  | readonly Value[]
  /** Data, or code by its only member: `{ $id: name of a resource }`, `{ $secret: value }`. */
  | { readonly [member: string]: Value };

export type Args = Readonly<Record<string, Value>>;

export interface Declared {
  readonly type: TypeName;
  readonly name: string;
  readonly args: Args;
  readonly opts?: Args;
}

export interface Program {
  readonly resources: readonly Declared[];
  /** Contents of files by path, relative to the program's sources. */
  readonly files: Readonly<Record<string, Buffer>>;
}

export function isObject(value: Value | undefined): value is { readonly [member: string]: Value } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value without its `$secret` wrappers. */
export function plain(value: Value): Value {
  if (Array.isArray(value)) return (value as readonly Value[]).map(plain);
  if (!isObject(value)) return value;
  const { $secret } = value;
  if ($secret !== undefined) return plain($secret);
  return Object.fromEntries(Object.entries(value).map(([member, each]) => [member, plain(each)]));
}

/** A value as text; undefined is empty. */
export function textOf(value: Value | undefined): string {
  const given = plain(value ?? "");
  return typeof given === "string" ? given : JSON.stringify(given);
}

export function codeOf({ resources }: Program): string {
  const lines = resources.map(
    ({ type, name, args, opts }) =>
      `made[${JSON.stringify(name)}] = new edgeguard.${type}(${JSON.stringify(name)}, ${code(args)}${opts === undefined ? "" : `, ${code(opts)}`});`,
  );
  return `const pulumi = require("@pulumi/pulumi");
const edgeguard = require("pulumi-edgeguard");
const made = {};
${lines.join("\n")}
`;
}

function code(value: Value): string {
  if (Array.isArray(value)) return `[${(value as readonly Value[]).map(code).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const { $id, $secret } = value;
  if (typeof $id === "string") return `made[${JSON.stringify($id)}].id`;
  if ($secret !== undefined) return `pulumi.secret(${code($secret)})`;
  return `{ ${Object.entries(value)
    .map(([member, each]) => `${JSON.stringify(member)}: ${code(each)}`)
    .join(", ")} }`;
}

/** The folder for files with secrets in plain text, apart from what an engine writes. */
export function sourcesOf(projectDir: string): string {
  return join(dirname(projectDir), "sources");
}

/** A file's path in the program. */
export function sourcePath(file: string): string {
  return `../sources/${file}`;
}

/** Writes the program. The project's own folder only points to it. */
export function writeProgram(projectDir: string, program: Program): void {
  const sources = sourcesOf(projectDir);
  rmSync(sources, { recursive: true, force: true });
  mkdirSync(sources);
  symlinkSync(join(REPOSITORY, "node_modules"), join(sources, "node_modules"));
  writeFileSync(join(sources, "program.js"), codeOf(program));
  for (const [path, content] of Object.entries(program.files)) {
    mkdirSync(dirname(join(sources, path)), { recursive: true });
    writeFileSync(join(sources, path), content);
  }
  writeFileSync(join(projectDir, "index.js"), `require(${JSON.stringify(join(sources, "program.js"))});\n`);
}

/** Keeps the program, to debug a failure. */
export function keepProgram(projectDir: string, as: string): void {
  mkdirSync(dirname(as), { recursive: true });
  copyFileSync(join(sourcesOf(projectDir), "program.js"), as);
}
