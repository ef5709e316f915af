/**
 * An evaluator of filters for the property tests, independent of the provider. It reads the JSON that is sent and follows the
 * table of operators in https://developers.cloudflare.com/logs/logpush/logpush-job/filters/: it looks up the operator by
 * name and converts the filter's value to the type of the line's.
 */

type Line = Readonly<Record<string, unknown>>;
type Test = (inLine: unknown, inFilter: unknown) => boolean;

const same: Test = (inLine, inFilter) => {
  switch (typeof inLine) {
    case "boolean":
      return inFilter === (inLine ? "true" : "false");
    case "number":
      return decimal(inFilter) === inLine;
    case "string":
      return inLine === String(inFilter);
    default:
      return false;
  }
};

const compared =
  (wanted: readonly number[]): Test =>
  (inLine, inFilter) => {
    const dated = [inLine, inFilter].some((value) => typeof value === "string" && /T\d\d:/.test(value));
    if (dated) return sign(nanos(inLine), nanos(inFilter), wanted);
    return typeof inLine === "number" && sign(inLine, decimal(inFilter), wanted);
  };

const TESTS: Readonly<Record<string, Test>> = {
  eq: same,
  lt: compared([-1]),
  leq: compared([-1, 0]),
  gt: compared([1]),
  geq: compared([0, 1]),
  startsWith: (l, f) => typeof l === "string" && l.slice(0, (f as string).length) === f,
  endsWith: (l, f) =>
    typeof l === "string" &&
    l.lastIndexOf(f as string) === l.length - (f as string).length &&
    l.length >= (f as string).length,
  contains: (l, f) =>
    typeof l === "string"
      ? l.split(f as string).length > 1 || f === ""
      : Array.isArray(l) && l.filter((each) => same(each, f)).length > 0,
  in: (l, f) => (f as unknown[]).reduce<boolean>((found, each) => found || same(l, each), false),
};

export function letsThrough(text: string, line: Line): boolean {
  const { where } = JSON.parse(text) as { where: Record<string, unknown> };
  return evaluate(where, line);
}

function evaluate(node: Record<string, unknown>, line: Line): boolean {
  const all = node["and"] as Record<string, unknown>[] | undefined;
  if (all !== undefined) return !all.map((each) => evaluate(each, line)).includes(false);
  const any = node["or"] as Record<string, unknown>[] | undefined;
  if (any !== undefined) return any.map((each) => evaluate(each, line)).includes(true);
  const { key, operator, value } = node as { key: string; operator: string; value: unknown };
  const [, not, name = ""] = /^(!?)(\w+)$/.exec(operator) ?? [];
  const test = TESTS[name];
  if (test === undefined) throw new Error(`no operator ${operator}`);
  return test(line[key], value) === (not === "");
}

function decimal(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return undefined;
  return /^-?[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?$/i.test(value) ? parseFloat(value) : undefined;
}

/** A moment in nanoseconds: a date, or a number of seconds, milliseconds or nanoseconds by its size. */
function nanos(value: unknown): bigint | undefined {
  if (typeof value === "string" && /T\d\d:/.test(value))
    return BigInt(new Date(value).getTime()) * 1_000_000n;
  const number = decimal(value);
  if (number === undefined || !Number.isInteger(number)) return undefined;
  const digits = String(Math.abs(number)).length;
  return BigInt(number) * (digits <= 11 ? 1_000_000_000n : digits <= 14 ? 1_000_000n : 1n);
}

function sign<T extends number | bigint>(
  a: T | undefined,
  b: T | undefined,
  wanted: readonly number[],
): boolean {
  return a !== undefined && b !== undefined && wanted.includes(a < b ? -1 : a > b ? 1 : 0);
}
