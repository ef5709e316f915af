import { checkExpression } from "../../provider/rules-language/check";

const NONE = { errors: [], warnings: [] };

test.each([
  "true",
  "(false)",
  "ssl",
  "not ssl",
  '(http.host eq "www.example.com")',
  'http.host == "www.example.com" && !cf.client.bot || cf.waf.score lt 20 ^^ ssl',
  'http.host in {"example.com" "example.net"} and ip.src in $office_network',
  "ip.src in {198.51.100.1 198.51.100.3..198.51.100.7 192.0.2.0/24 2001:0db8::/32 ::1..::2}",
  "ip.src ne 2001:db8::1 and ip.src.asnum in {13335 64496..64511}",
  "cf.edge.server_port in {8000..8009 8080} and http.request.timestamp.sec gt 0x10",
  'any(http.request.headers["content-type"][*] == "application/json")',
  'any(lower(http.request.headers.names[*])[*] == "content-type")',
  'all(not len(http.request.uri.args["filter"][*])[*] in {3 4})',
  'any(http.request.body.multipart.filenames[*][0] in {"token.txt" "password.txt"})',
  'any((http.request.headers.names[*] eq "a" or http.request.headers.names[*] eq "b"))',
  'len(http.request.uri.args["order"]) >= 0',
  'http.request.headers["accept"][0] contains "json"',
  'http.request.uri.path matches "\\.php$" or http.request.uri.path ~ r#"a"b"#',
  'http.request.full_uri wildcard "https://*.example.com/a/*"',
  'http.request.full_uri strict wildcard r"*.example.com\\*"',
  'http.user_agent contains "\\"\\\\ \\x2e\\101" and ends_with(http.request.uri.path, ".html")',
  'is_timed_hmac_valid_v0("key", http.request.uri, 100000, http.request.timestamp.sec, 8)',
  'concat(http.host, "/", http.request.uri.path) eq "a/b"',
  '\n  http.host eq "größe.example"\r\n  and\tssl\n',
])("takes %j", (expression) => {
  expect(checkExpression(expression)).toEqual(NONE);
});

