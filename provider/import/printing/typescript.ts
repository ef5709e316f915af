import { JS_NAME, keyText } from "../../runtime/changes";
import type { Code, Item } from "../code";
import type { IdConstant } from "../draft";
import { oneLine } from "../names";
import { promptFor, type Declaration, type Program } from "../program";
import { PACKAGES } from "../target";
import { CREDENTIALS, header, WIDTH, wrapped } from "./comments";

/** Prints a program in TypeScript. */
export function typescriptProgram(program: Program): string {
  const parts = [
    commented(header("its first argument")),
    importsText(program),
    [configText(program), ...program.ids.map(idsText)].filter((part) => part !== "").join("\n"),
    ...program.resources.map(declarationText),
    program.leftOut.map((sentence) => commented(sentence)).join("\n"),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** The functions from this package that arguments may call. */
const EXPORTS = ["destination", "filter"];

function importsText({ surface, resources, uses, secrets }: Program): string {
  const classes = new Set(resources.map(({ type }) => type));
  const functions = new Set(
    [...uses].flatMap((use) => EXPORTS.find((name) => use.split(".")[0] === name) ?? []),
  );
  const names = [...classes, ...functions].sort((a, b) => a.localeCompare(b, "en"));
  const from = `from ${JSON.stringify(PACKAGES[surface])};`;
  const flat = `import { ${names.join(", ")} } ${from}`;
  const own = flat.length <= WIDTH ? flat : `import {\n  ${names.join(",\n  ")},\n} ${from}`;
  return [
    ...(secrets.length > 0 ? ['import * as pulumi from "@pulumi/pulumi";'] : []),
    names.length === 0 ? "export {};" : own,
  ].join("\n");
}

function configText({ secrets }: Program): string {
  if (secrets.length === 0) return "";
  const commands = secrets.map((secret) => `//   ${promptFor(secret)}`);
  return `${commented(CREDENTIALS)}\n${commands.join("\n")}\nconst config = new pulumi.Config();\n`;
}

/** Returns the declarations of the IDs: `const zoneId = "…"`, or `const zones = { … }` for several zones. */
function idsText(used: readonly IdConstant[]): string {
  const behind = (comment: string | undefined): string =>
    comment === undefined ? "" : ` // ${oneLine(comment)}`;
  const [first] = used;
  if (first === undefined) return "";
  const { variable, member, id, comment } = first;
  if (member === undefined) return `const ${variable} = ${JSON.stringify(id)};${behind(comment)}`;
  const lines = used.map(
    (each) => `  ${each.member ?? ""}: ${JSON.stringify(each.id)},${behind(each.comment)}`,
  );
  return `const ${variable} = {\n${lines.join("\n")}\n};`;
}

function declarationText({ type, name, variable, args, comment }: Declaration): string {
  const constant = variable === undefined ? "" : `const ${variable} = `;
  const start = `${constant}new ${type}(${JSON.stringify(name)}, `;
  const above = comment === undefined ? "" : `${commented(comment)}\n`;
  return `${above}${start}${print(args, { start: start.length, end: 2 })});`;
}

/** The parts of an expression to print: either its text, or brackets with items between them. */
type Layout = string | Brackets;

interface Brackets {
  readonly open: string;
  readonly items: readonly LaidOut[];
  readonly close: string;
}

interface LaidOut extends Item {
  /** The text before the item, such as `key: ` for a property. Empty for list items and call arguments. */
  readonly before: string;
}

function layoutOf({ form }: Code): Layout {
  switch (form.kind) {
    case "data":
      return typeof form.data === "string" ? quoted(form.data) : JSON.stringify(form.data);
    case "reference":
      return form.to;
    case "secret":
      return `config.requireSecret(${JSON.stringify(form.key)})`;
    case "call":
      return callOf(form.callee, form.args);
    case "json":
      return callOf("JSON.stringify", [form.document]);
    case "list":
      return { open: "[", items: form.items.map((item) => ({ ...item, before: "" })), close: "]" };
    case "object": {
      const isShort = (name: string, { form: value }: Code): boolean =>
        value.kind === "reference" && value.to === name && JS_NAME.test(name); // `zoneId: zoneId`
      const items = form.members.map(({ name, code, comment }) => ({
        before: isShort(name, code) ? "" : `${keyText(name)}: `,
        code,
        comment,
      }));
      return { open: "{", items, close: "}" };
    }
  }
}

function callOf(callee: string, args: readonly Code[]): Brackets {
  const items = args.map((code) => ({ before: "", code, comment: undefined }));
  return { open: `${callee}(`, items, close: ")" };
}

/** Quotes a string, with single quotes if that saves backslashes, as prettier does. */
function quoted(text: string): string {
  const double = JSON.stringify(text);
  return text.includes('"') && !text.includes("'")
    ? `'${double.slice(1, -1).replaceAll('\\"', '"')}'`
    : double;
}

const INDENT = "  ";

/**
 * Formats an expression the way prettier does, because prettier may not be installed.
 *
 * @param start the number of characters before the expression on its first line.
 * @param end the number of characters after the expression on its last line.
 */
export function print(code: Code, { start = 0, end = 0, depth = 0 } = {}): string {
  const layout = layoutOf(code);
  if (typeof layout === "string") return layout;
  const flat = flatten(layout);
  if (flat !== undefined && start + flat.length + end <= WIDTH) return flat;
  const { open, items, close } = layout;
  const [only, ...others] = items;
  if (open.endsWith("(") && only !== undefined && others.length === 0 && isBracketed(only.code))
    return `${open}${print(only.code, { start: start + open.length, end: end + 1, depth })}${close}`;
  const inner = INDENT.repeat(depth + 1);
  const lines = items.map(({ before, code: each, comment }) => {
    const above = comment === undefined ? "" : `${commented(comment, inner)}\n`;
    const at = { start: inner.length + before.length, end: 1, depth: depth + 1 };
    return `${above}${inner}${before}${print(each, at)},`;
  });
  return `${open}\n${lines.join("\n")}\n${INDENT.repeat(depth)}${close}`;
}

function isBracketed(code: Code): boolean {
  return typeof layoutOf(code) !== "string";
}

/** Formats an expression on one line. Undefined if it contains a comment. */
function flatten({ open, items, close }: Brackets): string | undefined {
  const texts: string[] = [];
  for (const { before, code, comment } of items) {
    const layout = layoutOf(code);
    const text = typeof layout === "string" ? layout : flatten(layout);
    if (comment !== undefined || text === undefined) return undefined;
    texts.push(before + text);
  }
  const space = open === "{" && texts.length > 0 ? " " : "";
  return `${open}${space}${texts.join(", ")}${space}${close}`;
}

/** Formats a wrapped line comment. */
export function commented(text: string, indent = ""): string {
  const start = `${indent}// `;
  return wrapped(text, WIDTH - start.length)
    .map((line) => start + line)
    .join("\n");
}
