import { join, relative } from "node:path";
import { SymbolFlags, TypeFormatFlags } from "typescript";
import type * as TypeDoc from "typedoc" with { "resolution-mode": "import" };
import { REPOSITORY } from "../../tests/support/repository";

/** What the docstrings and types of the package's entry points say, read with TypeDoc. */

export interface Example {
  readonly title: string;
  readonly code: string;
}

/** A docstring, as Markdown. */
export interface Doc {
  readonly text: string;
  /** Markdown: code is in backticks, and prose isn't. */
  readonly defaultValue?: string;
  readonly examples: readonly Example[];
  readonly destroy?: string;
  readonly importing?: string;
  readonly reading?: string;
  readonly returns?: string;
  readonly throws: readonly string[];
  readonly see: readonly string[];
}

export interface Member {
  readonly name: string;
  /** As a program writes it. */
  readonly type: string;
  readonly optional: boolean;
  /** The value has this member or one of its siblings: the type is a union of objects. */
  readonly alternative: boolean;
  readonly doc: Doc;
  /** Of an object that is written out in the type. */
  readonly members: readonly Member[];
}

export interface Item {
  readonly name: string;
  readonly kind: "class" | "interface" | "type" | "function" | "constant" | "namespace";
  /** Relative to provider/. */
  readonly file: string;
  readonly doc: Doc;
  readonly members: readonly Member[];
  /** The type of an alias or a constant, the result of a function. */
  readonly type: string;
  readonly parameters: readonly Member[];
  /** Of a function, one line for each overload. */
  readonly signatures: readonly string[];
}

export interface Model {
  readonly items: readonly Item[];
  readonly item: (name: string) => Item;
}

/** What a program may import, relative to provider/. */
const ENTRIES = ["index.ts", "policies/index.ts", "testing/index.ts"];

export async function readModel(): Promise<Model> {
  const typedoc = await import("typedoc");
  const app = await typedoc.Application.bootstrap({
    entryPoints: ENTRIES.map((path) => join(REPOSITORY, "provider", path)),
    tsconfig: join(REPOSITORY, "provider/tsconfig.json"),
    blockTags: [...typedoc.OptionDefaults.blockTags, "@destroy", "@importing", "@reading"],
    excludeExternals: true,
    sort: ["source-order"],
    logLevel: "Error",
    readme: "none",
    plugin: [],
  });
  const project = await app.convert();
  if (project === undefined || app.logger.hasErrors()) throw new Error("TypeDoc could not read provider/");
  const [entry] = app.getEntryPoints() ?? [];
  if (entry === undefined) throw new Error("TypeDoc has no program of provider/");
  const read = new Reader(typedoc, inferredTypes(entry));
  const modules = project.children ?? []; // One for each entry point.
  const items = modules.flatMap(({ children = [] }) => children).flatMap((each) => read.items(each));
  return {
    items,
    item: (name) => {
      const found = items.find((each) => each.name === name);
      if (found === undefined) throw new Error(`no entry point of provider/ exports ${name}`);
      return found;
    },
  };
}

/** An exported type, written out: for aliases that are inferred, of a schema say. */
function inferredTypes({
  program,
  sourceFile,
}: TypeDoc.DocumentationEntryPoint): (name: string) => string | undefined {
  const checker = program.getTypeChecker();
  const entry = checker.getSymbolAtLocation(sourceFile);
  const all = new Map(
    (entry === undefined ? [] : checker.getExportsOfModule(entry)).map((each) => [each.name, each]),
  );
  const WRITTEN_OUT: TypeFormatFlags = TypeFormatFlags.NoTruncation | TypeFormatFlags.InTypeAlias;
  return (name) => {
    const symbol = all.get(name);
    if (symbol === undefined) return undefined;
    const isAlias = (symbol.flags & SymbolFlags.Alias) !== 0; // As a name from another file is.
    const declared = checker.getDeclaredTypeOfSymbol(isAlias ? checker.getAliasedSymbol(symbol) : symbol);
    return checker.typeToString(declared, undefined, WRITTEN_OUT);
  };
}