describe("what is no expression is told with its place and the right form:", () => {
  test.each([
    // Text
    [
      "http.host eq www.shop.example",
      'column 14: www.shop.example is text without quotes. Write "www.shop.example"',
    ],
    ["http.request.uri.path eq /a-b", 'column 26: /a-b is text without quotes. Write "/a-b"'],
    ["ip.src.country in {DE FR}", 'column 20: DE is text without quotes. Write "DE"'],
    ["http.host eq 'a'", 'column 14: text stands in other quotes than ". Write "…"'],
    ['ssl and http.host eq "a', 'column 22: the text that begins here is never closed. Add the closing "'],
    ['http.host eq r##"a"#', 'column 14: the text that begins here is never closed. Add the closing "##'],
    [
      'http.host eq "a\\.b"',
      'column 16: a backslash stands here that escapes nothing. Write \\\\ for a backslash, or a raw string: r"…"',
    ],
    ["http.host eq 80", "column 14: a number stands here, and http.host is text. Put it in double quotes"],
    ['ip.src eq "192.0.2.1"', "column 11: text stands here, and ip.src is an IP address"],
    ['"true"', 'column 1: text stands where a field belongs: the field comes first, as in http.host eq "…"'],
    // Brackets
    ['(http.host eq "a" and (ssl)', "column 1: ( is never closed. Add the missing )"],
    ['http.host eq "a")', "column 17: ) closes nothing. Remove it, or open it in front"],
    ['(http.host in {"a")}', "column 19: ) cannot close {. Write }"],
    ['starts_with(http.host "a")', "column 23: text stands where an operator, a comma or ) belongs"],
    [
      `${"(".repeat(129)}ssl${")".repeat(129)}`,
      "column 129: is nested deeper than 128 levels. Take parentheses out",
    ],
    // Operators
    ['http.host = "a"', "column 11: = is no operator. Write eq or =="],
    ['http.host equals "a"', 'column 11: equals is no operator. Did you mean "eq"?'],
    ['http.host contians "a"', 'column 11: contians is no operator. Did you mean "contains"?'],
    ['http.host EQ "a"', "column 11: EQ is no operator. Operators are written in lower case: eq"],
    [
      'http.host starts_with "a"',
      'column 11: starts_with is no operator. It is a function: write starts_with(field, "…")',
    ],
    ["ssl AND cf.client.bot", "column 5: AND is no operator. Operators are written in lower case: and"],
    [
      "ssl cf.client.bot",
      "column 5: cf.client.bot follows a complete condition. Join conditions with and, or, xor",
    ],
    ["true; true", "column 5: ; follows a complete condition. Join conditions with and, or, xor"],
    [
      'ip.src contains "1"',
      "column 1: contains does not compare an IP address, which ip.src is. Operators for it: eq, ne, lt, le, gt, ge, in",
    ],
    // Operands
    ["", "column 1: selects no requests"],
    ["ssl and", "column 8: a condition is missing at the end"],
    ["or ssl", "column 1: a condition is missing in front of or"],
    ["()", "column 2: a condition is missing in front of )"],
    ["http.host eq", "column 13: the value after eq is missing"],
    ["(http.host eq ) and ssl", "column 15: the value after eq is missing"],
    ["http.host eq (", "column 14: ( stands where text, a number or an address belongs"],
    ["http.host", 'column 1: http.host is text: compare it, as in http.host eq "…"'],
    [
      'http.host in ("a" "b")',
      "column 14: in needs a set in braces, with spaces in between, or a list: in {…} or in $list",
    ],
    ['http.host in {"a", "b"}', "column 18: a set has no commas: separate its values with spaces"],
    ["http.host in {}", "column 14: the set is empty. Name at least one value"],
    ['http.host eq {"a"}', "column 14: eq compares with one value. Write in {…} for several"],
    ["ip.src eq 192.0.2.0/24", "column 11: 192.0.2.0/24 is a network. Write ip.src in {192.0.2.0/24}"],
    ["ip.src eq 192.0.2.256", "column 11: 192.0.2.256 is no IP address"],
    ["ip.src in {192.0.2.0/33}", "column 12: 192.0.2.0/33 is no network: the prefix has at most 32 bits"],
    ["cf.waf.score in {9..1}", "column 18: the range begins above its end: write 1..9"],
    // Names and arrays
    ['host eq "a"', "column 1: host is no field. Did you mean http.host?"],
    [
      'myhost eq "a"',
      "column 1: myhost is no field. Fields are named like http.host, ip.src or cf.waf.score; text needs double quotes",
    ],
    [
      'http.request.headers["x"] eq "y"',
      'column 1: http.request.headers is an array, and eq compares one value. Write any(http.request.headers["x"][*] eq …)',
    ],
    [
      'http.request.headers.names[*] eq "y"',
      "column 1: [*] looks at each element, which only any(…) and all(…) make one answer of. Write any(…) around it",
    ],
    ['http.request.headers[0] eq "y"', "column 1: http.request.headers is a map, which has no such element"],
    // Several lines
    ["ssl\n  or http.host eq a", 'line 2, column 19: a is text without quotes. Write "a"'],
  ])("%j", (expression, error) => {
    expect(checkExpression(expression)).toEqual({ errors: [error], warnings: [] });
  });
});

test.each([
  ['http.hots eq "a"', "column 1: Cloudflare documents no field http.hots. Did you mean http.host?"],
  [
    "ssl and cf.tomorrow.score gt 1",
    "column 9: Cloudflare documents no field cf.tomorrow.score. If it is new, ignore this",
  ],
  ['lowr(http.host) eq "a"', "column 1: Cloudflare documents no function lowr. Did you mean lower(…)?"],
  ["ssl eq true", "column 1: ssl is true or false by itself: write ssl, or not ssl"],
])("warns of what Cloudflare may know by now, or may refuse: %j", (expression, warning) => {
  expect(checkExpression(expression)).toEqual({ errors: [], warnings: [warning] });
});

test("tells every wrong comparison of an expression that can be read", () => {
  expect(checkExpression('http.host eq 1 or ip.src.asnum eq "x" or http.hots').errors).toEqual([
    "column 14: a number stands here, and http.host is text. Put it in double quotes",
    "column 35: text stands here, and ip.src.asnum is a number",
  ]);
});

test("an expression longer than Cloudflare takes is refused by its length alone", () => {
  const longest = `http.host eq "${"ü".repeat(4096 - 15)}"`;
  expect(checkExpression(longest)).toEqual(NONE);
  expect(checkExpression(`${longest} `).errors).toEqual([
    "has 4097 characters; Cloudflare takes at most 4096. Move values into a list (in $name), or split the rule",
  ]);
});

test.each([
  "(",
  "!",
  "not ",
  "any(",
  '"\\',
  'r###"',
  "http.host[",
  "{",
  "a:",
  "1.",
  "$",
  "'",
  "\u0000",
  "^^",
])("4,096 characters of %j are refused, not a crash", (piece) => {
  expect(checkExpression(piece.repeat(4096 / piece.length)).errors).toHaveLength(1);
});
