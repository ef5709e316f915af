import { Option, type Command } from "commander";
import type { Io } from "../terminal/io";
import { wholeNumber, zoneGiven } from "./option-values";
import type * as Propose from "./rollout/propose";

/** Registers `edgeguard rollout`, which finds out which managed rules on log can block. */
export function register(program: Command, io: Io): void {
  program
    .command("rollout")
    .description(
      "find out from a zone's firewall events which managed rules on log can block, and propose exceptions for the others; only reads from the API",
    )
    .addOption(
      new Option("--zone <zone>", "the zone's ID or name").argParser(zoneGiven).makeOptionMandatory(),
    )
    .option("--days <days>", "how many whole days of events a rule needs, 1 to 28", wholeNumber(1, 28), 7)
    .addHelpText("after", HELP)
    .action((options: Propose.RolloutOptions) => propose().proposeRollout(io, options));
}

const HELP = `
A rule can block if it had no event, or only events from addresses that other rules blocked. For each other rule, the output lists the requests, with an exception that matches these requests only. Paths appear here and nowhere else, so keep the output to people who may see them.

Whatever the events can't tell is "not known": if the zone, its managed rules or the managed ruleset changed in these days, or if Cloudflare returns only a sample. If the zone is paused, the command fails.

The token needs Analytics Read, Zone WAF Read and Zone Read for the zone, and Account Rulesets Read for the account.

Exit codes: 0 printed, 1 failed, or the events can't be read; 2 usage error, 130 interrupted (Ctrl-C).

Example:
  $ edgeguard rollout --zone shop.example --days 14`;

// eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use: --version and --help need none of it
const propose = (): typeof Propose => require("./rollout/propose") as typeof Propose;
