import { runInThisContext } from "node:vm";
import fc from "fast-check";
import { checkExpression } from "../../provider/rules-language/check";
import {
  canonicalExpression,
  isWiderOrEqual,
  normalizeNotation,
} from "../../provider/rules-language/equivalence";
import { LONG } from "../support/long";

const RUNS = LONG ? 20_000 : 300;

test.each([
  ['  (http.host=="a")\n', 'http.host eq "a"'],
  [
    '(ssl or (cf.client.bot || http.host in {"b" "a" "b"}))',
    'cf.client.bot or http.host in {"a" "b"} or ssl',
  ],
  ["not (ssl and !cf.client.bot)", "cf.client.bot or not ssl"],
  ["ssl and true or ssl and ssl", "ssl"],
  ["not (ssl xor cf.client.bot)", "not (cf.client.bot xor ssl)"],
  ['http.host in {"a"} and ip.src eq 2001:0DB8:0:0::1', 'http.host eq "a" and ip.src eq 2001:db8::1'],
  ['http.host eq r"a\\b" or http.host eq "\\x61"', 'http.host eq "a" or http.host eq "a\\\\b"'],
  ['http.request.uri.path ~ "a\\"\\.b"', 'http.request.uri.path matches r#"a"\\.b"#'],
  ["tcp.flags & 0x1f", "tcp.flags bitwise_and 31"],
  [
    'any( ( lower( http.request.headers.names[ * ] )[*]=="c" ) )',
    'any(lower(http.request.headers.names[*])[*] eq "c")',
  ],
  ["http.host eq www", undefined],
])("the canonical form of %j is %j", (expression, canonical) => {
  expect(canonicalExpression(expression)).toBe(canonical);
});

describe("wider expressions", () => {
  test.each([
    ["true", 'http.host eq "a"'],
    ["ssl", "(ssl)"],
    ["ssl or cf.client.bot", "ssl"],
    ["ssl", "ssl and cf.client.bot"],
    ['http.host in {"a" "b"}', 'http.host eq "a" and ssl'],
    ['http.host eq "b" or http.host eq "a"', 'http.host in {"a" "b"}'],
    ['not http.host eq "a"', 'not http.host in {"a" "b"}'],
    ["ssl", "false"],
    ["(ssl or cf.client.bot) and ssl", "ssl"],
    [
      '(http.host eq "a" or ssl) and cf.client.bot',
      '(http.host eq "a" and cf.client.bot) or (ssl and cf.client.bot)',
    ],
    [
      '(http.host eq "a" and cf.client.bot) or (ssl and cf.client.bot)',
      '(http.host eq "a" or ssl) and cf.client.bot',
    ],
    ["ssl xor cf.client.bot", "(cf.client.bot ^^ ssl) and http.request.headers.truncated"],
    ['ssl and http.host in {"a" "b"}', '(ssl and http.host eq "b") or (ssl and http.host eq "a")'],
    ['ssl or not http.host in {"a" "b"}', 'not (http.host in {"a" "b"} and not ssl)'],
    ["no expression", " no expression"],
  ])("%j is as wide as or wider than %j", (wider, narrower) => {
    expect(isWiderOrEqual(wider, narrower)).toBe(true);
  });

  test.each([
    ['http.host eq "a"', "true"],
    ["ssl and cf.client.bot", "ssl"],
    ["ssl", "ssl or cf.client.bot"],
    ['http.host eq "a"', 'http.host eq "A"'],
    ['http.host wildcard "a*"', 'http.host strict wildcard "a*"'],
    ["ssl xor cf.client.bot", "ssl"],
    ["ssl xor cf.client.bot", "ssl and not cf.client.bot"],
    ["(ssl and cf.client.bot) or http.request.headers.truncated", "ssl or http.request.headers.truncated"],
    ['http.host eq "a"', 'http.host eq "a" or http.host contains "a"'],
    ['http.host ne "a"', 'not http.host eq "a"'],
    ["ip.src in $a", "ip.src in $b"],
    ["no expression", "ssl"],
    ["ssl", "no expression"],
  ])("%j isn't as wide as %j", (wider, narrower) => {
    expect(isWiderOrEqual(wider, narrower)).toBe(false);
  });
});

describe("expressions with many comparisons", () => {
  const ports = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, index) => from + index).join(" ");
  const pairs = Array.from(
    { length: 30 },
    (_, index) => `(http.host eq "${index}" or cf.edge.server_port eq ${index})`,
  );

  test("a set of 700 values is wider than each of its subsets, and not the other way round", () => {
    const [wide, narrow] = [ports(0, 700), ports(1, 700)].map(
      (set) => `cf.edge.server_port in {${set}} and ssl`,
    );
    expect(isWiderOrEqual(wide ?? "", narrow ?? "")).toBe(true);
    expect(isWiderOrEqual(narrow ?? "", wide ?? "")).toBe(false);
  });

  test("an operand more or less is recognized among 30 pairs", () => {
    const [all, fewer] = [pairs.join(" and "), pairs.slice(1).join(" and ")];
    expect(isWiderOrEqual(fewer, all)).toBe(true);
    expect(isWiderOrEqual(`${all} or ssl`, all)).toBe(true);
    expect(isWiderOrEqual(all, fewer)).toBe(false);
  });

  test("what would take too long to decide isn't called wider", () => {
    const others = pairs.map(
      (_, index) => `(http.host eq "${index}" and cf.edge.server_port ne ${index + 1})`,
    );
    expect(isWiderOrEqual(pairs.join(" and "), `(${others.join(" or ")}) and ${pairs.join(" and ")}`)).toBe(
      false,
    );
  });
});

