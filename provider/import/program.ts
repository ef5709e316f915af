import { commented, print, usesOf } from "./code";
import type { Drafting, IdConstant } from "./draft";
import { ended, type LeftOut } from "./reading";
import type { Settled } from "./settle";

/** The program that declares what was read. */
export function programText(
  drafting: Drafting,
  settled: readonly Settled[],
  leftOut: readonly LeftOut[],
): string {
  const uses = new Set(settled.flatMap(({ args }) => [...usesOf(args)]));
  const parts = [
    HEADER,
    importsText(settled, uses),
    [configText(settled), idsText(drafting.accounts, uses), idsText(drafting.zones, uses)]
      .filter((part) => part !== "")
      .join("\n"),
    ...settled.map((one) => declarationText(drafting, one)),
    leftOut.map(({ what, reason }) => commented(`Not declared: ${what}: ${ended(reason)}`)).join("\n"),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

const HEADER = commented(
  "Written by `edgeguard import` from what exists. From now on this program decides. Review it, move it, split it up, but " +
    "keep each resource's name (its first argument), or give it an alias.",
);

const LINE = 110;

function importsText(settled: readonly Settled[], uses: ReadonlySet<string>): string {
  const classes = new Set(settled.map(({ found }) => found.resource.type));
  const functions = new Set(
    [...uses].flatMap((use) => EXPORTS.find((name) => use.split(".")[0] === name) ?? []),
  );
  const names = [...classes, ...functions].sort((a, b) => a.localeCompare(b, "en"));
  const flat = `import { ${names.join(", ")} } from "pulumi-edgeguard";`;
  const own = flat.length <= LINE ? flat : `import {\n  ${names.join(",\n  ")},\n} from "pulumi-edgeguard";`;
  const needsConfig = settled.some(({ secrets }) => secrets.length > 0);
  return [
    ...(needsConfig ? ['import * as pulumi from "@pulumi/pulumi";'] : []),
    names.length === 0 ? "export {};" : own,
  ].join("\n");
}

/** What of the package an argument may call. */
const EXPORTS = ["destination", "filter"];

function configText(settled: readonly Settled[]): string {
  const secrets = settled.flatMap((one) => one.secrets);
  if (secrets.length === 0) return "";
  const commands = secrets.map(({ key }) => `//   ${setCommand(key)}`);
  const above = commented(
    "Credentials are in the stack's configuration, encrypted. Set them before the first preview:",
  );
  return `${above}\n${commands.join("\n")}\nconst config = new pulumi.Config();\n`;
}

/** Asks for the value, so that it stands in no history of a shell. */
export function setCommand(key: string): string {
  return `pulumi config set --secret ${key}`;
}

/** `const zoneId = "…"`, or `const zones = { … }` for several. */
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

function declarationText(drafting: Drafting, { found, name, args }: Settled): string {
  const { resource, comment } = found;
  const variable = drafting.variableOf(found);
  const constant = variable === undefined ? "" : `const ${variable} = `;
  const start = `${constant}new ${resource.type}(${JSON.stringify(name)}, `;
  const above = comment === undefined ? "" : `${commented(comment)}\n`;
  return `${above}${start}${print(args, { start: start.length, end: 2 })});`;
}
