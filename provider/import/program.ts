import { commented, print, usesOf } from "./code";
import type { Drafter, IdConstant } from "./draft";
import { asSentence, type LeftOut } from "./inventory";
import type { Verified } from "./verify";

export function programText(
  drafting: Drafter,
  verified: readonly Verified[],
  leftOut: readonly LeftOut[],
): string {
  const uses = new Set(verified.flatMap(({ args }) => [...usesOf(args)]));
  const parts = [
    HEADER,
    importsText(verified, uses),
    [configText(verified), idsText(drafting.accounts, uses), idsText(drafting.zones, uses)]
      .filter((part) => part !== "")
      .join("\n"),
    ...verified.map((one) => declarationText(drafting, one)),
    leftOut.map(({ what, reason }) => commented(`Not declared: ${what}: ${asSentence(reason)}`)).join("\n"),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

const HEADER = commented(
  "Written by `edgeguard import`. From now on, this program is the source of truth. Edit, move and split it as you like, but " +
    "keep each resource's name (its first argument) or add an alias.",
);

const LINE_WIDTH = 110;

function importsText(verified: readonly Verified[], uses: ReadonlySet<string>): string {
  const classes = new Set(verified.map(({ found }) => found.resource.type));
  const functions = new Set(
    [...uses].flatMap((use) => EXPORTS.find((name) => use.split(".")[0] === name) ?? []),
  );
  const names = [...classes, ...functions].sort((a, b) => a.localeCompare(b, "en"));
  const flat = `import { ${names.join(", ")} } from "pulumi-edgeguard";`;
  const own =
    flat.length <= LINE_WIDTH ? flat : `import {\n  ${names.join(",\n  ")},\n} from "pulumi-edgeguard";`;
  const needsConfig = verified.some(({ secrets }) => secrets.length > 0);
  return [
    ...(needsConfig ? ['import * as pulumi from "@pulumi/pulumi";'] : []),
    names.length === 0 ? "export {};" : own,
  ].join("\n");
}

/** The functions from this package that arguments may call. */
const EXPORTS = ["destination", "filter"];

function configText(verified: readonly Verified[]): string {
  const secrets = verified.flatMap((one) => one.secrets);
  if (secrets.length === 0) return "";
  const commands = secrets.map(({ key }) => `//   ${setCommand(key)}`);
  const above = commented(
    "Credentials come from the stack's encrypted configuration. Set them before the first preview:",
  );
  return `${above}\n${commands.join("\n")}\nconst config = new pulumi.Config();\n`;
}

/** Returns a command that sets a secret. It prompts for the value, to keep that out of the shell's history. */
export function setCommand(key: string): string {
  return `pulumi config set --secret ${key}`;
}

/** Returns the declarations of the IDs: `const zoneId = "…"`, or `const zones = { … }` for several zones. */
function idsText(constants: readonly IdConstant[], uses: ReadonlySet<string>): string {
  const used = constants.filter(({ text }) => uses.has(text));
  const behind = (comment: string | undefined): string =>
    comment === undefined ? "" : ` ${commented(comment).replace(/\n\/\/ ?/g, " ")}`;
  const [first] = used;
  if (first === undefined) return "";
  const [variable = "", member] = first.text.split(".");
  if (member === undefined) return `const ${variable} = ${JSON.stringify(first.id)};${behind(first.comment)}`;
  const lines = used.map(
    ({ text, id, comment }) => `  ${text.split(".")[1] ?? ""}: ${JSON.stringify(id)},${behind(comment)}`,
  );
  return `const ${variable} = {\n${lines.join("\n")}\n};`;
}

function declarationText(drafting: Drafter, { found, name, args }: Verified): string {
  const { resource, comment } = found;
  const variable = drafting.variableOf(found);
  const constant = variable === undefined ? "" : `const ${variable} = `;
  const start = `${constant}new ${resource.type}(${JSON.stringify(name)}, `;
  const above = comment === undefined ? "" : `${commented(comment)}\n`;
  return `${above}${start}${print(args, { start: start.length, end: 2 })});`;
}
