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
  'http.request.uri.path matches "(?i)^/[]a(]\\((?:x|y*?)\\\\$" or http.host ~ "^[[:alpha:]-]+(?P<tld>\\.com){1,2}$"',
  'http.host contains "*" and lower(http.host) eq "*" and http.user_agent eq "*"',
  '\n  http.host eq "größe.example"\r\n  and\tssl\n',
])("accepts the expression %j", (expression) => {
  expect(checkExpression(expression)).toEqual(NONE);
});

const WRONG_REGEX =
  "invalid regular expression. Check its brackets, and what *, + and ? repeat. Cloudflare supports no lookaround and no backreferences";

describe("an invalid expression", () => {
  test.each([
    // Text
    ["http.host eq www.shop.example", 'column 14: www.shop.example needs quotes. Write "www.shop.example"'],
    ["http.request.uri.path eq /a-b", 'column 26: /a-b needs quotes. Write "/a-b"'],
    ["ip.src.country in {DE FR}", 'column 20: DE needs quotes. Write "DE"'],
    ["http.host eq 'a'", 'column 14: strings need straight double quotes. Write "…"'],
    ["http.host eq “a”", 'column 14: strings need straight double quotes. Write "…"'],
    ['ssl and http.host eq "a', 'column 22: the string that starts here is never closed. Add the closing "'],
    ['http.host eq r##"a"#', 'column 14: the string that starts here is never closed. Add the closing "##'],
    [
      'http.host eq "a\\.b"',
      'column 16: invalid escape sequence. Write \\\\ for a backslash, or use a raw string: r"…"',
    ],
    ["http.host eq 80", "column 14: http.host is a string, but this is a number. Put it in double quotes"],
    [
      'ip.src eq "192.0.2.1"',
      "column 11: ip.src is an IP address, but this is a string. Write an IP address without quotes",
    ],
    ['"true"', 'column 1: expected a field, but found a string. The field comes first: http.host eq "…"'],
    // Brackets
    ['(http.host eq "a" and (ssl)', "column 1: ( is never closed. Add the missing )"],
    ['http.host eq "a")', "column 17: ) has no opening bracket. Remove it, or add the opening bracket"],
    ['(http.host in {"a")}', "column 19: ) doesn't close {. Write }"],
    ['starts_with(http.host "a")', "column 23: expected an operator, a comma or ), but found a string"],
    [
      `${"(".repeat(129)}ssl${")".repeat(129)}`,
      "column 129: the expression is nested more than 128 levels deep. Remove parentheses",
    ],
    // Operators
    ['http.host = "a"', "column 11: = is not an operator. Write eq or =="],
    ['http.host equals "a"', 'column 11: equals is not an operator. Did you mean "eq"?'],
    ['http.host contians "a"', 'column 11: contians is not an operator. Did you mean "contains"?'],
    ['http.host EQ "a"', "column 11: EQ is not an operator. Operators are lowercase: write eq"],
    [
      'http.host starts_with "a"',
      'column 11: starts_with is not an operator. It\'s a function: write starts_with(field, "…")',
    ],
    ["ssl AND cf.client.bot", "column 5: AND is not an operator. Operators are lowercase: write and"],
    [
      "ssl cf.client.bot",
      'column 5: cf.client.bot follows a complete condition. Join conditions with "and", "or" or "xor"',
    ],
    ["true; true", 'column 5: ; follows a complete condition. Join conditions with "and", "or" or "xor"'],
    [
      'ip.src contains "1"',
      "column 1: ip.src is an IP address, which contains can't compare. Use one of: eq, ne, lt, le, gt, ge, in",
    ],
    // Operands
    ["", "column 1: the expression is empty"],
    ["ssl and", "column 8: a condition is missing at the end"],
    ["or ssl", "column 1: a condition is missing before or"],
    ["()", "column 2: a condition is missing before )"],
    ["http.host eq", "column 13: a value is missing after eq"],
    ["(http.host eq ) and ssl", "column 15: a value is missing after eq"],
    ["http.host eq (", "column 14: expected a string, a number or an IP address, but found ("],
    ["http.host", 'column 1: http.host is a string. Compare it with a value: http.host eq "…"'],
    [
      'http.host in ("a" "b")',
      'column 14: the operator "in" needs a list (in $name) or a set (in {…}). Separate the values of a set with spaces',
    ],
    ['http.host in {"a", "b"}', "column 18: sets don't use commas. Separate the values with spaces"],
    ["http.host in {}", "column 14: the set is empty. Add at least one value"],
    ['http.host eq {"a"}', "column 14: eq takes one value. For several values, write: in {…}"],
    [
      "ip.src eq 192.0.2.0/24",
      "column 11: 192.0.2.0/24 is a range of IP addresses. Write ip.src in {192.0.2.0/24}",
    ],
    ["ip.src eq 192.0.2.256", "column 11: 192.0.2.256 is not an IP address"],
    [
      "ip.src in {192.0.2.0/33}",
      "column 12: 192.0.2.0/33 is not a valid range of IP addresses. The prefix length must be at most 32",
    ],
    ["cf.waf.score in {9..1}", "column 18: the range is reversed. Write 1..9"],
    // Names and arrays
    ['host eq "a"', "column 1: host is not a field. Did you mean http.host?"],
    [
      'myhost eq "a"',
      "column 1: myhost is not a field. Fields have names like http.host, ip.src or cf.waf.score; strings need double quotes",
    ],
    [
      'http.request.headers["x"] eq "y"',
      'column 1: http.request.headers is an array, but eq compares single values. Write any(http.request.headers["x"][*] eq …)',
    ],
    [
      'http.request.headers.names[*] eq "y"',
      "column 1: [*] produces one result per element. Wrap the comparison in any(…) or all(…)",
    ],
    [
      'http.request.headers[0] eq "y"',
      'column 1: http.request.headers is a map, so this index doesn\'t work. Use a key for a map (http.request.headers["name"]), and a number or * for an array',
    ],
    // Regular expressions
    ['http.host matches "^(a|b"', `column 19: ${WRONG_REGEX}`],
    ['http.host matches "a)"', `column 19: ${WRONG_REGEX}`],
    ['ssl or http.host ~ "[a-z"', `column 20: ${WRONG_REGEX}`],
    ['http.host matches "*.example.com"', `column 19: ${WRONG_REGEX}`],
    ['http.host matches r"a\\"', `column 19: ${WRONG_REGEX}`],
    ...['"^(?!www)"', '"(?<=a)b"', '"(a)\\1"'].map((regex): [string, string] => [
      `http.host matches ${regex}`,
      `column 19: ${WRONG_REGEX}`,
    ]),
    // Several lines
    ["ssl\n  or http.host eq a", 'line 2, column 19: a needs quotes. Write "a"'],
  ])("is rejected with the position and the fix: %j", (expression, error) => {
    expect(checkExpression(expression)).toEqual({ errors: [error], warnings: [] });
  });
});

