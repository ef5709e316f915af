import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";
import { createGunzip } from "node:zlib";
import { isJsonObject, ownMember, parseJson, type JsonObject } from "../basics/json";
import type { Filter } from "./filter";
import { isTime } from "./filter-fields";
import { isLeaf, leavesOf, parseFilter, type CheckedFilter, type Node, type Operator } from "./filter-read";

/** Tests a filter against sample log lines before it is deployed. */

/** A log line: an object, or its JSON. */
export type LogLine = string | Readonly<Record<string, unknown>>;

/**
 * A source of log lines: the path of an NDJSON file, plain or compressed (`.gz`, as Logpush stores them); a stream of
 * NDJSON; or anything that yields one line at a time.
 */
export type LogLines = string | NodeJS.ReadableStream | Iterable<LogLine> | AsyncIterable<LogLine>;

/** Options of `testFilter`. */
export interface TestFilterOptions {
  /**
   * How many example lines to return of each kind: passed, rejected and unreadable.
   * @defaultValue `3`
   */
  readonly examples?: number;
}

/** The result of testing a filter on sample log lines. */
export interface FilterTest {
  /** The number of lines that were read, not counting blank ones. */
  readonly lines: number;
  /** The number of lines that a job with the filter would push, before its sample rate applies. */
  readonly passed: number;
  /** The number of lines that a job with the filter wouldn't push. */
  readonly rejected: number;
  /** The number of lines that aren't JSON objects. They count neither as passed nor as rejected. */
  readonly unreadable: number;
  /**
   * The filter's fields that some lines lack, with the number of those lines. The results for those lines aren't
   * reliable: sample lines need every field in the filter, even if the job doesn't push it.
   */
  readonly missingFields: Readonly<Record<string, number>>;
  /** The first lines of each kind. `line` counts from 1, including blank lines. */
  readonly examples: {
    readonly passed: readonly FilterExample[];
    readonly rejected: readonly FilterExample[];
    readonly unreadable: readonly { readonly line: number; readonly reason: string }[];
  };
}

/** A sample line that was tested. */
export interface FilterExample {
  readonly line: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

const DEFAULT_EXAMPLES = 3;

/**
 * Counts how many sample lines pass a filter, and keeps the first few of each kind as examples. Lines are read one at a
 * time, so a file may be larger than memory. A line that lacks a field fails every comparison of that field and passes
 * every negated one.
 *
 * @param filter the filter as for a `LogpushJob`: from the builders, or JSON.
 * @param lines a file's path, a stream, or the lines themselves.
 * @returns the counts and the examples.
 * @throws FilterError if the filter is invalid, and an Error if a file can't be read.
 * @example Test a filter before deploying it
 * ```ts
 * import { filter, testFilter } from "pulumi-edgeguard";
 *
 * const errors = filter.where(filter.geq("EdgeResponseStatus", 500));
 * export const passed = testFilter(errors, [
 *   { EdgeResponseStatus: 200 },
 *   { EdgeResponseStatus: 503 },
 * ]).then((result) => result.passed);
 * ```
 */
export async function testFilter(
  filter: Filter | string,
  lines: LogLines,
  { examples: shown = DEFAULT_EXAMPLES }: TestFilterOptions = {},
): Promise<FilterTest> {
  const checked = parseFilter(filter);
  const fields = [...new Set([...leavesOf(checked.where, [])].map(({ leaf }) => leaf.key))];
  const missing = new Map<string, number>();
  const kept = {
    passed: [] as FilterExample[],
    rejected: [] as FilterExample[],
    unreadable: [] as { line: number; reason: string }[],
  };
  const count = { passed: 0, rejected: 0, unreadable: 0 };

  let number = 0;
  for await (const given of linesOf(lines)) {
    number += 1;
    if (typeof given === "string" && given.trim() === "") continue;
    const read = readLine(given);
    if (typeof read === "string") {
      count.unreadable += 1;
      if (kept.unreadable.length < shown) kept.unreadable.push({ line: number, reason: read });
      continue;
    }
    for (const field of fields) {
      if (read[field] === undefined || read[field] === null)
        missing.set(field, (missing.get(field) ?? 0) + 1);
    }
    const outcome = passes(checked, read) ? "passed" : "rejected";
    count[outcome] += 1;
    if (kept[outcome].length < shown) kept[outcome].push({ line: number, fields: read });
  }
  return {
    lines: count.passed + count.rejected + count.unreadable,
    ...count,
    missingFields: Object.fromEntries(missing),
    examples: kept,
  };
}

/** Returns the line's fields, or why it can't be read. */
function readLine(given: LogLine): JsonObject | string {
  const json = typeof given === "string" ? parseJson(given) : given;
  return isJsonObject(json) ? json : "is not a JSON object";
}

/** Yields the lines of any source. */
async function* linesOf(lines: LogLines): AsyncGenerator<LogLine, void, undefined> {
  if (typeof lines === "string") yield* linesOfFile(lines);
  else if ("pipe" in lines) yield* split(lines);
  else {
    for await (const line of lines) {
      if (typeof line === "string") yield* line.replace(/\r?\n$/, "").split(/\r?\n/);
      else yield line;
    }
  }
}

async function* linesOfFile(path: string): AsyncGenerator<string, void, undefined> {
  try {
    if (!(await stat(path)).isFile()) throw new Error("it is not a file. Pass an NDJSON file");
    const file = createReadStream(path);
    if (!path.endsWith(".gz")) return yield* split(file);
    const unpacked = createGunzip();
    file.on("error", (error) => unpacked.destroy(error));
    return yield* split(file.pipe(unpacked));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Can't read log lines from ${JSON.stringify(path)}: ${why}.`, { cause: error });
  }
}

/** Yields the lines of a stream, whose chunks may end within a line or a character. */
async function* split(stream: NodeJS.ReadableStream): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of stream) {
    const parts = (rest + (typeof chunk === "string" ? chunk : decoder.write(chunk))).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
  rest += decoder.end();
  if (rest !== "") yield rest;
}

