import {
  allows,
  CspError,
  lintCsp,
  parseCsp,
  renderCsp,
  type TypedDirectives,
} from "../../provider/page-shield/csp";

const canonical = (value: string | TypedDirectives) => renderCsp(parseCsp(value));

test("shortens a directive that's longer than any name", () => {
  expect(() => parseCsp(`${"script".repeat(33_333)} 'self'`)).toThrow(
    /^"script.{53}… \(200000 characters\) is not a CSP/,
  );
});

describe("renders a CSP in canonical order:", () => {
  test.each<[string, string | TypedDirectives, string]>([
    [
      "directives in Cloudflare's order",
      "img-src *; script-src 'self'; default-src 'none'",
      "default-src 'none'; script-src 'self'; img-src *",
    ],
    [
      "keywords, then hashes, then addresses",
      "script-src b.com 'sha256-B' a.com 'unsafe-inline' 'self'",
      "script-src 'self' 'unsafe-inline' 'sha256-B' a.com b.com",
    ],
    [
      "directives that Page Shield doesn't list last",
      "style-src-elem a; script-src 'self'; fenced-frame-src b",
      "script-src 'self'; fenced-frame-src b; style-src-elem a",
    ],
    [
      "lower case where case doesn't matter",
      "SCRIPT-SRC HTTPS://A.Com:443/P/X.js 'SELF' DATA:",
      "script-src 'self' data: https://a.com:443/P/X.js",
    ],
    [
      "hashes and nonces in their own case",
      "script-src 'SHA256-aB=' 'nonce-Xy'",
      "script-src 'nonce-Xy' 'sha256-aB='",
    ],
    ["each source once", "script-src a.com A.com a.com", "script-src a.com"],
    ["an empty list as 'none'", { scriptSrc: [] }, "script-src 'none'"],
    [
      "a directive without sources",
      { upgradeInsecureRequests: true, scriptSrc: ["'self'"] },
      "script-src 'self'; upgrade-insecure-requests",
    ],
    ["without a directive that's false", { scriptSrc: ["'self'"], imgSrc: false }, "script-src 'self'"],
    ["without stray semicolons and spaces", " ;; script-src\t'self'\n;", "script-src 'self'"],
  ])("%s", (_rule, value, rendered) => {
    expect(canonical(value)).toBe(rendered);
    expect(canonical(rendered)).toBe(rendered);
  });
});

describe("rejects a CSP with", () => {
  test.each<[string, string | TypedDirectives, string]>([
    [
      "a repeated directive",
      "script-src 'self'; Script-Src a.com",
      "script-src is declared twice, and browsers ignore the second one",
    ],
    [
      "a directive repeated in another spelling",
      { scriptSrc: ["a"], "script-src": ["b"] },
      "script-src is declared twice, and browsers ignore the second one",
    ],
    [
      "self without quotes",
      "script-src self",
      "script-src has self without quotes, so browsers treat it as a hostname. Write 'self', with single quotes",
    ],
    [
      "another keyword without quotes",
      { scriptSrc: ["Unsafe-Inline"] },
      "Write 'unsafe-inline', with single quotes",
    ],
    [
      "a misspelled keyword",
      "script-src 'slef'",
      "script-src has 'slef', which browsers ignore. Did you mean 'self'?",
    ],
    ["another misspelled keyword", { scriptSrc: ["'unsafe-inlin'"] }, "Did you mean 'unsafe-inline'?"],
    ["a keyword with one quote", "script-src 'self", "Did you mean 'self'?"],
    ["a keyword in typographic quotes", "script-src ‘self’", "Did you mean 'self'?"],
    ["two sources in one item", { scriptSrc: ["'self' a.com"] }, "a source can't be empty or contain"],
    ["sources separated by a comma", "script-src 'self', a.com", "a source can't be empty or contain"],
    ["an empty source", { scriptSrc: [""] }, "a source can't be empty or contain"],
    ["a misspelled directive", "script_src 'self'", 'Did you mean "script-src"?'],
    ["an unknown directive", "everything 'self'", "Use one of: default-src, script-src, connect-src"],
    ["an empty policy", " ; ", "the policy has no directives"],
    ["only a directive that's set to false", { scriptSrc: false }, "the policy has no directives"],
  ])("%s", (_what, value, sentence) => {
    expect(() => parseCsp(value)).toThrow(sentence);
  });
});