test.each([
  ['http.hots eq "a"', "column 1: field http.hots is not known to this version. Did you mean http.host?"],
  [
    "ssl and cf.tomorrow.score gt 1",
    "column 9: field cf.tomorrow.score is not known to this version. If the field is new, ignore this warning",
  ],
  [
    'http.host eq "*.shop.example"',
    'column 14: eq takes the asterisk literally, so "*.shop.example" matches nothing but itself. Write http.host wildcard "*.shop.example"',
  ],
  [
    'ssl and http.request.uri.path ne "/api/*"',
    'column 34: ne takes the asterisk literally, so "/api/*" matches nothing but itself. Write not http.request.uri.path wildcard "/api/*"',
  ],
  ['lowr(http.host) eq "a"', "column 1: function lowr is not known to this version. Did you mean lower(…)?"],
  [
    "ssl eq true",
    'column 1: ssl is a Boolean, and Cloudflare may reject a comparison with it. Instead, write just "ssl" or "not ssl"',
  ],
])("warns about what Cloudflare may reject: %j", (expression, warning) => {
  expect(checkExpression(expression)).toEqual({ errors: [], warnings: [warning] });
});

test("lists every invalid comparison in an expression that parses", () => {
  expect(checkExpression('http.host eq 1 or ip.src.asnum eq "x" or http.hots').errors).toEqual([
    "column 14: http.host is a string, but this is a number. Put it in double quotes",
    "column 35: ip.src.asnum is a number, but this is a string. Write a number without quotes",
  ]);
});

test("rejects an expression that exceeds Cloudflare's length limit, without parsing it", () => {
  const longest = `http.host eq "${"ü".repeat(4096 - 15)}"`;
  expect(checkExpression(longest)).toEqual(NONE);
  expect(checkExpression(`${longest} `).errors).toEqual([
    "has 4097 characters, but Cloudflare allows at most 4096. Move values into a list (in $name), or split the rule",
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
])("rejects %j, repeated up to 4,096 characters, without crashing", (piece) => {
  expect(checkExpression(piece.repeat(4096 / piece.length)).errors).toHaveLength(1);
});