/**
 * Whether a log line passes a filter. If the line lacks a field, or the field's value can't be compared, the comparison
 * fails and its negation passes.
 */
export function passes({ where }: CheckedFilter, line: JsonObject): boolean {
  return holds(where, line);
}

function holds(node: Node, line: JsonObject): boolean {
  if (!isLeaf(node))
    return "and" in node
      ? node.and.every((each) => holds(each, line))
      : node.or.some((each) => holds(each, line));
  const { key, operator, value } = node;
  const found = ownMember(line, key);
  const values = typeof value === "string" ? [value] : value;
  return values.some((wanted) => TESTS[operator](found, wanted)) !== operator.startsWith("!");
}

type Test = (found: unknown, wanted: string | number) => boolean;

const isAffix =
  (test: (text: string, part: string) => boolean): Test =>
  (found, wanted) =>
    typeof found === "string" && test(found, String(wanted));
const startsWith = isAffix((text, part) => text.startsWith(part));
const endsWith = isAffix((text, part) => text.endsWith(part));
const includes = isAffix((text, part) => text.includes(part));

const ordered =
  (test: (a: number, b: number) => boolean): Test =>
  (found, wanted) => {
    const pair = comparable(found, wanted);
    return pair !== undefined && test(...pair);
  };

const equal: Test = (found, wanted) => {
  if (typeof found === "number") return found === numberIn(wanted);
  return (typeof found === "string" || typeof found === "boolean") && String(found) === String(wanted);
};

const contains: Test = (found, wanted) =>
  Array.isArray(found) ? found.some((element) => equal(element, wanted)) : includes(found, wanted);

/** The predicate for each operator. Negated operators reuse the predicate of the plain one. */
const TESTS: Readonly<Record<Operator, Test>> = {
  eq: equal,
  "!eq": equal,
  lt: ordered((a, b) => a < b),
  leq: ordered((a, b) => a <= b),
  gt: ordered((a, b) => a > b),
  geq: ordered((a, b) => a >= b),
  startsWith,
  endsWith,
  "!startsWith": startsWith,
  "!endsWith": endsWith,
  contains,
  "!contains": contains,
  in: equal,
  "!in": equal,
};

/** Converts both values to numbers for comparison, or to times if either one is written as a time. */
function comparable(found: unknown, wanted: string | number): readonly [number, number] | undefined {
  if (typeof found !== "number" && typeof found !== "string") return undefined;
  const asTimes =
    (typeof found === "string" && isTime(found)) || (typeof wanted === "string" && isTime(wanted));
  if (!asTimes && typeof found === "string") return undefined; // Strings have no order.
  const [a, b] = asTimes ? [timeIn(found), timeIn(wanted)] : [numberIn(found), numberIn(wanted)];
  return a === undefined || b === undefined ? undefined : [a, b];
}

/** Matches a JSON number. */
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** Parses a string as a number. Undefined if it isn't one. */
export function numberIn(value: string | number): number | undefined {
  if (typeof value === "number") return value;
  return NUMBER.test(value) ? Number(value) : undefined;
}

/**
 * Converts a time to milliseconds since the Unix epoch. Reads RFC 3339 and whole numbers, whose size implies their
 * unit. Supports every `timestampFormat` of a job, and milliseconds, which some fields use.
 */
export function timeIn(value: string | number): number | undefined {
  if (typeof value === "string" && isTime(value)) return Date.parse(value);
  const number = numberIn(value);
  if (number === undefined || !Number.isInteger(number)) return undefined;
  if (number < 1e11) return number * 1_000;
  return number < 1e14 ? number : number / 1e6;
}
