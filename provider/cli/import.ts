import { InvalidArgumentError, Option, type Command } from "commander";
import type * as Run from "../import/run";
import { PRODUCTS, type ImportOptions, type Product } from "../import/options";
import { IDENTIFIER } from "../limits";
import { UsageError } from "../terminal/errors";
import type { Io } from "../terminal/io";

/** `edgeguard import`: from what exists to a program and a state. */
export function register(program: Command, io: Io): void {
  program
    .command("import")
    .description(
      "write a program that declares what zones and an account have, and a file that brings it into a stack; only reads",
    )
    .addOption(
      new Option("--zone <id...>", "a zone: page security, managed rulesets, log-push jobs")
        .argParser(hexIds)
        .default([], "none"),
    )
    .addOption(
      new Option(
        "--account <id>",
        "an account: Workers KV namespaces, Logpush jobs, and the managed rulesets of --zone",
      ).argParser(hexId),
    )
    .addOption(
      new Option("--only <products>", `with commas between: ${PRODUCTS.join(", ")}; default: all`).argParser(
        products,
      ),
    )
    .option("--with-values", "what the namespaces hold too, in files that only you can read", false)
    .option("--out <directory>", "where to write index.ts and import.json", ".")
    .option("--force", "overwrite files that are there", false)
    .addHelpText("after", EXAMPLE)
    .action(async (options: ImportOptions) => {
      demandSense(options);
      await action().importExisting(io, options);
    });
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: --version and --help need none of it
const action = (): typeof Run => require("../import/run") as typeof Run;

const EXAMPLE = `
The generated program matches what exists: after "pulumi import", "pulumi preview" shows no changes.

Example:
  $ edgeguard import --zone 0da42c8d2132a9ddaf714f9e7c920711 --out shop
  $ cd shop && pulumi import --file import.json --yes --protect=false --generate-code=false`;

/** Which of the two a product belongs to. */
const OF_ZONES: readonly Product[] = ["page-shield", "rulesets", "logpush"];
const OF_ACCOUNTS: readonly Product[] = ["logpush", "kv"];

function demandSense({ zone, account, only, withValues }: ImportOptions): void {
  if (zone.length === 0 && account === undefined)
    throw new UsageError("what is to be imported? Give --zone <id>, --account <id>, or both.");
  const possible = [...(zone.length === 0 ? [] : OF_ZONES), ...(account === undefined ? [] : OF_ACCOUNTS)];
  const strange = only?.find((product) => !possible.includes(product));
  if (strange !== undefined)
    throw new UsageError(
      `--only ${strange} needs ${OF_ZONES.includes(strange) ? "a zone: give --zone <id>" : "an account: give --account <id>"}, or leave it out.`,
    );
  if (withValues && (account === undefined || only?.includes("kv") === false))
    throw new UsageError(
      "--with-values reads what namespaces hold: give --account <id>, with kv among --only.",
    );
}

function hexId(text: string): string {
  const id = text.toLowerCase();
  if (/^[0-9a-f]+$/.test(id) && id.length === IDENTIFIER.LENGTH_CHARACTERS) return id;
  throw new InvalidArgumentError(`An id has ${IDENTIFIER.LENGTH_CHARACTERS} hexadecimal digits.`);
}

function hexIds(text: string, before: readonly string[]): readonly string[] {
  return [...before, hexId(text)];
}

function products(text: string): readonly Product[] {
  return text.split(",").map((word) => {
    const product = PRODUCTS.find((name) => name === word.trim());
    if (product === undefined) throw new InvalidArgumentError(`There are ${PRODUCTS.join(", ")}.`);
    return product;
  });
}
