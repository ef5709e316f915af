import { ownMember } from "../basics/json";

/**
 * An expression in the generated program, and the value it has when the program runs. Keeping both ensures that the
 * program matches the inputs in the import file.
 */
export class Code {
  constructor(
    readonly value: unknown,
    readonly form: Form,
  ) {}
}

export type Form =
  | { readonly kind: "data"; readonly data: unknown }
  /** A constant or resource of the program, or a property of one: `zones.shopExample`. */
  | { readonly kind: "reference"; readonly to: string }
  /** A secret from the stack's configuration. */
  | { readonly kind: "secret"; readonly key: string }
  | { readonly kind: "call"; readonly callee: string; readonly args: readonly Code[] }
  /** The text of a JSON document. */
  | { readonly kind: "json"; readonly document: Code }
  | { readonly kind: "list"; readonly items: readonly Item[] }
  | { readonly kind: "object"; readonly members: readonly Member[] };

export interface Item {
  readonly code: Code;
  /** The comment to print above the item. */
  readonly comment: string | undefined;
}

export interface Member extends Item {
  readonly name: string;
}

/** An object's properties: plain data, expressions, or data that contains expressions. Undefined ones are left out. */
export type Members = Readonly<Record<string, unknown>>;

export function reference(to: string, value: unknown): Code {
  return new Code(value, { kind: "reference", to });
}

/** Returns a function call, with its result as the value. */
export function call(callee: string, args: readonly unknown[], value: unknown): Code {
  return new Code(value, { kind: "call", callee, args: args.map(codeOf) });
}

/**
 * Returns an expression for a JSON text. It's printed as the parsed document if that produces exactly the same text.
 */
export function jsonText(text: string): Code {
  const document: unknown = JSON.parse(text);
  // Another form of a number, say, would change the text.
  return JSON.stringify(document) === text
    ? new Code(text, { kind: "json", document: codeOf(document) })
    : codeOf(text);
}

/** Yields the program's constants and the functions that an expression uses, at any depth: `zoneId`, `filter.where`. */
export function* usesOf({ form }: Code): Generator<string> {
  if (form.kind === "reference") yield form.to;
  if (form.kind === "call") yield form.callee;
  for (const part of partsOf(form)) yield* usesOf(part);
}

function partsOf(form: Form): readonly Code[] {
  switch (form.kind) {
    case "data":
    case "reference":
    case "secret":
      return [];
    case "call":
      return form.args;
    case "json":
      return [form.document];
    case "list":
      return form.items.map(({ code }) => code);
    case "object":
      return form.members.map(({ code }) => code);
  }
}

export function codeOf(given: unknown): Code {
  if (given instanceof Code) return given;
  if (Array.isArray(given))
    return listCode(given.map((each) => ({ code: codeOf(each), comment: undefined })));
  return typeof given === "object" && given !== null
    ? objectOf(given as Members)
    : new Code(given, { kind: "data", data: given });
}

/** @param comments the comments to print above items, by the item's text. */
export function listOf(texts: readonly string[], comments: Readonly<Record<string, string>>): Code {
  return listCode(texts.map((text) => ({ code: codeOf(text), comment: ownMember(comments, text) })));
}

function listCode(items: readonly Item[]): Code {
  return new Code(
    items.map(({ code }) => code.value),
    { kind: "list", items },
  );
}

/** @param comments the comments to print above properties, by the property's name. */
export function objectOf(members: Members, comments: Readonly<Record<string, string>> = {}): Code {
  const written = Object.entries(members)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => ({ name, code: codeOf(member), comment: ownMember(comments, name) }));
  const value = Object.fromEntries(written.map(({ name, code }) => [name, code.value]));
  return new Code(value, { kind: "object", members: written });
}
