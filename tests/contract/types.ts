import { join, sep } from "node:path";
import ts from "typescript";

/**
 * Reads types as lists of paths: `output_options`, `output_options.field_names`, `rules[].id` for members, and
 * `kind=edge` for a value that a member may have.
 */

/** A type: the file that declares it, relative to its folder, and its name, such as `RuleCreateParams.ExecuteRule`. */
export interface TypeRef {
  readonly file: string;
  readonly type: string;
}

export class Types {
  readonly #folder: string;
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;

  /** @param folder where the types are. Types from elsewhere, such as Promise, have no members. */
  constructor(folder: string, refs: readonly TypeRef[]) {
    this.#folder = folder + sep;
    this.#program = ts.createProgram([...new Set(refs.map(({ file }) => join(folder, file)))], {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: [],
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
    });
    this.#checker = this.#program.getTypeChecker();
  }

  /** @throws Error if the type doesn't exist, so that a renamed one doesn't compare as empty. */
  pathsOf({ file, type }: TypeRef): ReadonlySet<string> {
    const source = this.#program.getSourceFile(join(this.#folder, file));
    let symbol = source && this.#checker.getSymbolAtLocation(source);
    for (const name of type.split("."))
      symbol = symbol && this.#checker.getExportsOfModule(symbol).find((each) => each.name === name);
    if (symbol === undefined) throw new Error(`${file} has no type ${type}`);
    const paths = new Set<string>();
    this.#add(paths, this.#checker.getDeclaredTypeOfSymbol(symbol), "", []);
    return paths;
  }

  #add(paths: Set<string>, type: ts.Type, at: string, inside: readonly ts.Type[]): void {
    if (type.isUnion()) for (const each of type.types) this.#add(paths, each, at, inside);
    else if (type.isStringLiteral()) paths.add(`${at}=${type.value}`);
    else if (this.#checker.isArrayType(type)) {
      for (const item of this.#checker.getTypeArguments(type as ts.TypeReference))
        this.#add(paths, item, `${at}[]`, inside);
    } else if (this.#isRecord(type) && !inside.includes(type)) {
      for (const member of this.#checker.getPropertiesOfType(type)) {
        if (isParameter(member, this.#checker)) continue;
        const path = at === "" ? member.name : `${at}.${member.name}`;
        paths.add(path);
        this.#add(paths, this.#checker.getTypeOfSymbol(member), path, [...inside, type]);
      }
    }
  }

  #isRecord(type: ts.Type): boolean {
    if ((type.flags & ts.TypeFlags.Object) === 0 || type.getStringIndexType() !== undefined) return false;
    const from = type.symbol.declarations?.[0]?.getSourceFile().fileName;
    return from?.startsWith(this.#folder.replaceAll(sep, "/")) === true;
  }
}

/** Whether the SDK says that a member is part of the URL, not of the body. */
function isParameter(member: ts.Symbol, checker: ts.TypeChecker): boolean {
  const text = ts.displayPartsToString(member.getDocumentationComment(checker));
  return /^(Path|Query) param\b/.test(text) || member.name === "account_id" || member.name === "zone_id";
}

/** Returns the paths of the members of a JSON value. */
export function pathsInJson(value: unknown, at = ""): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => pathsInJson(item, `${at}[]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const path = at === "" ? name : `${at}.${name}`;
    return [path, ...pathsInJson(member, path)];
  });
}