describe("warns about", () => {
  test.each<[string, string | TypedDirectives, string[]]>([
    ["nothing in a good policy", "default-src 'none'; script-src 'self'; upgrade-insecure-requests", []],
    ["a directive among sources", { scriptSrc: ["img-src"] }, ["Declare it as a directive of its own"]],
    ["an empty list", { scriptSrc: [] }, ["script-src has no sources, which is the same as 'none'"]],
    ["a directive without sources in text", "script-src", ["script-src has no sources"]],
    [
      "a directive that Page Shield doesn't list",
      "fenced-frame-src 'self'",
      ["Page Shield doesn't list fenced-frame-src among its supported directives"],
    ],
    ["nothing in frame-ancestors 'self'", "frame-ancestors 'self'", []],
    [
      "hosts in frame-ancestors",
      "frame-ancestors 'self' https://partner.example",
      [
        "Page Shield supports only 'none' and 'self' in frame-ancestors (the sites that may embed the page) and may ignore https://partner.example",
      ],
    ],
    [
      "sources that match nothing",
      "script-src https//cdn.example.com https:/cdn.example.com cdn.*.example.com cdn.example.com:abc https://cdn.example.com/* ‘nothing’ *.cdn.example.com https://* https://cdn.example.com:8443/js/ 'self' data:",
      [
        "script-src has https//cdn.example.com https:/cdn.example.com cdn.*.example.com cdn.example.com:abc https://cdn.example.com/* ‘nothing’, which matches nothing",
        "script-src is very permissive",
      ],
    ],
    [
      "a directive without a semicolon before it",
      "script-src 'self' Img-Src cdn.example.com; upgrade-insecure-requests style-src 'self'",
      [
        "script-src has Img-Src, which looks like a directive. Write ; before it",
        "upgrade-insecure-requests has style-src, which looks like a directive. Write ; before it",
      ],
    ],
    [
      "sources of a directive that takes none",
      "upgrade-insecure-requests https: *",
      ["upgrade-insecure-requests takes no sources, so browsers ignore https: *. Remove it"],
    ],
    [
      "a host in quotes",
      "script-src 'https://cdn.example.com' 'unsafe-hashes'",
      ["script-src has 'https://cdn.example.com', which matches nothing"],
    ],
    [
      "a hash of the wrong length",
      `script-src 'sha256-abc' 'sha256-${"a".repeat(43)}=' 'sha512-${"a".repeat(86)}'`,
      ["script-src has 'sha256-abc', which matches nothing: in base64, SHA-256 has 44 characters"],
    ],
    ["a nonce", "script-src 'nonce-abc'", ["script-src has a nonce"]],
    ["'none' next to others", "script-src 'None' a.com", ["script-src has 'none' next to other sources"]],
    [
      "several of these at once",
      "script-src; prefetch-src 'none' 'nonce-a'",
      [
        "script-src has no sources",
        "Page Shield doesn't list prefetch-src",
        "prefetch-src has 'none'",
        "prefetch-src has a nonce",
      ],
    ],
  ])("%s", (_what, value, sentences) => {
    const warnings = lintCsp(value);
    expect(warnings).toHaveLength(sentences.length);
    sentences.forEach((sentence, i) => expect(warnings[i]).toContain(sentence));
  });
});

describe("parseCsp", () => {
  test("reports every mistake in an object, each at its path", () => {
    const value = { scriptsrc: ["self"], script_src: ["a b"], "script-scr": ["'self'"], imgSrc: ["none"] };
    expect(problemsOf(value)).toEqual([
      [["scriptsrc"], '"scriptsrc" is not a CSP directive. Did you mean "scriptSrc"?'],
      [
        ["scriptsrc", 0],
        "script-src has self without quotes, so browsers treat it as a hostname. Write 'self', with single quotes",
      ],
      [["script_src"], '"script_src" is not a CSP directive. Did you mean "scriptSrc"?'],
      [["script_src", 0], expect.stringContaining("Write each source as a separate item")],
      [["script-scr"], '"script-scr" is not a CSP directive. Did you mean "scriptSrc"?'],
      [["imgSrc", 0], expect.stringContaining("Write 'none', with single quotes")],
    ]);
  });

  test("reports every mistake in text", () => {
    expect(
      problemsOf("script-scr 'self'; IMG-SRCS self; style-src a,b").map(([, message]) => message),
    ).toEqual([
      '"script-scr" is not a CSP directive. Did you mean "script-src"?',
      '"IMG-SRCS" is not a CSP directive. Did you mean "img-src"?',
      expect.stringContaining("img-src has self without quotes"),
      expect.stringContaining("Separate sources with spaces"),
    ]);
  });

  function problemsOf(value: string | TypedDirectives): (readonly [unknown, string])[] {
    try {
      parseCsp(value);
    } catch (error) {
      if (error instanceof CspError) return error.problems.map(({ path, message }) => [path, message]);
      throw error;
    }
    return [];
  }
});

