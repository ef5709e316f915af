import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as edgeguard from "pulumi-edgeguard";
import ts from "typescript";
import { dataPages } from "../../docs/generate/data-pages";
import { textOf } from "../../docs/generate/markdown";
import { FAULTS } from "../../docs/faults";
import { LIFECYCLES } from "../../docs/generate/lifecycles";
import { SEEN as KV } from "../../provider/kv/impact";
import { SEEN as LOGPUSH } from "../../provider/logpush/impact";
import { SEEN as PAGE_SHIELD } from "../../provider/page-shield/impact";
import { SEEN as RULESETS } from "../../provider/rulesets/impact";
import { examples } from "../support/docstrings";
import { DOCUMENTS, programsOf } from "../support/documents";
import { REPOSITORY } from "../support/engine";

/** The reference is complete, its examples compile, and its tables are those of the code. */

const FOLDER = join(REPOSITORY, "docs/reference");
const EXAMPLES = examples();
const PROGRAMS = DOCUMENTS.flatMap((file) =>
  programsOf(file).map(({ text }, index) => ({ file, name: `program ${index + 1}`, code: text })),
);
/** How each resource is read: the form of its ID is generated from its lifecycle. */
const READING = readdirSync(join(FOLDER, "resources")).flatMap((page) =>
  programsOf(`docs/reference/resources/${page}`)
    .filter(({ text }) => text.includes(".get("))
    .map(({ text }) => ({ file: page, name: "get", code: text })),
);
const ALL = [...EXAMPLES, ...PROGRAMS, ...READING];

// One program for all: to read the types of the package takes longer than to check the examples.
const ENTRIES = ["index", "policies", "testing"].map((name) =>
  join(REPOSITORY, `provider/dist/types/${name}.d.ts`),
);
const fileOf = (index: number): string => join(REPOSITORY, "tests/docs", `example-${index}.ts`);
const texts = new Map(ALL.map(({ code }, index) => [fileOf(index), `${code}\nexport {};\n`]));
let program: ts.Program;
beforeAll(() => {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    target: ts.ScriptTarget.ES2022,
    skipLibCheck: true,
    types: ["node"],
  };
  const host = ts.createCompilerHost(options);
  program = ts.createProgram([...ENTRIES, ...texts.keys()], options, {
    ...host,
    fileExists: (path) => texts.has(path) || host.fileExists(path),
    readFile: (path) => texts.get(path) ?? host.readFile(path),
    getSourceFile: (path, version, ...rest) => {
      const text = texts.get(path);
      return text === undefined
        ? host.getSourceFile(path, version, ...rest)
        : ts.createSourceFile(path, text, version);
    },
  });
});

test("every example has code", () => {
  expect(EXAMPLES.filter(({ code }) => code.trim() === "")).toEqual([]);
});

test("every resource's page shows the ID format for its get", () => {
  const shown = READING.map(({ code }) => [...code.matchAll(/(\w+)\.get\("[^"]+", "([^"]+)"\)/g)]);
  const forms = shown.flatMap((calls) => calls.map(([, name, form]) => `${name} ${form}`));
  const own = Object.entries(LIFECYCLES).flatMap(([name, { compositeId }]) =>
    compositeId.forms.map((form) => `${name} ${form}`),
  );
  expect(forms.sort()).toEqual(own.sort());
});

test("the README and the guides contain programs", () => {
  expect(PROGRAMS.length).toBeGreaterThanOrEqual(2);
});

test("every example in a docstring and every program in a document compiles in strict mode", () => {
  const problems = ALL.flatMap(({ file, name }, index) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(fileOf(index)))
      .map(({ messageText }) => `${file}, ${name}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`),
  );
  expect(problems).toEqual([]);
});

/** What the package exports by name, types included. */
function exported(): Map<string, ts.Symbol> {
  const checker = program.getTypeChecker();
  const all = ENTRIES.flatMap((path) => {
    const entry = program.getSourceFile(path);
    const symbol = entry === undefined ? undefined : checker.getSymbolAtLocation(entry);
    return symbol === undefined ? [] : checker.getExportsOfModule(symbol);
  });
  return new Map(
    all.map((each) => [
      each.name,
      (each.flags & ts.SymbolFlags.Alias) === 0 ? each : checker.getAliasedSymbol(each),
    ]),
  );
}

const docOf = (symbol: ts.Symbol): string =>
  ts.displayPartsToString(symbol.getDocumentationComment(program.getTypeChecker()));

test("every exported name is in the reference", () => {
  const reference = readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => readFileSync(join(FOLDER, path), "utf8"))
    .join("\n");
  const names = [...exported().keys()];
  expect(names).toEqual(expect.arrayContaining(["KvEntries", "KvEntriesArgs", "getScripts"]));
  expect(names.length).toBeGreaterThan(Object.keys(edgeguard).length);
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(reference))).toEqual([]);
});

test("the reference explains each word that a diff shows in `impact.seen`, and the output `logged`", () => {
  const functions = readFileSync(join(FOLDER, "functions/page-shield.md"), "utf8");
  const [row = ""] = /^\| `seen`, required \| `string\[\]` .*$/m.exec(functions) ?? [];
  const words = [KV, LOGPUSH, PAGE_SHIELD, RULESETS].flatMap((seen) => Object.values(seen));
  expect(words.filter((word) => !row.includes(`\`${word}\``))).toEqual([]);
  expect(readFileSync(join(FOLDER, "resources/page-shield-policy.md"), "utf8")).toMatch(
    /^\| `logged` \| .{80}/m,
  );
});

test("every exported name has a docstring, except argument interfaces", () => {
  const undocumented = [...exported()].filter(
    ([name, symbol]) =>
      !/Args$/.test(name) && (symbol.flags & ts.SymbolFlags.ValueModule) === 0 && docOf(symbol) === "",
  );
  expect(undocumented.map(([name]) => name)).toEqual([]);
});

const CHANGES = /Changing it replaces the\b|Updates in place\b|Changing it writes nothing\b/g;

test.each(Object.entries(LIFECYCLES))(
  "every argument of %s says what changing it does",
  (type, { replaceOn }) => {
    const args = exported().get(`${type}Args`);
    const members = [...(args?.members?.values() ?? [])];
    expect(members.length).toBeGreaterThan(1);
    const wrong = members.flatMap((member) => {
      const doc = docOf(member).replace(/\s+/g, " ");
      const said = doc.match(CHANGES) ?? doc.match(/Write-only\./g) ?? [];
      const isReplaced = replaceOn.includes(member.name);
      const isRight = said.length === 1 && said[0].startsWith("Changing it replaces") === isReplaced;
      return isRight ? [] : [`${member.name}: ${said.join(", ") || "says nothing"}`];
    });
    expect(wrong).toEqual([]);
  },
);

test.each(dataPages().map((page) => [page.path, page] as const))(
  "the generated page %s matches the code",
  (path, page) => {
    // To update it, run `npm run docs`.
    expect(readFileSync(join(FOLDER, path), "utf8")).toBe(textOf(page));
  },
);

test("every test that docs/faults.ts quotes exists", () => {
  const tests = FAULTS.flatMap(({ rows }) => rows.map(({ test }) => test));
  const missing = tests.filter(
    ([file, title]) => !readFileSync(join(REPOSITORY, file), "utf8").includes(title),
  );
  expect(missing).toEqual([]);
});
