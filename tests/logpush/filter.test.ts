import { documentedFields, typeInText } from "../../provider/logpush/dataset-fields";
import * as filter from "../../provider/logpush/filter";
import { fieldIssues } from "../../provider/logpush/filter-fields";
import { issueText, parseFilter, readFilter } from "../../provider/logpush/filter-read";
import { sizeOf, sizeProblem } from "../../provider/logpush/filter-text";

import { passes } from "../../provider/logpush/test-filter";
import { ACCEPTED_BY_FIELD, leaf, REJECTED, REJECTED_BY_FIELD, UNFILTERABLE } from "./filter-cases";

const { and, contains, eq, geq, or, where } = filter;

const problems = (given: unknown) => {
  const result = readFilter(given);
  return "issues" in result ? result.issues.map(issueText) : [];
};
describe("filter.compile", () => {
  test("compiles a filter to Cloudflare's JSON, in the program's order", () => {
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
  ])("writes %j with Cloudflare's operator", (built, written) => {
    const text = filter.compile(where(built));
    expect(JSON.parse(text)).toEqual({ where: { and: [{ key: "A", ...written }] } });
  });

  test("compiles numbers and booleans to the same JSON from builders as from a string", () => {
    const raw = `{ "where" : {"and":[ {"value":200, "key":"EdgeResponseStatus","operator":"eq"},
      {"operator":"eq","key":"WorkerSubrequest","value":true} ] } }`;
    expect(filter.compile(raw)).toBe(
      filter.compile(where(and(eq("EdgeResponseStatus", 200), eq("WorkerSubrequest", true)))),
    );
  });

  test("reports every problem with its path in one error", () => {
    expect(() =>
      filter.compile('{"where":{"or":[{"and":[]},{"key":"A","operator":"is","value":"x"}]}}'),
    ).toThrow(
      new filter.FilterError([
        {
          path: ["where", "or", 0, "and"],
          reason: "is an empty group. Add at least one condition",
        },
        {
          path: ["where", "or", 1, "operator"],
          reason: '"is" is not an operator. Did you mean "in"?',
        },
      ]),
    );
  });
});

describe("reading a filter", () => {
  test.each(REJECTED)("rejects %j", (given, sentence) => {
    const [only, ...more] = problems(given);
    expect(more).toEqual([]);
    if (typeof sentence === "string") expect(only).toBe(sentence);
    else expect(only).toMatch(sentence);
  });

  test("rejects a filter that's nested too deeply, without exhausting the stack", () => {
    const deep = `{"where":${'{"and":['.repeat(120)}{"key":"A","operator":"eq","value":"x"}${"]}".repeat(120)}}`;
    expect(problems(deep)).toEqual([expect.stringContaining("is nested more than 100 groups deep")]);
    const deeper = `{"where":${'{"and":['.repeat(200_000)}`;
    expect(problems(deeper)).toEqual([expect.stringContaining("is not valid JSON")]);
  });
});

