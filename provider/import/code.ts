import { JS_NAME, keyText } from "../runtime/changes";
import { ownMember } from "../runtime/values";
import { oneLine } from "./names";

/**
 * An expression in the generated program: its text, and its value when the program runs. Keeping both together ensures
 * that the program and the inputs in the import file match.
 */
export class Code {
  constructor(
    readonly value: unknown,
    readonly form: Form,
    /** The program's constant or function that the expression uses. */
    readonly uses?: string,
  ) {}
}

/** The form of an expression: verbatim text, or items between brackets. */
export type Form = string | Bracketed;

export interface Bracketed {
  readonly open: string;
  readonly items: readonly Item[];
  readonly close: string;
}

export interface Item {
  /** The text before the item: the `key: ` of a property. Empty for list items and call arguments. */
  readonly before: string;
  readonly code: Code;
  /** A comment for the line above the item. */
  readonly comment?: string;
}

/** An object's properties: plain data, expressions, or data that contains expressions. Undefined ones are left out. */
export type Members = Readonly<Record<string, unknown>>;

/** Returns a reference to one of the program's constants, or to a constant's property. */
export function constant(text: string, value: unknown): Code {
  return new Code(value, text, text);
}

/** Returns a function call, with its result as the value. */
export function call(callee: string, args: readonly unknown[], value: unknown): Code {
  const items = args.map((arg) => item(codeOf(arg)));
  return new Code(value, { open: `${callee}(`, items, close: ")" }, callee);
}

/** Yields the constants and functions that an expression uses, at any depth: `zoneId`, `filter.where`. */
export function* usesOf({ form, uses }: Code): Generator<string> {
  if (uses !== undefined) yield uses;
  if (typeof form !== "string") for (const { code } of form.items) yield* usesOf(code);
}

export function codeOf(given: unknown): Code {
  if (given instanceof Code) return given;
  if (Array.isArray(given)) {
    const items = given.map(codeOf);
    return new Code(
      items.map(({ value }) => value),
      { open: "[", items: items.map((code) => item(code)), close: "]" },
    );
  }
  return typeof given === "object" && given !== null
    ? objectOf(given as Members)
    : new Code(given, typeof given === "string" ? quoted(given) : JSON.stringify(given));
}

/** Quotes a string, with single quotes if that saves backslashes, as prettier does. */
function quoted(text: string): string {
  const double = JSON.stringify(text);
  return text.includes('"') && !text.includes("'")
    ? `'${double.slice(1, -1).replaceAll('\\"', '"')}'`
    : double;
}

/** @param comments comments by the text of the item that each one precedes. */
export function listOf(texts: readonly string[], comments: Readonly<Record<string, string>>): Code {
  const items = texts.map((text) => item(codeOf(text), "", ownMember(comments, text)));
  return new Code(texts, { open: "[", items, close: "]" });
}

/** @param comments comments by the name of the property that each one precedes. */
export function objectOf(members: Members, comments: Readonly<Record<string, string>> = {}): Code {
  const entries = Object.entries(members)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => [key, codeOf(member)] as const);
  const items = entries.map(([key, code]) => {
    const isShort = code.form === key && JS_NAME.test(key); // `zoneId: zoneId`
    const comment = ownMember(comments, key);
    return item(code, isShort ? "" : `${keyText(key)}: `, comment);
  });
  const value = Object.fromEntries(entries.map(([key, code]) => [key, code.value]));
  return new Code(value, { open: "{", items, close: "}" });
}

function item(code: Code, before = "", comment?: string): Item {
  return { before, code, ...(comment === undefined ? {} : { comment }) };
}

const WIDTH = 110;
const INDENT = "  ";

/**
 * Formats an expression the way prettier does, because prettier may not be installed.
 *
 * @param start the number of characters before the expression on its first line.
 * @param end the number of characters after the expression on its last line.
 */
export function print(code: Code, { start = 0, end = 0, depth = 0 } = {}): string {
  const { form } = code;
  if (typeof form === "string") return form;
  const flat = flatten(form);
  if (flat !== undefined && start + flat.length + end <= WIDTH) return flat;
  const { open, items, close } = form;
  const [only, ...others] = items;
  if (open.endsWith("(") && only !== undefined && others.length === 0 && typeof only.code.form !== "string")
    return `${open}${print(only.code, { start: start + open.length, end: end + 1, depth })}${close}`;
  const inner = INDENT.repeat(depth + 1);
  const lines = items.map(({ before, code: each, comment }) => {
    const above = comment === undefined ? "" : `${commented(comment, inner)}\n`;
    const at = { start: inner.length + before.length, end: 1, depth: depth + 1 };
    return `${above}${inner}${before}${print(each, at)},`;
  });
  return `${open}\n${lines.join("\n")}\n${INDENT.repeat(depth)}${close}`;
}

/** Formats an expression on one line. Undefined if it contains a comment. */
function flatten({ open, items, close }: Bracketed): string | undefined {
  const texts: string[] = [];
  for (const { before, code, comment } of items) {
    const text = typeof code.form === "string" ? code.form : flatten(code.form);
    if (comment !== undefined || text === undefined) return undefined;
    texts.push(before + text);
  }
  const space = open === "{" && texts.length > 0 ? " " : "";
  return `${open}${space}${texts.join(", ")}${space}${close}`;
}

/** Formats a wrapped line comment. A line break in the text can't end it. */
export function commented(text: string, indent = ""): string {
  const words = oneLine(text).split(" ");
  const lines: string[] = [];
  let line = `${indent}//`;
  for (const word of words) {
    if (line.length + 1 + word.length > WIDTH && line !== `${indent}//`) {
      lines.push(line);
      line = `${indent}//`;
    }
    line += ` ${word}`;
  }
  return [...lines, line].join("\n");
}
