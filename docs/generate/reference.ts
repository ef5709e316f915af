import { posix } from "node:path";
import { block, code, lines, section, slug, table } from "./markdown";
import type { Example, Member } from "./model";

/** Where each exported name has its docs, and how pages refer to it. */
export class Links {
  readonly #places = new Map<string, { readonly path: string; readonly anchor: string }>();

  place(name: string, path: string, heading = name): void {
    this.#places.set(name, { path, anchor: slug(heading) });
  }

  has(name: string): boolean {
    return this.#places.has(name);
  }

  to(name: string, from: string): string | undefined {
    const place = this.#places.get(name);
    if (place === undefined) return undefined;
    return place.path === from
      ? `#${place.anchor}`
      : `${posix.relative(posix.dirname(from), place.path)}#${place.anchor}`;
  }

  /** A type as code, with a link to each exported name in it. */
  type(text: string, from: string): string {
    const namespaces = ["", "destination.", "filter.", "limits."];
    const linked = [...new Set(text.match(/\b[A-Z]\w+\b/g) ?? [])].flatMap((name) => {
      const known = namespaces.map((prefix) => prefix + name).find((each) => this.has(each));
      const to = known === undefined ? undefined : this.to(known, from);
      return to === undefined ? [] : [{ name, to }];
    });
    const [only] = linked;
    if (only === undefined) return code(text);
    if (linked.length === 1) return `[${code(text)}](${only.to})`;
    return `${code(text)} (${linked.map(({ name, to }) => `[${name}](${to})`).join(", ")})`;
  }
}

export function examples(level: number, all: readonly Example[]): string {
  return lines(...all.map(({ title, code: text }) => section(level, title, block("ts", text))));
}

/** Members of an object: a table, then the docs of each that has more to say than the table. */
export function members(all: readonly Member[], links: Links, from: string): string {
  return table(
    ["Name", "Type", "Meaning"],
    all.flatMap((each) => rows(each, "")),
  );

  function rows({ name, type, optional, doc, members: nested }: Member, prefix: string): string[][] {
    const path = prefix + name;
    const meaning = [doc.text, defaultOf({ doc })];
    const shown = nested.length === 0 ? links.type(type, from) : "object";
    return [
      [`${code(path)}${optional ? "" : ", required"}`, shown, meaning.join(" ").trim()],
      ...nested.flatMap((each) => rows(each, `${path}${type.endsWith("[]") ? "[]" : ""}.`)),
    ];
  }
}

export function defaultOf({ doc: { defaultValue } }: Pick<Member, "doc">): string {
  return defaultValue === undefined ? "" : `Default: ${defaultValue.replace(/\.$/, "")}.`;
}

/** A page of Cloudflare's by its address, an operation of its API as code. */
export function seen(text: string): string {
  return /^https?:/.test(text)
    ? `[${text.replace(/^https?:\/\/|\/$/g, "")}](${text})`
    : text.replace(/^([A-Z]+ \/\S*)$/, "`$1`");
}

/** A long union or object, one member a line. */
export function broken(type: string): string {
  if (type.length < 100) return type;
  return type.startsWith("{")
    ? type
        .replace(/^\{ | \}$/g, (brace) => (brace.startsWith("{") ? "{\n  " : "\n}"))
        .replace(/; (?=\w+\??: )/g, ";\n  ")
    : membersOfUnion(type).join("\n  | ");
}

/** The members of a union, without those of the types inside it. */
function membersOfUnion(type: string): string[] {
  let depth = 0;
  const bars = Array.from(type, (char, i) => {
    const isArrow = char === ">" && type[i - 1] === "=";
    depth += "{(<".includes(char) ? 1 : "})>".includes(char) && !isArrow ? -1 : 0;
    return depth === 0 && char === "|" ? "\n" : char;
  });
  return bars
    .join("")
    .split("\n")
    .map((part) => part.trim());
}
