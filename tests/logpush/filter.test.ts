import { documentedFields, typeInText } from "../../provider/logpush/dataset-fields";
import * as filter from "../../provider/logpush/filter";
import { fieldIssues } from "../../provider/logpush/filter-fields";
import { parseFilter, readFilter, type FilterIssue } from "../../provider/logpush/filter-read";
import { sizeOf, sizeProblem } from "../../provider/logpush/filter-text";
import { propertyPath } from "../../provider/runtime/inputs";
import { passes } from "../../provider/logpush/test-filter";

const { and, contains, eq, geq, or, where } = filter;

const said = (issues: readonly FilterIssue[]) =>
  issues.map(({ path, reason }) => `${propertyPath(["filter", ...path])} ${reason}`);
const refusals = (given: unknown) => {
  const result = readFilter(given);
  return "issues" in result ? said(result.issues) : [];
};
const leaf = (key: string, operator: string, value: unknown) => ({
  where: { and: [{ key, operator, value }] },
});

describe("the builders", () => {
  test("compile to the service's JSON, in the order they were written", () => {
    const typed = where(
      and(
        eq("ClientRequestHost", "example.com"),
        or(contains("ClientRequestPath", "/api"), geq("EdgeResponseStatus", 500)),
      ),
    );
    expect(filter.compile(typed)).toBe(
      '{"where":{"and":[{"key":"ClientRequestHost","operator":"eq","value":"example.com"},' +
        '{"or":[{"key":"ClientRequestPath","operator":"contains","value":"/api"},' +
        '{"key":"EdgeResponseStatus","operator":"geq","value":"500"}]}]}}',
    );
  });

  test.each([
    [filter.eq("A", "x"), { operator: "eq", value: "x" }],
    [filter.notEq("A", true), { operator: "!eq", value: "true" }],
    [filter.lt("A", 1.5), { operator: "lt", value: "1.5" }],
    [filter.leq("A", -3), { operator: "leq", value: "-3" }],
    [filter.gt("A", 0), { operator: "gt", value: "0" }],
    [filter.geq("A", "7"), { operator: "geq", value: "7" }],
    [filter.startsWith("A", "x"), { operator: "startsWith", value: "x" }],
    [filter.endsWith("A", "x"), { operator: "endsWith", value: "x" }],
    [filter.notStartsWith("A", "x"), { operator: "!startsWith", value: "x" }],
    [filter.notEndsWith("A", "x"), { operator: "!endsWith", value: "x" }],
    [filter.contains("A", "x"), { operator: "contains", value: "x" }],
    [filter.notContains("A", "x"), { operator: "!contains", value: "x" }],
    [filter.in("A", [200, 201]), { operator: "in", value: [200, 201] }],
    [filter.isIn("A", ["x"]), { operator: "in", value: ["x"] }],
    [filter.notIn("A", ["x", "y"]), { operator: "!in", value: ["x", "y"] }],
  ])("write %j as the service does", (built, written) => {
    const text = filter.compile(where(built));
    expect(JSON.parse(text)).toEqual({ where: { and: [{ key: "A", ...written }] } });
  });

  test("and a text of JSON with scalars come to the same", () => {
    const raw = `{ "where" : {"and":[ {"value":200, "key":"EdgeResponseStatus","operator":"eq"},
      {"operator":"eq","key":"WorkerSubrequest","value":true} ] } }`;
    expect(filter.compile(raw)).toBe(
      filter.compile(where(and(eq("EdgeResponseStatus", 200), eq("WorkerSubrequest", true)))),
    );
  });

  test("refuse in one error, with every place", () => {
    expect(() =>
      filter.compile('{"where":{"or":[{"and":[]},{"key":"A","operator":"is","value":"x"}]}}'),
    ).toThrow(
      new filter.FilterError([
        {
          path: ["where", "or", 0, "and"],
          reason: "is an empty group; a group holds at least one condition",
        },
        {
          path: ["where", "or", 1, "operator"],
          reason: 'is "is", which is no operator. Did you mean "in"?',
        },
      ]),
    );
  });
});

