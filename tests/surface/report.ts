import { format, resolveConfig } from "prettier";
import ts from "typescript";
import { join } from "node:path";
import { REPOSITORY } from "../support/repository";
import { declarations, type Declaration } from "./declarations";

/** The public surface as a document: every declaration that is published, without its docs, by name. */

export const REPORT = join(REPOSITORY, "provider/api-report.md");

const INTRODUCTION = `# Public surface

Every type that a program can see, without its docs. \`npm run api\` writes this file, and \`npm run check\` compares it: a change
of the surface is a change of this file.
`;

export async function apiReport(): Promise<string> {
  const all = declarations();
  const shared = all.filter(({ entryPoint }) => entryPoint === undefined);
  const sections = all.flatMap((each) => {
    if (each.entryPoint === undefined) return [];
    // What several entry points share is listed once: most of it belongs to the package's own.
    const surface = surfaceOf(each, each.entryPoint === "pulumi-edgeguard" ? shared : []);
    return [`## ${each.entryPoint}\n\n\`\`\`ts\n${surface}\`\`\`\n`];
  });
  const options = await resolveConfig(REPORT);
  return await format([INTRODUCTION, ...sections].join("\n"), { ...options, filepath: REPORT });
}

function surfaceOf(entry: Declaration, shared: readonly Declaration[]): string {
  const [file, ...others] = [entry, ...shared].map(({ path, text }) =>
    ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true),
  );
  if (file === undefined) return "";
  const exported = new Map(file.statements.filter(ts.isExportDeclaration).flatMap(namesIn));
  const printer = ts.createPrinter({ removeComments: true });
  return [file, ...others]
    .flatMap(({ statements }) => statements)
    .flatMap((statement) => {
      const name = nameOf(statement);
      return name === undefined ? [] : [{ name, statement }];
    })
    .sort((a, b) => compare(a.name, b.name))
    .map(({ name, statement }) => {
      const { transformed } = ts.transform(statement, [inOneOrder]);
      const [node = statement] = transformed;
      const printed = printer.printNode(ts.EmitHint.Unspecified, node, statement.getSourceFile());
      const as = exported.get(name);
      if (as === undefined) return `${printed}\n\n`;
      return as === name ? `export ${printed}\n\n` : `${printed}\nexport { ${name} as ${as} };\n\n`;
    })
    .join("");
}

function namesIn({ exportClause }: ts.ExportDeclaration): [string, string][] {
  if (exportClause === undefined || !ts.isNamedExports(exportClause)) return [];
  return exportClause.elements.map(({ name, propertyName = name }) => [propertyName.text, name.text]);
}

/** Undefined for an import or a list of exports. */
function nameOf(statement: ts.Statement): string | undefined {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations[0]?.name.getText();
  const isNamed =
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isFunctionDeclaration(statement) ||
    ts.isModuleDeclaration(statement);
  return isNamed ? statement.name?.getText() : undefined;
}

/** The compiler writes an inferred union in the order in which it met the members elsewhere. */
const inOneOrder: ts.TransformerFactory<ts.Statement> = (context) => (statement) => {
  const printer = ts.createPrinter({ removeComments: true });
  const textOf = (node: ts.Node): string =>
    printer.printNode(ts.EmitHint.Unspecified, node, statement.getSourceFile());
  const visit = (node: ts.Node): ts.Node => {
    const visited = ts.visitEachChild(node, visit, context);
    if (!ts.isUnionTypeNode(visited)) return visited;
    const sorted = [...visited.types].sort((a, b) => compare(textOf(a), textOf(b)));
    return context.factory.updateUnionTypeNode(visited, context.factory.createNodeArray(sorted));
  };
  return ts.visitNode(statement, visit, ts.isStatement);
};

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