test.each([
  ['http.host=="a"  &&\n!ssl ', 'http.host eq "a" and not ssl'],
  ['http.host eq "a  b"', 'http.host eq "a  b"'],
  ["(ssl)", "( ssl )"],
  ["  no 'expression'  ", "no 'expression'"],
])("normalizing ignores whitespace and operator notation: %j", (expression, normalized) => {
  expect(normalizeNotation(expression)).toBe(normalized);
});

/** The fields of a request that the conditions below use. */
interface Request {
  readonly host: string;
  readonly ssl: boolean;
  readonly bot: boolean;
}

/** A condition and its result for a request, computed without the code under test. */
interface Random {
  readonly write: (style: () => number) => string;
  readonly matches: (request: Request) => boolean;
}

const REQUESTS: readonly Request[] = ["a", "b", "c"].flatMap((host) =>
  [true, false].flatMap((ssl) => [true, false].map((bot) => ({ host, ssl, bot }))),
);

const hosts = fc.uniqueArray(fc.constantFrom<string>("a", "b", "c"), { minLength: 1 });
const atom: fc.Arbitrary<Random> = fc.oneof(
  fc.constant<Random>({ write: () => "ssl", matches: ({ ssl }) => ssl }),
  fc.constant<Random>({ write: () => "cf.client.bot", matches: ({ bot }) => bot }),
  fc.boolean().map((value): Random => ({ write: () => String(value), matches: () => value })),
  hosts.map((set): Random => ({
    write: (style) => {
      const items = set.map((host) => (style() < 0.5 ? `"${host}"` : `r#"${host}"#`));
      return items.length === 1 && style() < 0.5
        ? `http.host ${style() < 0.5 ? "eq " : "=="}${items.join("")}`
        : `http.host in {${items.join(style() < 0.5 ? " " : "\n")}}`;
    },
    matches: ({ host }) => set.includes(host),
  })),
);

const JOINS = {
  and: ["and", "&&", (parts: readonly boolean[]) => parts.every(Boolean)],
  or: ["or", "||", (parts: readonly boolean[]) => parts.some(Boolean)],
  xor: ["xor", "^^", (parts: readonly boolean[]) => parts.filter(Boolean).length % 2 === 1],
} as const;

function join(kind: keyof typeof JOINS, parts: readonly Random[]): Random {
  const [word, sign, decide] = JOINS[kind];
  return {
    write: (style) => parts.map((part) => `(${part.write(style)})`).join(style() < 0.5 ? ` ${word} ` : sign),
    matches: (request) => decide(parts.map((part) => part.matches(request))),
  };
}

const { condition } = fc.letrec<{ condition: Random }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    atom,
    tie("condition").map((inner): Random => ({
      write: (style) => `${style() < 0.5 ? "not " : "!"}(${inner.write(style)})`,
      matches: (request) => !inner.matches(request),
    })),
    fc
      .tuple(fc.constantFrom("and", "or", "xor"), fc.array(tie("condition"), { minLength: 2, maxLength: 4 }))
      .map(([kind, parts]) => join(kind, parts)),
  ),
}));

/** The requests that a canonical expression matches, evaluated by JavaScript, whose operators have the same precedence. */
function matched(canonical: string): string {
  const script = canonical
    .replace(
      /http\.host in \{([^}]*)\}/g,
      (_, set: string) => `[${set.replaceAll(" ", ", ")}].includes(host)`,
    )
    .replace(/http\.host eq ("\w")/g, "(host === $1)")
    .replace(/cf\.client\.bot/g, "bot")
    .replace(/not /g, "!")
    .replace(/ xor /g, " != ")
    .replace(/ and /g, " && ")
    .replace(/ or /g, " || ");
  return String(runInThisContext(`${JSON.stringify(REQUESTS)}.map(({ host, ssl, bot }) => ${script})`));
}

const styled = fc.tuple(condition, fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })));

test(`however a random expression is written, its canonical form is the same and matches the same requests (${RUNS} of 20,000)`, () => {
  fc.assert(
    fc.property(styled, ([random, stream]) => {
      const style = (): number => Number(stream.next().value);
      const written = random.write(style);
      const canonical = canonicalExpression(written) ?? "";
      expect(checkExpression(written)).toEqual({ errors: [], warnings: [] });
      expect(canonicalExpression(canonical)).toBe(canonical);
      expect(canonicalExpression(random.write(style))).toBe(canonical);
      expect(matched(canonical)).toBe(String(REQUESTS.map(random.matches)));
    }),
    { numRuns: RUNS },
  );
});

test(`a wider expression matches every request that the narrower one matches, and adding an "or" operand makes it wider (${RUNS} of 20,000)`, () => {
  const plain = (): number => 0;
  fc.assert(
    fc.property(condition, condition, (one, other) => {
      const [a, b] = [one.write(plain), other.write(plain)];
      if (isWiderOrEqual(a, b)) {
        for (const request of REQUESTS) if (other.matches(request)) expect(one.matches(request)).toBe(true);
      }
      expect(isWiderOrEqual(join("or", [one, other]).write(plain), a)).toBe(true);
      expect(isWiderOrEqual(a, join("and", [one, other]).write(plain))).toBe(true);
    }),
    { numRuns: RUNS },
  );
});