const NO_DOC: Doc = { text: "", examples: [], throws: [], see: [] };

class Reader {
  readonly #typedoc: typeof TypeDoc;
  readonly #inferred: (name: string) => string | undefined;

  constructor(typedoc: typeof TypeDoc, inferred: (name: string) => string | undefined) {
    this.#typedoc = typedoc;
    this.#inferred = inferred;
  }

  /** An export, or the exports of a namespace after it. */
  items(reflection: TypeDoc.DeclarationReflection, prefix = ""): Item[] {
    const { ReflectionKind } = this.#typedoc;
    const name = prefix + reflection.name;
    const shapes = this.#shapesOf(reflection);
    const shape = shapes.at(-1);
    const common = { name, file: fileOf(reflection), doc: this.#doc(reflection.comment) };
    const nothing = { members: [], parameters: [], signatures: [], type: "" };
    if (reflection.kind === ReflectionKind.Namespace)
      return [
        { ...common, ...nothing, kind: "namespace" },
        ...(reflection.children ?? []).flatMap((child) => this.items(child, `${name}.`)),
      ];
    if (shape !== undefined) {
      const parameters = (shape.parameters ?? []).map((each) => this.#member(each));
      return [
        {
          ...common,
          doc: this.#doc(shapes.find((each) => each.hasComment())?.comment ?? reflection.comment),
          kind: "function",
          parameters,
          members: [],
          type: plainType(shape.type),
          signatures: shapes.map((each) => this.#signature(name, each)),
        },
      ];
    }
    const kind =
      reflection.kind === ReflectionKind.Class
        ? "class"
        : reflection.kind === ReflectionKind.Interface
          ? "interface"
          : reflection.kind === ReflectionKind.Variable
            ? "constant"
            : "type";
    const own = (
      reflection.children ??
      reflection.type?.visit({ reflection: (t) => t.declaration.children }) ??
      []
    )
      .filter(
        (child) => child.kind === ReflectionKind.Property && !(kind === "class" && child.flags.isInherited),
      )
      .map((child) => this.#member(child));
    return [
      {
        ...common,
        kind,
        parameters: [],
        signatures: [],
        members: own,
        type: this.#expanded(reflection, kind),
      },
    ];
  }

  /** The overloads of a function, a constant that holds one included. */
  #shapesOf({ signatures, type }: TypeDoc.DeclarationReflection): readonly TypeDoc.SignatureReflection[] {
    const held = type?.visit<readonly TypeDoc.SignatureReflection[] | undefined>({
      reflection: ({ declaration }) => declaration.signatures,
    });
    return signatures ?? held ?? [];
  }

  #signature(name: string, { parameters = [], type }: TypeDoc.SignatureReflection): string {
    const shown = parameters.map((each) => {
      const { name: of, type: its, optional } = this.#member(each);
      return `${each.flags.isRest ? "..." : ""}${of}${optional ? "?" : ""}: ${its}`;
    });
    return `${name}(${shown.join(", ")}): ${plainType(type)}`;
  }

  #member(reflection: TypeDoc.DeclarationReflection | TypeDoc.ParameterReflection): Member {
    return {
      name: reflection.name === "__namedParameters" ? "args" : reflection.name,
      type: plainType(reflection.type),
      optional: reflection.flags.isOptional || reflection.defaultValue !== undefined,
      alternative: false,
      doc: this.#doc(reflection.comment),
      members: formsOf(reflection.type).flatMap((form, _, forms) =>
        form.map((each) => ({ ...this.#member(each), alternative: forms.length > 1 })),
      ),
    };
  }

  #doc(comment: TypeDoc.Comment | undefined): Doc {
    if (comment === undefined) return NO_DOC;
    const tags = (tag: `@${string}`): string[] =>
      comment.getTags(tag).map(({ content }) => this.#text(content).trim());
    const [defaultValue, destroy, importing, reading, returns] = (
      ["@defaultValue", "@destroy", "@importing", "@reading", "@returns"] as const
    ).map((tag) => tags(tag)[0]);
    return {
      text: this.#text(comment.summary).trim(),
      ...(defaultValue === undefined ? {} : { defaultValue: unfenced(defaultValue) }),
      ...(destroy === undefined ? {} : { destroy }),
      ...(importing === undefined ? {} : { importing }),
      ...(reading === undefined ? {} : { reading }),
      ...(returns === undefined ? {} : { returns }),
      examples: comment.getTags("@example").map((tag) => exampleOf(tag.name, this.#text(tag.content))),
      throws: tags("@throws"),
      // TypeDoc joins several into a list.
      see: tags("@see").flatMap((text) =>
        text.split("\n").flatMap((line) => line.replace(/^[\s-]+/, "") || []),
      ),
    };
  }

  #text(parts: readonly TypeDoc.CommentDisplayPart[]): string {
    return parts.map(({ kind, text }) => (kind === "inline-tag" ? `\`${text}\`` : text)).join("");
  }

  /** An alias that is inferred, of a schema say, is written out. */
  #expanded(reflection: TypeDoc.DeclarationReflection, kind: Item["kind"]): string {
    if (kind !== "type") return plainType(reflection.type);
    if (!/\btypeof\b/.test(reflection.type?.toString() ?? "")) return plainType(reflection.type);
    return plainType(this.#inferred(reflection.name));
  }
}

function fileOf({ sources = [] }: TypeDoc.DeclarationReflection): string {
  return relative(join(REPOSITORY, "provider"), sources[0]?.fullFileName ?? "");
}

function exampleOf(title: string | undefined, content: string): Example {
  const code = /```ts\n([^]*?)```/.exec(content)?.[1] ?? "";
  return { title: (title ?? content.split("```")[0] ?? "").trim(), code };
}

/** TypeDoc puts a default that is prose into a block. */
function unfenced(text: string): string {
  return text.replace(/^```\w*\n([^]*?)\n```$/, "$1");
}

/** The members of each object that a type writes out, be it in an array or an input: a union may have several. */
function formsOf(type: TypeDoc.SomeType | undefined): TypeDoc.DeclarationReflection[][] {
  return (
    type?.visit<TypeDoc.DeclarationReflection[][]>({
      reflection: ({ declaration: { children } }) => (children === undefined ? [] : [children]),
      reference: ({ typeArguments = [] }) => typeArguments.flatMap(formsOf),
      union: ({ types }) => types.flatMap(formsOf),
      array: ({ elementType }) => formsOf(elementType),
      typeOperator: ({ target }) => formsOf(target),
    }) ?? []
  );
}

const WRAPPERS = /\b(?:pulumi\.)?(?:Input|LiteralUnion|Readonly|OutputInstance|Output)</;

/** Leaves out what says only that an input may be an output, or may not be changed. */
function plainType(type: TypeDoc.SomeType | string | undefined): string {
  let plain = String(type ?? "")
    .replace(/readonly |\| undefined(?=[;,} ]|$)/g, "")
    .replace(/\(string & \{\}\)|string & \{\}/g, "string")
    .replace(/ \| (?:\(number & \{\}\)|number & \{\})/g, "");
  for (let start = plain.search(WRAPPERS); start >= 0; start = plain.search(WRAPPERS)) {
    const open = plain.indexOf("<", start);
    let depth = 0;
    const close = Array.from(plain).findIndex((char, i) => {
      if (i < open || (char === ">" && plain[i - 1] === "=")) return false;
      depth += char === "<" ? 1 : char === ">" ? -1 : 0;
      return depth === 0;
    });
    const inner = plain.slice(open + 1, close);
    const grouped = plain[close + 1] === "[" && inner.includes("|") ? `(${inner})` : inner;
    plain = plain.slice(0, start) + grouped + plain.slice(close + 1);
  }
  return plain.replace(/\s+/g, " ").trim();
}