describe("a filter is refused", () => {
  test.each([
    ['{"where":', /^filter is no JSON \(.*\); it has to look like \{"where"/],
    ['"text"', /^filter has to be an object like .*; it is "text"$/],
    [[], /^filter has to be an object like .*; it is a list of 0$/],
    [{}, 'filter has no "where"; write {"where": …} around its conditions'],
    [{ and: [] }, 'filter has no "where"; write {"where": …} around its conditions'],
    [{ ...leaf("A", "eq", "x"), limit: 3 }, 'filter knows "where" only; it has "limit"'],
    [{ where: "A eq x" }, 'filter.where has to be a comparison or a group of them; it is "A eq x"'],
    [{ where: {} }, /^filter\.where is neither a comparison, .*, nor a group, .*\]\}$/],
    [{ where: { not: [] } }, /^filter\.where is neither .*; it has "not"$/],
    [{ where: { and: {} } }, "filter.where.and has to be a list of conditions; it is an object"],
    [{ where: { and: [] } }, "filter.where.and is an empty group; a group holds at least one condition"],
    [
      { where: { and: [{ or: [] }] } },
      "filter.where.and[0].or is an empty group; a group holds at least one condition",
    ],
    [
      { where: { and: [leaf("A", "eq", "x").where], or: [leaf("A", "eq", "x").where] } },
      'filter.where has both "and" and "or"; put one of them into the other',
    ],
    [
      { where: { or: [{ key: "A", operator: "eq", value: "x", and: [] }] } },
      'filter.where.or[0] is a comparison and a group at once: it has "key", "operator", "value", "and". Put the comparison into the group',
    ],
    [
      { where: { and: [{ key: "A", operator: "eq", value: "x", note: 1 }] } },
      'filter.where.and[0] knows "key", "operator", "value" only; it has "note"',
    ],
    [leaf("", "eq", "x"), 'filter.where.and[0].key has to be the name of a log field; it is ""'],
    [
      { where: { and: [{ operator: "eq", value: "x" }] } },
      "filter.where.and[0].key has to be the name of a log field; it is missing",
    ],
    [
      leaf("A", "neq", "x"),
      'filter.where.and[0].operator is "neq", which is no operator. Did you mean "!eq"?',
    ],
    [leaf("A", ">=", "x"), 'filter.where.and[0].operator is ">=", which is no operator. Did you mean "geq"?'],
    [
      leaf("A", "startswith", "x"),
      'filter.where.and[0].operator is "startswith", which is no operator. Did you mean "startsWith"?',
    ],
    [
      leaf("A", "matches-regexp", "x"),
      'filter.where.and[0].operator is "matches-regexp", which is no operator. Operators: eq, !eq, lt, leq, gt, geq, startsWith, endsWith, !startsWith, !endsWith, contains, !contains, in, !in',
    ],
    [leaf("A", "toString", "x"), /^filter\.where\.and\[0\]\.operator is "toString", which is no operator/],
    [leaf("A", 5 as never, "x"), /operator has to be one of eq, .*; it is 5$/],
    [
      leaf("A", "eq", undefined),
      /^filter\.where\.and\[0\]\.value has to be a text, a number, true or false for eq; it is missing$/,
    ],
    [leaf("A", "eq", null), /it is null$/],
    [leaf("A", "eq", Number.NaN), /it is NaN$/],
    [leaf("A", "eq", ["x"]), /it is a list of 1; for a list there are "in" and "!in"$/],
    [
      leaf("A", "in", "200,201"),
      'filter.where.and[0].value has to be a list for in, not a text with commas; it is "200,201"',
    ],
    [leaf("A", "!in", 200), "filter.where.and[0].value has to be a list for !in; it is 200"],
    [
      leaf("A", "in", []),
      "filter.where.and[0].value is an empty list, which no line is in; name at least one value",
    ],
    [leaf("A", "in", [1, true]), "filter.where.and[0].value[1] has to be a text or a number; it is true"],
    [
      leaf("A", "in", ["200", 201]),
      'filter.where.and[0].value[1] is 201 in a list that began with "200"; a field holds texts or numbers, not both',
    ],
  ])("as %j", (given, sentence) => {
    const [only, ...more] = refusals(given);
    expect(more).toEqual([]);
    if (typeof sentence === "string") expect(only).toBe(sentence);
    else expect(only).toMatch(sentence);
  });

  test("where it is nested so deep that reading it would end the process", () => {
    const deep = `{"where":${'{"and":['.repeat(120)}{"key":"A","operator":"eq","value":"x"}${"]}".repeat(120)}}`;
    expect(refusals(deep)).toEqual([expect.stringContaining("lies more than 100 groups deep")]);
    const abyss = `{"where":${'{"and":['.repeat(200_000)}`;
    expect(refusals(abyss)).toEqual([expect.stringContaining("is no JSON")]);
  });
});

