import { existsSync, readFileSync } from "node:fs";
import { extname, join, relative, resolve } from "node:path";
import { parse as parseJson, printParseErrorCode, type ParseError } from "jsonc-parser";
// Its types are ESM-only, although it can be required.
import type * as Toml from "smol-toml" with { "resolution-mode": "import" };
import { z } from "zod";
import { nearest } from "../basics/nearest";
import { ownMember } from "../basics/json";
import { CommandError } from "../terminal/errors";
import { foldersFrom, placeIn, unreadable } from "../terminal/files";
import type { Io } from "../terminal/io";

/**
 * The parts of a Worker's configuration file that relate to Workers KV.
 * https://developers.cloudflare.com/workers/wrangler/configuration/
 */
export interface ProjectConfig {
  /** The file's absolute path. */
  readonly path: string;
  /** The file's name in messages. */
  readonly name: string;
  readonly format: "toml" | "json";
  readonly text: string;
  readonly top: Section;
  readonly env: Readonly<Record<string, Section>>;
}

const boundNamespace = z.looseObject({
  binding: z.string(),
  id: z.string().optional(),
  preview_id: z.string().optional(),
});

const section = z.looseObject({
  account_id: z.string().optional(),
  kv_namespaces: z.array(boundNamespace).optional(),
});
type Section = z.infer<typeof section>;

const file = section.extend({ env: z.record(z.string(), section).optional() });

/** The file names, in Wrangler's order of precedence. */
const NAMES = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"];

/**
 * Reads the file from `--config` or, without it, the nearest one in this directory or its parents. Undefined if there's
 * none.
 *
 * @throws CommandError with the line and column if the file can't be parsed, or with the name of the invalid property.
 */
export function readProjectConfig(io: Io, given: string | undefined): ProjectConfig | undefined {
  const path = given === undefined ? find(io) : resolve(io.cwd, given);
  if (path === undefined) return undefined;
  const name = relative(io.cwd, path) || path;
  const format = extname(path) === ".toml" ? "toml" : "json";
  const text = read(path, name);
  const content = format === "toml" ? toml(name, text) : json(name, text);
  const parsed = file.safeParse(content);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const at = (issue?.path ?? []).map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`));
    throw new CommandError(
      `${name}: ${at.join("").replace(/^\./, "") || "the file"}: ${issue?.message ?? "is invalid"}`,
    );
  }
  const { env = {}, ...top } = parsed.data;
  return { path, name, format, text, top, env };
}

export interface BindingRequest {
  readonly binding: string;
  readonly preview: boolean;
  readonly env: string | undefined;
}

/** @throws CommandError that lists the available names if the file lacks the environment, binding or ID. */
export function namespaceOf(config: ProjectConfig, { binding, preview, env }: BindingRequest): string {
  const where = env === undefined ? config.name : `environment ${JSON.stringify(env)} of ${config.name}`;
  const bindings = sectionOf(config, env).kv_namespaces ?? [];
  const found = bindings.filter((one) => one.binding === binding);
  const [first, second] = found;
  if (first === undefined) {
    const inherits =
      env !== undefined && bindings.length === 0 ? ". Environments don't inherit bindings" : "";
    const names = bindings.map((one) => one.binding);
    throw new CommandError(
      `${where} has no KV binding named ${JSON.stringify(binding)}${meant(binding, names)}${inherits}.`,
    );
  }
  if (second !== undefined)
    throw new CommandError(
      `${where} has ${found.length} KV bindings named ${JSON.stringify(binding)}; keep one.`,
    );
  const member = preview ? "preview_id" : "id";
  const id = first[member];
  if (id === undefined)
    throw new CommandError(
      `The binding ${JSON.stringify(binding)} in ${where} has no ${member}${first.id === undefined && first.preview_id === undefined ? "" : preview ? "; leave out --preview to use its id" : "; pass --preview to use its preview_id"}.`,
    );
  if (!/^[0-9a-f]{32}$/i.test(id))
    throw new CommandError(
      `The ${member} of binding ${JSON.stringify(binding)} in ${where} is ${JSON.stringify(id.slice(0, 40))}; an ID has 32 hex digits.`,
    );
  return id.toLowerCase();
}

/**
 * Finds the binding with this name. Undefined if the file doesn't have it. @throws CommandError if the file has no such
 * environment.
 */
export function bindingOf(
  config: ProjectConfig,
  { binding, env }: Pick<BindingRequest, "binding" | "env">,
): z.infer<typeof boundNamespace> | undefined {
  return sectionOf(config, env).kv_namespaces?.find((one) => one.binding === binding);
}

/** @throws CommandError if the ID is malformed, or the file has no such environment. */
export function accountOf(config: ProjectConfig, env: string | undefined): string | undefined {
  const id = sectionOf(config, env).account_id ?? config.top.account_id;
  if (id === undefined || id === "") return undefined;
  if (/^[0-9a-f]{32}$/i.test(id)) return id.toLowerCase();
  throw new CommandError(
    `account_id in ${config.name} is ${JSON.stringify(id.slice(0, 40))}; an ID has 32 hex digits.`,
  );
}

function sectionOf(config: ProjectConfig, env: string | undefined): Section {
  if (env === undefined) return config.top;
  const found = ownMember(config.env, env);
  if (found !== undefined) return found;
  throw new CommandError(
    `${config.name} has no environment ${JSON.stringify(env)}${meant(env, Object.keys(config.env))}.`,
  );
}

/** Returns ` (did you mean "CATALOG"?)` or the available names. */
function meant(word: string, names: readonly string[]): string {
  const near = nearest(word, names);
  if (near !== undefined) return ` (did you mean ${JSON.stringify(near)}?)`;
  const all = names.map((name) => JSON.stringify(name)).join(", ");
  return names.length === 0 ? "; it has none" : `; it has ${all}`;
}

function find(io: Io): string | undefined {
  return [...foldersFrom(io.cwd)]
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
}

function read(path: string, name: string): string {
  try {
    return readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    throw unreadable(name, path, error);
  }
}

function tomlParser(): typeof Toml {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the types of an import would be ESM, in a CommonJS file
  return require("smol-toml") as typeof Toml;
}

/** Whether a text is valid TOML. */
export function isToml(text: string): boolean {
  const { parse, TomlError } = tomlParser();
  try {
    parse(text);
    return true;
  } catch (error) {
    if (error instanceof TomlError) return false;
    throw error;
  }
}

function toml(name: string, text: string): unknown {
  const { parse, TomlError } = tomlParser();
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // After its first line, the message quotes the file, which may contain secrets.
    const [reason = ""] = error.message.split("\n");
    throw new CommandError(
      `${name}, line ${error.line}, column ${error.column}: ${reason.replace(/^Invalid TOML document: /, "")}.`,
    );
  }
}

function json(name: string, text: string): unknown {
  const errors: ParseError[] = [];
  const content: unknown = parseJson(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return content;
  const { line, column } = placeIn(text, first.offset);
  throw new CommandError(
    `${name}, line ${line}, column ${column}: ${wordsOf(printParseErrorCode(first.error))}.`,
  );
}

/** Splits a code such as `CommaExpected` into words. */
function wordsOf(code: string): string {
  return code.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}
