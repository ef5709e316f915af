import { InvalidArgumentError, Option, type Command } from "commander";
import type * as Run from "../import/run";
import { asksForNamespaces, PRODUCTS, type ImportOptions, type Product } from "../import/options";
import { UsageError } from "../terminal/errors";
import type { Io } from "../terminal/io";
import { hexId, wordsAmong } from "./option-values";

/** `edgeguard import`: from what exists to a program and a state. */
export function register(program: Command, io: Io): void {
  program
    .command("import")
    .description(
      "write a Pulumi program that declares what zones and an account have, and a file that imports it into a stack; only reads",
    )
    .addOption(
      new Option("--zone <id...>", "zones: Page Shield, managed rulesets, Logpush jobs")
        .argParser(hexIds)
        .default([], "none"),
    )
    .addOption(
      new Option(
        "--account <id>",
        "an account: Workers KV namespaces, Logpush jobs, and the managed rulesets of zones whose account can't be read",
      ).argParser(hexId),
    )
    .addOption(
      new Option(
        "--only <products>",
        `separated by commas: ${PRODUCTS.join(", ")}; default: all; kv without --account reads the zones' own account`,
      ).argParser(wordsAmong(PRODUCTS)),
    )
    .option(
      "--with-values",
      "also write the entries of the namespaces, to files that only you can read",
      false,
    )
    .option("--out <directory>", "where to write index.ts and import.json", ".")
    .addOption(
      new Option(
        "--project <name>",
        "start a Pulumi project of this name there; default: the one it is in, else a new one with the directory's name",
      ).argParser(projectName),
    )
    .option("--force", "overwrite existing files", false)
    .addHelpText("after", EXAMPLE)
    .action(async (options: ImportOptions) => {
      refuseContradictions(options);
      await action().importExisting(io, options);
    });
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: --version and --help need none of it
const action = (): typeof Run => require("../import/run") as typeof Run;

const EXAMPLE = `
The generated program matches what exists: after "pulumi import", "pulumi preview" shows no changes.
Parts that the plan or the token doesn't allow to read are listed and left out.

Exit codes: 0 written, 1 failed and nothing written, 2 wrong usage, 130 ended by Ctrl-C.

Example:
  $ edgeguard import --zone 0da42c8d2132a9ddaf714f9e7c920711 --out shop
  $ cd shop && pulumi import --file import.json --yes --protect=false --generate-code=false`;

/** Products of a zone, and of an account. */
const OF_ZONES: readonly Product[] = ["page-shield", "rulesets", "logpush"];
const OF_ACCOUNTS: readonly Product[] = ["logpush", "kv"];

function refuseContradictions(options: ImportOptions): void {
  const { zone, account, only, withValues } = options;
  if (zone.length === 0 && account === undefined && !asksForNamespaces(options))
    throw new UsageError("nothing to import. Pass --zone <id>, --account <id>, or both.");
  const possible = [
    ...(zone.length === 0 ? [] : OF_ZONES),
    ...(account === undefined ? [] : OF_ACCOUNTS),
    "kv", // Of --account, the environment's account, or the zones' own.
  ];
  const impossible = only?.find((product) => !possible.includes(product));
  if (impossible !== undefined)
    throw new UsageError(
      `--only ${impossible} needs a zone${OF_ACCOUNTS.includes(impossible) ? " or an account" : ""}. Pass --zone <id>.`,
    );
  if (withValues && only?.includes("kv") === false)
    throw new UsageError("--with-values writes the entries of namespaces. Add kv to --only.");
}

function hexIds(text: string, before: readonly string[]): readonly string[] {
  return [...before, hexId(text)];
}

function projectName(text: string): string {
  if (/^[\w.-]{1,100}$/.test(text)) return text;
  throw new InvalidArgumentError(
    "A project name has 1 to 100 letters, digits, dots, hyphens and underscores.",
  );
}
