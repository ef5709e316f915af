import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { folderPerFile } from "../support/bench";
import { REPOSITORY } from "../support/repository";
import { declarations, type Declaration } from "./declarations";

/** What a program reads of the package: its declarations, as they are published. */

const SDK = "@pulumi/pulumi";
/** A project that never got a newer one, and that checks libraries, too. */
const CLASSIC: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES5,
  lib: ["lib.es2020.d.ts"],
  module: ts.ModuleKind.CommonJS,
  moduleResolution: ts.ModuleResolutionKind.Node10,
  strict: true,
  types: ["node"],
  noEmit: true,
  ignoreDeprecations: "5.0",
};

const HOME = folderPerFile("surface");
let published: readonly Declaration[];
let program: ts.Program;
let programOfSdk: ts.Program;
let programOfAll: ts.Program;

beforeAll(() => {
  published = declarations();
  symlinkSync(join(REPOSITORY, "node_modules"), join(HOME, "node_modules"));
  const host = withOneParse(ts.createCompilerHost(CLASSIC));
  const importing = (file: string, ...names: string[]): ts.Program => {
    const path = join(HOME, file);
    writeFileSync(path, names.map((name, n) => `export * as module${n} from "${name}";\n`).join(""));
    return ts.createProgram([path], CLASSIC, host);
  };
  programOfSdk = importing("sdk.ts", SDK);
  program = importing("program.ts", "pulumi-edgeguard");
  programOfAll = importing("all.ts", ...published.flatMap(({ entryPoint }) => toImport(entryPoint)));
});

it("the declarations import only the Pulumi SDK and each other; those of the policies also import @pulumi/policy", () => {
  for (const { entryPoint, text } of published) {
    const { importedFiles, typeReferenceDirectives } = ts.preProcessFile(text);
    const others = importedFiles.map(({ fileName }) => fileName).filter((name) => !name.startsWith("./"));
    const allowed = entryPoint === "pulumi-edgeguard/policies" ? [SDK, "@pulumi/policy"] : [SDK];
    expect(allowed).toEqual(expect.arrayContaining([...new Set(others)]));
    expect(typeReferenceDirectives).toEqual([]);
  }
});

it("the declarations compile in a project with CommonJS, node10 module resolution and skipLibCheck off", () => {
  const own = programOfAll.getSourceFiles().filter(({ fileName }) => isOwn(fileName));
  expect(own.length).toBeGreaterThan(3);
  const problems = [
    ...programOfAll.getOptionsDiagnostics(),
    ...programOfAll.getGlobalDiagnostics(),
    ...own.flatMap((file) => [
      ...programOfAll.getSyntacticDiagnostics(file),
      ...programOfAll.getSemanticDiagnostics(file),
    ]),
  ];
  expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))).toEqual([]);
});

it("for the package, the compiler reads only a few more files than for the SDK alone", () => {
  const [ours, theirs] = [program, programOfSdk].map((each) => each.getSourceFiles().length);
  expect(theirs).toBeGreaterThan(100);
  expect((ours ?? Infinity) / (theirs ?? 0)).toBeLessThan(1.1);
});

it("every argument, output and function has editor docs, even in a namespace", () => {
  const checker = program.getTypeChecker();
  const entry = program.getSourceFile(published[0]?.path ?? "");
  const surface = entry === undefined ? undefined : checker.getSymbolAtLocation(entry);
  if (surface === undefined) throw new Error("the program has no module pulumi-edgeguard");
  const undocumented: string[] = [];
  const visit = (name: string, found: ts.Symbol): void => {
    const symbol = found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found;
    if (symbol.flags & ts.SymbolFlags.Namespace && !(symbol.flags & ts.SymbolFlags.Class)) {
      for (const each of checker.getExportsOfModule(symbol)) visit(`${name}.${each.name}`, each);
      return;
    }
    const isClass = (symbol.flags & ts.SymbolFlags.Class) !== 0;
    const members =
      isClass || name.endsWith("Args")
        ? checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).filter(isDeclaredHere)
        : [];
    const values = symbol.flags & ts.SymbolFlags.Value ? [symbol] : [];
    for (const each of [...values, ...members])
      if (each.getDocumentationComment(checker).length === 0 && !/Error\.name$/.test(`${name}.${each.name}`))
        undocumented.push(each === symbol ? name : `${name}.${each.name}`);
  };
  for (const each of checker.getExportsOfModule(surface)) visit(each.name, each);
  expect(undocumented).toEqual([]);
});

it("output types keep literal types and undefined", () => {
  const checker = program.getTypeChecker();
  const typeOf = (name: string, member: string): string => {
    const entry = program.getSourceFile(published[0]?.path ?? "");
    const module = entry === undefined ? undefined : checker.getSymbolAtLocation(entry);
    const found = module && checker.tryGetMemberInModuleExports(name, module);
    const property = found && checker.getDeclaredTypeOfSymbol(found).getProperty(member);
    return property === undefined ? "" : checker.typeToString(checker.getTypeOfSymbol(property));
  };
  expect(typeOf("KvNamespace", "title")).toBe("Output<string>");
  expect(typeOf("KvNamespace", "adopt")).toBe("Output<Adopt | undefined>");
  // The compiler prints a union in the order in which it met the members.
  expect(typeOf("PageShieldPolicy", "action").match(/\w+/g)?.sort()).toEqual([
    "Output",
    "add_reporting_directives",
    "allow",
    "log",
  ]);
  expect(typeOf("LogpushJob", "outputOptions")).toBe("Output<OutputOptions | undefined>");
  expect(typeOf("LogpushJobArgs", "frequency")).toBe('Input<LiteralUnion<"high" | "low">> | undefined');
});

/** `pulumi-edgeguard/runtime` is for state files, and none that a program imports. */
function toImport(entryPoint: string | undefined): string[] {
  return entryPoint === undefined || entryPoint.endsWith("/runtime") ? [] : [entryPoint];
}

/** The programs read the same SDK: it's parsed once. */
function withOneParse(host: ts.CompilerHost): ts.CompilerHost {
  const parsed = new Map<string, ts.SourceFile | undefined>();
  return {
    ...host,
    getSourceFile: (path, ...rest) => {
      if (!parsed.has(path)) parsed.set(path, host.getSourceFile(path, ...rest));
      return parsed.get(path);
    },
  };
}

function isOwn(path: string): boolean {
  return path.startsWith(HOME) || published.some((each) => each.path === path);
}

function isDeclaredHere(member: ts.Symbol): boolean {
  return (member.declarations ?? []).some((each) => isOwn(each.getSourceFile().fileName));
}