describe("warns about very permissive sources in", () => {
  test.each<[string, string[]]>([
    [
      "script-src * 'unsafe-inline' http: data:",
      [
        "script-src is very permissive: * allows scripts from any host, 'unsafe-inline' allows inline scripts, including injected ones, " +
          "http: allows scripts from any host, even unencrypted, data: allows scripts in data: URLs, including injected ones",
      ],
    ],
    ["default-src https:", ["default-src is very permissive: https: allows scripts from any host"]],
    [
      "script-src https://*:443",
      ["script-src is very permissive: https://*:443 allows scripts from any host"],
    ],
    [
      "script-src-attr 'unsafe-inline'; script-src 'self'",
      ["script-src-attr is very permissive: 'unsafe-inline'"],
    ],
    // A hash that browsers ignore, because they don't know SHA-1.
    ["script-src 'unsafe-inline' 'sha1-abc'", ["script-src is very permissive: 'unsafe-inline'"]],
    // Sources that don't apply to scripts, or that browsers ignore.
    ["default-src *; script-src 'self'; img-src * data:; style-src 'unsafe-inline'", []],
    ["script-src 'unsafe-inline' 'sha256-abc'", []],
    ["script-src 'strict-dynamic' 'sha256-abc' https: 'unsafe-inline'", []],
    ["script-src https://*.cdn.example", []],
  ])("%s", (value, sentences) => {
    const warnings = lintCsp(value).filter((warning) => warning.includes("very permissive"));
    expect(warnings).toEqual(sentences.map((sentence) => expect.stringContaining(sentence) as string));
  });
});

describe("decides whether a policy allows a script:", () => {
  const page = "www.shop.example";
  const cdn = "https://cdn.example.com/lib/app.js";

  test.each<[string, string, boolean | undefined]>([
    // 1. Which directive applies.
    ["img-src 'none'", cdn, true],
    ["default-src 'none'", cdn, false],
    ["default-src 'none'; script-src cdn.example.com", cdn, true],
    ["script-src 'none'; script-src-elem cdn.example.com", cdn, true],
    // 2. Keywords.
    ["script-src 'none'", cdn, false],
    ["script-src 'self'", `https://${page}/a.js`, true],
    ["script-src 'self'", `https://WWW.Shop.example/a.js`, true],
    ["script-src 'self'", "https://shop.example/a.js", false],
    ["script-src 'self'", "https://static.www.shop.example/a.js", false],
    ["script-src 'strict-dynamic' 'nonce-a'", cdn, undefined],
    ["script-src 'unsafe-inline' 'unsafe-eval'", cdn, false],
    ["script-src 'unsafe-inline'", "inline", true],
    ["script-src 'self'", "inline", false],
    ["script-src 'sha256-abc'", cdn, false],
    // 3. Hosts.
    ["script-src cdn.example.com", cdn, true],
    ["script-src CDN.example.com", cdn, true],
    ["script-src example.com", cdn, false],
    ["script-src *.example.com", cdn, true],
    ["script-src *.example.com", "https://a.b.example.com/x.js", true],
    ["script-src *.example.com", "https://example.com/x.js", false],
    ["script-src *.example.com", "https://evilexample.com/x.js", false],
    ["script-src cdn.example.com", "https://cdn.example.com.evil.example/x.js", false],
    ["script-src *", cdn, true],
    ["script-src *", "data:text/javascript,1", false],
    // 4. Schemes.
    ["script-src https:", cdn, true],
    ["script-src https:", "http://cdn.example.com/x.js", false],
    ["script-src http:", cdn, true],
    ["script-src data:", "data:text/javascript,1", true],
    ["script-src blob:", cdn, false],
    ["script-src https://cdn.example.com", "http://cdn.example.com/x.js", false],
    ["script-src http://cdn.example.com", cdn, true],
    ["script-src https://*", cdn, true],
    ["script-src cdn.example.com", "data:text/javascript,1", false],
    // 5. Ports.
    ["script-src cdn.example.com", "https://cdn.example.com:8443/x.js", false],
    ["script-src cdn.example.com:8443", "https://cdn.example.com:8443/x.js", true],
    ["script-src cdn.example.com:443", cdn, true],
    ["script-src cdn.example.com:443", "http://cdn.example.com/x.js", false],
    ["script-src cdn.example.com:*", "https://cdn.example.com:8443/x.js", true],
    ["script-src https://*:8443", "https://cdn.example.com:8443/x.js", true],
    // 6. Paths.
    ["script-src cdn.example.com/lib/app.js", cdn, true],
    ["script-src cdn.example.com/lib/app.js", `${cdn}?v=2`, true],
    ["script-src cdn.example.com/lib/App.js", cdn, false],
    ["script-src cdn.example.com/lib/", cdn, true],
    ["script-src cdn.example.com/lib", cdn, false],
    ["script-src cdn.example.com/other/", cdn, false],
    ["script-src cdn.example.com/", cdn, true],
    // 7. Any of several.
    ["script-src 'self' a.com cdn.example.com", cdn, true],
  ])("%s on %s: %s", (policy, url, allowed) => {
    expect(allows(parseCsp(policy), "script", { url, host: page })).toBe(allowed);
  });
});
