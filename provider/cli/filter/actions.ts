import { createReadStream, statSync } from "node:fs";
import { resolve } from "node:path";
import { LOGPUSH } from "../../limits/index";
import { formatNumber } from "../../limits/workers";
import { FilterError, parseFilter, leavesOf, type CheckedFilter } from "../../logpush/filter-read";
import { compileFilter, sizeOf, sizeProblem, filterTree } from "../../logpush/filter-text";
import { testFilter, type FilterTest, type LogLines } from "../../logpush/test-filter";
import { parseJson, pick } from "../../basics/json";
import { truncate } from "../../basics/words";
import { CommandError, UsageError } from "../../terminal/errors";
import { readText } from "../../terminal/files";
import { print, printToStderr, type Io } from "../../terminal/io";
import { checkFields } from "./fields";

export interface FilterOptions {
  readonly dataset?: string;
}

/** How many example lines are shown for each outcome. */
const EXAMPLES = 3;

/** @throws UsageError if the filter is invalid, or CommandError if no line could be tested. */
export async function testFilterOn(
  io: Io,
  given: string,
  file: string,
  { dataset }: FilterOptions,
): Promise<void> {
  const filter = parseArgument(await filterText(io, given));
  checkFields(io, filter, dataset);
  const text = compileFilter(filter);
  const result = await testFilter(text, sourceOf(io, file), { examples: EXAMPLES });
  assertReadable(result);
  warn(io, filter, result);
  await print(io, formatResult(filter, text, result));
}

async function filterText(io: Io, given: string): Promise<string> {
  if (!given.startsWith("@")) return given;
  return await readText(io, given.slice(1), `the filter in ${given.slice(1)}`);
}

function parseArgument(text: string): CheckedFilter {
  try {
    return parseFilter(unescapeFilter(text.replace(/^\ufeff/, "").trim()));
  } catch (error) {
    throw error instanceof FilterError ? new UsageError(error.message.replace("?.", "?")) : error;
  }
}

/** Unwraps a filter copied from an API request, which is JSON inside a JSON string. */
function unescapeFilter(text: string): string {
  const inner = text.startsWith('"') ? parseJson(text) : undefined;
  return typeof inner === "string" ? inner : text;
}

function sourceOf(io: Io, file: string): LogLines {
  if (file !== "-") {
    const path = resolve(io.cwd, file);
    const found = statSync(path, { throwIfNoEntry: false });
    const isPipe = found?.isFile() === false && !found.isDirectory(); // For example, the shell's <(…).
    return isPipe ? createReadStream(path) : path;
  }
  if (io.stdin.isTTY === true)
    throw new UsageError("no log lines to test. Pass an NDJSON file, or pipe one in.");
  return io.stdin;
}

function assertReadable({ lines, unreadable, examples }: FilterTest): void {
  if (lines === 0) throw new CommandError("no log lines. Put one JSON object on each line (NDJSON).");
  if (unreadable < lines) return;
  const [first] = examples.unreadable;
  const why = first === undefined ? "" : `; line ${first.line} ${first.reason}`;
  throw new CommandError(
    `${lines === 1 ? "the only line isn't" : `none of the ${formatNumber(lines)} lines is`} a JSON object${why}. Put one JSON object on each line (NDJSON).`,
  );
}

/** Warns about anything that makes the counts less reliable than they look. */
function warn(
  io: Io,
  filter: CheckedFilter,
  { lines, unreadable, missingFields, examples }: FilterTest,
): void {
  const size = sizeProblem(filter);
  if (size !== undefined)
    printToStderr(
      io,
      `edgeguard: the filter ${size} To deploy it as it is, set filterChecks: "warn" on the LogpushJob.`,
    );
  if (unreadable > 0) {
    const first = examples.unreadable.map(({ line, reason }) => `line ${line} ${reason}`).join(", ");
    printToStderr(
      io,
      `edgeguard: ${formatNumber(unreadable)} of ${formatNumber(lines)} lines can't be read${first === "" ? "" : `: ${first}`}.`,
    );
  }
  for (const [field, without] of Object.entries(missingFields)) {
    printToStderr(
      io,
      `edgeguard: ${formatNumber(without)} of ${formatNumber(lines)} ${lines === 1 ? "line" : "lines"} ${without === 1 ? "has" : "have"} no ${field} field, so comparisons with it fail. Cloudflare may treat such lines differently. Use sample lines that have the field.`,
    );
  }
}

function formatResult(filter: CheckedFilter, text: string, result: FilterTest): string {
  const { operators, bytes } = sizeOf(filter);
  const fields = [...leavesOf(filter.where, [])].map(({ leaf }) => leaf.key);
  const shown = (examples: FilterTest["examples"]["passed"]): string[] =>
    examples.map(
      ({ line, fields: all }) =>
        `  line ${line}: ${truncate(JSON.stringify(pick(all, fields)), MAX_CHARACTERS)}`,
    );
  const { passed, rejected } = result.examples;
  const parts = [
    `The filter uses ${formatNumber(operators)} ${operators === 1 ? "operator" : "operators"} (limit: about ${formatNumber(LOGPUSH.MAX_FILTER_OPERATORS)}) and ${formatNumber(bytes)} bytes (limit: about ${formatNumber(LOGPUSH.MAX_FILTER_BYTES)}):`,
    ...filterTree(text).map((line) => `  ${line}`),
    "",
    counts(result),
    ...(passed.length === 0 ? [] : ["", "For example, these pass:", ...shown(passed)]),
    ...(rejected.length === 0 ? [] : ["", "For example, these don't pass:", ...shown(rejected)]),
  ];
  return `${parts.join("\n")}\n`;
}

function counts({ lines, passed, rejected, unreadable }: FilterTest): string {
  const not = rejected === 0 ? "" : `, ${formatNumber(rejected)} ${rejected === 1 ? "doesn't" : "don't"}`;
  const bad = unreadable === 0 ? "" : `, ${formatNumber(unreadable)} can't be read`;
  return `${formatNumber(passed)} of ${formatNumber(lines)} ${lines === 1 ? "line" : "lines"} ${passed === 1 ? "passes" : "pass"}${not}${bad}.`;
}

const MAX_CHARACTERS = 200;