describe("the size of a filter", () => {
  // A comparison takes 38 bytes at least, so that many of them pass the other limit first: groups do not.
  const nested = (...more: readonly filter.FilterNode[]) =>
    where(and(...([...Array.from({ length: 14 }, () => or(eq("A", ""))), ...more] as [filter.FilterNode])));

  test.each([
    // `and`, 14 times `or` with a comparison each, and one more: thirty operators, the most there may be.
    [nested(eq("A", "")), 30, undefined],
    [nested(eq("A", ""), eq("A", "")), 31, /^has 31 operators .* the service takes about 30\. /],
    // A comparison alone goes out in a group.
    [where(eq("A", "")), 2, undefined],
    [where(or(and(eq("A", ""), eq("A", "")), and(eq("A", "")))), 6, undefined],
  ])("counts comparisons and groups (%#)", (given, operators, sentence) => {
    const checked = parseFilter(given);
    expect(sizeOf(checked).operators).toBe(operators);
    const problem = sizeProblem(checked);
    if (sentence === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatch(sentence);
  });

  /** {"where":{"and":[{"key":"A","operator":"eq","value":"…"}]}} is 58 bytes around its value. */
  const around = 58;
  test.each([
    ["a".repeat(1_000 - around), 1_000, false],
    ["a".repeat(1_001 - around), 1_001, true],
    // é is two bytes; a quote is two, since JSON writes it with a backslash.
    ["é".repeat((1_000 - around) / 2), 1_000, false],
    [`${"é".repeat((1_000 - around) / 2)}a`, 1_001, true],
    ['"'.repeat((1_000 - around) / 2), 1_000, false],
    [`${'"'.repeat((1_000 - around) / 2)}a`, 1_001, true],
  ])("counts bytes of the JSON without white space (%#)", (value, bytes, tooLarge) => {
    const spaced = JSON.stringify(where(eq("A", value)), null, 8);
    const checked = parseFilter(spaced);
    expect(sizeOf(checked).bytes).toBe(bytes);
    expect(sizeProblem(checked) !== undefined).toBe(tooLarge);
  });

  test("is told in one sentence where both limits are passed, with what to do", () => {
    const [first, ...more] = Array.from({ length: 40 }, (_, i) => eq(`Field${i}`, "x"));
    const problem = sizeProblem(parseFilter(where(and(first ?? eq("A", ""), ...more))));
    expect(problem).toMatch(
      /^has 41 operators \(each comparison, each "and" and "or"\); the service takes about 30, and is \d+ bytes; the service takes about 1000\. Write several eq as one in/,
    );
  });
});

/** Which of the lines, in which the field is this, that or absent, a comparison lets through. */
describe("a comparison", () => {
  test.each<[string, unknown, readonly unknown[], readonly boolean[]]>([
    ["eq", "5", [4, 5, "5", "05", true, undefined], [false, true, true, false, false, false]],
    ["!eq", "5", [4, 5, "5", "05", true, undefined], [true, false, false, true, true, true]],
    ["eq", "true", [true, false, "true", 1], [true, false, true, false]],
    ["lt", "5", [4, 5, 6, "4", null, undefined], [true, false, false, false, false, false]],
    ["leq", "5", [4, 5, 6, "4", null, undefined], [true, true, false, false, false, false]],
    ["gt", "5", [4, 5, 6, "6", null, undefined], [false, false, true, false, false, false]],
    ["geq", "5.5", [5, 5.5, 6, "6", null, undefined], [false, true, true, false, false, false]],
    ["lt", "five", [4, 6], [false, false]],
    ["startsWith", "/a", ["/a", "/api", "b/a", 5, undefined], [true, true, false, false, false]],
    ["!startsWith", "/a", ["/a", "/api", "b/a", 5, undefined], [false, false, true, true, true]],
    ["endsWith", "a", ["a", "ba", "ab", "A"], [true, true, false, false]],
    ["!endsWith", "a", ["a", "ba", "ab", "A"], [false, false, true, true]],
    [
      "contains",
      "a",
      ["a", "bab", "b", ["a"], ["ab"], [], undefined],
      [true, true, false, true, false, false, false],
    ],
    ["!contains", "a", ["a", "b", ["a"], ["ab"]], [false, true, false, true]],
    ["contains", "7", [[7], ["7"], [70], 7], [true, true, false, false]],
    ["in", [5, 6], [5, 6, 7, "5", undefined], [true, true, false, true, false]],
    ["!in", ["a", "b"], ["a", "b", "c", undefined], [false, false, true, true]],
    // Times: as a date, in seconds, in milliseconds and in nanoseconds.
    [
      "gt",
      "2025-01-31T00:00:00Z",
      ["2025-01-31T00:00:01Z", "2025-01-31T01:00:00+02:00", 1_738_281_601],
      [true, false, true],
    ],
    ["geq", "1738281600", ["2025-01-31T00:00:00Z", 1_738_281_600], [true, true]],
    [
      "lt",
      "2025-01-31T00:00:00Z",
      [1_738_281_599_999, 1_738_281_600_000, 1_738_281_599_000_000_000],
      [true, false, true],
    ],
  ])("%s %j", (operator, value, values, verdicts) => {
    const checked = parseFilter(leaf("Field", operator, value));
    expect(values.map((Field) => passes(checked, { Field }))).toEqual(verdicts);
  });
});

describe("a filter is held against the fields of its dataset", () => {
  const found = (dataset: string, key: string, operator: string, value: unknown, complete = false) => {
    const types = documentedFields(dataset) ?? new Map();
    return said(fieldIssues(parseFilter(leaf(key, operator, value)), { dataset, types, complete }));
  };
  const HTTP = "http_requests";

  test.each([
    ["ClientRequestHost", "eq", "x"],
    ["ClientRequestHost", "!contains", "x"],
    ["ClientRequestHost", "in", ["a", "b"]],
    ["EdgeResponseStatus", "geq", "500"],
    ["EdgeResponseStatus", "!in", [200, 201]],
    ["EdgeResponseCompressionRatio", "lt", "1.5"],
    ["WorkerSubrequest", "!eq", "false"],
    ["EdgeStartTimestamp", "gt", "2025-01-31T00:00:00Z"],
    ["EdgeStartTimestamp", "leq", "1738281600"],
    ["SecurityActions", "contains", "block"],
    ["BotDetectionIDs", "!contains", "7"],
    ["SomethingNew", "eq", "x"],
  ])("%s %s %j fits", (key, operator, value) => {
    expect(found(HTTP, key, operator, value)).toEqual([]);
  });

  test.each([
    [
      "EdgeResponseStatus",
      "startsWith",
      "5",
      "filter.where.and[0].operator is startsWith, which does not fit EdgeResponseStatus, a field of type int. Operators for it: eq, !eq, lt, leq, gt, geq, in, !in",
    ],
    ["ClientRequestHost", "lt", "x", /lt, which does not fit ClientRequestHost, a field of type string/],
    ["WorkerSubrequest", "in", ["true"], /Operators for it: eq, !eq$/],
    [
      "SecurityActions",
      "eq",
      "block",
      /a field of type array\[string\]\. Operators for it: contains, !contains$/,
    ],
    ["EdgeStartTimestamp", "startsWith", "2025", /does not fit EdgeStartTimestamp/],
    [
      "Cookies",
      "contains",
      "x",
      "filter.where.and[0].key is Cookies, whose type object no filter can use; choose a field that holds one value",
    ],
    [
      "EdgeResponseStatus",
      "eq",
      "5xx",
      'filter.where.and[0].value is "5xx"; EdgeResponseStatus is a field of type int and takes a whole number',
    ],
    ["EdgeResponseStatus", "eq", "1.5", /takes a whole number$/],
    ["EdgeResponseCompressionRatio", "eq", "much", /takes a number$/],
    ["WorkerSubrequest", "eq", "yes", /takes true or false$/],
    ["EdgeStartTimestamp", "gt", "yesterday", /takes a number or a time as 2025-01-31T00:00:00Z$/],
    ["BotDetectionIDs", "contains", "seven", /takes a whole number$/],
    [
      "EdgeResponseStatus",
      "in",
      ["200"],
      'filter.where.and[0].value[0] is "200"; EdgeResponseStatus is a field of type int, so in takes numbers without quotes',
    ],
    ["ClientCountry", "!in", [49], /so !in takes texts$/],
  ])("%s %s %j does not", (key, operator, value, sentence) => {
    const [only, ...more] = found(HTTP, key, operator, value);
    expect(more).toEqual([]);
    if (typeof sentence === "string") expect(only).toBe(sentence);
    else expect(only).toMatch(sentence);
  });

  test.each([
    "Action",
    "Description",
    "Kind",
    "MatchIndex",
    "Metadata",
    "OriginatorRayID",
    "RuleID",
    "Source",
  ])("firewall_events cannot be filtered by %s", (key) => {
    expect(found("firewall_events", key, "eq", "x")).toEqual([
      `filter.where.and[0].key is ${key}, which the service does not let a filter of firewall_events use`,
    ]);
  });

  test("a field that a complete list lacks is named, with the nearest", () => {
    expect(found(HTTP, "ClientRequestHots", "eq", "x", true)).toEqual([
      'filter.where.and[0].key is "ClientRequestHots", a field that dataset http_requests does not have. Did you mean "ClientRequestHost"?',
    ]);
    expect(found(HTTP, "Zzzzzzzzzzzz", "eq", "x", true)).toEqual([
      expect.stringMatching(/does not have\. getLogpushFields lists those it has\.$/),
    ]);
  });

  test.each([
    ["int; HTTP status code returned", "int"],
    ["array[string]", "array[string]"],
    ["int or string; a time", "int or string"],
    ["The client's IP address", undefined],
    ["", undefined],
  ])("the service's text %j tells the type %s", (text, type) => {
    expect(typeInText(text)).toBe(type);
  });
});
