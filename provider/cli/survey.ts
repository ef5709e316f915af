import { existsSync } from "node:fs";
import { join } from "node:path";
import { Option, type Command } from "commander";
import type { Io } from "../terminal/io";
import type * as Compare from "../survey/compare";
import type { SurveyOptions } from "../survey/options";
import type * as Run from "../survey/run";
import { hexId, INVENTORY_FILE, wholeNumber } from "./option-values";

/** Registers `edgeguard survey`, which shows on one page how every zone is configured. */
export function register(program: Command, io: Io): void {
  const survey = program
    .command("survey")
    .description(
      "write a survey of all zones: Page Shield, scripts, managed rulesets, migration, Logpush jobs, and what to do first; only reads from the API",
    )
    .addOption(
      new Option(
        "--account <id>",
        "the account whose zones to survey; default: all zones that the token can see",
      ).argParser(hexId),
    )
    .option("--zones <file>", "survey only these zones: a file with one ID or name per line")
    .addOption(
      new Option(
        "--stack <path...>",
        "mark what Pulumi manages: project directories (their selected stack is exported), or files that `pulumi stack export` wrote",
      ).default([], "none"),
    )
    .addOption(
      new Option(
        "--payment-pages <pattern...>",
        "list the zones with these pages first: a host (checkout.*) or a host and path (shop.example/payment*)",
      ).default([], "none"),
    )
    .option(
      "--inventory <file>",
      `a script inventory, to count unapproved scripts; without --payment-pages, zones that load its scripts come first; default: ${INVENTORY_FILE}, if it exists`,
    )
    .addOption(
      new Option(
        "--budget <percent>",
        "the percentage of Cloudflare's rate limit (1,200 requests per 5 minutes) to use",
      )
        .argParser(wholeNumber(1, 100))
        .default(75),
    )
    .option("--out <directory>", `where to write ${FILES}`, "survey")
    .option("--resume", "resume a survey that stopped early", false)
    .option("--force", "overwrite existing files", false)
    .addHelpText("after", HELP)
    .action((options: SurveyOptions) => run().survey(io, { ...defaultInventory(io), ...options }));
  survey
    .command("diff <old> <new>")
    .description(
      "compare two surveys: what got better, what got worse, and what else changed; sends no requests",
    )
    .addHelpText("after", DIFF_HELP)
    .action((before: string, after: string) => compare().compareSurveys(io, before, after));
}

const FILES = "survey.json, survey.csv and survey.html";

const HELP = `
What the token can't read appears as "not readable", with the missing permission. To read everything, the token needs Zone Read,
Page Shield Read, Zone WAF Read, Firewall Services Read and Logs Write for the zones, and Account Rulesets Read, Logs Write and
Workers KV Storage Read for the account.

The files show where protection is missing, so they're created readable only by you. After Ctrl-C, a dropped connection or a
rate limit, --resume picks up where the survey stopped.

Exit codes: 0 written, 1 failed or stopped early, 2 usage error, 130 interrupted (Ctrl-C).

Examples:
  $ edgeguard survey --out survey
  $ edgeguard survey --account 5a0c1e7f3b2d4968a7e1c0f2d3b4a5f1 --payment-pages 'checkout.*' --stack infra --out survey
  $ edgeguard survey diff 2026-10/survey.json 2026-11/survey.json`;

const DIFF_HELP = `
Exit codes: 0 compared, 1 failed, 2 usage error.

Example:
  $ edgeguard survey diff 2026-10/survey.json 2026-11/survey.json`;

function defaultInventory(io: Io): Pick<SurveyOptions, "inventory"> {
  return existsSync(join(io.cwd, INVENTORY_FILE)) ? { inventory: INVENTORY_FILE } : {};
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: --version and --help need none of it
const run = (): typeof Run => require("../survey/run") as typeof Run;
// eslint-disable-next-line @typescript-eslint/no-require-imports -- as above
const compare = (): typeof Compare => require("../survey/compare") as typeof Compare;
