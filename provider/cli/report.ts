import { escapeInvisible } from "../basics/printable";
import { text as textOf } from "node:stream/consumers";
import { Argument, InvalidArgumentError, Option, type Command } from "commander";
import type * as Reports from "../report/index";
import { CommandError, DriftError, UsageError } from "../terminal/errors";
import { readText } from "../terminal/files";
import { applying } from "../basics/words";
import { print, type Io } from "../terminal/io";
import { wholeNumber, wordsAmong } from "./option-values";

const FORMATS = ["markdown", "text", "json"] as const satisfies readonly Reports.Format[];

/** The kinds of dangers, with the explanations shown in the help. */
const DANGERS: Readonly<Record<Reports.DangerKind, string>> = {
  irreversible:
    "can't be undone: a WAF migration step, or the loss of a namespace or of pruned or overwritten keys",
  unprotect:
    "the zone may block or log less, because a rule, ruleset, source, exception, filter, Logpush job or an explicit provider's base URL changes",
  blocks: "an allow policy would newly block what the zone's pages load, or nobody knows",
  traffic:
    "a change of managed rules would have stopped events of the last hours that passed: more than traffic=<n>, by default any",
  removes:
    "a KvEntries deletes or empties many of the keys it wrote (see --removed-keys and --removed-share)",
  unseen: "the preview couldn't look at what the update may delete, overwrite, block or turn off",
  replace: "a resource from any provider is replaced",
  delete: "a resource from any provider is deleted",
};
const KINDS = Object.keys(DANGERS) as Reports.DangerKind[]; // Object.keys returns the type string[].

/** Registers `edgeguard report`, which explains a plan to the person who approves it. */
export function register(program: Command, io: Io): void {
  program
    .command("report")
    .description("turn the plan of `pulumi preview --json --show-sames` into a pull request comment")
    .addArgument(
      new Argument(
        "[files...]",
        "a plan, or one per stack to combine into a single report; - reads standard input",
      ).default(["-"], "-"),
    )
    .addOption(new Option("--format <format>", "format of the report").choices(FORMATS).default("markdown"))
    .addOption(
      new Option(
        "--fail-on <kinds>",
        "exit with 1 if the plan has dangers of these kinds (comma-separated); repeatable",
      )
        .argParser(failOn)
        .default({ kinds: [] }, "nothing"),
    )
    .addOption(
      new Option(
        "--removed-keys <count>",
        'report "removes" only if a KvEntries deletes at least this many of the keys it wrote',
      )
        .argParser(wholeNumber(0, undefined, "of at least 0"))
        .default(10),
    )
    .addOption(
      new Option(
        "--removed-share <percent>",
        'report "removes" only if a KvEntries also deletes at least this percentage (0 to 100) of the keys it wrote',
      )
        .argParser(wholeNumber(0, 100))
        .default(50),
    )
    .addOption(
      new Option(
        "--accept <digest>",
        "accept the dangers that this digest from the report covers; repeatable",
      )
        .argParser(digests)
        .default([], "none"),
    )
    .option(
      "--inventory <file>",
      "also show the result of `edgeguard inventory check --format json`, which doesn't change the exit code",
    )
    .addOption(
      new Option(
        "--drift",
        "report what was changed manually; reads the plan of `pulumi preview --refresh --json --show-sames`",
      ).conflicts(["failOn", "removedKeys", "removedShare", "accept", "inventory"]),
    )
    .addHelpText("after", HELP)
    .action((files: string[], options: ReportOptions) => writeReport(io, files, options));
}

const HELP = `
Kinds of --fail-on:
${Object.entries(DANGERS)
  .map(([kind, meaning]) => `  ${kind.padEnd(13)} ${meaning}`)
  .join("\n")}

--accept takes the digest that the report shows below its dangers. The digest covers the stack and all of its dangers, and stops
matching if any danger changes. To accept dangers one at a time, use the digests in \`--format json\`. Dangers that you don't
accept still fail. In a report on several stacks, the digest covers the dangers of all stacks.

--drift reports what someone changed manually, worst first: each value in the state and at Cloudflare, what it means for
protection, what \`pulumi up --refresh\` does about it, and how to keep it. The program's own changes are listed separately. The
preview doesn't change the state.

The JSON follows a schema in the package: schemas/report.v1.json or, with --drift, schemas/drift.v1.json.

Exit codes: 0 written; 1 the preview failed or --fail-on found a danger (the report is written and says why); 2 usage error;
3 --drift found a manual change (the report is written).

Examples:
  $ pulumi preview --json --show-sames | edgeguard report --fail-on irreversible,unprotect,blocks,removes,unseen > comment.md
  $ pulumi preview --refresh --json --show-sames | edgeguard report --drift > drift.md`;

