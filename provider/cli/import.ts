import { InvalidArgumentError, Option, type Command } from "commander";
import type * as Run from "../import/run";
import { asksForNamespaces, PRODUCTS, type ImportOptions, type Product } from "../import/options";
import { CLASSES, LANGUAGES, SURFACES } from "../import/target";
import { UsageError } from "../terminal/errors";
import type { Io } from "../terminal/io";
import { hexId, wordsAmong, zoneGiven } from "./option-values";

/** Registers `edgeguard import`, which writes a program and an import file for existing objects. */
export function register(program: Command, io: Io): void {
  program
    .command("import")
    .description(
      "write a Pulumi program for the existing objects in zones and an account, and a file that imports them into a stack; only reads from the API",
    )
    .addOption(
      new Option(
        "--zone <zone...>",
        "IDs or names of the zones to import Page Shield, managed rulesets and Logpush jobs from",
      )
        .argParser((text, before: readonly string[]) => [...before, zoneGiven(text)])
        .default([], "none"),
    )
    .addOption(
      new Option(
        "--account <id>",
        "account to import Workers KV namespaces, Logpush jobs and managed rulesets from; also used for managed rulesets of zones whose account can't be read",
      ).argParser(hexId),
    )
    .addOption(
      new Option(
        "--only <products>",
        `comma-separated: ${PRODUCTS.join(", ")}; default: all. Without --account, KV namespaces come from the account that owns the zones`,
      ).argParser(wordsAmong("a product", PRODUCTS)),
    )
    .option(
      "--from <state>",
      "import what a Terraform or Pulumi stack manages: a terraform.tfstate, or what `terraform show -json`, `tofu show -json` or `pulumi stack export` prints; - reads standard input",
    )
    .option("--with-values", "also write the namespaces' entries, to files that only you can read", false)
    .addOption(
      new Option(
        "--for <surface>",
        "what the program uses: dynamic (the classes of pulumi-edgeguard) or plugin (the provider plugin)",
      )
        .choices(SURFACES)
        .default("dynamic"),
    )
    .addOption(
      new Option(
        "--language <language>",
        "the program's language; YAML needs --for plugin; default: the language of the project in the --out directory, else typescript",
      ).choices(LANGUAGES),
    )
    .option("--out <directory>", "where to write the program (index.ts or Main.yaml) and import.json", ".")
    .addOption(
      new Option(
        "--project <name>",
        "create a Pulumi project with this name in the --out directory; default: the enclosing project, else a new one named after the directory",
      ).argParser(projectName),
    )
    .option("--force", "overwrite existing files", false)
    .addHelpText("after", EXAMPLE)
    .action(async (options: ImportOptions) => {
      refuseContradictions(options);
      await run().importExisting(io, options);
    });
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: --version and --help need none of it
const run = (): typeof Run => require("../import/run") as typeof Run;

const EXAMPLE = `
The generated program matches what exists: after \`pulumi import\`, \`pulumi preview\` shows no changes.
Anything your Cloudflare plan doesn't include or your token can't read is skipped and listed.

Exit codes: 0 written, 1 failed and nothing written, 2 usage error, 130 interrupted (Ctrl-C).

Examples:
  $ edgeguard import --zone 0da42c8d2132a9ddaf714f9e7c920711 --out shop
  $ cd shop && pulumi import --file import.json --yes --protect=false --generate-code=false
  $ terraform show -json | edgeguard import --from - --out shop`;

const OF_ZONES: readonly Product[] = ["page-shield", "rulesets", "logpush"];
const OF_ACCOUNTS: readonly Product[] = ["rulesets", "logpush", "kv"];

function refuseContradictions(options: ImportOptions): void {
  const { zone, account, only, withValues, from } = options;
  if (from !== undefined) {
    if (zone.length > 0 || only !== undefined)
      throw new UsageError("--from says what to import. Leave out --zone and --only.");
    return;
  }
  if (zone.length === 0 && account === undefined && !asksForNamespaces(options))
    throw new UsageError(
      "nothing to import. Pass --zone <zone>, --account <id>, or both; or --from <state>.",
    );
  const possible = [
    ...(zone.length === 0 ? [] : OF_ZONES),
    ...(account === undefined ? [] : OF_ACCOUNTS),
    "kv", // From --account, the environment, or the zones' own account.
  ];
  const impossible = only?.find((product) => !possible.includes(product));
  if (impossible !== undefined)
    throw new UsageError(
      `--only ${impossible} needs a zone${OF_ACCOUNTS.includes(impossible) ? " or an account" : ""}. Pass --zone <zone>.`,
    );
  if (options.language === "yaml" && options.for === "dynamic")
    throw new UsageError(`--language yaml: ${CLASSES} Pass --for plugin.`);
  if (withValues && only?.includes("kv") === false)
    throw new UsageError(
      "--with-values writes the entries of Workers KV namespaces, but --only leaves those out. Add kv to --only.",
    );
}

function projectName(text: string): string {
  if (/^[\w.-]{1,100}$/.test(text)) return text;
  throw new InvalidArgumentError("Use 1 to 100 letters, digits, dots, hyphens and underscores.");
}
