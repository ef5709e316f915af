import { Option, type Command } from "commander";
import type { Io } from "../terminal/io";
import type * as Check from "./inventory/check";
import type * as Propose from "./inventory/propose";
import { hexId, INVENTORY_FILE, wholeNumber } from "./option-values";

const FORMATS = ["text", "markdown", "json", "csv"] as const;

/** Registers `edgeguard inventory`, which compares the scripts that pages load with a reviewed list. */
export function register(program: Command, io: Io): void {
  const inventory = program
    .command("inventory")
    .description("keep a reviewed list of the scripts that your pages may load");

  inventory
    .command("check")
    .description(
      "compare the inventory with the active and infrequent scripts that Page Shield has seen; only reads from the API",
    )
    .addOption(zones())
    .option("--file <file>", "the inventory, YAML or JSON", INVENTORY_FILE)
    .option("--hosts <hosts>", "only scripts on these hosts, comma-separated; default: all")
    .addOption(new Option("--format <format>", "what to print").choices(FORMATS).default("text"))
    .option(
      "--evidence <directory>",
      "also write dated evidence files to this directory: Markdown, JSON and CSV",
    )
    .addOption(
      new Option(
        "--expiring-days <days>",
        "report approvals that end in fewer days than this; 0 turns this off",
      )
        .argParser(wholeNumber(0, 3_650))
        .default(14),
    )
    .addOption(threshold())
    .addHelpText("after", CHECK_HELP)
    .action((options: Check.CheckOptions) => check().checkInventory(io, options));

  inventory
    .command("propose")
    .description(
      "add the scripts that the inventory doesn't cover, as unapproved entries; creates the file if needed, and never changes existing entries",
    )
    .addOption(zones())
    .option("--file <file>", "the inventory, YAML or JSON", INVENTORY_FILE)
    .option("--hosts <hosts>", "only scripts on these hosts, comma-separated; default: all")
    .option("--owner <owner>", "the person or team responsible for the new scripts")
    .option("--justification <text>", "why the pages need the new scripts")
    .option(
      "--pin-hashes",
      "also fill in the hash of a script whose URL names no version, although its vendor may change it at any time",
      false,
    )
    .addOption(threshold())
    .addHelpText("after", PROPOSE_HELP)
    .action((options: Propose.ProposeOptions) => propose().proposeEntries(io, options));
}

const zones = (): Option =>
  new Option("--zone <ids>", "the zone; separate several with commas, or repeat the option")
    .argParser((text, before: readonly string[] | undefined) => [
      ...(before ?? []),
      ...text.split(",").map((id) => hexId(id.trim())),
    ])
    .makeOptionMandatory();

const threshold = (): Option =>
  new Option(
    "--threshold <score>",
    "scores below this are findings: malicious below 10, otherwise suspicious",
  )
    .argParser(wholeNumber(1, 100))
    .default(50);

const CHECK_HELP = `
Findings fail the check. A script is a finding if it's new, if it's malicious or suspicious (approved or not, unless its entry says falsePositive), if its entry isn't approved, if its approval has ended or soon will, or if its content doesn't match the expected hash. A zone is a finding if it can't be read, if Page Shield is off, or if Page Shield has seen nothing on its pages, ever or for more than seven days. Notices don't fail the check: an approved script that wasn't seen, or that has no justification or owner.

For each element of PCI DSS 4.0.1, requirements 6.4.3 and 11.6.1, the evidence says whether this check supports it fully, partly or not at all.

Exit codes: 0 no findings; 1 findings (also printed), or the check failed; 2 usage error; 130 interrupted (Ctrl-C).

Example:
  $ edgeguard inventory check --zone 0da42c8d2132a9ddaf714f9e7c920711 --hosts checkout.shop.example --evidence evidence`;

const PROPOSE_HELP = `
To approve an entry, fill in its "approval" line with who approved it and when, and have that change reviewed. Malicious and
suspicious scripts aren't proposed.

Exit codes: 0 added, or nothing to add; 1 failed, the file is unchanged; 2 usage error; 130 interrupted (Ctrl-C).

Examples:
  $ edgeguard inventory propose --zone 0da42c8d2132a9ddaf714f9e7c920711 --owner "Web team"
  $ git diff ${INVENTORY_FILE}`;

// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: --version and --help need none of it
const check = (): typeof Check => require("./inventory/check") as typeof Check;
// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: --version and --help need none of it
const propose = (): typeof Propose => require("./inventory/propose") as typeof Propose;