interface ReportOptions {
  readonly format: Reports.Format;
  readonly failOn: FailOn;
  readonly removedKeys: number;
  /** The percentage of its own keys that a KvEntries must delete to count as the danger "removes". */
  readonly removedShare: number;
  readonly accept: readonly string[];
  /** The file with the result of checking a script inventory. */
  readonly inventory?: string;
  /** Whether to report manual changes instead of a plan. */
  readonly drift?: boolean;
}

interface FailOn {
  readonly kinds: readonly Reports.DangerKind[];
  /** How many events a change of managed rules may stop. */
  readonly traffic?: number;
}

function failOn(text: string, before?: FailOn): FailOn {
  const most = /(?:^|,) *traffic=(\d{1,15}) *(?:,|$)/.exec(text)?.[1];
  const given = wordsAmong("a kind of danger", KINDS)(text.replace(/traffic=\d{1,15}/, "traffic"));
  const kinds = [...(before?.kinds ?? []), ...given];
  // Of several numbers, the smallest.
  const traffic = given.includes("traffic")
    ? Math.min(Number(most ?? 0), before?.traffic ?? Infinity)
    : before?.traffic;
  return traffic === undefined ? { kinds } : { kinds, traffic };
}

function digests(text: string, before: readonly string[]): string[] {
  const digest = text.trim().toLowerCase();
  if (/^[0-9a-f]{64}$/.test(digest)) return [...before, digest];
  throw new InvalidArgumentError(
    `${JSON.stringify(text)} is not a digest (64 hex digits). Copy it from the report, below "Review these first".`,
  );
}

async function writeReport(io: Io, files: readonly string[], options: ReportOptions): Promise<void> {
  if (files.filter((file) => file === "-").length > 1)
    throw new UsageError('only one plan can come from standard input. Pass "-" only once.');
  const plans = await Promise.all(files.map(async (name) => ({ name, text: await readPlan(io, name) })));
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded on use
  const reports = require("../report") as typeof Reports;
  await (options.drift === true ? writeDrift : writePlan)(io, reports, plans, options);
}

async function writeDrift(
  io: Io,
  { reportDrift }: typeof Reports,
  plans: readonly Reports.NamedPlan[],
  { format }: ReportOptions,
): Promise<void> {
  const { text, drifted, failed } = reportDrift(plans, format);
  await print(io, text);
  if (failed) throw new CommandError(PREVIEW_FAILED);
  if (drifted) throw new DriftError("someone changed something manually; the report says what");
}

const PREVIEW_FAILED = "the preview failed; the report says why";

async function writePlan(
  io: Io,
  { reportAll }: typeof Reports,
  plans: readonly Reports.NamedPlan[],
  { format, failOn: { kinds, traffic }, removedKeys, removedShare, accept, inventory }: ReportOptions,
): Promise<void> {
  const gate = {
    keys: removedKeys,
    share: removedShare / 100,
    traffic,
    failOn: kinds,
    accepted: new Set(accept),
    inventory:
      inventory === undefined ? undefined : await readText(io, inventory, `the check in ${inventory}`),
  };
  const { text, dangers, digest, digests: known, failed } = reportAll(plans, format, gate);
  await print(io, text);
  if (failed) throw new CommandError(PREVIEW_FAILED);
  const open = dangers.filter(({ verdict }) => verdict === "fails");
  if (open.length === 0) return;
  const stale = accept.filter((each) => !known.has(each));
  throw new CommandError(
    applying(
      `the plan has dangers of the kinds in --fail-on: ${named(open)}.`,
      stale.length > 0 &&
        `--accept ${stale.join(", ")}: no danger in this plan has ${stale.length === 1 ? "that digest" : "one of these digests"}.`,
      open.some(({ kind }) => kind === "traffic") &&
        "Read how many events would have been stopped: a traffic=<n> so high allows them, and --accept doesn't.",
      open.every(({ kind }) => kind === "traffic")
        ? undefined
        : stale.length === 0
          ? `Read the report. To accept all of its dangers, pass --accept ${digest ?? ""}`
          : `Either the dangers changed, or the digest belongs to another stack. Read the report again, then pass --accept ${digest ?? ""}`,
    ).join(" "),
  );
}

const MOST_NAMED = 5;

function named(dangers: readonly Reports.JudgedDanger[]): string {
  const names = dangers
    .slice(0, MOST_NAMED)
    .map(({ kind, type, name }) => `${kind} (${type} ${escapeInvisible(name)})`);
  return `${names.join(", ")}${dangers.length > MOST_NAMED ? `, and ${dangers.length - MOST_NAMED} more` : ""}`;
}

async function readPlan(io: Io, file: string): Promise<string> {
  if (file === "-") {
    if (io.stdin.isTTY === true)
      throw new UsageError("no plan. Pass a file, or pipe in `pulumi preview --json --show-sames`.");
    return await textOf(io.stdin);
  }
  return await readText(io, file, `the plan in ${file}`);
}
