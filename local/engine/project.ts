/** Pulumi.yaml and Pulumi.<stack>.yaml: the program's location and configuration. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { Document, parseDocument } from "yaml";
import { z } from "zod";
import { CommandError, EXIT, unlessMissing, UnsupportedError } from "./errors";
import type { Crypter } from "./secrets";

export interface Project {
  readonly name: string;
  readonly description: string | undefined;
  /** The directory of Pulumi.yaml. */
  readonly root: string;
  readonly file: string;
  /** Where the program and the provider host run: the root, or `main`. */
  readonly programDirectory: string;
  /** The path that Node runs in `programDirectory`: "." unless `main` is a file. */
  readonly entryPoint: string;
  readonly typescript: boolean;
  readonly nodeArgs: readonly string[];
}

const scalar = z.union([z.string(), z.number(), z.boolean()]);

const projectSchema = z.looseObject({
  name: z.string().min(1),
  description: z.string().nullish(),
  runtime: z.union([
    z.string(),
    z.looseObject({
      name: z.string(),
      options: z
        .looseObject({
          typescript: z.boolean().optional(),
          nodeargs: z.string().optional(),
        })
        .nullish(),
    }),
  ]),
  main: z.string().optional(),
});

const UNSUPPORTED_KEYS = ["plugins", "packages", "stackConfigDir", "options", "backend", "config"] as const;

export async function readProject(directory: string): Promise<Project> {
  const file = findProjectFile(directory);
  const parsed = projectSchema.safeParse(parseDocument(await readFile(file, "utf8")).toJS());
  if (!parsed.success) throw new CommandError(`${file}: ${z.prettifyError(parsed.error)}`);
  const project = parsed.data;
  for (const key of UNSUPPORTED_KEYS) {
    if (project[key] !== undefined) throw new UnsupportedError(`\`${key}\` in Pulumi.yaml`);
  }
  const runtime =
    typeof project.runtime === "string" ? { name: project.runtime, options: undefined } : project.runtime;
  if (runtime.name !== "nodejs") throw new UnsupportedError(`the runtime ${runtime.name}`);
  if (runtime.options?.["tsconfig"] !== undefined)
    throw new UnsupportedError("the runtime option `tsconfig` in Pulumi.yaml");
  const root = path.dirname(file);
  return {
    name: project.name,
    description: project.description ?? undefined,
    root,
    file,
    ...locateProgram(root, project.main),
    typescript: runtime.options?.typescript ?? true,
    nodeArgs: runtime.options?.nodeargs?.split(/\s+/).filter((arg) => arg !== "") ?? [],
  };
}

function findProjectFile(directory: string): string {
  for (let current = directory; ; current = path.dirname(current)) {
    const found = ["Pulumi.yaml", "Pulumi.yml"]
      .map((name) => path.join(current, name))
      .find((name) => existsSync(name));
    if (found !== undefined) return found;
    if (current === path.dirname(current)) {
      throw new CommandError(
        `no Pulumi.yaml project file found (searching upwards from ${directory})`,
        EXIT.badInvocation,
      );
    }
  }
}

/**
 * Finds the program's directory and entry point. `main` may be a directory or a file. The program and the provider host
 * run in that directory.
 */
function locateProgram(root: string, main: string | undefined) {
  if (main === undefined) return { programDirectory: root, entryPoint: "." };
  const target = path.resolve(root, main);
  return /\.[cm]?[jt]s$/.test(target)
    ? { programDirectory: path.dirname(target), entryPoint: path.basename(target) }
    : { programDirectory: target, entryPoint: "." };
}

/** Returns a configuration key with its namespace. The default namespace is the project's name. */
export function qualifiedKey(project: string, key: string): string {
  const parts = key.split(":");
  if (parts.length === 3 && parts[1] === "config") return `${parts[0] ?? ""}:${parts[2] ?? ""}`;
  return parts.length === 1 ? `${project}:${key}` : key;
}

const configValue = z.union([
  scalar,
  z.strictObject({ secure: z.string() }),
  z.looseObject({}),
  z.array(z.unknown()),
]);

interface ConfigEntry {
  readonly value: string;
  readonly secret: boolean;
}
export type Config = ReadonlyMap<string, ConfigEntry>;

/** Edits Pulumi.<stack>.yaml in place. Comments and settings that this engine doesn't know stay as they are. */
export class StackSettings {
  private constructor(
    readonly file: string,
    readonly project: Project,
    readonly document: Document,
  ) {}

  static async read(project: Project, stack: string): Promise<StackSettings> {
    const file = path.join(project.root, `Pulumi.${stack}.yaml`);
    const parsed = parseDocument(await unlessMissing(readFile(file, "utf8"), ""));
    const document = parsed.contents === null ? new Document({}) : parsed;
    const settings = new StackSettings(file, project, document);
    for (const key of ["secretsprovider", "encryptedkey", "environment"]) {
      if (document.has(key)) throw new UnsupportedError(`\`${key}\` in ${path.basename(file)}`);
    }
    return settings;
  }

  get salt(): string | undefined {
    const salt: unknown = this.document.get("encryptionsalt");
    return typeof salt === "string" ? salt : undefined;
  }

  setSalt(salt: string): void {
    this.document.set("encryptionsalt", salt);
  }

  get hasSecrets(): boolean {
    return [...this.#rawValues().values()].some((value) => isSecure(value));
  }

  /** The stack's values, sorted by key. */
  async config(crypter: () => Promise<Crypter>): Promise<Config> {
    const result = new Map<string, ConfigEntry>();
    for (const [key, value] of this.#rawValues()) {
      result.set(
        qualifiedKey(this.project.name, key),
        isSecure(value)
          ? { value: (await crypter()).decrypt(value.secure), secret: true }
          : { value: plainConfig(key, value), secret: false },
      );
    }
    return new Map([...result].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  setValue(key: string, value: string | { secure: string }): void {
    const qualified = qualifiedKey(this.project.name, key);
    if (!this.document.has("config")) this.document.set("config", this.document.createNode({}));
    this.document.setIn(["config", qualified], this.document.createNode(value));
  }

  removeValue(key: string): void {
    this.document.deleteIn(["config", qualifiedKey(this.project.name, key)]);
    if (this.#rawValues().size === 0) this.document.delete("config");
  }

  async save(): Promise<void> {
    await writeFile(this.file, this.document.toString({ lineWidth: 0 }));
  }

  #rawValues(): Map<string, z.infer<typeof configValue>> {
    const parsed = z
      .looseObject({ config: z.record(z.string(), configValue).nullish() })
      .safeParse(this.document.toJS());
    if (!parsed.success) throw new CommandError(`${this.file}: ${z.prettifyError(parsed.error)}`);
    return new Map(Object.entries(parsed.data.config ?? {}));
  }
}

function isSecure(value: z.infer<typeof configValue>): value is { secure: string } {
  return typeof value === "object" && !Array.isArray(value) && typeof value["secure"] === "string";
}

/** Converts the configuration for the program. Objects and arrays are passed as JSON text. */
function plainConfig(key: string, value: z.infer<typeof configValue>): string {
  if (typeof value !== "object") return String(value);
  const text = JSON.stringify(value);
  if (text.includes('"secure":'))
    throw new UnsupportedError(`a secret inside the structured configuration value ${key}`);
  return text;
}