describe("measuring the size of a filter", () => {
  // Each comparison takes at least 38 bytes, so 30 of them would exceed the limit of bytes; groups don't.
  const nested = (...more: readonly filter.FilterNode[]) =>
    where(and(...([...Array.from({ length: 14 }, () => or(eq("A", ""))), ...more] as [filter.FilterNode])));

  test.each([
    // One `and`, 14 `or` with a comparison each, and one more comparison: 30 operators, the limit.
    [nested(eq("A", "")), 30, undefined],
    [nested(eq("A", ""), eq("A", "")), 31, /^has 31 operators .* Cloudflare accepts about 30\. /],
    // A single comparison is sent in a group.
    [where(eq("A", "")), 2, undefined],
    [where(or(and(eq("A", ""), eq("A", "")), and(eq("A", "")))), 6, undefined],
  ])("counts comparisons and groups (%#)", (given, operators, sentence) => {
    const checked = parseFilter(given);
    expect(sizeOf(checked).operators).toBe(operators);
    const problem = sizeProblem(checked);
    if (sentence === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatch(sentence);
  });

  /** {"where":{"and":[{"key":"A","operator":"eq","value":"…"}]}} has 58 bytes around the value. */
  const around = 58;
  test.each([
    ["a".repeat(1_000 - around), 1_000, false],
    ["a".repeat(1_001 - around), 1_001, true],
    // é is two bytes; a quote is two, since JSON writes it with a backslash.
    ["é".repeat((1_000 - around) / 2), 1_000, false],
    [`${"é".repeat((1_000 - around) / 2)}a`, 1_001, true],
    ['"'.repeat((1_000 - around) / 2), 1_000, false],
    [`${'"'.repeat((1_000 - around) / 2)}a`, 1_001, true],
  ])("counts the bytes of the JSON without whitespace (%#)", (value, bytes, tooLarge) => {
    const spaced = JSON.stringify(where(eq("A", value)), null, 8);
    const checked = parseFilter(spaced);
    expect(sizeOf(checked).bytes).toBe(bytes);
    expect(sizeProblem(checked) !== undefined).toBe(tooLarge);
  });

  test("reports a filter above both limits in one message with advice", () => {
    const [first, ...more] = Array.from({ length: 40 }, (_, i) => eq(`Field${i}`, "x"));
    const problem = sizeProblem(parseFilter(where(and(first ?? eq("A", ""), ...more))));
    expect(problem).toMatch(
      /^has 41 operators \(each comparison, "and" and "or" counts\); Cloudflare accepts about 30, and has \d+ bytes; Cloudflare accepts about 1000\. Combine several "eq" into one "in", or split the job\.$/,
    );
  });
});

/** Which lines pass a comparison, by the field's value in the line. */
describe("evaluates a comparison on log lines", () => {
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
    // Times as RFC 3339, and in seconds, milliseconds and nanoseconds.
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

describe("checking a filter against the fields of its dataset", () => {
  const found = (dataset: string, key: string, operator: string, value: unknown, complete = false) => {
    const types = documentedFields(dataset) ?? new Map();
    return fieldIssues(parseFilter(leaf(key, operator, value)), { dataset, types, complete }).map(issueText);
  };
  const HTTP = "http_requests";

  test.each([...ACCEPTED_BY_FIELD, ["SomethingNew", "eq", "x"] as const])(
    "accepts %s %s %j",
    (key, operator, value) => {
      expect(found(HTTP, key, operator, value)).toEqual([]);
    },
  );

  test.each(REJECTED_BY_FIELD)("rejects %s %s %j", (key, operator, value, sentence) => {
    const [only, ...more] = found(HTTP, key, operator, value);
    expect(more).toEqual([]);
    if (typeof sentence === "string") expect(only).toBe(sentence);
    else expect(only).toMatch(sentence);
  });

  test.each(UNFILTERABLE)("rejects field %s in a filter of firewall_events", (key) => {
    expect(found("firewall_events", key, "eq", "x")).toEqual([
      `filter.where.and[0].key: ${key} can't be used in a filter of dataset firewall_events. Choose another field`,
    ]);
  });

  test("rejects a field that's missing from a complete list, and suggests a similar name", () => {
    expect(found(HTTP, "ClientRequestHots", "eq", "x", true)).toEqual([
      'filter.where.and[0].key: "ClientRequestHots" is not a field of dataset http_requests. Did you mean "ClientRequestHost"?',
    ]);
    expect(found(HTTP, "Zzzzzzzzzzzz", "eq", "x", true)).toEqual([
      expect.stringMatching(
        /is not a field of dataset http_requests\. List its fields with getLogpushFields\.$/,
      ),
    ]);
  });

  test.each([
    ["int; HTTP status code returned", "int"],
    ["array[string]", "array[string]"],
    ["int or string; a time", "int or string"],
    ["The client's IP address", undefined],
    ["", undefined],
  ])("reads a field's type from its description %j: %s", (text, type) => {
    expect(typeInText(text)).toBe(type);
  });
});
