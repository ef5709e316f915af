import { JS_NAME, keyText } from "../../basics/code";
import type { Code } from "../code";
import type { IdConstant } from "../draft";
import { promptFor, type Declaration, type Program } from "../program";
import { PACKAGES } from "../target";
import { commented, CREDENTIALS, header } from "./comments";

/** Prints a program in TypeScript: one item a line. Prettier formats it where it's installed. */
export function typescriptProgram(program: Program): string {
  const parts = [
    commented("// ", ...header("its first argument")),
    importsText(program),
    [configText(program), ...program.ids.map(idsText)].filter((part) => part !== "").join("\n"),
    ...program.resources.map(declarationText),
    commented("// ", ...program.leftOut),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function importsText({ surface, resources, uses, secrets }: Program): string {
  const classes = new Set(resources.map(({ type }) => type));
  // The only function that arguments call.
  const functions = [...uses].some((use) => use.startsWith("destination.")) ? ["destination"] : [];
  const names = [...classes, ...functions].sort((a, b) => a.localeCompare(b, "en"));
  return [
    ...(secrets.length > 0 ? ['import * as pulumi from "@pulumi/pulumi";'] : []),
    names.length === 0
      ? "export {};"
      : `import { ${names.join(", ")} } from ${JSON.stringify(PACKAGES[surface])};`,
  ].join("\n");
}

function configText({ secrets }: Program): string {
  if (secrets.length === 0) return "";
  const commands = secrets.map((secret) => `//   ${promptFor(secret)}`);
  return `${commented("// ", CREDENTIALS)}\n${commands.join("\n")}\nconst config = new pulumi.Config();\n`;
}

/** Returns the declarations of the IDs: `const zoneId = "…"`, or `const zones = { … }` for several zones. */
function idsText(used: readonly IdConstant[]): string {
  const behind = (comment: string | undefined): string =>
    comment === undefined ? "" : commented(" // ", comment);
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
  const above = comment === undefined ? "" : `${commented("// ", comment)}\n`;
  return `${above}${constant}new ${type}(${JSON.stringify(name)}, ${print(args)});`;
}

/** Prints an expression. @param indent the spaces before its last line. */
export function print({ form }: Code, indent = ""): string {
  const inner = `${indent}  `;
  const block = (open: string, items: readonly string[], close: string): string =>
    items.length === 0 ? open + close : `${open}\n${items.join(",\n")},\n${indent}${close}`;
  const above = (comment: string | undefined): string =>
    comment === undefined ? "" : `${commented(`${inner}// `, comment)}\n`;
  switch (form.kind) {
    case "data":
      return JSON.stringify(form.data);
    case "reference":
      return form.to;
    case "secret":
      return `config.requireSecret(${JSON.stringify(form.key)})`;
    case "call":
      return `${form.callee}(${form.args.map((each) => print(each, indent)).join(", ")})`;
    case "json":
      return `JSON.stringify(${print(form.document, indent)})`;
    case "list": {
      const items = form.items.map(({ code, comment }) => above(comment) + inner + print(code, inner));
      return block("[", items, "]");
    }
    case "object": {
      const isShort = (name: string, { form: value }: Code): boolean =>
        value.kind === "reference" && value.to === name && JS_NAME.test(name); // `zoneId: zoneId`
      const items = form.members.map(({ name, code, comment }) => {
        const key = isShort(name, code) ? "" : `${keyText(name)}: `;
        return above(comment) + inner + key + print(code, inner);
      });
      return block("{", items, "}");
    }
  }
}
